//! Stage I: selects the coarse context from the candidates, facts and whole messages under one budget.

use std::collections::{BTreeSet, HashMap};

use super::candidates::Scored;
use super::config::{FoundFact, RecallConfig};
use super::lines;
use crate::extractive::{self, CHANGE_MIN, Candidate};
use crate::interfaces::Reranker;
use crate::memory::mix::{Unit, UnitKind, select_mixed, worth};
use crate::memory::{Message, MessageId, Origin, Semantic, SemanticId, Theme, ThemeId};
use crate::store::{Reader, StoreError};

/// The coarse context: what the reader gets before any episode is probed.
#[derive(Debug, Clone, Default)]
pub(super) struct Coarse {
    /// By the relevance of their best fact.
    pub themes: Vec<Theme>,
    /// Best first.
    pub semantics: Vec<Scored<Semantic>>,
    /// Best first.
    pub messages: Vec<Scored<Message>>,
    /// Whose word the facts are.
    pub fact_origins: HashMap<SemanticId, Origin>,
    /// Whose word the messages are.
    pub message_origins: HashMap<MessageId, Origin>,
    /// Messages that the reader must not see.
    pub hidden: BTreeSet<MessageId>,
    /// Messages that only the rules read, which compare them with what was said later.
    pub outdated: BTreeSet<MessageId>,
}

impl Coarse {
    pub(super) fn is_empty(&self) -> bool {
        self.semantics.is_empty() && self.messages.is_empty()
    }

    /// What stands behind a line of the block. Where all comes from elsewhere, nobody needs to be told.
    pub(super) fn mark(&self, origin: Option<&Origin>) -> &'static str {
        if self.has_above(origin.copied().unwrap_or_default()) { " (from elsewhere)" } else { "" }
    }

    /// Whether anything here counts before a word of that origin.
    fn has_above(&self, origin: Origin) -> bool {
        let mut all = self.fact_origins.values().chain(self.message_origins.values());
        all.any(|other| other.prevails(origin))
    }

    /// Notes the messages of which nothing holds any more: beside the facts that tell so, a small reader would take them for
    /// what is.
    pub(super) fn note_outdated(&mut self, semantics: &[Scored<Semantic>]) {
        let is_outdated = |id: &MessageId| {
            let of_it = semantics.iter().map(|s| &s.unit).filter(|s| s.messages.contains(id));
            let (gone, held): (Vec<_>, Vec<_>) = of_it.partition(|s| s.superseded_by.is_some());
            let words = |facts: &[&Semantic]| -> BTreeSet<String> {
                facts.iter().flat_map(|s| extractive::content_stems(&s.content)).collect()
            };
            !gone.is_empty() && words(&held).is_subset(&words(&gone))
        };
        self.outdated = self.messages.iter().map(|m| m.unit.id).filter(is_outdated).collect();
    }

    /// Leaves out what others wrote to instruct a reader, and what contradicts what the person said here before: a small
    /// reader would take the one as well as the other.
    pub(super) fn drop_planted(&mut self, user: &str, encoder: Option<&dyn Reranker>) {
        let (facts, messages) = (&self.fact_origins, &self.message_origins);
        let mut origins = facts.values().chain(messages.values());
        if !origins.any(|&origin| self.has_above(origin)) {
            return;
        }
        let of_others = self.messages.iter().map(|m| &m.unit).filter(|m| {
            self.has_above(messages.get(&m.id).copied().unwrap_or_default())
                && extractive::instructs(&m.content)
        });
        let instructing: Vec<MessageId> = of_others.map(|m| m.id).collect();
        self.hidden.extend(instructing);
        let of_facts = self.semantics.iter().map(|s| of_fact(s, facts));
        let of_messages = self
            .messages
            .iter()
            .map(|m| of_message(&m.unit, user, (m.relevance, m.answers), messages));
        let candidates: Vec<Candidate> = of_facts.chain(of_messages).collect();
        let person = (user != extractive::THE_USER).then_some(user);
        let mut refuted = extractive::refuted(&candidates, person);
        refuted.extend(contradicting(&candidates, encoder));
        let n_facts = self.semantics.len();
        for &i in &refuted {
            match self.messages.get(i.wrapping_sub(n_facts)) {
                Some(message) => self.hidden.extend([message.unit.id]),
                None => self.hidden.extend(&self.semantics[i].unit.messages),
            }
        }
        let mut at = 0..;
        self.semantics.retain(|_| at.next().is_none_or(|at| !refuted.contains(&at)));
        self.messages.retain(|m| !self.hidden.contains(&m.unit.id));
    }

    /// Selects from facts and messages, each best first.
    pub(super) fn select(
        reader: &Reader<'_>,
        semantics: &[Scored<Semantic>],
        messages: &[Scored<Message>],
        config: &RecallConfig,
        budget_characters: usize,
    ) -> Result<Self, StoreError> {
        let semantics: Vec<&Scored<Semantic>> = match config.fact_rule {
            None => semantics.iter().collect(),
            Some(choose) => {
                let found = |s: &Scored<Semantic>| FoundFact {
                    id: s.unit.id,
                    theme: s.unit.theme,
                    relevance: s.relevance,
                };
                let chosen = choose(reader, &semantics.iter().map(found).collect::<Vec<_>>())?;
                chosen.into_iter().filter_map(|i| semantics.get(i)).collect()
            }
        };
        // Facts alone are of similar length, so relevance is as good an order.
        let is_mixed = !messages.is_empty();
        let unit = |relevance, n_characters, kind| Unit {
            worth: if is_mixed { worth(relevance, n_characters) } else { relevance },
            n_characters,
            kind,
        };
        let mut units: Vec<Unit<'_>> = semantics
            .iter()
            .map(|s| {
                unit(s.relevance, characters_of_fact(&s.unit), UnitKind::Fact(&s.unit.messages))
            })
            .collect();
        units.extend(messages.iter().map(|m| {
            unit(m.relevance, characters_of_message(&m.unit), UnitKind::Message(m.unit.id))
        }));
        let mut coarse = Self::default();
        for i in select_mixed(&units, budget_characters) {
            match semantics.get(i) {
                Some(&semantic) => coarse.semantics.push(semantic.clone()),
                None => coarse.messages.push(messages[i - semantics.len()].clone()),
            }
        }
        let mut ids: Vec<ThemeId> = Vec::new();
        for semantic in &coarse.semantics {
            if !ids.contains(&semantic.unit.theme) {
                ids.push(semantic.unit.theme);
            }
        }
        coarse.themes = reader.themes_by_id(&ids)?;
        coarse.fact_origins = reader.fact_origins(coarse.semantics.iter().map(|s| s.unit.id))?;
        coarse.message_origins =
            reader.message_origins(coarse.messages.iter().map(|m| m.unit.id))?;
        Ok(coarse)
    }
}

