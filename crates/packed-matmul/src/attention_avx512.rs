//! [`crate::attention`] for keys and values in f16, by AVX-512: bit for bit what the plain code
//! computes from them in f32, without storing those.
//!
//! A key is converted once for up to four queries, and sixteen sums of products are added up at once;
//! the sums of some columns of the values stay in registers from the first key to the last.

#[allow(clippy::wildcard_imports, reason = "the names of the instructions")]
use std::arch::x86_64::*;

use half::f16;

use crate::InstructionSet;
use crate::avx512::to_array;

/// Values in a vector.
const LANES: usize = 16;

/// Columns that are summed at once, in vectors: those of four queries fill half of the registers.
const COLUMNS: usize = 4;

/// True if this processor has a kernel for `n_keys` rows of `dim` values.
pub fn fits(dim: usize, n_keys: usize) -> bool {
    InstructionSet::best().has_avx512() && dim.is_multiple_of(LANES) && n_keys >= LANES
}

/// As [`crate::attention::score`].
///
/// # Panics
/// If the shapes do not match, or [`fits`] is false.
#[target_feature(enable = "avx512f")]
pub fn score(queries: &[f32], keys: &[f16], dim: usize, scale: f32, scores: &mut [f32]) {
    let n_keys = keys.len() / dim;
    assert!(fits(dim, n_keys) && keys.len() == n_keys * dim);
    assert!(queries.len().is_multiple_of(dim) && scores.len() == queries.len() / dim * n_keys);
    let (mut queries, mut scores) = (queries, scores);
    while !queries.is_empty() {
        let n = group(queries.len() / dim);
        let (own, others) = queries.split_at(n * dim);
        let (own_scores, other_scores) = scores.split_at_mut(n * n_keys);
        match n {
            4 => score_group::<4, 4>(own, keys, dim, scale, own_scores),
            2 => score_group::<2, 8>(own, keys, dim, scale, own_scores),
            _ => score_group::<1, 16>(own, keys, dim, scale, own_scores),
        }
        (queries, scores) = (others, other_scores);
    }
}

/// As [`crate::attention::add_weighted`].
///
/// # Panics
/// If the shapes do not match, or [`fits`] is false.
#[target_feature(enable = "avx512f")]
pub fn add_weighted(weights: &[f32], values: &[f16], dim: usize, out: &mut [f32]) {
    let n_keys = values.len() / dim;
    assert!(fits(dim, n_keys) && values.len() == n_keys * dim);
    assert!(out.len().is_multiple_of(dim) && weights.len() == out.len() / dim * n_keys);
    let (mut weights, mut out) = (weights, out);
    while !out.is_empty() {
        let n = group(out.len() / dim);
        let (own, others) = weights.split_at(n * n_keys);
        let (own_out, other_out) = out.split_at_mut(n * dim);
        let mut first = 0;
        while first < dim {
            let wide = dim - first >= COLUMNS * LANES;
            match (n, wide) {
                (4, true) => add_weighted_group::<4, COLUMNS>(own, values, dim, first, own_out),
                (4, false) => add_weighted_group::<4, 1>(own, values, dim, first, own_out),
                (2, true) => add_weighted_group::<2, COLUMNS>(own, values, dim, first, own_out),
                (2, false) => add_weighted_group::<2, 1>(own, values, dim, first, own_out),
                (_, true) => add_weighted_group::<1, COLUMNS>(own, values, dim, first, own_out),
                (_, false) => add_weighted_group::<1, 1>(own, values, dim, first, own_out),
            }
            first += if wide { COLUMNS * LANES } else { LANES };
        }
        (weights, out) = (others, other_out);
    }
}

/// How many of the queries that are left are computed together.
fn group(n_queries: usize) -> usize {
    match n_queries {
        4.. => 4,
        2.. => 2,
        _ => 1,
    }
}

