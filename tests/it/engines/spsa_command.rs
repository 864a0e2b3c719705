//! `gputexel spsa run` with external engines: their input, their failures, and no engine left after a run or a match,
//! however it ends.
#![cfg(unix)]

use crate::common::prelude::*;
use crate::common::spsa::{entries, iterations, uci};

/// Returns this program as an engine, behind a shell command that filters its input.
fn filtered(filter: &str) -> String {
    let program = assert_cmd::cargo::cargo_bin!("gputexel").display().to_string();
    format!("sh -c '{filter} | \"{program}\" uci --params material'")
}

fn run(bench: &Bench, config: &str) -> (i32, String, String) {
    bench.write("run.toml", config);
    bench.run("spsa run run.toml --out r")
}

#[test]
fn engines_receive_the_values_of_the_journal() {
    let bench = Bench::new();
    let told = bench.path("told").display().to_string();
    let config = uci(&filtered(&format!("tee -a {told}")), 12, "concurrency = 1");
    let config = config.replacen("[games]", "options = { Hash = 2, \"Move Overhead\" = \"7\" }\n[games]", 1);
    let (code, out, err) = run(&bench, &config);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    let told = bench.text("told");
    assert_has(&told, ["setoption name Hash value 2\n", "setoption name Move Overhead value 7\n"]);
    for entry in entries(&bench, "r") {
        for side in ["plus", "minus"] {
            for (name, i) in [("queen.mg", 0), ("rook.mg", 1)] {
                let value = entry["pair"][side][i].f64();
                assert_eq!(value.fract(), 0.0);
                let line = format!("setoption name {name} value {value}\n");
                assert!(told.contains(&line), "{line}");
            }
        }
        assert_ne!(entry["pair"]["plus"], entry["pair"]["minus"]);
    }
    // Two engines, each with the starting values, before the run and in it, and two values for each of 12 pairs.
    assert_eq!(told.matches("setoption name queen.mg").count(), 4 + 24);
    assert_eq!(told.matches("ucinewgame").count(), 50);
}

#[test]
fn crashes_are_counted_and_their_pairs_played_again() {
    let bench = Bench::new();
    let (code, out, err) = run(&bench, &uci(&filtered("sed -u 200q"), 20, "concurrency = 2"));
    assert_eq!(code, 0, "{err}");
    assert_eq!(iterations(&bench, "r"), (1..=20).collect::<Vec<_>>());
    let spoiled: Vec<_> =
        entries(&bench, "r").into_iter().filter(|entry| !entry["spoiled"].is_null()).collect();
    assert!(!spoiled.is_empty(), "{out}");
    assert_has(spoiled[0]["spoiled"]["why"].str(), "died");
    assert!(out.contains(" discarded because an engine failed") && out.contains("failures "), "{out}");
}

#[test]
#[ignore = "full"]
fn hanging_engines_are_killed_and_restarted() {
    let bench = Bench::new();
    let hang = filtered("(sed -u 100q; exec sleep 1000)");
    // During a game and between two games.
    let config = uci(&hang, 6, "concurrency = 1\ndeadline = 1");
    let (code, _, err) = run(&bench, &config.replacen("[games]", "start_deadline = 1\n[games]", 1));
    assert_eq!(code, 0, "{err}");
    assert_eq!(iterations(&bench, "r"), (1..=6).collect::<Vec<_>>());
    let entries = entries(&bench, "r");
    let why = entries.iter().find_map(|entry| entry["spoiled"]["why"].as_str()).unwrap();
    assert!(why.contains(" within 1.0 s"), "{why}");
}

#[test]
#[ignore = "full"]
fn engines_that_always_fail_are_given_up() {
    let bench = Bench::new();
    let (code, _, err) = run(&bench, &uci(&filtered("sed -u 12q"), 50, "concurrency = 1\nmax_failures = 3"));
    assert_eq!(code, 1);
    assert_has(
        &err,
        ["3 pairs in a row were spoiled, the last by ", "--resume r", "aborted after 0 of 50 pairs"],
    );
}

