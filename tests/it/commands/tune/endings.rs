//! Messages at the end of a run: the minimized loss, the starting point, and the reason for stopping.

use crate::common::prelude::*;

fn bench() -> Bench {
    Bench::with_positions(3000, 7)
}

fn printed(bench: &Bench, args: impl Words) -> String {
    bench.ok(("tune d.bin -v --backend cpu", args))
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

    let both = printed(&bench, "--out b --l2 1e-3 --prior-strength mean=1e-3,bend=1e-4");
    assert!(both.contains(": loss plus L2 1e-3 and penalties "), "{both}");
    let page = bench.text("b/report.html");
    assert!(page.contains("with regularization"), "the report lacks it");
    let one = printed(&bench, "--out c --prior-strength mean=1e-3");
    assert!(one.contains(": loss plus penalty mean\n") && !one.contains("L2"), "{one}");
    // Each kind is named once.
    let twice = "mean:pawn=1e-3,ridge:king=1e-4,mean:knight=1e-3";
    let twice = printed(&bench, ["--out", "f", "--prior-strength", twice]);
    assert_eq!(twice.matches(": loss plus penalties ").count(), 1, "{twice}");
    let line = twice.lines().find(|line| line.starts_with("regularized ")).unwrap();
    assert_eq!((line.matches("mean").count(), line.matches("ridge").count()), (1, 1), "{line}");
    // Without any, there is no line about it.
    let none = printed(&bench, "--out d --l2 0");
    assert!(!none.contains("regularized") && !none.contains("L2"), "{none}");
    assert!(bench.tune("d.bin --out e --l2 0").get("regularized_loss").is_none());
}

#[test]
fn losses_before_and_after_are_at_the_same_k() {
    let bench = bench();
    let out = printed(&bench, "--out a --l2 1e-4 --k joint");
    let line = out.lines().find(|line| line.contains("both at K ")).unwrap_or_else(|| panic!("{out}"));
    let record = bench.json("a/run.json");
    let [k, on_prior] = [&record["config"]["k"], &record["scale"]["on_prior"]].map(|k| k.f64());
    assert!(
        line.contains(&format!("both at K {k:.6};")) && line.ends_with(&format!(" {on_prior:.6}")),
        "{line}"
    );
    // The loss of the prior at its own K is the one that `eval` computes.
    let prior: f64 = line.split(" has ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    let own = bench.tune("d.bin --out b --l2 1e-4 --k prior");
    assert!((prior - own["loss_before"].f64()).abs() < 1e-9, "{line} {own}");
    assert!(!printed(&bench, "--out c --l2 1e-4 --k prior").contains("both at K"));
}

#[test]
fn the_rule_that_ended_a_run_is_named_with_its_flag() {
    let bench = bench();
    for case in [
        "--epochs 1 ~ finished    1 epoch, ",
        "--epochs 3 ~  s: epoch limit reached (--epochs 3)\n",
        "--time 1e-9 ~  s: time limit reached (--time 0.000000001)\n",
        "--gradient-norm 1 ~  s: converged: no component of the gradient exceeds 1e0 (--gradient-norm)\n",
        "--improvement 1 --window 1 ~  s: converged: relative improvement of the loss below 1e0 over 1 epoch (--improvement, --window)\n",
        "--holdout 0.2 --patience 1 --epochs 400 ~  s: no better held-out loss in 1 epoch (--patience)\n",
    ] {
        let [flags, said] = cells(case);
        assert_has(&printed(&bench, ("--out a --force --l2 0 --optimizer adam", flags)), said);
    }
    let out = printed(&bench, "--out b --l2 1e-3");
    assert!(out.contains(": converged: no step promises a lower loss"), "{out}");
    let pso = ["pso", "d.bin", "--out", "c", "--iterations", "2", "--backend", "cpu"];
    let (_, out, _) = bench.run(pso);
    assert!(out.contains(": iteration limit reached (--iterations 2)\n"), "{out}");
    // A polish is reported before the resulting regularized loss.
    let polished = [&pso[..], &["--l2", "1e-3", "--polish", "--force"]].concat();
    let (_, text, err) = bench.run(&polished);
    let [polish, regularized] = ["\npolished ", "\nregularized "].map(|start| text.find(start));
    assert!(polish.is_some() && polish < regularized, "{text}{err}");
    let mut steps = out.lines().filter(|line| line.starts_with("iteration "));
    assert!(steps.all(|line| line.chars().count() <= 120), "{out}");
}

#[test]
fn short_runs_have_short_logs() {
    let bench = bench();
    let flags = "--out a --l2 1e-3 --optimizer adam --epochs 40";
    let out = printed(&bench, flags);
    let epochs: Vec<&str> = out.lines().filter(|line| line.starts_with("epoch ")).collect();
    let (first, last) = (epochs[0], epochs[epochs.len() - 1]);
    assert!(
        first.starts_with("epoch     1 regularized loss 0.") && last.starts_with("epoch    40 "),
        "{out}"
    );
    // On a busy machine one or two more lines may be due.
    assert!(epochs.len() < 6, "{out}");
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
