//! Claude's data export: `conversations.json`, alone or in its zip.

use serde_json::Value;

use super::chat_service::{Collected, conversations, has_keys, text, time};
use super::{ImportError, ImportFile, ImportFormat, Imported};
use crate::memory::{Moment, NewMessage, Role};

/// Conversations with `chat_messages`.
pub(super) struct Claude;

impl ImportFormat for Claude {
    fn summary(&self) -> &'static str {
        "Claude's export"
    }

    fn example(&self) -> &'static str {
        "Claude's export (its zip, or conversations.json)"
    }

    fn sniff(&self, text: &str) -> bool {
        has_keys(text, &["chat_messages"])
    }

    fn read(&self, file: &ImportFile<'_>) -> Result<Imported, ImportError> {
        let mut collected = Collected::default();
        for conversation in &conversations(file)? {
            let all = conversation.get("chat_messages").and_then(Value::as_array);
            let messages: Vec<_> = all
                .into_iter()
                .flatten()
                .filter_map(|m| message(m, &mut collected.n_left_out))
                .collect();
            let names = (text(conversation, "name"), text(conversation, "uuid"));
            collected.add(file, names, time(conversation.get("created_at")), messages);
        }
        collected.finish(file)
    }
}

fn message(message: &Value, n_left_out: &mut usize) -> Option<(NewMessage, Option<Moment>)> {
    let role = match text(message, "sender")? {
        "human" => Role::User,
        "assistant" => Role::Assistant,
        _ => return None,
    };
    let blocks = message.get("content").and_then(Value::as_array);
    let mut said: Vec<String> = Vec::new();
    for block in blocks.into_iter().flatten() {
        match (text(block, "type"), text(block, "text")) {
            (Some("text"), Some(part)) => said.push(part.to_owned()),
            _ => *n_left_out += 1,
        }
    }
    if said.is_empty() {
        said.extend(text(message, "text").map(str::to_owned));
    }
    // What the person attached is what they said, too.
    for attached in message.get("attachments").and_then(Value::as_array).into_iter().flatten() {
        match text(attached, "extracted_content") {
            Some(content) => {
                let name = text(attached, "file_name").unwrap_or("attachment");
                said.push(format!("{name}:\n{content}"));
            }
            None => *n_left_out += 1,
        }
    }
    let at = time(message.get("created_at"));
    let begun = at.unwrap_or_else(|| Moment::from_civil_utc(jiff::civil::DateTime::ZERO));
    let new = NewMessage {
        external_id: text(message, "uuid").map(str::to_owned),
        ..NewMessage::new(role, said.join("\n\n"), begun)
    };
    Some((new, at))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::parse;

    #[test]
    fn messages_with_blocks_and_attachments_are_read() {
        let file = json!([{
            "uuid": "c1", "name": "Garden", "created_at": "2026-03-01T08:00:00.123456Z",
            "chat_messages": [
                {"uuid": "m1", "sender": "human", "text": "old form", "created_at": "2026-03-01T08:00:01Z",
                 "content": [{"type": "text", "text": "When do I sow peas?"}],
                 "attachments": [{"file_name": "beds.txt", "extracted_content": "bed 1: peas"}, {"file_name": "x.png"}]},
                {"uuid": "m2", "sender": "assistant", "text": "In March.", "created_at": "2026-03-01T08:00:05Z",
                 "content": []},
                {"uuid": "m3", "sender": "human", "text": "", "created_at": "2026-03-01T08:01:00Z",
                 "content": [{"type": "tool_use", "name": "x"}]},
            ],
        }, {"uuid": "c2", "name": "", "chat_messages": []}]);
        let imported = parse(file.to_string().as_bytes(), "conversations.json", None).unwrap();
        let [session] = imported.sessions.as_slice() else { panic!("{imported:?}") };
        let said: Vec<&str> = session.messages.iter().map(|m| m.content.as_str()).collect();
        assert_eq!(said, ["When do I sow peas?\n\nbeds.txt:\nbed 1: peas", "In March."]);
        assert_eq!(session.title, "Garden");
        assert_eq!(imported.notes.len(), 1);
    }
}
