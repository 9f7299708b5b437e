//! Hybrid relevance: the probability that a unit is evidence, from several cues.
//!
//! It is a logistic regression with fixed weights. The caller finds the cues, and says by
//! [`Cues::recency`] whether the question is about the present.

/// What is known of a semantic or a message with respect to a question.
///
/// The lexical cues are BM25 scores divided by the question's best score at that level, so that they
/// lie in [0, 1].
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Cues {
    /// Nearness to the question ([`super::direction`]); `None` if it has no vector yet.
    pub dense: Option<f64>,
    /// BM25 of its own text.
    pub lexical: f64,
    /// Nearness of the best supporting unit: for a semantic its source messages, for a message the
    /// semantics from it. `None` if none has a vector …
    pub support_dense: Option<f64>,
    /// … and their best BM25, 0 if there are none.
    pub support_lexical: f64,
    /// BM25 of its episode.
    pub episode_lexical: f64,
    /// 1 if the question names who said it, 0 if it names somebody else, 0.5 if it names nobody or
    /// more than one.
    pub speaker: f64,
    /// BM25 of the message before it in the same episode, since an answer follows its question. For a
    /// semantic, the best BM25 of the messages beside its sources.
    pub before_lexical: f64,
    /// BM25 of the message after it; 0 for a semantic.
    pub after_lexical: f64,
    /// Length of its text.
    pub n_characters: usize,
    /// In [0, 1], for questions about the present; 0 for others.
    pub recency: f64,
}

/// Number of [`Cues::features`].
pub const N_FEATURES: usize = 10;

impl Cues {
    /// The features of the regression. A missing nearness is replaced by the supporting units', and
    /// the other way round.
    pub fn features(&self) -> [f64; N_FEATURES] {
        /// A fact of usual length.
        const CHARACTERS: f64 = 100.0;
        let (own, support) = (self.dense, self.support_dense);
        [
            own.or(support).unwrap_or(0.0),
            support.or(own).unwrap_or(0.0),
            f64::from(u8::from(support.is_none())),
            self.lexical,
            self.support_lexical,
            self.episode_lexical,
            self.speaker,
            self.before_lexical,
            self.after_lexical,
            (self.n_characters.max(1) as f64 / CHARACTERS).ln(),
        ]
    }
}

/// One weight per feature; the weighted sum is the log-odds of being evidence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weights {
    /// The constant term.
    pub bias: f64,
    /// Of [`Cues::features`].
    pub features: [f64; N_FEATURES],
    /// Of [`Cues::recency`]; set by hand, since LoCoMo hardly asks about the present.
    pub recency: f64,
}

impl Weights {
    /// Weights with the default weight of recency.
    pub const fn new(bias: f64, features: [f64; N_FEATURES]) -> Self {
        Self { bias, features, recency: 1.0 }
    }

    /// The probability that a unit with these cues is evidence, in (0, 1).
    pub fn relevance(&self, cues: &Cues) -> f64 {
        let features = cues.features();
        let sum: f64 = self.features.iter().zip(features).map(|(weight, x)| weight * x).sum();
        probability(self.bias + sum + self.recency * cues.recency)
    }
}

/// The weights for both levels; their probabilities are comparable. Messages may have no vectors yet
/// (imports); then the other cues count more.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Relevance {
    /// For a semantic.
    pub semantic: Weights,
    /// For a semantic whose messages have no vectors.
    pub semantic_by_words: Weights,
    /// For a message.
    pub message: Weights,
    /// For a message without a vector.
    pub message_by_words: Weights,
    /// For what a reranker read, the probability of being evidence; comparable within one question.
    pub reranking: Reranking,
    /// For the same, the probability that it answers the question; comparable between questions.
    pub answering: Reranking,
}

/// A reranker's score of a unit, and what the cues say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judgement {
    /// The probability by the cues.
    pub by_cues: f64,
    /// The reranker's score of the unit (a logit).
    pub score: f64,
    /// The largest score for the question: scores are best compared with each other.
    pub best: f64,
    /// False for a semantic.
    pub is_message: bool,
}

/// Number of [`Judgement::features`].
pub const N_JUDGED: usize = 4;

impl Judgement {
    /// The features of the regression.
    pub fn features(&self) -> [f64; N_JUDGED] {
        let message = f64::from(u8::from(self.is_message));
        [log_odds(self.by_cues), self.score, self.best, message]
    }
}

/// Weights that combine a reranker's score with the cues into log-odds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reranking {
    /// The constant term.
    pub bias: f64,
    /// Of [`Judgement::features`].
    pub features: [f64; N_JUDGED],
}

impl Reranking {
    /// The probability, in (0, 1), of what the weights are for (see [`Relevance`]).
    pub fn relevance(&self, judged: &Judgement) -> f64 {
        let features = judged.features();
        let sum: f64 = self.features.iter().zip(features).map(|(weight, x)| weight * x).sum();
        probability(self.bias + sum)
    }
}

/// The probability of these log-odds.
pub fn probability(log_odds: f64) -> f64 {
    1.0 / (1.0 + (-log_odds).exp())
}

/// The log-odds of a probability; always finite.
pub fn log_odds(probability: f64) -> f64 {
    let p = probability.clamp(1e-9, 1.0 - 1e-9);
    (p / (1.0 - p)).ln()
}

