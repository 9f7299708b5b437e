//! Devices with a memory each, and what a person does on them at random. Every message and every correction has words of its own;
//! whatever is derived from it repeats them, so after forgetting they must be nowhere.
#![allow(dead_code, reason = "not every program needs all of it")]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use inglenook::interfaces::{Clock as _, Embedder, ModelError, Models};
use inglenook::memory::{Embedding, Message, Moment, NewMessage, Role, SessionId, title_of};
use inglenook::store::{AnyId, Applied, ForgetPlan, JobKind, Level, Store, StoreError, USER_NAME};
use inglenook::sync::{Code, DeviceId, Entry, Place, State, SyncId, SyncState};
use inglenook::testing::HashEmbedder;
use inglenook::worker::exchange::{Exchanged, exchange};
use jiff::SignedDuration;
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;

use crate::support::{Bed, models};

/// What it makes of a text depends a little on the texts that it gets with it, as with a real model.
struct InBatches;

impl Embedder for InBatches {
    fn id(&self) -> &str {
        HashEmbedder.id()
    }

    fn dimensions(&self) -> usize {
        HashEmbedder.dimensions()
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Embedding>, ModelError> {
        let n_bytes: usize = texts.iter().map(|text| text.len()).sum();
        let mut vectors = HashEmbedder.embed(texts)?;
        for vector in &mut vectors {
            let mut values = vector.as_slice().to_vec();
            values[0] += 1e-5 * n_bytes as f32;
            *vector = Embedding::normalise(values).unwrap();
        }
        Ok(vectors)
    }
}

/// Its bits.
fn digest(vector: Option<&Embedding>) -> u64 {
    let bits = vector.into_iter().flat_map(|vector| vector.as_slice()).map(|x| x.to_bits());
    bits.fold(0, |hash, bits| hash.wrapping_mul(0x0100_0000_01b3) ^ u64::from(bits))
}

/// What was said and forgotten anywhere.
#[derive(Default)]
pub struct World {
    /// The words of each message, and the chat in which they were said.
    pub said: Vec<(String, String)>,
    /// Said once more in another message, which may outlive the first.
    again: BTreeSet<String>,
    forgotten: BTreeSet<String>,
    /// Chats that were deleted: what another device said there meanwhile goes with them.
    pub deleted: BTreeSet<String>,
    n_words: usize,
}

impl World {
    /// Some without digits: the rules take the two for different things.
    fn word(&mut self, kind: char) -> String {
        self.n_words += 1;
        let n = self.n_words.to_string();
        let letters = || n.bytes().map(|digit| char::from(digit - b'0' + b'a')).collect();
        format!("Z{kind}{}x", if self.n_words % 5 < 3 { n } else { letters() })
    }

    /// What must be nowhere.
    pub fn forgotten(&self) -> impl Iterator<Item = &String> {
        self.forgotten.difference(&self.again)
    }

    pub fn may_be_gone(&self, word: &str, chat: &str) -> bool {
        self.forgotten.contains(word) || self.deleted.contains(chat)
    }
}

pub struct Device {
    pub bed: Bed,
    id: DeviceId,
    /// What it has told, piece by piece.
    pub log: Vec<Vec<Entry>>,
    dir: Option<tempfile::TempDir>,
}

/// Words of that kind: `q` of messages, `c` of corrections.
fn words(text: &str, kind: char) -> BTreeSet<String> {
    let is_ours = |word: &&str| {
        let n = word.strip_prefix(&format!("Z{kind}")).and_then(|w| w.strip_suffix('x'));
        n.is_some_and(|n| {
            !n.is_empty() && n.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'j'))
        })
    };
    text.split(|c: char| !c.is_alphanumeric()).filter(is_ours).map(str::to_owned).collect()
}

/// All of a text.
fn own_words(text: &str) -> BTreeSet<String> {
    &words(text, 'q') | &words(text, 'c')
}

