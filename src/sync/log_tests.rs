//! The log on a folder: what is written is read, what counts no longer goes, and a death at any step loses nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::super::{Folder, Plan, Stamp, State};
use super::*;

const DEVICE: DeviceId = DeviceId([1; 8]);
const OTHER: DeviceId = DeviceId([2; 8]);

/// A folder that fails after some steps that change it.
struct Failing(Folder, Arc<AtomicUsize>);

impl Failing {
    fn step(&self) -> Result<(), CarrierError> {
        let left = self.1.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1));
        left.map(drop).map_err(|_| CarrierError::new("killed"))
    }
}

impl Carrier for Failing {
    fn header(&mut self) -> Result<Option<Vec<u8>>, CarrierError> {
        self.0.header()
    }
    fn begin(&mut self, header: &[u8]) -> Result<(), CarrierError> {
        self.0.begin(header)
    }
    fn devices(&mut self) -> Result<Vec<DeviceId>, CarrierError> {
        self.0.devices()
    }
    fn pieces(&mut self, device: DeviceId) -> Result<Vec<u64>, CarrierError> {
        self.0.pieces(device)
    }
    fn read(&mut self, device: DeviceId, piece: u64) -> Result<Option<Vec<u8>>, CarrierError> {
        self.0.read(device, piece)
    }
    fn write(&mut self, device: DeviceId, piece: u64, bytes: &[u8]) -> Result<(), CarrierError> {
        self.step()?;
        self.0.write(device, piece, bytes)
    }
    fn remove(&mut self, device: DeviceId, piece: u64) -> Result<(), CarrierError> {
        self.step()?;
        self.0.remove(device, piece)
    }
}

struct Bed {
    _dir: tempfile::TempDir,
    steps_left: Arc<AtomicUsize>,
    log: Log,
    held: BTreeMap<Uid, Stamp>,
    next: u64,
}

fn entry(n: u64, clock: u64, text: &str) -> Entry {
    let value = Some(text.to_owned());
    Entry {
        uid: Uid { device: DEVICE, n },
        stamp: Stamp { clock, device: DEVICE },
        state: State::Setting { key: "user_name".into(), value },
    }
}

impl Bed {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let steps_left = Arc::new(AtomicUsize::new(usize::MAX));
        let folder = Folder::new(&dir.path().join("sync")).unwrap();
        let carrier = Box::new(Failing(folder, Arc::clone(&steps_left)));
        let (code, id) = (Code::random().unwrap(), SyncId::random().unwrap());
        let log = Log::begin(carrier, &code, &id).unwrap();
        Self { _dir: dir, steps_left, log, held: BTreeMap::new(), next: 1 }
    }

    /// A piece of these entries, which the memory holds from now on.
    fn publish(&mut self, device: DeviceId, entries: &[Entry]) {
        let mut packed = Packed::default();
        for entry in entries {
            assert!(packed.add(entry).unwrap().is_none());
            self.held.insert(entry.uid, entry.stamp);
        }
        self.log.write(device, self.next, &Author::default(), packed).unwrap();
        self.next += 1;
    }

    fn entries(&mut self, device: DeviceId) -> Vec<Entry> {
        let mut found = Vec::new();
        for piece in self.log.carrier.pieces(device).unwrap() {
            let Piece::Whole { entries, .. } = self.log.read(device, piece).unwrap() else {
                panic!()
            };
            found.extend(entries);
        }
        found
    }

    fn compact(&mut self, from: DeviceId, to: DeviceId) -> Result<(), LogError> {
        let Self { log, held, next, .. } = self;
        let mut held = |uids: &[Uid]| {
            Ok::<_, LogError>(
                uids.iter().filter_map(|uid| held.get(uid).map(|stamp| (*uid, *stamp))).collect(),
            )
        };
        let pieces = log.carrier.pieces(from)?.into_iter().map(|n| (n, 0)).collect();
        let mut plan = Plan::new(log, from, &pieces, from != to, &mut held)?;
        let mut number = || {
            *next += 1;
            Ok(*next)
        };
        plan.write(log, (from, to), &Author::default(), &mut held, &mut number)?;
        for piece in plan.old {
            log.carrier.remove(from, piece)?;
        }
        Ok(())
    }
}