impl Default for Relevance {
    /// Logistic regression on the five dev conversations of LoCoMo, rounded; `inglenook-eval
    /// retrieval --fit` makes such weights and measures each conversation with those of the others
    /// (docs/log.md has the figures). Weights that use vectors of messages are for the starter's. `answering`
    /// is fitted on the messages of four notebooks that nothing was trained on, by the score alone, as
    /// the cues mislead there. A fact, being shorter, scores too well for what little it says.
    fn default() -> Self {
        Self {
            semantic: Weights::new(-8.3, [3.65, 0.8, 0.0, 0.8, 2.65, 1.5, 1.4, 1.45, 0.0, 0.45]),
            semantic_by_words: Weights::new(
                -8.2,
                [4.6, 0.0, 0.0, 0.7, 2.75, 1.45, 1.25, 1.4, 0.0, 0.55],
            ),
            message: Weights::new(
                -9.05,
                [1.65, 3.45, -0.2, 2.15, 1.3, 1.55, 1.3, 1.65, 0.45, 0.85],
            ),
            message_by_words: Weights::new(
                -9.3,
                [0.0, 4.05, 0.6, 2.75, 1.0, 1.7, 1.65, 1.8, 0.5, 0.75],
            ),
            reranking: Reranking { bias: 0.85, features: [0.8, 0.4, -0.4, 0.2] },
            answering: Reranking { bias: -11.6, features: [0.0, 1.23, 0.0, 0.5] },
        }
    }
}

impl Relevance {
    /// The probability that a semantic is evidence.
    pub fn of_semantic(&self, cues: &Cues) -> f64 {
        let by_words = cues.support_dense.is_none();
        if by_words { &self.semantic_by_words } else { &self.semantic }.relevance(cues)
    }

    /// The probability that a message is evidence.
    pub fn of_message(&self, cues: &Cues) -> f64 {
        let by_words = cues.dense.is_none();
        if by_words { &self.message_by_words } else { &self.message }.relevance(cues)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cue_speaks_for_a_unit() {
        let weights = Relevance::default();
        let with = Cues {
            dense: Some(0.3),
            support_dense: Some(0.3),
            n_characters: 90,
            ..Cues::default()
        };
        let without = Cues { dense: None, ..with };
        let more: [fn(&mut Cues); 8] = [
            |c| c.lexical = 1.0,
            |c| c.support_dense = Some(0.4),
            |c| c.support_lexical = 1.0,
            |c| c.episode_lexical = 1.0,
            |c| c.speaker = 1.0,
            |c| c.before_lexical = 1.0,
            |c| c.after_lexical = 1.0,
            |c| c.recency = 1.0,
        ];
        for (i, change) in more.iter().enumerate() {
            for base in [with, without] {
                let mut cues = base;
                change(&mut cues);
                let (less, more) = (weights.of_message(&base), weights.of_message(&cues));
                assert!(more > less && more < 1.0 && less > 0.0, "cue {i}: {less} {more}");
            }
        }
        let nearer = Cues { dense: Some(0.4), ..with };
        assert!(weights.of_message(&nearer) > weights.of_message(&with));
        assert!(weights.of_semantic(&nearer) > weights.of_semantic(&with));
        let alone = Cues { support_dense: None, ..with };
        assert!(
            weights.of_semantic(&Cues { dense: Some(0.4), ..alone }) > weights.of_semantic(&alone)
        );
    }

    #[test]
    fn a_missing_vector_is_stood_in_for() {
        let own = Cues { dense: Some(0.4), n_characters: 100, ..Cues::default() };
        assert_eq!(own.features()[..3], [0.4, 0.4, 1.0]);
        let supported = Cues { dense: None, support_dense: Some(0.3), ..own };
        assert_eq!(supported.features()[..3], [0.3, 0.3, 0.0]);
        assert_eq!(Cues { dense: None, ..own }.features()[..3], [0.0, 0.0, 1.0]);
        assert!(own.features()[9].abs() < 1e-12);
        assert!(Cues::default().features().iter().all(|x| x.is_finite()));
    }

    #[test]
    fn a_reranker_s_score_joins_what_the_cues_say() {
        let close = |a: f64, b: f64| (a - b).abs() < 1e-9;
        let neutral = Reranking { bias: 0.0, features: [1.0, 0.0, 0.0, 0.0] };
        let said = |by_cues, score| Judgement { by_cues, score, best: 9.0, is_message: false };
        for p in [0.0002, 0.3, 0.999] {
            let of_message = Judgement { is_message: true, ..said(p, 7.0) };
            assert!(close(neutral.relevance(&of_message), p), "{p}");
        }
        let weights = Relevance::default().reranking;
        let judged = |p, score| weights.relevance(&said(p, score));
        assert!(judged(0.1, 5.0) > judged(0.1, 4.0) && judged(0.2, 4.0) > judged(0.1, 4.0));
        let among_better = Judgement { best: 12.0, ..said(0.1, 5.0) };
        assert!(weights.relevance(&among_better) < judged(0.1, 5.0));
        for (p, score) in [(0.0, -1e6), (1.0, 1e6), (0.0, 1e6)] {
            assert!((0.0..=1.0).contains(&judged(p, score)), "{p} {score}");
        }
    }
}
