//! Executes the machine's effects: quick ones at once (`records`), recall and generation as jobs
//! for a thread (`jobs`).

mod calls;
mod generating;
mod jobs;
mod records;

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread;
use std::time::Instant;

use crate::chat::machine::{Effect, Event, ReplyJob, TurnId};
use crate::chat::persona::Persona;
use crate::chat::policy::{ModelProfile, Reader};
use crate::chat::prompt;
use crate::chat::quote::Cited;
use crate::chat::sampling::SamplingSettings;
use crate::chat::sureness::Sureness;
use crate::chat::window;
use crate::error_chain::error_chain;
use crate::extractive::Candidate;
use crate::interfaces::{Cancel, Clock, Context, ModelError, ModelSource, Models, Priority};
use crate::mcp::{ServerConfig, Servers};
use crate::memory::MessageId;
use crate::model_policy::{Grade, Mode, reader};
use crate::recall::{Evidence, Progress, Recall, RecallConfig, RecallError, RecallRequest};
use crate::store::{JobKind, Store, StoreError};
use crate::worker::{Worker, WorkerConfig};

pub(super) use jobs::Job;

/// How the chat generates.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatConfig {
    /// The sliding window; the model's own limit if that is smaller.
    pub window_tokens: usize,
    pub sampling: SamplingSettings,
    /// What the model is told that it is.
    pub role: Option<Arc<Persona>>,
    /// Where roles are.
    pub roles: PathBuf,
    /// Where the person's own prompts are.
    pub prompts: PathBuf,
}

impl Default for ChatConfig {
    fn default() -> Self {
        Self {
            window_tokens: window::WINDOW_TOKENS,
            sampling: SamplingSettings::default(),
            role: None,
            roles: PathBuf::new(),
            prompts: PathBuf::new(),
        }
    }
}

/// Searches memory: [`Recall::run`], or its stand-in in a test.
pub type Recaller = dyn Fn(Recall<'_>, RecallRequest<'_>, &mut dyn FnMut(Progress)) -> Result<Evidence, RecallError>
    + Send
    + Sync;

/// What a conversation is made of.
#[derive(Clone)]
pub struct Parts {
    pub store: Store,
    pub source: Arc<dyn ModelSource>,
    pub clock: Arc<dyn Clock>,
    pub config: ChatConfig,
    pub recall: RecallConfig,
    pub recaller: Arc<Recaller>,
    /// Who reads the evidence.
    pub reader: Mode,
    /// The memory worker beside the chat; `None` for `ask`, which brings the memory up to date first.
    pub worker: Option<WorkerConfig>,
    /// Filled by the conversation, read by whoever else needs the models.
    pub models: SharedModels,
    /// From the beginning, and for good.
    pub incognito: bool,
    pub allowed: Allowed,
}

/// What this machine's policy says about the screen.
#[derive(Debug, Clone)]
pub struct Allowed {
    /// Whether a chat may be written to a file.
    pub exports: bool,
    /// Whether the memory may be shared with other devices.
    pub sync: bool,
    /// Where exports, forgettings and calls of tools are noted.
    pub audit: Option<PathBuf>,
    /// The servers whose tools a chat may use; or why there are none.
    pub tools: Result<Vec<ServerConfig>, String>,
}

impl Default for Allowed {
    fn default() -> Self {
        Self { exports: true, sync: true, audit: None, tools: Ok(Vec::new()) }
    }
}

impl Parts {
    /// How often something was forgotten, also by other processes.
    pub(super) fn n_forgettings(&self) -> Result<u64, StoreError> {
        self.store.read(|r| r.n_forgettings())
    }

