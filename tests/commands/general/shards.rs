//! Datasets in several files, and in folders.

use gputexel::model::FeatureKind;

use crate::common::program::Bench;

#[test]
fn a_folder_is_the_datasets_in_it() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("data")).unwrap();
    bench.write("data/notes.txt", "not a dataset");
    for (name, seed) in [("data/b.bin", 2), ("data/a.bin", 1), ("c.bin", 3)] {
        bench.dataset(name, FeatureKind::Material, 400, seed);
    }
    let tune = |inputs: &[&str], out: &str| {
        let args = [&["tune"], inputs, &["--backend", "cpu", "--out", out]].concat();
        let (code, _, told) = bench.run(&args, "");
        assert_eq!(code, 0, "{told}");
        bench.bytes(&format!("{out}/params.json"))
    };
    let named = tune(&["data/a.bin", "data/b.bin", "c.bin"], "named");
    assert!(tune(&["data", "c.bin"], "folder") == named);
    let eval = |inputs: &[&str]| bench.told(&[&["eval"], inputs, &["named", "--json"]].concat());
    assert_eq!(eval(&["data", "c.bin"]), eval(&["data/a.bin", "data/b.bin", "c.bin"]));
    let checked = bench.told(&["check", "data", "--json"]);
    assert_eq!(checked["positions"], 800);
    let (code, _, told) = bench.run(&["sweep", "data", "--scale", "0.5:1:3"], "");
    assert_eq!(code, 0, "{told}");
    std::fs::create_dir(bench.path("empty")).unwrap();
    for command in [&["tune", "empty", "--out", "none"][..], &["eval", "empty", "named"], &["check", "empty"]]
    {
        let (code, _, told) = bench.run(command, "");
        assert!(code == 1 && told == "gputexel: empty: is a folder without datasets (*.bin)\n", "{told}");
    }
    // Twice the same positions would count twice.
    let (code, _, told) = bench.run(&["eval", "data", "data/a.bin", "named"], "");
    assert!(code == 2 && told.contains("data/a.bin: is given twice"), "{told}");
}
