//! Numbers that a program computes with: plain ones, vectors of population members, dual numbers, and intervals.
//! A single implementation of the pipeline serves them all, so only one has to be correct.

use std::ops::{Add, Mul, Neg, Sub};

/// A number, or several side by side, without branches.
pub trait Scalar:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Neg<Output = Self>
{
    type Mask: Copy;

    fn constant(value: f64) -> Self;

    fn above(self, other: Self) -> Self::Mask;

    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self;

    /// 1 / (1 + e^−x).
    fn sigmoid(self) -> Self;

    #[inline(always)]
    fn zero() -> Self {
        Self::constant(0.0)
    }

    #[inline(always)]
    fn one() -> Self {
        Self::constant(1.0)
    }

    #[inline(always)]
    fn larger(self, other: Self) -> Self {
        Self::select(self.above(other), self, other)
    }

    #[inline(always)]
    fn smaller(self, other: Self) -> Self {
        Self::select(self.above(other), other, self)
    }

    /// −1, 0 or 1.
    #[inline(always)]
    fn sign(self) -> Self {
        let zero = Self::zero();
        let negative = Self::select(zero.above(self), Self::constant(-1.0), zero);
        Self::select(self.above(zero), Self::one(), negative)
    }

    /// |x|.
    #[inline(always)]
    fn magnitude(self) -> Self {
        self.larger(-self)
    }

    /// The number after divisions that an engine truncates, toward 0 and by at most `_by`: only intervals become wider.
    #[inline(always)]
    fn truncated(self, _by: f64) -> Self {
        self
    }
}

impl Scalar for f64 {
    type Mask = bool;

    #[inline(always)]
    fn constant(value: f64) -> Self {
        value
    }

    #[inline(always)]
    fn above(self, other: Self) -> bool {
        self > other
    }

    #[inline(always)]
    fn select(mask: bool, yes: Self, no: Self) -> Self {
        if mask { yes } else { no }
    }

    #[inline(always)]
    fn sigmoid(self) -> Self {
        1.0 / (1.0 + (-self).exp())
    }
}

/// A number with its derivative along one direction (forward mode), for curvatures: the derivative of a slope.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Dual {
    pub value: f64,
    pub slope: f64,
}

impl Add for Dual {
    type Output = Self;

    #[inline]
    fn add(self, other: Self) -> Self {
        Self { value: self.value + other.value, slope: self.slope + other.slope }
    }
}

impl Sub for Dual {
    type Output = Self;

    #[inline]
    fn sub(self, other: Self) -> Self {
        Self { value: self.value - other.value, slope: self.slope - other.slope }
    }
}

impl Mul for Dual {
    type Output = Self;

    #[inline]
    fn mul(self, other: Self) -> Self {
        let slope = self.slope * other.value + self.value * other.slope;
        Self { value: self.value * other.value, slope }
    }
}

impl Neg for Dual {
    type Output = Self;

    #[inline]
    fn neg(self) -> Self {
        Self { value: -self.value, slope: -self.slope }
    }
}

impl Scalar for Dual {
    type Mask = bool;

    #[inline]
    fn constant(value: f64) -> Self {
        Self { value, slope: 0.0 }
    }

    #[inline]
    fn above(self, other: Self) -> bool {
        self.value > other.value
    }

    #[inline]
    fn select(mask: bool, yes: Self, no: Self) -> Self {
        if mask { yes } else { no }
    }

    #[inline]
    fn sigmoid(self) -> Self {
        let value = self.value.sigmoid();
        Self { value, slope: value * (1.0 - value) * self.slope }
    }
}

/// All numbers from `low` to `high`: what a score can be if its sums are not known exactly.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
    /// True if the numbers lie on both sides of a kink or jump.
    pub split: bool,
    /// True if it comes from integers that the engine divides.
    pub rounds: bool,
}

impl Interval {
    /// The numbers that differ from `value` by at most `by`.
    pub fn around(value: f64, by: f64, rounds: bool) -> Self {
        Self { low: value - by, high: value + by, split: false, rounds }
    }

    fn with(self, other: Self, [low, high]: [f64; 2]) -> Self {
        Self { low, high, split: self.split | other.split, rounds: self.rounds | other.rounds }
    }
}

impl Add for Interval {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        self.with(other, [self.low + other.low, self.high + other.high])
    }
}

impl Sub for Interval {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl Mul for Interval {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        let [a, b, c, d] =
            [self.low * other.low, self.low * other.high, self.high * other.low, self.high * other.high];
        self.with(other, [a.min(b).min(c).min(d), a.max(b).max(c).max(d)])
    }
}

impl Neg for Interval {
    type Output = Self;

    fn neg(self) -> Self {
        Self { low: -self.high, high: -self.low, ..self }
    }
}

impl Scalar for Interval {
    /// `None` if some are above, and others not.
    type Mask = Option<bool>;

    fn constant(value: f64) -> Self {
        Self::around(value, 0.0, false)
    }

    fn above(self, other: Self) -> Option<bool> {
        let [all, any] = [self.low > other.high, self.high > other.low];
        (all == any).then_some(all)
    }

    fn select(mask: Option<bool>, yes: Self, no: Self) -> Self {
        let both = || {
            let hull = yes.with(no, [yes.low.min(no.low), yes.high.max(no.high)]);
            Self { split: hull.split | (yes != no), ..hull }
        };
        mask.map_or_else(both, |on| if on { yes } else { no })
    }

    fn sigmoid(self) -> Self {
        Self { low: self.low.sigmoid(), high: self.high.sigmoid(), ..self }
    }

    fn magnitude(self) -> Self {
        let [a, b] = [self.low.abs(), self.high.abs()];
        let least = if self.low * self.high < 0.0 { 0.0 } else { a.min(b) };
        self.with(self, [least, a.max(b)])
    }

    fn truncated(self, by: f64) -> Self {
        let by = if self.rounds { by } else { 0.0 };
        let low = if self.low > 0.0 { (self.low - by).max(0.0) } else { self.low };
        let high = if self.high < 0.0 { (self.high + by).min(0.0) } else { self.high };
        self.with(self, [low, high])
    }
}
