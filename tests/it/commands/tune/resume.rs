//! Killed, interrupted and stored runs resume with bit-identical results.
#![cfg(unix)]

use crate::common::prelude::*;

const ADAM: [&str; 9] =
    ["d.bin", "--l2=0", "--optimizer", "adam", "--k", "0.8", "--backend", "cpu", "--threads=1"];

fn bench() -> Bench {
    Bench::with_positions(4000, 11)
}

/// Starts a run with a checkpoint after every step, and waits for the third.
fn started(bench: &Bench, out: &str, flags: &[&str]) -> Child {
    let args = [&["tune", "--out", out, "--checkpoint-every", "0"], &ADAM[..], flags].concat();
    let child = bench.spawn(&args);
    wait_for_step(bench, out, 3);
    child
}

fn wait_for_step(bench: &Bench, run: &str, step: u64) {
    let checkpoint = bench.path(run).join("checkpoint.safetensors");
    wait_until("a step is stored", || checkpoint.exists() && steps(bench, run) >= step);
}

fn steps(bench: &Bench, run: &str) -> u64 {
    Checkpoint::read(&bench.path(run).join("checkpoint.safetensors")).unwrap().progress.steps
}

fn assert_metrics_are_whole(bench: &Bench, run: &str, epochs: u64) {
    let numbers: Vec<u64> = bench.metrics(run).iter().map(|line| line["epoch"].u64()).collect();
    assert!(numbers.iter().copied().eq(1..=epochs), "{numbers:?}");
}

#[test]
fn rejects_unresumable_runs() {
    let bench = bench();
    let resume = ["tune", "--backend", "cpu", "--resume", "r"];
    bench.fails_with(resume, 1, "not the folder of a run");
    std::fs::create_dir(bench.path("r")).unwrap();
    bench.fails_with(resume, 1, "not the folder of a run");
    bench.write("r/run.json", "{\n\"program\": 3\n}\n");
    bench.fails_with(resume, 1, "run.json:2: not a valid record of a run");
    bench.write("r/run.json", "");
    bench.fails_with(resume, 1, "run.json");

    let mut child = started(&bench, "k", &["--epochs", "100000"]);
    child.kill().unwrap();
    child.wait().unwrap();
    let resume = ["-q", "tune", "--backend", "cpu", "--resume", "k"];
    let checkpoint = bench.path("k/checkpoint.safetensors");
    let whole = std::fs::read(&checkpoint).unwrap();
    for length in [0, 4, 100, whole.len() - 1] {
        std::fs::write(&checkpoint, &whole[..length]).unwrap();
        bench.fails_with(resume, 1, "not a checkpoint, or damaged");
    }
    // Each tensor in turn gets a non-finite number.
    let good = {
        std::fs::write(&checkpoint, &whole).unwrap();
        Checkpoint::read(&checkpoint).unwrap()
    };
    for name in good.optimizer.vectors.keys() {
        for bad in [f64::NAN, f64::INFINITY] {
            let mut broken = good.clone();
            *broken.optimizer.vectors.get_mut(name).unwrap().last_mut().unwrap() = bad;
            broken.write(&checkpoint).unwrap();
            bench.fails_with(resume, 1, ["checkpoint.safetensors", "finite"]);
        }
        let mut short = good.clone();
        short.optimizer.vectors.get_mut(name).unwrap().pop();
        short.write(&checkpoint).unwrap();
        bench.fails_with(resume, 1, name.as_str());
    }
    let mut foreign = good.clone();
    foreign.optimizer.scalars["method"] = "gauss-newton".into();
    foreign.write(&checkpoint).unwrap();
    bench.fails_with(resume, 1, "checkpoint.safetensors");
    std::fs::write(&checkpoint, &whole).unwrap();

    // Other positions under the same name, then none.
    let data = bench.bytes("d.bin");
    bench.dataset("e.bin", FeatureKind::Pst, 4000, 12);
    std::fs::write(bench.path("d.bin"), bench.bytes("e.bin")).unwrap();
    bench.fails_with(resume, 1, "not the dataset that the run started with");
    std::fs::remove_file(bench.path("d.bin")).unwrap();
    bench.fails_with(resume, 1, "d.bin");
    bench.write("d.bin", data);

    // A record that was tampered with.
    let record = bench.json("k/run.json");
    for (key, value) in [("k", "-1"), ("holdout", "7"), ("start", "[1.0, 2.0]"), ("stopping", "{}")] {
        let mut bad = record.clone();
        bad["config"][key] = serde_json::from_str(value).unwrap();
        bench.write("k/run.json", bad.to_string());
        let (code, _, err) = bench.run(resume);
        assert!(code == 1 || code == 2, "{key}: {code}");
        assert_one_line(&err);
    }
    // Flags that would change the results cannot be combined with it.
    for flags in
        "--k-e=1 --win-scale=4 --prior=zero --loss=squared --l2=1 --holdout=0.1 --epochs=7 --force".words()
    {
        bench.fails_with(("tune --resume k", flags), 2, "cannot be used with");
    }
}

