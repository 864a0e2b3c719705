//! `gputexel selfplay` and `gputexel rescore` through the real binary.

use crate::common::prelude::*;

const QUICK: [&str; 6] = ["--nodes", "150", "--hash", "1", "--max-plies", "100"];

fn selfplay(bench: &Bench, args: impl Words) -> Value {
    bench.report(("selfplay", (args, &QUICK)))
}

#[test]
#[ignore = "full"]
fn games_are_the_same_for_any_concurrency_and_all_formats_agree() {
    let bench = Bench::new();
    let all = "pgn,binpack,bulletformat";
    let report = selfplay(&bench, ["--games", "6", "-o", "two", "--concurrency", "2", "--format", all]);
    let count = |key: &str| report[key].u64();
    assert_eq!((count("games"), count("white_wins") + count("draws") + count("black_wins")), (6, 6));
    assert_eq!((&report["stop"], count("spoiled"), count("without_score")), (&"all-played".into(), 0, 0));
    let share = report["search_share"].f64();
    assert!(share > 0.0 && share <= 1.0, "{share}");
    let files = ["games.bf", "games.binpack", "games.pgn", "selfplay.jsonl"];
    assert_eq!(bench.names("two"), files);
    selfplay(&bench, "--games 6 -o one --concurrency 1");
    assert_eq!(bench.text("one/games.pgn"), bench.text("two/games.pgn"));
    selfplay(&bench, "--games 6 -o other --seed 2");
    assert_ne!(bench.text("one/games.pgn"), bench.text("other/games.pgn"));
    // Every searched position is read back with its score; openings have none.
    let pgn = bench.bytes("two/games.pgn");
    let batch = read_pgn(&pgn, 1, &Selection::everything());
    assert_eq!((batch.records, batch.complaints.len()), (6, 0));
    let scored = batch.samples.iter().filter(|sample| !sample.score_cp.is_nan()).count() as u64;
    assert_eq!(scored, count("positions"));
    // The binary formats contain the same as the PGN.
    let positions = |file: &str| {
        let args = ["convert", file, "-o", "out.txt", "--force"];
        bench.report(args);
        bench.text("out.txt").lines().map(str::to_string).collect::<Vec<_>>()
    };
    let of_games = positions("two/games.pgn");
    assert_eq!(of_games.len() as u64, count("positions"));
    assert_eq!(positions("two/games.binpack"), of_games);
    // As many as the default selection keeps of the games' searched positions.
    let args = "convert two/games.pgn -o out.txt --force --keep-checks=false --keep-captures=false";
    bench.report(args);
    let quiet = bench.text("out.txt").lines().count();
    assert!(quiet > 0 && quiet < of_games.len());
    assert_eq!(bench.bytes("two/games.bf").len(), 32 * quiet);
}

#[test]
fn openings_are_distinct_and_balanced() {
    let bench = Bench::new();
    let args = ["--games", "30", "-o", "r", "--random-plies", "2"];
    bench.report(("selfplay", (&args, "--nodes 5 --max-plies 6")));
    let keys: HashSet<u64> = bench
        .text("r/selfplay.jsonl")
        .lines()
        .skip(1)
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["key"].u64())
        .collect();
    assert_eq!(keys.len(), 30);
    // There are twenty first moves.
    bench.write("usual.epd", "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -\n");
    let args = "selfplay --games 21 -o few --openings usual.epd --random-plies 1 --nodes 5";
    bench.fails_with((args, "--max-plies 4 -q"), 2, "--random-plies 1: game 21 has no opening");
    let book = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq -\n\
                rnbqkbnr/pppppppp/8/8/3P4/8/PPPP1PPP/RNBQKBNR b KQkq -\n";
    bench.write("book.epd", book);
    let book = ["--openings", "book.epd"];
    bench.fails_with(("selfplay --games 3 -o b", &book), 2, "--games 3: the book has 2 different openings");
    selfplay(&bench, ("--games 2 -o b", &book));
    assert_eq!(bench.text("b/games.pgn").matches("/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1\"]").count(), 2);
    selfplay(&bench, ("--games 3 -o c --random-plies 1", &book));
}

