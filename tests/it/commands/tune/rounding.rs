//! Integers through the real binary: rounded runs, the local search, and refused input.

use crate::common::prelude::*;

fn number(report: &Value, path: &[&str]) -> f64 {
    let value = path.iter().fold(report, |value, key| &value[*key]);
    value.as_f64().unwrap_or_else(|| panic!("{path:?}: {report}"))
}

/// Returns θ of a run, which must be integers and the same in the tables.
fn whole_theta(bench: &Bench, run: &str, data: &Dataset) -> Vec<f64> {
    let path = bench.path(run).join("params.json");
    let theta = ParameterFile::read(&path).unwrap().theta(&data.metadata().feature_set, &path).unwrap();
    assert!(theta.iter().all(|value| value.fract() == 0.0), "{theta:?}");
    let text = String::from_utf8(bench.bytes(&format!("{run}/tables.h"))).unwrap();
    let table = |name: &str| -> Vec<f64> {
        let start = text.find(&format!(" {name}[64] = {{")).unwrap();
        let body = &text[start..][text[start..].find('{').unwrap() + 1..];
        let cells = body[..body.find('}').unwrap()].split(',').map(str::trim).filter(|cell| !cell.is_empty());
        cells.map(|cell| cell.parse().unwrap()).collect()
    };
    assert_eq!(table("knight_mg"), theta[64..128]);
    assert_eq!(table("rook_eg"), theta[384 + 192..384 + 256]);
    theta
}

/// Asserts that no single step of some parameters improves the exact loss.
fn assert_minimal(data: &Dataset, k: f64, theta: &[f64], which: &[u32], prior: &[f64], l2: f64) {
    let objective = Objective { k, loss: LossKind::Squared };
    let loss = |theta: &[f64]| {
        let squares: f64 = theta.iter().zip(prior).map(|(a, b)| (a - b).powi(2)).sum();
        exact_loss(data, objective, theta, which) + l2 * squares / 1e4
    };
    let here = loss(theta);
    for i in (5..theta.len()).step_by(29) {
        for by in [-1.0, 1.0] {
            let mut neighbor = theta.to_vec();
            neighbor[i] += by;
            // The sums over all positions are exact to about 1e-15.
            assert!(loss(&neighbor) > here - 1e-14, "{i} {by}: {:e}", loss(&neighbor) - here);
        }
    }
}

#[test]
#[ignore = "full"]
fn a_rounded_run_is_minimal_and_costs_less() {
    let bench = Bench::new();
    let sample = extracted_games();
    let (data, sample) = (dataset::read(&sample).unwrap(), sample.display().to_string());
    let l2 = ["--l2", "1e-5", "--blend", "0"];
    bench.tune([&[sample.as_str(), "--out", "real"], &l2[..]].concat());
    let report = bench.tune([&[sample.as_str(), "--out", "r", "--round", "local"], &l2[..]].concat());
    let naive = bench.tune([&[sample.as_str(), "--out", "n", "--round", "naive"], &l2[..]].concat());

    let theta = whole_theta(&bench, "r", &data);
    let all: Vec<u32> = (0..data.len() as u32).collect();
    let k = number(&report, &["k"]);
    let prior = gputexel::model::Prior::default().theta(&data.metadata().feature_set).unwrap();
    assert_minimal(&data, k, &theta, &all, &prior, 1e-5);
    assert_eq!(number(&report, &["single_steps", "improving"]), 0.0);
    assert!(number(&report, &["single_steps", "smallest_increase"]) > 0.0);
    assert!(number(&report, &["single_steps", "count"]) > 1300.0, "{report}");
    let objective = Objective { k, loss: LossKind::Squared };
    assert_eq!(number(&report, &["loss"]), exact_loss(&data, objective, &theta, &all));

    // The cost of rounding agrees everywhere, and is clearly less than that of naive rounding (0.60 times).
    let losses = ["loss_real", "loss_naive", "loss"].map(|key| number(&report, &["rounding", key]));
    let [real, naively, local] = losses;
    assert!(real < local && local - real < 0.65 * (naively - real), "{report}");
    assert_eq!(number(&naive, &["rounding", "loss"]), naively);
    let squares: f64 = theta.iter().zip(&prior).map(|(a, b)| (a - b).powi(2)).sum();
    assert!((number(&report, &["loss"]) + 1e-5 * squares / 1e4 - local).abs() < 1e-14);
    let file = bench.json("r/params.json");
    assert_eq!(file["provenance"]["loss"], report["loss"]);
    for (key, expected) in [("loss_real", real), ("loss_naive", naively), ("loss", local)] {
        assert_eq!(number(&file, &["provenance", "rounding", key]), expected);
    }
    assert_eq!(file["provenance"]["single_steps"]["improving"], 0);

    // Naive rounding rounds the real run, whose tables are the same.
    let rounded: Vec<f64> = {
        let path = bench.path("real/params.json");
        let real = ParameterFile::read(&path).unwrap().theta(&data.metadata().feature_set, &path).unwrap();
        assert!(real.iter().any(|value| value.fract() != 0.0));
        assert!(bench.json("real/params.json")["provenance"]["rounding"].is_null());
        real.iter().map(|value| value.round()).collect()
    };
    assert_eq!(whole_theta(&bench, "n", &data), rounded);
    // The header of the tables identifies the run.
    let tables = |run: &str| {
        let text = String::from_utf8(bench.bytes(&format!("{run}/tables.rs"))).unwrap();
        text[text.find("// gputexel: ").unwrap()..].to_string()
    };
    assert_eq!(tables("n"), tables("real"));
    assert_ne!(tables("r"), tables("real"));

    // Another number of threads gives the same.
    let flags = [&sample, "--out", "t", "--round", "local", "--threads", "3"];
    bench.tune([&flags[..], &l2].concat());
    assert!(bench.bytes("t/params.json") == bench.bytes("r/params.json"), "threads decide");
}

