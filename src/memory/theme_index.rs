//! Which themes lie nearest to a vector, without comparing all of them.
//!
//! Up to [`EXACT_THEMES`] themes, all are compared. Beyond, an inverted file is used: one semantic in
//! [`PIVOT_EVERY`] (by a hash of its vector) is a pivot, each theme lies in the cell of the pivot nearest to
//! its direction, and a query opens the nearest cells until they hold [`N_SKETCHED`] themes. Of those, the [`N_COMPARED`] with
//! the most similar sketches (one bit per component: above or below the mean of the first pivots) are compared in full.
//!
//! What is found depends on the content of the partition alone, not on its history: a reopened memory
//! goes on exactly like one kept in RAM. The index knows neither members nor objectives.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};

use pulp::{Arch, WithSimd};

use super::embedding::dot;
use super::{Embedding, SemanticId, ThemeId};

/// Up to this many themes (about 4,000 semantics), search is exact.
pub const EXACT_THEMES: usize = 512;

/// One semantic in this many is a pivot: twenty of ten thousand, two hundred of a hundred thousand.
const PIVOT_EVERY: u64 = 512;

/// A query compares at least this many sketches.
const N_SKETCHED: usize = 4_096;

/// A query is compared with at least this many themes in full.
const N_COMPARED: usize = 192;

/// The mean of this many pivots is the threshold of the sketches' bits.
const N_CENTRE: usize = 32;

/// The index.
#[derive(Debug, Clone, Default)]
pub(super) struct ThemeIndex {
    n_dimensions: usize,
    /// In no order; [`ThemeIndex::sketches`] has the same order.
    themes: Vec<Entry>,
    place_of: HashMap<ThemeId, usize>,
    sketches: Vec<u64>,
    pivots: BTreeMap<SemanticId, Pivot>,
    /// Places of the themes while there is no pivot.
    homeless: Vec<usize>,
    /// Mean of the first [`N_CENTRE`] pivots; empty without pivots.
    centre: Vec<f32>,
}

#[derive(Debug, Clone)]
struct Entry {
    theme: ThemeId,
    /// `None` if its members cancel out; then it is near nothing.
    direction: Option<Embedding>,
    /// The pivot in whose cell it lies, and its similarity.
    home: Option<(f32, SemanticId)>,
}

#[derive(Debug, Clone)]
struct Pivot {
    vector: Embedding,
    /// Places of its themes.
    cell: Vec<usize>,
}

/// Whether a semantic with this vector is a pivot. Ids don't count: another device has others for the same.
fn is_pivot(vector: &Embedding) -> bool {
    let mixed = |hash: u64, x: &f32| {
        let hash = (hash ^ u64::from(x.to_bits())).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        hash ^ (hash >> 31)
    };
    vector.as_slice().iter().fold(0, mixed).is_multiple_of(PIVOT_EVERY)
}

/// The nearer one first; on a tie, the older.
pub(super) fn by_nearness<Id: Ord>(a: &(f32, Id), b: &(f32, Id)) -> Ordering {
    b.0.total_cmp(&a.0).then(a.1.cmp(&b.1))
}

fn is_nearer<Id: Ord>(a: (f32, Id), b: (f32, Id)) -> bool {
    by_nearness(&a, &b).is_lt()
}

impl ThemeIndex {
    fn n_words(&self) -> usize {
        self.n_dimensions.div_ceil(64)
    }

    fn similarity(&self, place: usize, query: &[f32]) -> f32 {
        self.themes[place].direction.as_ref().map_or(0.0, |direction| direction.dot(query))
    }

    /// A theme's direction as it was last set.
    pub(super) fn direction(&self, theme: ThemeId) -> Option<&Embedding> {
        self.themes[*self.place_of.get(&theme)?].direction.as_ref()
    }

