//! What organising, and the objective that guides it, is worth: the product's themes against
//! themes made without one of its parts, by other objectives and with other caps (the shapes of the
//! paper's Tables 6–8, without a reader).
//!
//! Themes are judged by what they are for. *Recall*: Eq. 4 with the paper's numbers on themes and
//! then on their facts, as many as fit in 1,350 characters; and how much evidence a search through
//! themes has met for a given effort (one comparison a theme, one a fact of the themes it opens).
//! *Sense*: how well a fact agrees with the rest of its theme, and how much more often than by
//! chance two facts that one answer rests on share a theme.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hash;
use std::path::Path;
use std::time::Instant;

use crate::representatives::{Normaliser, Selection, select_representatives};
use inglenook::interfaces::{Cancel, Embedder};
use inglenook::memory::guidance::held_out;
use inglenook::memory::knn_graph::{KnnGraph, N_NEIGHBOURS};
use inglenook::memory::partition::Cluster;
use inglenook::memory::{Partition, SemanticId, ThemeId};
use serde::Serialize;

use super::baselines::{largest, similarities};
use super::corpus::{Corpus, Question};
use super::growth::{AGES, Growth, Organiser, grown};
use crate::EvalError;
use crate::guidance::{Guide, Variant};
use crate::lexical::by_largest;
use crate::locomo::folders;

const BUDGET_CHARACTERS: usize = 1350;

/// Stage I's numbers, the official code's.
const N_POOL: usize = 40;
const N_THEMES: usize = 5;
const N_SEMANTICS: usize = 20;
const ALPHA: f64 = 0.7;

/// Lower ends of the sizes that are counted together.
pub const SIZE_CLASSES: [usize; 5] = [1, 2, 4, 7, 10];

/// Themes made one way, over all conversations. Shares and means are over facts or questions, not
/// over conversations.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ThemesRow {
    pub variant: &'static str,
    pub themes: usize,
    pub mean_size: f64,
    pub largest: usize,
    /// Themes of 1, 2–3, 4–6, 7–9, and 10 or more facts.
    pub sizes: [usize; 5],
    /// Facts that changed their theme at least once (paper §5.3).
    pub reassigned: f64,
    /// Changes of a theme for each fact that came, by tenth of a memory's life.
    pub flips: [f64; AGES],
    /// Mean over themes of Eq. 3's cohesion, which is 1 of a lone fact.
    pub cohesion: f64,
    /// The default's objective: mean over facts of the cosine with the rest of their theme.
    pub held_out: f64,
    /// Eq. 1.
    pub guidance: f64,
    /// How much more often two facts of one answer share a theme than two random facts.
    pub together: f64,
    /// Of Stage I within 1,350 characters …
    pub evidence_recall: f64,
    /// … and of it, questions of category 1.
    pub multi_hop_recall: f64,
    /// The evidence among the forty facts of the nearest themes …
    pub pool_recall: f64,
    /// … and the comparisons for that.
    pub comparisons: f64,
    /// The same within half as many comparisons as there are facts.
    pub recall_at_half: f64,
}

/// The figures of all variants.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ThemesReport {
    pub conversations: usize,
    pub semantics: usize,
    pub questions: usize,
    pub rows: Vec<ThemesRow>,
    pub seconds: f64,
}

fn variants() -> Vec<(&'static str, Organiser)> {
    let full = Variant::default();
    let of = Organiser::Variant;
    let guided = |guide| of(Variant { guide, ..full });
    let capped = |size_max| of(Variant { size_max, ..full });
    vec![
        ("full", Organiser::Own),
        ("no-split", of(Variant { splits: false, ..full })),
        ("no-merge", of(Variant { merges: false, ..full })),
        ("no-move", of(Variant { moves: false, ..full })),
        ("neither", of(Variant { splits: false, merges: false, ..full })),
        ("unguided", guided(Guide::Unguided)),
        ("unguided-10", of(Variant { guide: Guide::Unguided, size_max: 10, ..full })),
        ("equation-1", guided(Guide::Equation1)),
        ("sparsity-only", guided(Guide::Equation2)),
        ("semantics-only", guided(Guide::Equation3)),
        ("cap-8", capped(8)),
        ("cap-10", capped(10)),
        ("cap-14", capped(14)),
        ("paper", Organiser::Paper),
        ("official", Organiser::Official),
    ]
}

