//! What [`crate::packing`] does, by AVX-512: fast enough to be done in every product, while the file's
//! rows are read.
//!
//! A tile is its rows transposed in units of four bytes, with the file's nibbles and bits moved to
//! their places in the tile.

#[allow(clippy::wildcard_imports, reason = "the names of the instructions")]
use std::arch::x86_64::*;
use std::marker::PhantomData;

use crate::formats::{
    Bits, BlockFormat, Format, IQ4NL, IQ4XS, Q2K, Q3K, Q4_0, Q4_1, Q4K, Q5_0, Q5_1, Q5K, Q6K, Q8_0,
};
use crate::matrix::ROWS;
use crate::packing::pack_by_definition;
use crate::prefetch::prefetch_next;

/// One block of each of sixteen rows, from some byte of it on.
#[derive(Clone, Copy)]
struct Blocks<'a> {
    start: *const u8,
    row_bytes: usize,
    /// Bytes of each block from `start` on.
    n_left: usize,
    _bytes: PhantomData<&'a [u8]>,
}

impl<'a> Blocks<'a> {
    /// The blocks of `n_bytes` at `at` in each of the rows.
    ///
    /// # Panics
    /// If there is no such block.
    #[inline(always)]
    fn new(rows: &'a [u8], row_bytes: usize, at: usize, n_bytes: usize) -> Self {
        assert!(rows.len() >= ROWS * row_bytes && at + n_bytes <= row_bytes);
        let start = rows[at..].as_ptr();
        Self { start, row_bytes, n_left: n_bytes, _bytes: PhantomData }
    }

    /// The same, without the first `n` bytes of each.
    #[inline(always)]
    fn skip(self, n: usize) -> Self {
        assert!(n <= self.n_left);
        Self { start: self.start.wrapping_add(n), n_left: self.n_left - n, ..self }
    }

    /// The next `n` bytes of row `r`.
    ///
    /// # Panics
    /// If there are fewer than sixteen rows, or fewer bytes left.
    #[inline(always)]
    fn part(&self, r: usize, n: usize) -> &'a [u8] {
        assert!(r < ROWS && n <= self.n_left);
        // SAFETY: `new` asserted that there are sixteen rows of `row_bytes` and that the block's
        // bytes lie within each of them; `start` and `n_left` change together, within the block. So
        // `n ≤ n_left` bytes follow in row `r < 16`, of the slice that `'a` borrows.
        unsafe { std::slice::from_raw_parts(self.start.add(r * self.row_bytes), n) }
    }
}

/// Sixteen whole rows of a file become a tile.
///
/// # Panics
/// If they are not sixteen whole rows, or `out` is shorter than a tile.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
pub fn pack_tile(format: Format, rows: &[u8], row_bytes: usize, out: &mut [u8]) {
    assert!(rows.len() == ROWS * row_bytes);
    match format {
        Format::Q4_0 => pack_by_32::<Q4_0>(rows, row_bytes, out),
        Format::Q4_1 => pack_by_32::<Q4_1>(rows, row_bytes, out),
        Format::Q5_0 => pack_by_32::<Q5_0>(rows, row_bytes, out),
        Format::Q5_1 => pack_by_32::<Q5_1>(rows, row_bytes, out),
        Format::Q8_0 => pack_by_32::<Q8_0>(rows, row_bytes, out),
        Format::IQ4NL => pack_by_32::<IQ4NL>(rows, row_bytes, out),
        Format::Q2K => pack_by_256::<Q2K>(rows, row_bytes, out),
        Format::Q3K => pack_by_256::<Q3K>(rows, row_bytes, out),
        Format::Q4K => pack_by_256::<Q4K>(rows, row_bytes, out),
        Format::Q5K => pack_by_256::<Q5K>(rows, row_bytes, out),
        Format::Q6K => pack_by_256::<Q6K>(rows, row_bytes, out),
        Format::IQ4XS => pack_by_256::<IQ4XS>(rows, row_bytes, out),
        Format::MXFP4 => pack_by_definition(format, rows, row_bytes, out),
    }
}

