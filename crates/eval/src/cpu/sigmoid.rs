//! The sigmoid and the losses on SIMD lanes, in f32.

#![allow(clippy::needless_range_loop, reason = "iterators with closures would be called, see `exp2`")]

use gputexel_dataset::objective::LossKind;
use pulp::Simd;

/// Largest |x log₂ e| that is distinguished: there the sigmoid is within 5e-10 of 0 and 1, and the product of four
/// denominators is below 2^125.
const LIMIT: f32 = 31.0;

const MIN_POWER: f32 = -116.0;

/// 2^r on [−1/2, 1/2] with 2^0 = 1 exactly; relative error below 1.1e-7 (fitted for this file by iteratively reweighted
/// least squares toward the minimax polynomial).
#[allow(clippy::approx_constant, reason = "a fitted coefficient near ln 2, not ln 2")]
pub(super) const EXP2: [f32; 6] =
    [1.0, 0.693_147, 0.240_222_42, 0.055_507_336, 0.009_671_513, 0.001_326_472_7];

pub(super) const IN_STEP: usize = 4;

#[derive(Clone, Copy)]
pub(super) struct ArgumentScale<V> {
    /// x log₂ e per unit of the sum.
    x2: V,
    negative: V,
    /// The sum at which |x log₂ e| reaches its limit: clamping sums allows the scaling to be fused with the next
    /// operation.
    limit: V,
}

impl<V: Copy> ArgumentScale<V> {
    /// Creates a scaling with x log₂ e per unit.
    #[inline(always)]
    pub(super) fn new<S: Simd<f32s = V>>(simd: S, x2: V) -> Self {
        let limit = simd.div_f32s(simd.splat_f32s(LIMIT), simd.abs_f32s(x2));
        Self { x2, negative: simd.neg_f32s(x2), limit }
    }
}

#[derive(Clone, Copy)]
pub(super) struct Prediction<V> {
    /// σ(x).
    pub p: V,
    /// Two factors whose product is σ(x), to be fused with the next operation.
    factors: [V; 2],
    /// 1 − σ(x), with small relative error within the limit.
    pub q: V,
    pub x2: V,
}

impl<V: Copy> Prediction<V> {
    #[inline(always)]
    fn minus<S: Simd<f32s = V>>(&self, simd: S, y: V) -> V {
        simd.mul_add_e_f32s(self.factors[0], self.factors[1], simd.neg_f32s(y))
    }
}

/// Computes 2^(x · scale) of several vectors, |x · scale| ≤ 126.
// Loops over the vectors are inside each step, so that instructions of independent chains alternate and the
// processor's scheduler does not fill up with waiting ones. Closures and array methods would be compiled
// without the implementation's instruction set and called: a factor of twenty.
#[inline(always)]
fn exp2<S: Simd, const N: usize>(simd: S, x: [S::f32s; N], scale: S::f32s) -> [S::f32s; N] {
    // Adding 1.5 · 2²³ rounds to a whole number and leaves it in the low bits of the sum.
    let magic = simd.splat_f32s(12_582_912.0);
    let (mut r, mut shifted) = (x, x);
    for i in 0..N {
        shifted[i] = simd.mul_add_e_f32s(x[i], scale, magic);
    }
    for i in 0..N {
        r[i] = simd.mul_add_e_f32s(x[i], scale, simd.sub_f32s(magic, shifted[i]));
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
        // 2^whole by adding to the exponent bits; the magic's own bits are shifted out.
        let exponent = simd.wrapping_dyn_shl_u32s(simd.transmute_u32s_f32s(shifted[i]), simd.splat_u32s(23));
        poly[i] = simd.transmute_f32s_u32s(simd.add_u32s(simd.transmute_u32s_f32s(poly[i]), exponent));
    }
    poly
}

