//! Traces of small evaluations.
#![cfg(feature = "record")]

mod engine;

use engine::{Board, FENS, endgames, kings, linear, traced};
use gputexel_trace::{Pair, S, V, Value, eg, mg, pair, relu2, table, taper};

/// The evaluation of a tape.
fn eval(line: &str) -> f64 {
    line.split_once(" eval:").unwrap().1.split(' ').next().unwrap().parse().unwrap()
}

/// What is printed, and the table.
fn recorded(evaluate: fn(&Board) -> Value) -> (Vec<String>, String) {
    let (done, rows, schema) = traced(FENS, &[], evaluate);
    assert_eq!(done, Ok(()));
    (rows, schema)
}
fn contains(schema: &str, parts: &[&str]) {
    for part in parts {
        assert!(schema.contains(part), "{part} is not in {schema}");
    }
}

const LINE: u32 = line!() + 1;
const PAWN: Pair = S(82, 94);
const MOVE: Value = V(10);
fn small(b: &Board) -> Value {
    taper(PAWN * b.pawns + pair(2, 0), b.phase, 24) + b.side * MOVE
}

#[test]
fn a_tape_has_the_evaluation_and_sums() {
    let (rows, schema) = recorded(small);
    let first =
        "1 qid:1 eval:12 1:1 v0:1 |0:24,24 c:2,0 # rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
    let third =
        "0 qid:2 eval:174.33333333333334 1:-1 v0:1 |0:4,24 0:2 c:2,0 # 8/5k2/3q4/8/1P6/8/2PK4/8 b - - 0 40";
    assert_eq!((rows[0].as_str(), rows[2].as_str()), (first, third));
    let skipped = ["# skipped: not a FEN", "# skipped: not GAME RESULT FEN, with six fields in the FEN"];
    assert_eq!(rows[5..], skipped);
    let (pawn, tempo) = (format!("{}:{LINE}:20", file!()), format!("{}:{}:21", file!(), LINE + 1));
    let parts = [
        &format!("{{\"at\": \"{pawn}\", \"prior\": [82.0, 94.0]}}"),
        &format!("{{\"at\": \"{tempo}\", \"prior\": 10}}"),
        "{\"op\": \"taper\", \"at\": \"",
    ];
    contains(&schema, &parts);
    let (done, rows, schema) = traced("", &[], small); // a table even without positions
    assert_eq!((done, rows.len()), (Ok(()), 0));
    contains(&schema, &["\"numbers\": ["]);
}

#[test]
fn values_come_from_a_file() {
    let path = std::env::temp_dir().join(format!("gputexel-{}.txt", std::process::id()));
    let at = format!("{}:{LINE}:20", file!());
    let with = |text: String| {
        std::fs::write(&path, text).unwrap();
        traced(FENS, &["--values", path.to_str().unwrap()], small)
    };
    let (done, rows, schema) =
        with(format!("{at} 7\n\n{at}.mg 100\n{}:{}:21\t -5 \nother.rs:1:1 3\n", file!(), LINE + 1));
    assert_eq!(done, Ok(()));
    assert_eq!(eval(&rows[0]), -3.0);
    contains(&schema, &["[100.0, 7.0]"]);
    for (line, wrong) in [(1, "5x"), (2, "\nword"), (3, "a 1\n\nb 1x\n")] {
        let (done, ..) = with(wrong.to_string());
        assert_eq!(done, Err(format!("{}:{line}: gputexel: is not NAME VALUE", path.display())));
    }
    _ = std::fs::remove_file(path);
}

#[test]
fn larger_evaluations_are_recorded() {
    // What they mean is tested with gputexel.
    let (rows, table) = recorded(linear);
    assert_eq!(eval(&rows[0]), 18.0);
    assert!(!table.contains("\"relu"));
    let (rows, table) = recorded(kings);
    contains(&rows[1], &[" |", " / "]);
    contains(&table, &["\"relu2\"", "\"relu\"", "\"sigmoid\"", "[8.0, 256.0, 0.0]", "\"product_pair\""]);
    contains(&table, &["\"knots\": [-20, -20, 25, 25]"]);
    let (rows, table) = recorded(endgames::<0>);
    contains(&table, &["\"bounded_eg\"", "\"scale_eg\"", "\"sign\""]);
    contains(&rows[1], &[" ?", " || = "]);
}

#[test]
fn sums_made_before_all_positions_are_no_caches() {
    thread_local!(static BASE: Pair = PAWN * 2);
    let (done, rows, _) = traced(FENS, &[], |b| taper(BASE.with(|p| *p) * b.side, b.phase, 24) + MOVE);
    assert!(done.unwrap_err().contains("an earlier position"), "made in the first position: {rows:?}");
    recorded(|b| {
        let v = mg(PAWN) + table(eg(pair(MOVE, MOVE)), &[[0, 0], [20, 40]]);
        taper(pair(v - mg(PAWN) + mg(PAWN * b.side), relu2(MOVE)), b.phase, 24)
    });
}
