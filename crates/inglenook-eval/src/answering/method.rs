//! The methods by name.

use std::fmt;

use inglenook::interfaces::Signal;
use inglenook::memory::inclusion::GatePolicy;
use inglenook::memory::relevance::{N_FEATURES, Relevance, Weights};
use inglenook::recall::{Levels, RecallConfig};

use super::equation_4::by_equation_4;
use super::structural::Mode;

/// A way to choose what the reader sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Method {
    /// All messages, or the newest that the reader's context holds.
    FullContext,
    /// The 20 messages most similar to the question.
    NaiveRag,
    /// The same, without the words that the reader would predict (xMemory §5.2).
    RagPruning,
    /// Facts by similarity to the question, nothing else.
    MemoryOnly,
    /// The same facts, chosen by Eq. 4 over themes and facts (Stage I).
    RepSel,
    /// As `MemoryOnly`, with episodes and messages where they lower the reader's uncertainty
    /// (Stage II).
    UncSion,
    /// The product's own recall: hybrid relevance, facts mixed with whole messages, Stage II. Not the
    /// sum of the two before: by default Stage I goes by relevance, because Eq. 4 finds less
    /// ([`RecallConfig::fact_rule`]).
    Full,
    /// `Full`, but the built-in encoder's words answer where it finds any (the product's way for a small model that chats,
    /// `docs/decisions/037`).
    Words,
    /// Notes on compressed topics, updated in sleep time ([`super::lightmem`]).
    LightMem,
    /// One structure of memory, one way to search it ([`super::structural`]).
    Structural(Mode),
}

const N_NAMED: usize = 9;

impl Method {
    /// All but the thirty structural modes.
    pub const NAMED: [Self; N_NAMED] = [
        Self::FullContext,
        Self::NaiveRag,
        Self::RagPruning,
        Self::MemoryOnly,
        Self::RepSel,
        Self::UncSion,
        Self::Full,
        Self::Words,
        Self::LightMem,
    ];

    /// Those that run by default: for the reader of most runs `+words` is no way of its own.
    pub fn by_default() -> impl Iterator<Item = Self> {
        Self::NAMED.into_iter().filter(|method| *method != Self::Words)
    }

    /// In the order of tables.
    pub const ALL: [Self; N_NAMED + Mode::N] = {
        let mut all = [Self::FullContext; N_NAMED + Mode::N];
        let mut i = 0;
        while i < all.len() {
            all[i] =
                if i < N_NAMED { Self::NAMED[i] } else { Self::Structural(Mode::at(i - N_NAMED)) };
            i += 1;
        }
        all
    };

    /// What `--method` takes besides the names of [`Method::ALL`]: the default mode, and all modes.
    pub const FAMILY: [&str; 2] = ["structural", "structural:*"];

    /// Its name on the command line and in tables.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::FullContext => "full-context",
            Self::NaiveRag => "naive-rag",
            Self::RagPruning => "rag-pruning",
            Self::MemoryOnly => "memory-only",
            Self::RepSel => "+repsel",
            Self::UncSion => "+uncsion",
            Self::Full => "full",
            Self::Words => "+words",
            Self::LightMem => "lightmem",
            Self::Structural(mode) => mode.as_str(),
        }
    }

    /// The methods that a name on the command line stands for.
    ///
    /// # Errors
    /// If the name is unknown, a sentence that lists the known ones.
    pub fn named(name: &str) -> Result<Vec<Self>, String> {
        match name {
            "structural" => return Ok(vec![Self::Structural(Mode::default())]),
            "structural:*" => return Ok(Self::ALL[N_NAMED..].to_vec()),
            _ => {}
        }
        let found = Self::ALL.into_iter().find(|method| method.as_str() == name);
        found.map(|method| vec![method]).ok_or_else(|| {
            let names: Vec<&str> = Self::NAMED.iter().map(|method| method.as_str()).collect();
            format!("the methods are {}, {}", names.join(", "), Mode::SPELLING)
        })
    }

    /// Whether it searches the product's own memory.
    #[must_use]
    pub fn needs_memory(self) -> bool {
        matches!(self, Self::MemoryOnly | Self::RepSel | Self::UncSion | Self::Full | Self::Words)
    }

    /// Whether it searches raw messages by their vectors.
    #[must_use]
    pub(super) fn needs_vectors(self) -> bool {
        matches!(self, Self::NaiveRag | Self::RagPruning)
    }

    /// `own` is the product's; `signal` is what `+uncsion` goes by if that has none.
    pub(super) fn recall(self, own: &RecallConfig, signal: Signal) -> RecallConfig {
        let facts = RecallConfig {
            levels: Levels::Facts,
            relevance: by_similarity(),
            n_reranked: 0,
            gate: GatePolicy { probes_max: 0, ..own.gate },
            // Without probes no uncertainty is measured.
            signal: Some(Signal::Overlap),
            ..own.clone()
        };
        match self {
            Self::RepSel => RecallConfig { fact_rule: Some(by_equation_4), ..facts },
            Self::UncSion => {
                RecallConfig { gate: own.gate, signal: own.signal.or(Some(signal)), ..facts }
            }
            Self::Full | Self::Words => own.clone(),
            _ => facts,
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A relevance that ranks by similarity alone, roughly in proportion to it.
fn by_similarity() -> Relevance {
    let mut features = [0.0; N_FEATURES];
    features[0] = 5.0;
    let weights = Weights { bias: -3.0, features, recency: 0.0 };
    Relevance {
        semantic: weights,
        semantic_by_words: weights,
        message: weights,
        message_by_words: weights,
        ..Relevance::default()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_method_is_found_by_its_name() {
        let names: BTreeSet<&str> = Method::ALL.iter().map(|method| method.as_str()).collect();
        assert_eq!(names.len(), 39);
        assert!(Method::ALL.is_sorted(), "tables are in the order of the type");
        for method in Method::ALL {
            assert_eq!(Method::named(method.as_str()), Ok(vec![method]));
        }
        assert!(names.contains("structural:triples:iterative:memory-doc"));
    }

    #[test]
    fn a_family_is_one_name() {
        let names = |name: &str| -> Vec<&str> {
            Method::named(name).unwrap().into_iter().map(Method::as_str).collect()
        };
        assert_eq!(names("structural"), ["structural:mixed:iterative:memory-only"]);
        assert_eq!(names("structural:*").len(), 30);
        let reason = Method::named("structural:facts").unwrap_err();
        assert!(reason.contains("rag-pruning") && reason.contains("memory-doc"), "{reason}");
    }
}
