//! The element-wise steps that candle's stock operators leave slow on a CPU: causal softmax in
//! place and SwiGLU, both with a vectorisable exponential and spread over the cores.
//!
//! On other devices they fall back to stock operators.

use candle_core::{
    CpuStorage, CustomOp2, D, DType, Device, InplaceOp1, Layout, Result, Shape, Tensor,
};
use rayon::prelude::*;

/// Below this many elements a task is not worth sending to another core.
const ELEMENTS_PER_TASK: usize = 16 * 1024;

/// `e^x` within 2 units in the last place for x in [−87, 88] (clamped there); NaN stays NaN.
/// Without branches or calls, so that the compiler vectorises loops over it.
#[inline]
pub fn exp(x: f32) -> f32 {
    /// 1.5 · 2^23: adding it rounds to an integer, which the low bits then hold.
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

/// Exponentials of `row − max`, in place; returns their sum. Eight sums side by side, because the
/// compiler may not reorder one.
fn exp_and_sum(row: &mut [f32], max: f32) -> f32 {
    let mut sums = [0f32; 8];
    let mut chunks = row.chunks_exact_mut(8);
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

fn max_of(row: &[f32]) -> f32 {
    let mut maxima = [f32::NEG_INFINITY; 8];
    let chunks = row.chunks_exact(8);
    let rest = chunks.remainder();
    for chunk in chunks {
        for (max, &x) in maxima.iter_mut().zip(chunk) {
            *max = if x > *max { x } else { *max };
        }
    }
    maxima.iter().chain(rest).fold(f32::NEG_INFINITY, |m, &x| m.max(x))
}

/// Softmax of one row, in place.
pub fn softmax(row: &mut [f32]) {
    let max = max_of(row);
    let inverse = 1.0 / exp_and_sum(row, max);
    for x in row {
        *x *= inverse;
    }
}

struct CausalSoftmax {
    first_position: usize,
    n_rows: usize,
    scale: f32,
}

impl InplaceOp1 for CausalSoftmax {
    fn name(&self) -> &'static str {
        "causal-softmax"
    }

    fn cpu_fwd(&self, storage: &mut CpuStorage, layout: &Layout) -> Result<()> {
        let n_keys = layout.dims().last().copied().unwrap_or(0);
        let (CpuStorage::F32(values), Some((start, end))) = (storage, layout.contiguous_offsets())
        else {
            candle_core::bail!("causal softmax needs contiguous f32 scores")
        };
        let softmax = |(index, row): (usize, &mut [f32])| {
            let visible = (self.first_position + index % self.n_rows + 1).min(n_keys);
            let (seen, hidden) = row.split_at_mut(visible);
            for x in seen.iter_mut() {
                *x *= self.scale;
            }
            softmax(seen);
            hidden.fill(0.0);
        };
        let values = &mut values[start..end];
        if values.len() < 2 * ELEMENTS_PER_TASK {
            values.chunks_exact_mut(n_keys).enumerate().for_each(softmax);
        } else {
            values
                .par_chunks_exact_mut(n_keys)
                .enumerate()
                .with_min_len(ELEMENTS_PER_TASK.div_ceil(n_keys))
                .for_each(softmax);
        }
        Ok(())
    }
}

/// `softmax(scale · scores)` over the keys that each query may see, the others 0.
///
/// `scores`: `[n_groups, repeats · n_rows, n_keys]`; row r is the query at position
/// `first_position + r % n_rows` and sees the keys up to its own position.
pub fn causal_softmax(
    scores: Tensor,
    first_position: usize,
    n_rows: usize,
    scale: f32,
) -> Result<Tensor> {
    if matches!(scores.device(), Device::Cpu) {
        scores.inplace_op1(&CausalSoftmax { first_position, n_rows, scale })?;
        return Ok(scores);
    }
    let (n_groups, rows, n_keys) = scores.dims3()?;
    let mask: Vec<f32> = (0..rows)
        .flat_map(|row| {
            let visible = first_position + row % n_rows + 1;
            (0..n_keys).map(move |key| if key < visible { 0.0 } else { f32::NEG_INFINITY })
        })
        .collect();
    let mask = Tensor::from_vec(mask, (1, rows, n_keys), scores.device())?;
    let scores = (scores * f64::from(scale))?.broadcast_add(&mask)?;
    debug_assert_eq!(scores.dim(0)?, n_groups);
    candle_nn::ops::softmax_last_dim(&scores)
}

struct SwiGlu;

/// The rows of a `[n, width]` view whose values lie side by side.
fn rows<'a>(storage: &'a CpuStorage, layout: &Layout) -> Result<impl Fn(usize) -> &'a [f32]> {
    let (CpuStorage::F32(values), [_, width], [stride, 1]) =
        (storage, layout.dims(), layout.stride())
    else {
        candle_core::bail!("swiglu needs f32 matrices")
    };
    let (start, width, stride) = (layout.start_offset(), *width, *stride);
    Ok(move |row| &values[start + row * stride..start + row * stride + width])
}

