//! ChatGPT's data export: `conversations.json`, alone, in its zip, or in parts.
//!
//! Each conversation is a tree of messages (`mapping`), of which the branch that ends in `current_node` is the one that
//! the person saw last.

use serde_json::Value;

use super::chat_service::{Collected, branch, conversations, has_keys, text, time};
use super::{ImportError, ImportFile, ImportFormat, Imported};
use crate::memory::{Moment, NewMessage, Role};

/// Conversations with `mapping` and `current_node`.
pub(super) struct ChatGpt;

impl ImportFormat for ChatGpt {
    fn summary(&self) -> &'static str {
        "ChatGPT's export"
    }

    fn example(&self) -> &'static str {
        "ChatGPT's export (its zip, or conversations.json)"
    }

    fn sniff(&self, text: &str) -> bool {
        has_keys(text, &["mapping", "children"])
    }

    fn read(&self, file: &ImportFile<'_>) -> Result<Imported, ImportError> {
        let mut collected = Collected::default();
        for conversation in &conversations(file)? {
            let Some(mapping) = conversation.get("mapping").and_then(Value::as_object) else {
                continue;
            };
            let node = |id: &str| mapping.get(id).map(|node| (node, text(node, "parent")));
            // Old exports name no last message: then the leaf that was written last is meant.
            let last = text(conversation, "current_node").filter(|id| mapping.contains_key(*id));
            let is_leaf = |node: &Value| {
                node.get("children").and_then(Value::as_array).is_none_or(Vec::is_empty)
            };
            let newest = || {
                let leaves = mapping.iter().filter(|(_, node)| is_leaf(node));
                let written = leaves.filter_map(|(id, node)| Some((created(node)?.timestamp, id)));
                written.max().map(|(_, id)| id.as_str())
            };
            let shown = branch(last.or_else(newest), node, mapping.len());
            let messages: Vec<_> = shown
                .into_iter()
                .filter_map(|(id, node)| message(id, node, &mut collected.n_left_out))
                .collect();
            let names = (text(conversation, "title"), text(conversation, "id"));
            collected.add(file, names, time(conversation.get("create_time")), messages);
        }
        collected.finish(file)
    }
}

fn created(node: &Value) -> Option<Moment> {
    time(node.get("message")?.get("create_time"))
}

fn message(id: &str, node: &Value, n_left_out: &mut usize) -> Option<(NewMessage, Option<Moment>)> {
    let message = node.get("message").filter(|message| message.is_object())?;
    let role = match text(message.get("author")?, "role")? {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        _ => return None,
    };
    let is_set =
        |key: &str| message.get("metadata").and_then(|m| m.get(key)) == Some(&Value::Bool(true));
    // What the assistant says to a tool, and what the person was never shown.
    let to_tool = text(message, "recipient").is_some_and(|to| to != "all");
    if to_tool || is_set("is_visually_hidden_from_conversation") || is_set("is_user_system_message")
    {
        *n_left_out += 1;
        return None;
    }
    let content = message.get("content")?;
    let said = match text(content, "content_type")? {
        "text" | "multimodal_text" => {
            let parts = content.get("parts").and_then(Value::as_array)?;
            *n_left_out += parts.iter().filter(|part| !part.is_string()).count();
            parts.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n\n")
        }
        "code" => format!("```\n{}\n```", text(content, "text")?),
        // Thoughts, quotations of web pages, custom instructions.
        _ => {
            *n_left_out += 1;
            return None;
        }
    };
    let at = created(node);
    let begun = at.unwrap_or_else(|| Moment::from_civil_utc(jiff::civil::DateTime::ZERO));
    let new = NewMessage { external_id: Some(id.to_owned()), ..NewMessage::new(role, said, begun) };
    Some((new, at))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::parse;

    #[test]
    fn the_branch_that_was_shown_last_is_read() {
        let node =
            |role: &str, parts: serde_json::Value, at: f64, parent: &str, children: &[&str]| {
                json!({"parent": parent, "children": children, "message": {
                    "author": {"role": role}, "create_time": at, "recipient": "all",
                    "content": {"content_type": "text", "parts": parts},
                }})
            };
        let mut hidden = node("user", json!(["about me"]), 1.0, "root", &["q"]);
        hidden["message"]["metadata"] = json!({"is_visually_hidden_from_conversation": true});
        let mut code = node("assistant", json!([]), 5.0, "again", &["z"]);
        code["message"]["content"] = json!({"content_type": "code", "text": "search()"});
        code["message"]["recipient"] = json!("web");
        let file = json!([
            {"title": "Dog food", "create_time": 1_700_000_000.5, "current_node": "z", "mapping": {
                "root": {"parent": null, "children": ["hidden"], "message": null},
                "hidden": hidden,
                "q": node("user", json!(["What may dogs eat?"]), 1_700_000_001.0, "hidden", &["a", "again"]),
                "a": node("assistant", json!(["Old answer"]), 1_700_000_002.0, "q", &[]),
                "again": node("assistant", json!(["New answer", {"asset_pointer": "x"}]), 1_700_000_003.0, "q", &["code"]),
                "code": code,
                "z": node("user", json!(["thanks"]), 1_700_000_009.0, "code", &[]),
            }},
            {"title": null, "mapping": {}},
            {"title": "No last", "create_time": 1.0, "mapping": {
                "a": node("user", json!(["one"]), 2.0, "none", &["b"]),
                "b": node("assistant", json!(["two"]), 3.0, "a", &[]),
            }},
            // A circle.
            {"title": "Round", "create_time": 5.0, "current_node": "a", "mapping": {
                "a": node("user", json!(["x"]), 6.0, "b", &["b"]), "b": node("user", json!(["y"]), 7.0, "a", &["a"]),
            }},
        ]);
        let text = file.to_string();
        let imported = parse(text.as_bytes(), "conversations.json", None).unwrap();
        let shape: Vec<(&str, Vec<&str>)> = imported
            .sessions
            .iter()
            .map(|s| (s.title.as_str(), s.messages.iter().map(|m| m.content.as_str()).collect()))
            .collect();
        assert_eq!(
            shape,
            [
                ("No last", vec!["one", "two"]),
                ("Round", vec!["y", "x"]),
                ("Dog food", vec!["What may dogs eat?", "New answer", "thanks"]),
            ]
        );
        let first = &imported.sessions[2].messages[0];
        assert_eq!(first.created_at.timestamp.as_second(), 1_700_000_001);
        assert_eq!(first.external_id.as_deref(), Some("q"));
        assert_eq!(imported.notes.len(), 1);
        let one = parse(text.as_bytes(), "f", Some("Dog food")).unwrap();
        assert_eq!(one.sessions.len(), 1);
        assert!(parse(text.as_bytes(), "f", Some("Cat food")).is_err());
    }
}
