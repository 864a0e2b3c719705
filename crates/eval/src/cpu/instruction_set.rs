//! Selection of the SIMD implementation: at run time, or by tests and benchmarks.

use pulp::{Scalar256b, Simd, WithSimd};

#[derive(Clone, Copy, Debug)]
pub enum InstructionSet {
    /// Plain Rust on arrays of eight, for processors without any of the others.
    Portable,
    /// Detected by `pulp`: AVX-512, AVX2 with FMA, or NEON.
    Detected(pulp::Arch),
}

impl InstructionSet {
    pub fn best() -> Self {
        match pulp::Arch::new() {
            pulp::Arch::Scalar => Self::Portable,
            arch => Self::Detected(arch),
        }
    }

    pub fn available() -> Vec<Self> {
        let mut all = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            all.extend(pulp::x86::V4::try_new().map(|v4| Self::Detected(pulp::Arch::V4(v4))));
            all.extend(pulp::x86::V3::try_new().map(|v3| Self::Detected(pulp::Arch::V3(v3))));
        }
        #[cfg(not(target_arch = "x86_64"))]
        if let detected @ Self::Detected(_) = Self::best() {
            all.push(detected);
        }
        all.push(Self::Portable);
        all
    }

    #[inline]
    pub fn dispatch<Op: WithSimd>(self, op: Op) -> Op::Output {
        // Not `Arch::dispatch`, which adds another copy of every kernel, for pulp's own scalars, that never runs.
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Detected(pulp::Arch::V4(simd)) => Simd::vectorize(simd, op),
            #[cfg(target_arch = "x86_64")]
            Self::Detected(pulp::Arch::V3(simd)) => Simd::vectorize(simd, op),
            #[cfg(target_arch = "aarch64")]
            Self::Detected(pulp::Arch::Neon(simd)) => Simd::vectorize(simd, op),
            Self::Portable | Self::Detected(_) => op.with_simd(Scalar256b),
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Self::Detected(pulp::Arch::V4(_)) => "AVX-512",
            #[cfg(target_arch = "x86_64")]
            Self::Detected(pulp::Arch::V3(_)) => "AVX2",
            #[cfg(target_arch = "aarch64")]
            Self::Detected(pulp::Arch::Neon(_)) => "NEON",
            Self::Detected(_) => "SIMD",
        }
    }
}
