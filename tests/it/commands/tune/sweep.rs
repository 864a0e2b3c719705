//! `gputexel sweep` through the real binary: output, files, and bad input.

use crate::common;
use crate::common::prelude::*;

fn bench() -> Bench {
    Bench::with_positions(2000, 7)
}

/// Runs `sweep` on the CPU, which must succeed without output on standard error; returns the report.
fn sweep(bench: &Bench, args: impl Words) -> Value {
    bench.report(("sweep --backend cpu", args))
}

/// Runs `sweep d.bin` with flags, which must fail with a line that contains the text.
fn refuse(bench: &Bench, args: impl Words, code: i32, text: &str) {
    bench.fails_with(("sweep --backend cpu", args), code, text);
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is not a number"))
}

#[test]
fn curves_have_points_and_a_minimum() {
    let bench = bench();
    let report = sweep(&bench, "d.bin --scale 0.2:3:64 --csv k.csv");
    let points = report["points"].list();
    assert_eq!((points.len(), number(&points[0]["k"]), number(&points[63]["k"])), (64, 0.2, 3.0));
    let lowest = points.iter().map(|point| number(&point["loss"])).fold(f64::MAX, f64::min);
    assert!(number(&report["minimum"]["loss"]) <= lowest * (1.0 + 1e-6));
    assert_eq!((&report["minimum_at"], &report["positions"]), (&"inside".into(), &2000.into()));
    let csv = bench.text("k.csv");
    assert_eq!((csv.lines().count(), csv.lines().next().unwrap()), (65, "k,k_e,loss"));
    // `tune` fits the same.
    let k = number(&report["minimum"]["k"]);
    let tuned = bench.tune("d.bin --out r --epochs 1");
    assert!((k / number(&tuned["k"]) - 1.0).abs() < 1e-6);
}

#[test]
fn grids_are_ranked_and_the_best_is_written() {
    let bench = bench();
    let args = "d.bin --grid l2=0,1e-3,1e-2 --grid learning-rate=2,5 --epochs 20 --folds 4";
    let report = sweep(&bench, (args, "--csv r.csv --best best.json"));
    assert_eq!((&report["runs"], &report["together"], &report["folds"]), (&24.into(), &24.into(), &4.into()));
    assert_eq!((&report["judged_by"], &report["folds_by"]), (&"squared".into(), &"game".into()));
    let ranking = report["ranking"].list();
    assert_eq!(ranking.len(), 6);
    let means: Vec<f64> = ranking.iter().map(|entry| number(&entry["held_out"]["mean"])).collect();
    assert!(means.is_sorted(), "{means:?}");
    for entry in ranking {
        let runs = entry["runs"].list();
        let mean = runs.iter().map(|run| number(&run["held_out"])).sum::<f64>() / 4.0;
        assert!((mean - number(&entry["held_out"]["mean"])).abs() < 1e-12);
        assert!(number(&entry["held_out"]["standard_error"]) > 0.0);
        assert!((number(&entry["over_best"]["mean"]) - (mean - means[0])).abs() < 1e-12);
        assert!(number(&entry["training"]) < mean, "training positions are seen");
        assert!(entry["settings"]["l2"].is_number() && entry["settings"]["learning-rate"].is_number());
    }
    let csv = bench.text("r.csv");
    assert_eq!(csv.lines().next().unwrap(), "rank,l2,learning-rate,seed,fold,held_out,own_held_out,training");
    assert_eq!(csv.lines().count(), 1 + 24);

    // The best parameters have the reported loss, and equal those of `tune` with the settings.
    let params = bench.json("best.json");
    let k = params["k"].f64();
    let (_, out, _) = bench.run("--json eval d.bin best.json");
    let loss = number(&serde_json::from_str::<Value>(&out).unwrap()["loss"]);
    assert!((loss - number(&report["best"]["loss"])).abs() < 1e-12);
    let settings = &ranking[0]["settings"];
    let (l2, rate) = (settings["l2"].to_string(), settings["learning-rate"].to_string());
    let tuned = bench.tune([
        "d.bin",
        "--out",
        "t",
        "--k",
        &k.to_string(),
        "--optimizer",
        "adam",
        "--epochs",
        "20",
        "--l2",
        &l2,
        "--learning-rate",
        &rate,
    ]);
    // `tune` keeps the best epoch, which need not be the last, including the pull toward the prior.
    assert!((number(&tuned["loss"]) / loss - 1.0).abs() < 1e-2, "{tuned} {loss}");

    let seeds = sweep(&bench, "d.bin --grid seed=1,2,3 --grid l2=1e-3 --epochs 2 --folds 2");
    assert_eq!((&seeds["runs"], seeds["ranking"][0]["runs"].list().len()), (&6.into(), 6));
}

#[test]
#[ignore = "full"]
fn threads_do_not_change_a_digit() {
    let bench = bench();
    let run = |threads: &str| {
        let args = ["d.bin", "--grid", "learning-rate=1:9:7", "--epochs", "10", "--threads", threads];
        sweep(&bench, args)["ranking"].clone()
    };
    assert_eq!(run("1"), run("3"));
}

