//! `gputexel info` through the real binary.

use crate::common::prelude::*;

#[test]
fn info_describes_whole_and_damaged_datasets() {
    let bench = Bench::new();
    bench.write("g.pgn", pgn("", GAME, "1-0"));
    bench.extract("g.pgn");
    let (out, _) = bench.done("info out.bin");
    assert_has(
        &out,
        [
            "out.bin: 11 positions, 1 game",
            "32.00 pieces per position",
            "from g.pgn: 11 positions of 1 game",
            "skip_plies 8",
            "rarest: ",
        ],
    );
    let (_, out, _) = bench.run("--json info out.bin --features");
    let json: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(json["intact"], true);
    assert_eq!(json["contents"]["features"].list().len(), 384);
    let mut bytes = std::fs::read(bench.path("out.bin")).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    bench.write("bad.bin", bytes);
    let (code, out, err) = bench.run("info bad.bin");
    assert_eq!(code, 1);
    assert!(err.contains("bad.bin: damaged: the checksum of 'white_counts'"), "{err}");
    assert!(out.contains("DAMAGED"), "{out}");
    let (code, _, err) = bench.run("info g.pgn");
    assert_eq!((code, err.contains("not a dataset")), (1, true), "{err}");
}

#[test]
fn info_explains_left_out_positions() {
    let bench = Bench::new();
    // A game of four plies, of which the first eight are skipped; one without a result; one that is truncated before
    // any position can be kept.
    let games = [
        pgn("", GAME, "1-0"),
        pgn("", "1. e4 e5 2. Nf3 Nc6", "0-1"),
        pgn("", GAME, "*"),
        pgn("", "1. d4 d5 2. c4 e6 3. Nc3 Nf6 4. Bg5 Be7 5. e3 O-O 6. Nf3 h6 7. Bh4 b6 8. Ke8 Kd1", "1-0"),
    ];
    bench.write("g.pgn", games.concat());
    bench.extract("g.pgn --max-bad-share 0.5");
    let (out, _) = bench.done("info out.bin");
    let order = [
        "from g.pgn: ",
        "- games without a result",
        "- game endings after an illegal move",
        "- games whose positions were all removed by the rules below   1",
        "- positions of the first plies",
    ];
    let places: Vec<Option<usize>> = order.iter().map(|part| out.find(part)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?}\n{out}");
    assert!(out.contains("16 of the unseen are pawn squares of the first and last rank"), "{out}");
    let (_, json, _) = bench.run("--json info out.bin");
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["contents"]["games_by_source"], serde_json::json!([2]));
}
