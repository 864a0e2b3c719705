//! Datasets in several files, and in folders.

use crate::common::prelude::*;

#[test]
fn folder_reads_as_its_datasets() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("data")).unwrap();
    bench.write("data/notes.txt", "not a dataset");
    for (name, seed) in [("data/b.bin", 2), ("data/a.bin", 1), ("c.bin", 3)] {
        bench.dataset(name, FeatureKind::Material, 400, seed);
    }
    let tune = |inputs: &str, out: &str| {
        bench.done(("tune --backend cpu --out", (out, inputs)));
        bench.bytes(&format!("{out}/params.json"))
    };
    let named = tune("data/a.bin data/b.bin c.bin", "named");
    assert!(tune("data c.bin", "folder") == named);
    let eval = |inputs: &str| bench.told(("eval", (inputs, "named --json")));
    assert_eq!(eval("data c.bin"), eval("data/a.bin data/b.bin c.bin"));
    let checked = bench.told("check data --json");
    assert_eq!(checked["positions"], 800);
    bench.done("sweep data --scale 0.5:1:3");
    std::fs::create_dir(bench.path("empty")).unwrap();
    for command in ["tune empty --out none", "eval empty named", "check empty"] {
        let (code, _, told) = bench.run(command);
        assert!(code == 1 && told == "gputexel: empty: is a folder without datasets (*.bin)\n", "{told}");
    }
    // Duplicate positions would count twice.
    bench.fails_with("eval data data/a.bin named", 2, "data/a.bin: is given twice");
}
