//! Pieces written anew without what counts no longer: so the text of what was forgotten leaves the carrier, and many small
//! pieces become few.
//!
//! The new pieces are written before the old ones are removed. Whatever is killed in between leaves entries in two pieces:
//! the next compaction keeps the later ones.

use std::collections::BTreeMap;

use super::log::{Author, Log, LogError, PIECE_BYTES, Packed, Piece};
use super::{DeviceId, Entry, Stamp, Uid};

/// More small pieces than this become one.
pub const SMALL_PIECES_MAX: usize = 16;

/// Whether a piece of this length is small.
pub fn is_small(bytes: u64) -> bool {
    bytes < PIECE_BYTES as u64 / 4
}

/// A device's pieces, and which are to be written anew.
#[derive(Debug, Default)]
pub struct Plan {
    /// To be removed once the rest of them is written.
    pub old: Vec<u64>,
    /// Those of them that nothing can be read from.
    pub damaged: Vec<u64>,
    /// The last piece that holds an entry.
    last: BTreeMap<(Uid, Stamp), u64>,
}

/// What the memory holds of units: those that it does not know are missing.
type Held<'a, E> = dyn FnMut(&[Uid]) -> Result<BTreeMap<Uid, Stamp>, E> + 'a;

impl Plan {
    /// Reads a device's pieces (their lengths are known) to find those that hold what counts no longer; `all` of them are to
    /// be written anew if another device takes them over.
    ///
    /// # Errors
    /// If the carrier or the memory can't be read.
    pub fn new<E: From<LogError>>(
        log: &mut Log,
        device: DeviceId,
        pieces: &BTreeMap<u64, u64>,
        all: bool,
        held: &mut Held<'_, E>,
    ) -> Result<Self, E> {
        let mut plan = Self::default();
        let mut with_dead = Vec::new();
        for piece in pieces.keys() {
            match log.read(device, *piece)? {
                Piece::Whole { entries, .. } => {
                    if counting(&entries, held)?.iter().any(|counts| !counts) {
                        with_dead.push(*piece);
                    }
                    for entry in entries {
                        with_dead.extend(plan.last.insert((entry.uid, entry.stamp), *piece));
                    }
                }
                Piece::Gone => {}
                Piece::NotWhole | Piece::Damaged(_) => plan.damaged.push(*piece),
            }
        }
        let n_small = pieces.values().filter(|bytes| is_small(**bytes)).count();
        let is_old = |(piece, bytes): (&u64, &u64)| {
            let is_one_of_many = n_small > SMALL_PIECES_MAX && is_small(*bytes);
            (all || is_one_of_many || with_dead.contains(piece) || plan.damaged.contains(piece))
                .then_some(*piece)
        };
        plan.old = pieces.iter().filter_map(is_old).collect();
        Ok(plan)
    }

    /// Writes what counts in the old pieces into new ones of `to`, and returns their lengths. The old ones are still there.
    ///
    /// # Errors
    /// If the carrier or the memory can't be read or written.
    pub fn write<E: From<LogError>>(
        &mut self,
        log: &mut Log,
        (from, to): (DeviceId, DeviceId),
        author: &Author,
        held: &mut Held<'_, E>,
        number: &mut dyn FnMut() -> Result<u64, E>,
    ) -> Result<BTreeMap<u64, u64>, E> {
        let mut written = BTreeMap::new();
        let mut packed = Packed::default();
        for piece in &self.old {
            let Piece::Whole { entries, .. } = log.read(from, *piece)? else { continue };
            let counts = counting(&entries, held)?;
            for (entry, _) in entries.iter().zip(counts).filter(|(_, counts)| *counts) {
                let id = (entry.uid, entry.stamp);
                if self.last.get(&id) != Some(piece) {
                    continue;
                }
                self.last.remove(&id);
                if let Some(full) = packed.add(entry)? {
                    let number = number()?;
                    written.insert(number, log.write(to, number, author, full)?);
                }
            }
        }
        if !packed.is_empty() {
            let number = number()?;
            written.insert(number, log.write(to, number, author, packed)?);
        }
        Ok(written)
    }
}

/// Of each entry whether its state is what the memory holds. One of a unit that it does not know may count.
fn counting<E>(entries: &[Entry], held: &mut Held<'_, E>) -> Result<Vec<bool>, E> {
    let uids: Vec<Uid> = entries.iter().map(|entry| entry.uid).collect();
    let held = held(&uids)?;
    let counts = |entry: &Entry| held.get(&entry.uid).is_none_or(|stamp| *stamp == entry.stamp);
    Ok(entries.iter().map(counts).collect())
}
