//! What cannot be recorded is refused, with file and line.
#![cfg(feature = "record")]

mod engine;

use engine::{Board, FENS, traced};
use gputexel_trace::*;
use std::cell::Cell;

const PAWN: Pair = S(82, 94);
const MOVE: Pair = S(10, 4);
const ATTACK: Value = V(9);

/// Compares what is said, and the line with the line that ends in `// NAME`.
fn refuses(name: &str, why: &str, evaluate: impl Fn(&Board) -> Value + Send + 'static) {
    let said = traced(FENS, &[], evaluate).0.unwrap_err();
    let (place, what) = said.split_once(": gputexel: ").unwrap();
    assert!(what.starts_with(why), "{name}: {what}");
    let mut lines = include_str!("refusals.rs").lines();
    let line = lines.position(|line| line.ends_with(&format!("// {name}"))).unwrap() + 1;
    assert_eq!(place, format!("{}:{line}", file!()));
}

#[test]
fn comparisons_and_branches() {
    refuses("lazy exit", "a score is compared with a number other than 0", |f| {
        let score = PAWN * f.pawns;
        let exit = mg(score) > 500; // lazy exit
        taper(if exit { score } else { score + MOVE }, f.phase, 24)
    });
    refuses("same", "scores are not compared by ==", |_| i32::from(PAWN == MOVE).into()); // same
    refuses("equal", "scores are not compared by ==", |_| i32::from(mg(PAWN) == 0).into()); // equal
}

#[test]
fn caches_and_literals_for_several_numbers() {
    thread_local!(static CACHE: Cell<Option<Pair>> = const { Cell::new(None) });
    refuses("cache", "a score of an earlier position is used here (a cache?)", |f| {
        let cached = CACHE.get().unwrap_or_else(|| PAWN * f.all_pawns);
        CACHE.set(Some(cached));
        taper(MOVE * f.side + cached, f.phase, 24) // cache
    });
    refuses("several", "this S or V stands for several numbers", |f| {
        let numbers = [1, 2].map(|n| S(n, n) * f.all_pawns); // several
        taper(numbers[0] + numbers[1], f.phase, 24)
    });
}

#[test]
fn limits_and_results() {
    refuses("knots", "the limits or knots of this verb change", |f| {
        let space = clamp(ATTACK * f.side, -f.all_pawns, 10); // knots
        taper(PAWN * f.pawns, f.phase, 24) + space
    });
    refuses("divisor", "the limits or divisors of this verb change", |f| {
        let space = sigmoid(ATTACK * f.side, f.all_pawns + 1, 10); // divisor
        taper(PAWN * f.pawns, f.phase, 24) + space
    });
    refuses("result", "result() ends a recording", |_| result(mg(PAWN)).into()); // result
}

#[test]
fn evaluations_that_are_no_numbers() {
    let (done, ..) = traced(FENS, &[], |f| {
        let sum = sigmoid(ATTACK * (f.pawns - f.pawns), 0, 256) + sigmoid(ATTACK * (f.phase - 24), 0, 1);
        taper(PAWN * f.pawns + pair(sum, 0), f.phase, 24)
    });
    let why = done.unwrap_err();
    assert!(why.contains(": gputexel: the evaluation is NaN: rnbqkbnr/"), "{why}");
}
