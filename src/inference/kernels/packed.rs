//! Quantised matrices as the kernels read them: sixteen rows side by side.
//!
//! A *tile* is sixteen rows of the matrix, a *block* 32 of its columns, a *group* the blocks whose
//! scales stand together: 8 blocks in the formats of 256 columns, 2 in those of 32. A group is its
//! scales, then its values: whoever multiplies reads front to back. Within a block the columns go in
//! *quads* of four: a quad is 64 bytes, four columns of row 0, then of row 1 and so on, which is what
//! one VNNI instruction multiplies. Values are unsigned and as narrow as in the file:
//!
//! - 4 bits: byte i of vector v holds quad 2v in its low half and quad 2v + 1 in its high half;
//! - 5 bits: as 4, then the fifth bits, one `u64` a quad, bit i for byte i;
//! - 6 bits: as 4, then two vectors of the upper bits, four quads each, two bits each;
//! - 8 bits: a byte each.
//!
//! A value counts `scale · (value − offset)`, or `scale · value − minimum` in Q4_K and Q5_K. Formats
//! of 32 store a scale in f16 for each row and block; those of 256 keep their two levels: an f16 for
//! each row and 256 columns, times small integers. Rows and columns that are missing to whole tiles
//! and blocks are zeros. Nothing is rounded: what is stored is what the file says.

use candle_core::quantized::GgmlDType;
use memmap2::MmapMut;
use rayon::prelude::*;

/// Rows of a tile.
pub const ROWS: usize = 16;
/// Columns of a block.
pub const BLOCK: usize = 32;

/// `$body` with the format as a constant `$constant`: one copy of it for each.
macro_rules! for_kind {
    ($kind:expr, $constant:ident => $body:expr) => {
        match $kind {
            Kind::Q4_0 => {
                const $constant: Kind = Kind::Q4_0;
                $body
            }
            Kind::Q5_0 => {
                const $constant: Kind = Kind::Q5_0;
                $body
            }
            Kind::Q8_0 => {
                const $constant: Kind = Kind::Q8_0;
                $body
            }
            Kind::Q4K => {
                const $constant: Kind = Kind::Q4K;
                $body
            }
            Kind::Q5K => {
                const $constant: Kind = Kind::Q5K;
                $body
            }
            Kind::Q6K => {
                const $constant: Kind = Kind::Q6K;
                $body
            }
        }
    };
}
pub(super) use for_kind;

/// The quantised formats of GGUF that have kernels here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Q4_0,
    Q5_0,
    Q8_0,
    Q4K,
    Q5K,
    Q6K,
}

impl Kind {
    pub fn of(dtype: GgmlDType) -> Option<Self> {
        match dtype {
            GgmlDType::Q4_0 => Some(Self::Q4_0),
            GgmlDType::Q5_0 => Some(Self::Q5_0),
            GgmlDType::Q8_0 => Some(Self::Q8_0),
            GgmlDType::Q4K => Some(Self::Q4K),
            GgmlDType::Q5K => Some(Self::Q5K),
            GgmlDType::Q6K => Some(Self::Q6K),
            _ => None,
        }
    }

