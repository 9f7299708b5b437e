//! Conversations from elsewhere: the formats that `inglenook import` reads, a file for each.
//!
//! Reading is pure: text in, sessions out; `cli/import.rs` writes them to the memory. How to add a
//! format: `docs/adding-an-import.md`.

mod chat_service;
mod chatgpt;
mod claude;
mod fields;
mod jan;
mod json;
mod jsonl;
mod llm;
mod locomo;
pub mod memories;
pub mod notes;
mod open_webui;

use thiserror::Error;

use crate::memory::NewMessage;

/// Every format, in the order in which they are tried: the first one whose [`ImportFormat::sniff`]
/// says yes reads the file. `Locomo` takes any other JSON document and `Jsonl` whatever is left,
/// so a new format goes before them.
static FORMATS: &[&dyn ImportFormat] = &[
    // Before ChatGPT's: what a tool was given is in it, under any names.
    &claude::Claude,
    &chatgpt::ChatGpt,
    &open_webui::OpenWebUi,
    &llm::Llm,
    &jan::Jan,
    &locomo::Locomo,
    &jsonl::Jsonl,
];

/// A file format that conversations are imported from.
pub trait ImportFormat: Sync {
    /// The format's name and what it needs, for `import --help`: "JSONL with role, content".
    fn summary(&self) -> &'static str;

    /// What a file of this format looks like, for the hint after an error.
    fn example(&self) -> &'static str;

    /// Whether the text is meant to be of this format, sound or not. Cheap: it looks at the start
    /// and at a few keys.
    fn sniff(&self, text: &str) -> bool;

    /// The sessions in the file.
    ///
    /// # Errors
    /// If any part of it violates the format, or the conversation that was asked for is not there.
    fn read(&self, file: &ImportFile<'_>) -> Result<Imported, ImportError>;
}

/// A file to import, as text.
#[derive(Debug, Clone, Copy)]
pub struct ImportFile<'a> {
    /// Without a byte-order mark.
    pub text: &'a str,
    /// The file's name, for errors and titles.
    pub path: &'a str,
    /// The one conversation that is wanted; `None` for all.
    pub conversation: Option<&'a str>,
}

/// What a file held.
#[derive(Debug, Default)]
pub struct Imported {
    /// In the file's order.
    pub sessions: Vec<ImportedSession>,
    /// What was left out, for the person.
    pub notes: Vec<String>,
    /// What it was taken for: "Claude's export".
    pub format: &'static str,
    /// Whose it is, where that is said: the name of an account.
    pub owner: Option<String>,
}

/// One sitting of a conversation: one session in the store.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedSession {
    /// The title in `session list`.
    pub title: String,
    /// Oldest first, never empty.
    pub messages: Vec<NewMessage>,
}

/// Why a file cannot be imported; nothing of it is imported then.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum ImportError {
    #[error("{path}, line {line}: this is not UTF-8 text")]
    NotText { path: String, line: usize },
    #[error("{path}, {place}: {reason}")]
    Syntax { path: String, place: String, reason: String },
    #[error("{path}, {place}: `{field}` is missing")]
    MissingField { path: String, place: String, field: &'static str },
    #[error("{path}, {place}: `{field}` {reason}")]
    WrongField { path: String, place: String, field: &'static str, reason: String },
    #[error("{path} holds no conversation named `{wanted}`")]
    NoConversation { path: String, wanted: String, known: Vec<String> },
    #[error("{path} holds no messages")]
    Empty { path: String },
    #[error("{path} is of a kind that can't be imported: {reason}")]
    UnknownFormat { path: String, reason: String },
}

impl ImportError {
    /// What the person can do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NotText { .. } => {
                Some("save the file as UTF-8 and try again; nothing was imported".into())
            }
            Self::NoConversation { known, .. } => Some(format!("it holds {}", known.join(", "))),
            Self::Empty { .. } => None,
            _ => {
                let examples: Vec<&str> = FORMATS.iter().map(|format| format.example()).collect();
                Some(format!("inglenook reads {}; nothing was imported", examples.join(", and ")))
            }
        }
    }
}

/// The formats, for `import --help`: "LoCoMo, or JSONL with …".
pub fn format_summaries() -> String {
    let summaries: Vec<&str> = FORMATS.iter().map(|format| format.summary()).collect();
    summaries.join(", or ")
}

/// Determines the format of a file and reads it.
///
/// # Errors
/// If it is not UTF-8, holds no messages, or its format's reader refuses it.
pub fn parse(
    bytes: &[u8],
    path: &str,
    conversation: Option<&str>,
) -> Result<Imported, ImportError> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let text = std::str::from_utf8(bytes).map_err(|e| ImportError::NotText {
        path: path.to_owned(),
        line: bytes[..e.valid_up_to()].split(|&b| b == b'\n').count(),
    })?;
    let file = ImportFile { text, path, conversation };
    let imported = match FORMATS.iter().find(|format| format.sniff(text)) {
        Some(format) => Imported { format: format.summary(), ..format.read(&file)? },
        None => Imported::default(),
    };
    if imported.sessions.is_empty() {
        return Err(ImportError::Empty { path: path.to_owned() });
    }
    Ok(imported)
}

