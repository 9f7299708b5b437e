//! A person: whose memory is asked and what answers from it. What all of them share is here as well, the models first of all.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::super::App;
use super::super::config::Config;
use super::super::dirs::Directories;
use super::super::mcp::Readers;
use super::super::passphrase::Key;
use super::super::report::Failure;
use super::agents::{self, Agents};
use super::homes::Homes;
use super::plain::{Plain, Prefixes};
use super::remembering::Remembering;
use super::{names, of_failure, of_model};
use crate::interfaces::{Cancel, Models, SystemClock};
use crate::mcp::http as mcp;
use crate::memory::plain_text;
use crate::server::{ApiError, Asked, Replied, Service};
use crate::store::{Store, StoreError};
use crate::worker::{Exchanges, Told, Worker, WorkerConfig};

/// How long a memory that another process holds for itself is waited for: others wait for the place of this request.
const PATIENCE: Duration = Duration::from_secs(1);
/// For the last exchange of all that are open.
const LAST_EXCHANGE_PATIENCE: Duration = Duration::from_secs(2);

/// What all people share.
pub struct Shared {
    /// The server's own home, from which the models are.
    pub app: Arc<App>,
    models: Models,
    /// What the model was found to be good for there.
    grade: Option<String>,
    pub homes: Homes,
    prefixes: Arc<Mutex<Prefixes>>,
    newest: AtomicU64,
}

impl Shared {
    /// For many people, of whose memories so many may be open at a time, or for one.
    ///
    /// # Errors
    /// If the models can't be loaded.
    pub fn new(app: &App, n_open: Option<usize>) -> Result<Arc<Self>, Failure> {
        let models = app.models()?;
        let info = models.language.info();
        let grade = if n_open.is_some() && !info.starter {
            app.open_read_only()?.read(|r| r.setting(&info.grade_key()))?
        } else {
            None
        };
        Ok(Arc::new(Self {
            models,
            app: Arc::new(app.elsewhere(app.dirs.clone(), app.config.clone(), app.key().clone())),
            grade,
            homes: Homes::new(n_open.unwrap_or(1)),
            prefixes: Arc::default(),
            newest: AtomicU64::default(),
        }))
    }

    /// The name of the language model.
    pub fn model(&self) -> &str {
        &self.models.language.info().name
    }
}

pub struct Person {
    /// No other has it, also none of the same name that comes later.
    pub id: u64,
    /// For the terminal.
    pub name: String,
    /// Where the memory is.
    pub home: PathBuf,
    shared: Arc<Shared>,
    /// One request at a time opens it. Why that failed last is said once.
    opening: Mutex<String>,
}

impl Person {
    pub fn new(shared: &Arc<Shared>, name: String, home: PathBuf) -> Self {
        let id = shared.newest.fetch_add(1, Ordering::Relaxed);
        Self { id, name, home, shared: Arc::clone(shared), opening: Mutex::default() }
    }

    /// The one person of a server without others, whose memory stays open.
    ///
    /// # Errors
    /// If the memory can't be read.
    pub fn alone(shared: &Arc<Shared>, store: Store) -> Result<Self, Failure> {
        let app = Arc::clone(&shared.app);
        let person = Self::new(shared, String::new(), app.dirs.data.clone());
        let beside = WorkerConfig::beside_chat(None);
        let open = Arc::new(Open::new(&person, app, store, beside)?);
        shared.homes.background.give(open.worker());
        shared.homes.put(person.id, &open);
        Ok(person)
    }

    /// The memory, which is opened if it is not.
    fn open(&self) -> Result<Arc<Open>, ApiError> {
        let mut trouble = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        let homes = &self.shared.homes;
        if let Some(open) = homes.get(self.id) {
            return Ok(open);
        }
        // It would be made anew.
        if !self.home.is_dir() {
            return Err(ApiError::wrong_token());
        }
        let open = self.opened().map_err(|failure| {
            let error = refusal(&failure);
            if *trouble != error.message {
                self.warn(&error.message);
                trouble.clone_from(&error.message);
            }
            error
        })?;
        trouble.clear();
        let open = Arc::new(open);
        homes.put(self.id, &open);
        Ok(open)
    }

    fn opened(&self) -> Result<Open, Failure> {
        let base = &self.shared.app;
        let dirs = Directories {
            data: self.home.clone(),
            config_file: self.home.join("config.toml"),
            ..base.dirs.clone()
        };
        let (config, warnings) = Config::read(&dirs.config_file, false)?;
        for warning in warnings {
            self.warn(&warning);
        }
        let app = base.elsewhere(dirs, config, Key::of_nobody());
        let app = App { wait: PATIENCE, ..app };
        let store = open_memory(&app)?;
        let info = self.shared.models.language.info();
        if let Some(grade) = &self.shared.grade
            && !app.policy.is_incognito()
            && store.read(|r| r.setting(&info.grade_key()))?.is_none()
        {
            store.write(|tx| tx.set_setting(&info.grade_key(), grade))?;
        }
        // No model is tried out in each home.
        let beside = WorkerConfig { check_after: None, ..WorkerConfig::beside_chat(None) };
        Open::new(self, Arc::new(app), store, beside)
    }

    pub fn warn(&self, text: &str) {
        warn(&self.shared.app, &self.name, text);
    }
}

