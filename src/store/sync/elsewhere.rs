//! What another device forgot, took back or changed, followed here as far as this one's own forgetting goes: to the replies,
//! episodes, facts, records and names that only this device has.

use std::collections::{BTreeMap, BTreeSet};

use crate::memory::lexical::words;
use crate::memory::{Message, MessageId, SemanticId, SessionId};
use crate::store::error::Result;
use crate::store::forget_plan::{is_reply, words_of};
use crate::store::records::{AnyId, ForgetPlan};
use crate::store::settings::USER_NAME;
use crate::store::transaction::WriteTx;

/// Rows that are still as they were.
#[derive(Debug, Default)]
pub(super) struct Elsewhere {
    pub messages: Vec<MessageId>,
    pub sessions: Vec<SessionId>,
    pub corrections: Vec<SemanticId>,
    /// These have their new text already; the old ones stand in `old_texts`.
    pub changed: Vec<MessageId>,
    pub old_texts: Vec<String>,
    /// Words that a message lost.
    pub lost: BTreeMap<i64, BTreeSet<String>>,
    /// Of these something was struck out.
    pub refused: Vec<MessageId>,
}

impl WriteTx<'_> {
    pub(super) fn follow(&mut self, elsewhere: &Elsewhere) -> Result<()> {
        let mut plan = self.plan_gone(elsewhere)?;
        // It may have been in the place of a fact that holds again.
        for fact in
            self.find_semantics_and_messages(elsewhere.corrections.iter().copied())?.into_values()
        {
            plan.semantics.push(fact.id);
            plan.episodes
                .extend(self.messages_by_id(&fact.messages)?.iter().filter_map(|m| m.episode));
        }
        let refused = self.refused_facts(elsewhere.refused.iter().copied())?;
        plan.semantics.extend(refused.iter().map(|fact| fact.id));
        self.plan_changed(elsewhere, &mut plan)?;
        self.refuse_without(&plan.vanished, &elsewhere.lost)?;
        let name = self.setting(USER_NAME)?;
        self.forget(&plan)?;
        // Whether the name goes with it, the other device knows, and tells.
        name.map_or(Ok(()), |name| self.set_setting(USER_NAME, &name))
    }

    /// Replies went on the other device with what they were about; named alone they are looked into themselves. So no
    /// forgetting goes one citation further with each device.
    fn plan_gone(&self, elsewhere: &Elsewhere) -> Result<ForgetPlan> {
        let gone = self.find_messages(elsewhere.messages.iter().copied())?;
        let (replies, said): (Vec<_>, Vec<_>) = gone.values().partition(|m| is_reply(m));
        let sessions = elsewhere.sessions.iter().map(|id| AnyId::Session(*id));
        let mut seeds: Vec<AnyId> =
            said.iter().map(|m| AnyId::Message(m.id)).chain(sessions).collect();
        if seeds.is_empty() {
            seeds.extend(replies.iter().map(|m| AnyId::Message(m.id)));
        }
        if seeds.is_empty() {
            return Ok(ForgetPlan::default());
        }
        let mut plan = self.plan_forget(&seeds, None)?;
        plan.messages.extend(replies.iter().map(|m| m.id));
        Ok(plan)
    }

    /// What was made of the old texts is made anew, and the words that nobody says any more are nowhere.
    fn plan_changed(&self, elsewhere: &Elsewhere, plan: &mut ForgetPlan) -> Result<()> {
        let changed = self.find_messages(elsewhere.changed.iter().copied())?;
        plan.episodes.extend(changed.values().filter_map(|m| m.episode));
        for fact in self.semantics_of_messages(changed.keys().copied())? {
            if !self.is_corrected(fact)? {
                plan.semantics.push(fact);
            }
        }
        if elsewhere.old_texts.is_empty() {
            return Ok(());
        }
        let mut vanished: BTreeSet<String> =
            elsewhere.old_texts.iter().flat_map(|text| words_of(text)).collect();
        let all = self.all_messages()?;
        let stays = |m: &&Message| !is_reply(m) || changed.contains_key(&m.id);
        let said = all.iter().filter(stays).flat_map(|m| {
            words(&m.content).chain(m.speaker.iter().flat_map(|speaker| words(speaker)))
        });
        let corrected: Vec<SemanticId> = self.corrected()?.into_keys().collect();
        let corrected = self.find_semantics_and_messages(corrected)?;
        for word in said.chain(corrected.values().flat_map(|fact| words(&fact.content))) {
            vanished.remove(&word);
        }
        let quotes = |text: &str| words(text).any(|word| vanished.contains(&word));
        let made = self.semantics()?;
        let made = made.iter().filter(|s| !corrected.contains_key(&s.id) && quotes(&s.content));
        plan.semantics.extend(made.map(|s| s.id));
        plan.messages
            .extend(all.iter().filter(|m| is_reply(m) && quotes(&m.content)).map(|m| m.id));
        plan.vanished = vanished;
        Ok(())
    }
}
