//! The partition of semantics into themes, with the vectors that organising needs.
//!
//! It keeps invariant 2: every semantic is in exactly one theme, and no theme is empty. What moves when
//! is decided in [`super::reorganize`].

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::embedding::dot64;
use super::theme_index::{EXACT_THEMES, ThemeIndex, by_nearness};
use super::{Embedding, SemanticId, ThemeId};

/// A theme's members with their vectors and the vectors' sum. Never empty.
#[derive(Debug, Clone)]
pub struct Cluster {
    /// In the order in which they were added.
    members: Vec<(SemanticId, Embedding)>,
    sum: Vec<f64>,
    /// |sum|.
    length: f64,
}

impl Cluster {
    fn first(semantic: SemanticId, embedding: Embedding) -> Self {
        let sum = embedding.as_slice().iter().map(|&x| f64::from(x)).collect();
        let mut cluster = Self { members: vec![(semantic, embedding)], sum, length: 0.0 };
        cluster.refresh();
        cluster
    }

    /// A cluster of these members; `None` if there are none.
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
    }

    /// The members and their vectors.
    pub fn members(&self) -> &[(SemanticId, Embedding)] {
        &self.members
    }

    /// Number of members n_k, at least 1.
    pub fn n_members(&self) -> usize {
        self.members.len()
    }

    /// Sum of the members' vectors, n_k times the centroid.
    pub fn sum(&self) -> &[f64] {
        &self.sum
    }

    /// Euclidean length of [`Cluster::sum`].
    pub fn sum_length(&self) -> f64 {
        self.length
    }

    /// The centroid at unit length; `None` if the members cancel out.
    pub fn centroid(&self) -> Option<Embedding> {
        let scale = if self.length > 1e-12 { 1.0 / self.length } else { 0.0 };
        Embedding::normalise(self.sum.iter().map(|x| (x * scale) as f32).collect()).ok()
    }

    /// Cosine of a vector with the centroid, cos(x, μ_k); 0 if the members cancel out.
    pub fn similarity(&self, embedding: &Embedding) -> f64 {
        if self.length > 1e-12 { dot64(embedding.as_slice(), &self.sum) / self.length } else { 0.0 }
    }

    /// The cluster of both clusters' members.
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

/// Up to this many semantics, their kNN graph is exact.
pub const EXACT_SEMANTICS: usize = 4_096;

/// Beyond that, it searches the members of this many nearest themes.
const N_THEMES_SEARCHED: usize = 80;

/// Themes whose centroids [`Partition::near_themes`] gives, beyond [`super::EXACT_THEMES`].
const N_THEMES_NEAR: usize = 128;

/// All themes.
#[derive(Debug, Clone, Default)]
pub struct Partition {
    /// By id: new themes come last, so this is also the order of creation.
    clusters: BTreeMap<ThemeId, Cluster>,
    theme_of: HashMap<SemanticId, ThemeId>,
    next_theme: i64,
    /// Sum of all members' vectors, for the mean similarity of two semantics.
    total: Total,
    index: ThemeIndex,
    /// Themes whose members are not in the order of their ids.
    unsettled: BTreeSet<ThemeId>,
}

/// A sum of unit vectors in fixed point, so that it does not depend on their order.
#[derive(Debug, Clone, Default)]
struct Total(Vec<i64>);

impl Total {
    /// 1.0 in fixed point: finer than the last bit of an `f32`, with room for eight million vectors.
    const ONE: f64 = (1u64 << 40) as f64;

    fn add(&mut self, embedding: &Embedding, sign: i64) {
        self.0.resize(embedding.dimensions(), 0);
        for (total, &x) in self.0.iter_mut().zip(embedding.as_slice()) {
            *total += sign * (f64::from(x) * Self::ONE).round() as i64;
        }
    }

    fn squared_length(&self) -> f64 {
        self.0.iter().map(|&x| (x as f64 / Self::ONE).powi(2)).sum()
    }
}

impl Partition {
    /// The partition of these themes. A semantic that occurs twice stays in the first; empty themes are
    /// left out. `next_theme_id` is the id of the next new theme.
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

    /// Makes it the partition that [`Partition::new`] would make of the same members in order of their
    /// ids. The order of members and the last bits of floating-point sums depend on history; after
    /// this, what is organised next depends on the content alone. Only themes that changed are looked
    /// at.
    pub fn settle_order(&mut self) {
        for theme in std::mem::take(&mut self.unsettled) {
            let Some(cluster) = self.clusters.get_mut(&theme) else { continue };
            let mut members = std::mem::take(&mut cluster.members);
            members.sort_by_key(|(id, _)| *id);
            if let Some(settled) = Cluster::of(members) {
                *cluster = settled;
            }
            self.place(theme);
        }
    }

    /// Number of semantics N.
    pub fn n_semantics(&self) -> usize {
        self.theme_of.len()
    }

    /// Number of themes K.
    pub fn n_themes(&self) -> usize {
        self.clusters.len()
    }

    /// The themes, by id.
    pub fn themes(&self) -> impl Iterator<Item = (ThemeId, &Cluster)> {
        self.clusters.iter().map(|(&id, cluster)| (id, cluster))
    }

    /// A theme, if it exists.
    pub fn theme(&self, id: ThemeId) -> Option<&Cluster> {
        self.clusters.get(&id)
    }

    /// A theme's centroid at unit length, as it will be read back from the store; `None` if there is no
    /// such theme or its members cancel out.
    pub fn centroid(&self, theme: ThemeId) -> Option<&Embedding> {
        self.index.direction(theme)
    }

