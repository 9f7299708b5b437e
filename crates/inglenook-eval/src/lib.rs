//! Measuring [`inglenook`]: answers under every method and what they cost (`answering`), what recall finds within
//! a budget and what its themes are worth (`retrieval`), how well a model does the steps of memory and which
//! signal tells evidence from noise (`starter`, `gate`), and what the memory core costs at a size (`scale`).
//!
//! Models are asked through [`inglenook::interfaces`] and in the product's own prompts, as `recall` and `worker`
//! do, so what is measured is what runs. The formulas are in [`metrics`]; only [`cli`] knows how figures are
//! shown.

mod answering;
pub mod cli;
mod gate;
mod guidance;
mod items;
mod lexical;
mod locomo;
pub mod metrics;
pub mod npy;
pub mod official;
mod plot;
pub mod prompts;
mod reading;
mod representatives;
mod retrieval;
mod rules;
mod sample;
mod scale;
mod score;
mod starter;
#[cfg(test)]
mod tests;
mod turns;
mod writing;

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use inglenook::interfaces::ModelError;
use inglenook::store::StoreError;
use serde::Serialize;
use thiserror::Error;

pub use answering::{
    AnswerRow, AnswersReport, BreakEven, BuildCost, BuildTime, ConstructionRow, CostRow, DataSet,
    DifferenceRow, FigureRow, GateReport, GateRun, Line, MadeBy, MemoryRow, Method, Mode, Outcome,
    PayOff, Ran, Run, SecondsRow, SignalRow, Skipped, Step, SweepRow, Timing, measure_answers,
    measure_gate,
};
pub use items::{Item, built_in, parse};
pub use locomo::{Conversation, load};
pub use plot::Plot;
pub use retrieval::{
    BUDGETS, Category, DensityRow, RetrievalModels, RetrievalReport, RetrievalRow, SIZE_CLASSES,
    ThemesReport, ThemesRow, WeightRow, measure_retrieval, measure_themes,
};
pub use scale::{N_ROUNDS, ScaleReport, ScaleRow, ScaleStep, SizedMemory, assimilate};
pub use score::{BadRow, Scored, Scores, score};
pub use starter::{Options, measure};
pub use turns::{ScoredTurns, Turn, parse_turns, score_turns};

pub use crate::metrics::{Interval, interval};

/// Seed of everything random: samples of questions, bootstrap.
pub const SEED: u64 = 0;

/// Why nothing could be measured.
#[derive(Debug, Error)]
pub enum EvalError {
    /// A model failed.
    #[error("the model failed while it was measured")]
    Model(#[source] ModelError),
    /// A store failed.
    #[error("the memory for the measurement failed")]
    Store(#[from] StoreError),
    /// The run was cancelled.
    #[error("cancelled")]
    Cancelled,
    /// A file of items is malformed.
    #[error("line {line} of {file} is no item: {reason}")]
    BadItem { file: String, line: usize, reason: String },
    /// A file can't be read.
    #[error("cannot read {path}")]
    Unreadable {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    /// Ready-made memories are malformed.
    #[error("{path} is not in the form of LoCoMo's memories: {reason}")]
    BadData { path: PathBuf, reason: String },
    /// Data sets are not part of the project: `found_at` says where to get them.
    #[error("{path} of {set} is not there")]
    NoDataSet { set: &'static str, path: PathBuf, found_at: &'static str },
    /// A data set's file has another form.
    #[error("{path} is not in the form of {set}: {reason}")]
    NotDataSet { set: &'static str, path: PathBuf, reason: String, found_at: &'static str },
    /// Ready-made memories lack a conversation.
    #[error("there are no memories of this conversation")]
    NoMemory,
    /// A memory could not be built.
    #[error("its memory could not be built: {what}")]
    Unbuilt { what: String },
    /// The folder holds a run, and `resume` was not asked for.
    #[error("a run is in {path} already")]
    RunThere { path: PathBuf },
    /// The folder holds a run with other arguments, data or program.
    #[error("the run in {path} is another one: its {what} differs")]
    OtherRun { path: PathBuf, what: String },
    /// The run's folder can't be written.
    #[error("cannot keep the run in {path}")]
    Unwritable {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
}

impl From<ModelError> for EvalError {
    fn from(error: ModelError) -> Self {
        match error {
            ModelError::Cancelled => Self::Cancelled,
            other => Self::Model(other),
        }
    }
}

/// What can be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Task {
    /// A question that one of ten notes answers.
    Answer,
    /// A question that none of them answers.
    Absent,
    /// The answer's tokens, each predicted after the correct prefix.
    Copy,
    /// Store a message or discard it.
    Router,
    /// Find the end of a topic.
    Boundary,
    /// Relate a fact to a later one.
    Conflict,
    /// Extract facts from a message.
    Extraction,
    /// Write an episode.
    Episode,
    /// Name a theme.
    Theme,
    /// Merge two facts.
    Merge,
    /// Every signal: evidence against random notes.
    Gate,
    /// Questions about real conversations.
    Locomo,
}

impl Task {
    /// All tasks, in table order.
    pub const ALL: [Self; 12] = [
        Self::Answer,
        Self::Absent,
        Self::Copy,
        Self::Router,
        Self::Boundary,
        Self::Conflict,
        Self::Extraction,
        Self::Episode,
        Self::Theme,
        Self::Merge,
        Self::Gate,
        Self::Locomo,
    ];

    /// Its name on the command line and in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Answer => "answer",
            Self::Absent => "absent",
            Self::Copy => "copy",
            Self::Router => "router",
            Self::Boundary => "boundary",
            Self::Conflict => "conflict",
            Self::Extraction => "extraction",
            Self::Episode => "episode",
            Self::Theme => "theme",
            Self::Merge => "merge",
            Self::Gate => "gate",
            Self::Locomo => "locomo",
        }
    }
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Task {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|task| task.as_str() == text).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|task| task.as_str()).collect();
            format!("the tasks are {}", names.join(", "))
        })
    }
}

/// One figure.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    pub task: &'static str,
    /// "seen" or "unseen" wording, a category of question, or empty.
    pub phrasing: String,
    /// `exact`, `f1`, `balanced_accuracy`, …; `absent` where there was nothing to measure.
    pub metric: &'static str,
    pub value: Option<f64>,
    /// Number of items (also for token accuracies).
    pub items: usize,
}

/// How well one signal tells evidence from noise.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GateRow {
    /// "generated" or "locomo".
    pub set: &'static str,
    /// The signal's name; `absent` if there was nothing to measure.
    pub signal: &'static str,
    /// Number of notes shown before the one that is scored.
    pub context: usize,
    /// Area under the ROC curve, all evidence against all noise: one threshold for all questions.
    pub auc: Option<f64>,
    /// How often a question's evidence scores above its noise.
    pub paired: Option<f64>,
    pub pairs: usize,
}

/// All figures of one model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    pub model: String,
    pub sha256: String,
    pub rows: Vec<Row>,
    pub gate: Vec<GateRow>,
    pub seconds: f64,
}