/// Why a memory can't be opened, to its person.
fn refusal(failure: &Failure) -> ApiError {
    match failure {
        Failure::Store(StoreError::NeedsPassphrase { .. }) => ApiError::new(
            500,
            "This memory is encrypted, and a server of many people is given no passphrase: use it on a machine of your own, or have it decrypted (`inglenook memory decrypt`).",
        ),
        Failure::Store(StoreError::Locked { .. }) => {
            ApiError { status: 503, ..of_failure(failure) }
        }
        failure => of_failure(failure),
    }
}

fn warn(app: &App, name: &str, text: &str) {
    let text = if name.is_empty() { text.to_owned() } else { format!("{name}: {text}") };
    app.console.warn(&plain_text(&text));
}

/// A memory as it is served: what is incognito writes nothing.
///
/// # Errors
/// If it can't be opened.
pub fn open_memory(app: &App) -> Result<Store, Failure> {
    if app.policy.is_incognito() { app.open_read_only() } else { app.open() }
}

impl Service for Person {
    fn models(&self) -> Vec<String> {
        names(self.shared.model())
    }

    fn embedders(&self) -> Vec<String> {
        names(self.shared.models.embedder.id())
    }

    fn reply(
        &self,
        asked: &Asked,
        cancel: &Cancel,
        on_text: &mut dyn FnMut(&str),
    ) -> Result<Replied, ApiError> {
        let open = self.open()?;
        if let Some(memory) = &asked.memory {
            let _asking = self.shared.homes.background.wait();
            return open.remembering.reply(asked, memory, cancel, on_text);
        }
        open.plain.drop_forgotten(open.remembering.n_forgettings());
        open.plain.reply(asked, cancel, on_text)
    }

    fn embed(&self, texts: &[String], cancel: &Cancel) -> Result<(Vec<Vec<f32>>, usize), ApiError> {
        /// Texts at a time: between them other requests have their turn.
        const N_TOGETHER: usize = 32;
        let Models { embedder, language, .. } = &self.shared.models;
        let mut vectors = Vec::with_capacity(texts.len());
        for some in texts.chunks(N_TOGETHER) {
            cancel.check().map_err(of_model)?;
            let some: Vec<&str> = some.iter().map(String::as_str).collect();
            let embedded = embedder.embed(&some).map_err(of_model)?;
            vectors.extend(embedded.iter().map(|vector| vector.as_slice().to_vec()));
        }
        // As the language model counts: the embedder does not say.
        Ok((vectors, texts.iter().map(|text| language.encode(text).len()).sum()))
    }

    fn agent(
        &self,
        head: &mcp::Head,
        body: &[u8],
        unique: &str,
        cancel: &Cancel,
    ) -> Result<mcp::Response, ApiError> {
        self.open()?.agents.answer(head, body, unique, cancel)
    }
}

/// An open memory, and what answers from it.
pub struct Open {
    plain: Plain,
    remembering: Remembering,
    agents: Agents,
    /// With the person's other devices.
    exchanges: Mutex<Option<Exchanges>>,
    store: Store,
}

impl Open {
    fn new(
        of: &Person,
        app: Arc<App>,
        store: Store,
        beside: WorkerConfig,
    ) -> Result<Self, Failure> {
        let Shared { models, prefixes, .. } = &*of.shared;
        let parts = app.parts(store.clone(), Arc::new(models.clone()), None)?;
        let plain = Plain::new(models, &parts, of.id, Arc::clone(prefixes));
        let is_allowed = app.policy.serves();
        let config = app.worker_config();
        let beside = WorkerConfig { writer: config.writer, ..beside };
        let (agents, asked) = agents::of(is_allowed);
        let readers =
            Readers { embedder: Arc::clone(&models.embedder), reranker: models.reranker.clone() };
        let of_agents = Arc::clone(&app);
        let started = thread::Builder::new()
            .name("agents".into())
            .spawn(move || agents::answer_all(&of_agents, readers, asked));
        let failed = |source| Failure::File { action: "start", path: "a thread".into(), source };
        started.map_err(failed)?;
        let name = of.name.clone();
        let of_exchanges = Arc::clone(&app);
        let tell = move |told| {
            if let Told::Failed(text) = told {
                warn(&of_exchanges, &name, &text);
            }
        };
        let is_kept = is_allowed && !parts.incognito;
        let exchanges = (is_kept && app.policy.syncs())
            .then(|| Exchanges::start(store.clone(), Arc::new(SystemClock), tell))
            .transpose()
            .map_err(failed)?;
        let beside = is_kept.then_some(beside);
        let remembering = Remembering::start(parts, models.clone(), config, beside, is_allowed);
        Ok(Self { plain, remembering, agents, exchanges: Mutex::new(exchanges), store })
    }

    pub fn worker(&self) -> Option<Arc<Worker>> {
        self.remembering.worker.clone()
    }

    /// Whether something that was said is not in its memory yet.
    pub fn has_work(&self) -> bool {
        self.store.read(|r| r.pending_jobs()).is_ok_and(|jobs| !jobs.is_empty())
    }

    /// With a last exchange.
    pub fn end_exchanges(&self) {
        let exchanges = self.exchanges.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(exchanges) = exchanges {
            exchanges.end(LAST_EXCHANGE_PATIENCE);
        }
    }
}