#[test]
fn run_is_finished_once_its_result_exists() {
    let bench = bench();
    bench.tune("d.bin --out r --epochs 3");
    bench.fails_with("tune --resume r --backend cpu", 2, "r: the run is finished (limit reached)");
    // The state is no longer needed.
    assert!(bench.bytes("r/checkpoint.safetensors").len() < 2000);

    // A full disk, or a folder in the way, at the last moment loses no work.
    let run = [&["tune", "--out", "s", "--epochs=40", "--holdout=0.2"], &ADAM[..]].concat();
    std::fs::create_dir_all(bench.path("s/params.json/x")).unwrap();
    bench.fails("tune d.bin --out s", 2);
    std::fs::remove_dir_all(bench.path("s")).unwrap();
    std::fs::create_dir_all(bench.path("s/tables.rs/x")).unwrap();
    let (code, _, err) = bench.run((&run, "--force"));
    assert_eq!(code, 1);
    assert_one_line(&err);
    assert!(err.contains("tables.rs"), "{err}");
    assert!(!bench.path("s/params.json").exists());
    std::fs::remove_dir_all(bench.path("s/tables.rs")).unwrap();
    let report = bench.tune("--resume s");
    assert_eq!((&report["epochs"], &report["reason"]), (&40.into(), &"epochs".into()));
    assert_metrics_are_whole(&bench, "s", 40);
    bench.tune(("--out whole --epochs=40 --holdout=0.2", &ADAM[..6]));
    assert!(bench.bytes("s/params.json") == bench.bytes("whole/params.json"));
}

#[test]
fn lines_torn_by_a_crash_do_not_spoil_the_metrics() {
    let bench = bench();
    let mut child = started(&bench, "r", &["--epochs", "3000"]);
    child.kill().unwrap();
    child.wait().unwrap();
    // Shorter than the checkpoint says: the disk did not keep it.
    let metrics = bench.path("r/metrics.jsonl");
    let text = std::fs::read_to_string(&metrics).unwrap();
    let known = Checkpoint::read(&bench.path("r/checkpoint.safetensors")).unwrap().progress.metrics;
    let kept: Vec<&str> = text.split_inclusive('\n').take(known as usize - 1).collect();
    std::fs::write(&metrics, kept.concat() + "{\"epoch\": 3").unwrap();
    bench.tune("--resume r");
    let numbers: Vec<u64> = bench.metrics("r").iter().map(|line| line["epoch"].u64()).collect();
    assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
    assert_eq!(numbers.last(), Some(&3000));
}

#[test]
fn clears_leftovers_and_fills_gaps() {
    let bench = bench();
    let tune = ["-q", "tune", "d.bin", "--l2=0", "--epochs", "3", "--backend", "cpu"];
    // Killed between the parameters and the report.
    bench.tune("d.bin --epochs 3 --out r");
    let tables = bench.bytes("r/tables.h");
    for name in ["r/report.html", "r/tables.h"] {
        std::fs::remove_file(bench.path(name)).unwrap();
    }
    let resume = ["tune", "--resume", "r", "--backend", "cpu"];
    let out = bench.ok(resume);
    assert!(out.ends_with("written     tables.h, report.html\n"), "{out}");
    assert!(bench.bytes("r/tables.h") == tables && bench.path("r/report.html").exists());
    bench.fails_with(resume, 2, "r: the run is finished");

    // Killed at the start, while positions were extracted.
    std::fs::create_dir(bench.path("s")).unwrap();
    bench.write("s/.gputexel-a1b2c3", "half");
    bench.write("s/.gputexel.lock", "process 999999999\nmade dataset.bin\n");
    bench.write("s/dataset.bin", "half");
    write_games(&bench, "games.pgn");
    let why = "s: there is nothing to resume: it has no run.json yet";
    bench.fails_with("tune --resume s --backend cpu", 1, why);
    let games = "-q tune games.pgn --l2=0 --k 0.8 --epochs 1 --backend cpu --out";
    assert_eq!(bench.run((games, "s")).0, 0);
    assert!(bench.names("s").iter().all(|name| !name.starts_with('.')), "{:?}", bench.names("s"));
    // Files of others are not overwritten.
    std::fs::create_dir(bench.path("t")).unwrap();
    bench.write("t/dataset.bin", "mine");
    bench.fails_with((games, "t"), 2, "t: exists and is not empty");
    assert_eq!((bench.bytes("t/dataset.bin"), bench.names("t").len()), (b"mine".to_vec(), 1));
    // Files of a refused run are removed, and so is its lock.
    assert_eq!(bench.run((games, "u --errors --holdout 0.99")).0, 2);
    assert!(!bench.path("u").exists());

    // Killed while the best parameters of a sweep were written.
    let sweep =
        ["-q", "sweep", "d.bin", "--grid", "l2=0", "--folds", "2", "--epochs", "2", "--backend", "cpu"];
    assert_eq!(bench.run((&sweep, "--out w --best best")).0, 0);
    let best = bench.bytes("best/params.json");
    let mut record = bench.json("w/sweep.json");
    record["outputs"]["written"] = false.into();
    bench.write("w/sweep.json", record.to_string());
    std::fs::remove_file(bench.path("best/params.json")).unwrap();
    bench.write("best/.gputexel-d4e5f6", "half");
    bench.write("best/.gputexel.lock", "process 999999999\n");
    bench.ok("-q sweep --resume w --backend cpu");
    assert!(bench.bytes("best/params.json") == best);
    assert_eq!(bench.names("best"), ["params.json", "tables.h", "tables.hpp", "tables.rs"]);
    // A folder that a kill left half-written, without a sweep to resume, accepts the same command again.
    std::fs::remove_file(bench.path("best/params.json")).unwrap();
    let again = [&sweep[..], &["--best", "best"]].concat();
    assert_eq!(bench.run(&again).0, 0);
    bench.fails_with(&again, 2, "best: exists and is not empty");
    // The folder of the sweep itself works, too.
    assert_eq!(bench.run((&sweep, "--out x --best x")).0, 0);
    assert!(bench.path("x/params.json").exists() && bench.path("x/sweep.json").exists());
    assert_eq!(bench.run((&tune, "--prior x --out y")).0, 0);
}
