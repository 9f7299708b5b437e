//! The states of other devices, joined with what is held here.
//!
//! A device's units are taken in the order of their numbers, none left out: so the messages of a chat come in their order, and
//! what a unit of its own device refers to is there. What refers to another device's unit waits for that.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use super::elsewhere::Elsewhere;
use super::names::{Kind, Local};
use super::states::{USER_NAME_ROW, digest};
use crate::memory::{MessageId, SemanticId, SessionId};
use crate::store::error::Result;
use crate::store::records::JobKind;
use crate::store::settings::USER_NAME;
use crate::store::transaction::WriteTx;
use crate::sync::{DeviceId, Entry, Fork, SharedSession, Stamp, State, Uid};

/// No device gets there by counting: what claims more is no clock, or no number.
const CLOCK_MAX: u64 = 1 << 60;
const N_MAX: u64 = 1 << 53;

const NAME_BYTES_MAX: usize = 1_000;
const REDACTED_MAX: usize = 1_000;

/// What came of the entries of other devices.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Applied {
    /// States that are held now and were not before.
    pub n_taken: usize,
    /// What they rest on has not come yet: they are to be given again.
    pub held_back: Vec<Uid>,
    /// They can't be right, and count for nothing.
    pub refused: Vec<Uid>,
    /// Something is from this device that it never gave: this memory is a copy, or was put back from one. Nothing was taken;
    /// it is to go on as another device ([`WriteTx::become_device`]).
    pub is_copy: bool,
}

/// What happens to an entry.
pub(super) enum Fate {
    Taken,
    /// What is held is later.
    Known,
    /// What it refers to has not come.
    Waits,
    Refused,
}

/// One call of [`WriteTx::apply`].
struct Joining {
    /// For what goes because what it belongs to is gone.
    stamp: Stamp,
    is_stamp_used: bool,
    applied: Applied,
    elsewhere: Elsewhere,
    /// Chats with new messages.
    grown: BTreeSet<i64>,
    user_name: Option<(Stamp, Option<String>)>,
}

/// Whether an entry can have come from this program.
fn is_sound(entry: &Entry) -> bool {
    let Entry { uid, stamp, state } = entry;
    let is_setting = *uid == Uid::USER_NAME;
    let fits = match state {
        State::Setting { key, value } => {
            let is_short = value.as_ref().is_none_or(|name| name.len() <= NAME_BYTES_MAX);
            is_setting && key == USER_NAME && is_short
        }
        State::Message(said) => said.session.device == uid.device && said.session.n < uid.n,
        State::Correction(c) => {
            let mut stamps = c.redacted.iter().chain([&c.worded]);
            let is_timed = stamps.all(|stamp| (1..CLOCK_MAX).contains(&stamp.clock));
            is_timed
                && c.redacted.len() <= REDACTED_MAX
                && !c.messages.is_empty()
                && !c.content.trim().is_empty()
        }
        State::Session(SharedSession { fork: Some(Fork { parent, after }), .. }) => {
            after.is_none_or(|after| after.device == parent.device)
        }
        State::Session(_) | State::Refusal(_) => true,
        State::Gone => !is_setting,
    };
    let fits = fits && !matches!(state, State::Session(session) if session.titled >= CLOCK_MAX);
    let is_nobodys = |device: DeviceId| device == Uid::USER_NAME.device;
    fits && is_setting == is_nobodys(uid.device)
        && !is_nobodys(stamp.device)
        && (1..CLOCK_MAX).contains(&stamp.clock)
        && (1..N_MAX).contains(&uid.n)
}

/// The states of a unit that count, the earliest first: what is joined by its content, not by its stamp alone, needs all of them.
fn counting(states: BTreeMap<Stamp, Entry>) -> Vec<Entry> {
    let by_content = |entry: &Entry| {
        matches!(entry.state, State::Session(_) | State::Message(_) | State::Correction(_))
    };
    if states.values().all(by_content) {
        return states.into_values().collect();
    }
    states.into_values().reduce(Entry::join).into_iter().collect()
}

