//! The same results with any number of threads, and on every system.

use crate::common::prelude::*;

/// Files of a run with times, command lines or paths; all others are compared.
const TIMESTAMPED_FILES: [&str; 6] =
    ["run.json", "sweep.json", "metrics.jsonl", "report.html", "checkpoint.safetensors", ".gputexel-lock"];

/// Asserts that two files, or all files of two folders, are byte-identical; returns their number.
fn assert_same(one: &Path, other: &Path) -> usize {
    if !one.is_dir() {
        let [a, b] = [one, other].map(|path| std::fs::read(path).unwrap());
        assert!(a == b, "{} and {} differ", one.display(), other.display());
        return 1;
    }
    let names = |folder: &Path| {
        let entries = std::fs::read_dir(folder).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.retain(|name| !TIMESTAMPED_FILES.iter().any(|other| name == other));
        names.sort();
        names
    };
    let all = names(one);
    assert_eq!(all, names(other), "{}", one.display());
    all.iter().map(|name| assert_same(&one.join(name), &other.join(name))).sum()
}

#[test]
#[ignore = "full"]
fn results_do_not_depend_on_thread_count() {
    let bench = Bench::with_positions(4000, 7);
    write_games(&bench, "games.pgn");
    // Outputs are named @NAME, and go to two folders.
    let commands = [
        ("extract games.pgn -o @g.bin", 1),
        ("convert games.pgn -o @g.binpack", 1),
        ("tune d.bin --l2 1e-4 --round local --backend cpu --out @r", 4),
        ("tune games.pgn --k 0.8 --l2 1e-4 --backend cpu --out @t", 5),
        ("pso d.bin --iterations 5 --backend cpu --out @p", 5),
        ("sweep d.bin --scale=0.5:1:9 --csv @k.csv", 1),
        ("sweep d.bin --grid l2=0,1e-4 --folds 2 --epochs 4 --best @best --out @s", 2),
    ];
    for threads in ["1", "3"] {
        std::fs::create_dir(bench.path(threads)).unwrap();
    }
    for (command, at_least) in commands {
        for threads in ["1", "3"] {
            let words = command.replace('@', &format!("{threads}/"));
            bench.done((words, ["--threads", threads]));
        }
        let outputs = command.split(' ').filter_map(|word| word.strip_prefix('@'));
        let compared: usize =
            outputs.map(|name| assert_same(&bench.path("1").join(name), &bench.path("3").join(name))).sum();
        assert!(compared >= at_least, "{command}: {compared}");
    }
}

/// The sample in the repository was made on Linux; on every system it is byte-identical.
#[test]
fn sample_is_byte_identical_on_every_system() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = tempfile::tempdir().unwrap();
    let made = folder.path().join("sample.bin");
    // Its metadata contain the input as it was named.
    let mut program = std::process::Command::new(env!("CARGO_BIN_EXE_gputexel"));
    let program = program
        .args(["-q", "extract", "data/leaves.fens.zst", "--target", "score", "-o"])
        .arg(&made)
        .current_dir(root);
    assert!(program.status().unwrap().success());
    let [made, kept] = [made, root.join("data/sample.bin")].map(|path| std::fs::read(path).unwrap());
    assert!(made == kept, "data/sample.bin is not what extract makes of the leaves");
}
