//! Replies with memory: the chat's own, as `ask` gives them. What was said is kept, and the evidence comes back.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::json;

use super::super::mcp::plain_value;
use super::super::report::Failure;
use super::of_failure;
use super::plain::Said;
use crate::chat::sampling::{SamplingSettings, Setting, SettingValue};
use crate::chat::{ChatError, Parts, SavedReply, Update, answer_in};
use crate::interfaces::{Cancel, Clock as _, Models, SystemClock};
use crate::memory::{Message, NewMessage, Role, SessionId, plain_text, title_of};
use crate::server::{ApiError, Asked, Author, Ended, Line, Memory, Replied};
use crate::store::{JobKind, Store, StoreError};
use crate::worker::{self, Worker, WorkerConfig};

/// How long building the memory of earlier messages may delay the answer.
const PATIENCE: Duration = Duration::from_secs(3);
/// Chats that are looked through for what a program sends again.
const N_LOOKED_AT: usize = 50;

pub struct Remembering {
    parts: Parts,
    models: Models,
    /// Builds the memory in the background; none where nothing is kept.
    pub worker: Option<Arc<Worker>>,
    worker_config: WorkerConfig,
    /// One at a time brings the memory up to date.
    catching_up: Mutex<()>,
    /// By this machine's policy.
    is_allowed: bool,
}

impl Remembering {
    /// The worker, if there is one, waits for its turn.
    pub fn start(
        parts: Parts,
        models: Models,
        config: WorkerConfig,
        beside: Option<WorkerConfig>,
        is_allowed: bool,
    ) -> Self {
        let worker = beside.map(|beside| {
            let clock = Arc::new(SystemClock);
            let worker = Worker::start(parts.store.clone(), models.clone(), clock, beside);
            worker.pause();
            Arc::new(worker)
        });
        let worker_config = WorkerConfig { live: true, ..config };
        Self { parts, models, worker, worker_config, catching_up: Mutex::default(), is_allowed }
    }

    /// How often something was forgotten, also by other processes.
    pub fn n_forgettings(&self) -> u64 {
        self.parts.store.read(|r| r.n_forgettings()).unwrap_or_default()
    }

    pub fn reply(
        &self,
        asked: &Asked,
        memory: &Memory,
        cancel: &Cancel,
        on_text: &mut dyn FnMut(&str),
    ) -> Result<Replied, ApiError> {
        if !self.is_allowed {
            return Err(ApiError::forbidden_memory());
        }
        if asked.form.is_some() {
            let message =
                "A reply from memory has no set form: leave out `response_format`, or `memory`.";
            return Err(ApiError::field("response_format", message));
        }
        let said: Vec<&Line> = asked.lines.iter().filter(|l| l.author != Author::System).collect();
        let Some((question, history)) = said.split_last() else {
            return Err(ApiError::field("messages", "Nothing was said."));
        };
        let session = if self.parts.incognito {
            None
        } else {
            self.catch_up(cancel)?;
            self.session(memory, history).map_err(|error| of_failure(&error.into()))?
        };
        if memory.session.is_some() && session.is_none() && !self.parts.incognito {
            let message = "There is no such session (`inglenook session list` shows all).";
            return Err(ApiError { param: Some("memory".into()), ..ApiError::new(404, message) });
        }
        self.answer(asked, session, &question.text, cancel, on_text)
    }

    fn answer(
        &self,
        asked: &Asked,
        session: Option<SessionId>,
        question: &str,
        cancel: &Cancel,
        on_text: &mut dyn FnMut(&str),
    ) -> Result<Replied, ApiError> {
        let mut parts = self.parts.clone();
        parts.models = Arc::default();
        set_sampling(&mut parts.config.sampling, asked);
        let mut said = Said::new(asked, on_text);
        let (mut kept, mut is_empty) = (None, true);
        let answered = answer_in(parts, session, question, cancel, &mut |update| match update {
            Update::ReplyText(piece) => {
                is_empty = false;
                said.push(&plain_text(piece));
                if said.stops.found() {
                    cancel.cancel();
                }
            }
            Update::UserMessage { message, .. } => kept = Some((message.session, message.id)),
            Update::ReplyDone(SavedReply { message, .. }) if is_empty => {
                said.push(&plain_text(&message.content));
            }
            _ => {}
        });
        let answered = answered.map_err(|error| match error {
            ChatError::Cancelled => {
                ApiError::new(503, "The reply was stopped before its first word.")
            }
            error => of_failure(&error.into()),
        })?;
        let (text, found) = said.finish();
        let record = answered.record;
        let tokens = |name: &str| record["tokens"][name].as_u64().unwrap_or(0) as usize;
        let kept = kept.filter(|_| !self.parts.incognito);
        let mut memory = json!({
            "session": kept.map(|(session, _)| session.to_string()),
            "message": kept.map(|(_, message)| message.to_string()),
            "evidence": record["evidence"],
            "quoted": record["quoted"],
            "notices": answered.notices,
        });
        plain_value(&mut memory);
        let is_short = answered.complete || found || cancel.is_cancelled();
        Ok(Replied {
            text,
            ended: if is_short { Ended::Stop } else { Ended::Length },
            n_prompt: tokens("prompt"),
            n_cached: 0,
            n_generated: tokens("generated"),
            memory: Some(memory),
        })
    }

