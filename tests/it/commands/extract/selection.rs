//! The rules of `gputexel extract`, each on small synthetic games.

use crate::common::prelude::*;

/// Captures are made at plies 6, 8, 9 and 11; White is in check at 12, and mated at 14.
const MATE: &str = "1. e4 e5 2. Nf3 Nc6 3. Bc4 Nd4 4. Nxe5 Qg5 5. Nxf7 Qxg2 6. Rf1 Qxe4+ 7. Be2 Nf3#";

/// Returns the counts left out of the first source, and the number of positions kept.
fn left_out(bench: &Bench, args: impl Words) -> (Value, usize) {
    let (report, data) = bench.extract(args);
    (report["sources"][0]["left_out"].clone(), data.len())
}

fn count(reasons: &Value, label: &str) -> u64 {
    reasons[label].as_u64().unwrap_or(0)
}

#[test]
fn neighborhoods_reach_back_only() {
    let bench = Bench::new();
    bench.write("g.pgn", pgn("", MATE, "0-1"));
    let run = |args: &str| left_out(&bench, ("g.pgn --skip-plies 0", args));
    let (reasons, kept) = run("--keep-checks --keep-captures");
    assert_eq!((kept, count(&reasons, "positions of mate or stalemate")), (14, 1));
    let (reasons, kept) = run("--keep-checks --keep-captures --before-mates 3");
    assert_eq!((kept, count(&reasons, "positions shortly before mate")), (11, 3));
    let (reasons, kept) = run("--keep-captures --before-checks 1");
    assert_eq!(count(&reasons, "positions in check"), 1);
    assert_eq!((kept, count(&reasons, "positions shortly before a check")), (11, 2));
    let (reasons, kept) = run("--keep-checks --before-captures 2");
    assert_eq!(count(&reasons, "positions before a capture or promotion"), 4);
    assert_eq!((kept, count(&reasons, "positions shortly before a capture or promotion")), (6, 4));
    let args = "g.pgn --keep-checks --keep-captures --max-ply 9 --skip-plies 4";
    let (reasons, kept) = left_out(&bench, args);
    assert_eq!((kept, count(&reasons, "positions of late plies")), (6, 4));
    assert_eq!(count(&reasons, "positions of the first plies"), 4);
}

#[test]
fn promotions_can_count_as_quiet() {
    let bench = Bench::new();
    bench.write("g.pgn", pgn("[FEN \"7k/4P3/8/8/8/8/8/K7 w - - 0 1\"]\n", "1. e8=Q+ Kg7 2. Ka2 Kf6", "1-0"));
    assert_eq!(left_out(&bench, "g.pgn --skip-plies 0").1, 3);
    assert_eq!(left_out(&bench, "g.pgn --skip-plies 0 --keep-promotions").1, 4);
    assert_eq!(left_out(&bench, "g.pgn --skip-plies 0 --keep-captures").1, 4);
}

#[test]
fn pieces_and_scores_are_counted() {
    let bench = Bench::new();
    let lines = [
        ("4k3/8/8/8/8/8/4P3/4K3", 30),          // 3 pieces, 2 of them no pawns
        ("4k2r/8/8/8/8/8/4P3/4K2R", -500),      // 5 and 4
        ("4k2r/7n/8/8/8/8/4P3/4K2R", 1200),     // 6 and 5
        ("rnbqkbnr/8/8/8/8/8/4P3/RNBQKBNR", 0), // 17 and 16
    ]
    .map(|(board, cp)| format!("{board} w - - 0 1 | {cp} | 1.0\n"));
    bench.write("a.epd", lines.concat());
    let kept = |args: &str| left_out(&bench, ("a.epd", args)).1;
    assert_eq!(kept(""), 4);
    assert_eq!([kept("--min-non-pawns 5"), kept("--min-non-pawns 4")], [2, 3]);
    assert_eq!([kept("--min-pieces 7"), kept("--min-pieces 5")], [1, 3]);
    assert_eq!([kept("--max-pieces 6"), kept("--max-pieces 5")], [3, 2]);
    assert_eq!([kept("--max-score 500"), kept("--max-score 499")], [3, 2]);
    let columns: String = lines.iter().map(|line| line.replace(" | ", ",")).collect();
    let unscored = "4k3/8/8/8/8/4P3/8/4K3 w - - 0 1,,0.5\n";
    bench.write("b.epd", format!("fen,score,result\n{columns}{unscored}"));
    let kept = |args: &str| left_out(&bench, ("b.epd", args));
    assert_eq!(kept("--max-score 499").1, 3);
    let (reasons, number) = kept("--max-score 499 --require-score");
    assert_eq!((number, count(&reasons, "positions without a score")), (2, 1));
}

