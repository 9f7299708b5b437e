//! The filter before terminals, files and the clipboard: nothing that is obeyed or hidden survives it.
#![no_main]

use inglenook::memory::{plain_text, title_of};
use inglenook_fuzz as _;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let plain = plain_text(&text);
    assert_harmless(&plain, "\n\t");
    assert_eq!(plain_text(&plain), plain, "a second time");
    assert!(plain.len() <= text.len());
    // What is harmless stays: lines are shortened by what is removed, and no line is lost.
    let harmless = |c: &char| c.is_ascii_graphic() || matches!(c, '\n' | '\t' | ' ');
    if text.chars().all(|c| harmless(&c)) {
        assert_eq!(plain, text);
    }
    let n_lines = |text: &str| text.matches('\n').count();
    assert!(n_lines(&plain) >= n_lines(&text), "a line was lost");

    let title = title_of(&text);
    assert_harmless(&title, "");
    assert!(!title.is_empty() && title.trim() == title, "{title:?}");
});

fn assert_harmless(text: &str, allowed: &str) {
    let mut before = None;
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        assert!(!c.is_control() || allowed.contains(c), "{c:?} left in {text:?}");
        let hidden = matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}');
        assert!(!hidden, "{c:?} left in {text:?}");
        // Joiners stand between two characters that are seen.
        if matches!(c, '\u{200c}' | '\u{200d}') {
            let seen = |c: Option<char>| {
                c.is_some_and(|c| !c.is_whitespace() && !matches!(c, '\u{200c}' | '\u{200d}'))
            };
            assert!(seen(before) && seen(rest.peek().copied()), "a stray joiner in {text:?}");
        }
        before = Some(c);
    }
}
