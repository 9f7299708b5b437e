//! Every instruction set against plain Rust, and that against candle's own unpacking.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;

use candle_core::Device;
use candle_core::quantized::{GgmlDType, QTensor};
use half::f16;
use proptest::prelude::*;

use super::*;
use crate::matrix::ROWS;

/// As candle calls the formats.
const FORMATS: [(Format, GgmlDType); 6] = [
    (Format::Q4_0, GgmlDType::Q4_0),
    (Format::Q5_0, GgmlDType::Q5_0),
    (Format::Q8_0, GgmlDType::Q8_0),
    (Format::Q4K, GgmlDType::Q4K),
    (Format::Q5K, GgmlDType::Q5K),
    (Format::Q6K, GgmlDType::Q6K),
];

/// Spread over −1 to 1, the same for the same seed.
pub fn made_up(n: usize, seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..n)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0
        })
        .collect()
}

/// A matrix as candle quantises it: as it would be loaded, its values as candle unpacks them, and
/// read in place and packed.
fn matrix(
    (format, dtype): (Format, GgmlDType),
    n_out: usize,
    n_in: usize,
    seed: u64,
) -> (PackedMatrix, Vec<f32>, [PackedMatrix; 2]) {
    let values = made_up(n_out * n_in, seed);
    let tensor = candle_core::Tensor::from_vec(values, (n_out, n_in), &Device::Cpu).unwrap();
    let blocks = QTensor::quantize(&tensor, dtype).unwrap();
    let unpacked = blocks.dequantize(&Device::Cpu).unwrap().flatten_all().unwrap();
    let bytes = blocks.data().unwrap();
    let loaded = new(format, n_out, n_in, &bytes).unwrap();
    (loaded, unpacked.to_vec1().unwrap(), both_ways(format, n_out, n_in, &bytes))
}

fn new(format: Format, n_out: usize, n_in: usize, bytes: &[u8]) -> Result<PackedMatrix, PackError> {
    PackedMatrix::new(format, (n_out, n_in), stored(bytes), &Arena::default())
}

/// `bytes` in the middle of a file.
fn stored(bytes: &[u8]) -> SharedBytes {
    let file = [&[0xff; 3], bytes, &[0xff; 5]].concat();
    SharedBytes::new(Arc::new(file), 3..3 + bytes.len())
}

/// The same matrix read in place, and packed.
fn both_ways(format: Format, n_out: usize, n_in: usize, bytes: &[u8]) -> [PackedMatrix; 2] {
    let in_place = || PackedMatrix::in_place(format, (n_out, n_in), stored(bytes)).unwrap();
    [in_place(), in_place().packed(&Arena::default()).unwrap()]
}

fn exact(unpacked: &[f32], xs: &[f32], n_in: usize) -> Vec<f64> {
    xs.chunks_exact(n_in)
        .flat_map(|x| {
            unpacked.chunks_exact(n_in).map(move |row| {
                row.iter().zip(x).map(|(w, x)| f64::from(*w) * f64::from(*x)).sum::<f64>()
            })
        })
        .collect()
}

/// Distance of two vectors in units of the second's length.
fn relative_distance(got: &[f32], wanted: &[f64]) -> f64 {
    let square: f64 = got.iter().zip(wanted).map(|(g, w)| (f64::from(*g) - w).powi(2)).sum();
    (square / wanted.iter().map(|w| w * w).sum::<f64>()).sqrt()
}

#[test]
fn rows_are_what_candle_unpacks() {
    for format in FORMATS {
        let (n_out, n_in) = (37, 512);
        let (packed, unpacked, _) = matrix(format, n_out, n_in, 3);
        let mut row = vec![0f32; n_in];
        for (index, wanted) in unpacked.chunks_exact(n_in).enumerate() {
            packed.row(index, &mut row);
            for (got, wanted) in row.iter().zip(wanted) {
                assert!((got - wanted).abs() < 1e-6, "{format:?} row {index}: {got} {wanted}");
            }
        }
    }
}

