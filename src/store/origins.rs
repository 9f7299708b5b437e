//! Whose word a message or a fact is: derived from its session, role and speaker, so that no row can claim more.

use std::collections::HashMap;

use rusqlite::Row;

use super::error::Result;
use super::transaction::{Reader, WANTED, optional_text};
use crate::memory::{MessageId, Origin, Role, SemanticId};

impl Reader<'_> {
    /// Whose word these messages are.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn message_origins(
        &self,
        ids: impl IntoIterator<Item = MessageId>,
    ) -> Result<HashMap<MessageId, Origin>> {
        let name = self.user_name()?;
        let sql = format!(
            "SELECT message.id, message.role, message.speaker, session.imported, session.agent,
                 session.source
             FROM message JOIN {WANTED} ON message.id = wanted
             JOIN session ON session.id = message.session"
        );
        let row = |row: &Row<'_>| Ok((MessageId(row.get(0)?), origin(row, name.as_deref())?));
        Ok(self.of_ids(&sql, ids.into_iter().map(|id| id.0), row)?.into_iter().collect())
    }

    /// Whose word these facts are: the person's if they corrected it, or else that of the highest of the messages that
    /// it rests on.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn fact_origins(
        &self,
        ids: impl IntoIterator<Item = SemanticId>,
    ) -> Result<HashMap<SemanticId, Origin>> {
        let name = self.user_name()?;
        let sql = format!(
            "SELECT semantic, message.role, message.speaker, session.imported, session.agent,
                 session.source, fact.corrected
             FROM semantic_message JOIN {WANTED} ON semantic = wanted
             JOIN message ON message.id = semantic_message.message
             JOIN session ON session.id = message.session
             JOIN semantic fact ON fact.id = semantic_message.semantic"
        );
        let row = |row: &Row<'_>| {
            let is_corrected = row.get(6)?;
            let of_message = origin(row, name.as_deref())?;
            let origin = if is_corrected { Origin::Person } else { of_message };
            Ok((SemanticId(row.get(0)?), origin))
        };
        let mut out = HashMap::new();
        for (id, origin) in self.of_ids(&sql, ids.into_iter().map(|id| id.0), row)? {
            let highest = out.entry(id).or_insert(origin);
            *highest = origin.max(*highest);
        }
        Ok(out)
    }
}

/// How the source of a session that is a note begins; the folder follows.
pub const NOTES: &str = "notes in ";

/// From columns 1 to 5: role, speaker, whether the session was imported, whether an agent wrote it, and from where it is.
fn origin(row: &Row<'_>, name: Option<&str>) -> rusqlite::Result<Origin> {
    let is_user = row.get::<_, String>(1)? == Role::User.as_str();
    let speaker = optional_text(row, 2)?;
    // Whomever it quotes.
    if row.get::<_, Option<bool>>(4)? == Some(true) {
        return Ok(Origin::Agent);
    }
    let is_note = optional_text(row, 5)?.is_some_and(|source| source.starts_with(NOTES));
    Ok(match (row.get(3)?, speaker) {
        // In a chat here nobody is named: what has a name is of a chat whose own row was lost, perhaps an agent's.
        (false, None) if is_user => Origin::Person,
        (true, None) if is_user && is_note => Origin::Note,
        (true, None) if is_user => Origin::Owner,
        (true, Some(speaker)) if is_user && name.is_some_and(|name| is_named(&speaker, name)) => {
            Origin::Owner
        }
        (_, Some(_)) => Origin::Other,
        (false, None) => Origin::Assistant,
        (true, None) => Origin::Model,
    })
}

/// "Ana" is Ana Berg.
fn is_named(speaker: &str, name: &str) -> bool {
    let (speaker, name) = (speaker.trim().to_lowercase(), name.trim().to_lowercase());
    speaker == name || name.split_whitespace().next() == Some(speaker.as_str())
}
