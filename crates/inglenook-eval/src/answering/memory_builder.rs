//! Building a method's own memory of a conversation: who writes it, what that costs, where it is cached.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use inglenook::extractive::{Statement, Utterance};
use inglenook::interfaces::{Cancel, LanguageModel, ModelInfo, Models};
use inglenook::memory::{Embedding, MessageId, Role};
use inglenook::model_policy::{Grade, Mode, Plan, Reader, reader};
use inglenook::prompts::{Line, MemoryLine};
use inglenook::worker::writer::{Extractive, Generative, Writer as _, Writers};

use super::built_cache::{BuildResult, BuiltCache, BuiltMemory, MadeBy, Unit};
use super::data::{Conversation, Message, without_caption};
use super::meter::Metered;
use crate::EvalError;
use crate::locomo::Folder;
use crate::retrieval::corpus::Corpus;
use crate::retrieval::vectors::embed;

/// What the model does itself; the product's rules do the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ModelUse {
    pub plan: Plan,
    /// Whether it reasons and ranks in words.
    pub thinks: bool,
}

impl ModelUse {
    /// As `writer = auto` and `reader = auto` decide; a large model without a grade writes, as in the papers.
    pub(super) fn of(mode: Mode, info: &ModelInfo, grade: Option<&str>) -> Self {
        // The starter reads and gives names; it neither writes facts nor reasons in words.
        if mode == Mode::Auto && info.starter {
            return Self { plan: Plan::all(false), thinks: false };
        }
        let grade = Grade::from_setting(grade);
        let reads =
            |mode, grade: Option<&Grade>| reader(mode, info, grade, false) == Reader::Generative;
        let is_large = grade.is_none() && reads(Mode::Auto, None);
        let mode = if is_large && mode == Mode::Auto { Mode::Generative } else { mode };
        Self { plan: Plan::of(mode, info, grade.as_ref()), thinks: reads(mode, grade.as_ref()) }
    }
}

/// Facts and summaries from a ready-made memory.
pub(super) struct GivenMemory {
    pub facts: Vec<Unit>,
    pub summaries: Vec<Unit>,
}

impl GivenMemory {
    /// Leaves out what names no message of the conversation, because a memory must know its sources.
    pub(super) fn read(path: PathBuf, conversation: &Conversation) -> Result<Self, EvalError> {
        let corpus = Corpus::without_vectors(&Folder { path, questions: Vec::new() })?;
        let place_of = |of: &usize| {
            let id = &corpus.messages[*of].id;
            conversation.messages.iter().position(|said| said.id == *id)
        };
        let unit = |text: &str,
                    at: inglenook::memory::Moment,
                    messages: &mut dyn Iterator<Item = usize>| {
            let mut messages: Vec<usize> = messages.filter_map(|of| place_of(&of)).collect();
            messages.sort_unstable();
            messages.dedup();
            let unit = Unit { text: text.to_owned(), at: at.civil(), messages };
            (!unit.messages.is_empty()).then_some(unit)
        };
        let facts = corpus.semantics.iter();
        let facts = facts.filter_map(|s| unit(&s.text, s.at, &mut s.messages.iter().copied()));
        let summaries = corpus.episodes.iter().enumerate().filter_map(|(episode, e)| {
            let of = |place: &usize| corpus.messages[*place].episode == episode;
            unit(&e.content, e.at, &mut (0..corpus.messages.len()).filter(of))
        });
        Ok(Self { facts: facts.collect(), summaries: summaries.collect() })
    }
}

/// Builds memories of one conversation.
pub(super) struct MemoryBuilder<'a> {
    pub conversation: &'a Conversation,
    /// The conversation's index in its file.
    pub place: usize,
    pub models: &'a Models,
    pub model_use: ModelUse,
    /// The ready-made memory, or why it can't be read; `None` if the run has none.
    pub ready: Option<Result<GivenMemory, String>>,
    pub cache: &'a BuiltCache,
    /// Share of tokens that compression keeps.
    pub pruning_ratio: f64,
    /// Called with the steps done and their total.
    pub on_step: &'a dyn Fn(usize, usize),
    pub cancel: &'a Cancel,
}

/// The model that writes one memory, and counts its calls.
pub(super) struct MeteredWriter {
    pub model: Metered,
    pub writers: Writers,
    /// For prompts that are not the product's.
    pub generative: Generative,
}

