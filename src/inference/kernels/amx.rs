//! Wide products by the tile unit of newer Intel processors (AMX), in bf16 with sums in f32.
//!
//! Many rows of input (a prefill) make it worth to unpack a panel of the matrix once and to multiply
//! all of them by it. Rounding weights and inputs to bf16 (8 bits of mantissa) costs less than the
//! rounding of the inputs to 8 bits that the narrow kernels do.

use std::arch::asm;
use std::cell::RefCell;
use std::sync::OnceLock;

use rayon::prelude::*;

use super::packed::{BLOCK, PackedMatrix, ROWS, block_of};
use super::{Outputs, avx512};

/// Two tile registers' worth: 16 rows of 64 bytes each. Aligned, because a row that crosses a cache
/// line loads at half the speed.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct TilePair([[[u32; ROWS]; 16]; 2]);

impl TilePair {
    const ZERO: Self = Self([[[0; ROWS]; 16]; 2]);
}

/// Rows of the matrix, and of the input, that are multiplied at once: two tiles.
const PANEL: usize = 2 * ROWS;
/// Bytes of unpacked panels that a core keeps while the input passes by: within its second cache.
const PANEL_BYTES_MAX: usize = 768 * 1024;

/// Whether the processor has the unit and the system lets this process use it.
pub fn is_available() -> bool {
    static AVAILABLE: OnceLock<bool> = OnceLock::new();
    *AVAILABLE.get_or_init(|| {
        const AMX_BF16: u32 = 1 << 22;
        const AMX_TILE: u32 = 1 << 24;
        let features = std::arch::x86_64::__cpuid_count(7, 0).edx;
        features & AMX_BF16 != 0 && features & AMX_TILE != 0 && may_use_tiles()
    })
}

