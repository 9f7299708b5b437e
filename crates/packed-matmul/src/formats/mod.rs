//! The quantised formats of GGUF files, as the kernels know them.
//!
//! A format says how to read its blocks in a file ([`BlockFormat::unpack`],
//! [`BlockFormat::put_scales`]) and which of a few layouts its values and scales have in a tile
//! ([`Bits`], [`Scales`], see [`crate::matrix`]). Kernels are generic over formats and look at the
//! layouts only, so a format that fits an existing layout needs no kernel of its own.
//!
//! # Adding a format
//! 1. A type that implements [`BlockFormat`], in the file of its block size.
//! 2. Its variant in [`Format`], in [`Format::ALL`] and in `for_format!`.
//! 3. If it needs a new layout: a variant of [`Bits`] or [`Scales`]; the compiler then names the
//!    places in the kernels that have to handle it.
//! 4. Its case in `packing_avx512::pack_tile`: a packing of its own if loading has to be fast,
//!    otherwise `packing::pack_by_definition`.
//!
//! The tests compare it with candle's own unpacking as soon as it is in their table.

mod by_256;
mod by_32;

pub(crate) use by_32::{IQ4NL, MXFP4, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0};
pub(crate) use by_256::{IQ4XS, Q2K, Q3K, Q4K, Q5K, Q6K};

use crate::matrix::ROWS;

/// `$body` with the type of the format as `$name`: compiled once for each.
macro_rules! for_format {
    ($format:expr, $name:ident => $body:expr) => {
        $crate::formats::for_format!(
            $format, $name => $body,
            Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q2K Q3K Q4K Q5K Q6K IQ4NL IQ4XS MXFP4
        )
    };
    ($format:expr, $name:ident => $body:expr, $($known:ident)*) => {
        match $format {
            $($crate::Format::$known => {
                type $name = $crate::formats::$known;
                $body
            })*
        }
    };
}
pub(crate) use for_format;

/// A quantised format of GGUF that has kernels here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// 4 bits and a scale for 32 columns.
    Q4_0,
    /// 4 bits, a scale and a minimum for 32 columns.
    Q4_1,
    /// 5 bits and a scale for 32 columns.
    Q5_0,
    /// 5 bits, a scale and a minimum for 32 columns.
    Q5_1,
    /// 8 bits and a scale for 32 columns.
    Q8_0,
    /// 2 bits, and scales and minima in two levels for 256 columns.
    Q2K,
    /// 3 bits, and scales in two levels for 256 columns.
    Q3K,
    /// 4 bits, and scales and minima in two levels for 256 columns.
    Q4K,
    /// 5 bits, and scales and minima in two levels for 256 columns.
    Q5K,
    /// 6 bits, and scales in two levels for 256 columns.
    Q6K,
    /// 4 bits that choose one of sixteen values, and a scale for 32 columns.
    IQ4NL,
    /// 4 bits that choose one of sixteen values, and scales in two levels for 256 columns.
    IQ4XS,
    /// 4 bits that stand for a float of 4 bits, and a power of two as the scale of 32 columns.
    MXFP4,
}

impl Format {
    /// Every format.
    pub const ALL: &'static [Self] = &[
        Self::Q4_0,
        Self::Q4_1,
        Self::Q5_0,
        Self::Q5_1,
        Self::Q8_0,
        Self::Q2K,
        Self::Q3K,
        Self::Q4K,
        Self::Q5K,
        Self::Q6K,
        Self::IQ4NL,
        Self::IQ4XS,
        Self::MXFP4,
    ];

    /// Bytes of one block in a file.
    pub fn block_bytes(self) -> usize {
        for_format!(self, F => F::FILE_BLOCK_BYTES)
    }

    /// Columns of one block in a file. A row of a matrix is whole blocks.
    pub fn block_columns(self) -> usize {
        for_format!(self, F => F::FILE_BLOCK_COLUMNS)
    }

    /// Bytes of a group of blocks in a tile, and the columns it holds.
    pub(crate) fn group(self) -> (usize, usize) {
        for_format!(self, F => (F::GROUP_BYTES, F::GROUP_BLOCKS * crate::matrix::BLOCK))
    }
}

/// How wide the values of a block are in a tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bits {
    Two,
    Three,
    Four,
    /// Four that stand for one of [`CHOICES`].
    FourChoices,
    Five,
    Six,
    Eight,
}

/// The values that the nibbles of IQ4_NL and IQ4_XS stand for.
pub(crate) const CHOICES: [i8; 16] =
    [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];

/// [`CHOICES`] like the other formats' values: unsigned, larger by [`BlockFormat::OFFSET`].
pub(crate) const CHOICES_UNSIGNED: [u8; 16] = {
    let mut unsigned = [0; 16];
    let mut i = 0;
    while i < 16 {
        unsigned[i] = CHOICES[i].cast_unsigned() ^ 0x80;
        i += 1;
    }
    unsigned
};

