//! Where sentences end: abbreviations, initials, lists, quotes, emoji, addresses and line breaks.
use super::lists::Words;
use super::words::{Token, tokens};
use super::{intent, lexicon};

static ABBREVIATIONS: Words = Words::new("abbreviations");
static NO_SUBJECTS: Words = Words::new("no subjects");
static SMALL_BEGINNINGS: Words = Words::new("small beginnings");
static SUBJECTS: Words = Words::new("subjects that tell");

/// The sentences of a text, trimmed, in order; list bullets are not part of them. Joined by
/// whitespace they are the text again, up to whitespace and bullets.
pub fn sentences(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    for line in text.lines() {
        let line = strip_bullet(line.trim());
        if !line.is_empty() {
            split_line(line, &mut out);
        }
    }
    out
}

/// "- milk", "* milk", "• milk", "3. milk", "2) milk" → "milk".
fn strip_bullet(line: &str) -> &str {
    let rest = line.trim_start_matches(['-', '*', '•', '–', '—', '·', '#', '>']);
    if rest.len() < line.len() && rest.starts_with(char::is_whitespace) {
        return rest.trim_start();
    }
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    if (1..=3).contains(&digits)
        && let Some(rest) = line[digits..].strip_prefix(['.', ')'])
        && rest.starts_with(char::is_whitespace)
    {
        return rest.trim_start();
    }
    line
}

fn split_line<'a>(line: &'a str, out: &mut Vec<&'a str>) {
    let mut start = 0;
    let mut rest = line.char_indices().peekable();
    let mut word_start = 0;
    let mut depth = 0_i32;
    while let Some((at, c)) = rest.next() {
        if c.is_whitespace() {
            word_start = at + c.len_utf8();
            continue;
        }
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = (depth - 1).max(0),
            _ => {}
        }
        let emoji = is_emoji(c);
        if !(matches!(c, '.' | '!' | '?' | '…' | '。' | '！' | '？') || emoji) {
            continue;
        }
        // The whole run of end marks, closing quotes and emoji.
        let mut end = at + c.len_utf8();
        let mut marks = String::from(c);
        while let Some(&(i, next)) = rest.peek() {
            let closes = ".!?…\"'”’)]*_。！？".contains(next)
                || is_emoji(next)
                || (emoji && next == ' ' && line[i + 1..].starts_with(is_emoji));
            if !closes {
                break;
            }
            if matches!(next, ')' | ']') {
                depth = (depth - 1).max(0);
            }
            marks.push(next);
            end = i + next.len_utf8();
            rest.next();
        }
        let after = &line[end..];
        let wide = marks.contains(['。', '！', '？']);
        if !(wide || after.is_empty() || after.starts_with(char::is_whitespace)) || depth > 0 {
            continue;
        }
        let next_char = after.trim_start().chars().next();
        if marks == "." && continues(&line[word_start..at], next_char) {
            continue;
        }
        // After "..." and emoji, a lowercase letter continues the sentence.
        let soft = emoji && !marks.contains(['.', '!', '?'])
            || marks.starts_with('…')
            || marks.starts_with("..");
        if soft && next_char.is_some_and(char::is_lowercase) && !starts_new(after) {
            continue;
        }
        // A quotation inside a sentence: “Really?” she said.
        if marks.ends_with(['"', '”', '\'', '’']) && next_char.is_some_and(char::is_lowercase) {
            continue;
        }
        push(&line[start..end], out);
        start = end;
        word_start = end;
    }
    push(&line[start..], out);
}

/// Whether the full stop after `word` does not end the sentence.
fn continues(word: &str, next: Option<char>) -> bool {
    let word = word.trim_start_matches(['(', '"', '“', '\'', '‘', '[']);
    let lower = word.to_lowercase();
    let Some(next) = next else { return false };
    // "a.m." and "p.m." end a sentence when a capital follows.
    if matches!(lower.as_str(), "a.m" | "p.m" | "am" | "pm" | "etc" | "u.s" | "u.k" | "ph.d") {
        return next.is_lowercase() || next.is_ascii_digit();
    }
    if ABBREVIATIONS.has(&lower) {
        // "St. Olaf", "Dr. Who", "no. 5", but "No. I said" is an answer.
        return match lower.as_str() {
            "no" | "co" | "al" | "mar" | "sun" | "mon" | "dec" | "wed" | "fri" | "est" | "jun" => {
                next.is_ascii_digit()
            }
            _ => true,
        };
    }
    // An initial: "J. Smith".
    let mut letters = word.chars();
    if let (Some(letter), None) = (letters.next(), letters.next()) {
        return letter.is_uppercase() && letter != 'I' && next.is_uppercase();
    }
    false
}

