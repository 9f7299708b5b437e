//! Every level against the portable kernel, and that against candle's own unpacking.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;

use candle_core::Device;
use candle_core::quantized::{GgmlDType, QTensor};
use half::f16;
use proptest::prelude::*;

use super::*;

const KINDS: [GgmlDType; 6] = [
    GgmlDType::Q4_0,
    GgmlDType::Q5_0,
    GgmlDType::Q8_0,
    GgmlDType::Q4K,
    GgmlDType::Q5K,
    GgmlDType::Q6K,
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
    dtype: GgmlDType,
    n_out: usize,
    n_in: usize,
    seed: u64,
) -> (PackedMatrix, Vec<f32>, [PackedMatrix; 2]) {
    let values = made_up(n_out * n_in, seed);
    let tensor = candle_core::Tensor::from_vec(values, (n_out, n_in), &Device::Cpu).unwrap();
    let blocks = QTensor::quantize(&tensor, dtype).unwrap();
    let unpacked = blocks.dequantize(&Device::Cpu).unwrap().flatten_all().unwrap();
    let (kind, bytes) = (Kind::of(dtype).unwrap(), blocks.data().unwrap());
    let loaded = new(kind, n_out, n_in, &bytes).unwrap();
    (loaded, unpacked.to_vec1().unwrap(), both_ways(kind, n_out, n_in, &bytes))
}

fn new(kind: Kind, n_out: usize, n_in: usize, bytes: &[u8]) -> Option<PackedMatrix> {
    PackedMatrix::new(kind, (n_out, n_in), stored(bytes), &Pages::default()).unwrap()
}

/// `bytes` in the middle of a file.
fn stored(bytes: &[u8]) -> Stored {
    let file = [&[0xff; 3], bytes, &[0xff; 5]].concat();
    Stored { file: Arc::new(file), range: 3..3 + bytes.len() }
}

/// The same matrix read in place, and packed.
fn both_ways(kind: Kind, n_out: usize, n_in: usize, bytes: &[u8]) -> [PackedMatrix; 2] {
    let in_place = || PackedMatrix::in_place(kind, (n_out, n_in), stored(bytes)).unwrap();
    [in_place(), in_place().packed(&Pages::default()).unwrap()]
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
    for dtype in KINDS {
        let (n_out, n_in) = (37, 512);
        let (packed, unpacked, _) = matrix(dtype, n_out, n_in, 3);
        let mut row = vec![0f32; n_in];
        for (index, wanted) in unpacked.chunks_exact(n_in).enumerate() {
            packed.row(index, &mut row);
            for (got, wanted) in row.iter().zip(wanted) {
                assert!((got - wanted).abs() < 1e-6, "{dtype:?} row {index}: {got} {wanted}");
            }
        }
    }
}

#[test]
fn no_more_is_stored_than_the_file_has() {
    for (dtype, bits) in KINDS.into_iter().zip([4.5, 5.5, 8.5, 4.625, 5.625, 6.75]) {
        let (packed, ..) = matrix(dtype, 64, 2048, 1);
        let stored = (packed.n_tiles() * packed.tile_bytes()) as f64 * 8.0 / (64.0 * 2048.0);
        assert!(stored <= bits, "{dtype:?}: {stored} bits a weight");
    }
}

#[test]
fn a_tile_is_the_same_whoever_packs_it() {
    for dtype in KINDS {
        let kind = Kind::of(dtype).unwrap();
        let (n_out, n_in) = (37, 768);
        let (stored_bytes, columns) = kind.stored();
        // Any bytes are blocks.
        let bytes: Vec<u8> = made_up(n_out * n_in / columns * stored_bytes, 9)
            .iter()
            .map(|x| x.to_bits().to_le_bytes()[1])
            .collect();
        let row_bytes = n_in / columns * stored_bytes;
        let tile_bytes = new(kind, n_out, n_in, &bytes).unwrap().tile_bytes();
        for (index, rows) in bytes.chunks(ROWS * row_bytes).enumerate() {
            let (mut tile, mut wanted) = (vec![0; tile_bytes], vec![0; tile_bytes]);
            packing::pack_tile(kind, rows, row_bytes, &mut tile);
            packing::pack_by_compiler(kind, rows, row_bytes, &mut wanted);
            assert!(tile == wanted, "{kind:?}, tile {index}");
        }
    }
}

#[test]
fn blocks_that_do_not_fill_the_shape_are_refused() {
    assert!(new(Kind::Q4K, 16, 256, &[0; 144 * 16 - 1]).is_none());
    assert!(new(Kind::Q4K, 16, 128, &[0; 144 * 16]).is_none());
    assert!(new(Kind::Q8_0, 0, 32, &[]).is_none());
    assert!(new(Kind::Q8_0, usize::MAX, 64, &[0; 68]).is_none());
}

#[test]
fn what_is_no_number_stays_none() {
    let (packed, ..) = matrix(GgmlDType::Q4K, 16, 256, 1);
    for bad in [f32::NAN, f32::INFINITY] {
        for n_rows in [1, 40] {
            let mut xs = made_up(n_rows * 256, 5);
            xs[37] = bad;
            for level in Level::all() {
                let product = multiply(&[&packed], &xs, level).pop().unwrap();
                assert!(product[..16].iter().all(|x| !x.is_finite()), "{level:?}: {product:?}");
                assert!(product[16..].iter().all(|x| x.is_finite()), "{level:?}");
            }
        }
    }
}

