//! Quantised matrices as the kernels read them: sixteen rows side by side.
//!
//! A *tile* is sixteen rows of the matrix, a *block* 32 of its columns, a *group* the blocks whose
//! scales stand together (one, two or eight, see [`crate::formats::Scales`]). A group is its scales, then
//! its values, so a product reads from front to back. The columns of a block are in *quads* of four: a
//! quad is 64 bytes, four columns of row 0, then of row 1 and so on, which is what one VNNI
//! instruction multiplies. Values are unsigned and as narrow as in the file:
//!
//! - 2 bits: byte i of vector v has quad 4v in its lowest two bits, quad 4v + 3 in its highest;
//! - 3 bits: as 2, then the third bits, a `u64` for each quad, bit i for byte i;
//! - 4 bits: byte i of vector v has quad 2v in its low nibble and quad 2v + 1 in its high nibble;
//! - 5 bits: as 4, then the fifth bits, a `u64` for each quad, bit i for byte i;
//! - 6 bits: as 4, then two vectors of the upper two bits, each of four quads;
//! - 8 bits: a byte each.
//!
//! Rows and columns are padded with zeros to whole tiles and groups. Nothing is rounded: the
//! weights are exactly those of the file.
//!
//! A matrix is packed once, at loading, or never: where products read the file's own rows just as fast,
//! tiles are made when they are needed, one at a time ([`PackedMatrix::with_tile`]).

use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use crate::InstructionSet;
use crate::arena::{Arena, Part};
use crate::formats::{Bits, BlockFormat, CHOICES_UNSIGNED, Format, Scales, for_format};
use crate::packing::pack_tile;

/// Rows of a tile.
pub(crate) const ROWS: usize = 16;
/// Columns of a block.
pub(crate) const BLOCK: usize = 32;
/// Of a file's blocks that are packed at once.
const PART_BYTES: usize = 16 << 20;

/// Bytes, or a part of them, that several owners read: a mapped file, say.
///
/// ```
/// use std::sync::Arc;
///
/// let file: Arc<Vec<u8>> = Arc::new(vec![0; 100]);
/// let tensor = packed_matmul::SharedBytes::new(file, 32..66);
/// assert_eq!(tensor.as_slice().len(), 34);
/// ```
#[derive(Clone)]
pub struct SharedBytes {
    owner: Arc<dyn AsRef<[u8]> + Send + Sync>,
    range: Range<usize>,
}

impl SharedBytes {
    /// Bytes `range` of `owner`.
    ///
    /// # Panics
    /// If `owner` has no such bytes.
    pub fn new(owner: Arc<dyn AsRef<[u8]> + Send + Sync>, range: Range<usize>) -> Self {
        assert!((*owner).as_ref().get(range.clone()).is_some(), "no bytes {range:?}");
        Self { owner, range }
    }

    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        &(*self.owner).as_ref()[self.range.clone()]
    }
}

impl From<Vec<u8>> for SharedBytes {
    fn from(bytes: Vec<u8>) -> Self {
        let range = 0..bytes.len();
        Self { owner: Arc::new(bytes), range }
    }
}

impl std::fmt::Debug for SharedBytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("SharedBytes").field(&self.range).finish()
    }
}

/// Why a matrix could not be made.
#[derive(Debug)]
pub enum PackError {
    /// The shape is empty, its rows are not whole blocks, or the bytes are not its blocks.
    Shape {
        /// The format of the blocks.
        format: Format,
        /// Rows.
        n_out: usize,
        /// Columns.
        n_in: usize,
        /// Bytes that were given.
        n_bytes: usize,
    },
    /// There is not enough memory for the tiles.
    Memory(std::io::Error),
}

impl std::fmt::Display for PackError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Shape { format, n_out, n_in, n_bytes } => {
                write!(
                    f,
                    "{n_bytes} bytes are no {format:?} matrix of {n_out} rows and {n_in} columns"
                )
            }
            Self::Memory(_) => write!(f, "there is no memory for the matrix"),
        }
    }
}

impl std::error::Error for PackError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Shape { .. } => None,
            Self::Memory(error) => Some(error),
        }
    }
}

/// Where tiles come from.
#[derive(Debug)]
enum Source {
    /// Packed at loading.
    Tiles(Part),
    /// The file's blocks: a tile is packed when it is multiplied, into memory that stays in cache.
    File(SharedBytes),
}