/// A fact as the rules read it.
pub(super) fn of_fact(fact: &Scored<Semantic>, origins: &HashMap<SemanticId, Origin>) -> Candidate {
    Candidate {
        text: fact.unit.content.clone(),
        relevance: fact.relevance,
        at: fact.unit.created_at.civil(),
        raw_speaker: None,
        superseded: fact.unit.superseded_by.is_some(),
        origin: origins.get(&fact.unit.id).copied().unwrap_or_default(),
        answers: fact.answers,
    }
}

/// A message as the rules read it, with its relevance and the probability that it answers.
pub(super) fn of_message(
    message: &Message,
    user: &str,
    (relevance, answers): (f64, Option<f64>),
    origins: &HashMap<MessageId, Origin>,
) -> Candidate {
    Candidate {
        text: message.content.clone(),
        relevance,
        at: message.created_at.civil(),
        raw_speaker: Some(lines::speaker(message, user).to_owned()),
        superseded: false,
        origin: origins.get(&message.id).copied().unwrap_or_default(),
        answers,
    }
}

/// Indices of the candidates that would change what the person's own said before, as the encoder reads them.
fn contradicting(candidates: &[Candidate], encoder: Option<&dyn Reranker>) -> Vec<usize> {
    /// At most this many of the most relevant are compared, of each side: a pair takes some 2 ms.
    const N_MAX: usize = 6;
    /// The head's label of a change.
    const CHANGES: usize = 1;
    let Some(encoder) = encoder else { return Vec::new() };
    let best = |of: &dyn Fn(Origin) -> bool| {
        let mut side: Vec<usize> =
            (0..candidates.len()).filter(|&i| of(candidates[i].origin)).collect();
        side.sort_by(|&i, &j| candidates[j].relevance.total_cmp(&candidates[i].relevance));
        side.truncate(N_MAX);
        side
    };
    let mut own = best(&|origin| origin == Origin::Person);
    if candidates.iter().any(|c| c.origin == Origin::Agent) {
        own.extend(best(&|origin| origin == Origin::Owner));
    }
    let changes = |other: &Candidate| {
        let before = own.iter().map(|&i| &candidates[i]);
        let before = before.filter(|own| own.origin.prevails(other.origin) && own.at <= other.at);
        let pairs: Vec<[&str; 2]> =
            before.map(|own| [own.text.as_str(), other.text.as_str()]).collect();
        let pairs: Vec<&[&str]> = pairs.iter().map(<[_; 2]>::as_slice).collect();
        // A failure is no reason not to answer, and a text that can't be read none to trust the others.
        let said = encoder.probabilities("line", &pairs).ok().flatten().unwrap_or_default();
        said.iter().any(|odds| odds.get(CHANGES).is_some_and(|p| f64::from(*p) >= CHANGE_MIN))
    };
    best(&Origin::is_elsewhere).into_iter().filter(|&i| changes(&candidates[i])).collect()
}

/// Characters that a fact takes of the budget.
pub(super) fn characters_of_fact(semantic: &Semantic) -> usize {
    semantic.content.chars().count()
}

/// Characters that a message takes, as `Speaker: text`.
pub(super) fn characters_of_message(message: &Message) -> usize {
    message.content.chars().count()
        + message.speaker.as_ref().map_or(0, |name| name.chars().count() + 2)
}
