//! Formats, points of view and indices of traces, and the round trip to tuned parameters.

use super::{HEAD, bench, import, refuse};
use crate::common::prelude::*;
use crate::common::traces::{PARAMETERS, make, schema, text};

#[test]
fn compression_line_ends_and_threads_change_nothing() {
    let plain = text(&make(4000, 1, false));
    let bench = bench(&plain, &schema());
    let report = import(&bench, "t.svm --threads 1", "");
    assert_eq!((report["positions"].as_u64(), report["games"].as_u64()), (Some(4000), Some(500)));
    assert_eq!((report["coefficients"].as_str(), report["scales"].as_u64()), (Some("f16"), Some(5)));
    let wanted = tensors(&bench.path("out.bin"));
    let crlf = format!("\u{feff}# made up\r\n\r\n{}", plain.replace('\n', "\r\n"));
    let unended = plain.trim_end().to_string();
    let tabs = plain.replace(' ', "\t ");
    for (name, bytes) in [
        ("crlf.svm", crlf.into_bytes()),
        ("unended.svm", unended.into_bytes()),
        ("t.svm.zst", zstd::encode_all(plain.as_bytes(), 3).unwrap()),
        ("tabs.svm", tabs.into_bytes()),
    ] {
        bench.write(name, bytes);
        import(&bench, [name, "--threads", "3"], "");
        assert!(tensors(&bench.path("out.bin")) == wanted, "{name}");
    }
    import(&bench, "-", plain.as_bytes());
    assert!(tensors(&bench.path("out.bin")) == wanted, "standard input");
    // Two traces form one dataset; their games are different even if they have the same number.
    let report = import(&bench, "t.svm tabs.svm", "");
    assert_eq!((report["positions"].as_u64(), report["games"].as_u64()), (Some(8000), Some(1000)));
}

#[test]
fn keeps_coefficients_that_half_precision_would_change() {
    let mut made = make(3000, 2, false);
    let bench = bench(text(&made), &schema());
    import(&bench, "t.svm", "");
    std::fs::rename(bench.path("out.bin"), bench.path("half.bin")).unwrap();
    // One at the end changes all to f32, including those before it. 2049 needs 12 bits.
    made[2990].row = vec![(3, 2049.0)];
    bench.write("t.svm", text(&made));
    let report = import(&bench, "t.svm", "");
    assert_eq!(report["coefficients"], "f32");
    assert_eq!(report["first_inexact"], "t.svm: 2049 of 'p 3'");
    let (half, single) = (bench.read("half.bin"), dataset::read(&bench.path("out.bin")).unwrap());
    assert!(single.has_single_precision() && !half.has_single_precision());
    let row = |data: &dataset::Dataset, n: usize| data.row(n).entries().collect::<Vec<_>>();
    (0..2990).for_each(|n| assert_eq!(row(&half, n), row(&single, n)));
    assert_eq!(row(&single, 2990), [(3, 2049.0)]);
    // Shards of both kinds form one dataset.
    let paths = [bench.path("half.bin"), bench.path("out.bin")];
    let joined = dataset::read_many(&paths).unwrap();
    assert_eq!((row(&joined, 17), row(&joined, 5990)), (row(&half, 17), vec![(3, 2049.0)]));
    let (_, told, _) = bench.run("import t.svm --schema s.json -o again.bin");
    assert_has(&told, "coefficients stored in f32: some are not exact in f16, the first t.svm: 2049");
}

/// Returns positions with either side to move, their material, and results.
fn positions() -> Vec<(&'static str, f64, f64)> {
    vec![
        ("rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2", 0.0, 0.5),
        ("4k3/8/8/8/8/8/PPPP4/4K3 w - - 0 1", 4.0, 1.0),
        ("4k3/8/8/8/8/8/PPPP4/4K3 b - - 0 1", 4.0, 1.0),
        ("3qk3/8/8/8/8/8/8/4K3 b - - 0 1", -9.0, 0.0),
        ("3qk3/8/8/8/8/8/8/4K3 w - - 0 1", -9.0, 0.25),
    ]
}

