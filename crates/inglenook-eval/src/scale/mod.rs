//! The memory core at a size: what one more semantic costs, what a question's selection costs, and
//! what all of it takes of the machine.
//!
//! An insert is what the worker does in `memory` for a new semantic (settle, attach, split, merge,
//! both kNN graphs); writing it to disk is not in it. A selection is recall's own search and Stage I
//! on a store on disk with as many semantics, a message each and an episode to eight, all of them
//! with vectors; the question's own vector is given. As in a chat, the question is saved before it is
//! searched for (untimed), which empties the page caches of the connections that read.
//!
//! A machine's speed varies by a third from one minute to the next, so sizes are measured side by side: each in
//! a process of its own, with questions in rounds (`cli/bench`).

mod clusters;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::time::{Duration, Instant};

use inglenook::interfaces::{Cancel, Embedder as _};
use inglenook::memory::hierarchy::touched;
use inglenook::memory::{
    Embedding, Hierarchy, Moment, NewMessage, Role, SemanticId, SessionId, ThemeId,
};
use inglenook::recall::{EvidenceSearch, Levels, RecallConfig, RecallError};
use inglenook::store::{Level, NewSemantic, Store, StoreError};
use serde::{Deserialize, Serialize};

use self::clusters::{Clusters, DIMENSIONS, Drawn};
use super::EvalError;
use super::retrieval::PrecomputedEmbedder;
use crate::metrics::nearest_rank;

/// Minimum number of timed inserts: the last ones at each size, or a tenth of all.
const N_INSERTS: usize = 1_000;
/// Rounds of questions per size.
pub const N_ROUNDS: usize = 20;
/// Timed questions per round …
const N_SELECTIONS: usize = 20;
/// … after these untimed ones, which refill the processor's caches.
const N_WARM: usize = 5;
/// Semantics whose edges are compared with an exact search.
const N_COMPARED: usize = 200;
const SEED: u64 = 7;
const MESSAGES_AN_EPISODE: usize = 8;

/// The figures of one size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScaleRow {
    pub semantics: usize,
    pub themes: usize,
    pub insert_p50_ms: f64,
    pub insert_p99_ms: f64,
    pub insert_max_ms: f64,
    /// Seconds for all inserts.
    pub insert_seconds: f64,
    pub selection_p50_ms: f64,
    pub selection_p99_ms: f64,
    /// Share of the true ten nearest semantics that the graph has (1 where it is exact).
    pub neighbour_recall: f64,
    /// Resident memory of the process, the larger of after the inserts and after the selections; `None` if the
    /// system does not report it.
    pub resident_bytes: Option<u64>,
}

/// The figures of all sizes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ScaleReport {
    /// By increasing size.
    pub rows: Vec<ScaleRow>,
}

/// A phase of building a memory of one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScaleStep {
    /// Inserting semantics into the hierarchy.
    Inserting,
    /// Writing the store.
    Storing,
}

/// A memory of one size, what it cost, and what its questions cost so far.
pub struct SizedMemory {
    hierarchy: Hierarchy,
    clusters: Clusters,
    inserts: Times,
    insert_seconds: f64,
    neighbour_recall: f64,
    after_inserts: Option<u64>,
    store: Store,
    session: SessionId,
    selections: Vec<Duration>,
    /// Declared last, so that the files are removed after the store is closed.
    _folder: tempfile::TempDir,
}

impl SizedMemory {
    /// Builds a memory with `n` semantics; `on_progress(step, done, of)`.
    ///
    /// # Errors
    /// If the store can't be made, or the run was cancelled.
    pub fn build(
        n: usize,
        on_progress: &dyn Fn(ScaleStep, usize, usize),
        cancel: &Cancel,
    ) -> Result<Self, EvalError> {
        let n_timed = N_INSERTS.max(n / 10).min(n);
        let mut hierarchy = Hierarchy::default();
        let mut clusters = Clusters::new(SEED, n);
        let (mut all, mut timed) = (Duration::ZERO, Vec::with_capacity(n_timed));
        for i in 0..n {
            if i % 256 == 0 {
                check(cancel)?;
                on_progress(ScaleStep::Inserting, i, n);
            }
            let fact = clusters.fact();
            let took = insert(&mut hierarchy, id(i), fact.vector);
            all += took;
            if i >= n - n_timed {
                timed.push(took);
            }
        }
        let neighbour_recall = neighbour_recall(&hierarchy);
        let after_inserts = resident_bytes();
        let folder = tempfile::tempdir()
            .map_err(|source| EvalError::Unreadable { path: std::env::temp_dir(), source })?;
        let store = stored(folder.path(), n, &hierarchy, on_progress, cancel)?;
        let session = store.write(|tx| tx.create_session("asking", moment(0), true))?;
        Ok(Self {
            hierarchy,
            clusters,
            inserts: Times::of(timed),
            insert_seconds: all.as_secs_f64(),
            neighbour_recall,
            after_inserts,
            store,
            session,
            selections: Vec::new(),
            _folder: folder,
        })
    }

