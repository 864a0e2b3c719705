//! Engines with numbers that `patch expose` has opened, tuned in games: other values need a restart.

use std::collections::BTreeSet;

use crate::common::prelude::*;
use crate::common::spsa::entries;

/// The engine, through a script that keeps each file of values.
const ENGINE: &str = "sh engine {params}";

/// Exposes the engine in C of the book; `None` without a compiler.
fn exposed() -> Option<Bench> {
    if !requirement::program("gcc") {
        return None;
    }
    let bench = Bench::new();
    bench.road_engine();
    bench.ok("patch expose untapered.c");
    bench.compile("gcc -O1 -o open untapered.c");
    bench.write("engine", "cat $1 >> seen\necho >> seen\nGPUTEXEL_VALUES=$1 exec ./open $2\n");
    Some(bench)
}

/// Returns the values of each start so far, and forgets them.
fn seen(bench: &Bench) -> Vec<String> {
    let text = bench.text("seen");
    bench.write("seen", "");
    text.split_terminator("\n\n").map(|values| format!("{values}\n")).collect()
}

#[test]
#[ignore = "full"]
fn exposed_engines_are_started_with_the_values_of_the_journal() {
    let Some(bench) = exposed() else { return };
    let init = ["spsa", "init", "--engine", ENGINE, "--games", "12", "--limit", "nodes=200"];
    let init = [&init[..], &["--concurrency", "1", "--tune", "tempo,bishop_pair"]].concat();
    let listed = [&init[..], &["--params", "gputexel_values.params"]].concat();
    bench.ok(&[&listed[..], &["--option", "tempo=9", "-o", "s.toml"]].concat()[..]);
    assert_eq!(seen(&bench), ["bishop_pair 0\ntempo 9\n"]);
    bench.ok("spsa run s.toml --out r");
    // One start for each side wherever its values are others than before, after the game by which a resumed run would
    // know the engine again.
    let values = |entry: &Value, side: &str| {
        let value = |i: usize| entry["pair"][side][i].f64();
        format!("bishop_pair {}\ntempo {}\n", value(0), value(1))
    };
    let mut starts = Vec::new();
    for side in ["plus", "minus"] {
        let mut played: Vec<String> = entries(&bench, "r").iter().map(|entry| values(entry, side)).collect();
        assert_eq!(played.len(), 6);
        played.dedup();
        starts.extend(played);
    }
    let mut told = seen(&bench).split_off(5);
    told.sort();
    starts.sort();
    assert_eq!(told, starts);
    assert!(starts.iter().collect::<BTreeSet<_>>().len() > 2, "{starts:?}");
    // A run that was killed goes on with the values that it would have had.
    let (journal, result) = (bench.text("r/spsa.jsonl"), bench.text("r/values.txt"));
    let cut = journal.trim_end().rfind('\n').unwrap() + 1;
    bench.write("r/spsa.jsonl", &journal[..cut]);
    bench.done("spsa run --resume r");
    assert_eq!((bench.text("r/spsa.jsonl"), bench.text("r/values.txt")), (journal, result.clone()));
    let last = entries(&bench, "r").pop().unwrap();
    let told = seen(&bench);
    assert_eq!(told[told.len() - 2..], [values(&last, "plus"), values(&last, "minus")]);
    bench.write("values.txt", &result);
    assert_eq!(bench.shell("GPUTEXEL_VALUES=values.txt ./open eval < /dev/null").0, 0);
    bench.ok("patch restore untapered.c --params r/values.params");

    let config = bench.text("s.toml");
    for (from, to, code, says) in [
        ("name = \"tempo\"", "name = \"tempi\"", 1, ":2: there is no value called tempi"),
        ("integer = true", "integer = false", 1, ":1: no whole number for bishop_pair"),
        ("\n[games]", "\n[engine.options]\ntempo = 3\n[games]", 1, "option tempo: is tuned"),
        ("\n[games]", "\n[engine.options]\nHash = 3\n[games]", 2, "Hash: no such option"),
    ] {
        bench.write("bad.toml", config.replacen(from, to, 1));
        bench.fails_with("spsa run bad.toml --out x", code, says);
        assert!(!bench.path("x").exists(), "{says}");
    }
    let refused = |args: &[&str], says: &str| bench.fails_with(args, 2, says);
    refused(&init, "--params: an engine with {params} in its command needs the list");
    refused(&[&listed[..], &["--tune", "temqo"]].concat(), "no such parameter; did you mean 'tempo'?");
    refused(
        &["spsa", "init", "--engine", "./open", "--params", "gputexel_values.params"],
        "--params: only an engine with {params} in its command has a list",
    );
    bench.write("other.params", "tempi, int, 1, 0, 9, 1, 0.002\n");
    let other = ["spsa", "init", "--engine", ENGINE, "--params", "other.params"];
    bench.fails_with(other, 1, ":1: there is no value called tempi");
}

