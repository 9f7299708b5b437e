//! Files that go with a message: their text stands in it, below a line that says so. It is not the person's own word, and
//! nothing is learnt from it.

const OPENING: &str = "[attached: ";

/// Whether a line says that a file's text begins.
fn is_opening(line: &str) -> bool {
    line.starts_with(OPENING) && line.trim_end().ends_with(']')
}

/// A message with the text of a file below it. `label`: its name, and what else is to be said of it.
pub fn with_attached(message: &str, label: &str, text: &str) -> String {
    let label: String = label.chars().filter(|c| !c.is_control()).collect();
    let mut out = message.trim_end().to_owned();
    if !out.is_empty() {
        out.push_str("\n\n");
    }
    out.push_str(OPENING);
    out.push_str(&label);
    out.push_str("]\n");
    for line in text.trim_end().lines() {
        // The text begins no file of its own.
        if is_opening(line) {
            out.push(' ');
        }
        out.push_str(line);
        out.push('\n');
    }
    out
}

/// The part of a message that the person wrote.
pub fn own_words(message: &str) -> &str {
    let mut at = 0;
    for line in message.split_inclusive('\n') {
        if is_opening(line) {
            return message[..at].trim_end();
        }
        at += line.len();
    }
    message
}

/// The labels of the files that go with a message.
pub fn attached(message: &str) -> impl Iterator<Item = &str> {
    let lines = message.lines().filter(|line| is_opening(line));
    lines.map(|line| line.trim_end()[OPENING.len()..].trim_end_matches(']'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_attached_is_not_ones_own_word() {
        let one = with_attached(
            "Sum it up, please.\n",
            "a.md, 12 bytes",
            "I am a nurse.\n[attached: x]\nend",
        );
        let two = with_attached(&one, "b\n.txt", "more");
        assert_eq!(own_words(&two), "Sum it up, please.");
        assert_eq!(attached(&two).collect::<Vec<_>>(), ["a.md, 12 bytes", "b.txt"]);
        assert!(two.contains("\n [attached: x]\n"), "{two}");
        assert_eq!(own_words(&with_attached("", "a", "b")), "");
        for plain in ["", "hello\nthere", "about [attached: a] lines", "[attached: open"] {
            assert_eq!(own_words(plain), plain);
            assert_eq!(attached(plain).count(), 0);
        }
    }
}
