//! Rows as states: what a device tells the others of a unit.

use std::collections::BTreeSet;

use rusqlite::Row;
use sha2::{Digest, Sha256};

use super::names::{Kind, Local, Name};
use crate::memory::{MessageId, SemanticId};
use crate::store::by_hand::BLOT;
use crate::store::error::Result;
use crate::store::sessions::moment;
use crate::store::settings::USER_NAME;
use crate::store::transaction::{Reader, WriteTx, optional_text, text};
use crate::sync::{Correction, Entry, Fork, Refusal, Said, SharedSession, Stamp, State, Uid};

/// Of a message `m`: its checksum, and what may change besides.
pub(super) const MESSAGE_DIGEST: &str =
    "coalesce(m.checksum, 0) || ' ' || m.complete || ' ' || coalesce(m.aside, 0)";

/// The one row of the kind `setting`.
pub(super) const USER_NAME_ROW: i64 = 1;

/// Of a chat: when it got its title, the title, and the rest.
pub(super) fn session_digest(state: &SharedSession) -> Result<String> {
    let rest = SharedSession { title: String::new(), titled: 0, ..state.clone() };
    let (title, rest) = (digest(state.title.as_bytes()), digest(&serde_json::to_vec(&rest)?));
    Ok(format!("{} {title} {rest}", state.titled))
}

/// Of a correction: when it was worded so, when it lost words, and the rest.
pub(super) fn correction_digest(correction: &Correction) -> Result<String> {
    let digest = digest(&serde_json::to_vec(correction)?);
    Ok(format!("{}{digest}", correction_stamps(correction.worded, &correction.redacted)))
}

/// The first two, each with a space after it.
fn correction_stamps(worded: Stamp, redacted: &BTreeSet<Stamp>) -> String {
    let shown = |stamp: &Stamp| format!("{}@{}", stamp.clock, stamp.device);
    let redacted: Vec<String> = redacted.iter().map(shown).collect();
    format!("{} {} ", shown(&worded), redacted.join(","))
}

fn stamps_of(digest: &str) -> Option<(Stamp, BTreeSet<Stamp>)> {
    let stamp = |text: &str| {
        let (clock, device) = text.split_once('@')?;
        Some(Stamp { clock: clock.parse().ok()?, device: device.parse().ok()? })
    };
    let (worded, rest) = digest.split_once(' ')?;
    let redacted = rest.split_once(' ')?.0.split(',').filter_map(stamp).collect();
    Some((stamp(worded)?, redacted))
}

/// Whether words were taken out of a correction here since it was last compared, in the wording that it had then.
pub(super) fn has_lost_words(before: &str, state: &Correction) -> bool {
    let was_told = !before.ends_with(' ');
    was_told
        && state.content.contains(BLOT)
        && state.worded != UNWORDED
        && correction_digest(state).is_ok_and(|now| now != before)
}

/// A wording that has no stamp yet.
const UNWORDED: Stamp = Stamp { clock: 0, device: Uid::USER_NAME.device };

