//! Output of `tune` and its report for nonlinear evaluations.

use crate::common::prelude::*;
use crate::common::programs::{program_dataset, program_theta};

/// Creates a dataset of the test's program, and starting parameters.
fn bench() -> Bench {
    let bench = Bench::new();
    let data = program_dataset(&bench.path("d.bin"), 3000, 6);
    let file = ParameterFile::new(&data.metadata().feature_set, &program_theta(), None, None);
    bench.write("start.json", file.to_json());
    bench
}

#[test]
fn report_shows_terms_factor_and_worth_of_parts() {
    let bench = bench();
    let told = bench.tune("d.bin --out r --prior start.json --l2 1e-4 --holdout 0.2 --epochs 3");
    let parts = told["program"]["worth"]["parts"].list();
    assert_eq!(told["program"]["worth"]["held_out"], true);
    assert_eq!(parts.len(), 9);
    assert_eq!(told["program"]["terms"].list().len(), 4);
    assert_eq!(told["program"]["terms"][0]["dead"], serde_json::json!([false, false]));
    assert!(told["program"]["factor"]["mean"][1].f64() > 0.0);
    let page = bench.text("r/report.html");
    let section = page.split("<section id=\"program\"").nth(1).expect("no section");
    let section = section.split("</section>").next().unwrap();
    let formula = "mg -= max(0, danger.mg)^2 / 120, White's less Black's".replace('\'', "&#39;");
    let formula = if section.contains(&formula) { formula } else { formula.replace("&#39;", "'") };
    for text in [
        formula.as_str(),
        "mean size, centipawns",
        "made 0",
        "at its largest value",
        "f10, f11, f12",
        "all of danger",
        "held-out positions",
    ] {
        assert!(section.contains(text), "{text}");
    }
    for part in parts {
        let cost = format!("{:+.8}", part["cost"].f64());
        assert!(section.contains(&cost), "{cost}");
    }
    // Rendered again from the folder and the dataset.
    let (code, ..) = bench.run("-q report r -o again.html");
    assert_eq!(code, 0);
    let again = bench.text("again.html");
    assert!(again.contains(section), "the section is not the same when it is made again");
}

#[test]
#[ignore = "full"]
fn warns_about_dead_terms() {
    let bench = bench();
    let arguments = "tune d.bin -v --epochs 1 --backend cpu --k 0.9 --out";
    // Without priors in its schema, everything starts at 0.
    let (out, err) = bench.done((arguments, "zero"));
    let warnings: Vec<&str> = err.lines().filter(|line| line.contains("switched on")).collect();
    assert_eq!(warnings.len(), 1, "{err}");
    assert!(
        warnings[0].contains(
            "the relu2 in mg, the relu in eg and the term in eg of 'danger' are never switched on in 3,000 positions under the prior: tuning"
        ),
        "{err}"
    );
    assert!(out.contains("all else as tuned; without") && out.contains("training positions"), "{out}");
    let (code, out, err) = bench.run((arguments, "good --prior start.json"));
    assert!(code == 0 && !err.contains("is switched on") && !out.contains("is switched on"), "{err}{out}");
    assert_has(&out, ["\nswitched on ", "factor      mean ", "  adjustment of eg by complexity.eg  "]);
}

#[test]
#[ignore = "full"]
fn warns_about_a_saturated_factor() {
    let bench = bench();
    let mut file = ParameterFile::parse(&bench.text("start.json"), &bench.path("start.json")).unwrap();
    let mut told = |values: [f64; 3], out: &str| {
        for (record, value) in file.parameters[10..13].iter_mut().zip(values) {
            record.eg = value;
        }
        bench.write("start.json", file.to_json());
        let arguments = "tune d.bin -v --epochs 1 --backend cpu --k 0.9 --l2 1e-6 --errors";
        let (out, _) = bench.done((arguments, &["--prior", "start.json", "--out", out]));
        out
    };
    let warning =
        "of the positions where it counts: there, nothing is known of its parameters; a larger \"max\"";
    let low = told([10.0, 1.0, -1.0], "low");
    // The middlegame values of complexity and factor are unused.
    assert!(!low.contains(warning) && low.contains("  5 that occur, but change no score there"), "{low}");
    let high = told([200.0; 3], "high");
    assert_has(&high, ["warning     the factor is at its largest value in 100.0 % ", warning]);
    // Three more occur only where the factor is at its maximum.
    assert!(high.contains("8 that occur, but change no score there"), "{high}");
    assert!(!high.contains("that never occur"), "{high}");
}
