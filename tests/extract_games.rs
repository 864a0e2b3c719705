//! `gputexel extract` on games, through the real binary.

mod common;

use common::program::{Bench, GAME, pgn, results, shared, tensors};

#[test]
fn games_are_played_and_filtered() {
    let bench = Bench::new();
    bench.write("g.pgn", pgn("", GAME, "1-0"));
    let (report, data) = bench.extract(&["g.pgn"], "");
    let source = &report["sources"][0];
    // 18 moves, 19 positions: 8 skipped, none in check, none before a capture.
    assert_eq!(source["positions_read"], 19);
    assert_eq!(source["left_out"]["positions of the first plies"], 8);
    assert_eq!((data.len(), report["games"].as_u64()), (11, Some(1)));
    assert!(results(&data).iter().all(|r| *r == 1.0));
    let (_, all) = bench.extract(&["g.pgn", "--skip-plies", "0"], "");
    assert_eq!(all.len(), 19);
    bench.write("h.pgn", pgn("", GAME, "1-0"));
    let (report, _) = bench.extract(&["g.pgn", "h.pgn"], "");
    assert_eq!(report["sources"][1]["left_out"]["duplicate positions"], 11);
    assert_eq!((report["positions"].as_u64(), report["games"].as_u64()), (Some(11), Some(1)));
    let (report, data) = bench.extract(&["g.pgn", "h.pgn", "--keep-duplicates"], "");
    assert_eq!((data.len(), report["games"].as_u64()), (22, Some(2)));
}

#[test]
fn captures_checks_and_endings_are_left_out() {
    let bench = Bench::new();
    bench.write("g.pgn", pgn("", "1. e4 d5 2. exd5 Qxd5 3. Nc3 Qe5+ 4. Be2 Qd4 5. f3 Qh4+ 6. g3 Qf6", "0-1"));
    let left_out = |args: &[&str]| {
        let (report, data) = bench.extract(&[&["g.pgn", "--skip-plies", "0"], args].concat(), "");
        (report["sources"][0]["left_out"].clone(), data.len())
    };
    let (reasons, kept) = left_out(&[]);
    assert_eq!(reasons["positions in check"], 2);
    assert_eq!(reasons["positions before a capture or promotion"], 2);
    assert_eq!(kept, 13 - 4);
    assert_eq!(left_out(&["--keep-checks"]).1, 11);
    assert_eq!(left_out(&["--keep-captures"]).1, 11);
    bench.write("mate.pgn", pgn("", "1. f3 e5 2. g4 Qh4#", "0-1"));
    let (report, data) = bench.extract(&["mate.pgn", "--skip-plies", "0", "--keep-checks"], "");
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
    let (report, _) = bench.extract(&["g.pgn", "--threads", "1"], "");
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
        reasons.iter().filter(|(name, _)| name.contains("positions")).map(|(_, n)| n.as_u64().unwrap()).sum();
    assert_eq!(source["positions_read"].as_u64().unwrap(), source["positions"].as_u64().unwrap() + left_out);
    bench.write("none.pgn", pgn("", GAME, "*"));
    let error = bench.refuse(&["none.pgn"], "", 1);
    assert!(error.contains("none.pgn: no position was kept; left out: 1 games without a result"), "{error}");
}

#[test]
fn odd_notation_is_understood() {
    let bench = Bench::new();
    let wanted = {
        bench.write("g.pgn", pgn("", GAME, "1-0"));
        bench.extract(&["g.pgn"], "");
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
        bench.extract(&["odd.pgn"], "");
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
        let (report, data) = bench.extract(&["g.pgn", "--keep-captures"], "");
        assert_eq!(data.len(), 5, "{report}");
    }
}

#[test]
fn scores_in_comments_belong_to_their_positions() {
    let bench = Bench::new();
    // The mover's view, of the position before the move.
    bench
        .write("a.pgn", pgn("", "1. e4 {+0.30/12 1.0s} e5 {-0.25/9 1s} 2. Nf3 {book} Nc6 {+M3/9 0s}", "1-0"));
    let (_, data) = bench.extract(&["a.pgn", "--skip-plies", "0"], "");
    let scores = data.search_scores();
    assert_eq!((scores[0], scores[1], scores[3]), (30.0, 25.0, -30_000.0));
    assert!(scores[2].is_nan() && scores[4].is_nan());
    // White's view, of the position after the move.
    bench.write("b.pgn", pgn("", "1. e4 {d=3, wv=0.30, x} e5 {[%eval -0.25]} 2. Nf3", "1-0"));
    let (_, data) = bench.extract(&["b.pgn", "--skip-plies", "0"], "");
    let scores = data.search_scores();
    assert!(scores[0].is_nan() && scores[3].is_nan());
    assert_eq!((scores[1], scores[2]), (30.0, -25.0));
}

#[test]
fn public_games_are_read_without_a_loss() {
    let bench = Bench::new();
    for (name, games) in [("tcec", 413), ("tcec-frc", 60), ("ccc", 199), ("gm", 8022)] {
        let Some(path) = shared(&format!("pgn/{name}.pgn.zst")) else { return };
        let (report, _) = bench.extract(&[path.to_str().unwrap()], "");
        let source = &report["sources"][0];
        assert_eq!(source["records"], games, "{name}");
        let only_positions =
            source["left_out"].as_object().unwrap().keys().all(|reason| reason.contains("positions"));
        assert!(only_positions, "{source}");
    }
    let Some(folder) = shared("pgn-odd") else { return };
    for project in std::fs::read_dir(folder).unwrap() {
        for file in std::fs::read_dir(project.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            let (code, _, err) =
                bench.run(&["extract", path.to_str().unwrap(), "-o", "x.bin", "--force"], "");
            assert!(code == 0 || err.contains("no position was kept"), "{}: {err}", path.display());
        }
    }
}
