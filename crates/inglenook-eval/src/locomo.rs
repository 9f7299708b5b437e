//! Real conversations: LoCoMo's questions over ready-made observations.
//!
//! One folder per conversation, with `semantics.jsonl` (`content`, `speaker`, `evidence` message ids,
//! `created_at`) and `qa.json` (`question`, `answer`, `evidence`, `category`). LoCoMo's own file, if given,
//! replaces `qa.json`. For evaluation only: nothing is ever trained on it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use inglenook::prompts::MemoryLine;
use jiff::civil::DateTime;
use serde::Deserialize;
use serde_json::Value;

use super::EvalError;
use super::sample::{Draws, some};

/// Names of question categories; the fifth, questions without an answer, is left out.
const KINDS: [(u64, &str); 4] =
    [(1, "multi-hop"), (2, "temporal"), (3, "open-domain"), (4, "single-hop")];

/// Categories that a reader of notes can answer; the others need dates or world knowledge.
const READ: [u64; 2] = [1, 4];

const N_READ: usize = 400;
const N_DISTRACTORS: usize = 8;

/// One conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct Conversation {
    pub name: String,
    pub observations: Vec<Observation>,
    pub questions: Vec<Question>,
}

/// One of the facts that come with LoCoMo.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    pub text: String,
    pub speaker: String,
    pub at: DateTime,
    evidence: BTreeSet<String>,
}

/// A question that at least one observation answers.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    pub text: String,
    pub answer: String,
    category: u64,
    /// The observations that rest on the same messages, in order.
    pub gold: Vec<usize>,
}

impl Conversation {
    /// All observations that a question does not rest on.
    pub(super) fn others(&self, question: &Question) -> Vec<usize> {
        (0..self.observations.len()).filter(|i| !question.gold.contains(i)).collect()
    }
}

/// A question with the notes shown to the reader.
pub(super) struct Case<'a> {
    pub kind: &'static str,
    pub question: &'a str,
    pub answer: &'a str,
    notes: Vec<&'a Observation>,
}

impl Case<'_> {
    pub(super) fn lines(&self) -> Vec<MemoryLine<'_>> {
        self.notes
            .iter()
            .map(|note| MemoryLine::Semantic { text: &note.text, at: note.at, superseded: false })
            .collect()
    }

    pub(super) fn texts(&self) -> Vec<&str> {
        self.notes.iter().map(|note| note.text.as_str()).collect()
    }
}

/// Questions, each with its evidence among eight other observations of the conversation, in chronological
/// order.
pub(super) fn cases(conversations: &[Conversation], n_max: Option<usize>) -> Vec<Case<'_>> {
    let all: Vec<(&Conversation, &Question)> = conversations
        .iter()
        .flat_map(|c| c.questions.iter().map(move |q| (c, q)))
        .filter(|(_, question)| READ.contains(&question.category))
        .collect();
    some(all, n_max.unwrap_or(N_READ), "locomo reading")
        .into_iter()
        .map(|(conversation, question)| {
            let mut draws = Draws::new(&question.text);
            let mut places = draws.pick_many(&conversation.others(question), N_DISTRACTORS);
            places.extend(&question.gold);
            places.sort_by_key(|&i| (conversation.observations[i].at, i));
            Case {
                kind: kind(question.category),
                question: &question.text,
                answer: &question.answer,
                notes: places.into_iter().map(|i| &conversation.observations[i]).collect(),
            }
        })
        .collect()
}

fn kind(category: u64) -> &'static str {
    KINDS.iter().find(|(number, _)| *number == category).map_or("", |(_, name)| name)
}

#[derive(Deserialize)]
struct RawObservation {
    content: String,
    speaker: String,
    evidence: Vec<String>,
    created_at: String,
}

#[derive(Deserialize)]
pub(super) struct RawQuestion {
    pub question: String,
    /// A text, or a number (a year); adversarial questions have none.
    #[serde(default)]
    pub answer: Value,
    #[serde(default)]
    pub evidence: Vec<String>,
    pub category: u64,
}

