//! Open WebUI's export of chats: each with a `history` of messages that point to their parents.

use serde_json::Value;

use super::chat_service::{Collected, branch, conversations, has_keys, text, time};
use super::{ImportError, ImportFile, ImportFormat, Imported};
use crate::memory::{Moment, NewMessage, Role};

/// Chats with `history` and `currentId`.
pub(super) struct OpenWebUi;

impl ImportFormat for OpenWebUi {
    fn summary(&self) -> &'static str {
        "Open WebUI's"
    }

    fn example(&self) -> &'static str {
        "Open WebUI's exported chats"
    }

    fn sniff(&self, text: &str) -> bool {
        has_keys(text, &["chat", "history", "currentId"])
    }

    fn read(&self, file: &ImportFile<'_>) -> Result<Imported, ImportError> {
        let mut collected = Collected::default();
        for whole in &conversations(file)? {
            let Some(chat) = whole.get("chat") else { continue };
            let history = chat.get("history").unwrap_or(&Value::Null);
            let Some(all) = history.get("messages").and_then(Value::as_object) else { continue };
            let node = |id: &str| all.get(id).map(|node| (node, text(node, "parentId")));
            let shown = branch(text(history, "currentId"), node, all.len());
            let messages: Vec<_> = shown.into_iter().filter_map(|(id, m)| message(id, m)).collect();
            let names = (text(whole, "title").or_else(|| text(chat, "title")), text(whole, "id"));
            collected.add(file, names, time(whole.get("created_at")), messages);
        }
        collected.finish(file)
    }
}

fn message(id: &str, message: &Value) -> Option<(NewMessage, Option<Moment>)> {
    let role = match text(message, "role")? {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        _ => return None,
    };
    let at = time(message.get("timestamp"));
    let begun = at.unwrap_or_else(|| Moment::from_civil_utc(jiff::civil::DateTime::ZERO));
    let said = text(message, "content")?;
    let new = NewMessage { external_id: Some(id.to_owned()), ..NewMessage::new(role, said, begun) };
    Some((new, at))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::parse;

    #[test]
    fn the_current_branch_is_read() {
        let file = json!([{"id": "x", "title": "Peas", "created_at": 1_700_000_000, "chat": {"title": "Peas",
        "history": {"currentId": "c", "messages": {
            "a": {"id": "a", "parentId": null, "role": "user", "content": "When?", "timestamp": 1_700_000_001},
            "b": {"id": "b", "parentId": "a", "role": "assistant", "content": "Never.", "timestamp": 1_700_000_002},
            "c": {"id": "c", "parentId": "a", "role": "assistant", "content": "In March.", "timestamp": 1_700_000_009},
        }}}}]);
        let imported = parse(file.to_string().as_bytes(), "chats.json", None).unwrap();
        let said: Vec<&str> =
            imported.sessions[0].messages.iter().map(|m| m.content.as_str()).collect();
        assert_eq!(said, ["When?", "In March."]);
    }
}
