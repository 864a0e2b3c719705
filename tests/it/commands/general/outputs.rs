//! No flag makes a command overwrite its input, or write one file twice.

use crate::common;
use crate::common::prelude::*;
use crate::common::traces::{make, schema, text};

#[test]
fn does_not_overwrite_inputs() {
    let bench = Bench::new();
    bench.dataset("d.bin", FeatureKind::Pst, 400, 3);
    bench.tune("d.bin --out run --l2 1e-3");
    bench.write("t.svm", text(&make(8, 1, false)));
    bench.write("s.json", schema());
    std::fs::copy(bench.path("run/params.json"), bench.path("p.json")).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink("d.bin", bench.path("link.bin")).unwrap();
    #[cfg(not(unix))]
    std::fs::hard_link(bench.path("d.bin"), bench.path("link.bin")).unwrap();
    let cases: [(&[&str], &str); 11] = [
        (&["import", "t.svm", "--schema", "s.json", "-o", "s.json"], "is also an input"),
        (&["import", "t.svm", "--schema", "s.json", "-o", "t.svm"], "is also an input"),
        (&["report", "run", "-o", "d.bin"], "is also an input"),
        (&["report", "run", "-o", "run/params.json"], "is part of the run"),
        (&["compare", "p.json", "run", "--html", "p.json"], "is also an input"),
        (&["compare", "p.json", "run", "--dataset", "d.bin", "--html", "d.bin"], "is also an input"),
        (&["sweep", "d.bin", "--scale", "0.5:2:8", "--csv", "link.bin"], "is also an input"),
        (&["export", "p.json", "--to", "c", "-o", "p.json"], "is also an input"),
        (&["export", "run", "--to", "c", "-o", "run/params.json"], "is also an input"),
        (&["compare", "p.json", "run", "--html", "run/params.json"], "is also an input"),
        (&["import-params", "t.svm", "--like", "run", "-o", "run/params.json"], "is also an input"),
    ];
    let contents = || -> Vec<Vec<u8>> {
        ["d.bin", "t.svm", "s.json", "p.json", "run/params.json"].map(|name| bench.bytes(name)).to_vec()
    };
    let before = contents();
    for (args, said) in cases {
        bench.fails_with((args, "--force"), 2, said);
        assert!(contents() == before, "{args:?} wrote over an input");
    }
    assert!(!bench.path("x").exists());
}

#[test]
fn run_folder_is_accepted_as_parameters() {
    let bench = Bench::new();
    bench.dataset("d.bin", FeatureKind::Pst, 400, 3);
    bench.tune("d.bin --out run --l2 1e-3");
    let loss = |params: &str| {
        let out = bench.ok(["--json", "eval", "d.bin", params]);
        serde_json::from_str::<serde_json::Value>(&out).unwrap()["loss"].f64()
    };
    assert_eq!(loss("run"), loss("run/params.json"));
    bench.tune("d.bin --prior run --out again --epochs 1");
    bench.dataset("m.bin", FeatureKind::Material, 400, 3);
    bench.tune("m.bin --out pieces --epochs 5 --l2 1e-4");
    bench.write("games.pgn", common::program::pgn("", common::program::GAME, "1-0"));
    bench.write("psqt.cpp", "int knight[64] = {};\n");
    let limit = ["--nodes", "5", "--games", "2"];
    let commands: [&[&str]; 8] = [
        &["export", "run", "--to", "c"],
        &["compare", "run", "again"],
        &["check", "d.bin", "--params", "run"],
        &["sweep", "d.bin", "--scale", "0.5:1:2", "--prior", "run"],
        &["pso", "d.bin", "--prior", "run", "--iterations", "1"],
        &["extract", "games.pgn", "-o", "q.bin", "--resolve", "quiescence", "--params", "run"],
        &["uci", "--params", "run"],
        &["spsa", "init", "--params", "run", "-o", "run.toml"],
    ];
    for args in commands {
        bench.done(args);
    }
    let (code, _, err) = bench.run("spsa run run.toml -N 2 --limit nodes=5 --out s");
    assert_eq!((code, err.contains("params.json")), (0, false), "{err}");
    // Played, by the name of the folder, with the same result after resuming.
    let (code, out, err) = bench.run(("match run pieces/ --out m", &limit));
    assert_eq!((code, out.contains("run") && out.contains("pieces")), (0, true), "{out}{err}");
    let (code, out, err) = bench.run("match --resume m");
    assert_eq!((code, out.contains("run") && out.contains("pieces")), (0, true), "{out}{err}");

    // Missing files are reported.
    std::fs::remove_file(bench.path("again/params.json")).unwrap();
    for args in ["match again zero", "eval d.bin again", "compare again run"] {
        bench.fails_with(args, 1, "'gputexel tune --resume again'");
    }
}

