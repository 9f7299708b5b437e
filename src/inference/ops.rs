//! The element-wise steps that candle's stock operators leave slow on a CPU: norms, rotations,
//! causal softmax in place and SwiGLU, in wide vectors and spread over the cores.
//!
//! On other devices they fall back to stock operators.

use std::ops::Range;

use candle_core::{
    CpuStorage, CustomOp2, D, DType, Device, InplaceOp1, Layout, Result, Shape, Storage, Tensor,
};
use half::f16;
use rayon::prelude::*;

use super::branches::Run;
use super::kernels::{self, vectorised};
use super::rope::Rotation;

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

/// Exponentials of `row − max`, in place; returns their sum. Sixteen sums side by side, because the
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
/// Softmax of `scale · row` over the first `visible` values but those `hidden`, the others 0.
fn softmax_of_visible(row: &mut [f32], visible: usize, hidden: Range<usize>, scale: f32) {
    let (seen, later) = row.split_at_mut(visible);
    for x in seen.iter_mut() {
        *x *= scale;
    }
    if hidden.is_empty() {
        softmax(seen);
    } else {
        seen[hidden.clone()].fill(f32::NEG_INFINITY);
        softmax(seen);
        seen[hidden].fill(0.0);
    }
    later.fill(0.0);
}
}

/// `compute(index, row)` for each row of `width` values, on several cores if that is worth it.
fn each_row(values: &mut [f32], width: usize, compute: impl Fn(usize, &mut [f32]) + Sync) {
    if values.len() < 2 * ELEMENTS_PER_TASK {
        values.chunks_exact_mut(width).enumerate().for_each(|(index, row)| compute(index, row));
    } else {
        values
            .par_chunks_exact_mut(width)
            .enumerate()
            .with_min_len(ELEMENTS_PER_TASK.div_ceil(width))
            .for_each(|(index, row)| compute(index, row));
    }
}

struct CausalSoftmax<'a> {
    run: Run<'a>,
    first: usize,
    n_rows: usize,
    scale: f32,
}

impl InplaceOp1 for CausalSoftmax<'_> {
    fn name(&self) -> &'static str {
        "causal-softmax"
    }

    fn cpu_fwd(&self, storage: &mut CpuStorage, layout: &Layout) -> Result<()> {
        let n_keys = layout.dims().last().copied().unwrap_or(0);
        let (CpuStorage::F32(values), Some((start, end))) = (storage, layout.contiguous_offsets())
        else {
            candle_core::bail!("causal softmax needs contiguous f32 scores")
        };
        each_row(&mut values[start..end], n_keys, |index, row| {
            let query = self.first + index % self.n_rows;
            let visible = self.run.visible(query).min(n_keys);
            softmax_of_visible(row, visible, self.run.hidden(query), self.scale);
        });
        Ok(())
    }
}

/// `softmax(scale · scores)` over the keys that each query may see, the others 0.
///
/// `scores`: `[n_groups, repeats · n_rows, n_keys]`; row r is the query of the run's token
/// `first + r % n_rows` and sees the keys up to its own, but those of other branches.
pub fn causal_softmax(
    scores: Tensor,
    run: Run<'_>,
    first: usize,
    n_rows: usize,
    scale: f32,
) -> Result<Tensor> {
    if matches!(scores.device(), Device::Cpu) {
        scores.inplace_op1(&CausalSoftmax { run, first, n_rows, scale })?;
        return Ok(scores);
    }
    let (n_groups, rows, n_keys) = scores.dims3()?;
    let mask: Vec<f32> = (0..rows)
        .flat_map(|row| {
            let query = first + row % n_rows;
            let (visible, hidden) = (run.visible(query), run.hidden(query));
            (0..n_keys).map(move |key| {
                let is_seen = key < visible && !hidden.contains(&key);
                if is_seen { 0.0 } else { f32::NEG_INFINITY }
            })
        })
        .collect();
    let mask = Tensor::from_vec(mask, (1, rows, n_keys), scores.device())?;
    let scores = (scores * f64::from(scale))?.broadcast_add(&mask)?;
    debug_assert_eq!(scores.dim(0)?, n_groups);
    candle_nn::ops::softmax_last_dim(&scores)
}

