//! Runs of `gputexel spsa run`: configurations, and the contents of their journals.

use crate::common::prelude::*;

/// Returns a configuration for the built-in engine: a queen and a rook of equal value.
pub fn built_in(method: &str, iterations: u64, concurrency: usize) -> String {
    format!(
        "[run]\nmethod = \"{method}\"\niterations = {iterations}\nseed = 7\n\
         [engine]\nparams = \"material:100,300,300,700,700\"\n\
         [games]\nlimit = \"nodes=200\"\nconcurrency = {concurrency}\nmax_plies = 120\n\
         win = {{ plies = 2, score_cp = 200 }}\n{}",
        parameters("queen", "rook", "false")
    )
}

pub fn uci(command: &str, iterations: u64, games: &str) -> String {
    let quoted = command.replace('\\', "\\\\").replace('"', "\\\"");
    format!(
        "[run]\nmethod = \"spsa\"\niterations = {iterations}\nrounding = \"stochastic\"\n\
         [engine]\ncommand = \"{quoted}\"\n\
         [games]\nlimit = \"nodes=40\"\nmax_plies = 100\nwin = {{ plies = 2, score_cp = 400 }}\n{games}\n{}",
        parameters("queen.mg", "rook.mg", "true")
    )
}

fn parameters(one: &str, other: &str, integer: &str) -> String {
    [one, other]
        .map(|name| {
            format!(
                "[[parameter]]\nname = \"{name}\"\nstart = 700\nmin = 0\nmax = 1400\ninteger = {integer}\n\
                 c_end = 100\nr_end = 0.002\ns = 200\nsigma = 900\n"
            )
        })
        .concat()
}

pub fn entries(bench: &Bench, run: &str) -> Vec<Value> {
    let text = bench.text(&format!("{run}/spsa.jsonl"));
    assert!(text.ends_with('\n'), "the last line is torn");
    text.lines().skip(1).map(|line| serde_json::from_str(line).unwrap()).collect()
}

pub fn iterations(bench: &Bench, run: &str) -> Vec<u64> {
    let mut all: Vec<u64> =
        entries(bench, run).iter().filter_map(|entry| entry["pair"]["k"].as_u64()).collect();
    all.sort_unstable();
    all
}
