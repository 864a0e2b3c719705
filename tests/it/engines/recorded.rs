//! Folders that may come from somebody else: programs and files named in their records are announced before they are
//! run or written, and refused if no run would have named them.
#![cfg(unix)]

use crate::common::program::Bench;
use crate::common::spsa::uci;
use gputexel::model::FeatureKind;

/// Returns this program as an engine that creates a file when it starts.
fn engine(bench: &Bench) -> String {
    let program = assert_cmd::cargo::cargo_bin!("gputexel").display().to_string();
    bench.write("engine.sh", format!("touch started\nexec '{program}' uci --params material\n"));
    format!("sh {}", bench.path("engine.sh").display())
}

/// Plays a match of two games in a folder.
fn play(bench: &Bench, further: &[&str]) -> String {
    let command = engine(bench);
    let side = format!("cmd:{command}");
    let args =
        ["match", &side, "material", "--nodes", "50", "--games", "2", "--max-plies", "20", "--out", "m"];
    let (code, _, err) = bench.run(&[&args, further].concat(), "");
    assert_eq!((code, err.as_str()), (0, ""));
    std::fs::remove_file(bench.path("started")).unwrap();
    command
}

/// Changes text in a file.
fn change(bench: &Bench, file: &str, from: &str, to: &str) {
    let text = String::from_utf8(bench.bytes(file)).unwrap();
    assert!(text.contains(from), "{file} has no {from}: {}", text.lines().next().unwrap_or_default());
    bench.write(file, text.replacen(from, to, 1));
}

/// Asserts that a command is refused in one line before an engine has started; returns the line.
fn refused(bench: &Bench, args: &[&str]) -> String {
    let error = bench.fails(args, 1);
    assert!(!bench.path("started").exists(), "{error}");
    error
}

#[test]
fn resumed_match_announces_programs_and_files() {
    let bench = Bench::new();
    let command = play(&bench, &["--pgn", "out.pgn"]);
    let resume = ["match", "--resume", "m", "--games", "4"];
    let (code, _, err) = bench.run(&resume, "");
    let pgn = bench.path("out.pgn").display().to_string();
    let expected = format!("gputexel: as m/match.jsonl says: runs '{command}'; writes {pgn}\n");
    assert_eq!((code, err), (0, expected));
    assert_eq!(String::from_utf8(bench.bytes("out.pgn")).unwrap().matches("[Event ").count(), 4);
    // `--quiet` suppresses the announcement.
    let (code, _, err) = bench.run(&["--quiet", "match", "--resume", "m", "--games", "6"], "");
    assert_eq!((code, err.as_str()), (0, ""));
}

#[test]
fn rejects_match_records_with_foreign_files() {
    let bench = Bench::new();
    play(&bench, &[]);
    let resume = ["match", "--resume", "m", "--games", "4"];
    bench.write("notes.pgn", "[Event \"Hastings\"]\n");
    let name = |name: &str| format!("\"pgn\":\"{}\"", bench.path(name).display());
    change(&bench, "m/match.jsonl", "\"pgn\":null", &name("notes.pgn"));
    let error = refused(&bench, &resume);
    assert!(error.contains("notes.pgn written, which holds something else"), "{error}");
    assert_eq!(bench.bytes("notes.pgn"), b"[Event \"Hastings\"]\n");
    change(&bench, "m/match.jsonl", &name("notes.pgn"), &name(".profile"));
    let error = refused(&bench, &resume);
    assert!(error.contains("which is not there and does not end in .pgn"), "{error}");
    assert!(!bench.path(".profile").exists());
    change(&bench, "m/match.jsonl", &name(".profile"), "\"pgn\":null");
    change(&bench, "m/match.jsonl", "\"file\":null", "\"file\":\"/dev/zero\"");
    let error = refused(&bench, &resume);
    assert!(
        error.contains("m/match.jsonl: names /dev/zero, which is neither a file nor a folder"),
        "{error}"
    );
    change(&bench, "m/match.jsonl", "\"file\":\"/dev/zero\"", "\"file\":null");
    // The games file of the folder itself, as a link to another file.
    std::fs::remove_file(bench.path("m/games.pgn")).unwrap();
    std::os::unix::fs::symlink("../notes.pgn", bench.path("m/games.pgn")).unwrap();
    let error = refused(&bench, &resume);
    assert!(error.contains("m/games.pgn: is a link; the files of a run have to be in its folder"), "{error}");
    assert_eq!(bench.bytes("notes.pgn"), b"[Event \"Hastings\"]\n");
    std::fs::remove_file(bench.path("m/games.pgn")).unwrap();
    assert_eq!(bench.run(&resume, "").0, 0);
}

