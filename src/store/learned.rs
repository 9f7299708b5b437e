//! What was learnt from imports, for the person to look through: which facts came of which file, and which of them were kept already.
//!
//! Two settings hold the rest: `learned_kept` (ids of facts) and `learned_seen` (the newest fact when the person last looked).

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::error::Result;
use super::records::Session;
use super::transaction::{Reader, WriteTx};
use crate::memory::{SemanticId, SessionId};

const KEPT: &str = "learned_kept";
const SEEN: &str = "learned_seen";

/// The facts that came of one import, and that the person has not looked through yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Learned {
    /// The file's name.
    pub source: String,
    /// Each with the title of the chat that it came from, in the order in which they were made.
    pub facts: Vec<(SemanticId, String)>,
}

impl Reader<'_> {
    /// What was learnt from imports and still holds, without what was kept; the newest import first.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn learned(&self) -> Result<Vec<Learned>> {
        let facts: Vec<(SemanticId, SessionId)> = self.all(
            "SELECT s.id, min(m.session) FROM semantic s
             JOIN semantic_message p ON p.semantic = s.id
             JOIN message m ON m.id = p.message
             JOIN session c ON c.id = m.session
             WHERE s.superseded_by IS NULL AND c.imported AND NOT coalesce(c.agent, 0)
             GROUP BY s.id ORDER BY s.id",
            [],
            |row| Ok((SemanticId(row.get(0)?), SessionId(row.get(1)?))),
        )?;
        let kept = self.facts_in(KEPT)?;
        let sessions = self.sessions()?;
        let sessions: BTreeMap<SessionId, Session> =
            sessions.into_iter().map(|session| (session.id, session)).collect();
        let mut imports: BTreeMap<String, (SessionId, Vec<(SemanticId, String)>)> = BTreeMap::new();
        for (fact, session) in facts.into_iter().filter(|(fact, _)| !kept.contains(fact)) {
            let Some(session) = sessions.get(&session) else { continue };
            let source = session.source.clone().unwrap_or_else(|| "an import".into());
            let (newest, of_import) = imports.entry(source).or_insert((session.id, Vec::new()));
            *newest = session.id.max(*newest);
            of_import.push((fact, session.title.clone()));
        }
        let mut imports: Vec<_> = imports.into_iter().collect();
        imports.sort_by_key(|(_, (newest, _))| Reverse(*newest));
        let learned = |(source, (_, facts))| Learned { source, facts };
        Ok(imports.into_iter().map(learned).collect())
    }

    /// The newest fact when the person last looked at what was learnt.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn learned_seen(&self) -> Result<SemanticId> {
        Ok(SemanticId(self.setting(SEEN)?.and_then(|id| id.parse().ok()).unwrap_or(0)))
    }
}

impl WriteTx<'_> {
    /// The person keeps these facts: they need not look at them again.
    ///
    /// # Errors
    /// If the memory cannot be written.
    pub fn keep_learned(&mut self, facts: &[SemanticId]) -> Result<()> {
        let mut kept = self.facts_in(KEPT)?;
        kept.extend(facts);
        self.set_facts_in(KEPT, kept)
    }

    /// The person has looked at what was learnt.
    ///
    /// # Errors
    /// If the memory cannot be written.
    pub fn see_learned(&mut self) -> Result<()> {
        let newest = self.next_semantic_id()?.0 - 1;
        self.set_setting(SEEN, &newest.to_string())
    }
}
