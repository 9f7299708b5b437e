//! Causal attention over cached keys and values.
//!
//! Many queries (a prefill) are computed in blocks of 64 by matrix products over the keys that the
//! last query of the block may see: stock attention on a CPU is what makes prefill slow. A single one
//! (decoding) reads each key and value once ([`packed_matmul::attention`]).

use candle_core::{CpuStorage, CustomOp3, DType, Device, Layout, Result, Shape, Tensor};
use packed_matmul::attention::Rows;
pub(super) use packed_matmul::elementwise::dot;
use packed_matmul::elementwise::softmax;
use packed_matmul::vectorised;
use rayon::prelude::*;

use super::branches::Run;
use super::ops;

const QUERIES_PER_BLOCK: usize = 64;

/// The fewest key elements (over all heads of a task) that are worth another core.
const VALUES_PER_TASK: usize = 32 * 1024;

/// Attends with queries `[n_heads, n, head_dim]` of a run to keys and values
/// `[n_kv_heads, start + n, head_dim]`, by the softmax of `scale` times their products; returns
/// `[n, n_heads · head_dim]`.
///
/// # Errors
/// If a shape or type does not fit.
pub fn attend(
    queries: &Tensor,
    keys: &Tensor,
    values: &Tensor,
    run: Run<'_>,
    scale: f32,
) -> Result<Tensor> {
    let (n_heads, n, head_dim) = queries.dims3()?;
    let n_kv_heads = keys.dim(0)?;
    let repeats = n_heads / n_kv_heads;
    // Keys that no query sees are left out.
    let unseen = (0..n).map(|query| run.first(query)).min().unwrap_or(0);
    let seen = keys.dim(1)? - unseen;
    let (keys, values) = (&keys.narrow(1, unseen, seen)?, &values.narrow(1, unseen, seen)?);
    let on_cpu = matches!(queries.device(), Device::Cpu) && queries.dtype() == DType::F32;
    if n == 1 && on_cpu {
        let queries = queries.reshape((n_kv_heads, repeats, head_dim))?;
        let attended = queries.apply_op3_no_bwd(keys, values, &SingleQuery { scale })?;
        return attended.reshape((1, n_heads * head_dim));
    }
    let queries = queries.reshape((n_kv_heads, repeats, n, head_dim))?;
    let (keys, values) = (&ops::to_f32(keys)?, &ops::to_f32(values)?);
    let mut blocks = Vec::with_capacity(n.div_ceil(QUERIES_PER_BLOCK));
    for first in (0..n).step_by(QUERIES_PER_BLOCK) {
        let n_rows = QUERIES_PER_BLOCK.min(n - first);
        let first_key =
            (first..first + n_rows).map(|query| run.first(query)).min().unwrap_or(unseen);
        let (start, n_keys) = (first_key - unseen, run.visible(first + n_rows - 1) - first_key);
        let block = queries.narrow(2, first, n_rows)?.contiguous()?.reshape((
            n_kv_heads,
            repeats * n_rows,
            head_dim,
        ))?;
        let scores = block.matmul(&keys.narrow(1, start, n_keys)?.transpose(1, 2)?)?;
        let weights = ops::causal_softmax(scores, run, (first, n_rows), first_key, scale)?;
        let attended = weights.matmul(&values.narrow(1, start, n_keys)?)?;
        // [kv, repeats · rows, d] → [rows, heads · d]
        let attended = attended
            .reshape((n_heads, n_rows, head_dim))?
            .transpose(0, 1)?
            .reshape((n_rows, n_heads * head_dim))?;
        blocks.push(attended);
    }
    if let [one] = blocks.as_slice() { Ok(one.clone()) } else { Tensor::cat(&blocks, 0) }
}

/// One position's queries `[n_kv_heads, repeats, head_dim]`, which see every key.
struct SingleQuery {
    scale: f32,
}

/// Queries, keys or values of one key-value head.
fn head<'a>(storage: &'a CpuStorage, layout: &Layout, index: usize) -> Result<Rows<'a>> {
    let ([_, n, dim], [stride, row, 1]) = (layout.dims(), layout.stride()) else {
        candle_core::bail!("attention needs heads of rows")
    };
    if row != dim {
        candle_core::bail!("attention needs rows side by side")
    }
    let start = layout.start_offset() + index * stride;
    let range = start..start + n * dim;
    match storage {
        CpuStorage::F16(values) => Ok(Rows::F16(&values[range])),
        CpuStorage::F32(values) => Ok(Rows::F32(&values[range])),
        _ => candle_core::bail!("attention needs f16 or f32"),
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
            let Rows::F32(queries) = head(queries, queries_layout, index)? else {
                candle_core::bail!("attention needs f32 queries")
            };
            let n_keys = keys_layout.dims()[1];
            let mut weights = vec![0f32; repeats * n_keys];
            let keys = head(keys, keys_layout, index)?;
            packed_matmul::attention::score(queries, keys, dim, self.scale, &mut weights);
            for weights in weights.chunks_exact_mut(n_keys) {
                to_weights(weights);
            }
            let values = head(values, values_layout, index)?;
            packed_matmul::attention::add_weighted(&weights, values, dim, out);
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
fn to_weights(scores: &mut [f32]) {
    softmax(scores);
}
}
