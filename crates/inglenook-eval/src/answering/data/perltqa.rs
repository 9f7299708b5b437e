//! PerLTQA (Du et al., 2024): what made-up people remember, and questions about it.
//!
//! Two files of the release's folder `Dataset/en_v2`: the questions (`perltqa_en_v2.json`, which is
//! named on the command line) and, beside it, the memories (`perltmem_en_v2.json`: `perltqa` in the
//! name becomes `perltmem`). Older releases list the people instead of naming them; both are read.
//!
//! ```json
//! [{"Ana Berg": {
//!     "profile": [{"Question": "…", "Answer": "…", "Reference Memory": "Gender", "Memory Anchors": […]}],
//!     "social_relationship": [{"1_0": [{"Question": "…", "Reference Memory": "['1_0']", …}]}],
//!     "events": [{"1_0_0": […]}], "dialogues": [{"1_0_0#0": […]}]}}]
//!
//! {"Ana Berg": {
//!     "profile": {"Protagonist": "Ana Berg", "Gender": "female", "Age": 28, …},
//!     "profile_description": "…",
//!     "social_relationship": {"1_0": {"Supporting Characters": "Ben", "Description": "…", "Relationship": "brother"}},
//!     "events": {"1_0_0": {"content": "…", "Creation Time": "May 12, 2022", …}},
//!     "dialogues": {"1_0_0#0": {"events": "1_0_0", "contents": {"2022-05-12 10:00": ["Ana Berg: …", "Ben: …"]}}}}}
//! ```
//!
//! A person's memory becomes one stream of messages in the order of time: every line of the profile,
//! every relationship, event and turn of a dialogue is one. The description of the profile says the
//! profile once more and is left out. Evidence are the messages of the referenced memory: one, or all
//! turns of a dialogue. Few events have a whole date; what is undated has that of its dialogue, or of
//! the first thing that has one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use jiff::civil::{Date, DateTime};
use jiff::fmt::strtime;
use serde_json::{Map, Value};

use super::{Conversation, Item, Message, Question, text};
use crate::answering::Skipped;
use crate::locomo::answer_text;

pub(super) const FOUND_AT: &str = "perltqa_en_v2.json and, to lie beside it, perltmem_en_v2.json are in the folder \
                                   Dataset/en_v2 of https://github.com/Elvin-Yiming-Du/PerLTQA";

pub(super) const KINDS: [(u64, &str); 4] =
    [(1, "Profile"), (2, "Relationships"), (3, "Events"), (4, "Dialogues")];

/// The keys of the kinds, in both files.
const PARTS: [&str; 4] = ["profile", "social_relationship", "events", "dialogues"];

/// Where the memories of these questions are: beside them.
pub(super) fn memories(questions: &Path) -> Option<PathBuf> {
    let name = questions.file_name()?.to_str()?;
    name.contains("perltqa").then(|| questions.with_file_name(name.replace("perltqa", "perltmem")))
}

/// Every person that is asked about, with what they remember.
pub(super) fn items(questions: Value, memories: Value) -> Result<Vec<Item>, String> {
    let mut known: BTreeMap<String, Value> = match memories {
        Value::Object(people) => people.into_iter().collect(),
        Value::Array(people) => people
            .into_iter()
            .filter_map(|one| {
                Some((one.pointer("/profile/Protagonist")?.as_str()?.to_owned(), one))
            })
            .collect(),
        _ => return Err("the memories beside it are no people".into()),
    };
    let Value::Array(groups) = questions else { return Err("it is JSON, but no list".into()) };
    let mut items = Vec::new();
    for group in groups {
        let Value::Object(people) = group else { return Err("a person is no object".into()) };
        for (name, questions) in people {
            let item = match known.remove(&name) {
                Some(memory) => Ok(serde_json::json!({"memory": memory, "questions": questions})),
                None => Err("nothing is remembered of this person".into()),
            };
            items.push(Item { name, item });
        }
    }
    Ok(items)
}