/// Organises the conversations of `memories` in each way; the questions are those of LoCoMo's file,
/// or without it of the folders. The embedder makes what vectors are missing.
///
/// # Errors
/// If the data can't be read, the embedder fails, or it was cancelled.
pub fn measure_themes(
    questions: Option<&Path>,
    memories: &Path,
    embedder: &dyn Embedder,
    on_progress: &dyn Fn(usize, usize),
    cancel: &Cancel,
) -> Result<ThemesReport, EvalError> {
    let start = Instant::now();
    let load = |folder| {
        if cancel.is_cancelled() {
            return Err(EvalError::Cancelled);
        }
        Ok(Prepared::new(Corpus::load_memories(&folder, embedder)?))
    };
    let folders = folders(questions, memories)?;
    let known = folders.into_iter().map(load).collect::<Result<Vec<Prepared>, EvalError>>()?;
    let variants = variants();
    let mut rows = Vec::new();
    for (done, &(name, organiser)) in variants.iter().enumerate() {
        let mut tally = Tally::default();
        for conversation in &known {
            if cancel.is_cancelled() {
                return Err(EvalError::Cancelled);
            }
            tally.add(conversation, &Organised::new(&conversation.corpus, organiser));
        }
        rows.push(tally.row(name));
        on_progress(done + 1, variants.len());
    }
    Ok(ThemesReport {
        conversations: known.len(),
        semantics: known.iter().map(|k| k.corpus.semantics.len()).sum(),
        questions: known.iter().map(|k| k.corpus.questions.len()).sum(),
        rows,
        seconds: start.elapsed().as_secs_f64(),
    })
}

/// A conversation with what does not depend on how it is organised.
struct Prepared {
    corpus: Corpus,
    graph: KnnGraph<SemanticId>,
    /// A question's similarities to the facts; questions without a vector have none.
    similarities: Vec<Vec<f64>>,
    /// Pairs of facts that are evidence for the same answer, from different messages.
    pairs: BTreeSet<(usize, usize)>,
}

impl Prepared {
    fn new(corpus: Corpus) -> Self {
        let vectors = &corpus.vectors;
        let nodes = vectors.semantics.iter().enumerate();
        let graph =
            KnnGraph::of(N_NEIGHBOURS, nodes.map(|(i, x)| (SemanticId(i as i64), x.clone())));
        let of = |question: &Question| {
            let vector = vectors.questions.by_text.get(&question.text);
            vector.map(|vector| similarities(&vectors.semantics, vector)).unwrap_or_default()
        };
        let similarities = corpus.questions.iter().map(of).collect();
        let mut pairs = BTreeSet::new();
        for question in &corpus.questions {
            let rests_on = |i: &usize| {
                corpus.semantics[*i].messages.iter().any(|m| question.evidence.contains(m))
            };
            let facts: Vec<usize> = (0..corpus.semantics.len()).filter(rests_on).collect();
            for (n, &a) in facts.iter().enumerate() {
                let others = facts[n + 1..].iter().filter(|&&b| {
                    let of_a = &corpus.semantics[a].messages;
                    !corpus.semantics[b].messages.iter().any(|m| of_a.contains(m))
                });
                pairs.extend(others.map(|&b| (a, b)));
            }
        }
        Self { corpus, graph, similarities, pairs }
    }
}

/// A conversation's facts in themes.
struct Organised {
    partition: Partition,
    growth: Growth,
    graph: KnnGraph<ThemeId>,
}

