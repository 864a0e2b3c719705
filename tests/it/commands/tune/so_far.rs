//! Files of an interrupted run: its best values so far.

use crate::common::prelude::*;

#[cfg(unix)]
#[test]
#[ignore = "full"]
fn interrupted_runs_leave_their_best_values_until_they_are_resumed() {
    let bench = Bench::new();
    bench.dataset("d.bin", FeatureKind::Pst, 2000, 7);
    let flags = ["d.bin", "--optimizer", "adam", "--k", "0.8", "--epochs", "3000", "--improvement", "0"];
    let flags = [&flags[..], &["--backend", "cpu", "--threads=1", "--prior-strength", "none"]].concat();
    let child = bench.spawn(("tune --out r", &flags));
    let begun = Instant::now();
    while !bench.path("r/metrics.jsonl").exists() || bench.metrics_so_far("r") < 20 {
        assert!(begun.elapsed() < Duration::from_secs(60), "no epochs");
        std::thread::sleep(Duration::from_millis(1));
    }
    bench.shell(&format!("kill -INT {}", child.id()));
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert_one_line(&err);
    assert!(
        err.starts_with("gputexel: interrupted: after ") && err.contains("'gputexel tune --resume r'"),
        "{err}"
    );
    for name in ["so-far.json", "so-far.h", "so-far.hpp", "so-far.rs"] {
        assert!(bench.bytes(&format!("r/{name}")).len() > 1000, "{name}");
    }
    assert!(!bench.path("r/params.json").exists() && !bench.path("r/tables.h").exists());
    let file = bench.json("r/so-far.json");
    assert!(file["provenance"]["optimizer"].str().contains("interrupted after "), "{file}");
    // They match the metrics.
    let best = bench.metrics("r").iter().map(|line| line["loss"].f64()).fold(f64::INFINITY, f64::min);
    let told = bench.told("eval d.bin r/so-far.json --k 0.8");
    let loss = told["loss"].f64();
    assert!((loss - best).abs() < 1e-6 * best, "{loss} {best}");
    // The folder itself has no result.
    bench.fails_with("export r --to c", 1, "has no params.json");
    bench.tune("--resume r");
    for name in ["so-far.json", "so-far.h", "so-far.hpp", "so-far.rs"] {
        assert!(!bench.path(&format!("r/{name}")).exists(), "{name} is still there");
    }
    bench.done(("-q tune --out whole", &flags));
    assert_eq!(bench.bytes("whole/params.json"), bench.bytes("r/params.json"));
}