struct SwiGlu;

vectorised! {
fn swiglu_row(gate: &[f32], up: &[f32], out: &mut [f32]) {
    for ((out, &g), &u) in out.iter_mut().zip(gate).zip(up) {
        *out = g / (1.0 + exp(-g)) * u;
    }
}
}

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
        each_row(&mut out, width, |row, out| swiglu_row(gate_row(row), up_row(row), out));
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
fn norm(xs: &[f32], weight: &[f32], epsilon: f32, out: &mut [f32]) {
    let inverse = 1.0 / (sum_of_squares(xs) / xs.len() as f32 + epsilon).sqrt();
    for ((out, x), w) in out.iter_mut().zip(xs).zip(weight) {
        *out = x * inverse * w;
    }
}

vectorised! {
fn norm_row(xs: &[f32], weight: &[f32], epsilon: f32, out: &mut [f32]) {
    norm(xs, weight, epsilon, out);
}
}

struct RmsNorm {
    epsilon: f32,
}

impl CustomOp2 for RmsNorm {
    fn name(&self) -> &'static str {
        "rms-norm"
    }

    fn cpu_fwd(
        &self,
        xs: &CpuStorage,
        layout: &Layout,
        weight: &CpuStorage,
        weight_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let (n, width) = layout.shape().dims2()?;
        let row = rows(xs, layout)?;
        let (CpuStorage::F32(weight), Some((start, end))) =
            (weight, weight_layout.contiguous_offsets())
        else {
            candle_core::bail!("a norm needs an f32 weight")
        };
        let weight = &weight[start..end];
        let mut out = vec![0f32; n * width];
        each_row(&mut out, width, |index, out| norm_row(row(index), weight, self.epsilon, out));
        Ok((CpuStorage::F32(out), Shape::from((n, width))))
    }
}

/// Rows `[n, width]` scaled to unit root mean square, times `weight`.
pub fn rms_norm(xs: &Tensor, weight: &Tensor, epsilon: f64) -> Result<Tensor> {
    debug_assert_eq!(xs.dim(D::Minus1)?, weight.elem_count());
    let epsilon = epsilon as f32;
    if matches!(xs.device(), Device::Cpu) && xs.dtype() == DType::F32 && xs.dims().len() == 2 {
        return xs.apply_op2_no_bwd(weight, &RmsNorm { epsilon });
    }
    candle_nn::ops::rms_norm(&xs.contiguous()?, weight, epsilon)
}

/// What becomes of a projection: heads, each normed and rotated.
pub struct Projection<'a> {
    pub n_heads: usize,
    /// Qwen3: the weight of a norm over each head.
    pub norm: Option<&'a Tensor>,
    pub norm_epsilon: f64,
    pub rotation: Option<&'a Rotation>,
    /// F32 or F16.
    pub dtype: DType,
}