#[cfg(unix)]
#[test]
#[ignore = "full"]
fn killed_runs_resume_to_the_same_games() {
    let bench = Bench::new();
    selfplay(&bench, "--games 16 -o whole --concurrency 1");
    let args = [&["selfplay", "--games", "16", "-o", "killed", "--concurrency", "2"], &QUICK[..]].concat();
    let mut child = bench.spawn(&args);
    let lines = || {
        std::fs::read(bench.path("killed/selfplay.jsonl"))
            .map_or(0, |b| b.iter().filter(|c| **c == b'\n').count())
    };
    let begin = std::time::Instant::now();
    while lines() < 4 {
        assert!(begin.elapsed().as_secs() < 120, "no game is finished");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // An incomplete line, as after a system crash.
    let mut journal = bench.bytes("killed/selfplay.jsonl");
    journal.extend_from_slice(b"{\"game\":3,\"key\":12");
    bench.write("killed/selfplay.jsonl", journal);
    assert!(!bench.path("killed/games.pgn").exists(), "games appear as a whole");
    let report = bench.report("selfplay --resume killed");
    assert_eq!(report["games"], 16);
    assert!(report["played_now"].u64() <= 13, "{report}");
    assert_eq!(bench.text("killed/games.pgn"), bench.text("whole/games.pgn"));
    // Extended on request, and in another format.
    let report = bench.report("selfplay --resume killed --games 18 --format pgn,binpack");
    assert_eq!((&report["games"], &report["played_now"]), (&18.into(), &2.into()));
    assert!(bench.text("killed/games.pgn").starts_with(&bench.text("whole/games.pgn")));
    let other = bench.text("killed/selfplay.jsonl").replace("\"source\":\"material\"", "\"source\":\"zero\"");
    std::fs::create_dir(bench.path("other")).unwrap();
    bench.write("other/selfplay.jsonl", other);
    bench.fails_with("selfplay --resume other --games 19", 1, "plays otherwise than when the self-play run");
    bench.fails_with("selfplay --resume killed --games 17", 2, "--games 17: killed already has 18");
    bench.fails_with("selfplay -o killed", 2, "exists and is not empty");
    bench.fails_with("selfplay --resume .", 1, "it has no selfplay.jsonl");
}

#[cfg(unix)]
#[test]
fn spoiled_games_are_not_written() {
    let bench = Bench::new();
    // Scores, but no legal move.
    let engine = "while read line; do case \"$line\" in uci) echo 'id name Mayfly'; echo uciok;; \
                  isready) echo readyok;; 'go '*) echo 'info depth 1 score cp 7'; echo 'bestmove a1a1';; \
                  quit) exit;; esac; done\n";
    bench.write("engine.sh", engine);
    let args = ["--json", "selfplay", "--engine", "sh engine.sh", "--games", "3", "-o", "m"];
    let (code, out, err) = bench.run(args);
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&report["games"], &report["spoiled"]), (&0.into(), &3.into()));
    assert_eq!((&report["engine"], &report["ends"]["illegal-move"]), (&"Mayfly".into(), &3.into()));
    // Nothing to work with: no file is created.
    assert_eq!((code, &bench.names("m")[..]), (1, &["selfplay.jsonl".to_string()][..]));
    assert_one_line(&err);
    assert_has(&err, "m: Mayfly: failed in each of 3 games, none of which is written; last: illegal move");
    let args = ["selfplay", "--engine", "sh engine.sh", "--games", "40", "-o", "n"];
    let (code, _, err) = bench.run((&args, "--concurrency 1 --json"));
    assert_eq!(code, 1);
    assert_one_line(&err);
    assert_has(&err, "Mayfly: failed in 11 of 11 games, last: illegal move: illegal move 'a1a1'");
}

#[test]
fn games_are_adjudicated() {
    let bench = Bench::new();
    let report = bench.report("selfplay --games 8 -o a --win 2:300 --draw 10:4:10 --nodes 150");
    let ends = report["ends"].as_object().unwrap();
    assert!(ends.contains_key("adjudicated-win") && ends.contains_key("adjudicated-draw"), "{report}");
}

#[test]
fn bad_usage_of_selfplay_is_named() {
    let bench = Bench::new();
    for (args, says) in [
        ("--games 0", "--games 0"),
        ("--random-plies 300", "--random-plies 300"),
        ("--format pgn,odd", "--format odd"),
        ("--win 0:0", "--win 0"),
    ] {
        bench.fails_with(("selfplay", args), 2, says);
    }
    for args in ["--params none.json", "--engine ./none", "--openings none.epd"] {
        bench.fails_with(("selfplay", args), 1, "none");
    }
    assert_eq!(bench.names("."), Vec::<String>::new(), "something was written");
}

/// Returns the positions of a text with scores: position, score, result.
fn labeled(bench: &Bench, name: &str) -> Vec<(String, f64, f64)> {
    let line = |line: &str| {
        let mut fields = line.split('|').map(str::trim);
        let mut next = || fields.next().unwrap().to_string();
        (next(), next().parse().unwrap(), next().parse().unwrap())
    };
    bench.text(name).lines().map(line).collect()
}