    /// The models in use.
    pub fn loaded(&self) -> Option<LoadedModels> {
        self.models.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The models in use, with the profile of the one that speaks.
#[derive(Clone)]
pub struct LoadedModels {
    pub models: Models,
    pub profile: ModelProfile,
}

/// The models in use; `None` until the first are loaded.
pub type SharedModels = Arc<RwLock<Option<LoadedModels>>>;

/// What a turn leaves for its record.
#[derive(Default)]
struct TurnData {
    turn: TurnId,
    /// How often something had been forgotten when the turn's chat was last read.
    n_forgettings: u64,
    recalled: Option<Evidence>,
    /// The model reads what was recalled.
    reads_recalled: bool,
    /// The name of the model that speaks.
    speaks: Option<String>,
    /// The texts that an answer may rest on.
    sources: Vec<Candidate>,
    /// What is quoted below a model's words.
    below: Option<Cited>,
    /// How likely they hold the answer that a model reads out of them.
    sureness: Option<Sureness>,
    /// What was said last in the chat, as recall was given it.
    recent: String,
    /// The reply's message, once a part of it is saved.
    reply: Option<MessageId>,
    started: Option<Instant>,
    recall_seconds: f64,
    first_token_seconds: Option<f64>,
    n_generated: usize,
    n_prompt: Option<usize>,
    generating_seconds: f64,
}

/// The model's context after a turn, whose prefix the next turn's prompt shares. It is replaced
/// whenever its contents may no longer be read: another model or chat, something forgotten.
type KeptContext = Arc<Mutex<Option<Box<dyn Context>>>>;

/// The servers of this chat; none until tools were first needed. What waits for one holds the lock.
type RunningServers = Arc<Mutex<Option<Servers>>>;

pub(super) struct Executor {
    pub(super) parts: Parts,
    /// The chat of `/incognito`, in memory only.
    private: Option<Store>,
    pub(super) background: Option<Worker>,
    data: Arc<Mutex<TurnData>>,
    kept: KeptContext,
    servers: RunningServers,
    cancel: Cancel,
    newest_load: Arc<AtomicU64>,
    /// How often something had been forgotten when the chat was last read.
    pub(super) n_forgettings: u64,
}

/// Who reads the evidence: as set, or by the model's grade where that is left open.
pub fn reader_of(mode: Mode, store: &Store, models: &Models) -> Reader {
    let info = models.language.info();
    let grade = store.read(|r| r.setting(&info.grade_key())).unwrap_or_default();
    reader(mode, info, Grade::from_setting(grade.as_deref()).as_ref(), models.memory.is_some())
}

fn lock<T>(data: &Mutex<T>) -> MutexGuard<'_, T> {
    data.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Executor {
    pub(super) fn new(parts: Parts) -> Self {
        Self {
            n_forgettings: parts.n_forgettings().unwrap_or_default(),
            parts,
            private: None,
            background: None,
            data: Arc::default(),
            kept: KeptContext::default(),
            servers: RunningServers::default(),
            cancel: Cancel::default(),
            newest_load: Arc::default(),
        }
    }

    /// Puts a loaded model into use, unless another was asked for meanwhile.
    pub(super) fn installer(&self) -> impl FnOnce(Models) -> Option<Event> + Send + use<> {
        let number = self.newest_load.fetch_add(1, Ordering::SeqCst) + 1;
        let newest = Arc::clone(&self.newest_load);
        let Parts { models: in_use, store, reader: mode, config, .. } = self.parts.clone();
        move |models| {
            if newest.load(Ordering::SeqCst) != number {
                return None;
            }
            let reader = reader_of(mode, &store, &models);
            let mut profile =
                ModelProfile::new(models.language.info(), reader, models.reranker.clone());
            profile.role = config.role;
            profile.knows_tools = models.language.call_marks().is_some();
            // The encoder is loaded now, not while the first message waits.
            profile.wants("Hello");
            let loaded = LoadedModels { models, profile: profile.clone() };
            *in_use.write().unwrap_or_else(PoisonError::into_inner) = Some(loaded);
            Some(Event::ModelReady(profile))
        }
    }

    /// Starts the worker of the models in use; the previous one is stopped.
    pub(super) fn start_background(&mut self) {
        self.kept = KeptContext::default();
        self.background = None;
        let Parts { store, clock, worker, .. } = &self.parts;
        if let (Some(loaded), Some(config)) = (self.parts.loaded(), worker) {
            let clock = Arc::clone(clock);
            self.read_system_turn(&loaded);
            let worker = Worker::start(store.clone(), loaded.models, clock, config.clone());
            self.background = Some(worker);
        }
    }

    /// The model reads what every prompt without memories begins with while the person still writes.
    fn read_system_turn(&self, loaded: &LoadedModels) {
        let system = loaded.profile.system(self.parts.clock.now());
        let (model, kept) = (Arc::clone(&loaded.models.language), Arc::clone(&self.kept));
        // A failure costs nothing but time: the first message reads it then.
        let _ = thread::Builder::new().name("system turn".into()).spawn(move || {
            let prompt = prompt::build(
                model.as_ref(),
                &system,
                &[],
                "",
                prompt::Tools::default(),
                usize::MAX,
            );
            let mut context = model.context(Priority::Chat)?;
            context.extend(&prompt.tokens)?;
            lock(&kept).get_or_insert(context);
            Ok::<(), ModelError>(())
        });
    }

    pub(super) fn cancel(&self) {
        self.cancel.cancel();
    }

    /// Drops what this process keeps of texts in memory, as far as it can be read again.
    pub(super) fn drop_caches(&mut self) {
        self.kept = KeptContext::default();
        self.parts.store.drop_caches();
    }

    fn chat_store(&self) -> &Store {
        self.private.as_ref().unwrap_or(&self.parts.store)
    }

    fn user_name(&self) -> Option<String> {
        self.parts.store.read(|r| r.user_name()).ok().flatten()
    }

    /// Makes a job for a thread; `None` if there is no model.
    pub(super) fn job(&mut self, request: ReplyJob) -> Option<Job> {
        let LoadedModels { models, profile } = self.parts.loaded()?;
        self.begin(request.turn);
        // Its own: a call ends a generation, not the turn.
        self.cancel = Cancel::default();
        if let Some(begun) = &request.begun {
            lock(&self.data).reply = Some(begun.id);
        }
        Some(Job {
            request,
            models,
            profile,
            parts: self.parts.clone(),
            data: Arc::clone(&self.data),
            kept: Arc::clone(&self.kept),
            servers: Arc::clone(&self.servers),
            cancel: self.cancel.clone(),
            now: self.parts.clock.now(),
            user_name: self.user_name(),
        })
    }

    /// Makes the turn's own data at its first effect.
    fn begin(&mut self, turn: TurnId) {
        if lock(&self.data).turn != turn {
            // A new value, not a cleared one: a late thread of the previous turn keeps its own.
            self.data = Arc::new(Mutex::new(TurnData {
                turn,
                n_forgettings: self.n_forgettings,
                started: Some(Instant::now()),
                ..TurnData::default()
            }));
        }
    }

    /// Effects that take no longer than a transaction.
    pub(super) fn execute(&mut self, effect: Effect) -> Option<Event> {
        match effect {
            Effect::SaveUser(message) => {
                self.begin(message.turn);
                Some(Event::Turn(message.turn, self.save_user(message)))
            }
            Effect::SaveReply(reply) => {
                self.begin(reply.turn);
                let (turn, saved) = (reply.turn, self.save_reply(&reply));
                // If a part of it can't be saved, the whole is tried again at the end.
                reply.last.then_some(Event::Turn(turn, saved))
            }
            Effect::LoadSession(session) => {
                self.kept = KeptContext::default();
                Some(match self.chat_store().read(|r| r.conversation(session)) {
                    Ok(conversation) => Event::SessionLoaded { session, conversation },
                    Err(error) => Event::SessionNotLoaded { session, error: error_chain(&error) },
                })
            }
            Effect::Fork { parent, before, title, at, then } => {
                self.kept = KeptContext::default();
                let made = self.chat_store().write(|tx| {
                    let title = match title {
                        Some(title) => title,
                        None => tx.session(parent)?.title,
                    };
                    let session = tx.fork_session(parent, before, &title, at)?;
                    Ok((session, tx.conversation(session)?))
                });
                Some(match made {
                    Ok((session, conversation)) => {
                        Event::Forked { session, conversation, then, at }
                    }
                    Err(error) => Event::NotForked { error: error_chain(&error), then },
                })
            }
            Effect::StopTools => {
                self.stop_tools();
                None
            }
            Effect::Choose { chosen, others } => {
                // A failure costs nothing but the choice, when the chat is opened again.
                let _ = self.chat_store().write(|tx| tx.choose_reply(chosen, others));
                None
            }
            Effect::CloseSession(session) => {
                self.kept = KeptContext::default();
                // A failure costs nothing but time: the next boundary closes the episode.
                let _ = self.parts.store.write(|tx| tx.enqueue(&JobKind::Close(session)));
                None
            }
            Effect::UseRole(role) => {
                self.kept = KeptContext::default();
                self.parts.config.role.clone_from(&role);
                let mut loaded = self.parts.models.write().unwrap_or_else(PoisonError::into_inner);
                if let Some(loaded) = loaded.as_mut() {
                    loaded.profile.role = role;
                }
                None
            }
            Effect::UseSampling(settings) => {
                self.parts.config.sampling.chat = settings;
                None
            }
            Effect::UseStore { incognito } => {
                self.kept = KeptContext::default();
                match incognito.then(Store::in_memory).transpose() {
                    Ok(private) => {
                        self.private = private;
                        None
                    }
                    // Without a private store there is no incognito: the machine ends it and says so.
                    Err(error) => Some(Event::IncognitoFailed { error: error_chain(&error) }),
                }
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::interfaces::LanguageModel;
    use crate::testing::{ManualClock, ScriptedModel};

    #[test]
    fn the_system_turn_is_read_before_the_first_message() {
        let model = ScriptedModel::new(&[]);
        let models = crate::testing::models(Arc::new(model.clone()));
        let profile = ModelProfile::new(models.language.info(), Reader::Extractive, None);
        let clock = Arc::new(ManualClock::at("2026-11-21T10:00:00Z"));
        let system = profile.system(clock.now());
        let mut executor = Executor::new(Parts {
            store: Store::in_memory().unwrap(),
            source: Arc::new(models.clone()),
            clock,
            config: ChatConfig::default(),
            recall: RecallConfig::default(),
            recaller: Arc::new(|recall, request, report| recall.run(request, report)),
            reader: Mode::Auto,
            worker: Some(WorkerConfig::default()),
            models: Arc::new(RwLock::new(Some(LoadedModels { models, profile }))),
            incognito: false,
            allowed: Allowed::default(),
        });
        executor.start_background();
        let first =
            prompt::build(&model, &system, &[], "hi", prompt::Tools::default(), usize::MAX).tokens;
        let since = Instant::now();
        let read = loop {
            if let Some(context) = lock(&executor.kept).as_ref() {
                break context.tokens().to_vec();
            }
            assert!(since.elapsed() < Duration::from_secs(10));
            thread::sleep(Duration::from_millis(1));
        };
        let shared = read.iter().zip(&first).take_while(|(a, b)| a == b).count();
        assert_eq!(model.decode(&first[shared..]), "hi");
    }
}
