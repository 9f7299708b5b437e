//! Whom "he", "she", "it" and "they" mean, where the sentence before leaves exactly one choice.

use super::attributes::is_creature;
use super::lexicon::{self, FEMALE, MALE, PETS};
use super::person::{self, Parties};
use super::words::{Token, join, tokens};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gender {
    Female,
    Male,
    Unknown,
}

#[derive(Debug, Clone, PartialEq)]
struct Candidate {
    /// "Max", or "Ana's dog" while it has no name.
    text: String,
    gender: Gender,
    pet: bool,
    thing: bool,
    plural: bool,
    /// The subject of its sentence.
    subject: bool,
}

/// What the latest sentences of one speaker offer.
#[derive(Debug, Clone, Default)]
pub(super) struct Antecedents {
    candidates: Vec<Candidate>,
    /// Sentences since a candidate was named.
    age: usize,
}

impl Antecedents {
    /// Replaces a leading pronoun (also after "and", "but") if it is clear.
    pub fn resolve(&mut self, mut words: Vec<Token>, parties: Parties<'_>) -> Vec<Token> {
        let _ = parties;
        let Some(first) = words.first() else { return words };
        let next = words.get(1).map(|t| t.lower.clone()).unwrap_or_default();
        let possessive = matches!(first.lower.as_str(), "his" | "its" | "their") || first.is("her");
        let choice = match first.lower.as_str() {
            "he" | "his" => self.one(Gender::Male),
            "she" | "her" => self.one(Gender::Female),
            "it" | "its" => self.thing(&words),
            "they" | "their" => self.plural(),
            _ => return words,
        };
        let Some(choice) = choice else { return words };
        let name = choice.text.clone();
        let plural = choice.plural;
        let unnamed = name.contains("'s ");
        let text = if possessive { person::possessive(&name) } else { name.clone() };
        let mut replaced = tokens(&text);
        if let Some(last) = replaced.last_mut()
            && possessive
            && !last.lower.ends_with("'s")
        {
            *last = Token::new(format!("{}'s", last.text), last.space_before);
        }
        if let Some(first) = replaced.first_mut() {
            first.space_before = false;
        }
        // "His name is Max" names the dog.
        if possessive
            && next == "name"
            && unnamed
            && let Some(value) = words.get(3).filter(|t| t.upper() && words[2].is("is"))
        {
            let value = value.text.clone();
            if let Some(c) = self.candidates.iter_mut().find(|c| c.text == name) {
                c.text = value;
            }
        }
        let _ = plural;
        self.age = 0;
        words.splice(0..1, replaced);
        words
    }

    fn one(&self, gender: Gender) -> Option<Candidate> {
        let fit: Vec<&Candidate> = self
            .candidates
            .iter()
            .filter(|c| {
                !c.thing && !c.plural && (c.gender == gender || c.gender == Gender::Unknown)
            })
            .collect();
        let known: Vec<&&Candidate> = fit.iter().filter(|c| c.gender == gender).collect();
        match (fit.as_slice(), known.as_slice()) {
            ([only], _) => Some((*only).clone()),
            (_, [only]) => Some((**only).clone()),
            _ => None,
        }
    }

    /// "It" is a pet or a thing, and only where a description follows.
    fn thing(&self, words: &[Token]) -> Option<Candidate> {
        let fit: Vec<&Candidate> =
            self.candidates.iter().filter(|c| (c.thing || c.pet) && !c.plural).collect();
        let lower = |i: usize| words.get(i).map(|t| t.lower.as_str()).unwrap_or_default();
        let describes = lower(0) == "its"
            || matches!(lower(1), "is" | "was")
                && (matches!(lower(2), "a" | "an" | "called" | "named" | "from")
                    || lexicon::number(lower(2)).is_some());
        match fit.as_slice() {
            [only] if describes && self.candidates.len() == 1 => Some((*only).clone()),
            _ => None,
        }
    }

    fn plural(&self) -> Option<Candidate> {
        let fit: Vec<&Candidate> = self.candidates.iter().filter(|c| c.plural).collect();
        match fit.as_slice() {
            [only] => Some((*only).clone()),
            _ => None,
        }
    }

    /// Takes note of whom a third-person sentence names.
    pub fn note(&mut self, text: &str, parties: Parties<'_>) {
        let found = candidates(text, parties);
        if found.is_empty() {
            self.age += 1;
            if self.age > 2 {
                self.candidates.clear();
            }
            return;
        }
        // "Max is 5. His brother Rex …": what is known of a name stays known.
        let known: Vec<Candidate> = self.candidates.clone();
        self.age = 0;
        self.candidates = found
            .into_iter()
            .map(|mut c| {
                if let Some(k) = known.iter().find(|k| k.text == c.text) {
                    if c.gender == Gender::Unknown {
                        c.gender = k.gender;
                    }
                    c.pet |= k.pet;
                }
                c
            })
            .collect();
    }
}

