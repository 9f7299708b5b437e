//! `memory edit` and `memory undo`: corrections by the person.

use std::io::Read as _;

use super::super::App;
use super::super::output::one_line;
use super::super::report::{Failure, Outcome, done};
use crate::extractive::{THE_USER, as_fact};
use crate::store::{AnyId, StoreError};

pub fn run(app: &App, id: AnyId, text: &str, title: Option<&str>) -> Outcome {
    let text = if text == "-" {
        let mut input = String::new();
        std::io::stdin().lock().read_to_string(&mut input).map_err(|source| Failure::File {
            action: "read",
            path: "stdin".into(),
            source,
        })?;
        input
    } else {
        text.to_owned()
    };
    let text = text.trim();
    if text.is_empty() {
        return Err(Failure::Usage {
            what: "the new text is empty".into(),
            hint: "to remove something, use `inglenook memory forget`".into(),
        });
    }
    match id {
        AnyId::Semantic(id) => {
            let store = app.open()?;
            let embedder = app.embedder()?;
            let stored = store.read(|r| {
                r.semantics_by_id(&[id])?;
                r.embedder_id()
            })?;
            if let Some(found) = stored
                && found != embedder.id()
            {
                let expected = embedder.id().to_owned();
                return Err(StoreError::EmbedderChanged { found, expected }.into());
            }
            let person = store.read(|r| r.user_name())?;
            let line = as_fact(&one_line(text, 2000), person.as_deref().unwrap_or(THE_USER));
            let vector = embedder.embed(&[line.as_str()])?.remove(0);
            store.write(|tx| tx.edit_semantic(id, &line, &vector))?;
            app.console.line(&format!("{id} {line}"))?;
        }
        AnyId::Episode(id) => {
            let store = app.open()?;
            let title = store.write(|tx| {
                let old = tx.episodes_by_id(&[id])?.remove(0);
                let title = title.map_or(old.title, |t| one_line(t, 200));
                tx.edit_episode(id, &title, text)?;
                Ok(title)
            })?;
            app.console.line(&format!("{id} {title}"))?;
        }
        AnyId::Theme(id) => {
            let store = app.open()?;
            let name = one_line(text, 100);
            store.write(|tx| {
                tx.themes_by_id(&[id])?;
                tx.rename_theme(id, &name)
            })?;
            app.console.line(&format!("{id} {name}"))?;
        }
        AnyId::Message(_) | AnyId::Session(_) => {
            return Err(Failure::Usage {
                what: "what was said stays as it was said".into(),
                hint: "facts, episodes and themes can be edited; `memory forget` erases messages"
                    .into(),
            });
        }
    }
    app.console.note("`inglenook memory undo` takes it back.");
    done()
}

/// Takes back the newest act of the person, or of `any`body.
pub fn undo(app: &App, any: bool) -> Outcome {
    let store = app.open()?;
    let undone = store.write(|tx| if any { tx.undo() } else { tx.undo_own() })?;
    match undone {
        Some(undone) => app.console.line(&format!("Undone: {}.", one_line(&undone, 300)))?,
        None => app.console.line("There is nothing to undo.")?,
    }
    done()
}