#[test]
fn points_of_view_and_phases_come_from_the_position() {
    let schema = |view: &str, results: &str| {
        format!(
            "{HEAD}\"index_base\": 0, \"comment\": \"fen\", \"phase\": {{\"fen\": \"1,1,2,4/24\"}},
             \"results\": \"{results}\", \"point_of_view\": {view},
             \"columns\": {{\"offset\": 1, \"score\": 2, \"eval\": 3}},
             \"parameters\": [{{\"name\": \"material\", \"index\": 0, \"prior\": 100}}]}}"
        )
    };
    let lines = |turned: bool, minus: bool| -> String {
        let mut text = String::new();
        for (fen, material, result) in positions() {
            let sign = if turned && fen.contains(" b ") { -1.0 } else { 1.0 };
            let result = if sign < 0.0 { 1.0 - result } else { result };
            let result = if minus { 2.0 * result - 1.0 } else { result };
            let values = [material, 7.0, 50.0 * material, 100.0 * material + 7.0].map(|v| v * sign);
            let entries: Vec<String> = values
                .iter()
                .enumerate()
                .filter(|(_, v)| **v != 0.0)
                .map(|(i, v)| format!("{i}:{v}"))
                .collect();
            text += &format!("{result} {} # {fen}\n", entries.join(" "));
        }
        text
    };
    let bench = bench(lines(false, false), &schema("\"white\"", "0..1"));
    import(&bench, "t.svm", "");
    let wanted = tensors(&bench.path("out.bin"));
    let data = bench.read("out.bin");
    assert_eq!(data.phases(), [24, 0, 0, 4, 4]);
    assert_eq!(data.results(), [0.5, 1.0, 1.0, 0.0, 0.25]);
    assert_eq!(data.static_evaluations(), [7.0, 407.0, 407.0, -893.0, -893.0]);
    assert_eq!(data.row(2).offset, 7.0);
    let each = "{\"result\": \"stm\", \"coefficients\": \"stm\", \"offset\": \"stm\", \"score\": \"stm\", \"eval\": \"stm\"}";
    for (view, results, text) in [
        ("\"stm\"", "0..1", lines(true, false)),
        (each, "0..1", lines(true, false)),
        ("\"stm\"", "-1..1", lines(true, true)),
        ("\"white\"", "-1..1", lines(false, true)),
    ] {
        bench.write("s.json", schema(view, results));
        bench.write("t.svm", &text);
        import(&bench, "t.svm", "");
        assert!(tensors(&bench.path("out.bin")) == wanted, "{view} {results}");
    }
    // Without a side to move nothing is negated, as long as everything is from the same view.
    let blind =
        schema("\"stm\"", "0..1").replace("\"comment\": \"fen\", \"phase\": {\"fen\": \"1,1,2,4/24\"},", "");
    bench.write("s.json", blind);
    bench.write("t.svm", lines(true, false));
    assert_eq!(import(&bench, "t.svm", "")["relative"], true);
    assert_eq!(bench.read("out.bin").row(2).offset, -7.0);
}

/// Results in the side to move's view, if the schema says White's, or for Black.
#[test]
fn rejects_results_that_contradict_material() {
    let schema = format!(
        "{HEAD}\"index_base\": 0, \"comment\": \"fen\",
         \"parameters\": [{{\"name\": \"material\", \"index\": 0, \"prior\": 100}}]}}"
    );
    let lines = |turned: bool, black: bool| -> String {
        (0..2000)
            .map(|n| {
                let (white_up, turn) = (n % 2 == 0, if n % 4 < 2 { 'w' } else { 'b' });
                // Four of five games are won by the side with more material.
                let white_wins = white_up != (n % 5 == 0);
                let board = if white_up { "4k3/8/8/8/8/8/PPPP4/4K3" } else { "4k3/pppp4/8/8/8/8/8/4K3" };
                let result = u8::from(white_wins != ((turned && turn == 'b') || black));
                let material = if white_up { 4 } else { -4 };
                format!("{result} 0:{material} # {board} {turn} - - 0 1\n")
            })
            .collect()
    };
    let bench = bench(lines(false, false), &schema);
    import(&bench, "t.svm", "");
    for (turned, black, part) in [
        (true, false, "as if they were from the other point of view: of 2000"),
        (false, true, "as if Black's wins were 1: of 2000"),
    ] {
        bench.write("t.svm", lines(turned, black));
        assert_has(&refuse(&bench, "t.svm --schema s.json", 1), ["\"point_of_view\"", part]);
        import(&bench, "t.svm --trust-results", "");
    }
    // Nothing is negated if everything is from the side to move's view.
    bench.write("t.svm", lines(true, false));
    bench.write("s.json", schema.replace("\"comment\": \"fen\"", "\"point_of_view\": \"stm\""));
    assert_eq!(import(&bench, "t.svm", "")["relative"], true);
}

