//! Recall in the official code: Stage I, the order in which episodes are probed, and the gate. The product
//! recalls by `relevance`, `mix` and `inclusion` of [`inglenook::memory`].
//!
//! Where it departs from the paper (xMemory §3.3):
//! - Z of Eq. 4 is the sum of all edge weights, including each node's own weight of 1, which makes the coverage
//!   term almost irrelevant;
//! - the semantic graph is directed and out of date: a semantic's edges are found once, among what
//!   was known when its batch ended, and never again;
//! - every probe is compared with the coarse context alone, never with what was admitted since;
//! - an episode is expanded for its own large drop: its messages are never measured.

use std::cmp::Ordering;
use std::collections::HashMap;

use crate::representatives::{Normaliser, Selection, select_representatives};
use inglenook::memory::knn_graph::N_NEIGHBOURS;
use inglenook::memory::{Embedding, dot64};

/// Candidate semantics, by similarity.
const POOL: usize = 40;
const N_THEMES_MAX: usize = 5;
const N_SEMANTICS_MAX: usize = 20;
const ALPHA: f64 = 0.7;
const N_SIMILAR_EPISODES: usize = 10;
const N_PROBES_MAX: usize = 10;
/// Weight of the best supporting semantic relative to the episode's own similarity.
const SUPPORT: f64 = 0.5;

/// One semantic of a memory. Semantics, themes and episodes are numbered by position.
#[derive(Debug, Clone)]
pub struct SourcedSemantic {
    pub embedding: Embedding,
    pub theme: usize,
    /// The episodes that it came from.
    pub episodes: Vec<usize>,
    /// The batch (session) in which it became known; never falls from one semantic to the next.
    pub batch: usize,
}

/// A memory prepared for Stage I and for ranking episodes.
#[derive(Debug, Clone)]
pub struct OfficialMemory {
    semantics: Vec<Vec<f64>>,
    semantic_edges: Vec<Vec<(usize, f64)>>,
    theme_of: Vec<usize>,
    themes: Vec<Vec<f64>>,
    theme_edges: Vec<Vec<(usize, f64)>>,
    sources: Vec<Vec<usize>>,
    episodes: Vec<Vec<f64>>,
}

/// What is found for a question before any reader is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfficialRecall {
    /// Themes in order of selection.
    pub themes: Vec<usize>,
    /// Semantics in order of selection.
    pub semantics: Vec<usize>,
    /// Episodes in the order in which they are to be probed.
    pub probes: Vec<usize>,
}

impl OfficialMemory {
    /// A theme's vector is the mean of its members' (that of its summary, for which the golden runs
    /// took the mean).
    #[must_use]
    pub fn new(semantics: &[SourcedSemantic], episodes: &[Embedding]) -> Self {
        let vectors: Vec<Vec<f64>> = semantics.iter().map(|s| direction(&s.embedding)).collect();
        let semantic_edges = (0..vectors.len())
            .map(|i| {
                let n_known = semantics.partition_point(|s| s.batch <= semantics[i].batch);
                nearest(&vectors[..n_known], i)
            })
            .collect();
        let n_themes = semantics.iter().map(|s| s.theme + 1).max().unwrap_or(0);
        let mut themes = vec![vec![0.0; vectors.first().map_or(0, Vec::len)]; n_themes];
        for (semantic, vector) in semantics.iter().zip(&vectors) {
            for (total, x) in themes[semantic.theme].iter_mut().zip(vector) {
                *total += x;
            }
        }
        for theme in &mut themes {
            scale_to_one(theme);
        }
        Self {
            semantic_edges,
            theme_of: semantics.iter().map(|s| s.theme).collect(),
            theme_edges: (0..n_themes).map(|i| nearest(&themes, i)).collect(),
            sources: semantics.iter().map(|s| s.episodes.clone()).collect(),
            episodes: episodes.iter().map(direction).collect(),
            semantics: vectors,
            themes,
        }
    }

    /// Stage I and the order of probes for a question.
    #[must_use]
    pub fn recall(&self, question: &Embedding) -> OfficialRecall {
        let question = direction(question);
        let relevance = similarities(&self.semantics, &question);
        let mut pool = ranked(&relevance);
        pool.truncate(POOL);

        let theme_relevance = similarities(&self.themes, &question);
        let mut themes: Vec<usize> = pool.iter().map(|&i| self.theme_of[i]).collect();
        themes.sort_by(|&a, &b| best_first(theme_relevance[a], theme_relevance[b]).then(a.cmp(&b)));
        themes.dedup();
        let themes = representatives(&themes, &theme_relevance, &self.theme_edges, N_THEMES_MAX);

        pool.retain(|&i| themes.contains(&self.theme_of[i]));
        let semantics = representatives(&pool, &relevance, &self.semantic_edges, N_SEMANTICS_MAX);
        let probes = self.probes(&question, &semantics, &relevance);
        OfficialRecall { themes, semantics, probes }
    }