/// Computes ln(v) for finite v ≥ the smallest normal number.
#[inline(always)]
fn ln<S: Simd>(simd: S, v: S::f32s) -> S::f32s {
    let bits = simd.transmute_u32s_f32s(v);
    // Split v = m · 2^e with m in [√½, √2).
    let offset = simd.sub_u32s(bits, simd.splat_u32s(0x3f35_04f3));
    let exponent =
        simd.wrapping_dyn_shr_u32s(simd.add_u32s(offset, simd.splat_u32s(0x4000_0000)), simd.splat_u32s(23));
    // exponent holds e + 128; as a float through the same magic as in `exp`.
    let magic = 8_388_608.0f32;
    let as_float = simd.transmute_f32s_u32s(simd.or_u32s(exponent, simd.splat_u32s(magic.to_bits())));
    let e = simd.sub_f32s(as_float, simd.splat_f32s(magic + 128.0));
    let mantissa =
        simd.add_u32s(simd.and_u32s(offset, simd.splat_u32s(0x007f_ffff)), simd.splat_u32s(0x3f35_04f3));
    let m = simd.transmute_f32s_u32s(mantissa);
    // ln m = 2 artanh(t), t = (m − 1) / (m + 1), |t| < 0.172: the odd series to t⁹ is good to 1e-9.
    let one = simd.splat_f32s(1.0);
    let t = simd.div_f32s(simd.sub_f32s(m, one), simd.add_f32s(m, one));
    let t2 = simd.mul_f32s(t, t);
    let mut poly = simd.splat_f32s(2.0 / 9.0);
    poly = simd.mul_add_e_f32s(poly, t2, simd.splat_f32s(2.0 / 7.0));
    poly = simd.mul_add_e_f32s(poly, t2, simd.splat_f32s(2.0 / 5.0));
    poly = simd.mul_add_e_f32s(poly, t2, simd.splat_f32s(2.0 / 3.0));
    poly = simd.mul_add_e_f32s(poly, t2, simd.splat_f32s(2.0));
    simd.mul_add_e_f32s(e, simd.splat_f32s(std::f32::consts::LN_2), simd.mul_f32s(t, poly))
}

/// Computes σ(x) of several vectors of sums; `N` is a multiple of four.
#[inline(always)]
pub(super) fn sigmoid<S: Simd, const N: usize>(
    simd: S,
    sums: [S::f32s; N],
    scale: ArgumentScale<S::f32s>,
) -> [Prediction<S::f32s>; N] {
    const { assert!(N.is_multiple_of(4), "a division is shared by four") };
    let one = simd.splat_f32s(1.0);
    let lowest = simd.neg_f32s(scale.limit);
    let mut limited = sums;
    for i in 0..N {
        limited[i] = simd.min_f32s(scale.limit, limited[i]);
    }
    for i in 0..N {
        limited[i] = simd.max_f32s(lowest, limited[i]);
    }
    let e = exp2(simd, limited, scale.negative);
    let mut d = e;
    for i in 0..N {
        d[i] = simd.add_f32s(one, e[i]);
    }
    // Products of pairs and their reciprocals, or the reciprocal of four times the product of the other pair.
    let mut pairs = d;
    for i in (0..N).step_by(2) {
        pairs[i] = simd.mul_f32s(d[i], d[i + 1]);
    }
    if S::F32_LANES == 16 {
        for i in (0..N).step_by(2) {
            pairs[i] = simd.div_f32s(one, pairs[i]);
        }
    } else {
        for i in (0..N).step_by(4) {
            let all = simd.div_f32s(one, simd.mul_f32s(pairs[i], pairs[i + 2]));
            (pairs[i], pairs[i + 2]) = (simd.mul_f32s(all, pairs[i + 2]), simd.mul_f32s(all, pairs[i]));
        }
    }
    let mut predictions = [Prediction { p: one, factors: [one; 2], q: one, x2: one }; N];
    for i in 0..N {
        let factors = [pairs[i - i % 2], d[i ^ 1]];
        let p = simd.mul_f32s(factors[0], factors[1]);
        let q = simd.mul_f32s(p, e[i]);
        predictions[i] = Prediction { p, factors, q, x2: simd.mul_f32s(sums[i], scale.x2) };
    }
    predictions
}

pub(super) trait LaneLoss: Copy + Send + Sync {
    fn value<S: Simd>(self, simd: S, prediction: &Prediction<S::f32s>, y: S::f32s) -> S::f32s;
    fn add_value<S: Simd>(
        self,
        simd: S,
        prediction: &Prediction<S::f32s>,
        y: S::f32s,
        sum: S::f32s,
    ) -> S::f32s;

