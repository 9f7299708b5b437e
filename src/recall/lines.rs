//! Memories as lines of the data block (invariant 6): each one dated, with its speaker, on one line.
//! [`crate::prompts`] makes the lines safe.

use super::stage_one::Coarse;
use crate::extractive;
use crate::memory::{Episode, Message, Role, Semantic};
use crate::prompts::MemoryLine;

/// Who said it; the person is called `user`.
pub(super) fn speaker<'a>(message: &'a Message, user: &'a str) -> &'a str {
    match (&message.speaker, message.role) {
        (Some(name), _) => name,
        (None, Role::User) => user,
        (None, Role::Assistant) => "The assistant",
    }
}

/// `mark` stands behind the text.
fn of_semantic(semantic: &Semantic, mark: &str) -> String {
    let at = semantic.created_at.civil();
    let text = extractive::dated(&semantic.content, at) + mark;
    let superseded = semantic.superseded_by.is_some();
    MemoryLine::Semantic { text: &text, at, superseded }.render()
}

/// `mark` stands behind a line of the person.
pub(super) fn of_message(message: &Message, user: &str, mark: &str) -> String {
    let is_of_user = match &message.speaker {
        Some(name) => name == user,
        None => message.role == Role::User,
    };
    let at = message.created_at.civil();
    // "Yesterday" of another day: a reader would count from today, or take the day of speaking.
    let text = extractive::dated(&message.content, at);
    if is_of_user {
        // Not in the first person: a small reader would take it for its own.
        let text = extractive::retold(&text, user, None) + mark;
        return MemoryLine::Semantic { text: &text, at, superseded: false }.render();
    }
    MemoryLine::Message { speaker: speaker(message, user), text: &text, at }.render()
}

pub(super) fn of_episode(episode: &Episode) -> String {
    MemoryLine::Episode {
        title: &episode.title,
        content: &episode.content,
        at: episode.started_at.civil(),
    }
    .render()
}

/// The coarse context: facts by time under their themes, then the messages by time.
pub(super) fn of_coarse(coarse: &Coarse, user: &str) -> String {
    let mut block = String::new();
    for theme in &coarse.themes {
        let mut facts: Vec<&Semantic> =
            coarse.semantics.iter().map(|s| &s.unit).filter(|s| s.theme == theme.id).collect();
        if facts.is_empty() {
            continue;
        }
        facts.sort_by_key(|s| (s.created_at.timestamp, s.id));
        if !theme.name.trim().is_empty() {
            block += &MemoryLine::Theme { name: &theme.name }.render();
        }
        for fact in facts {
            block += &of_semantic(fact, coarse.mark(coarse.fact_origins.get(&fact.id)));
        }
    }
    let mut messages: Vec<&Message> = coarse.messages.iter().map(|m| &m.unit).collect();
    messages.retain(|m| !coarse.outdated.contains(&m.id));
    messages.sort_by_key(|m| (m.created_at.timestamp, m.id));
    for message in messages {
        block += &of_message(message, user, coarse.mark(coarse.message_origins.get(&message.id)));
    }
    block
}