    /// Back from its number: a constant of this type can't be a parameter of a function.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    pub const fn numbered(number: u8) -> Self {
        const Q4_0: u8 = Kind::Q4_0 as u8;
        const Q5_0: u8 = Kind::Q5_0 as u8;
        const Q8_0: u8 = Kind::Q8_0 as u8;
        const Q4K: u8 = Kind::Q4K as u8;
        const Q5K: u8 = Kind::Q5K as u8;
        match number {
            Q4_0 => Self::Q4_0,
            Q5_0 => Self::Q5_0,
            Q8_0 => Self::Q8_0,
            Q4K => Self::Q4K,
            Q5K => Self::Q5K,
            _ => Self::Q6K,
        }
    }

    /// Bytes and columns of one block of the file.
    const fn stored(self) -> (usize, usize) {
        match self {
            Self::Q4_0 => (18, 32),
            Self::Q5_0 => (22, 32),
            Self::Q8_0 => (34, 32),
            Self::Q4K => (144, 256),
            Self::Q5K => (176, 256),
            Self::Q6K => (210, 256),
        }
    }

    /// Whether scales have two levels.
    pub const fn is_super(self) -> bool {
        matches!(self, Self::Q4K | Self::Q5K | Self::Q6K)
    }

    /// Bytes of a block's values in a tile.
    pub const fn value_bytes(self) -> usize {
        match self {
            Self::Q4_0 | Self::Q4K => 256,
            Self::Q5_0 | Self::Q5K => 320,
            Self::Q6K => 384,
            Self::Q8_0 => 512,
        }
    }

    /// What each value counts less.
    pub const fn offset(self) -> i32 {
        match self {
            Self::Q4_0 => 8,
            Self::Q5_0 => 16,
            Self::Q8_0 => 128,
            Self::Q4K | Self::Q5K => 0,
            Self::Q6K => 32,
        }
    }

    /// Blocks of a group.
    pub const fn group_blocks(self) -> usize {
        if self.is_super() { 8 } else { 2 }
    }

    /// Bytes of a group's scales.
    pub const fn scale_bytes(self) -> usize {
        if self.is_super() { 320 } else { 64 }
    }

    pub const fn group_bytes(self) -> usize {
        self.scale_bytes() + self.group_blocks() * self.value_bytes()
    }
}

/// A quantised matrix `[n_out, n_in]`; see the module.
#[derive(Debug)]
pub struct PackedMatrix {
    kind: Kind,
    n_out: usize,
    n_in: usize,
    tile_bytes: usize,
    /// Pages of its own: they start on a cache line, and can be large ones.
    bytes: MmapMut,
}

/// One block of a tile, with the scales of its group and its place among them.
#[derive(Debug, Clone, Copy)]
pub struct TileBlock<'a> {
    pub values: &'a [u8],
    pub scales: &'a [u8],
    pub place: usize,
}

/// One block of a tile.
#[inline(always)]
pub fn block_of(kind: Kind, tile: &[u8], block: usize) -> TileBlock<'_> {
    let (group, place) = (block / kind.group_blocks(), block % kind.group_blocks());
    let group = &tile[group * kind.group_bytes()..(group + 1) * kind.group_bytes()];
    let (scales, values) = group.split_at(kind.scale_bytes());
    let values = &values[place * kind.value_bytes()..(place + 1) * kind.value_bytes()];
    TileBlock { values, scales, place }
}

impl PackedMatrix {
    /// From the blocks of a file. None if their number is not that of the shape.
    ///
    /// # Errors
    /// If there is not enough memory.
    pub fn new(
        kind: Kind,
        n_out: usize,
        n_in: usize,
        stored: &[u8],
    ) -> std::io::Result<Option<Self>> {
        let (stored_bytes, stored_columns) = kind.stored();
        let row_bytes = (n_in / stored_columns).saturating_mul(stored_bytes);
        let whole = n_in.is_multiple_of(stored_columns) && n_in > 0 && n_out > 0;
        if !whole || n_out.checked_mul(row_bytes) != Some(stored.len()) {
            return Ok(None);
        }
        let n_groups = (n_in / BLOCK).div_ceil(kind.group_blocks());
        let tile_bytes = n_groups * kind.group_bytes();
        let mut bytes = MmapMut::map_anon(n_out.div_ceil(ROWS) * tile_bytes)?;
        // A wish: fewer pages to look up while all of them are read for every token.
        #[cfg(target_os = "linux")]
        let _ = bytes.advise(memmap2::Advice::HugePage);
        bytes.par_chunks_exact_mut(tile_bytes).enumerate().for_each(|(tile, out)| {
            let first = tile * ROWS;
            let rows = &stored[first * row_bytes..(first + ROWS).min(n_out) * row_bytes];
            pack_tile(kind, rows, row_bytes, out);
        });
        Ok(Some(Self { kind, n_out, n_in, tile_bytes, bytes }))
    }

    pub fn kind(&self) -> Kind {
        self.kind
    }

    pub fn n_out(&self) -> usize {
        self.n_out
    }

    pub fn n_in(&self) -> usize {
        self.n_in
    }

    pub fn n_blocks(&self) -> usize {
        self.n_in / BLOCK
    }

    pub fn n_tiles(&self) -> usize {
        self.n_out.div_ceil(ROWS)
    }