#[test]
fn adam_is_rounded_with_its_own_weight() {
    let bench = Bench::new();
    let data = bench.dataset("d.bin", FeatureKind::Pst, 2000, 7);
    let common = ["d.bin", "--optimizer", "adam", "--k", "0.8", "--epochs", "200", "--round", "local"];
    let report =
        bench.tune([&common[..], &["--learning-rate", "4", "--l2", "0.5,0.02", "--out", "r"]].concat());
    let l2 = if report["optimizer"].as_str().unwrap().contains("L2 0.5") { 0.5 } else { 0.02 };
    let prior = gputexel::model::Prior::default().theta(&data.metadata().feature_set).unwrap();
    let all: Vec<u32> = (0..data.len() as u32).collect();
    assert_minimal(&data, 0.8, &whole_theta(&bench, "r", &data), &all, &prior, l2);
}

#[test]
fn values_chosen_by_held_out_positions_are_not_optimized_further() {
    let bench = Bench::new();
    let data = bench.dataset("d.bin", FeatureKind::Pst, 600, 7);
    let common = ["d.bin", "--optimizer", "adam", "--k", "0.8", "--epochs", "200", "--learning-rate", "20"];
    let held = [&common[..], &["--l2", "0", "--holdout", "0.3", "--round", "local"]].concat();
    let report = bench.tune([&held[..], &["--out", "r"]].concat());
    assert!(number(&report, &["best_epoch"]) < number(&report, &["epochs"]), "{report}");
    assert_eq!(report["rounding"]["method"], "naive", "{report}");
    let theta = whole_theta(&bench, "r", &data);
    let split = Split::try_new(&data, 0.3, 1, 1).unwrap();
    let held_out: Vec<u32> = split.held_out().map(|n| n as u32).collect();
    let objective = Objective { k: 0.8, loss: LossKind::Squared };
    assert_eq!(number(&report, &["held_out"]), exact_loss(&data, objective, &theta, &held_out));
}

