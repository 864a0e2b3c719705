//! `gputexel spsa` through the real binary.

use crate::common::prelude::*;

fn json(bench: &Bench, args: impl Words) -> Value {
    bench.told(("spsa", args))
}

#[test]
fn grids_are_simulated_and_drawn() {
    let bench = Bench::new();
    let flags = "simulate -N 2000 --repeats 40 --elo 50 --draw-rate 0.5";
    let grid =
        ["--method", "spsa,bspsas", "--grid", "c-end=x0.25,x1", "--grid", "a=10,500", "--svg", "g.svg"];
    let cells = json(&bench, (flags, &grid));
    let cells = cells["settings"].list();
    assert_eq!(cells.len(), 8);
    assert_eq!((cells[0]["method"].as_str(), cells[7]["method"].as_str()), (Some("spsa"), Some("bspsas")));
    assert_eq!((cells[0]["a"].as_f64(), cells[1]["a"].as_f64()), (Some(10.0), Some(500.0)));
    assert_eq!(cells[0]["variables"][0]["c_end"].as_f64(), Some(55.0));
    assert_eq!(cells[2]["variables"][0]["c_end"].as_f64(), Some(220.0));
    for cell in cells {
        assert!(cell["mean"].f64() > 1.0 && cell["sd"].f64() > 0.0, "{cell}");
        assert_eq!(cell["repeats"].as_u64(), Some(40));
    }
    let svg = bench.text("g.svg");
    assert_eq!(svg.matches("<polygon").count(), 16);
    bench.fails_with(("spsa", (flags, "--svg g.svg")), 2, "--force");
    let seeded = |seed: &str| {
        json(&bench, (flags, &["--method", "spsa", "--seed", seed]))["settings"][0]["mean"].clone()
    };
    assert_eq!(seeded("5"), seeded("5"));
    assert_ne!(seeded("5"), seeded("6"));
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

#[test]
fn clamped_perturbations_and_posteriors_are_seen_from_the_command_line() {
    let bench = Bench::new();
    let flags = "simulate --method bspsas --parameters 4 --repeats 100";
    let one = |more: &str| json(&bench, (flags, more))["settings"][0].clone();
    let mean = |cell: &Value| cell["mean"].f64();
    assert!(mean(&one("--c-end 1760")) >= 1.999 && mean(&one("--c-end 1760 --as-published")) < 0.0);
    let cell = one("");
    let ratio = cell["posterior_deviation"].f64() / cell["rms_error"].f64();
    assert!((0.75..1.25).contains(&ratio), "{cell}");
}

#[test]
fn results_do_not_depend_on_threads() {
    let bench = Bench::new();
    let flags = "simulate -N 400 --repeats 20 --elo 200";
    let means = |more: &str| -> Vec<f64> {
        let cells = json(&bench, (flags, more));
        cells["settings"].list().iter().map(|cell| cell["mean"].f64()).collect()
    };
    assert_eq!(means(""), means("--threads 1"));
}

#[test]
fn lists_integers_and_concurrency_are_simulated() {
    let bench = Bench::new();
    bench.write("v.csv", "a,20,0,60,6,0.02,60\nb,-8,-30,30,3,0.03,100\n");
    let flags = "simulate --variables v.csv -N 20000 --repeats 30 --draw-rate 0.4";
    let more = "--optimum 40,5 --integers --rounding stochastic --concurrency 8 --tau measured";
    let cells = json(&bench, (flags, more));
    for cell in cells["settings"].list() {
        let there = -cell["elo_at_start"].f64();
        assert!((there - (60.0 * 0.04 + 100.0 * 0.0169)).abs() < 1e-9);
        assert!(cell["mean"].f64() > 0.3 * there, "{cell}");
    }
    let (code, out, _) = bench.run(("spsa", flags));
    assert!(code == 0 && out.contains("posterior s") && out.lines().count() == 6, "{out}");
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
    assert_eq!(expected.len(), 4);
    assert!(expected[..3].iter().all(|e| e["mean"].f64() > 1.99), "{plan}");
    let small = "plan --games 2000 --seconds-per-move 0.1 --parameters 10 --distance 20";
    let plan = json(&bench, (small, "--elo 0.2 --repeats 32"));
    assert_has(&plan["warnings"].to_string(), ["too few for 0.2 Elo", "too few games for"]);
    assert!(plan["parameters"][0]["r_end"].is_null());
    let (code, out, _) = bench.run(("spsa", (small, "--elo 0.2 --repeats 8")));
    assert!(code == 0 && out.contains("too few games") && out.contains("warning"), "{out}");
}

#[test]
fn bad_settings_are_refused_in_one_line() {
    let bench = Bench::new();
    bench.write("v.csv", "a,20,0,60,6,0.002,60\n");
    bench.write("zero.csv", "a,20,0,60,6,0.002,0\n");
    bench.write("bad.csv", "a,20,0,60,6,0,60\n");
    let cases = [
        ("simulate --paper --parameters 4", 2, "--paper: cannot be combined with flags for the simulation"),
        ("simulate --threads 0", 2, "0 threads: must be"),
        ("simulate --c-end 0", 2, "c_end 0: must be a positive number"),
        ("simulate --r-end 0", 2, "r_end 0: must be"),
        ("simulate --c-end=-5", 2, "c_end -5: must be"),
        ("simulate --method bspsa --sigma 0", 2, "sigma 0: must be"),
        ("simulate --method bspsas --s=-1", 2, "s -1: must be"),
        ("simulate --tau nan", 2, "tau NaN: must be"),
        ("simulate --tau x", 2, "--tau x: expected"),
        ("simulate -N 0", 2, "--iterations 0"),
        ("simulate --a=-1", 2, "A -1: must"),
        ("simulate --gamma nan", 2, "gamma NaN: must"),
        ("simulate --draw-rate 1", 2, "draw rate 1: must"),
        ("simulate --repeats 0", 2, "--repeats 0: must"),
        ("simulate --parameters 0", 2, "--parameters 0: expected"),
        ("simulate --variables zero.csv", 2, "the start is as strong as can be"),
        ("simulate --variables bad.csv", 1, "bad.csv:1: a: r_end 0: must be"),
        ("simulate --variables v.csv --optimum 1,2", 2, "--optimum: 2 values for 1"),
        ("simulate --distance nan", 2, "--distance NaN: must"),
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
