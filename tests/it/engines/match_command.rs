//! `gputexel match` through the real binary.

use crate::common::conclusion::assert_one_conclusion;
use crate::common::prelude::*;

fn play(bench: &Bench, args: impl Words) -> Value {
    bench.report(("match", args))
}

const QUICK: [&str; 6] = ["--nodes", "200", "--hash", "1", "--max-plies", "120"];

#[test]
fn material_beats_zero_and_extract_reads_the_games() {
    let bench = Bench::new();
    let args =
        [&["material", "zero", "--games", "8", "--out", "m", "--concurrency", "2"], &QUICK[..]].concat();
    let report = play(&bench, &args);
    let count = |key: &str| report[key].u64();
    assert_eq!(count("wins") + count("draws") + count("losses"), 8);
    assert!(count("wins") > count("losses"), "{report}");
    assert_eq!(report["engines"][0]["name"], "material");
    assert!(report["engines"][1]["nodes_per_second"].u64() > 0);
    let ends: u64 = report["ends"].as_object().unwrap().values().map(|n| n.u64()).sum();
    assert_eq!(ends, 8);
    assert_eq!(bench.names("m"), ["games.pgn", "match.jsonl", "report.html"]);
    // The same games for any concurrency; other games under another seed.
    let alone =
        [&["material", "zero", "--games", "8", "--out", "n", "--concurrency", "1"], &QUICK[..]].concat();
    let again = play(&bench, &alone);
    assert_eq!(bench.bytes("m/games.pgn"), bench.bytes("n/games.pgn"));
    assert_eq!((&report["pairs"], &report["elo"]), (&again["pairs"], &again["elo"]));
    let seed = [&["material", "zero", "--games", "8", "--out", "s", "--seed", "2"], &QUICK[..]].concat();
    play(&bench, &seed);
    assert_ne!(bench.bytes("m/games.pgn"), bench.bytes("s/games.pgn"));
    // All games are read back, with scores.
    let (extracted, data) = bench.extract("m/games.pgn --keep-duplicates --keep-checks");
    assert_eq!(extracted["sources"][0]["records"], 8);
    assert_eq!(extracted["sources"][0]["complaints"].as_array().map_or(0, Vec::len), 0);
    assert!(data.len() > 50);
    // As text.
    let (out, _) = bench.done(("match material zero --games 2 --out w", &QUICK));
    assert_has(
        &out,
        ["material against zero, 2 games at nodes=200", "Elo ", "LOS ", "pairs ", "ends", "nodes/s"],
    );
    let (out, _) = bench.done(("match zero zero --games 2 --sprt elo0=0,elo1=5 --out z", &QUICK));
    assert_has(&out, ["SPRT        continues", "verdict     not decided: more games would tell"]);
}

#[test]
fn a_match_has_one_conclusion() {
    let bench = Bench::new();
    let conclusion = |sides: &str, folder: &str| {
        let args = format!("match {sides} --games 12 --nodes 100 --hash 1 --max-plies 100 --out {folder}");
        let (out, _) = bench.done(&*args);
        let told = bench.report(("match --resume", folder));
        let page = bench.text(&format!("{folder}/report.html"));
        assert_one_conclusion(&told, &out, Some(&page));
        let is_clear = told["elo_low"].f64() > 0.0 || told["elo_high"].f64() < 0.0;
        assert_eq!(out.contains("stronger"), is_clear, "{out}");
        told
    };
    let told = conclusion("material zero", "clear");
    let is_clear = told["elo_low"].f64() > 0.0;
    assert_eq!(told["verdict"]["judgement"].str() == "better", is_clear, "{told}");
    assert_eq!(told["next"].str().is_empty(), is_clear, "{told}");
    let told = conclusion("material material", "same");
    assert_eq!(told["verdict"]["judgement"], "same");
    assert_eq!(told["next"], "gputexel match --resume same --games 24");
}

