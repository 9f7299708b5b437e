//! The person's own words: those of a correction that no message says. What consolidation makes of corrections (what is left of
//! one, two put together) repeats them, and belongs to the correction.

use std::collections::{BTreeSet, HashSet};

use super::by_hand::COMMON;
use super::error::Result;
use super::forget_plan::is_part_of;
use super::records::AnyId;
use super::transaction::{Reader, WriteTx, text};
use crate::memory::lexical::terms;
use crate::memory::{Semantic, SemanticId};

impl Reader<'_> {
    /// Whether a text of this fact has a word that only the person wrote, as a correction: it is in no message, nor in what was
    /// made of one. (Consolidation writes texts of corrections, too, and those give way to them.)
    pub(super) fn has_own_words(&self, fact: SemanticId, content: &str) -> Result<bool> {
        let terms_of = |sql: &str| -> Result<HashSet<String>> {
            let texts = self.all(sql, [fact.0], |row| text(row, 0))?;
            Ok(texts.iter().flat_map(|text| terms(text)).collect())
        };
        let own = terms_of(
            "WITH source AS (SELECT message FROM semantic_message WHERE semantic = ?1)
             SELECT content FROM semantic WHERE corrected AND (id = ?1 OR superseded_by IS NOT NULL)
                 AND id IN (SELECT semantic FROM semantic_message WHERE message IN source)",
        )?;
        let made = terms_of(
            "WITH source AS (SELECT message FROM semantic_message WHERE semantic = ?1)
             SELECT content FROM message WHERE id IN source
             UNION ALL SELECT content FROM refused WHERE message IN source",
        )?;
        let is_own = |word: &String| {
            own.contains(word) && !made.contains(word) && !COMMON.contains(&word.as_str())
        };
        Ok(terms(content).iter().any(is_own))
    }

    /// Words of a correction that no message says that it rests on, nor what was refused of those.
    fn own_words(&self, correction: &Semantic) -> Result<HashSet<String>> {
        let mut own: HashSet<String> = terms(&correction.content).into_iter().collect();
        let mut made: Vec<String> = Vec::new();
        for message in self.messages_by_id(&correction.messages)? {
            made.extend(self.refused_of(message.id.0)?);
            made.push(message.content);
        }
        for word in made.iter().flat_map(|text| terms(text)) {
            own.remove(&word);
        }
        own.retain(|word| !COMMON.contains(&word.as_str()));
        Ok(own)
    }

    /// What consolidation made of facts that the person corrected, and says something in their own words: it goes with them.
    pub(super) fn made_of_corrections(
        &self,
        facts: impl IntoIterator<Item = SemanticId>,
    ) -> Result<BTreeSet<SemanticId>> {
        let mut made = BTreeSet::new();
        for fact in self.find_semantics_and_messages(facts)?.into_values() {
            if !self.is_corrected(fact.id)? {
                continue;
            }
            let own = self.own_words(&fact)?;
            let beside = self.semantics_of_messages(fact.messages.iter().copied())?;
            let mut beside: Vec<Semantic> =
                self.find_semantics_and_messages(beside)?.into_values().collect();
            beside.retain(|other| terms(&other.content).iter().any(|word| own.contains(word)));
            let mut parts = vec![fact];
            while let Some(part) = parts.pop() {
                for other in beside.extract_if(.., |other| is_made_of(other, &part)) {
                    if !self.is_corrected(other.id)? {
                        made.insert(other.id);
                        parts.push(other);
                    }
                }
            }
        }
        Ok(made)
    }

    /// The corrections in whose own words this fact was made; they gave way, and it would be made of them again.
    pub(super) fn corrections_behind(&self, fact: &Semantic) -> Result<BTreeSet<SemanticId>> {
        let mut behind = BTreeSet::new();
        let beside = self.semantics_of_messages(fact.messages.iter().copied())?;
        for other in self.find_semantics_and_messages(beside)?.into_values() {
            if other.superseded_by.is_some()
                && self.made_of_corrections([other.id])?.contains(&fact.id)
            {
                behind.insert(other.id);
            }
        }
        Ok(behind)
    }
}

/// Whether a fact is what was left of another one, or joins it with something else.
fn is_made_of(fact: &Semantic, other: &Semantic) -> bool {
    let is_rest = fact.messages == other.messages && is_part_of(&fact.content, &other.content);
    let is_joint = other.superseded_by == Some(fact.id)
        && other.messages.iter().all(|message| fact.messages.contains(message));
    fact.id != other.id && (is_rest || is_joint)
}

impl WriteTx<'_> {
    /// Before the person words a fact anew: what was made of its own words so far goes, and to other devices it is no later state of
    /// the old wording. If `newest` is given, only what is newer than that fact was made of them.
    pub(super) fn word_anew(&mut self, fact: SemanticId, newest: Option<SemanticId>) -> Result<()> {
        let mut made = self.made_of_corrections([fact])?;
        made.retain(|made| newest.is_none_or(|newest| *made > newest));
        self.remove_facts(&made)?;
        self.unword(fact.0)
    }

    pub(super) fn remove_made_of(&mut self, correction: SemanticId) -> Result<()> {
        let made = self.made_of_corrections([correction])?;
        self.remove_facts(&made)
    }

    /// Corrections of which this fact was made give their place to it, now that the person words it themselves.
    pub(super) fn take_place_of(&mut self, behind: &BTreeSet<SemanticId>) -> Result<()> {
        for id in behind {
            // What one of them took the place of does not hold again.
            self.run(
                "UPDATE semantic SET (superseded_by, superseded_ms, superseded_offset) =
                     (SELECT superseded_by, superseded_ms, superseded_offset FROM semantic WHERE id = ?1)
                 WHERE superseded_by = ?1",
                [id.0],
            )?;
        }
        self.remove_facts(behind)
    }

    /// With the entries of the undo log that are about them.
    fn remove_facts(&mut self, facts: &BTreeSet<SemanticId>) -> Result<()> {
        if facts.is_empty() {
            return Ok(());
        }
        let is_gone = |id: &AnyId| matches!(id, AnyId::Semantic(fact) if facts.contains(fact));
        self.drop_operations(|inverse| inverse.touched().iter().any(is_gone))?;
        facts.iter().try_for_each(|fact| self.remove_semantic(*fact))
    }
}