#[test]
fn tags_choose_games() {
    let bench = Bench::new();
    let players = [("2500", "2400"), ("2500", "2000"), ("2800", "2700"), ("?", "2700")];
    let tags = players.map(|(white, black)| format!("[WhiteElo \"{white}\"]\n[BlackElo \"{black}\"]\n"));
    let tags = tags.iter().map(String::as_str).chain([""]);
    let text: String = tags.map(|tags| pgn(tags, GAME, "1-0")).collect();
    bench.write("g.pgn", text);
    let games = |args: &str| {
        let (report, _) = bench.extract(("g.pgn --duplicates keep", args));
        (report["games"].u64(), report["sources"][0]["left_out"].clone())
    };
    assert_eq!(games("").0, 5);
    let (number, reasons) = games("--min-elo 2400");
    assert_eq!((number, count(&reasons, "games of players outside the Elo range")), (2, 1));
    assert_eq!(count(&reasons, "games without the Elo of both players"), 2);
    assert_eq!(games("--min-elo 2000 --max-elo 2600").0, 2);
}

#[test]
fn book_moves_are_left_out() {
    let bench = Bench::new();
    bench.write(
        "g.pgn",
        pgn("", "1. e4 {book} e5 { book, x=1 } 2. Nf3 {+0.3/9} Nc6 {out of book} 3. Bb5", "1-0"),
    );
    let args = "g.pgn --skip-plies 0 --no-book";
    let (reasons, kept) = left_out(&bench, args);
    assert_eq!((kept, count(&reasons, "positions before a book move")), (4, 2));
    assert_eq!(left_out(&bench, "g.pgn --skip-plies 0 --no-book=false").1, 6);
}

/// Returns games of pawn and knight moves, all different.
fn walks(count: usize) -> String {
    (0..count)
        .map(|i| {
            let (a, b) = (["a4", "b3", "c3", "g3"][i % 4], ["a5", "b6", "c6", "g6"][(i / 4) % 4]);
            let (c, d) = (["h3", "h4", "d3", "f3"][(i / 16) % 4], ["h6", "h5", "d6", "f6"][(i / 64) % 4]);
            let moves = format!("1. {a} {b} 2. {c} {d} 3. Na3 Na6 4. Nb1 Nb8 5. e3 e6 6. Ne2 Ne7 7. Ng1 Ng8");
            pgn(&format!("[Round \"{i}\"]\n"), &moves, ["1-0", "0-1", "1/2-1/2"][i % 3])
        })
        .collect()
}

/// Game, result, and feature ids with their colors.
type Row = (u32, f32, Vec<(u16, bool)>);

fn rows(data: &gputexel::dataset::Dataset) -> Vec<Row> {
    (0..data.len())
        .map(|n| {
            (data.game(n), data.results()[n], data.row(n).entries().map(|(id, c)| (id, c > 0.0)).collect())
        })
        .collect()
}

#[test]
fn samples_by_game_depend_on_seed_and_game_alone() {
    let bench = Bench::new();
    bench.write("g.pgn", walks(200));
    let run = |args: &str| bench.extract(("g.pgn --duplicates=keep --skip-plies=0", args));
    let (report, data) = run("--per-game 3");
    assert_eq!((data.len(), report["games"].as_u64()), (600, Some(200)));
    let removed = count(&report["sources"][0]["left_out"], "positions beyond the sample of a game");
    assert_eq!(removed, 200 * 12);
    let again = rows(&run("--per-game 3 --threads 7").1);
    assert_eq!(rows(&data), again);
    assert_ne!(rows(&run("--per-game 3 --seed 2").1), again);
    // A game yields the same positions at another place in another file.
    let games = walks(200);
    let at = games.match_indices("[Event").nth(150).unwrap().0;
    bench.write("tail.pgn", format!("{}{}", "\n".repeat(3), &games[at..]));
    let (_, tail) = bench.extract("tail.pgn --duplicates=keep --skip-plies=0 --per-game=3");
    let boards = |rows: Vec<Row>| rows.into_iter().map(|row| row.2).collect::<Vec<_>>();
    assert_eq!(boards(rows(&tail)), boards(again[450..].to_vec()));
    // All plies are drawn about equally often.
    let (_, many) = run("--per-game 5");
    let initial = boards(rows(&run("").1))[0].clone();
    let first = boards(rows(&many)).iter().filter(|board| **board == initial).count();
    assert!((40..=95).contains(&first), "{first} of 200 at 5 in 15");
    // A share keeps approximately its share.
    let (_, share) = run("--share 0.25");
    assert!((650..=850).contains(&share.len()), "{} of 3000", share.len());
    assert_eq!(rows(&share), rows(&run("--share 0.25 --threads 3").1));
}

