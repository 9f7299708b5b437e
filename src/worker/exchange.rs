//! One exchange with the person's other devices: what they wrote is joined with what is held here, what is new here is
//! written for them, and what counts no longer leaves the carrier.
//!
//! It can die at any moment. A piece's number is taken before the piece is written, and what is in it counts as sent only
//! afterwards; a piece is joined and noted as seen in one transaction.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::Serialize;
use thiserror::Error;

use crate::memory::Moment;
use crate::store::{Store, StoreError, Work, WriteTx};
use crate::sync::{
    Author, DeviceId, Entry, Found, Log, LogError, Packed, Piece, Plan, SMALL_PIECES_MAX,
    SealError, Stamp, SyncState, Uid, is_small,
};

/// Why an exchange could not be made.
#[derive(Debug, Error)]
pub enum ExchangeError {
    /// `sync init` was not run.
    #[error("this memory is shared with no other device")]
    NotShared,
    /// Another process is at it.
    #[error("another inglenook is exchanging with your devices")]
    Busy,
    /// The memory cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The carrier, or what is on it, cannot be used.
    #[error(transparent)]
    Log(#[from] LogError),
    /// What the memory holds about the sync was written by a newer version.
    #[error("what this memory knows of its sync can't be read")]
    State(#[from] serde_json::Error),
}

type Result<T> = std::result::Result<T, ExchangeError>;

/// What an exchange did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Exchanged {
    /// Changes that came from other devices.
    pub received: usize,
    /// Changes that were written for them.
    pub sent: usize,
    /// Pieces that have not arrived as a whole, or go on from one that has not.
    pub waiting: usize,
    /// Pieces that can't be read; nothing that their device wrote later was.
    pub damaged: Vec<Damaged>,
    /// Pieces of which something was refused.
    pub refused: Vec<Damaged>,
}

/// A piece that can't be used, as a whole or in part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Damaged {
    /// Whose it is.
    pub device: DeviceId,
    /// Its number.
    pub piece: u64,
    /// What is wrong with it.
    pub why: String,
}

/// What the memory knows of its sync; `None` if it is not shared.
///
/// # Errors
/// If the memory can't be read.
pub fn sync_state(store: &Store) -> Result<Option<SyncState>> {
    let text: Option<String> = store.read(|r| r.sync_state())?;
    Ok(text.map(|text| serde_json::from_str(&text)).transpose()?)
}

/// Makes an exchange; waits while another process is at it.
///
/// # Errors
/// [`ExchangeError::NotShared`]; [`ExchangeError::Busy`] after `wait`; or if the memory or the carrier can't be used: what
/// was done until then stays done.
pub fn exchange(store: &Store, now: Moment, wait: Duration) -> Result<Exchanged> {
    let mut exchange = Exchange::begin(store, now, wait)?;
    exchange.run()?;
    Ok(exchange.done)
}

/// What an exchange would have to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outlook {
    /// Changes that the other devices do not have yet.
    pub to_send: usize,
    /// Pieces of theirs that are there.
    pub to_read: usize,
}

/// Looks at what waits, and changes nothing.
///
/// # Errors
/// As [`exchange`].
pub fn outlook(store: &Store, state: &SyncState) -> Result<Outlook> {
    let mut to_send = None;
    let looked = store.write(|tx| {
        to_send = Some(tx.changes()?.len());
        // Nothing of it is kept.
        Err(StoreError::Invalid { what: "only looked at".into() })
    });
    let to_send = to_send.map_or(looked, Ok)?;
    let own = store.read(|r| r.sync_device())?;
    let mut carrier = open(state)?.carrier;
    let mut to_read = 0;
    for device in carrier.devices().map_err(LogError::from)? {
        if Some(device) != own {
            let pieces = carrier.pieces(device).map_err(LogError::from)?;
            let seen = state.others.get(&device).map(|other| &other.seen);
            to_read += pieces.iter().filter(|p| !seen.is_some_and(|s| s.contains(p))).count();
        }
    }
    Ok(Outlook { to_send, to_read })
}

