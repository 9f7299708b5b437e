//! The partition of semantics into themes, with the vectors that organising needs.
//!
//! It keeps invariant 2: every semantic in exactly one theme, no theme empty. It knows nothing of
//! when to move what; that is [`super::reorganize`].

use std::collections::{BTreeMap, HashMap};

use super::embedding::{dot, dot_mixed};
use super::{Embedding, SemanticId, ThemeId};

/// One theme as geometry: its members' vectors and their sum. Never empty.
#[derive(Debug, Clone)]
pub struct Cluster {
    /// In the order in which they came.
    members: Vec<(SemanticId, Embedding)>,
    sum: Vec<f64>,
    /// |sum|.
    length: f64,
    /// sum / |sum|, or zeros if the members cancel out.
    direction: Vec<f32>,
}

impl Cluster {
    fn first(semantic: SemanticId, embedding: Embedding) -> Self {
        let sum = embedding.as_slice().iter().map(|&x| f64::from(x)).collect();
        let mut cluster =
            Self { members: vec![(semantic, embedding)], sum, length: 0.0, direction: Vec::new() };
        cluster.refresh();
        cluster
    }

    /// `None` of no members.
    #[must_use]
    pub fn of(members: Vec<(SemanticId, Embedding)>) -> Option<Self> {
        let mut members = members.into_iter();
        let (semantic, embedding) = members.next()?;
        let mut cluster = Self::first(semantic, embedding);
        for (semantic, embedding) in members {
            cluster.add(&embedding, 1.0);
            cluster.members.push((semantic, embedding));
        }
        cluster.refresh();
        Some(cluster)
    }

    fn add(&mut self, embedding: &Embedding, sign: f64) {
        for (total, &x) in self.sum.iter_mut().zip(embedding.as_slice()) {
            *total += sign * f64::from(x);
        }
    }

    fn refresh(&mut self) {
        self.length = self.sum.iter().map(|x| x * x).sum::<f64>().sqrt();
        let scale = if self.length > 1e-12 { 1.0 / self.length } else { 0.0 };
        self.direction.clear();
        self.direction.extend(self.sum.iter().map(|x| (x * scale) as f32));
    }

    #[must_use]
    pub fn members(&self) -> &[(SemanticId, Embedding)] {
        &self.members
    }

    /// n_k, at least 1.
    #[must_use]
    pub fn n_members(&self) -> usize {
        self.members.len()
    }

    /// Sum of the members' vectors: n_k times the centroid.
    #[must_use]
    pub fn sum(&self) -> &[f64] {
        &self.sum
    }

    /// Length of [`Cluster::sum`].
    #[must_use]
    pub fn sum_length(&self) -> f64 {
        self.length
    }

    /// The centroid's direction, as an embedding (`None` if the members cancel out).
    #[must_use]
    pub fn centroid(&self) -> Option<Embedding> {
        Embedding::normalise(self.direction.clone()).ok()
    }

    /// cos(x, μ_k).
    #[must_use]
    pub fn similarity(&self, embedding: &Embedding) -> f64 {
        if self.length > 1e-12 {
            dot_mixed(embedding.as_slice(), &self.sum) / self.length
        } else {
            0.0
        }
    }

    /// Both clusters' members, in this order.
    #[must_use]
    pub fn joined(&self, other: &Self) -> Self {
        let mut joined = self.clone();
        joined.members.extend(other.members.iter().cloned());
        for (total, x) in joined.sum.iter_mut().zip(&other.sum) {
            *total += x;
        }
        joined.refresh();
        joined
    }
}

/// See the module.
#[derive(Debug, Clone, Default)]
pub struct Partition {
    /// By id: new themes come last, so this is also the order of creation.
    clusters: BTreeMap<ThemeId, Cluster>,
    theme_of: HashMap<SemanticId, ThemeId>,
    next_theme: i64,
    /// Sum of all members' vectors, for the mean similarity of two semantics.
    total: Vec<f64>,
}

impl Partition {
    /// A semantic that occurs twice stays where it occurs first; empty themes are left out.
    /// `next_theme_id` is the id of the next new theme.
    #[must_use]
    pub fn new(
        themes: Vec<(ThemeId, Vec<(SemanticId, Embedding)>)>,
        next_theme_id: ThemeId,
    ) -> Self {
        let mut partition = Self { next_theme: next_theme_id.0, ..Self::default() };
        for (theme, members) in themes {
            partition.next_theme = partition.next_theme.max(theme.0 + 1);
            for (semantic, embedding) in members {
                if !partition.theme_of.contains_key(&semantic) {
                    partition.put(semantic, embedding, theme);
                }
            }
        }
        partition
    }

    #[must_use]
    pub fn n_semantics(&self) -> usize {
        self.theme_of.len()
    }

    #[must_use]
    pub fn n_themes(&self) -> usize {
        self.clusters.len()
    }

