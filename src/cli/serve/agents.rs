//! The memory for agents, at `/mcp`: one message after the other, by a thread of its own, as over stdin and stdout.

use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};

use super::super::App;
use super::super::mcp::{Readers, Server};
use crate::interfaces::Cancel;
use crate::mcp::http::{self, Head, Response};
use crate::server::ApiError;

/// A message, and where its answer goes.
pub struct Asked {
    head: Head,
    body: Vec<u8>,
    unique: String,
    cancel: Cancel,
    answer: Sender<Response>,
}

/// Where messages go; none are taken where the policy forbids it.
pub struct Agents(Option<SyncSender<Asked>>);

/// What takes messages, and what they are for.
pub fn of(is_allowed: bool) -> (Agents, Receiver<Asked>) {
    // Whoever sends one waits for its answer: requests are bounded already.
    let (sender, asked) = sync_channel(0);
    (Agents(is_allowed.then_some(sender)), asked)
}

impl Agents {
    /// Waits for the answer.
    pub fn answer(
        &self,
        head: &Head,
        body: &[u8],
        unique: &str,
        cancel: &Cancel,
    ) -> Result<Response, ApiError> {
        let Some(agents) = &self.0 else {
            return Err(ApiError::forbidden_memory());
        };
        let (answer, answered) = channel();
        let (head, body, cancel) = (head.clone(), body.to_vec(), cancel.clone());
        let _ = agents.send(Asked { head, body, unique: unique.to_owned(), cancel, answer });
        answered.recv().map_err(|_| ApiError::new(503, "The server is stopping."))
    }
}

/// Answers until nothing can be asked any more. The memory of what is noted is built by the worker of the open memory.
pub fn answer_all(app: &App, readers: Readers, asked: Receiver<Asked>) {
    let service = Server::with_readers(app, readers);
    for Asked { head, body, unique, cancel, answer } in asked {
        if !cancel.is_cancelled() {
            let _ = answer.send(http::answer(&service, &head, &body, &unique, &cancel));
        }
    }
}