#[test]
#[ignore = "full"]
fn games_decide_how_far_an_exposed_engine_is_changed() {
    let Some(bench) = exposed() else { return };
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/data/sample.pgn.zst");
    bench.done(["extract", sample, "--positions", "all.fens"]);
    let some: String = bench.text("all.fens").lines().step_by(1500).map(|line| format!("{line}\n")).collect();
    bench.write("some.fens", some);
    let probe = format!("{ENGINE} eval");
    bench.done(["probe", &probe, "some.fens", "-o", "d.bin", "--parameters", "gputexel_values.params"]);
    bench.done("tune d.bin --backend cpu --l2 1e-4 --epochs 3 --out r");
    seen(&bench);
    let improve =
        ["improve", "r", "--pairs", "2", "--test-games", "2", "--nodes", "200", "--concurrency", "1"];
    let report = bench.report([&improve[..], &["--engine", ENGINE, "-o", "i"]].concat());
    let factors = report["factors"].as_object().unwrap();
    assert!((2..=12).contains(&factors.len()), "{report}");
    // A value of both phases is moved by one direction, and told once.
    let directions = bench.json("i/directions.json");
    let first: Vec<f64> = directions["start"].list()[..401].iter().map(|start| start.f64()).collect();
    let mut half = first.clone();
    for direction in directions["directions"].list() {
        let (mg, eg) = direction["step"].list().split_at(401);
        assert_eq!(mg, eg);
        half.iter_mut().zip(mg).for_each(|(value, step)| *value += step.f64() / 2.0);
    }
    let starts = seen(&bench);
    let lists: Vec<BTreeSet<&str>> = starts.iter().map(|text| text.lines().collect()).collect();
    assert!(lists.iter().all(|lines| lines.len() == 401), "{starts:?}");
    assert!(starts.iter().all(|text| !text.contains('.')), "{starts:?}");
    // The start plays the test.
    let source = bench.text("gputexel_values.params");
    let start: String = source.lines().map(|line| cell(line, 0) + " " + &cell(line, 2) + "\n").collect();
    assert!(starts.contains(&start.replace(".0", "")), "{starts:?}");
    // Without a search, half of the step does.
    let short = ["improve", "r", "--pairs", "0", "--test-games", "2", "--nodes", "200", "--concurrency", "1"];
    let report = bench.report([&short[..], &["--engine", ENGINE, "-o", "half"]].concat());
    assert_eq!(report["search_pairs"], 0);
    assert!(report["factors"].as_object().unwrap().values().all(|factor| factor == 0.5), "{report}");
    // Between two whole numbers, the one nearer to the start.
    half.iter_mut().zip(&first).for_each(|(value, first)| *value -= 1e-6 * (*value - first).signum());
    let named = directions["parameters"].list().iter().zip(&half);
    let lines: BTreeSet<String> =
        named.map(|(name, value)| format!("{} {}", name.str(), value.round() + 0.0)).collect();
    let starts = seen(&bench);
    let [.., one, other] = &starts[..] else { panic!("{starts:?}") };
    let is_half = |text: &String| text.lines().all(|line| lines.contains(line));
    let is_start = |text: &String| *text == start.replace(".0", "");
    assert!(is_half(one) && is_start(other) || is_half(other) && is_start(one), "{starts:?}");
    bench.ok("patch restore untapered.c --params i");
    bench.fails_with(
        [&improve[..], &["--engine", "./open", "-o", "x"]].concat(),
        1,
        "an engine of 'gputexel patch expose' has {params} in its command",
    );
    std::fs::remove_file(bench.path("d.bin")).unwrap();
    bench.fails_with([&improve[..], &["--engine", ENGINE, "-o", "x"]].concat(), 1, "d.bin");
    assert!(!bench.path("x").exists());
}

fn cell(line: &str, at: usize) -> String {
    line.split(", ").nth(at).unwrap().to_string()
}
