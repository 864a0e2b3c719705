//! `gputexel check` through the real binary: its findings, and no findings on correct data.

use crate::common::prelude::*;

const SCHEMA: &str = r#"{"format": "gputexel-schema", "version": 1, "index_base": 1,
 "comment": "fen", "phase": "fen", "columns": {"eval": 1, "game": "qid"},
 "parameters": [
  {"name": "pawns", "group": "material", "index": 2, "prior": [80, 120]},
  {"name": "knights", "group": "material", "index": 3, "prior": [300, 280]},
  {"name": "never", "group": "other", "index": 4},
  {"name": "rare", "group": "other", "index": 5, "prior": 10}]}"#;

/// Returns a position: FEN, pawns, knights (White's minus Black's), phase.
fn position(n: usize) -> (String, f64, f64, f64) {
    let (white, black, knights) = (1 + n % 7, 1 + (n / 7) % 7, n % 3);
    let turn = if (n / 2).is_multiple_of(2) { "w" } else { "b" };
    let pawns = |count: usize, letter: &str| {
        format!("{}{}", letter.repeat(count), if count < 8 { (8 - count).to_string() } else { String::new() })
    };
    let horses = match knights {
        0 => "8".to_string(),
        count => format!("{}{}", "N".repeat(count), 8 - count),
    };
    let fen =
        format!("k7/{}/8/8/8/{horses}/{}/7K {turn} - - 0 {}", pawns(black, "p"), pawns(white, "P"), n + 1);
    (fen, white as f64 - black as f64, knights as f64, knights as f64 / 24.0)
}

/// Returns lines whose printed evaluation is correct, except for the changes that `twist` makes to it and to the
/// result.
fn trace(count: usize, twist: impl Fn(usize, bool, f64, f64) -> (f64, f64)) -> String {
    let mut text = String::new();
    for n in 0..count {
        let (fen, pawns, knights, phi) = position(n);
        let rare = f64::from(u8::from(n % 100 == 50));
        let blend = |mg: f64, eg: f64| phi * mg + (1.0 - phi) * eg;
        let eval = pawns * blend(80.0, 120.0) + knights * blend(300.0, 280.0) + rare * 10.0;
        let result = match (eval, n % 5) {
            (_, 0) => 0.5,
            (eval, _) if eval > 0.0 => 1.0,
            _ => 0.0,
        };
        let (printed, result) = twist(n, fen.contains(" b "), (eval * 100.0).round() / 100.0, result);
        text += &format!("{result} qid:{} 1:{printed} 2:{pawns} 3:{knights} 5:{rare} # {fen}\n", n / 10);
    }
    text
}

