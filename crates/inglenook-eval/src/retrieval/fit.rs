//! Fits the weights of [`inglenook::memory::relevance`]: logistic regression of "names a message
//! that the answer rests on" over every unit that recall finds for a question; then, with these weights,
//! the same over every unit that the reranker read.

use inglenook::memory::relevance::{
    Judgement, N_FEATURES, N_JUDGED, Relevance, Reranking, Weights, probability,
};
use inglenook::recall::UnitCues;
use serde::Serialize;

/// Number of weights, with the bias.
const N: usize = N_FEATURES + 1;

/// Units and whether each is evidence.
#[derive(Debug, Clone, Default)]
pub(super) struct Examples(Vec<([f64; N], bool)>);

/// The training examples from one conversation.
#[derive(Debug, Clone, Default)]
pub(super) struct Sets {
    /// One for each of [`Relevance`]'s weights by cues, in its order.
    pub by_cues: [Examples; 4],
    /// What the reranker read for each question, its scores, and whether they are evidence.
    pub reranked: Vec<Vec<(UnitCues, f64, bool)>>,
}

/// One weight.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WeightRow {
    pub of: &'static str,
    pub cue: &'static str,
    pub weight: f64,
}

impl Examples {
    pub(super) fn push(&mut self, features: [f64; N_FEATURES], is_evidence: bool) {
        let mut row = [1.0; N];
        row[..N_FEATURES].copy_from_slice(&features);
        self.0.push((row, is_evidence));
    }
}

/// Fits all examples together; a set without evidence keeps the weights of `known`.
pub(super) fn fit<'a>(
    parts: impl Iterator<Item = &'a Sets> + Clone,
    known: &Relevance,
) -> Relevance {
    let of = |set: usize, known: Weights| {
        let examples: Vec<&([f64; N], bool)> =
            parts.clone().flat_map(|sets| &sets.by_cues[set].0).collect();
        if !examples.iter().any(|e| e.1) {
            return known;
        }
        let fitted = logistic(&examples);
        let mut features = [0.0; N_FEATURES];
        features.copy_from_slice(&fitted[..N_FEATURES]);
        Weights { bias: fitted[N_FEATURES], features, recency: known.recency }
    };
    let by_cues = Relevance {
        semantic: of(0, known.semantic),
        semantic_by_words: of(1, known.semantic_by_words),
        message: of(2, known.message),
        message_by_words: of(3, known.message_by_words),
        ..*known
    };
    Relevance { reranking: fit_reranking(parts, &by_cues), ..by_cues }
}

/// Of what the cues make of a unit by `known`'s weights, and of the reranker's score.
fn fit_reranking<'a>(parts: impl Iterator<Item = &'a Sets>, known: &Relevance) -> Reranking {
    let mut examples: Vec<([f64; N_JUDGED + 1], bool)> = Vec::new();
    for read in parts.flat_map(|sets| &sets.reranked) {
        let best = read.iter().map(|(_, score, _)| *score).fold(f64::NEG_INFINITY, f64::max);
        examples.extend(read.iter().map(|&(ref clue, score, is_evidence)| {
            let is_message = clue.is_message;
            let by_cues = if is_message {
                known.of_message(&clue.cues)
            } else {
                known.of_semantic(&clue.cues)
            };
            let mut row = [1.0; N_JUDGED + 1];
            row[..N_JUDGED]
                .copy_from_slice(&Judgement { by_cues, score, best, is_message }.features());
            (row, is_evidence)
        }));
    }
    if !examples.iter().any(|e| e.1) {
        return known.reranking;
    }
    let fitted = logistic(&examples.iter().collect::<Vec<_>>());
    let mut features = [0.0; N_JUDGED];
    features.copy_from_slice(&fitted[..N_JUDGED]);
    Reranking { bias: fitted[N_JUDGED], features }
}

