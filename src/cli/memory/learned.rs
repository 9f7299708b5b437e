//! `memory learned`: what came of imports and was not looked through yet.

use std::collections::HashMap;

use serde_json::json;

use super::super::App;
use super::super::output::one_line;
use super::super::report::{Failure, Outcome, done};
use super::super::session::SOURCE_CHARS_MAX;
use super::{day, rfc3339};
use crate::memory::{Semantic, SemanticId};

pub fn run(app: &App, import: Option<&str>, json: bool) -> Outcome {
    let store = app.open_read_only()?;
    let (mut imports, facts) = store.read(|r| {
        let imports = r.learned()?;
        let ids: Vec<SemanticId> =
            imports.iter().flat_map(|import| &import.facts).map(|(id, _)| *id).collect();
        Ok((imports, r.semantics_by_id(&ids)?))
    })?;
    if let Some(wanted) = import {
        let names: Vec<String> =
            imports.iter().map(|import| one_line(&import.source, SOURCE_CHARS_MAX)).collect();
        imports.retain(|import| import.source == wanted);
        if imports.is_empty() {
            let hint = match names.as_slice() {
                [] => "nothing from any import is left to look through".into(),
                names => format!("there is something from {}", names.join(", ")),
            };
            let what = format!("nothing from {} is to be looked through", one_line(wanted, 80));
            return Err(Failure::Usage { what, hint });
        }
    }
    let facts: HashMap<SemanticId, Semantic> = facts.into_iter().map(|f| (f.id, f)).collect();
    if json {
        let fact = |(id, chat): &(SemanticId, String)| {
            let fact = facts.get(id)?;
            let at = rfc3339(fact.created_at);
            Some(json!({ "id": id.to_string(), "text": fact.content, "at": at, "chat": chat }))
        };
        let import = |import: &crate::store::Learned| {
            let facts: Vec<_> = import.facts.iter().filter_map(fact).collect();
            json!({ "import": import.source, "facts": facts })
        };
        app.console.json(&imports.iter().map(import).collect::<Vec<_>>())?;
        return done();
    }
    if imports.is_empty() {
        app.console.note("Nothing from an import is left to look through.");
    }
    for (n, import) in imports.iter().enumerate() {
        let gap = if n > 0 { "\n" } else { "" };
        app.console.line(&format!("{gap}{}", one_line(&import.source, SOURCE_CHARS_MAX)))?;
        for (id, chat) in &import.facts {
            let Some(fact) = facts.get(id) else { continue };
            let (id, day, chat) = (id.to_string(), day(fact.created_at), one_line(chat, 60));
            let text = one_line(&fact.content, 300);
            app.console.line(&format!("{id:<6} {day:<12} {text}  ({chat})"))?;
        }
    }
    if !imports.is_empty() {
        app.console.note(
            "\n/learned in the chat keeps, corrects or throws away; here `inglenook memory edit` and `memory forget --only` do.",
        );
    }
    done()
}
