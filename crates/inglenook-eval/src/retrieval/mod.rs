//! Evidence recall without a reader: what recall finds within a budget, against plain retrieval.
//!
//! Methods: `naive-rag` (raw messages by similarity), `flat` (semantics by similarity), `hybrid`
//! (semantics by the product's relevance), `official` (the official code's themes and Stage I, at its own
//! size), `stage-one` (the product's Stage I on semantics alone) and `full` (its mix of facts and whole
//! messages). The last two, and the relevance, are recall's own code on a store in memory.
//!
//! With `fit` the weights of the relevance are fitted anew, leaving one conversation out: each is measured with
//! the weights of the others.
//!
//! Evidence recall of a question: the share of its evidence messages that the chosen blocks cover.

pub(super) mod baselines;
pub(super) mod corpus;
mod density;
mod fit;
pub(super) mod growth;
mod markdown;
pub(super) mod memory;
mod themes;
pub(super) mod vectors;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use serde::Serialize;

use self::baselines::{by_score, largest, official, similarities};
use self::corpus::{Corpus, Question};
pub use self::density::DensityRow;
use self::density::Hits;
pub use self::fit::WeightRow;
use self::memory::FilledStore;
pub use self::themes::{SIZE_CLASSES, ThemesReport, ThemesRow, measure_themes};
pub(super) use self::vectors::PrecomputedEmbedder;
use inglenook::interfaces::{Cancel, Embedder, Reranker};
use inglenook::memory::MessageId;
use inglenook::recall::{Block, EvidenceSearch, Levels, RecallConfig, RecallError};

use super::EvalError;
use super::locomo::{Folder, folders};

/// Character budgets at which methods are compared.
pub const BUDGETS: [usize; 5] = [300, 700, 1350, 2700, 4000];

/// Raw messages that naive RAG shows a reader.
const N_NAIVE: usize = 20;

/// Conversations measured in parallel, each with its vectors and a store in memory.
const THREADS_MAX: usize = 4;

/// One figure.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RetrievalRow {
    pub method: &'static str,
    pub category: Category,
    /// `None` if the method chooses its own size.
    pub budget_characters: Option<usize>,
    /// Characters actually used.
    pub mean_characters: f64,
    pub evidence_recall: f64,
    pub questions: usize,
}

/// LoCoMo's 1 multi-hop, 2 temporal, 3 open-domain, 4 single-hop, or all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Category {
    /// All questions.
    All,
    #[serde(untagged)]
    /// The questions of one category.
    One(u64),
}

impl Category {
    /// Whether a question of this category counts.
    #[must_use]
    pub fn includes(self, category: u64) -> bool {
        self == Self::All || self == Self::One(category)
    }
}

/// The figures of all methods.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RetrievalReport {
    pub conversations: usize,
    pub questions: usize,
    /// Origin of the memories' vectors: "given" (in their folders), or the embedder's name.
    pub vectors: String,
    /// Origin of the vectors of messages and questions for `naive-rag`.
    pub message_vectors: String,
    pub rows: Vec<RetrievalRow>,
    pub density: Vec<DensityRow>,
    /// Weights fitted on all conversations; empty without `fit`.
    pub weights: Vec<WeightRow>,
    /// Seconds for reading and embedding.
    pub seconds_to_load: f64,
    /// Seconds for organising and storing the ready-made memories, summed over conversations.
    pub seconds_to_build: f64,
    /// Seconds for everything else, building included.
    pub seconds: f64,
}

/// The models that a search uses.
#[derive(Clone, Copy)]
pub struct RetrievalModels<'a> {
    /// Makes missing vectors.
    pub embedder: &'a dyn Embedder,
    /// Reranks the candidates of `hybrid`, `stage-one` and `full`.
    pub reranker: Option<&'a dyn Reranker>,
}