/// The formats of 32 columns.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn pack_by_32<F: BlockFormat>(bytes: &[u8], row_bytes: usize, out: &mut [u8]) {
    let block_bytes = F::FILE_BLOCK_BYTES;
    for block in 0..row_bytes / block_bytes {
        prefetch_next(bytes, block * ROWS * block_bytes, ROWS * block_bytes);
        let rows = Blocks::new(bytes, row_bytes, block * block_bytes, block_bytes);
        let (group, place) = (block / F::GROUP_BLOCKS, block % F::GROUP_BLOCKS);
        let group = &mut out[group * F::GROUP_BYTES..(group + 1) * F::GROUP_BYTES];
        let (scales, values) = group.split_at_mut(F::SCALE_BYTES);
        put_f16(rows, &mut scales[place * 2 * ROWS..]);
        let rows = rows.skip(2);
        let rows = if F::HAS_MINIMA {
            put_f16(rows, &mut scales[2 * ROWS..]);
            turn_signs(&mut scales[2 * ROWS..]);
            rows.skip(2)
        } else {
            rows
        };
        let values = &mut values[place * F::VALUE_BYTES..(place + 1) * F::VALUE_BYTES];
        match F::BITS {
            Bits::Eight => {
                let sign = _mm512_set1_epi8(-128);
                for (q, quad) in transpose_8(rows).into_iter().enumerate() {
                    store(_mm512_xor_si512(quad, sign), &mut values[q * 64..]);
                }
            }
            Bits::Five => {
                let [bits, values_0, values_1, values_2, values_3, ..] = transpose_most::<5>(rows);
                put_nibbles_of_a_block([values_0, values_1, values_2, values_3], values);
                for (q, out) in values[256..320].as_chunks_mut::<8>().0.iter_mut().enumerate() {
                    // Each byte gets its row's eight bits, of which four are this quad's.
                    let spread = _mm512_set1_epi32(0x0101_0101 * (q as i32 / 2));
                    let lanes = _mm512_set4_epi32(0x0c0c_0c0c, 0x0808_0808, 0x0404_0404, 0);
                    let bytes = _mm512_shuffle_epi8(bits, _mm512_add_epi8(spread, lanes));
                    let own = _mm512_set1_epi32(if q % 2 == 0 {
                        0x0804_0201
                    } else {
                        0x8040_2010_u32.cast_signed()
                    });
                    *out = _mm512_test_epi8_mask(bytes, own).to_le_bytes();
                }
            }
            _ => put_nibbles_of_a_block(transpose_4(rows), values),
        }
    }
}

/// The formats of 256 columns.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn pack_by_256<F: BlockFormat>(bytes: &[u8], row_bytes: usize, out: &mut [u8]) {
    let block_bytes = F::FILE_BLOCK_BYTES;
    let groups = out.chunks_exact_mut(F::GROUP_BYTES).take(row_bytes / block_bytes);
    for (g, group) in groups.enumerate() {
        prefetch_next(bytes, g * ROWS * block_bytes, ROWS * block_bytes);
        let rows = Blocks::new(bytes, row_bytes, g * block_bytes, block_bytes);
        let (scales, values) = group.split_at_mut(F::SCALE_BYTES);
        match F::BITS {
            Bits::Two => {
                put_f16(rows.skip(80), scales);
                put_f16(rows.skip(82), &mut scales[2 * ROWS..]);
                put_bytes_by_16(transpose_4(rows), scales);
                pack_two_or_three_bits::<F>(rows.skip(16), values);
            }
            Bits::Three => {
                put_f16(rows.skip(108), scales);
                put_bytes_by_16(scales_of_six_bits(transpose_most::<3>(rows.skip(96))), scales);
                pack_two_or_three_bits::<F>(rows, values);
            }
            Bits::Six => {
                put_f16(rows.skip(208), scales);
                put_bytes_by_16(transpose_4(rows.skip(192)), scales);
                pack_six_bits(rows, values);
            }
            Bits::FourChoices => {
                put_choices_scales(transpose_most::<2>(rows), scales);
                for (b, block) in values.chunks_exact_mut(F::VALUE_BYTES).enumerate() {
                    put_nibbles_of_a_block(transpose_4(rows.skip(8 + 16 * b)), block);
                }
            }
            _ => {
                put_two_level_scales(transpose_4(rows), scales);
                pack_four_or_five_bits::<F>(rows.skip(16), values);
            }
        }
    }
}

/// Q2_K and Q3_K: 128 columns a round, of which 32 bytes hold the lower two bits.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn pack_two_or_three_bits<F: BlockFormat>(rows: Blocks<'_>, out: &mut [u8]) {
    let is_three = F::BITS == Bits::Three;
    let lone = if is_three { transpose_8(rows) } else { [_mm512_setzero_si512(); 8] };
    let rows = if is_three { rows.skip(32) } else { rows };
    for (b, block) in out.chunks_exact_mut(F::VALUE_BYTES).enumerate() {
        let bits = transpose_8(rows.skip(b / 4 * 32));
        for v in 0..2 {
            store(two_bits(&bits, v, b % 4), &mut block[64 * v..]);
        }
        if is_three {
            put_lone_bits(&lone, b, &mut block[128..192]);
        }
    }
}