#[test]
fn no_more_is_stored_than_the_file_has() {
    for (format, bits) in FORMATS.into_iter().zip([4.5, 5.5, 8.5, 4.625, 5.625, 6.75]) {
        let (packed, ..) = matrix(format, 64, 2048, 1);
        let stored = (packed.n_tiles() * packed.tile_bytes()) as f64 * 8.0 / (64.0 * 2048.0);
        assert!(stored <= bits, "{format:?}: {stored} bits a weight");
    }
}

#[test]
fn every_instruction_set_packs_the_same_tile() {
    for &format in Format::ALL {
        let (n_out, n_in) = (37, 768);
        // Any bytes are blocks.
        let n_bytes = n_out * n_in / format.block_columns() * format.block_bytes();
        let bytes: Vec<u8> =
            made_up(n_bytes, 9).iter().map(|x| x.to_bits().to_le_bytes()[1]).collect();
        let row_bytes = n_bytes / n_out;
        let tile_bytes = new(format, n_out, n_in, &bytes).unwrap().tile_bytes();
        for (index, rows) in bytes.chunks(ROWS * row_bytes).enumerate() {
            let (mut tile, mut wanted) = (vec![0; tile_bytes], vec![0; tile_bytes]);
            packing::pack_tile(format, rows, row_bytes, &mut tile);
            packing::pack_by_definition(format, rows, row_bytes, &mut wanted);
            assert!(tile == wanted, "{format:?}, tile {index}");
        }
    }
}

#[test]
fn blocks_that_do_not_fill_the_shape_are_refused() {
    let is_refused = |format, n_out, n_in, n_bytes: usize| {
        matches!(new(format, n_out, n_in, &vec![0; n_bytes]), Err(PackError::Shape { .. }))
    };
    assert!(is_refused(Format::Q4K, 16, 256, 144 * 16 - 1));
    assert!(is_refused(Format::Q4K, 16, 128, 144 * 16));
    assert!(is_refused(Format::Q8_0, 0, 32, 0));
    assert!(is_refused(Format::Q8_0, usize::MAX, 64, 68));
}

#[test]
fn nan_and_infinity_stay_in_their_row() {
    let (packed, ..) = matrix(FORMATS[3], 16, 256, 1);
    for bad in [f32::NAN, f32::INFINITY] {
        for n_rows in [1, 40] {
            let mut xs = made_up(n_rows * 256, 5);
            xs[37] = bad;
            for set in InstructionSet::available() {
                let product = multiply_with(set, &[&packed], &xs).pop().unwrap();
                assert!(product[..16].iter().all(|x| !x.is_finite()), "{set:?}: {product:?}");
                assert!(product[16..].iter().all(|x| x.is_finite()), "{set:?}");
            }
        }
    }
}

/// Kernels sum in 16 bits as far as the largest values allow.
#[test]
fn the_largest_values_do_not_overflow() {
    let (n_out, n_blocks, n_rows) = (17, 3, 7);
    let one = f16::ONE.to_le_bytes();
    let places: [&[usize]; 6] = [&[0], &[0], &[0], &[0, 2], &[0, 2], &[208]];
    for (&format, scales) in Format::ALL.iter().zip(places) {
        for byte in [0x00, 0x7f, 0x80, 0xff] {
            let mut bytes = vec![byte; n_out * n_blocks * format.block_bytes()];
            for block in bytes.chunks_exact_mut(format.block_bytes()) {
                for &scale in scales {
                    block[scale..scale + 2].copy_from_slice(&one);
                }
            }
            let n_in = n_blocks * format.block_columns();
            // All positive, all negative, and by turns, so that pairs add up whatever their signs.
            for signs in [[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]] {
                let xs: Vec<f32> = signs.into_iter().cycle().take(n_rows * n_in).collect();
                for matrix in both_ways(format, n_out, n_in, &bytes) {
                    let plain = multiply_with(InstructionSet::available()[0], &[&matrix], &xs);
                    for set in InstructionSet::available() {
                        let products = multiply_with(set, &[&matrix], &xs);
                        assert_eq!(products, plain, "{format:?} of {byte:#x} by {set:?}");
                    }
                    // One row has a kernel of its own.
                    let first = multiply(&[&matrix], &xs[..n_in]).concat();
                    assert_eq!(first, plain[0][..n_out], "{format:?} of {byte:#x}");
                }
            }
        }
    }
}

