//! A reply's text as it arrives: reasoning that some models show before they answer is held back.

use crate::prompts::reply::THOUGHTS;

/// Holds back a leading thought ([`THOUGHTS`]); everything else passes as it comes.
#[derive(Debug, Default)]
pub struct Stream {
    held: String,
    /// The answer has begun.
    answers: bool,
}

impl Stream {
    /// For a reply whose beginning is there already.
    pub fn going_on() -> Self {
        Self { held: String::new(), answers: true }
    }

    /// The text that may be shown now.
    pub fn push(&mut self, piece: &str) -> String {
        if self.answers {
            return piece.to_owned();
        }
        self.held.push_str(piece);
        let text = self.held.trim_start();
        let answer = match thought(text) {
            Some((thought, close)) => {
                thought.split_once(close).map_or("", |(_, answer)| answer.trim_start())
            }
            // It may become the opening tag.
            None if THOUGHTS.iter().any(|[open, _]| open.starts_with(text)) => "",
            None => text,
        };
        self.answers = !answer.is_empty();
        answer.to_owned()
    }

    /// What was held back although it was not reasoning.
    pub fn finish(&mut self) -> String {
        let is_thought = thought(self.held.trim_start()).is_some();
        if self.answers || is_thought { String::new() } else { std::mem::take(&mut self.held) }
    }
}

/// What follows the mark that opens a thought, and what closes it.
fn thought(text: &str) -> Option<(&str, &'static str)> {
    THOUGHTS.iter().find_map(|[open, close]| Some((text.strip_prefix(open)?, *close)))
}

/// Whether a text ends in the same words over and over ("…, and tasks such as answering questions, providing information, and tasks
/// such as …"), as small models do.
pub(super) fn goes_in_circles(text: &str) -> bool {
    // Bytes of what comes again, and of all its copies together.
    const MIN: usize = 8;
    const MAX: usize = 240;
    const TOTAL: usize = 80;
    let text = text.as_bytes();
    (MIN..=MAX).any(|n| {
        let all = n * TOTAL.div_ceil(n).max(2);
        let Some(tail) = text.len().checked_sub(all).map(|from| &text[from..]) else {
            return false;
        };
        let n_letters = tail[..n].iter().filter(|byte| byte.is_ascii_alphabetic()).count();
        3 * n_letters > n && tail[n..] == tail[..all - n]
    })
}

/// A sentence that grows longer than this is said before its end has come.
const SENTENCE_BYTES_MAX: usize = 400;

/// The offset just after the first sentence, or where to cut a text that is too long without an end.
pub(super) fn end_of_sentence(text: &str) -> Option<usize> {
    let mut marks = text.char_indices().peekable();
    while let Some((at, c)) = marks.next() {
        let next = marks.peek().map(|&(_, next)| next);
        let ends = matches!(c, '.' | '!' | '?') && next.is_some_and(char::is_whitespace);
        if c == '\n' || ends {
            // "Dr. Sara", "3. Peel it": no end of a sentence.
            let word = text[..at].rsplit(char::is_whitespace).next().unwrap_or_default();
            if c == '.' && (word.len() <= 2 || matches!(word, "Mrs" | "Prof" | "e.g" | "i.e")) {
                continue;
            }
            return Some(at + c.len_utf8());
        }
    }
    (text.len() > SENTENCE_BYTES_MAX).then(|| text.floor_char_boundary(SENTENCE_BYTES_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(pieces: &[&str]) -> String {
        let mut stream = Stream::default();
        let mut out: String = pieces.iter().map(|p| stream.push(p)).collect();
        out.push_str(&stream.finish());
        out
    }

    #[test]
    fn reasoning_is_held_back() {
        assert_eq!(shown(&["Hello", " you"]), "Hello you");
        assert_eq!(shown(&["<th", "ink>\nhm é", "é</th", "ink>\n\n", "Lund."]), "Lund.");
        assert_eq!(shown(&["<think>never ends"]), "");
        assert_eq!(shown(&["<|chan", "nel>thought\nhm<chann", "el|>Lund."]), "Lund.");
        assert_eq!(shown(&["<thin"]), "<thin");
        assert_eq!(shown(&["a <think>b</think>"]), "a <think>b</think>");
        assert_eq!(shown(&["<", "b>bold"]), "<b>bold");
    }

    proptest! {
        #[test]
        fn it_does_not_matter_where_the_pieces_end(
            text in "(<think>|</think>|é|a| |\n){0,12}", cut in 0usize..40,
        ) {
            let cut = text.floor_char_boundary(cut);
            prop_assert_eq!(shown(&[&text]), shown(&[&text[..cut], &text[cut..]]));
        }
    }

    #[test]
    fn circles_are_noticed() {
        let tasks = "answering questions, providing information, and assisting with tasks such as ";
        assert!(goes_in_circles(&format!("It can help with {}", tasks.repeat(2))));
        assert!(goes_in_circles(&"f-y-s-a-r-j-".repeat(8)));
        for text in [
            "Row, row, row your boat, gently down the stream, merrily, merrily, merrily, merrily",
            "Happy birthday to you, happy birthday to you, happy birthday dear Ana",
            "|------------------------------------------------------------------------------|",
            "0000000000000000000000000000000000000000000000000000000000000000000000000000000000",
            tasks,
            "",
        ] {
            assert!(!goes_in_circles(text), "{text}");
        }
    }

    #[test]
    fn sentences_end_where_they_end() {
        let check = |text: &str, end| assert_eq!(end_of_sentence(text), end, "{text}");
        check("Hello there", None);
        check("Hello. There", Some(6));
        check("Dr. Sara is here.", None);
        check("One\nTwo", Some(4));
        check("At 3.5 km", None);
    }
}
