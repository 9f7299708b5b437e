//! Hybrid relevance: how much speaks for a unit, from several cues (DESIGN §6).
//!
//! A linear fusion with fixed weights. Where the cues come from (SQLite, a test's arrays) is the
//! caller's business; so is the question's own nature (does it ask about now?), which arrives as a
//! cue.

/// What speaks for a semantic or a message as evidence for a question.
///
/// The lexical cues are BM25 scores divided by the question's best score at that level
/// ([`by_largest`]), so that they lie in [0, 1].
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Cues {
    /// How near it is to the question ([`super::direction`]); `None` where it has no vector yet.
    pub dense: Option<f64>,
    pub lexical: f64,
    /// The best of what it rests on: for a semantic its own messages, for a message the semantics
    /// that name it. `None` where those have no vectors, or there are none …
    pub support_dense: Option<f64>,
    /// … and 0 of none.
    pub support_lexical: f64,
    /// Of its episode's text.
    pub episode_lexical: f64,
    /// 1 if the question names who said it, 0 if it names somebody else, 0.5 if it names nobody or
    /// more than one.
    pub speaker: f64,
    /// Of the message before, in the same episode: an answer stands under its question. For a
    /// semantic, of the best of the messages beside its own.
    pub before_lexical: f64,
    /// Of the message after; 0 for a semantic.
    pub after_lexical: f64,
    pub n_characters: usize,
    /// In [0, 1], for questions about the present; 0 for others.
    pub recency: f64,
}

/// What a log-odds of being evidence is linear in; [`Weights::FITTED`] names them.
pub const N_FEATURES: usize = 10;

impl Cues {
    /// In the order of [`Weights::FITTED`]. Without a vector, what it rests on stands in for it,
    /// and the other way round.
    #[must_use]
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

/// One weight a cue; the sum is a log-odds of being evidence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weights {
    pub bias: f64,
    /// Of [`Cues::features`].
    pub features: [f64; N_FEATURES],
    /// Set by hand: LoCoMo hardly asks about now.
    pub recency: f64,
}

impl Weights {
    pub const FITTED: [&str; N_FEATURES] = [
        "dense",
        "support_dense",
        "unsupported",
        "lexical",
        "support_lexical",
        "episode_lexical",
        "speaker",
        "before_lexical",
        "after_lexical",
        "length",
    ];

    #[must_use]
    pub const fn new(bias: f64, features: [f64; N_FEATURES]) -> Self {
        Self { bias, features, recency: 1.0 }
    }

    /// The probability of being evidence, in (0, 1).
    #[must_use]
    pub fn relevance(&self, cues: &Cues) -> f64 {
        let features = cues.features();
        let sum: f64 = self.features.iter().zip(features).map(|(weight, x)| weight * x).sum();
        probability(self.bias + sum + self.recency * cues.recency)
    }
}

/// The weights of both levels. Probabilities compare between them.
///
/// Memories may know their messages by vectors or (imported, not embedded yet) by their words only;
/// then other cues have to do more.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Relevance {
    pub semantic: Weights,
    /// Of one whose messages have no vectors.
    pub semantic_by_words: Weights,
    pub message: Weights,
    /// Of one without a vector.
    pub message_by_words: Weights,
    /// Of what a reranker read.
    pub reranking: Reranking,
    /// Of the same, whether it answers: this probability compares between questions.
    pub answering: Reranking,
}

/// What a reranker says of a unit, beside what the cues said.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judgement {
    /// The probability by the cues.
    pub by_cues: f64,
    pub score: f64,
    /// The largest score of all that was read for the question: a score says most beside the others.
    pub best: f64,
    pub is_message: bool,
}

/// What the log-odds of [`Reranking`] are linear in; [`Reranking::FITTED`] names them.
pub const N_JUDGED: usize = 4;

impl Judgement {
    /// In the order of [`Reranking::FITTED`].
    #[must_use]
    pub fn features(&self) -> [f64; N_JUDGED] {
        let message = f64::from(u8::from(self.is_message));
        [log_odds(self.by_cues), self.score, self.best, message]
    }
}

/// How a reranker's score joins the cues: another log-odds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reranking {
    pub bias: f64,
    /// Of [`Judgement::features`].
    pub features: [f64; N_JUDGED],
}

impl Reranking {
    pub const FITTED: [&str; N_JUDGED] = ["cues", "score", "best", "message"];

    /// The probability of being evidence, in (0, 1). It compares with others of the same question.
    #[must_use]
    pub fn relevance(&self, judged: &Judgement) -> f64 {
        let features = judged.features();
        let sum: f64 = self.features.iter().zip(features).map(|(weight, x)| weight * x).sum();
        probability(self.bias + sum)
    }
}

/// Of log-odds.
#[must_use]
pub fn probability(log_odds: f64) -> f64 {
    1.0 / (1.0 + (-log_odds).exp())
}

/// Of a probability; finite.
#[must_use]
pub fn log_odds(probability: f64) -> f64 {
    let p = probability.clamp(1e-9, 1.0 - 1e-9);
    (p / (1.0 - p)).ln()
}

impl Default for Relevance {
    /// Logistic regression on the five dev conversations of LoCoMo, rounded; `inglenook-eval
    /// retrieval --fit` makes such weights and measures each conversation with those of the others
    /// (tests/bench/LOG.md has the figures). With vectors of messages: the starter's. `answering`
    /// is of the messages of four notebooks that nothing was trained on: by the score alone, as the
    /// cues lead astray there. A fact, shorter, scores too well for what little it says.
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
            reranking: Reranking { bias: 0.0, features: [0.7, 0.4, -0.3, -0.15] },
            answering: Reranking { bias: -8.5, features: [0.0, 0.95, 0.0, 0.5] },
        }
    }
}

impl Relevance {
    #[must_use]
    pub fn of_semantic(&self, cues: &Cues) -> f64 {
        let by_words = cues.support_dense.is_none();
        if by_words { &self.semantic_by_words } else { &self.semantic }.relevance(cues)
    }

    #[must_use]
    pub fn of_message(&self, cues: &Cues) -> f64 {
        let by_words = cues.dense.is_none();
        if by_words { &self.message_by_words } else { &self.message }.relevance(cues)
    }
}

/// Divides by the largest value, if it is above 0.
pub fn by_largest(scores: &mut [f64]) {
    let largest = scores.iter().copied().fold(0.0, f64::max);
    if largest > 0.0 {
        for score in scores {
            *score /= largest;
        }
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

    #[test]
    fn the_best_score_becomes_one() {
        let mut scores = [2.0, 0.0, 4.0];
        by_largest(&mut scores);
        assert_eq!(scores, [0.5, 0.0, 1.0]);
        let mut none = [0.0, 0.0];
        by_largest(&mut none);
        assert_eq!(none, [0.0, 0.0]);
    }
}
