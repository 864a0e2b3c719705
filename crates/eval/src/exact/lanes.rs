//! Losses of known scores in f64, as loops that the compiler turns into vectors.

use std::f64::consts::LOG2_E;

use gputexel_dataset::objective::LossKind;

pub(super) const BLOCK: usize = 256;
const LANES: usize = 8;
/// Sigmoids of larger arguments are 0 or 1 to the last digit.
const LIMIT: f64 = 700.0;

pub(super) struct Block {
    /// Centipawns, White's view.
    pub scores: [f64; BLOCK],
    /// 0 to 1.
    pub targets: [f64; BLOCK],
    pub weights: [f64; BLOCK],
}

impl Block {
    pub const EMPTY: Self = Self { scores: [0.0; BLOCK], targets: [0.0; BLOCK], weights: [0.0; BLOCK] };
}

/// Σ w ℓ.
pub(super) struct LossSum {
    loss: LossKind,
    x_per_cp: f64,
    sums: [f64; LANES],
}

impl LossSum {
    pub fn new(loss: LossKind, x_per_cp: f64) -> Self {
        Self { loss, x_per_cp, sums: [0.0; LANES] }
    }

    #[inline(always)]
    pub fn add(&mut self, block: &Block) {
        match self.loss {
            LossKind::Squared => self.add_values(block, squared),
            LossKind::CrossEntropy => self.add_values(block, cross_entropy),
            // Powers are not worth a vectorized implementation.
            LossKind::Power(q) => self.add_values(block, |x, y| (sigmoid(x) - y).abs().powf(q)),
        }
    }

    #[inline(always)]
    fn add_values(&mut self, block: &Block, value: impl Fn(f64, f64) -> f64) {
        let mut values = [0.0; BLOCK];
        let positions = block.scores.iter().zip(&block.targets).zip(&block.weights);
        for (into, ((score, &target), weight)) in values.iter_mut().zip(positions) {
            *into = weight * value(self.x_per_cp * score, target);
        }
        for values in values.as_chunks::<LANES>().0 {
            self.sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        }
    }

    pub fn total(&self) -> f64 {
        self.sums.iter().sum()
    }
}

#[inline(always)]
fn squared(x: f64, y: f64) -> f64 {
    let d = sigmoid(x) - y;
    d * d
}

/// Computes ln(1 + e^x) − x y, in a form that is stable for large |x|.
#[inline(always)]
fn cross_entropy(x: f64, y: f64) -> f64 {
    let positive = if x < 0.0 { 0.0 } else { x };
    positive + ln_1p(exp(-x.abs())) - x * y
}

/// Computes p (1 − p) with p = σ(x).
#[inline(always)]
pub(crate) fn openness(x: f64) -> f64 {
    let e = exp(-x.abs());
    e / ((1.0 + e) * (1.0 + e))
}

#[inline(always)]
fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + exp(-x))
}

/// Computes e^x, with a relative error of about 1e-16 for |x| up to [`LIMIT`]; clamped beyond it. NaN stays NaN.
#[inline(always)]
fn exp(x: f64) -> f64 {
    // Adding it rounds to a whole number, which is then in the lowest bits.
    const MAGIC: f64 = 6_755_399_441_055_744.0; // 1.5 · 2^52
    // ln 2 as the sum of two numbers, the first with so few bits that its multiples are exact.
    const LN_2: [f64; 2] = [0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10];
    let x = if x > LIMIT { LIMIT } else { x };
    let x = if x < -LIMIT { -LIMIT } else { x };
    let shifted = x * LOG2_E + MAGIC;
    let whole = shifted - MAGIC;
    let r = (x - whole * LN_2[0]) - whole * LN_2[1];
    // Taylor series: with |r| < 0.347 the first omitted term is below 5e-18.
    let mut sum = 1.0 / 6_227_020_800.0;
    for factorial in [
        479_001_600.0,
        39_916_800.0,
        3_628_800.0,
        362_880.0,
        40_320.0,
        5_040.0,
        720.0,
        120.0,
        24.0,
        6.0,
        2.0,
        1.0,
        1.0,
    ] {
        sum = sum * r + 1.0 / factorial;
    }
    f64::from_bits(sum.to_bits().wrapping_add(shifted.to_bits() << 52))
}

/// Computes ln(1 + e) for e from 0 to 1, with a relative error of about 1e-16.
#[inline(always)]
fn ln_1p(e: f64) -> f64 {
    // 2 artanh t with t = e / (2 + e) ≤ 1/3: the first omitted term is below 1e-17 of the sum.
    let t = e / (2.0 + e);
    let square = t * t;
    let mut sum = 0.0;
    for odd in
        [33.0, 31.0, 29.0, 27.0, 25.0, 23.0, 21.0, 19.0, 17.0, 15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0, 1.0]
    {
        sum = sum * square + 2.0 / odd;
    }
    t * sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_of_the_loss() {
        for loss in [LossKind::Squared, LossKind::CrossEntropy, LossKind::Power(2.5)] {
            for i in -80_000..=80_000 {
                let x = f64::from(i) / 1000.0;
                for y in [0.0, 0.37, 1.0] {
                    let mut block = Block::EMPTY;
                    (block.scores[7], block.targets[7], block.weights[7]) = (x, y, 1.0);
                    // One position in lane 7; the others have no weight.
                    let mut sum = LossSum::new(loss, 1.0);
                    if i % 100 == 0 {
                        sum.add(&block);
                    } else {
                        let value = match loss {
                            LossKind::Squared => squared(x, y),
                            LossKind::CrossEntropy => cross_entropy(x, y),
                            LossKind::Power(q) => (sigmoid(x) - y).abs().powf(q),
                        };
                        sum.sums[0] = value;
                    }
                    let (value, wanted) = (sum.total(), loss.value(x, y));
                    // Where p and y, or x and x y, cancel, the difference has their digits.
                    let terms = if loss == LossKind::CrossEntropy { 0.4 * x.abs() } else { wanted.sqrt() };
                    let bound = 2e-15 * wanted + 1e-15 * terms + 1e-300;
                    assert!((value - wanted).abs() <= bound, "{loss} {x} {y}: {value} {wanted}");
                }
            }
        }
    }

    #[test]
    fn scores_beyond_all_limits_do_not_break_a_sum() {
        for (x, p) in [(1e9, 1.0), (-1e9, 0.0), (f64::INFINITY, 1.0), (f64::NEG_INFINITY, 0.0)] {
            assert!((sigmoid(x) - p).abs() < 1e-300, "{x}");
        }
        assert!(squared(f64::NAN, 0.0).is_nan() && cross_entropy(f64::NAN, 0.0).is_nan());
        assert_eq!(cross_entropy(1e9, 1.0), 0.0);
    }
}