/// A conversation's folder and questions.
pub(super) struct Folder {
    pub path: PathBuf,
    pub questions: Vec<RawQuestion>,
}

#[derive(Deserialize)]
struct RawConversation {
    conversation: Speakers,
    qa: Vec<RawQuestion>,
}

#[derive(Deserialize)]
struct Speakers {
    speaker_a: String,
}

pub(super) fn read(path: &Path) -> Result<String, EvalError> {
    std::fs::read_to_string(path)
        .map_err(|source| EvalError::Unreadable { path: path.to_owned(), source })
}

pub(super) fn bad(path: &Path, reason: impl ToString) -> EvalError {
    EvalError::BadData { path: path.to_owned(), reason: reason.to_string() }
}

/// The conversations of a folder, by name. `questions` is LoCoMo's own file: a conversation of it
/// belongs to the folder that is named after its first speaker (`Caroline_0`).
///
/// # Errors
/// If a file can't be read or has another form.
pub fn load(questions: Option<&Path>, memories: &Path) -> Result<Vec<Conversation>, EvalError> {
    let mut conversations = Vec::new();
    for Folder { path, questions } in folders(questions, memories)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let observations = observations(&path.join("semantics.jsonl"))?;
        let questions =
            questions.into_iter().filter_map(|q| answerable(q, &observations)).collect();
        conversations.push(Conversation { name, observations, questions });
    }
    Ok(conversations)
}

/// The folders of conversations with their questions; see [`load`].
pub(super) fn folders(questions: Option<&Path>, memories: &Path) -> Result<Vec<Folder>, EvalError> {
    let unreadable = |source| EvalError::Unreadable { path: memories.to_owned(), source };
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(memories).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.join("semantics.jsonl").is_file() {
            paths.push(path);
        }
    }
    paths.sort();
    if paths.is_empty() {
        return Err(bad(memories, "no folder in it has a semantics.jsonl"));
    }
    let mut asked: Vec<RawConversation> = match questions {
        Some(path) => serde_json::from_str(&read(path)?).map_err(|e| bad(path, e))?,
        None => Vec::new(),
    };
    let mut folders = Vec::new();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let speaker = name.split('_').next().unwrap_or_default();
        let own = asked.iter().position(|c| c.conversation.speaker_a == speaker);
        let questions = match (own, questions) {
            (Some(at), _) => asked.swap_remove(at).qa,
            // No questions were given for this conversation.
            (None, Some(_)) => continue,
            (None, None) => {
                let path = path.join("qa.json");
                serde_json::from_str(&read(&path)?).map_err(|e| bad(&path, e))?
            }
        };
        folders.push(Folder { path, questions });
    }
    match (folders.is_empty(), questions) {
        (true, Some(file)) => {
            Err(bad(file, format!("no folder in {} is named after a speaker", memories.display())))
        }
        _ => Ok(folders),
    }
}

fn observations(path: &Path) -> Result<Vec<Observation>, EvalError> {
    let text = read(path)?;
    text.lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| {
            let raw: RawObservation = serde_json::from_str(line).map_err(|e| bad(path, e))?;
            let at = time(&raw.created_at)
                .ok_or_else(|| bad(path, format!("`{}` is no time", raw.created_at)))?;
            Ok(Observation {
                text: raw.content,
                speaker: raw.speaker,
                at,
                evidence: ids(&raw.evidence),
            })
        })
        .collect()
}

/// "4:04 pm on 20 January, 2023".
pub(super) fn time(text: &str) -> Option<DateTime> {
    DateTime::strptime("%I:%M %p on %d %B, %Y", text.trim()).ok()
}

/// Some lists hold several ids in one text.
pub(super) fn ids(texts: &[String]) -> BTreeSet<String> {
    texts
        .iter()
        .flat_map(|text| text.split([';', ',', ' ']))
        .filter(|id| !id.is_empty())
        .map(str::to_owned)
        .collect()
}