impl WriteTx<'_> {
    /// Joins the states of other devices with what is held here, in any order and however often. What they forgot is
    /// forgotten here, with all that came of it: call [`Store::scrub`](crate::store::Store::scrub) after the commit if it is due.
    ///
    /// # Errors
    /// If no sync was begun, or the memory cannot be written.
    pub fn apply(&mut self, entries: &[Entry]) -> Result<Applied> {
        let device = self.this_device()?;
        let (clock, last) = (self.sync_clock()?, self.last_n(device)?);
        let mut applied = Applied::default();
        let mut joined: BTreeMap<Uid, BTreeMap<Stamp, Entry>> = BTreeMap::new();
        for entry in entries {
            if !is_sound(entry) {
                applied.refused.push(entry.uid);
                continue;
            }
            if entry.uid.device == device && entry.uid.n > last
                || entry.stamp.device == device && entry.stamp.clock > clock
            {
                return Ok(Applied { is_copy: true, ..Applied::default() });
            }
            joined.entry(entry.uid).or_default().insert(entry.stamp, entry.clone());
        }
        if joined.is_empty() {
            return Ok(applied);
        }
        // What was changed here meanwhile has its stamp first.
        self.scan()?;
        let stamps = joined.values().flat_map(BTreeMap::keys);
        let latest = stamps.map(|stamp| stamp.clock).max().unwrap_or(0);
        let clock = latest.max(self.sync_clock()?);
        let mut joining = Joining {
            stamp: Stamp { clock: clock + 1, device },
            is_stamp_used: false,
            applied,
            elsewhere: Elsewhere::default(),
            grown: BTreeSet::new(),
            user_name: None,
        };
        let mut new: HashMap<DeviceId, VecDeque<Entry>> = HashMap::new();
        for (uid, states) in joined {
            let is_known = self.name(uid)?.is_some();
            for entry in counting(states) {
                if is_known {
                    self.join_known(&mut joining, entry)?;
                } else {
                    new.entry(uid.device).or_default().push_back(entry);
                }
            }
        }
        self.take_all(&mut joining, new)?;
        self.follow(&joining.elsewhere)?;
        // Until now it told what calls the person by it.
        if let Some((stamp, name)) = joining.user_name.take() {
            self.take_user_name(stamp, name.as_deref())?;
        }
        self.queue(&joining.grown)?;
        let clock = clock + u64::from(joining.is_stamp_used);
        if clock > self.sync_clock()? {
            self.set_sync_clock(clock)?;
        }
        Ok(joining.applied)
    }

    fn take_all(
        &mut self,
        joining: &mut Joining,
        mut new: HashMap<DeviceId, VecDeque<Entry>>,
    ) -> Result<()> {
        let mut devices: Vec<DeviceId> = new.keys().copied().collect();
        devices.sort_unstable();
        let mut goes_on = true;
        while std::mem::take(&mut goes_on) {
            for device in &devices {
                let Some(entries) = new.get_mut(device) else { continue };
                let mut next = self.last_n(*device)? + 1;
                while let Some(entry) = entries.front().filter(|entry| entry.uid.n <= next) {
                    // A later state of the one before.
                    if entry.uid.n < next {
                        let entry = entry.clone();
                        entries.pop_front();
                        self.join_known(joining, entry)?;
                        continue;
                    }
                    match self.take_new(joining, entry)? {
                        Fate::Taken | Fate::Known => joining.applied.n_taken += 1,
                        Fate::Waits => break,
                        Fate::Refused => {
                            joining.applied.refused.push(entry.uid);
                            break;
                        }
                    }
                    entries.pop_front();
                    (next, goes_on) = (next + 1, true);
                }
            }
        }
        let waiting = devices.iter().filter_map(|device| new.get(device)).flatten();
        joining.applied.held_back.extend(waiting.map(|entry| entry.uid));
        joining.applied.held_back.dedup();
        joining.applied.refused.sort_unstable();
        joining.applied.refused.dedup();
        Ok(())
    }

    /// A later state of a unit that is known.
    fn join_known(&mut self, joining: &mut Joining, entry: Entry) -> Result<()> {
        let Entry { uid, stamp, state } = entry;
        let Some(name) = self.name(uid)? else { return Ok(()) };
        let Some(local) = name.local else {
            // What is gone stays gone.
            if state == State::Gone && stamp > name.stamp {
                self.put_name(uid, stamp, None)?;
            }
            return Ok(());
        };
        let is_later = stamp > name.stamp;
        let stamps = [name.stamp, stamp];
        let elsewhere = &mut joining.elsewhere;
        let fate = match (local.kind, state) {
            (Kind::Setting, State::Setting { value, .. }) if is_later => {
                joining.user_name = Some((stamp, value));
                Fate::Taken
            }
            (Kind::Session | Kind::Message | Kind::Correction | Kind::Refusal, State::Gone) => {
                self.put_name(uid, stamp, None)?;
                match local.kind {
                    Kind::Session => {
                        elsewhere.sessions.push(SessionId(local.id));
                        let title = self.session(SessionId(local.id))?.title;
                        self.retitle_forks(local.id, &title, None)?;
                    }
                    Kind::Message => elsewhere.messages.push(MessageId(local.id)),
                    Kind::Correction => elsewhere.corrections.push(SemanticId(local.id)),
                    Kind::Refusal | Kind::Setting => self.refuse_no_longer(&local)?,
                }
                Fate::Taken
            }
            (Kind::Session, State::Session(session)) => {
                self.change_session(uid, stamps, local.id, &session)?
            }
            (Kind::Message, State::Message(said)) => {
                self.change_message(elsewhere, uid, stamps, local.id, &said)?
            }
            (Kind::Correction, State::Correction(correction)) => {
                let id = SemanticId(local.id);
                self.change_correction(elsewhere, uid, stamps, id, &correction)?
            }
            (Kind::Setting, State::Setting { .. }) | (Kind::Refusal, State::Refusal(_)) => {
                Fate::Known
            }
            _ => Fate::Refused,
        };
        match fate {
            Fate::Taken => joining.applied.n_taken += 1,
            Fate::Known => {}
            Fate::Waits => joining.applied.held_back.push(uid),
            Fate::Refused => joining.applied.refused.push(uid),
        }
        Ok(())
    }

    /// A unit that is not known, the next of its device.
    fn take_new(&mut self, joining: &mut Joining, entry: &Entry) -> Result<Fate> {
        let Entry { uid, stamp, state } = entry;
        let (uid, stamp) = (*uid, *stamp);
        // What belongs to something that is gone goes too, and the others are told.
        let rests_on: Vec<Uid> = match state {
            State::Message(said) => vec![said.session],
            State::Refusal(refusal) => vec![refusal.message],
            State::Correction(correction) => correction.messages.clone(),
            State::Session(_) | State::Setting { .. } | State::Gone => Vec::new(),
        };
        let kind = if matches!(state, State::Message(_)) { Kind::Session } else { Kind::Message };
        let mut ids = BTreeSet::new();
        let mut is_gone = false;
        for name in rests_on {
            match self.name(name)?.map(|name| name.local) {
                None => return Ok(Fate::Waits),
                Some(Some(local)) if local.kind == kind => {
                    ids.insert(local.id);
                }
                Some(Some(_)) => return Ok(Fate::Refused),
                Some(None) => is_gone = true,
            }
        }
        if is_gone {
            self.put_name(uid, joining.stamp, None)?;
            joining.is_stamp_used = true;
            return Ok(Fate::Taken);
        }
        let first = ids.first().copied().unwrap_or_default();
        match state {
            State::Gone => self.put_name(uid, stamp, None)?,
            State::Setting { value, .. } => joining.user_name = Some((stamp, value.clone())),
            State::Session(session) => return self.take_session(uid, stamp, session),
            State::Message(said) => {
                let id = self.take_message(SessionId(first), said)?;
                joining.grown.insert(first);
                self.put_local(uid, stamp, Kind::Message, id.0)?;
            }
            State::Refusal(refusal) => {
                let sql = "INSERT OR IGNORE INTO refused VALUES (?1, ?2)";
                self.run(sql, rusqlite::params![first, refusal.content])?;
                let digest = digest(refusal.content.as_bytes());
                let local = Local { kind: Kind::Refusal, id: first, digest };
                self.put_name(uid, stamp, Some(&local))?;
                joining.elsewhere.refused.push(MessageId(first));
            }
            State::Correction(correction) => {
                let messages = ids.into_iter().map(MessageId).collect();
                let id = self.take_correction(correction, messages)?;
                self.put_correction(uid, stamp, id, correction, true)?;
            }
        }
        Ok(Fate::Taken)
    }

    pub(super) fn put_local(&mut self, uid: Uid, stamp: Stamp, kind: Kind, id: i64) -> Result<()> {
        let local = self.local(kind, id)?;
        self.put_name(uid, stamp, local.as_ref())
    }

    /// The worker derives from them. A chat in which somebody may be talking is left open.
    fn queue(&mut self, grown: &BTreeSet<i64>) -> Result<()> {
        let sql = "SELECT max(other.local) FROM shared own
                   JOIN shared other ON other.kind = 'session' AND other.device = own.device
                   WHERE own.kind = 'session' AND own.local = ?1";
        for &id in grown {
            let newest: Option<i64> = self.optional(sql, [id], |row| row.get(0))?.flatten();
            let session = SessionId(id);
            // It may have gone again at once.
            if !self.exists("session", id)? {
                continue;
            }
            let is_over = newest != Some(id) || self.session(session)?.imported;
            let job = if is_over { JobKind::Close(session) } else { JobKind::Boundary(session) };
            self.enqueue(&job)?;
        }
        Ok(())
    }

    fn take_user_name(&mut self, stamp: Stamp, name: Option<&str>) -> Result<()> {
        match name {
            Some(name) => self.set_setting(USER_NAME, name)?,
            None => {
                self.run("DELETE FROM setting WHERE key = ?1", [USER_NAME])?;
            }
        }
        self.put_local(Uid::USER_NAME, stamp, Kind::Setting, USER_NAME_ROW)
    }
}
