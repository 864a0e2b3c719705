//! The feature set `classical`: against an independent, slow reference on positions of games and random boards, by
//! hand on small ones, with colors swapped, and as an evaluation in play.

mod reference;

use crate::common;
use crate::common::classical::{classical, played};
use crate::common::position;
use crate::common::prelude::*;
use gputexel::model::classical::GROUPS;
use gputexel::model::full;
use reference::Counts;

fn counts(set: &FeatureSet, board: &Board, turn: Color, row: &mut FeatureRow) -> Counts {
    set.compute(board, turn, row);
    assert!(row.coefficients.is_empty());
    let mut counts = Counts::new();
    for (ids, sign) in [(&row.plus, 1), (&row.minus, -1)] {
        for &id in ids {
            *counts.entry(set.features[usize::from(id)].name.clone()).or_default() += sign;
        }
    }
    counts.retain(|_, count| *count != 0);
    counts
}

#[test]
fn features_match_the_reference() {
    let set = classical();
    let mut row = FeatureRow::default();
    let mut seen: BTreeMap<String, u64> = BTreeMap::new();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
    let boards = played(24)
        .into_iter()
        .map(|p| (p.board().clone(), p.turn()))
        .chain((0..1200).map(|n| (common::random_board(&mut random), [Color::White, Color::Black][n % 2])));
    let mut compared = 0;
    for (board, turn) in boards {
        let got = counts(&set, &board, turn, &mut row);
        let wanted = reference::features(&board, turn);
        assert_eq!(got, wanted, "{board:?} {turn:?}");
        got.into_keys().for_each(|name| *seen.entry(name).or_default() += 1);
        compared += 1;
    }
    assert!(compared > 3000, "{compared}");
    let known = |name: &&str| set.features.iter().any(|feature| feature.name == **name);
    assert!(seen.keys().map(String::as_str).all(|name| known(&name)));
    // The rest is impossible: pawns on the first and last rank, backward pawns there, and extremely unlikely counts.
    let unseen: Vec<&str> =
        set.features.iter().map(|f| f.name.as_str()).filter(|name| !seen.contains_key(*name)).collect();
    eprintln!("{compared} boards; never seen: {unseen:?}");
    assert!(unseen.len() < 45, "{} features were never compared: {unseen:?}", unseen.len());
}

#[test]
fn colors_swap() {
    let set = classical();
    let (mut row, mut other) = (FeatureRow::default(), FeatureRow::default());
    for position in played(6) {
        let mut board = position.board().clone();
        set.compute(&board, position.turn(), &mut row);
        board.flip_vertical();
        board.swap_colors();
        set.compute(&board, !position.turn(), &mut other);
        for ids in [&mut row.plus, &mut row.minus, &mut other.plus, &mut other.minus] {
            ids.sort_unstable();
        }
        assert_eq!((&row.plus, &row.minus, row.phase), (&other.minus, &other.plus, other.phase));
    }
}

