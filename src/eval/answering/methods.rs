//! What the reader is shown, by method, and its answer.
//!
//! All methods ask in the same words: the program's own prompt of `ask`, with other lines in its
//! block.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use super::data::{Asked, Said};
use super::memory::Remembered;
use super::meter::Metered;
use crate::eval::EvalError;
use crate::eval::retrieval::baselines::{largest, similarities};
use crate::interfaces::{
    Cancel, Context, Finish, LanguageModel, Models, Priority, Sampling, Signal, TurnRole,
};
use crate::memory::inclusion::GatePolicy;
use crate::memory::relevance::{N_FEATURES, Relevance, Weights};
use crate::memory::{Embedding, Moment};
use crate::prompts::{Answer, MemoryLine, Style};
use crate::recall::{Levels, Recall, RecallConfig, RecallRequest, StageOne};
use crate::worker::check::ANSWER_TOKENS_MAX;

/// Raw messages that naive RAG shows.
const N_NAIVE: usize = 20;

/// A way to choose what the reader sees (xMemory §5.1, and the whole conversation).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Method {
    /// All messages, or the newest that the reader's context holds.
    FullContext,
    /// The 20 messages most similar to the question.
    NaiveRag,
    /// Facts by their similarity to the question, and nothing else.
    MemoryOnly,
    /// The same facts, chosen by Eq. 4 over themes and facts (Stage I).
    RepSel,
    /// As `MemoryOnly`, with episodes and messages where they lower the reader's uncertainty
    /// (Stage II).
    UncSion,
    /// The program's own recall: hybrid relevance, facts mixed with whole messages, Stage II. Not the
    /// sum of the two before: by default Stage I goes by relevance, because Eq. 4 finds less
    /// ([`StageOne`]).
    Full,
}

impl Method {
    pub const ALL: [Self; 6] = [
        Self::FullContext,
        Self::NaiveRag,
        Self::MemoryOnly,
        Self::RepSel,
        Self::UncSion,
        Self::Full,
    ];

    /// In the order of [`Method::ALL`].
    pub const NAMES: [&str; 6] =
        ["full-context", "naive-rag", "memory-only", "+repsel", "+uncsion", "full"];

    #[must_use]
    pub fn as_str(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    #[must_use]
    pub fn needs_memory(self) -> bool {
        !matches!(self, Self::FullContext | Self::NaiveRag)
    }

    fn recall(self, own: &RecallConfig) -> RecallConfig {
        let facts = RecallConfig {
            levels: Levels::Facts,
            relevance: by_similarity(),
            gate: GatePolicy { probes_max: 0, ..own.gate },
            // Nothing is probed, so nothing has to be measured.
            signal: Some(Signal::Overlap),
            ..own.clone()
        };
        match self {
            Self::RepSel => RecallConfig { stage_one: StageOne::PAPER, ..facts },
            Self::UncSion => RecallConfig { gate: own.gate, signal: own.signal, ..facts },
            Self::Full => own.clone(),
            Self::MemoryOnly | Self::FullContext | Self::NaiveRag => facts,
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Method {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|method| method.as_str() == text)
            .ok_or_else(|| format!("the methods are {}", Self::NAMES.join(", ")))
    }
}

/// Relevance in the order of similarity, and about in its proportion.
fn by_similarity() -> Relevance {
    let mut features = [0.0; N_FEATURES];
    features[0] = 5.0;
    let weights = Weights { bias: -3.0, features, recency: 0.0 };
    Relevance {
        semantic: weights,
        semantic_by_words: weights,
        message: weights,
        message_by_words: weights,
    }
}

/// An answer and what it took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answered {
    pub text: String,
    /// Messages that the evidence comes from.
    pub covered: BTreeSet<String>,
    pub prompt_tokens: u64,
    /// The prompt once, what was tried besides, measurements, the answer.
    pub tokens: u64,
    /// Of those, tokens that ran through the model: what all prompts begin with stays in its cache.
    pub processed_tokens: u64,
    pub model_calls: u64,
}

/// A conversation, ready to be asked about.
pub(super) struct Asking<'a> {
    pub messages: &'a [Said],
    /// Of the messages; empty where no method needs them.
    pub vectors: &'a [Embedding],
    pub memory: Option<&'a Remembered>,
    pub models: &'a Models,
    pub model: &'a Metered,
    pub recall: &'a RecallConfig,
    pub system: &'a str,
    /// The system turn and the user turn's opening: every prompt begins with them.
    pub head: &'a dyn Context,
    pub cancel: &'a Cancel,
}

