//! `gputexel tune` and `eval` through the real binary: the files of a run, repeatable results, and flags with their
//! documented effects.

use crate::common::prelude::*;

const FILES: [&str; 8] = [
    "checkpoint.safetensors",
    "metrics.jsonl",
    "params.json",
    "report.html",
    "run.json",
    "tables.h",
    "tables.hpp",
    "tables.rs",
];

fn bench() -> Bench {
    Bench::with_positions(3000, 7)
}

fn parameter(file: &Value, name: &str, phase: &str) -> f64 {
    let list = file["parameters"].list();
    list.iter().find(|p| p["name"] == name).unwrap()[phase].f64()
}

fn loss(report: &Value) -> f64 {
    report["loss"].f64()
}

#[test]
fn a_run_leaves_a_whole_folder() {
    let bench = bench();
    let report = bench.tune("d.bin --out r");
    assert_eq!(bench.names("r"), FILES);
    assert_eq!(report["folder"], "r");
    assert_eq!(report["positions"], 3000);
    assert!(report["optimizer"].str().starts_with("gauss-newton"));
    let before = report["loss_before"].f64();
    assert!(loss(&report) < 0.9 * before, "{report}");

    let metrics = bench.metrics("r");
    assert_eq!(metrics.len() as u64, report["epochs"].u64());
    let losses: Vec<f64> = metrics.iter().map(|line| line["loss"].f64()).collect();
    assert!(losses.is_sorted_by(|a, b| a > b), "{losses:?}");
    assert!((losses.last().unwrap() - loss(&report)).abs() < 1e-6);
    for (i, line) in metrics.iter().enumerate() {
        assert_eq!(line["epoch"], i as u64 + 1);
        assert!(line["gradient_norm"].f64() >= 0.0);
    }

    let file = bench.json("r/params.json");
    assert_eq!(file["provenance"]["loss"], report["loss"]);
    assert_eq!(file["provenance"]["loss_before"], report["loss_before"]);
    assert_eq!(file["provenance"]["prior"], "material:100,300,320,500,900");
    assert_eq!(file["k"], report["k"]);
    assert_eq!(file["parameters"].list().len(), 384);
    // Pawns stand on neither the first nor the eighth rank: no support, so the prior is kept.
    assert!(report["unsupported"].list().contains(&"pawn_a1".into()));
    assert_eq!(parameter(&file, "pawn_a1", "mg"), 100.0);
    let record = bench.json("r/run.json");
    assert!(record["command_line"].str().ends_with("tune --backend cpu --prior-strength none d.bin --out r"));
    assert_eq!(record["config"]["k"], report["k"]);

    // `--quiet` prints nothing.
    let (code, out, err) = bench.run("-q tune d.bin --out q --backend cpu");
    assert_eq!((code, out.as_str(), err.as_str()), (0, "", ""));
}

#[test]
fn the_same_command_gives_the_same_bytes() {
    let bench = bench();
    let adam = ["--optimizer", "adam", "--epochs", "25", "--batches", "3", "--holdout", "0.2"];
    for (name, flags) in [("gn", &[][..]), ("adam", &adam[..])] {
        let mut seen = Vec::new();
        for threads in ["1", "1", "2"] {
            let out = format!("{name}-{}", seen.len());
            bench.tune((&["d.bin", "--out", &out, "--threads", threads], flags));
            seen.push(bench.bytes(&format!("{out}/params.json")));
        }
        assert!(seen[0] == seen[1], "{name}: the same command");
        assert!(seen[0] == seen[2], "{name}: another number of threads");
    }
    let other = bench.tune(("d.bin --out other --seed 2", &adam));
    assert_ne!(
        other["loss"],
        bench.json("adam-0/params.json")["provenance"]["loss"],
        "the seed has no effect"
    );
}

#[test]
fn adam_runs_a_population_and_keeps_the_best() {
    let bench = bench();
    let common = "d.bin --epochs 30 --optimizer adam --k 0.8";
    let best = bench.tune((common, "--out p --learning-rate 0.01,1,4 --l2 0,10"));
    assert!(best["optimizer"].str().contains("learning rate 4"), "{best}");
    let members = best["members"].list();
    assert_eq!(members.len(), 6, "{best}");
    let mut single = Vec::new();
    for rate in ["0.01", "1", "4"] {
        let out = format!("s{rate}");
        single.push(loss(&bench.tune((common, &["--out", &out, "--learning-rate", rate]))));
    }
    // Populations and single runs are computed by different kernels in f32.
    let lowest = single.iter().copied().fold(f64::INFINITY, f64::min);
    assert!((loss(&best) - lowest).abs() < 1e-6 * lowest, "{best} {single:?}");
    assert!(single[0] > 1.01 * lowest, "the learning rate has no effect: {single:?}");
}

