//! The work behind the effects: the store at once, recall and generation as jobs for a thread.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Instant;

use serde_json::{Value, json};

use crate::chat::driver::{Input, in_words};
use crate::chat::machine::{Effect, Event, Facts, Found, Kind, Line, Outcome, Turn, Update};
use crate::chat::policy::{Cited, Reader};
use crate::chat::recollection::{Background, Question, Recaller, Recollection};
use crate::chat::stream::Stream;
use crate::chat::{prompt, window};
use crate::interfaces::{
    Cancel, Clock, Context, Finish, ModelError, ModelInfo, ModelSource, Models, Priority, Sampling,
};
use crate::memory::{Message, MessageId, Moment, Role, SessionId, plain_text};
use crate::prompts::{ChatSystem, Style};
use crate::store::{JobKind, NewMessage, Store, StoreError};

/// How the chat generates.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatConfig {
    /// The sliding window (DESIGN §7); the model's own limit if that is smaller.
    pub window_tokens: usize,
    pub sampling: Sampling,
}

impl Default for ChatConfig {
    fn default() -> Self {
        Self {
            window_tokens: window::WINDOW_TOKENS,
            sampling: Sampling {
                temperature: 0.7,
                top_p: 0.9,
                min_p: 0.05,
                repetition_penalty: 1.1,
                seed: 0,
                tokens_max: 1_024,
                constraint: None,
            },
        }
    }
}

type ReaderOf = dyn Fn(&Store, &ModelInfo) -> Reader + Send + Sync;
type BackgroundOf = dyn Fn(&Store, &Models) -> Option<Box<dyn Background>> + Send + Sync;

/// What a conversation is made of.
#[derive(Clone)]
pub struct Parts {
    pub store: Store,
    pub source: Arc<dyn ModelSource>,
    pub clock: Arc<dyn Clock>,
    pub config: ChatConfig,
    pub recaller: Arc<dyn Recaller>,
    /// Extractive or generative, for a model.
    pub reader_of: Arc<ReaderOf>,
    /// Starts the memory worker; none for `ask`, which brings the memory up to date before.
    pub background_of: Arc<BackgroundOf>,
    /// The models in use, shared with whoever else needs them (the panes' corrections).
    pub models: SharedModels,
    pub incognito: bool,
}

/// The models in use.
pub type SharedModels = Arc<RwLock<Option<Models>>>;

/// What a turn leaves for its record.
#[derive(Default)]
struct TurnData {
    turn: Turn,
    recollection: Option<Recollection>,
    row: Option<MessageId>,
    started: Option<Instant>,
    recall_seconds: f64,
    first_token_seconds: Option<f64>,
    n_generated: usize,
    n_prompt: Option<usize>,
    generating_seconds: f64,
}

/// The model's context after a turn. The next turn's prompt begins the same, and what is the same
/// need not be read again. A new one is made whenever what it holds may no longer be known: another
/// model or chat, something forgotten.
type Kept = Arc<Mutex<Option<Box<dyn Context>>>>;

/// See the module.
pub(super) struct Hands {
    parts: Parts,
    /// The chat of `/incognito`, gone with the value.
    private: Option<Store>,
    background: Option<Box<dyn Background>>,
    data: Arc<Mutex<TurnData>>,
    kept: Kept,
    cancel: Cancel,
    newest_load: Arc<AtomicU64>,
}

/// Hands a loaded model over, unless another was asked for meanwhile.
pub(super) struct Loader {
    number: u64,
    newest: Arc<AtomicU64>,
    models: SharedModels,
    store: Store,
    reader_of: Arc<ReaderOf>,
}

impl Loader {
    pub(super) fn ready(&self, models: Models) -> Option<Event> {
        if self.newest.load(Ordering::SeqCst) != self.number {
            return None;
        }
        let info = models.language.info();
        let facts = Facts {
            name: info.name.clone(),
            starter: info.starter,
            reader: (self.reader_of)(&self.store, info),
            context_tokens: info.context_tokens,
        };
        *self.models.write().unwrap_or_else(PoisonError::into_inner) = Some(models);
        Some(Event::ModelReady { facts })
    }
}

/// Recall or generation, to be run on a thread of its own.
pub(super) struct Job {
    effect: Effect,
    models: Models,
    store: Store,
    recaller: Arc<dyn Recaller>,
    config: ChatConfig,
    data: Arc<Mutex<TurnData>>,
    kept: Kept,
    cancel: Cancel,
    now: Moment,
    user_name: Option<String>,
}

