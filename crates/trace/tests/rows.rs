//! Traces of small evaluations.
#![cfg(feature = "record")]

mod engine;

use engine::{Board, FENS, endgames, kings, linear, traced};
use gputexel_trace::{Pair, S, V, Value, eg, mg, pair, relu2, table, taper};
use std::collections::BTreeMap;

/// The entries of a row.
fn entries(row: &str) -> BTreeMap<u32, f64> {
    let words = row.split(" # ").next().unwrap().split(' ').skip(2);
    words.map(|w| w.split_once(':').unwrap()).map(|(i, x)| (i.parse().unwrap(), x.parse().unwrap())).collect()
}

/// What is printed, and the schema.
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
fn a_row_has_phase_evaluation_offset_and_coefficients() {
    let (rows, schema) = recorded(small);
    let first = "1 qid:1 1:24 2:12 3:2 17:1 # rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
    let third = "0 qid:2 1:4 2:174.33333333333334 3:0.3333333333333333 16:2 17:-1 # 8/5k2/3q4/8/1P6/8/2PK4/8 b - - 0 40";
    assert_eq!((rows[0].as_str(), rows[2].as_str()), (first, third));
    let skipped = ["# skipped: not a FEN", "# skipped: not GAME RESULT FEN, with six fields in the FEN"];
    assert_eq!(rows[5..], skipped);
    let (pawn, tempo) = (format!("{}:{LINE}:20", file!()), format!("{}:{}:21", file!(), LINE + 1));
    let parts = [
        "\"phase\": {\"middlegame\": 24, \"endgame\": 0}",
        "\"columns\": {\"phase\": 1, \"offset\": 3, \"eval\": 2, \"game\": \"qid\"}",
        &format!("{{\"at\": \"{pawn}\", \"index\": 16, \"phases\": \"both\", \"prior\": [82, 94]}}"),
        &format!("{{\"at\": \"{tempo}\", \"index\": 17, \"phases\": \"untapered\", \"prior\": 10}}"),
    ];
    contains(&schema, &parts);
    let (done, rows, schema) = traced("", &[], small); // a schema even without positions
    assert_eq!((done, rows.len()), (Ok(()), 0));
    contains(&schema, &["\"parameters\": ["]);
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
    assert_eq!(entries(&rows[0])[&2], -3.0);
    contains(&schema, &["[100, 7]"]);
    for (line, wrong) in [(1, "5x"), (2, "\nword"), (3, "a 1\n\nb 1x\n")] {
        let (done, ..) = with(wrong.to_string());
        assert_eq!(done, Err(format!("{}:{line}: gputexel: is not NAME VALUE", path.display())));
    }
    _ = std::fs::remove_file(path);
}

#[test]
fn larger_evaluations_are_recorded() {
    // Each row is checked against what the evaluation returned.
    let (rows, schema) = recorded(linear);
    assert_eq!(entries(&rows[0])[&2], 18.0);
    assert!(!schema.contains("accumulators"));
    let (rows, schema) = recorded(kings);
    assert!(entries(&rows[1]).keys().any(|&i| i > 10_000), "no sums of verbs");
    contains(&schema, &["\"relu2\"", "\"relu\"", "\"sigmoid\"", "\"divide\": 8", "\"times\""]);
    contains(&schema, &["\"knots\": [[-20, -20], [25, 25]]"]);
    // Bounds and factors come last.
    let (rows, schema) = recorded(endgames::<0>);
    contains(&schema, &["{\"target\": \"eg\", \"op\": \"bounded\"", "\"factor\": {\"target\": \"eg\""]);
    assert_eq!(entries(&rows[1])[&3], -10.0);
    contains(&recorded(endgames::<1>).1, &["\"target\": \"mg\"", "\"at_most\": 20", "\"one\": 128"]);
    contains(&recorded(endgames::<2>).1, &["\"factor\": {\"target\": \"score\"", "\"one\": 128"]);
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
