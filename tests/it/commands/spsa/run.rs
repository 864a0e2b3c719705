//! `gputexel spsa run` with the built-in engine: kills, resuming, refused input.

use crate::common::conclusion::assert_one_conclusion;
use crate::common::prelude::*;
use crate::common::spsa::{built_in, entries, iterations};

fn lines(bench: &Bench, name: &str) -> usize {
    std::fs::read(bench.path(name)).map_or(0, |text| text.iter().filter(|byte| **byte == b'\n').count())
}

/// Starts a run, and kills it once its journal has this many lines.
fn kill_at(bench: &Bench, args: impl Words, journal: &str, wanted: usize) {
    let mut child = bench.spawn(&args);
    let begin = Instant::now();
    while lines(bench, journal) < wanted {
        assert!(begin.elapsed() < Duration::from_secs(60), "{:?}", args.words());
        assert!(child.try_wait().unwrap().is_none(), "it ended before it was killed");
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().code(), None, "it ended before it was killed");
}

#[test]
#[ignore = "full"]
fn concurrent_pairs_count_exactly_once() {
    let bench = Bench::new();
    bench.write("run.toml", built_in("bspsas", 150, 4));
    let journal = "r/spsa.jsonl";
    kill_at(&bench, "spsa run run.toml --out r", journal, 40);
    let played = entries(&bench, "r");
    kill_at(&bench, "spsa run --resume r", journal, 90);
    let out = bench.ok("--json spsa run --resume r");
    assert_eq!(iterations(&bench, "r"), (1..=150).collect::<Vec<_>>());
    // The first entries are still there, in their order.
    assert_eq!(&entries(&bench, "r")[..played.len()], &played[..]);
    let state: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(state["pairs_told"].as_u64(), Some(150));
    assert_eq!(state["games"].as_u64(), Some(300));
    let last = bench.text("r/log.csv");
    let last: Vec<f64> =
        last.lines().last().unwrap().split(',').skip(1).map(|value| value.parse().unwrap()).collect();
    let values: Vec<f64> = state["parameters"].list().iter().map(|p| p["value"].f64()).collect();
    assert_eq!(last, values);
    // The journal contains the same results as the run's output.
    let (code, out, _) = bench.run("--json spsa report r");
    let report: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &report["parameters"]), (0, &state["parameters"]));
    assert_eq!(lines(&bench, "r/values.csv"), 3);
    let page = bench.text("r/report.html");
    assert_eq!(page.matches("<figure").count(), 3, "a figure for each parameter, and one of Elo");
    assert_has(&page, ["finished", "150 of 150 pairs", "larger value", "queen", "bounds are 0 and 1400"]);
    assert!(!page.contains("<script") && !page.contains("NaN"), "{page}");
    bench.told("report r -o again.html");
    assert_eq!(bench.bytes("again.html"), page.as_bytes());
    bench.fails_with("report r --dataset d.bin", 2, "needs no positions");
}

#[test]
fn strength_is_followed() {
    // If a queen is worth less than a rook, the side that values it more wins.
    let bench = Bench::new();
    let config = built_in("bspsa", 200, 1).replace("nodes=200", "nodes=400");
    let queen = config.find("name = \"queen\"").unwrap();
    let (head, tail) = config.split_at(queen);
    let tail = tail.replacen("start = 700", "start = 350", 1).replacen("c_end = 100", "c_end = 300", 1);
    bench.write("run.toml", format!("{head}{tail}"));
    let state = bench.told("spsa run run.toml --out r");
    let queen = &state["parameters"][0];
    let number = |name: &str| queen[name].f64();
    assert!(number("value") > 450.0, "{queen}");
    assert!(number("larger_value_elo") > number("larger_value_error95"), "{queen}");
}

