//! Causal attention over cached keys and values.
//!
//! Many queries (a prefill) are computed in blocks of 64 by matrix products over the keys that the
//! last query of the block may see: stock attention on a CPU is what makes prefill slow (DESIGN
//! §2). A single one (decoding) reads each key and value once, without a matrix product's packing.

use candle_core::{CpuStorage, CustomOp3, DType, Device, Layout, Result, Shape, Tensor};
use half::f16;
use rayon::prelude::*;

use super::branches::Run;
use super::kernels::{self, vectorised};
use super::ops;

const QUERIES_PER_BLOCK: usize = 64;

/// Below this many values of keys a head is not worth sending to another core.
const VALUES_PER_TASK: usize = 32 * 1024;

/// Attends with queries `[n_heads, n, head_dim]` of a run to keys and values
/// `[n_kv_heads, start + n, head_dim]`; `[n, n_heads · head_dim]`.
pub fn attend(queries: &Tensor, keys: &Tensor, values: &Tensor, run: Run<'_>) -> Result<Tensor> {
    let (n_heads, n, head_dim) = queries.dims3()?;
    let n_kv_heads = keys.dim(0)?;
    let repeats = n_heads / n_kv_heads;
    let scale = 1.0 / (head_dim as f32).sqrt();
    let on_cpu = matches!(queries.device(), Device::Cpu) && queries.dtype() == DType::F32;
    if n == 1 && on_cpu {
        let queries = queries.reshape((n_kv_heads, repeats, head_dim))?;
        let mixed = queries.apply_op3_no_bwd(keys, values, &SingleQuery { scale })?;
        return mixed.reshape((1, n_heads * head_dim));
    }
    let queries = queries.reshape((n_kv_heads, repeats, n, head_dim))?;
    let (keys, values) = (&ops::to_f32(keys)?, &ops::to_f32(values)?);
    let mut blocks = Vec::with_capacity(n.div_ceil(QUERIES_PER_BLOCK));
    for first in (0..n).step_by(QUERIES_PER_BLOCK) {
        let n_rows = QUERIES_PER_BLOCK.min(n - first);
        let visible = run.visible(first + n_rows - 1);
        let block = queries.narrow(2, first, n_rows)?.contiguous()?.reshape((
            n_kv_heads,
            repeats * n_rows,
            head_dim,
        ))?;
        let scores = block.matmul(&keys.narrow(1, 0, visible)?.transpose(1, 2)?)?;
        let shares = ops::causal_softmax(scores, run, first, n_rows, scale)?;
        let mixed = shares.matmul(&values.narrow(1, 0, visible)?)?;
        // [kv, repeats · rows, d] → [rows, heads · d]
        let mixed = mixed
            .reshape((n_heads, n_rows, head_dim))?
            .transpose(0, 1)?
            .reshape((n_rows, n_heads * head_dim))?;
        blocks.push(mixed);
    }
    if let [one] = blocks.as_slice() { Ok(one.clone()) } else { Tensor::cat(&blocks, 0) }
}

/// One position's queries `[n_kv_heads, repeats, head_dim]`, which see every key.
struct SingleQuery {
    scale: f32,
}

/// Keys or values of one head, side by side.
#[derive(Clone, Copy)]
enum Cached<'a> {
    Half(&'a [f16]),
    Single(&'a [f32]),
}

impl<'a> Cached<'a> {
    fn head(storage: &'a CpuStorage, layout: &Layout, index: usize) -> Result<Self> {
        let ([_, n, dim], [stride, row, 1]) = (layout.dims(), layout.stride()) else {
            candle_core::bail!("attention needs heads of rows")
        };
        if row != dim {
            candle_core::bail!("attention needs rows side by side")
        }
        let start = layout.start_offset() + index * stride;
        let range = start..start + n * dim;
        match storage {
            CpuStorage::F16(values) => Ok(Self::Half(&values[range])),
            CpuStorage::F32(values) => Ok(Self::Single(&values[range])),
            _ => candle_core::bail!("attention needs f16 or f32"),
        }
    }

    /// Each query (rows of `dim`) times each of these keys: a row of scores a query.
    fn score(self, queries: &[f32], dim: usize, scale: f32, scores: &mut [f32]) {
        if let Self::Half(keys) = self
            && kernels::score_halves(queries, keys, dim, scale, scores)
        {
            return;
        }
        self.score_plainly(queries, dim, scale, scores);
    }

    fn score_plainly(self, queries: &[f32], dim: usize, scale: f32, scores: &mut [f32]) {
        let n_keys = scores.len() / (queries.len() / dim);
        self.for_each_part(dim, |first, keys| {
            score(queries, keys, dim, scale, first, n_keys, scores);
        });
    }

    /// Adds each query's shares of these values to its row of `out`.
    fn mix(self, shares: &[f32], dim: usize, out: &mut [f32]) {
        if let Self::Half(values) = self
            && kernels::mix_halves(shares, values, dim, out)
        {
            return;
        }
        self.mix_plainly(shares, dim, out);
    }

    fn mix_plainly(self, shares: &[f32], dim: usize, out: &mut [f32]) {
        let n_keys = shares.len() / (out.len() / dim);
        self.for_each_part(dim, |first, values| {
            for (shares, out) in shares.chunks_exact(n_keys).zip(out.chunks_exact_mut(dim)) {
                mix(&shares[first..first + values.len() / dim], values, out);
            }
        });
    }

    /// Some rows at a time, in f32.
    fn for_each_part(self, dim: usize, mut each: impl FnMut(usize, &[f32])) {
        const ROWS_PER_PART: usize = 32;
        match self {
            Self::Single(values) => each(0, values),
            Self::Half(values) => {
                let mut part = vec![0f32; ROWS_PER_PART * dim];
                for (index, values) in values.chunks(ROWS_PER_PART * dim).enumerate() {
                    let part = &mut part[..values.len()];
                    kernels::widen(values, part);
                    each(index * ROWS_PER_PART, part);
                }
            }
        }
    }
}

impl CustomOp3 for SingleQuery {
    fn name(&self) -> &'static str {
        "single-query-attention"
    }

    fn cpu_fwd(
        &self,
        queries: &CpuStorage,
        queries_layout: &Layout,
        keys: &CpuStorage,
        keys_layout: &Layout,
        values: &CpuStorage,
        values_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let (n_kv_heads, repeats, dim) = queries_layout.shape().dims3()?;
        let mut out = vec![0f32; n_kv_heads * repeats * dim];
        let compute = |(index, out): (usize, &mut [f32])| -> Result<()> {
            let Cached::Single(queries) = Cached::head(queries, queries_layout, index)? else {
                candle_core::bail!("attention needs f32 queries")
            };
            let n_keys = keys_layout.dims()[1];
            let mut shares = vec![0f32; repeats * n_keys];
            Cached::head(keys, keys_layout, index)?.score(queries, dim, self.scale, &mut shares);
            for shares in shares.chunks_exact_mut(n_keys) {
                to_shares(shares);
            }
            Cached::head(values, values_layout, index)?.mix(&shares, dim, out);
            Ok(())
        };
        let n_keys = keys_layout.dims()[1];
        if n_kv_heads * n_keys * dim < 2 * VALUES_PER_TASK {
            out.chunks_exact_mut(repeats * dim).enumerate().try_for_each(compute)?;
        } else {
            out.par_chunks_exact_mut(repeats * dim)
                .enumerate()
                .with_min_len(VALUES_PER_TASK.div_ceil(n_keys * dim))
                .try_for_each(compute)?;
        }
        Ok((CpuStorage::F32(out), Shape::from((n_kv_heads, repeats, dim))))
    }
}

