//! `--json` and `--quiet`: every command prints one object, or nothing, and no command can be forgotten here.

use crate::common::prelude::*;
use crate::common::spsa::built_in;
use crate::common::traces;
use std::process::Command;

/// Commands whose standard output is used otherwise, with the reason.
const OTHERS: [(&str, &str); 2] = [
    ("uci", "speaks UCI, and says that --json makes no sense"),
    ("worker", "plays until it is stopped, for a server"),
];

fn commands_in(path: &[&str]) -> Vec<String> {
    let out = Command::new(env!("CARGO_BIN_EXE_gputexel")).args(path).arg("--help").output().unwrap();
    let help = String::from_utf8(out.stdout).unwrap();
    let list = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = list.take_while(|line| !line.is_empty()).filter_map(|line| line.strip_prefix("  "));
    let names = names.filter(|line| !line.starts_with(' ')).filter_map(|line| line.split(' ').next());
    names.filter(|name| *name != "help").map(str::to_string).collect()
}

/// Every command with small inputs, in an order in which each finds its inputs.
const LINES: &[&[&str]] = &[
    &["tune", "d.bin", "--out", "r", "--backend", "cpu", "--l2", "1e-4"],
    &["sweep", "d.bin", "--grid", "l2=0,1e-4", "--epochs", "2", "--backend", "cpu"],
    &["sweep", "d.bin", "--scale", "0.5:1.5:5", "--backend", "cpu"],
    &["pso", "d.bin", "--iterations", "3", "--out", "p", "--backend", "cpu"],
    &["extract", "g.pgn", "-o", "e.bin"],
    &["convert", "g.pgn", "-o", "c.fens"],
    &["import", "t.svm", "--schema", "t.json", "-o", "i.bin"],
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
    &["rescore", "p.fens", "--engine", "material", "--nodes", "20", "-o", "s.binpack"],
    &["learn", "--games", "12", "--label-nodes", "10", "--match-games", "2", "--hours", "1e-6", "-o", "l"],
    &["improve", "r", "--pairs", "4", "--test-games", "4", "--nodes", "20", "-o", "better"],
    &["features"],
    &["basis", "mirrored"],
    &["devices"],
    &["bench", "--seconds", "0.01", "--device", "cpu"],
    &["completions", "bash"],
    &["trace", "--new", "cpp"],
    &["spsa", "init", "--params", "material", "-o", "new.toml"],
    &["spsa", "convert", "new.toml", "--to", "toml"],
    &["spsa", "plan", "--games", "4000", "--draw-rate", "0.5", "-p", "x,1,0,9,1,2", "--repeats", "2"],
    &["spsa", "simulate", "--conf", "s.conf", "--repeats", "2"],
    &["spsa", "run", "run.toml", "--out", "g", "--verify", "2"],
    &["spsa", "report", "g"],
    &["spsa", "verify", "g", "--games", "2"],
    &["patch", "check", "x.tune", "source"],
    &["patch", "tune", "x.tune", "source"],
    &["patch", "apply", "x.tune", "source", "-n"],
    &["patch", "undo", "source"],
    &["patch", "tables", "r", "source/t.c", "--trust-marker"],
    &["patch", "list", "source/t.c"],
    &["patch", "expose", "source/t.c"],
    &["patch", "restore", "source/t.c"],
];

/// Commands that write a file to standard output.
const FILES: [&[&str]; 6] = [
    &["export", "r", "--to", "c"],
    &["export", "r", "--to", "json"],
    &["basis", "mirrored"],
    &["completions", "bash"],
    &["trace", "--new", "cpp"],
    &["spsa", "convert", "new.toml", "--to", "toml"],
];

fn bench() -> Bench {
    let bench = Bench::new();
    bench.dataset("d.bin", FeatureKind::Pst, 1100, 7);
    bench.write("t.svm", traces::text(&traces::make(8, 1, false)));
    bench.write("t.json", traces::schema());
    bench.write(
        "g.pgn",
        pgn("", "1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Ba4 Nf6 5. O-O Be7 6. Re1 b5 7. Bb3 d6 8. c3 O-O", "1-0"),
    );
    bench.write("p.fens", "1 1-0 rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1\n");
    bench.write("run.toml", built_in("spsa", 6, 1));
    bench.write("x.var", "a,100,-1000,1000,50,0.002,200\n");
    bench.write(
        "s.conf",
        "[Main]\nSimulate = 1\nVariables = x.var\nLog = l\nGameLog = g\nIterations = 400\nGamma = 0.101\nA = 40\n\
         Alpha = 0.602\n",
    );
    std::fs::create_dir(bench.path("source")).unwrap();
    let zeros = ["0"; 64].join(", ");
    bench.write("source/t.c", format!("int mg[64] = {{{zeros}}}; // gputexel: knight.mg\nint x = 5;\n"));
    bench.write("x.tune", "#set file t.c\n#context x\nint x = 5@;\n");
    bench
}

#[test]
#[ignore = "full"]
fn every_command_prints_one_json_object() {
    let bench = bench();
    for args in LINES {
        let (out, _) = bench.done(("--json", *args));
        let value: Value =
            serde_json::from_str(&out).unwrap_or_else(|error| panic!("{args:?}: {error}: {out}"));
        assert!(value.is_object(), "{args:?}: {out}");
    }
    // Commands tested elsewhere, with engines, sources and servers of their own.
    let mut seen: BTreeSet<&str> = ["probe", "serve", "verify"].into();
    seen.extend(OTHERS.map(|(name, _)| name));
    seen.extend(LINES.iter().map(|args| args[0]));
    let below = |command: &str| -> BTreeSet<&str> {
        LINES.iter().filter(|args| args[0] == command).map(|args| args[1]).collect()
    };
    for (path, seen) in [(&[][..], seen), (&["spsa"], below("spsa")), (&["patch"], below("patch"))] {
        let missing: Vec<String> =
            commands_in(path).into_iter().filter(|name| !seen.contains(name.as_str())).collect();
        assert!(missing.is_empty(), "not tried of {path:?}: {missing:?}");
    }
    bench.fails_with("--json uci", 2, "--json: uci speaks");
}

#[test]
#[ignore = "full"]
fn quiet_commands_print_only_files() {
    let bench = bench();
    for args in LINES {
        let out = bench.ok(("--quiet", *args));
        assert_eq!(out.is_empty(), !FILES.contains(args), "{args:?}: {out}");
    }
}