#[test]
#[ignore = "full"]
fn interrupted_matches_resume_to_the_same_games() {
    let bench = Bench::new();
    let base = "material material:100,310,330,500,950 --concurrency 1";
    play(&bench, (base, ("--games 6 --out whole", &QUICK)));
    // As if killed in the middle of a line.
    let journal = bench.bytes("whole/match.jsonl");
    std::fs::create_dir(bench.path("torn")).unwrap();
    bench.write("torn/match.jsonl", &journal[..journal.len() * 3 / 5]);
    let report = play(&bench, "--resume torn --concurrency 2");
    assert_eq!(report["games"], 6);
    assert_eq!(bench.bytes("torn/games.pgn"), bench.bytes("whole/games.pgn"));
    // Extended on request; nothing is played twice.
    let longer = play(&bench, "--resume torn --games 8");
    assert_eq!(longer["games"], 8);
    assert_eq!(bench.text("torn/match.jsonl").lines().count(), 5);
    assert!(bench.bytes("torn/games.pgn").starts_with(&bench.bytes("whole/games.pgn")));
    // Other engines and another configuration are refused.
    std::fs::create_dir(bench.path("other")).unwrap();
    let other = bench.text("whole/match.jsonl").replace("\"source\":\"material\"", "\"source\":\"zero\"");
    bench.write("other/match.jsonl", other);
    bench.fails_with("match --resume other --games 8", 1, "plays otherwise than when the match began");
    for args in ["--resume whole --nodes 100", "zero material --resume whole"] {
        bench.fails_with(("match", args), 2, "cannot be used with");
    }
    bench.fails_with("match --resume .", 1, "is not the folder of a match: it has no match.jsonl");
    bench.fails_with("match zero material --out whole", 2, "exists and is not empty");
}

#[test]
fn files_that_have_changed_are_refused() {
    let bench = Bench::new();
    bench.dataset("d.bin", gputexel::model::FeatureKind::Material, 300, 1);
    bench.tune("d.bin --out tuned");
    let book = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq -\nnonsense\n\
                rnbqkbnr/pppppppp/8/8/3P4/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1 ; c0 \"x\";\n";
    bench.write("book.epd", book);
    let args = "tuned/params.json material --games 2 --openings book.epd";
    let report = play(&bench, (args, ("--out m", &QUICK)));
    assert_eq!((&report["openings_count"], &report["openings_bad"]), (&2.into(), &1.into()));
    assert_eq!(report["engines"][0]["name"], "tuned");
    let pgn = bench.text("m/games.pgn");
    assert!(pgn.contains("/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1\"]"), "{pgn}");
    assert_has(&bench.done(("match", (args, ("--out v", &QUICK)))).1, "book.epd:2: not a position");
    bench.write("book.epd", book.replace("8/3P4/8", "3P4/8/8"));
    bench.fails_with("match --resume m --games 4", 1, "book.epd: has changed since the match started");
    bench.write("book.epd", book);
    play(&bench, "--resume m --games 4");
    let params = bench.text("tuned/params.json");
    bench.write("tuned/params.json", params + " ");
    bench.fails_with("match --resume m --games 6", 1, "params.json: has changed since the match started");
}

#[test]
fn opening_counters_match_their_games() {
    let bench = Bench::new();
    let opening = "8/5pk1/6p1/8/8/6P1/5PK1/3R4 w - -";
    let match_of = |book: String, more: &[&str]| {
        bench.write("book.epd", book);
        let args = "material material --games 2 --openings book.epd --nodes 50 --out m";
        play(&bench, (args, more));
        let pgn = bench.text("m/games.pgn");
        std::fs::remove_dir_all(bench.path("m")).unwrap();
        pgn
    };
    let pgn = match_of(format!("{opening} hmvc 98; fmvn 80;\n"), &[]);
    assert_eq!(pgn.matches(&format!("[FEN \"{opening} 98 80\"]")).count(), 2, "{pgn}");
    assert_eq!(pgn.matches("[PlyCount \"2\"]").count(), 2, "{pgn}");
    assert!(pgn.to_lowercase().contains("fifty"), "{pgn}");
    // After move 40, four plies of small scores are enough.
    let even = "4k3/8/8/4p3/4P3/8/8/4K3 w - -";
    for counters in ["hmvc 0; fmvn 45;", "0 45"] {
        let rules = ["--draw", "40:4:10"];
        let pgn = match_of(format!("{even} {counters}\n"), &rules);
        assert_eq!(pgn.matches("[PlyCount \"4\"]").count(), 2, "{counters} {pgn}");
    }
}

