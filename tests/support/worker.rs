//! A memory that a test fills as a chat or an import does, and a worker that runs until it is idle.
#![allow(dead_code, reason = "each test uses a part")]

use std::sync::Arc;

use inglenook::interfaces::{Cancel, Clock, Models};
use inglenook::memory::{MessageId, Moment, NewMessage, Role, Semantic, SessionId};
use inglenook::store::{JobKind, Store};
use inglenook::testing::{ManualClock, ScriptedModel};
use inglenook::worker::{WorkerConfig, run_until_idle};
use jiff::SignedDuration;

pub struct Bed {
    pub store: Store,
    pub models: Models,
    pub clock: Arc<ManualClock>,
    pub config: WorkerConfig,
}

/// Rules as the writer and a hashing embedder.
pub fn models() -> Models {
    models_with(ScriptedModel::new(&[]))
}

pub fn models_with(language: ScriptedModel) -> Models {
    inglenook::testing::models(Arc::new(language))
}

impl Bed {
    pub fn new(store: Store, models: Models) -> Self {
        let clock = Arc::new(ManualClock::at("2026-11-16T10:00:00Z"));
        Self { store, models, clock, config: WorkerConfig::default() }
    }

    pub fn session(&self, title: &str) -> SessionId {
        let now = self.clock.now();
        self.store.write(|tx| tx.create_session(title, now, false)).unwrap()
    }

    /// Adds a message as the chat does, with its job in one transaction, and lets a minute pass.
    pub fn say(&self, session: SessionId, role: Role, text: &str) -> MessageId {
        let id = self.append(session, role, None, text, self.clock.now());
        self.clock.advance(SignedDuration::from_mins(1));
        id
    }

    pub fn append(
        &self,
        session: SessionId,
        role: Role,
        speaker: Option<&str>,
        text: &str,
        created_at: Moment,
    ) -> MessageId {
        self.store
            .write(|tx| {
                let new = NewMessage::new(role, text, created_at);
                let new = NewMessage { speaker: speaker.map(str::to_owned), ..new };
                let id = tx.append_message(session, &new)?;
                if role == Role::User {
                    tx.enqueue(&JobKind::Boundary(session))?;
                }
                Ok(id)
            })
            .unwrap()
    }

    /// Ends the session.
    pub fn close(&self, session: SessionId) {
        self.store.write(|tx| tx.enqueue(&JobKind::Close(session))).unwrap();
    }

    pub fn work(&self) -> usize {
        let clock: Arc<dyn Clock> = self.clock.clone();
        let config = self.config.clone();
        let n =
            run_until_idle(&self.store, &self.models, clock, config, |_| {}, &Cancel::default())
                .unwrap();
        let failed = self.store.read(|r| r.failed_jobs()).unwrap();
        assert!(failed.is_empty(), "{failed:?}");
        assert_eq!(self.store.read(|r| r.verify()).unwrap(), [""; 0]);
        n
    }

    /// The current facts.
    pub fn current(&self) -> Vec<String> {
        self.semantics()
            .into_iter()
            .filter(|s| s.superseded_by.is_none())
            .map(|s| s.content)
            .collect()
    }

    pub fn semantics(&self) -> Vec<Semantic> {
        self.store.read(|r| r.semantics()).unwrap()
    }
}
