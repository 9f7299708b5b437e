//! Tells English from other languages and from noise.

use super::lexicon::{self, ADVERBS, KIN, PETS, REACTION, STOP};
use super::lists::Words;

static ENGLISH: Words = Words::new("english");
static FOREIGN: Words = Words::new("foreign");

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    English,
    /// Kept as it is, in quotes.
    Other,
    /// Gibberish, numbers, keyboard noise: dropped.
    None,
}

/// Whether a text is in a language that the built-in models were not trained on.
pub fn is_foreign(text: &str) -> bool {
    of(text) == Language::Other
}

pub(super) fn of(sentence: &str) -> Language {
    let sample = lexicon::clip(sentence, 2_000);
    let (mut letters, mut latin) = (0_usize, 0_usize);
    for c in sample.chars().filter(|c| c.is_alphabetic()) {
        letters += 1;
        latin += usize::from(matches!(u32::from(c), 0x41..=0x24f));
    }
    if letters == 0 {
        return Language::None;
    }
    if latin * 2 < letters {
        return if letters >= 3 { Language::Other } else { Language::None };
    }
    let (mut n, mut english, mut foreign, mut pronounceable) = (0_usize, 0_usize, 0_usize, 0_usize);
    for word in lexicon::words(sample) {
        if !word.chars().any(char::is_alphabetic) {
            continue;
        }
        n += 1;
        let lower = word.to_lowercase().replace('\u{2019}', "'");
        let foreign_word = FOREIGN.has(&lower);
        // Words that are common in English and elsewhere ("me", "so", "die") decide nothing.
        if foreign_word {
            foreign += 1;
        } else if is_english(&lower) {
            english += 1;
        }
        pronounceable += usize::from(lower.chars().count() < 24 && has_vowels(&lower));
    }
    if n == 0 {
        return Language::None;
    }
    if foreign > english && n >= 2 || foreign >= 2 && foreign * 2 > english {
        return Language::Other;
    }
    if english > 0 || sample.contains("://") {
        return if pronounceable * 3 >= n { Language::English } else { Language::None };
    }
    // No word that the lists know: a fragment of names, another language, or noise.
    if n < 3 || foreign == 0 && n < 4 {
        // "Lund", "Golden retriever": an answer too short to stand alone.
        return Language::None;
    }
    if pronounceable * 5 >= n * 4 { Language::Other } else { Language::None }
}

fn is_english(lower: &str) -> bool {
    // Words of other languages as well.
    if matches!(lower, "me" | "so" | "no" | "do" | "as" | "die") {
        return false;
    }
    let lists = [&STOP, &REACTION, &ADVERBS, &KIN, &PETS, &ENGLISH];
    lists.iter().any(|list| list.has(lower))
        || lexicon::is_finite(lower) && lower.len() > 2
        || lower.ends_with("ing") && lower.len() > 5
}

fn has_vowels(lower: &str) -> bool {
    let mut run = 0;
    let mut vowels = 0;
    for c in lower.chars() {
        if matches!(c, 'a' | 'e' | 'i' | 'o' | 'u' | 'y')
            || !c.is_ascii()
            || c == '\''
            || c == '-'
            || c.is_ascii_digit()
        {
            vowels += 1;
            run = 0;
        } else {
            run += 1;
            if run > 5 {
                return false;
            }
        }
    }
    vowels > 0 || lower.len() <= 4
}