#[test]
fn adam_follows_batches_holdout_and_schedule() {
    let bench = bench();
    let common = "d.bin --optimizer adam --k 0.8";
    let run = |out: &str, flags: &[&str]| {
        let epochs = if out == "held" { "200" } else { "20" };
        let report = bench.tune((common, (&["--out", out, "--epochs", epochs], flags)));
        assert!(loss(&report) < report["loss_before"].f64(), "{out}");
        report
    };
    let full = run("full", &[]);
    let batches = run("batches", &["--batches", "5"]);
    // Five steps per epoch come further than one.
    assert!(loss(&batches) < 0.99 * loss(&full), "{batches} {full}");
    let constant = run("constant", &["--schedule", "constant"]);
    let linear = run("linear", &["--schedule", "linear"]);
    let step = run("step", &["--schedule", "step:0.5:5"]);
    let mut losses = [&full, &constant, &linear, &step].map(loss);
    losses.sort_by(f64::total_cmp);
    assert!(losses.windows(2).all(|pair| pair[1] - pair[0] > 1e-7), "schedules alike: {losses:?}");
    assert_eq!(losses[0], loss(&constant), "the full rate comes furthest");
    assert!(full["held_out"].is_null());

    // Results were drawn with the default prior: start elsewhere, so that there is something to gain.
    let prior = ["--prior", "material:60,180,190,300,540"];
    let held =
        run("held", &[&["--holdout", "0.3", "--patience", "5", "--learning-rate", "4"], &prior[..]].concat());
    assert_eq!(held["reason"], "held-out");
    assert!(held["epochs"].u64() < 200);
    let seen: Vec<f64> = bench.metrics("held").iter().map(|line| line["held_out"].f64()).collect();
    let lowest = seen.iter().copied().fold(f64::INFINITY, f64::min);
    // The parameters are those of the epoch with the best held-out loss, not the last.
    assert!(seen[seen.len() - 1] > lowest);
    assert!((held["held_out"].f64() - lowest).abs() < 1e-6, "{held} {lowest}");
}

#[test]
fn limits_end_a_run() {
    let bench = bench();
    let adam = ["d.bin", "--optimizer", "adam", "--epochs", "1000000", "--k", "0.8"];
    for (out, reason, flags) in [
        ("time", "time", &["--time", "0.3"][..]),
        ("improvement", "improvement", &["--improvement", "0.5"][..]),
    ] {
        let report = bench.tune((&adam, (&["--out", out], flags)));
        assert_eq!(report["reason"], reason, "{report}");
        assert!(report["epochs"].u64() > 1);
    }
    assert_eq!(bench.tune("d.bin --out e --epochs 2")["reason"], "epochs");
    assert_eq!(bench.metrics("e").len(), 2);
}

#[test]
fn positions_are_extracted_first() {
    let bench = Bench::new();
    let text: String = positions(1500).iter().map(|(b, t, r)| format!("{b} {t} - - [{r:.1}]\n")).collect();
    bench.write("p.epd", text);
    assert_eq!(bench.tune("p.epd --l2=0 --out r")["positions"], 1500);
    // The dataset can be used like any other.
    bench.tune("r/dataset.bin --out s");
    assert_eq!(bench.bytes("s/params.json"), bench.bytes("r/params.json"));
    bench.tune("p.epd --out r --force");
    assert_eq!(bench.bytes("s/params.json"), bench.bytes("r/params.json"));
    // A mixture is refused before anything is written.
    bench.fails_with("tune p.epd r/dataset.bin --out none", 2, "cannot be mixed");
    assert!(!bench.path("none").exists());
}

#[test]
fn several_datasets_are_one() {
    let bench = bench();
    bench.dataset("e.bin", FeatureKind::Pst, 500, 9);
    assert_eq!(bench.tune("d.bin e.bin --out r --epochs 2")["positions"], 3500);
    assert_eq!(bench.json("r/params.json")["provenance"]["datasets"].list().len(), 2);
    bench.dataset("m.bin", FeatureKind::Material, 500, 9);
    bench.fails_with("tune d.bin m.bin --out none", 1, "m.bin");
}