fn wait_for_lines(bench: &Bench, child: &mut Child, name: &str, lines: usize) {
    let begun = Instant::now();
    while std::fs::read_to_string(bench.path(name)).unwrap_or_default().matches('\n').count() < lines {
        assert!(begun.elapsed() < Duration::from_secs(60), "{name} does not grow");
        assert!(child.try_wait().unwrap().is_none(), "{name}: ended before it was looked at");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Long runs, with the file that shows that they have started.
const LONG: [(&str, &[&str]); 5] = [
    (
        "metrics.jsonl",
        &["tune", "d.bin", "--l2=0", "--optimizer", "adam", "--epochs", "1000000", "--backend", "cpu"],
    ),
    ("metrics.jsonl", &["pso", "d.bin", "--iterations", "100000", "--backend", "cpu"]),
    ("sweep.json", &["sweep", "d.bin", "--grid", "learning-rate=1:20:50", "--epochs", "100000"]),
    ("match.jsonl", &["match", "material", "zero", "--nodes", "20", "--games", "100000"]),
    ("spsa.jsonl", &["spsa", "run", "run.toml", "-N", "1000000"]),
];

fn long_runs() -> Bench {
    let bench = Bench::new();
    bench.dataset("d.bin", FeatureKind::Pst, 2000, 3);
    let (out, _) = bench.done("spsa init --params material --limit nodes=20");
    bench.write("run.toml", out);
    bench
}

#[cfg(unix)]
#[test]
#[ignore = "full"]
fn a_folder_has_one_writer() {
    let bench = long_runs();
    for (i, (file, args)) in LONG.into_iter().enumerate() {
        let out = format!("r{i}");
        let again = [args, &["--out", &out]].concat();
        let mut child = bench.spawn(&again);
        wait_for_lines(&bench, &mut child, &format!("{out}/{file}"), 2);
        let busy = format!("{out}: is being written by another gputexel (process {})", child.id());
        let command: Vec<&str> = if args[0] == "spsa" { vec!["spsa", "run"] } else { vec![args[0]] };
        for second in [[&again[..], &["--force"]].concat(), [&command[..], &["--resume", &out]].concat()] {
            let names = bench.names(&out);
            bench.fails_with(&second, 1, &busy);
            let lost =
                names.iter().find(|name| !name.starts_with('.') && !bench.path(&out).join(name).exists());
            assert!(lost.is_none(), "{second:?}: took {lost:?} away");
        }
        // Reading is allowed.
        if file == "metrics.jsonl" {
            assert_eq!(bench.run(["-q", "report", &out, "-o", "page.html", "--force"]).0, 0);
        }
        child.kill().unwrap();
        child.wait().unwrap();
        // The lock of a killed process blocks nobody.
        let mut child = bench.spawn((&again, "--force"));
        wait_for_lines(&bench, &mut child, &format!("{out}/{file}"), 2);
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

#[cfg(unix)]
#[test]
#[ignore = "full"]
fn run_ends_when_its_folder_is_removed() {
    let bench = long_runs();
    for (file, args) in LONG {
        for back in [false, true] {
            let mut child = bench.spawn((args, ("--out r -q", &checkpoints(args))));
            wait_for_lines(&bench, &mut child, &format!("r/{file}"), 2);
            // A process that creates a file meanwhile prevents removal of the folder.
            while std::fs::remove_dir_all(bench.path("r")).is_err() {}
            if back {
                std::fs::create_dir(bench.path("r")).unwrap();
            }
            let output = child.wait_with_output().unwrap();
            let err = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(1), "{args:?}: {err}");
            common::program::assert_one_line(&err);
            assert!(
                err.contains("was removed, moved or replaced while it was being written"),
                "{args:?}: {err}"
            );
            if back {
                assert_eq!(bench.names("r"), [""; 0], "{args:?}");
                std::fs::remove_dir(bench.path("r")).unwrap();
            }
            assert!(!bench.path("r").exists(), "{args:?}: half a folder is back");
        }
    }
}

/// Flags that make a run check its folder at every step.
fn checkpoints(args: &[&str]) -> Vec<&'static str> {
    match args[0] {
        "tune" | "pso" | "sweep" => vec!["--checkpoint-every", "0"],
        _ => Vec::new(),
    }
}

#[cfg(unix)]
#[test]
fn outputs_keep_modes_and_the_umask() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    let bench = Bench::new();
    bench.dataset("d.bin", FeatureKind::Pst, 400, 3);
    bench.write("t.svm", text(&make(8, 1, false)));
    bench.write("s.json", schema());
    let mode = |name: &str| std::fs::metadata(bench.path(name)).unwrap().mode() & 0o7777;
    let run = "$GPUTEXEL -q tune d.bin --epochs 1 --backend cpu --prior-strength none --out";
    for (umask, file) in [("077", 0o600), ("022", 0o644), ("002", 0o664), ("027", 0o640)] {
        let (code, _, err) = bench.shell(&format!("umask {umask} && {run} r{umask}"));
        assert_eq!((code, err.as_str()), (0, ""));
        for name in bench.names(&format!("r{umask}")) {
            assert_eq!(mode(&format!("r{umask}/{name}")), file, "{name} with umask {umask}");
        }
        let (code, _, err) = bench.shell(&format!(
            "umask {umask} && $GPUTEXEL -q import t.svm --schema s.json -o i{umask}.bin && \
             $GPUTEXEL -q match material zero --nodes 1 --games 2 --out m{umask}"
        ));
        assert_eq!((code, err.as_str()), (0, ""));
        assert_eq!(mode(&format!("i{umask}.bin")), file);
        for name in bench.names(&format!("m{umask}")) {
            assert_eq!(mode(&format!("m{umask}/{name}")), file, "{name} with umask {umask}");
        }
    }
    // A replaced file keeps its mode.
    for kept in [0o600, 0o640, 0o604] {
        let files = ["r022/params.json", "r022/tables.h", "r022/report.html", "e.h"];
        bench.write("e.h", "old");
        for name in files {
            let permissions = std::fs::Permissions::from_mode(kept);
            std::fs::set_permissions(bench.path(name), permissions).unwrap();
        }
        let (code, _, err) = bench.shell(
            "umask 022 && $GPUTEXEL export r022 --to c -o e.h --force -q && \
             $GPUTEXEL -q report r022",
        );
        assert_eq!((code, err.as_str()), (0, ""));
        assert_ne!(bench.bytes("e.h"), b"old");
        assert_eq!([mode("e.h"), mode("r022/report.html")], [kept; 2]);
    }
}

#[test]
fn does_not_overwrite_runs_of_other_kinds() {
    let bench = Bench::new();
    bench.dataset("d.bin", FeatureKind::Pst, 400, 3);
    let play = "match material zero --nodes 1 --games 2 --out m";
    assert_eq!(bench.run(play).0, 0);
    let journal = bench.bytes("m/match.jsonl");
    let expected = "m: holds a match (match.jsonl), which --force does not overwrite";
    bench.fails_with("tune d.bin --out m --force --backend cpu", 2, expected);
    assert_eq!(bench.names("m"), ["games.pgn", "match.jsonl", "report.html"]);
    assert!(bench.bytes("m/match.jsonl") == journal);
    // A match does not start if its folder is that of its players.
    bench.tune("d.bin --out r --epochs 1");
    std::fs::remove_file(bench.path("r/run.json")).unwrap();
    let why = "r/params.json: is also an input";
    bench.fails_with("match r zero --nodes 1 --games 2 --out r --force", 2, why);
    assert!(bench.path("r/params.json").exists());
}
