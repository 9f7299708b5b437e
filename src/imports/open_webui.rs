//! Open WebUI's export of chats: each with a `history` of messages that point to their parents.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::chat_service::{Collected, Node, Sent, has_keys, sent, text, time};
use super::json::elements;
use super::{ImportError, ImportFile, ImportFormat, Imported};
use crate::memory::Role;

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
        has_keys(text, &["chat", "history"])
    }

    fn read(&self, file: &ImportFile<'_>) -> Result<Imported, ImportError> {
        let mut collected = Collected::default();
        elements(file, |whole| {
            let Some(chat) = whole.get("chat") else { return Ok(()) };
            let history = chat.get("history").unwrap_or(&Value::Null);
            let Some(all) = history.get("messages").and_then(Value::as_object) else {
                return Ok(());
            };
            let nodes: Vec<_> = all
                .iter()
                .map(|(id, value)| {
                    let at = time(value.get("timestamp"));
                    Node { id, parent: text(value, "parentId"), at, value }
                })
                .collect();
            let shown = collected.shown(&nodes, text(history, "currentId"), message);
            let names = (text(&whole, "title").or_else(|| text(chat, "title")), text(&whole, "id"));
            collected.add(file, names, time(whole.get("created_at")), shown);
            Ok(())
        })?;
        collected.finish(file)
    }
}

fn message(node: &Node<'_>, n_left_out: &mut usize) -> Option<Sent> {
    /// What the model thought before it answered.
    static REASONING: LazyLock<Regex> = LazyLock::new(|| {
        let pattern = r#"(?s)<details\s[^>]*\btype="reasoning"[^>]*>.*?</details>\s*"#;
        Regex::new(pattern).expect("a constant")
    });
    let mut said = text(node.value, "content")?.to_owned();
    let role = match text(node.value, "role")? {
        "user" => Role::User,
        "assistant" => {
            *n_left_out += REASONING.find_iter(&said).count();
            said = REASONING.replace_all(&said, "").into_owned();
            Role::Assistant
        }
        _ => return None,
    };
    Some(sent(role, said, node.at, Some(node.id)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::parse;

    fn said(current: &str) -> Vec<String> {
        let thought = "<details type=\"reasoning\" done=\"true\">\n<summary>Thought</summary>\n> Peas…\n\
                       </details>\nIn March.<details><summary>Why</summary>Frost.</details>";
        let file = json!([{"id": "x", "title": "Peas", "created_at": 1_700_000_000, "chat": {"title": "Peas",
        "history": {"currentId": current, "messages": {
            "a": {"id": "a", "parentId": null, "role": "user", "content": "When?", "timestamp": 1_700_000_001},
            "c": {"id": "c", "parentId": "a", "role": "assistant", "content": thought, "timestamp": 1_700_000_009},
            "b": {"id": "b", "parentId": "a", "role": "assistant", "content": "Never.", "timestamp": 1_700_000_002},
            "s": {"id": "s", "parentId": null, "role": "system", "content": "Be brief.", "timestamp": 1_700_000_000},
        }}}}]);
        let imported = parse(file.to_string().as_bytes(), "chats.json", None).unwrap();
        imported.sessions[0].messages.iter().map(|m| m.content.clone()).collect()
    }

    #[test]
    fn the_current_branch_is_read() {
        assert_eq!(said("b"), ["When?", "Never."]);
    }

    #[test]
    fn without_a_current_branch_it_is_the_newest_and_thoughts_are_left_out() {
        for current in ["c", "gone", "s"] {
            let expected = ["When?", "In March.<details><summary>Why</summary>Frost.</details>"];
            assert_eq!(said(current), expected, "{current}");
        }
    }
}
