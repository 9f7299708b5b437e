//! LoCoMo (snap-research/LoCoMo, `locomo10.json`): long conversations of two named people.
//!
//! ```json
//! [{"sample_id": "conv-26",
//!   "conversation": {
//!     "speaker_a": "Caroline", "speaker_b": "Melanie",
//!     "session_1_date_time": "1:56 pm on 8 May, 2023",
//!     "session_1": [{"speaker": "Caroline", "dia_id": "D1:1", "text": "Hey Mel!",
//!                    "blip_caption": "a photo of …"}]}}]
//! ```
//!
//! A session has one time, without a zone: the local time of its first message. Each further message
//! is put 30 seconds later. Both speakers are people; `speaker_a` takes the role of the user.

use std::fmt::Write as _;

use jiff::{SignedDuration, civil::DateTime};
use serde::de::IgnoredAny;
use serde_json::Value;

use super::fields::Fields;
use super::json::{elements, value};
use super::jsonl::LINE_MAX;
use super::{ImportError, ImportFile, ImportFormat, Imported, ImportedSession};
use crate::memory::{Moment, NewMessage, Role};

const BETWEEN_MESSAGES: SignedDuration = SignedDuration::from_secs(30);

/// A JSON document of conversations with numbered sessions.
pub(super) struct Locomo;

impl ImportFormat for Locomo {
    fn summary(&self) -> &'static str {
        "LoCoMo"
    }

    fn example(&self) -> &'static str {
        "LoCoMo files"
    }

    /// Any JSON document that is not JSON Lines; `read` refuses other kinds with a reason.
    fn sniff(&self, text: &str) -> bool {
        let start = text.trim_start();
        start.starts_with('[') || (start.starts_with('{') && !is_lines(start))
    }

    fn read(&self, file: &ImportFile<'_>) -> Result<Imported, ImportError> {
        let mut imported = Imported::default();
        let mut names = Vec::new();
        elements(file, |sample| {
            if sample.get("conversation").is_none() {
                return Err(ImportError::UnknownFormat {
                    path: file.path.to_owned(),
                    reason: "it is JSON, but not a LoCoMo file".into(),
                });
            }
            let name = name_of(&sample, names.len());
            if file.conversation.is_none_or(|wanted| wanted == name) {
                read_sample(&sample, &name, file.path, &mut imported)?;
            }
            names.push(name);
            Ok(())
        })?;
        match file.conversation {
            Some(wanted) if !names.iter().any(|name| name == wanted) => {
                Err(ImportError::NoConversation {
                    path: file.path.to_owned(),
                    wanted: wanted.to_owned(),
                    known: names,
                })
            }
            _ => Ok(imported),
        }
    }
}

/// Whether a text that begins with an object is JSON Lines: its first line is a complete object
/// without a `conversation`, or, if that line is damaged, a later line is an object with a `role`.
fn is_lines(text: &str) -> bool {
    let object = |line: &str| (line.len() <= LINE_MAX).then(|| value(line).ok()).flatten();
    let mut lines = text.lines();
    let first = lines.next().and_then(object);
    if first.is_some_and(|first| first.get("conversation").is_none()) {
        return true;
    }
    lines.any(|line| object(line).is_some_and(|v| v.get("role").is_some()))
        && serde_json::from_str::<IgnoredAny>(text).is_err()
}

fn name_of(sample: &Value, index: usize) -> String {
    match sample.get("sample_id") {
        Some(Value::String(name)) => name.clone(),
        Some(other) => other.to_string(),
        None => format!("conversation {}", index + 1),
    }
}

