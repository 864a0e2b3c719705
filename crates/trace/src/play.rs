//! The playing build: plain integers.

use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

/// One number for both phases.
pub type Value = i32;

/// A middlegame and an endgame value.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pair {
    pub(crate) mg: i32,
    pub(crate) eg: i32,
}

impl Pair {
    pub(crate) const fn new(mg: i32, eg: i32) -> Self {
        Self { mg, eg }
    }
}

/// A pair of numbers to tune.
#[allow(non_snake_case)]
#[inline]
pub const fn S(mg: i32, eg: i32) -> Pair {
    Pair { mg, eg }
}

/// A number to tune.
#[allow(non_snake_case)]
#[inline]
pub const fn V(x: i32) -> Value {
    x
}

macro_rules! operators {
    ($($op:ident::$f:ident, $assign:ident::$g:ident: $t:ty => |$a:ident, $b:ident| $mg:expr, $eg:expr;)*) => {$(
        impl $op<$t> for Pair {
            type Output = Pair;
            #[inline]
            fn $f(self, $b: $t) -> Pair {
                let $a = self;
                Pair { mg: $mg, eg: $eg }
            }
        }
        impl $assign<$t> for Pair {
            #[inline]
            fn $g(&mut self, b: $t) {
                *self = $op::$f(*self, b);
            }
        }
    )*};
}
operators! {
    Add::add, AddAssign::add_assign: Pair => |a, b| a.mg + b.mg, a.eg + b.eg;
    Sub::sub, SubAssign::sub_assign: Pair => |a, b| a.mg - b.mg, a.eg - b.eg;
    Mul::mul, MulAssign::mul_assign: i32 => |a, b| a.mg * b, a.eg * b;
    Div::div, DivAssign::div_assign: i32 => |a, b| a.mg / b, a.eg / b;
}
impl Mul<Pair> for i32 {
    type Output = Pair;
    #[inline]
    fn mul(self, p: Pair) -> Pair {
        p * self
    }
}
impl Neg for Pair {
    type Output = Pair;
    #[inline]
    fn neg(self) -> Pair {
        Pair { mg: -self.mg, eg: -self.eg }
    }
}
impl Sum for Pair {
    #[inline]
    fn sum<I: Iterator<Item = Pair>>(all: I) -> Pair {
        all.fold(Pair::default(), |a, b| a + b)
    }
}

#[inline]
pub(crate) fn toward_zero(e: i32, c: i32) -> i32 {
    e + e.signum() * c.max(-e.abs())
}

pub(crate) fn table(x: i32, knots: &[[i32; 2]]) -> i32 {
    let Some(i) = knots.iter().position(|k| x < k[0]) else { return knots[knots.len() - 1][1] };
    let ([a, b], [c, d]) = (knots[i.max(1) - 1], knots[i]);
    if i == 0 { d } else { b + (d - b) * (x - a) / (c - a) }
}

/// Before a process plays. Here, nothing is to be done.
#[inline]
pub fn play() {}

/// Where the search evaluates a position. Here, nothing is to be done.
#[inline]
pub fn leaf(_fen: impl FnOnce() -> String) {}
