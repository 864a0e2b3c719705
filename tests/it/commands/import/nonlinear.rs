//! Nonlinear evaluations: from a schema and a trace to a check, a dataset and back.

use super::{HEAD, bench, import};
use crate::common::prelude::*;

fn schema() -> String {
    format!(
        r#"{HEAD}"index_base": 1, "phase": {{"middlegame": 24, "endgame": 0}},
  "columns": {{"phase": 1, "eval": 2, "game": "qid"}}, "division": "truncate",
  "parameters": [
    {{"name": "pawn", "index": 3, "prior": [80, 110]}},
    {{"name": "rook", "index": 4, "prior": [480, 520]}}],
  "accumulators": [
    {{"name": "danger", "sides": {{"white": 10, "black": 20}}, "sign": -1,
      "mg": {{"op": "relu2", "divide": 720}}, "eg": {{"op": "relu", "divide": 20}},
      "parameters": [{{"name": "attack", "at": 0, "prior": [48, 41]}}, {{"name": "base", "at": 1, "prior": [-74, -26]}}]}},
    {{"name": "complexity", "index": 30,
      "parameters": [{{"name": "pawns", "at": 0, "prior": 9}}, {{"name": "start", "at": 1, "prior": -100}}]}},
    {{"name": "factor", "sides": {{"white": 40, "black": 50}},
      "parameters": [{{"name": "few", "at": 0, "prior": 36}}, {{"name": "each", "at": 1, "prior": 7}}]}}],
  "adjust": [{{"target": "eg", "op": "bounded", "by": "complexity"}}],
  "factor": {{"target": "eg", "by": "factor", "max": 64, "one": 64}}}}"#
    )
}

fn trace(lines: i64) -> String {
    let line = |n: i64| {
        let mixed = n.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let digit = |place: u32, count: i64| (mixed >> (20 + place)).rem_euclid(count);
        let (phase, pawn, rook) = (digit(0, 25), digit(3, 7) - 3, digit(7, 3) - 1);
        let attacks = [digit(11, 6), digit(15, 6)];
        let (open, pawns, own) = (digit(19, 4) > 0, digit(23, 17), [digit(27, 9), digit(31, 9)]);
        let (mut mg, mut eg) = (80 * pawn + 480 * rook, 110 * pawn + 520 * rook);
        let mut text = String::new();
        for (side, sign) in [(0, -1), (1, 1)] {
            let attacks = attacks[side];
            if attacks > 1 {
                let (danger, late) = ((48 * attacks - 74).max(0), (41 * attacks - 26).max(0));
                mg += sign * (danger * danger / 720);
                eg += sign * (late / 20);
                text += &format!(" {}:{attacks} {}:1", 10 + 10 * side, 11 + 10 * side);
            }
        }
        if open {
            eg += eg.signum() * (9 * pawns - 100).max(-eg.abs());
            text += &format!(" 30:{pawns} 31:1");
        }
        text += &format!(" 40:1 41:{} 50:1 51:{}", own[0], own[1]);
        let factor = (36 + 7 * own[usize::from(eg < 0)]).min(64);
        let eval = (mg * phase + eg * (24 - phase) * factor / 64) / 24;
        // Results follow the evaluation, except for every fifth.
        let wins = (eval > 0) != (n % 5 == 0);
        let result = if eval.abs() < 40 {
            "0.5"
        } else if wins {
            "1"
        } else {
            "0"
        };
        format!("{result} qid:{} 1:{phase} 2:{eval} 3:{pawn} 4:{rook}{text}\n", n / 8)
    };
    (0..lines).map(line).collect()
}

