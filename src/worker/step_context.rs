//! What steps work with: store, models, clock, cache, and the one way to commit.
//!
//! The steps in `steps/` are methods of [`StepContext`].

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use thiserror::Error;

use super::WorkerConfig;
use super::cache::Cache;
use super::check::{self, Check};
use super::writer::Writers;
use crate::interfaces::{Cancel, Clock, Embedder, ModelError, ModelInfo, Models};
use crate::memory::Embedding;
use crate::model_policy::{Grade, Plan};
use crate::store::{Job, JobKind, Store, StoreError, Work, WriteTx};

/// Texts embedded in one call.
const BATCH: usize = 32;

/// Turns "not found" into `None`.
pub(super) fn found<T>(read: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
    match read {
        Ok(value) => Ok(Some(value)),
        Err(StoreError::NotFound { .. }) => Ok(None),
        Err(other) => Err(other),
    }
}

/// The setting that holds a check that is under way.
fn check_key(info: &ModelInfo) -> String {
    format!("check:{}", info.fingerprint)
}

/// Refuses vectors of another embedder than the memory's, `found`.
pub(super) fn check_embedder(
    found: Option<String>,
    embedder: &dyn Embedder,
) -> Result<(), StoreError> {
    match found.filter(|found| found != embedder.id()) {
        Some(found) => {
            Err(StoreError::EmbedderChanged { found, expected: embedder.id().to_owned() })
        }
        None => Ok(()),
    }
}

/// Why a step did not complete.
#[derive(Debug, Error)]
pub(super) enum StepError {
    #[error("interrupted")]
    Interrupted,
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Model(ModelError),
    /// A test's simulated crash.
    #[error("crashed on purpose")]
    Crashed,
}

impl From<ModelError> for StepError {
    fn from(error: ModelError) -> Self {
        match error {
            ModelError::Cancelled => Self::Interrupted,
            other => Self::Model(other),
        }
    }
}

/// What steps work with; they are its methods.
pub(super) struct StepContext {
    pub store: Store,
    pub models: Models,
    pub clock: Arc<dyn Clock>,
    pub config: WorkerConfig,
    pub(super) cache: Option<Cache>,
    /// The right to do jobs, while this process has it.
    work: Option<Work>,
    /// Other processes had the memory open when this one began to work: a chat may be going on there.
    pub is_beside_others: bool,
    /// Commits before a test's simulated crash.
    pub commits_left: Option<usize>,
}

impl StepContext {
    pub fn new(store: Store, models: Models, clock: Arc<dyn Clock>, config: WorkerConfig) -> Self {
        Self {
            store,
            models,
            clock,
            config,
            cache: None,
            work: None,
            is_beside_others: false,
            commits_left: None,
        }
    }

    /// Whether this process may do jobs; no other does until [`StepContext::rest`].
    pub fn may_work(&mut self) -> Result<bool, StepError> {
        if self.work.is_none() {
            self.work = self.store.work()?;
        }
        Ok(self.work.is_some())
    }

    /// Leaves the jobs to other processes.
    pub fn rest(&mut self) {
        self.work = None;
    }

    /// Waits until this process may do jobs, and calls `meanwhile` now and then.
    pub fn wait_for_work(
        &mut self,
        mut meanwhile: impl FnMut() -> Result<(), StepError>,
    ) -> Result<(), StepError> {
        const PAUSE: Duration = Duration::from_millis(50);
        while !self.may_work()? {
            meanwhile()?;
            thread::sleep(PAUSE);
        }
        Ok(())
    }

    /// # Errors
    /// If another process has put another embedder to use since this one's models were loaded.
    pub fn check_embedder(&self) -> Result<(), StepError> {
        check_embedder(self.store.read(|r| r.embedder_id())?, &*self.models.embedder)?;
        Ok(())
    }

    /// Runs a job's step. The job is completed in the step's last transaction.
    pub fn run(&mut self, job: &Job, cancel: &Cancel) -> Result<(), StepError> {
        let outcome = match job.kind {
            JobKind::Boundary(session) => self.segment(job, session, false, cancel),
            JobKind::Close(session) => self.segment(job, session, true, cancel),
            JobKind::Semantics(episode) => self.semantics(job, episode, cancel),
            JobKind::NameTheme(theme) => self.name_theme(job, theme, cancel),
            JobKind::Consolidate(semantic) => self.consolidate(job, semantic, cancel),
            JobKind::Reembed => self.reembed(job, cancel),
        };
        if outcome.is_err() {
            // A step may have changed the cache before its transaction failed.
            self.cache = None;
        }
        outcome
    }

