//! Functions that the compiler vectorises, for processors newer than the build's target.

/// Defines a function whose body is compiled once for each width of x86-64's vectors (SSE2, AVX2,
/// AVX-512) and that runs the widest this processor has.
///
/// A build for plain x86-64 otherwise uses the vectors of 2003; on Arm, NEON is always there and the
/// body is compiled once. The widths give the same results, because the compiler may not reorder or
/// fuse floating-point operations. Helpers that the body calls should be `#[inline(always)]`: what is
/// not inlined is compiled for the narrowest vectors. Arguments are plain names, and there are no
/// generics.
///
/// ```
/// packed_matmul::vectorised! {
///     /// Adds `b` to `a`, element by element.
///     pub fn add(a: &mut [f32], b: &[f32]) {
///         for (a, b) in a.iter_mut().zip(b) {
///             *a += b;
///         }
///     }
/// }
///
/// let mut a = [1.0, 2.0];
/// add(&mut a, &[3.0, 4.0]);
/// assert_eq!(a, [4.0, 6.0]);
/// ```
#[macro_export]
macro_rules! vectorised {
    ($(#[$meta:meta])* $vis:vis fn $name:ident($($arg:ident: $type:ty),* $(,)?) $(-> $out:ty)? $body:block) => {
        $(#[$meta])*
        $vis fn $name($($arg: $type),*) $(-> $out)? {
            #[inline(always)]
            fn body($($arg: $type),*) $(-> $out)? $body
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,f16c,fma")]
                fn avx512($($arg: $type),*) $(-> $out)? {
                    body($($arg),*)
                }
                #[target_feature(enable = "avx2,f16c,fma")]
                fn avx2($($arg: $type),*) $(-> $out)? {
                    body($($arg),*)
                }
                let best = $crate::InstructionSet::best();
                if best.has_avx512() {
                    // SAFETY: `has_avx512` says that the processor has these features.
                    unsafe { avx512($($arg),*) }
                } else if best.has_avx2() {
                    // SAFETY: `has_avx2` says that the processor has these features.
                    unsafe { avx2($($arg),*) }
                } else {
                    body($($arg),*)
                }
            }
            #[cfg(not(target_arch = "x86_64"))]
            body($($arg),*)
        }
    };
}