    /// The most similar episodes and those that the semantics came from, by similarity and support.
    fn probes(&self, question: &[f64], selected: &[usize], relevance: &[f64]) -> Vec<usize> {
        let relevance = spread(relevance, 0.5);
        let mut support: Vec<Option<f64>> = vec![None; self.episodes.len()];
        for &semantic in selected {
            for &episode in &self.sources[semantic] {
                let most =
                    support[episode].map_or(relevance[semantic], |s| s.max(relevance[semantic]));
                support[episode] = Some(most);
            }
        }
        let similarity = similarities(&self.episodes, question);
        let similar: Vec<usize> =
            ranked(&similarity).into_iter().take(N_SIMILAR_EPISODES).collect();
        let pool: Vec<usize> = (0..self.episodes.len())
            .filter(|i| support[*i].is_some() || similar.contains(i))
            .collect();
        let own = spread(&pool.iter().map(|&i| similarity[i]).collect::<Vec<_>>(), 0.0);
        let priority: Vec<f64> = pool
            .iter()
            .zip(own)
            .map(|(&i, own)| own + SUPPORT * support[i].unwrap_or(0.0))
            .collect();
        ranked(&priority).into_iter().take(N_PROBES_MAX).map(|at| pool[at]).collect()
    }
}

/// Eq. 4 on `candidates`, of which relevance and edges are those of the whole level.
fn representatives(
    candidates: &[usize],
    relevance: &[f64],
    edges: &[Vec<(usize, f64)>],
    budget: usize,
) -> Vec<usize> {
    let number: HashMap<usize, usize> =
        candidates.iter().enumerate().map(|(n, &candidate)| (candidate, n)).collect();
    let among = |edges: &Vec<(usize, f64)>| -> Vec<(usize, f64)> {
        edges.iter().filter_map(|(to, w)| Some((*number.get(to)?, *w))).collect()
    };
    let relevance: Vec<f64> = candidates.iter().map(|&i| relevance[i]).collect();
    let neighbours: Vec<_> = candidates.iter().map(|&i| among(&edges[i])).collect();
    let chosen = select_representatives(&Selection {
        relevance: &spread(&relevance, 0.5),
        neighbours: &neighbours,
        alpha: ALPHA,
        normaliser: Normaliser::TotalWeight,
        coverage_target: 1.0,
        budget,
    });
    chosen.into_iter().map(|n| candidates[n]).collect()
}

/// Min–max scaling to [0, 1]; `equal` for all if there is no spread.
fn spread(values: &[f64], equal: f64) -> Vec<f64> {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let between = |x: &f64| if most > least { (x - least) / (most - least) } else { equal };
    values.iter().map(between).collect()
}

fn best_first(a: f64, b: f64) -> Ordering {
    b.total_cmp(&a)
}

/// Indices by falling value (ties: the earlier first).
fn ranked(values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| best_first(values[a], values[b]));
    order
}

fn similarities(vectors: &[Vec<f64>], to: &[f64]) -> Vec<f64> {
    vectors.iter().map(|vector| dot64(vector, to)).collect()
}

/// The edges of one node: its nearest with positive similarity.
fn nearest(vectors: &[Vec<f64>], of: usize) -> Vec<(usize, f64)> {
    let similarity = similarities(vectors, &vectors[of]);
    let others = ranked(&similarity).into_iter().filter(|&i| i != of).take(N_NEIGHBOURS);
    others.map(|i| (i, similarity[i])).filter(|&(_, s)| s > 0.0).collect()
}

fn direction(embedding: &Embedding) -> Vec<f64> {
    let mut vector = embedding.as_slice().iter().map(|&x| f64::from(x)).collect::<Vec<_>>();
    scale_to_one(&mut vector);
    vector
}

fn scale_to_one(vector: &mut [f64]) {
    let length = dot64(vector, vector).sqrt();
    if length > 0.0 {
        for x in vector.iter_mut() {
            *x /= length;
        }
    }
}

/// An admitted episode, by the index of its probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OfficialAdmission {
    pub probe: usize,
    /// Whether its raw messages are included.
    pub expanded: bool,
}

