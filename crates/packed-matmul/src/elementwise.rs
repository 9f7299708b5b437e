//! The steps between the products of a transformer, on rows of f32: norms, softmax, SwiGLU, rotary
//! positions.
//!
//! [`softmax_scaled`], [`swiglu`], [`geglu`], [`rms_norm`] and [`norm_and_rotate`] run with the widest vectors of
//! the processor. [`exp`], [`softmax`] and [`dot`] are building blocks, to be called within
//! [`vectorised!`](crate::vectorised!). Results are the same on every processor.

use std::ops::Range;

use crate::vectorised;

/// `e^x` within 2 units in the last place for x in [−87, 88], for other x the value at the nearest
/// end; NaN for NaN. Without branches or calls, so that the compiler vectorises loops over it.
///
/// ```
/// let error = packed_matmul::elementwise::exp(1.0) - std::f32::consts::E;
/// assert!(error.abs() < 1e-6);
/// ```
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    /// 1.5 · 2^23: adding it rounds to an integer, which the low bits then are.
    const ROUND: f32 = 12_582_912.0;
    let x = x.clamp(-87.0, 88.0);
    let rounded = x * std::f32::consts::LOG2_E + ROUND;
    let n = rounded - ROUND;
    let r = x - n * 0.693_359_4 + n * 2.121_944_4e-4;
    let p = 1.987_569_1e-4;
    let p = p * r + 1.398_2e-3;
    let p = p * r + 8.333_452e-3;
    let p = p * r + 4.166_579_6e-2;
    let p = p * r + 1.666_666_5e-1;
    let p = p * r + 5e-1;
    let p = p * r * r + r + 1.0;
    let exponent = rounded.to_bits().wrapping_sub(ROUND.to_bits()).wrapping_add(127) << 23;
    p * f32::from_bits(exponent)
}

/// Exponentials of `row − max`, in place; returns their sum. In sixteen partial sums, because the
/// compiler may not reorder one.
#[inline(always)]
fn exp_and_sum(row: &mut [f32], max: f32) -> f32 {
    let mut sums = [0f32; 16];
    let mut chunks = row.chunks_exact_mut(16);
    for chunk in &mut chunks {
        for (sum, x) in sums.iter_mut().zip(chunk) {
            *x = exp(*x - max);
            *sum += *x;
        }
    }
    let mut total: f32 = sums.iter().sum();
    for x in chunks.into_remainder() {
        *x = exp(*x - max);
        total += *x;
    }
    total
}

#[inline(always)]
fn max_of(row: &[f32]) -> f32 {
    let mut maxima = [f32::NEG_INFINITY; 16];
    let chunks = row.chunks_exact(16);
    let rest = chunks.remainder();
    for chunk in chunks {
        for (max, &x) in maxima.iter_mut().zip(chunk) {
            *max = if x > *max { x } else { *max };
        }
    }
    maxima.iter().chain(rest).fold(f32::NEG_INFINITY, |m, &x| m.max(x))
}

/// Softmax of one row, in place.
#[inline(always)]
pub fn softmax(row: &mut [f32]) {
    let max = max_of(row);
    let inverse = 1.0 / exp_and_sum(row, max);
    for x in row {
        *x *= inverse;
    }
}

vectorised! {
/// Softmax of `scale · row`, in place, over the values in `seen` except those in `hidden`; all others
/// become 0.
///
/// # Panics
/// If `seen` is not within the row, or `hidden` not within `seen`.
pub fn softmax_scaled(row: &mut [f32], scale: f32, seen: Range<usize>, hidden: Range<usize>) {
    let (row, later) = row.split_at_mut(seen.end);
    let (earlier, row) = row.split_at_mut(seen.start);
    for x in row.iter_mut() {
        *x *= scale;
    }
    if hidden.is_empty() {
        softmax(row);
    } else {
        let hidden = hidden.start - seen.start..hidden.end - seen.start;
        row[hidden.clone()].fill(f32::NEG_INFINITY);
        softmax(row);
        row[hidden].fill(0.0);
    }
    earlier.fill(0.0);
    later.fill(0.0);
}
}

