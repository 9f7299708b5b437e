//! The whole hierarchy as text, for tests, after a check that it is valid.

use std::fmt::Write;

use super::error::{Result, StoreError};
use super::transaction::Reader;
use crate::memory::Message;

fn line(out: &mut String, message: &Message) {
    let speaker = message.speaker.as_deref().unwrap_or(message.role.as_str());
    let cut = if message.complete { "" } else { " (cut off)" };
    let _ = writeln!(out, "  {} {speaker}: {:?}{cut}", message.id, message.content);
}

impl Reader<'_> {
    /// Sessions with their episodes and messages, themes with their facts, and the queue.
    ///
    /// # Errors
    /// If `verify` finds anything: an invalid memory has no dump.
    pub fn dump(&self) -> Result<String> {
        let violations = self.verify()?;
        if !violations.is_empty() {
            return Err(StoreError::invalid(format!("invalid memory: {}", violations.join("; "))));
        }
        let mut out = String::new();
        let mut sessions = self.sessions()?;
        sessions.sort_by_key(|s| s.id);
        for session in sessions {
            let _ = writeln!(out, "{} {:?}", session.id, session.title);
            let mut last = None;
            for message in self.messages(session.id)? {
                if last != Some(message.episode) {
                    last = Some(message.episode);
                    if let Some(id) = message.episode {
                        for e in self.episodes_by_id(&[id])? {
                            let _ = writeln!(out, " {} {:?} {:?}", e.id, e.title, e.content);
                        }
                    } else {
                        out.push_str(" (open)\n");
                    }
                }
                line(&mut out, &message);
            }
        }
        for theme in self.themes()? {
            let _ = writeln!(out, "{} {:?}", theme.id, theme.name);
            for semantic in self.semantics_by_id(&theme.members)? {
                let episodes = semantic.episodes.iter().map(ToString::to_string);
                let messages = semantic.messages.iter().map(ToString::to_string);
                let from: Vec<String> = episodes.chain(messages).collect();
                let _ =
                    write!(out, "  {} {:?} from {}", semantic.id, semantic.content, from.join(" "));
                if let Some(by) = semantic.superseded_by {
                    let _ = write!(out, " superseded by {by}");
                }
                out.push('\n');
            }
        }
        for job in self.pending_jobs()? {
            let _ = writeln!(out, "job {:?}", job.kind);
        }
        for (job, error) in self.failed_jobs()? {
            let _ = writeln!(out, "failed {:?}: {error}", job.kind);
        }
        Ok(out)
    }
}
