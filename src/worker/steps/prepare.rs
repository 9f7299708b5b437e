//! Before the first job: checks which embedder the stored vectors are of, and closes sessions left open.

use jiff::SignedDuration;

use crate::interfaces::Cancel;
use crate::memory::SessionId;
use crate::store::{JobKind, Level, Session};
use crate::worker::step_context::{StepContext, StepError};

/// What was said in another process's chat belongs to an episode that goes on, unless it is longer ago than this.
const OPEN_FOR: SignedDuration = SignedDuration::from_mins(5);

impl StepContext {
    /// Runs once per process, before the first job.
    pub(in crate::worker) fn prepare(&mut self, cancel: &Cancel) -> Result<(), StepError> {
        let embedder = std::sync::Arc::clone(&self.models.embedder);
        let known = self.store.read(|r| r.embedder_id())?;
        if known.as_deref() != Some(embedder.id()) {
            self.commit(|tx| tx.use_embedder(embedder.id(), embedder.dimensions()))?;
        }
        // New facts are attached by comparing vectors, so all facts need theirs first.
        if !self.store.read(|r| r.without_embedding(Level::Semantic, 1))?.is_empty() {
            self.embed_facts(cancel)?;
        }
        // An explicit build retries failed jobs. Beside a chat, a failure stays visible until the
        // person asks for a retry.
        if !self.config.live && !self.store.read(|r| r.failed_jobs())?.is_empty() {
            self.commit(|tx| tx.retry_failed())?;
        }
        let current = self.config.current_session;
        self.is_beside_others = !self.store.is_alone()?;
        let open = self.store.read(|r| {
            let mut open = Vec::new();
            for session in r.sessions()? {
                let is_elsewhere = self.is_beside_others && !self.is_silent(&session, OPEN_FOR);
                if Some(session.id) != current
                    && !is_elsewhere
                    && !r.open_messages(session.id)?.is_empty()
                {
                    open.push(session.id);
                }
            }
            Ok(open)
        })?;
        self.close_all(open)
    }

    /// Closes the sessions of the last day that have been silent for at least `after`.
    pub(in crate::worker) fn close_when_silent(
        &mut self,
        after: SignedDuration,
    ) -> Result<(), StepError> {
        const RECENT: SignedDuration = SignedDuration::from_hours(24);
        let silent = self.store.read(|r| {
            let sessions = r.sessions()?;
            let newest = sessions.iter().map(|s| (s.updated_at.timestamp, s.id)).max();
            let mut silent = Vec::new();
            for session in sessions {
                let is_newest = newest.is_some_and(|(_, id)| id == session.id);
                if self.is_silent(&session, after)
                    && (is_newest || !self.is_silent(&session, RECENT))
                    && !r.open_messages(session.id)?.is_empty()
                {
                    silent.push(session.id);
                }
            }
            Ok(silent)
        })?;
        self.close_all(silent)
    }

    fn is_silent(&self, session: &Session, after: SignedDuration) -> bool {
        self.clock.now().timestamp.duration_since(session.updated_at.timestamp) >= after
    }

    fn close_all(&mut self, mut sessions: Vec<SessionId>) -> Result<(), StepError> {
        if sessions.is_empty() {
            return Ok(());
        }
        sessions.sort_unstable();
        self.commit(|tx| {
            for session in sessions {
                tx.enqueue(&JobKind::Close(session))?;
            }
            Ok(())
        })
    }
}
