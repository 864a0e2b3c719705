//! What cannot be recorded is refused, with file and line.
#![cfg(feature = "record")]

mod engine;

use engine::Board;
use gputexel_trace::*;
use std::cell::Cell;

const PAWN: Pair = S(82, 94);
const MOVE: Pair = S(10, 4);
const ATTACK: Value = V(9);

struct Facts {
    pawns: i32,
    all: i32,
    phase: i32,
    side: i32,
}

/// What is said of an evaluation, after its place.
fn said(evaluate: impl Fn(&Facts) -> Value + Send + 'static) -> (String, String) {
    let fens = "1 1 rnbqkbnr/pppppppp/8/8/8/8/PPPPPPP1/RNBQKBNR w KQkq - 0 1\n\
                1 1 rnbqkbnr/1ppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR b KQkq - 0 1\n\
                1 1 4k3/5ppp/8/8/8/8/PP6/4K3 b - - 0 1\n";
    let run = move || {
        let schema = std::env::temp_dir().join(format!("gputexel-{}-refused.json", std::process::id()));
        let words = ["--schema".to_string(), schema.to_str().unwrap().to_string()];
        let evaluate = |fen: &str| {
            let b = Board::new(fen)?;
            let [white, black] = b.count(engine::PAWN);
            Ok::<_, String>(evaluate(&Facts {
                pawns: white - black,
                all: white + black,
                phase: b.phase,
                side: b.side,
            }))
        };
        trace_from(words.into_iter(), fens.as_bytes(), Vec::new(), evaluate)
    };
    let said = std::thread::spawn(run).join().unwrap().unwrap_err();
    let (place, why) = said.split_once(": gputexel: ").unwrap();
    (place.to_string(), why.to_string())
}

/// Compares what is said, and the line with the line that ends in `// NAME`.
fn refuses(name: &str, why: &str, evaluate: impl Fn(&Facts) -> Value + Send + 'static) {
    let (place, what) = said(evaluate);
    assert!(what.starts_with(why), "{name}: {what}");
    let line =
        include_str!("refusals.rs").lines().position(|line| line.ends_with(&format!("// {name}"))).unwrap();
    assert!(place.ends_with(&format!("refusals.rs:{}", line + 1)), "{name}: {place}");
}

#[test]
fn comparisons_with_other_numbers_than_0() {
    refuses("lazy exit", "a score is compared with a number other than 0", |f| {
        let score = PAWN * f.pawns;
        let exit = mg(score) > 500; // lazy exit
        taper(if exit { score } else { score + MOVE }, f.phase, 24)
    });
    refuses("same", "scores are not compared by ==", |f| {
        let same = PAWN == MOVE; // same
        taper(if same { MOVE } else { PAWN }, f.phase, 24)
    });
    refuses("equal", "scores are not compared by ==", |f| {
        let none = mg(PAWN * f.pawns) == 0; // equal
        taper(if none { MOVE } else { PAWN }, f.phase, 24)
    });
}

#[test]
fn branches_that_change_more_than_a_factor() {
    refuses("branch", "a branch on the sign of a score changes more than a scale factor", |f| {
        let score = PAWN * f.pawns + MOVE * f.side;
        let better = eg(score) > 0; // branch
        taper(if better { score + MOVE } else { score }, f.phase, 24)
    });
    refuses("other sign", "a scale factor depends on the sign of another score", |f| {
        let factor = if mg(MOVE * f.side) > 0 { 64 } else { 128 }; // other sign
        taper_scaled(PAWN * f.pawns + MOVE * f.side, factor, f.phase, 24, 128)
    });
}

#[test]
fn caches() {
    thread_local!(static CACHE: Cell<Option<Pair>> = const { Cell::new(None) });
    refuses("cache", "a score of an earlier position is used here (a cache?)", |f| {
        let cached = CACHE.get().unwrap_or_else(|| PAWN * f.all);
        CACHE.set(Some(cached));
        taper(MOVE * f.side + cached, f.phase, 24) // cache
    });
}

#[test]
fn literals_for_several_numbers() {
    refuses("several", "this S or V stands for several numbers", |f| {
        let numbers = [1, 2].map(|n| S(n, n) * f.all); // several
        taper(numbers[0] + numbers[1], f.phase, 24)
    });
}

#[test]
fn what_the_schema_cannot_say() {
    refuses("nested", "a function of a function, which the schema cannot say", |f| {
        let danger = relu(ATTACK * f.all);
        taper(PAWN * f.pawns, f.phase, 24) + square(danger - 20) / 64 // nested
    });
    refuses("after", "tuned numbers are added after this", |f| {
        let score = scale_eg(PAWN * f.pawns, 64, 128, 0..=128); // after
        taper(score, f.phase, 24) + ATTACK * f.side
    });
    refuses("bound", "another one of its kind", |f| {
        let score = bounded_eg(PAWN * f.all, ATTACK); // bound
        taper(bounded_eg(score, ATTACK * -2), f.phase, 24)
    });
    refuses("phases", "the value of one phase is used in the other", |f| {
        let pawns = mg(PAWN * f.pawns); // phases
        taper(pair(pawns, pawns), f.phase, 24)
    });
    refuses("shape", "this counts otherwise than in positions before", |f| {
        let danger = relu(ATTACK * f.all - 20); // shape
        taper(PAWN * f.pawns + pair(danger * f.all, 0), f.phase, 24)
    });
    refuses("knots", "the limits or knots of this verb change", |f| {
        let space = clamp(ATTACK * f.side, -f.all, 10); // knots
        taper(PAWN * f.pawns, f.phase, 24) + space
    });
    refuses("unequal", "this number counts differently in middlegame and endgame", |f| {
        let space: Value = V(7); // unequal
        taper(PAWN * f.pawns + pair(space * f.all, space * f.all / 2), f.phase, 24)
    });
}

#[test]
fn phases_and_results() {
    refuses("phase", "the phase is 25, of 24", |f| {
        taper(PAWN * f.all, f.phase + 1, 24) // phase
    });
    refuses("result", "result() ends a recording", |f| {
        result(taper(PAWN * f.all, f.phase, 24)).into() // result
    });
}

#[test]
fn records_that_do_not_give_what_the_evaluation_gave() {
    let (_, why) = said(|f| {
        let nothing = sigmoid(ATTACK * (f.all - f.all), 0, 256);
        taper(
            PAWN * f.pawns + pair(nothing, 0) + pair(sigmoid(ATTACK * (f.phase - 24), 0, 1), 0),
            f.phase,
            24,
        )
    });
    assert!(why.starts_with("the record gives NaN, the evaluation gave NaN: rnbqkbnr/"), "{why}");
}