#[test]
fn tables_of_one_kind_of_index_become_features() {
    let schema = format!(
        "{HEAD}\"index_base\": 0, \"ignore\": [9], \"phase\": {{\"middlegame\": 24, \"endgame\": 0}},
         \"columns\": {{\"phase\": 8}}, \"parameters\": [
          {{\"name\": \"mobility\", \"index\": 5, \"count\": 3, \"priors\": [1, [2, 3], 4]}},
          {{\"name\": \"sum\", \"indices\": [0, 2]}},
          {{\"name\": \"named\", \"index\": 3, \"names\": [\"x\", \"y z\"], \"group\": \"g\"}}]}}"
    );
    let bench = bench("1 0:1 2:2 4:5 6:-1 8:24 9:77\n0 0:1 2:-1 7:1\n", &schema);
    import(&bench, "t.svm", "");
    let data = bench.read("out.bin");
    let set = &data.metadata().feature_set;
    let names: Vec<(&str, &str)> = set.features.iter().map(|f| (f.name.as_str(), f.group.as_str())).collect();
    let wanted = [
        ("mobility_0", "mobility"),
        ("mobility_1", "mobility"),
        ("mobility_2", "mobility"),
        ("sum", "parameters"),
        ("x", "g"),
        ("y z", "g"),
    ];
    assert_eq!(names, wanted);
    assert_eq!(set.imported_prior().unwrap()[..3], [1.0, 2.0, 4.0]);
    assert_eq!(set.imported_prior().unwrap()[7], 3.0);
    let row = |n: usize| data.row(n).entries().collect::<Vec<_>>();
    assert_eq!(row(0), [(1, -1.0), (3, 3.0), (5, 5.0)]);
    // Coefficients of shared indices that cancel are dropped; an absent phase is 0.
    assert_eq!((row(1), data.row(1).phase), (vec![(2, 1.0)], 0));
}

#[test]
#[ignore = "full"]
fn tuning_follows_the_schema() {
    let made = make(6000, 3, false);
    let special = schema()
        .replace("\"name\": \"p 1\",", "\"name\": \"p \\\"1\\\" <b>\", \"frozen\": true,")
        .replace("\"index\": 7, \"prior\": [20, 19]", "\"index\": 7, \"prior\": 5, \"phases\": \"untapered\"")
        .replace(
            "\"index\": 8, \"prior\": [30, 27]",
            "\"index\": 8, \"prior\": [30, 27], \"min\": 29, \"max\": 31",
        )
        .replace("\"index\": 8, \"prior\": [30, 27], \"min\": 29", "\"index\": 8, \"prior\": 30, \"min\": 29")
        .replace("\"index\": 9, \"prior\": [40, 35]", "\"index\": 9, \"prior\": [40, 35], \"phases\": \"mg\"")
        .replace("\"group 1\"", "\"2nd \\\"group\\\"\"");
    let bench = bench(text(&made), &special);
    import(&bench, "t.svm", "");
    let mut first: Option<Vec<f64>> = None;
    for optimizer in ["gauss-newton", "adam"] {
        let run = format!("run-{optimizer}");
        let report = bench.tune(["out.bin", "--out", &run, "--optimizer", optimizer, "--k", "0.8"]);
        assert!(report["loss"].f64() < report["loss_before"].f64(), "{report}");
        let params = bench.json(&format!("{run}/params.json"));
        let list = params["parameters"].list();
        let of = |i: usize| (list[i]["mg"].f64(), list[i]["eg"].f64());
        assert_eq!((list[1]["name"].str(), of(1)), ("p \"1\" <b>", (10.0, 11.0)));
        assert_eq!(of(2).0, of(2).1);
        assert_ne!(of(2).0, 5.0);
        let near = |value: f64| (28.999..=31.001).contains(&value);
        assert!(near(of(3).0) && near(of(3).1), "{:?}", of(3));
        assert_eq!(of(4).1, 35.0);
        assert_ne!(of(4).0, 40.0);
        let all: Vec<f64> = list.iter().flat_map(|p| [p["mg"].f64(), p["eg"].f64()]).collect();
        let first = first.get_or_insert_with(|| all.clone());
        assert_eq!(first.len(), 2 * PARAMETERS);
    }
    // Command line flags override the schema.
    bench.tune("out.bin --out free --basis identity --prior zero --k 0.8");
    assert_ne!(bench.json("free/params.json")["parameters"][1]["mg"], 10.0);
    bench.ok("--json eval out.bin run-adam/params.json");
    let out = bench.ok("info out.bin");
    assert!(out.contains("2nd \"group\""), "{out}");
    for args in [
        "pso out.bin --out swarm --particles 8 --iterations 3 --k 0.8 --radius 50 --backend cpu",
        "sweep out.bin --folds 2 --grid learning-rate=1,3 --epochs 3 --k 0.8 --backend cpu",
        "sweep out.bin --scale 0.5:1.5:3 --backend cpu",
        "basis schema --dataset out.bin",
    ] {
        bench.done(args);
    }
    // Tables compile whatever the names of their groups.
    for (compiler, args) in [
        ("cc", ["-fsyntax-only", "-xc", "run-adam/tables.h"]),
        ("c++", ["-fsyntax-only", "-xc++", "run-adam/tables.hpp"]),
    ] {
        match std::process::Command::new(compiler).args(args).current_dir(bench.folder.path()).output() {
            Ok(output) => {
                assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            }
            Err(error) => eprintln!("skipped: {compiler}: {error}"),
        }
    }
    bench.fails_with("tune out.bin --prior material --out no", 2, "imported features are not pieces");
    bench.fails_with("uci --params run-adam/params.json", 1, "another engine");
}

fn sklearn(bench: &Bench, script: &str) -> bool {
    let has = std::process::Command::new("python3").args(["-c", "import sklearn.datasets"]).output();
    if !has.is_ok_and(|output| output.status.success()) {
        requirement::lack("scikit-learn", "python3 cannot import sklearn.datasets");
        return false;
    }
    bench.write("script.py", script);
    let output = std::process::Command::new("python3")
        .arg("script.py")
        .current_dir(bench.folder.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    true
}

#[test]
#[ignore = "full"]
fn scikit_learn_reads_and_writes_the_same_traces() {
    let made = make(400, 9, true);
    let bench = bench(text(&made), &schema());
    import(&bench, "t.svm", "");
    let wanted = tensors(&bench.path("out.bin"));
    let script = "
from sklearn.datasets import load_svmlight_file, dump_svmlight_file
x, y, q = load_svmlight_file('t.svm', query_id=True, zero_based=False)
assert x.shape == (400, 16), x.shape
dump_svmlight_file(x, y, 'again.svm', query_id=q, zero_based=False)
dump_svmlight_file(x.toarray(), y, 'dense.svm', query_id=q, zero_based=False)
";
    if !sklearn(&bench, script) {
        return;
    }
    for name in ["again.svm", "dense.svm"] {
        assert_ne!(bench.bytes(name), bench.bytes("t.svm"));
        import(&bench, [name], "");
        assert!(tensors(&bench.path("out.bin")) == wanted, "{name}");
    }
    // By default it counts from 0.
    let script = "
from sklearn.datasets import load_svmlight_file, dump_svmlight_file
x, y = load_svmlight_file('t.svm', zero_based=False)
dump_svmlight_file(x, y, 't.svm')
";
    sklearn(&bench, script);
    assert_has(&refuse(&bench, "t.svm --schema s.json", 1), "index 0: the file counts from 0");
}
