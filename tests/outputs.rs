//! No flag makes a command write over what it reads, or write one file twice.

mod common;

use common::program::Bench;
use gputexel::model::FeatureKind;

#[test]
fn inputs_are_not_written_over() {
    let bench = Bench::new();
    bench.dataset("d.bin", FeatureKind::Pst, 400, 3);
    bench.tune(&["d.bin", "--out", "run", "--l2", "1e-3"]);
    let (code, _, err) = bench.run(&["trace", "d.bin", "-o", "t.svm", "--schema", "s.json"], "");
    assert_eq!((code, err.as_str()), (0, ""));
    std::fs::copy(bench.path("run/params.json"), bench.path("p.json")).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink("d.bin", bench.path("link.bin")).unwrap();
    #[cfg(not(unix))]
    std::fs::hard_link(bench.path("d.bin"), bench.path("link.bin")).unwrap();
    let cases: [(&[&str], &str); 13] = [
        (&["import", "t.svm", "--schema", "s.json", "-o", "s.json"], "is an input, too"),
        (&["import", "t.svm", "--schema", "s.json", "-o", "t.svm"], "is an input, too"),
        (&["import", "--schema-from", "t.svm", "-o", "t.svm"], "is an input, too"),
        (&["trace", "d.bin", "-o", "d.bin", "--schema", "new.json"], "is an input, too"),
        (&["trace", "d.bin", "-o", "new.svm", "--schema", "./d.bin"], "is an input, too"),
        (&["trace", "d.bin", "-o", "new.svm", "--schema", "run/../new.svm"], "is to be written twice"),
        (&["report", "run", "-o", "d.bin"], "is an input, too"),
        (&["report", "run", "-o", "run/params.json"], "is a part of the run"),
        (&["compare", "p.json", "run", "--html", "p.json"], "is an input, too"),
        (&["compare", "p.json", "run", "--dataset", "d.bin", "--html", "d.bin"], "is an input, too"),
        (&["sweep", "d.bin", "--scale", "0.5:2:8", "--svg", "link.bin"], "is an input, too"),
        (&["sweep", "d.bin", "--scale", "0.5:2:8", "--svg", "x", "--csv", "x"], "is to be written twice"),
        (&["export", "p.json", "--to", "c", "-o", "p.json"], "is an input, too"),
    ];
    let contents = || -> Vec<Vec<u8>> {
        ["d.bin", "t.svm", "s.json", "p.json", "run/params.json"].map(|name| bench.bytes(name)).to_vec()
    };
    let before = contents();
    for (args, said) in cases {
        let message = bench.fails(&[args, &["--force"]].concat(), 2);
        assert!(message.contains(said), "{args:?}: {message}");
        assert!(contents() == before, "{args:?} wrote over an input");
    }
    assert!(!bench.path("x").exists() && !bench.path("new.svm").exists());
}

#[test]
fn the_folder_of_a_run_stands_for_its_parameters() {
    let bench = Bench::new();
    bench.dataset("d.bin", FeatureKind::Pst, 400, 3);
    bench.tune(&["d.bin", "--out", "run", "--l2", "1e-3"]);
    let loss = |params: &str| {
        let (code, out, err) = bench.run(&["--json", "eval", "d.bin", params], "");
        assert_eq!((code, err.as_str()), (0, ""));
        serde_json::from_str::<serde_json::Value>(&out).unwrap()["loss"].as_f64().unwrap()
    };
    assert_eq!(loss("run"), loss("run/params.json"));
    bench.tune(&["d.bin", "--prior", "run", "--out", "again", "--epochs", "1"]);
    assert!(bench.fails(&["eval", "d.bin", "."], 1).contains("."));
}
