//! Scores in comments of games, in the spellings of many programs.

use crate::common::prelude::*;
use std::fmt::Write as _;

/// Returns a won game with a comment on each move, made from the ply and a score in White's view that grows for
/// White.
fn commented(comment: impl Fn(usize, i32) -> String) -> String {
    let mut moves = String::new();
    for (ply, san) in GAME.split_whitespace().filter(|word| !word.ends_with('.')).enumerate() {
        // Writing to a string cannot fail.
        let _ = write!(moves, "{san} {{{}}} ", comment(ply, 60 + 20 * ply as i32));
    }
    pgn("", moves.trim_end(), "1-0")
}

/// Converts a score to the view of the side that moves.
fn movers(ply: usize, score: i32) -> i32 {
    if ply.is_multiple_of(2) { score } else { -score }
}

fn pawns(score: i32) -> String {
    format!("{:+.2}", f64::from(score) / 100.0)
}

/// Returns the scores that `convert` writes, and its messages.
fn scores(bench: &Bench, args: impl Words) -> (Vec<i32>, String) {
    let (out, _) = bench.done(("convert -o x.txt --force", args));
    let text = bench.text("x.txt");
    let score = |line: &str| line.split(" | ").nth(1).unwrap().parse().unwrap();
    (text.lines().map(score).collect(), out)
}

/// Returns the scores of a game of 18 moves, of which the first is 60.
fn wanted(plies: usize) -> Vec<i32> {
    (0..plies as i32).map(|ply| 60 + 20 * ply).collect()
}

#[test]
fn infers_units_and_views_of_scores_from_games() {
    let bench = Bench::new();
    let plies = wanted(18);
    let clock = "[%emt 0:00:04]";
    for (name, text) in [
        ("centipawns, mover's", commented(|ply, cp| format!("[%eval {},18] {clock}", movers(ply, cp)))),
        ("centipawns, White's", commented(|_, cp| format!("[%eval {cp},18] {clock}"))),
        ("pawns, White's", commented(|_, cp| format!("[%eval {},18] {clock}", pawns(cp)))),
        ("pawns, mover's", commented(|ply, cp| format!("[%eval {}] {clock}", pawns(movers(ply, cp))))),
        // Integers next to decimals.
        (
            "pawns, some of them whole",
            commented(|_, cp| match cp % 100 {
                0 => format!("[%eval {}]", cp / 100),
                _ => format!("[%eval {}]", pawns(cp)),
            }),
        ),
        ("engines, mover's", commented(|ply, cp| format!("{}/12 1.0s", pawns(movers(ply, cp))))),
        ("engines, White's", commented(|_, cp| format!("{}/12 1.0s", pawns(cp)))),
        ("c-chess-cli", commented(|ply, cp| format!("{}/12 100ms", movers(ply, cp)))),
        ("OpenBench", commented(|ply, cp| format!("{} 12/20 5 40000", pawns(movers(ply, cp))))),
        ("OpenBench, compact", commented(|ply, cp| pawns(movers(ply, cp)))),
    ] {
        bench.write("g.pgn", text);
        let (found, told) = scores(&bench, "g.pgn");
        assert_eq!(found, plies, "{name}: {told}");
        assert!(!told.contains("warning") && told.contains("1 positions left out"), "{name}: {told}");
    }
}

#[test]
fn compares_scores_of_one_side_with_material() {
    let bench = Bench::new();
    let mut text = String::new();
    for game in 0..24 {
        // An extra queen for one side or the other; only Black is an engine.
        let (board, score) = [("3qk3/8/8/8/8/8/8/4K3", 900), ("4k3/8/8/8/8/8/8/3QK3", -900)][game % 2];
        let king = if board.starts_with('3') { "Ke7" } else { "Kf7" };
        let _ = write!(
            text,
            "[FEN \"{board} b - - 0 1\"]\n[Result \"*\"]\n\n1... {king} {{[%eval {score},9]}} 1/2-1/2\n\n"
        );
    }
    bench.write("g.pgn", &text);
    let (found, told) = scores(&bench, "g.pgn");
    assert_eq!(found, [-900, 900].repeat(12), "{told}");
    assert_has(&told, "point of view of scores side to move: 24 of 24 scores of Black's moves");
    let (found, told) = scores(&bench, "g.pgn --score-pov white");
    assert_eq!(found, [900, -900].repeat(12));
    assert_has(&told, "warning: point of view white was requested, but the scores in comments look like stm");
}

#[test]
fn compares_units_with_material() {
    let bench = Bench::new();
    // An extra queen, and scores of nine pawns in several units.
    let games = |score: &str| {
        let game = format!("[FEN \"4k3/8/8/8/8/8/8/3QK3 w - - 0 1\"]\n\n1. Kf2 {{{score}}} 1-0\n\n");
        bench.write("g.pgn", game.repeat(40));
        scores(&bench, "g.pgn")
    };
    assert_eq!(games("[%eval 9,12]").0, [900; 40]);
    assert_eq!(games("[%eval 900,12]").0, [900; 40]);
    let (found, told) = games("+95.00/12");
    assert_eq!(found, [9500; 40]);
    assert!(told.contains("40 of 40 late ones are more than ten times of what"), "{told}");
}

