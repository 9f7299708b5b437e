//! The modes of "On the Structural Memory of LLM Agents" (Zeng et al., 2024): five structures of
//! memory, three ways to search it, two to show what was found.
//!
//! A *document* is a run of whole messages of one session, at most 1,000 tokens (§4.3). Memory is
//! made from documents (§3.1): chunks of their messages, triples, atomic facts, summaries, or all four
//! (`mixed`). A search (§3.2) is by similarity: once; the nearest 100 ranked by the reader, of which
//! 10 are kept; or three rounds in which the reader reasons over the nearest 50, and its thought is
//! searched for together with the question. The reader then sees the memories found, or the documents
//! they come from (§3.3), as far as 4,000 tokens hold them, in the order of time.
//!
//! What the paper leaves open is decided here: chunks of 250 tokens (its bound of 1,000 would fill its
//! own window of 4,000 with four); R = 10, the best that it names; a thought is searched for *with* the
//! question. Where the model is not fit to write or to rank in words ([`super::memory_builder::ModelUse`]), rules
//! take its place: statements for facts, their subject, verb and rest for triples, the narrative of
//! the statements for a summary, what the extractive reader quotes for a thought, and for a rank the
//! likelihood of the question after the memory. Ready-made memories serve as facts and summaries.

mod documents;
mod retrieval;
mod triples;
mod writing;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;
use std::sync::LazyLock;

use super::memory_builder::{MemoryBuilder, Searchable, line_of};
use crate::EvalError;

pub(super) use retrieval::Search;

/// L of documents, in tokens of the reader; a quarter of its context where that is less, so that prompt
/// and reply have room.
const DOCUMENT_TOKENS_MAX: usize = 1_000;
/// L of chunks.
const CHUNK_TOKENS_MAX: usize = 250;
/// The reader's window.
pub(super) const WINDOW_TOKENS_MAX: usize = 4_000;

/// What is remembered of a document (§3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Structure {
    /// Runs of messages.
    Chunks,
    /// ⟨head; relation; tail⟩.
    Triples,
    /// Atomic facts.
    Facts,
    /// A summary per document.
    Summaries,
    /// All four in one memory.
    Mixed,
}

impl Structure {
    /// All structures, in table order.
    pub const ALL: [Self; 5] =
        [Self::Chunks, Self::Triples, Self::Facts, Self::Summaries, Self::Mixed];

    /// Its name in a mode's spelling.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Chunks => "chunks",
            Self::Triples => "triples",
            Self::Facts => "facts",
            Self::Summaries => "summaries",
            Self::Mixed => "mixed",
        }
    }

    fn parts(self) -> &'static [Self] {
        const PARTS: [Structure; 4] =
            [Structure::Chunks, Structure::Triples, Structure::Facts, Structure::Summaries];
        match self {
            Self::Mixed => &PARTS,
            one => &PARTS[one as usize..=one as usize],
        }
    }
}

/// How memory is searched (§3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Retrieval {
    /// One search by similarity.
    Single,
    /// The nearest, reranked by the reader.
    Rerank,
    /// Rounds of reasoning, each with its own search.
    Iterative,
}

impl Retrieval {
    /// All ways, in table order.
    pub const ALL: [Self; 3] = [Self::Single, Self::Rerank, Self::Iterative];

    /// Its name in a mode's spelling.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Rerank => "rerank",
            Self::Iterative => "iterative",
        }
    }
}

/// What the reader sees of it (§3.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Shown {
    /// The memories found.
    MemoryOnly,
    /// The documents that they come from.
    MemoryDoc,
}

impl Shown {
    /// Both ways.
    pub const ALL: [Self; 2] = [Self::MemoryOnly, Self::MemoryDoc];

    /// Its name in a mode's spelling.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MemoryOnly => "memory-only",
            Self::MemoryDoc => "memory-doc",
        }
    }
}

/// One of thirty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mode {
    pub structure: Structure,
    pub retrieval: Retrieval,
    pub shown: Shown,
}

