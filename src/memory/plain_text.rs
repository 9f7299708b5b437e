//! Text that is safe to print: model output, imports and memories are hostile input.
//!
//! It knows nothing of terminals; it removes every character that a terminal, a file viewer or a
//! clipboard could take for something other than text.

use std::borrow::Cow;

use unicode_segmentation::UnicodeSegmentation;

/// `text` without control characters (newline and tab stay), escape sequences, bidirectional
/// overrides and invisible characters. Emoji joiners stay between emoji; Arabic and Indic joiners
/// stay between letters of scripts that need them.
pub fn plain_text(text: &str) -> Cow<'_, str> {
    let Some(first) = text.char_indices().find(|&(_, c)| suspicious(c)).map(|(i, _)| i) else {
        return Cow::Borrowed(text);
    };
    let mut out = String::with_capacity(text.len());
    out.push_str(&text[..first]);
    let mut rest = text[first..].chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\u{1b}' => skip_sequence(&mut rest),
            '\u{9b}' => skip_csi(&mut rest),
            // DCS, SOS, OSC, PM, APC as C1 characters.
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => skip_string(&mut rest),
            '\r' => {
                // A bare carriage return would overwrite the line on a terminal.
                if rest.peek() != Some(&'\n') {
                    out.push('\n');
                }
            }
            '\u{2028}' | '\u{2029}' => out.push('\n'),
            '\u{200d}' | '\u{200c}' => {
                let joins = out.chars().next_back().is_some_and(joinable)
                    && rest.peek().copied().is_some_and(joinable);
                if joins {
                    out.push(c);
                }
            }
            c if suspicious(c) => {}
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// True of a character that [`plain_text`] removes or has to look at.
fn suspicious(c: char) -> bool {
    matches!(c,
        '\0'..='\u{8}' | '\u{b}'..='\u{1f}' | '\u{7f}'..='\u{9f}' // C0 but \t and \n, DEL, C1
        | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' // zero-width characters, direction marks
        | '\u{2028}'..='\u{202e}' // separators, embeddings, overrides
        | '\u{2060}'..='\u{206f}' // word joiner, isolates, deprecated format characters
        | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e001f}' | '\u{e0080}'..='\u{e0fff}')
        // Tag characters spell the flags of regions, and can smuggle text that nobody sees.
        || ('\u{e0020}'..='\u{e007f}').contains(&c)
}

/// Characters that stay, and between which a joiner means something: emoji, and scripts with joining letters.
fn joinable(c: char) -> bool {
    let joins = matches!(u32::from(c),
        0x0600..=0x08ff | 0x0900..=0x0dff | 0x1000..=0x109f | 0x1780..=0x17ff | 0x1800..=0x18af
        | 0x2190..=0x2bff | 0xfe0f | 0x1f000..=0x1faff | 0xfb50..=0xfdff | 0xfe70..=0xfefe);
    joins && !suspicious(c)
}

type Rest<'a> = std::iter::Peekable<std::str::Chars<'a>>;

/// After ESC.
fn skip_sequence(rest: &mut Rest<'_>) {
    match rest.peek() {
        Some('[') => {
            rest.next();
            skip_csi(rest);
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            rest.next();
            skip_string(rest);
        }
        // ESC, intermediates, one final byte.
        Some(' '..='/') => {
            while rest.next_if(|c| (' '..='/').contains(c)).is_some() {}
            rest.next_if(|c| ('0'..='~').contains(c));
        }
        Some('0'..='~') => {
            rest.next();
        }
        _ => {}
    }
}

/// After CSI: parameters and intermediates up to the final byte; stops at anything foreign.
fn skip_csi(rest: &mut Rest<'_>) {
    while rest.next_if(|c| (' '..='?').contains(c)).is_some() {}
    rest.next_if(|c| ('@'..='~').contains(c));
}

/// After OSC and its kin: up to BEL or ST. An unfinished one ends at the line's end, so that a
/// stray introducer can't swallow the rest of a message.
fn skip_string(rest: &mut Rest<'_>) {
    while let Some(&c) = rest.peek() {
        if c == '\n' {
            return;
        }
        rest.next();
        match c {
            '\u{7}' | '\u{9c}' => return,
            '\u{1b}' => {
                rest.next_if_eq(&'\\');
                return;
            }
            _ => {}
        }
    }
}