/// Kernels sum in 16 bits as far as the largest values allow.
#[test]
fn the_largest_values_do_not_overflow() {
    let (n_out, n_blocks, n_rows) = (17, 3, 7);
    let one = f16::ONE.to_le_bytes();
    for (dtype, scales) in KINDS.into_iter().zip([&[0][..], &[0], &[0], &[0, 2], &[0, 2], &[208]]) {
        let kind = Kind::of(dtype).unwrap();
        for byte in [0x00, 0x7f, 0x80, 0xff] {
            let mut bytes = vec![byte; n_out * n_blocks * dtype.type_size()];
            for block in bytes.chunks_exact_mut(dtype.type_size()) {
                for &scale in scales {
                    block[scale..scale + 2].copy_from_slice(&one);
                }
            }
            let n_in = n_blocks * dtype.block_size();
            // All positive, all negative, and in turns, so that pairs add up whatever their signs.
            for signs in [[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]] {
                let xs: Vec<f32> = signs.into_iter().cycle().take(n_rows * n_in).collect();
                for matrix in both_ways(kind, n_out, n_in, &bytes) {
                    let portable = multiply(&[&matrix], &xs, Level::Portable);
                    for level in Level::all() {
                        let products = multiply(&[&matrix], &xs, level);
                        assert_eq!(products, portable, "{dtype:?} of {byte:#x} by {level:?}");
                    }
                    // One row has a way of its own.
                    let first = multiply(&[&matrix], &xs[..n_in], Level::best()).concat();
                    assert_eq!(first, portable[0][..n_out], "{dtype:?} of {byte:#x}");
                }
            }
        }
    }
}

fn dense_product(values: &[f32], xs: &[f32], n_in: usize, level: Level) -> Option<Vec<f32>> {
    let n_out = values.len() / n_in;
    let matrix = DenseMatrix::new(values, n_out, n_in, level)?;
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
        let of = |level| dense_product(&values, &xs, n_in, level);
        assert!(of(Level::Portable).is_none());
        for level in Level::all() {
            let Some(product) = of(level) else { continue };
            let is_bf16 = level == Level::Amx && n_in.is_multiple_of(32);
            let distance = relative_distance(&product, &exact);
            let most = if is_bf16 { 0.01 } else { 0.001 };
            assert!(distance < most, "{n_out} {n_in} {n_rows} by {level:?}: {distance}");
            assert!(is_bf16 || Some(product) == of(Level::Avx2), "sums in integers are exact");
        }
    }
}

/// The widest matrix, its weights and inputs as large as they can be, all of one sign.
#[cfg(target_arch = "x86_64")]
#[test]
fn the_largest_sums_of_16_bit_integers_do_not_overflow() {
    for (weight, x) in [(1.0, 1.0), (1.0, -1.0), (3e38, 1.0), (1e-38, 1e-3)] {
        for n_in in [2, 384, int16::N_IN_MAX] {
            let (values, xs) = (vec![weight; n_in], vec![x; n_in]);
            for level in Level::all().into_iter().filter(|&level| level > Level::Portable) {
                let product = dense_product(&values, &xs, n_in, level).unwrap()[0];
                let expected = n_in as f32 * weight * x;
                let is_close = (product / expected - 1.0).abs() < 0.01 || expected.abs() < 1e-30;
                assert!(
                    is_close || product == expected,
                    "{n_in} of {weight} by {level:?}: {product}"
                );
            }
        }
    }
    for broken in [f32::NAN, f32::INFINITY] {
        for level in Level::all().into_iter().filter(|&level| level > Level::Portable) {
            let product = dense_product(&[1.0, broken], &[1.0, 1.0], 2, level).unwrap();
            assert!(!product[0].is_finite(), "a broken weight by {level:?}: {product:?}");
            let product = dense_product(&[1.0, 1.0], &[1.0, broken], 2, level).unwrap();
            assert!(!product[0].is_finite(), "a broken input by {level:?}: {product:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_level_computes_the_same(
        kind in 0..KINDS.len(),
        n_out in 1usize..80,
        n_supers in 1usize..4,
        n_rows in prop_oneof![Just(1usize), 2usize..12, 12usize..70],
        seed in 0u64..1000,
    ) {
        let dtype = KINDS[kind];
        // An odd number of blocks where the format allows it.
        let n_in = if kind < 3 { n_supers * 96 } else { n_supers * 256 };
        let (first, unpacked, others) = matrix(dtype, n_out, n_in, seed);
        let (second, second_unpacked, _) = matrix(dtype, 33, n_in, seed + 1);
        let xs = made_up(n_rows * n_in, seed + 2);
        let portable = multiply(&[&first, &second], &xs, Level::Portable);
        // A lone sum may be all cancellation; its error is then no small share of it.
        let is_near = |got: &[f32], most| {
            got.len() < 16 || relative_distance(got, &exact(&unpacked, &xs, n_in)) < most
        };
        prop_assert!(is_near(&portable[0], 0.02));
        prop_assert!(relative_distance(&portable[1], &exact(&second_unpacked, &xs, n_in)) < 0.02);
        for level in Level::all() {
            let products = multiply(&[&first, &second], &xs, level);
            for other in &others {
                prop_assert_eq!(&multiply(&[other], &xs, level)[0], &products[0], "{:?}", level);
            }
            if is_bf16(level, n_rows) {
                prop_assert!(is_near(&products[0], 0.01));
                prop_assert!(
                    relative_distance(&products[1], &exact(&second_unpacked, &xs, n_in)) < 0.01
                );
            } else {
                prop_assert_eq!(&products, &portable, "{:?}", level);
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
fn is_bf16(level: Level, n_rows: usize) -> bool {
    level == Level::Amx && n_rows >= TILE_UNIT_ROWS_MIN
}

#[cfg(not(target_arch = "x86_64"))]
fn is_bf16(_: Level, _: usize) -> bool {
    false
}