#[test]
fn resumed_spsa_run_announces_programs_and_files() {
    let bench = Bench::new();
    let command = engine(&bench);
    bench.write("run.toml", uci(&command, 3, "concurrency = 1\nlog = \"values.log\"\npgn = \"games.pgn\""));
    assert_eq!(bench.run(&["spsa", "run", "run.toml", "--out", "r"], "").0, 0);
    let resume = ["spsa", "run", "--resume", "r", "--iterations", "4", "--replan"];
    let (code, _, err) = bench.run(&resume, "");
    let [pgn, log] = ["games.pgn", "values.log"].map(|name| bench.path(name).display().to_string());
    let named = format!("gputexel: as r/spsa.jsonl says: runs '{command}'; writes {pgn}; writes {log}\n");
    assert_eq!(code, 0, "{err}");
    assert!(err.starts_with(&named), "{err}");
    let (code, _, err) = bench.run(&["spsa", "verify", "r", "--games", "2"], "");
    assert_eq!(code, 0, "{err}");
    assert!(err.starts_with(&named), "{err}");
    std::fs::remove_file(bench.path("started")).unwrap();
    bench.write("values.log", "dear diary\n");
    let resume = ["spsa", "run", "--resume", "r", "--iterations", "5", "--replan"];
    let error = refused(&bench, &resume);
    assert!(error.contains("values.log written, which holds something else"), "{error}");
    assert_eq!(bench.bytes("values.log"), b"dear diary\n");
}

#[test]
fn resumed_selfplay_announces_programs() {
    let bench = Bench::new();
    let command = engine(&bench);
    let args = [
        "selfplay",
        "--engine",
        &command,
        "--nodes",
        "50",
        "--games",
        "2",
        "--max-plies",
        "20",
        "--out",
        "s",
    ];
    let (code, _, err) = bench.run(&args, "");
    assert_eq!((code, err.as_str()), (0, ""));
    let (code, _, err) = bench.run(&["selfplay", "--resume", "s", "--games", "3"], "");
    assert_eq!((code, err), (0, format!("gputexel: as s/selfplay.jsonl says: runs '{command}'\n")));
    std::fs::remove_file(bench.path("started")).unwrap();
    change(&bench, "s/selfplay.jsonl", "\"file\":null", "\"file\":\"/dev/zero\"");
    let error = refused(&bench, &["selfplay", "--resume", "s", "--games", "4"]);
    assert!(error.contains("names /dev/zero"), "{error}");
}

#[test]
fn records_of_tuning_name_files_and_folders_only() {
    let bench = Bench::new();
    bench.dataset("d.bin", FeatureKind::Material, 300, 1);
    bench.tune(&["d.bin", "--epochs", "1", "--optimizer", "adam", "--out", "r"]);
    let data = format!("\"{}\"", bench.path("d.bin").display());
    // As if killed before its state was stored.
    std::fs::remove_file(bench.path("r/checkpoint.safetensors")).unwrap();
    change(&bench, "r/run.json", &data, "\"/dev/zero\"");
    for args in [&["tune", "--resume", "r"][..], &["report", "r"]] {
        let error = refused(&bench, args);
        assert!(
            error.contains("r/run.json: names /dev/zero, which is neither a file nor a folder"),
            "{error}"
        );
    }
    change(&bench, "r/run.json", "\"/dev/zero\"", &data);
    bench.write("kept.txt", "kept");
    std::fs::remove_file(bench.path("r/metrics.jsonl")).unwrap();
    std::os::unix::fs::symlink("../kept.txt", bench.path("r/metrics.jsonl")).unwrap();
    let error = refused(&bench, &["tune", "--resume", "r"]);
    assert!(error.contains("r/metrics.jsonl: is a link"), "{error}");
    assert_eq!(bench.bytes("kept.txt"), b"kept");
}

#[test]
fn resumed_sweep_announces_files() {
    let bench = Bench::new();
    bench.dataset("d.bin", FeatureKind::Material, 300, 1);
    let grid = ["sweep", "d.bin", "--grid", "l2=0,1e-4", "--folds", "2", "--csv", "all.csv", "--out", "w"];
    assert_eq!(bench.run(&grid, "").0, 0);
    // As if killed before it had written anything.
    change(&bench, "w/sweep.json", "\"written\": true", "\"written\": false");
    let (code, _, err) = bench.run(&["sweep", "--resume", "w"], "");
    let csv = bench.path("all.csv").display().to_string();
    let data = bench.path("d.bin").display().to_string();
    assert_eq!(code, 0, "{err}");
    assert!(err.contains(&format!("as w/sweep.json says: writes {csv}; reads {data}\n")), "{err}");
    change(&bench, "w/sweep.json", "\"written\": true", "\"written\": false");
    bench.write("all.csv", "a diary");
    let error = refused(&bench, &["--quiet", "sweep", "--resume", "w"]);
    assert!(error.contains("all.csv written, which holds something else"), "{error}");
    assert_eq!(bench.bytes("all.csv"), b"a diary");
    // A file named by the user is allowed.
    assert_eq!(bench.run(&["sweep", "--resume", "w", "--csv", "all.csv", "--force"], "").0, 0);
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
    let (code, out, err) = bench.run(&[&args[..], &["--out", "m"]].concat(), "");
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("Trap"), "{out}");
    for text in [out, err] {
        assert!(!text.contains(|c: char| c != '\n' && c.is_control()), "{text:?}");
    }
}
