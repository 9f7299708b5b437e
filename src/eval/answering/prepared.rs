//! What the methods that are left need of a conversation.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Instant;

use super::data::Told;
use super::lightmem;
use super::memory::{self, Remembered};
use super::method::Method;
use super::shelf::Shelf;
use super::structural::Library;
use super::workshop::{Ready, Searchable, Workshop};
use super::{Run, Step, hands};
use crate::eval::EvalError;
use crate::eval::retrieval::vectors::embed;
use crate::interfaces::{Cancel, Models};
use crate::memory::Embedding;

/// Each part: nothing where no method needs it, or why there is none.
pub(super) struct Prepared {
    /// Of the messages.
    pub vectors: Vec<Embedding>,
    /// The program's own.
    pub memory: Result<Option<Remembered>, String>,
    pub seconds_to_build: f64,
    /// LightMem's.
    pub notes: Result<Option<Searchable>, String>,
    pub library: Option<Library>,
}

impl Prepared {
    /// # Errors
    /// If the engine, a store or the disk fails, or it was cancelled.
    pub(super) fn new(
        run: &Run<'_>,
        (place, told): (usize, &Told),
        left: &BTreeSet<Method>,
        models: &Models,
        shelf: &Shelf,
        on_step: &dyn Fn(Step<'_>),
        cancel: &Cancel,
    ) -> Result<Self, EvalError> {
        let vectors = if left.iter().any(|method| method.needs_vectors()) {
            let lines: Vec<String> =
                told.messages.iter().map(|m| format!("{}: {}", m.name(), m.text)).collect();
            embed(models.embedder.as_ref(), &lines)?
        } else {
            Vec::new()
        };
        let conversation = told.name.as_str();
        let on_job = |done, of| on_step(Step::Building { conversation, done, of });
        let start = Instant::now();
        let memory = if left.iter().any(|method| method.needs_memory()) {
            reason(remembered(run, told, models, &on_job, cancel))?.map(Some)
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
        let (mut notes, mut library) = (Ok(None), None);
        if left.contains(&Method::LightMem) || modes().next().is_some() {
            let ready = run.memories.map(|memories| {
                let path = memory::folder(memories, told).ok_or(EvalError::NoMemory);
                reason(path.and_then(|path| Ready::read(path, told)))
            });
            let workshop = Workshop {
                told,
                place,
                models,
                hands: hands(run, models),
                ready: ready.transpose()?,
                shelf,
                pruning_ratio: run.pruning_ratio,
                on_step: &on_job,
                cancel,
            };
            if left.contains(&Method::LightMem) {
                notes = lightmem::memory(&workshop)?.map(Some);
            }
            if modes().next().is_some() {
                library = Some(Library::new(&workshop, modes())?);
            }
        }
        Ok(Self { vectors, memory, seconds_to_build, notes, library })
    }

    /// Why a method can't be asked, if it can't.
    pub(super) fn missing(&self, method: Method) -> Option<String> {
        match method {
            Method::LightMem => self.notes.as_ref().err().cloned(),
            Method::Structural(mode) => self.library.as_ref().and_then(|of| of.missing(mode)),
            _ if method.needs_memory() => self.memory.as_ref().err().cloned(),
            _ => None,
        }
    }
}

/// What ends the run stays an error; anything else is why one conversation lacks something.
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
    told: &Told,
    models: &Models,
    on_job: &dyn Fn(usize, usize),
    cancel: &Cancel,
) -> Result<Remembered, EvalError> {
    let grade = run.grade.as_ref();
    if let Some(memories) = run.memories {
        let path: PathBuf = memory::folder(memories, told).ok_or(EvalError::NoMemory)?;
        memory::given(path, told, &models.embedder, grade)
    } else {
        memory::built(told, models, &run.writer, grade, on_job, cancel)
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
