//! Texts that end a reply: what a model has no token for, and what a program asks for.
//!
//! What may be the beginning of one is held back until the next piece decides.

/// Watches a stream of text, which ends where the first of several stops begins.
#[derive(Debug)]
pub struct StopText {
    stops: Vec<String>,
    held: String,
    found: bool,
}

impl StopText {
    /// Without stops everything passes at once.
    pub fn new<S: Into<String>>(stops: impl IntoIterator<Item = S>) -> Self {
        let stops = stops.into_iter().map(Into::into).filter(|stop: &String| !stop.is_empty());
        Self { stops: stops.collect(), held: String::new(), found: false }
    }

    /// A stop has been seen; nothing passes any more.
    pub fn found(&self) -> bool {
        self.found
    }

    /// The text that certainly comes before a stop.
    pub fn push(&mut self, piece: &str) -> String {
        if self.found {
            return String::new();
        }
        self.held.push_str(piece);
        if let Some(at) = self.stops.iter().filter_map(|stop| self.held.find(stop)).min() {
            self.found = true;
            self.held.truncate(at);
            return std::mem::take(&mut self.held);
        }
        let begins = |at: &usize| self.stops.iter().any(|stop| stop.starts_with(&self.held[*at..]));
        let mut places = self.held.char_indices().map(|(at, _)| at);
        let at = places.find(begins).unwrap_or(self.held.len());
        let rest = self.held.split_off(at);
        std::mem::replace(&mut self.held, rest)
    }

    /// What was held back and is no stop after all.
    pub fn finish(&mut self) -> String {
        std::mem::take(&mut self.held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(stops: &[&str], pieces: &[&str], expected: &str, found: bool) {
        let mut watch = StopText::new(stops.iter().copied());
        let mut out: String = pieces.iter().map(|p| watch.push(p)).collect();
        assert_eq!(watch.found(), found);
        out += &watch.finish();
        assert_eq!(out, expected, "{stops:?} {pieces:?}");
    }

    #[test]
    fn holds_back_what_may_be_the_stop() {
        check(&["\nUser:"], &["Hi", "\n", "Us", "er", ": a", "b"], "Hi", true);
        check(&["\nUser:"], &["Hi\nUs", "ed\n", "\nUs"], "Hi\nUsed\n\nUs", false);
        check(&["aab"], &["aaa", "b"], "a", true);
        check(&[], &["a\n", "User:"], "a\nUser:", false);
        check(&[], &["a", "b"], "ab", false);
    }

    #[test]
    fn a_text_ends_where_the_first_of_several_begins() {
        check(&["END"], &["one E", "N", "D two"], "one ", true);
        check(&["END"], &["one E", "N", "X two"], "one ENX two", false);
        check(&["aab", "c"], &["aa", "ab"], "a", true);
        check(&["\n\n", "é"], &["x\n", "yé"], "x\ny", true);
    }
}
