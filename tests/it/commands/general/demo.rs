//! `gputexel demo`: the first walk-through for new users.

use crate::common::prelude::*;

#[test]
#[ignore = "full"]
fn demo_runs_and_writes_its_files() {
    let bench = Bench::new();
    let (out, _) = bench.done("demo d");
    for line in [
        "$ gputexel tune d/sample.pgn.zst --holdout 0.1 --errors --out d/tuned",
        "$ gputexel compare material d/tuned",
        "$ gputexel match d/tuned material",
        "$ gputexel export d/tuned --to c --output d/tables.h",
        "$ gputexel report d/tuned --open",
    ] {
        assert!(out.contains(&format!("\n{line}")), "{line}: {out}");
    }
    for file in ["d/tuned/report.html", "d/changes.html", "d/match/report.html", "d/tables.h"] {
        assert!(bench.bytes(file).len() > 1000, "{file}");
    }
    // Tuned values beat plain piece values.
    let found = bench.told("match --resume d/match");
    assert!(found["elo"].f64() > 50.0, "{found}");
    bench.fails_with("demo d", 1, "d: holds something already");
    bench.write("file", "x");
    assert!(bench.fails("demo file", 1).starts_with("gputexel: file: "));
    // Without a name, it takes the next free one.
    std::fs::create_dir(bench.path("gputexel-demo")).unwrap();
    let told = bench.told("demo");
    assert_eq!(told["folder"], "gputexel-demo-2");
    assert_eq!(told["commands"].list().len(), 4);
    assert!(bench.path(told["reports"][0].str()).exists());
}