vectorised! {
/// `silu(gate) · up`, element by element, into `out`.
///
/// # Panics
/// If the lengths differ.
pub fn swiglu(gate: &[f32], up: &[f32], out: &mut [f32]) {
    assert!(gate.len() == out.len() && up.len() == out.len());
    for ((out, &g), &u) in out.iter_mut().zip(gate).zip(up) {
        *out = g / (1.0 + exp(-g)) * u;
    }
}
}

vectorised! {
/// `gelu(gate) · up`, element by element, into `out`; GELU in its approximation by a tangens hyperbolicus.
///
/// # Panics
/// If the lengths differ.
pub fn geglu(gate: &[f32], up: &[f32], out: &mut [f32]) {
    /// 2 · √(2 / π): (1 + tanh u) / 2 is 1 / (1 + e^−2u).
    const TWICE: f32 = 1.595_769_2;
    assert!(gate.len() == out.len() && up.len() == out.len());
    for ((out, &g), &u) in out.iter_mut().zip(gate).zip(up) {
        *out = g / (1.0 + exp(-TWICE * (g + 0.044_715 * g * g * g))) * u;
    }
}
}

#[inline(always)]
fn sum_of_squares(xs: &[f32]) -> f32 {
    let mut sums = [0f32; 16];
    let (chunks, rest) = xs.as_chunks::<16>();
    for chunk in chunks {
        for (sum, x) in sums.iter_mut().zip(chunk) {
            *sum += x * x;
        }
    }
    sums.iter().sum::<f32>() + rest.iter().map(|x| x * x).sum::<f32>()
}

#[inline(always)]
fn normed(xs: &[f32], weight: &[f32], epsilon: f32, out: &mut [f32]) {
    assert!(xs.len() == out.len() && weight.len() == out.len());
    let inverse = 1.0 / (sum_of_squares(xs) / xs.len() as f32 + epsilon).sqrt();
    for ((out, x), w) in out.iter_mut().zip(xs).zip(weight) {
        *out = x * inverse * w;
    }
}

vectorised! {
/// `xs` scaled to a root mean square of 1, times `weight`, into `out`.
///
/// # Panics
/// If the lengths differ.
pub fn rms_norm(xs: &[f32], weight: &[f32], epsilon: f32, out: &mut [f32]) {
    normed(xs, weight, epsilon, out);
}
}

vectorised! {
/// One head at one position, into `out`: [`rms_norm`] unless `weight` is empty, then the rotation
/// unless `cos` is. There is a cosine and a sine for each pair of dimensions; `interleaved` pairs are
/// side by side, others half a head apart.
///
/// # Panics
/// If the lengths differ, or there are more pairs than half of `out`.
pub fn norm_and_rotate(
    xs: &[f32],
    weight: &[f32],
    epsilon: f32,
    cos: &[f32],
    sin: &[f32],
    interleaved: bool,
    out: &mut [f32],
) {
    if weight.is_empty() {
        out.copy_from_slice(xs);
    } else {
        normed(xs, weight, epsilon, out);
    }
    assert!(cos.len() == sin.len() && 2 * cos.len() <= out.len());
    if cos.is_empty() {
        return;
    }
    if interleaved {
        for ((pair, cos), sin) in out.as_chunks_mut::<2>().0.iter_mut().zip(cos).zip(sin) {
            let [a, b] = *pair;
            *pair = [a * cos - b * sin, a * sin + b * cos];
        }
        return;
    }
    let (first, second) = out.split_at_mut(cos.len());
    for (((a, b), cos), sin) in first.iter_mut().zip(second).zip(cos).zip(sin) {
        (*a, *b) = (*a * cos - *b * sin, *a * sin + *b * cos);
    }
}
}

