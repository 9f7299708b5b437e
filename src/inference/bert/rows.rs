//! What happens between two products, compiled for each SIMD width.

use super::Activation;
use crate::inference::ops;
use packed_matmul::vectorised;

vectorised! {
/// Each row `norm(row + update + bias)`; without an update `norm(row)`.
pub fn join_rows(
    rows: &mut [f32],
    update: &[f32],
    bias: &[f32],
    scale: &[f32],
    shift: &[f32],
    epsilon: f32,
) {
    let n = scale.len();
    for (i, row) in rows.chunks_exact_mut(n).enumerate() {
        if !update.is_empty() {
            for ((x, &u), &b) in row.iter_mut().zip(&update[i * n..(i + 1) * n]).zip(bias) {
                *x += u + b;
            }
        }
        let mean = sum(row, |x| x) / n as f32;
        let variance = sum(row, |x| (x - mean) * (x - mean)) / n as f32;
        let factor = 1.0 / (variance + epsilon).sqrt();
        for ((x, &scale), &shift) in row.iter_mut().zip(scale).zip(shift) {
            *x = (*x - mean) * factor * scale + shift;
        }
    }
}
}

vectorised! {
pub fn activate_rows(rows: &mut [f32], bias: &[f32], activation: Activation) {
    for row in rows.chunks_exact_mut(bias.len()) {
        add(row, bias);
        match activation {
            Activation::Gelu => {
                for x in row {
                    *x *= 0.5 * (1.0 + erf(*x * std::f32::consts::FRAC_1_SQRT_2));
                }
            }
            Activation::GeluTanh => {
                for x in row {
                    let inner = 0.797_884_6 * (*x + 0.044_715 * *x * *x * *x);
                    *x *= 0.5 * (1.0 + inner.tanh());
                }
            }
            Activation::Relu => {
                for x in row {
                    *x = x.max(0.0);
                }
            }
        }
    }
}
}

/// Values that are computed side by side.
const LANES: usize = 16;
/// Queries that pass over the keys together: with six, all sums stay in registers.
const QUERIES: usize = 6;

vectorised! {
/// Every token of one text attends to all of its tokens, by the head whose components begin at `head`.
/// `text`: query, key and value of each, `bias` still to be added; `out`: `[n, width]`.
pub fn attend_in_head(
    text: &[f32],
    bias: &[f32],
    hidden: usize,
    head: usize,
    width: usize,
    out: &mut [f32],
) {
    let n = out.len() / width;
    let (n_padded, width_padded) = (n.next_multiple_of(LANES), width.next_multiple_of(LANES));
    let scale = 1.0 / (width as f32).sqrt();
    // Keys by component, so that sixteen scores of a query grow together, component by component.
    let mut keys = vec![0.0; width * n_padded];
    let mut values = vec![0.0; n * width_padded];
    for (j, row) in text.chunks_exact(3 * hidden).enumerate() {
        let key = &row[hidden + head..][..width];
        for (d, (&k, &b)) in key.iter().zip(&bias[hidden + head..]).enumerate() {
            keys[d * n_padded + j] = (k + b) * scale;
        }
        values[j * width_padded..][..width].copy_from_slice(&row[2 * hidden + head..][..width]);
    }
    let mut queries = vec![[0.0; QUERIES]; width];
    let mut scores = vec![f32::NEG_INFINITY; QUERIES * n_padded];
    let mut mixed = vec![0.0; QUERIES * width_padded];
    for (block, out) in out.chunks_mut(QUERIES * width).enumerate() {
        let n_queries = out.len() / width;
        for q in 0..n_queries {
            let row = &text[(block * QUERIES + q) * 3 * hidden + head..][..width];
            for ((query, &x), &b) in queries.iter_mut().zip(row).zip(&bias[head..]) {
                query[q] = x + b;
            }
        }
        weighted_sums(&queries, &keys, &mut scores);
        for scores in scores.chunks_exact_mut(n_padded).take(n_queries) {
            scores[n..].fill(f32::NEG_INFINITY);
            ops::softmax(scores);
        }
        let weights: Vec<[f32; QUERIES]> =
            (0..n).map(|j| std::array::from_fn(|q| scores[q * n_padded + j])).collect();
        weighted_sums(&weights, &values, &mut mixed);
        for (out, mixed) in out.chunks_exact_mut(width).zip(mixed.chunks_exact(width_padded)) {
            // Attention weights add up to one, so the values' bias is added once.
            for ((out, &x), &b) in out.iter_mut().zip(mixed).zip(&bias[2 * hidden + head..]) {
                *out = x + b;
            }
        }
    }
}
}

