//! `gputexel extract` on games, through the real binary.

use crate::common::prelude::*;

#[test]
fn games_are_played_and_filtered() {
    let bench = Bench::new();
    bench.write("g.pgn", pgn("", GAME, "1-0"));
    let (report, data) = bench.extract("g.pgn");
    let source = &report["sources"][0];
    // 18 moves, 19 positions: 8 skipped, none in check, none before a capture.
    assert_eq!(source["positions_read"], 19);
    assert_eq!(source["left_out"]["positions of the first plies"], 8);
    assert_eq!((data.len(), report["games"].as_u64()), (11, Some(1)));
    assert!(results(&data).iter().all(|r| *r == 1.0));
    let (_, all) = bench.extract("g.pgn --skip-plies 0");
    assert_eq!(all.len(), 19);
    bench.write("h.pgn", pgn("", GAME, "1-0"));
    let (report, _) = bench.extract("g.pgn h.pgn");
    assert_eq!(report["sources"][1]["left_out"]["duplicate positions"], 11);
    assert_eq!((report["positions"].as_u64(), report["games"].as_u64()), (Some(11), Some(1)));
    let (report, data) = bench.extract("g.pgn h.pgn --keep-duplicates");
    assert_eq!((data.len(), report["games"].as_u64()), (22, Some(2)));
}

#[test]
fn captures_checks_and_endings_are_left_out() {
    let bench = Bench::new();
    bench.write("g.pgn", pgn("", "1. e4 d5 2. exd5 Qxd5 3. Nc3 Qe5+ 4. Be2 Qd4 5. f3 Qh4+ 6. g3 Qf6", "0-1"));
    let left_out = |args: &str| {
        let (report, data) = bench.extract(("g.pgn --skip-plies 0", args));
        (report["sources"][0]["left_out"].clone(), data.len())
    };
    let (reasons, kept) = left_out("");
    assert_eq!(reasons["positions in check"], 2);
    assert_eq!(reasons["positions before a capture or promotion"], 2);
    assert_eq!(kept, 13 - 4);
    assert_eq!((left_out("--keep-checks").1, left_out("--keep-captures").1), (11, 11));
    bench.write("mate.pgn", pgn("", "1. f3 e5 2. g4 Qh4#", "0-1"));
    let (report, data) = bench.extract("mate.pgn --skip-plies 0 --keep-checks");
    assert_eq!(report["sources"][0]["left_out"]["positions of mate or stalemate"], 1);
    assert_eq!(data.len(), 4);
}

#[test]
fn unusable_games_are_counted_by_reason() {
    let bench = Bench::new();
    let bad_fen = "[FEN \"8/8/8/8 w - -\"]\n";
    let text = [
        pgn("", GAME, "*"),
        pgn("", &GAME.replace("e4 e5", "d4 d5 2. c4 c6"), "1-0"),
        pgn("", &format!("{GAME} 10. Qh7"), "1-0"),
        pgn("", "1. a3 a6 2. b3 b6 3. c3 c6 4. d3 d6 5. e3 e6 6. -- f6", "0-1"),
        pgn("", "1. a4 a6 2. b3 b6 3. c3 c6 4. d3 d6 5. e3 e6 6. Qxz9 f6", "0-1"),
        pgn("[Variant \"Atomic\"]\n", GAME, "1-0"),
        pgn(bad_fen, "1. e4", "1-0"),
        pgn("", "", "1-0"),
        "[Event \"x\"]\n[Result \"1-0\"]\n\n1. e4 e5 0-1\n\n".to_string(),
        pgn("[Variant \"Chess960\"]\n[FEN \"1k6/8/8/8/8/8/8/1K6 w KQ - 0 1\"]\n", "1. Ka1", "1-0"),
        pgn("", "1. e4 e6 2. d4 d5 3. Nc3 Nf6 4. Bg5 Be7 5. h3 {never closed", "1-0"),
    ]
    .concat();
    bench.write("g.pgn", text);
    let (report, _) = bench.extract("g.pgn --threads 1 --max-bad-share 1");
    let source = &report["sources"][0];
    assert_eq!(source["records"], 11);
    for (reason, count) in [
        ("games without a result", 1),
        ("games of other variants", 1),
        ("games with an unreadable or illegal FEN tag", 1),
        ("games without moves", 1),
        ("games whose tag and last token name different results", 1),
        ("Chess960 games with castling rights that name no rook", 1),
        ("game endings after an illegal move", 2),
        ("game endings after a null move", 1),
        ("game endings after an unreadable move", 1),
        ("game endings after a comment that is never closed", 1),
    ] {
        assert_eq!(source["left_out"][reason], count, "{reason}: {source}");
    }
    let complaints = source["complaints"].to_string();
    assert!(
        complaints.contains("g.pgn:14: illegal move 'Nc6'") || complaints.contains("illegal move"),
        "{complaints}"
    );
    // Every position is accounted for.
    let reasons = source["left_out"].as_object().unwrap();
    let left_out: u64 =
        reasons.iter().filter(|(name, _)| name.contains("positions")).map(|(_, n)| n.u64()).sum();
    assert_eq!(source["positions_read"].u64(), source["positions"].u64() + left_out);
    bench.write("none.pgn", pgn("", GAME, "*"));
    bench.refuse_with("none.pgn", 1, "none.pgn: no position was kept; left out: games without a result (1)");
}