#[test]
fn bad_usage_is_named() {
    let bench = Bench::new();
    for (args, says) in [
        ("material zero --games 3", "must be even"),
        ("material zero --games 0", "must be even and positive"),
        ("material zero --nodes 0", "limit 'nodes=0'"),
        ("material zero --time x", "time control 'x'"),
        ("material zero --sprt elo0=5,elo1=0", "elo0"),
        ("material zero --sprt x", "SPRT"),
        ("material zero --concurrency 0", "--concurrency 0"),
        ("material zero --hash 0", "--hash 0"),
        ("material zero --deadline -1", "--deadline"),
        ("material zero --max-plies 0", "--max-plies 0"),
        ("material zero --option A:Hash=1", "options only apply to UCI engines"),
        ("material zero --limit-b knots=3", "limit 'knots=3'"),
        ("material zero --draw 40:4", "--draw 40:4: expected MOVE:PLIES:CP"),
        ("material zero --win 0:300", "--win 0"),
    ] {
        bench.fails_with(("match", args), 2, says);
    }
    for args in ["material none.json", "material zero --openings none.epd"] {
        bench.fails_with(("match", args), 1, "none.");
    }
    bench.fails_with("match cmd:./none zero", 1, "none");
    bench.fails_with(
        ["match", "env V={params} ./none", "zero"],
        2,
        "only probe, improve and spsa have values",
    );
    assert_eq!(bench.names("."), Vec::<String>::new(), "something was written");
}

#[cfg(unix)]
#[test]
fn uci_engines_play_and_may_fail() {
    let bench = Bench::new();
    // Answers every search with an illegal move.
    let engine = "while read line; do case \"$line\" in uci) echo 'id name Mayfly'; echo uciok;; \
                  isready) echo readyok;; 'go '*) echo 'bestmove a1a1';; quit) exit;; esac; done\n";
    bench.write("engine.sh", engine);
    let args = ["cmd:sh engine.sh", "material", "--games", "4", "--out", "m"];
    // All files exist, but an inconclusive result is not a success.
    let (code, out, err) = bench.run(("match --json", (&args, &QUICK)));
    assert_eq!(code, 1);
    assert_one_line(&err);
    let says = "m: all 4 games were decided by failing engines, which says nothing of their strength; Mayfly: illegal move 'a1a1'";
    assert!(err.contains(says), "{err}");
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&report["losses"], &report["ends"]["illegal-move"]), (&4.into(), &4.into()));
    assert_eq!(
        (&report["engines"][0]["name"], &report["engines"][0]["failures"]),
        (&"Mayfly".into(), &4.into())
    );
    let args = ["match", "cmd:sh engine.sh", "material", "--games", "40", "--out", "n", "--json"];
    let (code, out, err) = bench.run((&args, ("--concurrency 1", &QUICK)));
    assert_eq!(code, 1);
    assert_one_line(&err);
    assert!(err.contains("Mayfly: failed in 12 of 12 games, last: illegal move 'a1a1'"), "{err}");
    assert_eq!(serde_json::from_str::<Value>(&out).unwrap()["games"], 12);
}

#[cfg(unix)]
#[test]
fn engines_that_ignore_limits_of_nodes_are_pointed_out() {
    let bench = Bench::new();
    let engine = "while read line; do case \"$line\" in uci) echo 'id name Glutton'; echo uciok;; \
                  isready) echo readyok;; 'position startpos') m=g1f3;; position*) m=g8f6;; \
                  'go '*) echo \"info depth 9 nodes $1\"; echo \"bestmove $m\";; quit) exit;; esac; done\n";
    bench.write("engine.sh", engine);
    bench.write("book.epd", "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -\n");
    let args = ["cmd:sh engine.sh 90000", "cmd:sh engine.sh 300", "--games", "2", "--max-plies", "2"];
    let rest = ["--nodes", "200", "--openings", "book.epd", "--name-b", "Modest"];
    let report = play(&bench, (&args, (&rest, "--out m")));
    assert_eq!(report["findings"].list().len(), 1, "{report}");
    let (out, _) = bench.done(("match", (&args, (&rest, "--out n"))));
    let says = "warning     Glutton reports 90000 nodes per move at 200: it seems to ignore 'go nodes'";
    assert!(out.contains(says), "{out}");
}
