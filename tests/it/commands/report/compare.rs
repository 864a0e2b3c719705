//! `gputexel compare` through the real binary: losses, changes and errors against their definitions, as text, JSON
//! and a page; and refused input.

use crate::common::prelude::*;

/// Creates two runs that differ in their prior strength.
fn bench() -> Bench {
    let bench = Bench::new();
    bench.dataset("d.bin", FeatureKind::Pst, 3000, 7);
    bench.tune("d.bin --out a --l2 1e-3 --errors");
    bench.tune("d.bin --out b --l2 1e-2 --errors");
    bench
}

fn compare(bench: &Bench, args: impl Words) -> Value {
    let out = bench.ok(("--json compare", args));
    serde_json::from_str(&out).unwrap()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is not a number"))
}

#[test]
fn changes_losses_and_errors_match_the_files() {
    let bench = bench();
    let found = compare(&bench, "a b/params.json --dataset d.bin --top 1000");
    let (a, b) = (bench.json("a/params.json"), bench.json("b/params.json"));
    let lists = [&a, &b].map(|file| file["parameters"].list().clone());
    let mut squares = 0.0;
    let mut expected = Vec::new();
    for (a, b) in lists[0].iter().zip(&lists[1]) {
        for phase in ["mg", "eg"] {
            let change = number(&b[phase]) - number(&a[phase]);
            squares += change * change;
            let error = a["errors"][phase]
                .as_f64()
                .zip(b["errors"][phase].as_f64())
                .map(|(x, y)| (x * x + y * y).sqrt());
            if b["occurrences"] != 0 {
                expected.push((format!("{}.{phase}", a["name"].str()), change, error.map(|e| change / e)));
            }
        }
    }
    assert_eq!(found["values"], 768);
    assert!((number(&found["rms"]) - (squares / 768.0f64).sqrt()).abs() < 1e-9);
    let changes = found["changes"].list();
    let possible = |name: &str| !(name.starts_with("pawn_") && (name.contains("1.") || name.contains("8.")));
    expected.retain(|row| possible(&row.0));
    assert_eq!(changes.len(), expected.len(), "squares that no piece can be on are left out");
    assert!(changes.is_sorted_by(|x, y| number(&x["change"]).abs() >= number(&y["change"]).abs()));
    for (name, change, in_errors) in &expected {
        let row = changes.iter().find(|row| row["name"] == name.as_str()).unwrap();
        assert!((number(&row["change"]) - change).abs() < 1e-9);
        match in_errors {
            Some(z) => assert!((number(&row["in_errors"]) - z).abs() < 1e-9, "{name}"),
            None => assert!(row["in_errors"].is_null(), "{name}"),
        }
    }
    let beyond = expected.iter().filter(|row| row.2.is_some_and(|z| z.abs() > 2.0)).count();
    assert_eq!(found["beyond_two_errors"], beyond);
    // Losses are those that `eval` prints, and so are their differences.
    let mut losses = Vec::new();
    for side in ["a", "b"] {
        let (_, out, _) = bench.run(["--json", "eval", "d.bin", &format!("{side}/params.json")]);
        let eval: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(found["losses"][side]["loss"], eval["loss"]);
        assert_eq!(found["losses"][side]["tuned_on_it"], true);
        assert!(number(&found["losses"][side]["loss_at_best_k"]) <= number(&eval["loss"]));
        losses.push(number(&eval["loss"]));
    }
    let difference = &found["losses"]["difference"];
    assert!((number(&difference["mean"]) - (losses[1] - losses[0])).abs() < 1e-12);
    assert!(number(&difference["standard_error"]) > 0.0);
    let by_errors = compare(&bench, "a b --sort errors --top 3");
    let first = number(&by_errors["changes"][0]["in_errors"]).abs();
    let most = expected.iter().filter_map(|row| row.2).map(f64::abs).fold(0.0, f64::max);
    assert!((first - most).abs() < 1e-9 && by_errors["losses"].is_null());
}

