//! `--json`: every command answers with one object, and a new one cannot be forgotten here.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value;

use crate::common::program::{Bench, pgn};
use crate::common::spsa::built_in;
use gputexel::model::FeatureKind;

/// Commands that speak to somebody else, and why there is no object.
const OTHERS: [(&str, &str); 2] = [
    ("uci", "speaks UCI, and says that --json makes no sense"),
    ("worker", "plays until it is stopped, for a server"),
];

/// The commands below one, as its help lists them.
fn commands_in(path: &[&str]) -> Vec<String> {
    let out = Command::new(env!("CARGO_BIN_EXE_gputexel")).args(path).arg("--help").output().unwrap();
    let help = String::from_utf8(out.stdout).unwrap();
    let list = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = list.take_while(|line| !line.is_empty()).filter_map(|line| line.strip_prefix("  "));
    let names = names.filter(|line| !line.starts_with(' ')).filter_map(|line| line.split(' ').next());
    names.filter(|name| *name != "help").map(str::to_string).collect()
}

#[test]
fn every_command_answers_with_one_object() {
    let bench = Bench::new();
    bench.dataset("d.bin", FeatureKind::Pst, 3000, 7);
    bench.write(
        "g.pgn",
        pgn("", "1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Ba4 Nf6 5. O-O Be7 6. Re1 b5 7. Bb3 d6 8. c3 O-O", "1-0"),
    );
    bench.write("p.fens", "1 1-0 rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1\n");
    bench.write("run.toml", built_in("spsa", 6, 1));
    bench.write("t.c", "int mg[64]; // gputexel: knight.mg\nint x = 5;\n");
    let mut scored = String::new();
    for i in 0..300 {
        let (score, result) =
            [(-2.5, "0-1"), (0.1, "1/2-1/2"), (2.0, "1-0"), (1.0, "1/2-1/2"), (0.9, "1-0")][i % 5];
        scored += &format!(
            "[Result \"{result}\"]\n\n1. e4 {{{score:+.2}/8 0.1s}} e5 {{{:+.2}/8 0.1s}} {result}\n\n",
            -score
        );
    }
    bench.write("scored.pgn", scored);
    let lines: &[&[&str]] = &[
        &["tune", "d.bin", "--out", "r", "--backend", "cpu"],
        &["demo", "demo"],
        &["sweep", "d.bin", "--grid", "l2=0,1e-4", "--epochs", "2", "--backend", "cpu"],
        &["sweep", "d.bin", "--scale", "0.5:1.5:5", "--backend", "cpu"],
        &["pso", "d.bin", "--iterations", "3", "--out", "p", "--backend", "cpu"],
        &["extract", "g.pgn", "-o", "e.bin"],
        &["convert", "g.pgn", "-o", "c.fens"],
        &["trace", "d.bin", "-o", "t.csv", "--schema", "t.json"],
        &["import", "t.csv", "--schema", "t.json", "-o", "i.bin"],
        &["check", "d.bin"],
        &["info", "d.bin"],
        &["eval", "d.bin", "r"],
        &["compare", "r", "material"],
        &["report", "r"],
        &["export", "r", "--to", "c"],
        &["export", "r", "--to", "json"],
        &["export", "r", "-o", "t.h"],
        &["import-params", "t.h", "-o", "back.json"],
        &["match", "r", "material", "--nodes", "20", "--games", "4", "--out", "m"],
        &["selfplay", "--nodes", "20", "--games", "2", "-o", "s.pgn"],
        &["features"],
        &["basis", "mirrored"],
        &["wdl", "scored.pgn", "--degree", "0", "--target", "78"],
        &["wdl", "scored.pgn", "--degree", "0", "--target", "78", "--to", "cpp"],
        &["devices"],
        &["bench", "--seconds", "0.01", "--device", "cpu"],
        &["completions", "bash"],
        &["man"],
        &["spsa", "run", "run.toml", "--out", "g"],
        &["spsa", "report", "g"],
    ];
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    for args in lines {
        let (code, out, err) = bench.run(&[&["--json"], *args].concat(), "");
        assert_eq!(code, 0, "{args:?}: {err}");
        let value: Value =
            serde_json::from_str(&out).unwrap_or_else(|error| panic!("{args:?}: {error}: {out}"));
        assert!(value.is_object(), "{args:?}: {out}");
        seen.insert(args[0]);
    }
    // What is tested elsewhere, with engines, sources and servers of its own.
    seen.extend(["patch", "rescore", "serve", "verify"]);
    seen.extend(OTHERS.map(|(name, _)| name));
    let missing: Vec<String> =
        commands_in(&[]).into_iter().filter(|name| !seen.contains(name.as_str())).collect();
    assert!(missing.is_empty(), "not tried: {missing:?}");
    assert!(bench.fails(&["--json", "uci"], 2).contains("--json: uci speaks"));
}