/// A session's title: the first line of its first message, cut at a word.
pub fn title_of(text: &str) -> String {
    const TITLE_CHARS: usize = 60;
    const READ_BYTES: usize = 1_000;
    let clean = plain_text(&text[..text.floor_char_boundary(READ_BYTES)]);
    let line = clean.lines().map(str::trim).find(|l| !l.is_empty()).unwrap_or("Chat");
    let line = line.trim_start_matches(['#', '>', '-', '*', ' ']).trim();
    let line = if line.is_empty() { "Chat" } else { line };
    let mut out = String::new();
    for word in line.split_whitespace() {
        let more = out.graphemes(true).count() + word.graphemes(true).count() + 1;
        if more > TITLE_CHARS {
            if out.is_empty() {
                out = word.graphemes(true).take(TITLE_CHARS - 1).collect();
            }
            out.push('…');
            return out;
        }
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_one_short_clean_line() {
        #[track_caller]
        fn check(text: &str, title: &str) {
            assert_eq!(title_of(text), title);
        }
        check("I moved to Lund", "I moved to Lund");
        check("\n\n## Heading\nmore", "Heading");
        check("a\u{1b}[31mb\tc", "ab c");
        check("   ", "Chat");
        check("---", "Chat");
        check(&"word ".repeat(30), &format!("{}…", "word ".repeat(12).trim_end()));
        assert_eq!(title_of(&"x".repeat(500)).chars().count(), 60);
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let plain = plain_text(text);
        assert_eq!(plain, expected, "of {text:?}");
        assert_eq!(plain_text(&plain), plain, "not idempotent on {text:?}");
        if text == expected && !text.contains(['\u{200c}', '\u{200d}']) {
            assert!(matches!(plain_text(text), Cow::Borrowed(_)), "copied {text:?} needlessly");
        }
    }

    #[test]
    fn removes_what_a_terminal_would_obey() {
        check("plain text, ünïcode, 日本語, emoji 🎉", "plain text, ünïcode, 日本語, emoji 🎉");
        check("two\nlines\tand a tab", "two\nlines\tand a tab");
        check("a\u{1b}[31mred\u{1b}[0m", "ared");
        check("\u{1b}]0;title\u{7}after", "after");
        check("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link");
        check("\u{1b}]52;c;aGk=\u{9c}after", "after");
        check("\u{9b}2Jcleared", "cleared");
        check("\u{1b}Pq#0\u{1b}\\after", "after");
        check("\u{1b}cfull reset", "full reset");
        check("\u{1b}(0lqk", "lqk");
        check("unfinished \u{1b}]0;abc\nnext line", "unfinished \nnext line");
        check("at the end \u{1b}", "at the end ");
        check("at the end \u{1b}[", "at the end ");
        check("bell\u{7} back\u{8}space nul\0", "bell backspace nul");
        check("over\rwrite", "over\nwrite");
        check("crlf\r\nline", "crlf\nline");
        check("\u{1b}[\u{1b}[31mx", "x");
    }

    #[test]
    fn removes_what_the_eye_cannot_see() {
        check("user\u{202e}gnp.exe", "usergnp.exe");
        check("zero\u{200b}width\u{feff}", "zerowidth");
        check("a\u{2066}b\u{2069}c", "abc");
        check("soft\u{ad}hyphen", "softhyphen");
        check("hidden\u{e0041}\u{e0042}", "hidden");
        check("line\u{2028}separator", "line\nseparator");
        check("latin\u{200d}joiner", "latinjoiner");
        check("family 👨\u{200d}👩\u{200d}👧", "family 👨\u{200d}👩\u{200d}👧".trim());
        check("می\u{200c}خواهم", "می\u{200c}خواهم");
        // What the joiner stands before goes itself.
        check("👨\u{200d}\u{180d}x", "👨x");
        check("م\u{200c}\u{61c}م", "مم");
    }

    #[test]
    fn ten_megabytes_take_linear_time() {
        let hostile = "\u{1b}]".repeat(5 << 20);
        let start = std::time::Instant::now();
        assert!(plain_text(&hostile).len() <= hostile.len());
        assert!(start.elapsed() < std::time::Duration::from_secs(5));
    }

    proptest::proptest! {
        #[test]
        fn nothing_dangerous_is_left(text in "(\\PC|[\u{0}-\u{9f}]|\u{1b}|\u{200d}|[\u{2000}-\u{206f}]){0,60}") {
            let plain = plain_text(&text).into_owned();
            for c in plain.chars() {
                assert!(!c.is_control() || c == '\n' || c == '\t', "{c:?} left of {text:?}");
                assert!(!('\u{202a}'..='\u{202e}').contains(&c));
            }
            assert_eq!(plain_text(&plain), plain);
        }
    }
}
