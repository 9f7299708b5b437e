//! Attention of one position's queries (decoding) to cached keys and values, a head at a time.
//!
//! Each key and value is read once, in f16 or f32, without a matrix product's packing. The AVX-512
//! kernels for f16 give what the plain code gives, bit for bit.

use half::f16;

#[cfg(target_arch = "x86_64")]
use crate::attention_avx512;
use crate::elementwise::dot;
use crate::{f16_to_f32, vectorised};

/// Keys or values of one head: rows of `dim` values, side by side.
#[derive(Debug, Clone, Copy)]
pub enum Rows<'a> {
    /// In f16.
    F16(&'a [f16]),
    /// In f32.
    F32(&'a [f32]),
}

impl Rows<'_> {
    fn n_values(self) -> usize {
        match self {
            Self::F16(values) => values.len(),
            Self::F32(values) => values.len(),
        }
    }

    /// Calls `each` with some rows at a time, in f32, and the index of the first.
    fn for_each_part(self, dim: usize, mut each: impl FnMut(usize, &[f32])) {
        const ROWS_PER_PART: usize = 32;
        match self {
            Self::F32(values) => each(0, values),
            Self::F16(values) => {
                let mut part = vec![0f32; ROWS_PER_PART * dim];
                for (index, values) in values.chunks(ROWS_PER_PART * dim).enumerate() {
                    let part = &mut part[..values.len()];
                    f16_to_f32(values, part);
                    each(index * ROWS_PER_PART, part);
                }
            }
        }
    }
}

/// Queries `[n_queries, dim]` times keys `[n_keys, dim]`, times `scale`, into `scores`
/// `[n_queries, n_keys]`.
///
/// ```
/// use packed_matmul::attention::{Rows, score};
///
/// let keys = [1.0, 0.0, 0.0, 1.0];
/// let mut scores = [0.0; 2];
/// score(&[3.0, 4.0], Rows::F32(&keys), 2, 0.5, &mut scores);
/// assert_eq!(scores, [1.5, 2.0]);
/// ```
///
/// # Panics
/// If the lengths do not match those shapes.
pub fn score(queries: &[f32], keys: Rows<'_>, dim: usize, scale: f32, scores: &mut [f32]) {
    check(queries.len(), keys.n_values(), dim, scores.len());
    #[cfg(target_arch = "x86_64")]
    if let Rows::F16(keys) = keys
        && attention_avx512::fits(dim, keys.len() / dim)
    {
        // SAFETY: `fits` is true only if the processor has AVX-512.
        return unsafe { attention_avx512::score(queries, keys, dim, scale, scores) };
    }
    score_plainly(queries, keys, dim, scale, scores);
}

/// Adds values `[n_keys, dim]`, weighted with `weights` `[n_queries, n_keys]`, to `out`
/// `[n_queries, dim]`.
///
/// ```
/// use packed_matmul::attention::{Rows, add_weighted};
///
/// let values = [1.0, 0.0, 0.0, 1.0];
/// let mut out = [0.0; 2];
/// add_weighted(&[0.25, 0.75], Rows::F32(&values), 2, &mut out);
/// assert_eq!(out, [0.25, 0.75]);
/// ```
///
/// # Panics
/// If the lengths do not match those shapes.
pub fn add_weighted(weights: &[f32], values: Rows<'_>, dim: usize, out: &mut [f32]) {
    check(out.len(), values.n_values(), dim, weights.len());
    #[cfg(target_arch = "x86_64")]
    if let Rows::F16(values) = values
        && attention_avx512::fits(dim, values.len() / dim)
    {
        // SAFETY: `fits` is true only if the processor has AVX-512.
        return unsafe { attention_avx512::add_weighted(weights, values, dim, out) };
    }
    add_weighted_plainly(weights, values, dim, out);
}