impl CustomOp2 for SwiGlu {
    fn name(&self) -> &'static str {
        "swiglu"
    }

    fn cpu_fwd(
        &self,
        gate: &CpuStorage,
        gate_layout: &Layout,
        up: &CpuStorage,
        up_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let (n, width) = gate_layout.shape().dims2()?;
        let (gate_row, up_row) = (rows(gate, gate_layout)?, rows(up, up_layout)?);
        let mut out = vec![0f32; n * width];
        let compute = |(row, out): (usize, &mut [f32])| {
            for ((out, &g), &u) in out.iter_mut().zip(gate_row(row)).zip(up_row(row)) {
                *out = g / (1.0 + exp(-g)) * u;
            }
        };
        if out.len() < 2 * ELEMENTS_PER_TASK {
            out.chunks_exact_mut(width).enumerate().for_each(compute);
        } else {
            out.par_chunks_exact_mut(width)
                .enumerate()
                .with_min_len(ELEMENTS_PER_TASK.div_ceil(width))
                .for_each(compute);
        }
        Ok((CpuStorage::F32(out), Shape::from((n, width))))
    }
}

/// `silu(gate) · up`, both `[n, width]`.
pub fn swiglu(gate: &Tensor, up: &Tensor) -> Result<Tensor> {
    if matches!(gate.device(), Device::Cpu) && gate.dtype() == DType::F32 {
        return gate.apply_op2_no_bwd(up, &SwiGlu);
    }
    gate.silu()? * up
}

/// Rows `[n, width]` scaled to unit root mean square, times `weight`.
pub fn rms_norm(xs: &Tensor, weight: &Tensor, epsilon: f64) -> Result<Tensor> {
    debug_assert_eq!(xs.dim(D::Minus1)?, weight.elem_count());
    candle_nn::ops::rms_norm(xs, weight, epsilon as f32)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn exp_is_exact_to_a_few_units() {
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
    fn causal_softmax_equals_the_definition() {
        let (groups, repeats, n_rows, first) = (2, 3, 5, 4);
        let n_keys = first + n_rows;
        let raw: Vec<f32> = (0..groups * repeats * n_rows * n_keys)
            .map(|i| ((i * 37) % 101) as f32 / 9.0)
            .collect();
        let scores =
            Tensor::from_vec(raw.clone(), (groups, repeats * n_rows, n_keys), &Device::Cpu)
                .unwrap();
        let got: Vec<f32> = causal_softmax(scores, first, n_rows, 0.5)
            .unwrap()
            .flatten_all()
            .unwrap()
            .to_vec1()
            .unwrap();
        for (index, (row, raw)) in got.chunks(n_keys).zip(raw.chunks(n_keys)).enumerate() {
            let visible = first + index % n_rows + 1;
            let weights: Vec<f64> =
                raw[..visible].iter().map(|&x| (0.5 * f64::from(x)).exp()).collect();
            let total: f64 = weights.iter().sum();
            for (key, &p) in row.iter().enumerate() {
                let expected = weights.get(key).map_or(0.0, |w| w / total);
                assert!((f64::from(p) - expected).abs() < 1e-6, "row {index}, key {key}");
            }
        }
    }
}
