//! `gputexel extract` on training data in text: evaluations of Lichess.

use crate::common::prelude::*;

fn evaluations(count: usize) -> String {
    let line = |(i, (board, turn, result)): (usize, (String, &str, f32))| {
        let cp =
            if i % 7 == 0 { json!({"mate": 3, "line": "a"}) } else { json!({"cp": 400.0 * (result - 0.5)}) };
        let evals =
            json!([{"pvs": [cp], "depth": 30, "knodes": 5}, {"pvs": [{"cp": 1}], "depth": 29, "knodes": 9}]);
        format!("{}\n", json!({"fen": format!("{board} {turn} - -"), "evals": evals}))
    };
    positions(count).into_iter().enumerate().map(line).collect()
}

#[test]
#[ignore = "full"]
fn evaluations_of_lichess_are_targets() {
    let bench = Bench::new();
    bench.write("x.jsonl", evaluations(700));
    bench.refuse_with("x.jsonl", 1, "no results; --target score takes the scores instead");
    let (report, data) = bench.extract("x.jsonl --target score");
    assert_eq!(
        (&report["selection"]["target"], &report["selection"]["target_k"]),
        (&"score".into(), &"1".into())
    );
    let wanted = |i: usize, result: f32, k: f64| {
        let cp = if i.is_multiple_of(7) { 30_000.0 } else { f64::from(400.0 * (result - 0.5)) };
        (1.0 / (1.0 + 10f64.powf(-k * cp / 400.0))) as f32
    };
    let close = |data: &[f32], k: f64| {
        data.iter()
            .zip(positions(700))
            .enumerate()
            .all(|(i, (got, (_, _, r)))| (got - wanted(i, r, k)).abs() < 1e-6)
    };
    assert!(data.len() == 700 && close(&results(&data), 1.0));
    let (_, data) = bench.extract("x.jsonl --target score --target-k 0.5");
    assert!(close(&results(&data), 0.5));
    let (code, out, _) = bench.run("info out.bin");
    assert!(code == 0 && out.contains("target score, target_k 0.5"), "{out}");
    // Scores are not tested against themselves.
    let (_, out, _) = bench.run("check out.bin");
    assert!(out.contains("search scores") && !out.contains("search scores predict"), "{out}");
    // Positions without a score are counted; bad lines are reported.
    let line = "{\"fen\": \"4k3/8/8/8/8/8/4P3/4K3 w - -\", \"evals\": []}\n{\"fen\": 1}\n";
    bench.write("y.jsonl", evaluations(100) + line);
    let (report, data) = bench.extract("y.jsonl --target score");
    let source = &report["sources"][0];
    assert_eq!((data.len(), &source["left_out"]["positions without a score"]), (100, &1.into()));
    assert!(source["complaints"][0].str().starts_with("y.jsonl:102: no JSON of an evaluation"), "{source}");
    for (args, part) in [
        ("--target points", "--target points: expected result or score"),
        ("--target-k 2", "--target-k 2: is only for the target score"),
        ("--target score --target-k 0", "--target-k 0: must be a positive number"),
        ("--target score --preset nodraw", "--preset nodraw: leaves out drawn games"),
    ] {
        bench.refuse_with(("x.jsonl", args), 2, part);
    }
    if let Some(path) = shared("training/lichess-eval.jsonl") {
        let (report, _) = bench.extract([path.to_str().unwrap(), "--target", "score"]);
        assert_eq!(report["positions"], 1);
    }
}

#[test]
fn scores_of_other_formats_can_be_targets() {
    let bench = Bench::new();
    let text: String =
        positions(300).iter().map(|(b, t, r)| format!("{b} {t} - - | 100 | {r:.1}\n")).collect();
    bench.write("x.epd", text);
    let (_, data) = bench.extract("x.epd --target score --score-pov white");
    let wanted = (1.0 / (1.0 + 10f64.powf(-0.25))) as f32;
    assert!(data.len() == 300 && results(&data).iter().all(|result| (result - wanted).abs() < 1e-6));
}