#[test]
#[ignore = "full"]
fn samples_of_everything_are_exact() {
    let bench = Bench::new();
    bench.write("a.pgn", walks(100));
    bench.write("b.pgn", walks(160));
    let run = |args: &str| bench.extract(("a.pgn b.pgn --skip-plies=0", args));
    let (whole, all) = run("");
    let (report, data) = run("--sample 77");
    assert_eq!(data.len(), 77);
    let kept: Vec<u64> = report["sources"].list().iter().map(|s| s["positions"].u64()).collect();
    assert_eq!(kept.iter().sum::<u64>(), 77);
    for source in report["sources"].list() {
        let steps = source["funnel"].list();
        assert_eq!(steps.last().unwrap()["left"], source["positions"]);
        assert_eq!(steps.last().unwrap()["rule"], "positions not drawn for the sample");
    }
    // Rows are those of the whole, in order, with games renumbered.
    let every = rows(&all);
    let mut from = 0;
    for row in rows(&data) {
        from += 1 + every[from..].iter().position(|other| (other.1, &other.2) == (row.1, &row.2)).unwrap();
    }
    let numbers: Vec<u32> = (0..data.len()).map(|n| data.game(n)).collect();
    assert!(numbers[0] == 0 && numbers.windows(2).all(|pair| pair[1] == pair[0] || pair[1] == pair[0] + 1));
    assert_eq!(report["games"].u64(), u64::from(numbers[76]) + 1);
    let results = &report["results"];
    assert_eq!(results["white"].u64() + results["draws"].u64() + results["black"].u64(), 77);
    assert_eq!(rows(&data), rows(&run("--sample 77 --threads 5").1));
    assert_ne!(rows(&data), rows(&run("--sample 77 --seed 9").1));
    assert_eq!(whole["positions"], run("--sample 1000000").0["positions"]);
}

#[test]
fn duplicates_are_kept_dropped_or_averaged() {
    let bench = Bench::new();
    let long = "1. e4 e5 2. Nf3 Nc6 3. Bb5 a6";
    bench.write(
        "g.pgn",
        [pgn("", "1. e4 e5 2. Nf3", "1/2-1/2"), pgn("", long, "1-0"), pgn("", "1. e4 e5 2. Nc3", "0-1")]
            .concat(),
    );
    let run = |args: &str| bench.extract(("g.pgn --skip-plies=0", args));
    assert_eq!(results(&run("--duplicates=keep").1).len(), 4 + 7 + 4);
    assert_eq!(results(&run("").1), [0.5, 0.5, 0.5, 0.5, 1.0, 1.0, 1.0, 0.0]);
    let (report, data) = run("--duplicates average");
    assert_eq!(results(&data), [0.5, 0.5, 0.5, 0.75, 1.0, 1.0, 1.0, 0.0]);
    let weights: Vec<f32> = (0..data.len()).map(|n| data.row(n).weight).collect();
    assert_eq!(weights, [3.0, 3.0, 3.0, 2.0, 1.0, 1.0, 1.0, 1.0]);
    assert_eq!(count(&report["sources"][0]["left_out"], "positions merged with an earlier one"), 7);
    assert_eq!(report["results"]["other"], 1);
    // A drawn first occurrence shadows the decided ones behind it.
    assert_eq!(results(&run("--preset nodraw --resolve none").1), [1.0, 1.0, 1.0, 0.0]);
    let (_, data) = run("--preset nodraw --resolve none --duplicates=average");
    assert_eq!(results(&data), [0.5, 0.5, 0.5, 1.0, 1.0, 1.0, 1.0, 0.0]);
}