fn read_sample(
    sample: &Value,
    name: &str,
    path: &str,
    imported: &mut Imported,
) -> Result<(), ImportError> {
    let conversation = Fields::of(sample.get("conversation"), path, name, "conversation")?;
    let speaker_a = conversation.required_text("speaker_a", "speaker_a")?;
    let speaker_b = conversation.required_text("speaker_b", "speaker_b")?;
    let mut numbers: Vec<u32> = conversation
        .object
        .keys()
        .filter_map(|key| key.strip_prefix("session_")?.parse().ok())
        .collect();
    numbers.sort_unstable();
    // "session_1" and "session_01" are one.
    numbers.dedup();
    let (name, speakers) = (short(name), [short(speaker_a), short(speaker_b)]);
    let mut n_empty = 0;
    for number in numbers {
        let place = format!("{name}, session_{number}");
        let conversation = Fields { place: &place, ..conversation };
        let (turns, start) = session(&conversation, number)?;
        let mut messages = Vec::with_capacity(turns.len());
        for (turn, i) in turns.iter().zip(0..) {
            let place = format!("{place}, message {}", i + 1);
            let turn = Fields::of(Some(turn), path, &place, "message")?;
            match message(&turn, speaker_b, start, i)? {
                Some(message) => messages.push(message),
                None => n_empty += 1,
            }
        }
        if !messages.is_empty() {
            let title = format!("{}, session {number} ({name})", speakers.join(" and "));
            imported.sessions.push(ImportedSession { title, messages });
        }
    }
    if n_empty > 0 {
        imported.notes.push(format!("{name}: {n_empty} empty messages were left out."));
    }
    Ok(())
}

/// A name as titles and errors repeat it, over and over: it may be megabytes long.
fn short(name: &str) -> &str {
    &name[..name.floor_char_boundary(100)]
}

/// The messages of a session, and when it began.
fn session<'a>(
    conversation: &Fields<'a>,
    number: u32,
) -> Result<(&'a [Value], Moment), ImportError> {
    let field = "session_N_date_time";
    let time = conversation.required_text(&format!("session_{number}_date_time"), field)?;
    let start = time_of(time)
        .ok_or_else(|| conversation.wrong(field, "must look like \"1:56 pm on 8 May, 2023\""))?;
    match conversation.object.get(&format!("session_{number}")) {
        Some(Value::Array(turns)) => Ok((turns, start)),
        _ => Err(conversation.wrong("session_N", "must be a list of messages")),
    }
}

/// The message at `index` of a session; `None` if it is empty.
fn message(
    turn: &Fields<'_>,
    speaker_b: &str,
    start: Moment,
    index: i32,
) -> Result<Option<NewMessage>, ImportError> {
    let speaker = turn.required_text("speaker", "speaker")?;
    let mut content = turn.required_text("text", "text")?.trim().to_owned();
    if let Some(caption) = turn.object.get("blip_caption").and_then(Value::as_str) {
        let space = if content.is_empty() { "" } else { " " };
        let _ = write!(content, "{space}[shares a photo: {}]", caption.trim());
    }
    if content.is_empty() {
        return Ok(None);
    }
    let later = BETWEEN_MESSAGES.checked_mul(index);
    let timestamp = later.and_then(|later| start.timestamp.checked_add(later).ok());
    let at = Moment { timestamp: timestamp.unwrap_or(start.timestamp), ..start };
    let role = if speaker == speaker_b { Role::Assistant } else { Role::User };
    Ok(Some(NewMessage {
        speaker: Some(speaker.to_owned()),
        external_id: turn.object.get("dia_id").and_then(Value::as_str).map(str::to_owned),
        ..NewMessage::new(role, content, at)
    }))
}