#[test]
fn every_form_of_k_is_the_same() {
    let bench = bench();
    let k: f64 = 0.8;
    let ln10 = std::f64::consts::LN_10;
    let forms =
        [("--k", k), ("--k-e", k * ln10), ("--win-scale", 400.0 / k), ("--e-scale", 400.0 / (k * ln10))];
    for (i, (flag, value)) in forms.into_iter().enumerate() {
        let out = format!("r{i}");
        let report = bench.tune(["d.bin", "--out", &out, flag, &value.to_string(), "--epochs", "3"]);
        let got = report["k"].f64();
        assert!((got - k).abs() < 1e-15, "{flag} {value}: {got}");
        let eval = bench.run(["--json", "eval", "d.bin", "r0/params.json", flag, &value.to_string()]);
        let eval: Value = serde_json::from_str(&eval.1).unwrap();
        assert!((eval["k"].f64() - k).abs() < 1e-15, "{flag} {value}: {eval}");
    }
    let values = |i: usize| {
        let file = bench.json(&format!("r{i}/params.json"));
        let list = file["parameters"].list().clone();
        list.iter().map(|p| p["mg"].f64()).collect::<Vec<_>>()
    };
    for i in 1..4 {
        let largest = values(0).iter().zip(values(i)).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(largest < 1e-3, "form {i} ends {largest} centipawns elsewhere");
    }
}

#[test]
fn eval_agrees_with_the_run() {
    let bench = bench();
    for (out, kind) in [("r", "squared"), ("c", "cross-entropy")] {
        bench.tune(["d.bin", "--out", out, "--loss", kind, "--epochs", "4"]);
        let params = format!("{out}/params.json");
        let eval = bench.told(["eval", "d.bin", &params, "--loss", kind]);
        let file = bench.json(&params);
        assert_eq!(eval["loss"], file["provenance"]["loss"]);
        assert_eq!((&eval["k"], &eval["positions"]), (&file["k"], &3000.into()));
        // The file records the loss it was tuned for.
        assert_eq!(bench.told(["eval", "d.bin", &params])["loss"], eval["loss"]);
    }
    // Words can replace parameters, too.
    let of = |params: &str| {
        let text = bench.ok(["--json", "eval", "d.bin", params, "--k", "0.8"]);
        serde_json::from_str::<Value>(&text).unwrap()["loss"].f64()
    };
    assert_eq!(of("material"), of("material:100,300,320,500,900"));
    assert!(of("zero") != of("material"));
    bench.fails_with("eval d.bin materail", 1, "did you mean 'material'?");
    bench.dataset("m.bin", FeatureKind::Material, 100, 1);
    bench.fails_with("eval m.bin r/params.json", 1, "params.json: its values belong to feature set 'pst'");
}

#[test]
fn a_result_is_a_prior() {
    let bench = bench();
    let first = bench.tune("d.bin --out r --epochs 2");
    let k = first["k"].to_string();
    let second = bench.tune(["d.bin", "--out", "s", "--prior", "r/params.json", "--k", &k]);
    assert_eq!(second["loss_before"], first["loss"]);
    assert!(loss(&second) < loss(&first));
    // Into the folder of the prior itself: it is read before it is replaced.
    bench.tune(["d.bin", "--out", "r", "--prior", "r/params.json", "--k", &k, "--force"]);
    assert_eq!(bench.json("r/params.json")["parameters"], bench.json("s/params.json")["parameters"]);
    // A refusal leaves existing files unchanged.
    let before = bench.bytes("r/params.json");
    bench.fails("tune d.bin --out r --prior nowhere.json --force", 1);
    bench.fails("tune d.bin --out r --prior zero --force", 2);
    assert_eq!(bench.bytes("r/params.json"), before);
}

#[test]
fn a_zero_prior_needs_k() {
    let bench = bench();
    bench.fails_with("tune d.bin --out r --prior zero", 2, ["prior", "--k"]);
    assert!(!bench.path("r").exists());
    let report = bench.tune("d.bin --out r --prior zero --k 0.8");
    assert!(loss(&report) < 0.9 * report["loss_before"].f64());
    assert_eq!(parameter(&bench.json("r/params.json"), "pawn_a1", "mg"), 0.0);
}

