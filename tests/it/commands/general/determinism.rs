//! `--verify-determinism`: results are computed twice and compared.

use crate::common::program::{Bench, assert_one_line, write_games};

#[test]
fn results_are_the_same_bytes_with_another_number_of_threads() {
    let bench = Bench::with_positions(4000, 7);
    write_games(&bench, "games.pgn");
    let commands: [(&[&str], u64); 7] = [
        (&["extract", "games.pgn", "-o", "g.bin"], 1),
        (&["extract", "games.pgn", "-o", "shards", "--shard-size", "500", "--keep-duplicates"], 2),
        (&["convert", "games.pgn", "-o", "g.plain"], 1),
        (&["tune", "d.bin", "--l2", "1e-4", "--round", "local", "--backend", "cpu", "--out", "r"], 4),
        (&["tune", "games.pgn", "--k", "0.8", "--l2", "1e-4", "--backend", "cpu", "--out", "t"], 5),
        (&["pso", "d.bin", "--iterations", "5", "--backend", "cpu", "--out", "p"], 5),
        (&["sweep", "d.bin", "--scale=0.5:1:9", "--csv", "k.csv", "--svg", "k.svg"], 2),
    ];
    for (command, at_least) in commands {
        let (code, out, err) = bench.run(&[command, &["--verify-determinism"]].concat(), "");
        assert_eq!(code, 0, "{command:?}: {err}");
        let line = out.lines().last().unwrap();
        let count = line.strip_prefix("verified    ").and_then(|rest| rest.split(' ').next());
        let count: u64 = count.unwrap_or_else(|| panic!("{command:?}: {out}")).parse().unwrap();
        assert!(count >= at_least && line.contains("the same bytes again with "), "{command:?}: {line}");
    }
    let sweep = ["sweep", "d.bin", "--grid", "l2=0,1e-4", "--folds", "2", "--epochs", "4", "--best", "best"];
    let (code, out, err) =
        bench.run(&[&sweep[..], &["--out", "s", "--verify-determinism", "--threads", "1"]].concat(), "");
    assert_eq!(code, 0, "{err}");
    assert!(out.lines().last().unwrap().ends_with("with 3 threads"), "{out}");
    // One object on standard output.
    let eval = ["--json", "convert", "games.pgn", "-o", "again.plain", "--verify-determinism"];
    let (code, out, _) = bench.run(&eval, "");
    assert_eq!((code, out.lines().count()), (0, 1), "{out}");
}

/// Results that depend on when they are made are found out.
#[test]
#[cfg(unix)]
fn what_is_not_deterministic_is_refused() {
    use std::os::unix::fs::PermissionsExt as _;

    let bench = Bench::new();
    // An engine that counts its starts, and evaluates accordingly.
    let script = "#!/bin/sh\necho >> starts\nn=$(wc -l < starts)\n\
        while read game result position; do echo \"$result qid:$game 1:12 2:$n\"; done\n";
    let path = bench.write("engine", script);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let schema = r#"{"format": "gputexel-schema", "version": 1, "index_base": 1,
        "phase": {"middlegame": 24, "endgame": 0}, "columns": {"phase": 1, "game": "qid"},
        "parameters": [{"name": "starts", "index": 2}]}"#;
    bench.write("schema.json", schema);
    write_games(&bench, "games.pgn");
    assert_eq!(bench.run(&["extract", "games.pgn", "--positions", "p.fens"], "").0, 0);
    let import =
        ["import", "p.fens", "--schema", "schema.json", "--trace-command", "./engine", "-o", "o.bin"];
    let (code, _, err) = bench.run(&[&import[..], &["--verify-determinism"]].concat(), "");
    assert_eq!(code, 1, "{err}");
    assert!(err.contains("o.bin") && err.contains("not deterministic"), "{err}");
    assert_one_line(&err);
}

#[test]
fn what_cannot_be_repeated_says_so() {
    let bench = Bench::with_positions(300, 7);
    let cases: [(&[&str], &str); 4] = [
        (&["tune", "d.bin", "--verify-determinism"], "needs --out"),
        (&["tune", "--resume", "r", "--verify-determinism"], "resumed"),
        (&["sweep", "d.bin", "--scale=0.5:1:9", "--verify-determinism"], "needs one of --out"),
        (&["extract", "-", "-o", "o.bin", "--verify-determinism"], "standard input"),
    ];
    for (command, reason) in cases {
        let (code, _, err) = bench.run(command, "");
        assert_eq!(code, 2, "{command:?}: {err}");
        assert!(err.contains(reason), "{command:?}: {err}");
    }
    assert!(!bench.path("runs").exists() && !bench.path("o.bin").exists());
}

/// The sample in the repository was made on Linux; on every system it comes out as the same bytes.
#[test]
fn the_sample_is_the_same_bytes_on_every_system() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = tempfile::tempdir().unwrap();
    let made = folder.path().join("sample.bin");
    // Its metadata has the input as it was named.
    let mut program = std::process::Command::new(env!("CARGO_BIN_EXE_gputexel"));
    let program = program.args(["-q", "extract", "data/sample.pgn.zst", "-o"]).arg(&made).current_dir(root);
    assert!(program.status().unwrap().success());
    let [made, kept] = [made, root.join("data/sample.bin")].map(|path| std::fs::read(path).unwrap());
    assert!(made == kept, "data/sample.bin is not what extract makes of the games");
}
