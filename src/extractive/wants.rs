//! What a turn wants: small talk, the world, memory, or to tell something.
//!
//! A linear model over words and their order, a few microseconds a message. Its weights are
//! `assets/words/wants.tsv`, fitted by `inglenook-eval turns --fit` to messages that were written for it.

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use super::intent::{intent, is_question};
use super::words::{Token, tokens};
use super::{lexicon, sentences};

/// What a person's message wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Wants {
    /// A greeting, thanks, a reaction, a question about the assistant itself.
    SmallTalk,
    /// A question or a task that needs nothing that was told: "Write a haiku about the sea."
    World,
    /// What only somebody knows who was told: "What is my sister's name?", "Suggest a dish I'd like."
    Memory,
    /// To tell something.
    Statement,
}

impl Wants {
    /// All, in the order of a [`Model`]'s weights.
    pub const ALL: [Self; 4] = [Self::SmallTalk, Self::World, Self::Memory, Self::Statement];
}

/// A linear model: features and their weights.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Model {
    /// The weights of what every message has.
    pub bias: [f32; 4],
    /// The weights of each feature; others count nothing.
    pub weights: HashMap<String, [f32; 4]>,
}

impl Model {
    /// Reads lines of a feature and four weights in hundredths, separated by tabs; the feature of the
    /// bias is empty. Damaged lines are left out.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut model = Self::default();
        for line in text.lines() {
            let mut columns = line.split('\t');
            let Some(feature) = columns.next() else { continue };
            let weights: Vec<f32> =
                columns.filter_map(|w| Some(f32::from(w.parse::<i16>().ok()?) / 100.0)).collect();
            let Ok(weights) = <[f32; 4]>::try_from(weights) else { continue };
            if feature.is_empty() {
                model.bias = weights;
            } else {
                model.weights.insert(feature.to_owned(), weights);
            }
        }
        model
    }

    /// The probability of each of [`Wants::ALL`].
    #[must_use]
    pub fn probabilities(&self, features: &BTreeSet<String>) -> [f32; 4] {
        let mut scores = self.bias;
        for weights in features.iter().filter_map(|feature| self.weights.get(feature)) {
            scores.iter_mut().zip(weights).for_each(|(score, weight)| *score += weight);
        }
        let largest = scores.into_iter().fold(f32::NEG_INFINITY, f32::max);
        let odds = scores.map(|score| (score - largest).exp());
        let sum: f32 = odds.iter().sum();
        odds.map(|x| x / sum)
    }

    /// What a message wants most probably.
    #[must_use]
    pub fn wants(&self, text: &str) -> Wants {
        let probabilities = self.probabilities(&features(text));
        let best = |a: usize, b: usize| if probabilities[b] > probabilities[a] { b } else { a };
        Wants::ALL[(0..Wants::ALL.len()).fold(0, best)]
    }
}

static MODEL: LazyLock<Model> =
    LazyLock::new(|| Model::parse(include_str!("../../assets/words/wants.tsv")));

/// What a message wants most probably, by the program's weights.
#[must_use]
pub fn wants(text: &str) -> Wants {
    MODEL.wants(text)
}

/// The longest beginning of a message that is looked at, in bytes, and the most words of a sentence.
const BYTES_MAX: usize = 2_000;
const WORDS_MAX: usize = 32;