/// Bit `b` of each byte of eight quads.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn put_lone_bits(quads: &[__m512i; 8], b: usize, out: &mut [u8]) {
    let own = _mm512_set1_epi8((1u8 << b).cast_signed());
    for (quad, out) in quads.iter().zip(out.as_chunks_mut::<8>().0) {
        *out = _mm512_test_epi8_mask(*quad, own).to_le_bytes();
    }
}

/// Bits 2b and 2b + 1 of each byte of four quads from `4 · v` on, side by side.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn two_bits(quads: &[__m512i; 8], v: usize, b: usize) -> __m512i {
    let mut bits = _mm512_setzero_si512();
    for i in 0..4 {
        // Bits 2b of a byte go to bits 2i.
        let quad = quads[4 * v + i];
        let moved = match 2 * i as i32 - 2 * b as i32 {
            6 => _mm512_slli_epi16::<6>(quad),
            4 => _mm512_slli_epi16::<4>(quad),
            2 => _mm512_slli_epi16::<2>(quad),
            -2 => _mm512_srli_epi16::<2>(quad),
            -4 => _mm512_srli_epi16::<4>(quad),
            -6 => _mm512_srli_epi16::<6>(quad),
            _ => quad,
        };
        let own = _mm512_set1_epi8((3u8 << (2 * i)).cast_signed());
        // bits | (moved & own)
        bits = _mm512_ternarylogic_epi32::<0xf8>(bits, moved, own);
    }
    bits
}

/// Q4_K and Q5_K: 64 columns a round, the first 32 of them in the low nibbles of 32 bytes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn pack_four_or_five_bits<F: BlockFormat>(rows: Blocks<'_>, out: &mut [u8]) {
    let is_five = F::BITS == Bits::Five;
    let upper = if is_five { transpose_8(rows) } else { [_mm512_setzero_si512(); 8] };
    let rows = if is_five { rows.skip(32) } else { rows };
    let mut blocks = out.chunks_exact_mut(F::VALUE_BYTES);
    for round in 0..4 {
        let pairs = transpose_8(rows.skip(32 * round));
        for high in [false, true] {
            let Some(block) = blocks.next() else { return };
            let of = |pairs: __m512i, next: __m512i| {
                if high { high_nibbles(pairs, next) } else { low_nibbles(pairs, next) }
            };
            for v in 0..4 {
                store(of(pairs[2 * v], pairs[2 * v + 1]), &mut block[64 * v..]);
            }
            if is_five {
                put_lone_bits(&upper, 2 * round + usize::from(high), &mut block[256..320]);
            }
        }
    }
}

/// Q6_K: 128 columns a round; 64 bytes hold their lower four bits, 32 others the upper two.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn pack_six_bits(rows: Blocks<'_>, out: &mut [u8]) {
    let rounds = out.chunks_exact_mut(4 * Q6K::VALUE_BYTES);
    for (round, out) in rounds.enumerate() {
        let upper = transpose_8(rows.skip(128 + 32 * round));
        let first = transpose_8(rows.skip(64 * round));
        let second = transpose_8(rows.skip(64 * round + 32));
        let (blocks, _) = out.as_chunks_mut::<{ Q6K::VALUE_BYTES }>();
        for (b, block) in blocks.iter_mut().enumerate().take(4) {
            let pairs = if b % 2 == 0 { &first } else { &second };
            for v in 0..4 {
                let (pairs, next) = (pairs[2 * v], pairs[2 * v + 1]);
                let low = if b < 2 { low_nibbles(pairs, next) } else { high_nibbles(pairs, next) };
                store(low, &mut block[64 * v..]);
            }
            for v in 0..2 {
                store(two_bits(&upper, v, b), &mut block[256 + 64 * v..]);
            }
        }
    }
}

/// The f16 that each row begins with.
#[inline(always)]
fn put_f16(rows: Blocks<'_>, out: &mut [u8]) {
    for (r, out) in out[..2 * ROWS].as_chunks_mut::<2>().0.iter_mut().enumerate() {
        out.copy_from_slice(rows.part(r, 2));
    }
}

/// Flips the signs of sixteen f16.
#[inline(always)]
fn turn_signs(f16s: &mut [u8]) {
    for [_, upper] in f16s[..2 * ROWS].as_chunks_mut::<2>().0 {
        *upper ^= 0x80;
    }
}