/// Names of the features, in their order.
const CUES: [&str; N_FEATURES] = [
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
const JUDGED: [&str; N_JUDGED] = ["cues", "score", "best", "message"];

pub(super) fn rows(weights: &Relevance) -> Vec<WeightRow> {
    let reranking = &weights.reranking;
    let of_reranked =
        std::iter::once(("bias", reranking.bias)).chain(JUDGED.into_iter().zip(reranking.features));
    [
        ("semantic", &weights.semantic),
        ("semantic by words", &weights.semantic_by_words),
        ("message", &weights.message),
        ("message by words", &weights.message_by_words),
    ]
    .into_iter()
    .flat_map(|(of, weights)| {
        let bias = std::iter::once(("bias", weights.bias));
        let others = CUES.into_iter().zip(weights.features);
        bias.chain(others).map(move |(cue, weight)| WeightRow { of, cue, weight })
    })
    .chain(of_reranked.map(|(cue, weight)| WeightRow { of: "reranked", cue, weight }))
    .collect()
}

/// The maximum of the log-likelihood less half the squares of the weights (the last, the bias, is free),
/// by Newton's method.
#[allow(clippy::needless_range_loop, reason = "matrices read best by their indices")]
fn logistic<const N: usize>(examples: &[&([f64; N], bool)]) -> [f64; N] {
    const STEPS: usize = 12;
    let mut weights = [0.0; N];
    for _ in 0..STEPS {
        // The slope and minus the curvature, from the ridge …
        let (mut slope, mut curvature) = ([0.0; N], [[0.0; N]; N]);
        for i in 0..N - 1 {
            slope[i] = -weights[i];
            curvature[i][i] = 1.0;
        }
        // … and from every example.
        for (x, is_evidence) in examples {
            let log_odds: f64 = weights.iter().zip(x).map(|(w, x)| w * x).sum();
            let p = probability(log_odds);
            let (error, spread) = (f64::from(u8::from(*is_evidence)) - p, p * (1.0 - p));
            for i in 0..N {
                slope[i] += error * x[i];
                for j in 0..=i {
                    curvature[i][j] += spread * x[i] * x[j];
                }
            }
        }
        let Some(step) = solve(curvature, slope) else { break };
        for (weight, step) in weights.iter_mut().zip(step) {
            *weight += step;
        }
    }
    weights
}

/// A x = b for a symmetric, positive definite A, of which the lower half is given (Cholesky).
/// `None` if it is not positive definite.
#[allow(clippy::needless_range_loop, reason = "matrices read best by their indices")]
fn solve<const N: usize>(mut a: [[f64; N]; N], mut b: [f64; N]) -> Option<[f64; N]> {
    for i in 0..N {
        for j in 0..=i {
            let dot: f64 = (0..j).map(|k| a[i][k] * a[j][k]).sum();
            let rest = a[i][j] - dot;
            if i != j {
                a[i][j] = rest / a[j][j];
            } else if rest > 0.0 {
                a[i][i] = rest.sqrt();
            } else {
                return None;
            }
        }
    }
    for i in 0..N {
        let dot: f64 = (0..i).map(|k| a[i][k] * b[k]).sum();
        b[i] = (b[i] - dot) / a[i][i];
    }
    for i in (0..N).rev() {
        let dot: f64 = (i + 1..N).map(|k| a[k][i] * b[k]).sum();
        b[i] = (b[i] - dot) / a[i][i];
    }
    Some(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linear_equations_are_solved() {
        let mut a = [[0.0; N]; N];
        for (i, row) in a.iter_mut().enumerate() {
            row[i] = 3.0;
            if i > 0 {
                row[i - 1] = 1.0;
            }
        }
        // Of x = (1, 1, …): 3 and its neighbours.
        let mut b = [5.0; N];
        (b[0], b[N - 1]) = (4.0, 4.0);
        for x in solve(a, b).into_iter().flatten() {
            assert!((x - 1.0).abs() < 1e-12, "{x}");
        }
        assert!(solve(a, b).is_some() && solve([[0.0; N]; N], b).is_none());
    }

    #[test]
    fn the_weights_that_made_the_labels_come_back() {
        // Spread evenly, each in its own way (two are 0 throughout).
        let mut examples = Examples::default();
        let truth = |x: &[f64; N_FEATURES]| 1.0 / (1.0 + (1.0 - 2.0 * x[0] + x[3]).exp());
        for i in 0..4_000u32 {
            let mut x = [0.0; N_FEATURES];
            for (k, x) in x.iter_mut().enumerate() {
                *x = (f64::from(i) * (2.0 + k as f64).sqrt()).fract();
            }
            // As many of a hundred as the probability says.
            let draw = (f64::from(i) * std::f64::consts::E).fract();
            examples.push(x, draw < truth(&x));
        }
        let by_cues = [examples, Examples::default(), Examples::default(), Examples::default()];
        let sets = Sets { by_cues, reranked: Vec::new() };
        let known = Relevance::default();
        let fitted = fit(std::iter::once(&sets), &known);
        let close = |a: f64, b: f64| (a - b).abs() < 0.35;
        assert!(close(fitted.semantic.features[0], 2.0), "{:?}", fitted.semantic);
        assert!(close(fitted.semantic.features[3], -1.0), "{:?}", fitted.semantic);
        assert!(close(fitted.semantic.features[5], 0.0), "{:?}", fitted.semantic);
        assert!(close(fitted.semantic.bias, -1.0), "{:?}", fitted.semantic);
        assert_eq!(fitted.message, known.message, "nothing was learnt of messages");
        assert_eq!(fitted.reranking, known.reranking);
        assert_eq!(rows(&fitted).len(), 4 * N + N_JUDGED + 1);
    }

    #[test]
    fn what_can_be_told_apart_without_error_keeps_finite_weights() {
        let mut examples = Examples::default();
        for i in 0..20 {
            examples.push([f64::from(i) - 9.5; N_FEATURES], i >= 10);
        }
        let all: Vec<_> = examples.0.iter().collect();
        let weights = logistic(&all);
        assert!(weights[..N_FEATURES].iter().all(|w| w.is_finite() && *w > 0.0), "{weights:?}");
    }
}
