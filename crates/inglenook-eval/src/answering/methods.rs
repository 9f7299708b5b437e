//! What each method shows the reader, and the reader's answer.
//!
//! All methods use the product's own prompt for `ask`; only the lines in its block differ.

use std::cell::RefCell;
use std::collections::BTreeSet;

use inglenook::extractive::{self, Words};
use inglenook::interfaces::{
    Cancel, Context, Finish, LanguageModel, Models, Priority, Sampling, TurnRole,
};
use inglenook::memory::{Embedding, Moment};
use inglenook::model_policy::{Reader, prompt_style};
use inglenook::prompts::{Answer, MemoryLine, data};
use inglenook::recall::{Evidence, Recall, RecallConfig, RecallRequest};
use inglenook::worker::check::ANSWER_TOKENS_MAX;

use super::data::{Message, Question};
use super::lightmem;
use super::memory::ProgramMemory;
use super::memory_builder::{ModelUse, Searchable, line_of};
use super::meter::Metered;
use super::method::Method;
use super::pruning::{Pieces, prune};
use super::structural::{Search, StructuralMemory, WINDOW_TOKENS_MAX};
use crate::EvalError;
use crate::retrieval::baselines::{largest, similarities};

/// Raw messages that naive RAG shows.
const N_NAIVE: usize = 20;

/// An answer and its cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answered {
    pub text: String,
    /// Messages that the evidence comes from.
    pub covered: BTreeSet<String>,
    pub prompt_tokens: u64,
    /// All tokens: the prompt, probes, measurements and the answer.
    pub tokens: u64,
    /// Those that ran through the model; the common prefix of all prompts stays in the KV cache.
    pub processed_tokens: u64,
    pub model_calls: u64,
}

/// One piece of evidence, shown whole or not at all.
pub(super) struct Block {
    /// Sort key of its position in the prompt.
    pub order: (usize, usize),
    pub text: String,
    /// Indices of the messages that it covers.
    pub covers: Vec<usize>,
}

/// Answers questions about one conversation.
pub(super) struct Answerer<'a> {
    pub messages: &'a [Message],
    /// The messages' vectors; empty if no method needs them.
    pub vectors: &'a [Embedding],
    pub memory: Option<&'a ProgramMemory>,
    pub notes: Option<&'a Searchable>,
    pub structures: Option<&'a StructuralMemory>,
    pub model_use: ModelUse,
    /// Share of tokens that pruning keeps.
    pub pruning_ratio: f64,
    pub models: &'a Models,
    pub model: &'a Metered,
    pub recall: &'a RecallConfig,
    /// What `+uncsion` goes by if [`Self::recall`] has no signal.
    pub signal: inglenook::interfaces::Signal,
    pub system: &'a str,
    /// The system turn and the user turn's opening: every prompt begins with them.
    pub head: &'a dyn Context,
    /// What [`Method::FullContext`] read last: the next question about the conversation shares its prompt but for its end.
    pub whole: RefCell<Option<Box<dyn Context>>>,
    pub cancel: &'a Cancel,
}

/// A prompt in the reader's KV cache, and the ids of the messages that its evidence covers.
type Prompted = (Box<dyn Context>, BTreeSet<String>);

/// The system turn of all prompts.
pub(super) fn system(model: &dyn LanguageModel) -> String {
    Answer.system(prompt_style(model.info()))
}

/// See [`Answerer::head`].
pub(super) fn head(model: &dyn LanguageModel, system: &str) -> Result<Box<dyn Context>, EvalError> {
    let mut tokens = model.begin();
    tokens.extend(model.turn(TurnRole::System, system));
    tokens.extend(model.open_first_turn());
    let mut head = model.context(Priority::Memory)?;
    head.extend(&tokens)?;
    Ok(head)
}

