//! What recall is compared with: plain similarity, and Stage I as the official code does it.

use std::collections::BTreeMap;

use super::corpus::Corpus;
use super::memory::organised;
use crate::memory::knn_graph::{KnnGraph, N_NEIGHBOURS};
use crate::memory::mix::{Kind, Repeats, Unit, select_mixed};
use crate::memory::reorganize::{Policy, settle};
use crate::memory::representatives::{
    CoverageWeight, Normaliser, Selection, select_representatives,
};
use crate::memory::{Embedding, MessageId, Partition, SemanticId, ThemeId};

/// Units by falling score, as many as fit; each with its length and the messages it covers.
pub(super) fn by_score(
    units: &[(f64, usize, Vec<MessageId>)],
    budget_characters: usize,
) -> Vec<usize> {
    let units: Vec<Unit<'_>> = units
        .iter()
        .map(|(relevance, n_characters, messages)| Unit {
            relevance: *relevance,
            n_characters: *n_characters,
            kind: Kind::Fact(messages),
        })
        .collect();
    select_mixed(&units, budget_characters, Repeats::Allowed)
}

pub(super) fn similarities(vectors: &[Embedding], question: &Embedding) -> Vec<f64> {
    vectors.iter().map(|vector| f64::from(vector.cosine(question))).collect()
}

/// The places of the largest scores, best first.
pub(super) fn largest(scores: &[f64], n: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]).then(a.cmp(&b)));
    order.truncate(n);
    order
}

/// The hierarchy of HU-xiaobai/xMemory and its Stage I: of the 40 most similar semantics at most 20,
/// in at most 5 themes; α = 0.7, and Z the sum of all edges makes it inert (DESIGN §5). Deviation:
/// that code also stops when all candidates are covered by edges, of which it keeps stale ones.
pub(super) struct Official {
    partition: Partition,
    themes: KnnGraph<ThemeId>,
    semantics: KnnGraph<SemanticId>,
}

const POOL: usize = 40;
const N_THEMES: usize = 5;
const N_SEMANTICS: usize = 20;
const ALPHA: f64 = 0.7;

impl Official {
    pub(super) fn new(corpus: &Corpus) -> Self {
        let mut partition = organised(corpus, Policy::Official);
        settle(&mut partition, &Policy::Official);
        let centroids = partition.themes().filter_map(|(id, c)| Some((id, c.centroid()?)));
        let vectors = corpus.vectors.semantics.iter().enumerate();
        let of = vectors.map(|(i, vector)| (SemanticId(i as i64), vector.clone()));
        Self {
            themes: KnnGraph::of(N_NEIGHBOURS, centroids),
            semantics: KnnGraph::of(N_NEIGHBOURS, of),
            partition,
        }
    }

    /// Places of semantics, by their similarities to the question.
    pub(super) fn select(&self, question: &Embedding, similarities: &[f64]) -> Vec<usize> {
        let mut pool: BTreeMap<ThemeId, Vec<usize>> = BTreeMap::new();
        for i in largest(similarities, POOL) {
            if let Some(theme) = self.partition.theme_of(SemanticId(i as i64)) {
                pool.entry(theme).or_default().push(i);
            }
        }
        let themes: Vec<(ThemeId, f64)> = pool
            .keys()
            .filter_map(|&id| Some((id, self.partition.theme(id)?.similarity(question))))
            .collect();
        let chosen = representatives(&themes, &self.themes, N_THEMES);
        let induced: Vec<(SemanticId, f64)> = chosen
            .iter()
            .flat_map(|id| &pool[id])
            .map(|&i| (SemanticId(i as i64), similarities[i]))
            .collect();
        let chosen = representatives(&induced, &self.semantics, N_SEMANTICS);
        chosen.into_iter().filter_map(|id| usize::try_from(id.0).ok()).collect()
    }
}

/// Eq. 4 among some nodes of a graph.
fn representatives<Id: Copy + Ord>(
    nodes: &[(Id, f64)],
    graph: &KnnGraph<Id>,
    budget: usize,
) -> Vec<Id> {
    let place: BTreeMap<Id, usize> =
        nodes.iter().enumerate().map(|(i, &(id, _))| (id, i)).collect();
    let neighbours: Vec<Vec<(usize, f64)>> = nodes
        .iter()
        .map(|&(id, _)| {
            let edges = graph.neighbours(id).into_iter();
            edges.filter_map(|(other, w)| Some((*place.get(&other)?, f64::from(w)))).collect()
        })
        .collect();
    let relevance: Vec<f64> = nodes.iter().map(|&(_, relevance)| relevance).collect();
    let chosen = select_representatives(&Selection {
        relevance: &relevance,
        neighbours: &neighbours,
        alpha: ALPHA,
        normaliser: Normaliser::TotalWeight,
        weight: CoverageWeight::Edge,
        coverage_target: 2.0,
        budget,
    });
    chosen.into_iter().map(|i| nodes[i].0).collect()
}
