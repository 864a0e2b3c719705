//! Tests of the feature set `full`: rows by hand on small boards, with colors swapped, and the starting
//! values.

use crate::common::prelude::*;
use gputexel::model::full;
use rand::prelude::*;

fn set() -> FeatureSet {
    FeatureSet::new(FeatureKind::Full, PhaseSettings::default())
}

fn compiled(set: &FeatureSet) -> CompiledProgram {
    CompiledProgram::try_new(set.program.clone().unwrap(), set.features.len()).unwrap()
}

/// Returns the positions of random games, in which pieces soon stand everywhere.
fn positions() -> Vec<Chess> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(11);
    let mut all = Vec::new();
    for _ in 0..30 {
        let mut position = Chess::default();
        for _ in 0..200 {
            let Some(&chosen) = position.legal_moves().choose(&mut random) else { break };
            position.play_unchecked(chosen);
            all.push(position.clone());
        }
    }
    all
}

/// Returns the entries of a row by sum and feature, `danger.white danger_pin`, White's less Black's.
fn entries(set: &FeatureSet, board: &Board, turn: Color) -> BTreeMap<String, i32> {
    let program = compiled(set);
    let mut row = FeatureRow::default();
    set.compute(board, turn, &mut row);
    let mut found = BTreeMap::new();
    for (ids, sign) in [(&row.plus, 1), (&row.minus, -1)] {
        for &id in ids {
            let slot = program.slot_name(program.slot_of_column(usize::from(id)));
            let feature = usize::from(program.features_of_columns()[usize::from(id)]);
            assert!(sign > 0 || slot == "linear", "only the linear part has coefficients of both signs");
            *found.entry(format!("{slot} {}", set.features[feature].name)).or_default() += sign;
        }
    }
    found.retain(|_, count| *count != 0);
    found
}

#[test]
fn the_linear_part_is_classical() {
    let (set, classical) = (set(), FeatureSet::new(FeatureKind::Classical, PhaseSettings::default()));
    let count = classical.features.len();
    assert_eq!(set.features[..count], classical.features);
    let (mut row, mut linear) = (FeatureRow::default(), FeatureRow::default());
    for position in positions() {
        set.compute(position.board(), position.turn(), &mut row);
        classical.compute(position.board(), position.turn(), &mut linear);
        row.plus.retain(|&id| usize::from(id) < count);
        assert_eq!(row, linear);
    }
}

#[test]
fn colors_swap() {
    let set = set();
    for position in positions() {
        let mut board = position.board().clone();
        let own = entries(&set, &board, position.turn());
        board.flip_vertical();
        board.swap_colors();
        let swapped = entries(&set, &board, !position.turn());
        let other = |(name, count): (&String, &i32)| {
            let sign = if name.starts_with("linear ") { -1 } else { 1 };
            let name = match name.split_once(' ').unwrap() {
                ("danger.white", feature) => format!("danger.black {feature}"),
                ("danger.black", feature) => format!("danger.white {feature}"),
                ("factor.white", feature) => format!("factor.black {feature}"),
                ("factor.black", feature) => format!("factor.white {feature}"),
                _ => name.clone(),
            };
            (name, sign * count)
        };
        assert_eq!(own.iter().map(other).collect::<BTreeMap<_, _>>(), swapped);
    }
}