    fn slope<S: Simd>(self, simd: S, prediction: &Prediction<S::f32s>, y: S::f32s) -> S::f32s;
}

/// (p − y)².
#[derive(Clone, Copy)]
pub(super) struct Squared;

impl LaneLoss for Squared {
    #[inline(always)]
    fn value<S: Simd>(self, simd: S, prediction: &Prediction<S::f32s>, y: S::f32s) -> S::f32s {
        let d = prediction.minus(simd, y);
        simd.mul_f32s(d, d)
    }

    #[inline(always)]
    fn add_value<S: Simd>(
        self,
        simd: S,
        prediction: &Prediction<S::f32s>,
        y: S::f32s,
        sum: S::f32s,
    ) -> S::f32s {
        let d = prediction.minus(simd, y);
        simd.mul_add_e_f32s(d, d, sum)
    }

    #[inline(always)]
    fn slope<S: Simd>(self, simd: S, prediction: &Prediction<S::f32s>, y: S::f32s) -> S::f32s {
        let d = prediction.minus(simd, y);
        let twice = simd.add_f32s(d, d);
        simd.mul_f32s(twice, simd.mul_f32s(prediction.p, prediction.q))
    }
}

#[derive(Clone, Copy)]
pub(super) struct AnyLoss(LossKind);

impl From<LossKind> for AnyLoss {
    fn from(kind: LossKind) -> Self {
        Self(kind)
    }
}

impl LaneLoss for AnyLoss {
    #[inline(always)]
    fn value<S: Simd>(self, simd: S, prediction: &Prediction<S::f32s>, y: S::f32s) -> S::f32s {
        match self.0 {
            LossKind::Squared => Squared.value(simd, prediction, y),
            LossKind::CrossEntropy => {
                // ln(1 + e^x) − x y with ln(1 + e^x) = max(x, 0) − ln max(p, 1 − p), which holds for any x.
                let x = simd.mul_f32s(prediction.x2, simd.splat_f32s(std::f32::consts::LN_2));
                let certain = ln(simd, simd.max_f32s(prediction.p, prediction.q));
                let softplus = simd.sub_f32s(simd.max_f32s(x, simd.splat_f32s(0.0)), certain);
                simd.sub_f32s(softplus, simd.mul_f32s(x, y))
            }
            LossKind::Power(q) => power(simd, simd.sub_f32s(prediction.p, y), q as f32),
        }
    }

    #[inline(always)]
    fn add_value<S: Simd>(
        self,
        simd: S,
        prediction: &Prediction<S::f32s>,
        y: S::f32s,
        sum: S::f32s,
    ) -> S::f32s {
        match self.0 {
            LossKind::Squared => Squared.add_value(simd, prediction, y, sum),
            _ => simd.add_f32s(sum, self.value(simd, prediction, y)),
        }
    }

    #[inline(always)]
    fn slope<S: Simd>(self, simd: S, prediction: &Prediction<S::f32s>, y: S::f32s) -> S::f32s {
        match self.0 {
            LossKind::Squared => Squared.slope(simd, prediction, y),
            LossKind::CrossEntropy => simd.sub_f32s(prediction.p, y),
            LossKind::Power(q) => {
                let q = q as f32;
                let d = simd.sub_f32s(prediction.p, y);
                let sign = simd.and_u32s(simd.transmute_u32s_f32s(d), simd.splat_u32s(1 << 31));
                let power = simd.mul_f32s(power(simd, d, q - 1.0), simd.splat_f32s(q));
                let signed = simd.transmute_f32s_u32s(simd.or_u32s(simd.transmute_u32s_f32s(power), sign));
                // |d|^0 = 1 also at d = 0, where the slope is 0 by symmetry.
                let zero = simd.equal_f32s(d, simd.splat_f32s(0.0));
                let signed = simd.select_f32s(zero, simd.splat_f32s(0.0), signed);
                simd.mul_f32s(signed, simd.mul_f32s(prediction.p, prediction.q))
            }
        }
    }
}