    pub fn tile_bytes(&self) -> usize {
        self.tile_bytes
    }

    pub fn tile(&self, index: usize) -> &[u8] {
        &self.bytes[index * self.tile_bytes..(index + 1) * self.tile_bytes]
    }

    /// Row `index` in f32, `n_in` values.
    ///
    /// # Panics
    /// If there is no such row or `out` is not `n_in` long.
    pub fn row(&self, index: usize, out: &mut [f32]) {
        assert!(index < self.n_out && out.len() == self.n_in);
        let (tile, r) = (self.tile(index / ROWS), index % ROWS);
        let offset = self.kind.offset();
        for (b, out) in out.chunks_exact_mut(BLOCK).enumerate() {
            let block = block_of(self.kind, tile, b);
            let scales = BlockScales::read(self.kind, block.scales, block.place);
            for (quad, out) in out.chunks_exact_mut(4).enumerate() {
                let bytes = quad_values(self.kind, block.values, quad);
                let scale = if quad < 4 { scales.first[r] } else { scales.second[r] };
                for (out, &value) in out.iter_mut().zip(&bytes[4 * r..4 * r + 4]) {
                    let value = (i32::from(value) - offset) as f32;
                    *out = scale.mul_add(value, -scales.minimum[r]);
                }
            }
        }
    }
}

/// The scales of one block of a tile, in f32: those of its first and of its last 16 columns (the
/// same but in Q6_K), and the minima (zero but in Q4_K and Q5_K).
#[derive(Debug, Clone, Copy)]
pub struct BlockScales {
    pub first: [f32; ROWS],
    pub second: [f32; ROWS],
    pub minimum: [f32; ROWS],
}

/// The f16 at `index`, without branches, so that loops over it vectorise.
#[inline(always)]
fn half_at(bytes: &[u8], index: usize) -> f32 {
    /// 2^112: what the exponents of f16 and f32 differ by.
    const SHIFT: f32 = f32::from_bits((127 + 112) << 23);
    let bits = u32::from(u16::from_le_bytes([bytes[2 * index], bytes[2 * index + 1]]));
    let (sign, rest) = ((bits & 0x8000) << 16, bits & 0x7fff);
    let finite = (f32::from_bits(rest << 13) * SHIFT).to_bits();
    let infinite_or_nan = rest << 13 | 0x7f80_0000;
    f32::from_bits(sign | if rest < 0x7c00 { finite } else { infinite_or_nan })
}

impl BlockScales {
    /// Of the block at `place` in its group.
    #[inline(always)]
    pub fn read(kind: Kind, scales: &[u8], place: usize) -> Self {
        if !kind.is_super() {
            let first = std::array::from_fn(|r| half_at(scales, place * ROWS + r));
            return Self { first, second: first, minimum: [0.0; ROWS] };
        }
        let small = &scales[64 + place * 32..64 + place * 32 + 32];
        let scale: [f32; ROWS] = std::array::from_fn(|r| half_at(scales, r));
        if kind == Kind::Q6K {
            let signed = |r: usize| f32::from(small[r].cast_signed());
            return Self {
                first: std::array::from_fn(|r| scale[r] * signed(r)),
                second: std::array::from_fn(|r| scale[r] * signed(ROWS + r)),
                minimum: [0.0; ROWS],
            };
        }
        let first = std::array::from_fn(|r| scale[r] * f32::from(small[r]));
        let minimum =
            std::array::from_fn(|r| half_at(scales, ROWS + r) * f32::from(small[ROWS + r]));
        Self { first, second: first, minimum }
    }
}

/// The 64 unsigned values of one quad of a block.
#[inline(always)]
pub fn quad_values(kind: Kind, values: &[u8], quad: usize) -> [u8; 64] {
    if kind == Kind::Q8_0 {
        return std::array::from_fn(|i| values[quad * 64 + i]);
    }
    let pair = &values[quad / 2 * 64..quad / 2 * 64 + 64];
    let shift = quad % 2 * 4;
    let mut out: [u8; 64] = std::array::from_fn(|i| (pair[i] >> shift) & 15);
    match kind {
        Kind::Q5_0 | Kind::Q5K => {
            let bits = &values[256 + quad * 8..256 + quad * 8 + 8];
            for (i, out) in out.iter_mut().enumerate() {
                *out |= ((bits[i / 8] >> (i % 8)) & 1) << 4;
            }
        }
        Kind::Q6K => {
            let upper = &values[256 + quad / 4 * 64..256 + quad / 4 * 64 + 64];
            let shift = quad % 4 * 2;
            for (out, upper) in out.iter_mut().zip(upper) {
                *out |= ((upper >> shift) & 3) << 4;
            }
        }
        Kind::Q4_0 | Kind::Q4K | Kind::Q8_0 => {}
    }
    out
}