/// Row q of `sums` = Σ `weights[i][q]` · row i of `rows`. There are as many rows as weights, of whole [`LANES`].
#[inline(always)]
fn weighted_sums(weights: &[[f32; QUERIES]], rows: &[f32], sums: &mut [f32]) {
    let width = sums.len() / QUERIES;
    for first in (0..width).step_by(LANES) {
        let mut lanes = [[0f32; LANES]; QUERIES];
        for (weights, row) in weights.iter().zip(rows.chunks_exact(width)) {
            let row: &[f32; LANES] = row[first..].first_chunk().unwrap_or(&[0.0; LANES]);
            for (lanes, &weight) in lanes.iter_mut().zip(weights) {
                for (lane, &x) in lanes.iter_mut().zip(row) {
                    *lane = x.mul_add(weight, *lane);
                }
            }
        }
        for (sums, lanes) in sums.chunks_exact_mut(width).zip(&lanes) {
            sums[first..first + LANES].copy_from_slice(lanes);
        }
    }
}

#[inline(always)]
pub fn add(target: &mut [f32], other: &[f32]) {
    for (t, &o) in target.iter_mut().zip(other) {
        *t += o;
    }
}

/// Sum of `f(x)`, in eight lanes (a plain float sum may not be reordered, so it stays scalar).
#[inline(always)]
fn sum(values: &[f32], f: impl Fn(f32) -> f32) -> f32 {
    let mut lanes = [0.0f32; 8];
    let (chunks, rest) = values.as_chunks::<8>();
    for chunk in chunks {
        for (lane, &x) in lanes.iter_mut().zip(chunk) {
            *lane += f(x);
        }
    }
    lanes.iter().sum::<f32>() + rest.iter().map(|&x| f(x)).sum::<f32>()
}

/// The error function by Eigen's rational approximation (within 4e-7): no branch and no
/// exponential, so that the compiler can vectorise it.
#[expect(clippy::excessive_precision, reason = "the coefficients as published")]
#[inline(always)]
fn erf(x: f32) -> f32 {
    const ALPHA: [f32; 7] = [
        -2.726_142_258_013_06e-10,
        2.770_681_424_959_02e-8,
        -2.101_024_020_825_08e-6,
        -5.692_506_394_623_46e-5,
        -7.349_906_303_268_55e-4,
        -2.954_599_808_540_25e-3,
        -1.609_603_332_624_15e-2,
    ];
    const BETA: [f32; 5] = [
        -1.456_607_184_649_96e-5,
        -2.133_740_552_789_05e-4,
        -1.682_826_974_382_03e-3,
        -7.373_329_167_204_68e-3,
        -1.426_473_905_141_89e-2,
    ];
    let x = x.clamp(-4.0, 4.0);
    let square = x * x;
    let numerator = ALPHA.iter().fold(0.0, |sum, &c| sum * square + c);
    let denominator = BETA.iter().fold(0.0, |sum, &c| sum * square + c);
    x * numerator / denominator
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn erf_is_close_to_the_error_function() {
        for (x, expected) in [
            (0.0, 0.0),
            (0.1, 0.112_462_916),
            (0.5, 0.520_499_9),
            (1.0, 0.842_700_8),
            (2.0, 0.995_322_3),
            (5.0, 1.0),
            (-1.5, -0.966_105_1),
        ] {
            assert!((erf(x) - expected).abs() < 1e-6, "erf({x}) = {}", erf(x));
        }
    }
}
