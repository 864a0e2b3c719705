//! List of the features after those of `classical`: ids, names, groups, the definition of each group, and
//! starting values.

use crate::classical::COUNT as CLASSICAL;
use crate::classical::catalog::{Group, Labels, Span, group};

const KINDS: Labels = Labels::Endings(&["knight", "bishop", "rook", "queen"]);

// Danger of a king.
pub const ALWAYS: Span = Span::after_classical(1);
pub const TO_MOVE: Span = ALWAYS.then(1);
pub const NO_QUEEN: Span = TO_MOVE.then(1);
pub const ATTACKER: Span = NO_QUEEN.then(4);
pub const ATTACKERS: Span = ATTACKER.then(6);
pub const RING_ATTACKS: Span = ATTACKERS.then(16);
pub const RING_TWICE: Span = RING_ATTACKS.then(7);
pub const WEAK: Span = RING_TWICE.then(8);
pub const PAWN_ATTACKS: Span = WEAK.then(1);
pub const DEFENDER: Span = PAWN_ATTACKS.then(4);
pub const ESCAPES: Span = DEFENDER.then(9);
pub const SAFE_CHECKS: Span = ESCAPES.then(8);
pub const UNSAFE_CHECK: Span = SAFE_CHECKS.then(4);
pub const LINES: Span = UNSAFE_CHECK.then(2);
pub const FLANK_ATTACKS: Span = LINES.then(13);
pub const FLANK_DEFENSES: Span = FLANK_ATTACKS.then(12);
pub const PAWNLESS: Span = FLANK_DEFENSES.then(1);
pub const KING_RANK: Span = PAWNLESS.then(4);
pub const SHIELD: Span = KING_RANK.then(28);
pub const STORM: Span = SHIELD.then(28);
pub const DANGER: std::ops::Range<usize> = ALWAYS.first()..STORM.then(0).first();

// Complexity of a position.
pub const PAWNS: Span = STORM.then(17);
pub const BOTH_FLANKS: Span = PAWNS.then(1);
pub const PASSED: Span = BOTH_FLANKS.then(5);
pub const OUTFLANKING: Span = PASSED.then(9);
pub const INFILTRATION: Span = OUTFLANKING.then(1);
pub const KINGS: Span = INFILTRATION.then(1);
pub const PIECES: Span = KINGS.then(9);
pub const COMPLEXITY: std::ops::Range<usize> = PAWNS.first()..PIECES.then(0).first();

// Factor of the stronger side.
pub const FACTOR_PAWNS: Span = PIECES.then(9);
pub const FACTOR_THEIR_PAWNS: Span = FACTOR_PAWNS.then(9);
pub const FACTOR_MATERIAL: Span = FACTOR_THEIR_PAWNS.then(21);
pub const FACTOR_ENDING: Span = FACTOR_MATERIAL.then(14);
pub const FACTOR_BISHOPS: Span = FACTOR_ENDING.then(4);
pub const FACTOR_ROOKS: Span = FACTOR_BISHOPS.then(4);
pub const FACTOR_PASSED: Span = FACTOR_ROOKS.then(4);
pub const FACTOR_FLANK: Span = FACTOR_PASSED.then(2);
pub const FACTOR: std::ops::Range<usize> = FACTOR_PAWNS.first()..FACTOR_FLANK.then(0).first();
/// Number of features, including those of `classical`.
pub const COUNT: usize = FACTOR.end;
pub const FURTHER: usize = COUNT - CLASSICAL;

