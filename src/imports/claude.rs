//! Claude's data export: `conversations.json`, alone or in its zip.
//!
//! Since 2026 each message names its parent, and what was edited or answered anew stands beside the new version.

use serde_json::Value;

use super::chat_service::{Collected, Node, Sent, has_keys, sent, text, time};
use super::json::elements;
use super::{ImportError, ImportFile, ImportFormat, Imported};
use crate::memory::{Role, with_attached};

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
        elements(file, |conversation| {
            let all = conversation.get("chat_messages").and_then(Value::as_array);
            let nodes: Vec<Node<'_>> = all.into_iter().flatten().map(node).collect();
            let shown = if nodes.iter().any(|node| node.parent.is_some()) {
                collected.shown(&nodes, text(&conversation, "current_leaf_message_uuid"), message)
            } else {
                nodes.iter().filter_map(|node| message(node, &mut collected.n_left_out)).collect()
            };
            let names = (text(&conversation, "name"), text(&conversation, "uuid"));
            collected.add(file, names, time(conversation.get("created_at")), shown);
            Ok(())
        })?;
        collected.finish(file)
    }
}

fn node(value: &Value) -> Node<'_> {
    Node {
        id: text(value, "uuid").unwrap_or_default(),
        parent: text(value, "parent_message_uuid"),
        at: time(value.get("created_at")),
        value,
    }
}

fn message(node: &Node<'_>, n_left_out: &mut usize) -> Option<Sent> {
    let message = node.value;
    let role = match text(message, "sender")? {
        "human" => Role::User,
        "assistant" => Role::Assistant,
        _ => return None,
    };
    let blocks = message.get("content").and_then(Value::as_array).filter(|all| !all.is_empty());
    let mut said: Vec<String> = Vec::new();
    for block in blocks.into_iter().flatten() {
        match (text(block, "type"), text(block, "text")) {
            (Some("text"), Some(part)) => said.push(part.to_owned()),
            _ => *n_left_out += 1,
        }
    }
    // Beside blocks it may say that they cannot be shown.
    if blocks.is_none() {
        said.extend(text(message, "text").map(str::to_owned));
    }
    let mut said = said.join("\n\n");
    for attached in message.get("attachments").and_then(Value::as_array).into_iter().flatten() {
        match text(attached, "extracted_content") {
            Some(content) => {
                // It is not the person's word.
                let name = text(attached, "file_name").unwrap_or("attachment");
                said = with_attached(&said, name, content);
            }
            None => *n_left_out += 1,
        }
    }
    Some(sent(role, said, node.at, text(message, "uuid")))
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
                {"uuid": "m3", "sender": "human", "text": "This block is not supported.", "created_at": "2026-03-01T08:01:00Z",
                 "content": [{"type": "tool_use", "name": "x"}]},
            ],
        }, {"uuid": "c2", "name": "", "chat_messages": []}]);
        let imported = parse(file.to_string().as_bytes(), "conversations.json", None).unwrap();
        let [session] = imported.sessions.as_slice() else { panic!("{imported:?}") };
        let said: Vec<&str> = session.messages.iter().map(|m| m.content.as_str()).collect();
        let attached = "When do I sow peas?\n\n[attached: beds.txt]\nbed 1: peas\n";
        assert_eq!(said, [attached, "In March."]);
        assert_eq!(session.title, "Garden");
        assert_eq!(imported.notes.len(), 1);
    }

    #[test]
    fn of_several_versions_the_current_one_is_read() {
        let message = |id: &str, parent: &str, sender: &str, minute: u32| {
            json!({"uuid": id, "parent_message_uuid": parent, "sender": sender, "text": id,
                "created_at": format!("2026-03-01T08:{minute:02}:00Z")})
        };
        let root = "00000000-0000-4000-8000-000000000000";
        let said = |leaf: Option<&str>| -> Vec<String> {
            let file = json!([{"name": "Garden", "current_leaf_message_uuid": leaf, "chat_messages": [
                message("question", root, "human", 1),
                message("edited question", root, "human", 4),
                message("answer", "question", "assistant", 2),
                message("better answer", "question", "assistant", 3),
                message("edited answer", "edited question", "assistant", 5),
            ]}]);
            let imported = parse(file.to_string().as_bytes(), "f", None).unwrap();
            imported.sessions[0].messages.iter().map(|m| m.content.clone()).collect()
        };
        assert_eq!(said(Some("better answer")), ["question", "better answer"]);
        for leaf in [None, Some("gone")] {
            assert_eq!(said(leaf), ["edited question", "edited answer"]);
        }
    }
}
