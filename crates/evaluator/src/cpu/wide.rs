//! What AVX-512 has instructions of its own for: powers of two.

use pulp::Simd;

/// Whether an implementation is that of AVX-512. Known when the caller is compiled.
#[inline(always)]
pub(super) fn is_avx512<S: Simd>() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::any::TypeId::of::<S>() == std::any::TypeId::of::<pulp::x86::V4>();
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

/// 2^(min(x · scale, most)) of several vectors, 0 where that underflows; `None` without AVX-512.
#[inline(always)]
pub(super) fn exp2<S: Simd, const N: usize>(
    simd: S,
    x: [S::f32s; N],
    scale: S::f32s,
    most: f32,
) -> Option<[S::f32s; N]> {
    #[cfg(target_arch = "x86_64")]
    return x86::exp2(simd, x, scale, most);
    #[cfg(not(target_arch = "x86_64"))]
    return None;
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::any::Any;
    use std::arch::x86_64::__m512;

    use pulp::x86::V4;
    use pulp::{Simd, f32x16};

    /// 2^r on [0, 1) with 2^0 = 1 exactly; relative error below 1e-7 (fitted for this project).
    #[allow(clippy::approx_constant, reason = "a fitted coefficient near ln 2, not ln 2")]
    const EXP2: [f32; 6] = [1.0, 0.693_151_3, 0.240_164_44, 0.055_799_91, 0.009_017_031, 0.001_867_13];

    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "iterators with closures would be called, see `sigmoid`")]
    pub(super) fn exp2<S: Simd, const N: usize>(
        simd: S,
        x: [S::f32s; N],
        scale: S::f32s,
        most: f32,
    ) -> Option<[S::f32s; N]> {
        let v4 = *(&simd as &dyn Any).downcast_ref::<V4>()?;
        let most = simd.splat_f32s(most);
        let (mut t, mut r) = (x, x);
        for i in 0..N {
            t[i] = simd.min_f32s(most, simd.mul_f32s(x[i], scale));
        }
        for i in 0..N {
            // What is left after rounding down.
            r[i] = lanes::<S>(v4.avx512dq._mm512_reduce_ps::<1>(register::<S>(t[i])));
        }
        let mut poly = [simd.splat_f32s(EXP2[5]); N];
        let mut degree = 5;
        while degree > 0 {
            degree -= 1;
            for i in 0..N {
                poly[i] = simd.mul_add_e_f32s(poly[i], r[i], simd.splat_f32s(EXP2[degree]));
            }
        }
        for i in 0..N {
            // Times 2 to the power of the argument rounded down.
            let scaled = v4.avx512f._mm512_scalef_ps(register::<S>(poly[i]), register::<S>(t[i]));
            poly[i] = lanes::<S>(scaled);
        }
        Some(poly)
    }

    /// A vector as a register of AVX-512, which it is if there is a [`V4`].
    #[inline(always)]
    fn register<S: Simd>(vector: S::f32s) -> __m512 {
        pulp::cast(bytemuck::cast::<S::f32s, f32x16>(vector))
    }

    /// A register of AVX-512 as a vector.
    #[inline(always)]
    fn lanes<S: Simd>(register: __m512) -> S::f32s {
        bytemuck::cast::<f32x16, S::f32s>(pulp::cast(register))
    }
}