impl Organised {
    fn new(corpus: &Corpus, organiser: Organiser) -> Self {
        let (partition, growth) = grown(&corpus.vectors.semantics, organiser);
        let centroids = partition.themes().filter_map(|(id, c)| Some((id, c.centroid()?)));
        let graph = KnnGraph::of(N_NEIGHBOURS, centroids.collect::<Vec<_>>());
        Self { partition, growth, graph }
    }

    /// Facts ordered by the similarity of their theme to the question, within a theme by their own.
    fn by_theme(&self, known: &Prepared, question: &Question, similarities: &[f64]) -> Vec<usize> {
        let Some(vector) = known.corpus.vectors.questions.by_text.get(&question.text) else {
            return Vec::new();
        };
        let near = self.partition.nearest_themes(vector, self.partition.n_themes(), None);
        let clusters = near.iter().filter_map(|(id, _)| self.partition.theme(*id));
        clusters.flat_map(|cluster| sorted(places(cluster), similarities)).collect()
    }

    /// Stage I (xMemory §3.3): of the most similar facts the themes by Eq. 4, of those themes the
    /// facts by Eq. 4, as many as fit.
    fn stage_one(&self, known: &Prepared, similarities: &[f64]) -> Vec<usize> {
        let pool = largest(similarities, N_POOL);
        let mut themes: BTreeMap<ThemeId, f64> = BTreeMap::new();
        for &i in &pool {
            if let Some(theme) = self.partition.theme_of(SemanticId(i as i64)) {
                let best = themes.entry(theme).or_insert(0.0);
                *best = best.max(similarities[i]);
            }
        }
        let nodes: Vec<(ThemeId, f64)> = themes.into_iter().collect();
        let themes = representatives(&nodes, &self.graph, N_THEMES);
        let nodes: Vec<(SemanticId, f64)> = pool
            .iter()
            .map(|&i| (SemanticId(i as i64), similarities[i]))
            .filter(|(id, _)| self.partition.theme_of(*id).is_some_and(|t| themes.contains(&t)))
            .collect();
        let mut left = BUDGET_CHARACTERS;
        let mut chosen = Vec::new();
        for id in representatives(&nodes, &known.graph, N_SEMANTICS) {
            let place = id.0 as usize;
            let n_characters = known.corpus.semantics[place].text.chars().count();
            if n_characters <= left {
                left -= n_characters;
                chosen.push(place);
            }
        }
        chosen
    }
}

fn representatives<Id: Copy + Ord + Hash>(
    nodes: &[(Id, f64)],
    graph: &KnnGraph<Id>,
    budget: usize,
) -> Vec<Id> {
    let place: BTreeMap<Id, usize> =
        nodes.iter().enumerate().map(|(i, &(id, _))| (id, i)).collect();
    let mut neighbours = Vec::with_capacity(nodes.len());
    for &(id, _) in nodes {
        let edges = graph.neighbours(id).into_iter();
        let near = edges.filter_map(|(id, w)| Some((*place.get(&id)?, f64::from(w))));
        neighbours.push(near.filter(|&(_, w)| w > 0.0).collect::<Vec<_>>());
    }
    let mut relevance: Vec<f64> = nodes.iter().map(|&(_, r)| r.max(0.0)).collect();
    by_largest(&mut relevance);
    let chosen = select_representatives(&Selection {
        relevance: &relevance,
        neighbours: &neighbours,
        alpha: ALPHA,
        normaliser: Normaliser::LargestGain,
        // The character budget limits the selection, not coverage.
        coverage_target: f64::INFINITY,
        budget,
    });
    chosen.into_iter().map(|i| nodes[i].0).collect()
}

fn places(cluster: &Cluster) -> Vec<usize> {
    cluster.members().iter().map(|(id, _)| id.0 as usize).collect()
}

fn sorted(mut places: Vec<usize>, scores: &[f64]) -> Vec<usize> {
    places.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]).then(a.cmp(&b)));
    places
}

