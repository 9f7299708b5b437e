//! Messages, replies and the evidence of an answer: on disk before anybody relies on them.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::chat::executor::{Executor, lock};
use crate::chat::machine::{MessageKind, Reply, SavedReply, TurnEvent, UserMessage};
use crate::chat::policy;
use crate::chat::quote::Cited;
use crate::chat::sampling::written;
use crate::chat::sureness::Sureness;
use crate::error_chain::error_chain;
use crate::memory::{Message, MessageId, NewMessage, Role, SessionId, plain_text};
use crate::recall::Evidence;
use crate::store::{AnyId, JobKind, Store, StoreError};
use crate::texts::text;
use crate::worker::Worker;

impl Executor {
    pub(super) fn save_user(&self, message: UserMessage) -> TurnEvent {
        let saved = match (message.kind, &self.background) {
            (MessageKind::Remember, Some(worker)) => remember(self.chat_store(), worker, &message),
            _ => self.append_user(&message).map_err(|error| error_chain(&error)),
        };
        match saved {
            Ok(saved) => TurnEvent::UserSaved {
                title: message.title,
                message: saved,
                user_name: self.user_name(),
            },
            Err(error) => TurnEvent::NotSaved { error },
        }
    }

    fn append_user(&self, message: &UserMessage) -> Result<Message, StoreError> {
        let UserMessage { session, title, text, at, kind, .. } = message;
        let incognito = self.private.is_some();
        let job = |session| match kind {
            MessageKind::Chat => JobKind::Boundary(session),
            // What is to be remembered need not wait for the end of a topic.
            MessageKind::Remember => JobKind::Close(session),
        };
        self.chat_store().write(|tx| {
            let session = match session {
                Some(session) => {
                    let session = tx.own_session(*session, *at)?;
                    if policy::names_better(title, &tx.session(session)?.title) {
                        tx.rename_session(session, title)?;
                    }
                    session
                }
                None => tx.create_session(title, *at, false)?,
            };
            let new = NewMessage::new(Role::User, text.as_str(), *at);
            let id = tx.append_message(session, &new)?;
            if !incognito {
                tx.enqueue(&job(session))?;
                tx.keep_sampling(session, &written(&self.parts.config.sampling.chat))?;
            }
            Ok(tx.messages_by_id(&[id])?.remove(0))
        })
    }

    pub(super) fn save_reply(&self, reply: &Reply) -> TurnEvent {
        match self.write_reply(reply) {
            Ok((message, record)) => {
                let data = lock(&self.data);
                let tokens_per_second = (data.n_generated > 1 && data.generating_seconds > 0.0)
                    .then(|| (data.n_generated - 1) as f64 / data.generating_seconds);
                TurnEvent::ReplySaved(SavedReply { message, record, tokens_per_second })
            }
            Err(error) => TurnEvent::NotSaved { error: error_chain(&error) },
        }
    }

