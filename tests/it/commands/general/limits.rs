//! Endless and oversized inputs are refused in one line, in bounded memory and time.
#![cfg(unix)]

use crate::common::prelude::*;
use std::fs::File;

fn endless(bench: &Bench, name: &str) {
    let file = File::options().create(true).append(true).open(bench.path(name)).unwrap();
    file.set_len(300 << 20).unwrap();
}

/// Runs with at most 4 GiB of address space, which must fail; returns the error line.
fn refused(bench: &Bench, command: &str) -> String {
    let (code, _, err) = bench.shell(&format!("ulimit -v 4194304; exec \"$GPUTEXEL\" -q {command}"));
    assert!([1, 2].contains(&code), "{command}: {code} {err}");
    assert_one_line(&err);
    err
}

#[test]
fn reports_endless_lines() {
    let bench = Bench::new();
    for (folder, name, commands) in [
        ("m", "match.jsonl", &["match --resume m", "report m"][..]),
        ("g", "selfplay.jsonl", &["selfplay --resume g"]),
        ("s", "spsa.jsonl", &["spsa run --resume s", "spsa verify s", "report s"]),
    ] {
        std::fs::create_dir(bench.path(folder)).unwrap();
        let path = format!("{folder}/{name}");
        endless(&bench, &path);
        for command in commands {
            let err = refused(&bench, command);
            let expected = format!("{path}:1: the line is longer than the 64 MiB that are read of one\n");
            assert!(err.ends_with(&expected), "{command}: {err}");
        }
        assert_eq!(bench.path(&path).metadata().unwrap().len(), 300 << 20);
    }
    bench.dataset("d.bin", FeatureKind::Pst, 1000, 7);
    bench.tune("d.bin --out r --epochs 2");
    let (lines, metrics) = (bench.metrics_so_far("r"), bench.bytes("r/metrics.jsonl"));
    endless(&bench, "r/metrics.jsonl");
    let err = refused(&bench, "report r");
    assert_has(&err, format!("r/metrics.jsonl:{}: the line is longer than the 64 MiB", lines + 1));
    bench.write("r/metrics.jsonl", metrics);
    for name in ["params.json", "run.json"] {
        endless(&bench, &format!("r/{name}"));
        assert_has(&refused(&bench, "report r"), format!("r/{name}: is larger than the 256 MiB"));
    }
}

#[test]
fn tables_that_do_not_fit_into_memory_are_refused() {
    let bench = Bench::new();
    bench.write("in.txt", "4k3/8/8/8/8/8/4P3/Q3K3 b - - 0 1 | 33 | 1.0\n".repeat(64 * 64));
    // 8 TiB and more.
    let hash = "--hash 65536 --concurrency 64 --nodes 10";
    for command in [
        format!("match material material --games 128 -o m {hash}"),
        format!("selfplay --games 64 -o g {hash}"),
        format!("rescore in.txt -o out.txt --engine material --duplicates keep {hash}"),
    ] {
        let (code, _, err) = bench.shell(&format!("\"$GPUTEXEL\" -q {command}"));
        assert_one_line(&err);
        assert!(code == 2 && err.contains("--hash 65536: needs "), "{command}: {err}");
    }
    // A single one that this process may not allocate.
    for command in ["match material material --games 2 -o n", "selfplay --games 1 -o h"] {
        let err = refused(&bench, &format!("{command} --hash 65536 --concurrency 1 --nodes 10"));
        assert!(err.contains("--hash 65536: "), "{command}: {err}");
    }
    assert_has(&refused(&bench, "uci --hash 4096 </dev/null"), "hash 4096: there is no memory for a table");
    let line = "ulimit -v 4194304; echo 'setoption name Hash value 4096\nisready' | \"$GPUTEXEL\" uci";
    let (code, out, err) = bench.shell(line);
    assert!(
        code == 0 && out.contains("no memory for a table") && out.ends_with("readyok\n"),
        "{code} {out} {err}"
    );
    assert!(!bench.path("out.txt").exists() && !bench.path("g/games.pgn").exists());
}

/// The system responds to a file beyond the limit with a signal that silently kills a process.
#[test]
fn reports_file_size_limits_like_full_disks() {
    let bench = Bench::new();
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/data/sample.pgn.zst");
    bench.dataset("d.bin", FeatureKind::Pst, 1000, 7);
    let before = bench.names(".");
    for command in [
        format!("extract {sample} -o out.bin"),
        format!("convert {sample} -o out.txt"),
        "tune d.bin -o r --epochs 3".to_string(),
    ] {
        let (code, _, err) = bench.shell(&format!("ulimit -f 1; exec \"$GPUTEXEL\" -q {command}"));
        assert_eq!(code, 1, "{command}: {err}");
        assert_one_line(&err);
    }
    assert_eq!(bench.names("."), before);
    // A partial line in a journal is cut off, and the run resumes from there.
    let games = "-q selfplay --games 40 --nodes 20 --hash 1 --max-plies 60";
    let (code, _, err) = bench.shell(&format!("ulimit -f 8; exec \"$GPUTEXEL\" {games} -o g"));
    assert_eq!(code, 1, "{err}");
    assert_one_line(&err);
    // Which of the two files is full first depends on how games end side by side.
    assert!(["g/selfplay.jsonl: ", "g/games.pgn: "].iter().any(|file| err.contains(file)), "{err}");
    bench.report("selfplay --resume g");
    assert_eq!(bench.shell(&format!("\"$GPUTEXEL\" {games} -o whole")).0, 0);
    assert_eq!(bench.bytes("g/games.pgn"), bench.bytes("whole/games.pgn"));
}
