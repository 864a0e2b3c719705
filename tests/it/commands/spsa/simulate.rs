//! `gputexel spsa` through the real binary.

use crate::common::prelude::*;
use crate::common::spsa::built_in;

fn json(bench: &Bench, args: impl Words) -> Value {
    bench.told(("spsa", args))
}

#[test]
fn paper_table_is_shown_next_to_the_figures_of_the_paper() {
    let bench = Bench::new();
    let cells = json(&bench, "simulate --paper --repeats 8");
    let cells = cells["settings"].list();
    assert_eq!(cells.len(), 12);
    for cell in cells {
        let of = |key: &str| cell[key].as_f64().unwrap_or_else(|| panic!("{key}: {cell}"));
        assert!([1.0, 4.0, 16.0, 64.0].contains(&of("parameters")) && of("repeats") == 8.0);
        assert!(["spsa", "bspsas", "bspsa"].contains(&cell["method"].str()));
        // The spread of so few runs is known better from the paper.
        let error = of("paper_sd") * (1f64 / 8.0 + 1.0 / 50.0).sqrt();
        assert!((of("mean") - of("paper_mean")).abs() < 3.0 * error, "{cell}");
    }
}

/// Writes a configuration of spsa.pl that asks for a short simulation.
fn script(bench: &Bench) {
    bench.write("x.var", "a,100,-1000,1000,50,0.002,200\n");
    bench.write(
        "s.conf",
        "[Main]\nSimulate = 1\nVariables = x.var\nLog = l\nGameLog = g\nIterations = 400\nGamma = 0.101\nA = 40\n\
         Alpha = 0.602\n",
    );
}

#[test]
fn results_depend_on_the_seed_alone() {
    let bench = Bench::new();
    script(&bench);
    let mean =
        |more: &str| json(&bench, ("simulate --conf s.conf --repeats 20", more))["settings"][0]["mean"].f64();
    assert_eq!(mean(""), mean("--threads 1"));
    assert_ne!(mean(""), mean("--seed 6"));
    let (code, out, _) = bench.run("spsa simulate --conf s.conf --repeats 20");
    assert!(code == 0 && out.contains("rms error") && out.lines().count() == 4, "{out}");
}

#[test]
fn plans_print_the_expected_gain() {
    let bench = Bench::new();
    let flags = "plan --games 400000 --draw-rate 0.82 --repeats 32";
    let plan = json(&bench, (flags, "-p x,100,-1000,1000,100,2"));
    assert_eq!(plan["pairs"].as_u64(), Some(200_000));
    assert!((plan["tau"].f64() - 0.6).abs() < 1e-9);
    assert!((plan["parameters"][0]["r_end"].f64() / 7.3e-5 - 1.0).abs() < 0.02);
    let expected = plan["expected"].list();
    assert_eq!(expected.len(), 3);
    assert!(expected.iter().all(|e| e["mean"].f64() > 1.99), "{plan}");
    let list: String = (0..10).map(|i| format!("x{i},0,-200,200,44,0.002,5\n")).collect();
    bench.write("list", list);
    let small = "plan --games 2000 --draw-rate 0.7 --variables list";
    let plan = json(&bench, (small, "--elo 0.2 --repeats 32"));
    assert_has(&plan["warnings"].to_string(), ["too few for 0.2 Elo", "too few games for"]);
    assert!(plan["parameters"][0]["r_end"].is_null());
    let (code, out, _) = bench.run(("spsa", (small, "--elo 0.2 --repeats 8")));
    assert!(code == 0 && out.contains("too few games") && out.contains("warning"), "{out}");
}

#[test]
fn bad_settings_are_refused_in_one_line() {
    let bench = Bench::new();
    script(&bench);
    bench.write("games.toml", built_in("spsa", 12, 1));
    bench.write("b.var", "a,100,-1000,1000,220,200,600,2\n");
    bench.write("other.conf", bench.text("s.conf").replace("x.var", "b.var"));
    let cases = [
        ("simulate --conf s.conf --threads 0", 2, "0 threads: must be"),
        ("simulate --paper --repeats 0", 2, "--repeats 0: expected"),
        ("simulate --conf games.toml", 1, "games.toml: asks for games"),
        ("simulate --conf other.conf", 1, "b.var:1: 8 columns; expected 7"),
        ("plan --games 1 --draw-rate 0.5 -p x,1,0,9,1,1", 2, "--games 1: must"),
        ("plan --games 100 --draw-rate 0.5 -p x,1,0,9,20,1", 2, "the bounds 0 and 9 are left"),
        ("plan --games 100 --draw-rate 0.5", 2, "nothing to plan for"),
    ];
    for (args, expected_code, expected) in cases {
        let (code, out, err) = bench.run(("spsa", args));
        assert_eq!((code, out.as_str()), (expected_code, ""), "{args:?}: {err}");
        assert!(err.contains(expected) && err.lines().count() == 1, "{args:?}: {err}");
    }
}
