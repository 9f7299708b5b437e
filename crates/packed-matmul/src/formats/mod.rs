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

pub(crate) use by_32::{Q4_0, Q5_0, Q8_0};
pub(crate) use by_256::{Q4K, Q5K, Q6K};

use crate::matrix::ROWS;

/// `$body` with the type of the format as `$name`: compiled once for each.
macro_rules! for_format {
    ($format:expr, $name:ident => $body:expr) => {
        match $format {
            $crate::Format::Q4_0 => {
                type $name = $crate::formats::Q4_0;
                $body
            }
            $crate::Format::Q5_0 => {
                type $name = $crate::formats::Q5_0;
                $body
            }
            $crate::Format::Q8_0 => {
                type $name = $crate::formats::Q8_0;
                $body
            }
            $crate::Format::Q4K => {
                type $name = $crate::formats::Q4K;
                $body
            }
            $crate::Format::Q5K => {
                type $name = $crate::formats::Q5K;
                $body
            }
            $crate::Format::Q6K => {
                type $name = $crate::formats::Q6K;
                $body
            }
        }
    };
}
pub(crate) use for_format;

/// A quantised format of GGUF that has kernels here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// 4 bits and a scale for 32 columns.
    Q4_0,
    /// 5 bits and a scale for 32 columns.
    Q5_0,
    /// 8 bits and a scale for 32 columns.
    Q8_0,
    /// 4 bits, and scales and minima in two levels for 256 columns.
    Q4K,
    /// 5 bits, and scales and minima in two levels for 256 columns.
    Q5K,
    /// 6 bits, and scales in two levels for 256 columns.
    Q6K,
}

impl Format {
    /// Every format.
    pub const ALL: &'static [Self] =
        &[Self::Q4_0, Self::Q5_0, Self::Q8_0, Self::Q4K, Self::Q5K, Self::Q6K];

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
    Four,
    Five,
    Six,
    Eight,
}

impl Bits {
    /// Bytes of a block's values.
    const fn block_bytes(self) -> usize {
        match self {
            Self::Four => 256,
            Self::Five => 320,
            Self::Six => 384,
            Self::Eight => 512,
        }
    }
}

/// How the scales of a block stand in a tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scales {
    /// An f16 a block.
    Single,
    /// An f16 for 8 blocks times an unsigned byte a block, and minima alike.
    TwoLevelsAndMinima,
    /// An f16 for 8 blocks times a signed byte for each 16 columns.
    TwoLevelsBy16,
}

impl Scales {
    /// Blocks whose scales stand together.
    const fn group_blocks(self) -> usize {
        match self {
            Self::Single => 2,
            Self::TwoLevelsAndMinima | Self::TwoLevelsBy16 => 8,
        }
    }

    /// Bytes of a group's scales: for two levels two f16 (in [`Self::TwoLevelsBy16`] the second is
    /// unused), then two bytes a block, of each of the 16 rows.
    const fn group_bytes(self) -> usize {
        match self {
            Self::Single => 2 * 2 * ROWS,
            Self::TwoLevelsAndMinima | Self::TwoLevelsBy16 => 2 * 2 * ROWS + 8 * 2 * ROWS,
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
    const IS_BY_16: bool = matches!(Self::SCALES, Scales::TwoLevelsBy16);
    /// True if there are minima.
    const HAS_MINIMA: bool = matches!(Self::SCALES, Scales::TwoLevelsAndMinima);

    /// The values of one block of a file, unsigned and in order of the columns.
    fn unpack(block: &[u8], values: &mut [u8; 256]);

    /// Puts the scales of one block of row `row` where its group has them. `place`: how many of the
    /// file's blocks precede it in the group.
    fn put_scales(block: &[u8], scales: &mut [u8], place: usize, row: usize);
}
