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
