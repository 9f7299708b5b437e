//! The keys and values of the tokens that a context holds.
//!
//! Per layer two tensors `[n_kv_heads, capacity, head_dim]` (of a layer that mixes by a convolution one `[1, capacity,
//! width]`, its inputs) that grow by half, and by no less than a reply needs.
//! Rolling back sets a length; a clone shares the tensors until one of the two writes (copy on write). Layers that
//! keep a state instead have theirs at some lengths only ([`super::states`]). Knows no tokens.

use std::collections::BTreeMap;
use std::sync::Arc;

use candle_core::{DType, Device, Result, Tensor};
use half::f16;
use half::vec::HalfBitsVecExt;

use super::states::States;

/// Capacities are multiples of it, and growing leaves room for at least as many more tokens, so that a reply seldom
/// copies what its prompt has filled. Untouched pages take no memory.
const CAPACITY_STEP: usize = 256;

#[derive(Debug)]
struct Layer {
    /// Keys and values, or a convolution's inputs.
    kept: Vec<Tensor>,
    capacity: usize,
}

/// What every layer keeps.
#[derive(Debug, Clone, Default)]
pub struct KvCache {
    layers: Vec<Option<Arc<Layer>>>,
    /// By layer, of those that keep a state.
    states: BTreeMap<usize, States>,
    len: usize,
    is_long: bool,
}

impl KvCache {
    /// Tokens held by every layer.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether its keys are rotated as in long contexts ([`super::decoder::Decoder::is_long`]).
    pub fn is_long(&self) -> bool {
        self.is_long
    }

    /// Nothing is held any more; what will be is rotated as in long contexts, or is not.
    pub fn restart(&mut self, is_long: bool) {
        self.len = 0;
        self.states.clear();
        self.is_long = is_long;
    }

    /// The states of a layer that keeps them.
    pub fn states(&mut self, layer: usize) -> &mut States {
        self.states.entry(layer).or_default()
    }

    /// Rolls back to the last length at which every layer has what it needs to go on, and returns it.
    pub fn resume(&mut self) -> usize {
        for states in self.states.values_mut() {
            states.truncate(self.len);
        }
        if let Some(states) = self.states.values().next() {
            let all_have = |len: &usize| {
                self.states.values().all(|states| states.lengths().any(|held| held == *len))
            };
            self.len = states.lengths().rev().find(all_have).unwrap_or(0);
        }
        self.len
    }

    /// Rolls back; the memory stays.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Writes `parts` (keys and values, `[n_kv_heads, n, head_dim]`, contiguous) after the tokens held, in one layer, and
    /// returns all that this layer keeps up to them. The length moves with [`Self::advance`], once every layer is
    /// written.
    pub fn append<const N: usize>(
        &mut self,
        layer: usize,
        parts: [&Tensor; N],
    ) -> Result<[Tensor; N]> {
        if self.layers.len() <= layer {
            self.layers.resize_with(layer + 1, || None);
        }
        let len = self.len;
        let n = parts[0].dim(1)?;
        let slot = &mut self.layers[layer];
        let writable =
            slot.as_mut().and_then(Arc::get_mut).is_some_and(|layer| layer.capacity >= len + n);
        if !writable {
            let old = slot.as_ref().map_or(0, |layer| layer.capacity);
            let capacity = if len + n <= old {
                old // shared with a fork
            } else {
                (len + n + CAPACITY_STEP).max(old + old / 2).next_multiple_of(CAPACITY_STEP)
            };
            let mut kept = Vec::with_capacity(N);
            for part in parts {
                let (n_heads, _, width) = part.dims3()?;
                kept.push(zeros((n_heads, capacity, width), part.dtype(), part.device())?);
            }
            if let Some(old) = slot.as_ref().filter(|_| len > 0) {
                for (new, old) in kept.iter().zip(&old.kept) {
                    new.slice_set(&old.narrow(1, 0, len)?.contiguous()?, 1, 0)?;
                }
            }
            *slot = Some(Arc::new(Layer { kept, capacity }));
        }
        let Some(layer) = slot else { candle_core::bail!("a cache layer is missing") };
        let mut all = parts.map(Tensor::clone);
        for ((kept, part), all) in layer.kept.iter().zip(parts).zip(&mut all) {
            kept.slice_set(part, 1, len)?;
            *all = kept.narrow(1, 0, len + n)?;
        }
        Ok(all)
    }

    /// All that a layer keeps after it has written `n` tokens more, for one that shares it.
    pub fn written<const N: usize>(&self, layer: usize, n: usize) -> Result<[Tensor; N]> {
        let kept = self.layers.get(layer).and_then(Option::as_ref).map(|layer| &layer.kept);
        let all = kept.into_iter().flatten().map(|kept| kept.narrow(1, 0, self.len + n));
        let all: Vec<Tensor> = all.collect::<Result<_>>()?;
        all.try_into().map_err(|_| candle_core::Error::msg("a cache layer is missing"))
    }

    /// Counts `n` tokens that every layer has written.
    pub fn advance(&mut self, n: usize) {
        self.len += n;
    }
}

/// Zeros; on the processor as pages that the system provides only once they are written. (candle's own
/// f16 zeros touch every page.)
fn zeros(shape: (usize, usize, usize), dtype: DType, device: &Device) -> Result<Tensor> {
    match (dtype, device) {
        (DType::F16, Device::Cpu) => {
            let bits = vec![0u16; shape.0 * shape.1 * shape.2];
            Tensor::from_vec(bits.reinterpret_into::<f16>(), shape, device)
        }
        _ => Tensor::zeros(shape, dtype, device),
    }
}