/// Makes an exchange, then takes over the pieces of a device that will not come back. Before anything of that is done,
/// `confirm` is asked with how many of them can't be read.
///
/// # Errors
/// As [`exchange`].
pub fn take_over(
    store: &Store,
    device: DeviceId,
    now: Moment,
    wait: Duration,
    confirm: impl FnOnce(usize) -> bool,
) -> Result<Option<Exchanged>> {
    let mut exchange = Exchange::begin(store, now, wait)?;
    exchange.run()?;
    let taken = exchange.rewrite(device, |plan| confirm(plan.damaged.len()))?;
    Ok(taken.then_some(exchange.done))
}

/// How much is joined in one transaction, in bytes of pieces: a new device's first exchange has many of them.
const BATCH_BYTES: usize = 16 << 20;

/// Pieces to be joined together.
#[derive(Default)]
struct Batch {
    pieces: Vec<(DeviceId, u64, Author, BTreeSet<Uid>)>,
    entries: Vec<Entry>,
    bytes: usize,
}

/// Shares this memory no more. What it shared stays with the others.
///
/// # Errors
/// [`ExchangeError::Busy`], or if the memory cannot be used.
pub fn leave(store: &Store, wait: Duration) -> Result<()> {
    let _alone = alone(store, wait)?;
    Ok(store.write(|tx| tx.end_sync())?)
}

struct Exchange<'a> {
    store: &'a Store,
    log: Log,
    state: SyncState,
    device: DeviceId,
    author: Author,
    done: Exchanged,
    _alone: Work,
}

/// What the memory holds of these units.
fn held(store: &Store) -> impl FnMut(&[Uid]) -> Result<BTreeMap<Uid, Stamp>> + '_ {
    |uids| {
        let held = store.read(|r| {
            let of = |uid: &Uid| Ok(r.held(*uid)?.map(|held| (*uid, held.stamp)));
            uids.iter().map(of).collect::<std::result::Result<Vec<_>, StoreError>>()
        })?;
        Ok(held.into_iter().flatten().collect())
    }
}

fn save(tx: &mut WriteTx<'_>, state: &SyncState) -> std::result::Result<(), StoreError> {
    tx.set_sync_state(&serde_json::to_string(state)?)
}

impl<'a> Exchange<'a> {
    fn begin(store: &'a Store, now: Moment, wait: Duration) -> Result<Self> {
        // Before the lock: a memory that is not shared gets no file for it.
        sync_state(store)?.ok_or(ExchangeError::NotShared)?;
        let alone = alone(store, wait)?;
        // Again: another process may have changed it.
        let state = sync_state(store)?.ok_or(ExchangeError::NotShared)?;
        let log = open(&state)?;
        let device = store.read(|r| r.sync_device())?.ok_or(ExchangeError::NotShared)?;
        let author = Author { name: state.name.clone(), at: now.as_millisecond() };
        let done = Exchanged::default();
        Ok(Self { store, log, state, device, author, done, _alone: alone })
    }

    fn run(&mut self) -> Result<()> {
        self.check_own()?;
        let pulled = self.pull();
        if self.store.read(|r| r.scrub_is_due())? {
            // Where somebody reads, it stays due.
            let _ = self.store.scrub();
        }
        pulled?;
        self.push()?;
        let n_small = self.state.own.values().filter(|bytes| is_small(**bytes)).count();
        if self.state.compaction_is_due || n_small > SMALL_PIECES_MAX {
            self.rewrite(self.device, |_| true)?;
        }
        self.state.exchanged_at = Some(self.author.at);
        Ok(self.store.write(|tx| save(tx, &self.state))?)
    }

    /// Compares this device's pieces with those that it knows of.
    fn check_own(&mut self) -> Result<()> {
        let found: BTreeSet<u64> = self.pieces(self.device)?.into_iter().collect();
        if found.last().is_some_and(|last| *last >= self.state.next) {
            return self.become_another();
        }
        let n_known = self.state.own.len();
        self.state.own.retain(|piece, _| found.contains(piece));
        let n_left = self.state.own.len();
        for piece in found {
            self.state.own.entry(piece).or_default();
        }
        // Of an exchange that died, or brought back by what carries the folder.
        self.state.compaction_is_due |= n_left < n_known || n_left < self.state.own.len();
        if n_left < n_known { self.send_all() } else { Ok(()) }
    }