vectorised! {
fn to_shares(scores: &mut [f32]) {
    ops::softmax(scores);
}
}

vectorised! {
/// Each query times each key of a part that begins with key `first` of `n_keys`.
fn score(
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

/// Sixteen sums side by side, because the compiler may not reorder one.
#[inline(always)]
pub(super) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0f32; 16];
    let (a_chunks, a_rest) = a.as_chunks::<16>();
    let (b_chunks, b_rest) = b.as_chunks::<16>();
    for (a, b) in a_chunks.iter().zip(b_chunks) {
        for lane in 0..16 {
            sums[lane] += a[lane] * b[lane];
        }
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    // By halves: one after the other, the sixteen would wait for each other longer than a short row takes.
    for half in [8, 4, 2, 1] {
        for lane in 0..half {
            sums[lane] += sums[half + lane];
        }
    }
    sums[0] + rest
}

vectorised! {
/// `out += Σ share · row`, four rows at a time.
fn mix(shares: &[f32], rows: &[f32], out: &mut [f32]) {
    let dim = out.len();
    let mut four_rows = rows.chunks_exact(4 * dim);
    let (fours, rest) = shares.as_chunks::<4>();
    for (share, rows) in fours.iter().zip(&mut four_rows) {
        let (a, rows) = rows.split_at(dim);
        let (b, rows) = rows.split_at(dim);
        let (c, d) = rows.split_at(dim);
        for ((((out, a), b), c), d) in out.iter_mut().zip(a).zip(b).zip(c).zip(d) {
            *out += (share[0] * a + share[1] * b) + (share[2] * c + share[3] * d);
        }
    }
    for (share, row) in rest.iter().zip(four_rows.remainder().chunks_exact(dim)) {
        for (out, x) in out.iter_mut().zip(row) {
            *out += share * x;
        }
    }
}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inference::kernels::tests::made_up;

    /// What the kernels for keys and values in f16 compute is what the plain code does, bit for bit.
    #[test]
    fn halves_are_attended_to_as_their_singles_are() {
        for (dim, n_queries, n_keys) in [16, 48, 64, 80, 128, 100]
            .into_iter()
            .flat_map(|dim| [1, 2, 3, 4, 7, 8].map(|n_queries| (dim, n_queries)))
            .flat_map(|(dim, q)| [1, 15, 16, 17, 31, 64, 99].map(|n_keys| (dim, q, n_keys)))
        {
            let queries = made_up(n_queries * dim, 1);
            let mut halves = vec![f16::ZERO; n_keys * dim];
            kernels::narrow(&made_up(n_keys * dim, 2), &mut halves);
            let halves = Cached::Half(&halves);
            let bits = |values: &[f32]| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();

            let (mut own, mut plain) =
                (vec![0f32; n_queries * n_keys], vec![0f32; n_queries * n_keys]);
            halves.score(&queries, dim, 0.125, &mut own);
            halves.score_plainly(&queries, dim, 0.125, &mut plain);
            assert_eq!(bits(&own), bits(&plain), "scores: {dim}, {n_queries}, {n_keys}");

            let (mut own, mut expected) = (queries.clone(), queries.clone());
            halves.mix(&plain, dim, &mut own);
            halves.mix_plainly(&plain, dim, &mut expected);
            assert_eq!(bits(&own), bits(&expected), "mixed: {dim}, {n_queries}, {n_keys}");
        }
    }
}
