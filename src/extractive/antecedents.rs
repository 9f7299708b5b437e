//! Resolves "he", "she", "it" and "they" if the previous sentences leave exactly one candidate.

use super::attributes::is_creature;
use super::lexicon::{self, FEMALE, MALE, PETS};
use super::lists::Words;
use super::person::{self, Parties};
use super::words::{Sentence, Token, join, tokens};
use crate::memory::MessageId;

static AFTER_A_NOUN: Words = Words::new("after a noun");
static BEFORE_A_NAME: Words = Words::new("before a name");
static BEFORE_A_PLACE: Words = Words::new("before a place");

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gender {
    Female,
    Male,
    Unknown,
}

impl Gender {
    fn of(noun: &str) -> Self {
        match noun {
            _ if FEMALE.has(noun) => Self::Female,
            _ if MALE.has(noun) => Self::Male,
            _ => Self::Unknown,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
struct Candidate {
    /// "Max", or "Ana's dog" while it has no name.
    text: String,
    gender: Gender,
    /// "It" may mean it.
    neuter: bool,
    thing: bool,
    plural: bool,
}

impl Candidate {
    fn named(text: &str) -> Self {
        let gender = Gender::Unknown;
        Self { text: text.to_owned(), gender, neuter: false, thing: false, plural: false }
    }
}

/// What the latest sentences of one speaker offer.
#[derive(Debug, Clone, Default)]
pub(super) struct Antecedents {
    candidates: Vec<Candidate>,
    /// The messages that name them.
    messages: Vec<MessageId>,
    /// Sentences since a candidate was named.
    age: usize,
}

impl Antecedents {
    /// Replaces a leading pronoun if it is clear; also returns the messages that tell whom it means.
    pub fn resolve(&mut self, mut words: Vec<Token>) -> (Vec<Token>, &[MessageId]) {
        let gender = match words.lower(0) {
            "he" | "his" => Gender::Male,
            "she" | "her" => Gender::Female,
            _ => Gender::Unknown,
        };
        let choice = match words.lower(0) {
            "it" | "its" => self.neuter(&words),
            "they" | "their" => self.only(|c| c.plural),
            _ if gender != Gender::Unknown => self.of_gender(gender),
            _ => None,
        };
        let Some(chosen) = choice.map(|i| &mut self.candidates[i]) else { return (words, &[]) };
        if gender != Gender::Unknown {
            chosen.gender = gender;
        }
        let possessive = words.among(0, &["his", "her", "its", "their"]);
        let name = chosen.text.clone();
        self.age = 0;
        words.splice(0..1, tokens(&if possessive { person::possessive(&name) } else { name }));
        (words, &self.messages)
    }

    /// Index of the candidate that fits, if exactly one does.
    fn only(&self, fits: impl Fn(&Candidate) -> bool) -> Option<usize> {
        let mut fitting = (0..self.candidates.len()).filter(|&i| fits(&self.candidates[i]));
        fitting.next().filter(|_| fitting.next().is_none())
    }

    fn of_gender(&self, gender: Gender) -> Option<usize> {
        let one = |c: &Candidate| !c.thing && !c.plural;
        self.only(|c| one(c) && (c.gender == gender || c.gender == Gender::Unknown))
            .or_else(|| self.only(|c| one(c) && c.gender == gender))
    }

    /// "It" is a pet or a thing, and only where a description follows.
    fn neuter(&self, words: &[Token]) -> Option<usize> {
        let describes = words.lower(0) == "its"
            || words.among(1, &["is", "was"])
                && (words.among(2, &["a", "an", "called", "named", "from"])
                    || lexicon::number(words.lower(2)).is_some());
        let only = self.only(|_| describes)?;
        (self.candidates[only].neuter && !self.candidates[only].plural).then_some(only)
    }

    /// Records the candidates that a third-person sentence of some messages names.
    pub fn note(&mut self, text: &str, parties: Parties<'_>, messages: &[MessageId]) {
        let found = candidates(&tokens(text), parties);
        if found.is_empty() {
            self.age += 1;
            if self.age > 2 {
                self.candidates.clear();
            }
            return;
        }
        self.age = 0;
        self.candidates = found;
        messages.clone_into(&mut self.messages);
    }
}

fn candidates(words: &[Token], parties: Parties<'_>) -> Vec<Candidate> {
    let mut out: Vec<Candidate> = Vec::new();
    let mut i = 0;
    while i < words.len() {
        let word = &words[i];
        // Its determiner within three words: "Ana's younger sister", "a black dog".
        let determiner = (i.saturating_sub(3)..i).rev().find(|&s| {
            words[s].lower.ends_with("'s")
                || words[s].among(&["a", "an", "the", "two", "three", "four", "some"])
        });
        // "At Ana's mum's place": she may be the mum.
        let named = words.lower(i + 1) == "name";
        let being = if named { &word.lower } else { word.lower.trim_end_matches("'s") };
        if let Some(start) = determiner.filter(|_| is_creature(being) && !word.upper()) {
            let name = name_after(words, i);
            let found = creature(words, start, i, &name, parties);
            i += 1 + name.len();
            if let Some(found) = found.filter(|f| out.iter().all(|c| c.text != f.text)) {
                out.push(found);
            }
            continue;
        }
        let is_new = out.iter().all(|c| c.text != word.text.trim_end_matches("'s"));
        // "A greyhound called Pixel": whatever it is, it may be "it" too.
        if i > 0 && words[i - 1].among(&["called", "named"]) && word.upper() && word.word {
            let named = Candidate::named(word.text.trim_end_matches("'s"));
            out.extend(is_new.then_some(Candidate { neuter: true, ..named }));
        } else if is_new && is_name(words, i, parties.speaker) {
            let (name, gender) = with_title(words, i);
            out.push(Candidate { gender, ..Candidate::named(&name) });
        } else if is_new && let Some(owner) = owner_of_a_thing(words, i, parties.speaker) {
            out.push(Candidate::named(owner));
        }
        i += 1;
    }
    if out.is_empty() {
        out.extend(bought(words, parties));
    }
    out
}

/// The name of "Ana's dog Max", "a dog named Max", "Ana's dog is called Max".
fn name_after(words: &[Token], noun: usize) -> Vec<String> {
    let called = |at: usize| words.among(at, &["named", "called"]);
    let skip = if called(noun + 1) {
        1
    } else if words.lower(noun + 1) == "is" && called(noun + 2) {
        2
    } else {
        0
    };
    if skip == 0 && !words.is_upper(noun + 1) {
        return Vec::new();
    }
    words[noun + 1 + skip..]
        .iter()
        .take(2)
        .take_while(|t| t.upper() && t.word && !lexicon::MONTHS.contains(&t.text.as_str()))
        .map(|t| t.text.trim_end_matches("'s").to_owned())
        .collect()
}

/// The kin or pet that stands at `noun`, with its determiner at `start`, if it is somebody's.
fn creature(
    words: &[Token],
    start: usize,
    noun: usize,
    name: &[String],
    parties: Parties<'_>,
) -> Option<Candidate> {
    let word = Token::new(words[noun].text.trim_end_matches("'s"), words[noun].space_before);
    let own = words[start].lower.ends_with("'s");
    let counted = words[start].among(&["two", "three", "four", "some"]);
    let plural = word.lower.ends_with('s') && !word.is("boss") || word.is("children") || counted;
    // "Ana has a dog": the dog is Ana's. "Ana saw a dog": it is not.
    let mine = own
        || !name.is_empty()
        || words[..start]
            .iter()
            .any(|t| t.among(&["has", "got", "adopted", "owns", "bought", "have"]));
    if !mine {
        return None;
    }
    let phrase = join(&words[start + 1..=noun]);
    let phrase = phrase.trim_end_matches("'s");
    let text = if !name.is_empty() && !plural {
        name.join(" ")
    } else if words[start].is("user's") && start > 0 {
        format!("the user's {}", phrase.trim())
    } else if own {
        format!("{} {}", words[start].text, phrase.trim())
    } else {
        format!("{} {}", parties.possessive(), phrase.trim())
    };
    let gender = Gender::of(&word.lower);
    Some(Candidate { text, gender, neuter: PETS.has(&word.lower), thing: false, plural })
}

/// "Ms. Yazzie", not "Ms".
fn with_title(words: &[Token], i: usize) -> (String, Gender) {
    let gender = match words[i].lower.as_str() {
        "mr" | "sir" => Gender::Male,
        "miss" | "mrs" | "ms" | "madam" => Gender::Female,
        "dr" | "prof" => Gender::Unknown,
        _ => return (words[i].text.clone(), Gender::Unknown),
    };
    let name = i + 1 + usize::from(words.lower(i + 1) == ".");
    let is_named = words.is_upper(name) && words[name].word;
    let text = if is_named { join(&words[i..=name]) } else { words[i].text.clone() };
    (text.trim_end_matches("'s").to_owned(), gender)
}

/// "Rui's birthday": Rui. "Rui's wife" is somebody herself.
fn owner_of_a_thing<'a>(words: &'a [Token], i: usize, speaker: &str) -> Option<&'a str> {
    let owner = words[i].text.strip_suffix("'s").filter(|_| i == 0)?;
    let is_kin = words.iter().skip(1).take(3).any(|t| is_creature(t.lower.trim_end_matches("'s")));
    (!is_kin && may_be_called(&Token::new(owner, false), speaker)).then_some(owner)
}

/// A bare name, not a place and not the speaker.
fn is_name(words: &[Token], i: usize, speaker: &str) -> bool {
    let word = &words[i];
    let acts = || words.lower(1) == "and" || lexicon::is_clearly_finite(words.lower(1));
    let placed = match i.checked_sub(1).map(|before| &words[before]) {
        None => acts() && !lexicon::is_adverb(&word.lower),
        Some(before) => before.within(&BEFORE_A_NAME) && !before.within(&BEFORE_A_PLACE),
    };
    placed && may_be_called(word, speaker)
}

fn may_be_called(word: &Token, speaker: &str) -> bool {
    word.upper()
        && word.text.len() > 1
        && word.text.chars().all(|c| c.is_alphabetic() || c == '-')
        && !word.text.chars().all(char::is_uppercase)
        && !speaker.split(' ').any(|s| s == word.text)
        && !lexicon::is_month_or_weekday(&word.lower)
        && !lexicon::STOP.has(&word.lower)
        && !is_creature(&word.lower)
}

/// "Ana bought a car": a thing, if nothing else was named.
fn bought(words: &[Token], parties: Parties<'_>) -> Option<Candidate> {
    let verb = words.iter().position(|t| t.among(&["has", "got", "bought", "drives", "owns"]))?;
    let noun: Vec<Token> = words
        .get(verb + 2..)?
        .iter()
        .take_while(|t| t.word && !t.within(&AFTER_A_NOUN))
        .take(3)
        .cloned()
        .collect();
    let by_speaker = words[..verb].iter().any(|t| t.text == *parties.speaker || t.is("user"));
    if !words.among(verb + 1, &["a", "an"]) || !(1..=2).contains(&noun.len()) || !by_speaker {
        return None;
    }
    let text = format!("{} {}", parties.possessive(), join(&noun).trim());
    Some(Candidate { thing: true, neuter: true, ..Candidate::named(&text) })
}
