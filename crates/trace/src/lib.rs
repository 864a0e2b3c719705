//! An evaluation that traces itself: written once, it plays with plain integers, and with the feature `record` it
//! prints what it does with each number, a tape that `gputexel tune` reads.
//!
//! ```ignore
//! use gputexel_trace::*;
//!
//! const KNIGHT: Pair = S(337, 281);
//! const MOBILITY: [Pair; 9] = [S(-44, -89), S(-31, -7) /* … */];
//! const ATTACK: Value = V(36); // one number for both phases
//!
//! fn evaluate(p: &Position) -> Value { // White's view
//!     let mut score = KNIGHT * p.knights; // White's less Black's
//!     score += p.knight_moves(WHITE).map(|n| MOBILITY[n]).sum::<Pair>();
//!     score -= pair(relu2(ATTACK * p.attacks(BLACK)) / 1024, 0);
//!     taper(score, p.phase, 24)
//! }
//!
//! fn main() -> std::process::ExitCode { // of the program that traces
//!     gputexel_trace::trace(|fen| Position::new(fen).map(|p| evaluate(&p))) // errors skip a position
//! }
//! ```
//!
//! `S` and `V` stand for the numbers to tune, known by file, line and column: tables may be copied, mirrored and
//! `negated`, also in constants. Sums begin with `Pair::default()`, because `S(0, 0)` is a number to tune.
//!
//! What cannot be recorded is refused, with file and line: comparisons with other numbers than 0, caches. What a schema
//! cannot say is refused by gputexel. `play` and `result` are for a recording build that searches: with numbers from a
//! file, in floating point. `leaf` shows leaves in both builds. Without the feature, `trace` prints what is played, for
//! `gputexel verify --played`.
#![allow(dead_code, unused_imports, reason = "an engine that has this as a module calls what it needs")]
// Copyright the gputexel developers. Permission is granted, free of charge, to use, copy, modify, publish, distribute,
// sublicense and sell this crate, in whole or in part, for any purpose and without any condition. It is provided "as
// is", without warranty of any kind; its authors are not liable for any claim or damage.

use std::ops::RangeInclusive;

macro_rules! operators {
    ($($op:ident::$f:ident: $t:ty, $u:ty => $r:ty = |$a:ident, $b:ident| $by:expr;)*) => {$(
        impl std::ops::$op<$u> for $t {
            type Output = $r;
            #[cfg_attr(feature = "record", track_caller)]
            #[inline]
            fn $f(self, other: $u) -> $r {
                let ($a, $b) = (self, other);
                $by
            }
        }
    )*};
    ($t:ty) => {
        operators! { $t: AddAssign::add_assign Add::add, SubAssign::sub_assign Sub::sub, MulAssign::mul_assign Mul::mul,
            DivAssign::div_assign Div::div }
        impl std::ops::Neg for $t {
            type Output = $t;
            #[cfg_attr(feature = "record", track_caller)]
            #[inline]
            fn neg(self) -> $t {
                self * -1
            }
        }
        impl std::iter::Sum for $t {
            #[inline]
            fn sum<I: Iterator<Item = $t>>(all: I) -> $t {
                all.fold(<$t>::default(), |a, b| a + b)
            }
        }
    };
    ($t:ty: $($assign:ident::$f:ident $op:ident::$g:ident),*) => {$(
        impl<T> std::ops::$assign<T> for $t
        where
            $t: std::ops::$op<T, Output = $t>,
        {
            #[cfg_attr(feature = "record", track_caller)]
            #[inline]
            fn $f(&mut self, other: T) {
                *self = std::ops::$op::$g(*self, other);
            }
        }
    )*};
}

#[cfg(feature = "sources")]
pub mod sources;

mod lines;
pub use lines::{Outcome, is_drawn, leaf};
#[cfg(not(feature = "record"))]
mod play;
#[cfg(not(feature = "record"))]
pub use play::*;
#[cfg(feature = "record")]
mod record;
#[cfg(feature = "record")]
pub use record::*;