fn dense_product(values: &[f32], xs: &[f32], n_in: usize, set: InstructionSet) -> Option<Vec<f32>> {
    let n_out = values.len() / n_in;
    let matrix = DenseMatrix::new_with(set, values, n_out, n_in)?;
    let mut product = vec![f32::NAN; xs.len() / n_in * n_out];
    matrix.multiply(xs, &mut product);
    Some(product)
}

#[cfg(target_arch = "x86_64")]
#[test]
fn dense_matrices_are_multiplied_within_their_rounding() {
    for (n_out, n_in, n_rows) in
        [(1, 32, 1), (33, 96, 5), (100, 384, 70), (64, 64, 32), (40, 62, 13)]
    {
        let (values, xs) = (made_up(n_out * n_in, 7), made_up(n_rows * n_in, 8));
        let exact = exact(&values, &xs, n_in);
        let sets = InstructionSet::available();
        let of = |set| dense_product(&values, &xs, n_in, set);
        assert!(of(sets[0]).is_none());
        for &set in &sets[1..] {
            let product = of(set).unwrap();
            let distance = relative_distance(&product, &exact);
            assert!(distance < 0.001, "{n_out} {n_in} {n_rows} by {set:?}: {distance}");
            assert!(Some(product) == of(sets[1]), "sums in integers are exact");
        }
    }
}

/// The widest matrix, its weights and inputs as large as they can be, all of one sign.
#[cfg(target_arch = "x86_64")]
#[test]
fn the_largest_sums_of_16_bit_integers_do_not_overflow() {
    let sets = &InstructionSet::available()[1..];
    for (weight, x) in [(1.0, 1.0), (1.0, -1.0), (3e38, 1.0), (1e-38, 1e-3)] {
        for n_in in [2, 384, int16::N_IN_MAX] {
            let (values, xs) = (vec![weight; n_in], vec![x; n_in]);
            for &set in sets {
                let product = dense_product(&values, &xs, n_in, set).unwrap()[0];
                let expected = n_in as f32 * weight * x;
                let is_close = (product / expected - 1.0).abs() < 0.01 || expected.abs() < 1e-30;
                assert!(
                    is_close || product == expected,
                    "{n_in} of {weight} by {set:?}: {product}"
                );
            }
        }
    }
    for broken in [f32::NAN, f32::INFINITY] {
        for &set in sets {
            let product = dense_product(&[1.0, broken], &[1.0, 1.0], 2, set).unwrap();
            assert!(!product[0].is_finite(), "a broken weight by {set:?}: {product:?}");
            let product = dense_product(&[1.0, 1.0], &[1.0, broken], 2, set).unwrap();
            assert!(!product[0].is_finite(), "a broken input by {set:?}: {product:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_instruction_set_computes_the_same(
        format in 0..FORMATS.len(),
        n_out in 1usize..80,
        n_supers in 1usize..4,
        n_rows in prop_oneof![Just(1usize), 2usize..12, 12usize..70],
        seed in 0u64..1000,
    ) {
        let format = FORMATS[format];
        // An odd number of blocks where the format allows it.
        let n_in = n_supers * if format.0.block_columns() == 32 { 96 } else { 256 };
        let (first, unpacked, others) = matrix(format, n_out, n_in, seed);
        let (second, second_unpacked, _) = matrix(format, 33, n_in, seed + 1);
        let xs = made_up(n_rows * n_in, seed + 2);
        let sets = InstructionSet::available();
        let plain = multiply_with(sets[0], &[&first, &second], &xs);
        // Of a lone sum nearly everything may cancel, and then the error is no small part of it.
        let distance = relative_distance(&plain[0], &exact(&unpacked, &xs, n_in));
        prop_assert!(plain[0].len() < 16 || distance < 0.02);
        prop_assert!(relative_distance(&plain[1], &exact(&second_unpacked, &xs, n_in)) < 0.02);
        for set in sets {
            prop_assert_eq!(&multiply_with(set, &[&first, &second], &xs), &plain, "{:?}", set);
            for other in &others {
                prop_assert_eq!(&multiply_with(set, &[other], &xs)[0], &plain[0], "{:?}", set);
            }
        }
    }
}