    /// Adds a theme or replaces its direction.
    pub(super) fn set(&mut self, theme: ThemeId, direction: Option<Embedding>) {
        self.n_dimensions = direction.as_ref().map_or(self.n_dimensions, Embedding::dimensions);
        let place = if let Some(&place) = self.place_of.get(&theme) {
            self.themes[place].direction = direction;
            place
        } else {
            let place = self.themes.len();
            self.themes.push(Entry { theme, direction, home: None });
            self.place_of.insert(theme, place);
            self.homeless.push(place);
            place
        };
        self.sketches.resize(self.themes.len() * self.n_words(), 0);
        self.draw(place);
        self.rehouse(place);
    }

    /// Removes a theme.
    pub(super) fn remove(&mut self, theme: ThemeId) {
        let Some(place) = self.place_of.remove(&theme) else { return };
        self.leave(place);
        self.themes.swap_remove(place);
        let last = self.themes.len();
        let words = self.n_words();
        self.sketches.copy_within(last * words.., place * words);
        self.sketches.truncate(last * words);
        if place < last {
            let Entry { theme, home, .. } = self.themes[place];
            self.place_of.insert(theme, place);
            for cell_place in self.cell_of(home) {
                if *cell_place == last {
                    *cell_place = place;
                }
            }
        }
    }

    /// Records that a semantic entered the partition, in whichever theme.
    pub(super) fn came(&mut self, semantic: SemanticId, vector: &Embedding) {
        if !is_pivot(vector) {
            return;
        }
        self.pivots.insert(semantic, Pivot { vector: vector.clone(), cell: Vec::new() });
        self.centre_after(semantic);
        for place in 0..self.themes.len() {
            let here = (self.similarity(place, vector.as_slice()), semantic);
            if self.themes[place].home.is_none_or(|home| is_nearer(here, home)) {
                self.leave(place);
                self.enter(place, here);
            }
        }
    }

    /// Records that a semantic left the partition.
    pub(super) fn left(&mut self, semantic: SemanticId) {
        let Some(pivot) = self.pivots.remove(&semantic) else { return };
        self.centre_after(semantic);
        for place in pivot.cell {
            self.themes[place].home = None;
            self.homeless.push(place);
            self.rehouse(place);
        }
    }

    /// Moves a theme to the cell of its nearest pivot.
    fn rehouse(&mut self, place: usize) {
        let mut nearest: Option<(f32, SemanticId)> = None;
        for (&id, pivot) in &self.pivots {
            let here = (self.similarity(place, pivot.vector.as_slice()), id);
            if nearest.is_none_or(|home| is_nearer(here, home)) {
                nearest = Some(here);
            }
        }
        let Some(nearest) = nearest else { return };
        if self.themes[place].home.map(|(_, id)| id) == Some(nearest.1) {
            self.themes[place].home = Some(nearest);
        } else {
            self.leave(place);
            self.enter(place, nearest);
        }
    }

    fn cell_of(&mut self, home: Option<(f32, SemanticId)>) -> &mut Vec<usize> {
        match home.and_then(|(_, id)| self.pivots.get_mut(&id)) {
            Some(pivot) => &mut pivot.cell,
            None => &mut self.homeless,
        }
    }

    fn leave(&mut self, place: usize) {
        let home = self.themes[place].home.take();
        let cell = self.cell_of(home);
        if let Some(at) = cell.iter().position(|&other| other == place) {
            cell.swap_remove(at);
        }
    }

    fn enter(&mut self, place: usize, home: (f32, SemanticId)) {
        self.cell_of(Some(home)).push(place);
        self.themes[place].home = Some(home);
    }

    /// A pivot came or went: if it is among the first, the centre moves and all sketches change.
    fn centre_after(&mut self, changed: SemanticId) {
        let is_later = |&last: &SemanticId| last < changed;
        if self.pivots.keys().nth(N_CENTRE - 1).is_some_and(is_later) {
            return;
        }
        let n = self.pivots.len().min(N_CENTRE) as f32;
        self.centre.clear();
        for pivot in self.pivots.values().take(N_CENTRE) {
            self.centre.resize(pivot.vector.dimensions(), 0.0);
            for (mean, x) in self.centre.iter_mut().zip(pivot.vector.as_slice()) {
                *mean += x / n;
            }
        }
        for place in 0..self.themes.len() {
            self.draw(place);
        }
    }