/// The system turn of all prompts.
pub(super) fn system(model: &dyn LanguageModel) -> String {
    Answer.system(if model.info().starter { Style::Trained } else { Style::Instructed })
}

/// See [`Asking::head`].
pub(super) fn head(model: &dyn LanguageModel, system: &str) -> Result<Box<dyn Context>, EvalError> {
    let mut tokens = model.begin();
    tokens.extend(model.turn(TurnRole::System, system));
    tokens.extend(model.open_turn(TurnRole::User));
    let mut head = model.context(Priority::Memory)?;
    head.extend(&tokens)?;
    Ok(head)
}

impl Asking<'_> {
    pub(super) fn answer(&self, method: Method, asked: &Asked) -> Result<Answered, EvalError> {
        self.model.take();
        let (mut context, covered) = match (method, self.memory) {
            (Method::FullContext, _) => self.shown((0..self.messages.len()).rev(), &asked.text)?,
            (Method::NaiveRag, _) => {
                let vector = self.models.embedder.embed(&[&asked.text])?;
                let vector = vector.first().ok_or(EvalError::NoMemory)?;
                let nearest = largest(&similarities(self.vectors, vector), N_NAIVE);
                self.shown(nearest.into_iter(), &asked.text)?
            }
            (_, Some(memory)) => self.recalled(method, memory, asked)?,
            (_, None) => return Err(EvalError::NoMemory),
        };
        let prompt_tokens = context.len() as u64;
        let in_cache = context.tokens().iter().zip(self.head.tokens()).take_while(|(a, b)| a == b);
        let in_cache = in_cache.count() as u64;
        let sampling = Sampling::greedy(ANSWER_TOKENS_MAX);
        let reply = context.generate(&sampling, self.cancel, &mut |_| {})?;
        if reply.finish == Finish::Cancelled {
            return Err(EvalError::Cancelled);
        }
        let used = self.model.take();
        Ok(Answered {
            text: Answer.parse(&reply.text).0,
            covered,
            prompt_tokens,
            tokens: used.tokens + in_cache,
            processed_tokens: used.tokens,
            model_calls: used.calls,
        })
    }

    /// Whole messages, the first of `places` that fit, in the order of time.
    fn shown(
        &self,
        places: impl Iterator<Item = usize>,
        question: &str,
    ) -> Result<(Box<dyn Context>, BTreeSet<String>), EvalError> {
        let model = self.model;
        let line = |place: usize| {
            let said = &self.messages[place];
            MemoryLine::Message { speaker: said.name(), text: &said.text, at: said.at }.render()
        };
        let open = model.encode(&Answer.open());
        let mut closing = model.encode(&Answer.close(question));
        closing.extend(model.close_turn(TurnRole::User));
        closing.extend(model.open_reply());
        let fixed = self.head.len() + open.len() + closing.len() + ANSWER_TOKENS_MAX;
        let mut room = model.info().context_tokens.saturating_sub(fixed);
        let mut chosen = BTreeSet::new();
        for place in places {
            let n = model.encode(&line(place)).len();
            if n > room {
                break;
            }
            room -= n;
            chosen.insert(place);
        }
        let mut tokens = open;
        // Line by line, as they were counted.
        tokens.extend(chosen.iter().flat_map(|&place| model.encode(&line(place))));
        tokens.extend(closing);
        let mut context = self.head.fork()?;
        context.extend(&tokens)?;
        let covered = chosen.into_iter().map(|place| self.messages[place].id.clone());
        Ok((context, covered.collect()))
    }

    fn recalled(
        &self,
        method: Method,
        memory: &Remembered,
        asked: &Asked,
    ) -> Result<(Box<dyn Context>, BTreeSet<String>), EvalError> {
        let models = Models {
            language: std::sync::Arc::new(self.model.clone()),
            embedder: std::sync::Arc::clone(&memory.embedder),
        };
        let config = method.recall(self.recall);
        let recall = Recall { store: &memory.store, models: &models, config };
        let request = RecallRequest {
            question: &asked.text,
            now: asked.at.map_or(memory.now, Moment::from_civil_utc),
            system: self.system,
            history: &[],
            prompt: true,
            reuse: Some(self.head.fork()?),
            cancel: self.cancel,
        };
        let mut evidence = recall.run(request, &mut |_| {})?;
        let context = evidence.context.take().ok_or(EvalError::NoMemory)?;
        Ok((context, evidence.external_ids.into_values().collect()))
    }
}