const POSITIONS: &str = "r1bqkbnr/pppp1ppp/2n5/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq - 2 3 | 11 | 0.5\n\
    r1bqkb1r/pppp1ppp/2n2n2/4p3/4P3/3P1N2/PPP2PPP/RNBQKB1R w KQkq - 1 4 | 22 | 1.0\n\
    4k3/8/8/8/8/8/4P3/Q3K3 b - - 0 1 | 33 | 1.0\n\
    rnb1kbnr/pppp1ppp/8/4p3/6Pq/5P2/PPPPP2P/RNBQKBNR w KQkq - 1 3 | 44 | 0.0\n\
    4k3/8/8/8/8/8/q3p3/4K3 w - - 0 1 | -55 | 0.0\n";

#[test]
fn engines_replace_only_scores() {
    let bench = Bench::new();
    // Enough for several blocks.
    bench.write("in.txt", POSITIONS.repeat(60));
    let args = "rescore in.txt --engine material --depth 2 --hash 1 --duplicates keep";
    let report = bench.report((args, "-o one.txt --concurrency 1"));
    assert_eq!((&report["progress"]["scored"], &report["progress"]["ends"]), (&240.into(), &60.into()));
    let (before, after) = (labeled(&bench, "in.txt"), labeled(&bench, "one.txt"));
    assert_eq!(before.len(), after.len());
    for ((old, new), i) in before.iter().zip(&after).zip(0..) {
        assert_eq!((&old.0, old.2), (&new.0, new.2));
        match i % 5 {
            // An extra queen and pawn, for White and then for Black.
            2 => assert!((800.0..2000.0).contains(&new.1), "{new:?}"),
            // Fool's mate is on the board.
            3 => assert_eq!(new.1, -30_000.0),
            4 => assert!((-2000.0..=-800.0).contains(&new.1) || new.1 == -30_000.0, "{new:?}"),
            _ => assert!(new.1.abs() < 400.0, "{new:?}"),
        }
    }
    bench.report((args, "-o two.txt --concurrency 3"));
    assert_eq!(bench.text("two.txt"), bench.text("one.txt"));
    assert_eq!(bench.names("."), ["in.txt", "one.txt", "two.txt"]);
    bench.fails_with((args, "-o one.txt"), 2, "one.txt: exists");
    bench.fails_with("rescore in.txt -o x.txt", 2, "--engine");
}

#[cfg(unix)]
#[test]
#[ignore = "full"]
fn interrupted_rescorings_are_resumed() {
    let bench = Bench::new();
    bench.write("in.txt", POSITIONS.repeat(400));
    let whole = ["rescore", "in.txt", "--engine", "material", "--nodes", "300", "--duplicates", "keep"];
    bench.report((&whole, "-o whole.txt"));
    let mut child = bench.spawn((&whole, "-o out.txt --concurrency 1"));
    let journal = || {
        std::fs::read(bench.path("out.txt.rescore/rescore.jsonl"))
            .map_or(0, |b| b.iter().filter(|c| **c == b'\n').count())
    };
    let begin = std::time::Instant::now();
    while journal() < 3 {
        assert!(begin.elapsed().as_secs() < 120, "nothing is scored");
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!bench.path("out.txt").exists());
    bench.fails_with((&whole, "-o out.txt"), 2, "was interrupted; use --resume to continue it");
    let other = [&whole[..4], &["--nodes", "301", "-o", "out.txt", "--resume"]].concat();
    bench.fails_with(&other, 1, "was begun with another engine, parameters or limit");
    bench
        .write("in.txt", format!("{}\n", POSITIONS.lines().rev().collect::<Vec<_>>().join("\n")).repeat(400));
    bench.fails_with((&whole, "-o out.txt --resume"), 1, "holds scores of other positions");
    bench.write("in.txt", POSITIONS.repeat(400));
    // As if it had been begun by an engine with other scores.
    let known = bench.text("out.txt.rescore/rescore.jsonl");
    let mut lines: Vec<Value> =
        known.lines().take(2).map(|line| serde_json::from_str(line).unwrap()).collect();
    lines[1]["scores"][0] = 9999.into();
    bench.write(
        "out.txt.rescore/rescore.jsonl",
        lines.iter().map(|line| format!("{line}\n")).collect::<String>(),
    );
    bench.fails_with((&whole, "-o out.txt --resume"), 1, "scores otherwise than when the rescoring began");
    bench.write("out.txt.rescore/rescore.jsonl", known);
    let report = bench.report((&whole, "-o out.txt --resume"));
    assert!(report["progress"]["known"].u64() >= 64, "{report}");
    assert_eq!(bench.text("out.txt"), bench.text("whole.txt"));
    // A killed process leaves incomplete files, as everywhere.
    let names = bench.names(".").into_iter().filter(|name| !name.starts_with(".gputexel-"));
    assert_eq!(names.collect::<Vec<_>>(), ["in.txt", "out.txt", "whole.txt"]);
}

