//! Positions as a search sees them, `gputexel learn` and `gputexel improve` through the real binary.

use crate::common::conclusion::assert_one_conclusion;
use crate::common::prelude::*;

const LEARN: &str = "--games 40 --label-nodes 40 --match-games 4 --hours 1e-6";

#[test]
fn leaves_are_the_same_for_any_concurrency_and_can_be_labeled() {
    let bench = Bench::new();
    let args = "selfplay --games 6 --nodes 150 --max-plies 60 --leaves 16 --hash 1";
    bench.report((args, "-o two --concurrency 2"));
    bench.report((args, "-o one --concurrency 1"));
    let leaves = bench.text("one/leaves.fens");
    assert_eq!(leaves, bench.text("two/leaves.fens"));
    let boards: Vec<&str> = leaves.lines().map(|line| line.splitn(3, ' ').nth(2).unwrap()).collect();
    assert!(boards.len() > 50, "{}", boards.len());
    let distinct: HashSet<&str> = boards.iter().map(|fen| fen.rsplitn(3, ' ').last().unwrap()).collect();
    assert_eq!(distinct.len(), boards.len());
    for fen in &boards {
        let position: Chess = fen.parse::<Fen>().unwrap().into_position(CastlingMode::Standard).unwrap();
        assert!(!position.is_check(), "{fen}");
    }
    // Without the flag there is no such file, and a resumed run keeps its own.
    bench.report(("selfplay --resume one", "--games 7"));
    assert!(bench.text("one/leaves.fens").starts_with(&leaves));
    bench.report("selfplay --games 2 --nodes 20 --max-plies 20 -o none");
    assert!(!bench.names("none").contains(&"leaves.fens".to_string()));
    let labels = "rescore two/leaves.fens --engine material --nodes 50 --quiescence-margin 0 -o labeled.fens";
    let report = bench.report(labels);
    let scored = report["progress"]["scored"].u64();
    assert!(scored > 0 && scored < boards.len() as u64, "{report}");
    let report = bench.report("extract labeled.fens -o d.bin --target score");
    assert_eq!(report["positions"].u64(), scored);
}

#[test]
#[ignore = "full"]
fn engines_show_leaves_of_their_own() {
    if !requirement::program("gcc") {
        return;
    }
    let bench = Bench::new();
    bench.road_engine();
    bench.compile("gcc -O1 -o engine untapered.c");
    let common = "selfplay --engine ./engine --games 4 --nodes 400 --max-plies 60";
    let played = |args: &str| bench.report((common, ("--option Leaves=true", args)));
    let report = played("--leaves 1 -o all");
    let leaves = bench.text("all/leaves.fens");
    assert!(leaves.lines().count() > 200 && report["leaves"].u64() >= leaves.lines().count() as u64);
    played("--leaves 1 -o again --concurrency 1");
    assert_eq!(bench.text("again/leaves.fens"), leaves);
    // Some of them are drawn, by their keys, and engines with the header are told how many.
    bench.write("asked", "#!/bin/sh\necho =$GPUTEXEL_LEAVES >> told\nexec ./engine\n");
    bench.report((
        "selfplay --games 4 --nodes 400 --max-plies 60 --option Leaves=true --leaves 4 -o some",
        &["--engine", "sh asked"][..],
    ));
    assert!(bench.text("told").lines().any(|line| line == "=4"));
    let all: HashSet<&str> = leaves.lines().collect();
    let some = bench.text("some/leaves.fens");
    assert!(some.lines().all(|line| all.contains(line)));
    assert!((all.len() / 6..all.len() / 3).contains(&some.lines().count()), "{}", some.lines().count());

    bench.fails_with(
        (common, "--leaves 4 -o none"),
        1,
        "Untapered: printed no 'info string leaf FEN' in 4 games (--leaves 4)",
    );
    assert!(!bench.names("none").contains(&"leaves.fens".to_string()));
    let header =
        bench.text("core.h").replace("printf(\"info string leaf \")", "printf(\"info string leaf x\")");
    bench.write("core.h", &header);
    bench.compile("gcc -O1 -o engine untapered.c");
    let wrong = (common, "--option Leaves=true --leaves 4 -q -o wrong");
    bench.fails_with(wrong, 1, "': not a position: the piece placement cannot be read");
}

