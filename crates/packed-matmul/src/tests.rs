//! Every instruction set against plain Rust, and that against candle's own unpacking.

use std::sync::Arc;

use candle_core::Device;
use candle_core::quantized::{GgmlDType, QTensor};
use half::f16;
use proptest::prelude::*;

use super::*;
use crate::matrix::ROWS;

/// As candle calls the format; it does not have all.
fn dtype(format: Format) -> Option<GgmlDType> {
    Some(match format {
        Format::Q4_0 => GgmlDType::Q4_0,
        Format::Q4_1 => GgmlDType::Q4_1,
        Format::Q5_0 => GgmlDType::Q5_0,
        Format::Q5_1 => GgmlDType::Q5_1,
        Format::Q8_0 => GgmlDType::Q8_0,
        Format::Q2K => GgmlDType::Q2K,
        Format::Q3K => GgmlDType::Q3K,
        Format::Q4K => GgmlDType::Q4K,
        Format::Q5K => GgmlDType::Q5K,
        Format::Q6K => GgmlDType::Q6K,
        Format::IQ4NL | Format::IQ4XS | Format::MXFP4 => return None,
    })
}

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

/// A matrix as candle quantises it, or any bytes where candle does not: as it would be loaded, its
/// unpacked values, and read in place and packed.
fn matrix(
    format: Format,
    n_out: usize,
    n_in: usize,
    seed: u64,
) -> (PackedMatrix, Vec<f32>, [PackedMatrix; 2]) {
    let (bytes, unpacked) = if let Some(dtype) = dtype(format) {
        let values = made_up(n_out * n_in, seed);
        let tensor = candle_core::Tensor::from_vec(values, (n_out, n_in), &Device::Cpu).unwrap();
        let blocks = QTensor::quantize(&tensor, dtype).unwrap();
        let unpacked = blocks.dequantize(&Device::Cpu).unwrap().flatten_all().unwrap();
        (blocks.data().unwrap().into_owned(), unpacked.to_vec1().unwrap())
    } else {
        let n_blocks = n_out * n_in / format.block_columns();
        let mut bytes = any_bytes(n_blocks * format.block_bytes(), seed);
        for block in bytes.chunks_exact_mut(format.block_bytes()) {
            if format == Format::MXFP4 {
                block[0] = 118 + block[0] % 8;
                continue;
            }
            let scale = f16::from_f32(f32::from(block[0]) / 8192.0);
            block[..2].copy_from_slice(&scale.to_le_bytes());
        }
        let unpacked = unpack_choices(format, &bytes);
        (bytes, unpacked)
    };
    let loaded = new(format, n_out, n_in, &bytes).unwrap();
    (loaded, unpacked, both_ways(format, n_out, n_in, &bytes))
}

fn any_bytes(n: usize, seed: u64) -> Vec<u8> {
    made_up(n, seed).iter().map(|x| x.to_bits().to_le_bytes()[1]).collect()
}

/// IQ4_NL, IQ4_XS and MXFP4 by their description.
fn unpack_choices(format: Format, bytes: &[u8]) -> Vec<f32> {
    if format == Format::MXFP4 {
        return unpack_floats(bytes);
    }
    let choices =
        [-127i8, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113].map(f32::from);
    let mut values = Vec::new();
    for block in bytes.chunks_exact(format.block_bytes()) {
        let scale = f16::from_le_bytes([block[0], block[1]]).to_f32();
        let nibbles = &block[if format == Format::IQ4NL { 2 } else { 8 }..];
        for (i, nibbles) in nibbles.chunks_exact(16).enumerate() {
            let scale = if format == Format::IQ4NL {
                scale
            } else {
                let upper = u16::from_le_bytes([block[2], block[3]]) >> (2 * i) & 3;
                let lower = block[4 + i / 2] >> (4 * (i % 2)) & 15;
                scale * (f32::from(lower) + 16.0 * f32::from(upper) - 32.0)
            };
            values.extend(nibbles.iter().map(|n| scale * choices[usize::from(n & 15)]));
            values.extend(nibbles.iter().map(|n| scale * choices[usize::from(n >> 4)]));
        }
    }
    values
}