    /// The one way in which steps write.
    pub fn commit<T>(
        &mut self,
        f: impl FnOnce(&mut WriteTx<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StepError> {
        if let Some(left) = &mut self.commits_left {
            if *left == 0 {
                return Err(StepError::Crashed);
            }
            *left -= 1;
        }
        Ok(self.store.write(f)?)
    }

    /// A commit that changes the hierarchy, with a cache that agrees with the store.
    pub fn commit_with_cache<T>(
        &mut self,
        f: impl FnOnce(&mut WriteTx<'_>, &mut Cache) -> Result<T, StoreError>,
    ) -> Result<T, StepError> {
        let cached = self.cache.take();
        let (out, cache) = self.commit(|tx| {
            let mut cache = match cached {
                Some(cache) if cache.agrees(tx)? => cache,
                _ => Cache::load(tx)?,
            };
            // As [`Cache::load`] would build it, so that the result depends on the store alone.
            cache.hierarchy.partition.settle_order();
            let out = f(tx, &mut cache)?;
            cache.version = tx.hierarchy_version()?;
            Ok((out, cache))
        })?;
        self.cache = Some(cache);
        Ok(out)
    }

    /// A cache that agrees with the store, for reading.
    pub fn cache(&mut self) -> Result<&Cache, StepError> {
        let cache = match self.cache.take() {
            Some(cache) if self.store.read(|r| cache.agrees(r))? => cache,
            _ => self.store.read(Cache::load)?,
        };
        Ok(self.cache.insert(cache))
    }

    /// Completes a job that has nothing left to do, such as one whose unit was forgotten.
    pub fn finish(&mut self, job: &Job) -> Result<(), StepError> {
        self.commit(|tx| tx.finish_job(job.id))
    }

    fn grade(&self) -> Result<Option<Grade>, StepError> {
        let key = self.models.language.info().grade_key();
        Ok(Grade::from_setting(self.store.read(|r| r.setting(&key))?.as_deref()))
    }

    /// What the model writes, by the configuration and its grade.
    pub fn plan(&self) -> Result<Plan, StepError> {
        let info = self.models.language.info();
        Ok(Plan::of(self.config.writer, info, self.grade()?.as_ref()))
    }

    /// The writers of [`StepContext::plan`].
    pub fn writers(&self) -> Result<Writers, StepError> {
        Ok(Writers::new(Arc::clone(&self.models.language), self.plan()?))
    }

    /// The same, for titles and names: some are the built-in model's, which is loaded then.
    pub fn namers(&self) -> Result<Writers, StepError> {
        let writers = self.writers()?;
        let Some(memory) = &self.models.memory else { return Ok(writers) };
        let built_in = Plan::of_built_in(self.config.writer, self.grade()?.as_ref());
        Ok(if built_in == Plan::default() {
            writers
        } else {
            writers.and(memory.loaded()?, built_in)
        })
    }

    /// What is left of `model check`; `None` for the starter, or where there is a grade already.
    pub fn check_to_go_on_with(&self) -> Result<Option<Check>, StepError> {
        let info = self.models.language.info();
        let (grade, so_far) = self
            .store
            .read(|r| Ok((r.setting(&info.grade_key())?, r.setting(&check_key(info))?)))?;
        let needed = !info.starter && Grade::from_setting(grade.as_deref()).is_none();
        Ok(needed.then(|| Check::from_setting(so_far.as_deref())))
    }

    /// Keeps a check that is under way.
    pub fn keep_check(&mut self, check: &Check) -> Result<(), StepError> {
        let key = check_key(self.models.language.info());
        self.commit(|tx| tx.set_setting(&key, &check.to_setting()))
    }

    /// Keeps the grade; the check is over.
    pub fn keep_grade(&mut self, grade: &Grade) -> Result<(), StepError> {
        check::keep_grade(&self.store, &*self.models.language, grade)?;
        let key = check_key(self.models.language.info());
        self.commit(|tx| tx.set_setting(&key, ""))
    }

    /// Embeds texts in batches; can be cancelled between them.
    pub fn embed(&self, texts: &[&str], cancel: &Cancel) -> Result<Vec<Embedding>, StepError> {
        let mut vectors = Vec::with_capacity(texts.len());
        for batch in texts.chunks(BATCH) {
            cancel.check()?;
            vectors
                .extend(self.models.embedder.embed(batch)?.into_iter().map(Embedding::as_stored));
        }
        Ok(vectors)
    }
}
