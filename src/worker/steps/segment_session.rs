//! Messages → episodes.

use std::collections::BTreeMap;

use jiff::SignedDuration;

use super::names::{cut, learn_name, learned_name, utterances};
use crate::interfaces::Cancel;
use crate::memory::{Embedding, Message, MessageId, Role, SessionId};
use crate::store::{Job, JobKind, Level, StoreError, WriteTx};
use crate::worker::segment::{LOOK_BACK, MESSAGES_MAX, Turn, first_boundary, mean_similarity};
use crate::worker::step_context::{StepContext, StepError, found};

/// A reply unfinished for longer than this never will be: its process died.
const STREAMING_MAX: SignedDuration = SignedDuration::from_mins(10);

type Vectors = BTreeMap<MessageId, Embedding>;

impl StepContext {
    /// Writes the session's episodes that have ended and, with `close`, the open one. Each episode is a
    /// commit; after a crash the rest is cut the same way (see `segment`).
    pub(in crate::worker) fn segment(
        &mut self,
        job: &Job,
        session: SessionId,
        close: bool,
        cancel: &Cancel,
    ) -> Result<(), StepError> {
        let read = self.store.read(|r| {
            r.session(session)?;
            r.messages(session)
        });
        let Some(messages) = found(read)? else { return self.finish(job) };
        let (known, mut new_vectors) = self.vectors_of(&messages, cancel)?;
        let turns = turns(&messages, &known);
        let name = self.store.read(|r| r.user_name())?.or_else(|| learned_name(&messages));
        let writers = self.writers()?;
        let lines = utterances(&messages, name.as_deref());

        let mut runs = open_runs(&messages);
        if close && let Some(end) = self.streaming_from(&messages) {
            for run in &mut runs {
                run.1 = run.1.min(end);
            }
        }
        for (mut start, end) in runs {
            // Only the run at the session's end is still being written.
            let live = !close && end == messages.len();
            while start < end {
                let boundary = first_boundary(&turns[start..end], |k, dip| {
                    writers.boundary.boundary(
                        &lines[start..start + k],
                        &lines[start + k],
                        dip,
                        cancel,
                    )
                })?;
                let stop = match boundary {
                    Some((n, _)) => start + n,
                    None if live => break,
                    None => end,
                };
                let text = self.namers()?.episode.episode(&lines[start..stop], cancel)?;
                let vector = self.embed(&[&format!("{}. {}", text.title, text.content)], cancel)?;
                let run: Vec<MessageId> = messages[start..stop].iter().map(|m| m.id).collect();
                let vectors = std::mem::take(&mut new_vectors);
                self.commit(|tx| {
                    still_wanted(tx, job)?;
                    learn_name(tx, name.as_deref())?;
                    for (message, vector) in &vectors {
                        tx.put_embedding(Level::Message, message.0, vector)?;
                    }
                    let episode = tx.insert_episode(session, &text.title, &text.content, &run)?;
                    for vector in &vector {
                        tx.put_embedding(Level::Episode, episode.0, vector)?;
                    }
                    tx.enqueue(&JobKind::Semantics(episode))
                })?;
                start = stop;
            }
        }
        self.commit(|tx| {
            learn_name(tx, name.as_deref())?;
            for (message, vector) in &new_vectors {
                tx.put_embedding(Level::Message, message.0, vector)?;
            }
            tx.finish_job(job.id)
        })
    }

    /// Where the reply that is still streaming begins, together with its question.
    fn streaming_from(&self, messages: &[Message]) -> Option<usize> {
        let last = messages.last()?;
        let age = self.clock.now().timestamp.duration_since(last.created_at.timestamp);
        let may_stream = self.config.live || self.is_beside_others;
        if last.complete || !may_stream || age > STREAMING_MAX {
            return None;
        }
        let replies = messages.iter().rev().take_while(|m| m.role == Role::Assistant).count();
        Some(messages.len().saturating_sub(replies + 1))
    }

    /// The vectors that segmentation needs, and those among them that are new: of complete messages that had none.
    fn vectors_of(
        &self,
        messages: &[Message],
        cancel: &Cancel,
    ) -> Result<(Vectors, Vec<(MessageId, Embedding)>), StepError> {
        // Only open messages and the few before them matter.
        let first = open_runs(messages).first().map_or(messages.len(), |run| run.0);
        let near = &messages[first.saturating_sub(LOOK_BACK)..];
        let mut all = Vectors::new();
        self.store.read(|r| {
            for message in near {
                if let Some(vector) = r.embedding(Level::Message, message.id.0)? {
                    all.insert(message.id, vector);
                }
            }
            Ok(())
        })?;
        let missing: Vec<&Message> =
            near.iter().filter(|m| m.complete && !all.contains_key(&m.id)).collect();
        let texts: Vec<&str> = missing.iter().map(|m| cut(&m.content)).collect();
        let vectors = self.embed(&texts, cancel)?;
        let new: Vec<(MessageId, Embedding)> = missing.iter().map(|m| m.id).zip(vectors).collect();
        all.extend(new.iter().cloned());
        Ok((all, new))
    }
}

/// Guards a commit before the job's last one: if something was forgotten since the step began, the
/// step's text may contain it. The store has then queued the job again under another id.
fn still_wanted(tx: &WriteTx<'_>, job: &Job) -> Result<(), StoreError> {
    if tx.pending_jobs()?.iter().any(|pending| pending.id == job.id) {
        return Ok(());
    }
    Err(StoreError::NotFound { what: "running job", id: job.id.to_string() })
}

/// Maximal runs `start..end` of adjacent messages that are in no episode. There is more than one only
/// after part of an episode was forgotten.
fn open_runs(messages: &[Message]) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for (i, message) in messages.iter().enumerate() {
        if message.episode.is_some() {
            continue;
        }
        match runs.last_mut() {
            Some(run) if run.1 == i => run.1 = i + 1,
            _ => runs.push((i, i + 1)),
        }
    }
    runs
}

/// The open runs, cut into the longest episodes without looking at their content.
pub(super) fn open_spans(messages: &[Message]) -> impl Iterator<Item = (usize, usize)> {
    open_runs(messages).into_iter().flat_map(|(start, end)| {
        (start..end).step_by(MESSAGES_MAX).map(move |at| (at, (at + MESSAGES_MAX).min(end)))
    })
}

fn turns(messages: &[Message], vectors: &Vectors) -> Vec<Turn> {
    messages
        .iter()
        .enumerate()
        .map(|(i, message)| {
            let before = &messages[i.saturating_sub(LOOK_BACK)..i];
            let is_person = message.role == Role::User || message.speaker.is_some();
            let asked = before.last().is_some_and(|m| m.content.trim_end().ends_with('?'));
            Turn {
                at: message.created_at,
                may_start: is_person && !asked,
                similarity: vectors.get(&message.id).and_then(|vector| {
                    mean_similarity(vector, before.iter().filter_map(|m| vectors.get(&m.id)))
                }),
            }
        })
        .collect()
}
