//! Standard errors and bootstraps as reported by `gputexel tune`.

use crate::common::games::games;
use crate::common::prelude::*;

#[test]
fn errors_without_meaning_are_not_given() {
    let bench = Bench::new();
    games(&bench.path("d.bin"), FeatureKind::Pst, 500, 8, 1, 77);
    // Far from any minimum: all scores saturate, and almost no position has curvature.
    let flags = "tune d.bin -v --l2=0 --out r --backend cpu --k-e 60 --errors";
    let out = bench.ok((flags, "--optimizer adam --epochs 1"));
    let file = bench.json("r/params.json");
    let list = file["parameters"].list();
    let errors = || list.iter().flat_map(|p| [p["errors"]["mg"].as_f64(), p["errors"]["eg"].as_f64()]);
    assert!(errors().flatten().all(|error| error <= 10_000.0));
    assert!(errors().filter(Option::is_none).count() > 64, "{out}");
}

#[test]
#[ignore = "full"]
fn prints_errors() {
    let bench = Bench::new();
    games(&bench.path("d.bin"), FeatureKind::Pst, 500, 8, 1, 77);
    let flags = "d.bin --l2 1e-3 --holdout 0.2 --bootstrap 40";
    let report = bench.tune(("--out r --threads 1", flags));
    let uncertainty = &report["uncertainty"];
    let clusters = uncertainty["clusters"].u64();
    assert!((350..450).contains(&clusters), "{uncertainty}");
    assert_eq!(uncertainty["clustered_by"], "game");
    assert_eq!(
        (&uncertainty["bootstrap"]["members"], &uncertainty["bootstrap"]["used"]),
        (&40.into(), &40.into())
    );
    let file = bench.json("r/params.json");
    assert_eq!(file["uncertainty"]["clusters"], clusters);
    let record = |name: &str| {
        let list = file["parameters"].list();
        list.iter().find(|record| record["name"] == name).unwrap().clone()
    };
    let pawn = record("pawn_e4");
    let (error, spread) = (pawn["errors"]["mg"].f64(), &pawn["bootstrap"]["mg"]);
    assert!((0.5..2.0).contains(&(spread["error"].f64() / error)), "{pawn}");
    let value = pawn["mg"].f64();
    assert!(spread["low"].f64() < value && value < spread["high"].f64(), "{pawn}");
    let none = record("pawn_a1");
    assert!(none["errors"]["mg"].is_null() && none["bootstrap"]["eg"].is_null(), "{none}");
    assert!(none["errors"].as_object().unwrap().contains_key("mg"));
    // The same bytes with other numbers of threads; a file with errors can be used as a prior.
    bench.tune(("--out s --threads 3", flags));
    assert!(bench.bytes("r/params.json") == bench.bytes("s/params.json"));
    let again = bench.tune("d.bin --out t --prior r/params.json");
    assert!(again["uncertainty"].is_null() && bench.json("t/params.json")["uncertainty"].is_null());

    // A basis has errors by coordinate as well.
    bench.tune("d.bin --out b --basis tied --errors");
    let z = bench.json("b/z.json");
    let coordinates = z["coordinates"].list();
    assert!(coordinates.iter().any(|c| c["uncertainty"]["error"].as_f64().is_some_and(|error| error > 0.0)));
    assert!(coordinates.iter().any(|c| c["uncertainty"]["standing"] == "unsupported"));
}

#[test]
fn rejects_unanswerable_requests() {
    let bench = Bench::new();
    games(&bench.path("d.bin"), FeatureKind::Pst, 8, 20, 1, 5);
    for (flags, message) in [
        (&["--bootstrap", "1"][..], "at least 2"),
        (&["--bootstrap", "1000000000"], "at most 174762"),
        (&["--errors", "--loss", "power:1.5", "--optimizer", "adam"], "'power:1.5'"),
        (&["--errors"], "8 games"),
    ] {
        let all = [&["tune", "d.bin", "--out", "r", "--backend", "cpu"], flags].concat();
        bench.fails_with(&all, 2, message);
        assert!(!bench.path("r").exists(), "{flags:?} left a folder");
    }
}
