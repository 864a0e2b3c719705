//! Resuming a folder whose record names files that hold something else by now, and names of engines in messages.
#![cfg(unix)]

use crate::common::prelude::*;
use crate::common::spsa::uci;

/// Returns this program as an engine that creates a file when it starts.
fn engine(bench: &Bench) -> String {
    let program = assert_cmd::cargo::cargo_bin!("gputexel").display().to_string();
    bench.write("engine.sh", format!("touch started\nexec '{program}' uci --params material\n"));
    format!("sh {}", bench.path("engine.sh").display())
}

/// Runs a command that succeeds silently, and removes the trace of the engine's start.
fn begin(bench: &Bench, args: impl Words) {
    bench.ok(args);
    std::fs::remove_file(bench.path("started")).unwrap();
}

/// Overwrites a file and checks that resuming refuses to replace it, in one line and before an engine has started.
fn keeps(bench: &Bench, file: &str, text: &str, args: impl Words) {
    bench.write(file, text);
    let error = bench.fails(args, 1);
    assert!(!bench.path("started").exists(), "{error}");
    assert!(error.contains(&format!("{file} written, which holds something else")), "{error}");
    assert_eq!(bench.bytes(file), text.as_bytes());
}

#[test]
fn a_resumed_match_replaces_only_its_own_games() {
    let bench = Bench::new();
    let side = format!("cmd:{}", engine(&bench));
    let args =
        ["match", &side, "material", "--nodes", "50", "--games", "2", "--max-plies", "20", "--out", "m"];
    begin(&bench, (&args, "--pgn out.pgn"));
    let resume = ["match", "--resume", "m", "--games", "4"];
    bench.ok(resume);
    assert_eq!(bench.text("out.pgn").matches("[Event ").count(), 4);
    std::fs::remove_file(bench.path("started")).unwrap();
    keeps(&bench, "out.pgn", "[Event \"Hastings\"]\n", "match --resume m --games 6");
}

#[test]
fn a_resumed_run_by_games_replaces_only_its_own_log() {
    let bench = Bench::new();
    let command = engine(&bench);
    bench.write("run.toml", uci(&command, 3, "concurrency = 1\nlog = \"values.log\"\npgn = \"games.pgn\""));
    begin(&bench, "spsa run run.toml --out r");
    let resume = ["spsa", "run", "--resume", "r"];
    assert_eq!(bench.run(resume).0, 0);
    std::fs::remove_file(bench.path("started")).unwrap();
    keeps(&bench, "values.log", "dear diary\n", "spsa run --resume r");
}

#[test]
fn a_resumed_sweep_replaces_only_its_own_files() {
    let bench = Bench::new();
    bench.dataset("d.bin", FeatureKind::Material, 300, 1);
    let grid = "sweep d.bin --grid l2=0,1e-4 --folds 2 --csv all.csv --out w";
    assert_eq!(bench.run(grid).0, 0);
    // As if killed before it had written anything.
    let mut record = bench.json("w/sweep.json");
    record["outputs"]["written"] = false.into();
    bench.write("w/sweep.json", record.to_string());
    keeps(&bench, "all.csv", "a diary", "--quiet sweep --resume w");
    // A file named by the user is allowed.
    assert_eq!(bench.run("sweep --resume w --csv all.csv --force").0, 0);
    assert!(bench.bytes("all.csv").starts_with(b"rank,"));
}

#[test]
fn escapes_engine_names_on_terminals() {
    let bench = Bench::new();
    let program = assert_cmd::cargo::cargo_bin!("gputexel").display().to_string();
    let active = r"printf 'id name Trap\033[2J\033]0;title\007\n'";
    bench.write(
        "engine.sh",
        format!("{active}\nexec '{program}' uci --params material | sed -u '/^id name/d'\n"),
    );
    let args =
        ["match", "cmd:sh engine.sh", "material", "--nodes", "50", "--games", "2", "--max-plies", "20"];
    let (out, err) = bench.done((&args, "--out m"));
    assert!(out.contains("Trap"), "{out}");
    for text in [out, err] {
        assert!(!text.contains(|c: char| c != '\n' && c.is_control()), "{text:?}");
    }
}