#[test]
fn reads_unusual_notation() {
    let bench = Bench::new();
    let wanted = {
        bench.write("g.pgn", pgn("", GAME, "1-0"));
        bench.extract("g.pgn");
        tensors(&bench.path("out.bin"))
    };
    let latin1 = pgn("[White \"M\u{fc}ller\"]\n", GAME, "1-0").chars().map(|c| c as u8).collect::<Vec<u8>>();
    let long_line = format!("{{ {} }} {GAME}", "word ".repeat(50_000));
    for text in [
        pgn("", &GAME.replace(' ', "\r\n"), "1-0").replace("\n\n", "\r\n\r\n").into_bytes(),
        format!("\u{feff}{}", pgn("", GAME, "1-0")).into_bytes(),
        latin1,
        pgn(
            "",
            &GAME.replace("e5 2.", "e5!? $6 (1... c5 2. Nf3 (2. c3 {x (}) d6) {a {nested} one} 2."),
            "1-0",
        )
        .into_bytes(),
        pgn("", &GAME.replace("O-O", "0-0").replace("1. ", "1."), "1-0").into_bytes(),
        pgn("", &GAME.replace(" 3.", "\n\n3. "), "1-0").into_bytes(),
        pgn("", &GAME.replace("2. Nf3", "; rest of line\n%escaped\n2. Nf3"), "1-0").into_bytes(),
        pgn("", &GAME.replace("Nf3", "g1f3").replace("O-O Be7", "e1g1 Be7"), "1-0").into_bytes(),
        pgn("", &long_line, "1-0").into_bytes(),
        format!("{GAME} 1-0").into_bytes(),
    ] {
        let shown = String::from_utf8_lossy(&text[..text.len().min(300)]).into_owned();
        bench.write("odd.pgn", text);
        bench.extract("odd.pgn");
        assert_eq!(tensors(&bench.path("out.bin")), wanted, "{shown}");
    }
}

#[test]
fn chess960_games_castle() {
    let bench = Bench::new();
    let fen = "[FEN \"nrk2bbr/pp1ppppp/8/8/8/8/PPPPPPPP/NRK2BBR w HBhb - 0 9\"]\n";
    let moves = "9. O-O-O O-O-O 10. h3 h6";
    for tags in [format!("[Variant \"fischerandom\"]\n{fen}"), fen.to_string()] {
        bench.write("g.pgn", pgn(&tags, moves, "1/2-1/2"));
        let (report, data) = bench.extract("g.pgn --keep-captures");
        assert_eq!(data.len(), 5, "{report}");
    }
}

#[test]
fn scores_in_comments_belong_to_their_positions() {
    let bench = Bench::new();
    // The mover's view, of the position before the move.
    bench
        .write("a.pgn", pgn("", "1. e4 {+0.30/12 1.0s} e5 {-0.25/9 1s} 2. Nf3 {book} Nc6 {+M3/9 0s}", "1-0"));
    let (_, data) = bench.extract("a.pgn --skip-plies 0");
    let scores = data.search_scores();
    assert_eq!((scores[0], scores[1], scores[3]), (30.0, 25.0, -30_000.0));
    assert!(scores[2].is_nan() && scores[4].is_nan());
    // White's view, of the position after the move.
    bench.write("b.pgn", pgn("", "1. e4 {d=3, wv=0.30, x} e5 {[%eval -0.25]} 2. Nf3", "1-0"));
    let (_, data) = bench.extract("b.pgn --skip-plies 0");
    let scores = data.search_scores();
    assert!(scores[0].is_nan() && scores[3].is_nan());
    assert_eq!((scores[1], scores[2]), (30.0, -25.0));
}

