//! The one place where a call opens the memory and finds the models that it needs.
//!
//! Between two calls nothing is held open: no lock, no snapshot, no page of what was forgotten meanwhile. A chat beside it
//! works as ever.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::super::App;
use super::super::report::Failure;
use crate::interfaces::{Cancel, Embedder, Reranker, SystemClock};
use crate::store::{Store, StoreError};
use crate::worker::{self, WorkerConfig};

/// How long the memory is held at a time to build it: somebody may want to open a chat.
const PATIENCE: Duration = Duration::from_secs(3);

/// What recall reads with; neither is a language model.
#[derive(Clone)]
pub struct Readers {
    pub embedder: Arc<dyn Embedder>,
    pub reranker: Option<Arc<dyn Reranker>>,
}

/// The memory and its models, for one server.
pub struct Home<'a> {
    pub app: &'a App,
    /// With the embedder that the memory had when they were loaded.
    readers: Mutex<Option<(Option<String>, Readers)>>,
}

impl<'a> Home<'a> {
    /// With models that are loaded already, or such as are loaded when they are needed.
    pub fn new(app: &'a App, readers: Option<Readers>) -> Self {
        let held = readers.map(|readers| (None, readers));
        Self { app, readers: Mutex::new(held) }
    }

    /// For one call that reads.
    ///
    /// # Errors
    /// If the memory can't be read.
    pub fn to_read(&self) -> Result<Store, Failure> {
        self.app.open_read_only()
    }

    /// For one call that writes.
    ///
    /// # Errors
    /// If the memory can't be written, or another process writes to it.
    pub fn to_write(&self) -> Result<Store, Failure> {
        self.app.open()
    }

    /// Builds the memory of what was noted, as `ask` does before a question; whether something is left to do. Where another
    /// process holds it, or the model in use is a large one, the next chat builds it.
    ///
    /// # Errors
    /// If the memory can't be written, or a model can't be loaded.
    pub fn build(&self, cancel: &Cancel) -> Result<bool, Failure> {
        let is_large = self.app.registry()?.files_in_use()?.is_some();
        if is_large || n_pending(&self.to_read()?)? == 0 {
            return Ok(false);
        }
        let models = self.app.models()?;
        let store = match self.to_write() {
            Err(Failure::Store(StoreError::Locked { .. })) => return Ok(false),
            opened => opened?,
        };
        let before = n_pending(&store)?;
        let config = WorkerConfig { live: true, ..self.app.worker_config() };
        worker::catch_up(&store, &models, Arc::new(SystemClock), config, PATIENCE, cancel)?;
        let left = n_pending(&store)?;
        Ok(cancel.is_cancelled() && left > 0 || (1..before).contains(&left))
    }

    /// What recall reads with: loaded once, and again when the memory was embedded anew.
    ///
    /// # Errors
    /// If a model can't be loaded.
    pub fn readers(&self, store: &Store) -> Result<Readers, Failure> {
        let made_by = store.read(|r| r.embedder_id())?;
        let mut held = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        let reranker = match held.take() {
            Some((before, readers))
                if before == made_by || made_by.as_deref() == Some(readers.embedder.id()) =>
            {
                *held = Some((made_by, readers.clone()));
                return Ok(readers);
            }
            Some((_, readers)) => readers.reranker,
            None => self.app.reranker()?,
        };
        let readers = Readers { embedder: self.app.embedder()?, reranker };
        *held = Some((made_by, readers.clone()));
        Ok(readers)
    }
}

fn n_pending(store: &Store) -> Result<usize, Failure> {
    Ok(store.read(|r| r.pending_jobs())?.len())
}