    /// This memory was restored from a backup or copied, and what was written under its name since is not in it: it takes
    /// another name, and reads all of that.
    fn become_another(&mut self) -> Result<()> {
        let device = DeviceId::random().map_err(|e| LogError::from(SealError::from(e)))?;
        self.state.next = 1;
        self.state.own.clear();
        self.state.n_sent = 0;
        self.state.others.clear();
        self.store.write(|tx| {
            tx.become_device(device)?;
            save(tx, &self.state)
        })?;
        self.device = device;
        Ok(())
    }

    fn pieces(&mut self, device: DeviceId) -> Result<Vec<u64>> {
        Ok(self.log.carrier.pieces(device).map_err(LogError::from)?)
    }

    /// Joins what the other devices wrote. What rests on something that has not come is tried again after the rest.
    fn pull(&mut self) -> Result<()> {
        loop {
            let devices = self.log.carrier.devices().map_err(LogError::from)?;
            self.state.others.retain(|device, _| devices.contains(device));
            self.done.waiting = 0;
            self.done.damaged.clear();
            let mut batch = Batch::default();
            let mut is_new = false;
            for device in devices {
                if device != self.device {
                    is_new |= self.pull_from(device, &mut batch)?;
                }
            }
            is_new |= self.join(batch)?;
            if !is_new || self.done.waiting == 0 {
                return Ok(());
            }
        }
    }

    /// Returns whether a piece was joined as a whole.
    fn pull_from(&mut self, device: DeviceId, batch: &mut Batch) -> Result<bool> {
        let pieces = self.pieces(device)?;
        let seen = &mut self.state.others.entry(device).or_default().seen;
        seen.retain(|piece| pieces.binary_search(piece).is_ok());
        let unseen: Vec<u64> = pieces.into_iter().filter(|piece| !seen.contains(piece)).collect();
        let mut is_new = false;
        for piece in unseen {
            match self.log.read(device, piece)? {
                Piece::Gone => {}
                Piece::NotWhole => self.done.waiting += 1,
                Piece::Damaged(why) => {
                    self.done.damaged.push(Damaged { device, piece, why });
                    break;
                }
                Piece::Whole { author, entries, bytes } => {
                    let uids = entries.iter().map(|entry| entry.uid).collect();
                    batch.pieces.push((device, piece, author, uids));
                    batch.entries.extend(entries);
                    batch.bytes += bytes;
                    if batch.bytes >= BATCH_BYTES {
                        is_new |= self.join(std::mem::take(batch))?;
                    }
                }
            }
        }
        Ok(is_new)
    }

    /// Returns whether a piece was joined as a whole.
    fn join(&mut self, batch: Batch) -> Result<bool> {
        if batch.pieces.is_empty() {
            return Ok(false);
        }
        let state = &mut self.state;
        let mut n_joined = 0;
        let applied = self.store.write(|tx| {
            let mut is_superseded = false;
            for entry in &batch.entries {
                let before = tx.held(entry.uid)?.map(|held| held.stamp);
                // The piece that holds it is none of another device's.
                is_superseded |= before.is_some_and(|before| {
                    before != entry.stamp && !state.others.contains_key(&before.device)
                });
            }
            let applied = tx.apply(&batch.entries)?;
            if applied.is_copy {
                return Ok(applied);
            }
            for (device, piece, author, uids) in &batch.pieces {
                let other = state.others.entry(*device).or_default();
                if !applied.held_back.iter().any(|uid| uids.contains(uid)) {
                    other.seen.insert(*piece);
                    n_joined += 1;
                }
                if author.at >= other.wrote_at {
                    (other.name, other.wrote_at) = (author.name.clone(), author.at);
                }
            }
            state.compaction_is_due |= is_superseded;
            save(tx, state)?;
            Ok(applied)
        })?;
        if applied.is_copy {
            self.become_another()?;
            // All is to be read again.
            self.done.waiting += 1;
            return Ok(true);
        }
        self.done.received += applied.n_taken;
        self.done.waiting += batch.pieces.len() - n_joined;
        for uid in applied.refused {
            let of = batch.pieces.iter().find(|(_, _, _, uids)| uids.contains(&uid));
            let why = format!("it says of {uid} what can't be");
            self.done.refused.extend(of.map(|(device, piece, ..)| Damaged {
                device: *device,
                piece: *piece,
                why,
            }));
        }
        Ok(n_joined > 0)
    }