#[test]
fn keeps_broken_games_up_to_the_error() {
    let bench = Bench::new();
    let text =
        [pgn("", GAME, "1-0"), pgn("", &GAME.replace("9. h3", "9. Qh7"), "1-0"), pgn("", GAME, "*")].concat();
    bench.write("games.pgn", text);
    let args = "games.pgn --duplicates keep --skip-plies 0 --max-bad-share 0.5";
    let (report, data) = bench.extract(args);
    assert_eq!(data.len(), 19 + 16);
    assert_eq!(
        report["sources"][0]["skipped_games"],
        serde_json::json!([
            "games.pgn: game 2 (line 9): illegal move 'Qh7'; its first 16 plies are kept",
            "games.pgn: game 3 (line 11): no result",
        ])
    );
    // Many are counted, and the first are listed.
    bench.write("many.pgn", pgn("", GAME, "1-0") + &pgn("[WhiteElo \"100\"]\n", GAME, "*").repeat(50));
    let (report, _) = bench.extract("many.pgn");
    let source = &report["sources"][0];
    assert_eq!(source["skipped_games"].list().len(), 20);
    assert_eq!(source["skipped_games_unnamed"], 30);
    let (_, text, _) = bench.run("extract many.pgn -o t.bin");
    assert!(text.contains("and 30 more games left out or truncated"), "{text}");
}

#[test]
fn counts_of_left_out_positions_add_up() {
    let bench = Bench::new();
    bench.write("g.pgn", walks(50) + &pgn("", MATE, "0-1"));
    let (report, data) = bench.extract(
        "g.pgn --preset nodraw --resolve none --before-checks 0 --before-mates 0 --skip-plies 8 --share 0.7 \
         --before-captures 2",
    );
    let source = &report["sources"][0];
    let mut left = source["positions_read"].u64();
    for step in source["funnel"].list() {
        left -= step["removed"].u64();
        assert_eq!(step["left"], left);
    }
    assert_eq!(left as usize, data.len());
    let rules: Vec<&str> = source["funnel"].list().iter().map(|s| s["rule"].str()).collect();
    let place =
        |rule: &str| rules.iter().position(|r| *r == rule).unwrap_or_else(|| panic!("{rule}: {rules:?}"));
    assert!(place("positions of the first plies") < place("positions before a capture or promotion"));
    assert!(place("positions not drawn for the share") < place("duplicate positions"));
    assert!(place("duplicate positions") < place("positions of drawn games"));
}

#[test]
fn presets_are_recorded_and_can_be_overridden() {
    let bench = Bench::new();
    bench.write("g.pgn", pgn("", MATE, "0-1") + &pgn("", GAME, "1-0"));
    let recorded = |args: &[&str]| bench.extract(("g.pgn", args)).0["selection"].clone();
    let common = serde_json::json!({
        "preset": "capt", "skip_plies": "0", "keep_checks": "false", "before_checks": "5", "before_mates": "5",
        "keep_captures": "true", "keep_promotions": "true", "keep_duplicates": "true", "resolve": "depth1",
        "params": "material",
    });
    let with = |changes: Value| {
        let mut all = common.clone();
        for (name, value) in changes.as_object().unwrap() {
            all[name] = value.clone();
        }
        all
    };
    let unique = |name: &str| with(serde_json::json!({ "preset": name, "keep_duplicates": "false" }));
    assert_eq!(recorded(&["--preset", "capt"]), common);
    assert_eq!(
        recorded(&["--preset", "quiet"]),
        with(serde_json::json!({ "preset": "quiet", "keep_captures": "false", "before_captures": "5" }))
    );
    assert_eq!(recorded(&["--preset", "unique"]), unique("unique"));
    for (name, setting, value) in
        [("nodraw", "no_draws", "true"), ("drop4", "min_non_pawns", "5"), ("drop30", "max_pieces", "30")]
    {
        let mut wanted = unique(name);
        wanted[setting] = value.into();
        // Neither game reaches 30 pieces while staying quiet, so drop30 has to be relaxed.
        let overriding = ["--preset", name, "--min-non-pawns", "3", "--max-pieces", "32"];
        if name != "drop30" {
            assert_eq!(recorded(&["--preset", name]), wanted);
        }
        let overridden = recorded(&overriding);
        assert_eq!(
            (overridden["min_non_pawns"].as_str(), overridden["max_pieces"].as_str()),
            (Some("3"), Some("32"))
        );
    }
    let changed = recorded(
        &"--preset nodraw --duplicates average --before-checks 2 --resolve none --skip-plies 6 \
          --keep-captures=false"
            .words(),
    );
    for (name, value) in [
        ("before_checks", "2"),
        ("skip_plies", "6"),
        ("average_duplicates", "true"),
        ("keep_captures", "false"),
    ] {
        assert_eq!(changed[name], value, "{name}");
    }
    assert!(changed.get("resolve").is_none());
    let (_, out, _) = bench.run("info out.bin");
    assert!(out.contains("preset nodraw"), "{out}");
}

