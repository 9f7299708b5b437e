//! A run's folder, so that a run that was killed goes on to the same bytes.
//!
//! | file | what |
//! |---|---|
//! | `manifest.json` | what was run, on what, by what; written first |
//! | `answers.jsonl` | one line an answer ([`Line`]), synced to the disk before the next is asked for |
//! | `timings.jsonl` | seconds of each answer ([`Timing`]): they differ from run to run, so they stay apart |
//! | `report.json`, `report.md` | functions of `manifest.json` and `answers.jsonl` alone |
//!
//! Lines hold texts and whole numbers only: what is read back is what was written. A line that was
//! cut off is taken away, and its question asked again.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::eval::EvalError;

/// What became of one question under one method.
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

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Outcome {
    Answered {
        answer: String,
        /// Messages that the answer rests on, and how many of them the evidence comes from.
        evidence_named: u64,
        evidence_found: u64,
        prompt_tokens: u64,
        tokens: u64,
        processed_tokens: u64,
        model_calls: u64,
    },
    Failed {
        error: String,
    },
}

/// Seconds of an answer, from the search to its last word.
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

/// See the module.
pub(super) struct Journal {
    dir: PathBuf,
    answers: File,
    timings: File,
    pub done: BTreeSet<Key>,
}

const MANIFEST: &str = "manifest.json";
const ANSWERS: &str = "answers.jsonl";
const TIMINGS: &str = "timings.jsonl";

impl Journal {
    /// Begins a run in `dir`, or with `resume` goes on with the one that is there. `different` says
    /// whether two manifests are of different runs.
    pub(super) fn open(
        dir: &Path,
        manifest: &Value,
        resume: bool,
        different: impl Fn(&Value, &Value) -> Option<String>,
    ) -> Result<Self, EvalError> {
        let failed = |source| EvalError::Unwritable { path: dir.to_owned(), source };
        std::fs::create_dir_all(dir).map_err(failed)?;
        let path = dir.join(MANIFEST);
        // A manifest is whole or absent: it is renamed into place.
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
        let (timings, _) = whole_lines::<Timing>(&dir.join(TIMINGS)).map_err(failed)?;
        let done = lines.iter().map(Line::key).collect();
        Ok(Self { dir: dir.to_owned(), answers, timings, done })
    }

    /// The timing goes first: no answer is without one.
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

    /// The manifest as it was first written, every line, and the seconds of each.
    pub(super) fn read(&self) -> Result<(Value, Vec<Line>, Vec<Timing>), EvalError> {
        let failed = |source| EvalError::Unwritable { path: self.dir.clone(), source };
        let manifest = std::fs::read_to_string(self.dir.join(MANIFEST)).map_err(failed)?;
        let (_, lines) = whole_lines::<Line>(&self.dir.join(ANSWERS)).map_err(failed)?;
        let (_, timings) = whole_lines::<Timing>(&self.dir.join(TIMINGS)).map_err(failed)?;
        // An answer that was lost was asked for again.
        let mut last: Vec<Timing> = Vec::new();
        let mut seen = BTreeSet::new();
        for timing in timings.into_iter().rev() {
            if seen.insert(timing.key()) {
                last.push(timing);
            }
        }
        last.reverse();
        Ok((serde_json::from_str(&manifest).unwrap_or_default(), lines, last))
    }

    pub(super) fn write(&self, name: &str, text: &str) -> Result<(), EvalError> {
        write_whole(&self.dir.join(name), text)
            .map_err(|source| EvalError::Unwritable { path: self.dir.join(name), source })
    }
}

pub(super) fn pretty(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default() + "\n"
}

/// All of it or nothing.
fn write_whole(path: &Path, text: &str) -> std::io::Result<()> {
    let part = path.with_extension("part");
    let mut file = File::create(&part)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&part, path)
}

fn append(file: &mut File, value: &impl Serialize) -> std::io::Result<()> {
    let mut line = serde_json::to_string(value)?;
    line.push('\n');
    file.write_all(line.as_bytes())
}

/// The lines up to the first that is not whole, after which the file is cut off; the file is open
/// for more.
fn whole_lines<T: for<'a> Deserialize<'a>>(path: &Path) -> std::io::Result<(File, Vec<T>)> {
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
#[expect(clippy::unwrap_used, reason = "tests")]
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
            let (manifest, lines, timings) = journal.read().unwrap();
            assert_eq!((manifest["seed"].as_u64(), lines.len()), (Some(1), 3));
            assert!(timings.len() <= 3, "{timings:?}");
        }
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