    /// Builds the memory of what was said before, as `ask` does.
    fn catch_up(&self, cancel: &Cancel) -> Result<(), ApiError> {
        let _one = self.catching_up.lock().unwrap_or_else(PoisonError::into_inner);
        let (store, config) = (&self.parts.store, self.worker_config.clone());
        worker::catch_up(store, &self.models, Arc::new(SystemClock), config, PATIENCE, cancel)
            .map_err(|error| of_failure(&Failure::from(error)))
    }

    /// The chat that this goes on: the one that is named, or the one in which all this was said; a new one is made of what
    /// memory does not know yet.
    fn session(&self, memory: &Memory, history: &[&Line]) -> Result<Option<SessionId>, StoreError> {
        let store = &self.parts.store;
        if let Some(named) = &memory.session {
            let Ok(session) = named.trim().parse::<SessionId>() else { return Ok(None) };
            return match store.read(|r| r.session(session)) {
                Ok(found) => Ok(Some(found.id)),
                Err(StoreError::NotFound { .. }) => Ok(None),
                Err(error) => Err(error),
            };
        }
        if history.is_empty() {
            return Ok(None);
        }
        match known(store, history)? {
            None => self.begin(history).map(Some),
            known => Ok(known),
        }
    }

    fn begin(&self, history: &[&Line]) -> Result<SessionId, StoreError> {
        let now = SystemClock.now();
        let first = history.iter().find(|line| line.author == Author::User);
        let title = title_of(first.map_or("", |line| &line.text));
        self.parts.store.write(|tx| {
            let session = tx.create_session(&title, now, false)?;
            for line in history.iter().filter(|line| !line.text.trim().is_empty()) {
                let said = NewMessage::new(role(line), line.text.as_str(), now);
                tx.append_message(session, &said)?;
            }
            tx.enqueue(&JobKind::Boundary(session))?;
            Ok(session)
        })
    }
}

/// What is asked goes before what is set here, but for a longer reply.
fn set_sampling(settings: &mut SamplingSettings, asked: &Asked) {
    let longest = settings.sampling(None, 0).tokens_max;
    let tokens = asked.tokens_max.map(|n| SettingValue::Whole(n.min(longest) as u64));
    for (setting, value) in [
        (Setting::Temperature, asked.temperature.map(SettingValue::Number)),
        (Setting::TopP, asked.top_p.map(SettingValue::Number)),
        (Setting::Seed, asked.seed.map(SettingValue::Whole)),
        (Setting::ReplyTokensMax, tokens),
    ] {
        if let Some(value) = value {
            settings.chat.insert(setting, value);
        }
    }
}

fn role(line: &Line) -> Role {
    match line.author {
        Author::Assistant => Role::Assistant,
        Author::User | Author::System => Role::User,
    }
}

/// The chat in which exactly this was said.
fn known(store: &Store, history: &[&Line]) -> Result<Option<SessionId>, StoreError> {
    let is_same = |(message, line): (&Message, &&Line)| {
        message.role == role(line)
            && plain_text(&message.content).trim() == plain_text(&line.text).trim()
    };
    store.read(|r| {
        let mut sessions = r.sessions()?;
        sessions.retain(|s| !s.imported && !s.agent && s.n_messages == history.len());
        sessions.sort_by_key(|s| std::cmp::Reverse((s.updated_at.timestamp, s.id)));
        for session in sessions.iter().take(N_LOOKED_AT) {
            if r.messages(session.id)?.iter().zip(history).all(is_same) {
                return Ok(Some(session.id));
            }
        }
        Ok(None)
    })
}
