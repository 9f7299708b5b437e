//! `session list | show | delete`.

use serde_json::json;

use super::App;
use super::args::Session as Args;
use super::memory::{forget, json_of_message, when};
use super::output::{counted, one_line};
use super::report::{Outcome, done};
use crate::memory::{Message, Role, SessionId};
use crate::store::AnyId;

pub fn run(app: &App, args: Args) -> Outcome {
    match args {
        Args::List { json } => list(app, json),
        Args::Show { id, json } => show(app, id, json),
        Args::Delete { id, yes } => forget::run(app, &[AnyId::Session(id)], None, yes),
    }
}

fn list(app: &App, json: bool) -> Outcome {
    let store = app.open_read_only()?;
    let mut sessions = store.read(|r| r.sessions())?;
    sessions.sort_by_key(|s| std::cmp::Reverse((s.updated_at.timestamp, s.id)));
    if json {
        let list: Vec<_> = sessions
            .iter()
            .map(|s| {
                json!({
                    "id": s.id.to_string(),
                    "title": s.title,
                    "created_at": super::memory::rfc3339(s.created_at),
                    "updated_at": super::memory::rfc3339(s.updated_at),
                    "messages": s.n_messages,
                    "imported": s.imported,
                })
            })
            .collect();
        app.console.json(&list)?;
        return done();
    }
    if sessions.is_empty() {
        app.console.note("There are no sessions yet. `inglenook` opens the chat.");
    }
    for s in &sessions {
        app.console.line(&format!(
            "{:<5} {:<17} {:<13} {}{}",
            s.id.to_string(),
            when(s.updated_at),
            counted(s.n_messages, "message"),
            one_line(&s.title, 80),
            if s.imported { " (imported)" } else { "" }
        ))?;
    }
    done()
}

/// Who said a message: a name, "you" or "assistant".
pub fn speaker(message: &Message) -> &str {
    match (&message.speaker, message.role) {
        (Some(name), _) => name,
        (None, Role::User) => "you",
        (None, Role::Assistant) => "assistant",
    }
}

pub fn show(app: &App, id: SessionId, json: bool) -> Outcome {
    let store = app.open_read_only()?;
    let (session, messages) = store.read(|r| Ok((r.session(id)?, r.messages(id)?)))?;
    if json {
        app.console.json(&json!({
            "id": id.to_string(),
            "title": session.title,
            "created_at": super::memory::rfc3339(session.created_at),
            "imported": session.imported,
            "messages": messages.iter().map(json_of_message).collect::<Vec<_>>(),
        }))?;
        return done();
    }
    app.console.line(&format!("{id}  {}", one_line(&session.title, 200)))?;
    app.console.line(&format!(
        "{} · {}",
        when(session.created_at),
        counted(messages.len(), "message")
    ))?;
    for message in &messages {
        app.console.line(&format!(
            "\n{} · {} · {}{}\n{}",
            message.id,
            one_line(speaker(message), 60),
            when(message.created_at),
            if message.complete { "" } else { " · stopped" },
            message.content.trim_end()
        ))?;
    }
    done()
}
