//! The products of quantised values in plain Rust: the definition that the other kernels equal bit
//! for bit, and what runs where they can't.

use super::activations::Quantised;
use super::packed::{BLOCK, BlockScales, Kind, ROWS, block_of, quad_values};

/// One tile times `M` rows of the input from `first` on.
///
/// Each block's products are summed in whole numbers, which no order of summing changes; blocks are
/// added in order, each with one rounding.
#[inline(always)]
pub fn rows<const M: usize>(
    kind: Kind,
    tile: &[u8],
    inputs: &Quantised,
    first: usize,
) -> [[f32; ROWS]; M] {
    let mut sums = [[0f32; ROWS]; M];
    let offset = kind.offset();
    for b in 0..inputs.n_blocks() {
        let block = block_of(kind, tile, b);
        let scales = BlockScales::read(kind, block.scales, block.place);
        let weights: [[u8; 64]; BLOCK / 4] =
            std::array::from_fn(|quad| quad_values(kind, block.values, quad));
        for (i, sums) in sums.iter_mut().enumerate() {
            let input = inputs.block(first + i, b);
            let mut halves = [[0i32; ROWS]; 2];
            for (quad, weights) in weights.iter().enumerate() {
                let input = &input.values[4 * quad..4 * quad + 4];
                for (sum, weights) in halves[quad / 4].iter_mut().zip(weights.as_chunks::<4>().0) {
                    for (&weight, &input) in weights.iter().zip(input) {
                        *sum += i32::from(weight) * i32::from(input);
                    }
                }
            }
            let total = input.sums[0] + input.sums[1];
            let total_scaled = input.scale * total as f32;
            for (r, sum) in sums.iter_mut().enumerate() {
                if kind == Kind::Q6K {
                    let part = (halves[0][r] - offset * input.sums[0]) as f32;
                    *sum = part.mul_add(scales.first[r] * input.scale, *sum);
                    let part = (halves[1][r] - offset * input.sums[1]) as f32;
                    *sum = part.mul_add(scales.second[r] * input.scale, *sum);
                } else {
                    let part = (halves[0][r] + halves[1][r] - offset * total) as f32;
                    *sum = part.mul_add(scales.first[r] * input.scale, *sum);
                }
                if matches!(kind, Kind::Q4K | Kind::Q5K) {
                    *sum = (-scales.minimum[r]).mul_add(total_scaled, *sum);
                }
            }
        }
    }
    sums
}