#[test]
#[ignore = "full"]
fn public_games_are_read_without_a_loss() {
    let bench = Bench::new();
    for (name, games) in [("tcec", 413), ("tcec-frc", 60), ("ccc", 199), ("gm", 8022)] {
        let Some(path) = shared(&format!("pgn/{name}.pgn.zst")) else { return };
        let (report, _) = bench.extract([path.to_str().unwrap()]);
        let source = &report["sources"][0];
        assert_eq!(source["records"], games, "{name}");
        let only_positions =
            source["left_out"].as_object().unwrap().keys().all(|reason| reason.contains("positions"));
        assert!(only_positions, "{source}");
    }
    let Some(folder) = shared("pgn-odd") else { return };
    let mut refused = Vec::new();
    for project in std::fs::read_dir(folder).unwrap() {
        for file in std::fs::read_dir(project.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            let (code, _, err) = bench.run(["extract", path.to_str().unwrap(), "-o", "x.bin", "--force"]);
            if code == 1 && err.contains("are faulty") {
                refused.push(path.file_name().unwrap().to_string_lossy().into_owned());
                continue;
            }
            assert!(code == 0 || err.contains("no position was kept"), "{}: {err}", path.display());
        }
    }
    refused.sort();
    // A bad move, null moves, and contradictory results, in most of their games.
    assert_eq!(refused, ["err.pgn", "test-allownullmoves.pgn", "test-nobadresults.pgn"]);
}

/// Options that keep every position.
const EVERYTHING: [&str; 5] = ["--skip-plies", "0", "--keep-checks", "--keep-captures", "--keep-duplicates"];

fn everything<'a>(args: &[&'a str]) -> Vec<&'a str> {
    [args, &EVERYTHING].concat()
}

#[test]
fn counts_headers_without_moves_as_games() {
    let bench = Bench::new();
    let game = "[White \"a\"]\n[Result \"1-0\"]\n\n1. e4 e5 1-0\n\n";
    bench.write("g.pgn", game);
    bench.extract(everything(&["g.pgn"]));
    let wanted = tensors(&bench.path("out.bin"));
    let fen = "[FEN \"4k3/8/8/8/8/8/4P3/4K3 w - - 0 1\"]";
    for (header, games) in [
        // Tags that leak through would change or drop the game.
        (format!("[White \"b\"]\n{fen}\n\n"), 2),
        (format!("[White \"b\"]\n{fen}\n"), 2),
        ("[White \"b\"]\n[Variant \"Atomic\"]\n[Result \"0-1\"]\n\n".to_string(), 2),
        ("[White \"b\"]\n[WhiteElo \"900\"]\n[BlackElo \"900\"]\r\n\r\n".to_string(), 2),
        ("[Event \"x\"]\n[Site \"y\"]\n[Result \"0-1\"]\n\n[Result \"1/2-1/2\"]\n\n".to_string(), 3),
        (format!("[White \"b\"]\n[fen {}]\n\n\n", &fen[5..fen.len() - 1]), 2),
        (format!("[White \"c\"]\n{fen}\n\n[White \"b\"]\n[Variant \"Atomic\"]\n\n"), 3),
    ] {
        bench.write("g.pgn", format!("{header}{game}"));
        let (report, _) = bench.extract(everything(&["g.pgn"]));
        assert_eq!(report["sources"][0]["records"], games, "{header}");
        let reason =
            if header.contains("Variant") { "games of other variants" } else { "games without moves" };
        let last = if games == 3 && header.contains("Variant") { 1 } else { games - 1 };
        assert_eq!(report["sources"][0]["left_out"][reason], last, "{header}");
        assert_eq!(tensors(&bench.path("out.bin")), wanted, "{header}");
    }
    bench.write("g.pgn", format!("[White \"b\"]\n[WhiteElo \"900\"]\n[BlackElo \"900\"]\n\n{game}"));
    let why = "games without the Elo of both players (1)";
    bench.refuse_with(everything(&["g.pgn", "--max-elo", "1000"]), 1, why);
    // Blank lines within a header, reordered tags and repeated tags are still one game.
    for header in ["[Site \"x\"]\n[Event \"y\"]\n\n", "[Event \"x\"]\n[Event \"x\"]\n", "[Date \"x\"]\n\n\n"]
    {
        bench.write("g.pgn", format!("{header}{game}"));
        let (report, _) = bench.extract(everything(&["g.pgn"]));
        assert_eq!(report["sources"][0]["records"], 1, "{header}");
    }
    // A file of headers only, longer than a chunk, and one game.
    let headers = format!("[Event \"x\"]\n[White \"b\"]\n{fen}\n\n").repeat(60_000);
    bench.write("g.pgn", format!("{headers}[Event \"y\"]\n{game}"));
    let (report, _) = bench.extract(everything(&["g.pgn"]));
    assert_eq!(report["sources"][0]["records"], 60_001);
    assert_eq!(tensors(&bench.path("out.bin")), wanted);
}