/// Lowercase words that begin a new sentence after "..." or emoji: "i", "my".
fn starts_new(after: &str) -> bool {
    let first = after.split_whitespace().next().unwrap_or_default().to_lowercase();
    SMALL_BEGINNINGS.has(first.as_str())
}

pub(super) fn is_emoji(c: char) -> bool {
    matches!(u32::from(c),
        0x1f000..=0x1faff | 0x2600..=0x27bf | 0x2b00..=0x2bff | 0xfe0f | 0x200d | 0x20e3
        | 0xe0020..=0xe007f)
}

fn push<'a>(sentence: &'a str, out: &mut Vec<&'a str>) {
    let sentence = sentence.trim();
    if sentence.is_empty() {
        return;
    }
    if !sentence.contains(|c: char| c.is_alphanumeric())
        && let Some(last) = out.last()
    {
        // Stray marks and emoji belong to the sentence before, if they follow it directly.
        let end = last.as_ptr() as usize + last.len();
        let here = sentence.as_ptr() as usize;
        if here >= end && here - end <= 4 {
            return;
        }
    }
    if let Some(at) = question_after(sentence) {
        out.push(sentence[..at].trim_end_matches([',', ';', '-', '–', '—', ' ']));
        out.push(&sentence[at..]);
        return;
    }
    out.push(sentence);
}

/// Where a question begins that follows what is told: "I'm allergic to nuts, | can I eat pesto?"
fn question_after(sentence: &str) -> Option<usize> {
    const BYTES_MAX: usize = 600;
    const PAUSES: [&str; 5] = [", ", "; ", " - ", " – ", " — "];
    if sentence.len() > BYTES_MAX || !tells(sentence) {
        return None;
    }
    let pauses = PAUSES.iter().flat_map(|pause| sentence.match_indices(pause));
    let mut pauses: Vec<usize> = pauses.map(|(at, pause)| at + pause.len()).collect();
    pauses.sort_unstable();
    pauses.into_iter().find(|&at| tells(&sentence[..at]) && asks(&sentence[at..]))
}

/// Whether a clause may stand as a statement: a subject that it begins with, and a verb.
fn tells(clause: &str) -> bool {
    const WORDS_MIN: usize = 3;
    let words: Vec<String> = lexicon::words(clause).take(12).map(str::to_lowercase).collect();
    let words: Vec<String> = words.iter().map(|word| word.replace('’', "'")).collect();
    let first = words.first().map(String::as_str).unwrap_or_default();
    let contracts = ["'m", "'s", "'re", "'ve", "'ll", "'d"].iter().any(|end| first.ends_with(end));
    let bare = first.split('\'').next().unwrap_or_default();
    let is_name = clause.starts_with(char::is_uppercase) && !lexicon::is_finite(first);
    words.len() >= WORDS_MIN
        && (SUBJECTS.has(bare) || is_name && !NO_SUBJECTS.has(bare))
        && (contracts || words[1..].iter().any(|word| lexicon::is_finite(word)))
}

/// Whether a clause asks, not as "isn't it" does.
fn asks(clause: &str) -> bool {
    const WORDS_MIN: usize = 3;
    let words: Vec<Token> = tokens(clause).into_iter().filter(|token| token.word).collect();
    let [first, second, ..] = &words[..] else { return false };
    // Without a mark, "where I work" tells.
    let is_relative = first.among(&["where", "when", "who", "whom", "whose", "which"]);
    words.len() >= WORDS_MIN
        && !first.lower.ends_with("n't")
        && intent::is_question(&words, clause.trim_end_matches(['?', '!', '.', ' ']))
        && (!is_relative || clause.contains('?') && lexicon::helps(&second.lower))
}

#[cfg(test)]
mod tests {
    use super::super::tests::cases;
    use super::*;

    #[test]
    fn sentences_end_where_a_reader_ends_them() {
        assert_eq!(sentences(" \n "), Vec::<&str>::new());
        for (text, expected) in cases(include_str!("tests/cases/sentences.txt"), "sentences") {
            assert_eq!(sentences(&text), expected, "of {text:?}");
        }
    }

    #[test]
    fn ten_megabytes_take_linear_time() {
        for text in [
            ". ".repeat(5 << 20),
            "(".repeat(10 << 20),
            "a.".repeat(5 << 20),
            "! a".repeat(3 << 20),
        ] {
            let start = std::time::Instant::now();
            let n = sentences(&text).len();
            assert!(n <= text.len());
            assert!(start.elapsed() < std::time::Duration::from_secs(20), "too slow");
        }
    }
}