/// One person: an item of [`items`].
pub(super) fn conversation(
    item: &Value,
    name: &str,
    skipped: &mut Vec<Skipped>,
) -> Result<Conversation, String> {
    let Some(Value::Object(memory)) = item.get("memory") else {
        return Err("what is remembered of this person is no object".into());
    };
    let mut stream = Stream::of(memory, name)?;
    for (id, reason) in std::mem::take(&mut stream.problems) {
        skipped.push(Skipped { what: format!("{name}, `{id}`"), reason });
    }
    let messages = stream.in_order();
    let parts = parts(&messages);
    let mut questions = Vec::new();
    let mut place = 0;
    for (part, (category, _)) in PARTS.into_iter().zip(KINDS) {
        let Some(Value::Array(asked)) = item.pointer(&format!("/questions/{part}")) else {
            continue;
        };
        for raw in asked.iter().flat_map(flat) {
            match question(raw, place, category, &parts) {
                Ok(question) => questions.push(question),
                Err(reason) => {
                    let what = format!("{name}, question {}", place + 1);
                    skipped.push(Skipped { what, reason });
                }
            }
            place += 1;
        }
    }
    Ok(Conversation { name: name.to_owned(), speaker: Some(name.to_owned()), messages, questions })
}

/// A question itself, or those under the ids of an object.
fn flat(raw: &Value) -> Vec<&Value> {
    match raw {
        Value::Object(of) if !of.contains_key("Question") => {
            of.values().filter_map(Value::as_array).flatten().collect()
        }
        _ => vec![raw],
    }
}

/// The messages of every memory, by its id: a dialogue's have that before a number of their own.
fn parts(messages: &[Message]) -> BTreeMap<&str, Vec<&str>> {
    let mut parts: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for said in messages {
        let of_dialogue = said.id.rsplit_once(':').filter(|(_, n)| n.parse::<usize>().is_ok());
        let memory = of_dialogue.map_or(said.id.as_str(), |(dialogue, _)| dialogue);
        parts.entry(memory).or_default().push(&said.id);
    }
    parts
}

fn question(
    raw: &Value,
    place: usize,
    category: u64,
    parts: &BTreeMap<&str, Vec<&str>>,
) -> Result<Question, String> {
    let raw = raw.as_object().ok_or("it is no object")?;
    let answer = raw.get("Answer").and_then(answer_text).ok_or("it has no `Answer`")?;
    let mut evidence = BTreeSet::new();
    for id in references(raw.get("Reference Memory")) {
        match parts.get(id) {
            Some(messages) => evidence.extend(messages.iter().map(|&id| id.to_owned())),
            // Named, and never found.
            None => drop(evidence.insert(id.to_owned())),
        }
    }
    let text = text(raw, "Question")?.to_owned();
    Ok(Question { place, text, answer, category, evidence, at: None })
}

