#![doc = include_str!("../README.md")]
#![expect(
    unsafe_code,
    reason = "vector instructions, and memory that threads share by parts; the interface is safe"
)]
#![deny(missing_docs, clippy::missing_panics_doc, clippy::missing_errors_doc)]
#![deny(clippy::undocumented_unsafe_blocks, unsafe_op_in_unsafe_fn)]

mod activations;
mod arena;
pub mod attention;
#[cfg(target_arch = "x86_64")]
mod attention_avx512;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod columns;
mod dense;
pub mod elementwise;
mod f16_convert;
mod formats;
mod instruction_set;
#[cfg(target_arch = "x86_64")]
mod int16;
mod matrix;
mod multiply;
#[cfg(target_arch = "aarch64")]
mod neon;
mod packing;
#[cfg(target_arch = "x86_64")]
mod packing_avx512;
mod plain;
#[cfg(target_arch = "x86_64")]
mod prefetch;
#[cfg(target_arch = "x86_64")]
mod q8_0_in_place;
#[cfg(test)]
mod tests;
mod vectorised;

pub use arena::Arena;
pub use dense::DenseMatrix;
pub use f16_convert::{f16_to_f32, f32_to_f16};
pub use formats::Format;
pub use instruction_set::InstructionSet;
pub use matrix::{PackError, PackedMatrix, SharedBytes};
pub use multiply::{multiply, multiply_each, multiply_with};