/// Boards with all of their entries of some groups in one sum.
const BY_HAND: &[&str] = &[
    // One attacker without a queen is not a danger; with a queen it is.
    "6k1/8/8/8/8/8/8/K4R2 w ~ danger.black ~ danger ~ ",
    "6k1/8/8/8/8/8/8/K4R1Q w ~ danger.black ~ danger,danger_to_move ~ danger 1|danger_to_move 1",
    "6k1/8/8/8/8/8/8/K4R1Q w ~ danger.white ~ danger ~ ",
    "6K1/8/8/8/8/8/8/k4r1q b ~ danger.white ~ danger,danger_to_move ~ danger 1|danger_to_move 1",
    "k4r1q/8/8/8/8/8/8/6K1 w ~ danger.white ~ danger,danger_to_move ~ danger 1",
    // The rook sees f7 and f8 (and f6 of the zone), the queen on h1 sees h7 and h8 (and h6).
    "6k1/8/8/8/8/8/8/K4R1Q w ~ danger.black ~ danger_attacker,danger_attackers,danger_ring,danger_ring_twice,danger_escapes ~ danger_attacker_queen 1|danger_attacker_rook 1|danger_attackers_2 1|danger_escapes_1 1|danger_ring_4 1|danger_ring_twice_0 1",
    // f8, f7, h7 and h8 next to the king; f6 and h6 in front of it.
    "6k1/8/8/8/8/8/8/K4R1Q w ~ danger.black ~ danger_weak ~ danger_weak_6 1",
    "6k1/8/8/8/8/8/8/K4R1Q w ~ danger.black ~ danger_no_queen,danger_pawn,danger_defender ~ ",
    "6k1/5n2/8/8/8/8/8/K4RR1 w ~ danger.black ~ danger_no_queen,danger_defender ~ danger_defender_knight 1|danger_no_queen 1",
    // The rook's checks on g1 (safe) and f8 (the king takes); the queen's on d5, g1, g2, h7, h8 and a8.
    "6k1/8/8/8/8/8/8/K4R1Q w ~ danger.black ~ danger_check,danger_unsafe_check ~ danger_check_rook 1|danger_checks_queen 1",
    "r6k/8/8/8/5N2/8/7P/K3R1R1 w ~ danger.black ~ danger_check,danger_unsafe_check ~ danger_check_knight 1|danger_unsafe_check_rook 1",
    // Black's knight on g7 is pinned.
    "6k1/6n1/8/8/8/8/8/K4RR1 w ~ danger.black ~ danger_line ~ danger_pin 1",
    "6k1/8/6N1/8/8/8/8/K4RR1 w ~ danger.black ~ danger_line ~ danger_discovery 1",
    "6k1/5p2/6P1/8/8/8/8/K4RR1 w ~ danger.black ~ danger_pawn,danger_pawnless ~ danger_pawn 2",
    "6k1/8/8/8/8/8/8/K4RR1 w ~ danger.black ~ danger_pawnless,danger_king_rank ~ danger_king_rank_rank1 1|danger_pawnless 1",
    "8/8/8/6k1/8/8/8/K4RR1 w ~ danger.black ~ danger_king_rank ~ danger_king_rank_rank4 1",
    "8/8/6k1/8/8/8/8/K4RR1 w ~ danger.black ~ danger_king_rank ~ danger_king_rank_rank3 1",
    // Files f and g from rank 4 to the top, less the king's own square; the king defends five squares.
    "6k1/8/8/8/8/8/8/K4RR1 w ~ danger.black ~ danger_flank,danger_flank_defense ~ danger_flank_5 1|danger_flank_defense_2 1",
    "6k1/5p1p/8/6P1/8/8/8/KQ3RR1 w ~ danger.black ~ danger_shield,danger_storm ~ danger_shield_a_rank2 1|danger_shield_b_none 1|danger_shield_c_rank2 1|danger_storm_a_none 1|danger_storm_b_rank4 1|danger_storm_c_none 1",
    "4k3/pp6/8/8/8/8/P6P/4K3 w ~ complexity ~ complexity_pawns,complexity_flanks ~ complexity_flanks 1|complexity_pawns_4 1",
    "4k3/pp6/8/8/8/8/P7/4K3 w ~ complexity ~ complexity_pawns,complexity_flanks ~ complexity_pawns_3 1",
    "4k3/pp6/8/8/8/8/P6P/4K3 w ~ complexity ~ complexity_passed ~ complexity_passed_1 1",
    "4k3/8/8/8/8/8/8/4K3 w ~ complexity ~ complexity_outflanking,complexity_pawn_ending ~ complexity_outflanking_n4 1|complexity_pawn_ending 1",
    "8/8/8/k6K/8/8/8/8 w ~ complexity ~ complexity_outflanking,complexity_infiltration ~ complexity_infiltration 1|complexity_outflanking_4 1",
    "8/8/8/k7/7K/8/8/8 w ~ complexity ~ complexity_infiltration ~ ",
    "4k1n1/8/8/8/8/8/8/QRR1K3 w ~ complexity ~ complexity_pieces,complexity_pawn_ending ~ complexity_pieces_4 1",
    "4k3/p7/8/8/8/8/PP6/4K3 w ~ factor.white ~ factor_pawns,factor_their_pawns ~ factor_pawns_2 1|factor_their_pawns_1 1",
    "4k3/p7/8/8/8/8/PP6/4K3 w ~ factor.black ~ factor_pawns,factor_their_pawns ~ factor_pawns_1 1|factor_their_pawns_2 1",
    "4k3/8/8/8/8/8/8/4KN2 w ~ factor.white ~ factor_ahead,factor_ending ~ factor_ending_others 1|factor_pawnless_ahead_3 1",
    "4k3/8/8/8/8/8/8/4KN2 w ~ factor.black ~ factor_ahead ~ factor_pawnless_behind 1",
    "4k2n/8/8/8/8/8/P7/4K2R w ~ factor.white ~ factor_ahead,factor_ending ~ factor_ending_others 1|factor_one_pawn_ahead_1 1",
    "4k2q/8/8/8/8/8/PPP5/4K3 w ~ factor.black ~ factor_ahead ~ factor_pawnless_ahead_6 1",
    "4k3/8/8/8/8/8/PPP5/4K3 w ~ factor.white ~ factor_ahead,factor_ending ~ factor_ending_pawns 1|factor_pawns_equal 1",
    "2b1k3/8/8/8/8/8/PPP5/2B1K3 w ~ factor.white ~ factor_ending,factor_opposite_bishops ~ factor_ending_opposite_bishops 1|factor_opposite_bishops_3 1",
    "5bk1/8/8/8/8/8/PPP5/2B1K3 w ~ factor.white ~ factor_ending,factor_opposite_bishops ~ factor_ending_bishops 1",
    "5nk1/8/8/8/8/8/PPP5/2B1K3 w ~ factor.white ~ factor_ending ~ factor_ending_bishop_knight 1",
    "5nk1/8/8/8/8/8/PPP5/2B1K3 w ~ factor.black ~ factor_ending ~ factor_ending_knight_bishop 1",
    "5rk1/8/8/8/8/8/P7/2R1K3 w ~ factor.white ~ factor_ending,factor_rooks,factor_flank ~ factor_ending_rooks 1|factor_one_flank_rooks 1|factor_rooks_1 1",
    "2b2rk1/8/8/8/8/8/P7/2B1KR2 w ~ factor.white ~ factor_ending,factor_flank ~ factor_ending_opposite_bishops_rooks 1|factor_one_flank 1",
    "2b2qk1/8/8/8/8/8/P6P/2B1KQ2 w ~ factor.white ~ factor_ending,factor_flank ~ factor_ending_opposite_bishops_more 1",
    "5qk1/8/8/8/8/8/P6P/4KQ2 w ~ factor.white ~ factor_ending,factor_passed ~ factor_ending_queens 1|factor_passed_2 1",
    "r4rk1/8/8/8/8/8/P6P/R3KR2 w ~ factor.white ~ factor_ending ~ factor_ending_two_rooks 1",
    "5qkr/8/8/8/8/8/P6P/4KQR1 w ~ factor.white ~ factor_ending ~ factor_ending_queens_more 1",
    "5nkr/8/8/8/8/8/P6P/4KNR1 w ~ factor.white ~ factor_ending ~ factor_ending_rooks_minors 1",
    "5nk1/8/8/8/8/8/P6P/4KN2 w ~ factor.white ~ factor_ending ~ factor_ending_knights 1",
];

