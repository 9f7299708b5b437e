//! Jan's chats: a folder a thread, with `thread.json` (its title) and `messages.jsonl`. Read as lines: the thread, if it is known, and
//! its messages.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::chat_service::{Collected, Sent, sent, text, time};
use super::jsonl::parse_line;
use super::{ImportError, ImportFile, ImportFormat, Imported};
use crate::memory::{Role, title_of};

/// Lines with `thread_id`, or a thread and its messages.
pub(super) struct Jan;

impl ImportFormat for Jan {
    fn summary(&self) -> &'static str {
        "Jan's messages.jsonl or data folder"
    }

    fn example(&self) -> &'static str {
        "Jan's messages.jsonl and its data folder"
    }

    fn sniff(&self, text: &str) -> bool {
        let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let has = |key: &str| first.contains(&format!("\"{key}\""));
        first.trim_start().starts_with('{')
            && (has("thread_id") && has("content") || has("assistants") && has("title"))
    }

    fn read(&self, file: &ImportFile<'_>) -> Result<Imported, ImportError> {
        let mut collected = Collected::default();
        let (mut title, mut id, mut begun) = (None, None, None);
        let mut messages: Vec<Sent> = Vec::new();
        for (i, line) in file.text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let value = Value::Object(parse_line(line, file.path, &format!("line {}", i + 1))?);
            if value.get("content").is_none() {
                title = text(&value, "title").map(str::to_owned);
                id = text(&value, "id").map(str::to_owned);
                begun = time(value.get("created"));
                continue;
            }
            id = id.or_else(|| text(&value, "thread_id").map(str::to_owned));
            messages.extend(message(&value, &mut collected.n_left_out));
        }
        // Threads that nobody named.
        let is_named = |title: &String| !title.is_empty() && title != "New Thread";
        let said = messages.iter().find(|(message, _)| message.role == Role::User);
        let title =
            title.filter(is_named).or_else(|| said.map(|(said, _)| title_of(&said.content)));
        messages.sort_by_key(|(_, at)| at.map(|at| at.timestamp));
        collected.add(file, (title.as_deref(), id.as_deref()), begun, messages);
        collected.finish(file)
    }
}

fn message(value: &Value, n_left_out: &mut usize) -> Option<Sent> {
    /// What the model thought before it answered.
    static REASONING: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"(?s)<think>.*?(?:</think>\s*|\z)").expect("a constant"));
    let role = match text(value, "role")? {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        _ => {
            *n_left_out += 1;
            return None;
        }
    };
    let mut parts = Vec::new();
    for part in value.get("content")?.as_array()? {
        match part.get("text").and_then(|part| text(part, "value").or_else(|| part.as_str())) {
            Some(said) => parts.push(said),
            None => *n_left_out += 1,
        }
    }
    let mut said = parts.join("\n\n");
    if role == Role::Assistant {
        *n_left_out += REASONING.find_iter(&said).count();
        said = REASONING.replace_all(&said, "").into_owned();
    }
    Some(sent(role, said, time(value.get("created_at")), text(value, "id")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::parse;

    fn line(role: &str, text: &str, at: i64) -> String {
        let content = json!([
            {"type": "text", "text": {"value": text, "annotations": []}},
            {"type": "image_url", "image_url": {"url": "data:"}},
        ]);
        let line = json!({"id": format!("m{at}"), "object": "thread.message", "thread_id": "t", "role": role,
            "content": content, "status": "ready", "created_at": at, "completed_at": at});
        line.to_string()
    }

    #[test]
    fn a_thread_is_a_chat() {
        let thread = json!({"id": "t", "object": "thread", "title": "Peas", "assistants": [], "created": 1_700_000_000});
        let said = [
            line("assistant", "<think>Peas…</think>\nIn March.", 1_700_000_002_000),
            line("user", "When do I sow peas?", 1_700_000_001_000),
            line("system", "Be brief.", 1_700_000_000_000),
        ]
        .join("\n");
        for (text, title) in
            [(format!("{thread}\n{said}"), "Peas"), (said.clone(), "When do I sow peas?")]
        {
            let imported = parse(text.as_bytes(), "messages.jsonl", None).unwrap();
            let [session] = &imported.sessions[..] else { panic!("one chat") };
            assert_eq!(session.title, title);
            let texts: Vec<&str> = session.messages.iter().map(|m| m.content.as_str()).collect();
            assert_eq!(texts, ["When do I sow peas?", "In March."]);
            assert_eq!(session.messages[0].created_at.timestamp.as_second(), 1_700_000_001);
            assert_eq!(session.messages[1].external_id.as_deref(), Some("m1700000002000"));
            assert!(imported.notes[0].starts_with("4 parts"), "{:?}", imported.notes);
            assert!(parse(text.as_bytes(), "f", Some("t")).is_ok());
        }
        let cut = format!("{}\n{{\"id\": \"m", line("user", "Hi", 1));
        assert!(parse(cut.as_bytes(), "f", None).unwrap_err().to_string().starts_with("f, line 2"));
    }
}
