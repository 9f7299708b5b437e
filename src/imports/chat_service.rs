//! What exports of chat services have in common: conversations with titles, messages with times, texts of several parts.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;
use jiff::tz::Offset;
use serde_json::Value;

use super::jsonl::{time_from_seconds, time_from_text};
use super::{ImportError, ImportFile, Imported, ImportedSession};
use crate::memory::{Moment, NewMessage, Role};

/// How much of a file is looked at to tell whose it is: a long message or a picture may come first.
const SNIFFED_BYTES: usize = 8 << 20;

/// Whether a document begins as JSON and names all of these keys near its beginning.
pub(super) fn has_keys(text: &str, keys: &[&str]) -> bool {
    let head = &text[..text.floor_char_boundary(SNIFFED_BYTES)];
    head.trim_start().starts_with(['[', '{'])
        && keys.iter().all(|key| head.contains(&format!("\"{key}\"")))
}

/// A time as any of them writes it: RFC 3339, or seconds or milliseconds since 1970.
pub(super) fn time(value: Option<&Value>) -> Option<Moment> {
    match value? {
        Value::String(text) => time_from_text(text),
        Value::Number(n) => n.as_f64().and_then(time_from_seconds),
        _ => None,
    }
}

/// A message, and its own time.
pub(super) type Sent = (NewMessage, Option<Moment>);

/// A message with its own time; without one it gets another's when it is added.
pub(super) fn sent(role: Role, content: String, at: Option<Moment>, id: Option<&str>) -> Sent {
    let known = at.unwrap_or_else(|| Moment::new(Timestamp::UNIX_EPOCH, Offset::UTC));
    let message = NewMessage::new(role, content, known);
    (NewMessage { external_id: id.map(str::to_owned), ..message }, at)
}

/// A message in a tree of them.
pub(super) struct Node<'a> {
    pub id: &'a str,
    pub parent: Option<&'a str>,
    pub at: Option<Moment>,
    pub value: &'a Value,
}

/// Collects the conversations of one file, and counts what is left out.
#[derive(Default)]
pub(super) struct Collected {
    sessions: Vec<ImportedSession>,
    /// Titles that were passed over because another one was wanted.
    known: Vec<String>,
    /// Pictures, tools' messages and the like.
    pub n_left_out: usize,
}

impl Collected {
    /// Adds a conversation in order; a message without a time has that of the one before.
    pub(super) fn add(
        &mut self,
        file: &ImportFile<'_>,
        (title, id): (Option<&str>, Option<&str>),
        begun: Option<Moment>,
        messages: Vec<Sent>,
    ) {
        let title =
            title.map(str::trim).filter(|title| !title.is_empty()).unwrap_or("Imported chat");
        if file.conversation.is_some_and(|wanted| wanted != title && Some(wanted) != id) {
            self.known.push(title.to_owned());
            return;
        }
        let first = messages.iter().find_map(|(_, own)| *own);
        let begun = begun
            .filter(|begun| first.is_none_or(|first| begun.timestamp <= first.timestamp))
            .or(first);
        let mut at: Option<Moment> = None;
        let messages: Vec<NewMessage> = messages
            .into_iter()
            .map(|(message, own)| {
                // Never back: a reply that was made anew may be older than what it answers.
                at = own.filter(|own| at.is_none_or(|at| at.timestamp <= own.timestamp)).or(at);
                let never = Moment::new(Timestamp::UNIX_EPOCH, Offset::UTC);
                NewMessage { created_at: at.or(begun).unwrap_or(never), ..message }
            })
            .filter(|message| !message.content.trim().is_empty())
            .collect();
        if !messages.is_empty() {
            self.sessions.push(ImportedSession { title: title.to_owned(), messages });
        }
    }