impl Default for Mode {
    /// The paper's best on LoCoMo (Table 1; §5.3 for what is shown).
    fn default() -> Self {
        Self {
            structure: Structure::Mixed,
            retrieval: Retrieval::Iterative,
            shown: Shown::MemoryOnly,
        }
    }
}

impl Mode {
    /// Number of modes.
    pub const N: usize = 30;

    /// How modes are spelt, for error messages.
    pub const SPELLING: &str = "structural, structural:* and \
                                structural:chunks|triples|facts|summaries|mixed:\
                                single|rerank|iterative:memory-only|memory-doc";

    /// In order, from 0 to 29.
    pub(super) const fn at(place: usize) -> Self {
        Self {
            structure: Structure::ALL[place / 6],
            retrieval: Retrieval::ALL[place / 2 % 3],
            shown: Shown::ALL[place % 2],
        }
    }

    pub(super) fn as_str(self) -> &'static str {
        static NAMES: LazyLock<Vec<String>> =
            LazyLock::new(|| (0..Mode::N).map(|place| Mode::at(place).to_string()).collect());
        &NAMES[self.structure as usize * 6 + self.retrieval as usize * 2 + self.shown as usize]
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { structure, retrieval, shown } = self;
        let (structure, retrieval, shown) =
            (structure.as_str(), retrieval.as_str(), shown.as_str());
        write!(f, "structural:{structure}:{retrieval}:{shown}")
    }
}

/// The structural memories of one conversation.
pub(super) struct StructuralMemory {
    documents: Vec<Range<usize>>,
    /// Those that are wanted, or why there is none.
    parts: BTreeMap<Structure, Result<Searchable, String>>,
}

impl StructuralMemory {
    /// Builds what the modes need, or takes it from the cache.
    ///
    /// # Errors
    /// If the engine or the disk fails, or it was cancelled; a memory that can't be made is none:
    /// [`StructuralMemory::missing`].
    pub(super) fn new(
        builder: &MemoryBuilder<'_>,
        modes: impl Iterator<Item = Mode>,
    ) -> Result<Self, EvalError> {
        let model = &builder.models.language;
        let messages = &builder.conversation.messages;
        let n_tokens: Vec<usize> =
            messages.iter().map(|said| model.encode(&line_of(said)).len()).collect();
        let quarter = model.info().context_tokens / 4;
        let runs = |tokens_max: usize| {
            documents::runs(messages, &n_tokens, tokens_max.min(quarter).max(1))
        };
        let (documents, chunks) = (runs(DOCUMENT_TOKENS_MAX), runs(CHUNK_TOKENS_MAX));
        let wanted: BTreeSet<Structure> =
            modes.flat_map(|mode| mode.structure.parts()).copied().collect();
        let mut parts = BTreeMap::new();
        for structure in wanted {
            let runs = if structure == Structure::Chunks { &chunks } else { &documents };
            let part = builder.make(structure.as_str(), |writer| {
                writing::write(structure, runs, builder, writer)
            })?;
            parts.insert(structure, part);
        }
        Ok(Self { documents, parts })
    }

    /// Why a mode can't be answered, if it can't. A mixed memory may lack what its conversation has
    /// none of, but nothing else.
    pub(super) fn missing(&self, mode: Mode) -> Option<String> {
        let parts = || mode.structure.parts().iter().filter_map(|part| self.parts.get(part));
        if let Some(reason) = parts().find_map(|part| part.as_ref().err()) {
            return Some(reason.clone());
        }
        let empty: Option<Vec<String>> =
            parts().filter_map(|part| part.as_ref().ok()).map(Searchable::emptiness).collect();
        empty?.into_iter().next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_counted_through() {
        assert_eq!(Mode::at(0).as_str(), "structural:chunks:single:memory-only");
        assert_eq!(Mode::at(29).as_str(), "structural:mixed:iterative:memory-doc");
        for place in 0..Mode::N {
            assert_eq!(Mode::at(place).as_str(), Mode::at(place).to_string());
        }
        assert_eq!(Structure::Mixed.parts().len(), 4);
        for structure in &Structure::ALL[..4] {
            assert_eq!(structure.parts(), [*structure]);
        }
    }
}
