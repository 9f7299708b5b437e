//! The log of the command `llm`, as `llm logs --json -n 0` writes it: prompts with their responses.

use std::collections::BTreeMap;

use serde_json::Value;

use super::chat_service::{Collected, conversations, has_keys, text, time};
use super::{ImportError, ImportFile, ImportFormat, Imported};
use crate::memory::{Moment, NewMessage, Role};

/// Rows with `prompt`, `response` and `datetime_utc`.
pub(super) struct Llm;

impl ImportFormat for Llm {
    fn summary(&self) -> &'static str {
        "llm's logs"
    }

    fn example(&self) -> &'static str {
        "what `llm logs --json -n 0` prints"
    }

    fn sniff(&self, text: &str) -> bool {
        has_keys(text, &["prompt", "response", "datetime_utc"])
    }

    fn read(&self, file: &ImportFile<'_>) -> Result<Imported, ImportError> {
        let rows = conversations(file)?;
        let mut chats: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
        for row in &rows {
            let chat = text(row, "conversation_id").or_else(|| text(row, "id")).unwrap_or_default();
            chats.entry(chat).or_default().push(row);
        }
        let mut collected = Collected::default();
        for (id, mut rows) in chats {
            // Newest first in the log.
            rows.sort_by(|a, b| text(a, "datetime_utc").cmp(&text(b, "datetime_utc")));
            let mut messages = Vec::new();
            for row in &rows {
                let at = time(row.get("datetime_utc"));
                let begun =
                    at.unwrap_or_else(|| Moment::from_civil_utc(jiff::civil::DateTime::ZERO));
                for (role, key) in [(Role::User, "prompt"), (Role::Assistant, "response")] {
                    if let Some(said) = text(row, key) {
                        messages.push((NewMessage::new(role, said, begun), at));
                    }
                }
            }
            let title = rows.first().and_then(|row| text(row, "conversation_name"));
            collected.add(file, (title, Some(id)), None, messages);
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
