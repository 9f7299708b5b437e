//! The whole hierarchy as text, for tests, after a check that it is valid.
//!
//! Units are numbered in the canonical order, not by their rows: two devices with the same messages, models and versions have the
//! same dump once both have rebuilt their memory.

use std::collections::HashMap;
use std::fmt::Write;

use super::error::{Result, StoreError};
use super::records::{AnyId, JobKind};
use super::transaction::Reader;
use crate::memory::{EpisodeId, SemanticId, SessionId, ThemeId};

/// Each unit's place among those of its level, from 1.
struct Numbers(HashMap<AnyId, i64>);

impl Numbers {
    fn of(&self, id: AnyId) -> i64 {
        self.0.get(&id).copied().unwrap_or(0)
    }

    fn show(&self, id: AnyId) -> String {
        format!("{}{}", &id.to_string()[..1], self.of(id))
    }

    /// The same job, about the unit of that number.
    fn job(&self, kind: &JobKind) -> JobKind {
        match *kind {
            JobKind::Boundary(id) => JobKind::Boundary(SessionId(self.of(AnyId::Session(id)))),
            JobKind::Close(id) => JobKind::Close(SessionId(self.of(AnyId::Session(id)))),
            JobKind::Semantics(id) => JobKind::Semantics(EpisodeId(self.of(AnyId::Episode(id)))),
            JobKind::NameTheme(id) => JobKind::NameTheme(ThemeId(self.of(AnyId::Theme(id)))),
            JobKind::Consolidate(id) => {
                JobKind::Consolidate(SemanticId(self.of(AnyId::Semantic(id))))
            }
            JobKind::Reembed => JobKind::Reembed,
        }
    }
}

impl Reader<'_> {
    fn numbers(&self) -> Result<Numbers> {
        let mut numbers = HashMap::new();
        let (mut n_messages, mut n_episodes) = (0, 0);
        for (n, session) in (1..).zip(self.canonical_sessions()?) {
            numbers.insert(AnyId::Session(session), n);
            for message in self.messages(session)? {
                n_messages += 1;
                numbers.insert(AnyId::Message(message.id), n_messages);
                if let Some(episode) = message.episode.map(AnyId::Episode)
                    && !numbers.contains_key(&episode)
                {
                    n_episodes += 1;
                    numbers.insert(episode, n_episodes);
                }
            }
        }
        numbers.extend((1..).zip(self.semantics()?).map(|(n, s)| (AnyId::Semantic(s.id), n)));
        numbers.extend((1..).zip(self.themes()?).map(|(n, t)| (AnyId::Theme(t.id), n)));
        Ok(Numbers(numbers))
    }

    /// Sessions with their episodes and messages, themes with their facts, and the queue.
    ///
    /// # Errors
    /// If `verify` finds anything: an invalid memory has no dump.
    pub fn dump(&self) -> Result<String> {
        let violations = self.verify()?;
        if !violations.is_empty() {
            return Err(StoreError::invalid(format!("invalid memory: {}", violations.join("; "))));
        }
        let numbers = self.numbers()?;
        let show = |id| numbers.show(id);
        let mut out = String::new();
        for id in self.canonical_sessions()? {
            let session = self.session(id)?;
            let _ = writeln!(out, "{} {:?}", show(AnyId::Session(id)), session.title);
            let mut last = None;
            for message in self.messages(session.id)? {
                if last != Some(message.episode) {
                    last = Some(message.episode);
                    if let Some(id) = message.episode {
                        for e in self.episodes_by_id(&[id])? {
                            let id = show(AnyId::Episode(e.id));
                            let _ = writeln!(out, " {id} {:?} {:?}", e.title, e.content);
                        }
                    } else {
                        out.push_str(" (open)\n");
                    }
                }
                let speaker = message.speaker.as_deref().unwrap_or(message.role.as_str());
                let cut = if message.complete { "" } else { " (cut off)" };
                let id = show(AnyId::Message(message.id));
                let _ = writeln!(out, "  {id} {speaker}: {:?}{cut}", message.content);
            }
        }
        for theme in self.themes()? {
            let _ = writeln!(out, "{} {:?}", show(AnyId::Theme(theme.id)), theme.name);
            for semantic in self.semantics_by_id(&theme.members)? {
                let episodes = semantic.episodes.iter().map(|id| AnyId::Episode(*id));
                let messages = semantic.messages.iter().map(|id| AnyId::Message(*id));
                let mut from: Vec<AnyId> = episodes.chain(messages).collect();
                from.sort_by_key(|id| (matches!(id, AnyId::Message(_)), numbers.of(*id)));
                let from: Vec<String> = from.into_iter().map(show).collect();
                let id = show(AnyId::Semantic(semantic.id));
                let _ = write!(out, "  {id} {:?} from {}", semantic.content, from.join(" "));
                if let Some(by) = semantic.superseded_by {
                    let _ = write!(out, " superseded by {}", show(AnyId::Semantic(by)));
                }
                out.push('\n');
            }
        }
        for job in self.pending_jobs()? {
            let _ = writeln!(out, "job {:?}", numbers.job(&job.kind));
        }
        for (job, error) in self.failed_jobs()? {
            let _ = writeln!(out, "failed {:?}: {error}", numbers.job(&job.kind));
        }
        Ok(out)
    }
}