    /// The themes, by id.
    pub fn themes(&self) -> impl Iterator<Item = (ThemeId, &Cluster)> {
        self.clusters.iter().map(|(&id, cluster)| (id, cluster))
    }

    #[must_use]
    pub fn theme(&self, id: ThemeId) -> Option<&Cluster> {
        self.clusters.get(&id)
    }

    #[must_use]
    pub fn theme_of(&self, semantic: SemanticId) -> Option<ThemeId> {
        self.theme_of.get(&semantic).copied()
    }

    #[must_use]
    pub fn next_theme_id(&self) -> ThemeId {
        ThemeId(self.next_theme)
    }

    /// Mean cosine of two different semantics: what "unrelated" looks like to this embedder on
    /// this memory. `None` of fewer than two.
    #[must_use]
    pub fn mean_similarity(&self) -> Option<f64> {
        let n = self.n_semantics() as f64;
        if n < 2.0 {
            return None;
        }
        let squared = self.total.iter().map(|x| x * x).sum::<f64>();
        Some(((squared - n) / (n * (n - 1.0))).clamp(-1.0, 1.0))
    }

    /// The `k` themes with the most similar centroids, best first (ties: the older theme).
    #[must_use]
    pub fn nearest_themes(
        &self,
        query: &Embedding,
        k: usize,
        except: Option<ThemeId>,
    ) -> Vec<(ThemeId, f64)> {
        // Single precision finds a few more than asked for; double precision ranks them.
        const SPARE: usize = 6;
        let mut found: Vec<(f32, ThemeId)> = self
            .clusters
            .iter()
            .filter(|&(&id, _)| Some(id) != except)
            .map(|(&id, c)| (dot(query.as_slice(), &c.direction), id))
            .collect();
        let by_similarity =
            |a: &(f32, ThemeId), b: &(f32, ThemeId)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
        let keep = k.saturating_add(SPARE);
        if found.len() > keep {
            found.select_nth_unstable_by(keep, by_similarity);
            found.truncate(keep);
        }
        let mut exact: Vec<(ThemeId, f64)> = found
            .into_iter()
            .filter_map(|(_, id)| Some((id, self.clusters.get(&id)?.similarity(query))))
            .collect();
        exact.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        exact.truncate(k);
        exact
    }

    /// Takes a semantic out (it was forgotten); its theme goes if it was the last one.
    pub fn remove(&mut self, semantic: SemanticId) -> Option<(ThemeId, Embedding)> {
        let theme = self.theme_of.remove(&semantic)?;
        let cluster = self.clusters.get_mut(&theme)?;
        let at = cluster.members.iter().position(|(id, _)| *id == semantic)?;
        let (_, embedding) = cluster.members.remove(at);
        if cluster.members.is_empty() {
            self.clusters.remove(&theme);
        } else {
            cluster.add(&embedding, -1.0);
            cluster.refresh();
        }
        for (total, &x) in self.total.iter_mut().zip(embedding.as_slice()) {
            *total -= f64::from(x);
        }
        Some((theme, embedding))
    }

    /// Puts a semantic in a theme, wherever it was before. The theme is made if there is none.
    pub(super) fn put(&mut self, semantic: SemanticId, embedding: Embedding, theme: ThemeId) {
        self.remove(semantic);
        if self.total.is_empty() {
            self.total = vec![0.0; embedding.dimensions()];
        }
        for (total, &x) in self.total.iter_mut().zip(embedding.as_slice()) {
            *total += f64::from(x);
        }
        self.theme_of.insert(semantic, theme);
        self.next_theme = self.next_theme.max(theme.0 + 1);
        match self.clusters.get_mut(&theme) {
            Some(cluster) => {
                cluster.add(&embedding, 1.0);
                cluster.members.push((semantic, embedding));
                cluster.refresh();
            }
            None => {
                self.clusters.insert(theme, Cluster::first(semantic, embedding));
            }
        }
    }

    /// Moves a semantic that is there already.
    pub(super) fn move_to(&mut self, semantic: SemanticId, theme: ThemeId) {
        if let Some((_, embedding)) = self.remove(semantic) {
            self.put(semantic, embedding, theme);
        }
    }

    /// Every broken rule; empty is good.
    #[must_use]
    pub fn violations(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut n_members = 0;
        for (theme, cluster) in &self.clusters {
            if cluster.members.is_empty() {
                found.push(format!("{theme} is empty"));
            }
            n_members += cluster.members.len();
            for (semantic, _) in &cluster.members {
                if self.theme_of.get(semantic) != Some(theme) {
                    found.push(format!("{semantic} is a member of {theme} but points elsewhere"));
                }
            }
        }
        if n_members != self.theme_of.len() {
            found.push(format!("{n_members} members for {} semantics", self.theme_of.len()));
        }
        found
    }
}
