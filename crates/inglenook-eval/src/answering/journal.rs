//! A run's folder: an append-only record from which a killed run resumes to the same bytes.
//!
//! | file | what |
//! |---|---|
//! | `manifest.json` | what was run, on what, by what; written first |
//! | `answers.jsonl` | one line per answer ([`Line`]), synced to disk before the next question |
//! | `memories.jsonl` | one line per memory: its size and what building it cost ([`MemoryRow`]) |
//! | `timings.jsonl` | seconds per answer and per memory ([`Timing`]); kept apart because they differ from run to run |
//! | `report.json`, `report.md`, `*.svg` | derived from the first three files alone |
//! | `timings.md` | derived from `timings.jsonl` |
//!
//! Lines hold texts and integers only, so they are read back exactly as written. A truncated last line is
//! removed, and its question is asked again.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::EvalError;
use crate::retrieval::growth::AGES;

/// The outcome of one question under one method.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    pub conversation: String,
    /// Its place in the conversation's list, from 0.
    pub question: usize,
    pub category: u64,
    pub method: String,
    pub asked: String,
    pub expected: String,
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// What a question gave: an answer with its cost, or a failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Outcome {
    /// The reader answered.
    Answered {
        answer: String,
        /// Messages that the answer rests on, and how many of them the evidence comes from.
        evidence_named: u64,
        evidence_found: u64,
        prompt_tokens: u64,
        tokens: u64,
        processed_tokens: u64,
        /// Tokens generated: the answer and whatever the method wrote before it.
        #[serde(default)]
        written_tokens: u64,
        model_calls: u64,
    },
    /// The question failed; the others go on.
    Failed { error: String },
}

/// A conversation's memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryRow {
    pub conversation: String,
    pub messages: u64,
    pub episodes: u64,
    pub facts: u64,
    pub themes: u64,
    /// Facts that changed their theme while the memory grew (xMemory §5.3), replayed in order …
    pub reassigned: u64,
    /// … and, in each tenth of the growth, how often facts changed theme and how many arrived.
    pub flips: [u64; AGES],
    pub inserts: [u64; AGES],
    /// What building cost; `None` for a ready-made memory.
    pub built: Option<BuildCost>,
}

/// The model's work for building a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildCost {
    /// Tokens processed, prompt and output.
    pub tokens: u64,
    pub written_tokens: u64,
    pub model_calls: u64,
}

/// Stands for the method in the timings of building a memory.
pub(super) const BUILDING: &str = "(building a memory)";

/// Seconds for an answer, search included, or for building a memory ([`BUILDING`]).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    pub conversation: String,
    pub question: usize,
    pub method: String,
    pub seconds: f64,
}

/// Conversation, question, method.
pub(super) type Key = (String, usize, String);

impl Line {
    pub(super) fn key(&self) -> Key {
        (self.conversation.clone(), self.question, self.method.clone())
    }
}

impl Timing {
    fn key(&self) -> Key {
        (self.conversation.clone(), self.question, self.method.clone())
    }
}

/// The open folder of a run.
pub(super) struct Journal {
    dir: PathBuf,
    answers: File,
    memories: File,
    timings: File,
    pub done: BTreeSet<Key>,
    /// Conversations whose memory is recorded.
    pub remembered: BTreeSet<String>,
}

/// Everything that a run recorded.
pub(super) struct Record {
    /// As it was first written.
    pub manifest: Value,
    pub lines: Vec<Line>,
    pub memories: Vec<MemoryRow>,
    pub timings: Vec<Timing>,
}

const MANIFEST: &str = "manifest.json";
const ANSWERS: &str = "answers.jsonl";
const MEMORIES: &str = "memories.jsonl";
const TIMINGS: &str = "timings.jsonl";