/// Panics unless there are whole rows of queries and keys, and a score for each pair.
fn check(queries: usize, keys: usize, dim: usize, scores: usize) {
    assert!(dim > 0 && queries.is_multiple_of(dim) && keys.is_multiple_of(dim));
    assert_eq!(scores, queries / dim * (keys / dim), "a score for each query and key");
}

fn score_plainly(queries: &[f32], keys: Rows<'_>, dim: usize, scale: f32, scores: &mut [f32]) {
    let n_keys = keys.n_values() / dim;
    keys.for_each_part(dim, |first, keys| {
        score_part(queries, keys, dim, scale, first, n_keys, scores);
    });
}

fn add_weighted_plainly(weights: &[f32], values: Rows<'_>, dim: usize, out: &mut [f32]) {
    let n_keys = values.n_values() / dim;
    values.for_each_part(dim, |first, values| {
        for (query, out) in out.chunks_exact_mut(dim).enumerate() {
            let weights = &weights[query * n_keys + first..][..values.len() / dim];
            add_weighted_part(weights, values, out);
        }
    });
}

vectorised! {
/// Each query times each key of a part that begins with key `first` of `n_keys`.
fn score_part(
    queries: &[f32],
    keys: &[f32],
    dim: usize,
    scale: f32,
    first: usize,
    n_keys: usize,
    scores: &mut [f32],
) {
    for (query, scores) in queries.chunks_exact(dim).zip(scores.chunks_exact_mut(n_keys)) {
        for (key, score) in keys.chunks_exact(dim).zip(&mut scores[first..]) {
            *score = dot(query, key) * scale;
        }
    }
}
}

vectorised! {
/// `out += Σ weight · row`, four rows at a time.
fn add_weighted_part(weights: &[f32], rows: &[f32], out: &mut [f32]) {
    let dim = out.len();
    let mut four_rows = rows.chunks_exact(4 * dim);
    let (fours, rest) = weights.as_chunks::<4>();
    for (weight, rows) in fours.iter().zip(&mut four_rows) {
        let (a, rows) = rows.split_at(dim);
        let (b, rows) = rows.split_at(dim);
        let (c, d) = rows.split_at(dim);
        for ((((out, a), b), c), d) in out.iter_mut().zip(a).zip(b).zip(c).zip(d) {
            *out += (weight[0] * a + weight[1] * b) + (weight[2] * c + weight[3] * d);
        }
    }
    for (weight, row) in rest.iter().zip(four_rows.remainder().chunks_exact(dim)) {
        for (out, x) in out.iter_mut().zip(row) {
            *out += weight * x;
        }
    }
}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::f32_to_f16;
    use crate::tests::made_up;

    #[test]
    fn kernels_for_f16_equal_the_plain_code() {
        for (dim, n_queries, n_keys) in [16, 48, 64, 80, 128, 100]
            .into_iter()
            .flat_map(|dim| [1, 2, 3, 4, 7, 8].map(|n_queries| (dim, n_queries)))
            .flat_map(|(dim, q)| [1, 15, 16, 17, 31, 64, 99].map(|n_keys| (dim, q, n_keys)))
        {
            let queries = made_up(n_queries * dim, 1);
            let mut cached = vec![f16::ZERO; n_keys * dim];
            f32_to_f16(&made_up(n_keys * dim, 2), &mut cached);
            let cached = Rows::F16(&cached);
            let bits = |values: &[f32]| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();

            let mut scores = vec![0f32; n_queries * n_keys];
            let mut plain = scores.clone();
            score(&queries, cached, dim, 0.125, &mut scores);
            score_plainly(&queries, cached, dim, 0.125, &mut plain);
            assert_eq!(bits(&scores), bits(&plain), "scores: {dim}, {n_queries}, {n_keys}");

            let (mut sums, mut expected) = (queries.clone(), queries.clone());
            add_weighted(&plain, cached, dim, &mut sums);
            add_weighted_plainly(&plain, cached, dim, &mut expected);
            assert_eq!(bits(&sums), bits(&expected), "sums: {dim}, {n_queries}, {n_keys}");
        }
    }
}
