//! Candidates taken apart into single facts, and who goes by which name among them.

use std::collections::{HashMap, HashSet};

use jiff::civil::DateTime;

use super::attributes::parse_statement;
use super::lexicon::{self, starts_upper};
use super::{Candidate, Statement, Utterance};
use crate::memory::{MessageId, Role};

pub(super) struct Evidence {
    pub candidate: usize,
    pub statement: Statement,
    pub stems: HashSet<String>,
    /// Every word, small: names are looked up here.
    pub words: HashSet<String>,
    pub at: DateTime,
    pub relevance: f64,
    pub superseded: bool,
    /// Somebody's raw words or an episode's sentence, not a curated fact.
    pub raw: bool,
    pub order: usize,
}

/// Facts one by one, from third-person texts, episodes and raw messages.
pub(super) fn collect(candidates: &[Candidate], person: Option<&str>) -> Vec<Evidence> {
    let mut out: Vec<Evidence> = Vec::new();
    let mut seen: HashMap<String, usize> = HashMap::new();
    for (index, candidate) in candidates.iter().enumerate().take(400) {
        let raw;
        let statements: Vec<Statement> = if let Some(speaker) = &candidate.raw_speaker {
            raw = true;
            let speaker = if is_user(speaker) { person.unwrap_or("The user") } else { speaker };
            super::statements(&[Utterance {
                message: MessageId(0),
                role: Role::User,
                addressee: None,
                speaker: speaker.to_owned(),
                text: candidate.text.clone(),
                at: candidate.at,
            }])
        } else {
            let text = lexicon::clip(&candidate.text, 20_000);
            let text = text
                .strip_prefix("On ")
                .and_then(|rest| rest.split_once(": "))
                .filter(|(date, _)| date.len() < 24)
                .map_or(text, |(_, rest)| rest);
            let sentences = super::sentences(text);
            raw = sentences.len() > 1;
            sentences.into_iter().map(|s| parse_statement(s.trim_end_matches('.'))).collect()
        };
        for statement in statements {
            let key = statement.text.to_lowercase();
            // The same fact from several levels: the curated one stands for it.
            if let Some(&at) = seen.get(&key) {
                let known = &mut out[at];
                known.relevance = known.relevance.max(candidate.relevance);
                if known.raw && !raw {
                    known.candidate = index;
                    known.superseded = candidate.superseded;
                    known.raw = false;
                    known.at = candidate.at;
                }
                continue;
            }
            seen.insert(key, out.len());
            let words: HashSet<String> = lexicon::words(&statement.text)
                .map(|w| {
                    let lower = w.to_lowercase().replace('\u{2019}', "'");
                    lower.strip_suffix("'s").map(str::to_owned).unwrap_or(lower)
                })
                .collect();
            out.push(Evidence {
                candidate: index,
                stems: words.iter().map(|w| lexicon::stem(w)).collect(),
                words,
                statement,
                at: candidate.at,
                relevance: candidate.relevance.clamp(0.0, 1.0),
                superseded: candidate.superseded,
                raw,
                order: out.len(),
            });
        }
    }
    // What raw messages say and a superseded fact said is superseded as well.
    let gone: Vec<(String, DateTime)> = out
        .iter()
        .filter(|e| e.superseded)
        .map(|e| (e.statement.text.to_lowercase(), e.at))
        .collect();
    for e in &mut out {
        if e.raw && gone.iter().any(|(text, _)| *text == e.statement.text.to_lowercase()) {
            e.superseded = true;
        }
    }
    out
}

/// Whether a speaker's name stands for the person, whatever they are called.
pub(super) fn is_user(speaker: &str) -> bool {
    matches!(speaker.to_lowercase().as_str(), "" | "user" | "you" | "the user" | "me")
}

/// "Ana's dog" → Max, from what the evidence says of names and relations.
pub(super) fn aliases(
    evidence: &[Evidence],
    person: Option<&str>,
) -> Vec<(String, String, String)> {
    let mut out = Vec::new();
    let person_small = person.map(str::to_lowercase);
    let small_owner = |owner: &str| -> String {
        let owner = owner.to_lowercase();
        let owner = owner.strip_prefix("the ").unwrap_or(&owner).to_owned();
        if owner == "user" || Some(&owner) == person_small.as_ref() { String::new() } else { owner }
    };
    for e in evidence.iter().filter(|e| !e.superseded) {
        let (Some(subject), Some(attribute), Some(value)) =
            (&e.statement.subject, &e.statement.attribute, &e.statement.value)
        else {
            continue;
        };
        match attribute.as_str() {
            "relation" => {
                if let Some((owner, noun)) = value.rsplit_once("'s ") {
                    let noun = noun.rsplit(' ').next().unwrap_or(noun);
                    out.push((small_owner(owner), noun.to_lowercase(), subject.to_lowercase()));
                }
            }
            "name" => {
                if let Some((owner, noun)) = subject.rsplit_once("'s ") {
                    let noun = noun.rsplit(' ').next().unwrap_or(noun);
                    out.push((small_owner(owner), noun.to_lowercase(), value.to_lowercase()));
                }
            }
            "partner" => {
                for noun in ["wife", "husband", "partner", "spouse"] {
                    out.push((small_owner(subject), noun.into(), value.to_lowercase()));
                }
            }
            "pet" | "family" => {
                let words: Vec<&str> = value.split(' ').collect();
                for w in words.windows(3) {
                    if matches!(w[1], "named" | "called") && starts_upper(w[2]) {
                        out.push((
                            small_owner(subject),
                            w[0].to_lowercase(),
                            w[2].trim_matches(',').to_lowercase(),
                        ));
                    }
                }
            }
            _ => {}
        }
    }
    out
}
