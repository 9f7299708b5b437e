//! What the remaining methods need for one conversation: vectors and memories.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Instant;

use inglenook::interfaces::{Cancel, Models};
use inglenook::memory::Embedding;

use super::built_cache::BuiltCache;
use super::data::Conversation;
use super::lightmem;
use super::memory::{self, ProgramMemory};
use super::memory_builder::{GivenMemory, MemoryBuilder, Searchable};
use super::method::Method;
use super::structural::StructuralMemory;
use super::{Run, Step, model_use};
use crate::EvalError;
use crate::retrieval::vectors::embed;

/// A part is empty if no method needs it; an `Err` says why it can't be had.
pub(super) struct Prepared {
    /// The messages' vectors.
    pub vectors: Vec<Embedding>,
    /// The product's own memory.
    pub memory: Result<Option<ProgramMemory>, String>,
    pub seconds_to_build: f64,
    /// LightMem's notes.
    pub notes: Result<Option<Searchable>, String>,
    pub structures: Option<StructuralMemory>,
}

impl Prepared {
    /// Builds or loads what `left` needs.
    ///
    /// # Errors
    /// If the model, a store or the disk fails, or the run was cancelled.
    pub(super) fn new(
        run: &Run<'_>,
        (place, conversation): (usize, &Conversation),
        left: &BTreeSet<Method>,
        models: &Models,
        cache: &BuiltCache,
        on_step: &dyn Fn(Step<'_>),
        cancel: &Cancel,
    ) -> Result<Self, EvalError> {
        let vectors = if left.iter().any(|method| method.needs_vectors()) {
            let lines: Vec<String> =
                conversation.messages.iter().map(|m| format!("{}: {}", m.name(), m.text)).collect();
            embed(models.embedder.as_ref(), &lines)?
        } else {
            Vec::new()
        };
        let on_job =
            |done, of| on_step(Step::Building { conversation: &conversation.name, done, of });
        let start = Instant::now();
        let memory = if left.iter().any(|method| method.needs_memory()) {
            reason(remembered(run, conversation, models, &on_job, cancel))?.map(Some)
        } else {
            Ok(None)
        };
        let seconds_to_build = start.elapsed().as_secs_f64();
        let modes = || {
            left.iter().filter_map(|method| match method {
                Method::Structural(mode) => Some(*mode),
                _ => None,
            })
        };
        let (mut notes, mut structures) = (Ok(None), None);
        if left.contains(&Method::LightMem) || modes().next().is_some() {
            let ready = run.memories.map(|memories| {
                let path = memory::folder(memories, conversation).ok_or(EvalError::NoMemory);
                reason(path.and_then(|path| GivenMemory::read(path, conversation)))
            });
            let builder = MemoryBuilder {
                conversation,
                place,
                models,
                model_use: model_use(run, models),
                ready: ready.transpose()?,
                cache,
                pruning_ratio: run.pruning_ratio,
                on_step: &on_job,
                cancel,
            };
            if left.contains(&Method::LightMem) {
                notes = lightmem::memory(&builder)?.map(Some);
            }
            if modes().next().is_some() {
                structures = Some(StructuralMemory::new(&builder, modes())?);
            }
        }
        Ok(Self { vectors, memory, seconds_to_build, notes, structures })
    }

    /// Why a method can't answer, if it can't.
    pub(super) fn missing(&self, method: Method) -> Option<String> {
        match method {
            Method::LightMem => self.notes.as_ref().err().cloned(),
            Method::Structural(mode) => self.structures.as_ref().and_then(|of| of.missing(mode)),
            _ if method.needs_memory() => self.memory.as_ref().err().cloned(),
            _ => None,
        }
    }
}

/// Separates errors that end the run from reasons why one conversation lacks a part.
fn reason<T>(made: Result<T, EvalError>) -> Result<Result<T, String>, EvalError> {
    match made {
        Ok(made) => Ok(Ok(made)),
        Err(error @ (EvalError::Cancelled | EvalError::Store(_) | EvalError::Model(_))) => {
            Err(error)
        }
        Err(error) => Ok(Err(said(&error))),
    }
}

fn remembered(
    run: &Run<'_>,
    conversation: &Conversation,
    models: &Models,
    on_job: &dyn Fn(usize, usize),
    cancel: &Cancel,
) -> Result<ProgramMemory, EvalError> {
    let grade = run.grade.as_ref();
    if let Some(memories) = run.memories {
        let path: PathBuf = memory::folder(memories, conversation).ok_or(EvalError::NoMemory)?;
        memory::given(path, conversation, &models.embedder, grade)
    } else {
        memory::built(conversation, models, &run.writer, grade, on_job, cancel)
    }
}

/// An error with its causes, on one line.
fn said(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
