//! Tests of the whole reader on texts of games.

use proptest::prelude::*;

use super::read_pgn;
use crate::sample::Batch;
use crate::selection::{Reason, Selection, Unit};

fn read(text: &str) -> Batch {
    let rules = Selection { skip_plies: 0, ..Selection::default() };
    read_pgn(text.as_bytes(), 1, &rules)
}

#[test]
fn results_come_from_the_tag_or_the_last_token() {
    let results = |text: &str| read(text).samples.iter().map(|s| s.result).next();
    assert_eq!(results("[Result \"1-0\"]\n\n1. e4 e5 *"), Some(1.0));
    assert_eq!(results("[Result \"*\"]\n\n1. e4 e5 0-1"), Some(0.0));
    assert_eq!(results("[Result \"?\"]\n\n1. e4 e5 1/2-1/2"), Some(0.5));
    assert_eq!(results("1. e4 e5 1-0"), Some(1.0));
    assert_eq!(results("[Result \"1-0\"]\n\n1. e4 e5"), Some(1.0));
    assert_eq!(results("[Result \"*\"]\n\n1. e4 e5 *"), None);
    assert_eq!(results("[Result \"1-0\"]\n\n1. e4 e5 0-1"), None);
}

#[test]
fn games_without_tags_end_at_their_results() {
    let batch = read("1. e4 e5 1-0\n\n1. d4 d5 0-1 1. c4 c5 1/2-1/2");
    assert_eq!(batch.records, 3);
    let results: Vec<f32> = batch.samples.iter().map(|s| s.result).collect();
    assert_eq!(results, [1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.5, 0.5, 0.5]);
}

#[test]
fn plies_count_from_the_fen_tag() {
    let text = "[FEN \"4k3/8/8/8/8/8/4P3/4K3 w - - 0 5\"]\n\n5. e3 Kd8 6. e4 Kd7 1-0";
    let kept = |skip_plies| {
        let rules = Selection { skip_plies, ..Selection::default() };
        read_pgn(text.as_bytes(), 1, &rules).samples.len()
    };
    assert_eq!((kept(8), kept(9), kept(12), kept(13)), (5, 4, 1, 0));
}

#[test]
fn games_that_are_cut_short_are_told() {
    let whole = "[Result \"1-0\"]\n\n1. e4 e5 2. Nf3 Nc6 1-0\n\n";
    let cut = "[Result \"0-1\"]\n\n1. d4 d5 2. Nf3 Nf";
    for (text, cut_games, samples) in [
        (whole.to_string(), 0, 5),
        (format!("{whole}{}", &cut[..cut.len() - 6]), 1, 8),
        (format!("{}{whole}", &cut[..cut.len() - 6]), 1, 8),
        (whole.replace("Nc6 1-0", "Nc6 *"), 0, 5),
    ] {
        let batch = read(&text);
        assert_eq!(
            (batch.left_out.count(Reason::NoEnd), batch.samples.len()),
            (cut_games, samples),
            "{text}: {:?}",
            batch.skipped
        );
        assert_eq!(batch.skipped.len(), cut_games as usize);
    }
}