fn candidates(text: &str, parties: Parties<'_>) -> Vec<Candidate> {
    let words = tokens(text);
    let mut out: Vec<Candidate> = Vec::new();
    let speaker = parties.speaker;
    let mut i = 0;
    while i < words.len() {
        let word = &words[i];
        if is_creature(&word.lower) && !word.upper() && i > 0 {
            // Its determiner within three words: "Ana's younger sister", "a black dog".
            let start = (i.saturating_sub(3)..i).rev().find(|&s| {
                words[s].lower.ends_with("'s")
                    || words[s].among(&["a", "an", "the", "two", "three", "four", "some"])
            });
            if let Some(start) = start {
                let own = words[start].lower.ends_with("'s");
                let plural = word.lower.ends_with('s') && !word.is("boss")
                    || word.is("children")
                    || words[start].among(&["two", "three", "four", "some"]);
                let called = |k: usize| words.get(k).is_some_and(|t| t.among(&["named", "called"]));
                let skip = if called(i + 1) {
                    1
                } else if words.get(i + 1).is_some_and(|t| t.is("is")) && called(i + 2) {
                    2
                } else {
                    0
                };
                let name: Vec<&Token> = words[i + 1 + skip..]
                    .iter()
                    .take(3)
                    .filter(|t| !t.among(&["named", "called"]) && t.text != ",")
                    .take_while(|t| {
                        t.upper() && t.word && !lexicon::MONTHS.contains(&t.text.as_str())
                    })
                    .take(2)
                    .collect();
                let named =
                    !name.is_empty() && (skip > 0 || words.get(i + 1).is_some_and(Token::upper));
                let gender = if FEMALE.contains(word.lower.as_str()) {
                    Gender::Female
                } else if MALE.contains(word.lower.as_str()) {
                    Gender::Male
                } else {
                    Gender::Unknown
                };
                let label = if named && !plural {
                    name.iter()
                        .map(|t| t.text.trim_end_matches("'s").to_owned())
                        .collect::<Vec<_>>()
                        .join(" ")
                } else if own {
                    let user = words[start].is("user's") && start > 0;
                    let noun = join(&words[start + 1..=i]);
                    let owner =
                        if user { "the user's".to_owned() } else { words[start].text.clone() };
                    format!("{owner} {}", noun.trim())
                } else {
                    format!(
                        "{} {}",
                        parties.possessive(),
                        join(
                            &words[if words[start].among(&["two", "three", "four"]) {
                                start
                            } else {
                                start + 1
                            }..=i]
                        )
                        .trim()
                        .trim_start_matches("two ")
                        .trim_start_matches("three ")
                        .trim_start_matches("four ")
                    )
                };
                // "Ana has a dog": the dog is Ana's. "Ana saw a dog": it is not.
                let mine = own
                    || named
                    || words[..start]
                        .iter()
                        .any(|t| t.among(&["has", "got", "adopted", "owns", "bought", "have"]));
                let listed = plural
                    && (words.get(i + 1).is_some_and(|t| t.text == "," || t.among(&["and", "or"]))
                        || start > 0 && words[start - 1].among(&["and", "or"]));
                if mine && !listed && !out.iter().any(|c| c.text == label) {
                    out.push(Candidate {
                        text: label,
                        gender,
                        pet: PETS.contains(word.lower.as_str()),
                        thing: false,
                        plural,
                        subject: out.is_empty() && start <= 1,
                    });
                }
                i += 1 + if named { name.len() } else { 0 };
                continue;
            }
        }
        // A bare name, not a place and not the speaker.
        let place = i > 0
            && words[i - 1].among(&[
                "in", "to", "from", "at", "near", "on", "of", "around", "for", "the", "called",
                "named",
            ]);
        let is_name = word.upper()
            && word.word
            && word.text.chars().all(|c| c.is_alphabetic() || c == '-')
            && word.text.len() > 1
            && !place
            && !speaker.split(' ').any(|s| s == word.text)
            && !lexicon::MONTHS.contains(&word.text.as_str())
            && !lexicon::WEEKDAYS.contains(&word.text.as_str())
            && !lexicon::STOP.contains(word.lower.as_str())
            && !is_creature(&word.lower)
            && !word.text.chars().all(char::is_uppercase)
            && (i == 0
                && words.get(1).is_some_and(|t| {
                    lexicon::AUXILIARIES.contains(t.lower.as_str())
                        || lexicon::is_third_person(&t.lower)
                        || lexicon::is_past(&t.lower)
                        || t.is("and")
                })
                || i > 0
                    && words[i - 1].among(&[
                        "with", "and", "met", "saw", "is", "named", "called", "visited", "by",
                        "married", "dating",
                    ]));
        if is_name
            && !out.iter().any(|c| c.text == word.text)
            && !(i == 0 && lexicon::is_adverb(&word.lower))
        {
            out.push(Candidate {
                text: word.text.clone(),
                gender: Gender::Unknown,
                pet: false,
                thing: false,
                plural: false,
                subject: i == 0,
            });
        }
        i += 1;
    }
    // "Ana bought a car": a thing, if nothing else was named.
    if out.is_empty()
        && let Some(verb) =
            words.iter().position(|t| t.among(&["has", "got", "bought", "drives", "owns"]))
        && words.get(verb + 1).is_some_and(|t| t.among(&["a", "an"]))
    {
        let noun: Vec<Token> = words[verb + 2..]
            .iter()
            .take_while(|t| {
                t.word
                    && !t.among(&[
                        "and", "with", "in", "on", "for", "from", "at", "called", "named", "of",
                        "that", "which", "to",
                    ])
            })
            .take(3)
            .cloned()
            .collect();
        if !noun.is_empty()
            && noun.len() <= 2
            && words[..verb].iter().any(|t| t.text == *speaker || t.is("user"))
        {
            out.push(Candidate {
                text: format!("{} {}", parties.possessive(), join(&noun).trim()),
                gender: Gender::Unknown,
                pet: false,
                thing: true,
                plural: false,
                subject: false,
            });
        }
    }
    // The subject goes before others of the same kind only if it is alone; ambiguity stays.
    out
}
