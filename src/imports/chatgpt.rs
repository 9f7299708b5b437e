//! ChatGPT's data export: `conversations.json`, alone, in its zip, or in parts.
//!
//! Each conversation is a tree of messages (`mapping`), of which the branch that ends in `current_node` is the one that
//! the person saw last.

use serde_json::Value;

use super::chat_service::{Collected, Node, Sent, has_keys, sent, text, time};
use super::json::elements;
use super::{ImportError, ImportFile, ImportFormat, Imported};
use crate::memory::Role;

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
        elements(file, |conversation| {
            let Some(mapping) = conversation.get("mapping").and_then(Value::as_object) else {
                return Ok(());
            };
            let nodes: Vec<_> = mapping
                .iter()
                .map(|(id, value)| {
                    let at = time(value.get("message").and_then(|m| m.get("create_time")));
                    Node { id, parent: text(value, "parent"), at, value }
                })
                .collect();
            // Old exports name no last message.
            let shown = collected.shown(&nodes, text(&conversation, "current_node"), message);
            let names = (text(&conversation, "title"), text(&conversation, "id"));
            collected.add(file, names, time(conversation.get("create_time")), shown);
            Ok(())
        })?;
        collected.finish(file)
    }
}

fn message(node: &Node<'_>, n_left_out: &mut usize) -> Option<Sent> {
    let message = node.value.get("message").filter(|message| message.is_object())?;
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
            let said: Vec<&str> = parts.iter().filter_map(text_of).collect();
            *n_left_out += parts.len() - said.len();
            said.join("\n\n")
        }
        "code" => format!("```\n{}\n```", text(content, "text")?),
        // Thoughts, quotations of web pages, custom instructions.
        _ => {
            *n_left_out += 1;
            return None;
        }
    };
    Some(sent(role, said, node.at, Some(node.id)))
}

/// The text of a part, written or spoken.
fn text_of(part: &Value) -> Option<&str> {
    let is_spoken = text(part, "content_type") == Some("audio_transcription");
    part.as_str().or_else(|| text(part, "text").filter(|_| is_spoken))
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
        let mut spoken = node("user", json!([]), 9.0, "code", &[]);
        spoken["message"]["content"] = json!({"content_type": "multimodal_text", "parts": [
            {"content_type": "audio_transcription", "text": "thanks", "direction": "in"},
            {"content_type": "real_time_user_audio_video_asset_pointer", "audio_asset_pointer": {}},
        ]});
        let file = json!([
            {"title": "Dog food", "create_time": 1_700_000_000.5, "current_node": "z", "mapping": {
                "root": {"parent": null, "children": ["hidden"], "message": null},
                "hidden": hidden,
                "q": node("user", json!(["What may dogs eat?"]), 1_700_000_001.0, "hidden", &["a", "again"]),
                "a": node("assistant", json!(["Old answer"]), 1_700_000_002.0, "q", &[]),
                "again": node(
                    "assistant", json!(["New answer", {"asset_pointer": "x"}]), 1_700_000_003.0, "q", &["code"],
                ),
                "code": code,
                "z": spoken,
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
