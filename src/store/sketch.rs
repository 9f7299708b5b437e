//! One-bit sketches of vectors: which components are positive.
//!
//! A sketch is weighed with the query's own components, in whole numbers of a few binary digits: how
//! much of the query lies where the signs agree is then a handful of population counts, which a
//! processor does for many components at once (as in RaBitQ: Gao and Long, SIGMOD 2024). Before that
//! a quarter of the counts tells who is worth it: at how many of the query's strong components the
//! signs agree.

use pulp::{Arch, WithSimd};

use crate::memory::Embedding;

/// Binary digits that a component of the query is rounded to, its sign apart.
const N_DIGITS: usize = 4;

/// Components to a word.
const WORD: usize = u64::BITS as usize;

/// Bytes of one sketch, with the one that says that there is a vector.
pub(super) fn sketch_len(dimensions: usize) -> usize {
    1 + dimensions.div_ceil(8)
}

pub(super) fn sketch(embedding: &Embedding) -> Vec<u8> {
    let signs = embedding.as_slice().chunks(8).map(|components| {
        let bits = components.iter().enumerate().map(|(bit, &x)| u8::from(x > 0.0) << bit);
        bits.fold(0, |byte, bit| byte | bit)
    });
    std::iter::once(1).chain(signs).collect()
}

/// A component is strong from so many times their root mean square: of normally distributed ones, what
/// their signs alone then tell is the most that it can be.
const STRONG: f32 = 0.6;

/// A query as sketches are compared with it.
struct Weights {
    words: Vec<Word>,
    /// Bytes of one sketch.
    length: usize,
}

/// So many components of a query.
struct Word {
    /// Set where the query is not positive.
    negative: u64,
    /// Set where the query is strong.
    strong: u64,
    /// The absolute values, lowest digit first.
    digits: [u64; N_DIGITS],
}

impl Word {
    #[inline(always)]
    fn n_agreeing(&self, signs: u64) -> u32 {
        ((signs ^ self.negative) & self.strong).count_ones()
    }

    #[inline(always)]
    fn count(&self, signs: u64, counts: &mut [u64; N_DIGITS]) {
        let agreeing = signs ^ self.negative;
        for (count, digit) in counts.iter_mut().zip(&self.digits) {
            *count += u64::from((agreeing & digit).count_ones());
        }
    }
}

impl Weights {
    fn of(query: &Embedding) -> Self {
        let components = query.as_slice();
        let largest = components.iter().fold(f32::MIN_POSITIVE, |max, x| max.max(x.abs()));
        let unit = largest / ((1 << N_DIGITS) - 1) as f32;
        // The query's length is 1.
        let strong = STRONG / (components.len() as f32).sqrt();
        let word = |components: &[f32]| {
            let mut word = Word { negative: 0, strong: 0, digits: [0; N_DIGITS] };
            for (bit, x) in components.iter().enumerate() {
                word.negative |= u64::from(*x <= 0.0) << bit;
                word.strong |= u64::from(x.abs() >= strong) << bit;
                let rounded = (x.abs() / unit).round() as u64;
                for (digit, bits) in word.digits.iter_mut().enumerate() {
                    *bits |= (rounded >> digit & 1) << bit;
                }
            }
            word
        };
        let words = components.chunks(WORD).map(word).collect();
        Self { words, length: sketch_len(query.dimensions()) }
    }

    #[inline(always)]
    fn n_agreeing(&self, signs: &[u8]) -> u32 {
        let (full, rest) = signs.as_chunks();
        let mut n = 0;
        for (word, &bytes) in self.words.iter().zip(full) {
            n += word.n_agreeing(u64::from_le_bytes(bytes));
        }
        if let Some(word) = self.words.get(full.len()) {
            n += word.n_agreeing(last_word(rest));
        }
        n
    }

    #[inline(always)]
    fn score(&self, signs: &[u8]) -> u32 {
        let (full, rest) = signs.as_chunks();
        let mut counts = [0; N_DIGITS];
        for (word, &bytes) in self.words.iter().zip(full) {
            word.count(u64::from_le_bytes(bytes), &mut counts);
        }
        if let Some(word) = self.words.get(full.len()) {
            word.count(last_word(rest), &mut counts);
        }
        let mut score = 0;
        for (digit, count) in counts.iter().enumerate() {
            score += count << digit;
        }
        score as u32
    }
}

#[inline(always)]
fn last_word(rest: &[u8]) -> u64 {
    let mut bytes = [0; WORD / 8];
    bytes[..rest.len()].copy_from_slice(rest);
    u64::from_le_bytes(bytes)
}

/// Looks through rows of sketches for those most like a query.
pub(super) struct Search {
    weights: Weights,
    arch: Arch,
    /// So many sketches that agree most are weighed, at least.
    n_weighed: usize,
    /// How many agree at so many strong components, of those at `n_agreeing_min` or more.
    n_with: Vec<usize>,
    n_agreeing_min: usize,
    n_seen: usize,
}