impl Journal {
    /// Starts a run in `dir`, or with `resume` continues the one that is there. `different` names what
    /// distinguishes two manifests, if they belong to different runs.
    pub(super) fn open(
        dir: &Path,
        manifest: &Value,
        resume: bool,
        different: impl Fn(&Value, &Value) -> Option<String>,
    ) -> Result<Self, EvalError> {
        let failed = |source| EvalError::Unwritable { path: dir.to_owned(), source };
        std::fs::create_dir_all(dir).map_err(failed)?;
        let path = dir.join(MANIFEST);
        // The manifest is renamed into place, so it is complete or absent.
        match std::fs::read_to_string(&path) {
            Ok(_) if !resume => return Err(EvalError::RunThere { path: dir.to_owned() }),
            Ok(text) => {
                let there = serde_json::from_str(&text).unwrap_or_default();
                if let Some(what) = different(&there, manifest) {
                    return Err(EvalError::OtherRun { path: dir.to_owned(), what });
                }
            }
            Err(_) => write_whole(&path, &pretty(manifest)).map_err(failed)?,
        }
        let (answers, lines) = whole_lines::<Line>(&dir.join(ANSWERS)).map_err(failed)?;
        let (memories, rows) = whole_lines::<MemoryRow>(&dir.join(MEMORIES)).map_err(failed)?;
        let (timings, _) = whole_lines::<Timing>(&dir.join(TIMINGS)).map_err(failed)?;
        let done = lines.iter().map(Line::key).collect();
        let remembered = rows.into_iter().map(|row| row.conversation).collect();
        Ok(Self { dir: dir.to_owned(), answers, memories, timings, done, remembered })
    }

    /// Records a memory, unless it is recorded already.
    pub(super) fn remember(&mut self, row: &MemoryRow, seconds: f64) -> Result<(), EvalError> {
        let failed = |source| EvalError::Unwritable { path: self.dir.clone(), source };
        if !self.remembered.insert(row.conversation.clone()) {
            return Ok(());
        }
        if row.built.is_some() {
            let (conversation, method) = (row.conversation.clone(), BUILDING.to_owned());
            let timing = Timing { conversation, question: 0, method, seconds };
            append(&mut self.timings, &timing).map_err(failed)?;
        }
        append(&mut self.memories, row).map_err(failed)?;
        self.memories.sync_data().map_err(failed)
    }

    /// Writes the timing first, so that no answer is without one.
    pub(super) fn append(&mut self, line: &Line, seconds: f64) -> Result<(), EvalError> {
        let failed = |source| EvalError::Unwritable { path: self.dir.clone(), source };
        let (conversation, question, method) = line.key();
        let timing = Timing { conversation, question, method, seconds };
        append(&mut self.timings, &timing).map_err(failed)?;
        append(&mut self.answers, line).map_err(failed)?;
        self.answers.sync_data().map_err(failed)?;
        self.done.insert(line.key());
        Ok(())
    }

    pub(super) fn read(&self) -> Result<Record, EvalError> {
        let failed = |source| EvalError::Unwritable { path: self.dir.clone(), source };
        let manifest = std::fs::read_to_string(self.dir.join(MANIFEST)).map_err(failed)?;
        let manifest = serde_json::from_str(&manifest).unwrap_or_default();
        let (_, lines) = whole_lines::<Line>(&self.dir.join(ANSWERS)).map_err(failed)?;
        let (_, memories) = whole_lines::<MemoryRow>(&self.dir.join(MEMORIES)).map_err(failed)?;
        let (_, all) = whole_lines::<Timing>(&self.dir.join(TIMINGS)).map_err(failed)?;
        // A lost answer was asked for again and has two timings.
        let mut timings: Vec<Timing> = Vec::new();
        let mut seen = BTreeSet::new();
        for timing in all.into_iter().rev() {
            if seen.insert(timing.key()) {
                timings.push(timing);
            }
        }
        timings.reverse();
        Ok(Record { manifest, lines, memories, timings })
    }

    pub(super) fn write(&self, name: &str, text: &str) -> Result<(), EvalError> {
        write_whole(&self.dir.join(name), text)
            .map_err(|source| EvalError::Unwritable { path: self.dir.join(name), source })
    }
}

pub(super) fn pretty(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default() + "\n"
}

/// Writes the file atomically.
pub(super) fn write_whole(path: &Path, text: &str) -> std::io::Result<()> {
    let part = path.with_extension("part");
    let mut file = File::create(&part)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&part, path)
}

pub(super) fn append(file: &mut File, value: &impl Serialize) -> std::io::Result<()> {
    let mut line = serde_json::to_string(value)?;
    line.push('\n');
    file.write_all(line.as_bytes())
}

