//! The playing build: plain integers.

use super::lines::{Outcome, each_line};
use std::process::ExitCode;

/// A number for both phases.
pub type Value = i32;

/// A middlegame and an endgame value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pair(pub(crate) i32, pub(crate) i32);

impl Pair {
    /// The source's numbers, for what is not evaluated.
    #[inline]
    pub const fn source(self) -> (i32, i32) {
        (self.0, self.1)
    }
    /// The pair with the opposite sign, in constants, too.
    #[inline]
    pub const fn negated(self) -> Self {
        Self(-self.0, -self.1)
    }
}

/// A pair of numbers to tune.
#[allow(non_snake_case)]
#[inline]
pub const fn S(mg: i32, eg: i32) -> Pair {
    Pair(mg, eg)
}

/// A number to tune.
#[allow(non_snake_case)]
#[inline]
pub const fn V(x: i32) -> Value {
    x
}

operators! {
    Add::add: Pair, Pair => Pair = |a, b| Pair(a.0 + b.0, a.1 + b.1);
    Sub::sub: Pair, Pair => Pair = |a, b| Pair(a.0 - b.0, a.1 - b.1);
    Mul::mul: Pair, i32 => Pair = |a, b| Pair(a.0 * b, a.1 * b);
    Mul::mul: i32, Pair => Pair = |a, b| b * a;
    Div::div: Pair, i32 => Pair = |a, b| Pair(a.0 / b, a.1 / b);
}
operators! { Pair }

#[inline]
pub(crate) fn toward_zero(e: i32, c: i32) -> i32 {
    e + e.signum() * c.max(-e.abs())
}

pub(crate) fn table(x: i32, knots: &[[i32; 2]]) -> i32 {
    match knots.iter().position(|k| x < k[0]) {
        None => knots[knots.len() - 1][1],
        Some(0) => knots[0][1],
        Some(i) => {
            let ([a, b], [c, d]) = (knots[i - 1], knots[i]);
            b + (d - b) * (x - a) / (c - a)
        }
    }
}

/// At the start of a process that plays. Here, nothing is to be done.
#[inline]
pub fn play() {}

/// Prints what the engine plays in the positions on standard input, for `gputexel verify --played`.
pub fn trace<R: Outcome>(mut evaluate: impl FnMut(&str) -> R) -> ExitCode {
    let printed = each_line(std::io::stdin().lock(), &mut std::io::stdout().lock(), |fen, row| {
        *row += &format!(" eval:{}", evaluate(fen).outcome()?);
        Ok(())
    });
    printed.map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS)
}
