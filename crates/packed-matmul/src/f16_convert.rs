//! Converts slices between f16 and f32.
//!
//! On x86-64 `half` calls a function for every eight values. On Arm it asks for FEAT_FP16 though every
//! 64-bit processor has these conversions: without it, it converts value by value (Raspberry Pi 4), with
//! it, it calls a function for every four. On other processors, and without the instructions, it is
//! what is used here.

use half::f16;
#[cfg(not(target_arch = "aarch64"))]
use half::slice::HalfFloatSliceExt as _;

#[cfg(target_arch = "x86_64")]
use crate::InstructionSet;

/// Converts f16 to f32.
///
/// ```
/// use half::f16;
///
/// let mut wide = [0.0; 2];
/// packed_matmul::f16_to_f32(&[f16::ONE, f16::from_f32(-0.5)], &mut wide);
/// assert_eq!(wide, [1.0, -0.5]);
/// ```
///
/// # Panics
/// If the slices differ in length.
pub fn f16_to_f32(values: &[f16], out: &mut [f32]) {
    #[cfg(target_arch = "aarch64")]
    neon::widen(values, out);
    #[cfg(target_arch = "x86_64")]
    if InstructionSet::best().has_avx2() {
        // SAFETY: `has_avx2` includes AVX and F16C.
        return unsafe { f16c::widen(values, out) };
    }
    #[cfg(not(target_arch = "aarch64"))]
    values.convert_to_f32_slice(out);
}

/// Converts f32 to f16, rounding to the nearest, ties to even.
///
/// # Panics
/// If the slices differ in length.
pub fn f32_to_f16(values: &[f32], out: &mut [f16]) {
    #[cfg(target_arch = "aarch64")]
    neon::narrow(values, out);
    #[cfg(target_arch = "x86_64")]
    if InstructionSet::best().has_avx2() {
        // SAFETY: `has_avx2` includes AVX and F16C.
        return unsafe { f16c::narrow(values, out) };
    }
    #[cfg(not(target_arch = "aarch64"))]
    out.convert_from_f32_slice(values);
}

#[cfg(target_arch = "x86_64")]
mod f16c {
    use std::arch::x86_64::{
        _MM_FROUND_TO_NEAREST_INT, _mm_loadu_si128, _mm_storeu_si128, _mm256_cvtph_ps,
        _mm256_cvtps_ph, _mm256_loadu_ps, _mm256_storeu_ps,
    };

    use half::f16;
    use half::slice::HalfFloatSliceExt as _;

    #[target_feature(enable = "avx,f16c")]
    pub fn widen(values: &[f16], out: &mut [f32]) {
        assert_eq!(values.len(), out.len());
        let (eights, rest) = values.as_chunks::<8>();
        let (out, rest_out) = out.as_chunks_mut::<8>();
        for (eight, out) in eights.iter().zip(out) {
            // SAFETY: `eight` and `out` are arrays of eight values.
            unsafe {
                let eight = _mm_loadu_si128(eight.as_ptr().cast());
                _mm256_storeu_ps(out.as_mut_ptr(), _mm256_cvtph_ps(eight));
            }
        }
        rest.convert_to_f32_slice(rest_out);
    }

    #[target_feature(enable = "avx,f16c")]
    pub fn narrow(values: &[f32], out: &mut [f16]) {
        assert_eq!(values.len(), out.len());
        let (eights, rest) = values.as_chunks::<8>();
        let (out, rest_out) = out.as_chunks_mut::<8>();
        for (eight, out) in eights.iter().zip(out) {
            // SAFETY: as in `widen`.
            unsafe {
                let eight = _mm256_loadu_ps(eight.as_ptr());
                let eight = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(eight);
                _mm_storeu_si128(out.as_mut_ptr().cast(), eight);
            }
        }
        rest_out.convert_from_f32_slice(rest);
    }
}

#[cfg(target_arch = "aarch64")]
mod neon {
    use std::arch::aarch64::{
        vcvt_f16_f32, vcvt_f32_f16, vld1_u16, vld1q_f32, vreinterpret_f16_u16,
        vreinterpret_u16_f16, vst1_u16, vst1q_f32,
    };

    use half::f16;
    use half::slice::HalfFloatSliceExt as _;

    pub fn widen(values: &[f16], out: &mut [f32]) {
        assert_eq!(values.len(), out.len());
        let (fours, rest) = values.reinterpret_cast().as_chunks::<4>();
        let (out, rest_out) = out.as_chunks_mut::<4>();
        for (four, out) in fours.iter().zip(out) {
            // SAFETY: `four` and `out` are arrays of four values; NEON is part of the target.
            unsafe {
                let four = vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(four.as_ptr())));
                vst1q_f32(out.as_mut_ptr(), four);
            }
        }
        for (&bits, out) in rest.iter().zip(rest_out) {
            *out = f16::from_bits(bits).to_f32();
        }
    }

    pub fn narrow(values: &[f32], out: &mut [f16]) {
        assert_eq!(values.len(), out.len());
        let (fours, rest) = values.as_chunks::<4>();
        let (out, rest_out) = out.reinterpret_cast_mut().as_chunks_mut::<4>();
        for (four, out) in fours.iter().zip(out) {
            // SAFETY: as in `widen`.
            unsafe {
                let four = vreinterpret_u16_f16(vcvt_f16_f32(vld1q_f32(four.as_ptr())));
                vst1_u16(out.as_mut_ptr(), four);
            }
        }
        for (&value, out) in rest.iter().zip(rest_out) {
            *out = f16::from_f32(value).to_bits();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_f16_survives_the_way_to_f32_and_back() {
        // Odd in length, so that some are left over.
        let all: Vec<f16> = (0..=u16::MAX).chain(0..3).map(f16::from_bits).collect();
        let mut wide = vec![0f32; all.len()];
        f16_to_f32(&all, &mut wide);
        let mut back = vec![f16::ZERO; all.len()];
        f32_to_f16(&wide, &mut back);
        for ((value, wide), back) in all.iter().zip(&wide).zip(&back) {
            if value.is_nan() {
                assert!(wide.is_nan() && back.is_nan());
            } else {
                // By its definition: 11 bits, a unit of 2^-24 at the least.
                let bits = value.to_bits();
                let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
                let size = match exponent {
                    0 => fraction * 2f64.powi(-24),
                    31 => f64::INFINITY,
                    _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
                };
                let expected = if bits >> 15 == 0 { size } else { -size };
                assert_eq!(f64::from(*wide), expected, "{bits:#x}");
                assert_eq!(bits, back.to_bits());
            }
        }
    }

    #[test]
    fn f32_values_round_to_the_nearest_f16_ties_to_even() {
        for (value, expected) in [
            (1.0 + 1.0 / 2048.0, 0x3c00), // halfway between 1 and the next: to the even one
            (1.0 + 1.001 / 2048.0, 0x3c01),
            (1.0 + 3.0 / 2048.0, 0x3c02),
            (65_519.9, 0x7bff), // rounds to the largest
            (65_520.0, 0x7c00),
            (2f32.powi(-25), 0),
            (-1.5 * 2f32.powi(-24), 0x8002),
        ] {
            for n in [1, 4] {
                let mut out = vec![f16::ONE; n];
                f32_to_f16(&vec![value; n], &mut out);
                assert!(out.iter().all(|half| half.to_bits() == expected), "{value}: {out:?}");
            }
        }
    }
}