/// `QUERIES · KEYS` is sixteen.
#[inline]
#[target_feature(enable = "avx512f")]
fn score_group<const QUERIES: usize, const KEYS: usize>(
    queries: &[f32],
    keys: &[f16],
    dim: usize,
    scale: f32,
    scores: &mut [f32],
) {
    let n_keys = keys.len() / dim;
    let mut first = 0;
    while first < n_keys {
        // If fewer are left, the last ones again.
        first = first.min(n_keys - KEYS);
        let mut sums = [_mm512_setzero_ps(); 16];
        for column in (0..dim).step_by(LANES) {
            let mut query = [_mm512_setzero_ps(); QUERIES];
            for (q, query) in query.iter_mut().enumerate() {
                *query = load(&queries[q * dim + column..]);
            }
            for k in 0..KEYS {
                let key = load_f16(&keys[(first + k) * dim + column..]);
                for (q, query) in query.iter().enumerate() {
                    let place = q * KEYS + k;
                    let sum = &mut sums[place % 4 * 4 + place / 4];
                    // Not fused: the plain code rounds twice.
                    *sum = _mm512_add_ps(*sum, _mm512_mul_ps(*query, key));
                }
            }
        }
        let products = to_array(_mm512_mul_ps(sixteen_sums(&sums), _mm512_set1_ps(scale)));
        for (q, products) in products.as_chunks::<KEYS>().0.iter().enumerate() {
            scores[q * n_keys + first..][..KEYS].copy_from_slice(products);
        }
        first += KEYS;
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn add_weighted_group<const QUERIES: usize, const COLUMNS: usize>(
    weights: &[f32],
    values: &[f16],
    dim: usize,
    first: usize,
    out: &mut [f32],
) {
    let n_keys = values.len() / dim;
    let mut sums = [[_mm512_setzero_ps(); COLUMNS]; QUERIES];
    for (q, sums) in sums.iter_mut().enumerate() {
        for (c, sum) in sums.iter_mut().enumerate() {
            *sum = load(&out[q * dim + first + c * LANES..]);
        }
    }
    let n_fours = n_keys / 4;
    for four in 0..n_fours {
        for c in 0..COLUMNS {
            let mut value = [_mm512_setzero_ps(); 4];
            for (k, value) in value.iter_mut().enumerate() {
                *value = load_f16(&values[(four * 4 + k) * dim + first + c * LANES..]);
            }
            let [a, b, c_, d] = value;
            for (q, sums) in sums.iter_mut().enumerate() {
                let weight: &[f32] = &weights[q * n_keys + four * 4..][..4];
                let times = |k: usize, x| _mm512_mul_ps(_mm512_set1_ps(weight[k]), x);
                let sum = _mm512_add_ps(
                    _mm512_add_ps(times(0, a), times(1, b)),
                    _mm512_add_ps(times(2, c_), times(3, d)),
                );
                sums[c] = _mm512_add_ps(sums[c], sum);
            }
        }
    }
    for k in n_fours * 4..n_keys {
        for c in 0..COLUMNS {
            let value = load_f16(&values[k * dim + first + c * LANES..]);
            for (q, sums) in sums.iter_mut().enumerate() {
                let weight = _mm512_set1_ps(weights[q * n_keys + k]);
                sums[c] = _mm512_add_ps(sums[c], _mm512_mul_ps(weight, value));
            }
        }
    }
    for (q, sums) in sums.iter().enumerate() {
        for (c, sum) in sums.iter().enumerate() {
            store(&mut out[q * dim + first + c * LANES..], *sum);
        }
    }
}

/// The sum of each of sixteen vectors, pairwise (lanes l and l + 8, then l and l + 4 …). Lane 4 · l + p
/// is that of vector 4 · p + l.
#[inline]
#[target_feature(enable = "avx512f")]
fn sixteen_sums(v: &[__m512; 16]) -> __m512 {
    let halves = |a, b| {
        let (low, high) = (
            _mm512_shuffle_f32x4::<0b01_00_01_00>(a, b),
            _mm512_shuffle_f32x4::<0b11_10_11_10>(a, b),
        );
        _mm512_add_ps(low, high)
    };
    let quarters = |a, b, c, d| {
        let (a, b) = (halves(a, b), halves(c, d));
        let (even, odd) = (
            _mm512_shuffle_f32x4::<0b10_00_10_00>(a, b),
            _mm512_shuffle_f32x4::<0b11_01_11_01>(a, b),
        );
        _mm512_add_ps(even, odd)
    };
    let pairs = |a, b| {
        let (a, b) = (_mm512_castps_pd(a), _mm512_castps_pd(b));
        let (low, high) = (_mm512_unpacklo_pd(a, b), _mm512_unpackhi_pd(a, b));
        _mm512_add_ps(_mm512_castpd_ps(low), _mm512_castpd_ps(high))
    };
    let first = pairs(quarters(v[0], v[1], v[2], v[3]), quarters(v[4], v[5], v[6], v[7]));
    let second = pairs(quarters(v[8], v[9], v[10], v[11]), quarters(v[12], v[13], v[14], v[15]));
    _mm512_add_ps(
        _mm512_shuffle_ps::<0b10_00_10_00>(first, second),
        _mm512_shuffle_ps::<0b11_01_11_01>(first, second),
    )
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load(values: &[f32]) -> __m512 {
    let values = &values[..LANES];
    // SAFETY: sixteen values are there, by the slicing above.
    unsafe { _mm512_loadu_ps(values.as_ptr()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load_f16(values: &[f16]) -> __m512 {
    let values = &values[..LANES];
    // SAFETY: sixteen values are there, by the slicing above.
    _mm512_cvtph_ps(unsafe { _mm256_loadu_si256(values.as_ptr().cast()) })
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store(out: &mut [f32], values: __m512) {
    let out = &mut out[..LANES];
    // SAFETY: `out` has room for sixteen values, by the slicing above.
    unsafe { _mm512_storeu_ps(out.as_mut_ptr(), values) };
}