#[test]
fn ignores_contradictory_tags() {
    let bench = Bench::new();
    let other = "[FEN \"4k3/8/8/8/8/8/4P3/4K3 w - - 0 1\"]\n[FEN \"4k3/8/8/8/8/8/4P3/3K4 w - - 0 1\"]\n";
    bench.write("g.pgn", pgn(other, "1. e4", "1-0") + &pgn("[Result \"0-1\"]\n", "1. e4", "1-0"));
    let why = "games whose tag and last token name different results (1), games with an unreadable";
    bench.refuse_with("g.pgn --max-bad-share 1", 1, why);
    // The same tag twice is not a contradiction, nor is an unknown result.
    bench.write("g.pgn", pgn("[Result \"1-0\"]\n[Result \"*\"]\n", "1. e4", "1-0"));
    bench.extract(everything(&["g.pgn"]));
}

#[test]
fn quotes_in_tags_do_not_end_them() {
    let bench = Bench::new();
    let fen = "[FEN \"4k3/8/8/8/8/8/4P3/4K3 w - - 0 1\"]\n";
    bench.write("g.pgn", pgn(fen, "1. e4 Kd7 2. e5", "1-0"));
    bench.extract(everything(&["g.pgn"]));
    let wanted = tensors(&bench.path("out.bin"));
    for tag in [
        r#"[White "the "big" one"]"#,
        r#"[White "William "Bill" Smith"] [Black "x"]"#,
        r#"[White ""Bill""]"#,
        r#"[White "a \"b\" c"]"#,
        r#"[White "C:\"]"#,
        r#"[White "see "x"] y"]"#,
        "[White \"a\nb\"]",
        "[White “a b”]",
    ] {
        for tags in [format!("{fen}{tag}\n"), format!("{tag}\n{fen}")] {
            let text = pgn(&tags, "1. e4 Kd7 2. e5", "1-0");
            bench.write("g.pgn", &text);
            let (report, _) = bench.extract(everything(&["g.pgn"]));
            assert_eq!(report["sources"][0]["records"], 1, "{text}");
            assert_eq!(tensors(&bench.path("out.bin")), wanted, "{text}");
        }
    }
    // Tags with missing or other quotes count where they matter.
    for fen in [
        "[FEN 4k3/8/8/8/8/8/4P3/4K3 w - - 0 1]\n",
        "[Fen \"4k3/8/8/8/8/8/4P3/4K3 w - - 0 1\"]\n",
        "[FEN '4k3/8/8/8/8/8/4P3/4K3 w - - 0 1']\n",
        "[FEN “4k3/8/8/8/8/8/4P3/4K3 w - - 0 1”]\n",
    ] {
        bench.write("g.pgn", pgn(fen, "1. e4 Kd7 2. e5", "1-0"));
        bench.extract(everything(&["g.pgn"]));
        assert_eq!(tensors(&bench.path("out.bin")), wanted, "{fen}");
    }
}

