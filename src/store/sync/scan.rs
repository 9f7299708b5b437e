//! What changed here since the last exchange: rows without a name, rows that look otherwise, names without a row.

use std::collections::{BTreeMap, HashMap};

use super::names::{Kind, Local, Name};
use super::states::{
    MESSAGE_DIGEST, USER_NAME_ROW, correction_digest, digest, has_lost_words, session_digest,
};
use crate::memory::SemanticId;
use crate::store::error::Result;
use crate::store::settings::USER_NAME;
use crate::store::transaction::{Reader, WriteTx, text};
use crate::sync::{DeviceId, Entry, Stamp, Uid};

/// What the states that are found get.
struct Stamping {
    stamp: Stamp,
    /// The next unit's number.
    n: u64,
    is_used: bool,
}

impl Stamping {
    fn use_stamp(&mut self) -> Stamp {
        self.is_used = true;
        self.stamp
    }

    fn new_uid(&mut self) -> Uid {
        let uid = Uid { device: self.stamp.device, n: self.n };
        self.n += 1;
        uid
    }
}

/// A message that has no name yet, or looks otherwise than when it was last compared.
struct Found {
    id: i64,
    digest: String,
    uid: Option<Uid>,
}

impl Reader<'_> {
    /// By session.
    fn changed_said(&self) -> Result<BTreeMap<i64, Vec<Found>>> {
        let sql = format!(
            "SELECT m.session, m.id, {MESSAGE_DIGEST}, shared.device, shared.n FROM message m
             LEFT JOIN shared ON shared.kind = 'message' AND shared.local = m.id
             WHERE shared.digest IS NOT {MESSAGE_DIGEST} ORDER BY m.session, m.id"
        );
        let rows = self.all(&sql, [], |row| {
            let device = row.get::<_, Option<[u8; 8]>>(3)?.map(DeviceId);
            let n = row.get::<_, Option<i64>>(4)?.map(i64::cast_unsigned);
            let uid = device.zip(n).map(|(device, n)| Uid { device, n });
            Ok((row.get(0)?, Found { id: row.get(1)?, digest: row.get(2)?, uid }))
        })?;
        let mut found: BTreeMap<i64, Vec<Found>> = BTreeMap::new();
        for (session, message) in rows {
            found.entry(session).or_default().push(message);
        }
        Ok(found)
    }
}