/// Boards with all their features of some groups, White's minus Black's.
const BY_HAND: &[&str] = &[
    "4k3/8/8/8/8/8/8/4K3 w ~ tempo ~ tempo 1",
    "4k3/8/8/8/8/8/8/4K3 b ~ tempo ~ tempo -1",
    "4k3/8/8/8/8/8/8/2B1KB2 w ~ bishop_pair ~ bishop_pair 1",
    "2b1kb2/8/8/8/8/8/8/2B1K3 w ~ bishop_pair ~ bishop_pair -1",
    // Of a3, c3 and d2, the pawn on b4 guards two.
    "4k3/8/8/8/1p6/8/8/1N2K3 w ~ knight_mobility ~ knight_mobility_1 1",
    // The bishop sees through the queen on b2 and stops at its own pawn.
    "4k3/8/8/8/3P4/8/1Q6/B3K3 w ~ bishop_mobility ~ bishop_mobility_2 1",
    // Up: a2 to a8; right: b1 to d1, then the king.
    "4k3/8/8/8/8/8/8/R3K3 w ~ rook_mobility ~ rook_mobility_10 1",
    "4k3/8/8/8/8/8/8/Q3K3 w ~ queen_mobility ~ queen_mobility_17 1",
    // All three are passed; h7 stands on Black's second rank.
    "4k3/7p/8/4P3/8/8/P7/4K3 w ~ passed_free ~ passed_free_rank2 0|passed_free_rank5 1",
    "4k3/8/3pn3/4P3/8/8/8/4K3 w ~ passed_free,passed_blocked ~ ",
    "4k3/8/4n3/4P3/8/8/8/4K3 w ~ passed_free,passed_blocked ~ passed_blocked_rank5 1",
    "k7/8/8/4P3/8/8/8/4K3 w ~ passed_safe_path ~ passed_safe_path_rank5 1",
    "3k4/8/8/4P3/8/8/8/4K3 w ~ passed_safe_path ~ ",
    "7k/8/8/4P3/8/8/8/4K3 w ~ passed_own_king,passed_their_king ~ passed_own_king_low_5 1|passed_their_king_low_3 1",
    "7k/8/4P3/8/8/8/8/4K3 w ~ passed_own_king,passed_their_king ~ passed_own_king_high_6 1|passed_their_king_high_3 1",
    "4k3/5pp1/8/8/8/8/P1P5/4K3 w ~ isolated ~ isolated_ah 1|isolated_cf 1",
    "4k3/8/8/8/2P5/2P5/2P5/4K3 w ~ doubled ~ doubled_cf 2",
    // d4 and e5: the pawn on d4 can be taken once it has moved; the one on e5 is ahead.
    "4k3/8/2p5/4P3/3P4/8/8/4K3 w ~ backward ~ backward_rank4 1",
    "4k3/8/2p5/2P1P3/3P4/8/8/4K3 w ~ backward,supported ~ backward_rank4 1|supported_rank5 2",
    "4k3/8/2p5/8/2PP4/8/8/4K3 w ~ backward,phalanx ~ phalanx_rank4 2",
    "4k3/pp6/8/8/8/8/8/4K3 w ~ phalanx ~ phalanx_rank2 -2",
    "4k3/p7/8/8/8/8/1P6/RRR1K3 w ~ rook_file ~ rook_half_open_file 1|rook_open_file 1",
    "4k3/3R4/8/8/8/8/8/4K3 w ~ rook_file ~ rook_open_file 1|rook_seventh_rank 1",
    "8/3R4/8/4k3/8/8/8/4K3 w ~ rook_file ~ rook_open_file 1",
    "4k3/8/8/3P4/8/3R4/8/4K3 w ~ rook_file ~ rook_behind_passed 1",
    "4k3/8/3P4/8/8/8/8/3RK3 b ~ rook_file ~ rook_behind_passed 1",
    // A pawn that stands on c7 can come to c6.
    "4k3/8/8/3N4/4P3/8/8/4K3 w ~ outpost ~ knight_outpost 1",
    "4k3/2p5/8/3N4/4P3/8/8/4K3 w ~ outpost ~ ",
    "4k3/8/8/3B4/4P3/8/8/4K3 w ~ outpost ~ bishop_outpost 1",
    "4k3/8/8/8/4P3/2N5/8/4K3 w ~ outpost ~ knight_outpost_reach 1",
    "4k3/8/8/8/3p4/3N4/8/4K3 w ~ outpost ~ minor_behind_pawn 1",
    "4k3/8/8/8/8/3P4/4P1P1/4KB2 w ~ bishop_pawns ~ bishop_pawns_3 1",
    "k7/8/8/8/8/7P/5PP1/6K1 w ~ king_shield ~ king_shield_a_none -1|king_shield_a_rank3 1|king_shield_b_none -1|king_shield_b_rank2 1|king_shield_c_none -1|king_shield_c_rank2 1",
    "3k4/8/8/8/6p1/8/8/6K1 w ~ king_storm ~ king_storm_a_none 1|king_storm_b_rank4 1|king_storm_c_none 0|king_storm_d_none -2",
    "k7/p7/8/8/8/8/8/7K w ~ king_file ~ king_beside_open_file 0|king_open_file 1",
    "k7/8/8/8/8/8/7P/7K w ~ king_file ~ king_open_file -1",
    // A rook that attacks the zone (3) and can check on g1 (3), and f7 and f8, which only the king defends.
    "6k1/8/8/8/8/8/8/R3K3 w ~ king_attack,safe_check ~ king_attack_3 0|safe_check_rook 1",
    "6k1/8/8/8/8/8/8/K4R2 w ~ king_attack,safe_check ~ king_attack_8 1|safe_check_rook 1",
    "6k1/8/8/8/8/8/8/KN6 w ~ king_attack,safe_check ~ ",
    "4k3/8/8/2n1r3/3P4/8/8/4K3 w ~ pawn_threat ~ pawn_threat_knight 1|pawn_threat_rook 1",
    "4k3/8/2n1r3/8/3P4/8/8/4K3 w ~ push_threat ~ push_threat_knight 1|push_threat_rook 1",
    // The bishop could take on d5.
    "4k3/8/2n1b3/8/3P4/8/8/4K3 w ~ push_threat ~ ",
    "4k3/4p3/2n5/8/3P4/8/8/4K3 w ~ push_threat ~ push_threat_knight 1",
    "4k3/3p4/2p5/8/3N4/8/8/4K3 w ~ knight_threat ~ knight_threat_defended_pawn 1",
    "4k3/8/8/8/8/2b5/8/R3K3 b ~ bishop_threat ~ bishop_threat_undefended_rook -1",
    "4k3/8/8/8/q7/8/8/R3K3 w ~ rook_threat,queen_threat ~ queen_threat_undefended_rook -1|rook_threat_undefended_queen 1",
    "4k3/8/8/8/8/8/4n3/4K3 w ~ king_threat ~ king_threat_knight 1",
    "4k3/8/8/8/5p2/4n3/4K3/8 w ~ king_threat ~ ",
];