#[test]
fn too_many_faulty_games_are_refused() {
    let bench = Bench::new();
    let good = pgn("", GAME, "1-0");
    // Games.
    let bad = pgn("", &GAME.replace("9. h3 Nb8", "9. Qh3 Nb8"), "1-0");
    bench.write("g.pgn", good.repeat(8) + &bad.repeat(2));
    bench.refuse_with("g.pgn", 1, "g.pgn: 2 of 10 games (20.0 %) are faulty, 4 of 180 plies (2.2 %) are lost; the limit is 10.0 %; \
             the first: g.pgn: game 9 (line 44): illegal move 'Qh3'; its first 16 plies are kept; g.pgn: game 10 (line 49)");
    let (report, _) = bench.extract("g.pgn --max-bad-share 0.2");
    let source = &report["sources"][0];
    assert_eq!((source["bad_games"].as_u64(), source["plies_lost"].as_u64()), (Some(2), Some(4)), "{source}");
    assert_eq!(
        source["warnings"][0], "2 of 10 games (20.0 %) are faulty, 4 of 180 plies (2.2 %) are lost",
        "{source}"
    );
    // Plies: one game in eleven, but the longest.
    let short = pgn("", "1. e4 e5", "1-0");
    bench.write("g.pgn", short.repeat(10) + &pgn("", &GAME.replace("3. Bb5", "3. Bb6"), "1-0"));
    bench.refuse_with("g.pgn", 1, "1 of 11 games (9.1 %) are faulty, 14 of 38 plies (36.8 %) are lost");
    bench.extract("g.pgn --max-bad-share 0.4 --skip-plies 0");
    // Each input is judged by itself.
    bench.write("good.pgn", good.repeat(100));
    bench.write("bad.pgn", &bad);
    bench.refuse_with("good.pgn bad.pgn", 1, "bad.pgn: 1 of 1 games");
    // Unwanted or useless games do not hide faults.
    let of_no_use = pgn("", GAME, "*") + &pgn("[Variant \"Atomic\"]\n", GAME, "1-0") + &pgn("", "", "1-0");
    bench.write("g.pgn", of_no_use.repeat(20) + &good + &bad);
    bench.refuse_with("g.pgn", 1, "1 of 2 games (50.0 %)");
    let rated = "[WhiteElo \"2000\"]\n[BlackElo \"2000\"]\n";
    let rated = pgn(rated, GAME, "1-0") + &pgn(rated, "1. e4 Ke4", "1-0");
    bench.write("g.pgn", good.repeat(30) + &rated);
    bench.extract("g.pgn");
    bench.refuse_with("g.pgn --min-elo 1", 1, "1 of 2 games (50.0 %)");
    // Nor does a file whose only left-out games were excluded on request.
    bench.write("g.pgn", of_no_use.repeat(20) + &good);
    let (report, _) = bench.extract("g.pgn");
    assert_eq!(report["sources"][0]["warnings"], serde_json::json!([]));
    // A null move at the end loses nothing; one in the middle does.
    bench.write("g.pgn", pgn("", &format!("{GAME} 10. Z0"), "1-0"));
    let (report, _) = bench.extract("g.pgn");
    assert_eq!(report["sources"][0]["warnings"], serde_json::json!([]));
    bench.write("g.pgn", pgn("", &GAME.replace("5. O-O", "5. --"), "1-0"));
    bench.refuse_with("g.pgn", 1, ["null move '--'", "9 of 17 plies (52.9 %)"]);
    // Faults are reported even if twenty other games fill the list.
    bench.write("g.pgn", pgn("", GAME, "*").repeat(30) + &bad);
    bench.refuse_with("g.pgn", 1, "game 31 (line 154): illegal move 'Qh3'");
}

#[test]
fn rejects_ambiguous_moves() {
    let bench = Bench::new();
    let read = |moves: &str| {
        bench.write("g.pgn", pgn("", moves, "1-0"));
        let (report, data) = bench.extract(everything(&["g.pgn", "--max-bad-share", "1"]));
        (data.len(), report["sources"][0]["complaints"].to_string())
    };
    for (moves, kept, complaint) in [
        // Either knight, a pawn that would have to capture, a promotion to nothing.
        ("1. Nf3 e5 2. d3 e4 3. Nd2 a6", 4, "ambiguous move 'Nd2'"),
        ("1. e4 d5 2. d5", 2, "illegal move 'd5'"),
        ("1. e4 d5 2. ed c6 3. dc Nf6 4. cb Nd5 5. ba8 Nf6", 8, "illegal move 'ba8'"),
    ] {
        let (positions, complaints) = read(moves);
        assert!(complaints.contains(complaint), "{moves}: {complaints}");
        assert_eq!(positions, kept, "{moves}");
    }
    assert_eq!(read("1. e4 d5 2. ed c6 3. dc Nf6 4. cb Nd5 5. ba8(Q) Nf6").0, 11);
}