vectorised! {
/// Up to sixteen rows of the file become a tile.
fn pack_tile(kind: Kind, rows: &[u8], row_bytes: usize, out: &mut [u8]) {
    for_kind!(kind, KIND => pack_tile_of(KIND, rows, row_bytes, out));
}
}

#[inline(always)]
fn pack_tile_of(kind: Kind, rows: &[u8], row_bytes: usize, out: &mut [u8]) {
    let (stored_bytes, stored_columns) = kind.stored();
    let n_blocks = stored_columns / BLOCK;
    let per_group = kind.group_blocks() / n_blocks;
    let mut values = [[0u8; 256]; ROWS];
    for column in 0..row_bytes / stored_bytes {
        let (group, place) = (column / per_group, column % per_group);
        let out = &mut out[group * kind.group_bytes()..(group + 1) * kind.group_bytes()];
        let (scales, out) = out.split_at_mut(kind.scale_bytes());
        for (r, row) in rows.chunks_exact(row_bytes).enumerate() {
            let stored = &row[column * stored_bytes..(column + 1) * stored_bytes];
            unpack(kind, stored, &mut values[r]);
            put_scales(kind, stored, scales, place, r);
        }
        let out = &mut out[place * n_blocks * kind.value_bytes()..];
        for (i, out) in out.chunks_exact_mut(kind.value_bytes()).take(n_blocks).enumerate() {
            interleave(kind, &values, i * BLOCK, out);
        }
    }
}

/// The scales of one block of the file go where its group has them: f16 first, then in the formats
/// of two levels the small ones, 32 bytes for each block of 32 columns.
#[inline(always)]
fn put_scales(kind: Kind, stored: &[u8], scales: &mut [u8], place: usize, r: usize) {
    let mut put_half = |index: usize, bytes: &[u8]| {
        scales[2 * index..2 * index + 2].copy_from_slice(bytes);
    };
    match kind {
        Kind::Q4_0 | Kind::Q5_0 | Kind::Q8_0 => put_half(place * ROWS + r, &stored[..2]),
        Kind::Q4K | Kind::Q5K => {
            put_half(r, &stored[..2]);
            put_half(ROWS + r, &stored[2..4]);
            let packed: [u8; 12] = std::array::from_fn(|i| stored[4 + i]);
            for (i, small) in scales[64..].chunks_exact_mut(32).enumerate() {
                (small[r], small[ROWS + r]) = scale_and_minimum(&packed, i);
            }
        }
        Kind::Q6K => {
            put_half(r, &stored[208..210]);
            for (i, small) in scales[64..].chunks_exact_mut(32).enumerate() {
                (small[r], small[ROWS + r]) = (stored[192 + 2 * i], stored[192 + 2 * i + 1]);
            }
        }
    }
}

