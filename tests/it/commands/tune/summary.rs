//! Verdicts at the end of runs, and runs that are stopped while they choose.

use crate::common::conclusion::assert_one_conclusion;
use crate::common::prelude::*;

fn summary(bench: &Bench, args: impl Words) -> Vec<String> {
    let out = bench.ok(("tune --backend cpu", args));
    let is_progress = |line: &&str| line.starts_with("epoch ") || line.starts_with("choosing ");
    out.lines().filter(|line| !is_progress(line)).map(str::to_string).collect()
}

#[test]
fn verdicts_follow_from_what_was_held_out() {
    let bench = Bench::with_positions(4000, 11);
    bench.dataset("few.bin", FeatureKind::Pst, 9, 3);
    bench.dataset("m.bin", FeatureKind::Material, 4000, 3);
    for (flags, said) in [
        ("few.bin --k 1 --l2 1e-3", "TOO LITTLE DATA: 9 positions of 1 game for 768 parameters"),
        ("d.bin --k 0.8 --l2 1e-3", "TOO LITTLE DATA: 4,000 positions"),
        ("d.bin --k 0.8 --l2 1e9 --holdout 0.2", "more positions"),
        ("m.bin --k 0.8 --l2 1e-3", "--holdout"),
    ] {
        let lines = summary(&bench, (flags, "--out r --force"));
        let verdict = lines.iter().find(|line| line.starts_with("verdict     "));
        assert!(verdict.is_some_and(|line| line.contains(said)), "{flags}: {lines:#?}");
    }
}

#[test]
fn lines_that_cannot_be_read_are_told() {
    let bench = Bench::new();
    let good = |at: usize| {
        let mut rows = ["8"; 6].map(str::to_string);
        rows[at / 6] = format!("{}R{}", 1 + at % 6, 6 - at % 6);
        format!("{at} {} k7/{}/4K3 w - - 0 20\n", at % 2, rows.join("/"))
    };
    let bad = "98 1 9/8/8/8/8/8/8/8 w - - 0 1\n99 0.5 8/8/8/8/8/8/8/8 w - - 0 1\n";
    bench.write("mixed.fens", (0..36).map(good).collect::<String>() + bad);
    let (_, told) = bench.done("tune mixed.fens --k 1 --l2 1e-3 --backend cpu --out r");
    assert_has(&told, ["mixed.fens: left out 2 lines that cannot be read, as mixed.fens:37: not a position"]);
}

/// Terminal, `--json`, record and page have the same verdict, findings and next command.
#[test]
fn a_run_has_one_conclusion() {
    let bench = Bench::with_positions(4000, 11);
    bench.dataset("m.bin", FeatureKind::Material, 4000, 3);
    for flags in [
        "tune d.bin --k 0.8 --l2 1e-3 --holdout 0.2",
        "tune m.bin --k 0.8 --l2 0 --optimizer adam --epochs 2 --errors",
        "tune m.bin --k 0.8",
        "pso m.bin --k 0.8 --basis identity --radius 50 --swarms 1 --particles 8 --iterations 2",
    ] {
        let flags = format!("{flags} --backend cpu --out r --force");
        let (out, _) = bench.done(&*flags);
        let record = bench.json("r/run.json");
        let page = bench.text("r/report.html");
        let told: Value = serde_json::from_str(&bench.done(("--json", &*flags)).0).unwrap();
        let conclusion = &record["conclusion"];
        for part in ["verdict", "findings", "next"] {
            assert_eq!(told[part], conclusion[part], "{flags}");
        }
        assert_one_conclusion(&told, &out, Some(&page));
    }
}

/// Every rook has one entry of its mobility, so the mean of these entries is part of a rook's worth.
#[test]
fn the_worth_of_an_engines_piece_has_all_that_every_piece_has() {
    use std::fmt::Write as _;
    let bench = Bench::new();
    bench.write(
        "schema.json",
        r#"{"format": "gputexel-schema", "version": 1, "index_base": 1,
 "phase": {"middlegame": 24, "endgame": 0}, "columns": {"phase": 1},
 "parameters": [
  {"name": "Rook", "index": 2, "prior": [500, 600]},
  {"name": "RookMobility", "index": 3, "count": 3, "priors": [-20, 0, 30]},
  {"name": "Other", "index": 6, "count": 2, "priors": [10, 10]}]}"#,
    );
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(5);
    let mut text = String::new();
    for _ in 0..2000 {
        let mut row = [0; 6];
        for (rooks, own) in [(rng.random_range(0..3), 1), (rng.random_range(0..3), -1)] {
            for _ in 0..rooks {
                row[0] += own;
                row[1 + rng.random_range(0..3)] += own;
            }
        }
        row[4 + rng.random_range(0..2)] += 1;
        let won = rng.random_bool(1.0 / (1.0 + (-f64::from(row[0])).exp()));
        let _ = write!(text, "{} 1:{}", u8::from(won), rng.random_range(0..=24));
        for (i, count) in row.into_iter().enumerate().filter(|one| one.1 != 0) {
            let _ = write!(text, " {}:{count}", i + 2);
        }
        text.push('\n');
    }
    bench.write("t.svm", text);
    bench.ok("import t.svm --schema schema.json -o t.bin");
    let command = "tune t.bin --l2 0 --backend cpu --k 1 -o r --json";
    let told: Value = serde_json::from_str(&bench.ok(command)).unwrap();
    let file = bench.json("r/params.json");
    let own = |i: usize, what: &str| file["parameters"][i][what].as_f64().unwrap();
    let total: f64 = (1..4).map(|i| own(i, "occurrences")).sum();
    let worth = |of: &dyn Fn(usize) -> f64| {
        of(0) + (1..4).map(|i| own(i, "occurrences") * of(i)).sum::<f64>() / total
    };
    let mobility = worth(&|i| [0.0, -20.0, 0.0, 30.0][i]);
    let expected = [500.0 + mobility, 600.0 + mobility, worth(&|i| own(i, "mg")), worth(&|i| own(i, "eg"))];
    let rook = &told["pieces"][0];
    assert_eq!((&rook["piece"], told["pieces"].as_array().unwrap().len()), (&json!("rook"), 1));
    let found = [&rook["before"][0], &rook["before"][1], &rook["after"][0], &rook["after"][1]];
    for (found, expected) in found.into_iter().zip(expected) {
        assert!((found.as_f64().unwrap() - expected).abs() < 1e-9, "{rook} {expected}");
    }
    assert!(bench.text("r/report.html").contains(&format!("<strong>{:.0}</strong>", expected[2])), "{rook}");
}