#[test]
fn words_that_the_parser_skips_are_played_or_counted() {
    let whole = read("1. e4 e5 2. Nf3 Nc6 1-0");
    assert_eq!((whole.samples.len(), whole.left_out.sum(Unit::GameRest)), (5, 0));
    for text in [
        "1. e4 e5 (1... c5\n\n2. d4) 2. Nf3\r\n\r\nNc6 1\u{2013}0",
        "1. e2e4 e7e5 2. g1f3 b8c6 1-0",
        "1. e4 e5 2. Nf3 Nc6 1-0\n\n% Nf3 (",
        "1. e4 {a {b} Nf3 ; c} e5 {x}2.Nf3 = N Nc6 +/- 1-0",
        "1e4 e5 2\u{2026}Nf3 $1Nc6 1-0",
        "1. e4 e5 2. Nf3 } Nc6 }1-0",
        "1. e4 e5 ; (d4\n%{\n2. Nf3 Nc6 1-0",
    ] {
        let batch = read(text);
        let keys = |batch: &Batch| batch.samples.iter().map(|s| s.key).collect::<Vec<_>>();
        assert_eq!(keys(&batch), keys(&whole), "{text}: {:?}", batch.complaints);
    }
    for (text, samples, line) in [
        ("1. e4 e5\n2. Nf3Nc6 Nc3 1-0", 2, 2),
        ("1. e4 e5\n2. Qx9 Nf3 Nc6 1-0", 2, 2),
        ("1. e4 [x] e5\n2. Nf3 Nc6 1-0", 1, 1),
        ("1. e4 e5,Nf3 Nc6\n1-0", 1, 1),
        ("1. e4 e5\n\n2. Nf3 1-0 Nc6 {x\n[Event \"y\"]\n\n1. d4 1-0", 6, 3),
    ] {
        let batch = read(text);
        assert_eq!(batch.samples.len(), samples, "{text}");
        assert_eq!(batch.complaints[0].0, line, "{text}");
    }
}

#[test]
fn tags_begin_games_wherever_they_stand() {
    let games = "[FEN \"4k3/8/8/8/8/8/4P3/4K3 w - - 0 1\"] 1. e4 1-0";
    for between in [" ", "\r", "\n  ", "\n", "\n\n\u{feff}", "\n% (\n", "\n{a}"] {
        let batch = read(&format!("{games}{between}{games}"));
        assert_eq!((batch.records, batch.samples.len()), (2, 4), "{between:?}");
    }
    // A FEN tag that cannot be parsed must not become the usual start.
    let long = format!("[FEN \"{}\"]\n\n1. e4 1-0", "x".repeat(40_000));
    assert_eq!((read(&long).records, read(&long).samples.len()), (1, 0));
}

proptest! {
    #[test]
    fn every_position_is_kept_or_counted(
        words in proptest::collection::vec(
            prop_oneof![
                Just("1. e4 e5 2. Nf3 Nc6"), Just("e4"), Just("d5"), Just("exd5"), Just("Qh5"), Just("0-0"),
                Just("{+0.35/12}"), Just("{[%eval #3]"), Just("}"), Just("("), Just(")"), Just("1-0"), Just("*"),
                Just("0-1"), Just("--"), Just("\n\n"), Just("\n[Event \"x\"]\n"), Just("\n[Result \"1-0\"]"),
                Just("\n[FEN \"4k3/8/8/8/8/8/4P3/4K3 w - - 0 1\"]"), Just("\n[Variant \"960\"]\n"), Just(";"),
                Just("Bf1-b5"), Just("♘f3"), Just("cxd8(Q)"), Just("\n[White \"a \"b\" c\"]"), Just("\n[FEN x]\n"),
                Just("%"), Just("$3"), Just("[\""), Just("\u{2026}"), Just("\\"),
            ],
            0..60,
        ),
    ) {
        let text = words.join(" ");
        let batch = read(&text);
        let positions_out = batch.left_out.sum(Unit::Position);
        prop_assert_eq!(batch.positions_read, batch.samples.len() as u64 + positions_out);
        prop_assert!(batch.plies_lost <= batch.plies);
        prop_assert!(batch.left_out.useless_games() + batch.left_out.faulty_games() <= batch.records);
        prop_assert!(batch.left_out.sum(Unit::Game) + batch.left_out.sum(Unit::GameRest) <= batch.records);
        // Cutting at a game's start changes nothing, except where that is in a comment.
        if let Some(at) = crate::pgn::last_game_start(text.as_bytes())
            && text[..at].rfind('{') <= text[..at].rfind('}')
        {
            let parts = [read(&text[..at]), read(&text[at..])];
            prop_assert!(parts[0].records + parts[1].records >= batch.records);
        }
    }
}