#[test]
#[ignore = "full"]
fn learning_is_resumed_and_writes_values_only_if_they_win() {
    let bench = Bench::new();
    let report = bench.report(("learn -o l", LEARN));
    assert_eq!((report["rounds"].as_array().unwrap().len(), report["model"].as_str()), (1, Some("pst")));
    let names: Vec<&str> =
        report["against"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["material", "pesto"]);
    let round = &report["rounds"][0];
    assert_eq!(round["kept"], round["elo"].f64() > 0.0, "{round}");
    let kept = report["kept"].as_bool().unwrap();
    assert_eq!(bench.names("l").contains(&"params.json".to_string()), kept);
    assert!(bench.text("l/report.html").contains("Rounds"));
    // The model that was asked for is tuned to both of its draws.
    let lines = |n: u32| bench.text(&format!("l/after-01/draw-{n}/labeled.fens")).lines().count() as u64;
    let tuned_to = bench.json("l/values/params.json")["provenance"]["positions"].u64();
    assert!(tuned_to > lines(1).max(lines(2)), "{tuned_to} of {} and {}", lines(1), lines(2));
    // A round that is finished is not played again; one that was killed is.
    let again = bench.report("learn --resume l --hours 1e-6");
    assert_eq!(again["rounds"], report["rounds"]);
    let (_, out, _) = bench.run("learn --resume l --hours 1e-6");
    assert_one_conclusion(&again, &out, Some(&bench.text("l/report.html")));
    std::fs::remove_file(bench.path("l/round-01/round.json")).unwrap();
    let labels = bench.text("l/round-01/labeled.fens");
    let again = bench.report("learn --resume l --hours 1e-6");
    assert_eq!(again["rounds"][0]["positions"], report["rounds"][0]["positions"]);
    assert_eq!(bench.text("l/round-01/labeled.fens"), labels);
    // PeSTO's tables play once.
    let report = bench.report(("learn --params pesto -o p", LEARN));
    assert_eq!(report["against"].as_array().unwrap().len(), 1);
}

#[test]
fn bad_settings_of_learning_and_improving_are_refused() {
    let bench = Bench::new();
    bench.fails_with("learn -o x --hours 0", 2, "--hours 0: expected a number above 0");
    bench.fails_with("learn -o x --model imported", 2, "--model imported: expected pst, classical or full");
    bench.fails_with("learn -o x --match-games 3", 2, "--match-games 3");
    bench.fails_with("learn -o x --params nowhere.json", 1, "nowhere.json");
    bench.fails_with("learn --resume x", 1, "x");
    bench.fails_with("improve nowhere -o x", 1, "nowhere");
    assert!(!bench.path("x").exists());
}

#[test]
#[ignore = "full"]
fn games_decide_how_far_a_run_is_followed() {
    let bench = Bench::new();
    bench.dataset("d.bin", FeatureKind::Pst, 3000, 7);
    bench.report("tune d.bin --out r --backend cpu --l2 1e-4");
    let report = bench.report("improve r --pairs 6 --test-games 4 --nodes 20 --concurrency 1 -o i");
    assert_eq!((report["passed"].as_bool(), report["test_games"].u64()), (Some(false), 4));
    let factors = report["factors"].as_object().unwrap();
    assert!((2..=12).contains(&factors.len()), "{report}");
    // The start is kept: the plain piece values that the run began with.
    let kept = bench.json("i/params.json");
    assert!(kept["parameters"].as_array().unwrap().iter().all(|p| p["mg"] == p["eg"]), "{kept}");
    assert!(kept["provenance"]["loss"].is_null() && kept["provenance"]["single_steps"].is_null(), "{kept}");
    assert_ne!(bench.json("i/result.json")["parameters"], kept["parameters"]);
    // A folder that is finished says the same again.
    assert_eq!(bench.report("improve --resume i")["factors"], report["factors"]);
    assert_one_conclusion(&report, &bench.ok("improve --resume i"), None);
    bench.fails_with("improve --resume i --test-games 2", 2, "a test can only be extended");
    assert_eq!(bench.report("improve --resume i --test-games 8")["test_games"].u64(), 8);
    // A passed test is followed by other games at its limit, whose Elo is the one that is told.
    let easy = "--pairs 0 --sprt elo0=-900,elo1=-800 --nodes 20 --test-nodes 10 --confirm-games 4 -o e";
    let report = bench.report(format!("improve r {easy}"));
    assert_eq!((report["passed"].as_bool(), report["confirm_games"].u64()), (Some(true), 4), "{report}");
    assert_eq!(report["verdict"]["measured_on"], "4 games", "{report}");
    let [test, confirmation] =
        ["verify", "confirm"].map(|name| bench.text(&format!("e/search/{name}/games.pgn")));
    let opening = |text: &str| text.lines().find(|line| line.starts_with("[FEN")).map(String::from);
    assert_ne!(opening(&test), opening(&confirmation));
    let out = bench.ok("improve --resume e");
    assert!(out.contains("confirmed   Elo") && out.contains("in 4 games, nodes=10"), "{out}");
    bench.fails_with("improve r --confirm-games 3 -o x", 2, "--confirm-games 3");
    // With an engine, its options must be there and have the values of the start.
    let engine = format!("{} uci", env!("CARGO_BIN_EXE_gputexel"));
    bench.fails_with(["improve", "r", "--engine", &engine, "-o", "x"], 1, "has no option");
    assert!(!bench.path("x").exists());
}