#[test]
fn piece_values_stand_for_parameters() {
    let bench = Bench::new();
    bench.dataset("d.bin", FeatureKind::Material, 2000, 7);
    bench.tune("d.bin --out a --l2 1e-3");
    let tuned = bench.json("a/params.json");
    let sum = |of: &dyn Fn(&Value) -> f64| tuned["parameters"].list().iter().map(of).sum::<f64>();
    let size = |worth: &dyn Fn(&str) -> f64| {
        let square = |p: &Value, phase: &str| (number(&p[phase]) - worth(p["name"].str())).powi(2);
        (sum(&|p| square(p, "mg") + square(p, "eg")) / 12.0).sqrt()
    };
    let worth = |name: &str| match name {
        "pawn" => 90.0,
        "knight" => 310.0,
        "bishop" => 330.0,
        "rook" => 510.0,
        "queen" => 980.0,
        _ => 0.0,
    };
    for (word, expected) in [("zero", size(&|_| 0.0)), ("material:90,310,330,510,980", size(&worth))] {
        for sides in [["a", word], [word, "a/params.json"]] {
            let found = compare(&bench, sides);
            assert_eq!(found["values"], 12);
            assert!((number(&found["rms"]) - expected).abs() < 1e-9, "{sides:?}: {found}");
        }
    }
    // The starting point is not better.
    let found = compare(&bench, "material a --dataset d.bin");
    assert!(number(&found["losses"]["difference"]["mean"]) < 0.0);
    assert_eq!(found["losses"]["a"]["tuned_on_it"], false);
    let out = bench.ok("compare material a --dataset d.bin");
    assert!(!out.contains("B is better"), "it was tuned on these positions: {out}");
    let (_, out, _) = bench.run("compare a material --html c.html");
    assert!(out.contains("material") && bench.path("c.html").is_file(), "{out}");
    bench.fails_with("compare zero material", 2, "one of the two has to be a parameter file");
    bench.fails_with("compare a schema", 2, "prior 'schema' is that of imported datasets");
    bench.fails_with("compare a material:1,2", 2, "expected material:P,N,B,R,Q");
}

#[test]
fn text_boards_and_page_agree() {
    let bench = bench();
    let out = bench.ok("compare a b --dataset d.bin --html c.html --board rook");
    assert!(!out.contains("knight, middlegame"), "{out}");
    // h8 of the rooks, from the files.
    let value = |side: &str| {
        let file = bench.json(&format!("{side}/params.json"));
        let list = file["parameters"].list();
        number(&list.iter().find(|p| p["name"] == "rook_h8").unwrap()["mg"])
    };
    let change = (value("b") - value("a")).round() as i64;
    let expected = if change == 0 { ".".to_string() } else { format!("{change:+}") };
    let rank = out.lines().skip_while(|line| !line.contains("rook, middlegame")).nth(1).unwrap();
    assert_eq!(rank.split_whitespace().nth(8), Some(expected.as_str()), "{rank}");
    let html = bench.text("c.html");
    assert!(html.contains("change against a") && !html.contains("<script"));
    bench.fails_with("compare a b --html c.html", 2, "use --force");
    // A set of parameters does not differ from itself.
    let (_, out, _) = bench.run("compare a a");
    assert!(
        out.contains("768 in both, 0 differ") && !out.contains("Largest") && !out.contains("middlegame"),
        "{out}"
    );
}

#[test]
fn reports_other_features_and_unmatched_parameters() {
    let bench = bench();
    bench.dataset("m.bin", FeatureKind::Material, 3000, 7);
    bench.tune("m.bin --out m");
    bench.fails_with("compare a m", 2, "have no parameter in common");
    let mut file = bench.json("a/params.json");
    let list = file["parameters"].as_array_mut().unwrap();
    list.retain(|parameter| parameter["group"] != "king");
    list[0]["name"] = "<b>\"pawn\"".into();
    list[0]["errors"] = Value::Null;
    bench.write("less.json", file.to_string());
    let found = compare(&bench, "a less.json");
    assert_eq!(found["only_a"].list().len(), 65);
    assert_eq!(found["only_b"], serde_json::json!(["<b>\"pawn\""]));
    bench.ok("compare a less.json --dataset d.bin --html l.html");
    let html = bench.text("l.html");
    assert!(html.contains("&lt;b&gt;&quot;pawn&quot;") && !html.contains("<b>"));
    bench.fails_with("compare a less.json --dataset m.bin", 1, "belong to feature set");
}

#[test]
fn rejects_invalid_input() {
    let bench = Bench::new();
    bench.dataset("d.bin", FeatureKind::Pst, 500, 7);
    bench.tune("d.bin --out a --epochs 1");
    for (args, code, text) in [
        ("compare a nowhere", 1, "nowhere"),
        ("compare a d.bin", 1, "d.bin"),
        ("compare a .", 1, "params.json"),
        ("compare a a --k 1", 2, "--dataset"),
        ("compare a a --board x", 2, "x"),
        ("compare a a --top 0", 2, "at least 1"),
    ] {
        bench.fails_with(args, code, text);
    }
    let mut file = bench.json("a/params.json");
    file["phase"]["max"] = 30.into();
    bench.write("phase.json", file.to_string());
    bench.fails_with("compare a phase.json", 2, "phase weights");
}