#[test]
fn engines_without_the_parameters_are_refused_before_the_first_game() {
    let engine = filtered("cat");
    let good = uci(&engine, 5, "concurrency = 1");
    let cases = [
        (good.replace("\"queen.mg\"", "\"king.xg\""), "king.xg: the engine has no such option"),
        (good.replace("\"queen.mg\"", "\"UCI_Chess960\""), "UCI_Chess960: is not an option with a number"),
        (good.replacen("integer = true", "integer = false", 1), "queen.mg: the option only accepts integers"),
        (
            good.replacen("max = 1400", "max = 5000", 1),
            "queen.mg: bounds 0 to 5000 are wider than the engine's own, -100 to 1900",
        ),
        (
            good.replacen("[games]", "options = { \"Queen.MG\" = 5 }\n[games]", 1),
            "option Queen.MG: is tuned, so it cannot be set here",
        ),
        (good.replacen("[games]", "options = { Style = 5 }\n[games]", 1), "Style: no such option"),
        (good.replacen("[games]", "options = { Hash = 0 }\n[games]", 1), "Hash: '0': must be an integer"),
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
        let (code, out, err) = bench.run("spsa run run.toml --out r");
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
    assert_has(&err, ["book.epd:2: ", "book.epd:3: ", "4 pairs from 2 openings: openings will be reused"]);
    // A changed book is another book.
    bench.write("book.epd", "rnbqkbnr/pppppppp/8/8/3P4/8/PPP1PPPP/RNBQKBNR b KQkq - 0 1\n");
    bench.fails_with("-q spsa run --resume r", 1, "book.epd: has changed since the run started");
    let bench = Bench::new();
    bench.write("book.epd", "nqrbbknr/pppppppp/8/8/8/8/PPPPPPPP/NQRBBKNR w HChc - 0 1\n");
    let engine = format!("sh -c '{}'", "cat | \"$0\" uci --params material | grep --line-buffered -v 960");
    let engine = format!("{engine} {}", assert_cmd::cargo::cargo_bin!("gputexel").display());
    let (code, _, err) = run(&bench, &uci(&engine, 4, "book = \"book.epd\""));
    assert!(code == 1 && err.contains("book.epd: has Chess960 openings, which gputexel"), "{err}");
    let bench = Bench::new();
    bench.write("book.epd", "nonsense\n");
    let (code, _, err) = run(&bench, &uci(&filtered("cat"), 4, "book = \"book.epd\""));
    assert!(code == 1 && err.contains("book.epd"), "{err}");
}

/// Programs in a folder of their own, found through a variable that each of their processes inherits.
#[cfg(target_os = "linux")]
mod processes {
    use std::process::{Child, Command, ExitStatus, Stdio};
    use std::time::{Duration, Instant};

    use super::Bench;

    /// Much longer than anything here may take, and less than the 60 s after which engines count as hung.
    const PATIENCE: Duration = Duration::from_secs(20);

    pub struct Marked {
        pub bench: Bench,
        mark: String,
    }

    impl Marked {
        pub fn new() -> Self {
            let bench = Bench::new();
            let mark = format!("GPUTEXEL_TEST_MARK={}", bench.folder.path().display());
            Self { bench, mark }
        }

        pub fn spawn(&self, args: &[&str]) -> Child {
            let (name, value) = self.mark.split_once('=').unwrap();
            let program = assert_cmd::cargo::cargo_bin!("gputexel");
            let mut command = Command::new(program);
            command.current_dir(self.bench.folder.path()).args(args);
            command.env(name, value).env("GPUTEXEL", program);
            // Files, as leftover engines would keep pipes open.
            let file = |name| std::fs::File::create(self.bench.path(name)).unwrap();
            command.stdin(Stdio::null()).stdout(file("out")).stderr(file("err")).spawn().unwrap()
        }

        pub fn alive(&self) -> Vec<(i32, String)> {
            let mut alive = Vec::new();
            for entry in std::fs::read_dir("/proc").unwrap().flatten() {
                let Ok(pid) = entry.file_name().to_string_lossy().parse() else { continue };
                let Ok(environment) = std::fs::read(entry.path().join("environ")) else { continue };
                if environment.split(|byte| *byte == 0).any(|variable| variable == self.mark.as_bytes()) {
                    let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
                    alive.push((pid, String::from_utf8_lossy(&line).replace('\0', " ")));
                }
            }
            alive
        }

        pub fn wait_for(&self, what: &str, happened: impl Fn() -> bool) {
            let until = Instant::now() + PATIENCE;
            while !happened() {
                let err = String::from_utf8_lossy(&self.bench.bytes("err")).into_owned();
                assert!(Instant::now() < until, "{what}; alive: {:?}; {err}", self.alive());
                std::thread::sleep(Duration::from_millis(20));
            }
        }

        pub fn ended(&self, child: &mut Child) -> ExitStatus {
            self.wait_for("it does not end", || {
                !std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap().contains(") R")
                    && std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap().contains(") Z")
            });
            child.wait().unwrap()
        }
    }

    impl Drop for Marked {
        fn drop(&mut self) {
            for (pid, _) in self.alive() {
                let _ = Command::new("kill").args(["-KILL", &pid.to_string()]).status();
            }
        }
    }
}

/// Plays well for a while, then neither answers nor ends, whatever it receives, and has
/// children that do not end either.
#[cfg(target_os = "linux")]
const HOSTILE: &str = "trap '' INT TERM HUP\n\
    sleep 1000 < /dev/null > /dev/null 2>&1 &\n\
    { sed -u 60q; read line && echo hung >> hung; exec sleep 1000; } | \"$GPUTEXEL\" uci --params material\n\
    sleep 1000\n";

#[cfg(target_os = "linux")]
#[test]
#[ignore = "full"]
fn engines_end_with_their_match_or_run() {
    let config = uci("sh engine.sh", 100, "concurrency = 2").replace("max_plies = 100", "max_plies = 4");
    let play_match: &[&str] = &[
        "match",
        "cmd:sh engine.sh",
        "cmd:sh engine.sh",
        "--games",
        "1000",
        "--max-plies",
        "4",
        "--nodes",
        "40",
        "--concurrency",
        "2",
        "--out",
        "r",
    ];
    for (args, journal) in
        [(play_match, "r/match.jsonl"), (&["spsa", "run", "run.toml", "--out", "r"], "r/spsa.jsonl")]
    {
        for (signals, code) in [
            (&["-INT"][..], Some(1)),
            (&["-TERM"], Some(1)),
            (&["-HUP"], Some(1)),
            (&["-INT", "-TERM"], Some(130)),
        ] {
            let marked = processes::Marked::new();
            let bench = &marked.bench;
            bench.write("engine.sh", HOSTILE);
            bench.write("run.toml", &config);
            let mut child = marked.spawn(args);
            marked.wait_for("no engine hangs", || bench.path("hung").exists());
            let engines: Vec<_> = marked.alive();
            assert!(engines.iter().any(|(_, line)| line.starts_with("sleep 1000")), "{engines:?}");
            // Signals of one kind that arrive together would count as one.
            let kills: Vec<String> =
                signals.iter().map(|signal| format!("kill {signal} {}", child.id())).collect();
            bench.shell(&kills.join("; "));
            let status = marked.ended(&mut child);
            let err = bench.text("err");
            assert_eq!(status.code(), code, "{args:?} {signals:?}: {err}");
            marked.wait_for("something is left", || marked.alive().is_empty());
            if code == Some(1) {
                assert!(err.contains("interrupted: ") && err.contains("--resume r"), "{err}");
            }
            // Finished games are kept, without those that were aborted.
            let text = bench.text(journal);
            let finished = text.lines().count() - 1;
            assert!(!text.contains("\"died\"") && !text.contains("\"hung\""), "{text}");
            if *signals == ["-INT"] {
                bench.write("engine.sh", "exec \"$GPUTEXEL\" uci --params material\n");
                let games = (2 * finished + 6).to_string();
                let again: &[&str] = match args[0] {
                    "match" => &["match", "--resume", "r", "--games", &games],
                    _ => &["spsa", "run", "--resume", "r"],
                };
                let status = marked.ended(&mut marked.spawn(again));
                let err = bench.text("err");
                assert_eq!(status.code(), Some(0), "{err}");
                let text = bench.text(journal);
                assert!(text.lines().count() >= finished + 4, "{text}");
            }
        }
    }
}

#[test]
fn reports_engine_exits_without_escape_sequences() {
    let bench = Bench::new();
    // Killing the engine's process group does not kill the program.
    for (engine, expected) in [
        ("echo no network >&2; exit 3", "died (exit status: 3: no network)"),
        ("kill -SEGV $$", "died (signal: 11 (SIGSEGV)"),
        ("kill -KILL 0", "died (signal: 9 (SIGKILL)"),
        ("printf \"\\033]0;owned\\007\\n\" >&2; exit 3", "exit status: 3: \\u{1b}]0;owned\\u{7})"),
        ("printf %0300d 7 >&2; exit 3", &format!("exit status: 3: {}…)", "0".repeat(60))),
        (
            "echo id name x; echo \"option name \\033[2J type button\"; exec sleep 1000",
            "no 'uciok' within 1.0 s",
        ),
    ] {
        bench.write("engine.sh", engine);
        let config = uci("sh engine.sh", 5, "").replacen("[games]", "start_deadline = 1\n[games]", 1);
        bench.write("run.toml", &config);
        let line = bench.fails_with("spsa run run.toml --out r", 1, expected);
        assert!(!line.trim_end().contains(char::is_control), "{line:?}");
    }
    let line = bench.fails(["match", &format!("material:{}", "9".repeat(400)), "zero"], 2);
    assert!(line.len() < 300, "{line}");
    let line = bench.fails(["match", "material", "no\u{1b}[2Jfile.json"], 1);
    assert!(line.contains("no\\u{1b}[2Jfile.json"), "{line:?}");
}