/// MXFP4 by its description: a sign, two bits of exponent, one of fraction, and 2^(scale − 127).
fn unpack_floats(bytes: &[u8]) -> Vec<f32> {
    let float = |nibble: u8, scale: f32| {
        let (exponent, fraction) = (i32::from(nibble >> 1 & 3), f32::from(nibble & 1) / 2.0);
        let size =
            if exponent == 0 { fraction } else { (1.0 + fraction) * 2f32.powi(exponent - 1) };
        scale * if nibble & 8 == 0 { size } else { -size }
    };
    let mut values = Vec::new();
    for block in bytes.chunks_exact(17) {
        let scale = 2f32.powi(i32::from(block[0]) - 127);
        values.extend(block[1..].iter().map(|n| float(n & 15, scale)));
        values.extend(block[1..].iter().map(|n| float(n >> 4, scale)));
    }
    values
}

/// The range of an f16 is less than that of MXFP4's scales: below it weights are nothing, above it infinite.
#[test]
fn scales_of_mxfp4_are_exact_within_the_range_of_an_f16() {
    let of = |exponent: u8| {
        let block = [&[exponent][..], &[0x42; 16]].concat();
        let matrix = new(Format::MXFP4, 1, 32, &block).unwrap();
        let mut row = [0f32; 32];
        matrix.row(0, &mut row);
        // The nibbles 2 and 4: 1 and 2.
        assert_eq!(row[16], 2.0 * row[0]);
        row[0]
    };
    for exponent in 104..=142 {
        assert_eq!(of(exponent), 2f32.powi(i32::from(exponent) - 127), "{exponent}");
    }
    assert_eq!([0, 1, 90, 103].map(of), [0.0; 4]);
    assert_eq!([144, 200, 255].map(of), [f32::INFINITY; 3]);
}

