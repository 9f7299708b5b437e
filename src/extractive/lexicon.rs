//! Word lists: what the rules know of English. Closed classes in full, open classes by frequency.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use rust_stemmers::{Algorithm, Stemmer};

use super::lists::{Rows, Table, Words};

static ED_BASES: Words = Words::new("bases in -ed");
static LY_WORDS: Words = Words::new("in -ly but no adverb");

/// Verbs whose past equals their base form: "put", "read".
pub(super) static UNCHANGING: Words = Words::new("unchanging");

/// Base forms that are verbs first, whatever follows.
static VERBS: Words = Words::new("verbs");

/// Base forms that are as often nouns: after "and" they need more evidence to count as verbs.
pub(super) static NOUN_LIKE: Words = Words::new("noun-like");

/// Base, past, participle.
static IRREGULAR_VERBS: Rows = Rows::new("irregular verbs");

/// Infinitives, pasts and participles of the irregular verbs.
#[derive(Default)]
struct Irregular {
    past: HashSet<&'static str>,
    participle: HashSet<&'static str>,
    base_of: HashMap<&'static str, &'static str>,
    bases: HashSet<&'static str>,
}

static IRREGULARS: LazyLock<Irregular> = LazyLock::new(|| {
    let mut it = Irregular::default();
    for forms in IRREGULAR_VERBS.iter() {
        if let [base, past, participle] = forms[..] {
            it.bases.insert(base);
            it.past.insert(past);
            it.participle.insert(participle);
            it.base_of.entry(past).or_insert(base);
            it.base_of.entry(participle).or_insert(base);
        }
    }
    it
});

pub(super) static MODALS: Words = Words::new("modals");

/// Finite auxiliaries and copulas, with their negations.
pub(super) static AUXILIARIES: Words = Words::new("auxiliaries");

pub(super) static ADVERBS: Words = Words::new("adverbs");

/// Function words: they say nothing by themselves, so a fact may add them to its sources.
pub(super) static STOP: Words = Words::new("stop");

/// Words of praise, surprise and agreement: a sentence of nothing else is a reaction.
pub(super) static REACTION: Words = Words::new("reactions");

#[rustfmt::skip]
pub(super) const MONTHS: [&str; 12] = [
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
];

pub(super) const WEEKDAYS: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

pub(super) fn is_month_or_weekday(lower: &str) -> bool {
    MONTHS.iter().chain(&WEEKDAYS).any(|name| name.eq_ignore_ascii_case(lower))
}

/// People that someone has one or several of.
pub(super) static KIN: Words = Words::new("kin");

pub(super) static PETS: Words = Words::new("pets");

/// Kin whose gender the word tells.
pub(super) static FEMALE: Words = Words::new("female");

pub(super) static MALE: Words = Words::new("male");

/// Dogs that are called by their breed.
pub(super) static DOG_BREEDS: Words = Words::new("dog breeds");

/// Words that end in a breed's name, or are one.
pub(super) static BREEDS: Words = Words::new("breeds");

static NUMBERS: Table = Table::new("numbers");

/// A number in digits or words, up to 99 in words.
pub(super) fn number(word: &str) -> Option<i64> {
    let word = word.to_lowercase();
    if (1..=6).contains(&word.len()) && word.bytes().all(|b| b.is_ascii_digit()) {
        return word.parse().ok();
    }
    let named = |word: &str| NUMBERS.get(word)?.parse::<i64>().ok();
    named(&word).or_else(|| {
        let (tens, ones) = word.split_once('-')?;
        let (tens, ones) = (named(tens)?, named(ones)?);
        (tens >= 20 && (1..10).contains(&ones)).then_some(tens + ones)
    })
}

/// Something in digits, or a number above one in words.
pub(super) fn is_value(lower: &str) -> bool {
    lower.chars().any(|c| c.is_ascii_digit()) || number(lower).is_some_and(|n| n > 1)
}

/// Whether a word is the base form of a verb.
pub fn is_base_verb(lower: &str) -> bool {
    VERBS.has(lower) || UNCHANGING.has(lower) || IRREGULARS.bases.contains(lower)
}

/// Past tense, by the table or by -ed.
pub(super) fn is_past(lower: &str) -> bool {
    IRREGULARS.past.contains(lower)
        || matches!(lower, "did" | "had" | "was" | "were" | "used")
        || (lower.len() > 3 && lower.ends_with("ed") && !ED_BASES.has(lower))
}

/// Past participle, by the table or by -ed.
pub fn is_participle(lower: &str) -> bool {
    IRREGULARS.participle.contains(lower)
        || UNCHANGING.has(lower)
        || (lower.len() > 3 && lower.ends_with("ed") && !ED_BASES.has(lower))
}