/// An existing file in place of the result is compared with it: it may be the result of the killed process, or
/// anything else.
#[cfg(unix)]
#[test]
#[ignore = "full"]
fn resumed_rescoring_recognizes_its_result() {
    let bench = Bench::new();
    bench.write("in.txt", POSITIONS.repeat(400));
    let args = ["rescore", "in.txt", "--engine", "material", "--nodes", "300", "--duplicates", "keep"];
    let resumed = [&args[..], &["-o", "out.txt", "--resume"]].concat();
    bench.report((&args, "-o whole.txt"));
    let mut child = bench.spawn((&args, "-o out.txt --concurrency 1"));
    let begin = std::time::Instant::now();
    while !std::fs::read(bench.path("out.txt.rescore/rescore.jsonl")).is_ok_and(|b| b.len() > 1000) {
        assert!(begin.elapsed().as_secs() < 120, "nothing is scored");
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    bench.write("out.txt", "mine\n");
    bench.fails_with(&resumed, 2, "out.txt: exists");
    assert_eq!(bench.text("out.txt"), "mine\n");
    bench.write("out.txt", bench.text("whole.txt"));
    let report = bench.report(&resumed);
    assert_eq!(report["conversion"]["output"], "out.txt");
    assert_eq!(bench.text("out.txt"), bench.text("whole.txt"));
    assert!(!bench.path("out.txt.rescore").exists());
    let error = bench.fails(&resumed, 2);
    assert!(
        error.contains("nothing is unfinished") && bench.text("out.txt") == bench.text("whole.txt"),
        "{error}"
    );
}

#[cfg(unix)]
#[test]
fn missing_scores_are_not_labels() {
    let bench = Bench::new();
    bench.write("in.txt", POSITIONS);
    // Neither moves nor reports anything if a queen is on a1; otherwise a score but no legal move.
    let engine = "while read line; do case \"$line\" in uci) echo 'id name Mute'; echo uciok;; \
                  isready) echo readyok;; position*Q3K3*) quiet=1;; position*) quiet=;; \
                  'go '*) [ $quiet ] || echo 'info score cp 9'; echo bestmove e8e7;; quit) exit;; esac; done\n";
    bench.write("engine.sh", engine);
    let args = ["rescore", "in.txt", "--engine", "cmd:sh engine.sh", "-o", "out.txt"];
    let report = bench.report(args);
    // The move is legal in one position only, which has no score.
    let unscored = report["unscored"].list();
    assert_eq!((&report["progress"]["unscored"], unscored.len()), (&4.into(), 4));
    assert_eq!(unscored[2]["reason"], "no score");
    assert_eq!(unscored[0]["reason"], "illegal move 'e8e7'");
    assert_eq!(report["conversion"]["losses"]["without_score"], 4);
    assert_eq!(labeled(&bench, "out.txt").len(), 1);
    let why = "Mute: gave no score for 4 positions, such as";
    bench.fails_with((&args[..5], "other.txt --max-unscored 3"), 1, why);
    assert!(!bench.path("other.txt").exists());
}

#[cfg(unix)]
#[test]
fn engines_are_started_for_positions_and_their_silence_is_no_label() {
    let bench = Bench::new();
    // 100 positions are two blocks; the first start of the engine is the trial.
    bench.write(
        "in.txt",
        POSITIONS.lines().take(2).map(|line| format!("{line}\n")).collect::<String>().repeat(50),
    );
    let engine = "echo >>starts; while read line; do case \"$line\" in uci) echo 'id name Mute'; echo uciok;; \
                  isready) echo readyok;; 'go '*) echo bestmove 0000;; quit) exit;; esac; done\n";
    bench.write("engine.sh", engine);
    let args = [
        "rescore",
        "in.txt",
        "--engine",
        "cmd:sh engine.sh",
        "--duplicates",
        "keep",
        "--max-unscored",
        "1000",
    ];
    for output in ["out.txt", "out.binpack"] {
        let error = bench.fails((&args, &["-o", output, "--concurrency", "1000"]), 1);
        assert!(!bench.path(output).exists(), "{error}");
        assert!(error.contains("100") && error.contains("score"), "{error}");
    }
    assert_eq!(bench.text("starts").lines().count(), 2 * 3);
}
