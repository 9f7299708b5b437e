//! How fast this machine computes a model, measured in two seconds or so, for `doctor`.
//!
//! Writing a token reads every weight once, so what counts is how many bytes of weights are read and multiplied a second. That
//! is measured with the kernels that models run on, on matrices of a small model's shapes that are together larger than any
//! cache: it includes what starting the threads for each matrix costs. Reading a prompt multiplies many tokens by each weight
//! that is read, so there the operations count.

use std::hint::black_box;
use std::time::{Duration, Instant};

use packed_matmul::{Arena, Format, PackedMatrix, multiply};
use rayon::prelude::*;

use super::confined;
use super::cost::TokenCost;
use crate::interfaces::ModelError;

/// What was measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Speed {
    /// Bytes that all threads together read from memory in a second.
    pub read: f64,
    /// Bytes of 4-bit weights that are read and multiplied by one token in a second.
    pub decode: f64,
    /// Multiplications and additions with 4-bit weights in a second, for many tokens at once.
    pub prefill: f64,
}

impl Speed {
    /// Tokens a second that a model writes.
    pub fn decode_tokens(&self, cost: TokenCost) -> f64 {
        self.decode / (cost.decode_bytes as f64 + BYTES_PER_LAYER * cost.n_layers as f64).max(1.0)
    }

    /// Tokens a second of a prompt that a model reads.
    pub fn prefill_tokens(&self, cost: TokenCost) -> f64 {
        let products = 2.0 * cost.prompt_weights as f64 / PRODUCTS_SHARE;
        self.prefill / (products + OPERATIONS_PER_VALUE * cost.prompt_values as f64).max(1.0)
    }
}

/// What a layer takes beyond its weights (threads that wake, attention, norms), in the time of reading so much.
const BYTES_PER_LAYER: f64 = 5e6;
/// Of the measured operations, what the matrices of whole models reach, some of which have 6 bits.
const PRODUCTS_SHARE: f64 = 0.78;
/// What attention, norms, gates and rounding take for each value that goes into a layer, in the time of so many operations.
/// All three are fitted to eight models (docs/log.md).
const OPERATIONS_PER_VALUE: f64 = 16_500.0;
/// As in a model of a billion parameters.
const SHAPE: (usize, usize) = (4096, 2048);
const MATRICES: usize = 48;
/// Fewer where packing them takes longer than this, but at least [`MATRICES_MIN`].
const PACKING_TIME: Duration = Duration::from_secs(1);
const MATRICES_MIN: usize = 8;
const PREFILL_TOKENS: usize = 128;
/// For each of the three measurements; a slow machine does one run, however long it takes.
const TIME: Duration = Duration::from_millis(400);

/// Measures the processor. Takes 230 MB of memory, and about two seconds.
///
/// # Errors
/// If a thread can't be confined or memory is short.
pub fn measure() -> Result<Speed, ModelError> {
    confined::reading(None, || {
        let failed = |e: packed_matmul::PackError| ModelError::Backend {
            what: "the matrices to measure with could not be made".into(),
            source: Some(Box::new(e)),
        };
        let (start, arena, blocks) = (Instant::now(), Arena::default(), blocks());
        let mut matrices = Vec::with_capacity(MATRICES);
        while matrices.len() < MATRICES
            && (matrices.len() < MATRICES_MIN || start.elapsed() < PACKING_TIME)
        {
            // A copy each, in case it is read in place.
            let matrix = PackedMatrix::new(Format::Q4K, SHAPE, blocks.clone().into(), &arena);
            matrices.push(matrix.map_err(failed)?);
        }
        let (n_out, n_in) = SHAPE;
        let pass = |matrices: &[&PackedMatrix], n_tokens: usize| {
            let xs: Vec<f32> =
                (0..n_tokens * n_in).map(|i| ((i % 13) as f32 - 6.0) / 6.0).collect();
            // On a thread of the pool, as models are computed.
            rayon::scope(|_| {
                for matrix in matrices {
                    black_box(multiply(&[matrix], &xs));
                }
            });
        };
        let all = matrices;
        let matrices: Vec<&PackedMatrix> = all.iter().collect();
        let bytes = (matrices.len() * blocks.len()) as f64;
        let decode = bytes / median_seconds(|| pass(&matrices, 1));
        // Many tokens make use of a cache anyway.
        let few = &matrices[..MATRICES_MIN];
        let operations = (2 * few.len() * n_out * n_in * PREFILL_TOKENS) as f64;
        let prefill = operations / median_seconds(|| pass(few, PREFILL_TOKENS));
        drop(all);
        Ok(Speed { read: read_bytes_per_second(), decode, prefill })
    })
}