/// Values and sums are those of `gguf.quants.dequantize` (the Python package).
#[test]
fn choices_are_what_llama_cpp_has() {
    for (format, first, sums) in [
        (Format::IQ4NL, [-8.75, 6.25, 28.25, -12.25], [-64.25, -1729.75]),
        (Format::IQ4XS, [16.25, -0.25, -17.25, 20.75], [-2751.25, -522_783.5]),
        (Format::MXFP4, [0.0, 1.5, -0.5, -3.0], [6.25, 159.5]),
    ] {
        let mut block: Vec<u8> =
            (0..format.block_bytes()).map(|i| ((37 * i + 11) % 256) as u8).collect();
        if format == Format::MXFP4 {
            block[0] = 126;
        } else {
            block[..2].copy_from_slice(&f16::from_f32(0.25).to_le_bytes());
        }
        let values = unpack_choices(format, &block);
        assert_eq!(values[..4], first, "{format:?}");
        let sum: f64 = values.iter().map(|v| f64::from(*v)).sum();
        let weighed: f64 = values.iter().zip(1..).map(|(v, i)| f64::from(*v) * f64::from(i)).sum();
        assert_eq!([sum, weighed], sums, "{format:?}");
    }
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
    [in_place(), in_place().packed(&Arena::default(), &|_| {}).unwrap()]
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
    for &format in Format::ALL {
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
    let bits = [4.5, 5.0, 5.5, 6.0, 8.5, 2.625, 3.625, 4.625, 5.625, 6.75, 4.5, 4.375];
    for (&format, bits) in Format::ALL.iter().zip(bits) {
        let n_bytes = 64 * 2048 / format.block_columns() * format.block_bytes();
        let packed = new(format, 64, 2048, &vec![0; n_bytes]).unwrap();
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
        let bytes = any_bytes(n_bytes, 9);
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
fn groups_are_multiplied_as_each_alone() {
    let matrices = [(Format::Q4K, 48), (Format::Q6K, 20), (Format::Q4K, 16)]
        .map(|(format, n_out)| matrix(format, n_out, 512, n_out as u64).0);
    let [first, second, third] = &matrices;
    let (few, many) = (made_up(2 * 512, 1), made_up(19 * 512, 2));
    let groups: [(&[&PackedMatrix], &[f32]); 4] =
        [(&[first, second], &many), (&[third], &few), (&[], &few), (&[first], &[])];
    let together = multiply_each(&groups);
    assert_eq!(together.len(), groups.len());
    for ((matrices, xs), products) in groups.iter().zip(together) {
        assert_eq!(products, multiply(matrices, xs));
    }
}

#[test]
fn parts_that_are_packed_are_told_in_order_and_all() {
    let (n_out, n_in) = (5000, 8192);
    let bytes = vec![1; n_out * n_in / 32 * Format::Q8_0.block_bytes()];
    let told = std::cell::RefCell::new(Vec::new());
    let tell = |part: std::ops::Range<usize>| told.borrow_mut().push(part);
    let whole = PackedMatrix::in_place(Format::Q8_0, (n_out, n_in), stored(&bytes)).unwrap();
    let packed = whole.packed(&Arena::default(), &tell).unwrap();
    let told = told.into_inner();
    assert!(told.len() > 1 && told[0].start == 0 && told[told.len() - 1].end == bytes.len());
    assert!(told.windows(2).all(|pair| pair[0].end == pair[1].start));
    let at_once = new(Format::Q8_0, n_out, n_in, &bytes).unwrap();
    let row = |matrix: &PackedMatrix, index| {
        let mut row = vec![0.0; n_in];
        matrix.row(index, &mut row);
        row
    };
    assert!([0, 1999, 4999].iter().all(|&i| row(&packed, i) == row(&at_once, i)));
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
    let (packed, ..) = matrix(Format::Q4K, 16, 256, 1);
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

/// One value a hundred times as large as the others leaves them their part of the products.
#[test]
fn a_large_value_does_not_round_the_others_away() {
    for &format in Format::ALL {
        let (n_out, n_in) = (33, 1024);
        let (_, unpacked, matrices) = matrix(format, n_out, n_in, 4);
        for n_rows in [1, 3, 19] {
            let small = made_up(n_rows * n_in, 6);
            let mut large = small.clone();
            large.chunks_exact_mut(n_in).for_each(|row| row[77] = 100.0);
            let of = |xs: &[f32]| exact(&unpacked, xs, n_in);
            let error = |xs: &[f32], product: &[f32]| -> f64 {
                of(xs).iter().zip(product).map(|(w, g)| (w - f64::from(*g)).powi(2)).sum()
            };
            for set in InstructionSet::available() {
                let [first, second] =
                    [&matrices[0], &matrices[1]].map(|m| multiply_with(set, &[m], &large).concat());
                assert_eq!(first, second, "{format:?} by {set:?}");
                let without = multiply_with(set, &[&matrices[1]], &small).concat();
                let (error, least) = (error(&large, &first), error(&small, &without));
                assert!(error < 2.0 * least, "{format:?} by {set:?}: {error} {least}");
            }
        }
    }
}

/// Kernels sum in 16 bits as far as the largest values allow.
#[test]
fn the_largest_values_do_not_overflow() {
    let (n_out, n_blocks, n_rows) = (17, 3, 7);
    let one = f16::ONE.to_le_bytes();
    let places = |format| -> &[usize] {
        match format {
            Format::Q4_1 | Format::Q5_1 | Format::Q4K | Format::Q5K => &[0, 2],
            Format::Q2K => &[80, 82],
            Format::Q3K => &[108],
            Format::Q6K => &[208],
            _ => &[0],
        }
    };
    for &format in Format::ALL {
        let scales = places(format);
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
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn every_instruction_set_computes_the_same(
        format in 0..Format::ALL.len(),
        n_out in 1usize..80,
        n_supers in 1usize..4,
        n_rows in prop_oneof![Just(1usize), 2usize..12, 12usize..70],
        seed in 0u64..1000,
    ) {
        let format = Format::ALL[format];
        // An odd number of blocks where the format allows it.
        let n_in = n_supers * if format.block_columns() == 32 { 96 } else { 256 };
        let (first, unpacked, others) = matrix(format, n_out, n_in, seed);
        let (second, second_unpacked, _) = matrix(format, 33, n_in, seed + 1);
        let mut xs = made_up(n_rows * n_in, seed + 2);
        xs[seed as usize % (n_rows * n_in)] = 50.0;
        let sets = InstructionSet::available();
        let plain = multiply_with(sets[0], &[&first, &second], &xs);
        // In a lone sum nearly everything may cancel, and then the error is a large part of it.
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
