//! A reply's text as it arrives: reasoning that some models show before they answer is held back.

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// Holds back a leading `<think> … </think>`; everything else passes as it comes.
#[derive(Debug, Default)]
pub struct Stream {
    state: State,
    held: String,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum State {
    /// So far only spaces and a part of the opening tag.
    #[default]
    Start,
    Thinking,
    /// Spaces between the reasoning and the answer are dropped too.
    Between,
    Answer,
}

impl Stream {
    /// The text that may be shown now.
    pub fn push(&mut self, piece: &str) -> String {
        self.held.push_str(piece);
        loop {
            match self.state {
                State::Start => {
                    let text = self.held.trim_start();
                    if text.is_empty() || (text.len() < OPEN.len() && OPEN.starts_with(text)) {
                        return String::new();
                    }
                    if let Some(rest) = text.strip_prefix(OPEN) {
                        self.held = rest.to_owned();
                        self.state = State::Thinking;
                    } else {
                        self.held = text.to_owned();
                        self.state = State::Answer;
                    }
                }
                State::Thinking => {
                    let Some(at) = self.held.find(CLOSE) else {
                        // Keep only what could be the beginning of the closing tag.
                        let keep = self.held.len().saturating_sub(CLOSE.len());
                        self.held.drain(..self.held.floor_char_boundary(keep));
                        return String::new();
                    };
                    self.held.drain(..at + CLOSE.len());
                    self.state = State::Between;
                }
                State::Between => {
                    let text = self.held.trim_start();
                    if text.is_empty() {
                        return String::new();
                    }
                    self.held = text.to_owned();
                    self.state = State::Answer;
                }
                State::Answer => return std::mem::take(&mut self.held),
            }
        }
    }

    /// What was held back although it was not reasoning.
    pub fn finish(&mut self) -> String {
        match self.state {
            State::Start => std::mem::take(&mut self.held),
            _ => String::new(),
        }
    }
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
}
