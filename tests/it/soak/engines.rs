//! SPSA with engines that crash, hang and misreport at random, interrupted and killed in between.

use super::gauge::{Gauge, time};
use crate::common::prelude::*;
use crate::common::spsa::{entries, iterations, uci};

/// This program as an engine, behind a filter that corrupts its output, exits, or stops responding.
const BAD_ENGINE: &str = r"
import os, random, subprocess, sys, threading, time
engine = subprocess.Popen([sys.argv[1], 'uci', '--params', 'material'], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
chance = random.SystemRandom()

def speak():
    for line in engine.stdout:
        luck = chance.random()
        if line.startswith(b'bestmove'):
            if luck < 0.002:
                line = b'bestmove a1a1\n'
            elif luck < 0.003:
                line = b'bestmove \xff\xfe\x00\n'
            elif luck < 0.004:
                line = b'x' * 3000000 + b'\n' + line
            elif luck < 0.005:
                line = b'info score cp 99999999999999999999 depth -1 pv\n' + line + line
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
    os._exit(0)

threading.Thread(target=speak, daemon=True).start()
for line in sys.stdin.buffer:
    luck = chance.random()
    if line.startswith(b'go'):
        if luck < 0.001:
            os._exit(3)
        if luck < 0.0013:
            time.sleep(1000)
    engine.stdin.write(line)
    engine.stdin.flush()
engine.stdin.close()
engine.wait()
";

fn signal(process: &Child, name: &str) {
    let sent = std::process::Command::new("kill").args([name, &process.id().to_string()]).status();
    assert!(sent.unwrap().success());
}

const CONCURRENCY: u64 = 2;

/// Checks that the journal has every iteration once, except for those in progress, and that each pair is complete.
fn check_journal(bench: &Bench) -> usize {
    let all = iterations(bench, "r");
    assert!(all.is_sorted_by(|a, b| a < b), "iterations are told twice: {all:?}");
    let missing = all.last().map_or(0, |last| last - all.len() as u64);
    assert!(missing <= CONCURRENCY, "{missing} iterations are lost: {all:?}");
    for entry in entries(bench, "r") {
        assert!(entry["pair"].is_object() || entry["spoiled"].is_object(), "{entry}");
    }
    bench.done("spsa report r");
    all.len()
}

/// Returns the number of processes whose command line contains a text.
fn processes_with(text: &str) -> usize {
    let entries = std::fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok());
    let lines = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains(text)).count()
}

#[test]
#[ignore = "full"]
fn misbehaving_engines_invalidate_only_their_pairs() {
    if !requirement::program("python3") {
        return;
    }
    let bench = Bench::new();
    let script = bench.write("bad.py", BAD_ENGINE);
    let program = Path::new(env!("CARGO_BIN_EXE_gputexel")).display();
    let engine = format!("python3 \"{}\" \"{program}\"", script.display());
    let config =
        uci(&engine, 100_000, &format!("concurrency = {CONCURRENCY}\ndeadline = 3\nmax_failures = 100"));
    bench.write("run.toml", config.replacen("[games]", "start_deadline = 30\n[games]", 1));
    // Half of the time in one process, whose memory is monitored, the rest in many.
    let mut run = bench.spawn("-q spsa run run.toml --out r");
    let mut gauge = Gauge::new(run.id());
    while gauge.goes_on() {
        assert!(
            run.try_wait().unwrap().is_none(),
            "the run has ended: see {}",
            bench.folder.path().display()
        );
        gauge.read();
        std::thread::sleep(Duration::from_millis(100));
    }
    signal(&run, "-INT");
    let status = run.wait().unwrap();
    assert_eq!(status.code(), Some(1), "{status}");
    gauge.check("spsa");
    let mut known = check_journal(&bench);
    assert!(known > 0, "no pair was played");
    let begun = Instant::now();
    let mut kills = 0;
    while begun.elapsed() < time() / 2 {
        let mut run = bench.spawn("-q spsa run --resume r");
        let wait = 1000 + 700 * (kills % 4);
        std::thread::sleep(Duration::from_millis(wait));
        assert!(run.try_wait().unwrap().is_none(), "the resumed run has ended");
        signal(&run, if kills % 2 == 0 { "-KILL" } else { "-INT" });
        run.wait().unwrap();
        kills += 1;
        let now = check_journal(&bench);
        assert!(now >= known, "{now} pairs of {known} are left");
        known = now;
    }
    let spoiled = entries(&bench, "r").iter().filter(|entry| entry["spoiled"].is_object()).count();
    eprintln!("spsa: {known} pairs, {spoiled} spoiled, {kills} ends");
    // Engines of killed processes end when their input closes.
    let waiting = Instant::now();
    while processes_with(&script.display().to_string()) > 0 {
        assert!(waiting.elapsed() < Duration::from_secs(60), "engines are left");
        std::thread::sleep(Duration::from_millis(100));
    }
}