#[test]
fn small_boards_match_hand_counts() {
    let set = set();
    let group_of: BTreeMap<&str, &str> =
        set.features.iter().map(|f| (f.name.as_str(), f.group.as_str())).collect();
    let mut groups: Vec<&str> = Vec::new();
    for case in BY_HAND {
        let [text, sum, chosen, expected] = cells(case);
        let (board, turn) = text.split_once(' ').unwrap();
        let board = Board::from_ascii_board_fen(board.as_bytes()).unwrap();
        let turn = if turn == "w" { Color::White } else { Color::Black };
        let chosen: Vec<&str> = chosen.split(',').collect();
        groups.extend(&chosen);
        let got: Vec<String> = entries(&set, &board, turn)
            .into_iter()
            .filter_map(|(name, count)| {
                let (own, feature) = name.split_once(' ').unwrap();
                (own == sum && chosen.contains(&group_of[feature])).then(|| format!("{feature} {count}"))
            })
            .collect();
        let expected: Vec<&str> = expected.split('|').filter(|text| !text.is_empty()).collect();
        assert_eq!(got, expected, "{text} {sum}");
    }
    for group in full::GROUPS {
        assert!(groups.contains(&group.name), "no board for {}", group.name);
    }
}

#[test]
fn every_feature_of_a_sum_occurs() {
    let set = set();
    let mut seen = vec![false; set.columns()];
    let mut row = FeatureRow::default();
    let all = positions();
    for position in &all {
        set.compute(position.board(), position.turn(), &mut row);
        row.plus.iter().for_each(|&id| seen[usize::from(id)] = true);
    }
    let unseen = seen[set.features.len()..].iter().filter(|seen| !**seen).count();
    let all = seen.len() - set.features.len();
    assert!(3 * unseen < all, "{unseen} of {all} columns");
}

