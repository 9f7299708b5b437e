//! Before the first job: checks which embedder the stored vectors are of, and closes sessions left open.

use jiff::SignedDuration;

use crate::interfaces::Cancel;
use crate::memory::SessionId;
use crate::store::{JobKind, Level};
use crate::worker::step_context::{StepContext, StepError};

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
            self.reembed(None, cancel)?;
        }
        // An explicit build retries failed jobs. Beside a chat, a failure stays visible until the
        // person asks for a retry.
        if !self.config.live && !self.store.read(|r| r.failed_jobs())?.is_empty() {
            self.commit(|tx| tx.retry_failed())?;
        }
        let current = self.config.current_session;
        let open = self.store.read(|r| {
            let mut open = Vec::new();
            for session in r.sessions()? {
                if Some(session.id) != current && !r.open_messages(session.id)?.is_empty() {
                    open.push(session.id);
                }
            }
            Ok(open)
        })?;
        self.close_all(open)
    }

    /// Closes the newest session if it has been silent for at least `after`.
    pub(in crate::worker) fn close_when_silent(
        &mut self,
        after: SignedDuration,
    ) -> Result<(), StepError> {
        let now = self.clock.now().timestamp;
        let silent = self.store.read(|r| {
            let sessions = r.sessions()?;
            let Some(newest) = sessions.iter().max_by_key(|s| s.updated_at.timestamp) else {
                return Ok(Vec::new());
            };
            let is_silent = now.duration_since(newest.updated_at.timestamp) >= after;
            let open = is_silent && !r.open_messages(newest.id)?.is_empty();
            Ok(if open { vec![newest.id] } else { Vec::new() })
        })?;
        self.close_all(silent)
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