/// Of a text that is not to stand in the table itself.
pub(in crate::store) fn digest(text: &[u8]) -> String {
    use std::fmt::Write as _;
    Sha256::digest(text)[..16].iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

impl Reader<'_> {
    /// Every unit that is held, as a device that knows none would need it.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn shared_log(&self) -> Result<Vec<Entry>> {
        self.entries(self.names()?)
    }

    pub(super) fn entries(&self, names: Vec<Name>) -> Result<Vec<Entry>> {
        let mut entries = Vec::with_capacity(names.len());
        for Name { uid, stamp, local } in names {
            let state = match &local {
                None => Some(State::Gone),
                Some(local) => self.state(local)?,
            };
            // A row that is gone since the tables were compared.
            entries.extend(state.map(|state| Entry { uid, stamp, state }));
        }
        Ok(entries)
    }

    fn state(&self, local: &Local) -> Result<Option<State>> {
        Ok(match local.kind {
            Kind::Session => self.session_state(local.id)?.map(State::Session),
            Kind::Message => self.said(local.id)?.map(State::Message),
            Kind::Refusal => self.refusal(local)?.map(State::Refusal),
            Kind::Correction => self.correction(SemanticId(local.id))?.map(State::Correction),
            Kind::Setting => Some(self.setting_state()?),
        })
    }

    /// With its digest, whatever it is but a chat.
    pub(super) fn local(&self, kind: Kind, id: i64) -> Result<Option<Local>> {
        let local = |digest| Local { kind, id, digest };
        let of_state =
            |state: State| -> Result<String> { Ok(digest(&serde_json::to_vec(&state)?)) };
        let digest = match kind {
            Kind::Message => {
                let sql = format!("SELECT {MESSAGE_DIGEST} FROM message m WHERE id = ?1");
                self.optional(&sql, [id], |row| row.get(0))?
            }
            Kind::Correction => {
                let correction = self.correction(SemanticId(id))?;
                correction.as_ref().map(correction_digest).transpose()?
            }
            _ => self.state(&local(String::new()))?.map(of_state).transpose()?,
        };
        Ok(digest.map(local))
    }

    pub(super) fn session_state(&self, id: i64) -> Result<Option<SharedSession>> {
        let sql = "SELECT title, created_ms, created_offset, imported, source, agent, pinned, parent, parent_end,
                       (SELECT digest FROM shared WHERE kind = 'session' AND local = session.id)
                   FROM session WHERE id = ?1";
        let row = |row: &Row<'_>| {
            let digest: Option<String> = row.get(9)?;
            let titled = digest.and_then(|digest| digest.split(' ').next()?.parse().ok());
            let shared = SharedSession {
                title: text(row, 0)?,
                titled: titled.unwrap_or(0),
                created_at: moment(row, 1)?,
                imported: row.get(3)?,
                source: optional_text(row, 4)?,
                agent: row.get::<_, Option<bool>>(5)?.unwrap_or_default(),
                pinned: row.get::<_, Option<bool>>(6)?.unwrap_or_default(),
                fork: None,
            };
            Ok((shared, row.get::<_, Option<i64>>(7)?.zip(row.get::<_, Option<i64>>(8)?)))
        };
        let Some((mut shared, from)) = self.optional(sql, [id], row)? else { return Ok(None) };
        if let Some((parent, end)) = from
            && let Some(uid) = self.uid_of(Kind::Session, parent)?
        {
            let sql = "SELECT max(m.id) FROM message m
                       JOIN shared ON shared.kind = 'message' AND shared.local = m.id
                       WHERE m.session = ?1 AND m.id < ?2";
            let last: Option<i64> = self.optional(sql, [parent, end], |row| row.get(0))?.flatten();
            let after = last.map(|id| self.uid_of(Kind::Message, id)).transpose()?.flatten();
            shared.fork = Some(Fork { parent: uid, after });
        }
        Ok(Some(shared))
    }

    pub(super) fn said(&self, id: i64) -> Result<Option<Said>> {
        let Some(message) = self.find_messages([MessageId(id)])?.remove(&MessageId(id)) else {
            return Ok(None);
        };
        let Some(session) = self.uid_of(Kind::Session, message.session.0)? else { return Ok(None) };
        let sql = "SELECT 1 FROM message WHERE id = ?1 AND aside IS NOT NULL";
        let aside = self.optional(sql, [id], |_| Ok(()))?.is_some();
        Ok(Some(Said {
            session,
            role: message.role,
            speaker: message.speaker,
            content: message.content,
            created_at: message.created_at,
            external_id: message.external_id,
            complete: message.complete,
            aside,
        }))
    }

    fn refusal(&self, local: &Local) -> Result<Option<Refusal>> {
        let Some(message) = self.uid_of(Kind::Message, local.id)? else { return Ok(None) };
        let is_it = |content: &String| local.digest == digest(content.as_bytes());
        let content = self.refused_of(local.id)?.into_iter().find(is_it);
        Ok(content.map(|content| Refusal { message, content }))
    }

    pub(in crate::store) fn refused_of(&self, message: i64) -> Result<Vec<String>> {
        self.all("SELECT content FROM refused WHERE message = ?1", [message], |row| text(row, 0))
    }

    /// Its wording has the clock 0 while it is not known to be older than the next stamp.
    pub(super) fn correction(&self, id: SemanticId) -> Result<Option<Correction>> {
        let Some(fact) = self.find_semantics_and_messages([id])?.remove(&id) else {
            return Ok(None);
        };
        let uid = |message: &MessageId| self.uid_of(Kind::Message, message.0);
        let messages = fact.messages.iter().map(uid).collect::<Result<Option<Vec<Uid>>>>()?;
        let Some(mut messages) = messages else { return Ok(None) };
        // The rows' ids have another order on each device.
        messages.sort_unstable();
        let digest = self.digest_of_correction(id)?;
        let stamps = digest.as_deref().and_then(stamps_of);
        let (worded, redacted) = stamps.unwrap_or((UNWORDED, BTreeSet::new()));
        Ok(Some(Correction {
            messages,
            content: fact.content,
            worded,
            redacted,
            subject: fact.subject,
            attribute: fact.attribute,
            created_at: fact.created_at,
        }))
    }

    /// What a correction looked like when it was last compared.
    fn digest_of_correction(&self, id: SemanticId) -> Result<Option<String>> {
        let sql = "SELECT digest FROM shared WHERE kind = 'correction' AND local = ?1";
        self.optional(sql, [id.0], |row| row.get(0))
    }

    fn setting_state(&self) -> Result<State> {
        Ok(State::Setting { key: USER_NAME.into(), value: self.setting(USER_NAME)? })
    }
}

impl WriteTx<'_> {
    /// What a correction says from now on is no later state of what it said, but another wording.
    pub(in crate::store) fn unword(&mut self, correction: i64) -> Result<()> {
        let id = SemanticId(correction);
        let Some(before) = self.digest_of_correction(id)? else { return Ok(()) };
        let Some(mut state) = self.correction(id)? else { return Ok(()) };
        if has_lost_words(&before, &state) {
            state.redacted.insert(self.next_stamp()?);
        }
        let sql = "UPDATE shared SET digest = ?2 WHERE kind = 'correction' AND local = ?1";
        let digest = correction_stamps(UNWORDED, &state.redacted);
        self.run(sql, rusqlite::params![correction, digest])?;
        Ok(())
    }

    /// Of what changed since the last one.
    pub(super) fn next_stamp(&self) -> Result<Stamp> {
        Ok(Stamp { clock: self.sync_clock()? + 1, device: self.this_device()? })
    }
}
