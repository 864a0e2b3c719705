//! Targets blended from results and search scores.

use crate::common::prelude::*;
use crate::common::scored_dataset;
use gputexel::dataset::Blend;

const KIND: FeatureKind = FeatureKind::Material;

fn bench() -> Bench {
    let bench = Bench::new();
    scored_dataset(&bench.path("d.bin"), KIND, 4000, 11, |_| {});
    bench
}

fn parameters(bench: &Bench, run: &str) -> Value {
    bench.json(&format!("{run}/params.json"))["parameters"].clone()
}

#[test]
#[ignore = "full"]
fn blend_equals_tuning_on_blended_results() {
    let bench = bench();
    let blend = Blend { share: 0.3, k: 0.7 };
    scored_dataset(&bench.path("labels.bin"), KIND, 4000, 11, |labels| {
        labels.result = blend.target(labels.result, labels.score_cp.unwrap_or(f32::NAN));
    });
    for (i, flags) in [
        &["--l2", "1e-4", "--errors"][..],
        &["--prior-strength", "auto", "--holdout", "0.2"],
        &["--l2", "1e-4", "--optimizer", "adam", "--epochs", "50", "--batches", "4"],
        &["--l2", "1e-4", "--round", "local", "--loss", "cross-entropy"],
    ]
    .into_iter()
    .enumerate()
    {
        let run = |data, more: &str, out: &str| bench.tune((&[data, "--out", out], (more, flags)));
        let blended = run("d.bin", "--blend 0.3 --blend-k 0.7", &format!("blended{i}"));
        let relabeled = run("labels.bin", "", &format!("labels{i}"));
        let [a, b] = [format!("blended{i}"), format!("labels{i}")].map(|run| parameters(&bench, &run));
        assert_eq!(a, b, "{flags:?}");
        for field in ["k", "loss", "loss_before", "held_out", "held_out_before"] {
            assert_eq!(blended[field], relabeled[field], "{flags:?} {field}");
        }
        assert_eq!(blended["blend"]["share"], 0.3);
        assert_eq!(blended["blend"]["k_fitted"], false);
        let results = &blended["blend"]["against_results"];
        assert_eq!(results["held_out"], flags.contains(&"--holdout"));
        assert!(results["after"].as_f64() <= results["before"].as_f64(), "{results}");
        assert_ne!(results["after"], blended["loss"]);
    }
}

#[test]
fn records_the_blend() {
    let bench = bench();
    let args = "tune d.bin --backend cpu --l2 1e-4 --blend 0.5 --out r -v";
    bench.ok(args);
    let record = bench.json("r/run.json");
    assert_eq!(record["config"]["blend"]["share"], 0.5);
    // Scores are 0.9 times those from which results with K 0.8 were drawn, minus the draws, plus noise.
    let k = record["config"]["blend"]["k"].f64();
    assert!((0.3..1.2).contains(&k), "{k}");
    assert_eq!((&record["blend"]["scored"], &record["blend"]["positions"]), (&3600.into(), &4000.into()));
    let report = bench.text("r/report.html");
    assert!(report.contains("0.5 search score (K 0."), "the report says what the targets are");
    // Recreated from the files, the report has the same targets.
    let calibration = |page: &str| page.matches("<svg").count();
    assert_eq!(bench.run("report r").0, 0);
    let again = bench.text("r/report.html");
    assert_eq!(calibration(&report), calibration(&again));
}

#[test]
fn impossible_blends_are_refused() {
    let bench = bench();
    bench.dataset("plain.bin", FeatureKind::Pst, 300, 5);
    for (flags, part) in [
        ("d.bin --blend 1.5", "--blend 1.5"),
        ("d.bin --blend half", "half"),
        ("d.bin --blend 0.5 --blend-k 0", "--blend-k 0"),
        ("plain.bin --blend 0.5", "search scores"),
    ] {
        bench.fails_with(("tune --backend cpu --out none", flags), 2, part);
        assert!(!bench.path("none").exists());
    }
}

#[test]
fn scores_are_shown_against_results() {
    let bench = Bench::new();
    scored_dataset(&bench.path("d.bin"), KIND, 3000, 7, |labels| {
        labels.score_cp = labels.score_cp.map(|score| if score > 1500.0 { 30_000.0 } else { score });
    });
    let info = bench.told("info d.bin");
    let scores = &info["contents"]["scores"];
    let rows = scores["rows"].list();
    let positions: u64 = rows.iter().map(|row| row["positions"].u64()).sum();
    assert_eq!(positions, 2700);
    let mates: Vec<&Value> = rows.iter().filter(|row| row["mate"] == true).collect();
    assert!(mates.len() == 1 && mates[0]["mean_score"] == 30_000.0, "{mates:?}");
    let means: Vec<f64> = rows.iter().map(|row| row["mean_result"].f64()).collect();
    assert!(means[0] < 0.4 && means[means.len() - 1] > 0.6, "{means:?}");
}