#[test]
fn a_piece_is_read_as_it_was_written_and_a_wrong_code_is_found_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| Box::new(Folder::new(&dir.path().join(name)).unwrap());
    let code = Code::random().unwrap();
    assert!(matches!(Log::join(at("a"), &code).unwrap(), Found::None(_)));
    let id = SyncId::random().unwrap();
    let mut log = Log::begin(at("a"), &code, &id).unwrap();
    let author = Author { name: "laptop".into(), at: 1_700_000_000_000 };
    let entries = [entry(1, 1, "Ana"), entry(2, 2, "two\nlines\u{2028}")];
    let mut packed = Packed::default();
    assert!(entries.iter().all(|entry| packed.add(entry).unwrap().is_none()));
    log.write(DEVICE, 1, &author, packed).unwrap();

    let Found::Sync(mut joined, same) = Log::join(at("a"), &code).unwrap() else { panic!() };
    assert_eq!(same, id);
    let Piece::Whole { author: by, entries: found, .. } = joined.read(DEVICE, 1).unwrap() else {
        panic!()
    };
    assert_eq!((by, found), (author, entries.to_vec()));
    assert_eq!(joined.read(DEVICE, 2).unwrap(), Piece::Gone);
    // The file of one piece under the name of another.
    let device = dir.path().join("a").join(DEVICE.to_string());
    std::fs::copy(device.join("000000000001.piece"), device.join("000000000002.piece")).unwrap();
    assert!(matches!(joined.read(DEVICE, 2).unwrap(), Piece::Damaged(_)));
    std::fs::write(device.join("000000000003.piece"), "inglsy").unwrap();
    assert_eq!(joined.read(DEVICE, 3).unwrap(), Piece::NotWhole);

    let join = |name, code: &Code| Log::join(at(name), code).map(|_| ());
    let wrong = join("a", &Code::random().unwrap());
    assert!(matches!(wrong, Err(LogError::WrongCode)), "{wrong:?}");
    drop(Log::begin(at("b"), &code, &SyncId::random().unwrap()).unwrap());
    for (header, expected) in
        [("{}", "not made"), ("hello", "not made"), (r#"{"inglenook_sync":2}"#, "newer")]
    {
        std::fs::write(dir.path().join("b/inglenook-sync.json"), header).unwrap();
        let refused = join("b", &code).unwrap_err().to_string();
        assert!(refused.contains(expected), "{refused}");
    }
}

#[test]
fn many_entries_become_pieces_of_a_fair_length() {
    let (mut packed, mut pieces) = (Packed::default(), Vec::new());
    let long = "x".repeat(PIECE_BYTES + 1);
    let n_lines = |piece: &Packed| piece.lines.split(|byte| *byte == b'\n').count() - 1;
    for n in 1..=2_000 {
        let text = if n == 1_000 { long.clone() } else { "x".repeat(400) };
        pieces.extend(packed.add(&entry(n, n, &text)).unwrap());
    }
    pieces.push(packed);
    assert!(pieces.len() < 10, "{}", pieces.len());
    assert_eq!(pieces.iter().map(n_lines).sum::<usize>(), 2_000);
    assert!(pieces.iter().all(|p| p.lines.len() <= PIECE_BYTES || n_lines(p) == 1));
}

#[test]
fn what_counts_no_longer_leaves_and_small_pieces_become_one() {
    let mut bed = Bed::new();
    for n in 1..=20 {
        bed.publish(DEVICE, &[entry(n, n, "said")]);
    }
    bed.publish(DEVICE, &[entry(7, 100, "blotted")]);
    bed.compact(DEVICE, DEVICE).unwrap();
    assert_eq!(bed.log.carrier.pieces(DEVICE).unwrap().len(), 1);
    let found = bed.entries(DEVICE);
    assert_eq!(found.len(), 20);
    assert!(found.contains(&entry(7, 100, "blotted")) && !found.contains(&entry(7, 7, "said")));
    // Nothing to do: nothing is written.
    bed.steps_left.store(0, Ordering::SeqCst);
    bed.compact(DEVICE, DEVICE).unwrap();
}

/// Everything is on the carrier at each step, and at the end nothing else is.
#[test]
fn a_death_at_any_step_loses_nothing_and_leaves_nothing() {
    for (from, to) in [(DEVICE, DEVICE), (OTHER, DEVICE)] {
        let mut is_through = false;
        for n_steps in 0.. {
            let mut bed = Bed::new();
            for n in 0..4 {
                let entries: Vec<_> = (1..=5).map(|i| entry(10 * n + i, n, "said")).collect();
                bed.publish(from, &entries);
            }
            bed.held.insert(entry(2, 9, "").uid, entry(2, 9, "").stamp);
            bed.held.insert(entry(31, 9, "").uid, entry(31, 9, "").stamp);
            bed.steps_left.store(n_steps, Ordering::SeqCst);
            is_through |= bed.compact(from, to).is_ok();
            let found = bed.log.carrier.devices().unwrap();
            let found: Vec<_> = found.into_iter().flat_map(|d| bed.entries(d)).collect();
            let counting = found.iter().filter(|e| bed.held[&e.uid] == e.stamp).map(|e| e.uid);
            let n_counting = counting.collect::<BTreeSet<_>>().len();
            assert_eq!(n_counting, 18, "after {n_steps} steps");
            bed.steps_left.store(usize::MAX, Ordering::SeqCst);
            bed.compact(from, to).unwrap();
            bed.compact(to, to).unwrap();
            let found = bed.entries(to);
            assert_eq!(found.len(), 18, "after {n_steps} steps");
            assert!(from == to || bed.log.carrier.pieces(from).unwrap().is_empty());
            if is_through {
                assert!(n_steps >= 3);
                break;
            }
        }
    }
}