/// Stage II's gate in the official code. It rejects only what makes the reader *less* certain by
/// 0.40 or more: a drop above −0.40 admits. (A second threshold of −0.45 is asked only after that,
/// and so never decides anything.) A drop above 0.25 expands. A miss within the first three probes
/// ends the probing, and so does the second miss; if nothing was admitted, the first probe is.
#[derive(Debug, Clone)]
pub struct OfficialGate {
    coarse: f64,
    n_probes: usize,
    n_misses: usize,
    admitted: Vec<OfficialAdmission>,
}

impl OfficialGate {
    const ADMIT_ABOVE: f64 = -0.40;
    const EXPAND_ABOVE: f64 = 0.25;
    /// A miss among this many first probes ends the probing.
    const N_STRICT: usize = 3;
    const N_MISSES_MAX: usize = 2;

    /// `coarse` is the uncertainty with the coarse context alone.
    #[must_use]
    pub fn new(coarse: f64) -> Self {
        Self { coarse, n_probes: 0, n_misses: 0, admitted: Vec::new() }
    }

    /// Records the next probe's uncertainty, after the coarse context and this episode alone. NaN is a miss.
    pub fn record(&mut self, after: f64) {
        let drop = self.coarse - after;
        if drop > Self::ADMIT_ABOVE {
            let expanded = drop > Self::EXPAND_ABOVE;
            self.admitted.push(OfficialAdmission { probe: self.n_probes, expanded });
        } else {
            self.n_misses += 1;
        }
        self.n_probes += 1;
    }

    /// Whether probing ends here.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.n_misses >= Self::N_MISSES_MAX
            || (self.n_misses > 0 && self.n_probes <= Self::N_STRICT)
            || self.n_probes >= N_PROBES_MAX
    }

    /// The admitted episodes in probe order; never empty once something was probed.
    #[must_use]
    pub fn admitted(&self) -> Vec<OfficialAdmission> {
        if self.admitted.is_empty() && self.n_probes > 0 {
            return vec![OfficialAdmission { probe: 0, expanded: false }];
        }
        self.admitted.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Probes with these drops against 1.0: what is admitted (expanded in capitals), then how many
    /// were probed.
    #[track_caller]
    fn check(drops: &[f64], admitted: &str, n_probed: usize) {
        let mut gate = OfficialGate::new(1.0);
        let mut n = 0;
        for drop in drops {
            if gate.is_done() {
                break;
            }
            gate.record(1.0 - drop);
            n += 1;
        }
        let letter = |a: &OfficialAdmission| {
            let letter = char::from(b'a' + u8::try_from(a.probe).unwrap());
            if a.expanded { letter.to_ascii_uppercase() } else { letter }
        };
        assert_eq!(gate.admitted().iter().map(letter).collect::<String>(), admitted);
        assert_eq!(n, n_probed, "{drops:?}");
    }

    #[test]
    fn the_gate_by_hand() {
        check(&[0.3, 0.2, -0.39, -0.3], "Abcd", 4);
        check(&[-0.5, 0.3], "a", 1);
        check(&[0.1, 0.3, -0.5, 0.3], "aB", 3);
        check(&[0.1, 0.3, 0.0, -0.5, 0.3, -0.42, 0.3], "aBcE", 6);
        check(&[f64::NAN, 0.3], "a", 1);
        check(&[0.0; 12], "abcdefghij", 10);
        check(&[], "", 0);
    }

    #[test]
    fn a_small_memory() {
        let vector = |x: f32, y: f32| Embedding::normalise(vec![x, y]).unwrap();
        let semantic = |x, y, theme, episode| SourcedSemantic {
            embedding: vector(x, y),
            theme,
            episodes: vec![episode],
            batch: episode,
        };
        let semantics =
            [semantic(1.0, 0.1, 0, 0), semantic(0.9, 0.2, 0, 1), semantic(0.0, 1.0, 1, 1)];
        let memory = OfficialMemory::new(&semantics, &[vector(0.7, 0.7), vector(0.1, 1.0)]);
        assert!(memory.semantic_edges[0].is_empty(), "nothing else was known then");
        assert_eq!(memory.semantic_edges[1].len(), 2);
        let recall = memory.recall(&vector(1.0, 0.0));
        assert_eq!((recall.themes, recall.semantics), (vec![0], vec![0, 1]));
        assert_eq!(recall.probes, [0, 1]);
        let nothing = OfficialMemory::new(&[], &[]).recall(&vector(1.0, 0.0));
        assert!(nothing.semantics.is_empty() && nothing.probes.is_empty());
    }
}
