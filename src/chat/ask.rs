//! One question, one answer: `inglenook ask`, with the chat's own machine and driver.

use std::sync::mpsc;
use std::time::Duration;

use serde_json::Value;
use thiserror::Error;

use crate::chat::driver::Driver;
use crate::chat::executor::Parts;
use crate::chat::machine::{Command, Level, MessageKind, PhaseName, SavedReply, Update};
use crate::interfaces::{Cancel, LoadProgress, ModelError, ModelSource, ModelSummary, Models};
use crate::memory::{Message, SessionId};

/// How long opening a session may take: it is a few rows of a local file.
const OPEN_TIMEOUT: Duration = Duration::from_secs(30);

/// An answer and its record in the form of `ask --json`.
#[derive(Debug, Clone, PartialEq)]
pub struct Answered {
    pub text: String,
    /// False if it was stopped.
    pub complete: bool,
    pub record: Value,
    /// Warnings that came with the answer (a cut question, a memory that could not be searched).
    pub notices: Vec<String>,
}

/// Why there is no answer.
#[derive(Debug, Error)]
pub enum ChatError {
    #[error("the model could not be loaded: {reason}")]
    Model { reason: String },
    #[error("{reason}")]
    Failed { reason: String },
    #[error("stopped")]
    Cancelled,
    #[error("cannot start the conversation")]
    Start(#[source] std::io::Error),
}

/// Asks `question` in `session`, or in a new one (not stored if `parts.incognito`), and waits for
/// the answer; `on_update` is given every update on the way.
///
/// # Errors
/// If the conversation can't start, the session or the model can't be opened, the answer fails or is
/// cancelled.
pub fn answer_in(
    parts: Parts,
    session: Option<SessionId>,
    question: &str,
    cancel: &Cancel,
    on_update: &mut dyn FnMut(&Update),
) -> Result<Answered, ChatError> {
    let (sender, updates) = mpsc::channel();
    let driver = Driver::start(parts, move |update| {
        let _ = sender.send(update);
    })
    .map_err(ChatError::Start)?;
    let result = open(&driver, &updates, session).and_then(|()| {
        driver.send(Command::Submit { text: question.to_owned(), kind: MessageKind::Chat });
        wait(&driver, &updates, cancel, on_update)
    });
    driver.stop();
    result
}

/// Waits until the session is open: the question must come after its messages.
fn open(
    driver: &Driver,
    updates: &mpsc::Receiver<Update>,
    session: Option<SessionId>,
) -> Result<(), ChatError> {
    let Some(wanted) = session else { return Ok(()) };
    driver.send(Command::OpenSession(wanted));
    while let Ok(update) = updates.recv_timeout(OPEN_TIMEOUT) {
        match update {
            Update::Session { session: Some(opened), .. } if opened == wanted => return Ok(()),
            Update::Notice { level: Level::Warning | Level::Error, text } => {
                return Err(ChatError::Failed { reason: text });
            }
            Update::LoadFailed { error, .. } => return Err(ChatError::Model { reason: error }),
            _ => {}
        }
    }
    Err(ChatError::Failed { reason: format!("the session {wanted} could not be opened") })
}

fn wait(
    driver: &Driver,
    updates: &mpsc::Receiver<Update>,
    cancel: &Cancel,
    on_update: &mut dyn FnMut(&Update),
) -> Result<Answered, ChatError> {
    let mut notices = Vec::new();
    let mut stopping = false;
    let mut asked = false;
    loop {
        if cancel.is_cancelled() && !stopping {
            stopping = true;
            driver.send(Command::Stop);
        }
        let update = match updates.recv_timeout(Duration::from_millis(50)) {
            Ok(update) => update,
            Err(mpsc::RecvTimeoutError::Timeout) if !driver.is_dead() => continue,
            Err(_) => {
                return Err(ChatError::Failed { reason: "the conversation failed".into() });
            }
        };
        on_update(&update);
        match update {
            Update::LoadFailed { error, .. } => return Err(ChatError::Model { reason: error }),
            Update::UserMessage { .. } => asked = true,
            Update::ReplyDone(SavedReply { message, record, .. }) => {
                let Message { content: text, complete, .. } = message;
                return Ok(Answered { text, complete, record, notices });
            }
            Update::Notice { level: Level::Error, text } => {
                return Err(ChatError::Failed { reason: text });
            }
            Update::Notice { level: Level::Warning, text } => notices.push(text),
            Update::Phase(PhaseName::Idle) if asked => {
                if cancel.is_cancelled() {
                    return Err(ChatError::Cancelled);
                }
                let reason = notices.pop().unwrap_or_else(|| "there was no answer".into());
                return Err(ChatError::Failed { reason });
            }
            _ => {}
        }
    }
}

/// Models that are loaded already, as one question needs them.
impl ModelSource for Models {
    fn installed(&self) -> Vec<ModelSummary> {
        Vec::new()
    }

    fn default_name(&self) -> String {
        self.language.info().name.clone()
    }

    fn load(
        &self,
        _: Option<&str>,
        _: &(dyn Fn(LoadProgress) + Sync),
    ) -> Result<Models, ModelError> {
        Ok(self.clone())
    }
}