/// "1:56 pm on 8 May, 2023".
fn time_of(text: &str) -> Option<Moment> {
    DateTime::strptime("%I:%M %p on %d %B, %Y", text.trim()).ok().map(Moment::from_civil_utc)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::shared;

    fn read(text: &str, conversation: Option<&str>) -> Result<Imported, ImportError> {
        Locomo.read(&ImportFile { text, path: "f", conversation })
    }

    #[test]
    fn times_are_read() {
        for (text, expected) in [
            ("1:56 pm on 8 May, 2023", "2023-05-08T13:56:00"),
            ("12:09 am on 13 September, 2023", "2023-09-13T00:09:00"),
            ("12:30 pm on 1 January, 2024", "2024-01-01T12:30:00"),
        ] {
            assert_eq!(time_of(text).unwrap().civil().to_string(), expected);
        }
        assert_eq!(time_of("yesterday"), None);
    }

    const SAMPLE: &str = r#"[{"sample_id": "conv-1", "conversation": {
        "speaker_a": "Ana", "speaker_b": "Bo",
        "session_2_date_time": "9:00 am on 2 May, 2023",
        "session_2": [{"speaker": "Bo", "dia_id": "D2:1", "text": "Look!", "blip_caption": "a dog"}],
        "session_1_date_time": "1:00 pm on 1 May, 2023",
        "session_1": [{"speaker": "Ana", "dia_id": "D1:1", "text": "Hi"},
                      {"speaker": "Bo", "dia_id": "D1:2", "text": "Hi Ana"}],
        "session_3_date_time": "9:00 am on 3 May, 2023"}}]"#;

    #[test]
    fn a_conversation_keeps_its_names_ids_times_and_photos() {
        let sessions = read(SAMPLE, Some("conv-1")).unwrap().sessions;
        assert_eq!(sessions.len(), 2);
        assert_eq!(sessions[0].title, "Ana and Bo, session 1 (conv-1)");
        let bo = &sessions[0].messages[1];
        assert_eq!(bo.speaker.as_deref(), Some("Bo"));
        assert_eq!(bo.role, Role::Assistant);
        assert_eq!(bo.external_id.as_deref(), Some("D1:2"));
        assert_eq!(bo.created_at.civil().to_string(), "2023-05-01T13:00:30");
        assert_eq!(sessions[1].messages[0].content, "Look! [shares a photo: a dog]");
    }

    #[test]
    fn no_session_is_read_twice() {
        let spelled = r#""session_01": [], "session_+1": [], "session_1_date_time":"#;
        let sample = SAMPLE.replace("\"session_1_date_time\":", spelled);
        assert_eq!(read(&sample, None).unwrap().sessions.len(), 2);
    }

    #[test]
    fn long_names_are_not_repeated_whole() {
        let sample = SAMPLE.replace("conv-1", &"x".repeat(5_000));
        let sample = sample.replace(
            "\"speaker_a\": \"Ana\"",
            &format!("\"speaker_a\": \"{}\"", "é".repeat(5_000)),
        );
        assert!(read(&sample, None).unwrap().sessions.iter().all(|s| s.title.len() < 500));
        let without = sample.replace("\"text\": \"Hi Ana\"", "\"txt\": \"Hi Ana\"");
        assert!(read(&without, None).unwrap_err().to_string().len() < 500);
    }

    #[test]
    fn errors_name_the_place_and_the_field() {
        let error = read(SAMPLE, Some("conv-9")).unwrap_err();
        assert_eq!(error.to_string(), "f holds no conversation named `conv-9`");
        let without = SAMPLE.replace("\"text\": \"Hi Ana\"", "\"txt\": \"Hi Ana\"");
        let error = read(&without, None).unwrap_err();
        assert_eq!(error.to_string(), "f, conv-1, session_1, message 2: `text` is missing");
        let error = read(&SAMPLE[..200], None).unwrap_err().to_string();
        assert!(error.starts_with("f, line 4: EOF while parsing"), "{error}");
    }

    #[test]
    fn the_published_file_is_read_completely() {
        let Some(path) = shared("data/locomo-dev.json") else { return };
        let text = std::fs::read_to_string(path).unwrap();
        let messages = |sessions: &[ImportedSession]| -> usize {
            sessions.iter().map(|session| session.messages.len()).sum()
        };
        let one = read(&text, Some("conv-26")).unwrap().sessions;
        assert_eq!((one.len(), messages(&one)), (19, 419));
        assert_eq!(messages(&read(&text, None).unwrap().sessions), 2725);
    }
}
