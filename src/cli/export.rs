//! `export`: all messages (`jsonl`, `markdown`), or all four levels (`json`).

use std::fmt::Write as _;

use serde_json::json;

use super::App;
use super::args::{self, ExportFormat};
use super::memory::{
    json_of_episode, json_of_semantic, json_of_session, json_of_theme, rfc3339, when,
};
use super::output::{counted, one_line, plain_json};
use super::report::{Failure, Outcome, done};
use super::session::speaker;
use crate::chat::export::write_new;
use crate::memory::{Message, SessionId, plain_text};
use crate::store::{Reader, Session, StoreError};

pub fn run(app: &App, args: &args::Export) -> Outcome {
    let store = app.open_read_only()?;
    let (n, text) = store.read(|reader| {
        let sessions = sessions(reader, args.session)?;
        let n = sessions.iter().map(|(_, messages)| messages.len()).sum();
        let text = match args.format {
            ExportFormat::Jsonl => jsonl(&sessions),
            ExportFormat::Markdown => markdown(&sessions),
            ExportFormat::Json => all_levels(reader, &sessions, args.session)?,
        };
        Ok((n, text))
    })?;
    app.audit("export", n);
    let Some(path) = &args.output else {
        app.console.write_bytes(text.as_bytes())?;
        return done();
    };
    write_new(path, &text).map_err(|source| Failure::File {
        action: "write",
        path: path.display().to_string(),
        source,
    })?;
    app.console.note(&format!("Written to {}.", path.display()));
    done()
}

type WithMessages = Vec<(Session, Vec<Message>)>;

fn sessions(reader: &Reader<'_>, only: Option<SessionId>) -> Result<WithMessages, StoreError> {
    let mut sessions = match only {
        Some(id) => vec![reader.session(id)?],
        None => reader.sessions()?,
    };
    sessions.sort_by_key(|s| (s.created_at.timestamp, s.id));
    sessions
        .into_iter()
        .map(|session| {
            let messages = reader.messages(session.id)?;
            Ok((session, messages))
        })
        .collect()
}

/// The form that `import` reads back: the same messages, ids, names and times.
fn jsonl(sessions: &WithMessages) -> String {
    let mut text = String::new();
    for (session, messages) in sessions {
        for message in messages {
            let mut line = json!({
                "role": message.role.as_str(),
                "content": message.content,
                "created_at": rfc3339(message.created_at),
                "session": session.id.to_string(),
                "title": session.title,
            });
            if let Some(fields) = line.as_object_mut() {
                if let Some(name) = &message.speaker {
                    fields.insert("speaker".into(), json!(name));
                }
                if let Some(id) = &message.external_id {
                    fields.insert("id".into(), json!(id));
                }
            }
            text.push_str(&plain_json(&line.to_string()));
            text.push('\n');
        }
    }
    text
}

fn markdown(sessions: &WithMessages) -> String {
    let mut text = String::new();
    for (session, messages) in sessions {
        let _ = writeln!(text, "# {}\n", one_line(&session.title, 200));
        let _ = writeln!(
            text,
            "*{} · {}*\n",
            when(session.created_at),
            counted(messages.len(), "message")
        );
        for message in messages {
            let _ = writeln!(
                text,
                "**{}** ({})\n\n{}\n",
                one_line(speaker(message), 60),
                when(message.created_at),
                plain_text(message.content.trim())
            );
        }
    }
    text
}

fn all_levels(
    reader: &Reader<'_>,
    sessions: &WithMessages,
    only: Option<SessionId>,
) -> Result<String, StoreError> {
    let mut episodes = reader.episodes()?;
    let mut semantics = reader.semantics()?;
    let mut themes = reader.themes()?;
    if only.is_some() {
        // Only what was derived from the session, and its themes.
        episodes.retain(|e| Some(e.session) == only);
        semantics.retain(|s| s.episodes.iter().any(|id| episodes.iter().any(|e| e.id == *id)));
        for theme in &mut themes {
            theme.members.retain(|id| semantics.iter().any(|s| s.id == *id));
        }
        themes.retain(|t| !t.members.is_empty());
    }
    let mut document = json!({
        "inglenook": env!("CARGO_PKG_VERSION"),
        "sessions": sessions.iter().map(|(s, m)| json_of_session(s, m)).collect::<Vec<_>>(),
        "episodes": episodes.iter().map(json_of_episode).collect::<Vec<_>>(),
        "semantics": semantics.iter().map(json_of_semantic).collect::<Vec<_>>(),
        "themes": themes.iter().map(json_of_theme).collect::<Vec<_>>(),
    });
    if let (None, Some(fields)) = (only, document.as_object_mut()) {
        // What `import` makes a memory of.
        fields.insert("memory".into(), json!(reader.rows()?));
    }
    let text = serde_json::to_string_pretty(&document).unwrap_or_default();
    Ok(plain_json(&text).into_owned() + "\n")
}
