//! `memory rebuild`: takes away what was derived from the messages and queues that it is derived anew, in the canonical order. What
//! the person corrected, struck out or pinned stays.

use std::collections::{BTreeSet, HashSet};

use serde_json::{Value, json};

use super::answers::{ids_in_record, ids_in_reply};
use super::error::Result;
use super::records::{AnyId, JobKind, NewSemantic};
use super::transaction::{Reader, WriteTx};
use crate::memory::{EpisodeId, MessageId, SemanticId, SessionId};

/// Key of a record's messages behind the facts and episodes that it cites, which are no more.
const MADE_OF: &str = "made_of";

impl Reader<'_> {
    /// The order in which a memory is made anew: by when chats were begun and their names where devices share them, otherwise as
    /// they came.
    pub(super) fn canonical_sessions(&self) -> Result<Vec<SessionId>> {
        let order = match self.sync_device()? {
            Some(_) => "s.created_ms, shared.device, shared.n, s.id",
            None => "s.id",
        };
        let sql = format!(
            "SELECT s.id FROM session s
             LEFT JOIN shared ON shared.kind = 'session' AND shared.local = s.id ORDER BY {order}"
        );
        self.all(&sql, [], |row| row.get(0).map(SessionId))
    }

    fn canonical_corrections(&self) -> Result<Vec<SemanticId>> {
        let sql = "SELECT s.id FROM semantic s
                   LEFT JOIN shared ON shared.kind = 'correction' AND shared.local = s.id
                   WHERE s.corrected ORDER BY s.created_ms, shared.device, shared.n, s.id";
        self.all(sql, [], |row| row.get(0).map(SemanticId))
    }

    /// The messages of facts and episodes.
    fn messages_behind(&self, ids: &HashSet<AnyId>) -> Result<BTreeSet<MessageId>> {
        let semantics = ids.iter().filter_map(|id| match id {
            AnyId::Semantic(id) => Some(*id),
            _ => None,
        });
        let episodes = ids.iter().filter_map(|id| match id {
            AnyId::Episode(id) => Some(*id),
            _ => None,
        });
        let mut messages = BTreeSet::from_iter(self.evidence_messages(semantics)?);
        let episodes = self.find_episodes(episodes.collect::<Vec<EpisodeId>>())?;
        messages.extend(episodes.into_values().flat_map(|episode| episode.messages));
        Ok(messages)
    }
}

impl WriteTx<'_> {
    /// Takes away all episodes, facts and themes, but for what the person corrected, and queues the steps that make them anew. The
    /// undo log and what was renamed or rewritten by hand go with them.
    ///
    /// # Errors
    /// If the memory cannot be written.
    pub fn derive_anew(&mut self) -> Result<()> {
        if self.sync_device()?.is_some() {
            // Whoever has no name yet has no place in the order.
            self.scan()?;
        }
        let sessions = self.canonical_sessions()?;
        let corrections = self.semantics_by_id(&self.canonical_corrections()?)?;
        self.keep_what_records_rest_on()?;
        self.keep_pins_for_rebuild()?;
        self.touch_themes()?;
        self.run(
            "UPDATE semantic SET superseded_by = NULL, superseded_ms = NULL, superseded_offset = NULL",
            [],
        )?;
        for table in ["job", "operation", "semantic", "episode", "theme"] {
            self.run(&format!("DELETE FROM {table}"), [])?;
        }
        // All of them: what a vector is, to the last bit, may depend on those that are made with it.
        self.drop_vectors()?;
        for session in sessions {
            self.enqueue(&JobKind::Close(session))?;
        }
        for fact in corrections {
            let new = self.insert_corrected(&NewSemantic {
                content: fact.content,
                subject: fact.subject,
                attribute: fact.attribute,
                created_at: fact.created_at,
                messages: fact.messages,
            })?;
            let sql = "UPDATE shared SET local = ?2 WHERE kind = 'correction' AND local = ?1";
            self.run(sql, [fact.id.0, new.0])?;
        }
        Ok(())
    }

    /// A later forgetting must find the replies by the messages that they rest on.
    fn keep_what_records_rest_on(&mut self) -> Result<()> {
        for (reply, mut record) in self.answer_records()? {
            let all = self.messages_behind(&ids_in_record(&record, true))?;
            if all.is_empty() {
                continue;
            }
            let in_reply = self.messages_behind(&ids_in_reply(&record))?;
            let shown = |ids: BTreeSet<MessageId>| -> Vec<Value> {
                ids.into_iter().map(|id| id.to_string().into()).collect()
            };
            let (all, in_reply) = (shown(all), shown(in_reply));
            match record.get_mut("quoted") {
                Some(Value::Array(quoted)) => quoted.extend(in_reply),
                _ => record["cited"] = in_reply.into(),
            }
            record[MADE_OF] = json!({"admitted": false, "messages": all});
            self.record_answer(reply, &record)?;
        }
        Ok(())
    }
}