impl MemoryBuilder<'_> {
    /// The statements in these messages, in the third person, by rules.
    pub(super) fn stated(&self, run: Range<usize>) -> Result<Vec<Unit>, EvalError> {
        let statements = Extractive.statements(&[], &self.utterances(run), self.cancel)?;
        let unit = |statement: Statement| {
            let messages = places(&statement.messages);
            let at = self.conversation.messages[*messages.first()?].at;
            Some(Unit { text: statement.text, at, messages })
        };
        Ok(statements.into_iter().filter_map(unit).collect())
    }

    /// The memory from the cache, or a newly built and cached one, with vectors; `Ok(Err(reason))` if it can't
    /// be built.
    ///
    /// # Errors
    /// As `build`, except [`EvalError::Unbuilt`], whose reason is returned.
    pub(super) fn make(
        &self,
        memory: &'static str,
        build: impl FnOnce(&MeteredWriter) -> Result<BuildResult, EvalError>,
    ) -> Result<Result<Searchable, String>, EvalError> {
        let (name, n) = (&self.conversation.name, self.conversation.messages.len());
        let kept = if let Some(kept) = self.cache.find(self.place, name, memory, n) {
            kept
        } else {
            let start = Instant::now();
            let model = Metered::new(Arc::clone(&self.models.language));
            let shared: Arc<dyn LanguageModel> = Arc::new(model.clone());
            let writers = Writers::new(Arc::clone(&shared), self.model_use.plan);
            let writer = MeteredWriter { model, writers, generative: Generative::new(shared) };
            let BuildResult { made_by, units, counts } = match build(&writer) {
                Err(EvalError::Unbuilt { what }) => return Ok(Err(what)),
                built => built?,
            };
            let used = writer.model.take();
            let kept = BuiltMemory {
                run: self.cache.run.clone(),
                conversation: name.clone(),
                memory: memory.to_owned(),
                made_by,
                model_calls: used.calls,
                tokens: used.tokens,
                counts,
                units,
            };
            self.cache.keep(self.place, &kept, start.elapsed().as_secs_f64())?;
            kept
        };
        // Embedded anew: a query may be any text, so it needs vectors of the product's embedder.
        let texts: Vec<String> = kept.units.iter().map(|unit| unit.text.clone()).collect();
        let vectors = embed(self.models.embedder.as_ref(), &texts)?;
        Ok(Ok(Searchable { units: kept.units, vectors, memory, made_by: kept.made_by }))
    }

    /// The ready-made memory, if the run has one.
    ///
    /// # Errors
    /// [`EvalError::Unbuilt`] if it can't be read.
    pub(super) fn given(&self) -> Result<Option<&GivenMemory>, EvalError> {
        match &self.ready {
            None => Ok(None),
            Some(Ok(ready)) => Ok(Some(ready)),
            Some(Err(reason)) => Err(EvalError::Unbuilt { what: reason.clone() }),
        }
    }

    /// Reports progress.
    ///
    /// # Errors
    /// [`EvalError::Cancelled`] once the run is cancelled.
    pub(super) fn step(&self, done: usize, of: usize) -> Result<(), EvalError> {
        (self.on_step)(done, of);
        if self.cancel.is_cancelled() { Err(EvalError::Cancelled) } else { Ok(()) }
    }

    /// Messages in the form of the prompts.
    pub(super) fn lines(&self, places: Range<usize>) -> Vec<Line> {
        self.conversation.messages[places]
            .iter()
            .map(|said| Line {
                speaker: said.name().to_owned(),
                at: said.at,
                text: said.text.clone(),
            })
            .collect()
    }

    /// Messages in the form of the rules; an utterance's id is the message's index.
    pub(super) fn utterances(&self, places: impl Iterator<Item = usize>) -> Vec<Utterance> {
        let mut named: Vec<&String> = Vec::new();
        for speaker in self.conversation.messages.iter().filter_map(|said| said.speaker.as_ref()) {
            if !named.contains(&speaker) {
                named.push(speaker);
            }
        }
        let utterance = |place: usize| {
            let said = &self.conversation.messages[place];
            Utterance {
                message: MessageId(place as i64),
                // Neither of two named people is the assistant: both state facts.
                role: if said.speaker.is_none() && said.by_second {
                    Role::Assistant
                } else {
                    Role::User
                },
                speaker: said.name().to_owned(),
                addressee: match (&said.speaker, &named[..]) {
                    (Some(me), [a, b]) => Some((*if *a == me { b } else { a }).clone()),
                    _ => None,
                },
                text: without_caption(&said.text).to_owned(),
                at: said.at,
            }
        };
        places.map(utterance).collect()
    }
}

/// Units with their vectors; possibly empty.
pub(super) struct Searchable {
    pub units: Vec<Unit>,
    pub vectors: Vec<Embedding>,
    memory: &'static str,
    made_by: MadeBy,
}

impl Searchable {
    /// The message for an empty memory, if it is empty.
    pub(super) fn emptiness(&self) -> Option<String> {
        let by = match self.made_by {
            MadeBy::Given => "the ready-made memories have",
            MadeBy::Model => "the model found",
            MadeBy::Rules => "the rules found",
        };
        let what = if self.memory == "lightmem" { "notes" } else { self.memory };
        let said = format!("not possible with this model: {by} no {what} in this conversation");
        self.units.is_empty().then_some(said)
    }
}

/// A message as the reader is shown it.
pub(super) fn line_of(said: &Message) -> String {
    MemoryLine::Message { speaker: said.name(), text: &said.text, at: said.at }.render()
}

/// Indices of the messages behind these utterance ids.
pub(super) fn places(ids: &[MessageId]) -> Vec<usize> {
    let mut places: Vec<usize> = ids.iter().filter_map(|id| usize::try_from(id.0).ok()).collect();
    places.sort_unstable();
    places.dedup();
    places
}
