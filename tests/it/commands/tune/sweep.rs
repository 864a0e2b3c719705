//! `gputexel sweep` through the real binary: output, files, interruption, resuming, and bad input.

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

    // The same range in base e, and `tune`'s fit.
    let e = std::f64::consts::LN_10;
    let range = format!("{}:{}:64", 0.2 * e, 3.0 * e);
    let other = sweep(&bench, ["d.bin", "--scale", &range, "--k-base", "e"]);
    let (k, other) = (number(&report["minimum"]["k"]), number(&other["minimum"]["k"]));
    assert!((k / other - 1.0).abs() < 1e-6);
    let tuned = bench.tune("d.bin --out r --epochs 1");
    assert!((k / number(&tuned["k"]) - 1.0).abs() < 1e-6);
}

#[test]
fn grids_are_ranked_and_the_best_is_written() {
    let bench = bench();
    let args = "d.bin --grid l2=0,1e-3,1e-2 --grid learning-rate=2,5 --epochs 20 --folds 4";
    let files = ["--csv", "r.csv", "--best", "best", "--out", "out"];
    let report = sweep(&bench, (args, &files));
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
    assert_eq!(bench.names("best"), ["params.json", "tables.h", "tables.hpp", "tables.rs"]);
    assert_eq!(bench.names("out"), ["checkpoint.safetensors", "report.html", "runs.csv", "sweep.json"]);
    assert_eq!(bench.bytes("out/runs.csv"), bench.bytes("r.csv"));
    let csv = bench.text("r.csv");
    assert_eq!(csv.lines().next().unwrap(), "rank,l2,learning-rate,seed,fold,held_out,own_held_out,training");
    assert_eq!(csv.lines().count(), 1 + 24);

    // The best parameters have the reported loss, and equal those of `tune` with the settings.
    let params = bench.json("best/params.json");
    let k = params["k"].f64();
    let (_, out, _) = bench.run("--json eval d.bin best/params.json");
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

    // A finished sweep can be shown again without computing; other files from it are the same.
    let again = sweep(&bench, "--resume out --csv again.csv --best best.json");
    assert_eq!((&again["ranking"], &again["together"]), (&report["ranking"], &0.into()));
    assert_eq!(bench.bytes("again.csv"), bench.bytes("r.csv"));
    assert_eq!(bench.json("best.json")["parameters"], params["parameters"]);

    let seeds = sweep(&bench, "d.bin --grid seed=1,2,3 --grid l2=1e-3 --epochs 2 --folds 2");
    assert_eq!((&seeds["runs"], seeds["ranking"][0]["runs"].list().len()), (&6.into(), 6));
}

fn wait(bench: &Bench, folder: &str, epochs: u64) {
    let path = bench.path(folder).join("checkpoint.safetensors");
    wait_until("a step is stored", || {
        path.exists() && Checkpoint::read(&path).unwrap().progress.epochs >= epochs
    });
}

#[cfg(unix)]
#[test]
#[ignore = "full"]
fn resumed_sweeps_write_the_requested_files() {
    let bench = bench();
    let grid = "d.bin --grid l2=0,1e-3 --epochs 600 --backend cpu --checkpoint-every 0";
    let killed = |flags: &str, folder: &str| {
        let mut child = bench.spawn(("sweep", (grid, (flags, &["--out", folder]))));
        wait(&bench, folder, 60);
        child.kill().unwrap();
        assert_eq!(child.wait().unwrap().code(), None, "ended before it was killed");
    };
    killed("--best rbk --csv r.csv", "rk");
    // An interrupted sweep writes its table, too, and overwrites its own.
    bench.write("r.csv", "rank,so far\n");
    // Files that another run has written in the meantime are kept.
    bench.write("rbk/run.json", "{}");
    refuse(&bench, "--resume rk -q", 2, "rbk: exists and is not empty");
    std::fs::remove_file(bench.path("rbk/run.json")).unwrap();
    let report = sweep(&bench, "-q --resume rk");
    assert_eq!(report["best"]["path"].str(), bench.path("rbk").to_str().unwrap());
    assert_eq!(bench.names("rbk"), ["params.json", "tables.h", "tables.hpp", "tables.rs"]);
    assert_eq!(bench.bytes("r.csv"), bench.bytes("rk/runs.csv"));

    // Shown again, it writes only requested files.
    bench.write("rbk/params.json", "mine");
    assert!(sweep(&bench, "-q --resume rk")["best"].is_null());
    assert_eq!(bench.bytes("rbk/params.json"), b"mine");
    sweep(&bench, "-q --resume rk --best rbk");
    assert_ne!(bench.bytes("rbk/params.json"), b"mine");

    // A flag overrides the record.
    killed("--best first.json", "ro");
    sweep(&bench, "-q --resume ro --best second.json");
    assert!(bench.path("second.json").exists() && !bench.path("first.json").exists());
}