/// `D3:14`.
pub(super) fn is_message_id(id: &str) -> bool {
    let is_number = |n: &str| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit());
    id.strip_prefix('D')
        .and_then(|rest| rest.split_once(':'))
        .is_some_and(|(session, turn)| is_number(session) && is_number(turn))
}

/// All but the questions without an answer.
pub(super) fn is_scored(category: u64) -> bool {
    KINDS.iter().any(|&(number, _)| number == category)
}

pub(super) fn answer_text(answer: &Value) -> Option<String> {
    match answer {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn answerable(raw: RawQuestion, observations: &[Observation]) -> Option<Question> {
    if !is_scored(raw.category) {
        return None;
    }
    let answer = answer_text(&raw.answer)?;
    let evidence = ids(&raw.evidence);
    let gold: Vec<usize> = observations
        .iter()
        .enumerate()
        .filter(|(_, observation)| !observation.evidence.is_disjoint(&evidence))
        .map(|(i, _)| i)
        .collect();
    (!gold.is_empty()).then_some(Question {
        text: raw.question,
        answer,
        category: raw.category,
        gold,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A conversation of four observations and as many questions, in LoCoMo's form.
    fn folder() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let own = dir.path().join("Ana_0");
        std::fs::create_dir(&own).unwrap();
        let line = |text: &str, id: &str| {
            let value = serde_json::json!({
                "content": text, "speaker": &text[..3], "evidence": [id],
                "created_at": "1:56 pm on 8 May, 2023",
            });
            format!("{value}\n")
        };
        let lines = line("Ana has a dog.", "D1:1") + &line("Ben flew to Oslo.", "D1:2");
        std::fs::write(own.join("semantics.jsonl"), lines).unwrap();
        let qa = serde_json::json!([
            {"question": "Which pet?", "answer": "a dog", "evidence": ["D9:9; D1:1"], "category": 4},
            {"question": "When?", "answer": 2023, "evidence": ["D1:2"], "category": 2},
            {"question": "Nothing?", "answer": "x", "evidence": ["D7:1"], "category": 1},
            {"question": "Trap?", "evidence": ["D1:1"], "category": 5},
        ]);
        std::fs::write(own.join("qa.json"), qa.to_string()).unwrap();
        let whole = serde_json::json!([{"conversation": {"speaker_a": "Ana"}, "qa": qa}]);
        std::fs::write(dir.path().join("locomo.json"), whole.to_string()).unwrap();
        dir
    }

    #[test]
    fn questions_find_their_observations() {
        let dir = folder();
        let found = load(None, dir.path()).unwrap();
        assert_eq!(found, load(Some(&dir.path().join("locomo.json")), dir.path()).unwrap());
        let [conversation] = &found[..] else { panic!("{found:?}") };
        let questions: Vec<_> =
            conversation.questions.iter().map(|q| (q.answer.as_str(), q.gold.clone())).collect();
        assert_eq!(questions, [("a dog", vec![0]), ("2023", vec![1])]);
        assert_eq!(conversation.observations[0].at, jiff::civil::date(2023, 5, 8).at(13, 56, 0, 0));
        // The temporal question is not read; the distractor stands beside the gold note.
        let cases = cases(&found, None);
        assert_eq!(cases.len(), 1);
        assert_eq!((cases[0].kind, cases[0].texts().len()), ("single-hop", 2));
    }

    #[test]
    fn what_is_wrong_with_the_files_is_said() {
        let dir = folder();
        let nowhere = load(None, &dir.path().join("nowhere"));
        assert!(matches!(nowhere, Err(EvalError::Unreadable { .. })), "{nowhere:?}");
        let empty = load(None, &dir.path().join("Ana_0"));
        assert!(matches!(empty, Err(EvalError::BadData { .. })), "{empty:?}");
        std::fs::write(dir.path().join("Ana_0/semantics.jsonl"), "{").unwrap();
        assert!(matches!(load(None, dir.path()), Err(EvalError::BadData { .. })));
    }
}