#[test]
fn reports_rules_that_need_games() {
    let bench = Bench::new();
    bench.write("a.epd", "4k3/8/8/8/8/8/4P3/4K3 w - - [1.0]\n4k3/8/8/8/8/8/4P3/4K3 w - - [1.0]\n");
    let (report, data) = bench.extract("a.epd --preset unique");
    assert_eq!(data.len(), 1);
    let warnings = report["sources"][0]["warnings"].to_string();
    assert!(warnings.contains("these rules do not apply: before_checks, before_mates"), "{warnings}");
    assert!(!bench.extract("a.epd").0["sources"][0]["warnings"].to_string().contains("do not apply"));
}

#[test]
fn quiescence_filters_and_resolves() {
    let bench = Bench::new();
    // A hanging queen, a protected one, and no captures.
    bench.write(
        "q.epd",
        "4k3/8/8/3q4/4P3/8/8/4K3 w - - [1.0]\n4k3/8/2p5/3p4/4P3/8/8/4K3 w - - [1.0]\n4k3/8/8/8/8/8/4P3/4K3 w - - [1.0]\n",
    );
    let kept = |args: &str| left_out(&bench, ("q.epd", args)).1;
    assert_eq!([kept("--quiescence-margin 0"), kept("--quiescence-margin 899")], [2, 2]);
    assert_eq!(kept("--quiescence-margin 900"), 3);
    let (_, data) = bench.extract("q.epd --resolve quiescence");
    let pieces: Vec<usize> = (0..3).map(|n| data.row(n).entry_count()).collect();
    assert_eq!(pieces, [3, 5, 3]);
    let (_, data) = bench.extract("q.epd --resolve depth1");
    assert_eq!(data.row(0).entry_count(), 3);
    assert_eq!(kept("--quiescence-margin 0 --params material:100,1,1,1,1"), 2);
}

#[test]
fn contradictions_are_refused_in_one_line() {
    let bench = Bench::new();
    bench.write("g.pgn", pgn("", GAME, "1-0"));
    for (args, text) in [
        (&["--preset", "best"][..], "preset 'best': expected capt, quiet"),
        (&["--duplicates", "some"], "duplicates 'some': expected keep, drop or average"),
        (&["--share", "0"], "share 0"),
        (&["--share", "nan"], "share NaN"),
        (&["--share", "1.5"], "share 1.5"),
        (&["--per-game", "0"], "keeps nothing"),
        (&["--sample", "0"], "keeps nothing"),
        (&["--seed", "3"], "--seed is only used with"),
        (&["--params", "material"], "--params is only used with"),
        (&["--resolve", "depth1", "--params", "material:1,2"], "material:1,2"),
        (&["--skip-plies", "9", "--max-ply", "8"], "plies from 9 to 8"),
        (&["--min-pieces", "33"], "pieces from 33 to 32"),
        (&["--min-pieces", "9", "--max-pieces", "8"], "pieces from 9 to 8"),
        (&["--max-pieces", "1"], "pieces from 2 to 1"),
        (&["--min-elo", "2", "--max-elo", "1"], "Elo from 2 to 1"),
        (&["--before-checks", "1001"], "1001 positions before checks"),
        (&["--resolve", "deep"], "resolve 'deep'"),
    ] {
        bench.refuse_with(("g.pgn", args), 2, text);
    }
    let (code, _, _) = bench.run("extract g.pgn -o x --keep-checks --before-checks 3");
    assert_eq!(code, 2);
}