/// Reads the lines up to the first damaged one, truncates the file there, and leaves it open for appending.
pub(super) fn whole_lines<T: for<'a> Deserialize<'a>>(
    path: &Path,
) -> std::io::Result<(File, Vec<T>)> {
    let file = OpenOptions::new().create(true).append(true).open(path)?;
    let bytes = std::fs::read(path)?;
    let (mut lines, mut whole) = (Vec::new(), 0);
    for line in bytes.split_inclusive(|&byte| byte == b'\n') {
        match serde_json::from_slice(line) {
            Ok(value) if line.ends_with(b"\n") => lines.push(value),
            _ => break,
        }
        whole += line.len();
    }
    if whole < bytes.len() {
        file.set_len(whole as u64)?;
        file.sync_all()?;
    }
    Ok((file, lines))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn line(question: usize) -> Line {
        Line {
            conversation: "conv-1".into(),
            question,
            category: 4,
            method: "full".into(),
            asked: "Où?\n".into(),
            expected: "Lund".into(),
            outcome: Outcome::Failed { error: "it broke".into() },
        }
    }

    fn open(dir: &Path, resume: bool) -> Result<Journal, EvalError> {
        let different = |a: &Value, b: &Value| (a != b).then(|| "seed".to_owned());
        Journal::open(dir, &json!({"seed": 1}), resume, different)
    }

    /// However much of the last writes got lost.
    #[test]
    fn a_run_goes_on_to_the_same_bytes() {
        let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mut journal = open(dir.path(), false).unwrap();
        for question in 0..3 {
            journal.append(&line(question), 0.5).unwrap();
        }
        let bytes = |of: &Path, name| std::fs::read(of.join(name)).unwrap();
        let (answers, timings) = (bytes(dir.path(), ANSWERS), bytes(dir.path(), TIMINGS));
        std::fs::write(other.path().join(MANIFEST), pretty(&json!({"seed": 1}))).unwrap();
        for n in 0..=answers.len() {
            std::fs::write(other.path().join(ANSWERS), &answers[..n]).unwrap();
            std::fs::write(other.path().join(TIMINGS), &timings[..n.min(timings.len())]).unwrap();
            let mut journal = open(other.path(), true).unwrap();
            for question in 0..3 {
                if !journal.done.contains(&line(question).key()) {
                    journal.append(&line(question), 0.25).unwrap();
                }
            }
            assert!(bytes(other.path(), ANSWERS) == answers, "after {n} bytes");
            let Record { manifest, lines, timings, .. } = journal.read().unwrap();
            assert_eq!((manifest["seed"].as_u64(), lines.len()), (Some(1), 3));
            assert!(timings.len() <= 3, "{timings:?}");
        }
    }

    #[test]
    fn a_memory_is_noted_once() {
        let dir = tempfile::tempdir().unwrap();
        let row = |built| MemoryRow {
            conversation: "conv-1".into(),
            messages: 9,
            episodes: 2,
            facts: 5,
            themes: 3,
            reassigned: 1,
            flips: [0; AGES],
            inserts: [0; AGES],
            built,
        };
        let built = Some(BuildCost { tokens: 70, written_tokens: 20, model_calls: 4 });
        open(dir.path(), false).unwrap().remember(&row(built), 1.5).unwrap();
        // Built again by a run that goes on: the same memory, other seconds.
        let mut journal = open(dir.path(), true).unwrap();
        journal.remember(&row(built), 2.5).unwrap();
        journal.remember(&MemoryRow { conversation: "conv-2".into(), ..row(None) }, 0.1).unwrap();
        let Record { memories, timings, .. } = journal.read().unwrap();
        assert_eq!((memories.len(), memories[0].built), (2, built));
        let timed: Vec<_> = timings.iter().map(|t| (t.conversation.as_str(), t.seconds)).collect();
        assert_eq!(timed, [("conv-1", 1.5)], "nobody knows how long a ready-made one took");
    }

    #[test]
    fn another_run_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        drop(open(dir.path(), false).unwrap());
        assert!(matches!(open(dir.path(), false), Err(EvalError::RunThere { .. })));
        assert!(open(dir.path(), true).is_ok());
        std::fs::write(dir.path().join(MANIFEST), "{\"seed\": 2}").unwrap();
        let refused = open(dir.path(), true).map(|_| ());
        assert!(matches!(refused, Err(EvalError::OtherRun { what, .. }) if what == "seed"));
    }
}