/// A quantised matrix `[n_out, n_in]`, ready to multiply ([`crate::multiply()`]).
///
/// ```
/// use packed_matmul::{Arena, Format, PackedMatrix, multiply};
///
/// // One row of 32 columns in Q8_0: the scale 0.5 in f16, then 32 values of 3.
/// let block = [&0x3800u16.to_le_bytes()[..], &[3; 32]].concat();
/// let matrix = PackedMatrix::new(Format::Q8_0, (1, 32), block.into(), &Arena::default())?;
///
/// let mut row = [0.0; 32];
/// matrix.row(0, &mut row);
/// assert_eq!(row, [1.5; 32]);
/// let product = &multiply(&[&matrix], &[2.0; 32])[0];
/// assert!((product[0] - 96.0).abs() < 1e-3);
/// # Ok::<(), packed_matmul::PackError>(())
/// ```
#[derive(Debug)]
pub struct PackedMatrix {
    format: Format,
    n_out: usize,
    n_in: usize,
    /// In the file.
    row_bytes: usize,
    tile_bytes: usize,
    source: Source,
}

/// A cache line.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; 64]);

thread_local! {
    /// The tile that this thread packed last.
    static TILE: RefCell<Vec<Line>> = const { RefCell::new(Vec::new()) };
}

impl PackedMatrix {
    /// From the blocks of a GGUF tensor, row after row: packed into memory of `arena`, or, where
    /// that is as fast ([`Self::is_in_place`]), read where they are from now on.
    ///
    /// # Errors
    /// If the blocks are not those of the shape `(n_out, n_in)`, or there is not enough memory.
    pub fn new(
        format: Format,
        (n_out, n_in): (usize, usize),
        blocks: SharedBytes,
        arena: &Arena,
    ) -> Result<Self, PackError> {
        Self::new_by_parts(format, (n_out, n_in), blocks, arena, &|_| {})
    }

    /// [`Self::new`], which tells which of the blocks' bytes are packed, part by part: a mapped file need not be in
    /// memory as a whole beside its tiles.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn new_by_parts(
        format: Format,
        (n_out, n_in): (usize, usize),
        blocks: SharedBytes,
        arena: &Arena,
        is_packed: &dyn Fn(Range<usize>),
    ) -> Result<Self, PackError> {
        let matrix = Self::in_place(format, (n_out, n_in), blocks)?;
        if is_read_in_place(format, InstructionSet::best()) {
            Ok(matrix)
        } else {
            matrix.packed(arena, is_packed).map_err(PackError::Memory)
        }
    }

    pub(crate) fn in_place(
        format: Format,
        (n_out, n_in): (usize, usize),
        blocks: SharedBytes,
    ) -> Result<Self, PackError> {
        let columns = format.block_columns();
        let n_bytes = blocks.as_slice().len();
        let row_bytes = (n_in / columns).saturating_mul(format.block_bytes());
        let is_whole = n_in.is_multiple_of(columns) && n_in > 0 && n_out > 0;
        if !is_whole || n_out.checked_mul(row_bytes) != Some(n_bytes) {
            return Err(PackError::Shape { format, n_out, n_in, n_bytes });
        }
        let (group_bytes, group_columns) = format.group();
        let tile_bytes = n_in.div_ceil(group_columns) * group_bytes;
        Ok(Self { format, n_out, n_in, row_bytes, tile_bytes, source: Source::File(blocks) })
    }

    /// The same matrix, packed into tiles of its own.
    pub(crate) fn packed(
        self,
        arena: &Arena,
        is_packed: &dyn Fn(Range<usize>),
    ) -> std::io::Result<Self> {
        let Source::File(blocks) = &self.source else { return Ok(self) };
        let mut tiles = arena.take(self.n_tiles() * self.tile_bytes)?;
        let n_tiles = (PART_BYTES / (ROWS * self.row_bytes)).max(1);
        let parts = blocks.as_slice().chunks(n_tiles * ROWS * self.row_bytes);
        let mut begin = 0;
        for (tiles, part) in tiles.chunks_mut(n_tiles * self.tile_bytes).zip(parts) {
            let rows = part.par_chunks(ROWS * self.row_bytes);
            tiles.par_chunks_exact_mut(self.tile_bytes).zip(rows).for_each(|(tile, rows)| {
                pack_tile(self.format, rows, self.row_bytes, tile);
            });
            is_packed(begin..begin + part.len());
            begin += part.len();
        }
        tiles.advise_huge_pages();
        Ok(Self { source: Source::Tiles(tiles), ..self })
    }

    /// True if it goes on reading the blocks that it was made from; otherwise it has a packed copy
    /// and has released them.
    pub fn is_in_place(&self) -> bool {
        matches!(self.source, Source::File(_))
    }

    /// The format of its blocks.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Rows: values of a product.
    pub fn n_out(&self) -> usize {
        self.n_out
    }

    /// Columns: values of a row of input.
    pub fn n_in(&self) -> usize {
        self.n_in
    }

    pub(crate) fn n_blocks(&self) -> usize {
        self.n_in / BLOCK
    }

    pub(crate) fn n_tiles(&self) -> usize {
        self.n_out.div_ceil(ROWS)
    }

    pub(crate) fn tile_bytes(&self) -> usize {
        self.tile_bytes
    }

    /// The blocks of tile `index` as in the file, if the matrix is read in place and all sixteen rows exist.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn file_rows(&self, index: usize) -> Option<&[u8]> {
        let Source::File(blocks) = &self.source else { return None };
        let rows_bytes = ROWS * self.row_bytes;
        blocks.as_slice().get(index * rows_bytes..(index + 1) * rows_bytes)
    }

    /// Calls `work` with tile `index`. `work` must not ask for another tile.
    ///
    /// # Panics
    /// If there is no such tile, or `work` does ask.
    pub(crate) fn with_tile<T>(&self, index: usize, work: impl FnOnce(&[u8]) -> T) -> T {
        assert!(index < self.n_tiles());
        let blocks = match &self.source {
            Source::Tiles(tiles) => {
                return work(&tiles[index * self.tile_bytes..(index + 1) * self.tile_bytes]);
            }
            Source::File(blocks) => blocks.as_slice(),
        };
        let first = index * ROWS;
        let rows = first * self.row_bytes..(first + ROWS).min(self.n_out) * self.row_bytes;
        TILE.with_borrow_mut(|lines| {
            if lines.len() * 64 < self.tile_bytes {
                lines.resize(self.tile_bytes.div_ceil(64), Line([0; 64]));
            }
            let tile = &mut as_bytes_mut(lines)[..self.tile_bytes];
            pack_tile(self.format, &blocks[rows], self.row_bytes, tile);
            work(tile)
        })
    }

    /// Row `index` in f32, into `out` of `n_in` values.
    ///
    /// # Panics
    /// If there is no such row, or `out` has another length.
    pub fn row(&self, index: usize, out: &mut [f32]) {
        assert!(index < self.n_out && out.len() == self.n_in);
        self.with_tile(index / ROWS, |tile| {
            for_format!(self.format, F => row_of_tile::<F>(tile, index % ROWS, out));
        });
    }
}

