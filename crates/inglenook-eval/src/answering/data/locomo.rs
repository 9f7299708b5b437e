//! LoCoMo's own file: conversations with their messages and questions.
//!
//! ```json
//! [{"sample_id": "conv-26",
//!   "conversation": {"speaker_a": "Caroline", "speaker_b": "Melanie",
//!     "session_1_date_time": "1:56 pm on 8 May, 2023",
//!     "session_1": [{"speaker": "Caroline", "dia_id": "D1:1", "text": "Hey Mel!",
//!                    "blip_caption": "a photo of …"}]},
//!   "qa": [{"question": "…", "answer": "7 May 2023", "evidence": ["D1:3"], "category": 2}]}]
//! ```
//!
//! A question of category 5 has no answer and is not asked. Of its evidence, the ids of the form `D3:14`
//! count.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{Conversation, Message, Question, text};
use crate::answering::Skipped;
use crate::locomo::{RawQuestion, answer_text, is_message_id, is_scored, time};

pub(super) const FOUND_AT: &str = "locomo10.json is in the folder data of https://github.com/snap-research/locomo \
                                   (CC BY-NC 4.0)";

/// In the papers' order.
pub(super) const KINDS: [(u64, &str); 4] =
    [(1, "Multi-hop"), (2, "Temporal"), (3, "Open-domain"), (4, "Single-hop")];

/// One conversation with its questions; a damaged question is left out.
pub(super) fn conversation(
    sample: &Value,
    name: &str,
    skipped: &mut Vec<Skipped>,
) -> Result<Conversation, String> {
    let Some(Value::Object(talk)) = sample.get("conversation") else {
        return Err("it has no `conversation`".into());
    };
    let (first, second) = (text(talk, "speaker_a")?, text(talk, "speaker_b").unwrap_or_default());
    let mut sessions: Vec<usize> =
        talk.keys().filter_map(|key| key.strip_prefix("session_")?.parse().ok()).collect();
    sessions.sort_unstable();
    let mut messages = Vec::new();
    for session in sessions {
        let key = format!("session_{session}");
        let said = text(talk, &format!("{key}_date_time"))?;
        let at = time(said).ok_or_else(|| format!("`{said}` is no time"))?;
        let Some(Value::Array(turns)) = talk.get(&key) else {
            return Err(format!("`{key}` is no list of messages"));
        };
        for turn in turns {
            let message = |turn: &Map<String, Value>| -> Result<Message, String> {
                let speaker = text(turn, "speaker")?;
                Ok(Message {
                    id: text(turn, "dia_id")?.to_owned(),
                    speaker: Some(speaker.to_owned()),
                    by_second: speaker == second,
                    text: with_caption(text(turn, "text")?, turn),
                    at,
                    session,
                })
            };
            let turn = turn.as_object().ok_or_else(|| format!("a turn of `{key}` is no object"))?;
            messages.push(message(turn).map_err(|reason| format!("{key}: {reason}"))?);
        }
    }
    let Some(Value::Array(asked)) = sample.get("qa") else { return Err("it has no `qa`".into()) };
    let mut questions = Vec::new();
    for (place, raw) in asked.iter().enumerate() {
        match question(place, raw) {
            Ok(question) => questions.extend(question),
            Err(reason) => {
                let what = format!("{name}, question {}", place + 1);
                skipped.push(Skipped { what, reason });
            }
        }
    }
    Ok(Conversation { name: name.to_owned(), speaker: Some(first.to_owned()), messages, questions })
}

/// What was said, without what a photo shows: that is nobody's statement.
pub(in crate::answering) fn without_caption(text: &str) -> &str {
    text.split_once(CAPTION).map_or(text, |(said, _)| said)
}

const CAPTION: &str = " [Image: ";

/// As the ready-made memories have it.
fn with_caption(text: &str, turn: &Map<String, Value>) -> String {
    match turn.get("blip_caption").and_then(Value::as_str) {
        Some(caption) => format!("{text}{CAPTION}{caption}]"),
        None => text.to_owned(),
    }
}