/// Linux gives the registers to those who ask.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "a system call that libc has no function for")]
fn may_use_tiles() -> bool {
    const ARCH_REQ_XCOMP_PERM: libc::c_long = 0x1023;
    const XFEATURE_XTILEDATA: libc::c_long = 18;
    // SAFETY: asks for a permission; no memory is involved.
    unsafe { libc::syscall(libc::SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0 }
}

#[cfg(not(target_os = "linux"))]
fn may_use_tiles() -> bool {
    false
}

/// The shapes of the tile registers: all eight of 16 rows of 64 bytes.
#[repr(C, align(64))]
struct Configuration([u8; 64]);

impl Configuration {
    fn ours() -> Self {
        let mut bytes = [0; 64];
        bytes[0] = 1;
        for tile in 0..8 {
            bytes[16 + 2 * tile] = 64;
            bytes[48 + tile] = 16;
        }
        Self(bytes)
    }
}

/// The tile registers in our shapes while it lives; then as they were, because candle's kernels
/// set theirs once a thread and rely on it.
struct Configured {
    before: Configuration,
}

#[expect(unsafe_code, reason = "instructions that have no intrinsics yet")]
impl Configured {
    fn new() -> Self {
        let mut before = Configuration([0; 64]);
        // SAFETY: `is_available` was asked; both are 64 bytes.
        unsafe {
            asm!("sttilecfg [{}]", in(reg) &raw mut before, options(nostack));
            asm!("ldtilecfg [{}]", in(reg) &Configuration::ours(), options(nostack, readonly));
        }
        Self { before }
    }
}

#[expect(unsafe_code, reason = "an instruction that has no intrinsic yet")]
impl Drop for Configured {
    fn drop(&mut self) {
        // SAFETY: what `sttilecfg` wrote.
        unsafe {
            asm!("ldtilecfg [{}]", in(reg) &raw const self.before, options(nostack, readonly));
        }
    }
}

/// The input in bf16: for each 32 rows and each 32 columns two tiles.
pub struct Inputs {
    n_rows: usize,
    n_blocks: usize,
    tiles: Vec<TilePair>,
}

impl Inputs {
    /// `xs`: rows of `n_blocks` · 32 values.
    pub fn new(xs: &[f32], n_blocks: usize) -> Self {
        let width = n_blocks * BLOCK;
        let n_rows = xs.len() / width;
        let mut tiles = vec![TilePair::ZERO; n_rows.div_ceil(PANEL) * n_blocks];
        tiles.par_chunks_exact_mut(n_blocks).zip(xs.par_chunks(PANEL * width)).for_each(
            |(tiles, rows)| {
                for (r, row) in rows.chunks_exact(width).enumerate() {
                    for (pair, xs) in tiles.iter_mut().zip(row.as_chunks::<BLOCK>().0) {
                        to_bf16(xs, &mut pair.0[r / 16][r % 16]);
                    }
                }
            },
        );
        Self { n_rows, n_blocks, tiles }
    }

    fn panel(&self, panel: usize) -> &[TilePair] {
        &self.tiles[panel * self.n_blocks..(panel + 1) * self.n_blocks]
    }
}

#[expect(unsafe_code, reason = "AVX-512 is there wherever bf16 is")]
fn to_bf16(xs: &[f32; BLOCK], out: &mut [u32; ROWS]) {
    // SAFETY: [`is_available`]; every processor with the unit has AVX-512.
    unsafe { avx512::input_to_bf16(xs, out) }
}

/// The first panel of a task, how many, and of which matrix.
struct Task {
    matrix: usize,
    first_panel: usize,
    n_panels: usize,
}

/// Every matrix times every input row.
pub fn multiply(matrices: &[&PackedMatrix], inputs: &Inputs, outputs: &[Outputs<'_>]) {
    let panel_bytes = inputs.n_blocks * size_of::<TilePair>();
    let n_panels = |matrix: &PackedMatrix| matrix.n_out().div_ceil(PANEL);
    let all: usize = matrices.iter().map(|m| n_panels(m)).sum();
    let fair = all.div_ceil(4 * rayon::current_num_threads());
    let at_once = (PANEL_BYTES_MAX / panel_bytes).min(fair).max(1);
    let tasks: Vec<Task> = matrices
        .iter()
        .enumerate()
        .flat_map(|(index, matrix)| {
            let n = n_panels(matrix);
            (0..n).step_by(at_once).map(move |first_panel| Task {
                matrix: index,
                first_panel,
                n_panels: at_once.min(n - first_panel),
            })
        })
        .collect();
    tasks.par_iter().with_max_len(1).for_each(|task| {
        run(matrices[task.matrix], task, inputs, &outputs[task.matrix]);
    });
}

thread_local! {
    /// Unpacked panels: per panel and block two tiles.
    static PANELS: RefCell<Vec<TilePair>> = const { RefCell::new(Vec::new()) };
}

fn run(matrix: &PackedMatrix, task: &Task, inputs: &Inputs, output: &Outputs<'_>) {
    PANELS.with_borrow_mut(|panels| {
        let n_blocks = inputs.n_blocks;
        if panels.len() < task.n_panels * n_blocks {
            panels.resize(task.n_panels * n_blocks, TilePair::ZERO);
        }
        for (i, panel) in panels.chunks_exact_mut(n_blocks).take(task.n_panels).enumerate() {
            unpack(matrix, task.first_panel + i, panel);
        }
        let panels = &panels[..task.n_panels * n_blocks];
        multiply_panels(panels, task.first_panel, matrix.n_out(), inputs, output);
    });
}

/// Every input row times the panels of a matrix of `n_out` rows, from panel `first_panel` on.
fn multiply_panels(
    panels: &[TilePair],
    first_panel: usize,
    n_out: usize,
    inputs: &Inputs,
    output: &Outputs<'_>,
) {
    let _configured = Configured::new();
    let mut edge = [[0f32; PANEL]; PANEL];
    for rows in 0..inputs.n_rows.div_ceil(PANEL) {
        let left = inputs.panel(rows);
        let n_rows = PANEL.min(inputs.n_rows - rows * PANEL);
        for (i, right) in panels.chunks_exact(inputs.n_blocks).enumerate() {
            let column = (first_panel + i) * PANEL;
            let n_columns = PANEL.min(n_out - column);
            if n_rows == PANEL && n_columns == PANEL {
                let (start, stride) = output.square(rows * PANEL, column, PANEL);
                product(left, right, start, stride);
            } else {
                product(left, right, edge.as_mut_ptr().cast(), PANEL);
                for (r, row) in edge.iter().take(n_rows).enumerate() {
                    output.put(rows * PANEL + r, column, &row[..n_columns]);
                }
            }
        }
    }
}

/// A matrix that is kept as the unit multiplies it, in bf16.
#[derive(Debug)]
pub struct Tiled {
    n_out: usize,
    n_blocks: usize,
    tiles: Vec<TilePair>,
}

impl Tiled {
    /// From `[n_out, n_in]` in row-major order; `n_in` is whole blocks.
    pub fn new(values: &[f32], n_out: usize, n_in: usize) -> Self {
        let n_blocks = n_in / BLOCK;
        let mut tiles = vec![TilePair::ZERO; n_out.div_ceil(PANEL) * n_blocks];
        let panels = tiles.par_chunks_exact_mut(n_blocks).zip(values.par_chunks(PANEL * n_in));
        panels.for_each(|(tiles, rows)| {
            let mut block = [0; ROWS];
            for (r, row) in rows.chunks_exact(n_in).enumerate() {
                for (pair, xs) in tiles.iter_mut().zip(row.as_chunks::<BLOCK>().0) {
                    to_bf16(xs, &mut block);
                    // A register row holds two columns of sixteen rows of the matrix.
                    for (register, two) in pair.0[r / ROWS].iter_mut().zip(block) {
                        register[r % ROWS] = two;
                    }
                }
            }
        });
        Self { n_out, n_blocks, tiles }
    }

    pub fn multiply(&self, xs: &[f32], output: &Outputs<'_>) {
        let inputs = Inputs::new(xs, self.n_blocks);
        let n_panels = self.n_out.div_ceil(PANEL);
        let fair = n_panels.div_ceil(4 * rayon::current_num_threads());
        let tasks = self.tiles.par_chunks(fair * self.n_blocks).enumerate().with_max_len(1);
        tasks.for_each(|(task, panels)| {
            multiply_panels(panels, task * fair, self.n_out, &inputs, output);
        });
    }
}

#[expect(unsafe_code, reason = "AVX-512 is there wherever the tile unit is")]
fn unpack(matrix: &PackedMatrix, panel: usize, out: &mut [TilePair]) {
    for side in 0..2 {
        let index = 2 * panel + side;
        if index < matrix.n_tiles() {
            matrix.with_tile(index, |tile| {
                for (b, pair) in out.iter_mut().enumerate() {
                    let block = block_of(matrix.kind(), tile, b);
                    // SAFETY: [`is_available`]; every processor with the unit has AVX-512.
                    unsafe { avx512::block_to_bf16(matrix.kind(), block, &mut pair.0[side]) }
                }
            });
        } else {
            for pair in out.iter_mut() {
                pair.0[side] = [[0; ROWS]; 16];
            }
        }
    }
}

/// 32 input rows times 32 rows of the matrix, written to `out`, rows `stride` values apart.
#[expect(unsafe_code, reason = "instructions that have no intrinsics yet")]
fn product(left: &[TilePair], right: &[TilePair], out: *mut f32, stride: usize) {
    assert!(!left.is_empty() && left.len() == right.len());
    // SAFETY: both have that many pairs of tiles of 1,024 bytes; `out` has 32 rows of 32 values, as
    // both callers see to; the registers are configured as 16 rows of 64 bytes.
    unsafe {
        asm!(
            "tilezero tmm0",
            "tilezero tmm1",
            "tilezero tmm2",
            "tilezero tmm3",
            "2:",
            "tileloadd tmm4, [{left} + {row}*1]",
            "tileloadd tmm6, [{right} + {row}*1]",
            "tdpbf16ps tmm0, tmm4, tmm6",
            "tileloadd tmm7, [{right} + {row}*1 + 1024]",
            "tdpbf16ps tmm1, tmm4, tmm7",
            "tileloadd tmm5, [{left} + {row}*1 + 1024]",
            "tdpbf16ps tmm2, tmm5, tmm6",
            "tdpbf16ps tmm3, tmm5, tmm7",
            "add {left}, 2048",
            "add {right}, 2048",
            "dec {n}",
            "jnz 2b",
            "tilestored [{out} + {stride}*1], tmm0",
            "tilestored [{out} + {stride}*1 + 64], tmm1",
            "tilestored [{below} + {stride}*1], tmm2",
            "tilestored [{below} + {stride}*1 + 64], tmm3",
            left = inout(reg) left.as_ptr() => _,
            right = inout(reg) right.as_ptr() => _,
            n = inout(reg) left.len() => _,
            row = in(reg) 64usize,
            out = in(reg) out,
            below = in(reg) out.add(16 * stride),
            stride = in(reg) stride * 4,
            options(nostack)
        );
    }
}
