//! BLEU-1 and set F1 exactly as the memory papers compute them.
//!
//! Both are coarser than [`super::token_f1`] and serve to compare results with published ones: 719 pairs of
//! `../shared/data/xmemory-golden` agree to 1e-9.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use regex::Regex;

use super::{harmonic_mean, share};

/// F1 of the two sets of words: lower case, `.,!?` taken for spaces, repeats not counted. 0 if
/// either has no word (so two empty texts do not agree).
#[must_use]
pub fn set_f1(found: &str, expected: &str) -> f64 {
    let set = |text: &str| -> HashSet<String> {
        let bare = text.to_lowercase().replace(['.', ',', '!', '?'], " ");
        bare.split_whitespace().map(str::to_owned).collect()
    };
    let (found, expected) = (set(found), set(expected));
    let shared = found.intersection(&expected).count();
    if shared == 0 {
        return 0.0;
    }
    harmonic_mean(share(shared, found.len()), share(shared, expected.len()))
}

/// Clipped unigram precision of the lower-cased [`word_tokens`], times the brevity penalty
/// exp(1 − r/c) of a candidate that is not longer than its reference (Papineni et al., 2002).
///
/// This is what NLTK's `sentence_bleu` gives with weights (1, 0, 0, 0) and smoothing method 1:
/// the smoothing only touches orders without a match, and without any matching word NLTK says 0
/// before it smooths.
#[must_use]
pub fn bleu_1(found: &str, expected: &str) -> f64 {
    let (found, expected) =
        (word_tokens(&found.to_lowercase()), word_tokens(&expected.to_lowercase()));
    let mut left: HashMap<&str, usize> = HashMap::new();
    for word in &expected {
        *left.entry(word).or_default() += 1;
    }
    let mut n_shared = 0;
    for word in &found {
        if let Some(n) = left.get_mut(word.as_str()).filter(|n| **n > 0) {
            *n -= 1;
            n_shared += 1;
        }
    }
    if n_shared == 0 {
        return 0.0;
    }
    let brevity = if found.len() > expected.len() {
        1.0
    } else {
        (1.0 - share(expected.len(), found.len())).exp()
    };
    brevity * share(n_shared, found.len())
}

/// A pattern and its replacement.
type Rule = (Regex, &'static str);

fn rules(table: &[(&str, &'static str)]) -> Vec<Rule> {
    let rule = |&(pattern, with)| (Regex::new(pattern).expect("a valid pattern"), with);
    table.iter().map(rule).collect()
}

/// Before single opening quotes are looked for.
static OPENING: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    rules(&[
        ("([«“‘„]|`+)", " $1 "),
        ("^\"", "``"),
        ("(``)", " $1 "),
        (r#"([ (\[{<])("|'{2})"#, "$1 `` "),
    ])
});

static PUNCTUATION: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    rules(&[
        // The last full stop of the text, and no other: abbreviations keep theirs.
        (r#"([^.])(\.)([\])}>"'»”’ ]*)\s*$"#, "$1 $2 $3 "),
        (r"([:,])([^\d])", " $1 $2"),
        (r"([:,])$", " $1 "),
        (r"(\.{2,})", " $1 "),
        ("([;@#$%&])", " $1 "),
        ("([\u{2012}-\u{2015}])", " $1 "),
        ("([?!])", " $1 "),
        ("([^'])' ", "$1 ' "),
        (r"(\*)", " $1 "),
        (r"([\]\[(){}<>])", " $1 "),
        ("--", " -- "),
    ])
});

/// On the text between two spaces.
static CLOSING: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    rules(&[
        ("([»”’])", " $1 "),
        ("''", " '' "),
        ("\"", " '' "),
        (r"\s+", " "),
        ("([^' ])('[sS]|'[mM]|'[dD]|') ", "$1 $2 "),
        ("([^' ])('ll|'LL|'re|'RE|'ve|'VE|n't|N'T) ", "$1 $2 "),
        (r"(?i)\b(can)(not)\b", " $1 $2 "),
        (r"(?i)\b(d)('ye)\b", " $1 $2 "),
        (r"(?i)\b(gim)(me)\b", " $1 $2 "),
        (r"(?i)\b(gon)(na)\b", " $1 $2 "),
        (r"(?i)\b(got)(ta)\b", " $1 $2 "),
        (r"(?i)\b(lem)(me)\b", " $1 $2 "),
        (r"(?i)\b(more)('n)\b", " $1 $2 "),
        (r"(?i)\b(wan)(na)(\s)", " $1 $2 $3"),
    ])
});

