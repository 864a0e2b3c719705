//! `sweep --part` and `--merge`: separately computed parts give the same bytes as the whole.

use crate::common::prelude::*;

/// Two seeds with 130 runs each: four portions.
const GRID: &str = "sweep d.bin --grid l2=0:1e-3:26 --grid seed=1,2 --epochs 2 --backend";

fn sweep(bench: &Bench, more: &[&str]) -> (i32, String, String) {
    bench.run((GRID, ("cpu", more)))
}

#[test]
#[ignore = "full"]
fn merged_parts_are_the_whole() {
    let bench = Bench::with_positions(600, 3);
    let files = |to: &str| [format!("{to}.csv"), format!("{to}.svg"), format!("{to}.json")];
    let [csv, svg, best] = files("whole");
    assert_eq!(sweep(&bench, &["--csv", &csv, "--svg", &svg, "--best", &best, "--out", "whole"]).0, 0);
    for part in ["3/3", "1/3", "2/3"] {
        let out = format!("part{}", &part[..1]);
        let (code, told, error) = sweep(&bench, &["--part", part, "--out", &out]);
        assert!(code == 0 && told.contains(&format!("part        {part}: ")), "{told}{error}");
    }
    let [csv, svg, best] = files("merged");
    let merge = ["sweep", "--merge", "part2", "part3", "part1"];
    let write = ["--csv", &csv, "--svg", &svg, "--best", &best, "--out", "merged", "--backend", "cpu"];
    bench.done((&merge, &write));
    for (whole, merged) in files("whole").iter().zip(files("merged")) {
        assert!(bench.bytes(whole) == bench.bytes(&merged), "{whole}");
    }
    assert!(bench.bytes("whole/runs.csv") == bench.bytes("merged/runs.csv"));
    assert!(bench.path("merged/report.html").exists());
    // A merged sweep can be used like any other.
    assert_eq!(bench.run("sweep --resume merged").0, 0);
    let alone = bench.told("sweep --merge part1 part2 part3 --json");
    assert_eq!(alone["runs"], 260);
}

#[test]
fn rejects_incomplete_parts() {
    let bench = Bench::with_positions(600, 3);
    for (part, words) in [
        ("5/4", "--part 5/4: expected the number of a part"),
        ("0/4", "--part 0/4: expected"),
        ("half", "--part half: expected"),
        ("1/5", "--part 1/5: the sweep has 4 portions of runs that are trained together: at most 4 parts"),
    ] {
        let (code, _, told) = sweep(&bench, &["--part", part, "--out", "none"]);
        assert!(code == 2 && told.contains(words) && !bench.path("none").exists(), "{told}");
    }
    assert_eq!(sweep(&bench, &["--part", "1/2"]).0, 2, "a part needs a folder");
    assert_eq!(sweep(&bench, &["--part", "1/2", "--out", "a"]).0, 0);
    assert_eq!(sweep(&bench, &["--part", "1/2", "--out", "again"]).0, 0);
    assert_eq!(sweep(&bench, &["--part", "2/2", "--out", "other", "--folds", "6"]).0, 0);
    assert_eq!(sweep(&bench, &["--part", "2/3", "--out", "third"]).0, 0);
    assert_eq!(sweep(&bench, &["--out", "whole"]).0, 0);
    for (folders, code, words) in [
        (&["a"][..], 2, "part 2/2 is missing"),
        (&["a", "again"], 2, "part 1/2 is in a and in again"),
        (&["a", "other"], 1, "other: is not of the same sweep as a"),
        (&["a", "third"], 1, "third: has part 2/3, and a has part 1/2"),
        (&["a", "whole"], 1, "whole: has a whole sweep, not a part of one"),
        (&["a", "missing"], 1, "missing: there is no such folder"),
    ] {
        let args = [&["sweep", "--merge"], folders, &["--out", "merged"]].concat();
        let (got, _, told) = bench.run(&args);
        assert!(got == code && told.contains(words) && told.lines().count() == 1, "{got} {told}");
        assert!(!bench.path("merged").exists());
    }
    std::fs::remove_file(bench.path("again/checkpoint.safetensors")).unwrap();
    bench.fails_with("sweep --merge again", 1, "again: has not begun yet");
}