#[test]
fn does_not_overwrite_files() {
    let bench = bench();
    bench.write("old.json", "old");
    let grid = "d.bin --grid l2=1e-4,1e-3 --epochs 3 --folds 2";
    for flag in ["--best", "--csv"] {
        refuse(&bench, (grid, &[flag, "old.json", "--out", "o"]), 2, "old.json: exists; use --force");
        assert!(!bench.path("o").exists());
        if flag != "--best" {
            let why = "old.json: exists; use --force";
            refuse(&bench, ["d.bin", "--scale", "1:2:3", flag, "old.json"], 2, why);
        }
    }
    std::fs::create_dir(bench.path("r")).unwrap();
    bench.write("r/params.json", "old");
    refuse(&bench, (grid, "--best r --out o"), 2, "r: exists and is not empty");
    assert!(!bench.path("o").exists());
    assert_eq!(bench.bytes("old.json"), b"old");

    sweep(&bench, (grid, "--out o"));
    refuse(&bench, "--resume o --csv old.json", 2, "old.json: exists; use --force");
    sweep(&bench, "--resume o --csv o/runs.csv");
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
    // It warns: by these results, pieces are worth nothing.
    let warned = |more: &str| -> Value {
        serde_json::from_str(&bench.done((("--json sweep --backend cpu", args), more)).0).unwrap()
    };
    let report = warned("");
    assert_eq!((&report["judged_by"], report["ranking"].list().len()), (&"squared".into(), 8));
    assert!(number(&report["blend_k"]) > 0.1);
    let kinds: std::collections::HashSet<String> =
        report["ranking"].list().iter().map(|entry| entry["loss_kind"].to_string()).collect();
    assert_eq!(kinds.len(), 2);
    for entry in report["ranking"].list() {
        let same = entry["loss_kind"] == "squared" && entry["settings"]["blend"] == 0.0;
        assert_eq!(same, entry["held_out"]["mean"] == entry["own_held_out"], "{entry}");
    }
    let judged = warned("--judge cross-entropy");
    assert!(
        number(&judged["ranking"][0]["held_out"]["mean"])
            > 2.0 * number(&report["ranking"][0]["held_out"]["mean"])
    );
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
        ("--scale 1:2:200000", "--yes"),
        ("--scale 1:2:3 --k-base 2", "10 or e"),
        ("--scale 1:2:3 --folds 5", "--folds"),
        ("--scale 1:2:3 --csv no/such/folder.csv", "no/such/folder.csv"),
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
        ("--grid l2=0:1:9999 --grid k=1:2:9999 --yes", "10,000,000"),
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
    refuse(&bench, "--resume nowhere", 1, "is not the folder of a sweep");
    bench.tune("d.bin --out r --epochs 1");
    refuse(&bench, "--resume r", 1, "it has no sweep.json");
    refuse(&bench, "d.bin --grid l2=0 --out r", 2, "not empty");
    sweep(&bench, "d.bin --grid l2=0 --epochs 2 --folds 2 --out s");
    let whole = bench.bytes("s/checkpoint.safetensors");
    bench.write("s/checkpoint.safetensors", &whole[..whole.len() / 2]);
    refuse(&bench, "--resume s", 1, "not a checkpoint, or damaged");
    bench.write("s/checkpoint.safetensors", whole);
    bench.dataset("d.bin", FeatureKind::Pst, 2000, 8);
    refuse(&bench, "--resume s", 1, "is not the dataset that the sweep started with");
}

#[test]
fn gauss_newton_runs_stop_when_converged_and_report_epochs() {
    let bench = Bench::with_positions(3000, 5);
    let args = "d.bin --optimizer gauss-newton --grid l2=1e-3,1e-2 --folds 3 --out s";
    let report = sweep(&bench, args);
    let (done, planned) = (number(&report["epochs"]), number(&report["epochs_planned"]));
    assert_eq!(planned, 300.0, "{report}");
    assert!(done > 6.0 && done < 0.5 * planned, "{report}");
    let again = sweep(&bench, "--resume s");
    assert_eq!(again["epochs"], report["epochs"], "a finished sweep is shown again");
}