    /// Asks one round of questions.
    ///
    /// # Errors
    /// If the store can't be read or written, or it was cancelled.
    pub fn ask(&mut self, cancel: &Cancel) -> Result<(), EvalError> {
        for i in 0..N_WARM + N_SELECTIONS {
            check(cancel)?;
            let question = self.clusters.question();
            let at = moment(self.hierarchy.partition.n_semantics());
            let said = NewMessage::new(Role::User, question.text.as_str(), at);
            self.store.write(|tx| tx.append_message(self.session, &said))?;
            let took = select(&self.store, question)?;
            if i >= N_WARM {
                self.selections.push(took);
            }
        }
        Ok(())
    }

    /// The figures.
    #[must_use]
    pub fn row(&self) -> ScaleRow {
        let selections = Times::of(self.selections.clone());
        ScaleRow {
            semantics: self.hierarchy.partition.n_semantics(),
            themes: self.hierarchy.partition.n_themes(),
            insert_p50_ms: self.inserts.at(0.5),
            insert_p99_ms: self.inserts.at(0.99),
            insert_max_ms: self.inserts.at(1.0),
            insert_seconds: self.insert_seconds,
            selection_p50_ms: selections.at(0.5),
            selection_p99_ms: selections.at(0.99),
            neighbour_recall: self.neighbour_recall,
            resident_bytes: self.after_inserts.max(resident_bytes()),
        }
    }
}

fn check(cancel: &Cancel) -> Result<(), EvalError> {
    if cancel.is_cancelled() { Err(EvalError::Cancelled) } else { Ok(()) }
}

/// As the store numbers them.
fn id(i: usize) -> SemanticId {
    SemanticId(i as i64 + 1)
}

/// What the worker does for one semantic, except writing it: inserts it into the partition as it would
/// be reopened, then links the themes.
pub fn assimilate(hierarchy: &mut Hierarchy, id: SemanticId, vector: Embedding) {
    hierarchy.partition.settle_order();
    let inserted = hierarchy.insert(id, vector);
    hierarchy.link_themes(&touched(&inserted.changes).collect());
}

fn insert(hierarchy: &mut Hierarchy, id: SemanticId, vector: Embedding) -> Duration {
    let start = Instant::now();
    assimilate(hierarchy, id, vector);
    start.elapsed()
}

fn select(store: &Store, question: Drawn) -> Result<Duration, EvalError> {
    let by_text = HashMap::from([(question.text.clone(), question.vector)]);
    let embedder = PrecomputedEmbedder { dimensions: DIMENSIONS, by_text };
    let config = RecallConfig::default();
    let start = Instant::now();
    let survey = EvidenceSearch::new(store, &embedder, None, &config, &question.text, moment(0));
    let chosen = survey.and_then(|s| s.coarse(Levels::Mixed, config.coarse_characters));
    let took = start.elapsed();
    match chosen {
        Ok(_) => Ok(took),
        Err(RecallError::Store(source)) => Err(source.into()),
        Err(RecallError::Model(source)) => Err(source.into()),
        Err(RecallError::Cancelled) => Err(EvalError::Cancelled),
    }
}

/// The hierarchy in a file, with what it would rest on.
fn stored(
    folder: &Path,
    n: usize,
    hierarchy: &Hierarchy,
    on_progress: &dyn Fn(ScaleStep, usize, usize),
    cancel: &Cancel,
) -> Result<Store, EvalError> {
    /// Episodes a transaction.
    const BATCH: usize = 128;
    let store = Store::open(folder)?;
    let known = PrecomputedEmbedder { dimensions: DIMENSIONS, by_text: HashMap::new() };
    let session = store.write(|tx| {
        tx.use_embedder(known.id(), known.dimensions())?;
        tx.create_session("made up", moment(0), true)
    })?;
    // The same facts again.
    let mut clusters = Clusters::new(SEED, n);
    let mut themes: BTreeMap<ThemeId, ThemeId> = BTreeMap::new();
    let mut n_stored = 0;
    while n_stored < n {
        check(cancel)?;
        on_progress(ScaleStep::Storing, n_stored, n);
        store.write(|tx| {
            for _ in 0..BATCH {
                let facts: Vec<Drawn> =
                    (n_stored..n).take(MESSAGES_AN_EPISODE).map(|_| clusters.fact()).collect();
                let Some(first) = facts.first() else { break };
                let mut messages = Vec::with_capacity(facts.len());
                for (i, fact) in facts.iter().enumerate() {
                    let text = format!("{} and that was it", fact.text);
                    let said = NewMessage::new(Role::User, text, moment(n_stored + i));
                    let said = NewMessage { speaker: Some("Ana".into()), ..said };
                    let message = tx.append_message(session, &said)?;
                    tx.put_embedding(Level::Message, message.0, &fact.vector)?;
                    messages.push(message);
                }
                let content = facts.iter().map(|f| f.text.as_str()).collect::<Vec<_>>().join(". ");
                let episode = tx.insert_episode(session, &first.text, &content, &messages)?;
                tx.put_embedding(Level::Episode, episode.0, &first.vector)?;
                for (i, (fact, message)) in facts.into_iter().zip(messages).enumerate() {
                    let theme =
                        hierarchy.partition.theme_of(id(n_stored + i)).unwrap_or(ThemeId(0));
                    let theme = match themes.get(&theme) {
                        Some(&stored) => stored,
                        None => *themes.entry(theme).or_insert(tx.create_theme(&fact.text)?),
                    };
                    let new = NewSemantic {
                        content: fact.text,
                        subject: None,
                        attribute: None,
                        created_at: moment(n_stored + i),
                        messages: vec![message],
                    };
                    tx.insert_semantic(new, theme, &fact.vector)?;
                }
                n_stored = (n_stored + MESSAGES_AN_EPISODE).min(n);
            }
            Ok::<_, StoreError>(())
        })?;
    }
    Ok(store)
}

