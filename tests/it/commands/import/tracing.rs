//! `gputexel import --trace-command` with an engine compiled here.

use super::{HEAD, refuse};
use crate::common::prelude::*;

const SOURCE: &str = include_str!("tracer.c");
const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/data/sample.pgn.zst");

/// Creates a folder with the engine, its schema, and positions of real games; `None` without a compiler.
fn bench() -> Option<Bench> {
    let bench = Bench::new();
    bench.write("tracer.c", SOURCE);
    if !crate::common::requirement::program("cc") {
        return None;
    }
    let built = std::process::Command::new("cc")
        .args(["-O1", "-Wall", "-Wextra", "-o", "tracer", "tracer.c"])
        .current_dir(bench.folder.path())
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    bench.write(
        "s.json",
        format!(
            "{HEAD} \"index_base\": 1, \"phase\": {{\"middlegame\": 24, \"endgame\": 0}},
             \"columns\": {{\"phase\": 1, \"game\": \"qid\"}}, \"parameters\": [
             {{\"name\": \"piece\", \"index\": 2, \"names\": [\"pawn\", \"knight\", \"bishop\", \"rook\", \"queen\"],
               \"priors\": [[100, 100], [300, 300], [0, 0], [500, 500], [900, 900]]}},
             {{\"name\": \"tempo\", \"index\": 7, \"prior\": 0, \"phases\": \"untapered\"}}]}}"
        ),
    );
    let keep = "--keep-captures --keep-checks --keep-duplicates --share 0.05";
    bench.told((&["extract", SAMPLE, "--positions", "p.fens"], keep));
    Some(bench)
}

fn command(bench: &Bench, mode: &str) -> String {
    format!("{} {mode}", bench.path("tracer").display())
}

fn import(bench: &Bench, input: &str, command: &str, output: &str) -> Value {
    bench.told(["import", input, "--trace-command", command, "--schema", "s.json", "-o", output])
}

/// Returns the engine's output for the positions of a file, and their search scores.
fn traced(bench: &Bench, positions: &str) -> String {
    let stdin = std::fs::File::open(bench.path(positions)).unwrap();
    let mut call = std::process::Command::new(bench.path("tracer"));
    let output = call.current_dir(bench.folder.path()).arg("ok").stdin(stdin).output().unwrap();
    let positions = bench.text(positions);
    let scores = positions.lines().map(|line| line.split(' ').nth(8));
    let with_score = |(line, score): (&str, Option<&str>)| match (line.split_once(' '), score) {
        (Some((result, rest)), Some(score)) => format!("{result} score:{score} {rest}\n"),
        _ => format!("{line}\n"),
    };
    String::from_utf8(output.stdout).unwrap().lines().zip(scores).map(with_score).collect()
}

#[test]
#[ignore = "full"]
fn a_command_gives_the_dataset_of_its_trace() {
    let Some(bench) = bench() else { return };
    bench.write("t.svm", traced(&bench, "p.fens"));
    bench.told("import t.svm --schema s.json -o wanted.bin");
    let wanted = tensors(&bench.path("wanted.bin"));
    assert!(bench.text("t.svm").matches(" score:").count() > 1000);
    // The engine may answer at once or after reading everything, which is more than a pipe holds.
    assert!(bench.bytes("p.fens").len() > 200_000);
    for (mode, output) in [("ok", "a.bin"), ("at-the-end", "b.bin")] {
        let report = import(&bench, "p.fens", &command(&bench, mode), output);
        assert!(tensors(&bench.path(output)) == wanted, "{mode}");
        assert_eq!(report["sources"][0]["path"], "p.fens");
    }
    let (_, text, _) = bench.run("info a.bin");
    assert!(text.contains(&format!("  traced by {}", command(&bench, "ok"))), "{text}");
    // Positions in other formats are passed in the same lines.
    bench.told(["convert", SAMPLE, "-o", "all.binpack", "--share", "0.02"]);
    bench.told("convert all.binpack -o all.fens");
    import(&bench, "all.fens", &command(&bench, "ok"), "d.bin");
    let report = import(&bench, "all.binpack", &command(&bench, "ok"), "e.bin");
    assert!(tensors(&bench.path("d.bin")) == tensors(&bench.path("e.bin")));
    assert_eq!(report["sources"][0]["path"], "all.binpack");
    let lines = bench.text("all.fens");
    let fens: Vec<String> = lines
        .lines()
        .map(|line| line.split(' ').collect::<Vec<_>>())
        .map(|words| format!("{} [{}]\n", words[2..8].join(" "), words[1]))
        .collect();
    bench.write("some.txt", format!("{}nonsense [1]\n", fens.concat()));
    let report = import(&bench, "some.txt", &command(&bench, "ok"), "g.bin");
    assert_eq!(report["positions"].as_u64(), Some(fens.len() as u64));
    assert!(report["sources"][0]["warnings"][0].str().starts_with("1 not traced: "), "{report}");
    // Only the positions that the engine skips are missing.
    let count = wanted_count(&bench);
    let fewer = import(&bench, "p.fens", &command(&bench, "leave-out"), "f.bin");
    assert_eq!(fewer["positions"].as_u64(), Some(count - 1));
}

fn wanted_count(bench: &Bench) -> u64 {
    bench.bytes("p.fens").iter().filter(|byte| **byte == b'\n').count() as u64
}

#[test]
#[ignore = "full"]
fn commands_that_fail_are_refused_in_one_line() {
    let Some(bench) = bench() else { return };
    let fails = |input: &str, command: &str, more: &str, code: i32| {
        let args = [input, "--trace-command", command, "--schema", "s.json"];
        refuse(&bench, (&args, more), code)
    };
    let count = wanted_count(&bench);
    for (mode, words) in [
        ("fail", "failed after 29 answers: exit status: 3; its last words: table 7 is not there"),
        ("crash", "failed after 0 answers: signal: 6"),
        ("early", "answers 29 of "),
        ("short", "must print one line for each position"),
        ("twice", "must print one line for each position, in their order"),
        ("banner", "one line for each position"),
        ("more", "prints more than one line for each position"),
        ("other-game", "in their order: position 1 is of game 0, answer 1 of game 77777"),
        (
            "uci",
            "does not print traces of this schema: none of 100 lines can be used; the first, of position 1:",
        ),
        ("other-features", "index 9 is past the last of the schema, 7"),
        ("endless", "prints a line longer than 4 MiB"),
    ] {
        let error = fails("p.fens", &command(&bench, mode), "", 1);
        assert!(error.starts_with("gputexel: p.fens: the trace command '"), "{error}");
        assert!(error.contains(words), "{mode}: {error}");
    }
    assert!(count > 1000);
    let start = Instant::now();
    let hung = fails("p.fens", &command(&bench, "hang"), "--trace-deadline 1.5", 1);
    assert_has(&hung, ["has neither read nor written for 1.5 s after", "--trace-deadline SECONDS"]);
    assert!(start.elapsed() < Duration::from_secs(30));
    assert!(fails("p.fens", "/no/such/engine", "", 1).contains("cannot be started: No such file"));
    assert!(fails("p.fens", "'unclosed", "", 2).contains("a quote is not closed"));
    let ok = command(&bench, "ok");
    assert!(fails("p.fens", &ok, "--trace-deadline 0", 2).contains("must be from above 0"));
    assert!(fails("-", &ok, "", 2).contains("read from files"));
    let lines = bench.text("p.fens");
    bench.write("bad.fens", lines.replacen("\n2 ", "\nx ", 1));
    assert_has(&fails("bad.fens", &ok, "", 1), "is not a line 'GAME RESULT FEN [SCORE]'");
    assert!(fails("none.fens", &ok, "", 1).contains("none.fens"));
    bench.write("empty.fens", "");
    fails("empty.fens", &ok, "", 1);
}
