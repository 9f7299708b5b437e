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
//!
//! A matrix is packed once, at loading, or not at all: where products by the file's own rows are as
//! quick, its tiles are made for each product, one at a time ([`PackedMatrix::with_tile`]).

use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;

use candle_core::quantized::GgmlDType;
use rayon::prelude::*;

use super::Level;
use super::packing::pack_tile;
use super::pages::{Pages, Part};

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
    pub const fn stored(self) -> (usize, usize) {
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

    /// Whether products by the file as it is are as quick as by tiles ([`super::in_place`]).
    pub fn is_read_in_place(self, level: Level) -> bool {
        #[cfg(target_arch = "x86_64")]
        return self == Self::Q8_0 && level >= Level::Avx512;
        #[cfg(not(target_arch = "x86_64"))]
        {
            let _ = (self, level);
            false
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

/// Part of a file's bytes, shared by all who read them.
#[derive(Clone)]
pub struct Stored {
    pub file: Arc<dyn AsRef<[u8]> + Send + Sync>,
    pub range: Range<usize>,
}

impl Stored {
    fn bytes(&self) -> &[u8] {
        &(*self.file).as_ref()[self.range.clone()]
    }
}

impl std::fmt::Debug for Stored {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Stored").field(&self.range).finish()
    }
}

/// Where tiles come from.
#[derive(Debug)]
enum Source {
    /// Packed once.
    Tiles(Part),
    /// The file: a tile is packed when it is multiplied, into memory that stays in the cache.
    File(Stored),
}

/// A quantised matrix `[n_out, n_in]`; see the module.
#[derive(Debug)]
pub struct PackedMatrix {
    kind: Kind,
    n_out: usize,
    n_in: usize,
    row_bytes: usize,
    tile_bytes: usize,
    source: Source,
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

/// A cache line.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; 64]);

thread_local! {
    /// The tile that this thread multiplies by.
    static TILE: RefCell<Vec<Line>> = const { RefCell::new(Vec::new()) };
}

impl PackedMatrix {
    /// From the blocks of a file. None if their number is not that of the shape.
    ///
    /// # Errors
    /// If there is not enough memory.
    pub fn new(
        kind: Kind,
        (n_out, n_in): (usize, usize),
        stored: Stored,
        pages: &Pages,
    ) -> std::io::Result<Option<Self>> {
        let Some(matrix) = Self::in_place(kind, (n_out, n_in), stored) else { return Ok(None) };
        if kind.is_read_in_place(Level::best()) {
            Ok(Some(matrix))
        } else {
            matrix.packed(pages).map(Some)
        }
    }

    pub(super) fn in_place(
        kind: Kind,
        (n_out, n_in): (usize, usize),
        stored: Stored,
    ) -> Option<Self> {
        let (stored_bytes, stored_columns) = kind.stored();
        let row_bytes = (n_in / stored_columns).saturating_mul(stored_bytes);
        let whole = n_in.is_multiple_of(stored_columns) && n_in > 0 && n_out > 0;
        if !whole || n_out.checked_mul(row_bytes) != Some(stored.bytes().len()) {
            return None;
        }
        let n_groups = (n_in / BLOCK).div_ceil(kind.group_blocks());
        let tile_bytes = n_groups * kind.group_bytes();
        Some(Self { kind, n_out, n_in, row_bytes, tile_bytes, source: Source::File(stored) })
    }

    /// With tiles of its own.
    pub(super) fn packed(self, pages: &Pages) -> std::io::Result<Self> {
        let Source::File(stored) = &self.source else { return Ok(self) };
        let mut tiles = pages.take(self.n_tiles() * self.tile_bytes)?;
        let rows = stored.bytes().par_chunks(ROWS * self.row_bytes);
        tiles.par_chunks_exact_mut(self.tile_bytes).zip(rows).for_each(|(out, rows)| {
            pack_tile(self.kind, rows, self.row_bytes, out);
        });
        tiles.is_filled();
        Ok(Self { source: Source::Tiles(tiles), ..self })
    }

    /// Whether it goes on reading the file.
    pub fn is_in_place(&self) -> bool {
        matches!(self.source, Source::File(_))
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

    /// The rows of tile `index` as the file has them, if that is read and they are sixteen.
    #[cfg(target_arch = "x86_64")]
    pub fn stored_rows(&self, index: usize) -> Option<&[u8]> {
        let Source::File(stored) = &self.source else { return None };
        let tile_bytes = ROWS * self.row_bytes;
        stored.bytes().get(index * tile_bytes..(index + 1) * tile_bytes)
    }

    /// What `work` makes of tile `index`. It must not ask for another.
    ///
    /// # Panics
    /// If there is no such tile, or `work` does ask.
    pub fn with_tile<T>(&self, index: usize, work: impl FnOnce(&[u8]) -> T) -> T {
        assert!(index < self.n_tiles());
        let stored = match &self.source {
            Source::Tiles(tiles) => {
                return work(&tiles[index * self.tile_bytes..(index + 1) * self.tile_bytes]);
            }
            Source::File(stored) => stored.bytes(),
        };
        let first = index * ROWS;
        let rows = first * self.row_bytes..(first + ROWS).min(self.n_out) * self.row_bytes;
        TILE.with_borrow_mut(|lines| {
            if lines.len() * 64 < self.tile_bytes {
                lines.resize(self.tile_bytes.div_ceil(64), Line([0; 64]));
            }
            let tile = &mut as_bytes_mut(lines)[..self.tile_bytes];
            pack_tile(self.kind, &stored[rows], self.row_bytes, tile);
            work(tile)
        })
    }

    /// Row `index` in f32, `n_in` values.
    ///
    /// # Panics
    /// If there is no such row or `out` is not `n_in` long.
    pub fn row(&self, index: usize, out: &mut [f32]) {
        assert!(index < self.n_out && out.len() == self.n_in);
        self.with_tile(index / ROWS, |tile| self.row_of_tile(tile, index % ROWS, out));
    }

    fn row_of_tile(&self, tile: &[u8], r: usize, out: &mut [f32]) {
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

#[expect(unsafe_code, reason = "bytes of cache lines")]
fn as_bytes_mut(lines: &mut [Line]) -> &mut [u8] {
    // SAFETY: a line is 64 bytes and nothing else.
    unsafe { std::slice::from_raw_parts_mut(lines.as_mut_ptr().cast(), lines.len() * 64) }
}