impl Projection<'_> {
    /// `[n, n_heads · head_dim]` → `[n_heads, n, head_dim]`.
    pub fn split(&self, xs: &Tensor) -> Result<Tensor> {
        if matches!(xs.device(), Device::Cpu) && xs.dtype() == DType::F32 {
            return self.split_on_cpu(xs);
        }
        let (n, width) = xs.dims2()?;
        let xs = xs.reshape((n, self.n_heads, width / self.n_heads))?;
        let mut xs = xs.transpose(0, 1)?.contiguous()?;
        if let Some(norm) = self.norm {
            xs = candle_nn::ops::rms_norm(&xs, norm, self.norm_epsilon as f32)?;
        }
        if let Some(rotation) = self.rotation {
            xs = rotation.apply(&xs)?;
        }
        xs.to_dtype(self.dtype)
    }

    fn split_on_cpu(&self, xs: &Tensor) -> Result<Tensor> {
        let (n, width) = xs.dims2()?;
        let dim = width / self.n_heads;
        let shape = (self.n_heads, n, dim);
        let (storage, layout) = xs.storage_and_layout();
        let Storage::Cpu(storage) = &*storage else { candle_core::bail!("not on the processor") };
        let row = rows(storage, layout)?;
        let norm: Vec<f32> = self.norm.map(Tensor::to_vec1).transpose()?.unwrap_or_default();
        let epsilon = self.norm_epsilon as f32;
        let one = |head: usize, position: usize, out: &mut [f32]| {
            let xs = &row(position)[head * dim..(head + 1) * dim];
            match self.rotation {
                Some(rotation) => {
                    let (cos, sin) = rotation.at(position);
                    head_row(xs, &norm, epsilon, cos, sin, rotation.interleaved(), out);
                }
                None => head_row(xs, &norm, epsilon, &[], &[], false, out),
            }
        };
        let positions_per_task = ELEMENTS_PER_TASK.div_ceil(dim);
        if self.dtype == DType::F16 {
            let mut out = vec![f16::ZERO; self.n_heads * n * dim];
            let rows = out.par_chunks_exact_mut(dim).enumerate().with_min_len(positions_per_task);
            rows.for_each_init(
                || vec![0f32; dim],
                |exact, (index, out)| {
                    one(index / n, index % n, exact);
                    kernels::narrow(exact, out);
                },
            );
            return Tensor::from_vec(out, shape, &Device::Cpu);
        }
        let mut out = vec![0f32; self.n_heads * n * dim];
        let rows = out.par_chunks_exact_mut(dim).enumerate();
        rows.with_min_len(positions_per_task)
            .for_each(|(index, out)| one(index / n, index % n, out));
        Tensor::from_vec(out, shape, &Device::Cpu)
    }
}

vectorised! {
/// One head at one position: the norm if there is a weight, then the rotation if there are cosines.
fn head_row(
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
        norm(xs, weight, epsilon, out);
    }
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

/// In f32, whatever it was in.
pub fn to_f32(xs: &Tensor) -> Result<Tensor> {
    if xs.dtype() != DType::F16 || !matches!(xs.device(), Device::Cpu) {
        return xs.to_dtype(DType::F32);
    }
    let (n_groups, n, dim) = xs.dims3()?;
    let (storage, layout) = xs.storage_and_layout();
    let (Storage::Cpu(CpuStorage::F16(values)), [stride, row, 1]) = (&*storage, layout.stride())
    else {
        candle_core::bail!("expected f16 rows")
    };
    if *row != dim {
        candle_core::bail!("expected rows side by side")
    }
    let start = layout.start_offset();
    let mut out = vec![0f32; n_groups * n * dim];
    if !out.is_empty() {
        out.par_chunks_exact_mut(n * dim).enumerate().for_each(|(group, out)| {
            let from = start + group * stride;
            kernels::widen(&values[from..from + n * dim], out);
        });
    }
    Tensor::from_vec(out, (n_groups, n, dim), &Device::Cpu)
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
        let (groups, repeats, n_rows, start) = (2, 3, 5, 4);
        let n_keys = start + n_rows;
        let raw: Vec<f32> = (0..groups * repeats * n_rows * n_keys)
            .map(|i| ((i * 37) % 101) as f32 / 9.0)
            .collect();
        for branches in [&[][..], &[0, 0, 2, 2, 4][..]] {
            let scores =
                Tensor::from_vec(raw.clone(), (groups, repeats * n_rows, n_keys), &Device::Cpu)
                    .unwrap();
            let run = Run { start, branches };
            let got = causal_softmax(scores, run, 0, n_rows, 0.5).unwrap();
            let got: Vec<f32> = got.flatten_all().unwrap().to_vec1().unwrap();
            for (index, (row, raw)) in got.chunks(n_keys).zip(raw.chunks(n_keys)).enumerate() {
                let query = index % n_rows;
                let branch = branches.get(query).copied().unwrap_or(0);
                let is_seen =
                    |key: usize| key < start || (start + branch..=start + query).contains(&key);
                let weight = |key: usize| {
                    if is_seen(key) { (0.5 * f64::from(raw[key])).exp() } else { 0.0 }
                };
                let total: f64 = (0..n_keys).map(weight).sum();
                for (key, &p) in row.iter().enumerate() {
                    let expected = weight(key) / total;
                    assert!((f64::from(p) - expected).abs() < 1e-6, "row {index}, key {key}");
                }
            }
        }
    }
}
