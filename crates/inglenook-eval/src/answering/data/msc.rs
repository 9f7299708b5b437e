//! Multi-session chat (Xu et al., 2022) with the questions of MemGPT's deep memory retrieval (Packer et
//! al., 2023): `msc_self_instruct.jsonl` of the data set MemGPT/MSC-Self-Instruct, a pair of strangers
//! a line.
//!
//! ```json
//! {"personas": [["I sail."], ["I bake."]],
//!  "dialog": [{"text": "Hello again!", "id": "Speaker 1", "convai2_id": "valid_1"}],
//!  "previous_dialogs": [{"personas": […], "dialog": [{"text": "…"}],
//!                        "time_num": 7, "time_unit": "days", "time_back": "14 days 2 hours ago"}],
//!  "metadata": {"initial_data_id": "valid_1", "session_id": 4},
//!  "self_instruct": {"B": "the question", "A": "its answer"}}
//! ```
//!
//! The history are the earlier sessions, oldest first, and the last one (`dialog`); turns without a
//! name alternate. The question is asked in a session after them (MemGPT §3.1). ParlAI's own files
//! (`msc_dialogue/session_*/*.txt` of msc_v0.1.tar.gz) have the same lines, but ask nothing, and are
//! refused with a word on that. `personas` and the summaries are what people wrote down of the chat:
//! a memory has to find that out by itself, so they are not read.
//!
//! Nothing says which turns an answer rests on, so there is no evidence recall. Nothing says a date
//! either: the last session is on a day of 2023, and the others are as long before it as they say.

use std::collections::BTreeSet;

use jiff::SignedDuration;
use jiff::civil::{DateTime, date};
use serde_json::{Map, Value};

use super::{Conversation, Item, Message, Question, text};
use crate::locomo::answer_text;

pub(super) const FOUND_AT: &str = "msc_self_instruct.jsonl is at \
                                   https://huggingface.co/datasets/MemGPT/MSC-Self-Instruct (Apache-2.0)";

pub(super) const KINDS: [(u64, &str); 1] = [(1, "Deep memory retrieval")];

/// The question comes so long after the last session.
const AFTERWARDS: SignedDuration = SignedDuration::from_hours(24);

/// Of the last session.
fn last_session() -> DateTime {
    date(2023, 6, 1).at(12, 0, 0, 0)
}

/// A line a pair of strangers, or a list of them. A line that is no JSON is an item that can't be
/// read.
pub(super) fn items(document: &str) -> Vec<Item> {
    let values: Vec<Result<Value, String>> = match serde_json::from_str(document) {
        Ok(Value::Array(values)) => values.into_iter().map(Ok).collect(),
        _ => document
            .lines()
            .filter(|line| !line.trim().is_empty())
            .map(|line| serde_json::from_str(line).map_err(|e| e.to_string()))
            .collect(),
    };
    let named = values.into_iter().enumerate().map(|(i, item)| {
        let id = item.as_ref().ok().and_then(|v| v.pointer("/metadata/initial_data_id")?.as_str());
        // An id stands in several lines.
        let name =
            id.map_or_else(|| format!("pair {}", i + 1), |id| format!("{id}, pair {}", i + 1));
        Item { name, item }
    });
    named.collect()
}

pub(super) fn conversation(item: &Value, name: &str) -> Result<Conversation, String> {
    let Value::Object(item) = item else { return Err("it is no object".into()) };
    let Some(Value::Object(asked)) = item.get("self_instruct") else {
        return Err("it asks nothing: it has no `self_instruct`".into());
    };
    let question = text(asked, "B").map_err(|_| "it has no question `B`")?;
    let answer = asked.get("A").and_then(answer_text).ok_or("it has no answer `A`")?;
    let Some(Value::Array(earlier)) = item.get("previous_dialogs") else {
        return Err("it has no list `previous_dialogs`".into());
    };
    let mut sessions: Vec<(DateTime, &Map<String, Value>)> = Vec::new();
    let mut later = last_session();
    for session in earlier.iter().rev() {
        let session = session.as_object().ok_or("a session is no object")?;
        later = before(session, later);
        sessions.push((later, session));
    }
    sessions.reverse();
    sessions.push((last_session(), item));
    sessions.sort_by_key(|(at, _)| *at);
    let mut messages = Vec::new();
    for (number, (at, session)) in sessions.into_iter().enumerate() {
        let Some(Value::Array(turns)) = session.get("dialog") else {
            return Err(format!("session {} has no list `dialog`", number + 1));
        };
        for (n, turn) in turns.iter().enumerate() {
            let turn = turn.as_object().ok_or("a turn is no object")?;
            let words = text(turn, "text")?.trim();
            if words.is_empty() {
                continue;
            }
            let speaker = text(turn, "id").ok().filter(|id| id.starts_with("Speaker "));
            let speaker = speaker.unwrap_or(if n % 2 == 0 { "Speaker 1" } else { "Speaker 2" });
            messages.push(Message {
                id: format!("{}:{}", number + 1, n + 1),
                speaker: Some(speaker.to_owned()),
                by_second: speaker != "Speaker 1",
                text: words.to_owned(),
                at,
                session: number,
            });
        }
    }
    let question = Question {
        place: 0,
        text: question.to_owned(),
        answer,
        category: KINDS[0].0,
        evidence: BTreeSet::new(),
        at: last_session().checked_add(AFTERWARDS).ok(),
    };
    Ok(Conversation { name: name.to_owned(), speaker: None, messages, questions: vec![question] })
}

