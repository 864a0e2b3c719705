//! `gputexel pso` through the real binary: the same result each time, also after a kill; bounds, integers and polish;
//! bad input.

use crate::common::prelude::*;

fn bench() -> Bench {
    Bench::with_positions(2000, 7)
}

/// Runs on the CPU at K 0.8, which must succeed without output on standard error; returns the report.
fn pso(bench: &Bench, args: impl Words) -> Value {
    bench.report(("pso --backend cpu", args))
}

fn number(report: &Value, key: &str) -> f64 {
    report[key].as_f64().unwrap_or_else(|| panic!("{key}: {report}"))
}

const SHORT: [&str; 5] = ["d.bin", "--k", "0.8", "--iterations", "30"];

#[test]
#[ignore = "full"]
fn the_sample_is_tuned_within_bounds_and_on_whole_numbers() {
    let bench = Bench::new();
    let sample = extracted_games();
    let sample = sample.display().to_string();
    let flags = [sample.as_str(), "--k-e", "1.886", "--iterations", "12", "--swarms", "3", "--out"];
    let report = pso(&bench, (&flags, "r --polish"));
    assert_eq!(report["positions"], 170_946);
    assert!(number(&report, "loss") < number(&report, "swarm"));
    assert!(number(&report, "swarm") <= number(&report, "original"));
    // Single steps gain nothing more, and real numbers gain little.
    assert_eq!(report["single_steps"]["improving"], 0);
    let polish = &report["polish"];
    assert!(
        number(polish, "closed") > 0.95 && number(polish, "optimum") <= number(polish, "loss"),
        "{polish}"
    );
    let z = bench.json("r/z.json");
    assert_eq!((&z["basis"], z["coordinates"].list().len()), (&json!("madchess"), 57));
    for c in z["coordinates"].list() {
        let [value, min, max] = ["value", "min", "max"].map(|key| number(c, key));
        assert!(value.fract() == 0.0 && (min..=max).contains(&value), "{c}");
        assert_eq!(report["coordinates"][c["name"].str()], c["value"]);
    }
    // `eval` finds the same loss in the parameters.
    let (_, out, _) = bench.run(["--json", "eval", &sample, "r/params.json"]);
    let eval: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(eval["loss"], report["loss"]);

    let metrics = bench.metrics("r");
    assert_eq!(metrics.len(), 12);
    assert!(metrics.is_sorted_by(|a, b| number(a, "loss") >= number(b, "loss")));
    assert_eq!(metrics[3]["details"]["swarms"].list().len(), 3);
    // The first error is the original one.
    assert!((number(&metrics[0]["details"], "original") - number(&report, "original")).abs() < 1e-7);
}

#[test]
fn the_same_command_gives_the_same_bytes() {
    let bench = bench();
    for (variant, seed) in [("2018", "1"), ("2025", "1"), ("2025", "2")] {
        let flags = ["--variant", variant, "--seed", seed, "--polish", "--force"];
        pso(&bench, (&SHORT, (&flags, "--out a --threads 1")));
        pso(&bench, (&SHORT, (&flags, "--out b --threads 2")));
        for name in ["params.json", "z.json", "tables.h"] {
            assert!(
                bench.bytes(&format!("a/{name}")) == bench.bytes(&format!("b/{name}")),
                "{variant} {name}"
            );
        }
    }
    // Errors are reported as by other methods.
    let flags = "--optimizer pso --k 0.8 --epochs 5 --errors --out d";
    let report = bench.report(("tune --backend cpu d.bin", flags));
    assert!(report["uncertainty"]["clusters"].u64() > 0, "{report}");
    // Without polish, seeds and variants change the result.
    let best = |flags: &[&str]| number(&pso(&bench, (&SHORT, ("--out c --force", flags))), "loss");
    let (one, two, old) = (best(&["--seed", "1"]), best(&["--seed", "2"]), best(&["--variant", "2018"]));
    assert!(one != two && one != old && two != old);
    // Each constant is a flag with an effect.
    let flags = "--inertia=0.5 --own-pull=1 --swarm-pull=1 --global-pull=1 --initial-velocity=0.3 --death=0.3 \
        --restart-after=1 --swarms=5 --particles=5 --l2=0.1";
    for flag in flags.words() {
        assert_ne!(best(&[flag]), one, "{flag}");
    }
    assert_eq!(best(&["--restart-after", "never", "--death", "0.01", "--radius", "5"]), one);
}

#[test]
fn tune_runs_the_same_swarms() {
    let bench = bench();
    let flags = [&SHORT[..], &["--seed", "3", "--l2", "0.1"]].concat();
    let one = pso(&bench, (&flags, "--out a --polish"));
    let tune = ["tune", "--backend", "cpu", "--optimizer", "pso", "--round", "local", "--out", "b"];
    let other = bench.report((&tune, &flags));
    assert_eq!((&one["loss"], &one["coordinates"]), (&other["loss"], &other["coordinates"]));
    assert!(bench.bytes("a/params.json") == bench.bytes("b/params.json"));
    for flags in ["--learning-rate 1", "--damping 1", "--round naive", "--k joint"] {
        bench.fails(("tune d.bin --optimizer pso --backend cpu --out n", flags), 2);
    }
    bench.fails("tune d.bin --optimizer pso --prior-strength auto --out n", 2);
    assert!(!bench.path("n").exists());
}