/// With starting values, quiet positions have no danger, sharp ones do, and factors are 1 in most positions.
#[test]
fn starting_values_are_active_and_moderate() {
    let set = set();
    let program = compiled(&set);
    let theta = Prior::default().theta(&set).unwrap();
    let values = program.column_values(&theta);
    let sums = |position: &Board, turn: Color| {
        let mut row = FeatureRow::default();
        set.compute(position, turn, &mut row);
        let mut sums = vec![[0.0; 2]; program.slots()];
        let mut present = 1;
        for &id in row.plus.iter().filter(|&&id| usize::from(id) >= set.features.len()) {
            let slot = program.slot_of_column(usize::from(id));
            present |= 1 << slot;
            (0..2).for_each(|phase| sums[slot][phase] += values[usize::from(id)][phase]);
        }
        (sums, present)
    };
    let (initial, present) = sums(&Board::new(), Color::White);
    assert_eq!(present, 0b11_1001, "no danger, but everything else");
    assert_eq!((initial[4][1], initial[5][1]), (64.0, 64.0));
    assert!(initial[3][1].abs() < 100.0);
    assert_eq!(program.score(&initial, present, Taper { mg: 1.0, eg: 0.0 }), 0.0);
    // A king attacked by everything.
    let board = Board::from_ascii_board_fen(b"5rk1/5p1p/7Q/4N3/8/3B2R1/5PPP/6K1").unwrap();
    let (hunted, _) = sums(&board, Color::White);
    assert!(hunted[2][0] > 150.0, "{hunted:?}");
    // Only knights, none of which can win.
    let board = Board::from_ascii_board_fen(b"6k1/8/8/8/8/8/8/5NK1").unwrap();
    assert!(sums(&board, Color::White).0[4][1] < 32.0);
}

#[test]
fn priors_keep_parameters_without_slope_at_zero() {
    let (set, classical) = (set(), FeatureSet::new(FeatureKind::Classical, PhaseSettings::default()));
    let (count, linear) = (set.features.len(), classical.features.len());
    let material = Prior::default().theta(&set).unwrap();
    let zero = Prior::Zero.theta(&set).unwrap();
    assert!(zero[..linear].iter().chain(&zero[count..][..linear]).all(|&value| value == 0.0));
    assert_eq!((material[0], material[count + 64]), (100.0, 300.0));
    for phase in [0, count] {
        assert_eq!(zero[phase + linear..][..count - linear], material[phase + linear..][..count - linear]);
    }
    // A file of `classical` sets the values of the linear part, one of `full` sets all of them.
    let folder = tempfile::tempdir().unwrap();
    let write = |set: &FeatureSet, theta: &[f64], name: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, serde_json::to_string(&ParameterFile::new(set, theta, None, None)).unwrap())
            .unwrap();
        path
    };
    let values: Vec<f64> = (0..2 * linear).map(|index| index as f64).collect();
    let path = write(&classical, &values, "classical.json");
    let theta = Prior::File(path).theta(&set).unwrap();
    assert_eq!((&theta[..linear], &theta[count..][..linear]), (&values[..linear], &values[linear..]));
    assert_eq!(theta[linear..count], material[linear..count]);
    assert_eq!(theta[count + linear..], material[count + linear..]);
    let values: Vec<f64> = (0..2 * count).map(|index| index as f64).collect();
    let path = write(&set, &values, "full.json");
    assert_eq!(Prior::File(path.clone()).theta(&set).unwrap(), values);
    assert_has(&Prior::File(path).theta(&classical).unwrap_err().to_string(), "belong to feature set 'full'");
}

#[test]
fn unused_values_are_not_penalized() {
    let set = set();
    let count = set.features.len();
    let ridge = penalties(&set, PenaltyKind::Ridge);
    let of = |name: &str| ridge.iter().any(|penalty| penalty.of == name);
    assert!(
        of("danger_ring.mg") && of("danger_ring.eg") && of("complexity_pawns.eg") && of("factor_pawns.eg")
    );
    assert!(of("complexity_pawns.mg") && !of("factor_pawns.mg"));
    let smooth = penalties(&set, PenaltyKind::Smooth);
    for name in ["danger_ring.mg", "danger_shield.eg", "complexity_passed.eg", "factor_their_pawns.eg"] {
        let penalty = smooth.iter().find(|penalty| penalty.of == name).unwrap_or_else(|| panic!("{name}"));
        penalty.validate(2 * count).unwrap();
    }
}