// Arguments before `;` are scores or numbers. Then what the playing build computes, and what the other one records.
macro_rules! verbs {
    ($($(#[$doc:meta])* $name:ident($($a:ident: $t:ty),*; $($c:ident: $u:ty),*) -> $r:ty $play:block $record:block)*) => {$(
        $(#[$doc])*
        #[cfg_attr(feature = "record", track_caller)]
        #[inline]
        pub fn $name($($a: impl Into<$t>,)* $($c: $u),*) -> $r {
            $(let $a: $t = $a.into();)*
            #[cfg(not(feature = "record"))]
            $play
            #[cfg(feature = "record")]
            $record
        }
    )*};
}
verbs! {
    /// A pair of two values, or of numbers that are not tuned.
    pair(mg: Value, eg: Value;) -> Pair { S(mg, eg) } { verb(Op::Make, mg, eg, []) }
    /// The middlegame value.
    mg(p: Pair;) -> Value { p.0 } { verb(Op::Mg, p, 0, []) }
    /// The endgame value.
    eg(p: Pair;) -> Value { p.1 } { verb(Op::Eg, p, 0, []) }
    /// max(x, 0).
    relu(x: Value;) -> Value { x.max(0) } { verb(Op::Relu, x, 0, []) }
    /// max(x, 0)².
    relu2(x: Value;) -> Value { x.max(0) * x.max(0) } { verb(Op::Relu2, x, 0, []) }
    /// `relu`, but 0 unless x is above a number.
    relu_over(x: Value; over: i32) -> Value { if x > over { x.max(0) } else { 0 } } { verb(Op::Relu, x, 0, [over]) }
    /// `relu2`, but 0 unless x is above a number.
    relu2_over(x: Value; over: i32) -> Value { relu_over(x, over) * x } { verb(Op::Relu2, x, 0, [over]) }
    /// x · |x|.
    square(x: Value;) -> Value { x * x.abs() } { verb(Op::Square, x, 0, []) }
    /// one / (1 + exp(−x / divide)), truncated.
    sigmoid(x: Value; divide: i32, one: i32) -> Value
        { (f64::from(one) / (1. + (-f64::from(x) / f64::from(divide)).exp())) as i32 }
        { verb(Op::Sigmoid, x, 0, [divide, one]) }
    /// Straight lines through points, constant outside.
    table(x: Value; knots: &[[i32; 2]]) -> Value { play::table(x, knots) } { record::table(x, knots) }
    /// x within limits.
    clamp(x: Value; low: i32, high: i32) -> Value { x.clamp(low, high) } { table(x, &[[low, low], [high, high]]) }
    /// The larger one.
    max(a: Value, b: Value;) -> Value { a.max(b) } { a + relu(b - a) }
    /// The smaller one.
    min(a: Value, b: Value;) -> Value { a.min(b) } { a - relu(a - b) }
    /// With the middlegame value e + sgn(e) · max(c, −|e|).
    bounded_mg(p: Pair, c: Value;) -> Pair { S(toward_zero(p.0, c), p.1) } { verb(Op::BoundedMg, p, c, [i32::MAX]) }
    /// With the endgame value e + sgn(e) · max(c, −|e|).
    bounded_eg(p: Pair, c: Value;) -> Pair { S(p.0, toward_zero(p.1, c)) } { verb(Op::BoundedEg, p, c, [i32::MAX]) }
    /// `bounded_mg` with min(c + at_most, 0) in place of c.
    bounded_mg_at_most(p: Pair, c: Value; at_most: i32) -> Pair { bounded_mg(p, (c + at_most).min(0)) }
        { verb(Op::BoundedMg, p, c, [at_most]) }
    /// `bounded_eg` with min(c + at_most, 0) in place of c.
    bounded_eg_at_most(p: Pair, c: Value; at_most: i32) -> Pair { bounded_eg(p, (c + at_most).min(0)) }
        { verb(Op::BoundedEg, p, c, [at_most]) }
    /// Both values bounded.
    bounded(p: Pair, c: Pair;) -> Pair { bounded_mg(bounded_eg(p, eg(c)), mg(c)) }
        { bounded_mg(bounded_eg(p, eg(c)), mg(c)) }
    /// With the endgame value times k / one, k within limits.
    scale_eg(p: Pair, k: Value; one: i32, limits: RangeInclusive<i32>) -> Pair { S(p.0, scale(p.1, k, one, limits)) }
        { verb(Op::ScaleEg, p, k, [*limits.start(), *limits.end(), one]) }
    /// x times k / one, k within limits.
    scale(x: Value, k: Value; one: i32, limits: RangeInclusive<i32>) -> Value
        { x * k.clamp(*limits.start(), *limits.end()) / one }
        { verb(Op::Scale, x, k, [*limits.start(), *limits.end(), one]) }
    /// (mg · phase + eg · (whole − phase)) / whole.
    taper(p: Pair; phase: i32, whole: i32) -> Value { (p.0 * phase + p.1 * (whole - phase)) / whole }
        { verb(Op::Taper, p, 0, [phase, whole]) }
    /// (mg · phase + eg · (whole − phase) · k / one) / whole, for engines that scale and taper in one expression.
    taper_scaled(p: Pair, k: Value; phase: i32, whole: i32, one: i32) -> Value
        { (p.0 * phase + p.1 * (whole - phase) * k / one) / whole }
        { taper(scale_eg(p, k, one, 0..=i32::MAX), phase, whole) }
    /// The number to search with. Refused in a position that is recorded.
    result(x: Value;) -> i32 { x } { record::result(x) }
}
