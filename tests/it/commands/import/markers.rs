//! `gputexel import --source` and `patch list`: schemas completed from markers.

use super::*;

const SCHEMA: &str = r#"{"format": "gputexel-schema", "version": 1, "index_base": 1, "comment": "fen", "division": "truncate",
    "phase": {"middlegame": 24, "endgame": 0}, "columns": {"phase": 1, "eval": 2, "game": "qid"}}"#;

const SOURCE: &str = "// gputexel: material\nconst int v[5][2] = {{82, 94}, {337, 281}, {365, 297}, {477, 512}, {1025, 936}};\n// gputexel: tempo min 0 max 50\nint tempo = 10;\n";

#[test]
fn markers_are_listed_without_a_run() {
    let bench = Bench::new();
    bench.write("a.c", SOURCE);
    let out = bench.ok("patch list a.c");
    assert_has(
        &out,
        ["a.c:1", "5 pieces", "82/94 337/281", "a.c:3", "bounds 0 to 50", "2 markers, 11 numbers"],
    );
    let report = bench.report("patch list a.c");
    assert_eq!(report["markers"][1]["parameters"][0]["name"], "tempo");
    assert_eq!(report["markers"][0]["phases"], "pairs");
    bench.write("b.c", "// gputexel: a.mg orientation a8\nint a[3] = {1, 2, 3};");
    bench.fails_with(
        "patch list a.c b.c",
        1,
        "b.c:1: 'a' is a table of 64 squares, and the array has 3 entries",
    );
}

#[test]
fn schemas_take_over_what_markers_say() {
    let bench = bench(
        "1 qid:1 1:24 2:82 3:1 # 4k3/8/8/8/8/8/4P3/4K3 w - - 0 1\n0.5 qid:2 1:0 2:10 8:1 # 4k3/8/8/8/8/8/8/4K3 w - - 0 1\n",
        SCHEMA,
    );
    bench.write("a.c", SOURCE);
    let out = bench.ok("import --schema s.json --source a.c --write-schema whole.json");
    assert_has(
        &out,
        ["material: pieces, 5 starting values from a.c:1", "tempo: 1 starting value from a.c:3"],
    );
    assert_has(&bench.text("whole.json"), [r#""index":8"#, r#""names":["pawn""#, r#""max":50.0"#]);
    bench.fails_with("import --schema s.json --source a.c --write-schema whole.json", 2, "whole.json");
    let report = bench.report("import t.svm --schema s.json --source a.c -o d.bin");
    assert_eq!(report["features"], 6);
    assert_eq!(report["origins"].list().len(), 2);
    bench.ok("import t.svm --schema whole.json -o e.bin");
    assert!(bench.read("d.bin").metadata().feature_set == bench.read("e.bin").metadata().feature_set);
    bench.write(
        "s.json",
        SCHEMA.replace(
            "\"qid\"}",
            "\"qid\"}, \"parameters\": [{\"name\": \"material\"}, {\"name\": \"tempi\"}]",
        ),
    );
    let error = refuse(&bench, "t.svm --schema s.json --source a.c", 1);
    assert_has(
        &error,
        "s.json: parameter 'tempi' has no marker in the sources and no index; did you mean 'tempo'?",
    );
}

/// Returns the program of `docs/import.md` that prints the counts of a structure.
fn program() -> &'static str {
    let page = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/import.md"));
    let section = page.split("## Engines with an `EvalTrace`").nth(1).unwrap();
    section.split("```c\n").nth(1).unwrap().split("```").next().unwrap()
}

#[test]
#[ignore = "full"]
fn structures_of_counts_need_no_parameters_in_the_schema() {
    if !requirement::program("gcc") {
        return;
    }
    let bench = Bench::new();
    bench.write("engine.c", program());
    bench.write("s.json", SCHEMA);
    let compile = |to: &str| bench.compile(&format!("gcc -std=c11 -Wall -Wextra -O1 engine.c -o {to}"));
    compile("before");
    bench.write("lines.txt", game_lines(600));
    assert_eq!(bench.shell("./before < lines.txt > t.svm").0, 0);
    bench.ok("import --schema s.json --source engine.c --write-schema whole.json");
    assert_has(&bench.ok("check t.svm --schema whole.json"), "0 of 600 differ");
    bench.ok("import t.svm --schema s.json --source engine.c -o d.bin --max-bad-share 0");
    bench.tune("d.bin --out run --l2 1e-6 --round local");
    bench.ok("patch tables run engine.c");
    compile("after");
    assert_eq!(bench.shell("./after < lines.txt > after.svm").0, 0);
    let out = bench.ok("verify after.svm --schema whole.json --params run");
    assert_has(&out, "the engine now evaluates with the tuned values");
}
