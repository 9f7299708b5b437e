//! The element-wise steps that candle's stock operators leave slow on a CPU: norms, rotations,
//! causal softmax in place and gates, by [`packed_matmul::elementwise`] and spread over the cores.
//!
//! On other devices they fall back to stock operators.

use std::ops::Range;

use candle_core::{
    CpuStorage, CustomOp2, D, DType, Device, InplaceOp1, Layout, Result, Shape, Storage, Tensor,
};
use half::f16;
pub use packed_matmul::elementwise::{exp, softmax};
use packed_matmul::{elementwise, f16_to_f32, f32_to_f16};
use rayon::prelude::*;

use super::branches::Run;
use super::config::Activation;
use super::rope::Rotation;

/// The fewest elements that are worth another core.
const ELEMENTS_PER_TASK: usize = 16 * 1024;

/// `compute(index, row)` for each row of `width` values, on several cores if there are enough.
pub fn each_row(values: &mut [f32], width: usize, compute: impl Fn(usize, &mut [f32]) + Sync) {
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

packed_matmul::vectorised! {
/// Draws values towards 0 so that none is beyond `cap`: `cap · tanh(x / cap)`.
pub fn cap(values: &mut [f32], cap: f32) {
    for x in values {
        *x = cap - 2.0 * cap / (exp(2.0 * *x / cap) + 1.0);
    }
}
}

struct CausalSoftmax<'a> {
    run: Run<'a>,
    first: usize,
    n_rows: usize,
    first_key: usize,
    scale: f32,
}

impl CausalSoftmax<'_> {
    /// Which of the keys the query of a row sees, and those among them that it does not.
    fn keys(&self, row: usize) -> (Range<usize>, Range<usize>) {
        let query = self.first + row % self.n_rows;
        let key = |index: usize| index - self.first_key;
        let hidden = self.run.hidden(query);
        let seen = key(self.run.first(query))..key(self.run.visible(query));
        (seen, key(hidden.start)..key(hidden.end))
    }
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
            let (seen, hidden) = self.keys(index);
            elementwise::softmax_scaled(row, self.scale, seen, hidden);
        });
        Ok(())
    }
}

/// `softmax(scale · scores)` over the keys that each query may see, the others 0.
///
/// `scores`: `[n_groups, repeats · n_rows, n_keys]`; row r is the query of the run's token `first + r % n_rows`. The
/// keys begin with `first_key`, and end with that of the last row's token.
///
/// # Errors
/// If `scores` has another shape, type or layout.
pub fn causal_softmax(
    scores: Tensor,
    run: Run<'_>,
    (first, n_rows): (usize, usize),
    first_key: usize,
    scale: f32,
) -> Result<Tensor> {
    let softmax = CausalSoftmax { run, first, n_rows, first_key, scale };
    if matches!(scores.device(), Device::Cpu) {
        scores.inplace_op1(&softmax)?;
        return Ok(scores);
    }
    let (n_groups, rows, n_keys) = scores.dims3()?;
    let mask: Vec<f32> = (0..rows)
        .flat_map(|row| {
            let (seen, hidden) = softmax.keys(row);
            (0..n_keys).map(move |key| {
                let is_seen = seen.contains(&key) && !hidden.contains(&key);
                if is_seen { 0.0 } else { f32::NEG_INFINITY }
            })
        })
        .collect();
    let mask = Tensor::from_vec(mask, (1, rows, n_keys), scores.device())?;
    let scores = (scores * f64::from(scale))?.broadcast_add(&mask)?;
    debug_assert_eq!(scores.dim(0)?, n_groups);
    candle_nn::ops::softmax_last_dim(&scores)
}

/// `activation(gate) · up`.
struct Gated(Activation);

/// The rows of a `[n, width]` view whose values lie side by side.
fn rows<'a>(storage: &'a CpuStorage, layout: &Layout) -> Result<impl Fn(usize) -> &'a [f32]> {
    let (CpuStorage::F32(values), [_, width], [stride, 1]) =
        (storage, layout.dims(), layout.stride())
    else {
        candle_core::bail!("this step needs f32 matrices")
    };
    let (start, width, stride) = (layout.start_offset(), *width, *stride);
    Ok(move |row| &values[start + row * stride..start + row * stride + width])
}

impl CustomOp2 for Gated {
    fn name(&self) -> &'static str {
        "gated"
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
        let compute = gate_by(self.0);
        each_row(&mut out, width, |row, out| compute(gate_row(row), up_row(row), out));
        Ok((CpuStorage::F32(out), Shape::from((n, width))))
    }
}

fn gate_by(activation: Activation) -> fn(&[f32], &[f32], &mut [f32]) {
    match activation {
        Activation::Silu => elementwise::swiglu,
        Activation::GeluTanh => elementwise::geglu,
    }
}