/// `Σ a · b`, over the shorter of the two.
#[inline(always)]
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    // Sixteen partial sums, because the compiler may not reorder one.
    let mut sums = [0f32; 16];
    let (a_chunks, a_rest) = a.as_chunks::<16>();
    let (b_chunks, b_rest) = b.as_chunks::<16>();
    for (a, b) in a_chunks.iter().zip(b_chunks) {
        for lane in 0..16 {
            sums[lane] += a[lane] * b[lane];
        }
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    // Pairwise: added one after the other, the sixteen would take longer than a short row.
    for half in [8, 4, 2, 1] {
        for lane in 0..half {
            sums[lane] += sums[half + lane];
        }
    }
    sums[0] + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_is_within_a_few_units_in_the_last_place() {
        for i in -8700..8800 {
            let x = i as f32 / 100.0;
            let expected = f64::from(x).exp();
            let error = (f64::from(exp(x)) - expected).abs() / expected;
            assert!(error < 3e-7, "{x}: {error}");
        }
        assert!(exp(f32::NAN).is_nan());
        assert!(exp(-1e9) < 1e-37);
    }

    #[test]
    fn hidden_and_later_values_get_no_weight() {
        let mut row: Vec<f32> = (0..40).map(|i| (i * 37 % 11) as f32).collect();
        let expected: Vec<f64> = row.iter().map(|&x| (0.5 * f64::from(x)).exp()).collect();
        softmax_scaled(&mut row, 0.5, 1..30, 3..7);
        let is_seen = |i: usize| (1..3).contains(&i) || (7..30).contains(&i);
        let total: f64 = (0..40).filter(|&i| is_seen(i)).map(|i| expected[i]).sum();
        for (i, &weight) in row.iter().enumerate() {
            let expected = if is_seen(i) { expected[i] / total } else { 0.0 };
            assert!((f64::from(weight) - expected).abs() < 1e-6, "{i}: {weight} {expected}");
        }
    }

    #[test]
    fn gates_equal_their_definitions() {
        let gate: Vec<f32> = (-200..200).map(|i| i as f32 / 20.0).collect();
        let up: Vec<f32> = (0..400).map(|i| (i * 37 % 11) as f32 / 4.0 - 1.0).collect();
        let mut out = vec![0.0; 400];
        let check = |out: &[f32], activation: fn(f64) -> f64| {
            for ((&out, &g), &u) in out.iter().zip(&gate).zip(&up) {
                let expected = activation(g.into()) * f64::from(u);
                let error = (f64::from(out) - expected).abs();
                assert!(error < 1e-6 * (1.0 + expected.abs()), "{g}: {out} is not {expected}");
            }
        };
        swiglu(&gate, &up, &mut out);
        check(&out, |g| g / (1.0 + (-g).exp()));
        geglu(&gate, &up, &mut out);
        check(&out, |g| {
            let inner = (2.0 / std::f64::consts::PI).sqrt() * (g + 0.044_715 * g.powi(3));
            0.5 * g * (1.0 + inner.tanh())
        });
    }

    #[test]
    fn a_norm_is_followed_by_a_rotation() {
        let xs = [1.0, 2.0, 3.0, 4.0];
        let (cos, sin) = ([0.0, 1.0], [1.0, 0.0]);
        let mut out = [0.0; 4];
        norm_and_rotate(&xs, &[], 0.0, &cos, &sin, true, &mut out);
        assert_eq!(out, [-2.0, 1.0, 3.0, 4.0]);
        norm_and_rotate(&xs, &[], 0.0, &cos, &sin, false, &mut out);
        assert_eq!(out, [-3.0, 2.0, 1.0, 4.0]);
        let mut expected = [0.0; 4];
        rms_norm(&xs, &[2.0; 4], 0.0, &mut expected);
        norm_and_rotate(&xs, &[2.0; 4], 0.0, &[], &[], true, &mut out);
        assert_eq!(out, expected);
        let mean = out.iter().map(|x| x * x).sum::<f32>() / 4.0;
        assert!((mean - 4.0).abs() < 1e-5, "{out:?}");
    }
}