/// Sums over conversations.
#[derive(Default)]
struct Tally {
    n_themes: usize,
    n_facts: usize,
    growth: Growth,
    largest: usize,
    sizes: [usize; 5],
    cohesion: f64,
    held_out: f64,
    guidance: f64,
    n_pairs: f64,
    n_pairs_together: f64,
    /// Pairs of facts that share a theme, and all pairs.
    n_together: f64,
    n_all: f64,
    questions: Vec<QuestionResult>,
}

struct QuestionResult {
    multi_hop: bool,
    stage_one: f64,
    pool: f64,
    comparisons: f64,
    at_half: f64,
}

impl Tally {
    fn add(&mut self, known: &Prepared, organised: &Organised) {
        let Organised { partition, growth, .. } = organised;
        let clusters: Vec<&Cluster> = partition.themes().map(|(_, cluster)| cluster).collect();
        let n = partition.n_semantics();
        self.n_themes += clusters.len();
        self.n_facts += n;
        self.growth.add(growth);
        for cluster in &clusters {
            let size = cluster.n_members();
            self.largest = self.largest.max(size);
            let class = SIZE_CLASSES.iter().rposition(|&least| size >= least).unwrap_or(0);
            self.sizes[class] += 1;
            self.cohesion += cluster.sum_length() / size as f64;
            self.held_out += held_out(cluster);
            self.n_together += (size * (size - 1)) as f64;
        }
        self.n_all += (n * n.saturating_sub(1)) as f64;
        self.guidance += Guide::Equation1.score(&clusters) * n as f64;
        let theme_of = |place: usize| partition.theme_of(SemanticId(place as i64));
        let together = known.pairs.iter().filter(|&&(a, b)| theme_of(a) == theme_of(b));
        self.n_pairs += known.pairs.len() as f64;
        self.n_pairs_together += together.count() as f64;

        for (question, similarities) in known.corpus.questions.iter().zip(&known.similarities) {
            if similarities.is_empty() {
                continue;
            }
            let recall = |places: &[usize]| {
                let messages = places.iter().flat_map(|&i| &known.corpus.semantics[i].messages);
                question.recall(&messages.copied().collect())
            };
            let order = organised.by_theme(known, question, similarities);
            let pool = &order[..order.len().min(N_POOL)];
            let affordable = (n / 2).saturating_sub(clusters.len()).min(order.len());
            self.questions.push(QuestionResult {
                multi_hop: question.category == 1,
                stage_one: recall(&organised.stage_one(known, similarities)),
                pool: recall(pool),
                comparisons: (clusters.len() + pool.len()) as f64,
                at_half: recall(&order[..affordable]),
            });
        }
    }

    fn row(&self, variant: &'static str) -> ThemesRow {
        let share = |part: f64, of: f64| if of > 0.0 { part / of } else { 0.0 };
        let (n_themes, n_facts) = (self.n_themes as f64, self.n_facts as f64);
        let mean = |of: &dyn Fn(&QuestionResult) -> f64| {
            share(self.questions.iter().map(of).sum(), self.questions.len() as f64)
        };
        let multi_hop = self.questions.iter().filter(|found| found.multi_hop);
        ThemesRow {
            variant,
            themes: self.n_themes,
            mean_size: share(n_facts, n_themes),
            largest: self.largest,
            sizes: self.sizes,
            reassigned: share(self.growth.reassigned as f64, n_facts),
            flips: self.growth.flips_per_insert(),
            cohesion: share(self.cohesion, n_themes),
            held_out: share(self.held_out, n_facts),
            guidance: share(self.guidance, n_facts),
            together: share(
                share(self.n_pairs_together, self.n_pairs),
                share(self.n_together, self.n_all),
            ),
            evidence_recall: mean(&|found| found.stage_one),
            multi_hop_recall: share(
                multi_hop.clone().map(|found| found.stage_one).sum(),
                multi_hop.count() as f64,
            ),
            pool_recall: mean(&|found| found.pool),
            comparisons: mean(&|found| found.comparisons),
            recall_at_half: mean(&|found| found.at_half),
        }
    }
}