    /// Computes the sketch of a theme.
    fn draw(&mut self, place: usize) {
        let words = self.n_words();
        let row = self.themes[place].direction.as_ref().map_or(&[][..], Embedding::as_slice);
        sketch(row, &self.centre, &mut self.sketches[place * words..][..words]);
    }

    /// Themes with their cosine to the query, in no order: all of them or, beyond [`EXACT_THEMES`], a
    /// superset of the nearest `n` that may miss a few.
    pub(super) fn near(&self, query: &[f32], n: usize) -> Vec<(f32, ThemeId)> {
        let with_similarity =
            |place: usize| (self.similarity(place, query), self.themes[place].theme);
        let n_compared = N_COMPARED.max(n.saturating_mul(2));
        if self.themes.len() <= EXACT_THEMES.max(n_compared) || self.pivots.is_empty() {
            return (0..self.themes.len()).map(with_similarity).collect();
        }
        let mut cells: Vec<(f32, SemanticId)> = self
            .pivots
            .iter()
            .map(|(&id, pivot)| (dot(query, pivot.vector.as_slice()), id))
            .collect();
        cells.sort_unstable_by(by_nearness);
        let words = self.n_words();
        let mut wanted = vec![0; words];
        sketch(query, &self.centre, &mut wanted);
        let n_sketched = N_SKETCHED.max(n_compared.saturating_mul(4));
        // By the number of bits that differ, at most one per component.
        let mut n_at = vec![0usize; self.n_dimensions + 1];
        let mut sketched: Vec<(usize, usize)> = Vec::with_capacity(n_sketched * 2);
        let arch = Arch::new();
        for (_, id) in cells {
            if sketched.len() >= n_sketched {
                break;
            }
            let cell = self.pivots.get(&id).map_or(&[][..], |pivot| &pivot.cell);
            arch.dispatch(Differing {
                wanted: &wanted,
                sketches: &self.sketches,
                places: cell,
                n_at: &mut n_at,
                sketched: &mut sketched,
            });
        }
        let (mut most, mut n_within) = (0, n_at[0]);
        while n_within < n_compared && most < self.n_dimensions {
            most += 1;
            n_within += n_at[most];
        }
        sketched
            .into_iter()
            .filter(|&(differing, _)| differing <= most)
            .map(|(_, place)| with_similarity(place))
            .collect()
    }
}

/// One bit per component: whether it lies above the centre's (above 0 where there is none).
fn sketch(vector: &[f32], centre: &[f32], words: &mut [u64]) {
    words.fill(0);
    for (i, (word, chunk)) in words.iter_mut().zip(vector.chunks(64)).enumerate() {
        let centre = centre.get(i * 64..).unwrap_or_default();
        for (bit, &x) in chunk.iter().enumerate() {
            let above = x > centre.get(bit).copied().unwrap_or(0.0);
            *word |= u64::from(above) << bit;
        }
    }
}

/// Hamming distances of sketches to the query's, with the processor's best instructions.
struct Differing<'a> {
    wanted: &'a [u64],
    sketches: &'a [u64],
    places: &'a [usize],
    /// How many sketches differ in each number of bits.
    n_at: &'a mut [usize],
    /// The number of bits that differ, and the theme's place.
    sketched: &'a mut Vec<(usize, usize)>,
}

