//! One-bit sketches of vectors: which components are positive.
//!
//! A sketch is weighed with the query's own components, in whole numbers of a few binary digits: how
//! much of the query lies where the signs agree is then a handful of population counts, which a
//! processor does for many components at once (as in RaBitQ: Gao and Long, SIGMOD 2024).

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

/// A query as sketches are compared with it.
pub(super) struct Weights {
    words: Vec<Word>,
    /// Bytes of one sketch.
    length: usize,
}

/// So many components of a query.
struct Word {
    /// Set where the query is not positive.
    negative: u64,
    /// The absolute values, lowest digit first.
    digits: [u64; N_DIGITS],
}

impl Word {
    #[expect(clippy::inline_always, reason = "to be compiled with what the caller may use")]
    #[inline(always)]
    fn count(&self, signs: u64, counts: &mut [u64; N_DIGITS]) {
        let agreeing = signs ^ self.negative;
        for (count, digit) in counts.iter_mut().zip(&self.digits) {
            *count += u64::from((agreeing & digit).count_ones());
        }
    }
}

impl Weights {
    pub(super) fn of(query: &Embedding) -> Self {
        let largest = query.as_slice().iter().fold(f32::MIN_POSITIVE, |max, x| max.max(x.abs()));
        let unit = largest / ((1 << N_DIGITS) - 1) as f32;
        let word = |components: &[f32]| {
            let mut word = Word { negative: 0, digits: [0; N_DIGITS] };
            for (bit, x) in components.iter().enumerate() {
                word.negative |= u64::from(*x <= 0.0) << bit;
                let rounded = (x.abs() / unit).round() as u64;
                for (digit, bits) in word.digits.iter_mut().enumerate() {
                    *bits |= (rounded >> digit & 1) << bit;
                }
            }
            word
        };
        let words = query.as_slice().chunks(WORD).map(word).collect();
        Self { words, length: sketch_len(query.dimensions()) }
    }

    /// The scores of a row's sketches, in their order; `None` where there is no vector. Greater is
    /// more alike.
    pub(super) fn scores(&self, arch: Arch, row: &[u8], scores: &mut Vec<Option<u32>>) {
        scores.clear();
        arch.dispatch(Scoring { weights: self, row, scores });
    }

    #[expect(clippy::inline_always, reason = "to be compiled with what the caller may use")]
    #[inline(always)]
    fn score(&self, signs: &[u8]) -> u32 {
        let (full, rest) = signs.as_chunks();
        let mut counts = [0; N_DIGITS];
        for (word, &bytes) in self.words.iter().zip(full) {
            word.count(u64::from_le_bytes(bytes), &mut counts);
        }
        if let Some(word) = self.words.get(full.len()) {
            let mut bytes = [0; WORD / 8];
            bytes[..rest.len()].copy_from_slice(rest);
            word.count(u64::from_le_bytes(bytes), &mut counts);
        }
        let mut score = 0;
        for (digit, count) in counts.iter().enumerate() {
            score += count << digit;
        }
        score as u32
    }
}

/// What runs with all the instructions that the processor has.
struct Scoring<'a> {
    weights: &'a Weights,
    row: &'a [u8],
    scores: &'a mut Vec<Option<u32>>,
}

impl WithSimd for Scoring<'_> {
    type Output = ();

    #[expect(clippy::inline_always, reason = "as above")]
    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        // No closure: it would be compiled without those instructions.
        for sketch in self.row.chunks_exact(self.weights.length) {
            let score = if sketch[0] == 0 { None } else { Some(self.weights.score(&sketch[1..])) };
            self.scores.push(score);
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
            let mut scores = Vec::new();
            Weights::of(&query).scores(Arch::new(), &row, &mut scores);
            let [Some(score), None, Some(own)] = scores[..] else {
                panic!("{scores:?}");
            };
            let unit = query.as_slice().iter().fold(0.0, |max: f32, x| max.max(x.abs())) / 15.0;
            let agreeing = query.as_slice().iter().zip(other.as_slice());
            let agreeing: f32 =
                agreeing.filter(|(a, b)| (**a > 0.0) == (**b > 0.0)).map(|(a, _)| a.abs()).sum();
            let rounding = 0.5 * pairs.len() as f32 + 0.01;
            prop_assert!((score as f32 - agreeing / unit).abs() <= rounding);
            prop_assert!(score <= own);
        }
    }
}
