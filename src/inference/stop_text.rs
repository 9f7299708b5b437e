//! A text that ends a turn, for models that have no token for it.
//!
//! What may be its beginning is held back until the next piece decides.

/// Watches a stream of text.
#[derive(Debug)]
pub struct StopText {
    stop: Option<&'static str>,
    held: String,
    found: bool,
}

impl StopText {
    /// Without a `stop` everything passes at once.
    pub fn new(stop: Option<&'static str>) -> Self {
        Self { stop: stop.filter(|s| !s.is_empty()), held: String::new(), found: false }
    }

    /// The stop has been seen; nothing passes any more.
    pub fn found(&self) -> bool {
        self.found
    }

    /// The text that is certainly not part of the stop.
    pub fn push(&mut self, piece: &str) -> String {
        let Some(stop) = self.stop else { return piece.to_owned() };
        if self.found {
            return String::new();
        }
        self.held.push_str(piece);
        if let Some(at) = self.held.find(stop) {
            self.found = true;
            self.held.truncate(at);
            return std::mem::take(&mut self.held);
        }
        let possible = stop
            .char_indices()
            .map(|(at, c)| at + c.len_utf8())
            .filter(|&n| self.held.ends_with(&stop[..n]))
            .max()
            .unwrap_or(0);
        let rest = self.held.split_off(self.held.len() - possible);
        std::mem::replace(&mut self.held, rest)
    }

    /// What was held back and is not the stop after all.
    pub fn finish(&mut self) -> String {
        std::mem::take(&mut self.held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(stop: Option<&'static str>, pieces: &[&str], expected: &str, found: bool) {
        let mut watch = StopText::new(stop);
        let mut out: String = pieces.iter().map(|p| watch.push(p)).collect();
        assert_eq!(watch.found(), found);
        out += &watch.finish();
        assert_eq!(out, expected);
    }

    #[test]
    fn holds_back_what_may_be_the_stop() {
        check(Some("\nUser:"), &["Hi", "\n", "Us", "er", ": a", "b"], "Hi", true);
        check(Some("\nUser:"), &["Hi\nUs", "ed\n", "\nUs"], "Hi\nUsed\n\nUs", false);
        check(Some("aab"), &["aaa", "b"], "a", true);
        check(None, &["a\n", "User:"], "a\nUser:", false);
    }
}