    /// The theme of a semantic, if it is in one.
    pub fn theme_of(&self, semantic: SemanticId) -> Option<ThemeId> {
        self.theme_of.get(&semantic).copied()
    }

    /// The id of the next new theme.
    pub fn next_theme_id(&self) -> ThemeId {
        ThemeId(self.next_theme)
    }

    /// Mean cosine over all pairs of semantics: the similarity of unrelated texts for this embedder and
    /// memory. `None` if there are fewer than two.
    pub fn mean_similarity(&self) -> Option<f64> {
        let n = self.n_semantics() as f64;
        if n < 2.0 {
            return None;
        }
        Some(((self.total.squared_length() - n) / (n * (n - 1.0))).clamp(-1.0, 1.0))
    }

    /// The `k` themes whose centroids are nearest, with their cosines, nearest first (ties: the older
    /// theme). Exact up to [`super::EXACT_THEMES`] themes; beyond, a few may be missed.
    pub fn nearest_themes(
        &self,
        query: &Embedding,
        k: usize,
        except: Option<ThemeId>,
    ) -> Vec<(ThemeId, f64)> {
        // Single precision finds a few more than asked for; double precision ranks them.
        const SPARE: usize = 6;
        let keep = k.saturating_add(SPARE);
        let mut found = self.near(query, keep.saturating_add(1));
        found.retain(|&(_, id)| Some(id) != except);
        let mut exact: Vec<(ThemeId, f64)> = found
            .into_iter()
            .filter_map(|(_, id)| Some((id, self.clusters.get(&id)?.similarity(query))))
            .collect();
        exact.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        exact.truncate(k);
        exact
    }

    /// Themes near a vector, in no order: the candidates for the theme graph's edges. `None`, meaning all
    /// of them, up to [`super::EXACT_THEMES`].
    pub fn near_themes(&self, query: &Embedding) -> Option<Vec<ThemeId>> {
        if self.n_themes() <= EXACT_THEMES {
            return None;
        }
        Some(self.near(query, N_THEMES_NEAR).into_iter().map(|(_, id)| id).collect())
    }

    /// Semantics near a vector, in no order: the candidates for the semantic graph's edges. `None`,
    /// meaning all of them, up to [`EXACT_SEMANTICS`]; beyond, the members of the nearest themes.
    pub fn near_semantics(&self, query: &Embedding) -> Option<Vec<SemanticId>> {
        if self.n_semantics() <= EXACT_SEMANTICS {
            return None;
        }
        let found = self.near(query, N_THEMES_SEARCHED).into_iter();
        let themes = found.filter_map(|(_, id)| self.clusters.get(&id));
        Some(themes.flat_map(|cluster| cluster.members.iter().map(|(id, _)| *id)).collect())
    }

    /// The `n` nearest themes, in no order; on a tie, the older.
    fn near(&self, query: &Embedding, n: usize) -> Vec<(f32, ThemeId)> {
        let mut found = self.index.near(query.as_slice(), n);
        if found.len() > n {
            found.select_nth_unstable_by(n, by_nearness);
            found.truncate(n);
        }
        found
    }

    /// Removes a semantic, and its theme if it was the last member.
    pub fn remove(&mut self, semantic: SemanticId) -> Option<(ThemeId, Embedding)> {
        let (theme, embedding) = self.take(semantic)?;
        self.total.add(&embedding, -1);
        self.index.left(semantic);
        Some((theme, embedding))
    }

    /// Puts a semantic in a theme, wherever it was before. The theme is created if needed.
    pub fn put(&mut self, semantic: SemanticId, embedding: Embedding, theme: ThemeId) {
        self.remove(semantic);
        self.total.add(&embedding, 1);
        self.index.came(semantic, &embedding);
        self.lay(semantic, embedding, theme);
    }

    /// Moves a semantic to another theme; one that is in none stays out.
    pub fn move_to(&mut self, semantic: SemanticId, theme: ThemeId) {
        if let Some((_, embedding)) = self.take(semantic) {
            self.lay(semantic, embedding, theme);
        }
    }

    /// Takes a semantic out of its theme.
    fn take(&mut self, semantic: SemanticId) -> Option<(ThemeId, Embedding)> {
        let theme = self.theme_of.remove(&semantic)?;
        let cluster = self.clusters.get_mut(&theme)?;
        let at = cluster.members.iter().position(|(id, _)| *id == semantic)?;
        let (_, embedding) = cluster.members.remove(at);
        if cluster.members.is_empty() {
            self.clusters.remove(&theme);
            self.index.remove(theme);
        } else {
            cluster.add(&embedding, -1.0);
            cluster.refresh();
            self.unsettled.insert(theme);
            self.place(theme);
        }
        Some((theme, embedding))
    }

    /// Puts a semantic in a theme, as its last member.
    fn lay(&mut self, semantic: SemanticId, embedding: Embedding, theme: ThemeId) {
        self.theme_of.insert(semantic, theme);
        self.next_theme = self.next_theme.max(theme.0 + 1);
        match self.clusters.get_mut(&theme) {
            Some(cluster) => {
                if cluster.members.last().is_some_and(|(last, _)| *last > semantic) {
                    self.unsettled.insert(theme);
                }
                cluster.add(&embedding, 1.0);
                cluster.members.push((semantic, embedding));
                cluster.refresh();
            }
            None => {
                self.clusters.insert(theme, Cluster::first(semantic, embedding));
            }
        }
        self.place(theme);
    }

    /// Tells the index where a theme lies.
    fn place(&mut self, theme: ThemeId) {
        if let Some(cluster) = self.clusters.get(&theme) {
            self.index.set(theme, cluster.centroid().map(Embedding::as_stored));
        }
    }

    /// Every violation of the invariants, in words.
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
