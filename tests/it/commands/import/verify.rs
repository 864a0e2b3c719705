//! `gputexel verify`: engines that use the tuned values, the previous ones, or other values.

use super::bench;
use crate::common::prelude::*;
use crate::common::traces::{Made, PARAMETERS, make, schema, text, theta};
use std::fmt::Write as _;

const EVAL: usize = 5 + PARAMETERS;

/// Returns the trace of an engine that evaluates with θ, in whole centipawns.
fn traced(made: &[Made], theta: &[f64]) -> String {
    let mut out = String::new();
    for (line, one) in text(made).lines().zip(made) {
        let (row, comment) = line.split_once(" # ").unwrap();
        let _ = writeln!(out, "{row} {EVAL}:{} # {comment}", one.score(theta).trunc());
    }
    out
}

fn priors() -> Vec<f64> {
    let mg = (0..PARAMETERS).map(|i| 10.0 * i as f64);
    mg.chain((0..PARAMETERS).map(|i| 8.0 * i as f64 + 3.0)).collect()
}

/// Creates a folder with a schema, and a parameter file with the tuned values.
fn prepared(tuned: &[f64]) -> Bench {
    let schema = schema().replace(r#""game": "qid""#, &format!(r#""eval": {EVAL}, "game": "qid""#));
    let bench = bench("", &schema);
    let values = (0..PARAMETERS).map(|i| {
        let (mg, eg) = (tuned[i], tuned[i + PARAMETERS]);
        format!(r#"{{"name": "p {i}", "group": "group {}", "mg": {mg}, "eg": {eg}}}"#, i / 5)
    });
    let values: Vec<String> = values.collect();
    let head =
        r#"{"format": "gputexel-parameters", "version": 1, "feature_set": "imported", "phase": "PHASE", "#;
    let file = format!("{head}\"k\": 1.0, \"parameters\": [{}]}}", values.join(","));
    // The phase convention is that of the schema, as in the record of a run.
    bench.write("t.svm", traced(&make(300, 1, false), &priors()));
    bench.told("import t.svm --schema s.json -o d.bin");
    bench.told("tune d.bin --k 1 --epochs 1 --prior-strength none --out run");
    let phase = bench.json("run/params.json")["phase"].to_string();
    bench.write("tuned.json", file.replace("\"PHASE\"", &phase));
    bench
}

/// Verifies a trace against the tuned values; returns the exit code, the findings and the error.
fn verify(bench: &Bench, trace: &str, args: impl Words) -> (i32, Value, String) {
    bench.write("after.svm", trace);
    let (code, out, err) = bench.run(("--json verify after.svm --schema s.json --params tuned.json", args));
    if code != 0 {
        assert_one_line(&err);
    }
    (code, serde_json::from_str(&out).unwrap_or_default(), err)
}

#[test]
fn distinguishes_engines_with_the_tuned_values() {
    let (tuned, made) = (theta(3, false), make(3000, 2, false));
    let whole: Vec<f64> = tuned.iter().map(|value| value.round()).collect();
    let bench = prepared(&tuned);
    let (code, found, _) = verify(&bench, &traced(&made, &whole), "");
    assert_eq!((code, &found["verdict"], &found["whole"]), (0, &"tuned".into(), &true.into()), "{found}");
    assert_eq!((&found["compared"], &found["differing"]), (&3000.into(), &0.into()));
    // An engine may have fractions of a centipawn.
    let (code, found, _) = verify(&bench, &traced(&made, &tuned), "--tolerance 1");
    assert_eq!((code, &found["whole"]), (0, &false.into()), "{found}");
    let (code, found, _) = verify(&bench, &traced(&made, &priors()), "");
    assert_eq!((code, &found["verdict"]), (1, &"start".into()));
}

#[test]
fn names_tables_and_values_that_were_not_written() {
    let (tuned, made) = (theta(3, true), make(3000, 2, false));
    let bench = prepared(&tuned);
    // A table in both phases, a table in one, a value, and both.
    let mut table = tuned.clone();
    for i in [5, 6, 7, 8, 9] {
        (table[i], table[i + PARAMETERS]) = (priors()[i], priors()[i + PARAMETERS]);
    }
    let (code, found, err) = verify(&bench, &traced(&made, &table), "");
    assert_eq!(code, 1, "{found}");
    let causes: Vec<&str> =
        found["explanation"]["causes"].list().iter().map(|one| one["text"].str()).collect();
    assert_eq!(causes, ["'group 1' still has the values from before"], "{err}");
    assert_has(&err, causes[0]);
    // Several tables in the same order are said in one sentence.
    for i in [0, 1, 2, 3, 4] {
        (table[i], table[i + PARAMETERS]) = (priors()[i], priors()[i + PARAMETERS]);
    }
    for i in [10, 11] {
        table[i] = priors()[i];
    }
    let (_, found, err) = verify(&bench, &traced(&made, &table), "");
    let causes = found["explanation"]["causes"].list();
    assert_eq!(causes.len(), 1, "{err}");
    assert_has(causes[0]["text"].str(), "each of 'group ");
    assert_has(causes[0]["text"].str(), "'group 2' still has the middlegame values from before");
    assert_has(&err, causes[0]["text"].str());
    let mut value = tuned.clone();
    value[7] += 9.0;
    let (code, _, err) = verify(&bench, &traced(&made, &value), "");
    let told = format!("the engine plays with {} for 'p 7.mg', not with {}", value[7], tuned[7]);
    assert!(code == 1 && err.contains(&told), "{err}");
    // An evaluation that is not a sum of parameters is not explained.
    let squares: Vec<f64> = made.iter().map(|one| one.score(&tuned)).collect();
    let mut odd = String::new();
    for (line, score) in traced(&made, &tuned).lines().zip(squares) {
        let (row, comment) = line.split_once(&format!(" {EVAL}:")).unwrap();
        let comment = comment.split_once(" # ").unwrap().1;
        let _ = writeln!(odd, "{row} {EVAL}:{} # {comment}", (score * score / 50.0).trunc());
    }
    let (code, found, err) = verify(&bench, &odd, "");
    assert_eq!((code, &found["verdict"]), (1, &"other".into()), "{err}");
    assert_eq!(found["explanation"]["causes"].list().len(), 0, "{err}");
}

#[test]
fn detects_changed_traces() {
    let (tuned, made) = (theta(3, true), make(3000, 2, false));
    let bench = prepared(&tuned);
    bench.write("t.svm", traced(&made, &priors()));
    bench.told("import t.svm --schema s.json -o before.bin");
    let before = ["--before", "before.bin"];
    let (code, found, _) = verify(&bench, &traced(&made, &tuned), before);
    assert_eq!((code, &found["rows"]["changed"]), (0, &0.into()), "{found}");
    // Compiled without a term, in both the trace and the evaluation.
    let mut without = made.clone();
    without.iter_mut().for_each(|one| one.row.retain(|&(parameter, _)| parameter != 4));
    let (code, found, err) = verify(&bench, &traced(&without, &tuned), before);
    assert_eq!(
        (code, &found["verdict"], &found["differing"]),
        (1, &"other-rows".into(), &0.into()),
        "{found}"
    );
    assert!(err.contains("have other coefficients than in before.bin"), "{err}");
    // A phase computed from tuned values.
    let mut phased = made.clone();
    phased.iter_mut().for_each(|one| one.phase = if one.phase > 12 { one.phase - 2 } else { one.phase });
    let (code, found, _) = verify(&bench, &traced(&phased, &tuned), before);
    assert_eq!((code, &found["verdict"]), (1, &"other-rows".into()), "{found}");
    assert_eq!(found["rows"]["only_phase"], found["rows"]["changed"], "{found}");
    // Only in the trace: this does not show which values the engine uses.
    let whole = traced(&made, &tuned);
    let evaluations = whole.lines().map(|line| line.split_once(&format!(" {EVAL}:")).unwrap().1);
    let rows = traced(&without, &tuned);
    let mixed = rows.lines().zip(evaluations).map(|(line, evaluation)| {
        format!("{} {EVAL}:{evaluation}\n", line.split_once(&format!(" {EVAL}:")).unwrap().0)
    });
    let (code, found, err) = verify(&bench, &mixed.collect::<String>(), before);
    assert_eq!((code, &found["verdict"]), (1, &"other-rows".into()), "{found}");
    assert!(found["differing"].as_u64() > Some(100) && err.contains("have other coefficients"), "{err}");
    let (code, found, _) = verify(&bench, &traced(&made[..2000], &tuned), before);
    assert_eq!((code, &found["rows"]["changed"]), (0, &Value::Null), "{found}");
}

#[test]
#[ignore = "full"]
fn positions_with_evaluations_need_no_trace() {
    let bench = Bench::new();
    let positions = positions(512);
    let bare: String = positions
        .iter()
        .map(|(fen, turn, result)| format!("{fen} {turn} - - 0 1 | 0 | {result}\n"))
        .collect();
    bench.write("bare.txt", bare);
    bench.told("extract bare.txt --model material -o d.bin");
    bench.told("tune d.bin --k 1 --prior-strength none --round naive --out run");
    let values = bench.json("run/params.json")["parameters"].clone();
    let value = |role: usize, phase: &str| values[role][phase].f64();
    // The program's own evaluation of material, in another form.
    let evaluation = |fen: &str, own: &dyn Fn(usize, &str) -> f64| {
        let board = fen.split(' ').next().unwrap();
        let (mut mg, mut eg, mut phase) = (0.0, 0.0, 0);
        for piece in board.chars().filter_map(|piece| "PNBRQKpnbrqk".find(piece)) {
            let sign = if piece < 6 { 1.0 } else { -1.0 };
            mg += sign * own(piece % 6, "mg");
            eg += sign * own(piece % 6, "eg");
            phase += [0, 1, 1, 2, 4, 0][piece % 6];
        }
        let phase = f64::from(phase.min(24)) / 24.0;
        (mg * phase + eg * (1.0 - phase)).trunc()
    };
    let lines = |own: &dyn Fn(usize, &str) -> f64| -> String {
        let line = |(fen, turn, result): &(String, &str, f32)| {
            format!("{fen} {turn} - - 0 1 | {} | {result}\n", evaluation(fen, own))
        };
        positions.iter().map(line).collect()
    };
    let verify = ["--json", "verify", "after.txt", "--params", "run"];
    bench.write("after.txt", lines(&value));
    let (out, _) = bench.done(verify);
    let found: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&found["verdict"], &found["compared"]), (&"tuned".into(), &512.into()));
    // One value is wrong in the source.
    bench.write(
        "after.txt",
        lines(&|role, phase| value(role, phase) + f64::from(u8::from((role, phase) == (1, "eg"))) * 30.0),
    );
    let (code, out, err) = bench.run(verify);
    assert_eq!(code, 1, "{out}");
    assert!(err.contains("knight."), "{err}");
    // The model of the run defines the terms of a score; an engine's own does not.
    bench.write("after.txt", "not a position\n");
    bench.fails(&verify[1..], 1);
    let trace = prepared(&priors());
    trace.write("after.txt", lines(&value));
    let why = "its features are an engine's own";
    trace.fails_with(["verify", "after.txt", "--params", "tuned.json"], 1, why);
}