impl Answerer<'_> {
    pub(super) fn answer(&self, method: Method, asked: &Question) -> Result<Answered, EvalError> {
        self.model.take();
        let mut n_kept = 0;
        let (mut context, covered) = match method {
            Method::FullContext => {
                let blocks = (0..self.messages.len()).rev().map(|place| self.message(place));
                let (tokens, covered) = self.prompt(blocks, usize::MAX, &asked.text);
                let tokens = [self.head.tokens(), &tokens].concat();
                let mut context = self.whole.take().map_or_else(|| self.head.fork(), Ok)?;
                let n_read = context.refill(&tokens)?;
                n_kept = (tokens.len() - self.head.len()).saturating_sub(n_read) as u64;
                (context, covered)
            }
            Method::NaiveRag => {
                let nearest = self.nearest(self.vectors, N_NAIVE, &asked.text)?;
                let blocks = nearest.into_iter().map(|place| self.message(place));
                self.shown(blocks, usize::MAX, &asked.text)?
            }
            Method::RagPruning => {
                let nearest = self.nearest(self.vectors, N_NAIVE, &asked.text)?;
                let blocks = self.pruned(&nearest, &asked.text)?;
                self.shown(blocks.into_iter(), usize::MAX, &asked.text)?
            }
            Method::LightMem => {
                let notes = self.notes.ok_or(EvalError::NoMemory)?;
                let nearest = self.nearest(&notes.vectors, lightmem::N_SHOWN, &asked.text)?;
                let blocks = nearest.into_iter().map(|place| {
                    let unit = &notes.units[place];
                    let line =
                        MemoryLine::Semantic { text: &unit.text, at: unit.at, superseded: false };
                    let order = (unit.messages.first().copied().unwrap_or(usize::MAX), place);
                    Block { order, text: line.render(), covers: unit.messages.clone() }
                });
                self.shown(blocks, usize::MAX, &asked.text)?
            }
            Method::Structural(mode) => {
                let structures = self.structures.ok_or(EvalError::NoMemory)?;
                let search = Search { structures, answerer: self, model_use: self.model_use, mode };
                let blocks = search.find(&asked.text)?;
                self.shown(blocks.into_iter(), WINDOW_TOKENS_MAX, &asked.text)?
            }
            Method::MemoryOnly
            | Method::RepSel
            | Method::UncSion
            | Method::Full
            | Method::Words => {
                let memory = self.memory.ok_or(EvalError::NoMemory)?;
                let mut evidence = self.recalled(method, memory, asked)?;
                let covered = std::mem::take(&mut evidence.external_ids).into_values().collect();
                match evidence.context.take() {
                    Some(context) => (context, covered),
                    None => return Ok(self.in_words(&evidence, memory, asked, covered)),
                }
            }
        };
        let prompt_tokens = context.len() as u64;
        let in_cache = context.tokens().iter().zip(self.head.tokens()).take_while(|(a, b)| a == b);
        let in_cache = in_cache.count() as u64;
        let sampling = Sampling::greedy(ANSWER_TOKENS_MAX);
        let reply = context.generate(&sampling, self.cancel, &mut |_| {})?;
        if reply.finish == Finish::Cancelled {
            return Err(EvalError::Cancelled);
        }
        if method == Method::FullContext {
            self.whole.replace(Some(context));
        }
        let used = self.model.take();
        // Counted as if the question were the only one.
        let processed_tokens = used.tokens + n_kept;
        Ok(Answered {
            text: Answer.parse(&reply.text),
            covered,
            prompt_tokens,
            tokens: processed_tokens + in_cache,
            processed_tokens,
            model_calls: used.calls,
        })
    }

    /// Indices of the vectors nearest to a text, nearest first.
    fn nearest(
        &self,
        vectors: &[Embedding],
        n: usize,
        text: &str,
    ) -> Result<Vec<usize>, EvalError> {
        let vector = self.models.embedder.embed(&[text])?;
        let vector = vector.first().ok_or(EvalError::NoMemory)?;
        Ok(largest(&similarities(vectors, vector), n))
    }

    fn message(&self, place: usize) -> Block {
        let text = line_of(&self.messages[place]);
        Block { order: (place, 0), text, covers: vec![place] }
    }

    /// Messages without the words that the reader would predict (xMemory §5.2; [`super::pruning`]). They are
    /// scored together, in the order of the prompt, so a repetition scores low. Speaker and time are not
    /// pruned; a message without any words left is not shown.
    fn pruned(&self, nearest: &[usize], question: &str) -> Result<Vec<Block>, EvalError> {
        let model = self.model;
        let (open, closing) = self.frame(question);
        let mut room = self.room(open.len() + closing.len(), usize::MAX);
        let mut chosen = Vec::new();
        for &place in nearest {
            let said = &self.messages[place];
            let frame =
                MemoryLine::Message { speaker: said.name(), text: "", at: said.at }.render();
            let frame = model.encode(frame.trim_end());
            let cut = Pieces::new(&format!(" {}", data(&said.text)), model);
            let end = model.encode("\n");
            let Some(rest) = room.checked_sub(frame.len() + cut.n_tokens() + end.len()) else {
                break;
            };
            room = rest;
            chosen.push((place, frame, cut, end));
        }
        chosen.sort_by_key(|(place, ..)| *place);
        let n_open = open.len();
        let mut tokens = open;
        for (_, frame, cut, end) in &chosen {
            tokens.extend(frame.iter().chain(&cut.tokens()).chain(end));
        }
        let mut nlls = self.head.fork()?.extend_with_nlls(&tokens)?.into_iter().skip(n_open);
        let (mut places, mut weighed) = (Vec::new(), Vec::new());
        for (place, frame, cut, end) in chosen {
            nlls.by_ref().take(frame.len()).for_each(drop);
            weighed.push(cut.weighed(&mut nlls));
            nlls.by_ref().take(end.len()).for_each(drop);
            places.push(place);
        }
        let left = prune(&weighed, self.pruning_ratio);
        Ok(places
            .into_iter()
            .zip(left)
            .filter(|(_, text)| !text.is_empty())
            .map(|(place, text)| {
                let said = &self.messages[place];
                let line = MemoryLine::Message { speaker: said.name(), text: &text, at: said.at };
                Block { order: (place, 0), text: line.render(), covers: vec![place] }
            })
            .collect())
    }

    /// Tokens before and after the evidence.
    fn frame(&self, question: &str) -> (Vec<u32>, Vec<u32>) {
        let model = self.model;
        let open = model.encode(&Answer.open());
        let mut closing = model.encode(&Answer.close(question));
        closing.extend(model.close_turn(TurnRole::User));
        closing.extend(model.open_reply());
        (open, closing)
    }

    /// The token budget for evidence.
    fn room(&self, frame: usize, window_tokens: usize) -> usize {
        let window = self.model.info().context_tokens.min(window_tokens);
        window.saturating_sub(self.head.len() + frame + ANSWER_TOKENS_MAX)
    }

    /// A prompt with the best blocks that fit, in prompt order.
    fn shown(
        &self,
        best_first: impl Iterator<Item = Block>,
        window_tokens: usize,
        question: &str,
    ) -> Result<Prompted, EvalError> {
        let (tokens, covered) = self.prompt(best_first, window_tokens, question);
        let mut context = self.head.fork()?;
        context.extend(&tokens)?;
        Ok((context, covered))
    }

    /// Its tokens behind [`Self::head`], and the ids of the messages that its evidence covers.
    fn prompt(
        &self,
        best_first: impl Iterator<Item = Block>,
        window_tokens: usize,
        question: &str,
    ) -> (Vec<u32>, BTreeSet<String>) {
        let (open, closing) = self.frame(question);
        let mut room = self.room(open.len() + closing.len(), window_tokens);
        let mut chosen = Vec::new();
        for block in best_first {
            let tokens = self.model.encode(&block.text);
            let Some(rest) = room.checked_sub(tokens.len()) else { break };
            room = rest;
            chosen.push((block.order, tokens, block.covers));
        }
        chosen.sort_by_key(|(order, ..)| *order);
        let mut tokens = open;
        let mut covered = BTreeSet::new();
        for (_, of_block, covers) in chosen {
            tokens.extend(of_block);
            covered.extend(covers.into_iter().map(|place| self.messages[place].id.clone()));
        }
        tokens.extend(closing);
        (tokens, covered)
    }

    fn recalled(
        &self,
        method: Method,
        memory: &ProgramMemory,
        asked: &Question,
    ) -> Result<Evidence, EvalError> {
        let models = Models {
            language: std::sync::Arc::new(self.model.clone()),
            embedder: std::sync::Arc::clone(&memory.embedder),
            reranker: self.models.reranker.clone(),
            memory: None,
        };
        let config = method.recall(self.recall, self.signal);
        let recall = Recall { store: &memory.store, models: &models, config };
        let request = RecallRequest {
            question: &asked.text,
            asked: &asked.text,
            recent: "",
            best_min: 0.0,
            rules_first: false,
            looks_for_words: method == Method::Words,
            now: now(memory, asked),
            system: self.system,
            reader: Reader::Generative,
            reuse: Some(self.head.fork()?),
            cancel: self.cancel,
        };
        Ok(recall.run(request, &mut |_| {})?)
    }

    /// The words that the encoder found, without the sentence that the product quotes below them.
    fn in_words(
        &self,
        evidence: &Evidence,
        memory: &ProgramMemory,
        asked: &Question,
        covered: BTreeSet<String>,
    ) -> Answered {
        let used = self.model.take();
        let text = match &evidence.words {
            Words::Answer(found) => {
                let (candidates, at) = (&evidence.candidates, now(memory, asked).civil());
                let unchanged = |_: &str, _: &str, _: &[&str]| Vec::new();
                let (words, _) =
                    extractive::in_words(&asked.text, candidates, found, at, None, &unchanged);
                words
                    .unwrap_or_else(|| candidates[found.candidate].text[found.bytes.clone()].into())
            }
            Words::None | Words::Unread => "You have not told me.".to_owned(),
        };
        Answered {
            text,
            covered,
            prompt_tokens: 0,
            tokens: used.tokens,
            processed_tokens: used.tokens,
            model_calls: used.calls,
        }
    }
}

/// When a question is asked.
fn now(memory: &ProgramMemory, asked: &Question) -> Moment {
    asked.at.map_or(memory.now, Moment::from_civil_utc)
}