impl Bits {
    /// Bytes of a block's values.
    const fn block_bytes(self) -> usize {
        match self {
            Self::Two => 128,
            Self::Three => 192,
            Self::Four | Self::FourChoices => 256,
            Self::Five => 320,
            Self::Six => 384,
            Self::Eight => 512,
        }
    }

    /// True if four quads share a vector as far as their lowest two bits go; otherwise two do, with
    /// four bits each.
    pub const fn are_by_two(self) -> bool {
        matches!(self, Self::Two | Self::Three)
    }

    /// Where the bits that are stored apart begin, a `u64` for each quad, and which bit of a value they are.
    pub const fn lone_bit(self) -> Option<(usize, u32)> {
        match self {
            Self::Three => Some((128, 2)),
            Self::Five => Some((256, 4)),
            _ => None,
        }
    }
}

/// How the scales of a block stand in a tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scales {
    /// An f16 per block.
    Single,
    /// An f16 per block, and a minimum likewise.
    SingleAndMinimum,
    /// An f16 for 8 blocks times a signed byte per block.
    TwoLevels,
    /// An f16 for 8 blocks times an unsigned byte per block, and minima likewise.
    TwoLevelsAndMinima,
    /// An f16 for 8 blocks times a signed byte for each 16 columns.
    TwoLevelsBy16,
    /// An f16 for 8 blocks times the low nibble of a byte for each 16 columns, and minima likewise from
    /// the high nibbles.
    TwoLevelsAndMinimaBy16,
}

impl Scales {
    /// Blocks whose scales stand together.
    const fn group_blocks(self) -> usize {
        match self {
            Self::Single => 2,
            Self::SingleAndMinimum => 1,
            _ => 8,
        }
    }

    /// Bytes of a group's scales: for two levels two f16 (the second is unused without minima), then
    /// the bytes of each block, of each of the 16 rows.
    const fn group_bytes(self) -> usize {
        let two_f16 = 2 * 2 * ROWS;
        match self {
            Self::Single | Self::SingleAndMinimum => two_f16,
            _ => two_f16 + 8 * self.small_bytes(),
        }
    }

    /// Bytes of the second level's scales of a block, all 16 rows.
    pub const fn small_bytes(self) -> usize {
        match self {
            Self::Single | Self::SingleAndMinimum => 0,
            Self::TwoLevels => ROWS,
            _ => 2 * ROWS,
        }
    }
}

/// A format: what its blocks are in a file, and what becomes of them in a tile.
pub(crate) trait BlockFormat {
    const FILE_BLOCK_BYTES: usize;
    const FILE_BLOCK_COLUMNS: usize;
    const BITS: Bits;
    const SCALES: Scales;
    /// A weight is `scale · (value − OFFSET)`, less the minimum where there is one.
    const OFFSET: i32;

    /// Bytes of a block's values in a tile.
    const VALUE_BYTES: usize = Self::BITS.block_bytes();
    /// Blocks of a group.
    const GROUP_BLOCKS: usize = Self::SCALES.group_blocks();
    /// Bytes of a group's scales.
    const SCALE_BYTES: usize = Self::SCALES.group_bytes();
    /// Bytes of a group: its scales, then the values of its blocks.
    const GROUP_BYTES: usize = Self::SCALE_BYTES + Self::GROUP_BLOCKS * Self::VALUE_BYTES;
    /// True if the last 16 columns of a block have another scale than the first.
    const IS_BY_16: bool =
        matches!(Self::SCALES, Scales::TwoLevelsBy16 | Scales::TwoLevelsAndMinimaBy16);
    /// True if the sums of 16 columns are multiplied with their scales as integers, which stay below 2^24 and so are
    /// exact in f32 too, and only then with what all of them share.
    const ARE_SUMS_SCALED: bool = matches!(Self::SCALES, Scales::TwoLevelsBy16);
    /// True if there are minima.
    const HAS_MINIMA: bool = matches!(
        Self::SCALES,
        Scales::SingleAndMinimum | Scales::TwoLevelsAndMinima | Scales::TwoLevelsAndMinimaBy16
    );
    /// True if values take all of a byte: kernels whose products are of signed bytes, or summed in 16
    /// bits, unpack such values with their sign, without [`Self::OFFSET`].
    const ARE_WIDE: bool = matches!(Self::BITS, Bits::Eight | Bits::FourChoices);
    /// [`Self::OFFSET`] as those kernels have it.
    const SIGNED_OFFSET: i32 = if Self::ARE_WIDE { 0 } else { Self::OFFSET };

    /// The values of one block of a file, unsigned and in order of the columns.
    fn unpack(block: &[u8], values: &mut [u8; 256]);

    /// Puts the scales of one block of row `row` where its group has them. `place`: how many of the
    /// file's blocks precede it in the group.
    fn put_scales(block: &[u8], scales: &mut [u8], place: usize, row: usize);
}