#[test]
fn rejects_unverifiable_input() {
    let made = make(300, 2, false);
    let bench = prepared(&priors());
    let (code, found, err) = verify(&bench, &traced(&made, &priors()), "");
    assert_eq!((code, &found["verdict"]), (1, &"indistinguishable".into()), "{err}");
    let (code, _, err) = verify(&bench, &text(&made), "");
    // The schema names a column that no line has.
    assert!(code == 1 && err.contains("eval"), "{err}");
    let (code, _, err) = verify(&bench, &traced(&made, &priors()), "--tolerance=-1");
    assert!(code == 2 && err.contains("tolerance -1: must be 0 or a positive number"), "{err}");
    let other = bench.json("tuned.json").to_string().replace("p 3", "knight");
    bench.write("tuned.json", other);
    let (code, _, err) = verify(&bench, &traced(&made, &priors()), "");
    assert!(
        code == 1 && err.contains("tuned.json: parameter 'knight' is not in feature set 'imported'"),
        "{err}"
    );
    bench.fails("verify none.svm --schema s.json --params tuned.json", 1);
    let asked = ["verify", "p.fens", "--params", "tuned.json", "--trace-command", "./engine trace"];
    bench.write("p.fens", "1 1/2-1/2 4k3/8/8/8/8/8/8/4K3 w - - 0 1\n");
    bench.fails_with(asked, 1, "cannot be started");
}