    fn write_reply(&self, reply: &Reply) -> Result<(Message, Value), StoreError> {
        let Reply { session, complete, last, cited, replaces, .. } = reply;
        // A model's text is hostile input; the person's own words are kept as they are.
        let text = plain_text(reply.text.trim()).into_owned();
        let record = if *last { self.record(&text, cited) } else { Value::Null };
        let (begun, n_forgettings) = {
            let data = lock(&self.data);
            (data.reply, data.n_forgettings)
        };
        let at = self.parts.clock.now();
        let saved = self.chat_store().write(|tx| {
            let gone = tx.forgotten_since(n_forgettings)?;
            if self.private.is_none() && self.rests_on(*session, gone.as_ref()) {
                // So may what was saved of it on the way.
                if let Some(id) = begun.filter(|id| tx.messages_by_id(&[*id]).is_ok()) {
                    let plan = tx.plan_forget(&[AnyId::Message(id)], None)?;
                    tx.forget(&plan)?;
                }
                return Ok(None);
            }
            let id = if let Some(id) = begun {
                tx.finish_message(id, &text, *complete)?;
                id
            } else {
                let new = NewMessage::new(Role::Assistant, text.as_str(), at);
                // Another version of another device's reply stands in its place in a fork.
                let is_foreign = tx.is_foreign(*session)?;
                let session = match replaces.first() {
                    Some(first) if is_foreign => {
                        let title = tx.session(*session)?.title;
                        tx.fork_session(*session, *first, &title, at)?
                    }
                    _ => tx.own_session(*session, at)?,
                };
                let id = tx.append_message(session, &NewMessage { complete: *complete, ..new })?;
                if !replaces.is_empty() && !is_foreign {
                    tx.choose_reply(id, replaces.iter().copied())?;
                }
                id
            };
            if *last {
                tx.record_answer(id, &record)?;
            }
            Ok(Some(tx.messages_by_id(&[id])?.remove(0)))
        })?;
        let Some(message) = saved else {
            if lock(&self.data).reply.take().is_some() {
                self.chat_store().scrub()?;
            }
            let what = text!(
                "something that it may rest on was forgotten meanwhile (/retry answers again)"
            );
            return Err(StoreError::Invalid { what: what.into() });
        };
        lock(&self.data).reply = Some(message.id);
        Ok((message, record))
    }

    /// Whether the reply may rest on something of this, `None` being everything: its chat, or what was recalled for it.
    fn rests_on(&self, session: SessionId, gone: Option<&HashSet<AnyId>>) -> bool {
        let Some(gone) = gone else { return true };
        !gone.is_empty()
            && (gone.contains(&AnyId::Session(session))
                || lock(&self.data).recalled.as_ref().is_some_and(|e| e.mentions(gone)))
    }

    /// The record of an answer, in the form of `ask --json`.
    fn record(&self, answer: &str, cited: &Cited) -> Value {
        let data = lock(&self.data);
        let recalled = data.recalled.as_ref().map_or(Value::Null, Evidence::to_json);
        let part = |key: &str| recalled.get(key).cloned();
        let tokens = |key: &str| {
            recalled.pointer(&format!("/tokens/{key}")).and_then(Value::as_u64).unwrap_or(0)
        };
        let mut evidence = part("evidence")
            .unwrap_or_else(|| json!({"themes": [], "semantics": [], "episodes": []}));
        let mut cited = cited.clone();
        // What was found, but not read, the model's reply does not rest on.
        if !data.reads_recalled {
            cited.recalled.get_or_insert_default();
        }
        data.below.iter().for_each(|below| cited.add(below));
        let from_chat =
            self.chat_store().read(|r| r.messages_by_id(&cited.from_chat)).unwrap_or_default();
        for message in from_chat {
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
        let quoted = cited.recalled.as_ref();
        let quoted = quoted.map(|texts| quoted_ids(&evidence, texts, &cited.from_chat));
        let sureness = cited.sureness.or(data.sureness.filter(|_| cited.recalled.is_none()));
        json!({
            "answer": answer,
            "model": data.speaks.clone().or_else(|| Some(self.parts.loaded()?.profile.name)),
            "evidence": evidence,
            "quoted": quoted,
            "sureness": sureness.map(Sureness::as_str),
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

/// `/remember`: the worker extracts facts from it at once.
fn remember(store: &Store, worker: &Worker, message: &UserMessage) -> Result<Message, String> {
    let UserMessage { title, text, at, .. } = message;
    let in_words = |error: StoreError| error_chain(&error);
    let session = match message.session {
        Some(session) => store.write(|tx| tx.own_session(session, *at)).map_err(in_words)?,
        None => store.write(|tx| tx.create_session(title, *at, false)).map_err(in_words)?,
    };
    worker.remember(session, text).map_err(|error| error_chain(&error))?;
    let messages = store.read(|r| r.messages(session)).map_err(in_words)?;
    let message = messages.into_iter().rfind(|m| m.role == Role::User);
    message.ok_or_else(|| text!("the message was not kept").into())
}

/// Ids of the evidence that an extractive reply quotes. Forgetting goes by them: a fact that was
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