/// `None` of one that is not scored.
fn question(place: usize, raw: &Value) -> Result<Option<Question>, String> {
    let raw: RawQuestion = serde_json::from_value(raw.clone()).map_err(|e| e.to_string())?;
    if !is_scored(raw.category) {
        return Ok(None);
    }
    let answer = answer_text(&raw.answer).ok_or("it has no `answer`")?;
    let evidence: BTreeSet<String> =
        raw.evidence.into_iter().filter(|id| is_message_id(id)).collect();
    let (text, category) = (raw.question, raw.category);
    Ok(Some(Question { place, text, answer, category, evidence, at: None }))
}

#[cfg(test)]
mod tests {
    use super::super::DataSet;
    use super::*;
    use crate::EvalError;
    use serde_json::json;

    fn loaded(document: &Value) -> Result<(Vec<Conversation>, Vec<Skipped>), EvalError> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f.json");
        std::fs::write(&path, document.to_string()).unwrap();
        DataSet::Locomo.load(&path)
    }

    #[test]
    fn what_is_whole_is_read_and_what_is_not_is_named() {
        let talk = json!({
            "speaker_a": "Ana", "speaker_b": "Ben",
            "session_10_date_time": "9:05 am on 2 June, 2023",
            "session_10": [{"speaker": "Ben", "dia_id": "D10:1", "text": "Look!", "blip_caption": "a boat"}],
            "session_2_date_time": "1:56 pm on 8 May, 2023",
            "session_2": [{"speaker": "Ana", "dia_id": "D2:1", "text": "Hi"}],
            // LoCoMo has times of sessions that it has not.
            "session_11_date_time": "9:05 am on 3 June, 2023",
        });
        let qa = json!([
            {"question": "What?", "answer": 2023, "evidence": ["D2:1", "D2:1", "D", "D10:1; D2:1"], "category": 4},
            {"question": "Trap?", "adversarial_answer": "x", "category": 5},
            {"question": "No answer?", "category": 1},
            {"answer": "no question", "category": 1},
            {"question": "No evidence?", "answer": "y", "category": 3},
        ]);
        let (conversations, skipped) = loaded(&json!([
            {"sample_id": "conv-1", "conversation": talk, "qa": qa},
            {"sample_id": "conv-2", "qa": []},
            {"sample_id": "conv-1", "conversation": {"speaker_a": "A"}, "qa": []},
            {"conversation": {"speaker_a": "A", "speaker_b": "B", "session_1": [], "session_1_date_time": "now"}, "qa": []},
        ]))
        .unwrap();
        assert_eq!(conversations.len(), 1);
        let texts: Vec<&str> = conversations[0].messages.iter().map(|m| m.text.as_str()).collect();
        assert_eq!(texts, ["Hi", "Look! [Image: a boat]"]);
        let said: Vec<&str> = texts.iter().map(|text| without_caption(text)).collect();
        assert_eq!(said, ["Hi", "Look!"]);
        let questions: Vec<_> = conversations[0]
            .questions
            .iter()
            .map(|q| (q.place, q.answer.as_str(), q.evidence.len()))
            .collect();
        assert_eq!(questions, [(0, "2023", 1), (4, "y", 0)]);
        let named: Vec<&str> = skipped.iter().map(|s| s.what.as_str()).collect();
        assert_eq!(
            named,
            ["conv-1, question 3", "conv-1, question 4", "conv-2", "conv-1", "conversation 4"]
        );
        assert!(skipped[4].reason.contains("`now` is no time"), "{skipped:?}");
    }

    #[test]
    fn other_files_are_refused() {
        for document in [json!("text"), json!([])] {
            assert!(matches!(loaded(&document), Err(EvalError::NotDataSet { .. })), "{document}");
        }
    }
}