fn lock<T>(data: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    data.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Hands {
    pub(super) fn new(parts: Parts) -> Self {
        Self {
            parts,
            private: None,
            background: None,
            data: Arc::default(),
            kept: Kept::default(),
            cancel: Cancel::default(),
            newest_load: Arc::default(),
        }
    }

    pub(super) fn starts_incognito(&self) -> bool {
        self.parts.incognito
    }

    pub(super) fn generation(&self) -> u64 {
        self.parts.store.generation()
    }

    pub(super) fn source(&self) -> Arc<dyn ModelSource> {
        Arc::clone(&self.parts.source)
    }

    pub(super) fn loader(&self, number: u64) -> Loader {
        self.newest_load.store(number, Ordering::SeqCst);
        Loader {
            number,
            newest: Arc::clone(&self.newest_load),
            models: Arc::clone(&self.parts.models),
            store: self.parts.store.clone(),
            reader_of: Arc::clone(&self.parts.reader_of),
        }
    }

    fn models(&self) -> Option<Models> {
        self.parts.models.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The worker of the models in use; the one before is stopped.
    pub(super) fn start_background(&mut self) {
        self.kept = Kept::default();
        self.stop_background();
        self.background =
            self.models().and_then(|models| (self.parts.background_of)(&self.parts.store, &models));
    }

    pub(super) fn stop_background(&mut self) {
        if let Some(worker) = self.background.take() {
            worker.stop();
        }
    }

    pub(super) fn background(&self) -> Option<&dyn Background> {
        self.background.as_deref()
    }

    pub(super) fn cancel(&self) {
        self.cancel.cancel();
    }

    fn chat_store(&self) -> &Store {
        self.private.as_ref().unwrap_or(&self.parts.store)
    }

    fn user_name(&self) -> Option<String> {
        let name = self.parts.store.read(|r| r.setting("user_name")).ok().flatten();
        name.filter(|n| !n.trim().is_empty())
    }

    /// Makes a job of an effect that takes long; `None` if there is no model.
    pub(super) fn job(&mut self, effect: Effect) -> Option<Job> {
        let models = self.models()?;
        let turn = match &effect {
            Effect::Recall { turn, .. } | Effect::Generate { turn, .. } => *turn,
            _ => return None,
        };
        self.begin(turn);
        Some(Job {
            effect,
            models,
            store: self.parts.store.clone(),
            recaller: Arc::clone(&self.parts.recaller),
            config: self.parts.config.clone(),
            data: Arc::clone(&self.data),
            kept: Arc::clone(&self.kept),
            cancel: self.cancel.clone(),
            now: self.parts.clock.now(),
            user_name: self.user_name(),
        })
    }

    /// The turn's own data and flag, made at its first effect.
    fn begin(&mut self, turn: Turn) {
        if lock(&self.data).turn != turn {
            // A new value, not a cleared one: a late thread of the turn before keeps its own.
            self.data = Arc::new(Mutex::new(TurnData {
                turn,
                started: Some(Instant::now()),
                ..TurnData::default()
            }));
            self.cancel = Cancel::default();
        }
    }

    /// Effects that take no longer than a transaction.
    pub(super) fn do_now(&mut self, effect: Effect) -> Option<Event> {
        match effect {
            Effect::SaveUser { turn, session, title, text, at, kind } => {
                self.begin(turn);
                let saved = match (kind, self.background()) {
                    (Kind::Remember, Some(worker)) => {
                        self.remember(worker, session, &title, &text, at)
                    }
                    _ => self
                        .save_user(session, &title, &text, at, kind)
                        .map_err(|error| in_words(&error)),
                };
                Some(match saved {
                    Ok((session, message)) => {
                        let name = self.user_name();
                        Event::UserSaved { turn, session, title, message, name }
                    }
                    Err(error) => Event::UserNotSaved { turn, error },
                })
            }
            Effect::SaveReply { turn, session, text, complete, last, cited } => {
                self.begin(turn);
                Some(match self.save_reply(session, &text, complete, last, &cited) {
                    Ok((message, record)) => {
                        let data = lock(&self.data);
                        let speed = (data.n_generated > 1 && data.generating_seconds > 0.0)
                            .then(|| (data.n_generated - 1) as f64 / data.generating_seconds);
                        Event::ReplySaved { turn, message, record, last, speed }
                    }
                    Err(error) => Event::ReplyNotSaved { turn, error: in_words(&error), last },
                })
            }
            Effect::LoadSession { session } => {
                self.kept = Kept::default();
                let read = self.chat_store().read(|r| {
                    let title = r.session(session)?.title;
                    Ok((title, r.messages(session)?))
                });
                Some(match read {
                    Ok((title, messages)) => Event::SessionLoaded { session, title, messages },
                    Err(error) => Event::SessionNotLoaded { session, error: in_words(&error) },
                })
            }
            Effect::CloseSession { session } => {
                self.kept = Kept::default();
                // A failure costs nothing but time: the next boundary closes the episode.
                let _ = self.parts.store.write(|tx| tx.enqueue(&JobKind::Close { session }));
                None
            }
            Effect::UseStore { incognito: false } => {
                self.kept = Kept::default();
                self.private = None;
                None
            }
            Effect::UseStore { incognito: true } => match Store::in_memory() {
                Ok(store) => {
                    self.private = Some(store);
                    None
                }
                // Without a private store nothing may be written at all.
                Err(error) => Some(Event::IncognitoFailed { error: in_words(&error) }),
            },
            _ => None,
        }
    }

    fn save_user(
        &self,
        session: Option<SessionId>,
        title: &str,
        text: &str,
        at: Moment,
        kind: Kind,
    ) -> Result<(SessionId, Message), StoreError> {
        let remembered = self.private.is_none();
        let job = |session| match kind {
            Kind::Chat => JobKind::Boundary { session },
            // What is to be remembered need not wait for the end of a topic.
            Kind::Remember => JobKind::Close { session },
        };
        self.chat_store().write(|tx| {
            let session = match session {
                Some(session) => session,
                None => tx.create_session(title, at, false)?,
            };
            let id = tx.append_message(NewMessage {
                session,
                role: Role::User,
                speaker: None,
                content: text.to_owned(),
                created_at: at,
                external_id: None,
                complete: true,
            })?;
            if remembered {
                tx.enqueue(&job(session))?;
            }
            Ok((session, only(tx.messages_by_id(&[id])?, id)?))
        })
    }

    /// `/remember`: the worker makes facts of it at once.
    fn remember(
        &self,
        worker: &dyn Background,
        session: Option<SessionId>,
        title: &str,
        text: &str,
        at: Moment,
    ) -> Result<(SessionId, Message), String> {
        let store = self.chat_store();
        let words = |error: StoreError| in_words(&error);
        let session = match session {
            Some(session) => session,
            None => store.write(|tx| tx.create_session(title, at, false)).map_err(words)?,
        };
        worker.remember(session, text)?;
        let messages = store.read(|r| r.messages(session)).map_err(words)?;
        let message = messages.into_iter().rfind(|m| m.role == Role::User);
        message.map(|m| (session, m)).ok_or_else(|| "the message was not kept".into())
    }

    fn save_reply(
        &self,
        session: SessionId,
        text: &str,
        complete: bool,
        last: bool,
        cited: &Cited,
    ) -> Result<(Message, Value), StoreError> {
        // What a model writes is hostile input; the person's own words are kept as they are.
        let text = plain_text(text.trim()).into_owned();
        let record = if last { self.record(&text, cited) } else { Value::Null };
        let row = lock(&self.data).row;
        let at = self.parts.clock.now();
        let message = self.chat_store().write(|tx| {
            let id = if let Some(id) = row {
                tx.finish_message(id, &text, complete)?;
                id
            } else {
                tx.append_message(NewMessage {
                    session,
                    role: Role::Assistant,
                    speaker: None,
                    content: text.clone(),
                    created_at: at,
                    external_id: None,
                    complete,
                })?
            };
            if last {
                tx.record_answer(id, &record)?;
            }
            only(tx.messages_by_id(&[id])?, id)
        })?;
        lock(&self.data).row = Some(message.id);
        Ok((message, record))
    }

    /// The record of an answer, in the form of `ask --json` (issue 2, point 9).
    fn record(&self, answer: &str, cited: &Cited) -> Value {
        let data = lock(&self.data);
        let recalled = data.recollection.as_ref().map_or(&Value::Null, |r| &r.record);
        let part = |key: &str| recalled.get(key).cloned();
        let tokens = |key: &str| {
            recalled.pointer(&format!("/tokens/{key}")).and_then(Value::as_u64).unwrap_or(0)
        };
        let name = self.models().map(|m| m.language.info().name.clone());
        let mut evidence = part("evidence")
            .unwrap_or_else(|| json!({"themes": [], "semantics": [], "episodes": []}));
        let said =
            self.chat_store().read(|r| r.messages_by_id(&cited.from_chat)).unwrap_or_default();
        for message in said {
            let speaker = message.speaker.as_deref().unwrap_or("You");
            let line = json!({
                "id": message.id.to_string(), "speaker": speaker, "text": message.content,
            });
            match evidence.get_mut("messages").and_then(Value::as_array_mut) {
                Some(messages) => messages.push(line),
                None => evidence["messages"] = json!([line]),
            }
        }
        let prompt = data.n_prompt.map_or_else(|| tokens("prompt"), |n| n as u64);
        let generated = data.n_generated as u64;
        let quoted =
            cited.recalled.as_ref().map(|texts| quoted_ids(&evidence, texts, &cited.from_chat));
        json!({
            "answer": answer,
            "model": name,
            "evidence": evidence,
            "quoted": quoted,
            "entropy_nats": part("entropy_nats").unwrap_or_else(|| json!({"coarse": null, "final": null})),
            "tokens": {
                "prompt": prompt,
                "processed": tokens("processed").max(prompt) + generated,
                "generated": generated,
            },
            "seconds": {
                "recall": data.recall_seconds,
                "first_token": data.first_token_seconds,
                "total": data.started.map(|s| s.elapsed().as_secs_f64()),
            },
        })
    }
}

/// Ids of the evidence that a reply of the rules quotes. Forgetting goes by them: a fact that was
/// only considered is not in the reply.
fn quoted_ids(evidence: &Value, texts: &[String], from_chat: &[MessageId]) -> Vec<String> {
    ["semantics", "messages"]
        .iter()
        .filter_map(|level| evidence.get(level).and_then(Value::as_array))
        .flatten()
        .filter(|unit| {
            unit.get("text").and_then(Value::as_str).is_some_and(|t| texts.iter().any(|c| c == t))
        })
        .filter_map(|unit| unit.get("id").and_then(Value::as_str).map(str::to_owned))
        .chain(from_chat.iter().map(ToString::to_string))
        .collect()
}

fn only(messages: Vec<Message>, id: MessageId) -> Result<Message, StoreError> {
    messages
        .into_iter()
        .next()
        .ok_or_else(|| StoreError::NotFound { what: "message", id: id.to_string() })
}

impl Job {
    /// The event that says that this job failed.
    pub(super) fn failure(&self) -> impl Fn(String) -> Event + use<> {
        let (turn, recall) = match &self.effect {
            Effect::Recall { turn, .. } => (*turn, true),
            Effect::Generate { turn, .. } => (*turn, false),
            _ => (0, false),
        };
        move |error| {
            if recall {
                Event::RecallFailed { turn, error }
            } else {
                Event::GenerateFailed { turn, error }
            }
        }
    }

    fn style(&self) -> Style {
        if self.models.language.info().starter { Style::Trained } else { Style::Instructed }
    }

    fn system(&self) -> String {
        ChatSystem { today: self.now.civil(), user_name: self.user_name.as_deref() }
            .fill(self.style())
    }

    fn budgets(&self) -> (usize, usize) {
        let context = self.models.language.info().context_tokens;
        window::budgets(context, self.config.window_tokens, self.config.sampling.tokens_max)
    }

    pub(super) fn run(self, send: &mut dyn FnMut(Input)) {
        match &self.effect {
            Effect::Recall { turn, question, history, for_model } => {
                let event = self.recall(*turn, question, history, *for_model, send);
                send(Input::Event(event));
            }
            Effect::Generate { turn, question, history, with_memories } => {
                let event = match self.generate(*turn, question, history, *with_memories, send) {
                    Ok(outcome) => Event::Generated { turn: *turn, outcome },
                    Err(ModelError::Cancelled) => {
                        Event::Generated { turn: *turn, outcome: Outcome::Stopped }
                    }
                    Err(error) => Event::GenerateFailed { turn: *turn, error: in_words(&error) },
                };
                send(Input::Event(event));
            }
            _ => {}
        }
    }

    fn recall(
        &self,
        turn: Turn,
        question: &str,
        history: &[Line],
        for_model: bool,
        send: &mut dyn FnMut(Input),
    ) -> Event {
        let since = Instant::now();
        let system = self.system();
        let question = Question {
            text: question,
            at: self.now,
            history,
            system: &system,
            window_tokens: self.config.window_tokens,
            for_model,
            reuse: if for_model { lock(&self.kept).take() } else { None },
            cancel: &self.cancel,
        };
        let recalled = self.recaller.recall(&self.store, &self.models, question, &mut |text| {
            send(Input::Tell(Update::Progress(text)));
        });
        match recalled {
            Ok(recollection) => {
                let found = Found { candidates: recollection.candidates.clone() };
                let mut data = lock(&self.data);
                data.recall_seconds = since.elapsed().as_secs_f64();
                data.recollection = Some(recollection);
                Event::Recalled { turn, found }
            }
            Err(error) => {
                Event::RecallFailed { turn, error: error.unwrap_or_else(|| "stopped".into()) }
            }
        }
    }

    /// A context that holds the whole prompt, ready to decode: recall's, or one without memories.
    fn prefill(
        &self,
        turn: Turn,
        question: &str,
        history: &[Line],
        with_memories: bool,
        send: &mut dyn FnMut(Input),
    ) -> Result<Box<dyn Context>, ModelError> {
        let model = self.models.language.as_ref();
        let (limit_tokens, _) = self.budgets();
        // The starter's small talk is about one message: of a long chat it makes nonsense.
        let history = if model.info().starter && !with_memories { &[] } else { history };
        let recalled = match (with_memories, &mut lock(&self.data).recollection) {
            (true, Some(r)) => r.context.take().map(|c| (c, r.n_left_out, r.question_cut)),
            _ => None,
        };
        let (context, n_dropped, cut) = if let Some(recalled) = recalled {
            recalled
        } else {
            let built = prompt::build(model, &self.system(), history, question, limit_tokens);
            let mut context = model.context(Priority::Chat)?;
            context.extend(&built.tokens)?;
            (context, built.n_dropped, built.cut.is_some())
        };
        let used_tokens = context.len();
        send(Input::Event(Event::Window { turn, used_tokens, limit_tokens, n_dropped }));
        if cut {
            send(Input::Event(Event::QuestionCut { turn }));
        }
        Ok(context)
    }

    fn generate(
        &self,
        turn: Turn,
        question: &str,
        history: &[Line],
        with_memories: bool,
        send: &mut dyn FnMut(Input),
    ) -> Result<Outcome, ModelError> {
        let mut context = self.prefill(turn, question, history, with_memories, send)?;
        if self.cancel.is_cancelled() {
            return Ok(Outcome::Stopped);
        }
        lock(&self.data).n_prompt = Some(context.len());
        let (_, reply_tokens) = self.budgets();
        let mut sampling = self.config.sampling.clone();
        sampling.tokens_max = sampling.tokens_max.min(reply_tokens);
        sampling.seed ^= turn ^ self.now.as_millisecond().unsigned_abs();
        if self.models.language.info().starter {
            // It knows small talk; chance and length only make it babble.
            sampling.temperature = 0.0;
            sampling.tokens_max = sampling.tokens_max.min(64);
        }
        let since = Instant::now();
        let mut first: Option<Instant> = None;
        let mut stream = Stream::default();
        let say = |piece: String, send: &mut dyn FnMut(Input)| {
            if !piece.is_empty() {
                send(Input::Event(Event::Text { turn, piece }));
            }
        };
        let generated = context.generate(&sampling, &self.cancel, &mut |piece| {
            first.get_or_insert_with(Instant::now);
            say(stream.push(piece), send);
        });
        say(stream.finish(), send);
        let mut data = lock(&self.data);
        if let Some(first) = first {
            data.generating_seconds = first.elapsed().as_secs_f64();
            let before = first.duration_since(since).as_secs_f64();
            data.first_token_seconds =
                Some(data.started.map_or(before, |s| first.duration_since(s).as_secs_f64()));
        }
        let generated = generated?;
        *lock(&self.kept) = Some(context);
        data.n_generated = generated.n_tokens;
        Ok(match generated.finish {
            Finish::EndOfTurn => Outcome::Ended,
            Finish::Length => Outcome::Cut,
            Finish::Cancelled => Outcome::Stopped,
        })
    }
}