impl Search {
    pub(super) fn new(query: &Embedding, n_weighed: usize) -> Self {
        Self {
            weights: Weights::of(query),
            arch: Arch::new(),
            n_weighed,
            n_with: vec![0; query.dimensions() + 1],
            n_agreeing_min: 0,
            n_seen: 0,
        }
    }

    /// The places in a row of the sketches that were worth weighing, and their scores; greater is more
    /// alike. Among them are all of the row that would be weighed if nothing came after it.
    pub(super) fn row(&mut self, row: &[u8], found: &mut Vec<(usize, u32)>) {
        found.clear();
        let arch = self.arch;
        arch.dispatch(OfRow { search: self, row, found });
    }

    #[inline(always)]
    fn saw(&mut self, n_agreeing: usize) {
        self.n_with[n_agreeing] += 1;
        self.n_seen += 1;
        while let Some(&fewest) = self.n_with.get(self.n_agreeing_min)
            && self.n_seen - fewest >= self.n_weighed
        {
            self.n_seen -= fewest;
            self.n_agreeing_min += 1;
        }
    }
}

/// What runs with all the instructions that the processor has.
struct OfRow<'a> {
    search: &'a mut Search,
    row: &'a [u8],
    found: &'a mut Vec<(usize, u32)>,
}

impl WithSimd for OfRow<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        // No closure: it would be compiled without those instructions.
        let sketches = self.row.chunks_exact(self.search.weights.length);
        for (place, sketch) in sketches.enumerate() {
            let (there, signs) = (sketch[0], &sketch[1..]);
            let n_agreeing = self.search.weights.n_agreeing(signs) as usize;
            if there == 0 || n_agreeing < self.search.n_agreeing_min {
                continue;
            }
            self.search.saw(n_agreeing);
            self.found.push((place, self.search.weights.score(signs)));
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Of any number of components: the sum over those whose signs agree, but for the rounding.
        #[test]
        fn a_score_is_what_agrees(
            pairs in prop::collection::vec((-100i8..=100, -100i8..=100), 1..200),
        ) {
            prop_assume!(pairs.iter().any(|p| p.0 != 0) && pairs.iter().any(|p| p.1 != 0));
            let (query, other): (Vec<f32>, Vec<f32>) =
                pairs.iter().map(|&(a, b)| (f32::from(a), f32::from(b))).unzip();
            let query = Embedding::normalise(query).unwrap();
            let other = Embedding::normalise(other).unwrap();
            let row = [sketch(&other), vec![0; sketch_len(pairs.len())], sketch(&query)].concat();
            let mut found = Vec::new();
            Search::new(&query, usize::MAX).row(&row, &mut found);
            let [(0, score), (2, own)] = found[..] else {
                panic!("{found:?}");
            };
            let unit = query.as_slice().iter().fold(0.0, |max: f32, x| max.max(x.abs())) / 15.0;
            let agreeing = query.as_slice().iter().zip(other.as_slice());
            let agreeing: f32 =
                agreeing.filter(|(a, b)| (**a > 0.0) == (**b > 0.0)).map(|(a, _)| a.abs()).sum();
            let rounding = 0.5 * pairs.len() as f32 + 0.01;
            prop_assert!((score as f32 - agreeing / unit).abs() <= rounding);
            prop_assert!(score <= own);
        }

        /// Those that agree most at the strong components are weighed, whatever the rows.
        #[test]
        fn whoever_agrees_most_is_weighed(
            vectors in prop::collection::vec(prop::collection::vec(-9i8..=9, 70), 2..60),
            n_weighed in 1usize..20,
            row_length in 1usize..9,
        ) {
            let parse = |v: &Vec<i8>| Embedding::normalise(v.iter().map(|&x| f32::from(x)).collect());
            let vectors: Vec<Embedding> = vectors.iter().flat_map(parse).collect();
            prop_assume!(vectors.len() > 1);
            let (query, others) = (&vectors[0], &vectors[1..]);
            let mut search = Search::new(query, n_weighed);
            let (mut weighed, mut found) = (Vec::new(), Vec::new());
            for (i, row) in others.chunks(row_length).enumerate() {
                search.row(&row.iter().flat_map(sketch).collect::<Vec<u8>>(), &mut found);
                weighed.extend(found.iter().map(|(place, _)| i * row_length + place));
            }
            let strong = STRONG / 70f32.sqrt();
            let n_agreeing = |other: &Embedding| {
                let pairs = query.as_slice().iter().zip(other.as_slice());
                pairs.filter(|(a, b)| a.abs() >= strong && (**a > 0.0) == (**b > 0.0)).count()
            };
            let counts: Vec<usize> = others.iter().map(n_agreeing).collect();
            for (i, &count) in counts.iter().enumerate() {
                let n_above = counts.iter().filter(|&&other| other > count).count();
                prop_assert!(weighed.contains(&i) || n_above >= n_weighed);
            }
        }
    }
}
