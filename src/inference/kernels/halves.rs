//! Keys and values between f16 and f32, a slice at a time.
//!
//! `half` calls a function for every eight of them on x86-64. On Arm it wants FEAT_FP16 for what every
//! 64-bit processor has, converts number by number without it (Raspberry Pi 4), and calls a function
//! for every four with it. Elsewhere, and where the instructions are missing, it does the work.

use half::f16;
#[cfg(not(target_arch = "aarch64"))]
use half::slice::HalfFloatSliceExt as _;

#[cfg(target_arch = "x86_64")]
use super::Level;

/// # Panics
/// If `out` is not as long as `halves`.
#[cfg_attr(target_arch = "x86_64", expect(unsafe_code, reason = "the processor was asked"))]
pub fn widen(halves: &[f16], out: &mut [f32]) {
    #[cfg(target_arch = "aarch64")]
    neon::widen(halves, out);
    #[cfg(target_arch = "x86_64")]
    if Level::best() >= Level::Avx2 {
        // SAFETY: the instructions go with that level.
        return unsafe { f16c::widen(halves, out) };
    }
    #[cfg(not(target_arch = "aarch64"))]
    halves.convert_to_f32_slice(out);
}

/// Rounded, ties to even.
///
/// # Panics
/// If `out` is not as long as `values`.
#[cfg_attr(target_arch = "x86_64", expect(unsafe_code, reason = "the processor was asked"))]
pub fn narrow(values: &[f32], out: &mut [f16]) {
    #[cfg(target_arch = "aarch64")]
    neon::narrow(values, out);
    #[cfg(target_arch = "x86_64")]
    if Level::best() >= Level::Avx2 {
        // SAFETY: the instructions go with that level.
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
    #[expect(unsafe_code, reason = "loads and stores of eight values")]
    pub fn widen(halves: &[f16], out: &mut [f32]) {
        assert_eq!(halves.len(), out.len());
        let (eights, rest) = halves.as_chunks::<8>();
        let (out, rest_out) = out.as_chunks_mut::<8>();
        for (eight, out) in eights.iter().zip(out) {
            // SAFETY: eight values on both sides.
            unsafe {
                let eight = _mm_loadu_si128(eight.as_ptr().cast());
                _mm256_storeu_ps(out.as_mut_ptr(), _mm256_cvtph_ps(eight));
            }
        }
        rest.convert_to_f32_slice(rest_out);
    }

    #[target_feature(enable = "avx,f16c")]
    #[expect(unsafe_code, reason = "loads and stores of eight values")]
    pub fn narrow(values: &[f32], out: &mut [f16]) {
        assert_eq!(values.len(), out.len());
        let (eights, rest) = values.as_chunks::<8>();
        let (out, rest_out) = out.as_chunks_mut::<8>();
        for (eight, out) in eights.iter().zip(out) {
            // SAFETY: as above.
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

    #[expect(unsafe_code, reason = "loads and stores of four values")]
    pub fn widen(halves: &[f16], out: &mut [f32]) {
        assert_eq!(halves.len(), out.len());
        let (fours, rest) = halves.reinterpret_cast().as_chunks::<4>();
        let (out, rest_out) = out.as_chunks_mut::<4>();
        for (four, out) in fours.iter().zip(out) {
            // SAFETY: four values on both sides, and every 64-bit Arm that Rust compiles for has NEON.
            unsafe {
                let four = vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(four.as_ptr())));
                vst1q_f32(out.as_mut_ptr(), four);
            }
        }
        for (&bits, out) in rest.iter().zip(rest_out) {
            *out = f16::from_bits(bits).to_f32();
        }
    }

    #[expect(unsafe_code, reason = "loads and stores of four values")]
    pub fn narrow(values: &[f32], out: &mut [f16]) {
        assert_eq!(values.len(), out.len());
        let (fours, rest) = values.as_chunks::<4>();
        let (out, rest_out) = out.reinterpret_cast_mut().as_chunks_mut::<4>();
        for (four, out) in fours.iter().zip(out) {
            // SAFETY: as above.
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
    fn every_half_becomes_the_same_single_and_comes_back() {
        // Odd in length, so that some are left over.
        let halves: Vec<f16> = (0..=u16::MAX).chain(0..3).map(f16::from_bits).collect();
        let mut wide = vec![0f32; halves.len()];
        widen(&halves, &mut wide);
        let mut back = vec![f16::ZERO; halves.len()];
        narrow(&wide, &mut back);
        for ((half, wide), back) in halves.iter().zip(&wide).zip(&back) {
            if half.is_nan() {
                assert!(wide.is_nan() && back.is_nan());
            } else {
                // By its definition: 11 bits, a unit of 2^-24 at the least.
                let bits = half.to_bits();
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
    fn what_lies_between_goes_to_the_nearest_half_ties_to_even() {
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
                narrow(&vec![value; n], &mut out);
                assert!(out.iter().all(|half| half.to_bits() == expected), "{value}: {out:?}");
            }
        }
    }
}
