//! `gputexel spsa run` with engines that are other programs: what they are told, and how they fail.
#![cfg(unix)]

mod common;

use common::program::Bench;
use common::spsa::{entries, iterations, uci};

/// This program as an engine, behind a shell command that its input goes through first.
fn filtered(filter: &str) -> String {
    let program = assert_cmd::cargo::cargo_bin!("gputexel").display().to_string();
    format!("sh -c '{filter} | \"{program}\" uci --params material'")
}

fn run(bench: &Bench, config: &str) -> (i32, String, String) {
    bench.write("run.toml", config);
    bench.run(&["spsa", "run", "run.toml", "--out", "r"], "")
}

#[test]
fn engines_are_told_the_values_of_the_journal() {
    let bench = Bench::new();
    let told = bench.path("told").display().to_string();
    let config = uci(&filtered(&format!("tee -a {told}")), 12, "concurrency = 1");
    let config = config.replacen("[games]", "options = { Hash = 2, \"Move Overhead\" = \"7\" }\n[games]", 1);
    let (code, out, err) = run(&bench, &config);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    let told = String::from_utf8(bench.bytes("told")).unwrap();
    assert!(told.contains("setoption name Hash value 2\n"));
    assert!(told.contains("setoption name Move Overhead value 7\n"));
    for entry in entries(&bench, "r") {
        for side in ["plus", "minus"] {
            for (name, i) in [("queen.mg", 0), ("rook.mg", 1)] {
                let value = entry["pair"][side][i].as_f64().unwrap();
                assert_eq!(value.fract(), 0.0);
                let line = format!("setoption name {name} value {value}\n");
                assert!(told.contains(&line), "{line}");
            }
        }
        assert_ne!(entry["pair"]["plus"], entry["pair"]["minus"]);
    }
    // Two engines, each told the start, and two values for each of 12 pairs.
    assert_eq!(told.matches("setoption name queen.mg").count(), 2 + 24);
    assert_eq!(told.matches("ucinewgame").count(), 48);
}

#[test]
fn crashes_are_counted_and_their_pairs_played_again() {
    let bench = Bench::new();
    let (code, out, err) = run(&bench, &uci(&filtered("sed -u 400q"), 20, "concurrency = 2"));
    assert_eq!(code, 0, "{err}");
    assert_eq!(iterations(&bench, "r"), (1..=20).collect::<Vec<_>>());
    let spoiled: Vec<_> =
        entries(&bench, "r").into_iter().filter(|entry| !entry["spoiled"].is_null()).collect();
    assert!(!spoiled.is_empty(), "{out}");
    let why = spoiled[0]["spoiled"]["why"].as_str().unwrap();
    assert!(why.contains("died"), "{why}");
    assert!(out.contains("spoiled by failing engines") && out.contains("failures "), "{out}");
}

#[test]
fn hanging_engines_are_killed_and_started_anew() {
    let bench = Bench::new();
    let hang = filtered("(sed -u 100q; exec sleep 1000)");
    // During a game and between two.
    let config = uci(&hang, 6, "concurrency = 1\ndeadline = 1");
    let (code, _, err) = run(&bench, &config.replacen("[games]", "start_deadline = 1\n[games]", 1));
    assert_eq!(code, 0, "{err}");
    assert_eq!(iterations(&bench, "r"), (1..=6).collect::<Vec<_>>());
    let entries = entries(&bench, "r");
    let why = entries.iter().find_map(|entry| entry["spoiled"]["why"].as_str()).unwrap();
    assert!(why.contains("no answer within 1.0 s"), "{why}");
}

#[test]
fn engines_that_always_fail_are_given_up() {
    let bench = Bench::new();
    let (code, _, err) = run(&bench, &uci(&filtered("sed -u 12q"), 50, "concurrency = 1\nmax_failures = 3"));
    assert_eq!(code, 1);
    assert!(
        err.contains("3 pairs in a row were spoiled, the last by ") && err.contains("--resume r"),
        "{err}"
    );
    assert!(err.contains("given up after 0 of 50 pairs"), "{err}");
}