/// Computes |d|^exponent; 0 where d is 0 and the exponent is not.
#[inline(always)]
fn power<S: Simd>(simd: S, d: S::f32s, exponent: f32) -> S::f32s {
    let magnitude = simd.max_f32s(simd.abs_f32s(d), simd.splat_f32s(f32::MIN_POSITIVE));
    let scale = simd.splat_f32s(exponent * std::f32::consts::LOG2_E);
    let argument = simd.mul_f32s(ln(simd, magnitude), scale);
    let argument = simd.max_f32s(argument, simd.splat_f32s(MIN_POWER));
    let [power] = exp2(simd, [argument], simd.splat_f32s(1.0));
    power
}

/// Calls `$body` with `$loss` bound to the lane form of a `LossKind`, once for the squared error and once for the
/// others.
macro_rules! with_lane_loss {
    ($kind:expr, $loss:ident => $body:expr) => {
        match $kind {
            LossKind::Squared => {
                let $loss = $crate::cpu::sigmoid::Squared;
                $body
            }
            kind => {
                let $loss = $crate::cpu::sigmoid::AnyLoss::from(kind);
                $body
            }
        }
    };
}
pub(super) use with_lane_loss;

#[cfg(test)]
mod tests {
    use super::*;

    struct Check;

    impl pulp::WithSimd for Check {
        type Output = ();

        fn with_simd<S: Simd>(self, simd: S) {
            let lane = |v: S::f32s| bytemuck::bytes_of(&v)[..4].try_into().map(f32::from_le_bytes).unwrap();
            let (mut worst_p, mut worst_loss) = (0.0f64, [0.0f64; 3]);
            for i in -40_000..=40_000 {
                let x = i as f32 / 1000.0;
                let exact = |x: f32| 1.0 / (1.0 + (-f64::from(x)).exp());
                let arguments = [x, -x / 3.0, 0.0, 1.5 * x];
                let mut sums = [simd.splat_f32s(0.0); IN_STEP];
                for (sum, x) in sums.iter_mut().zip(arguments) {
                    *sum = simd.splat_f32s(x * 100.0);
                }
                let scale = ArgumentScale::new(simd, simd.splat_f32s(std::f32::consts::LOG2_E / 100.0));
                for (prediction, x) in sigmoid(simd, sums, scale).iter().zip(arguments) {
                    worst_p = worst_p.max((f64::from(lane(prediction.p)) - exact(x)).abs());
                    let q = exact(-x);
                    assert!((f64::from(lane(prediction.q)) - q).abs() <= 4e-6 * q + 5e-10, "1 - σ({x})");
                    for y in [0.0f32, 0.5, 1.0] {
                        let kinds = [LossKind::Squared, LossKind::CrossEntropy, LossKind::Power(2.5)];
                        for (worst, kind) in worst_loss.iter_mut().zip(kinds) {
                            let y_lanes = simd.splat_f32s(y);
                            let (value, slope) = with_lane_loss!(kind, loss => (
                                lane(loss.value(simd, prediction, y_lanes)),
                                lane(loss.slope(simd, prediction, y_lanes))
                            ));
                            let wanted = kind.value(f64::from(x), f64::from(y));
                            *worst = worst.max((f64::from(value) - wanted).abs() / wanted.max(1.0));
                            let slope_error =
                                (f64::from(slope) - kind.slope(f64::from(x), f64::from(y))).abs();
                            assert!(slope_error < 1e-6, "{kind} slope at {x}, {y}: {slope_error}");
                        }
                    }
                }
            }
            // Measured 2.4e-7 and 4.5e-7, 6e-7, 5.5e-7, partly due to the scaled argument.
            assert!(worst_p < 5e-7, "{worst_p}");
            assert!(worst_loss[0] < 9e-7 && worst_loss[1] < 2e-6 && worst_loss[2] < 2e-6, "{worst_loss:?}");
        }
    }

    #[test]
    fn lanes_agree_with_f64_on_every_body() {
        for set in super::super::InstructionSet::available() {
            set.dispatch(Check);
        }
    }
}