#[test]
fn requires_a_view_that_cannot_be_inferred() {
    let bench = Bench::new();
    bench.write("g.pgn", pgn("", "1. e4 {[%eval 31,18]} e5 {[%eval -28,19]}", "1-0"));
    let (found, told) = scores(&bench, "g.pgn");
    assert_eq!(found, [31, -28]);
    assert_has(&told, "warning: scores such as [%eval 31,18] are read as centipawns in White's view");
    let (found, told) = scores(&bench, "g.pgn --score-pov stm");
    assert_eq!(found, [31, 28]);
    assert!(!told.contains("warning"), "{told}");
    bench.fails_with("convert g.pgn -o y.txt --pov stm", 2, "only apply to labeled positions");
}

#[test]
fn scores_of_two_views_in_one_file_are_refused() {
    let bench = Bench::new();
    let white = commented(|_, cp| format!("{}/12", pawns(cp)));
    let mover = commented(|ply, cp| format!("{}/12", pawns(movers(ply, cp))));
    bench.write("g.pgn", format!("{white}{mover}").repeat(4));
    for args in ["convert g.pgn -o x.txt", "extract g.pgn -o x.bin"] {
        let why = "g.pgn: scores with different points of view seem to be mixed: 68 of 136 scores";
        let error = bench.fails_with(args, 1, why);
        assert_has(&error, "--score-pov white or --score-pov stm reads them all the same way");
    }
    let (found, _) = scores(&bench, "g.pgn --score-pov white");
    assert_eq!(found[..18], wanted(18)[..]);
    // The beginning of a file need not be representative of the rest.
    bench.write("h.pgn", white.repeat(480) + &mover.repeat(480));
    bench.fails_with("convert h.pgn -o y.txt", 1, "8160 of 16320 scores");
}

#[test]
fn reports_unknown_score_syntax() {
    let bench = Bench::new();
    // As written by OpenBench.
    let moves = "1. e4 {+0.35 12/20 5 40000} e5 {-0.28 11/19 8 40000} 2. Qh5 {+0.41 13/22 16 35602} Ke7 { 0/1 8 40000} \
                 3. Qxe5# {+M1 96/2 2 2516, White mates}";
    bench.write("g.pgn", pgn("", moves, "1-0"));
    let (found, told) = scores(&bench, "g.pgn");
    assert_eq!(found, [35, 28, 41, 30_000]);
    assert!(!told.contains("not read"), "{told}");
    bench.write("h.pgn", pgn("", "1. e4 {+0.35} e5 {unknown} 2. Qh5 {+M3} Ke7 {book}", "1-0"));
    assert_eq!(scores(&bench, "h.pgn").0, [35, 30_000]);

    bench.write("odd.pgn", pgn("", "1. e4 {+0.35 d12} e5 {0:05:00}\n2. Qh5 {eval: good} Ke7 {-35}", "1-0"));
    let (told, _) = bench.done("convert odd.pgn -o x.fens");
    assert!(told.contains("\n  2 comments whose scores were not read\n"), "{told}");
    let unread =
        "2 comments have what looks like a score and was not understood; the first: odd.pgn:4: +0.35 d12";
    assert!(told.contains(&format!("warning: {unread}")), "{told}");
    let report = bench.told("convert odd.pgn -o y.fens");
    assert_eq!(report["sources"][0]["unread_scores"]["count"], 2);
    // Everything else in these is kept; the last position is left out by the selection.
    let unread = "1 comment whose score was not read";
    for (comment, said) in [
        ("{book}", "nothing was lost"),
        ("{+0.35 d12}", unread),
        ("{\u{2212}0.28/12 1s}", unread),
        ("{#3}", unread),
    ] {
        let moves = format!("1. e4 {{+0.35/12}} {comment} e5 {{-0.28/12}}");
        bench.write("g.pgn", pgn("", &moves, "1-0"));
        let args = "convert g.pgn -o g.binpack --max-ply 1 --force";
        let (_, told, _) = bench.run(args);
        assert!(told.contains(&format!("\n  {said}\n")), "{told}");
    }
}

#[test]
fn uses_the_unit_of_most_games() {
    let bench = Bench::new();
    let whole = pgn("", "1. e4 {[%eval 31,18]} e5 {[%eval 28,17]} 2. Nf3 {[%eval 35,19]}", "1-0");
    let decimal = pgn("", "1. e4 {[%eval 0.25]}", "1-0");
    // One game from another program does not change the unit of the others to pawns, wherever it stands.
    for games in [whole.repeat(20) + &decimal, decimal.clone() + &whole.repeat(20)] {
        bench.write("g.pgn", games);
        let (found, told) = scores(&bench, "g.pgn --score-pov white");
        assert!(found.iter().all(|score| [31, 28, 35, 25].contains(score)), "{found:?}");
        assert!(!told.contains("have a decimal point"), "{told}");
    }
    bench.write("g.pgn", whole.repeat(2) + &decimal);
    let (found, told) = scores(&bench, "g.pgn --score-pov white");
    assert!(
        found.contains(&31) && told.contains("6 have none, which are read as centipawns"),
        "{found:?} {told}"
    );
}