const BLOCK_BYTES: usize = 144;

/// A matrix of Q4_K blocks: two factors in 16 bits, twelve bytes of scales, 128 of values.
fn blocks() -> Vec<u8> {
    let (n_out, n_in) = SHAPE;
    let mut bytes = vec![0; n_out * n_in / 256 * BLOCK_BYTES];
    let mut random: u64 = 0x9e37_79b9_7f4a_7c15;
    for block in bytes.chunks_exact_mut(BLOCK_BYTES) {
        for part in block.chunks_exact_mut(8) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            part.copy_from_slice(&random.to_le_bytes());
        }
        // 0.01 and 0.01: any bits could be infinity.
        block[..4].copy_from_slice(&[0x1f, 0x21, 0x1f, 0x21]);
    }
    bytes
}

/// Of as many runs as there is time for.
fn median_seconds(mut run: impl FnMut()) -> f64 {
    let start = Instant::now();
    let mut seconds = Vec::new();
    while start.elapsed() < TIME {
        let begin = Instant::now();
        run();
        seconds.push(begin.elapsed().as_secs_f64());
    }
    seconds.sort_by(f64::total_cmp);
    seconds.get(seconds.len() / 2).copied().unwrap_or(f64::INFINITY).max(1e-9)
}

fn read_bytes_per_second() -> f64 {
    const WORDS: usize = 16 << 20;
    let words: Vec<u64> = vec![1; WORDS];
    let seconds = median_seconds(|| {
        let sum: u64 = words.par_chunks(1 << 16).map(sum_of).reduce(|| 0, u64::wrapping_add);
        black_box(sum);
    });
    (WORDS * size_of::<u64>()) as f64 / seconds
}

/// In eight sums, so that memory and not the additions decide.
fn sum_of(words: &[u64]) -> u64 {
    let mut sums = [0u64; 8];
    for eight in words.chunks_exact(8) {
        for (sum, word) in sums.iter_mut().zip(eight) {
            *sum = sum.wrapping_add(*word);
        }
    }
    sums.iter().fold(0, |a, b| a.wrapping_add(*b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_measured() {
        let speed = measure().unwrap();
        for value in [speed.read, speed.decode, speed.prefill] {
            assert!(value.is_finite() && value > 1e6, "{speed:?}");
        }
    }

    #[test]
    fn twice_the_weights_are_half_the_speed() {
        let speed = Speed { read: 20e9, decode: 10e9, prefill: 400e9 };
        let cost = |n| TokenCost {
            prompt_weights: n,
            prompt_values: n / 20_000,
            decode_bytes: n,
            n_layers: n / 10_000_000,
        };
        // Half as much again for the layers.
        assert!((speed.decode_tokens(cost(2_000_000_000)) - 10.0 / 3.0).abs() < 1e-9);
        assert!((speed.decode_tokens(cost(1_000_000_000)) - 20.0 / 3.0).abs() < 1e-9);
        let prefill = |n| speed.prefill_tokens(cost(n));
        assert!((prefill(2_000_000_000) * 2.0 - prefill(1_000_000_000)).abs() < 1e-6);
        // A multiplication and an addition each, and the rest.
        assert!((58.0..60.0).contains(&prefill(2_000_000_000)), "{}", prefill(2_000_000_000));
    }
}