/// As [`parse`], for a file in parts, each with its name.
///
/// # Errors
/// As [`parse`].
pub fn parse_parts(
    parts: &[(String, Vec<u8>)],
    conversation: Option<&str>,
) -> Result<Imported, ImportError> {
    let mut all = Imported::default();
    let mut missing = None;
    for (name, bytes) in parts {
        match parse(bytes, name, conversation) {
            Ok(part) => {
                all.sessions.extend(part.sessions);
                all.notes.extend(part.notes);
                all.format = part.format;
            }
            // Another part may have it.
            Err(e @ (ImportError::NoConversation { .. } | ImportError::Empty { .. })) => {
                missing = Some(e);
            }
            Err(e) => return Err(e),
        }
    }
    match missing {
        Some(error) if all.sessions.is_empty() => Err(error),
        _ => Ok(all),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_error(text: &[u8], expected: &str) {
        let error = parse(text, "f", None).unwrap_err().to_string();
        assert_eq!(error, expected);
    }

    #[test]
    fn a_bad_file_is_named_with_its_line_and_field() {
        check_error(b"", "f holds no messages");
        check_error(b"{\"role\":\"user\"}\n\xff", "f, line 2: this is not UTF-8 text");
        check_error(b"hello", "f, line 1: expected value");
        check_error(
            b"{\"role\":\"user\",\"content\":\"a\",\"created_at\":1}\n\n{\"role\":\"user\",\"created_at\":2}",
            "f, line 3: `content` is missing",
        );
        check_error(b"{\"content\":\"a\",\"created_at\":1}", "f, line 1: `role` is missing");
        check_error(b"{\"role\":\"user\",\"content\":\"a\"}", "f, line 1: `created_at` is missing");
        check_error(
            b"{\"role\":\"user\",\"content\":\"a\",\"created_at\":\"soon\"}",
            "f, line 1: `created_at` is not a time (2026-11-21T10:00:00Z, or seconds since 1970)",
        );
        check_error(
            b"{\"role\":\"boss\",\"content\":\"a\",\"created_at\":1}",
            "f, line 1: `role` must be \"user\" or \"assistant\"",
        );
        check_error(
            b"[1, 2]",
            "f is of a kind that can't be imported: it is JSON, but not a LoCoMo file",
        );
    }

    /// Which format a text is taken for, by its place in [`FORMATS`].
    #[track_caller]
    fn check_format(text: &str, expected: usize) {
        assert_eq!(FORMATS.iter().position(|format| format.sniff(text)), Some(expected), "{text}");
    }

    #[test]
    fn each_format_knows_its_own_files() {
        let (locomo, jsonl) = (FORMATS.len() - 2, FORMATS.len() - 1);
        check_format("[{\"sample_id\": \"conv-26\", \"conv", locomo);
        check_format("{\"conversation\": {}}", locomo);
        check_format("{\n  \"conversation\": {}\n}", locomo);
        check_format("{\"role\": \"user\", \"content\": \"a\", \"created_at\": 1}", jsonl);
        check_format("{\"role\": \"us\n{\"role\": \"user\"}\n", jsonl);
        check_format("hello", jsonl);
        check_format("{\"role\": \"user\", \"content\": \"\\ud83d\", \"created_at\": 1}", jsonl);
        check_format("[{\"chat_messages\": [{\"mapping\": {\"children\": []}}]}]", 0);
        let rows = |key| format!("[{{\"{key}\": 1, \"response\": 1, \"conversation_id\": 1}}]");
        check_format(&rows("prompt"), locomo - 2);
        check_format(
            "{\"id\": 1, \"thread_id\": 1, \"role\": \"user\", \"content\": []}\n{",
            locomo - 1,
        );
        check_format(&rows("question"), locomo);
    }

    #[test]
    fn a_text_that_was_cut_inside_a_character_is_read() {
        for text in [
            r#"{"role": "user", "content": "a \ud83d", "created_at": 1}"#,
            r#"[{"chat_messages": [{"sender": "human", "text": "a \ud83d", "created_at": 1}]}]"#,
        ] {
            let imported = parse(text.as_bytes(), "f", None).unwrap();
            assert_eq!(imported.sessions[0].messages[0].content, "a \u{fffd}");
        }
    }

    #[test]
    fn a_file_in_parts_is_one() {
        let chat = |name: &str, at: u32| {
            let text = format!(
                r#"[{{"name": "{name}", "chat_messages": [{{"sender": "human", "text": "hi", "created_at": {at}}}]}}]"#
            );
            (name.to_owned(), text.into_bytes())
        };
        let parts =
            [chat("a", 1_700_000_000), ("empty".into(), b"[]".to_vec()), chat("b", 1_700_000_001)];
        let titles = |conversation| {
            let all = parse_parts(&parts, conversation).unwrap().sessions;
            all.into_iter().map(|s| s.title).collect::<Vec<_>>()
        };
        assert_eq!(titles(None), ["a", "b"]);
        assert_eq!(titles(Some("b")), ["b"]);
        assert!(
            parse_parts(&parts, Some("c")).is_err() && parse_parts(&parts[1..2], None).is_err()
        );
    }

    #[test]
    fn the_formats_are_listed_for_the_person() {
        let summaries = format_summaries();
        let hint = parse(b"hello", "f", None).unwrap_err().hint().unwrap();
        for format in FORMATS {
            assert!(summaries.contains(format.summary()), "{summaries}");
            assert!(hint.contains(format.example()), "{hint}");
        }
        assert!(summaries.ends_with("LoCoMo, or JSONL with role, content, created_at"));
        assert!(
            hint.ends_with(
                "LoCoMo files, and JSONL with one {\"role\": \"user\", \"content\": \"…\", \
                 \"created_at\": \"2026-11-21T10:00:00Z\"} a line; nothing was imported"
            ),
            "{hint}"
        );
    }
}