impl Device {
    /// Its clock is a day off the one before.
    pub fn new(n: u8, on_disk: bool) -> Self {
        let dir = on_disk.then(|| tempfile::tempdir().unwrap());
        let store = match &dir {
            Some(dir) => Store::open(dir.path()).unwrap(),
            None => Store::in_memory().unwrap(),
        };
        let id = DeviceId([n + 1; 8]);
        store.write(|tx| tx.begin_sync(id)).unwrap();
        let models = Models { embedder: Arc::new(InBatches), ..models() };
        let bed = Bed::new(store, models);
        bed.clock.advance(SignedDuration::from_hours(24 * i64::from(n)));
        Self { bed, id, log: Vec::new(), dir }
    }

    pub fn now(&self) -> Moment {
        self.bed.clock.now()
    }

    pub fn hear(&mut self, entries: &[Entry]) -> Applied {
        let applied = self.bed.store.write(|tx| tx.apply(entries)).unwrap();
        assert!(!applied.is_copy);
        self.scrub();
        applied
    }

    /// False if there is nothing to tell.
    pub fn tell(&mut self) -> bool {
        let entries = self.bed.store.write(|tx| tx.changes()).unwrap();
        assert!(entries.iter().all(|entry| entry.stamp.device == self.id));
        self.bed.store.write(|tx| tx.published(&entries)).unwrap();
        assert!(self.bed.store.write(|tx| tx.changes()).unwrap().is_empty());
        let is_any = !entries.is_empty();
        self.log.extend(is_any.then_some(entries));
        is_any
    }

    /// By exchanges through this place, from now on.
    pub fn share(&self, place: Place, code: Code, id: SyncId) {
        let state = SyncState::new(place, code, id, self.id.to_string());
        let state = serde_json::to_string(&state).unwrap();
        self.bed.store.write(|tx| tx.set_sync_state(&state)).unwrap();
    }

    pub fn exchange(&self) -> Exchanged {
        let done = exchange(&self.bed.store, self.now(), Duration::ZERO).unwrap();
        assert!(done.damaged.is_empty() && done.refused.is_empty(), "{done:?}");
        done
    }

    /// What it told and still counts.
    pub fn compacted(&self) -> Vec<Entry> {
        let counts = |entry: &&Entry| {
            let held = self.bed.store.read(|r| r.held(entry.uid)).unwrap();
            held.is_some_and(|held| held.stamp == entry.stamp)
        };
        self.log.iter().flatten().filter(counts).cloned().collect()
    }

    /// What its memory is when it is made anew from what it holds.
    pub fn rebuilt(&self) -> String {
        self.bed.store.write(|tx| tx.derive_anew()).unwrap();
        assert!(self.bed.store.read(|r| r.verify()).unwrap().is_empty());
        self.bed.work();
        let (mut dump, facts) = self.bed.store.read(|r| Ok((r.dump()?, r.semantics()?))).unwrap();
        for fact in facts {
            let vector = self.bed.store.read(|r| r.embedding(Level::Semantic, fact.id.0)).unwrap();
            writeln!(dump, "vector {:x} {}", digest(vector.as_ref()), fact.content).unwrap();
        }
        dump
    }

    fn scrub(&self) {
        if self.bed.store.read(|r| r.scrub_is_due()).unwrap() {
            self.bed.store.scrub().unwrap();
        }
    }

    fn sessions(&self) -> Vec<SessionId> {
        let mut sessions: Vec<_> =
            self.bed.store.read(|r| r.sessions()).unwrap().iter().map(|s| s.id).collect();
        sessions.sort_unstable();
        sessions
    }

    fn messages(&self, role: Role) -> Vec<Message> {
        let store = &self.bed.store;
        let of = |id| store.read(|r| r.messages(id)).unwrap();
        self.sessions().into_iter().flat_map(of).filter(|m| m.role == role).collect()
    }

    /// Something that a person, or the program, does.
    pub fn act(&mut self, world: &mut World, rng: &mut StdRng) {
        self.bed.clock.advance(SignedDuration::from_mins(rng.random_range(0..40)));
        match rng.random_range(0..24) {
            0..8 => self.talk(world, rng),
            8..11 => {
                self.bed.work();
            }
            11 => self.forget_message(world, rng),
            12 => self.forget_chat(world, rng),
            13 => self.forget_words(world, rng),
            14 => self.forget_fact(world, rng, false),
            15 => self.forget_fact(world, rng, true),
            16 | 17 => self.correct(world, rng),
            18 => drop(self.bed.store.write(|tx| tx.undo_own()).unwrap()),
            19 => self.fork(rng),
            20 => self.name_chat(world, rng),
            21 => self.choose(rng),
            22 => {
                let name = ["Ana", "Anna", "Anne"].choose(rng).unwrap();
                self.bed.store.write(|tx| tx.set_setting(USER_NAME, name)).unwrap();
            }
            _ => self.restart(),
        }
    }