#[test]
#[ignore = "full"]
fn local_search_proves_its_minimum() {
    let bench = Bench::new();
    let data = bench.dataset("d.bin", FeatureKind::Pst, 2000, 7);
    let common = ["d.bin", "--optimizer", "local", "--k", "0.8", "--l2", "0.001"];
    let report = bench.tune([&common[..], &["--out", "r"]].concat());
    assert_eq!(report["reason"], "converged", "{report}");
    assert_eq!(report["members"].as_array().unwrap().len(), 1, "{report}");
    assert_eq!(number(&report, &["single_steps", "improving"]), 0.0);
    let all: Vec<u32> = (0..data.len() as u32).collect();
    let prior = gputexel::model::Prior::default().theta(&data.metadata().feature_set).unwrap();
    let theta = whole_theta(&bench, "r", &data);
    assert_minimal(&data, 0.8, &theta, &all, &prior, 0.001);
    assert!(bench.json("r/params.json")["provenance"]["rounding"].is_null());
    assert_eq!(bench.json("r/params.json")["provenance"]["single_steps"]["improving"], 0);
    // Close to the real minimum, and the same with other threads.
    let real = bench.tune(["d.bin", "--k", "0.8", "--l2", "0.001", "--out", "g"]);
    let with_l2 = |report: &Value| number(&report["members"][0], &["best"]);
    assert!(with_l2(&report) < 1.001 * with_l2(&real), "{report} {real}");
    bench.tune([&common[..], &["--out", "t", "--threads", "3"]].concat());
    assert!(bench.bytes("t/params.json") == bench.bytes("r/params.json"));
    let losses: Vec<f64> = bench.metrics("r").iter().map(|line| number(line, &["loss"])).collect();
    assert!(losses.is_sorted_by(|a, b| a > b), "{losses:?}");

    // Other step sizes lead elsewhere, also to a minimum; too few epochs do not reach one.
    let one = bench.tune([&common[..], &["--out", "one", "--step", "1"]].concat());
    assert!(one["optimizer"].as_str().unwrap().contains("steps 1)"), "{one}");
    let losses_of =
        |run: &str| bench.metrics(run).iter().map(|line| line["loss"].clone()).collect::<Vec<_>>();
    assert_ne!(losses_of("one"), losses_of("r"), "--step has no effect");
    assert_minimal(&data, 0.8, &whole_theta(&bench, "one", &data), &all, &prior, 0.001);
    let short = bench.tune([&common[..], &["--out", "s", "--epochs", "2"]].concat());
    assert_eq!(short["reason"], "epochs");
    assert!(number(&short, &["single_steps", "improving"]) > 10.0, "{short}");
    assert_eq!(number(&short, &["single_steps", "taken_exactly"]), 0.0);

    // If held-out games choose the epoch, the local search does not continue from it.
    let held = bench.tune([&common[..], &["--out", "h", "--holdout", "0.3"]].concat());
    whole_theta(&bench, "h", &data);
    assert_eq!(number(&held, &["single_steps", "taken_exactly"]), 0.0);
}

#[test]
fn a_run_that_ended_before_its_rounding_is_rounded_later() {
    let bench = Bench::new();
    bench.dataset("d.bin", FeatureKind::Pst, 2000, 7);
    for (name, flags) in [
        ("gn", &["d.bin", "--l2", "0.01", "--k", "0.8", "--round", "local"][..]),
        ("local", &["d.bin", "--l2", "0.01", "--k", "0.8", "--optimizer", "local"][..]),
    ] {
        let whole = format!("{name}-whole");
        bench.tune([flags, &["--out", &whole]].concat());
        // A folder in the way keeps the result from being written.
        std::fs::create_dir_all(bench.path(name).join("tables.rs/x")).unwrap();
        let args = ["tune", "--backend", "cpu", "--out", name, "--force"];
        bench.fails([&args[..], &["-q"], flags].concat(), 1);
        assert!(!bench.path(name).join("params.json").exists());
        std::fs::remove_dir_all(bench.path(name).join("tables.rs")).unwrap();
        let report = bench.tune(["--resume", name]);
        assert_eq!(number(&report, &["single_steps", "improving"]), 0.0);
        assert!(bench.bytes(&format!("{name}/params.json")) == bench.bytes(&format!("{whole}/params.json")));
    }
}

#[test]
fn rejects_invalid_rounding() {
    let bench = Bench::new();
    bench.dataset("d.bin", FeatureKind::Pst, 300, 7);
    for (flags, part) in [
        (&["--round", "up"][..], "'up'"),
        (&["--optimizer", "local", "--round", "local"], "--round"),
        (&["--optimizer", "local", "--learning-rate", "1"], "--learning-rate"),
        (&["--optimizer", "local", "--damping", "1"], "--damping"),
        (&["--optimizer", "local", "--l2", "1,2"], "--l2"),
        (&["--optimizer", "local", "--step", "2,4"], "descending"),
        (&["--optimizer", "local", "--step", "0"], "descending"),
        (&["--step", "4,2"], "--step"),
        (&["--optimizer", "random"], "gauss-newton"),
    ] {
        let err = bench.fails([&["tune", "d.bin", "--k", "0.8", "--out", "r"], flags].concat(), 2);
        assert!(err.contains(part), "{flags:?}: {err}");
        assert!(!bench.path("r").exists(), "{flags:?}");
    }
}
