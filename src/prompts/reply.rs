//! What the tolerant parsers of model replies share.

/// Why part of a reply was not used. It is data for the caller, never an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// The reply has nothing usable.
    Empty,
    /// A line was left out.
    Dropped {
        /// The line, shortened.
        line: String,
        /// What is wrong with it.
        why: &'static str,
    },
}

/// What models write around reasoning before they answer: most, and Gemma 4.
pub const THOUGHTS: [[&str; 2]; 2] = [["<think>", "</think>"], ["<|channel>", "<channel|>"]];

/// The reply without a reasoning block ([`THOUGHTS`]), code fences and control characters.
pub fn clean(reply: &str) -> String {
    // First of all: `<thi\0nk>` would be a mark without it.
    let kept = |c: &char| !c.is_control() || matches!(c, '\n' | '\t');
    let mut text: String = reply.chars().filter(kept).collect();
    for [open, close] in THOUGHTS {
        while let Some(start) = text.find(open) {
            match text[start..].find(close) {
                Some(end) => text.replace_range(start..start + end + close.len(), ""),
                None => text.truncate(start), // cut off while still thinking
            }
        }
    }
    text.lines()
        .filter(|line| !line.trim_start().starts_with("```"))
        .collect::<Vec<_>>()
        .join("\n")
        .trim()
        .to_owned()
}

/// A text from JSON as one line: escapes can bring in line breaks and control characters again.
pub(super) fn one_line(text: &str) -> String {
    let parts = text.split(|c: char| c.is_whitespace() || c.is_control());
    parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

/// A line without its bullet or list number, quotes and emphasis.
pub fn strip_marks(line: &str) -> &str {
    let line = line.trim().trim_start_matches(['-', '*', '•', '–', '#']).trim_start();
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let line = match line.as_bytes().get(digits) {
        Some(b'.' | b')') if digits > 0 && digits <= 3 => {
            let rest = &line[digits + 1..];
            // "3.5 kg" is not a list number.
            if rest.starts_with(char::is_whitespace) { rest.trim_start() } else { line }
        }
        _ => line,
    };
    line.trim_matches(['*', '"', '“', '”', '`']).trim()
}

/// The first 60 characters, for a [`Problem`].
pub fn shorten(text: &str) -> String {
    let mut out: String = text.chars().take(60).collect();
    if out.len() < text.len() {
        out.push('…');
    }
    out
}

/// The first line that is not a preamble ("Sure, here is…:").
pub(super) fn first_line(reply: &str) -> Option<String> {
    let text = clean(reply);
    let mut lines = text.lines().map(strip_marks);
    lines.find(|line| !line.is_empty() && !is_preamble(line)).map(str::to_owned)
}

/// Whether a line is talk about the task: "Here are the facts:", "Sure!", "Output:".
pub fn is_preamble(line: &str) -> bool {
    let lower = line.to_lowercase();
    let polite = ["sure", "certainly", "of course", "okay", "ok,", "here is", "here are", "here's"];
    line.ends_with(':') || polite.iter().any(|p| lower.starts_with(p) && lower.len() < 80)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_go_and_numbers_stay() {
        let check = |line: &str, expected: &str| assert_eq!(strip_marks(line), expected);
        check("- Ana lives in Lund.", "Ana lives in Lund.");
        check("12) \"Ana\"", "Ana");
        check("3.5 kg of flour", "3.5 kg of flour");
        check("2026 was good", "2026 was good");
        check("**Ana**", "Ana");
    }

    #[test]
    fn a_control_character_hides_no_thought() {
        assert_eq!(clean("<thi\0nk>hm</think>Lund.\u{7}"), "Lund.");
    }

    #[test]
    fn an_unfinished_thought_is_no_reply() {
        assert_eq!(first_line("<think>hmm, maybe"), None);
        assert_eq!(
            first_line("Here is the name:\n\"Max the dog\"").as_deref(),
            Some("Max the dog")
        );
    }
}