    /// Writes what is new here.
    fn push(&mut self) -> Result<()> {
        let entries = self.store.write(|tx| tx.changes())?;
        // A unit that was sent before has a piece that holds what counts no longer.
        let was_sent = |uid: Uid| uid.device != self.device || uid.n <= self.state.n_sent;
        self.state.compaction_is_due |= entries.iter().any(|entry| was_sent(entry.uid));
        self.send_entries(&entries)
    }

    /// Writes everything: this device's pieces are lost. It may have others' in it, too.
    fn send_all(&mut self) -> Result<()> {
        let entries = self.store.read(|r| r.shared_log())?;
        self.send_entries(&entries)
    }

    fn send_entries(&mut self, entries: &[Entry]) -> Result<()> {
        let (mut packed, mut n_packed) = (Packed::default(), 0);
        for (i, entry) in entries.iter().enumerate() {
            if let Some(full) = packed.add(entry)? {
                self.send(full, &entries[n_packed..i])?;
                n_packed = i;
            }
        }
        // The others see a device by its pieces: one that has nothing to say yet writes an empty one.
        if packed.is_empty() && !self.state.own.is_empty() {
            return Ok(());
        }
        self.send(packed, &entries[n_packed..])
    }

    fn send(&mut self, packed: Packed, entries: &[Entry]) -> Result<()> {
        let number = take_number(self.store, &mut self.state)?;
        let bytes = self.log.write(self.device, number, &self.author, packed)?;
        let (state, device) = (&mut self.state, self.device);
        let of_own = entries.iter().map(|entry| entry.uid).filter(|uid| uid.device == device);
        state.n_sent = of_own.map(|uid| uid.n).max().unwrap_or(0).max(state.n_sent);
        state.own.insert(number, bytes);
        self.store.write(|tx| {
            tx.published(entries)?;
            save(tx, state)
        })?;
        self.done.sent += entries.len();
        Ok(())
    }

    /// Takes what counts no longer out of a device's pieces; those of another one become this device's. Returns whether
    /// `confirm` let it.
    fn rewrite(&mut self, from: DeviceId, confirm: impl FnOnce(&Plan) -> bool) -> Result<bool> {
        let is_own = from == self.device;
        let pieces = if is_own {
            self.state.own.clone()
        } else {
            self.pieces(from)?.into_iter().map(|piece| (piece, 0)).collect()
        };
        let (store, author) = (self.store, self.author.clone());
        let mut plan = Plan::new(&mut self.log, from, &pieces, !is_own, &mut held(store))?;
        if is_own && !plan.damaged.is_empty() {
            // What they held is in the memory.
            self.send_all()?;
        }
        if !confirm(&plan) {
            return Ok(false);
        }
        let state = &mut self.state;
        let mut number = || take_number(store, state);
        let between = (from, self.device);
        let written = plan.write(&mut self.log, between, &author, &mut held(store), &mut number)?;
        // Before the old ones go: they are then known as what an exchange left that died.
        self.state.own.extend(written);
        self.state.own.retain(|piece, _| !is_own || !plan.old.contains(piece));
        self.state.compaction_is_due &= !is_own;
        self.store.write(|tx| save(tx, &self.state))?;
        for piece in plan.old {
            self.log.carrier.remove(from, piece).map_err(LogError::from)?;
        }
        if !is_own {
            self.state.others.remove(&from);
            self.store.write(|tx| save(tx, &self.state))?;
        }
        Ok(true)
    }
}

/// Until no other process is at it.
fn alone(store: &Store, wait: Duration) -> Result<Work> {
    store.exchange(wait)?.ok_or(ExchangeError::Busy)
}

fn open(state: &SyncState) -> Result<Log> {
    let carrier = state.place.open().map_err(LogError::from)?;
    match Log::join(carrier, &state.code)? {
        Found::Sync(log, id) if id == state.id => Ok(log),
        Found::Sync(..) => Err(LogError::AnotherSync.into()),
        Found::None(carrier) if state.exchanged_at.is_none() => {
            Ok(Log::begin(carrier, &state.code, &state.id)?)
        }
        Found::None(mut carrier) => {
            // It knows best what is missing.
            carrier.devices().map_err(LogError::from)?;
            Err(LogError::NotASync.into())
        }
    }
}

/// The number of this device's next piece, which no other will have.
fn take_number(store: &Store, state: &mut SyncState) -> Result<u64> {
    let number = state.next;
    state.next += 1;
    store.write(|tx| save(tx, state))?;
    Ok(number)
}