#[test]
fn does_not_overwrite_files() {
    let bench = bench();
    bench.write("old.json", "old");
    let grid = "d.bin --grid l2=1e-4,1e-3 --epochs 3 --folds 2";
    let why = "old.json: exists; use --force";
    refuse(&bench, (grid, "--best old.json"), 2, why);
    refuse(&bench, (grid, "--csv old.json"), 2, why);
    refuse(&bench, "d.bin --scale 1:2:3 --csv old.json", 2, why);
    assert_eq!(bench.bytes("old.json"), b"old");
    sweep(&bench, (grid, "--best old.json --force"));
    assert_ne!(bench.bytes("old.json"), b"old");
    sweep(&bench, "d.bin --scale 1:2:3 --csv old.json --force");
    assert!(bench.bytes("old.json").starts_with(b"k,k_e,loss"));
}

#[test]
#[ignore = "full"]
fn sources_blends_and_losses_are_varied() {
    let bench = Bench::new();
    // Two sources: results of the first are uninformative, its search scores informative.
    let set = gputexel::model::FeatureSet::new(FeatureKind::Material, Default::default());
    let mut writer = DatasetWriter::create(&bench.path("d.bin"), Metadata::new(set.clone()), true).unwrap();
    let mut rng = <rand_xoshiro::Xoshiro256PlusPlus as rand::SeedableRng>::seed_from_u64(3);
    let mut row = FeatureRow::default();
    for n in 0..3000u32 {
        set.compute(&common::random_board(&mut rng), shakmaty::Color::White, &mut row);
        let result = [0.0, 1.0][(n.wrapping_mul(2_654_435_761) >> 31) as usize];
        let right = if n % 50 == 0 { -1.0 } else { 1.0 };
        let score = if n < 1000 { 0.0 } else { right * 400.0 * (result - 0.5) };
        let labels = PositionLabels { result, score_cp: Some(score), weight: 1.0, game: Some(n / 4) };
        writer.push(&row, labels).unwrap();
    }
    let source =
        |path: &str, positions| SourceRecord { path: path.to_string(), positions, ..SourceRecord::default() };
    writer.finish(vec![source("noise.pgn", 1000), source("games/good.pgn", 2000)], []).unwrap();
    let args = "d.bin --grid blend=0,0.5 --grid source:noise=0,1 --grid loss=squared,cross-entropy --grid learning-rate=5 --epochs 5 --k 0.8";
    let report = sweep(&bench, args);
    assert_eq!((&report["judged_by"], report["ranking"].list().len()), (&"squared".into(), 8));
    assert!(number(&report["blend_k"]) > 0.1);
    let kinds: std::collections::HashSet<String> =
        report["ranking"].list().iter().map(|entry| entry["loss_kind"].to_string()).collect();
    assert_eq!(kinds.len(), 2);
    for entry in report["ranking"].list() {
        let same = entry["loss_kind"] == "squared" && entry["settings"]["blend"] == 0.0;
        assert_eq!(same, entry["held_out"]["mean"] == entry["own_held_out"], "{entry}");
    }
    refuse(&bench, "d.bin --grid source:pgn=1,2", 2, "2 sources have this");
    let why = "no source has this name; sources: 1 = noise.pgn, 2 = games/good.pgn";
    refuse(&bench, "d.bin --grid source:3=1,2", 2, why);
    refuse(&bench, "d.bin --grid source:1=0 --grid source:2=0,1 --k 1", 2, "no position to train on");
    refuse(&bench, "d.bin --grid blend=0.5 --blend-k -1", 2, "positive");
}

#[test]
fn reports_bad_input_in_one_line() {
    let bench = bench();
    let cases = [
        ("", "--scale"),
        ("--scale 0.2:3:0", "0 values"),
        ("--scale 0:3:5", "positive"),
        ("--scale 2:1:5", "from 2 to 1"),
        ("--scale nan", "finite"),
        ("--scale 1:2:3 --folds 5", "--folds"),
        ("--grid l2", "KEY=VALUES"),
        ("--grid l2=0:1:0", "0 values"),
        ("--grid l2=-1", "positive"),
        ("--grid l2=0,0", "twice"),
        ("--grid l2=0 --grid l2=1", "twice"),
        ("--grid rate=1", "'rate'"),
        ("--grid loss=absolute", "squared"),
        ("--grid seed=1,2 --seed 1", "seed"),
        ("--grid blend=0.5", "search scores"),
        ("--grid l2=0 --blend-k 1", "--blend-k"),
        ("--grid source:x=1", "sources"),
        ("--grid l2=0 --folds 201", "200 games"),
        ("--grid l2=0:1:200 --grid k=1:2:200", "200,000 runs"),
        ("--grid learning-rate=1 --optimizer gauss-newton", "learning-rate"),
        ("--grid loss=power:1.5 --optimizer gauss-newton", "smooth"),
        ("--grid l2=0 --optimizer pso", "gauss-newton"),
        ("--grid l2=0 --optimizer gauss-newton --schedule linear", "--schedule"),
    ];
    for (args, text) in cases {
        let best = if args.contains("--grid") { "--best none" } else { "" };
        refuse(&bench, ("d.bin", (args, best)), 2, text);
        assert!(!bench.path("none").exists(), "{args} left a folder");
    }
    refuse(&bench, "none.bin --grid l2=0", 1, "none.bin");
}

#[test]
fn gauss_newton_runs_stop_when_converged_and_report_epochs() {
    let bench = Bench::with_positions(3000, 5);
    let args = "d.bin --optimizer gauss-newton --grid l2=1e-3,1e-2 --folds 3";
    let report = sweep(&bench, args);
    let (done, planned) = (number(&report["epochs"]), number(&report["epochs_planned"]));
    assert_eq!(planned, 300.0, "{report}");
    assert!(done > 6.0 && done < 0.5 * planned, "{report}");
}
