//! Signs by name, through the real binary.

use crate::common::prelude::*;

/// Everything except knight mobility, rooks on files and the bishop pair.
const FREEZE: &str = "--freeze=pawn,knight,bishop,rook,queen,king,tempo,bishop_mobility,rook_mobility,queen_mobility,\
    passed_free,passed_blocked,passed_safe_path,passed_own_king,passed_their_king,isolated,doubled,backward,phalanx,\
    supported,outpost,bishop_pawns,king_shield,king_storm,king_file,king_attack,safe_check,pawn_threat,push_threat,\
    knight_threat,bishop_threat,rook_threat,queen_threat,king_threat";
const HOLD: [&str; 2] = ["--positive=knight_mobility,bishop_pair", "--negative=rook_file.eg"];

fn bench() -> Bench {
    let bench = Bench::new();
    bench.dataset("d.bin", FeatureKind::Classical, 3000, 7);
    bench
}

fn values(bench: &Bench, file: &str, group: &str) -> [Vec<f64>; 2] {
    let file = bench.json(file);
    let list = file["parameters"].list().iter().filter(|p| p["group"] == group);
    let list: Vec<Value> = list.cloned().collect();
    ["mg", "eg"].map(|phase| list.iter().map(|p| p[phase].f64()).collect())
}

fn holds(bench: &Bench, file: &str) -> bool {
    let positive = ["knight_mobility", "bishop_pair"].map(|group| values(bench, file, group).concat());
    positive.iter().flatten().all(|&value| value >= 0.0)
        && values(bench, file, "rook_file")[1].iter().all(|&value| value <= 0.0)
}

#[test]
fn results_satisfy_the_constraints() {
    let bench = bench();
    let tune = |out: &str, flags: &[&str], more: &str| {
        bench.tune((&["d.bin", "--k=0.8", FREEZE, "--out", out], (flags, more)))["loss"].f64()
    };
    let with = |out: &str, more: &str| tune(out, &HOLD, more);
    let (open, held) = (tune("open", &[], ""), with("held", ""));
    assert!(open < held, "{open} {held}");
    assert!(holds(&bench, "held/params.json") && !holds(&bench, "open/params.json"));
    let record = bench.json("held/z.json");
    assert_eq!(record["basis"], "identity, positive knight_mobility bishop_pair, negative rook_file.eg");
    let step = |name: &str| {
        let list = record["coordinates"].list();
        list.iter().find(|c| c["name"] == name).expect(name).clone()
    };
    assert_eq!(step("knight_mobility_4.eg")["min"], 0.0);
    assert_eq!(step("rook_open_file.eg")["max"], 0.0);
    assert_eq!(step("rook_open_file.mg")["max"], Value::Null);

    // Integers, and errors, which tied values share.
    with("whole", "--round=local --errors --bootstrap=8");
    assert!(holds(&bench, "whole/params.json"));
    let whole = bench.json("whole/params.json");
    assert!(whole["parameters"].list().iter().all(|p| p["mg"].f64().fract() == 0.0));
    let standing: Vec<Value> = bench.json("whole/z.json")["coordinates"].list().clone();
    assert!(standing.iter().any(|c| c["uncertainty"]["standing"] == "at-bound"));

    for optimizer in ["--force --optimizer=adam --epochs=30", "--force --optimizer=local --epochs=20"] {
        let loss = with("other", optimizer);
        assert!(holds(&bench, "other/params.json"), "{optimizer}");
        assert!(loss >= held * (1.0 - 1e-9), "{optimizer}: {loss} {held}");
    }
    let swarm = [
        "pso",
        "d.bin",
        "--k=0.8",
        "--basis=identity",
        FREEZE,
        "--radius=80",
        "--iterations=10",
        "--out=pso",
    ];
    bench.report((&swarm, (&HOLD, "--polish")));
    assert!(holds(&bench, "pso/params.json"));
    let sweep = ["sweep", "d.bin", "--k=0.8", FREEZE, "--grid=l2=0,1e-3", "--epochs=5", "--folds=2"];
    bench.report((&sweep, (&HOLD, "--best=best.json")));
    assert!(holds(&bench, "best.json"));
}

#[test]
fn rejects_infeasible_constraints() {
    let bench = bench();
    let refuse = |flags: &[&str], code: i32| {
        let err = bench.fails(("tune d.bin --out r --backend cpu", flags), code);
        assert!(!bench.path("r").exists(), "{flags:?}");
        err
    };
    for (flags, wanted) in [
        (&["--positive=knigth_mobility"][..], "knigth_mobility"),
        (&["--positive=tempo", "--negative=tempo.eg"], "tempo.eg"),
        (&["--positive=tempo", "--freeze=tempo"], "--positive tempo"),
    ] {
        assert_has(&refuse(flags, 2), wanted);
    }
    // Against the prior.
    bench.tune("d.bin --k=0.8 --out=first --epochs=1");
    let mut file = bench.json("first/params.json");
    for parameter in file["parameters"].as_array_mut().unwrap() {
        let value = match parameter["name"].str() {
            "bishop_pair" => -20.0,
            _ => 0.0,
        };
        (parameter["mg"], parameter["eg"]) = (json!(value), json!(value));
    }
    bench.write("p.json", file.to_string());
    let err = refuse(&["--prior=p.json", "--positive=bishop_pair.eg"], 2);
    assert!(err.contains("bishop_pair.eg") && err.contains("-20"), "{err}");
    // Against the bounds of a basis.
    let basis = |coordinates: Value| {
        let head =
            json!({ "format": "gputexel-basis", "version": 1, "name": "mine", "coordinates": coordinates });
        bench.write("b.json", head.to_string());
    };
    basis(json!([{ "name": "pair", "start": -4, "max": -3, "moves": { "bishop_pair": 1 } }]));
    let err = refuse(&["--basis=b.json", "--positive=bishop_pair"], 2);
    assert!(err.contains("leaves bishop_pair.mg no value: 'pair' would be from 0 to -3"), "{err}");

    // A sweep that trains nothing.
    bench.dataset("m.bin", FeatureKind::Material, 500, 7);
    bench.fails_with("sweep m.bin --scale=0.5:1:3 --positive=pawn", 2, "needs --grid");
}