/// What [`Model`] goes by: the words of the sentence that asks (the last one, if none does), alone and
/// with their neighbours; the words of the whole message; its form.
#[must_use]
pub fn features(text: &str) -> BTreeSet<String> {
    let text = crate::memory::plain_text(text);
    let text = lexicon::clip(text.trim(), BYTES_MAX);
    let sentences = sentences(text);
    let asks = |sentence: &&&str| is_question(&tokens(sentence), sentence);
    let asking = sentences.iter().rev().find(asks).copied();
    let asked = tokens(asking.or(sentences.last().copied()).unwrap_or(text));
    let words = normal(&asked);
    let all = normal(&tokens(text));

    let mut features = BTreeSet::new();
    let mut add = |feature: String| {
        features.insert(feature);
    };
    for (i, word) in words.iter().enumerate() {
        add(format!("1 {word}"));
        for n in [2, 3] {
            if let Some(run) = words.get(i..i + n) {
                add(format!("{n} {}", run.join(" ")));
            }
        }
    }
    let shape: Vec<String> = asked.iter().filter_map(shape).take(WORDS_MAX).collect();
    for n in [2, 3, 4] {
        shape.windows(n).for_each(|run| add(format!("shape {}", run.join(" "))));
    }
    let core = without_courtesy(&words);
    for (name, words) in [("asks", core), ("begins", &all), ("shaped", &shape)] {
        for n in [1, 2, 3, 4] {
            if let Some(run) = words.get(..n) {
                add(format!("{name} {}", run.join(" ")));
            }
        }
    }
    for word in &all {
        add(format!("has {word}"));
    }
    let n = all.len();
    add(format!("length {}", [1, 2, 4, 7, 12, 25].iter().filter(|&&most| n > most).count()));
    add(format!("intent {:?}", intent(text)));
    if asking.is_some() {
        add("question".into());
    }
    if sentences.len() <= 1 {
        add("one sentence".into());
    }
    if text.contains(['{', '}', '<', '>', '=', ';', '`']) || text.contains("()") {
        add("code".into());
    }
    if text.contains(':') {
        add("colon".into());
    }
    add(format!("names {}", names(&asked)));
    features
}

/// Lower case, without marks other than `?` and `!`; numbers become `#`.
fn normal(tokens: &[Token]) -> Vec<String> {
    let word = |token: &Token| {
        if token.lower.starts_with(|c: char| c.is_ascii_digit()) {
            Some("#".to_owned())
        } else if token.word || token.text.starts_with(['?', '!']) {
            Some(token.lower.chars().take(24).collect())
        } else {
            None
        }
    };
    tokens.iter().filter_map(word).take(WORDS_MAX).collect()
}

/// A common word as it is, another by what it may be: a verb's form, a name, a number, a relative.
fn shape(token: &Token) -> Option<String> {
    let lower = token.lower.as_str();
    let class = if !token.word {
        return token.text.starts_with(['?', '!']).then(|| token.text[..1].to_owned());
    } else if lower.starts_with(|c: char| c.is_ascii_digit()) || lexicon::number(lower).is_some() {
        "#"
    } else if lexicon::STOP.has(lower)
        || lexicon::AUXILIARIES.has(lower)
        || lexicon::MODALS.has(lower)
    {
        return Some(lower.to_owned());
    } else if lexicon::KIN.has(lower) || lexicon::PETS.has(lower) {
        "KIN"
    } else if lexicon::is_month_or_weekday(lower) {
        "DAY"
    } else if lower.ends_with("ing") && lower.len() > 4 {
        "ING"
    } else if lexicon::is_past(lower) {
        "PAST"
    } else if lexicon::is_base_verb(lower) {
        "VERB"
    } else if lexicon::is_third_person(lower) {
        "VERBS"
    } else if token.upper() {
        "NAME"
    } else {
        "X"
    };
    Some(class.to_owned())
}

/// Without "could you please tell me".
fn without_courtesy(mut words: &[String]) -> &[String] {
    while let [first, rest @ ..] = words {
        let second = rest.first().map_or("", String::as_str);
        words = match (first.as_str(), second) {
            (
                "please" | "pls" | "plz" | "kindly" | "hey" | "hi" | "hello" | "ok" | "okay" | "so"
                | "and",
                _,
            ) => rest,
            ("could" | "can" | "would" | "will", "you" | "u") | ("tell", "me") => &rest[1..],
            _ => break,
        };
    }
    words
}

/// The longest run of capitalised words behind the first: somebody's first name alone, or the whole name of
/// somebody known.
fn names(tokens: &[Token]) -> usize {
    let (mut longest, mut run) = (0, 0);
    for token in tokens.iter().skip(1) {
        run = if token.upper() && token.lower != "i" { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest.min(2)
}
