//! The log of the command `llm`, as `llm logs --json -n 0` writes it: prompts with their responses.

use std::collections::BTreeMap;

use super::chat_service::{Collected, has_keys, sent, text, time};
use super::json::elements;
use super::{ImportError, ImportFile, ImportFormat, Imported};
use crate::memory::{Moment, Role};

/// Rows with `prompt`, `response` and `conversation_id`.
pub(super) struct Llm;

struct Row {
    at: Option<Moment>,
    title: Option<String>,
    said: [(Role, Option<String>); 2],
}

impl ImportFormat for Llm {
    fn summary(&self) -> &'static str {
        "llm's logs"
    }

    fn example(&self) -> &'static str {
        "what `llm logs --json -n 0` prints"
    }

    fn sniff(&self, text: &str) -> bool {
        has_keys(text, &["prompt", "response", "conversation_id"])
    }

    fn read(&self, file: &ImportFile<'_>) -> Result<Imported, ImportError> {
        let mut chats: BTreeMap<String, Vec<Row>> = BTreeMap::new();
        elements(file, |row| {
            let field = |key| text(&row, key).map(str::to_owned);
            let chat = field("conversation_id").or_else(|| field("id")).unwrap_or_default();
            chats.entry(chat).or_default().push(Row {
                at: time(row.get("datetime_utc")),
                title: field("conversation_name"),
                said: [(Role::User, field("prompt")), (Role::Assistant, field("response"))],
            });
            Ok(())
        })?;
        let mut collected = Collected::default();
        for (id, mut rows) in chats {
            // Newest first in the log.
            rows.sort_by_key(|row| row.at.map(|at| at.timestamp));
            let title = rows.first_mut().and_then(|row| row.title.take());
            let mut messages = Vec::new();
            for Row { at, said, .. } in rows {
                for (role, said) in said {
                    messages.extend(said.map(|said| sent(role, said, at, None)));
                }
            }
            collected.add(file, (title.as_deref(), Some(&id)), None, messages);
        }
        collected.finish(file)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::parse;

    #[test]
    fn rows_become_conversations() {
        let row = |id: &str, prompt: &str, at: &str| {
            json!({"id": id, "model": "m", "prompt": prompt, "response": "yes", "datetime_utc": at,
                "conversation_id": "c", "conversation_name": "Peas"})
        };
        let file =
            json!([row("2", "two", "2026-03-02T08:00:00"), row("1", "one", "2026-03-01T08:00:00")]);
        let imported = parse(file.to_string().as_bytes(), "logs.json", None).unwrap();
        let said: Vec<&str> =
            imported.sessions[0].messages.iter().map(|m| m.content.as_str()).collect();
        assert_eq!(said, ["one", "yes", "two", "yes"]);
    }
}