    fn restart(&mut self) {
        let Some(dir) = &self.dir else { return };
        self.bed.store = Store::in_memory().unwrap();
        self.bed.store = Store::open(dir.path()).unwrap();
    }

    fn say(&self, session: SessionId, role: Role, text: &str) {
        let new = NewMessage::new(role, text, self.now());
        self.bed
            .store
            .write(|tx| {
                tx.append_message(session, &new)?;
                tx.enqueue(&JobKind::Boundary(session))
            })
            .unwrap();
        self.bed.clock.advance(SignedDuration::from_mins(1));
    }

    fn talk(&self, world: &mut World, rng: &mut StdRng) {
        let at = self.now();
        let known = self.sessions();
        let open = rng.random_bool(0.6).then(|| known.choose(rng)).flatten();
        let mut session =
            open.map(|id| self.bed.store.write(|tx| tx.own_session(*id, at)).unwrap());
        for _ in 0..rng.random_range(1..4) {
            let (a, b) = (world.word('q'), world.word('q'));
            let text = match rng.random_range(0..9) {
                0 => format!("I live in {a} near {b}."),
                1 => format!("My sister {a} works as a nurse in {b}."),
                2 => format!("I adopted a cat called {a} and a dog called {b} yesterday."),
                3 => format!("Actually, my dog is called {a}, not {b}."),
                4 => format!("I have two cats, {a} and {b}."),
                5 => format!("I am {} and work as a nurse in {a}.", rng.random_range(20..60)),
                6 => format!("I don't live in {a} any more, I moved to {b}."),
                7 if !world.said.is_empty() => {
                    let (old, _) = world.said.choose(rng).unwrap();
                    world.again.insert(old.clone());
                    format!("{old} died last week.")
                }
                _ => format!("What do you think of {a}?"),
            };
            let session = *session.get_or_insert_with(|| {
                self.bed.store.write(|tx| tx.create_session(&title_of(&text), at, false)).unwrap()
            });
            let said = words(&text, 'q');
            world.said.extend(said.iter().map(|word| (word.clone(), self.label(session))));
            self.say(session, Role::User, &text);
            if rng.random_bool(0.7) {
                let said = said.into_iter().collect::<Vec<_>>().join(", ");
                self.say(session, Role::Assistant, &format!("I see: {said}."));
            }
        }
    }

    /// Of a chat, on every device.
    fn label(&self, session: SessionId) -> String {
        let at = self.bed.store.read(|r| r.session(session)).unwrap().created_at;
        format!("{at:?}")
    }

    fn forget(&self, world: &mut World, plan: &ForgetPlan) {
        let store = &self.bed.store;
        let (messages, facts) = store
            .read(|r| Ok((r.messages_by_id(&plan.messages)?, r.semantics_by_id(&plan.semantics)?)))
            .unwrap();
        for message in messages.iter().filter(|m| m.role == Role::User) {
            world.forgotten.extend(words(&message.content, 'q'));
        }
        let corrected = self.corrections();
        for fact in facts.iter().filter(|fact| corrected.contains(&fact.content)) {
            world.forgotten.extend(words(&fact.content, 'c'));
        }
        store.write(|tx| tx.forget(plan)).unwrap();
        self.scrub();
    }

    fn forget_message(&self, world: &mut World, rng: &mut StdRng) {
        if let Some(message) = self.messages(Role::User).choose(rng) {
            let ids = [AnyId::Message(message.id)];
            let plan = self.bed.store.read(|r| r.plan_forget(&ids, None)).unwrap();
            self.forget(world, &plan);
        }
    }

    fn forget_chat(&self, world: &mut World, rng: &mut StdRng) {
        if let Some(session) = self.sessions().choose(rng) {
            world.deleted.insert(self.label(*session));
            let ids = [AnyId::Session(*session)];
            let plan = self.bed.store.read(|r| r.plan_forget(&ids, None)).unwrap();
            self.forget(world, &plan);
        }
    }

