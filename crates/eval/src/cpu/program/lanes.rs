//! Sixteen members side by side, as plain loops over arrays.

#![allow(clippy::needless_range_loop, reason = "index loops over vectors compile to what they say")]

use std::ops::{Add, Mul, Neg, Sub};

use crate::cpu::sigmoid::EXP2;
use gputexel_model::program::Scalar;

pub(super) const WIDTH: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, align(64))]
pub(super) struct Lanes(pub [f32; WIDTH]);

impl Lanes {
    #[inline(always)]
    fn zip(self, other: Self, f: impl Fn(f32, f32) -> f32) -> Self {
        let mut out = self;
        for i in 0..WIDTH {
            out.0[i] = f(self.0[i], other.0[i]);
        }
        out
    }

    #[inline(always)]
    fn map(self, f: impl Fn(f32) -> f32) -> Self {
        let mut out = self;
        for i in 0..WIDTH {
            out.0[i] = f(self.0[i]);
        }
        out
    }
}

impl Add for Lanes {
    type Output = Self;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.zip(other, |a, b| a + b)
    }
}

impl Sub for Lanes {
    type Output = Self;

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        self.zip(other, |a, b| a - b)
    }
}

impl Mul for Lanes {
    type Output = Self;

    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        self.zip(other, |a, b| a * b)
    }
}

impl Neg for Lanes {
    type Output = Self;

    #[inline(always)]
    fn neg(self) -> Self {
        self.map(|a| -a)
    }
}

impl Scalar for Lanes {
    type Mask = [bool; WIDTH];

    #[inline(always)]
    fn constant(value: f64) -> Self {
        Self([value as f32; WIDTH])
    }

    #[inline(always)]
    fn above(self, other: Self) -> [bool; WIDTH] {
        let mut mask = [false; WIDTH];
        for i in 0..WIDTH {
            mask[i] = self.0[i] > other.0[i];
        }
        mask
    }

    #[inline(always)]
    fn select(mask: [bool; WIDTH], yes: Self, no: Self) -> Self {
        let mut out = no;
        for i in 0..WIDTH {
            out.0[i] = if mask[i] { yes.0[i] } else { no.0[i] };
        }
        out
    }

    #[inline(always)]
    fn sigmoid(self) -> Self {
        // e^−x as 2^whole · 2^rest, with a polynomial for the rest; beyond ±87 the result is 0 or 1 anyway.
        self.map(|x| {
            let y = (-x).clamp(-87.0, 87.0) * std::f32::consts::LOG2_E;
            let whole = (y + 12_582_912.0) - 12_582_912.0;
            let r = y - whole;
            let poly = EXP2[1..].iter().rev().fold(0.0, |sum, c| (sum + c) * r) + EXP2[0];
            let power = f32::from_bits(((whole as i32 + 127) as u32) << 23);
            1.0 / (1.0 + poly * power)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sigmoids_are_accurate() {
        for i in -20_000..20_000 {
            let x = i as f32 / 200.0;
            let exact = 1.0 / (1.0 + (-f64::from(x)).exp());
            let got = f64::from(Lanes([x; WIDTH]).sigmoid().0[3]);
            assert!((got - exact).abs() < 1e-6 * exact.max(1e-3), "{x}: {got} {exact}");
        }
    }
}