impl WithSimd for Differing<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        // No closure: it would be compiled without those instructions.
        let words = self.wanted.len();
        for &place in self.places {
            let mut differing = 0;
            for (a, b) in self.wanted.iter().zip(&self.sketches[place * words..][..words]) {
                differing += (a ^ b).count_ones() as usize;
            }
            self.n_at[differing] += 1;
            self.sketched.push((differing, place));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIMENSIONS: usize = 64;
    const N_THEMES: i64 = 4_000;

    /// Depends on the numbers alone; `near` draws it towards the vector of that number.
    fn vector(number: i64, near: Option<i64>) -> Embedding {
        let mut state = number as u64 ^ 0x9e37_79b9_7f4a_7c15;
        let mut own = (0..DIMENSIONS).map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f32 / 8_388_608.0 - 1.0
        });
        let other = near.map(|near| vector(near, None));
        let values = (0..DIMENSIONS).map(|i| {
            let x = own.next().unwrap_or_default();
            other.as_ref().map_or(x, |other| 0.5 * x + 6.0 * other.as_slice()[i])
        });
        Embedding::normalise(values.collect()).unwrap()
    }

    /// A theme's direction: forty to a topic.
    fn theme(number: i64) -> Embedding {
        vector(number, Some(-1 - number % 100))
    }

    fn set(index: &mut ThemeIndex, number: i64) {
        index.set(ThemeId(number), Some(theme(number)));
    }

    /// Pivots are of the same topics.
    fn pivots() -> Vec<SemanticId> {
        (0..20_000).map(SemanticId).filter(|id| is_pivot(&theme(id.0))).collect()
    }

    fn found(index: &ThemeIndex, query: i64) -> Vec<ThemeId> {
        let mut found = index.near(theme(query).as_slice(), 10);
        found.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        found.into_iter().map(|(_, id)| id).collect()
    }

    #[test]
    fn what_is_found_depends_on_the_content_alone() {
        let mut grown = ThemeIndex::default();
        for number in 0..N_THEMES + 500 {
            set(&mut grown, number);
        }
        for id in pivots() {
            grown.came(id, &theme(id.0));
        }
        // Pivots that go again, themes that go and themes that change and change back.
        for id in (20_000..24_000).map(SemanticId) {
            grown.came(id, &theme(id.0 / 3));
        }
        for id in (20_000..24_000).map(SemanticId).rev() {
            grown.left(id);
        }
        for number in (N_THEMES..N_THEMES + 500).rev() {
            grown.remove(ThemeId(number));
        }
        for number in 0..200 {
            grown.set(ThemeId(number), Some(theme(number + 7)));
            set(&mut grown, number);
        }
        let mut afresh = ThemeIndex::default();
        for id in pivots().into_iter().rev() {
            afresh.came(id, &theme(id.0));
        }
        for number in (0..N_THEMES).rev() {
            set(&mut afresh, number);
        }
        for query in 10_000..10_050 {
            let of_grown = found(&grown, query);
            assert!(of_grown.len() < N_THEMES as usize / 2, "{} compared", of_grown.len());
            assert_eq!(of_grown, found(&afresh, query));
        }
    }

    #[test]
    fn few_are_missed_beyond_the_exact_size_and_none_below() {
        for (n_themes, recall_min) in [(EXACT_THEMES as i64, 1.0), (N_THEMES, 0.95)] {
            let mut index = ThemeIndex::default();
            for id in pivots() {
                index.came(id, &theme(id.0));
            }
            for number in 0..n_themes {
                set(&mut index, number);
            }
            let (mut n_found, mut n_true) = (0, 0);
            for query in 10_000..10_100 {
                let asked = theme(query);
                let mut all: Vec<(f32, ThemeId)> = (0..n_themes)
                    .map(|number| (theme(number).cosine(&asked), ThemeId(number)))
                    .collect();
                all.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
                let found = found(&index, query);
                n_true += 10;
                n_found += all[..10].iter().filter(|(_, id)| found.contains(id)).count();
            }
            let recall = n_found as f64 / f64::from(n_true);
            assert!(recall >= recall_min, "{recall} of the ten nearest of {n_themes}");
        }
    }
}
