//! Forgetting, for real (invariant 5): out of every table, index, vector, record, name and log.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde_json::json;

use super::answers::{FORGOTTEN, ids_in_record, ids_in_reply};
use super::error::Result;
use super::forget_plan::{is_reply, words_of};
use super::forks::Forks;
use super::quoting::{Quoted, any_text, contains, telling_words};
use super::records::{AnyId, ForgetPlan, JobKind, Level};
use super::settings::USER_NAME;
use super::transaction::WriteTx;
use crate::memory::lexical::words;
use crate::memory::{Message, MessageId, Role, SemanticId, SessionId, title_of};

/// A theme's name until the worker names it again.
const UNNAMED: &str = "unnamed";

impl ForgetPlan {
    /// Whether a text holds what was searched for, or a word that is to be nowhere.
    pub(super) fn is_in(&self, text: &str) -> bool {
        self.matching.as_deref().is_some_and(|part| contains(text, part))
            || !self.vanished.is_empty() && words(text).any(|word| self.vanished.contains(&word))
    }
}

impl WriteTx<'_> {
    /// Removes everything in the plan from every table, index, vector, answer record, job and the
    /// undo log; queues the rewriting of what stays. Call [`Store::scrub`](super::Store::scrub)
    /// after the commit.
    ///
    /// # Errors
    /// If the memory cannot be written.
    pub fn forget(&mut self, plan: &ForgetPlan) -> Result<()> {
        // The worker may have derived more since the plan was made.
        let plan = match (&plan.matching, plan.only_words) {
            (Some(part), true) => self.plan_blot(part)?,
            // A reply that quotes it may have been written meanwhile.
            (Some(part), false) => self.plan_forget(&[], Some(part))?,
            _ => self.renew(plan)?,
        };
        if plan.is_empty() {
            return Ok(());
        }
        let texts: Vec<Message> = self.messages_by_id(&plan.messages)?;
        let forks = self.forks()?;
        let shown_in = forks.showing(&texts.iter().collect::<Vec<_>>());
        let name = self.name_that_goes_with(&plan.messages)?;
        let reopened: BTreeSet<SessionId> =
            self.episodes_by_id(&plan.rewritten)?.iter().map(|e| e.session).collect();
        let mut poorer = BTreeSet::new();
        for semantic in self.semantics_by_id(&plan.semantics)? {
            poorer.extend(semantic.episodes);
        }

        let struck = plan.struck.iter().copied();
        for semantic in self.find_semantics_and_messages(struck)?.into_values() {
            self.refuse(semantic.id, &semantic.content)?;
        }
        if let Some(part) = &plan.matching {
            self.forget_refusals(part, plan.only_words)?;
            if plan.only_words {
                self.blot(&plan.blotted, part)?;
            }
        }
        self.forget_refusals_of(&plan.messages)?;
        // Facts of other messages may repeat a word of theirs.
        self.refuse_without(&self.words_gone_with(&texts)?, &BTreeMap::new())?;
        self.forget_records(&plan, &texts)?;
        self.forget_operations(&plan)?;
        self.forget_units(&plan)?;
        self.forget_pins()?;
        self.restart_running()?;

        for id in &plan.themes {
            self.set_theme_name(*id, UNNAMED)?;
            // Its centroid still reflects what is gone.
            self.drop_embedding(Level::Theme, id.0)?;
            self.enqueue(&JobKind::NameTheme(*id))?;
        }
        self.forget_titles(&plan, &texts, &forks)?;
        let calls = |part: &String| self.user_name().map(|n| n.is_some_and(|n| contains(&n, part)));
        if name.is_some() || plan.matching.as_ref().map_or(Ok(false), calls)? {
            self.run("DELETE FROM setting WHERE key = ?1", [USER_NAME])?;
        }
        for session in reopened {
            self.enqueue(&JobKind::Close(session))?;
        }
        // The other episodes of a removed fact may have stated it as well. For those that were
        // removed themselves, `enqueue` drops the job.
        for episode in poorer {
            self.enqueue(&JobKind::Semantics(episode))?;
        }
        if !plan.semantics.is_empty() {
            self.relink()?;
        }
        // An error message may quote what the step was working on.
        self.run("UPDATE job SET error = 'removed by forgetting' WHERE error IS NOT NULL", [])?;
        let mut gone = plan.ids();
        gone.extend(shown_in.into_iter().map(AnyId::Session));
        // Words may have gone from a correction too, and a name is in no unit.
        let is_known = !plan.only_words && plan.vanished.is_empty() && name.is_none();
        self.count_forgetting(is_known.then_some(&gone))?;
        self.scrub_later()
    }

    /// Words of these messages that nobody says in one that stays.
    fn words_gone_with(&self, texts: &[Message]) -> Result<BTreeSet<String>> {
        let said = |all: &[Message]| -> BTreeSet<String> {
            let said = all.iter().filter(|m| !is_reply(m));
            said.flat_map(|m| words_of(&m.content).collect::<Vec<_>>()).collect()
        };
        let mut gone = said(texts);
        if !gone.is_empty() {
            let ids: HashSet<MessageId> = texts.iter().map(|m| m.id).collect();
            let mut stay = self.all_messages()?;
            stay.retain(|m| !ids.contains(&m.id));
            gone = &gone - &said(&stay);
        }
        Ok(gone)
    }

    /// Evidence records that mention, or quote, what goes: of each only the ids of what stays are
    /// kept, so that forgetting one of those finds the reply.
    fn forget_records(&mut self, plan: &ForgetPlan, texts: &[Message]) -> Result<()> {
        let gone = plan.ids();
        let mut quoted = Quoted::default();
        for message in texts {
            quoted.add(&message.content);
        }
        // What cannot be read may hold what goes.
        self.run("DELETE FROM answer WHERE NOT json_valid(record)", [])?;
        for (reply, record) in self.answer_records()? {
            let text = record.to_string();
            if !ids_in_record(&record, true).is_disjoint(&gone)
                || quoted.is_in(&text)
                || any_text(&record, &|text| plan.is_in(text))
            {
                self.keep_of_record(reply, &record, &gone)?;
            }
        }
        Ok(())
    }

    /// Keeps of a record the ids that the reply may quote, without those that go; in place of a fact or
    /// an episode that goes, its messages that stay.
    fn keep_of_record(
        &mut self,
        reply: MessageId,
        record: &serde_json::Value,
        gone: &HashSet<AnyId>,
    ) -> Result<()> {
        let mut kept = BTreeSet::new();
        for id in ids_in_reply(record) {
            let sources = match id {
                AnyId::Theme(_) | AnyId::Session(_) => continue,
                _ if !gone.contains(&id) => {
                    kept.insert(id);
                    continue;
                }
                AnyId::Semantic(id) => self.evidence_messages([id])?,
                AnyId::Episode(id) => {
                    self.all("SELECT id FROM message WHERE episode = ?1", [id.0], |row| {
                        row.get(0).map(MessageId)
                    })?
                }
                AnyId::Message(_) => Vec::new(),
            };
            kept.extend(sources.into_iter().map(AnyId::Message).filter(|id| !gone.contains(id)));
        }
        if kept.is_empty() {
            self.run("DELETE FROM answer WHERE message = ?1", [reply.0])?;
            return Ok(());
        }
        let kept: Vec<String> = kept.iter().map(ToString::to_string).collect();
        self.record_answer(reply, &json!({(FORGOTTEN): true, "quoted": kept}))
    }

    /// Entries of the undo log that touch what goes, or whose old text contains the text searched for.
    fn forget_operations(&mut self, plan: &ForgetPlan) -> Result<()> {
        let gone = plan.ids();
        // What cannot be read may hold what goes.
        self.run("DELETE FROM operation WHERE NOT json_valid(inverse)", [])?;
        for (id, entry, inverse) in self.operations()? {
            let goes = |touched: &AnyId| match touched {
                // No fact that stays backs the name of a theme that is gone, or goes now.
                AnyId::Theme(theme) => {
                    gone.contains(touched) || !self.keeps_members(*theme, plan).unwrap_or(false)
                }
                _ => gone.contains(touched),
            };
            if inverse.touched().iter().any(goes) || any_text(&entry, &|text| plan.is_in(text)) {
                self.run("DELETE FROM operation WHERE id = ?1", [id])?;
            }
        }
        Ok(())
    }

    fn keeps_members(&self, theme: crate::memory::ThemeId, plan: &ForgetPlan) -> Result<bool> {
        let members = self.themes_by_id(&[theme])?;
        Ok(members.iter().any(|t| t.members.iter().any(|s| !plan.semantics.contains(s))))
    }

    /// The rows, their vectors and their jobs.
    fn forget_units(&mut self, plan: &ForgetPlan) -> Result<()> {
        for id in &plan.semantics {
            self.remove_semantic(*id)?;
        }
        for id in &plan.messages {
            self.drop_embedding(Level::Message, id.0)?;
            self.run("DELETE FROM message WHERE id = ?1", [id.0])?;
        }
        for id in &plan.episodes {
            self.drop_embedding(Level::Episode, id.0)?;
            self.drop_jobs(&["semantics"], id.0)?;
            self.run("DELETE FROM episode WHERE id = ?1", [id.0])?;
        }
        for id in &plan.sessions {
            self.drop_jobs(&["boundary", "close"], id.0)?;
            // What goes on from it goes on from what it went on from.
            self.run(
                "UPDATE session SET (parent, parent_end) =
                     (SELECT parent, parent_end FROM session WHERE id = ?1)
                 WHERE parent = ?1",
                [id.0],
            )?;
            self.run("DELETE FROM session WHERE id = ?1", [id.0])?;
            self.keep_sampling(*id, "")?;
        }
        Ok(())
    }

    /// Removes a fact with its vector and its job, but nothing that it was made from. What it superseded holds
    /// again, until consolidation judges anew.
    pub(super) fn remove_semantic(&mut self, id: SemanticId) -> Result<()> {
        self.touch_themes()?;
        self.run(
            "UPDATE semantic
             SET superseded_by = NULL, superseded_ms = NULL, superseded_offset = NULL
             WHERE superseded_by = ?1",
            [id.0],
        )?;
        self.drop_embedding(Level::Semantic, id.0)?;
        self.drop_jobs(&["consolidate"], id.0)?;
        self.run("DELETE FROM semantic WHERE id = ?1", [id.0])?;
        Ok(())
    }

    /// Titles made from what goes are made again from what stays; names of files that match are taken away.
    fn forget_titles(&mut self, plan: &ForgetPlan, texts: &[Message], forks: &Forks) -> Result<()> {
        let mut quoted = Quoted::default();
        for message in texts {
            quoted.add(&message.content);
        }
        for session in self.sessions()? {
            let shown = |m: &&Message| forks.shows(session.id, m);
            let lost: Vec<&Message> = texts.iter().filter(shown).collect();
            let matches = plan.is_in(&session.title);
            // A file's name can't be made again.
            if let (Some(part), Some(source)) = (&plan.matching, &session.source)
                && contains(source, part)
            {
                self.run("UPDATE session SET source = NULL WHERE id = ?1", [session.id.0])?;
            }
            let mut quotes = quoted.is_in(&session.title);
            let telling: HashSet<String> = telling_words(&session.title).collect();
            if !lost.is_empty() && session.imported {
                // An imported title is kept, unless it has a word of what goes that nothing
                // else in the session says.
                let stay: HashSet<String> =
                    self.messages(session.id)?.iter().flat_map(|m| words(&m.content)).collect();
                quotes |= lost.iter().any(|m| {
                    telling_words(&m.content).any(|w| telling.contains(&w) && !stay.contains(&w))
                });
            } else if !lost.is_empty() {
                // A chat's title is its first words: one in common is enough, and making it again
                // costs nothing.
                quotes |= telling.is_empty()
                    || lost.iter().any(|m| telling_words(&m.content).any(|w| telling.contains(&w)));
            }
            if matches || quotes {
                let own = self.messages(session.id)?;
                let all = self.conversation(session.id)?.messages;
                let by_person = |m: &&Message| m.role == Role::User;
                let first = own.iter().chain(&all).find(by_person).or(all.first());
                let title = title_of(first.map_or("", |m| &m.content));
                let sql = "UPDATE session SET title = ?2 WHERE id = ?1";
                self.run(sql, rusqlite::params![session.id.0, title])?;
            }
        }
        Ok(())
    }
}
