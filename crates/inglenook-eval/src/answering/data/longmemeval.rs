//! LongMemEval: a question a time, each with a history of chats of its own.
//!
//! ```json
//! [{"question_id": "e47becba", "question_type": "single-session-user",
//!   "question": "What degree did I graduate with?", "answer": "Business Administration",
//!   "question_date": "2023/05/30 (Tue) 23:40",
//!   "haystack_session_ids": ["s1"], "haystack_dates": ["2023/05/20 (Sat) 02:21"],
//!   "haystack_sessions": [[{"role": "user", "content": "…", "has_answer": true}]],
//!   "answer_session_ids": ["s1"]}]
//! ```
//!
//! Evidence are the turns with `has_answer`. Questions whose id ends in `_abs` have no answer in the
//! history: they are not asked, as those of LoCoMo's category 5 are not. Sessions may come in any order.

use jiff::civil::DateTime;
use serde_json::{Map, Value};

use super::{Conversation, Message, Question, text};
use crate::locomo::answer_text;

pub(super) const FOUND_AT: &str = "longmemeval_s_cleaned.json and longmemeval_oracle.json are at \
                                   https://huggingface.co/datasets/xiaowu0162/longmemeval-cleaned (MIT)";

pub(super) const KINDS: [(u64, &str); 6] = [
    (1, "single-session-user"),
    (2, "single-session-assistant"),
    (3, "single-session-preference"),
    (4, "multi-session"),
    (5, "knowledge-update"),
    (6, "temporal-reasoning"),
];

/// One question with its history.
pub(super) fn conversation(item: &Value, name: &str) -> Result<Conversation, String> {
    let Value::Object(item) = item else { return Err("it is no object".into()) };
    let list = |key: &str| match item.get(key) {
        Some(Value::Array(list)) => Ok(list.as_slice()),
        _ => Err(format!("it has no list `{key}`")),
    };
    let (sessions, dates) = (list("haystack_sessions")?, list("haystack_dates")?);
    let ids = list("haystack_session_ids").unwrap_or_default();
    if sessions.len() != dates.len() {
        return Err(format!("it has {} sessions and {} dates", sessions.len(), dates.len()));
    }
    let mut messages = Vec::new();
    let mut question = question(item, name)?;
    let mut order: Vec<(DateTime, usize)> = Vec::new();
    for (i, date) in dates.iter().enumerate() {
        order.push((date.as_str().and_then(time).ok_or_else(|| format!("{date} is no time"))?, i));
    }
    order.sort();
    for (session, (at, i)) in order.into_iter().enumerate() {
        let Value::Array(turns) = &sessions[i] else {
            return Err(format!("session {} is no list of messages", i + 1));
        };
        let id =
            ids.get(i).and_then(Value::as_str).map_or_else(|| format!("{}", i + 1), Into::into);
        for (n, turn) in turns.iter().enumerate() {
            let turn = turn.as_object().ok_or("a turn is no object")?;
            let by_second = match text(turn, "role")? {
                "user" => false,
                "assistant" => true,
                other => return Err(format!("nobody is a `{other}`")),
            };
            // A session may stand in the history twice.
            let said = Message {
                id: format!("{id}#{i}:{n}"),
                speaker: None,
                by_second,
                text: text(turn, "content")?.to_owned(),
                at,
                session,
            };
            if turn.get("has_answer").and_then(Value::as_bool) == Some(true)
                && let Some(question) = &mut question
            {
                question.evidence.insert(said.id.clone());
            }
            messages.push(said);
        }
    }
    Ok(Conversation {
        name: name.to_owned(),
        speaker: None,
        messages,
        questions: Vec::from_iter(question),
    })
}

/// `None` of one that has no answer.
fn question(item: &Map<String, Value>, name: &str) -> Result<Option<Question>, String> {
    if name.ends_with("_abs") {
        return Ok(None);
    }
    let kind = text(item, "question_type")?;
    let known = KINDS.iter().find(|(_, name)| *name == kind);
    let &(category, _) = known.ok_or_else(|| format!("`{kind}` is no kind of question"))?;
    let answer = item.get("answer").and_then(answer_text).ok_or("it has no `answer`")?;
    let date = text(item, "question_date")?;
    Ok(Some(Question {
        place: 0,
        text: text(item, "question")?.to_owned(),
        answer,
        category,
        evidence: std::collections::BTreeSet::new(),
        at: Some(time(date).ok_or_else(|| format!("`{date}` is no time"))?),
    }))
}

/// `2023/05/20 (Sat) 02:21`.
fn time(text: &str) -> Option<DateTime> {
    let (date, clock) = (text.split_whitespace().next()?, text.split_whitespace().last()?);
    DateTime::strptime("%Y/%m/%d %H:%M", format!("{date} {clock}")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn item() -> Value {
        json!({
            "question_id": "q1", "question_type": "knowledge-update",
            "question": "How many bikes do I own?", "answer": 4,
            "question_date": "2023/06/01 (Thu) 10:00",
            "haystack_session_ids": ["b", "a"],
            "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/02 (Tue) 23:05"],
            "haystack_sessions": [
                [{"role": "user", "content": "I bought a fourth bike.", "has_answer": true},
                 {"role": "assistant", "content": "Nice!", "has_answer": false}],
                [{"role": "user", "content": "I own three bikes."}],
            ],
            "answer_session_ids": ["b"],
        })
    }

    #[test]
    fn sessions_come_in_the_order_of_time() {
        let conversation = conversation(&item(), "q1").unwrap();
        let said: Vec<_> =
            conversation.messages.iter().map(|m| (m.session, m.name(), m.text.as_str())).collect();
        assert_eq!(
            said,
            [
                (0, "The user", "I own three bikes."),
                (1, "The user", "I bought a fourth bike."),
                (1, "The assistant", "Nice!"),
            ]
        );
        assert_eq!(conversation.messages[0].at.to_string(), "2023-05-02T23:05:00");
        let [asked] = &conversation.questions[..] else { panic!("{conversation:?}") };
        assert_eq!((asked.answer.as_str(), asked.category), ("4", 5));
        assert_eq!(asked.evidence.iter().collect::<Vec<_>>(), [&conversation.messages[1].id]);
        assert_eq!(asked.at.unwrap().to_string(), "2023-06-01T10:00:00");
    }

    #[test]
    fn what_is_wrong_is_named() {
        let check = |key: &str, value: Value, reason: &str| {
            let mut item = item();
            item[key] = value;
            let found = conversation(&item, "q1").map(|_| ()).unwrap_err();
            assert!(found.contains(reason), "{found}");
        };
        check("haystack_dates", json!(["2023/05/20 (Sat) 02:21"]), "2 sessions and 1 dates");
        check("haystack_dates", json!(["now", "then"]), "is no time");
        check("haystack_sessions", Value::Null, "`haystack_sessions`");
        check("haystack_sessions", json!([[{"role": "dog", "content": ""}], []]), "`dog`");
        check("question_type", json!("riddle"), "`riddle`");
        check("answer", Value::Null, "`answer`");
        let unanswerable = conversation(&item(), "q1_abs").unwrap();
        assert!(unanswerable.questions.is_empty() && unanswerable.messages.len() == 3);
    }
}
