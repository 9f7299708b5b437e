//! The memories that methods build for themselves, kept in the run's folder, and the cost of building them.
//!
//! | file | what |
//! |---|---|
//! | `built/0003-facts.json` | a conversation's memory (the file's fourth conversation), complete or absent ([`BuiltMemory`]) |
//! | `construction.jsonl` | build time of each ([`BuildTime`]); kept apart because it differs from run to run |
//!
//! A resumed run builds only what is missing and ignores what another run left in the folder. Files hold
//! texts and integers only, so they are read back exactly as written.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use jiff::civil::DateTime;
use serde::{Deserialize, Serialize};

use super::journal::{append, pretty, whole_lines, write_whole};
use crate::EvalError;

/// One memory: a fact, a triple, a summary, a chunk or a note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Unit {
    pub text: String,
    /// When it was said.
    pub at: DateTime,
    /// Places of the messages it comes from, in order.
    pub messages: Vec<usize>,
}

/// Who made a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MadeBy {
    /// Ready-made: `--memories`.
    Given,
    /// The language model.
    Model,
    /// The product's rules, where the model is not good enough to write.
    Rules,
}

impl MadeBy {
    /// Its name in JSON and tables.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Given => "given",
            Self::Model => "model",
            Self::Rules => "rules",
        }
    }
}

/// What a build produces.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BuildResult {
    pub made_by: MadeBy,
    pub units: Vec<Unit>,
    /// Counts of the build's steps, by name.
    pub counts: BTreeMap<String, u64>,
}

/// A built memory, as stored in the cache.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct BuiltMemory {
    /// Identity of the run that built it ([`BuiltCache::of`]).
    pub run: String,
    pub conversation: String,
    /// "facts", "lightmem", …
    pub memory: String,
    pub made_by: MadeBy,
    pub model_calls: u64,
    /// Tokens processed by the model: prompts, measurements and replies.
    pub tokens: u64,
    pub counts: BTreeMap<String, u64>,
    pub units: Vec<Unit>,
}

/// How long one build took.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BuildTime {
    pub conversation: String,
    pub memory: String,
    pub seconds: f64,
}

/// The cache in one run's folder.
pub(super) struct BuiltCache {
    /// Identity of the run.
    pub run: String,
    dir: PathBuf,
    times: PathBuf,
}

impl BuiltCache {
    /// The cache in `folder` of the run with this identity. Creates no file until something is stored.
    pub(super) fn of(folder: &Path, run: String) -> Self {
        Self { run, dir: folder.join("built"), times: folder.join("construction.jsonl") }
    }

    /// Conversations are numbered, because a name from a data set may not be a valid file name.
    fn path(&self, place: usize, memory: &str) -> PathBuf {
        self.dir.join(format!("{place:04}-{memory}.json"))
    }

    /// The cached memory of this conversation; a damaged file counts as absent.
    pub(super) fn find(
        &self,
        place: usize,
        conversation: &str,
        memory: &str,
        n_messages: usize,
    ) -> Option<BuiltMemory> {
        let kept = self.read(&self.path(place, memory))?;
        let fits = kept.units.iter().flat_map(|unit| &unit.messages).all(|&m| m < n_messages);
        (kept.conversation == conversation && kept.memory == memory && fits).then_some(kept)
    }

    /// Writes the build time first, so that no memory is stored without one.
    pub(super) fn keep(
        &self,
        place: usize,
        kept: &BuiltMemory,
        seconds: f64,
    ) -> Result<(), EvalError> {
        let path = self.path(place, &kept.memory);
        let failed = |source| EvalError::Unwritable { path: path.clone(), source };
        std::fs::create_dir_all(&self.dir).map_err(failed)?;
        let (conversation, memory) = (kept.conversation.clone(), kept.memory.clone());
        let (mut times, _) = self.times().map_err(failed)?;
        append(&mut times, &BuildTime { conversation, memory, seconds }).map_err(failed)?;
        times.sync_data().map_err(failed)?;
        write_whole(&path, &pretty(kept)).map_err(failed)
    }

    fn times(&self) -> std::io::Result<(File, Vec<BuildTime>)> {
        whole_lines(&self.times)
    }

    /// Every memory in the cache, in the order of file names.
    pub(super) fn all(&self) -> Vec<BuiltMemory> {
        let Ok(entries) = std::fs::read_dir(&self.dir) else { return Vec::new() };
        let mut paths: Vec<PathBuf> = entries.filter_map(|e| Some(e.ok()?.path())).collect();
        paths.retain(|path| path.extension().is_some_and(|e| e == "json"));
        paths.sort();
        paths.iter().filter_map(|path| self.read(path)).collect()
    }

    fn read(&self, path: &Path) -> Option<BuiltMemory> {
        let kept: BuiltMemory = serde_json::from_str(&std::fs::read_to_string(path).ok()?).ok()?;
        (kept.run == self.run).then_some(kept)
    }

    /// Each memory's latest build time.
    pub(super) fn seconds(&self) -> Result<Vec<BuildTime>, EvalError> {
        if !self.times.exists() {
            return Ok(Vec::new());
        }
        let failed = |source| EvalError::Unwritable { path: self.times.clone(), source };
        let (_, times) = self.times().map_err(failed)?;
        let mut last: BTreeMap<(String, String), BuildTime> = BTreeMap::new();
        for time in times {
            last.insert((time.memory.clone(), time.conversation.clone()), time);
        }
        Ok(last.into_values().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(memory: &str) -> BuiltMemory {
        BuiltMemory {
            run: "a run".into(),
            conversation: "../conv".into(),
            memory: memory.into(),
            made_by: MadeBy::Model,
            model_calls: 2,
            tokens: 300,
            counts: BTreeMap::from([("documents".into(), 1)]),
            units: vec![Unit {
                text: "Où?".into(), at: DateTime::default(), messages: vec![0, 4]
            }],
        }
    }

    #[test]
    fn a_memory_is_found_again_and_a_damaged_one_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let cache = BuiltCache::of(dir.path(), "a run".into());
        assert_eq!(cache.find(3, "../conv", "facts", 5), None);
        assert_eq!(cache.seconds().unwrap(), []);
        cache.keep(3, &kept("facts"), 1.5).unwrap();
        cache.keep(3, &kept("triples"), 2.0).unwrap();
        assert_eq!(cache.find(3, "../conv", "facts", 5), Some(kept("facts")));
        assert_eq!(cache.find(3, "another", "facts", 5), None);
        assert_eq!(cache.find(3, "../conv", "facts", 4), None, "it names a message that is not");
        assert_eq!(cache.all().len(), 2);
        let other = BuiltCache::of(dir.path(), "another run".into());
        assert_eq!((other.find(3, "../conv", "facts", 5), other.all().len()), (None, 0));
        let path = dir.path().join("built/0003-facts.json");
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, &text[..text.len() / 2]).unwrap();
        assert_eq!(cache.find(3, "../conv", "facts", 5), None);
        // Built again: its last time counts.
        cache.keep(3, &kept("facts"), 4.0).unwrap();
        let seconds: Vec<f64> = cache.seconds().unwrap().iter().map(|t| t.seconds).collect();
        assert_eq!(seconds, [4.0, 2.0]);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }
}