    fn forget_words(&self, world: &mut World, rng: &mut StdRng) {
        let texts = self.texts_with_words();
        let Some(text) = texts.choose(rng) else { return };
        if let Some(word) = own_words(text).pop_first() {
            self.redact(world, &word);
        }
    }

    fn redact(&self, world: &mut World, word: &str) {
        let plan = self.bed.store.read(|r| r.plan_blot(word)).unwrap();
        self.forget(world, &plan);
        world.forgotten.insert(word.to_owned());
    }

    /// What the person said, and what they corrected.
    fn texts_with_words(&self) -> Vec<String> {
        let said = self.messages(Role::User).into_iter().map(|m| m.content);
        said.chain(self.corrections()).collect()
    }

    fn corrections(&self) -> Vec<String> {
        self.bed.store.write(|tx| tx.changes()).unwrap();
        let log = self.bed.store.read(|r| r.shared_log()).unwrap().into_iter();
        let corrected = log.filter_map(|entry| match entry.state {
            State::Correction(correction) => Some(correction.content),
            _ => None,
        });
        corrected.collect()
    }

    /// Two devices redact another word each of one text, before they hear of each other.
    pub fn redact_both(&self, other: &Self, world: &mut World, rng: &mut StdRng) {
        let theirs = other.texts_with_words();
        let mut texts = self.texts_with_words();
        texts.retain(|text| own_words(text).len() == 2 && theirs.contains(text));
        let Some(text) = texts.choose(rng) else { return };
        for (device, word) in [self, other].into_iter().zip(own_words(text)) {
            device.redact(world, &word);
        }
    }

    fn forget_fact(&self, world: &mut World, rng: &mut StdRng, alone: bool) {
        let facts = self.bed.semantics();
        let Some(fact) = facts.choose(rng) else { return };
        let ids = [AnyId::Semantic(fact.id)];
        let store = &self.bed.store;
        let plan =
            store.read(|r| if alone { r.plan_strike(&ids) } else { r.plan_forget(&ids, None) });
        let plan = plan.unwrap();
        self.forget(world, &plan);
    }

    fn correct(&self, world: &mut World, rng: &mut StdRng) {
        let facts = self.bed.semantics();
        let Some(fact) = facts.choose(rng) else { return };
        let (a, b) = (world.word('c'), world.word('c'));
        let text = match rng.random_range(0..4) {
            0 => format!("The user likes {a} and {b}"),
            1 => format!("The user lives in {a} near {b}"),
            2 => format!("The user has two cats, {a} and {b}"),
            _ => format!("The user is {} and lives in {a}", rng.random_range(20..60)),
        };
        let vector = HashEmbedder.embed(&[&text]).unwrap().remove(0);
        self.bed.store.write(|tx| tx.edit_semantic(fact.id, &text, &vector)).unwrap();
    }

    /// A message of a chat is written anew.
    fn fork(&self, rng: &mut StdRng) {
        if let Some(message) = self.messages(Role::User).choose(rng) {
            let at = self.now();
            let title = self.bed.store.read(|r| r.session(message.session)).unwrap().title;
            let fork =
                self.bed.store.write(|tx| tx.fork_session(message.session, message.id, &title, at));
            self.say(fork.unwrap(), Role::User, "Once more.");
        }
    }

    fn name_chat(&self, world: &World, rng: &mut StdRng) {
        let Some(session) = self.sessions().choose(rng).copied() else { return };
        let named = self.bed.store.write(|tx| match rng.random_range(0..3) {
            0 => tx.rename_session(session, &format!("Chat {}", world.said.len())),
            n => tx.pin_session(session, n == 1),
        });
        named.unwrap();
    }

    fn choose(&self, rng: &mut StdRng) {
        if let Some(reply) = self.messages(Role::Assistant).choose(rng) {
            let others = self.messages(Role::Assistant);
            let other = others.iter().find(|m| m.session == reply.session && m.id != reply.id);
            let chosen: Result<(), StoreError> =
                self.bed.store.write(|tx| tx.choose_reply(reply.id, other.map(|m| m.id)));
            chosen.unwrap();
        }
    }
}
