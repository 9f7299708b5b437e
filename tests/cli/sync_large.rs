//! Thousands of messages on devices whose clocks are a day apart.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use inglenook::memory::{MessageId, Moment, NewMessage, Role};
use inglenook::store::{AnyId, Store};
use inglenook::sync::{Code, DeviceId, Place, SyncId, SyncState};
use inglenook::worker::exchange::{Exchanged, exchange};
use jiff::{Timestamp, tz::Offset};

const N_SESSIONS: usize = 100;
const N_MESSAGES: usize = 100;

struct Device {
    store: Store,
    now: Moment,
    _dir: tempfile::TempDir,
}

impl Device {
    fn new(n: u8, place: &Place, code: &Code, id: &SyncId) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        let mut state =
            SyncState::new(place.clone(), code.clone(), id.clone(), format!("device{n}"));
        // Only the first one writes the header.
        state.exchanged_at = (n > 0).then_some(0);
        let state = serde_json::to_string(&state).unwrap();
        let begun = |tx: &mut inglenook::store::WriteTx<'_>| {
            tx.begin_sync(DeviceId([n + 1; 8]))?;
            tx.set_sync_state(&state)
        };
        store.write(begun).unwrap();
        // A day ahead, right, a day behind.
        let day = 24 * 60 * 60 * (1 - i64::from(n));
        let now = Timestamp::from_second(1_764_000_000 + day).unwrap();
        Self { store, now: Moment::new(now, Offset::UTC), _dir: dir }
    }

    fn exchange(&self) -> Exchanged {
        exchange(&self.store, self.now, Duration::ZERO).unwrap()
    }

    fn said(&self) -> BTreeSet<String> {
        let all = self.store.read(|r| {
            let mut all = BTreeSet::new();
            for session in r.sessions()? {
                all.extend(r.messages(session.id)?.into_iter().map(|m| m.content));
            }
            Ok(all)
        });
        all.unwrap()
    }
}

fn files(place: &Path) -> BTreeSet<String> {
    let dirs = fs::read_dir(place).unwrap().map(|e| e.unwrap().path()).filter(|p| p.is_dir());
    dirs.flat_map(|dir| fs::read_dir(dir).unwrap().map(|e| e.unwrap().path().display().to_string()))
        .collect()
}

#[test]
fn thirty_thousand_messages_meet_and_a_forgotten_one_costs_one_piece() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("shared");
    let place = Place::named(folder.to_str().unwrap()).unwrap();
    let (code, id) = (Code::random().unwrap(), SyncId::random().unwrap());
    let devices: Vec<_> = (0..3).map(|n| Device::new(n, &place, &code, &id)).collect();
    for (n, device) in devices.iter().enumerate() {
        let written = device.store.write(|tx| {
            for s in 0..N_SESSIONS {
                let session = tx.create_session(&format!("Chat {s}"), device.now, false)?;
                for m in 0..N_MESSAGES {
                    let role = [Role::User, Role::Assistant][m % 2];
                    let text = format!("note{n}x{s}x{m} ").repeat(12);
                    tx.append_message(session, &NewMessage::new(role, text, device.now))?;
                }
            }
            Ok(())
        });
        written.unwrap();
    }
    for device in devices.iter().chain(&devices) {
        let done = device.exchange();
        assert_eq!((done.waiting, done.damaged.len()), (0, 0));
    }
    let all = devices[0].said();
    assert_eq!(all.len(), 3 * N_SESSIONS * N_MESSAGES);
    for device in &devices {
        assert_eq!(device.said(), all);
        assert_eq!(device.exchange(), Exchanged::default());
    }

    let before = files(&folder);
    let found = devices[2].store.write(|tx| {
        let found = tx.messages_by_id(&[MessageId(1)])?.remove(0);
        let plan = tx.plan_forget(&[AnyId::Message(found.id)], None)?;
        tx.forget(&plan)?;
        Ok(found.content)
    });
    let gone = found.unwrap();
    let left = devices[2].said();
    let n_gone = all.len() - left.len();
    assert!((1..=2).contains(&n_gone) && !left.contains(&gone), "{n_gone}");
    for device in devices.iter().chain(&devices) {
        device.exchange();
        device.store.read(|r| r.verify()).map(|found| assert_eq!(found, [""; 0])).unwrap();
    }
    for device in &devices {
        assert_eq!(device.said(), left);
    }
    let after = files(&folder);
    let changed = before.difference(&after).count();
    assert!((1..=2).contains(&changed), "{changed} of {} pieces written anew", before.len());
}