#[test]
fn bases_without_bounds_get_them_from_a_radius() {
    let bench = bench();
    let run = |flags: &str| pso(&bench, (&SHORT, ("--out r --force", flags)));
    let refuse = |flags: &[&str]| bench.fails(("pso", (&SHORT, ("--out n --backend cpu", flags))), 2);
    assert!(refuse(&["--basis", "identity"]).contains("'pawn_a1.mg' has none"));
    let real = run("--basis identity --radius 40 --freeze king");
    let values: Vec<f64> = real["coordinates"].as_object().unwrap().values().map(|v| v.f64()).collect();
    assert_eq!(values.len(), 640);
    assert!(values.iter().any(|v| v.fract() != 0.0));
    let knight = |report: &Value| number(&report["coordinates"], "knight_f3.mg");
    assert!((260.0..=340.0).contains(&knight(&real)));
    let whole = run("--basis mirrored+tied --radius 40 --integers");
    assert!(whole["coordinates"].as_object().unwrap().values().all(|v| v.f64().fract() == 0.0));
    for radius in ["0", "-1", "nan", "inf"] {
        assert!(refuse(&["--basis", "identity", &format!("--radius={radius}")]).contains("--radius"));
    }
    // A loss without derivatives is polished by single steps only.
    let rough = run("--loss power:1 --polish");
    assert!(rough["polish"]["optimum"].is_null());
    assert_eq!(rough["single_steps"]["improving"], 0);
    assert!(number(&rough, "loss") < number(&rough, "swarm"));
}

#[test]
fn bad_input_is_refused_before_anything_is_written() {
    let bench = bench();
    let refuse = |flags: &[&str], code: i32| {
        let err = bench.fails(("pso d.bin --out r --backend cpu", flags), code);
        assert!(!bench.path("r").exists(), "{flags:?}");
        err
    };
    let refused = "--swarms=0 --particles=0 --iterations=0 --inertia=nan --inertia=101 --own-pull=-1 --swarm-pull=inf \
        --global-pull=nan --initial-velocity=-1 --death=1.1 --restart-after=0 --restart-after=often --variant=2020 \
        --l2=-1 --time=0 --holdout=1 --checkpoint-every=nan";
    for flag in refused.words() {
        refuse(&[flag], 2);
    }
    // More than any memory holds: the message says what is needed, and what fits.
    assert_has(&refuse(&["--particles", "100000000000"], 2), ["1,200,000,000,000 members need", " fit"]);
    assert!(refuse(&["--swarms", "18446744073709551615"], 2).contains("cannot be counted"));
    assert!(
        refuse(&["--particles", "10000000", "--basis", "identity", "--radius", "9"], 2).contains("at most")
    );

    let open = json!({ "format": "gputexel-basis", "version": 1, "name": "x", "coordinates": [{ "name": "a", "min": 0, "moves": { "knight": 1 } }] });
    bench.write("b.json", open.to_string());
    assert_has(&refuse(&["--basis", "b.json"], 2), "'a'");
    bench.dataset("m.bin", FeatureKind::Material, 500, 7);
    bench.fails("pso m.bin --out r --backend cpu", 2);
    bench.dataset("none.bin", FeatureKind::Pst, 0, 1);
    bench.fails_with("pso none.bin --out r --backend cpu", 1, "contains no positions");
}

#[test]
fn states_that_are_broken_are_refused() {
    let bench = bench();
    let flags = "-q pso d.bin --k 0.8 --iterations 1000000 --out k --checkpoint-every 0";
    let mut child = bench.spawn((flags, "--backend cpu"));
    let path = bench.path("k/checkpoint.safetensors");
    let mut good = None;
    wait_until("a step is stored", || {
        good = Checkpoint::read(&path).ok().filter(|good| good.progress.epochs > 2);
        good.is_some()
    });
    let good = good.unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let refuse = |change: &dyn Fn(&mut Checkpoint)| {
        let mut bad = good.clone();
        change(&mut bad);
        bad.write(&path).unwrap();

        bench.fails_with("pso --resume k --backend cpu", 1, "checkpoint.safetensors")
    };
    for name in good.optimizer.vectors.keys() {
        assert_has(&refuse(&|c| c.optimizer.vectors.get_mut(name).unwrap()[0] = f64::NAN), "finite");
        assert!(refuse(&|c| c.optimizer.vectors.get_mut(name).unwrap().truncate(1)).contains(name.as_str()));
    }
    assert!(
        refuse(&|c| c.optimizer.vectors.get_mut("positions").unwrap()[5] = 1e9).contains("outside the space")
    );
    refuse(&|c| c.optimizer.scalars["rng"] = json!(null));
    refuse(&|c| c.optimizer.scalars["method"] = json!("adam"));
    good.write(&path).unwrap();
    let record = bench.json("k/run.json");
    for (pointer, value) in [
        ("/config/optimizer/settings/swarms", json!(0)),
        ("/config/optimizer/settings/death", json!(2)),
        ("/config/basis/coordinates/0/max", json!(null)),
        ("/config/basis/coordinates/0/start", json!(0)),
    ] {
        let mut bad = record.clone();
        *bad.pointer_mut(pointer).unwrap() = value;
        bench.write("k/run.json", bad.to_string());
        let (code, _, err) = bench.run("pso --resume k --backend cpu");
        assert!((code == 1 || code == 2) && err.lines().count() == 1, "{pointer}: {err}");
    }
}