#[test]
fn engines_without_the_parameters_are_refused_before_the_first_game() {
    let engine = filtered("cat");
    let good = uci(&engine, 5, "concurrency = 1");
    let cases = [
        (good.replace("\"queen.mg\"", "\"king.xg\""), "king.xg: the engine has no such option"),
        (good.replace("\"queen.mg\"", "\"Ponder\""), "Ponder: is not an option with a number"),
        (
            good.replacen("integer = true", "integer = false", 1),
            "queen.mg: the option takes whole numbers only",
        ),
        (
            good.replacen("max = 1400", "max = 5000", 1),
            "queen.mg: bounds 0 to 5000 are wider than the engine's own, -100 to 1900",
        ),
        (
            good.replacen("[games]", "options = { \"Queen.MG\" = 5 }\n[games]", 1),
            "option Queen.MG: is tuned, so it cannot be set here",
        ),
        (good.replacen("[games]", "options = { Style = 5 }\n[games]", 1), "Style: no such option"),
        (good.replacen("[games]", "options = { Hash = 0 }\n[games]", 1), "Hash: '0': must be a whole number"),
        (uci("sh -c 'exit 3'", 5, ""), "died"),
        (uci("no-such-engine", 5, ""), "cannot be started"),
        (
            uci("sleep 100", 5, "").replacen("[games]", "start_deadline = 0.5\n[games]", 1),
            "no 'uciok' within 0.5 s",
        ),
    ];
    for (config, expected) in cases {
        let bench = Bench::new();
        bench.write("run.toml", &config);
        let (code, out, err) = bench.run(&["spsa", "run", "run.toml", "--out", "r"], "");
        assert!(code != 0 && out.is_empty() && err.lines().count() == 1, "{expected}: {code} {err}");
        assert!(err.contains(expected), "{expected}: {err}");
        assert!(!bench.path("r").exists(), "{expected}");
    }
}

#[test]
fn bad_lines_of_books_are_named_and_passed_over() {
    let bench = Bench::new();
    let book = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1\n\
                8/8/8/8/8/8/8/8 w - - 0 1\nnonsense\n\
                rnbqkbnr/pppppppp/8/8/3P4/8/PPP1PPPP/RNBQKBNR b KQkq - 0 1\n";
    bench.write("book.epd", book);
    let (code, _, err) = run(&bench, &uci(&filtered("cat"), 4, "concurrency = 1\nbook = \"book.epd\""));
    assert_eq!(code, 0, "{err}");
    assert!(err.contains("book.epd:2: ") && err.contains("book.epd:3: "), "{err}");
    assert!(err.contains("4 pairs from 2 openings: they come again"), "{err}");
    // A book that has changed is another book.
    bench.write("book.epd", "rnbqkbnr/pppppppp/8/8/3P4/8/PPP1PPPP/RNBQKBNR b KQkq - 0 1\n");
    let refused = bench.fails(&["-q", "spsa", "run", "--resume", "r"], 1);
    assert!(refused.contains("book.epd: has changed since the run began"), "{refused}");
    let bench = Bench::new();
    bench.write("book.epd", "nqrbbknr/pppppppp/8/8/8/8/PPPPPPPP/NQRBBKNR w HChc - 0 1\n");
    let engine = format!("sh -c '{}'", "cat | \"$0\" uci --params material | grep --line-buffered -v 960");
    let engine = format!("{engine} {}", assert_cmd::cargo::cargo_bin!("gputexel").display());
    let (code, _, err) = run(&bench, &uci(&engine, 4, "book = \"book.epd\""));
    assert!(code == 1 && err.contains("book.epd: has openings of Chess960, which gputexel"), "{err}");
    let bench = Bench::new();
    bench.write("book.epd", "nonsense\n");
    let (code, _, err) = run(&bench, &uci(&filtered("cat"), 4, "book = \"book.epd\""));
    assert!(code == 1 && err.contains("book.epd"), "{err}");
}