#[test]
fn small_boards_match_hand_counts() {
    let set = classical();
    let mut row = FeatureRow::default();
    let group_of: BTreeMap<&str, &str> =
        set.features.iter().map(|f| (f.name.as_str(), f.group.as_str())).collect();
    let mut groups: Vec<&str> = Vec::new();
    for case in BY_HAND {
        let [text, chosen, expected] = cells(case);
        let (board, turn) = text.split_once(' ').unwrap();
        let board = Board::from_ascii_board_fen(board.as_bytes()).unwrap();
        let turn = if turn == "w" { Color::White } else { Color::Black };
        let chosen: Vec<&str> = chosen.split(',').collect();
        groups.extend(&chosen);
        let got = counts(&set, &board, turn, &mut row);
        let got: Vec<String> = got
            .iter()
            .filter(|(name, _)| chosen.contains(&group_of[name.as_str()]))
            .map(|(name, count)| format!("{name} {count}"))
            .collect();
        let expected: Vec<&str> =
            expected.split('|').filter(|e| !e.is_empty() && !e.ends_with(" 0")).collect();
        assert_eq!(got, expected, "{text}");
    }
    for group in &GROUPS[6..] {
        assert!(groups.contains(&group.name), "no board for {}", group.name);
    }
}

#[test]
fn the_search_plays_by_the_sum_of_features() {
    use gputexel::chess::evaluation::Evaluation as _;
    // Integer values: the engine's score of a position is the rounded sum over its row.
    let set = classical();
    let count = set.features.len();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
    let theta: Vec<f64> = (0..2 * count).map(|_| f64::from(random.random_range(-60..=60))).collect();
    let evaluation = TableEvaluation::try_new(&set, &theta).unwrap();
    let mut row = FeatureRow::default();
    for position in played(4) {
        set.compute(position.board(), position.turn(), &mut row);
        let sum = |ids: &[u16], phase: usize| -> f64 {
            ids.iter().map(|&id| theta[phase * count + usize::from(id)]).sum()
        };
        let phi = f64::from(row.phase) / 24.0;
        let white = phi * (sum(&row.plus, 0) - sum(&row.minus, 0))
            + (1.0 - phi) * (sum(&row.plus, 1) - sum(&row.minus, 1));
        let stm = if position.turn().is_white() { white } else { -white };
        let shown = f64::from(evaluation.score_stm(&evaluation.state(&position), &position));
        assert!((shown - stm).abs() < 0.5 + 1e-9, "{shown} {stm}");
    }
}

#[test]
fn every_group_is_documented() {
    let text = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/features.md"));
    for group in GROUPS {
        let row = format!("| `{}` | {} | {} |", group.name, group.features(), group.about);
        assert!(text.contains(&row), "docs/features.md lacks the row\n{row}");
    }
    let set = classical();
    let total = format!("{} features, {} parameters", set.features.len(), 2 * set.features.len());
    assert!(text.contains(&total), "docs/features.md does not say \"{total}\"");
    // The documentation names no missing feature.
    let rows = |text: &str| text.lines().filter(|line| line.starts_with("| `")).count();
    assert_eq!(rows(text), GROUPS.len());

    let text = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/full.md"));
    for group in full::GROUPS {
        let row = format!("| `{}` | {} | {} |", group.name, group.features(), group.about);
        assert!(text.contains(&row), "docs/full.md lacks the row\n{row}");
    }
    let total = format!("{} features, {} parameters", full::COUNT, 2 * full::COUNT);
    assert!(text.contains(&total), "docs/full.md does not say \"{total}\"");
    assert_eq!(rows(text), full::GROUPS.len());
}

#[test]
fn positions_from_text_match_boards() {
    // The same for Chess960 and boards without pawns or pieces.
    let set = classical();
    let mut row = FeatureRow::default();
    for fen in ["8/8/4k3/8/8/3K4/8/8 w - - 0 1", "1rk3r1/8/8/2pPpP2/2PpPp2/8/8/1RK3R1 b GBgb - 0 1"] {
        let position = position(fen);
        let got = counts(&set, position.board(), position.turn(), &mut row);
        assert_eq!(got, reference::features(position.board(), position.turn()), "{fen}");
    }
}