/// Returns the record of a run as it is before anything is chosen.
fn undecided(bench: &Bench, run: &str) -> Value {
    let mut record = bench.json(&format!("{run}/run.json"));
    record["undecided"] =
        json!({ "starts": null, "strength": { "folds": null, "given": false }, "scale": null });
    for chosen in ["strength", "scale", "starts"] {
        record.as_object_mut().unwrap().remove(chosen);
    }
    record["config"]["penalties"] = json!([]);
    record["config"].as_object_mut().unwrap().remove("begin");
    record
}

#[test]
fn runs_stopped_while_they_choose_are_resumed() {
    let bench = Bench::with_positions(3000, 11);
    let flags = "tune d.bin --k 0.8 --backend cpu --epochs 3 -q --out";
    assert_eq!(bench.run((flags, "whole")).0, 0);
    let record = undecided(&bench, "whole");
    std::fs::create_dir(bench.path("r")).unwrap();
    bench.write("r/run.json", record.to_string());
    bench.done("tune --resume r --backend cpu -q");
    assert!(bench.bytes("r/params.json") == bench.bytes("whole/params.json"));
    let (whole, own) = (bench.json("whole/run.json"), bench.json("r/run.json"));
    assert_eq!((&own["strength"], &own["config"]), (&whole["strength"], &whole["config"]));
    assert!(own.get("undecided").is_none(), "{own}");
}

/// Threats of the side to move end quiet positions, which then do not tell what threats are worth.
#[test]
fn features_that_only_the_side_that_does_not_move_has_keep_their_values() {
    let bench = Bench::new();
    let parameters =
        r#"[{"name": "pawn", "index": 0, "prior": 100}, {"name": "threat", "index": 1, "prior": 50}]"#;
    let schema = format!(
        r#"{{"format": "gputexel-schema", "version": 1, "index_base": 0, "comment": "fen", "parameters": {parameters}}}"#
    );
    bench.write("s.json", schema);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
    let mut lines = String::new();
    for i in 0..3000 {
        let ahead: i32 = random.random_range(-2..=2);
        let result = if random.random_bool(0.5 + 0.15 * f64::from(ahead)) { 1 } else { 0 };
        let is_white = random.random_bool(0.5);
        let threat = match i % 100 {
            0 => i32::from(is_white) * 2 - 1,
            1..70 => 1 - i32::from(is_white) * 2,
            _ => 0,
        };
        let pawns = |more: i32, letter: &str| letter.repeat(4 + more.max(0) as usize);
        let rows = [pawns(-ahead, "p"), pawns(ahead, "P")].map(|row| format!("{row}{}", 8 - row.len()));
        let turn = if is_white { "w" } else { "b" };
        let fen = format!("4k3/{}/8/8/8/8/{}/4K3 {turn} - - 0 1", rows[0], rows[1]);
        lines += &format!("{result} 0:{ahead} 1:{threat} # {fen}\n");
    }
    bench.write("t.svm", lines);
    bench.ok("import t.svm --schema s.json -o d.bin");
    let tuned = |flags: &str| {
        let report = bench.report(format!("tune d.bin --backend cpu --l2 0 --force --out r {flags}"));
        let values = bench.json("r/params.json")["parameters"].clone();
        let told = report.to_string().contains("keep their values");
        ([0, 1].map(|i| values[i]["mg"].f64()), told)
    };
    let ([pawn, threat], told) = tuned("");
    assert!(pawn != 100.0 && threat == 50.0 && told, "{pawn} {threat} {told}");
    // Its page has the positions of the trace and the changes of its values; no phases, as there are none.
    let page = bench.text("r/report.html");
    assert_has(&page, ["class=\"diagram\"", "lichess.org/analysis", "100 → </span>", "1 or 2 pawns apart"]);
    assert!(!page.contains("opening") && !page.contains("pawn.mg"), "{page}");
    let ([_, threat], told) = tuned("--least-to-move 0");
    assert!(threat != 50.0 && !told, "{threat} {told}");
}