/// `activation(gate) · up` of each pair, in its place.
pub fn gate_each(activation: Activation, pairs: &mut [Vec<Vec<f32>>]) {
    let compute = gate_by(activation);
    let gate = |pair: &mut Vec<Vec<f32>>| {
        if let [gate, up] = pair.as_slice() {
            let mut out = vec![0f32; gate.len()];
            compute(gate, up, &mut out);
            *pair = vec![out];
        }
    };
    if pairs.iter().flatten().map(Vec::len).sum::<usize>() < 4 * ELEMENTS_PER_TASK {
        pairs.iter_mut().for_each(gate);
    } else {
        pairs.par_iter_mut().for_each(gate);
    }
}

/// `activation(gate) · up`, both `[n, width]`.
///
/// # Errors
/// If the shapes or types differ.
pub fn gated(activation: Activation, gate: &Tensor, up: &Tensor) -> Result<Tensor> {
    if matches!(gate.device(), Device::Cpu) && gate.dtype() == DType::F32 {
        return gate.apply_op2_no_bwd(up, &Gated(activation));
    }
    match activation {
        Activation::Silu => gate.silu()? * up,
        Activation::GeluTanh => gate.gelu()? * up,
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
        each_row(&mut out, width, |index, out| {
            elementwise::rms_norm(row(index), weight, self.epsilon, out);
        });
        Ok((CpuStorage::F32(out), Shape::from((n, width))))
    }
}

/// Rows `[n, width]` scaled to a root mean square of 1, times `weight`.
///
/// # Errors
/// If a shape or type does not fit.
pub fn rms_norm(xs: &Tensor, weight: &Tensor, epsilon: f64) -> Result<Tensor> {
    debug_assert_eq!(xs.dim(D::Minus1)?, weight.elem_count());
    let epsilon = epsilon as f32;
    if matches!(xs.device(), Device::Cpu) && xs.dtype() == DType::F32 && xs.dims().len() == 2 {
        return xs.apply_op2_no_bwd(weight, &RmsNorm { epsilon });
    }
    candle_nn::ops::rms_norm(&xs.contiguous()?, weight, epsilon)
}

/// How a projection is split into heads, each normed and rotated.
pub struct Projection<'a> {
    /// Heads of the projection.
    pub n_heads: usize,
    /// Qwen3: the weight of a norm over each head.
    pub norm: Option<&'a Tensor>,
    /// Of that norm.
    pub norm_epsilon: f64,
    /// Rotary positions, if the heads have them.
    pub rotation: Option<&'a Rotation>,
    /// Of the result: F32 or F16.
    pub dtype: DType,
}

impl Projection<'_> {
    /// `[n, n_heads · head_dim]` → `[n_heads, n, head_dim]`.
    ///
    /// # Errors
    /// If a shape or type does not fit.
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
                    let interleaved = rotation.interleaved();
                    elementwise::norm_and_rotate(xs, &norm, epsilon, cos, sin, interleaved, out);
                }
                None => elementwise::norm_and_rotate(xs, &norm, epsilon, &[], &[], false, out),
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
                    f32_to_f16(exact, out);
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

/// Keys or values `[n_heads, n, head_dim]` in f32.
///
/// # Errors
/// If f16 rows are not side by side.
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
            f16_to_f32(&values[from..from + n * dim], out);
        });
    }
    Tensor::from_vec(out, (n_groups, n, dim), &Device::Cpu)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causal_softmax_equals_the_definition() {
        let (groups, repeats, n_rows, start) = (2, 3, 5, 4);
        let n_keys = start + n_rows;
        let raw: Vec<f32> = (0..groups * repeats * n_rows * n_keys)
            .map(|i| ((i * 37) % 101) as f32 / 9.0)
            .collect();
        let windows = [None, Some(1), Some(2), Some(3), Some(6), Some(99)];
        let branches = [&[][..], &[0, 0, 2, 2, 4][..]];
        for (branches, window) in branches.iter().flat_map(|&b| windows.map(|w| (b, w))) {
            let scores =
                Tensor::from_vec(raw.clone(), (groups, repeats * n_rows, n_keys), &Device::Cpu)
                    .unwrap();
            let run = Run { start, branches, window };
            let got = causal_softmax(scores, run, (0, n_rows), 0, 0.5).unwrap();
            let got: Vec<f32> = got.flatten_all().unwrap().to_vec1().unwrap();
            for (index, (row, raw)) in got.chunks(n_keys).zip(raw.chunks(n_keys)).enumerate() {
                let query = index % n_rows;
                let branch = branches.get(query).copied().unwrap_or(0);
                // Where a key stands in the query's own text.
                let position = |key: usize| if key < start { key } else { key - branch };
                let is_seen = |key: usize| {
                    let is_own = key < start || (start + branch..=start + query).contains(&key);
                    is_own && window.is_none_or(|w| start + query - branch < position(key) + w)
                };
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