/// A participle that is not a past tense and seldom an adjective: "been", "gone".
pub(super) fn is_only_participle(lower: &str) -> bool {
    matches!(lower, "got" | "had" | "decided" | "agreed" | "chosen")
        || (IRREGULARS.participle.contains(lower) && !IRREGULARS.past.contains(lower))
            && !matches!(lower, "broken" | "frozen" | "born" | "torn" | "drunk" | "come" | "run")
}

/// "lives", "watches", "has".
pub(super) fn is_third_person(lower: &str) -> bool {
    matches!(lower, "is" | "has" | "does")
        || (lower.len() > 2 && lower.ends_with('s') && is_base_verb(&base_of_third(lower)))
}

pub(super) fn base_of_third(lower: &str) -> String {
    if let Some(stem) = lower.strip_suffix("ies").filter(|s| s.len() > 1) {
        return format!("{stem}y");
    }
    if let Some(stem) = lower.strip_suffix('s').filter(|stem| is_base_verb(stem)) {
        return stem.to_owned();
    }
    if let Some(stem) = lower.strip_suffix("es")
        && ["s", "sh", "ch", "x", "z", "o"].iter().any(|e| stem.ends_with(e))
    {
        return stem.to_owned();
    }
    lower.strip_suffix('s').unwrap_or(lower).to_owned()
}

/// An auxiliary or a modal.
pub fn helps(lower: &str) -> bool {
    AUXILIARIES.has(lower) || MODALS.has(lower)
}

/// A finite verb for certain, which a base form may not be.
pub(super) fn is_clearly_finite(lower: &str) -> bool {
    helps(lower) || is_past(lower) || is_third_person(lower)
}

/// Any finite verb that the lists know (a base form counts: "they live").
pub(super) fn is_finite(lower: &str) -> bool {
    is_clearly_finite(lower) || is_base_verb(lower)
}

static THIRD_PERSONS: Table = Table::new("irregular third persons");

/// "live" → "lives".
pub(super) fn third_person(base: &str) -> String {
    if let Some(irregular) = THIRD_PERSONS.get(base) {
        return (*irregular).to_owned();
    }
    let vowel_before_y = base.len() > 1
        && base.ends_with('y')
        && base[..base.len() - 1].ends_with(['a', 'e', 'i', 'o', 'u']);
    if base.ends_with('y') && !vowel_before_y {
        return format!("{}ies", &base[..base.len() - 1]);
    }
    if ["s", "sh", "ch", "x", "z", "o"].iter().any(|e| base.ends_with(e)) {
        return format!("{base}es");
    }
    format!("{base}s")
}

/// True of a word that may stand between a subject and its verb.
pub fn is_adverb(lower: &str) -> bool {
    ADVERBS.has(lower) || (lower.len() > 4 && lower.ends_with("ly") && !LY_WORDS.has(lower))
}

/// Spellings and familiar forms ("mum", "kid") that share a stem.
static SAME_STEM: Table = Table::new("spellings");

/// A stem for comparing words: irregular forms meet their base ("went" = "go").
pub(super) fn stem(word: &str) -> String {
    static STEMMER: LazyLock<Stemmer> = LazyLock::new(|| Stemmer::create(Algorithm::English));
    let lower = word.to_lowercase().replace('\u{2019}', "'");
    let lower = lower.strip_suffix("'s").unwrap_or(&lower);
    if lower.chars().count() > 40 {
        return lower.to_owned();
    }
    let base = IRREGULARS.base_of.get(lower).copied().unwrap_or(lower);
    let base = SAME_STEM.get(base).copied().unwrap_or(base);
    STEMMER.stem(base).into_owned()
}

/// Stems of the words that carry meaning, in order.
pub fn content_stems(text: &str) -> Vec<String> {
    words(text).filter(|w| !STOP.has(w.to_lowercase().as_str())).map(stem).collect()
}

/// Runs of letters, digits and inner apostrophes and hyphens.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '\'' | '\u{2019}' | '-')))
        .map(|w| w.trim_matches(['\'', '\u{2019}', '-']))
        .filter(|w| !w.is_empty())
}

/// "ana" → "Ana".
pub fn capitalise(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(c) => c.to_uppercase().chain(chars).collect(),
        None => String::new(),
    }
}

/// True if the word begins with an uppercase letter.
pub(super) fn starts_upper(word: &str) -> bool {
    word.chars().next().is_some_and(char::is_uppercase)
}

/// At most `bytes` bytes of `text`, cut at a character boundary.
pub(super) fn clip(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// At most `chars` characters, cut at a word, with an ellipsis.
pub(super) fn clip_words(text: &str, chars: usize) -> String {
    if text.chars().count() <= chars {
        return text.trim().to_owned();
    }
    let cut: String = text.chars().take(chars).collect();
    let cut = cut.rsplit_once(char::is_whitespace).map_or(cut.as_str(), |(head, _)| head);
    format!("{}…", cut.trim_end_matches(|c: char| !c.is_alphanumeric()))
}
