//! `gputexel wdl`, through the real binary.

use crate::common::prelude::*;
use std::fmt::Write as _;

fn truth() -> WdlModel {
    WdlModel {
        by: Variable::Material,
        range: (17, 60),
        target: 40,
        a: vec![160.0, -40.0, 30.0, 0.0],
        b: vec![30.0, 20.0, 0.0, 0.0],
    }
}

/// Returns games of two moves from positions with much or little material, as PGN and as lines of positions; scores
/// and results follow the truth.
fn games(number: usize, seed: u64) -> (String, String) {
    let (model, mut rng) = (truth(), Xoshiro256PlusPlus::seed_from_u64(seed));
    let (mut pgn, mut lines) = (String::new(), String::new());
    for _ in 0..number {
        let pawns: [usize; 2] = [rng.random_range(0..=8), rng.random_range(0..=8)];
        let pieces = rng.random_range(0..4);
        // Rooks, knights and bishops of both sides.
        let home = ["r3k2r", "rn2k2r", "rn2k1nr", "rnb1kbnr"][pieces];
        let row = |n: usize| {
            format!("{}{}", "p".repeat(n), if n < 8 { (8 - n).to_string() } else { String::new() })
        };
        let board = |king: &str, last: &str| {
            format!("{king}/{}/8/8/8/8/{}/{last}", row(pawns[1]), row(pawns[0]).to_uppercase())
        };
        let material = 20 + [0, 6, 12, 24][pieces] + pawns[0] + pawns[1];
        let score = rng.random_range(-390..=390i32);
        let [win, draw, _] = model.probabilities(f64::from(score), material as f64);
        let (result, number) = match rng.random_range(0.0..1.0) {
            x if x < win => ("1-0", "1.0"),
            x if x < win + draw => ("1/2-1/2", "0.5"),
            _ => ("0-1", "0.0"),
        };
        let start = board(home, &home.to_uppercase());
        let pawns = |score: i32| f64::from(score) / 100.0;
        let _ = write!(
            pgn,
            "[Event \"x\"]\n[FEN \"{start} w - - 0 20\"]\n[Result \"{result}\"]\n\n\
             20. Ke1d1 {{{:+.2}/12 0.1s}} Ke8d8 {{{:+.2}/11 0.1s}} {result}\n\n",
            pawns(score),
            pawns(-score)
        );
        // After 20. Kd1, Black to move.
        let moved = home.to_uppercase().replace("R3K2R", "R2K3R").replace("RN2K2R", "RN1K3R");
        let moved = moved.replace("RN2K1NR", "RN1K2NR").replace("RNB1KBNR", "RNBK1BNR");
        let _ = writeln!(lines, "{start} w - - 0 20 | {score} | {number}");
        let _ = writeln!(lines, "{} b - - 1 20 | {score} | {number}", board(home, &moved));
    }
    (pgn, lines)
}

fn bench() -> Bench {
    let bench = Bench::new();
    let (pgn, lines) = games(4000, 5);
    bench.write("g.pgn", pgn);
    bench.write("g.txt", lines);
    bench
}

const USUAL: [&str; 4] = ["--range", "17:60", "--target", "40"];

fn wdl(bench: &Bench, flags: &[&str]) -> Value {
    bench.report(("wdl", (flags, &USUAL)))
}

fn numbers(list: &Value) -> Vec<f64> {
    list.list().iter().map(|x| x.f64()).collect()
}

#[test]
fn games_give_the_model_that_made_them() {
    let bench = bench();
    let told = wdl(&bench, &["g.pgn"]);
    let (fit, reading) = (&told["report"]["fit"], &told["report"]["reading"]);
    assert_eq!((&reading["scored"], &reading["games"]), (&8000.into(), &4000.into()));
    let error = fit["errors"]["a_target"].f64();
    let pawn = told["pawn_value"].f64();
    assert!((pawn - truth().pawn_value()).abs() < 4.0 * error && error < 15.0, "{pawn} +- {error}");
    // Two positions of each game carry the same information.
    let naive = fit["naive_errors"]["a_target"].f64();
    assert!((error / naive / 2.0f64.sqrt() - 1.0).abs() < 0.15, "{error} {naive}");
    // Lines of positions carry the same information as games, except for which belong together.
    let lines = wdl(&bench, &["g.txt"]);
    assert_eq!(lines["report"]["fit"]["model"], fit["model"]);
    assert_eq!(lines["report"]["reading"]["games"], 8000);
    // Twice the units, twice the constants.
    let normalized = wdl(&bench, &["g.pgn", "--normalized-by", "200"]);
    for (one, two) in
        numbers(&fit["model"]["a"]).into_iter().zip(numbers(&normalized["report"]["fit"]["model"]["a"]))
    {
        assert!((two - 2.0 * one).abs() < 1e-3 * one.abs().max(1.0), "{one} {two}");
    }
    // Without a curve, scores that were printed with one become those of the engine again.
    let flat = wdl(&bench, &["g.pgn", "--degree", "0", "--by", "material"]);
    assert_eq!(numbers(&flat["report"]["fit"]["model"]["a"]).len(), 1);
}

