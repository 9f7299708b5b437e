//! How unsure a reader is, and which measure of it recall uses.

use std::fmt;
use std::str::FromStr;

/// How unsure the reader is of its answer, all in nats.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Uncertainty {
    /// Mean of `H(p) = −Σ p ln p` over the first m answer positions under greedy decoding.
    pub entropy_nats: f64,
    /// The same of the first position alone.
    pub first_entropy_nats: f64,
    /// Mean negative log-likelihood of those greedy tokens (the official code's signal).
    pub nll_nats: f64,
    /// Mean negative log-likelihood of the question's own tokens.
    pub question_nll_nats: f64,
}

/// Which measure of uncertainty Stage II uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// Mean entropy of the first answer positions: the paper's.
    Entropy,
    /// Mean negative log-likelihood of the greedy answer: the official code's.
    Nll,
    /// Mean negative log-likelihood of the question's own tokens.
    QuestionNll,
    /// The share of the question's terms that no evidence names. Needs no model.
    Overlap,
}

impl Signal {
    /// Its name in settings and records.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Entropy => "entropy",
            Self::Nll => "nll",
            Self::QuestionNll => "question-nll",
            Self::Overlap => "overlap",
        }
    }

    /// Its value in a measurement. No model measures [`Signal::Overlap`]: the entropy stands in for it.
    pub fn of(self, measured: &Uncertainty) -> f64 {
        match self {
            Self::Entropy | Self::Overlap => measured.entropy_nats,
            Self::Nll => measured.nll_nats,
            Self::QuestionNll => measured.question_nll_nats,
        }
    }
}

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Signal {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        [Self::Entropy, Self::Nll, Self::QuestionNll, Self::Overlap]
            .into_iter()
            .find(|signal| signal.as_str() == text)
            .ok_or_else(|| {
                format!(
                    "no uncertainty signal is named `{text}` (entropy, nll, question-nll, overlap)"
                )
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_have_names() {
        for name in ["entropy", "nll", "question-nll", "overlap"] {
            assert_eq!(name.parse::<Signal>().map(Signal::as_str), Ok(name));
        }
        assert!("auto".parse::<Signal>().is_err());
    }
}