#[test]
#[ignore = "full"]
fn interrupted_runs_print_how_to_resume() {
    let bench = Bench::new();
    bench.write("run.toml", built_in("spsa", 100_000, 2));
    let child = bench.spawn("spsa run run.toml --out r");
    while lines(&bench, "r/spsa.jsonl") < 5 {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(bench.run("-q spsa report r").0, 0);
    bench.shell(&format!("kill -INT {}", child.id()));
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(err.contains("of 100000 pairs; resume with 'gputexel spsa run --resume r'"), "{err}");
    assert!(bench.path("r/values.csv").exists() && bench.path("r/report.html").exists());
}

#[test]
fn journals_of_other_configurations_and_damaged_ones_are_refused() {
    let bench = Bench::new();
    bench.write("run.toml", built_in("spsa", 20, 1));
    assert_eq!(bench.run("-q spsa run run.toml --out r").0, 0);
    let good = bench.text("r/spsa.jsonl");
    let lines: Vec<&str> = good.lines().collect();
    let twice = format!("{}\n{}\n{}\n", lines[0], lines[1], lines[1]);
    let beyond = format!("{}\n{}\n", lines[0], lines[5].replacen("\"k\":", "\"k\":99", 1));
    let outside = format!("{}\n{}\n", lines[0], lines[1].replacen("\"plus\":[", "\"plus\":[5000,", 1));
    let cases = [
        (String::new(), "contains no configuration"),
        (lines[0].to_string(), "contains no configuration"),
        ("nonsense\n".to_string(), "spsa.jsonl:1: not the journal of a run of SPSA"),
        (
            good.replacen("gputexel-spsa", "other", 1),
            "spsa.jsonl:1: is other version 1, expected gputexel-spsa 1",
        ),
        (good.replacen("\"half_points\":", "\"half_points\":9", 1), "a result that is none"),
        (good.replacen("\"end\":\"", "\"end\":\"x", 1), "spsa.jsonl:2: not the journal"),
        (twice, "spsa.jsonl:3: pair 1: is there twice"),
        (beyond, "there are only 20"),
        (outside, "spsa.jsonl:2: pair 1: is of another list of parameters"),
    ];
    for (journal, expected) in cases {
        bench.write("r/spsa.jsonl", &journal);
        for args in ["spsa run --resume r", "spsa report r"] {
            bench.fails_with(args, 1, expected);
        }
        assert_eq!(bench.bytes("r/spsa.jsonl"), journal.as_bytes(), "it is as it was");
    }
    bench.fails_with("spsa run --resume nowhere", 1, "nowhere: is not the folder of an SPSA run");
}

#[test]
fn does_not_overwrite_and_reports_full_disks() {
    let bench = Bench::new();
    let with = |games: &str| built_in("spsa", 20, 1).replacen("[games]\n", &format!("[games]\n{games}\n"), 1);
    bench.write("run.toml", with("pgn = \"games_$THREAD.pgn\"\nlog = \"my.csv\""));
    let args = "-q spsa run run.toml --out r";
    assert_eq!(bench.run(args).0, 0);
    bench.fails_with(args, 2, "my.csv: exists; use --force");
    let games = bench.text("games_1.pgn");
    assert_eq!(games.matches("[Round \"").count(), 40);
    // Games count as they were played: plus has White first, then Black.
    let tag = |game: &str, name: &str| {
        let value = game.split(&format!("[{name} \"")).nth(1).unwrap();
        value.split('"').next().unwrap().to_string()
    };
    let mut decided = [0, 0];
    for game in games.split("[Event ").skip(1) {
        let round = tag(game, "Round");
        let (k, number) = round.split_once('.').unwrap();
        let (k, number): (u64, usize) = (k.parse().unwrap(), number.parse().unwrap());
        let plus_has_white = tag(game, "White").ends_with("(plus)");
        assert_eq!(plus_has_white, number == 1, "{game}");
        let half_points = match (tag(game, "Result").as_str(), plus_has_white) {
            ("1-0", true) | ("0-1", false) => 2,
            ("1/2-1/2", _) => 1,
            _ => 0,
        };
        decided[number - 1] += u64::from(half_points != 1);
        let entries = entries(&bench, "r");
        let entry = entries.iter().find(|entry| entry["pair"]["k"].as_u64() == Some(k)).unwrap();
        let noted = entry["pair"]["games"][number - 1]["half_points"].as_u64();
        assert_eq!(noted, Some(half_points), "{round}: {entry}");
    }
    assert!(decided[0] > 2 && decided[1] > 2, "{decided:?}");
    assert_eq!(bench.bytes("my.csv"), bench.bytes("r/log.csv"));
    std::fs::remove_file(bench.path("my.csv")).unwrap();
    bench.fails_with(args, 2, "games_1.pgn: exists");
    std::fs::remove_file(bench.path("games_1.pgn")).unwrap();
    bench.fails_with(args, 2, "r: exists and is not empty");
    assert_eq!(bench.run((args, "--force")).0, 0);
    assert_eq!(bench.text("games_1.pgn").matches("[Round \"").count(), 40);
    if requirement::file("/dev/full") {
        bench.write("full.toml", with("pgn = \"/dev/full\""));
        bench.fails_with("-q spsa run full.toml --out full --force", 1, "/dev/full");
        // The games could not be stored, so the pair did not count.
        assert!(iterations(&bench, "full").is_empty());
    }
    bench.write("file", "x");
    bench.fails_with("spsa run run.toml --force --out file", 1, "file");
}

#[test]
#[ignore = "full"]
fn the_built_in_engines_result_can_be_played_with() {
    let bench = Bench::new();
    bench.write("run.toml", built_in("spsa", 40, 1));
    assert_eq!(bench.run("-q spsa run run.toml --out r").0, 0);
    let values = bench.text("r/values.csv");
    let queen: f64 = values.lines().nth(1).unwrap().split(',').nth(1).unwrap().parse().unwrap();
    assert!(values.starts_with("name,value,rounded,start,min,max,c_end,noise_s\nqueen,"), "{values}");
    let parameters = bench.json("r/params.json");
    let record = parameters["parameters"].list().iter().find(|p| p["name"] == "queen").unwrap();
    assert_eq!((record["mg"].as_f64(), record["eg"].as_f64()), (Some(queen), Some(queen)));
    // Every line is an option of the engine.
    let lines = bench.text("r/values.uci");
    assert_eq!(lines.lines().count(), 4);
    let (code, out, _) = bench.feed("uci --params material:100,300,300,700,700", format!("{lines}quit\n"));
    assert!(code == 0 && !out.contains("no option") && !out.contains("is not a number"), "{out}");
    bench.done("match r/params.json material --nodes 20 --games 2");
}

#[test]
#[ignore = "full"]
fn results_are_verified_against_the_start() {
    let bench = Bench::new();
    bench.write("run.toml", built_in("spsa", 40, 2));
    let out = bench.ok("--json spsa run run.toml --out r --verify 60");
    let run: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert!(run["pairs_told"] == 40 && run["verification"]["games"] == 60, "{out}");
    let again = bench.told("spsa verify r --games 60");
    assert_eq!(run["verification"], again, "a match that is over is shown again");
    let verify = bench.text("r/verify/games.pgn");
    assert_eq!(verify.matches("[White \"tuned\"]").count(), 30);
    // After rounding, nothing has changed: the run still succeeded.
    let config = built_in("spsa", 1, 1).replace("r_end = 0.002", "r_end = 1e-9").replace("= false", "= true");
    bench.write("still.toml", config);
    assert_has(&bench.done("spsa run still.toml --out still --verify 4").1, "there is nothing to verify");
    let (_, out, _) = bench.run("--json spsa verify still --games 4");
    let told: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert!(told["games"] == 0 && told["elo"].is_null() && told["pgn"].is_null(), "{told}");
    bench.fails_with("spsa verify r --games 61", 2, "games are played in pairs");
    let (code, out, _) = bench.run("spsa verify r --games 80");
    assert!(code == 0 && out.contains("tuned against start, 80 of 80 games"), "{out}");
}

#[test]
fn a_run_of_games_has_one_conclusion() {
    let bench = Bench::new();
    bench.write("run.toml", built_in("bspsa", 6, 1));
    let mut out = bench.ok("spsa run run.toml --out r");
    for next in ["gputexel spsa verify r", "gputexel spsa verify r --games 8"] {
        let told: Value = serde_json::from_str(&bench.ok("--json spsa report r")).unwrap();
        assert_one_conclusion(&told, &out, Some(&bench.text("r/report.html")));
        assert_one_conclusion(&told, &bench.ok("spsa report r"), None);
        assert_eq!(told["next"], next);
        out = bench.ok("spsa verify r --games 4");
    }
}