#[test]
#[ignore = "full"]
fn folders_and_formats_hold_the_constants() {
    let bench = bench();
    let args = [&["wdl", "g.pgn", "--out", "w"], &USUAL[..]].concat();
    assert_has(
        &bench.ok(&args),
        [
            "positions   8,000 of 4,000 games",
            "games counted as independent",
            "this score wins half of the games",
            "constexpr double WdlAs[] = {",
            "written     w: report.html, wdl.hpp, wdl.rs, wdl.uci, wdl.json",
        ],
    );
    assert_eq!(bench.names("w"), ["report.html", "wdl.hpp", "wdl.json", "wdl.rs", "wdl.uci"]);
    let page = bench.text("w/report.html");
    assert_eq!((page.matches("<svg").count(), page.matches("</svg>").count()), (4, 4));
    bench.fails_with(&args, 2, ["exists", "--force"]);
    assert_eq!(bench.run((&args, "--force")).0, 0);
    let (_, rust, _) = bench.run(("wdl g.pgn --to rust", &USUAL));
    assert_eq!(rust.as_bytes(), bench.bytes("w/wdl.rs"));
    // With scores normalized by these constants, a pawn is worth one pawn.
    let file = bench.json("w/wdl.json");
    assert_eq!((&file["momType"], &file["momTarget"]), (&"material".into(), &40.into()));
    let again = wdl(&bench, &["g.pgn", "--normalized-by", "w/wdl.json"]);
    assert!(again["pawn_value"].f64() > 0.0);
    let main = format!(
        "{}\nfn main() {{ println!(\"{{}} {{:?}} {{}} {{}}\", WDL_TARGET, WDL_RANGE, WDL_AS.iter().sum::<f64>(), WDL_BS[3] + f64::from(NORMALIZE_TO_PAWN_VALUE)); }}\n",
        rust
    );
    if let Some(printed) = bench.compiled("rustc", &["--edition=2021"], "wdl_main.rs", &main) {
        let sum: f64 = numbers(&file["as"]).iter().sum();
        let words: Vec<&str> = printed.split_whitespace().collect();
        assert!((words[2].parse::<f64>().unwrap() - sum).abs() < 1e-6, "{printed}");
    }
}

#[test]
fn rejects_insufficient_games() {
    let bench = Bench::new();
    let (pgn, _) = games(30, 1);
    bench.write("few.pgn", &pgn);
    bench.write("mute.pgn", "[Result \"1-0\"]\n\n1. e4 e5 1-0\n");
    bench.write("bad.json", "{}");
    for (flags, part, code) in [
        ("few.pgn", "the model cannot be fitted: ", 2),
        ("mute.pgn", "mute.pgn: no position was kept; left out: positions without a score (3)", 1),
        ("none.pgn", "none.pgn", 1),
        ("few.pgn --by time", "--by time: must be material, move or ply", 2),
        ("few.pgn --range 17", "--range 17: expected LOW:HIGH", 2),
        ("few.pgn --range 40:30", "--range 40:30: must ascend", 2),
        ("few.pgn --target 90", "--target 90: must be in the range 17:78", 2),
        ("few.pgn --degree 4", "--degree 4: must be from 0 to 3", 2),
        ("few.pgn --max-score 0", "--max-score 0: must be from 1 to 29999", 2),
        ("few.pgn --normalized-by 0", "--normalized-by 0: must be from 1", 2),
        ("few.pgn --normalized-by bad.json", "bad.json:1: not the constants", 1),
        ("few.pgn --to go", "--to go: must be cpp, rust, uci or json", 2),
        ("few.pgn --threads 0", "0 threads", 2),
    ] {
        bench.fails_with(("wdl", flags), code, part);
    }
}

#[test]
#[ignore = "full"]
fn public_games_have_a_sensible_model() {
    let Some(path) = shared("pgn/selfplay.pgn.zst") else { return };
    let bench = Bench::new();
    let told = bench.report(["wdl", path.to_str().unwrap()]);
    let pawn = told["pawn_value"].f64();
    let error = told["report"]["fit"]["errors"]["a_target"].f64();
    assert!((30.0..50.0).contains(&pawn) && error > 0.0 && error < 3.0, "{pawn} +- {error}");
    // Observed shares agree with the model to a few percent: at 0.00 more games are drawn than the curve allows.
    for row in told["report"]["calibration"].list() {
        let [observed, model] = ["observed", "model"].map(|name| numbers(&row[name]));
        for (a, b) in observed.iter().zip(&model) {
            assert!((a - b).abs() < 0.08, "{row}");
        }
    }
}

#[test]
#[ignore = "full"]
fn documented_counts_match_the_engine_form() {
    let Some(path) = shared("pgn/ccc.pgn.zst") else { return };
    let told = Bench::new().report(["wdl", path.to_str().unwrap(), "--max-ply", "239"]);
    // Its comments have two scores each, `+0.39/72 ... wv=0.39`; docs/wdl.md has the table.
    assert_eq!(told["report"]["reading"]["counted"], serde_json::json!([2481, 16_005, 2757]));
}
