//! `--memory`: positions beyond the limit are in files, and results do not depend on it.

use crate::common::prelude::*;

/// Enough positions for a layout with more than one stretch.
const POSITIONS: usize = (1 << 20) + 30_000;

#[cfg(target_os = "linux")]
#[test]
fn results_do_not_depend_on_the_memory() {
    let bench = Bench::new();
    bench.dataset("many.bin", FeatureKind::Pst, POSITIONS, 7);
    let scratch = bench.path("scratch");
    std::fs::create_dir(&scratch).unwrap();
    let tune = |out: &str, more: &str| {
        let args = ["tune", "many.bin", "--backend", "cpu", "--epochs", "2", "--out", out];
        let (_, told) = bench.done((&args, more));
        told
    };
    let told = tune("whole", "");
    assert!(!told.contains("were kept in files"), "{told}");
    assert_has(&tune("little", "--memory 64M --scratch scratch"), "MB did not fit and were kept in files");
    for file in ["params.json", "tables.h", "tables.rs"] {
        assert!(bench.bytes(&format!("whole/{file}")) == bench.bytes(&format!("little/{file}")), "{file}");
    }
    assert_eq!(std::fs::read_dir(&scratch).unwrap().count(), 0, "nothing is left");
    let loss = |more: &str| bench.told(("eval many.bin whole --json", more));
    assert_eq!(loss(""), loss("--memory 64M"));
}

#[test]
fn rejects_invalid_memory_limits() {
    let bench = Bench::with_positions(500, 1);
    let refused = |args: &str, words: &str| {
        let (code, _, told) = bench.run(("tune d.bin --out run", args));
        assert!(code == 2 && told.contains(words) && told.lines().count() <= 3, "{told}");
        assert!(!bench.path("run").exists());
    };
    refused("--memory 1M", "--memory 1048576: must be at least 64M");
    refused("--memory plenty", "expected a size such as 64M or 2G");
    if cfg!(target_os = "linux") {
        refused("--scratch missing", "--scratch missing: No such file or directory");
        refused("--memory 1G --scratch /proc", "--scratch /proc: ");
        bench.write("file", "no folder");
        refused("--scratch file", "--scratch file: Not a directory");
    } else {
        refused("--memory 1G", "memory can only be limited on Linux");
    }
}