/// When a session was: so long before the last as it says (`time_back`), or before the `later` one
/// (`time_num`, `time_unit`), or a day before that.
fn before(session: &Map<String, Value>, later: DateTime) -> DateTime {
    let back = text(session, "time_back").ok().and_then(hours);
    if let Some(back) = back {
        return earlier_by(last_session(), back);
    }
    let (n, unit) = (session.get("time_num").and_then(Value::as_i64), text(session, "time_unit"));
    let gap = n.zip(unit.ok()).and_then(|(n, unit)| hours(&format!("{n} {unit}")));
    earlier_by(later, gap.unwrap_or(24))
}

fn earlier_by(at: DateTime, hours: i64) -> DateTime {
    at.checked_sub(SignedDuration::from_hours(hours)).unwrap_or(at)
}

/// `14 days 2 hours ago`, at most a hundred years.
fn hours(text: &str) -> Option<i64> {
    const MOST: i64 = 100 * 365 * 24;
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut sum = None;
    for pair in words.windows(2) {
        let (Ok(n), unit) = (pair[0].parse::<i64>(), pair[1]) else { continue };
        let of_unit = match unit.trim_end_matches('s') {
            "hour" => 1,
            "day" => 24,
            "week" => 7 * 24,
            "month" => 30 * 24,
            "year" => 365 * 24,
            _ => continue,
        };
        sum = Some(n.clamp(0, MOST).saturating_mul(of_unit).saturating_add(sum.unwrap_or(0)));
    }
    sum.map(|sum: i64| sum.clamp(0, MOST))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::DataSet;
    use super::*;
    use crate::EvalError;

    const FIXTURE: &str =
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/datasets/msc_self_instruct.jsonl");

    #[test]
    fn sessions_are_as_long_ago_as_they_say() {
        let (conversations, skipped) = DataSet::Msc.load(Path::new(FIXTURE)).unwrap();
        let names: Vec<&str> = conversations.iter().map(|t| t.name.as_str()).collect();
        assert_eq!(names, ["valid_1, pair 1", "valid_1, pair 2"]);
        let said: Vec<_> = conversations[0]
            .messages
            .iter()
            .map(|m| (m.session, m.name(), m.at.to_string(), m.text.as_str()))
            .collect();
        assert_eq!(
            said,
            [
                (0, "Speaker 1", "2023-05-18T10:00:00".into(), "I just got a parrot named Rio."),
                (0, "Speaker 2", "2023-05-18T10:00:00".into(), "Does it talk?"),
                (1, "Speaker 1", "2023-05-25T12:00:00".into(), "Rio learnt a word."),
                (2, "Speaker 2", "2023-06-01T12:00:00".into(), "Hello again!"),
            ]
        );
        let [asked] = &conversations[0].questions[..] else { panic!("{conversations:?}") };
        assert_eq!(
            (asked.answer.as_str(), asked.at.unwrap().to_string()),
            ("Rio", "2023-06-02T12:00:00".into())
        );
        assert!(asked.evidence.is_empty());
        let reasons: Vec<&str> = skipped.iter().map(|s| s.reason.as_str()).collect();
        assert!(reasons[0].contains("self_instruct") && reasons[1].contains("EOF"), "{reasons:?}");
        assert_eq!(skipped[1].what, "pair 4");
    }

    /// ParlAI's own.
    #[test]
    fn a_file_that_asks_nothing_is_refused_in_one_sentence() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("valid.txt");
        let line = "{\"dialog\": [], \"previous_dialogs\": []}\n";
        std::fs::write(&path, line.repeat(3)).unwrap();
        let refused = DataSet::Msc.load(&path);
        assert!(
            matches!(&refused, Err(EvalError::NotDataSet { reason, .. }) if reason.contains("asks nothing")),
            "{refused:?}"
        );
    }

    #[test]
    fn times_are_bounded() {
        assert_eq!(hours("14 days 2 hours ago"), Some(338));
        assert_eq!(hours("1 week ago"), Some(168));
        assert_eq!(hours("9223372036854775807 years ago"), Some(876_000));
        assert_eq!(hours("-5 days ago"), Some(0));
        assert_eq!(hours("long ago"), None);
    }
}