/// True if products that read the file's own rows are as fast as those of tiles
/// ([`crate::q8_0_in_place`]).
pub(crate) fn is_read_in_place(format: Format, instructions: InstructionSet) -> bool {
    format == Format::Q8_0 && instructions.has_avx512()
}

fn as_bytes_mut(lines: &mut [Line]) -> &mut [u8] {
    let n_bytes = size_of_val(lines);
    // SAFETY: the same memory, borrowed for as long: a `Line` is 64 initialised bytes without
    // padding, any bytes are a `Line`, and `u8` has no alignment.
    unsafe { std::slice::from_raw_parts_mut(lines.as_mut_ptr().cast(), n_bytes) }
}

fn row_of_tile<F: BlockFormat>(tile: &[u8], row: usize, out: &mut [f32]) {
    for (b, out) in out.chunks_exact_mut(BLOCK).enumerate() {
        let block = tile_block::<F>(tile, b);
        let scales = BlockScales::read::<F>(block);
        for (quad, out) in out.chunks_exact_mut(4).enumerate() {
            let values = quad_values::<F>(block.values, quad);
            let (scale, minimum) = (scales.scales[quad / 4][row], scales.minima[quad / 4][row]);
            let scale = scales.shared[row] * scale;
            for (out, &value) in out.iter_mut().zip(&values[4 * row..4 * row + 4]) {
                let value = (i32::from(value) - F::OFFSET) as f32;
                *out = scale.mul_add(value, -minimum);
            }
        }
    }
}

/// One block of a tile, with the scales of its group and its place in it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TileBlock<'a> {
    pub values: &'a [u8],
    pub scales: &'a [u8],
    pub place: usize,
}

/// Block `block` of a tile.
///
/// # Panics
/// If the tile ends before it.
#[inline(always)]
pub(crate) fn tile_block<F: BlockFormat>(tile: &[u8], block: usize) -> TileBlock<'_> {
    let (group, place) = (block / F::GROUP_BLOCKS, block % F::GROUP_BLOCKS);
    let group = &tile[group * F::GROUP_BYTES..(group + 1) * F::GROUP_BYTES];
    let (scales, values) = group.split_at(F::SCALE_BYTES);
    let values = &values[place * F::VALUE_BYTES..(place + 1) * F::VALUE_BYTES];
    TileBlock { values, scales, place }
}