/// Measures every method on the conversations of `memories` that `questions` (LoCoMo's file) asks
/// about; without it, on what their own folders ask.
/// With `fit`, the weights of the relevance come from the other conversations instead of `config`.
///
/// # Errors
/// If the data can't be read, the embedder fails, or it was cancelled.
pub fn measure_retrieval(
    questions: Option<&Path>,
    memories: &Path,
    models: RetrievalModels<'_>,
    config: &RecallConfig,
    fit: bool,
    on_progress: &(dyn Fn(usize, usize) + Sync),
    cancel: &Cancel,
) -> Result<RetrievalReport, EvalError> {
    let RetrievalModels { embedder, reranker } = models;
    let start = Instant::now();
    let load = |folder: &Folder| {
        if cancel.is_cancelled() {
            return Err(EvalError::Cancelled);
        }
        Corpus::load(folder, embedder)
    };
    let folders = folders(questions, memories)?;
    let corpora = side_by_side(&folders, |_, folder| load(folder))?;
    let n_questions: usize = corpora.iter().map(|c| c.questions.len()).sum();
    let seconds_to_load = start.elapsed().as_secs_f64();

    let start = Instant::now();
    let (n_done, n_all) = (AtomicUsize::new(0), n_questions * if fit { 2 } else { 1 });
    let done = || on_progress(n_done.fetch_add(1, Ordering::Relaxed) + 1, n_all);
    let mut weights = vec![config.relevance; corpora.len()];
    let mut fitted = Vec::new();
    if fit {
        let sets =
            side_by_side(&corpora, |_, corpus| examples(corpus, reranker, config, &done, cancel))?;
        for (i, weights) in weights.iter_mut().enumerate() {
            let others = sets.iter().enumerate().filter(|&(j, _)| j != i).map(|(_, sets)| sets);
            *weights = fit::fit(others, &config.relevance);
        }
        fitted = fit::rows(&fit::fit(sets.iter(), &config.relevance));
    }
    let outcomes = side_by_side(&corpora, |i, corpus| {
        let config = RecallConfig { relevance: weights[i], ..config.clone() };
        conversation(corpus, reranker, &config, &done, cancel)
    })?;
    let (mut tally, mut hits) = (Tally::default(), Vec::new());
    let mut seconds_to_build = 0.0;
    for outcome in outcomes {
        tally.0.extend(outcome.found);
        hits.extend(outcome.hits);
        seconds_to_build += outcome.seconds_to_build;
    }
    let given = corpora.iter().all(|c| c.vectors.given);
    let given_messages = given && corpora.iter().all(|c| c.vectors.messages.is_some());
    let name = |given: bool| if given { "given".to_owned() } else { embedder.id().to_owned() };
    Ok(RetrievalReport {
        conversations: corpora.len(),
        questions: n_questions,
        vectors: name(given),
        message_vectors: name(given_messages),
        rows: tally.rows(),
        density: density::rows(["naive-rag", "full"], &hits),
        weights: fitted,
        seconds_to_load,
        seconds_to_build,
        seconds: start.elapsed().as_secs_f64(),
    })
}

/// One outcome per conversation, in order.
fn side_by_side<C: Sync, T: Send>(
    conversations: &[C],
    work: impl Fn(usize, &C) -> Result<T, EvalError> + Sync,
) -> Result<Vec<T>, EvalError> {
    let next = AtomicUsize::new(0);
    let outcomes = Mutex::new(BTreeMap::new());
    let n_threads = std::thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX);
    let take = || {
        while let Some((i, corpus)) = Some(next.fetch_add(1, Ordering::Relaxed))
            .and_then(|i| Some((i, conversations.get(i)?)))
        {
            let outcome = work(i, corpus);
            if let Ok(mut outcomes) = outcomes.lock() {
                outcomes.insert(i, outcome);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..n_threads.min(conversations.len()) {
            scope.spawn(take);
        }
        take();
    });
    outcomes.into_inner().unwrap_or_default().into_values().collect()
}

/// Every candidate of every question, and whether it is evidence.
fn examples(
    corpus: &Corpus,
    reranker: Option<&dyn Reranker>,
    config: &RecallConfig,
    on_question: &dyn Fn(),
    cancel: &Cancel,
) -> Result<fit::Sets, EvalError> {
    let memory = FilledStore::new(corpus)?;
    let config = RecallConfig { relevance_min: 0.0, ..config.clone() };
    let mut sets = fit::Sets::default();
    for question in &corpus.questions {
        if cancel.is_cancelled() {
            return Err(EvalError::Cancelled);
        }
        let known = &corpus.vectors.questions;
        if known.by_text.contains_key(&question.text) {
            let survey = EvidenceSearch::new(
                &memory.store,
                known,
                reranker,
                &config,
                &question.text,
                memory.now,
            )?;
            let mut read = Vec::new();
            for clue in survey.unit_cues() {
                let is_evidence =
                    clue.messages.iter().any(|m| question.evidence.contains(&memory.places[m]));
                let set = match (clue.is_message, clue.cues.dense, clue.cues.support_dense) {
                    (false, _, Some(_)) => 0,
                    (false, _, None) => 1,
                    (true, Some(_), _) => 2,
                    (true, None, _) => 3,
                };
                sets.by_cues[set].push(clue.cues.features(), is_evidence);
                if let Some(score) = clue.score {
                    read.push((clue, score, is_evidence));
                }
            }
            sets.reranked.push(read);
        }
        on_question();
    }
    Ok(sets)
}

impl From<RecallError> for EvalError {
    fn from(error: RecallError) -> Self {
        match error {
            RecallError::Store(source) => source.into(),
            RecallError::Model(source) => source.into(),
            RecallError::Cancelled => Self::Cancelled,
        }
    }
}

/// What one method found for one question.
struct QuestionResult {
    method: &'static str,
    budget: Option<usize>,
    category: u64,
    n_characters: usize,
    recall: f64,
}

struct Outcome {
    found: Vec<QuestionResult>,
    hits: Vec<(u64, [Hits; 2])>,
    seconds_to_build: f64,
}