impl WriteTx<'_> {
    /// What the other devices do not know yet: whatever changed since the last call, and what no piece holds
    /// ([`WriteTx::published`]).
    ///
    /// # Errors
    /// If no sync was begun, or the memory cannot be written.
    pub fn changes(&mut self) -> Result<Vec<Entry>> {
        self.scan()?;
        self.entries(self.unpublished()?)
    }

    /// Gives what changed a stamp, and what is new a name: chats as they were begun, each with its messages, so that what a
    /// unit refers to has the smaller number.
    pub(in crate::store) fn scan(&mut self) -> Result<()> {
        let stamp = self.next_stamp()?;
        let n = self.last_n(stamp.device)? + 1;
        let mut stamping = Stamping { stamp, n, is_used: false };
        self.scan_gone(&mut stamping)?;
        self.scan_chats(&mut stamping)?;
        self.scan_refusals(&mut stamping)?;
        self.scan_corrections(&mut stamping)?;
        self.scan_user_name(&mut stamping)?;
        if stamping.is_used { self.set_sync_clock(stamping.stamp.clock) } else { Ok(()) }
    }

    fn scan_gone(&mut self, stamping: &mut Stamping) -> Result<()> {
        for (kind, table) in [
            (Kind::Session, "session WHERE id = local"),
            (Kind::Message, "message WHERE id = local"),
            (Kind::Correction, "semantic WHERE id = local AND corrected"),
        ] {
            let sql = format!(
                "UPDATE shared SET kind = NULL, local = NULL, digest = NULL, clock = ?2, author = ?3
                 WHERE kind = ?1 AND NOT EXISTS (SELECT 1 FROM {table})"
            );
            let Stamp { clock, device } = stamping.stamp;
            let params = rusqlite::params![kind.as_str(), clock.cast_signed(), device.0];
            stamping.is_used |= self.run(&sql, params)? > 0;
        }
        Ok(())
    }

    /// Records a state if it is another than before.
    fn note(&mut self, stamping: &mut Stamping, known: Option<&Name>, local: &Local) -> Result<()> {
        if known.is_some_and(|name| name.local.as_ref() == Some(local)) {
            return Ok(());
        }
        let uid = known.map_or_else(|| stamping.new_uid(), |name| name.uid);
        let stamp = stamping.use_stamp();
        self.put_name(uid, stamp, Some(local))
    }

    fn scan_chats(&mut self, stamping: &mut Stamping) -> Result<()> {
        let known = by_row(self.names_of(Kind::Session)?);
        let mut said = self.changed_said()?;
        for id in self.all("SELECT id FROM session ORDER BY id", [], |row| row.get(0))? {
            let Some(mut state) = self.session_state(id)? else { continue };
            let name = known.get(&id);
            let before = name.and_then(|name| name.local.as_ref()).map(|local| &local.digest);
            let is_titled_so = before.and_then(|before| before.split(' ').nth(1))
                == Some(&digest(state.title.as_bytes()));
            if !is_titled_so {
                state.titled = stamping.stamp.clock;
            }
            let digest = session_digest(&state)?;
            self.note(stamping, name, &Local { kind: Kind::Session, id, digest })?;
            let is_foreign = name.is_some_and(|name| name.uid.device != stamping.stamp.device);
            for Found { id, digest, uid } in said.remove(&id).unwrap_or_default() {
                // Another device's chat has its messages from there only.
                if uid.is_none() && is_foreign {
                    continue;
                }
                let uid = uid.unwrap_or_else(|| stamping.new_uid());
                let stamp = stamping.use_stamp();
                self.put_name(uid, stamp, Some(&Local { kind: Kind::Message, id, digest }))?;
            }
        }
        Ok(())
    }

    /// The same refusal may have come from several devices: it holds while one of its names does.
    fn scan_refusals(&mut self, stamping: &mut Stamping) -> Result<()> {
        let mut known: HashMap<(i64, String), Vec<Name>> = HashMap::new();
        for name in self.names_of(Kind::Refusal)? {
            if let Some(local) = &name.local {
                known.entry((local.id, local.digest.clone())).or_default().push(name);
            }
        }
        let rows = self.all("SELECT message, content FROM refused", [], |row| {
            Ok((row.get::<_, i64>(0)?, text(row, 1)?))
        })?;
        for (id, content) in rows {
            let digest = digest(content.as_bytes());
            let is_shared = self.uid_of(Kind::Message, id)?.is_some();
            if known.remove(&(id, digest.clone())).is_none() && is_shared {
                self.note(stamping, None, &Local { kind: Kind::Refusal, id, digest })?;
            }
        }
        for name in known.into_values().flatten() {
            let stamp = stamping.use_stamp();
            self.put_name(name.uid, stamp, None)?;
        }
        Ok(())
    }

    fn scan_corrections(&mut self, stamping: &mut Stamping) -> Result<()> {
        let known = by_row(self.names_of(Kind::Correction)?);
        let sql = "SELECT id FROM semantic WHERE corrected ORDER BY id";
        for id in self.all(sql, [], |row| row.get(0))? {
            let Some(mut state) = self.correction(SemanticId(id))? else { continue };
            let before = known.get(&id).and_then(|name| name.local.as_ref());
            if before.is_some_and(|before| has_lost_words(&before.digest, &state)) {
                state.redacted.insert(stamping.stamp);
            }
            if state.worded.clock == 0 {
                state.worded = stamping.stamp;
            }
            let digest = correction_digest(&state)?;
            self.note(stamping, known.get(&id), &Local { kind: Kind::Correction, id, digest })?;
        }
        Ok(())
    }

    /// Unset, it is told only if it was set before.
    fn scan_user_name(&mut self, stamping: &mut Stamping) -> Result<()> {
        let known = self.name(Uid::USER_NAME)?;
        if known.is_none() && self.setting(USER_NAME)?.is_none() {
            return Ok(());
        }
        let Some(local) = self.local(Kind::Setting, USER_NAME_ROW)? else { return Ok(()) };
        if known.as_ref().and_then(|name| name.local.as_ref()) == Some(&local) {
            return Ok(());
        }
        let stamp = stamping.use_stamp();
        self.put_name(Uid::USER_NAME, stamp, Some(&local))
    }
}

fn by_row(names: Vec<Name>) -> HashMap<i64, Name> {
    names.into_iter().filter_map(|name| Some((name.local.as_ref()?.id, name))).collect()
}
