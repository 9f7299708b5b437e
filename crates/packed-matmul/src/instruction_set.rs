//! Which vector instructions the processor has.

use std::sync::OnceLock;

/// A set of vector instructions that this processor has.
///
/// Values come from detection only ([`Self::best`], [`Self::available`]), so whoever holds one may
/// run its kernels: that is what makes calling them safe. Sets are ordered from the least to the
/// most capable.
///
/// ```
/// use packed_matmul::InstructionSet;
///
/// assert!(InstructionSet::available().contains(&InstructionSet::best()));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct InstructionSet(Set);

/// What [`InstructionSet`] stands for. Crate-private, so that no value is made without detection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Set {
    Plain,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "aarch64")]
    Neon,
    #[cfg(target_arch = "aarch64")]
    NeonDotProd,
}

impl InstructionSet {
    /// The most capable set of this processor; detected once. With `INGLENOOK_AVX512=off` in the environment that of one
    /// without AVX-512: to measure what it would do, and for processors that slow down by it.
    pub fn best() -> Self {
        static BEST: OnceLock<InstructionSet> = OnceLock::new();
        *BEST.get_or_init(|| {
            let mut sets = Self::available();
            if std::env::var_os("INGLENOOK_AVX512").is_some_and(|value| value == "off") {
                sets.retain(|set| !set.has_avx512());
            }
            sets.pop().unwrap_or(Self(Set::Plain))
        })
    }

    /// Every set of this processor, the least capable (plain Rust) first.
    pub fn available() -> Vec<Self> {
        #[allow(unused_mut, reason = "on processors without kernels there is only this one")]
        let mut sets = vec![Set::Plain];
        #[cfg(target_arch = "x86_64")]
        {
            let has_avx2 = is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("fma")
                && is_x86_feature_detected!("f16c");
            if has_avx2 {
                sets.push(Set::Avx2);
            }
            if has_avx2
                && is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512vnni")
            {
                sets.push(Set::Avx512);
            }
        }
        #[cfg(target_arch = "aarch64")]
        if std::arch::is_aarch64_feature_detected!("neon") {
            sets.push(Set::Neon);
            if std::arch::is_aarch64_feature_detected!("dotprod") {
                sets.push(Set::NeonDotProd);
            }
        }
        sets.into_iter().map(Self).collect()
    }

    /// Its name, for people; `None` for plain Rust.
    pub fn name(self) -> Option<&'static str> {
        match self.0 {
            Set::Plain => None,
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 => Some("AVX2"),
            #[cfg(target_arch = "x86_64")]
            Set::Avx512 => Some("AVX-512 with VNNI"),
            #[cfg(target_arch = "aarch64")]
            Set::Neon => Some("NEON"),
            #[cfg(target_arch = "aarch64")]
            Set::NeonDotProd => Some("NEON with dot products"),
        }
    }

    /// True if AVX2, FMA and F16C are there.
    pub fn has_avx2(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        return self.0 >= Set::Avx2;
        #[cfg(not(target_arch = "x86_64"))]
        false
    }

    /// True if AVX-512 F, BW, DQ, VL and VNNI are there, besides what [`Self::has_avx2`] asks for.
    pub fn has_avx512(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        return self.0 >= Set::Avx512;
        #[cfg(not(target_arch = "x86_64"))]
        false
    }

    pub(crate) fn set(self) -> Set {
        self.0
    }
}
