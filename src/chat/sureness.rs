//! How likely an answer from memory is right, in words (pure).

/// From least to most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sureness {
    Guessing,
    FairlySure,
    Sure,
}

// Of 149 answers to the questions of five notebooks that nothing was fitted to, those that quoted what answers: 0.98 from SURE_MIN on, 0.77 between
// the two, 0.41 below; of 282 of ten other notebooks 0.98, 0.77 and 0.48 (docs/log.md).
const SURE_MIN: f64 = 0.85;
const FAIRLY_SURE_MIN: f64 = 0.5;

impl Sureness {
    /// Of the probability, in [0, 1], that what is cited answers.
    pub fn of(probability: f64) -> Self {
        match probability {
            p if p >= SURE_MIN => Self::Sure,
            p if p >= FAIRLY_SURE_MIN => Self::FairlySure,
            _ => Self::Guessing,
        }
    }

    /// Of the probability that the best of what a model reads answers: one less, for what a small model makes of it. Of 150 questions of
    /// the dev conversations Qwen2.5-Coder-0.5B gave half of the answer's words in 0.67 where fairly sure, in 0.41 of the others.
    pub fn of_reading(probability: f64) -> Self {
        if Self::of(probability) == Self::Sure { Self::FairlySure } else { Self::Guessing }
    }

    /// Its name in records.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Guessing => "guessing",
            Self::FairlySure => "fairly-sure",
            Self::Sure => "sure",
        }
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Guessing, Self::FairlySure, Self::Sure].into_iter().find(|s| s.as_str() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_model_reads_is_never_sure() {
        let of = |p| (Sureness::of(p), Sureness::of_reading(p));
        assert_eq!(of(0.85), (Sureness::Sure, Sureness::FairlySure));
        assert_eq!(of(0.84), (Sureness::FairlySure, Sureness::Guessing));
        assert_eq!(of(0.49), (Sureness::Guessing, Sureness::Guessing));
    }

    #[test]
    fn records_are_read_again() {
        for sureness in [Sureness::Guessing, Sureness::FairlySure, Sureness::Sure] {
            assert_eq!(Sureness::named(sureness.as_str()), Some(sureness));
        }
        assert_eq!(Sureness::named("certain"), None);
    }
}
