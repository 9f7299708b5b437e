//! Searching a structural memory (§3.2), and what the reader is shown of it (§3.3).

use inglenook::extractive::{self, Candidate};
use inglenook::interfaces::{LanguageModel as _, TurnRole};
use inglenook::memory::{Embedding, Origin};
use inglenook::prompts::{Answer, MemoryLine};
use inglenook::worker::writer::Generative;

use super::{Mode, Retrieval, Shown, StructuralMemory, Structure};
use crate::EvalError;
use crate::answering::built_cache::Unit;
use crate::answering::memory_builder::{ModelUse, line_of};
use crate::answering::methods::{Answerer, Block};
use crate::prompts::{Refine, Rerank};
use crate::retrieval::baselines::{largest, similarities};

/// K: memories that a search gives (the paper's best for most structures on LoCoMo, Figure 4).
const K: usize = 100;
/// R: memories that are kept after ranking (§5.4).
const R: usize = 10;
/// T: memories that a thought is about (Figure 6).
const T: usize = 50;
/// N: rounds of thought (Figure 7).
const ROUNDS: usize = 3;

/// A longer thought is cut.
const THOUGHT_TOKENS_MAX: usize = 120;
/// "Doc: 12, Relevance Score: 7".
const RANK_TOKENS: usize = 14;
/// What opens and closes turns, at most.
const TURN_TOKENS: usize = 48;

/// One memory of the pool.
#[derive(Clone, Copy)]
struct Memory<'a> {
    structure: Structure,
    unit: &'a Unit,
    vector: &'a Embedding,
}

/// A structural memory, searched for one question.
pub(in crate::answering) struct Search<'a> {
    pub structures: &'a StructuralMemory,
    pub answerer: &'a Answerer<'a>,
    pub model_use: ModelUse,
    pub mode: Mode,
}