/// Sixteen bytes of each row: scales of the second level for each 16 columns.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn put_bytes_by_16(fours: [__m512i; 4], scales: &mut [u8]) {
    for (four, out) in fours.into_iter().zip(scales[64..].chunks_exact_mut(64)) {
        store(bytes_apart(four), out);
    }
}

/// The twelve bytes of Q3_K's scales: the lower four bits of sixteen, then the upper two.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn scales_of_six_bits([first, second, upper, ..]: [__m512i; 8]) -> [__m512i; 4] {
    let (four, two) = (_mm512_set1_epi8(15), _mm512_set1_epi8(0x30));
    let with_top = |low: __m512i, top: __m512i| {
        // (low & four) | (top & two), less 32
        let low = _mm512_and_si512(low, four);
        let six = _mm512_ternarylogic_epi32::<0xf8>(low, top, two);
        _mm512_sub_epi8(six, _mm512_set1_epi8(32))
    };
    [
        with_top(first, _mm512_slli_epi16::<4>(upper)),
        with_top(second, _mm512_slli_epi16::<2>(upper)),
        with_top(_mm512_srli_epi16::<4>(first), upper),
        with_top(_mm512_srli_epi16::<4>(second), _mm512_srli_epi16::<2>(upper)),
    ]
}

/// The first 8 bytes of IQ4_XS: an f16, the upper two bits of eight scales, and their lower four.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn put_choices_scales([f16s, low, ..]: [__m512i; 8], out: &mut [u8]) {
    store_short(_mm512_cvtepi32_epi16(f16s), out);
    let upper = _mm512_srli_epi32::<16>(f16s);
    for (i, out) in out[64..].chunks_exact_mut(ROWS).take(8).enumerate() {
        let low = _mm512_srlv_epi32(low, _mm512_set1_epi32(4 * i as i32));
        let top = _mm512_srlv_epi32(upper, _mm512_set1_epi32(2 * i as i32));
        let low = _mm512_and_si512(low, _mm512_set1_epi32(15));
        let top = _mm512_and_si512(top, _mm512_set1_epi32(3));
        let six = _mm512_or_si512(low, _mm512_slli_epi32::<4>(top));
        let scale = _mm512_cvtepi32_epi8(_mm512_sub_epi32(six, _mm512_set1_epi32(32)));
        // SAFETY: `out` is sixteen bytes.
        unsafe { _mm_storeu_si128(out.as_mut_ptr().cast(), scale) }
    }
}

/// The first 16 bytes of Q4_K and Q5_K: two f16, and eight scales and minima of six bits each.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn put_two_level_scales([f16s, scales, minima, upper]: [__m512i; 4], out: &mut [u8]) {
    store_short(_mm512_cvtepi32_epi16(f16s), out);
    store_short(_mm512_cvtepi32_epi16(_mm512_srli_epi32::<16>(f16s)), &mut out[32..]);
    let six = _mm512_set1_epi8(63);
    let four = _mm512_set1_epi8(15);
    let two = _mm512_set1_epi8(0x30);
    let with_top = |low: __m512i, top: __m512i| {
        // (low & four) | (top >> 2 & two)
        let low = _mm512_and_si512(low, four);
        _mm512_ternarylogic_epi32::<0xf8>(low, _mm512_srli_epi16::<2>(top), two)
    };
    let four_blocks_each = [
        (_mm512_and_si512(scales, six), _mm512_and_si512(minima, six)),
        (with_top(upper, scales), with_top(_mm512_srli_epi16::<4>(upper), minima)),
    ];
    for ((scales, minima), out) in four_blocks_each.into_iter().zip(out[64..].chunks_exact_mut(128))
    {
        // Sixteen scales and sixteen minima alternately.
        let (scales, minima) = (bytes_apart(scales), bytes_apart(minima));
        let first = _mm512_set_epi64(11, 10, 3, 2, 9, 8, 1, 0);
        let second = _mm512_set_epi64(15, 14, 7, 6, 13, 12, 5, 4);
        store(_mm512_permutex2var_epi64(scales, first, minima), out);
        store(_mm512_permutex2var_epi64(scales, second, minima), &mut out[64..]);
    }
}

/// Four rows of sixteen bytes: byte i of every number in row i.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn bytes_apart(numbers: __m512i) -> __m512i {
    let within = _mm512_set4_epi32(0x0f0b_0703, 0x0e0a_0602, 0x0d09_0501, 0x0c08_0400);
    let across = _mm512_set_epi32(15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1, 12, 8, 4, 0);
    _mm512_permutexvar_epi32(across, _mm512_shuffle_epi8(numbers, within))
}