fn conversation(
    corpus: &Corpus,
    reranker: Option<&dyn Reranker>,
    config: &RecallConfig,
    on_question: &dyn Fn(),
    cancel: &Cancel,
) -> Result<Outcome, EvalError> {
    let start = Instant::now();
    let memory = FilledStore::new(corpus)?;
    let seconds_to_build = start.elapsed().as_secs_f64();
    let official = official(corpus);
    let vectors = &corpus.vectors;
    let lines: Vec<String> = corpus.messages.iter().map(corpus::Message::line).collect();
    let id = |place: usize| MessageId(place as i64);
    let (mut all, mut hits) = (Vec::new(), Vec::new());
    for (question, plain) in corpus.questions.iter().zip(&vectors.plain_questions) {
        if cancel.is_cancelled() {
            return Err(EvalError::Cancelled);
        }
        let Some(vector) = vectors.questions.by_text.get(&question.text) else { continue };
        let survey = EvidenceSearch::new(
            &memory.store,
            &vectors.questions,
            reranker,
            config,
            &question.text,
            memory.now,
        )?;
        let mut add = |method, budget, n_characters, covered: BTreeSet<usize>| {
            let recall = question.recall(&covered);
            let category = question.category;
            all.push(QuestionResult { method, budget, category, n_characters, recall });
        };
        let of_messages = similarities(&vectors.plain_messages, plain);
        let messages: Vec<Scored> = of_messages
            .iter()
            .zip(&lines)
            .enumerate()
            .map(|(i, (&score, line))| (score, line.chars().count(), vec![id(i)]))
            .collect();
        let of_semantics = similarities(&vectors.semantics, vector);
        let flat: Vec<Scored> = of_semantics
            .iter()
            .zip(&corpus.semantics)
            .map(|(&score, s)| {
                let covers = s.messages.iter().map(|&m| id(m)).collect();
                (score, s.text.chars().count(), covers)
            })
            .collect();
        let hybrid: Vec<Scored> = survey
            .facts()
            .into_iter()
            .map(|fact| {
                let covers = fact.messages.iter().map(|m| id(memory.places[m])).collect();
                (fact.relevance, fact.text.chars().count(), covers)
            })
            .collect();
        let of_blocks = |blocks: &[Block]| {
            let n_characters = blocks.iter().map(|b| b.text.chars().count()).sum();
            let covered = blocks.iter().flat_map(|b| &b.messages);
            (n_characters, covered.map(|m| memory.places[m]).collect())
        };
        for budget in BUDGETS {
            for (method, units) in [("naive-rag", &messages), ("flat", &flat), ("hybrid", &hybrid)]
            {
                let (n_characters, covered) = sum(units, &by_score(units, budget));
                add(method, Some(budget), n_characters, covered);
            }
            for (method, levels) in [("stage-one", Levels::Facts), ("full", Levels::Mixed)] {
                let (n_characters, covered) = of_blocks(&survey.coarse(levels, budget)?);
                add(method, Some(budget), n_characters, covered);
            }
        }
        let (n_characters, covered) = sum(&flat, &official.recall(vector).semantics);
        add("official", None, n_characters, covered);

        let shown = survey.coarse(Levels::Mixed, config.coarse_characters)?;
        let naive = largest(&of_messages, N_NAIVE).into_iter().map(|i| lines[i].as_str());
        let naive = Hits::of(&question.answer, naive);
        let full = Hits::of(&question.answer, shown.iter().map(|block| block.text.as_str()));
        hits.extend(naive.zip(full).map(|(naive, full)| (question.category, [naive, full])));
        on_question();
    }
    Ok(Outcome { found: all, hits, seconds_to_build })
}

/// Score, number of characters, and covered messages.
type Scored = (f64, usize, Vec<MessageId>);

fn sum(units: &[Scored], chosen: &[usize]) -> (usize, BTreeSet<usize>) {
    let n_characters = chosen.iter().map(|&i| units[i].1).sum();
    let covered = chosen.iter().flat_map(|&i| &units[i].2);
    (n_characters, covered.filter_map(|m| usize::try_from(m.0).ok()).collect())
}

impl Question {
    fn recall(&self, covered: &BTreeSet<usize>) -> f64 {
        self.evidence.intersection(covered).count() as f64 / self.n_evidence as f64
    }
}

#[derive(Default)]
struct Tally(Vec<QuestionResult>);

impl Tally {
    fn rows(&self) -> Vec<RetrievalRow> {
        const ORDER: [&str; 6] = ["naive-rag", "flat", "hybrid", "official", "stage-one", "full"];
        let mut groups: BTreeMap<_, Vec<&QuestionResult>> = BTreeMap::new();
        for found in &self.0 {
            let place = ORDER.iter().position(|&method| method == found.method);
            for category in [Category::All, Category::One(found.category)] {
                groups.entry((place, found.budget, category)).or_default().push(found);
            }
        }
        groups
            .into_iter()
            .map(|((_, budget_characters, category), found)| {
                let mean = |of: &dyn Fn(&QuestionResult) -> f64| {
                    found.iter().map(|f| of(f)).sum::<f64>() / found.len() as f64
                };
                RetrievalRow {
                    method: found[0].method,
                    category,
                    budget_characters,
                    mean_characters: mean(&|f| f.n_characters as f64),
                    evidence_recall: mean(&|f| f.recall),
                    questions: found.len(),
                }
            })
            .collect()
    }
}