/// The values of one block of the file, in order.
#[inline(always)]
fn unpack(kind: Kind, stored: &[u8], values: &mut [u8; 256]) {
    match kind {
        Kind::Q4_0 => {
            for (j, &byte) in stored[2..18].iter().enumerate() {
                values[j] = byte & 15;
                values[16 + j] = byte >> 4;
            }
        }
        Kind::Q5_0 => {
            let upper = u32::from_le_bytes([stored[2], stored[3], stored[4], stored[5]]);
            for (j, &byte) in stored[6..22].iter().enumerate() {
                values[j] = byte & 15 | ((upper >> j) as u8 & 1) << 4;
                values[16 + j] = byte >> 4 | ((upper >> (16 + j)) as u8 & 1) << 4;
            }
        }
        Kind::Q8_0 => {
            for (value, &byte) in values.iter_mut().zip(&stored[2..34]) {
                *value = byte ^ 0x80;
            }
        }
        Kind::Q4K | Kind::Q5K => {
            let low = if kind == Kind::Q4K { 16 } else { 48 };
            let quarters = values.chunks_exact_mut(64).zip(stored[low..].chunks_exact(32));
            for (c, (quarter, bytes)) in quarters.enumerate() {
                let (first, second) = quarter.split_at_mut(32);
                for ((a, b), &byte) in first.iter_mut().zip(second.iter_mut()).zip(bytes) {
                    (*a, *b) = (byte & 15, byte >> 4);
                }
                if kind == Kind::Q5K {
                    for ((a, b), &bits) in first.iter_mut().zip(second).zip(&stored[16..48]) {
                        *a |= (bits >> (2 * c) & 1) << 4;
                        *b |= (bits >> (2 * c + 1) & 1) << 4;
                    }
                }
            }
        }
        Kind::Q6K => {
            for (n, half) in values.chunks_exact_mut(128).enumerate() {
                let low = &stored[n * 64..n * 64 + 64];
                let upper = &stored[128 + n * 32..128 + n * 32 + 32];
                for l in 0..32 {
                    half[l] = low[l] & 15 | (upper[l] & 3) << 4;
                    half[32 + l] = low[32 + l] & 15 | (upper[l] >> 2 & 3) << 4;
                    half[64 + l] = low[l] >> 4 | (upper[l] >> 4 & 3) << 4;
                    half[96 + l] = low[32 + l] >> 4 | (upper[l] >> 6) << 4;
                }
            }
        }
    }
}

/// The six-bit scale and minimum of block `i` of 256 in Q4_K and Q5_K.
fn scale_and_minimum(small: &[u8; 12], i: usize) -> (u8, u8) {
    if i < 4 {
        (small[i] & 63, small[i + 4] & 63)
    } else {
        (small[i + 4] & 15 | small[i - 4] >> 6 << 4, small[i + 4] >> 4 | small[i] >> 6 << 4)
    }
}

/// Columns `first..first + 32` of sixteen rows, as the tile has them.
#[inline(always)]
fn interleave(kind: Kind, rows: &[[u8; 256]; ROWS], first: usize, out: &mut [u8]) {
    // Four columns of a row are one number: what is done to a number is done to all four.
    let mut quads = [[0u32; ROWS]; 8];
    for (r, row) in rows.iter().enumerate() {
        for (quad, bytes) in quads.iter_mut().zip(row[first..first + BLOCK].as_chunks::<4>().0) {
            quad[r] = u32::from_le_bytes(*bytes);
        }
    }
    let mut put = |at: usize, numbers: [u32; ROWS]| {
        for (out, number) in out[at..at + 64].as_chunks_mut::<4>().0.iter_mut().zip(numbers) {
            *out = number.to_le_bytes();
        }
    };
    if kind == Kind::Q8_0 {
        for (q, quad) in quads.into_iter().enumerate() {
            put(q * 64, quad);
        }
        return;
    }
    for (v, [first, second]) in quads.as_chunks::<2>().0.iter().enumerate() {
        let low = |r: usize| first[r] & 0x0f0f_0f0f | (second[r] & 0x0f0f_0f0f) << 4;
        put(v * 64, std::array::from_fn(low));
    }
    if kind == Kind::Q6K {
        for (v, four) in quads.as_chunks::<4>().0.iter().enumerate() {
            let upper = |r: usize| {
                let of = |i: usize| (four[i][r] >> 4 & 0x0303_0303_u32) << (2 * i);
                of(0) | of(1) | of(2) | of(3)
            };
            put(256 + v * 64, std::array::from_fn(upper));
        }
    } else if matches!(kind, Kind::Q5_0 | Kind::Q5K) {
        for (q, quad) in quads.iter().enumerate() {
            let mut bits = 0u64;
            for (r, &number) in quad.iter().enumerate() {
                let four = number >> 4 & 0x0101_0101;
                // The lowest bits of four bytes, side by side.
                let four = (four | four >> 7 | four >> 14 | four >> 21) & 15;
                bits |= u64::from(four) << (4 * r);
            }
            out[256 + q * 8..256 + q * 8 + 8].copy_from_slice(&bits.to_le_bytes());
        }
    }
}
