//! Numbers that a program computes with: plain ones, vectors of population members, and dual numbers. A
//! single implementation of the pipeline serves them all, so only one has to be correct.

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
