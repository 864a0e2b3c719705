//! An evaluation that traces itself: written once, it plays with plain integers, and with the feature `record` it
//! prints how often each number counts, with the schema that `gputexel import` reads.
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
//! `S` and `V` stand for the numbers to tune, known by file, line and column: tables may be copied and mirrored, also
//! in constants. While recording, what a schema cannot say is refused, with file and line: comparisons with other
//! numbers than 0, caches, functions of functions. Each record is evaluated again from its coefficients.
// Copyright the gputexel developers. Permission is granted, free of charge, to use, copy, modify, publish, distribute,
// sublicense and sell this crate, in whole or in part, for any purpose and without any condition. It is provided "as
// is", without warranty of any kind; its authors are not liable for any claim or damage.

#[cfg(not(feature = "record"))]
mod play;
#[cfg(feature = "record")]
mod record;
#[cfg(feature = "record")]
mod rows;
#[cfg(feature = "record")]
mod schema;
#[cfg(feature = "record")]
mod trace;

#[cfg(not(feature = "record"))]
pub use play::{Pair, S, V, Value, leaf, play};
#[cfg(feature = "record")]
use record::{Op, none, verb};
#[cfg(feature = "record")]
pub use record::{Pair, S, V, Value};
use std::ops::RangeInclusive;
#[cfg(feature = "record")]
pub use trace::{Outcome, leaf, play, trace, trace_from};

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
    pair(mg: Value, eg: Value;) -> Pair { Pair::new(mg, eg) } { verb(Op::Make, mg, eg, [0; 4]).into() }
    /// The middlegame value.
    mg(p: Pair;) -> Value { p.mg } { verb(Op::Mg, p, none(), [0; 4]).into() }
    /// The endgame value.
    eg(p: Pair;) -> Value { p.eg } { verb(Op::Eg, p, none(), [0; 4]).into() }
    /// max(x, 0).
    relu(x: Value;) -> Value { x.max(0) } { verb(Op::Relu, x, none(), [0, 0, 1, 1]).into() }
    /// max(x, 0)².
    relu2(x: Value;) -> Value { x.max(0) * x.max(0) } { verb(Op::Relu2, x, none(), [0, 0, 1, 1]).into() }
    /// max(x, 0), but 0 unless x is above a number.
    relu_over(x: Value; over: i32) -> Value { if x > over { x.max(0) } else { 0 } }
        { verb(Op::Relu, x, none(), [over, 0, 1, 1]).into() }
    /// max(x, 0)², but 0 unless x is above a number.
    relu2_over(x: Value; over: i32) -> Value { if x > over { x.max(0) * x.max(0) } else { 0 } }
        { verb(Op::Relu2, x, none(), [over, 0, 1, 1]).into() }
    /// x · |x|.
    square(x: Value;) -> Value { x * x.abs() } { verb(Op::Square, x, none(), [0, 0, 1, 1]).into() }
    /// one / (1 + exp(−x / divide)), truncated.
    sigmoid(x: Value; divide: i32, one: i32) -> Value
        { (f64::from(one) / (1.0 + (-f64::from(x) / f64::from(divide)).exp())) as i32 }
        { verb(Op::Sigmoid, x, none(), [0, 0, divide, one]).into() }
    /// Straight lines through points, constant outside.
    table(x: Value; knots: &[[i32; 2]]) -> Value { play::table(x, knots) } { record::table(x, knots).into() }
    /// x within limits.
    clamp(x: Value; low: i32, high: i32) -> Value { x.clamp(low, high) }
        { record::table(x, &[[low, low], [high, high]]).into() }
    /// The larger one.
    max(a: Value, b: Value;) -> Value { a.max(b) } { a + relu(b - a) }
    /// The smaller one.
    min(a: Value, b: Value;) -> Value { a.min(b) } { a - relu(a - b) }
    /// With the middlegame value e + sgn(e) · max(c, −|e|).
    bounded_mg(p: Pair, c: Value;) -> Pair { Pair::new(play::toward_zero(p.mg, c), p.eg) }
        { verb(Op::BoundedMg, p, c, [i32::MAX, 0, 0, 0]).into() }
    /// With the endgame value e + sgn(e) · max(c, −|e|).
    bounded_eg(p: Pair, c: Value;) -> Pair { Pair::new(p.mg, play::toward_zero(p.eg, c)) }
        { verb(Op::BoundedEg, p, c, [i32::MAX, 0, 0, 0]).into() }
    /// `bounded_mg` with min(c + at_most, 0) in place of c.
    bounded_mg_at_most(p: Pair, c: Value; at_most: i32) -> Pair { bounded_mg(p, (c + at_most).min(0)) }
        { verb(Op::BoundedMg, p, c, [at_most, 0, 0, 0]).into() }
    /// `bounded_eg` with min(c + at_most, 0) in place of c.
    bounded_eg_at_most(p: Pair, c: Value; at_most: i32) -> Pair { bounded_eg(p, (c + at_most).min(0)) }
        { verb(Op::BoundedEg, p, c, [at_most, 0, 0, 0]).into() }
    /// Both values bounded.
    bounded(p: Pair, c: Pair;) -> Pair { bounded_mg(bounded_eg(p, c.eg), c.mg) } { bounded_mg(bounded_eg(p, eg(c)), mg(c)) }
    /// With the endgame value times k / one, k within limits.
    scale_eg(p: Pair, k: Value; one: i32, limits: RangeInclusive<i32>) -> Pair
        { Pair::new(p.mg, p.eg * k.clamp(*limits.start(), *limits.end()) / one) }
        { verb(Op::ScaleEg, p, k, [*limits.start(), *limits.end(), one, 0]).into() }
    /// x times k / one, k within limits.
    scale(x: Value, k: Value; one: i32, limits: RangeInclusive<i32>) -> Value
        { x * k.clamp(*limits.start(), *limits.end()) / one }
        { verb(Op::Scale, x, k, [*limits.start(), *limits.end(), one, 0]).into() }
    /// (mg · phase + eg · (whole − phase)) / whole.
    taper(p: Pair; phase: i32, whole: i32) -> Value { (p.mg * phase + p.eg * (whole - phase)) / whole }
        { verb(Op::Taper, p, none(), [phase, whole, 0, 0]).into() }
    /// (mg · phase + eg · (whole − phase) · k / one) / whole, for engines that scale and taper in one expression.
    taper_scaled(p: Pair, k: Value; phase: i32, whole: i32, one: i32) -> Value
        { (p.mg * phase + p.eg * (whole - phase) * k / one) / whole }
        { taper(scale_eg(p, k, one, 0..=i32::MAX), phase, whole) }
    /// The number to search with. Refused in a position that is recorded.
    result(x: Value;) -> i32 { x } { record::result(x) }
}
