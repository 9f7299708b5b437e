//! An episode → its semantics, attached to themes.

use super::names::{learn_name, learned_name, utterances};
use super::organise;
use crate::extractive::{self, Statement};
use crate::interfaces::Cancel;
use crate::memory::{EpisodeId, Message, MessageId, Origin, SemanticId, plain_text};
use crate::store::{Job, NewSemantic, StoreError, WriteTx};
use crate::worker::step_context::{StepContext, StepError, found};

/// Messages before an episode that a correction or a pronoun in it may be of.
const N_EARLIER: u32 = 24;

impl StepContext {
    /// Routes messages, extracts facts and attaches them: one commit with the job's completion.
    pub(in crate::worker) fn semantics(
        &mut self,
        job: &Job,
        episode: EpisodeId,
        cancel: &Cancel,
    ) -> Result<(), StepError> {
        let read = self.store.read(|r| {
            let mut ids = Vec::new();
            for episode in r.episodes_by_id(&[episode])? {
                ids.extend(episode.messages);
            }
            let written = r.has_written_facts(episode)?;
            let messages = r.messages_by_id(&ids)?;
            let earlier = messages.first().map(|first| r.messages_leading_to(first, N_EARLIER));
            let earlier = earlier.transpose()?.unwrap_or_default();
            let all = earlier.iter().chain(&messages).map(|m| m.id);
            let origins = r.message_origins(all)?;
            Ok((messages, earlier, r.user_name()?, written, origins))
        });
        let Some((messages, earlier, known_name, written, origins)) = found(read)? else {
            return self.finish(job);
        };
        if written {
            return self.finish(job); // by `/remember`
        }
        let name = known_name.or_else(|| learned_name(&messages));
        let mut lines = utterances(&messages, name.as_deref());
        let mut said_earlier = utterances(&earlier, name.as_deref());
        // Of what others wrote, nothing that tells its reader what to answer; a name may do so, too.
        let is_person = |id: &MessageId| origins.get(id) == Some(&Origin::Person);
        for lines in [&mut lines, &mut said_earlier] {
            lines.retain(|line| {
                let mut texts = [&line.text, &line.speaker].into_iter().chain(&line.addressee);
                is_person(&line.message) || !texts.any(|text| extractive::instructs(text))
            });
        }
        let statements = self.writers()?.semantics.statements(&said_earlier, &lines, cancel)?;
        let mut facts = new_facts(statements, &earlier, &messages);
        let refused = self
            .store
            .read(|r| facts.iter().map(|fact| r.is_refused(fact)).collect::<Result<Vec<_>, _>>())?;
        let mut refused = refused.into_iter();
        facts.retain(|_| !refused.next().unwrap_or_default());
        self.insert_facts(facts, cancel, |tx, _| {
            learn_name(tx, name.as_deref())?;
            tx.finish_job(job.id)
        })?;
        Ok(())
    }

    /// Embeds and inserts facts, queues what follows, and runs `also` in the same transaction.
    pub(in crate::worker) fn insert_facts(
        &mut self,
        facts: Vec<NewSemantic>,
        cancel: &Cancel,
        also: impl FnOnce(&mut WriteTx<'_>, &[SemanticId]) -> Result<(), StoreError>,
    ) -> Result<Vec<SemanticId>, StepError> {
        if facts.is_empty() {
            self.commit(|tx| also(tx, &[]))?;
            return Ok(Vec::new());
        }
        let texts: Vec<&str> = facts.iter().map(|f| f.content.as_str()).collect();
        let vectors = self.embed(&texts, cancel)?;
        let inserted = self.commit_with_cache(|tx, cache| {
            let inserted = organise::insert_and_queue(tx, cache, facts, vectors)?;
            also(tx, &inserted.ids)?;
            Ok(inserted)
        })?;
        if !inserted.as_numbered {
            self.cache = None;
        }
        Ok(inserted.ids)
    }
}

/// Statements of an episode's messages, and of some `earlier` ones that they correct, as rows to insert. A fact stated
/// twice is one row with both messages.
pub(super) fn new_facts(
    statements: Vec<Statement>,
    earlier: &[Message],
    messages: &[Message],
) -> Vec<NewSemantic> {
    let mut facts: Vec<NewSemantic> = Vec::new();
    for statement in statements {
        let content = plain_text(&statement.text).trim().to_owned();
        let mut sources: Vec<_> =
            earlier.iter().chain(messages).filter(|m| statement.messages.contains(&m.id)).collect();
        if sources.is_empty() {
            sources = messages.iter().collect();
        }
        let Some(last) = sources.last() else { continue };
        if content.is_empty() {
            continue;
        }
        let ids: Vec<_> = sources.iter().map(|m| m.id).collect();
        if let Some(same) = facts.iter_mut().find(|f| same_text(&f.content, &content)) {
            same.messages.extend(ids);
            same.messages.sort_unstable();
            same.messages.dedup();
            continue;
        }
        facts.push(NewSemantic {
            content,
            subject: statement.subject,
            attribute: statement.attribute,
            created_at: last.created_at,
            messages: ids,
        });
    }
    facts
}

/// Whether two texts differ only in case, spacing and final punctuation.
pub(super) fn same_text(a: &str, b: &str) -> bool {
    let bare = |text: &str| {
        text.split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .trim_end_matches(['.', '!'])
            .to_lowercase()
    };
    bare(a) == bare(b)
}
