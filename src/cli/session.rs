//! `session list | show | delete`.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::App;
use super::args::Session as Args;
use super::memory::{forget, json_of_session, rfc3339, show, when};
use super::output::{counted, one_line};
use super::report::{Outcome, done};
use crate::memory::{Message, Role, SessionId};
use crate::store::{AnyId, Reader, Session, StoreError};

pub fn run(app: &App, args: Args) -> Outcome {
    match args {
        Args::List { json } => list(app, json),
        Args::Show { id, json } => show::run(app, AnyId::Session(id), json),
        Args::Delete { id, yes, .. } => {
            forget::run(app, forget::Forgotten::Units(&[AnyId::Session(id)]), yes)
        }
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
                    "created_at": rfc3339(s.created_at),
                    "updated_at": rfc3339(s.updated_at),
                    "messages": s.n_messages,
                    "imported": s.imported,
                    "source": s.source,
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
            origin(s)
        ))?;
    }
    done()
}

/// Of a file's name.
pub const SOURCE_CHARS_MAX: usize = 60;

fn origin(session: &Session) -> String {
    match &session.source {
        Some(source) => format!(" (from {})", one_line(source, SOURCE_CHARS_MAX)),
        None if session.imported => " (imported)".to_owned(),
        None => String::new(),
    }
}

/// Who said a message: a name, "you" or "assistant".
pub fn speaker(message: &Message) -> &str {
    match (&message.speaker, message.role) {
        (Some(name), _) => name,
        (None, Role::User) => "you",
        (None, Role::Assistant) => "assistant",
    }
}

/// A session with its messages, for machines and for people.
pub fn show(r: &Reader<'_>, id: SessionId) -> Result<(Value, String), StoreError> {
    let (session, messages) = (r.session(id)?, r.messages(id)?);
    let value = json_of_session(&session, &messages);
    let mut text = format!("{id}  {}\n", one_line(&session.title, 200));
    let n = counted(messages.len(), "message");
    let _ = writeln!(text, "{} · {n}", when(session.created_at));
    for message in &messages {
        let _ = writeln!(
            text,
            "\n{} · {} · {}{}\n{}",
            message.id,
            one_line(speaker(message), 60),
            when(message.created_at),
            if message.complete { "" } else { " · stopped" },
            message.content.trim_end()
        );
    }
    Ok((value, text))
}