#[test]
fn names_changed_values_absent_from_the_trace() {
    let tuned = theta(3, true);
    // Positions without parameter 7, and an engine that nevertheless uses it.
    let hidden = format!(" {}:", 5 + 7);
    let made: Vec<Made> = make(3000, 2, false)
        .into_iter()
        .filter(|one| !text(std::slice::from_ref(one)).contains(&hidden))
        .collect();
    assert!(made.len() > 100);
    let bench = prepared(&tuned);
    let mut trace = String::new();
    for (line, one) in traced(&made, &tuned).lines().zip(&made) {
        let (shown, used) = (one.score(&tuned).trunc(), one.score(&tuned).trunc() + tuned[7]);
        let _ = writeln!(trace, "{}", line.replace(&format!(" {EVAL}:{shown}"), &format!(" {EVAL}:{used}")));
    }
    let (code, found, _) = verify(&bench, &trace, "");
    let unseen = found["unseen"].list();
    assert_eq!((code, unseen.len(), &unseen[0]["name"]), (1, 1, &"p 7".into()), "{found}");
    assert_eq!(unseen[0]["from"], serde_json::json!([priors()[7], priors()[7 + PARAMETERS]]));
    // Also reported if everything else is right.
    let (code, found, _) = verify(&bench, &traced(&made, &tuned), "");
    assert_eq!((code, found["unseen"].list().len()), (0, 1), "{found}");
}
