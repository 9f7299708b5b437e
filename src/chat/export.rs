//! A chat as a file: Markdown to read, JSON to process. Control characters are removed.

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use serde_json::json;

use crate::memory::{Message, Moment, Role, plain_text};
use crate::store::Session;

/// Writes a new file that only its owner can read.
///
/// # Errors
/// If the file exists or can't be written.
pub fn write_new(path: &Path, text: &str) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    if written.is_err() {
        // Half of it would look like all of it.
        let _ = std::fs::remove_file(path);
    }
    written
}

/// The name of whoever wrote a message.
pub fn speaker(message: &Message) -> &str {
    match (&message.speaker, message.role) {
        (Some(name), _) => name,
        (None, Role::User) => "You",
        (None, Role::Assistant) => "Inglenook",
    }
}

fn stamp(at: Moment) -> String {
    at.civil().strftime("%Y-%m-%d %H:%M").to_string()
}

/// As Markdown.
pub fn markdown(session: &Session, messages: &[Message]) -> String {
    let title = plain_text(&session.title).replace('\n', " ");
    let mut out =
        format!("# {title}\n\n{}, {} messages\n", stamp(session.created_at), messages.len());
    for message in messages {
        // Writing to a string can't fail.
        let name = plain_text(speaker(message)).replace('\n', " ");
        let _ = write!(out, "\n**{name}** · {}", stamp(message.created_at));
        if !message.complete {
            out.push_str(" · stopped");
        }
        out.push_str("\n\n");
        out.push_str(plain_text(&message.content).trim_end());
        out.push('\n');
    }
    out
}

/// As one JSON document: `{title, created_at, messages: [{role, content, …}]}`.
pub fn json(session: &Session, messages: &[Message]) -> String {
    let messages: Vec<_> = messages
        .iter()
        .map(|m| {
            json!({
                "id": m.id.to_string(),
                "role": m.role.as_str(),
                "speaker": m.speaker.as_deref().map(plain_text),
                "content": plain_text(&m.content),
                "created_at": m.created_at.timestamp.to_string(),
                "complete": m.complete,
            })
        })
        .collect();
    let value = json!({
        "title": plain_text(&session.title),
        "created_at": session.created_at.timestamp.to_string(),
        "messages": messages,
    });
    format!("{value:#}\n")
}