#[test]
fn without_a_folder_the_run_gets_a_dated_one() {
    let bench = bench();
    let report = bench.tune("d.bin --epochs 1");
    let folder = report["folder"].str();
    assert!(folder.starts_with("runs"), "{folder}");
    assert_eq!(bench.names(folder), FILES);
    let again = bench.tune("d.bin --epochs 1");
    assert_ne!(again["folder"], report["folder"]);
}

#[test]
#[ignore = "full"]
fn values_that_never_occur_keep_their_start_unless_neighbors_determine_them() {
    let bench = Bench::new();
    // A table by number of attackers, whose entry for zero never occurs, and a board without its last rank and one
    // other square.
    bench.write(
        "s.json",
        r#"{"format": "gputexel-schema", "version": 1, "index_base": 1,
            "phase": {"middlegame": 24, "endgame": 0}, "columns": {"phase": 1},
            "parameters": [
             {"name": "modifier", "index": 2, "count": 4, "line": true, "priors": [0, 10, 20, 30]},
             {"name": "piece", "index": 6, "count": 64, "board": "a1", "prior": 50}]}"#,
    );
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
    let (first, gap) = (6, 27);
    let mut trace = String::new();
    for _ in 0..4000 {
        let (attackers, phase) = (rng.random_range(1..4), rng.random_range(1..=24));
        let mut squares: Vec<usize> = (0..4).map(|_| rng.random_range(0..56)).filter(|s| *s != gap).collect();
        squares.sort_unstable();
        squares.dedup();
        let good = squares.iter().map(|square| 20.0 * (square / 8) as f64).sum::<f64>() - 150.0;
        let result = f64::from(rng.random_range(0.0..1.0) < 1.0 / (1.0 + (-good / 150.0f64).exp()));
        let list: String = squares.iter().map(|square| format!(" {}:1", first + square)).collect();
        trace += &format!("{result} 1:{phase} {}:1{list}\n", 2 + attackers);
    }
    bench.write("t.svm", trace);
    bench.told("import t.svm --schema s.json -o d.bin");
    let weights = "smooth=1e-3,mean=1e-3,ridge=1e-4";
    for extra in [&["--prior-strength", weights][..], &["--optimizer", "adam", "--prior-strength", weights]] {
        let report = bench.tune(("d.bin --k 1 --force --out r", extra));
        let file = bench.json("r/params.json");
        let values = |name: &str| ["mg", "eg"].map(|phase| parameter(&file, name, phase));
        assert_eq!(values("modifier_0"), [0.0, 0.0], "{report}");
        assert!((0..8).all(|i| values(&format!("piece_{}", 56 + i)) == [50.0; 2]), "the last rank: {file}");
        let [filled, around] = [values(&format!("piece_{gap}")), values("piece_28")];
        assert!(filled[0] != 50.0 && (filled[0] - around[0]).abs() < 40.0, "{filled:?} {around:?}");
        let moved = report["filled"].list();
        assert_eq!((moved.len(), &moved[0]["from"]), (1, &serde_json::json!([50.0, 50.0])), "{report}");
        assert_eq!(
            (&moved[0]["name"], &moved[0]["to"]),
            (&format!("piece_{gap}").into(), &serde_json::json!(filled))
        );
        assert_eq!(report["unsupported"].list().len(), 10);
    }
    // Also with weights chosen by held-out games.
    assert_eq!(bench.run("tune d.bin --k 1 --out chosen").0, 0);
    let file = bench.json("chosen/params.json");
    assert_eq!(["modifier_0", "piece_60"].map(|name| parameter(&file, name, "mg")), [0.0, 50.0]);
    // A king's value cancels in sums of material, and swarms, which move every parameter, leave it unchanged.
    bench.dataset("m.bin", FeatureKind::Material, 2000, 4);
    let swarm = "pso m.bin --basis identity --radius 50 --k 1 --iterations 20 --out p";
    let (out, _) = bench.done(swarm);
    let file = bench.json("p/params.json");
    assert_eq!(["mg", "eg"].map(|phase| parameter(&file, "king", phase)), [0.0; 2]);
    assert!(parameter(&file, "queen", "mg") != 900.0, "{out}");
}
