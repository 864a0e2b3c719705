//! Bases through the real binary: runs that stay within them, and refused input.

use crate::common::prelude::*;

fn bench() -> Bench {
    Bench::with_positions(3000, 7)
}

fn coordinates(bench: &Bench, run: &str) -> Vec<Value> {
    bench.json(&format!("{run}/z.json"))["coordinates"].list().clone()
}

#[test]
fn tuning_in_a_basis_stays_in_it_and_in_its_bounds() {
    let bench = bench();
    let free = bench.tune("d.bin --out free");
    let tied = bench.tune("d.bin --out tied --basis mirrored+tied --freeze king,queen.eg");
    let mad = bench.tune("d.bin --out mad --basis madchess --k 0.8");
    let loss = |report: &Value| report["loss"].f64();
    assert!(loss(&free) < loss(&tied) && loss(&tied) < tied["loss_before"].f64());
    assert!(loss(&mad) < mad["loss_before"].f64());

    let file = bench.json("tied/params.json");
    let values = |name: &str| {
        let list = file["parameters"].list();
        let found = list.iter().find(|p| p["name"] == name).unwrap();
        (found["mg"].f64(), found["eg"].f64())
    };
    assert_eq!(values("king_e1"), (0.0, 0.0));
    assert_eq!(values("queen_d4").1, 900.0);
    assert_ne!(values("queen_d4").0, 900.0);
    assert_eq!(values("knight_c3"), values("knight_f3"));
    assert_eq!(values("knight_c3").0, values("knight_c3").1);
    // 5 pieces × 32 squares.
    assert_eq!(coordinates(&bench, "tied").len(), 160);
    let list = coordinates(&bench, "mad");
    assert_eq!(list.len(), 57);
    let mut moved = 0;
    for c in &list {
        let [value, min, max] = ["value", "min", "max"].map(|key| c[key].f64());
        assert!((min..=max).contains(&value), "{c}");
        moved += usize::from(value != 0.0);
    }
    assert!(moved > 40, "{moved}");
    assert!(!bench.path("free/z.json").exists());
    let open = bench.tune("d.bin --out open --basis madchess --k 0.8 --no-bounds");
    assert!(loss(&open) < loss(&mad));
    assert!(coordinates(&bench, "open").iter().any(|c| c["value"].f64().abs() > 32.0 && c["max"].is_null()));
}

#[test]
fn a_printed_basis_is_the_basis() {
    let bench = bench();
    for name in ["madchess", "mirrored", "identity"] {
        let text = bench.ok(["basis", name, "--freeze", "king"]);
        bench.write("b.json", text);
        let flags = "d.bin --k 0.8 --out";
        bench.tune((flags, &["a", "--force", "--basis", name, "--freeze", "king"]));
        bench.tune((flags, "b --force --basis b.json"));
        assert!(bench.bytes("a/params.json") == bench.bytes("b/params.json"), "{name}");
        assert!(bench.bytes("a/z.json") == bench.bytes("b/z.json"), "{name}");
        // Written to a file, which is then not replaced unless requested.
        let told = bench.told(("basis --freeze king --dataset d.bin -o c.json --force", name));
        assert_eq!(told["parameters"], 768);
        assert!(bench.bytes("c.json") == bench.bytes("b.json"));
        bench.fails_with(["basis", name, "-o", "c.json"], 2, "c.json: exists");
    }
}

#[test]
fn bad_bases_are_refused_before_anything_is_written() {
    let bench = bench();
    let refuse = |flags: &str, code: i32| {
        let err = bench.fails(("tune d.bin --out r --backend cpu", flags), code);
        assert!(!bench.path("r").exists(), "{flags:?}");
        err
    };
    let head = json!({ "format": "gputexel-basis", "version": 1, "name": "x" });
    let with = |coordinate: Value| {
        let mut file = head.clone();
        file["coordinates"] = json!([coordinate]);
        bench.write("b.json", serde_json::to_string_pretty(&file).unwrap());
        refuse("--basis b.json", 1)
    };
    assert!(with(json!({ "name": "a", "moves": { "knigth": 1 } })).contains("b.json:9: 'knigth' is neither"));
    assert!(with(json!({ "name": "a", "min": 1, "moves": { "knight": 1 } })).contains("exclude the start 0"));
    assert!(with(json!({ "name": "a", "min": 1, "max": 0, "moves": { "knight": 1 } })).contains("empty"));
    assert!(with(json!({ "name": "a", "moves": [1.0] })).contains("b.json:8: not a basis"));
    assert!(refuse("--basis nowhere", 2).contains("no such file"));
    assert!(refuse("--freeze kings", 2).contains("freeze 'kings'"));
    assert!(refuse("--freeze *", 2).contains("nothing is left to tune"));
    bench.dataset("m.bin", FeatureKind::Material, 500, 7);
    let why = "feature set 'material' has none";
    bench.fails_with("tune m.bin --out r --backend cpu --basis madchess", 2, why);
    bench.fails_with("tune --resume r --basis madchess", 2, "cannot be used with");

    // From a run's record, where the basis is resolved.
    bench.tune("d.bin --out k --basis madchess --k 0.8 --epochs 1");
    let record = bench.json("k/run.json");
    for (pointer, value, expected) in [
        ("/config/basis/columns/0/0/0", json!(768), "no parameter"),
        ("/config/basis/base", json!([1.0, 2.0]), "no parameter"),
        ("/config/basis/columns", json!([[[0, 1.0]]]), "57 coordinates and 1 column"),
        ("/config/basis/coordinates/3/start", json!(10.0), "lies outside"),
        ("/config/basis/coordinates/3/min", json!(5000.0), "is empty"),
        ("/config/basis/coordinates/3/name", json!("pawn.corner.mg"), "listed twice"),
    ] {
        let mut bad = record.clone();
        *bad.pointer_mut(pointer).unwrap() = value;
        bench.write("k/run.json", bad.to_string());
        bench.fails_with("tune --resume k --backend cpu", 1, ["run.json", expected]);
    }
}