    /// The messages of the branch that ends in `last` or, if it has none, in the leaf that was written last.
    pub(super) fn shown(
        &mut self,
        nodes: &[Node<'_>],
        last: Option<&str>,
        message: impl Fn(&Node<'_>, &mut usize) -> Option<Sent>,
    ) -> Vec<Sent> {
        let read = |last: Option<&str>| {
            let mut n_left_out = 0;
            let branch = branch(nodes, last).into_iter();
            let sent: Vec<Sent> =
                branch.filter_map(|node| message(node, &mut n_left_out)).collect();
            (sent, n_left_out)
        };
        let (mut sent, mut n_left_out) = read(last);
        if sent.iter().all(|(message, _)| message.content.trim().is_empty()) {
            (sent, n_left_out) = read(newest_leaf(nodes));
        }
        self.n_left_out += n_left_out;
        sent
    }

    pub(super) fn finish(mut self, file: &ImportFile<'_>) -> Result<Imported, ImportError> {
        if let Some(wanted) = file.conversation
            && self.sessions.is_empty()
        {
            self.known.truncate(20);
            return Err(ImportError::NoConversation {
                path: file.path.to_owned(),
                wanted: wanted.to_owned(),
                known: self.known,
            });
        }
        self.sessions.sort_by_key(|session| session.messages[0].created_at.timestamp);
        let mut notes = Vec::new();
        if self.n_left_out > 0 {
            notes.push(format!(
                "{} parts without text were left out (pictures, tools, hidden instructions).",
                self.n_left_out
            ));
        }
        Ok(Imported { sessions: self.sessions, notes, ..Imported::default() })
    }
}

/// A message and its parents, oldest first.
fn branch<'n, 'a>(nodes: &'n [Node<'a>], last: Option<&str>) -> Vec<&'n Node<'a>> {
    // What was met is taken out, which ends a circle.
    let mut left: HashMap<&str, &Node<'_>> = nodes.iter().map(|node| (node.id, node)).collect();
    let mut found = Vec::new();
    let mut at = last;
    while let Some(node) = at.and_then(|id| left.remove(id)) {
        found.push(node);
        at = node.parent;
    }
    found.reverse();
    found
}

/// Of the messages that nobody answers, the one that was written last.
fn newest_leaf<'a>(nodes: &[Node<'a>]) -> Option<&'a str> {
    let parents: HashSet<&str> = nodes.iter().filter_map(|node| node.parent).collect();
    let leaves = nodes.iter().filter(|node| !parents.contains(node.id));
    leaves.max_by_key(|node| node.at.map(|at| at.timestamp)).map(|node| node.id)
}

/// A field that is text.
pub(super) fn text<'a>(of: &'a Value, key: &str) -> Option<&'a str> {
    of.get(key).and_then(Value::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Role;

    #[test]
    fn a_key_is_found_behind_megabytes() {
        let text =
            format!(r#"[{{"chat": {{"models": "{}", "history": 1}}}}]"#, "x".repeat(5 << 20));
        assert!(has_keys(&text, &["chat", "history"]) && !has_keys(&text, &["chat", "mapping"]));
        assert!(!has_keys(&text[1..].replace('{', " "), &["chat"]));
    }

    /// Times in seconds: of the conversation, of its messages, and those that they get.
    #[track_caller]
    fn check_times(begun: Option<i32>, own: &[Option<i32>], expected: &[i64]) {
        let moment = |at: Option<i32>| at.and_then(|at| time_from_seconds(f64::from(at)));
        let at = moment(Some(0)).unwrap();
        let messages =
            own.iter().map(|own| (NewMessage::new(Role::User, "x", at), moment(*own))).collect();
        let mut collected = Collected::default();
        let file = ImportFile { text: "", path: "f", conversation: None };
        collected.add(&file, (None, None), moment(begun), messages);
        let times: Vec<i64> = collected.sessions[0]
            .messages
            .iter()
            .map(|message| message.created_at.timestamp.as_second())
            .collect();
        assert_eq!(times, expected);
    }

    #[test]
    fn times_are_the_messages_own_and_never_go_back() {
        check_times(
            Some(50),
            &[Some(10), Some(30), None, Some(20), Some(40)],
            &[10, 30, 30, 30, 40],
        );
        check_times(Some(5), &[None, Some(10), None], &[5, 10, 10]);
        // A copied conversation may be younger than its messages.
        check_times(Some(50), &[None, Some(10)], &[10, 10]);
        check_times(None, &[None, Some(10)], &[10, 10]);
        check_times(Some(50), &[None], &[50]);
        check_times(None, &[None], &[0]);
    }
}