impl Search<'_> {
    /// What the reader is to be shown, best first.
    pub(in crate::answering) fn find(&self, question: &str) -> Result<Vec<Block>, EvalError> {
        let pool: Vec<Memory<'_>> = self
            .mode
            .structure
            .parts()
            .iter()
            .filter_map(|&structure| {
                Some((structure, self.structures.parts.get(&structure)?.as_ref().ok()?))
            })
            .flat_map(|(structure, part)| {
                let of = part.units.iter().zip(&part.vectors);
                of.map(move |(unit, vector)| Memory { structure, unit, vector })
            })
            .collect();
        let found = match self.mode.retrieval {
            Retrieval::Single => self.nearest(&pool, question, K)?,
            Retrieval::Rerank => {
                let nearest = self.nearest(&pool, question, K)?;
                self.ranked(&pool, nearest, question)?
            }
            Retrieval::Iterative => {
                let query = self.refined(&pool, question)?;
                self.nearest(&pool, &query, K)?
            }
        };
        Ok(match self.mode.shown {
            Shown::MemoryOnly => {
                found.iter().map(|&place| self.block(place, &pool[place])).collect()
            }
            Shown::MemoryDoc => self.documents(found.iter().map(|&place| pool[place].unit)),
        })
    }

    fn nearest(&self, pool: &[Memory<'_>], query: &str, n: usize) -> Result<Vec<usize>, EvalError> {
        let vector = self.answerer.models.embedder.embed(&[query])?;
        let vector = vector.first().ok_or(EvalError::NoMemory)?;
        let scores: Vec<f64> = pool
            .iter()
            .flat_map(|memory| similarities(std::slice::from_ref(memory.vector), vector))
            .collect();
        Ok(largest(&scores, n))
    }

    /// The R most relevant by the reader's word; what it leaves out comes after, as it was found.
    fn ranked(
        &self,
        pool: &[Memory<'_>],
        nearest: Vec<usize>,
        question: &str,
    ) -> Result<Vec<usize>, EvalError> {
        let mut order = if self.model_use.thinks {
            self.ranked_in_words(pool, &nearest, question)?
        } else {
            self.ranked_by_likelihood(pool, &nearest, question)?
        };
        let left: Vec<usize> = nearest.into_iter().filter(|place| !order.contains(place)).collect();
        order.extend(left);
        order.truncate(R);
        Ok(order)
    }

    fn ranked_in_words(
        &self,
        pool: &[Memory<'_>],
        nearest: &[usize],
        question: &str,
    ) -> Result<Vec<usize>, EvalError> {
        let texts: Vec<&str> =
            nearest.iter().map(|&place| pool[place].unit.text.as_str()).collect();
        let prompt = |n: usize| Rerank { documents: &texts[..n], question }.fill();
        // As many of the nearest as the reader's context holds, with a line about each.
        let room = self.answerer.model.info().context_tokens;
        let mut n = texts.len();
        let fits = |n: usize| {
            let prompt = prompt(n);
            let said = self.answerer.model.encode(&(prompt.system + &prompt.user)).len();
            said + TURN_TOKENS + n * RANK_TOKENS <= room
        };
        while n > 1 && !fits(n) {
            n -= n.div_ceil(8);
        }
        let reply =
            self.generative().ask(&prompt(n), n * RANK_TOKENS, None, self.answerer.cancel)?;
        let order = reply.map(|reply| Rerank::parse(&reply.text, n).0).unwrap_or_default();
        Ok(order.into_iter().map(|place| nearest[place]).collect())
    }

    /// By the likelihood of the question after each memory alone, as Stage II's gate measures it.
    fn ranked_by_likelihood(
        &self,
        pool: &[Memory<'_>],
        nearest: &[usize],
        question: &str,
    ) -> Result<Vec<usize>, EvalError> {
        let model = self.answerer.model;
        let question = model.encode(&Answer.close(question));
        let mut tail = model.close_turn(TurnRole::User);
        tail.extend(model.open_reply());
        let mut open = self.answerer.head.fork()?;
        open.extend(&model.encode(&Answer.open()))?;
        let room =
            model.info().context_tokens.saturating_sub(open.len() + question.len() + tail.len());
        let mut scored = Vec::with_capacity(nearest.len());
        for &place in nearest {
            let mut memory = model.encode(&self.block(place, &pool[place]).text);
            memory.truncate(room);
            let mut context = open.fork()?;
            context.extend(&memory)?;
            let nll = context.uncertainty(&question, &tail, 0)?.question_nll_nats;
            scored.push((nll, place));
        }
        // A stable sort: of equals the nearer.
        scored.sort_by(|a, b| a.0.total_cmp(&b.0));
        Ok(scored.into_iter().map(|(_, place)| place).collect())
    }

    /// The question with the last thought about it.
    fn refined(&self, pool: &[Memory<'_>], question: &str) -> Result<String, EvalError> {
        let mut query = question.to_owned();
        for _ in 0..ROUNDS {
            let nearest = self.nearest(pool, &query, T)?;
            let thought = if self.model_use.thinks {
                self.thought_in_words(pool, &nearest, question)?
            } else {
                self.thought_quoted(pool, &nearest, question)
            };
            let Some(thought) = thought else { break };
            let next = format!("{question} {thought}");
            // From here on every round is the same.
            if next == query {
                break;
            }
            query = next;
        }
        Ok(query)
    }

    fn thought_in_words(
        &self,
        pool: &[Memory<'_>],
        nearest: &[usize],
        question: &str,
    ) -> Result<Option<String>, EvalError> {
        let blocks: Vec<String> =
            nearest.iter().map(|&place| self.block(place, &pool[place]).text).collect();
        let generative = self.generative();
        let mut n = blocks.len();
        loop {
            let lines: Vec<&str> = blocks[..n].iter().flat_map(|text| text.lines()).collect();
            let prompt = Refine { lines: &lines, question }.fill();
            match generative.ask(&prompt, THOUGHT_TOKENS_MAX, None, self.answerer.cancel)? {
                Some(reply) => return Ok(Refine::parse(&reply.text).0),
                None if n > 1 => n -= n.div_ceil(8),
                None => return Ok(None),
            }
        }
    }

    /// What the extractive reader quotes for an answer.
    fn thought_quoted(
        &self,
        pool: &[Memory<'_>],
        nearest: &[usize],
        question: &str,
    ) -> Option<String> {
        let mut candidates = Vec::new();
        for (rank, &place) in nearest.iter().enumerate() {
            let Memory { structure, unit, .. } = pool[place];
            let relevance = 1.0 / (1.0 + rank as f64);
            let mut add = |text: &str, raw_speaker: Option<String>| {
                let (text, at) = (text.to_owned(), unit.at);
                candidates.push(Candidate {
                    text,
                    relevance,
                    at,
                    raw_speaker,
                    superseded: false,
                    origin: Origin::Person,
                    answers: None,
                });
            };
            match structure {
                Structure::Chunks => {
                    for &message in &unit.messages {
                        let said = &self.answerer.messages[message];
                        add(&said.text, Some(said.name().to_owned()));
                    }
                }
                Structure::Triples => add(&unit.text.replace(';', ""), None),
                _ => extractive::sentences(&unit.text).into_iter().for_each(|text| add(text, None)),
            }
        }
        let now = self.answerer.messages.last().map(|said| said.at)?;
        let answer = extractive::answer(question, &candidates, now, None)?;
        let quoted: Vec<&str> =
            answer.cited.iter().filter_map(|&i| Some(candidates.get(i)?.text.as_str())).collect();
        (!quoted.is_empty()).then(|| quoted.join(" "))
    }

    fn generative(&self) -> Generative {
        Generative::new(std::sync::Arc::new(self.answerer.model.clone()))
    }

    /// A memory as the reader is shown it. A summary covers no message, as an episode does not: it
    /// says too little of each.
    fn block(&self, place: usize, memory: &Memory<'_>) -> Block {
        let Unit { text, at, messages } = memory.unit;
        let order = (messages.first().copied().unwrap_or(usize::MAX), place);
        let text = match memory.structure {
            Structure::Chunks => {
                messages.iter().map(|&place| line_of(&self.answerer.messages[place])).collect()
            }
            _ => MemoryLine::Semantic { text, at: *at, superseded: false }.render(),
        };
        let covers = match memory.structure {
            Structure::Summaries => Vec::new(),
            _ => messages.clone(),
        };
        Block { order, text, covers }
    }

    /// The documents that memories come from, each once.
    fn documents<'u>(&self, found: impl Iterator<Item = &'u Unit>) -> Vec<Block> {
        let mut places: Vec<usize> = Vec::new();
        for unit in found {
            for message in &unit.messages {
                let of = self.structures.documents.iter().position(|run| run.contains(message));
                places.extend(of.filter(|document| !places.contains(document)));
            }
        }
        places
            .into_iter()
            .map(|document| {
                let run = self.structures.documents[document].clone();
                let messages = &self.answerer.messages[run.clone()];
                Block {
                    order: (run.start, document),
                    text: messages.iter().map(line_of).collect(),
                    covers: run.collect(),
                }
            })
            .collect()
    }
}
