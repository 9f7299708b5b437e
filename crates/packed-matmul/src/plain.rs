//! Products of quantised values in plain Rust: the definition that the other kernels equal bit for
//! bit, and what runs on processors without them.

use crate::activations::Int8Rows;
use crate::formats::BlockFormat;
use crate::matrix::{BLOCK, BlockScales, ROWS, quad_values, tile_block};

/// One tile times `M` rows of input, from row `first` on.
///
/// The products of a block are summed in integers, so their order does not matter; blocks are added
/// in order, with one rounding each.
#[inline(always)]
pub fn rows<F: BlockFormat, const M: usize>(
    tile: &[u8],
    first_block: usize,
    inputs: &Int8Rows,
    first: usize,
) -> [[f32; ROWS]; M] {
    let mut sums = [[0f32; ROWS]; M];
    for b in 0..inputs.n_blocks() {
        let block = tile_block::<F>(tile, first_block + b);
        let scales = BlockScales::read::<F>(block);
        let weights: [[u8; 64]; BLOCK / 4] =
            std::array::from_fn(|quad| quad_values::<F>(block.values, quad));
        for (i, sums) in sums.iter_mut().enumerate() {
            let input = inputs.block(first + i, b);
            // Of the first and of the last 16 columns.
            let mut parts = [[0i32; ROWS]; 2];
            for (quad, weights) in weights.iter().enumerate() {
                let input = &input.values[4 * quad..4 * quad + 4];
                for (sum, weights) in parts[quad / 4].iter_mut().zip(weights.as_chunks::<4>().0) {
                    for (&weight, &input) in weights.iter().zip(input) {
                        *sum += i32::from(weight) * i32::from(input);
                    }
                }
            }
            let [first_sum, second_sum] = input.sums();
            for (r, sum) in sums.iter_mut().enumerate() {
                let mut add = |part: i32, total: i32, half: usize| {
                    let part = (part - F::OFFSET * total) as f32;
                    *sum = part.mul_add(scales.scales[half][r] * input.scale, *sum);
                    if F::HAS_MINIMA {
                        let total = input.scale * total as f32;
                        *sum = (-scales.minima[half][r]).mul_add(total, *sum);
                    }
                };
                if F::ARE_SUMS_SCALED {
                    let part = (parts[0][r] - F::OFFSET * first_sum) as f32 * scales.scales[0][r]
                        + (parts[1][r] - F::OFFSET * second_sum) as f32 * scales.scales[1][r];
                    *sum = part.mul_add(scales.shared[r] * input.scale, *sum);
                } else if F::IS_BY_16 {
                    add(parts[0][r], first_sum, 0);
                    add(parts[1][r], second_sum, 1);
                } else {
                    add(parts[0][r] + parts[1][r], first_sum + second_sum, 0);
                }
            }
        }
    }
    sums
}
