//! `gputexel-mpi` under `mpirun`: the same bytes as the program alone with any number of ranks, and the behavior if
//! one of them ends.

use crate::common::prelude::*;
use std::process::{Command, Output};

/// Returns the launcher, if there is one; `MPIRUN` names a launcher other than `mpirun`, such as MPICH's next to Open
/// MPI's.
fn launcher() -> Option<String> {
    let name = std::env::var("MPIRUN").unwrap_or_else(|_| "mpirun".to_string());
    let found = requirement::find(&name).is_some();
    if !found {
        requirement::lack("mpirun", &format!("there is no program {name}"));
    }
    found.then_some(name)
}

/// Returns a launcher with this many ranks, on any number of cores.
fn ranks(launcher: &str, folder: &Path, count: usize) -> Command {
    let mut command = Command::new(launcher);
    command.current_dir(folder).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // For Open MPI; others ignore them.
    let settings =
        ["OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "OMPI_MCA_rmaps_base_oversubscribe"];
    command.envs(settings.map(|name| (name, "1")));
    command.args(["-n", &count.to_string(), env!("CARGO_BIN_EXE_gputexel-mpi")]);
    command
}

fn run(launcher: &str, folder: &Path, count: usize, args: &[&str]) -> (i32, String) {
    let Output { status, stderr, .. } = ranks(launcher, folder, count).args(args).output().unwrap();
    (status.code().unwrap_or(-1), String::from_utf8_lossy(&stderr).into_owned())
}

fn works(launcher: &str, folder: &Path, count: usize, args: &[&str]) {
    let (code, err) = run(launcher, folder, count, args);
    assert_eq!(code, 0, "{count} ranks, {args:?}: {err}");
}

#[test]
fn any_number_of_ranks_writes_the_same_files() {
    let Some(launcher) = launcher() else { return };
    let bench = Bench::new();
    let folder = bench.folder.path();
    bench.dataset("d.bin", FeatureKind::Pst, 3_000, 3);
    let common = ["d.bin", "--backend", "cpu", "--sections", "5", "--threads", "1", "--quiet"];
    let runs: [(&[&str], &[&str]); 4] = [
        (&["tune", "--holdout", "0.1", "--bootstrap", "3", "--round", "local"], &["params.json", "tables.h"]),
        (
            &["tune", "--optimizer", "gauss-newton", "--prior-strength", "bend=1e-4", "--epochs", "4"],
            &["params.json"],
        ),
        (&["sweep", "--grid", "l2=0,1e-4", "--folds", "3", "--seed", "2"], &["runs.csv"]),
        (&["pso", "--particles", "40", "--iterations", "5", "--seed", "4"], &["params.json"]),
    ];
    for (n, (args, files)) in runs.into_iter().enumerate() {
        let alone = format!("alone{n}");
        let all = [&args[..1], &common, &args[1..], &["--out", &alone]].concat();
        bench.ok(&all);
        // More ranks than sections, too.
        let counts: &[usize] = if n == 0 { &[1, 2, 3, 4, 7] } else { &[3] };
        for &count in counts {
            let out = format!("out{n}-{count}");
            works(&launcher, folder, count, &[&args[..1], &common, &args[1..], &["--out", &out]].concat());
            for file in files {
                let [ours, theirs] = [&alone, &out].map(|run| bench.bytes(&format!("{run}/{file}")));
                assert!(ours == theirs, "{args:?}, {count} ranks: {file} differs");
            }
        }
    }
}

#[test]
fn reports_rank_failures_in_one_line() {
    let Some(launcher) = launcher() else { return };
    let bench = Bench::with_positions(2_000, 5);
    let folder = bench.folder.path();
    let told = |err: &str, line: &str| {
        let lines: Vec<&str> = err.lines().filter(|own| own.contains("gputexel: ")).collect();
        assert_eq!(lines, [line], "{err}");
    };
    let (code, err) = run(&launcher, folder, 2, &["eval", "d.bin", "d.json"]);
    assert_ne!(code, 0);
    told(&err, "gputexel: gputexel-mpi runs tune, sweep and pso; run other commands with gputexel");
    let (code, err) = run(&launcher, folder, 3, &["tune", "none.bin"]);
    assert_ne!(code, 0);
    assert_eq!(err.matches("none.bin: No such file").count(), 1, "{err}");
    // Only rank 1 has a wrong command line.
    let arguments = ["tune", "d.bin", "--backend", "cpu", "--sections", "4", "--quiet", "--out", "r"];
    let mut command = ranks(&launcher, folder, 1);
    let other = ["--backend", "none"];
    let Output { status, stderr, .. } = command
        .args(arguments)
        .args([":", "-n", "1", env!("CARGO_BIN_EXE_gputexel-mpi")])
        .args(arguments)
        .args(other)
        .output()
        .unwrap();
    assert!(!status.success());
    assert_has(&String::from_utf8_lossy(&stderr), "rank 1: the command line is wrong");
    assert!(!bench.path("r").join("params.json").exists());
}

/// Returns the processes of a launcher, the first rank first.
fn processes(launcher: &Child) -> Vec<i32> {
    let children = |of: u32| -> Vec<u32> {
        let list = std::fs::read_to_string(format!("/proc/{of}/task/{of}/children")).unwrap_or_default();
        list.split_whitespace().filter_map(|id| id.parse().ok()).collect()
    };
    let mut found = Vec::new();
    let mut next = children(launcher.id());
    while let Some(process) = next.pop() {
        let name = std::fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
        if name.starts_with("gputexel-mpi") {
            found.push(process as i32);
        }
        next.extend(children(process));
    }
    found.sort_unstable();
    found
}

fn lives(process: i32) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    state.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

#[test]
#[cfg(target_os = "linux")]
fn killed_rank_ends_all_and_runs_resume_with_any_ranks() {
    let Some(launcher) = launcher() else { return };
    let bench = Bench::with_positions(20_000, 7);
    let folder = bench.folder.path();
    let args = "tune d.bin --backend cpu --sections 6 --threads 1 --prior-strength none --optimizer adam \
                --epochs 1500 --checkpoint-every 0.1 --quiet";
    let args = args.words();
    bench.ok((&args, "--out alone"));
    let wanted = bench.bytes("alone/params.json");
    // Any rank but the first, the first, and the launcher by Ctrl-C.
    for (victim, count) in [(Some(1), 2), (Some(0), 1), (None, 4)] {
        let out = format!("out{count}");
        let mut child = ranks(&launcher, folder, 3).args(&args).args(["--out", &out]).spawn().unwrap();
        let start = Instant::now();
        while !bench.path(&out).join("checkpoint.safetensors").exists() {
            assert!(start.elapsed() < Duration::from_secs(60), "no checkpoint");
            std::thread::sleep(Duration::from_millis(20));
        }
        let all = processes(&child);
        assert_eq!(all.len(), 3);
        let signal = |process: i32, name: &str| {
            let sent = Command::new("kill").args([name, &process.to_string()]).status().unwrap();
            assert!(sent.success());
        };
        match victim {
            Some(rank) => signal(all[rank], "-KILL"),
            None => signal(child.id() as i32, "-INT"),
        }
        let killed = Instant::now();
        let status = loop {
            assert!(killed.elapsed() < Duration::from_secs(10), "the launcher has not ended");
            match child.try_wait().unwrap() {
                Some(status) => break status,
                None => std::thread::sleep(Duration::from_millis(50)),
            }
        };
        assert!(!status.success());
        while all.iter().any(|&process| lives(process)) {
            assert!(killed.elapsed() < Duration::from_secs(10), "a rank has not ended");
            std::thread::sleep(Duration::from_millis(50));
        }
        assert!(!bench.path(&out).join("params.json").exists(), "it was to be killed in the middle");
        let resumed = ["tune", "--resume", &out, "--backend", "cpu", "--threads", "1", "--quiet"];
        works(&launcher, folder, count, &resumed);
        assert!(bench.bytes(&format!("{out}/params.json")) == wanted, "resumed by {count} ranks");
    }
}
