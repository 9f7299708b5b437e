//! `/remember`: stores a text as a message, an episode and facts in one transaction.

use std::sync::Arc;

use super::names::{learn_name, learned_name, utterances};
use super::segment_session::open_spans;
use super::semantics::new_facts;
use crate::extractive::Statement;
use crate::interfaces::{Cancel, Clock, Models};
use crate::memory::{Message, MessageId, NewMessage, Role, SemanticId, SessionId};
use crate::store::{JobKind, Level, Store, StoreError};
use crate::worker::step_context::{StepContext, StepError, check_embedder};
use crate::worker::writer::{Extractive, Writer};
use crate::worker::{WorkerConfig, WorkerError};

/// Stores `text` and returns its facts, which rules extract: no model is asked, and the text is durable
/// when this returns. If the rules find no statement, the whole text is the fact. Earlier messages of
/// the session that are in no episode become one of their own, because episodes are contiguous.
///
/// # Errors
/// If the text is empty, or the store or the embedder fails; then nothing is stored.
pub fn remember(
    store: &Store,
    models: &Models,
    clock: Arc<dyn Clock>,
    session: SessionId,
    text: &str,
) -> Result<Vec<SemanticId>, WorkerError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(WorkerError::NothingToRemember);
    }
    let mut context =
        StepContext::new(store.clone(), models.clone(), clock, WorkerConfig::default());
    let mut kept = context.remember(session, text);
    // Another process may have closed or forgotten meanwhile what stands before it.
    if let Err(StepError::Store(StoreError::Invalid { .. } | StoreError::NotFound { .. })) = &kept {
        kept = context.remember(session, text);
    }
    kept.map_err(WorkerError::from)
}

impl StepContext {
    fn remember(&mut self, session: SessionId, text: &str) -> Result<Vec<SemanticId>, StepError> {
        let cancel = Cancel::default();
        let now = self.clock.now();
        let embedder = Arc::clone(&self.models.embedder);
        let (before, known_name) =
            self.store.read(|r| Ok((r.messages(session)?, r.user_name()?)))?;
        // The message's id is not known yet; only its own statements refer to it.
        let draft = Message::unkept(session, Role::User, text, now);
        let name = known_name.or_else(|| learned_name(std::slice::from_ref(&draft)));
        let lines = utterances(std::slice::from_ref(&draft), name.as_deref());
        let mut statements = Extractive.statements(&[], &lines, &cancel)?;
        if statements.is_empty() {
            statements.push(Statement {
                text: text.to_owned(),
                subject: None,
                attribute: None,
                value: None,
                messages: vec![draft.id],
            });
        }
        let told = Extractive.episode(&lines, &cancel)?;
        let earlier_lines = utterances(&before, name.as_deref());
        let mut earlier = Vec::new();
        for (start, end) in open_spans(&before) {
            let told = Extractive.episode(&earlier_lines[start..end], &cancel)?;
            let run: Vec<MessageId> = before[start..end].iter().map(|m| m.id).collect();
            earlier.push((told, run));
        }
        let told_text = format!("{}. {}", told.title, told.content);
        let vectors = self.embed(&[text, &told_text], &cancel)?;
        let mut facts = new_facts(statements, &[], std::slice::from_ref(&draft));
        let texts: Vec<&str> = facts.iter().map(|f| f.content.as_str()).collect();
        let fact_vectors = self.embed(&texts, &cancel)?;
        self.commit_with_cache(move |tx, cache| {
            check_embedder(tx.embedder_id()?, &*embedder)?;
            tx.use_embedder(embedder.id(), embedder.dimensions())?;
            learn_name(tx, name.as_deref())?;
            for (told, run) in earlier {
                let episode = tx.insert_episode(session, &told.title, &told.content, &run)?;
                tx.enqueue(&JobKind::Semantics(episode))?;
            }
            let new = NewMessage::new(Role::User, draft.content, now);
            let message = tx.append_message(session, &new)?;
            let episode = tx.insert_episode(session, &told.title, &told.content, &[message])?;
            for fact in &mut facts {
                fact.messages = vec![message];
            }
            if let [of_message, of_episode] = &vectors[..] {
                tx.put_embedding(Level::Message, message.0, of_message)?;
                tx.put_embedding(Level::Episode, episode.0, of_episode)?;
            }
            super::organise::insert_and_queue(tx, cache, facts, fact_vectors)
        })
        .map(|inserted| inserted.ids)
    }
}
