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
    /// Every word in lowercase, to look up names.
    pub words: HashSet<String>,
    pub at: DateTime,
    pub relevance: f64,
    pub superseded: bool,
    /// A raw message or a sentence of an episode, not an extracted fact.
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
            // The same fact from several levels: the extracted one is kept.
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

/// Owner, noun and name, in lowercase, of "Ana's dog" → Max, from what the evidence says of
/// names and relations. The person's own have no owner.
pub(super) fn aliases(
    evidence: &[Evidence],
    person: Option<&str>,
) -> Vec<(String, String, String)> {
    let mut out = Vec::new();
    let person = person.map(str::to_lowercase);
    let mut add = |owner: &str, noun: &str, name: &str| {
        let owner = owner.to_lowercase();
        let owner = owner.strip_prefix("the ").unwrap_or(&owner);
        let own = owner == "user" || person.as_deref() == Some(owner);
        let owner = if own { String::new() } else { owner.to_owned() };
        out.push((owner, noun.to_lowercase(), name.to_lowercase()));
    };
    for e in evidence.iter().filter(|e| !e.superseded) {
        let (Some(subject), Some(attribute), Some(value)) =
            (&e.statement.subject, e.statement.attribute.as_deref(), &e.statement.value)
        else {
            continue;
        };
        let owned = |text: &str| {
            let (owner, noun) = text.rsplit_once("'s ")?;
            Some((owner.to_owned(), noun.rsplit(' ').next().unwrap_or(noun).to_owned()))
        };
        match attribute {
            "relation" => {
                if let Some((owner, noun)) = owned(value) {
                    add(&owner, &noun, subject);
                }
            }
            "name" => {
                if let Some((owner, noun)) = owned(subject) {
                    add(&owner, &noun, value);
                }
            }
            "partner" => {
                for noun in ["wife", "husband", "partner", "spouse"] {
                    add(subject, noun, value);
                }
            }
            "pet" | "family" => {
                let words: Vec<&str> = value.split(' ').collect();
                for w in words.windows(3) {
                    if matches!(w[1], "named" | "called") && starts_upper(w[2]) {
                        add(subject, w[0], w[2].trim_matches(','));
                    }
                }
            }
            _ => {}
        }
    }
    out
}