/// `Gender`, `1_0_0`, or a list as Python prints it: `['1_0_0#0', '1_0_1#1']`.
fn references(raw: Option<&Value>) -> Vec<&str> {
    let texts: Vec<&str> = match raw {
        Some(Value::String(text)) => vec![text],
        Some(Value::Array(texts)) => texts.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let ids = texts.into_iter().flat_map(|text| text.split(['[', ']', '\'', '"', ',']));
    ids.map(str::trim).filter(|id| !id.is_empty()).collect()
}

/// A person's messages, each with its time if it has one, and what could not be read.
struct Stream {
    entries: Vec<(Option<DateTime>, Message)>,
    /// By the id of the thing.
    problems: Vec<(String, String)>,
}

impl Stream {
    fn of(memory: &Map<String, Value>, name: &str) -> Result<Self, String> {
        let part = |key: &str| match memory.get(key) {
            Some(Value::Object(part)) => Ok(part),
            _ => Err(format!("`{key}` is no object")),
        };
        let (mut entries, mut problems, mut session) = (Vec::new(), Vec::new(), 0);
        let said = |id: String, speaker: &str, text: String, session: usize| Message {
            id,
            speaker: Some(speaker.to_owned()),
            by_second: speaker != name,
            text,
            at: DateTime::default(),
            session,
        };
        for (key, value) in part("profile")? {
            let Some(value) = answer_text(value) else { continue };
            entries.push((None, said(key.clone(), name, format!("{key}: {value}"), session)));
        }
        for (id, relation) in part("social_relationship")? {
            match relation_line(relation) {
                Ok(line) => entries.push((None, said(id.clone(), name, line, session))),
                Err(reason) => problems.push((id.clone(), reason)),
            }
        }
        let dialogues = part("dialogues")?;
        let of_events: BTreeMap<&str, DateTime> = dialogues.values().filter_map(of_event).collect();
        for (id, event) in part("events")? {
            session += 1;
            let object = event.as_object().ok_or_else(|| "it is no object".to_owned());
            match object.and_then(|event| Ok((event, text(event, "content")?))) {
                Ok((event, line)) => {
                    let own = text(event, "Creation Time").ok().and_then(time);
                    let at = own.or_else(|| of_events.get(id.as_str()).copied());
                    entries.push((at, said(id.clone(), name, line.to_owned(), session)));
                }
                Err(reason) => problems.push((id.clone(), reason)),
            }
        }
        for (id, dialogue) in dialogues {
            let Some(Value::Object(contents)) = dialogue.get("contents") else {
                problems.push((id.clone(), "it has no `contents`".into()));
                continue;
            };
            let mut n = 0;
            for (at, lines) in contents {
                session += 1;
                for line in lines.as_array().into_iter().flatten().filter_map(Value::as_str) {
                    let (speaker, words) = line.split_once(':').unwrap_or((name, line));
                    let words = words.trim().to_owned();
                    let turn = said(format!("{id}:{n}"), speaker.trim(), words, session);
                    entries.push((time(at), turn));
                    n += 1;
                }
            }
        }
        Ok(Self { entries, problems })
    }

    fn in_order(self) -> Vec<Message> {
        let first = self.entries.iter().filter_map(|(at, _)| *at).min().unwrap_or_default();
        let dated =
            self.entries.into_iter().map(|(at, said)| Message { at: at.unwrap_or(first), ..said });
        let mut messages: Vec<Message> =
            dated.filter(|said| !said.text.trim().is_empty()).collect();
        messages.sort_by_key(|said| (said.at, said.session));
        messages
    }
}

fn relation_line(relation: &Value) -> Result<String, String> {
    let relation = relation.as_object().ok_or("it is no object")?;
    let of = |key| text(relation, key);
    let (who, what) = (of("Supporting Characters")?, of("Relationship")?);
    Ok(format!("{who} ({what}): {}", of("Description")?))
}

/// The event that a dialogue is of, and the dialogue's time.
fn of_event(dialogue: &Value) -> Option<(&str, DateTime)> {
    let at = dialogue.get("contents")?.as_object()?.keys().find_map(|at| time(at))?;
    Some((dialogue.get("events")?.as_str()?, at))
}

/// `2022-05-12 10:00`, `May 12, 2022`, `October 2021`, `2012`; others say no time ("during an
/// election").
fn time(text: &str) -> Option<DateTime> {
    let text = text.trim();
    if let Ok(at) = DateTime::strptime("%Y-%m-%d %H:%M", text) {
        return Some(at);
    }
    let formats = ["%Y-%m-%d", "%B %d, %Y", "%b %d, %Y", "%B %Y", "%Y"];
    let parts = formats.iter().find_map(|format| strtime::parse(format, text).ok())?;
    let (month, day) = (parts.month().unwrap_or(1), parts.day().unwrap_or(1));
    Some(Date::new(parts.year()?, month, day).ok()?.at(0, 0, 0, 0))
}

#[cfg(test)]
mod tests {
    use super::super::DataSet;
    use super::*;
    use crate::EvalError;

    const FIXTURE: &str =
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/datasets/perltqa_en_v2.json");

    #[test]
    fn a_person_is_one_stream_in_the_order_of_time() {
        let (conversations, skipped) = DataSet::PerLtqa.load(Path::new(FIXTURE)).unwrap();
        let [ana] = &conversations[..] else { panic!("{conversations:?}") };
        let ids: Vec<&str> = ana.messages.iter().map(|m| m.id.as_str()).collect();
        assert_eq!(
            ids,
            [
                "Protagonist",
                "Gender",
                "Age",
                "1_0",
                "1_0_1", // 2021: before what the other event's dialogue dates
                "1_0_1#1:0",
                "1_0_0",
                "1_0_0#0:0",
                "1_0_0#0:1",
            ]
        );
        let said = |id: &str| ana.messages.iter().find(|m| m.id == id).unwrap();
        assert_eq!(said("Age").text, "Age: 28");
        assert_eq!(said("1_0").text, "Ben Berg (brother): Ana's brother mends clocks in Umeå.");
        let turn = said("1_0_0#0:1");
        assert_eq!(
            (turn.name(), turn.by_second, turn.text.as_str()),
            ("Ben Berg", true, "Mind the gap: it squeaks.")
        );
        assert_eq!(
            said("1_0_0").at.to_string(),
            "2022-05-12T10:00:00",
            "undated, but its dialogue is not"
        );
        assert_eq!(said("1_0_1").at.to_string(), "2021-10-01T00:00:00");

        let asked: Vec<_> = ana
            .questions
            .iter()
            .map(|q| {
                (
                    q.place,
                    q.category,
                    q.answer.as_str(),
                    q.evidence.iter().map(String::as_str).collect::<Vec<_>>(),
                )
            })
            .collect();
        assert_eq!(
            asked,
            [
                (0, 1, "28", vec!["Age"]),
                (1, 2, "Ben Berg", vec!["1_0"]),
                (3, 3, "an old tram", vec!["1_0_0"]),
                (4, 4, "The gap.", vec!["1_0_0#0:0", "1_0_0#0:1"]),
            ]
        );
        let named: Vec<&str> = skipped.iter().map(|s| s.what.as_str()).collect();
        assert_eq!(named, ["Ana Berg, `1_0_2`", "Ana Berg, question 3", "Nobody"], "{skipped:?}");
    }

    #[test]
    fn the_memories_lie_beside_the_questions() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("perltqa_en_v2.json");
        std::fs::copy(FIXTURE, &path).unwrap();
        let missing = DataSet::PerLtqa.load(&path);
        assert!(
            matches!(&missing, Err(EvalError::NoDataSet { path, .. }) if path.ends_with("perltmem_en_v2.json")),
            "{missing:?}"
        );
        let other = dir.path().join("questions.json");
        std::fs::copy(FIXTURE, &other).unwrap();
        assert!(matches!(DataSet::PerLtqa.load(&other), Err(EvalError::NotDataSet { .. })));
        for memories in ["[]", "7", "{\"Ana Berg\": {\"profile\": []}}", "{"] {
            std::fs::write(dir.path().join("perltmem_en_v2.json"), memories).unwrap();
            let nothing = DataSet::PerLtqa.load(&path);
            assert!(
                matches!(nothing, Err(EvalError::NotDataSet { .. })),
                "{memories}: {nothing:?}"
            );
        }
    }

    #[test]
    fn dates_as_far_as_they_are_told() {
        let check = |text: &str, at: &str| {
            assert_eq!(time(text).map(|at| at.to_string()).unwrap_or_default(), at, "{text}");
        };
        check("May 12, 2022", "2022-05-12T00:00:00");
        check("October 2021", "2021-10-01T00:00:00");
        check("2012", "2012-01-01T00:00:00");
        check("2023-10-14 10:00", "2023-10-14T10:00:00");
        check("during an election", "");
        check("", "");
        check("February 30, 2022", "");
    }
}
