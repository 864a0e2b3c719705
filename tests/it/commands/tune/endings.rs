//! Losses at the end of a run: the minimized one, and that of the prior.

use crate::common::prelude::*;

fn bench() -> Bench {
    Bench::with_positions(3000, 7)
}

#[test]
fn reports_the_minimized_regularized_loss() {
    let bench = bench();
    let report = bench.tune("d.bin --out a --l2 1e-3");
    let [loss, regularized] = ["loss", "regularized_loss"].map(|name| report[name].f64());
    // λ ‖(θ − θ₀) / 100 cp‖², by hand.
    let (file, record) = (bench.json("a/params.json"), bench.json("a/run.json"));
    let prior = record["config"]["start"].list();
    let parameters = file["parameters"].list();
    let values = ["mg", "eg"].into_iter().flat_map(|phase| parameters.iter().map(move |p| &p[phase]));
    let squares = values.zip(prior).map(|(value, prior)| {
        let distance = (value.f64() - prior.f64()) / 100.0;
        distance * distance
    });
    let penalty = 1e-3 * squares.sum::<f64>();
    assert!(penalty > 1e-6 && (regularized - loss - penalty).abs() < 1e-9 * loss, "{penalty} {report}");
    // Lists of numbers do not take one line per number.
    assert!(bench.text("a/run.json").lines().count() < 200);

    assert!(bench.tune("d.bin --out e --l2 0").get("regularized_loss").is_none());
}

#[test]
fn losses_before_and_after_are_at_the_same_k() {
    let bench = bench();
    let out = bench.ok("tune d.bin -v --backend cpu --out a --l2 1e-4 --k joint");
    let record = bench.json("a/run.json");
    let line = out.lines().find(|line| line.contains("both at K ")).unwrap_or_else(|| panic!("{out}"));
    for k in [&record["config"]["k"], &record["scale"]["on_prior"]] {
        assert_has(line, format!("{:.6}", k.f64()));
    }
    // The loss of the prior at its own K is the one that `eval` computes.
    let prior: f64 = line.split(" has ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    let own = bench.tune("d.bin --out b --l2 1e-4 --k prior");
    assert!((prior - own["loss_before"].f64()).abs() < 1e-9, "{out} {own}");
}

#[test]
fn a_run_of_adam_that_diverges_does_not_end_the_others() {
    let bench = bench();
    let list = "--optimizer adam --learning-rate 1,1e308 --l2 1e-4 --k 1";
    let all = bench.tune(("d.bin --epochs 30 --out a", list));
    let alone = ["--optimizer", "adam", "--learning-rate", "1", "--l2", "1e-4", "--k", "1"];
    let alone = bench.tune(("d.bin --epochs 30 --out b", &alone));
    assert_eq!((&all["epochs"], &all["reason"]), (&30.into(), &"epochs".into()), "{all}");
    assert_eq!(all["loss"], alone["loss"], "{all} {alone}");
    assert!(all["optimizer"].str().contains("learning rate 1,"), "{all}");
}