pub static GROUPS: &[Group] = &[
    group(
        "danger",
        ALWAYS,
        Labels::Names(&["danger"]),
        "The king is in danger: at least two pieces attack its zone, or one of an opponent with a queen. Without danger, no feature counts whose name begins so.",
    ),
    group("danger_to_move", TO_MOVE, Labels::Names(&["danger_to_move"]), "The attacker is to move."),
    group("danger_no_queen", NO_QUEEN, Labels::Names(&["danger_no_queen"]), "The attacker has no queen."),
    group("danger_attacker", ATTACKER, KINDS, "A piece that attacks the king zone."),
    group("danger_attackers", ATTACKERS, Labels::From(1), "The number of pieces that attack the king zone."),
    group(
        "danger_ring",
        RING_ATTACKS,
        Labels::From(0),
        "The number of squares next to the king that knights attack, that bishops attack and so on, added up over knights, bishops, rooks and queens.",
    ),
    group(
        "danger_ring_twice",
        RING_TWICE,
        Labels::From(0),
        "The number of squares next to the king that are attacked twice.",
    ),
    group(
        "danger_weak",
        WEAK,
        Labels::From(0),
        "The number of weak squares in the king zone: attacked, not defended twice, and defended by nothing but the king and the queen.",
    ),
    group(
        "danger_pawn",
        PAWN_ATTACKS,
        Labels::Names(&["danger_pawn"]),
        "A square next to the king that pawns attack.",
    ),
    group("danger_defender", DEFENDER, KINDS, "Knights, bishops, rooks or queens defend the king zone."),
    group(
        "danger_escapes",
        ESCAPES,
        Labels::From(0),
        "The number of squares that the king could move to: neither attacked nor occupied by its own pieces.",
    ),
    group(
        "danger_check",
        SAFE_CHECKS,
        Labels::Names(&[
            "danger_check_knight",
            "danger_check_bishop",
            "danger_check_rook",
            "danger_check_queen",
            "danger_checks_knight",
            "danger_checks_bishop",
            "danger_checks_rook",
            "danger_checks_queen",
        ]),
        "Pieces of a kind could give check on one square (check) or on several (checks) where they would be safe: not defended, or weak and attacked twice. The king's own queen does not block the line from there to the king.",
    ),
    group(
        "danger_unsafe_check",
        UNSAFE_CHECK,
        KINDS,
        "Pieces of a kind could give check, seen as in `danger_check`, but nowhere where they would be safe.",
    ),
    group(
        "danger_line",
        LINES,
        Labels::Names(&["danger_pin", "danger_discovery"]),
        "A piece of the king's own that is pinned; an attacking piece that could discover a check.",
    ),
    group(
        "danger_flank",
        FLANK_ATTACKS,
        Labels::From(0),
        "Half the number of attacked squares on the king's flank and its five ranks, those attacked twice counted twice; the flank is a to d, c to f or e to h.",
    ),
    group(
        "danger_flank_defense",
        FLANK_DEFENSES,
        Labels::From(0),
        "Half the number of defended squares of the same part of the board.",
    ),
    group("danger_pawnless", PAWNLESS, Labels::Names(&["danger_pawnless"]), "No pawns on the king's flank."),
    group(
        "danger_king_rank",
        KING_RANK,
        Labels::Ranks(1),
        "The king by its rank, the last feature for the fourth rank and beyond.",
    ),
    group("danger_shield", SHIELD, Labels::Shelter, "As in `king_shield`, of a king in danger."),
    group("danger_storm", STORM, Labels::Shelter, "As in `king_storm`, of a king in danger."),
    group(
        "complexity_pawns",
        PAWNS,
        Labels::From(0),
        "The number of pawns of both sides. Features whose names begin with complexity count once in a position; their sums are added to the sizes of the middlegame and the endgame value, which they cannot turn.",
    ),
    group(
        "complexity_flanks",
        BOTH_FLANKS,
        Labels::Names(&["complexity_flanks"]),
        "There are pawns on the files a to d and on the files e to h.",
    ),
    group("complexity_passed", PASSED, Labels::From(0), "The number of passed pawns of both sides."),
    group(
        "complexity_outflanking",
        OUTFLANKING,
        Labels::Names(&[
            "complexity_outflanking_n4",
            "complexity_outflanking_n3",
            "complexity_outflanking_n2",
            "complexity_outflanking_n1",
            "complexity_outflanking_0",
            "complexity_outflanking_1",
            "complexity_outflanking_2",
            "complexity_outflanking_3",
            "complexity_outflanking_4",
        ]),
        "The distance of the kings in files less that in ranks, from −4 or less (n4) to 4 or more.",
    ),
    group(
        "complexity_infiltration",
        INFILTRATION,
        Labels::Names(&["complexity_infiltration"]),
        "A king is beyond its fourth rank.",
    ),
    group(
        "complexity_pawn_ending",
        KINGS,
        Labels::Names(&["complexity_pawn_ending"]),
        "There is nothing but kings and pawns.",
    ),
    group(
        "complexity_pieces",
        PIECES,
        Labels::From(0),
        "The number of knights, bishops, rooks and queens of both sides.",
    ),
    group(
        "factor_pawns",
        FACTOR_PAWNS,
        Labels::From(0),
        "The number of pawns of the stronger side. Features whose names begin with factor count for the side that the endgame value favors; their sum, from 0 to 192, is what remains of 64 parts of the endgame value.",
    ),
    group(
        "factor_their_pawns",
        FACTOR_THEIR_PAWNS,
        Labels::From(0),
        "The number of pawns of the weaker side.",
    ),
    group(
        "factor_ahead",
        FACTOR_MATERIAL,
        Labels::Names(&[
            "factor_pawnless_behind",
            "factor_pawnless_equal",
            "factor_pawnless_ahead_1",
            "factor_pawnless_ahead_3",
            "factor_pawnless_ahead_4",
            "factor_pawnless_ahead_5",
            "factor_pawnless_ahead_6",
            "factor_one_pawn_behind",
            "factor_one_pawn_equal",
            "factor_one_pawn_ahead_1",
            "factor_one_pawn_ahead_3",
            "factor_one_pawn_ahead_4",
            "factor_one_pawn_ahead_5",
            "factor_one_pawn_ahead_6",
            "factor_pawns_behind",
            "factor_pawns_equal",
            "factor_pawns_ahead_1",
            "factor_pawns_ahead_3",
            "factor_pawns_ahead_4",
            "factor_pawns_ahead_5",
            "factor_pawns_ahead_6",
        ]),
        "By how much the pieces of the stronger side are worth more, in pawns, with 3 for knights and bishops, 5 for rooks and 9 for queens: less, the same, 1 or 2, 3, 4, 5, 6 or more; if it has no pawn, one, or several.",
    ),
    group(
        "factor_ending",
        FACTOR_ENDING,
        Labels::Names(&[
            "factor_ending_pawns",
            "factor_ending_knights",
            "factor_ending_bishops",
            "factor_ending_opposite_bishops",
            "factor_ending_bishop_knight",
            "factor_ending_knight_bishop",
            "factor_ending_rooks",
            "factor_ending_rooks_minors",
            "factor_ending_opposite_bishops_rooks",
            "factor_ending_opposite_bishops_more",
            "factor_ending_two_rooks",
            "factor_ending_queens",
            "factor_ending_queens_more",
            "factor_ending_others",
        ]),
        "The pieces, each kind once a side: none; knights; bishops on the same color; on opposite colors; a bishop of the stronger side and a knight; a knight of the stronger side and a bishop; rooks; rooks and a knight or bishop; a rook and a bishop a side, on opposite colors; with more pieces, a bishop a side on opposite colors, and as many rooks and queens each; two rooks a side; queens; a queen a side and more, as many rooks each; all else.",
    ),
    group(
        "factor_opposite_bishops",
        FACTOR_BISHOPS,
        Labels::From(0),
        "With nothing but bishops on opposite colors: the number of pawns that the stronger side is ahead, the first also for fewer, the last also for more.",
    ),
    group("factor_rooks", FACTOR_ROOKS, Labels::From(0), "The same with nothing but a rook a side."),
    group(
        "factor_passed",
        FACTOR_PASSED,
        Labels::From(0),
        "The number of passed pawns of the stronger side, the last also for more.",
    ),
    group(
        "factor_flank",
        FACTOR_FLANK,
        Labels::Names(&["factor_one_flank", "factor_one_flank_rooks"]),
        "All pawns are on the files a to d or all on e to h, or there are none; instead, with nothing but a rook a side.",
    ),
];