/// The scales of one block of a tile in f32, and its minima, 0 where there are none: of its first and
/// of its last 16 columns.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BlockScales {
    pub scales: [[f32; ROWS]; 2],
    pub minima: [[f32; ROWS]; 2],
    /// What `scales` are still to be multiplied with: 1 but for [`BlockFormat::ARE_SUMS_SCALED`].
    pub shared: [f32; ROWS],
}

/// The f16 at `index`, without branches, so that loops over it vectorise.
#[inline(always)]
fn f16_at(bytes: &[u8], index: usize) -> f32 {
    /// 2^112: the difference of the exponents' biases in f16 and f32.
    const SHIFT: f32 = f32::from_bits((127 + 112) << 23);
    let bits = u32::from(u16::from_le_bytes([bytes[2 * index], bytes[2 * index + 1]]));
    let (sign, rest) = ((bits & 0x8000) << 16, bits & 0x7fff);
    let finite = (f32::from_bits(rest << 13) * SHIFT).to_bits();
    let infinite_or_nan = rest << 13 | 0x7f80_0000;
    f32::from_bits(sign | if rest < 0x7c00 { finite } else { infinite_or_nan })
}

impl BlockScales {
    #[inline(always)]
    pub fn read<F: BlockFormat>(TileBlock { scales, place, .. }: TileBlock<'_>) -> Self {
        let (none, ones) = ([0.0; ROWS], [1.0; ROWS]);
        let f16s =
            |from: usize| -> [f32; ROWS] { std::array::from_fn(|r| f16_at(scales, from + r)) };
        let [scale, minimum] = [f16s(0), f16s(ROWS)];
        let small_bytes = F::SCALES.small_bytes();
        let small = &scales[scales.len().min(4 * ROWS + place * small_bytes)..];
        let signed = |at: usize| -> [f32; ROWS] {
            std::array::from_fn(|r| f32::from(small[at + r].cast_signed()))
        };
        let same = |scale, minimum| Self { scales: [scale; 2], minima: [minimum; 2], shared: ones };
        match F::SCALES {
            Scales::Single => same(f16s(place * ROWS), none),
            Scales::SingleAndMinimum => same(scale, minimum),
            Scales::TwoLevels => {
                let small = signed(0);
                same(std::array::from_fn(|r| scale[r] * small[r]), none)
            }
            Scales::TwoLevelsAndMinima => same(
                std::array::from_fn(|r| scale[r] * f32::from(small[r])),
                std::array::from_fn(|r| minimum[r] * f32::from(small[ROWS + r])),
            ),
            Scales::TwoLevelsBy16 => {
                Self { scales: [signed(0), signed(ROWS)], minima: [none; 2], shared: scale }
            }
            Scales::TwoLevelsAndMinimaBy16 => {
                let low = |r: usize| f32::from(small[r] & 15);
                let high = |r: usize| f32::from(small[r] >> 4);
                Self {
                    scales: [0, ROWS].map(|at| std::array::from_fn(|r| scale[r] * low(at + r))),
                    minima: [0, ROWS].map(|at| std::array::from_fn(|r| minimum[r] * high(at + r))),
                    shared: ones,
                }
            }
        }
    }
}

/// The 64 unsigned values of one quad of a block.
#[inline(always)]
pub(crate) fn quad_values<F: BlockFormat>(values: &[u8], quad: usize) -> [u8; 64] {
    let nibble = |i: usize| (values[quad / 2 * 64 + i] >> (quad % 2 * 4)) & 15;
    let two = |from: usize, i: usize| (values[from + quad / 4 * 64 + i] >> (quad % 4 * 2)) & 3;
    let mut out: [u8; 64] = match F::BITS {
        Bits::Two | Bits::Three => std::array::from_fn(|i| two(0, i)),
        Bits::Four | Bits::Five => std::array::from_fn(nibble),
        Bits::FourChoices => std::array::from_fn(|i| CHOICES_UNSIGNED[usize::from(nibble(i))]),
        Bits::Six => std::array::from_fn(|i| nibble(i) | two(256, i) << 4),
        Bits::Eight => std::array::from_fn(|i| values[quad * 64 + i]),
    };
    if let Some((from, bit)) = F::BITS.lone_bit() {
        let bits = &values[from + quad * 8..from + quad * 8 + 8];
        for (i, out) in out.iter_mut().enumerate() {
            *out |= ((bits[i / 8] >> (i % 8)) & 1) << bit;
        }
    }
    out
}