/// The tokens of a text by the rules of NLTK's word tokenizer (Treebank conventions: `n't`, `'s`,
/// quotes as `` `` `` and `''`), which BLEU is usually counted on.
///
/// As in the reference figures the text is one sentence: a full stop within it stays with its word.
#[must_use]
pub fn word_tokens(text: &str) -> Vec<String> {
    let text = apply(text.to_owned(), &OPENING);
    let text = apply(split_opening_apostrophes(&text), &PUNCTUATION);
    let text = apply(format!(" {text} "), &CLOSING);
    text.split_whitespace().map(str::to_owned).collect()
}

fn apply(text: String, rules: &[Rule]) -> String {
    rules.iter().fold(text, |text, (pattern, with)| pattern.replace_all(&text, *with).into_owned())
}

/// An apostrophe at the start of a word is a token of its own, unless the word is a clitic.
fn split_opening_apostrophes(text: &str) -> String {
    const CLITICS: [&str; 8] = ["re", "ve", "ll", "m", "t", "s", "d", "n"];
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut split = String::with_capacity(text.len());
    let mut before = None;
    for (at, c) in text.char_indices() {
        split.push(c);
        if c == '\'' && !before.is_some_and(is_word) {
            let word: String = text[at + 1..].chars().take_while(|&c| is_word(c)).collect();
            if !word.is_empty() && !CLITICS.contains(&word.to_lowercase().as_str()) {
                split.push(' ');
            }
        }
        before = Some(c);
    }
    split
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As NLTK's own tokenizer (3.10.4) gives them.
    #[test]
    fn tokens_are_those_of_the_reference_tokenizer() {
        let check = |text: &str, tokens: &str| {
            assert_eq!(word_tokens(text).join(" "), tokens, "{text:?}");
        };
        check(
            "She said: \"I can't go - it's 5:30, isn't it?\"",
            "She said : `` I ca n't go - it 's 5:30 , is n't it ? ''",
        );
        check(
            "gonna wanna gimme 'tis a (good) day... really!",
            "gon na wan na gim me ' tis a ( good ) day ... really !",
        );
        check(
            "the '90s rock'n'roll of james' band; $10, 3,000 & 50%.",
            "the ' 90s rock'n'roll of james ' band ; $ 10 , 3,000 & 50 % .",
        );
        check("one. two. three.", "one. two. three .");
        check(
            "‘quoted’ “words” a--b — c*d [x] {y} <z>",
            "‘ quoted ’ “ words ” a -- b — c * d [ x ] { y } < z >",
        );
        check("rock 'n roll, the kids' toys.\")  ", "rock 'n roll , the kids ' toys . '' )");
        check("'s a we'll they're I'd cannot d'ye", "'s a we 'll they 're I 'd can not d 'ye");
        check("a ''double'' \"\"quoted\"\" b. ", "a `` double '' `` '' quoted '' '' b .");
        check("e:mail, 1:2 ,x :", "e : mail , 1:2 , x :");
        check("it 'twas more'n 'til", "it ' twas more 'n ' til");
        check("wait.. what.", "wait .. what .");
        check("", "");
    }

    #[test]
    fn by_hand() {
        let close = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-12);
        close(set_f1("Red, red!", "the red"), 2.0 / 3.0);
        close(set_f1("", ""), 0.0);
        close(bleu_1("Adoption", "Adoption agencies"), (-1.0f64).exp());
        close(bleu_1("red red red", "red"), 1.0 / 3.0);
        close(bleu_1("red", "blue"), 0.0);
        close(bleu_1("", "blue"), 0.0);
    }

    /// Every pair of the reference file, if it is beside the checkout.
    #[test]
    #[expect(clippy::print_stderr, reason = "says what was checked")]
    fn equal_to_the_reference_figures() {
        let path = inglenook::testing::shared("data/xmemory-golden/metrics_f1_bleu1.json");
        let Some(path) = path else { return };
        let text = std::fs::read_to_string(path).unwrap();
        let pairs: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
        let mut different = Vec::new();
        let mut largest = 0.0f64;
        for pair in &pairs {
            let (found, expected) = (pair["pred"].as_str().unwrap(), pair["ref"].as_str().unwrap());
            let figures = [
                (set_f1(found, expected), pair["f1"].as_f64().unwrap()),
                (bleu_1(found, expected), pair["bleu1"].as_f64().unwrap()),
            ];
            let error = figures.iter().map(|(ours, theirs)| (ours - theirs).abs());
            let error = error.fold(0.0, f64::max);
            largest = largest.max(error);
            if error > 1e-9 {
                different.push((found, expected, figures));
            }
        }
        eprintln!("{} pairs, largest difference {largest:.1e}", pairs.len());
        assert!(different.is_empty(), "{different:#?}");
    }
}