#[test]
fn an_engine_with_danger_complexity_and_factor_is_imported_and_checked() {
    let bench = bench(trace(6000), &schema());
    let out = bench.ok("check t.svm --schema s.json --tolerance 0");
    assert_has(
        &out,
        [
            "0 of 6,000 differ by more than 0 cp from the engine's own: OK",
            "of all positions are near a kink or jump and left out",
        ],
    );
    let report = bench.told("check t.svm --schema s.json");
    assert!(report["gradient"]["near_kinks"].f64() < 0.7, "{report}");
    assert!(report["gradient"]["largest_difference"].f64() < 1e-4, "{report}");
    assert!(report["gradient"]["parameters"].u64() >= 10, "{report}");
    assert_eq!(report["evaluation"]["near_kinks"], 0);

    // The dataset records how the engine divides.
    import(&bench, "t.svm", "");
    let out = bench.ok("check --tolerance 0 out.bin");
    assert!(out.contains("0 of 6,000 differ by more than 0 cp from the engine's own: OK"), "{out}");
    // In real arithmetic, positions that cross a jump by rounding are reported separately.
    bench.write("s.json", schema().replace("\"division\": \"truncate\",", ""));
    let report = bench.told("check t.svm --schema s.json --tolerance 3");
    assert_eq!(report["evaluation"]["differing"], 0);
    let found = import(&bench, "t.svm", "");
    assert_eq!((found["positions"].as_u64(), found["features"].as_u64()), (Some(6000), Some(8)));
    let report = bench.told("check out.bin --tolerance 3");
    assert_eq!(report["evaluation"]["differing"], 0);
    // As before divisions were recorded; datasets without one look like this.
    assert!(!String::from_utf8_lossy(&bench.bytes("out.bin")).contains("division"));

    // A wrong divisor is detected.
    bench.write("wrong.json", schema().replace("\"divide\": 720", "\"divide\": 512"));
    let (code, out, err) = bench.run("check t.svm --schema wrong.json");
    assert!(code == 1 && err.contains("of 6000 evaluations differ by more than 1 cp"), "{out} {err}");
}

/// Source of that engine. For some parameters only the endgame value counts.
const SOURCE: &str = r#"// gputexel: rook
const int Rook = S(480, 520);
// gputexel: attack
const int Attack = S(48, 41000);
// gputexel: pawns
const int Pawns = S(0, 9);
enum {
    FEW = 36, // gputexel: few.eg
    ONE = 64,
};
"#;

#[test]
#[ignore = "full"]
fn parameters_of_accumulators_are_tuned_and_written_back() {
    // The endgame's danger has a different unit, a thousandth of the former.
    let schema = schema()
        .replace("[48, 41]", "[48, 41000]")
        .replace("[-74, -26]", "[-74, -26000]")
        .replace("\"divide\": 20}", "\"divide\": 20000}");
    let bench = bench(trace(3000), &schema);
    import(&bench, "t.svm", "");
    let args = "tune out.bin --backend cpu --l2 0 --k 1 --round naive -o run";
    let out = bench.ok(args);
    let tuned: serde_json::Value = serde_json::from_slice(&bench.bytes("run/params.json")).unwrap();
    let value = |name: &str, phase: &str| {
        let all = tuned["parameters"].list();
        let found = all.iter().find(|parameter| parameter["name"] == name).unwrap();
        found[phase].f64()
    };
    // The change is large in its unit, but not in centipawns.
    assert!((value("attack", "eg") - 41000.0).abs() > 1000.0, "{}", value("attack", "eg"));
    assert!(!out.contains("centipawns from the prior"), "{out}");

    bench.write("half.c", SOURCE.replace("few.eg", "few"));
    let why = "half.c:8: the array has 1 number, 'few' has 2, [2]; '.mg' or '.eg'";
    bench.fails_with("patch tables run half.c", 1, why);
    bench.write("engine.c", SOURCE);
    bench.ok("patch tables run engine.c");
    let source = bench.text("engine.c");
    for expected in [
        format!("Rook = S({}, {});", value("rook", "mg"), value("rook", "eg")),
        format!("Attack = S({}, {});", value("attack", "mg"), value("attack", "eg")),
        format!("Pawns = S(0, {});", value("pawns", "eg")),
        format!("FEW = {}, // gputexel: few.eg\n    ONE = 64,", value("few", "eg")),
    ] {
        assert!(source.contains(&expected), "{expected} in\n{source}");
    }
}