/// An hour after the one before.
fn moment(hours: usize) -> Moment {
    let at = jiff::Timestamp::UNIX_EPOCH + jiff::SignedDuration::from_hours(hours as i64 % 400_000);
    Moment::new(at, jiff::tz::Offset::UTC)
}

/// Recall of the graph's edges against an exact search, on a sample of semantics.
fn neighbour_recall(hierarchy: &Hierarchy) -> f64 {
    const K: usize = inglenook::memory::knn_graph::N_NEIGHBOURS;
    let graph = &hierarchy.semantic_graph;
    let every = (graph.ids().count() / N_COMPARED).max(1);
    let (mut n_found, mut n_true) = (0, 0);
    let ids: Vec<SemanticId> = graph.ids().collect();
    for &asked in ids.iter().step_by(every) {
        let Some(vector) = graph.embedding(asked) else { continue };
        let mut all: Vec<(f32, SemanticId)> = ids
            .iter()
            .filter(|&&other| other != asked)
            .filter_map(|&other| Some((graph.embedding(other)?.cosine(vector), other)))
            .collect();
        all.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let edges: BTreeSet<SemanticId> =
            graph.neighbours(asked).into_iter().map(|(other, _)| other).collect();
        n_true += all.len().min(K);
        n_found += all.iter().take(K).filter(|(_, other)| edges.contains(other)).count();
    }
    if n_true == 0 { 1.0 } else { n_found as f64 / n_true as f64 }
}

/// Durations, shortest first.
struct Times(Vec<Duration>);

impl Times {
    fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self(times)
    }

    /// A percentile, in milliseconds.
    fn at(&self, share: f64) -> f64 {
        nearest_rank(&self.0, share).map_or(0.0, |time| time.as_secs_f64() * 1e3)
    }
}

/// `VmRSS` on Linux.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;
    use inglenook::memory::EXACT_SEMANTICS;

    #[test]
    fn facts_lie_in_groups_within_topics() {
        let mut clusters = Clusters::new(1, 400);
        let facts: Vec<Embedding> = (0..400).map(|_| clusters.fact().vector).collect();
        let mut pairs: Vec<f32> = Vec::new();
        for (i, a) in facts.iter().enumerate() {
            pairs.extend(facts[..i].iter().map(|b| a.cosine(b)));
        }
        pairs.sort_unstable_by(f32::total_cmp);
        let at = |share: f64| pairs[(share * pairs.len() as f64) as usize];
        assert!((0.25..0.4).contains(&at(0.5)), "{}", at(0.5));
        assert!(at(0.998) > 0.6, "{}", at(0.998));
        let mut again = Clusters::new(1, 400);
        assert!(facts.iter().all(|fact| *fact == again.fact().vector));
    }

    #[test]
    fn percentiles_are_of_the_sorted_times() {
        let times = Times::of((1..=200).rev().map(Duration::from_millis).collect());
        assert_eq!((times.at(0.5), times.at(0.99), times.at(1.0)), (100.0, 198.0, 200.0));
        assert_eq!(Times::of(Vec::new()).at(0.99), 0.0);
    }

    #[test]
    fn edges_past_the_exact_size_are_nearly_those_of_a_full_search() {
        for (n, recall_min) in [(EXACT_SEMANTICS, 1.0), (EXACT_SEMANTICS + 1_500, 0.95)] {
            let mut hierarchy = Hierarchy::default();
            let mut clusters = Clusters::new(3, n);
            for i in 0..n {
                insert(&mut hierarchy, id(i), clusters.fact().vector);
            }
            assert_eq!(hierarchy.partition.violations(), Vec::<String>::new());
            let recall = neighbour_recall(&hierarchy);
            assert!(recall >= recall_min, "{recall} of the edges at {n}");
        }
    }
}