fn check(text: &str, args: impl Words) -> (i32, Value, String) {
    let bench = Bench::new();
    bench.write("t.svm", text);
    bench.write("s.json", SCHEMA);
    let (code, out, err) = bench.run(("--json check t.svm --schema s.json", args));
    (code, serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {out} {err}")), err)
}

#[test]
fn accepts_correct_traces() {
    let (code, found, err) = check(&trace(900, |_, _, eval, result| (eval, result)), []);
    assert_eq!((code, err.as_str()), (0, ""), "{found}");
    assert_eq!(found["evaluation"]["compared"], 900);
    assert_eq!(found["evaluation"]["differing"], 0);
    assert!(found["evaluation"]["mean_size_cp"].f64() < 0.01);
    assert_eq!(found["labels"]["verdict"], "agree");
    let black = &found["labels"]["black_to_move"];
    assert!(black["positions"].u64() > 400 && black["correlation"].f64() > 0.5);
    assert_eq!(found["features"]["unseen"], serde_json::json!(["never"]));
    let rare = &found["features"]["rare"][0];
    assert_eq!((rare["name"].as_str(), rare["positions"].as_u64()), (Some("rare"), Some(9)));
    assert_eq!(rare["endgame"], 9);
    let off = found["gradient"]["largest_difference"].f64();
    assert!(off < 1e-4, "{off:e}");
    assert_eq!(found["gradient"]["positions"], 900);
    // 7 × 7 × 3 boards.
    let duplicates = &found["duplicates"];
    assert_eq!(duplicates["distinct"].u64() + duplicates["repeated"].u64(), 900, "{duplicates}");
    assert!(duplicates["repeated"].u64() >= 900 - 147 * 2);
    let results: u64 = found["phases"].list().iter().map(|row| row["positions"].u64()).sum();
    assert_eq!(results, 900);
}

#[test]
fn wrong_evaluations_are_named_with_line_and_position() {
    let wrong = |n: usize| match n {
        123 => 40.0,
        500 => -55.0,
        700 => 0.9,
        _ => 0.0,
    };
    let text = trace(900, |n, _, eval, result| (eval + wrong(n), result));
    let (code, found, err) = check(&text, "");
    assert_eq!(code, 1);
    assert_one_line(&err);
    assert!(err.contains("t.svm: 2 of 900 evaluations differ by more than 1 cp"), "{err}");
    let worst = found["evaluation"]["worst"].list();
    assert_eq!((worst[0]["at"].as_u64(), worst[1]["at"].as_u64()), (Some(501), Some(124)));
    assert_eq!(worst[0]["comment"].str(), position(500).0);
    let difference = worst[0]["computed_cp"].f64() - worst[0]["printed_cp"].f64();
    assert!((difference - 55.0).abs() < 0.01, "{difference}");
    assert_eq!(check(&text, "--tolerance 60").0, 0);
    assert!(check(&text, "--tolerance 0.5").2.contains("3 of 900"));
    let bench = Bench::new();
    bench.write("t.svm", &text);
    bench.write("s.json", SCHEMA);
    // The dataset keeps the printed evaluations, but not the lines.
    let (code, _, warned) = bench.run("import t.svm --schema s.json -o d.bin");
    assert!(code == 0 && warned.contains("d.bin: 2 of 900 evaluations of the trace are not"), "{warned}");
    let (code, out, _) = bench.run("check d.bin");
    assert_eq!(code, 1);
    assert!(out.contains("position 500"), "{out}");
}

#[test]
fn detects_wrong_points_of_view() {
    // The result is from the side to move's view; causes in evaluations are those of `import::mistakes`.
    let text = trace(900, |_, b, eval, result| (eval, if b { 1.0 - result } else { result }));
    let (code, found, err) = check(&text, "");
    assert_eq!((code, found["labels"]["verdict"].as_str()), (1, Some("wrong-point-of-view")));
    assert!(err.contains("wrong point of view"), "{err}");
}

#[test]
fn search_scores_are_judged_by_themselves() {
    let bench = Bench::new();
    let list = positions(2000);
    // Scores agree with material; those with Black to move are negated if they are from the mover's view.
    let extract = |sign: &dyn Fn(usize, &str) -> f64, args: &[&str]| {
        let line = |(i, (b, t, r)): (usize, &(String, &str, f32))| {
            let score = sign(i, t) * if b.contains('N') { 310.0 } else { -310.0 };
            format!("{b} {t} - - | {score} | {r:.1}\n")
        };
        bench.write("x.txt", list.iter().enumerate().map(line).collect::<String>());
        bench.extract(("x.txt", args));
        let (code, out, err) = bench.run("check out.bin");
        let (_, json, _) = bench.run("--json check out.bin");
        let found: Value = serde_json::from_str(&json).unwrap();
        (code, out, err, found["labels"].clone())
    };
    let (code, _, err, found) = extract(&|_, _| 1.0, &[]);
    assert_eq!((code, err.as_str(), found["search_verdict"].as_str()), (0, "", Some("agree")));
    assert!(found["search_evaluations"]["correlation"].f64() > 0.9, "{found}");
    // Read as White's although they are from the side to move's view, they do not correlate with material.
    let stm = |_: usize, t: &str| if t == "b" { -1.0 } else { 1.0 };
    let (code, out, err, found) = extract(&stm, &["--score-pov", "white"]);
    assert!(found["search"]["correlation"].f64().abs() < 0.1, "{found}");
    assert_eq!((code, found["search_verdict"].as_str()), (1, Some("unrelated")), "{out}");
    assert_eq!(found["verdict"], "agree");
    assert_has(&err, "search scores");
    // The same holds if two in five are wrong, although the remaining tendency is clear.
    let some = |i: usize, t: &str| if t == "b" && i % 5 < 4 { -1.0 } else { 1.0 };
    let (code, _, _, found) = extract(&some, &["--score-pov", "white"]);
    assert!(found["search"]["correlation"].f64() > 0.15, "{found}");
    assert_eq!((code, found["search_verdict"].as_str()), (1, Some("unrelated")), "{found}");
    let (code, _, _, found) = extract(&|_, _| -1.0, &["--score-pov", "white"]);
    assert_eq!((code, found["search_verdict"].as_str()), (1, Some("reversed")));
}

#[test]
fn does_not_confirm_uninformative_evaluations() {
    let bench = Bench::new();
    // Results that do not depend on material.
    let line =
        |(i, (b, t, _)): (usize, &(String, &str, f32))| format!("{b} {t} - - [{}]\n", [1.0, 0.0, 0.5][i % 3]);
    bench.write("x.epd", positions(2000).iter().enumerate().map(line).collect::<String>());
    bench.extract("x.epd");
    let (_, out, _) = bench.run("--json check out.bin");
    let found: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(found["labels"]["verdict"], "cannot-tell");
}

#[test]
fn rejects_traces_on_another_scale() {
    let bench = Bench::new();
    bench.write("s.json", SCHEMA);
    // Draws are 0, losses -1: below a tenth of the lines, the last of them.
    let text = trace(2000, |n, _, eval, result| {
        (eval, if result == 0.0 && n > 1900 { -1.0 } else { f64::from(u8::from(result == 1.0)) })
    });
    bench.write("t.svm", &text);
    let first = text.lines().position(|line| line.starts_with("-1")).unwrap() + 1;
    bench.fails_with(
        "import t.svm --schema s.json -o d.bin",
        1,
        ["\"-1..1\"", &format!("t.svm:{first}: the result is -1")],
    );
    assert!(!bench.path("d.bin").exists());
    bench.write("s.json", SCHEMA.replace("\"comment\"", "\"results\": \"-1..1\", \"comment\""));
    bench.ok("import t.svm --schema s.json -o d.bin");
}

#[test]
fn checks_extracted_datasets() {
    let bench = Bench::new();
    bench.dataset("d.bin", FeatureKind::Pst, 3000, 4);
    let out = bench.ok("check d.bin");
    assert_has(&out, ["3,000 positions, 300 games, 384 features", "cannot occur: 16 pawn squares"]);
    bench.tune("d.bin --out run --l2 0.01");
    bench.ok("check d.bin --params run/params.json");
    bench.fails_with("check d.bin --tolerance nan", 2, "tolerance");
    bench.write("t.svm", "1 1:1\n");
    bench.fails_with("check t.svm", 2, "a trace needs --schema");
    bench.dataset("none.bin", FeatureKind::Pst, 0, 4);
    bench.fails_with("check none.bin", 1, "contains no positions");
}