/// The low nibbles of two vectors of bytes: those of `first` low, those of `second` high.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn low_nibbles(first: __m512i, second: __m512i) -> __m512i {
    let low = _mm512_set1_epi8(15);
    // first where `low`, else second
    _mm512_ternarylogic_epi32::<0xca>(low, first, _mm512_slli_epi16::<4>(second))
}

/// The high nibbles of two vectors of bytes: those of `first` low, those of `second` high.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn high_nibbles(first: __m512i, second: __m512i) -> __m512i {
    let low = _mm512_set1_epi8(15);
    _mm512_ternarylogic_epi32::<0xca>(low, _mm512_srli_epi16::<4>(first), second)
}

/// 32 columns in 16 bytes: the first 16 in their low nibbles, the others in the high.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn put_nibbles_of_a_block(pairs: [__m512i; 4], out: &mut [u8]) {
    store(low_nibbles(pairs[0], pairs[1]), out);
    store(low_nibbles(pairs[2], pairs[3]), &mut out[64..]);
    store(high_nibbles(pairs[0], pairs[1]), &mut out[128..]);
    store(high_nibbles(pairs[2], pairs[3]), &mut out[192..]);
}

/// The next 16 bytes of each row: four of every row in each vector.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn transpose_4(rows: Blocks<'_>) -> [__m512i; 4] {
    let of = |r: usize| {
        let four = _mm512_castsi128_si512(load_16(rows.part(r, 16)));
        let four = _mm512_inserti32x4::<1>(four, load_16(rows.part(r + 4, 16)));
        let four = _mm512_inserti32x4::<2>(four, load_16(rows.part(r + 8, 16)));
        _mm512_inserti32x4::<3>(four, load_16(rows.part(r + 12, 16)))
    };
    transpose_lanes([of(0), of(1), of(2), of(3)])
}

/// The next 32 bytes of each row: four of every row in each vector.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn transpose_8(rows: Blocks<'_>) -> [__m512i; 8] {
    transpose_most::<8>(rows)
}

/// The next `4 * N` bytes of each row: four of every row in each vector; vectors from `N` on are zeros.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn transpose_most<const N: usize>(rows: Blocks<'_>) -> [__m512i; 8] {
    let of = |r: usize| {
        let two = _mm512_castsi256_si512(load_most::<N>(rows.part(r, 4 * N)));
        _mm512_inserti64x4::<1>(two, load_most::<N>(rows.part(r + 4, 4 * N)))
    };
    let first = transpose_lanes([of(0), of(1), of(2), of(3)]);
    let second = transpose_lanes([of(8), of(9), of(10), of(11)]);
    let mut out = [_mm512_setzero_si512(); 8];
    for i in 0..4 {
        out[i] = _mm512_shuffle_i64x2::<0b10_00_10_00>(first[i], second[i]);
        out[4 + i] = _mm512_shuffle_i64x2::<0b11_01_11_01>(first[i], second[i]);
    }
    out
}

/// Four by four numbers, transposed within each 16 bytes.
#[inline]
#[target_feature(enable = "avx512f")]
fn transpose_lanes([a, b, c, d]: [__m512i; 4]) -> [__m512i; 4] {
    let (low, high) = (_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
    let (next_low, next_high) = (_mm512_unpacklo_epi32(c, d), _mm512_unpackhi_epi32(c, d));
    [
        _mm512_unpacklo_epi64(low, next_low),
        _mm512_unpackhi_epi64(low, next_low),
        _mm512_unpacklo_epi64(high, next_high),
        _mm512_unpackhi_epi64(high, next_high),
    ]
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load_16(bytes: &[u8]) -> __m128i {
    assert!(bytes.len() >= 16);
    // SAFETY: 16 bytes are there, as asserted.
    unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
fn load_most<const N: usize>(bytes: &[u8]) -> __m256i {
    assert!(bytes.len() >= 4 * N);
    if N == 8 {
        // SAFETY: 32 bytes are there, as asserted.
        return unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) };
    }
    // SAFETY: `4 * N` bytes are there, as asserted; masked lanes are not read.
    unsafe { _mm256_maskz_loadu_epi32((1 << N) - 1, bytes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store(vector: __m512i, out: &mut [u8]) {
    assert!(out.len() >= 64);
    // SAFETY: `out` has room for 64 bytes, as asserted.
    unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), vector) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store_short(vector: __m256i, out: &mut [u8]) {
    assert!(out.len() >= 32);
    // SAFETY: `out` has room for 32 bytes, as asserted.
    unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), vector) }
}
