//! List of features: ids, names, groups and the definition of each group.

use shakmaty::Square;

use crate::feature::{Arrangement, Feature, ROLE_NAMES};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    first: usize,
    len: usize,
}

impl Span {
    pub(crate) const fn then(self, len: usize) -> Self {
        Self { first: self.first + self.len, len }
    }

    pub(crate) const fn after_classical(len: usize) -> Self {
        Self { first: COUNT, len }
    }

    pub(crate) const fn first(self) -> usize {
        self.first
    }

    #[inline]
    pub const fn id(self, index: usize) -> usize {
        debug_assert!(index < self.len);
        self.first + index
    }

    #[inline]
    pub const fn id_or_last(self, index: usize) -> usize {
        self.id(if index < self.len { index } else { self.len - 1 })
    }
}

/// Pieces on squares: 64 per piece, pawn to king, a1 first.
pub const PIECE_SQUARE: Span = Span { first: 0, len: 384 };
pub const TEMPO: Span = PIECE_SQUARE.then(1);
pub const BISHOP_PAIR: Span = TEMPO.then(1);
pub const KNIGHT_MOBILITY: Span = BISHOP_PAIR.then(9);
pub const BISHOP_MOBILITY: Span = KNIGHT_MOBILITY.then(14);
pub const ROOK_MOBILITY: Span = BISHOP_MOBILITY.then(15);
pub const QUEEN_MOBILITY: Span = ROOK_MOBILITY.then(28);
pub const PASSED_FREE: Span = QUEEN_MOBILITY.then(6);
pub const PASSED_BLOCKED: Span = PASSED_FREE.then(6);
pub const PASSED_SAFE_PATH: Span = PASSED_BLOCKED.then(6);
pub const PASSED_OWN_KING: Span = PASSED_SAFE_PATH.then(16);
pub const PASSED_THEIR_KING: Span = PASSED_OWN_KING.then(16);
pub const ISOLATED: Span = PASSED_THEIR_KING.then(4);
pub const DOUBLED: Span = ISOLATED.then(4);
pub const BACKWARD: Span = DOUBLED.then(4);
pub const PHALANX: Span = BACKWARD.then(6);
pub const SUPPORTED: Span = PHALANX.then(5);
pub const ROOK_FILE: Span = SUPPORTED.then(4);
pub const OUTPOST: Span = ROOK_FILE.then(4);
pub const BISHOP_PAWNS: Span = OUTPOST.then(9);
pub const KING_SHIELD: Span = BISHOP_PAWNS.then(28);
pub const KING_STORM: Span = KING_SHIELD.then(28);
pub const KING_FILE: Span = KING_STORM.then(4);
pub const KING_ATTACK: Span = KING_FILE.then(19);
pub const SAFE_CHECK: Span = KING_ATTACK.then(4);
pub const PAWN_THREAT: Span = SAFE_CHECK.then(4);
pub const PUSH_THREAT: Span = PAWN_THREAT.then(4);
pub const KNIGHT_THREAT: Span = PUSH_THREAT.then(10);
pub const BISHOP_THREAT: Span = KNIGHT_THREAT.then(10);
pub const ROOK_THREAT: Span = BISHOP_THREAT.then(10);
pub const QUEEN_THREAT: Span = ROOK_THREAT.then(10);
pub const KING_THREAT: Span = QUEEN_THREAT.then(5);
pub const COUNT: usize = KING_THREAT.then(0).first;

/// Features that are defined together.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    /// Its name, which is also the prefix of its features' names unless they have names of their own.
    pub name: &'static str,
    span: Span,
    labels: Labels,
    /// Definition of a feature of the group, for one side.
    pub about: &'static str,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Labels {
    Squares,
    /// Numbers from a first one on: mobility 0, 1, ….
    From(usize),
    Ranks(usize),
    /// Files from the edge to the center; both halves of the board are equal.
    Files,
    Distances,
    /// Four tables by the distance of a file from the edge; in each, no pawn and then the ranks from the
    /// second on.
    Shelter,
    /// Kinds of attacked pieces: first defended, then undefended ones.
    Victims,
    Endings(&'static [&'static str]),
    Names(&'static [&'static str]),
}

pub(crate) const fn group(name: &'static str, span: Span, labels: Labels, about: &'static str) -> Group {
    Group { name, span, labels, about }
}

const fn squares(role: usize, about: &'static str) -> Group {
    group(ROLE_NAMES[role], Span { first: 64 * role, len: 64 }, Labels::Squares, about)
}

pub static GROUPS: &[Group] = &[
    squares(0, "A pawn on a square."),
    squares(1, "A knight on a square."),
    squares(2, "A bishop on a square."),
    squares(3, "A rook on a square."),
    squares(4, "A queen on a square."),
    squares(5, "The king on a square."),
    group("tempo", TEMPO, Labels::Names(&["tempo"]), "The side is to move."),
    group("bishop_pair", BISHOP_PAIR, Labels::Names(&["bishop_pair"]), "The side has at least two bishops."),
    group(
        "knight_mobility",
        KNIGHT_MOBILITY,
        Labels::From(0),
        "A knight, by the number of squares of the mobility area that it attacks.",
    ),
    group(
        "bishop_mobility",
        BISHOP_MOBILITY,
        Labels::From(0),
        "A bishop, by the number of squares of the mobility area that it attacks; it sees through queens.",
    ),
    group(
        "rook_mobility",
        ROOK_MOBILITY,
        Labels::From(0),
        "A rook, by the number of squares of the mobility area that it attacks; it sees through queens and friendly rooks.",
    ),
    group(
        "queen_mobility",
        QUEEN_MOBILITY,
        Labels::From(0),
        "A queen, by the number of squares of the mobility area that it attacks.",
    ),
    group(
        "passed_free",
        PASSED_FREE,
        Labels::Ranks(2),
        "A passed pawn with an empty square in front of it, by rank.",
    ),
    group(
        "passed_blocked",
        PASSED_BLOCKED,
        Labels::Ranks(2),
        "A passed pawn with a piece in front of it, by rank.",
    ),
    group(
        "passed_safe_path",
        PASSED_SAFE_PATH,
        Labels::Ranks(2),
        "A passed pawn with no square in front of it, up to the last rank, occupied or attacked by the opponent, by rank.",
    ),
    group(
        "passed_own_king",
        PASSED_OWN_KING,
        Labels::Distances,
        "A passed pawn on the fourth rank or beyond (low: fourth and fifth, high: sixth and seventh), by the distance in king moves of the friendly king from the square in front of it.",
    ),
    group("passed_their_king", PASSED_THEIR_KING, Labels::Distances, "The same with the enemy king."),
    group("isolated", ISOLATED, Labels::Files, "A pawn without friendly pawns on the adjacent files."),
    group("doubled", DOUBLED, Labels::Files, "A pawn with a friendly pawn in front of it on its file."),
    group(
        "backward",
        BACKWARD,
        Labels::Ranks(2),
        "A pawn that is not isolated, whose stop square is attacked by a pawn and can never be defended by a friendly pawn.",
    ),
    group("phalanx", PHALANX, Labels::Ranks(2), "A pawn with a friendly pawn directly beside it."),
    group("supported", SUPPORTED, Labels::Ranks(3), "A pawn defended by a friendly pawn."),
    group(
        "rook_file",
        ROOK_FILE,
        Labels::Names(&["rook_open_file", "rook_half_open_file", "rook_seventh_rank", "rook_behind_passed"]),
        "A rook on an open file; on a half-open file; on the seventh rank with the enemy king on the eighth or enemy pawns on the seventh; behind a friendly passed pawn on its file.",
    ),
    group(
        "outpost",
        OUTPOST,
        Labels::Names(&["knight_outpost", "bishop_outpost", "knight_outpost_reach", "minor_behind_pawn"]),
        "A knight or bishop on an outpost: a square of the fourth to sixth rank that is defended by a friendly pawn and can never be attacked by an enemy pawn; a knight that is not on an outpost but attacks one that is free of friendly pieces; a knight or bishop directly behind a pawn of either side.",
    ),
    group(
        "bishop_pawns",
        BISHOP_PAWNS,
        Labels::From(0),
        "A bishop, by the number of friendly pawns on squares of its color.",
    ),
    group(
        "king_shield",
        KING_SHIELD,
        Labels::Shelter,
        "For each of three files, the king's and the adjacent ones (the three nearest the edge if the king is on an edge file): the rank of the rearmost friendly pawn on it that is not behind the king, or none; a to d by the distance of the file from the edge.",
    ),
    group("king_storm", KING_STORM, Labels::Shelter, "The same with enemy pawns."),
    group(
        "king_file",
        KING_FILE,
        Labels::Names(&[
            "king_open_file",
            "king_half_open_file",
            "king_beside_open_file",
            "king_beside_half_open_file",
        ]),
        "The king on an open file; on a half-open file; likewise for each of the two adjacent files.",
    ),
    group(
        "king_attack",
        KING_ATTACK,
        Labels::From(2),
        "The number of attack units against the enemy king, the last feature for that many or more; see below.",
    ),
    group(
        "safe_check",
        SAFE_CHECK,
        Labels::Endings(&["knight", "bishop", "rook", "queen"]),
        "A knight, bishop, rook or queen could give check on a square that is free of friendly pieces and not attacked by the opponent; no piece may stand between that square and the king.",
    ),
    group(
        "pawn_threat",
        PAWN_THREAT,
        Labels::Endings(&["knight", "bishop", "rook", "queen"]),
        "An enemy piece attacked by a pawn.",
    ),
    group(
        "push_threat",
        PUSH_THREAT,
        Labels::Endings(&["knight", "bishop", "rook", "queen"]),
        "An enemy piece that is not yet attacked by a pawn but would be after a pawn push to a square that no enemy pawn attacks and that is defended or not attacked.",
    ),
    group("knight_threat", KNIGHT_THREAT, Labels::Victims, "An enemy piece attacked by knights."),
    group("bishop_threat", BISHOP_THREAT, Labels::Victims, "An enemy piece attacked by bishops."),
    group("rook_threat", ROOK_THREAT, Labels::Victims, "An enemy piece attacked by rooks."),
    group("queen_threat", QUEEN_THREAT, Labels::Victims, "An enemy piece attacked by queens."),
    group(
        "king_threat",
        KING_THREAT,
        Labels::Endings(&["pawn", "knight", "bishop", "rook", "queen"]),
        "An undefended enemy piece attacked by the king.",
    ),
];

impl Group {
    #[cfg(test)]
    pub(crate) fn first(&self) -> usize {
        self.span.first
    }

    pub fn features(&self) -> usize {
        self.span.len
    }

    /// The neighbors among its features, whose ids begin at `first`. Shelters are ordered by rank and by the
    /// distance of the file from the edge; distances of kings by distance and by the pawn's rank.
    pub(crate) fn arrangement(&self, first: u32) -> Arrangement {
        let line = |from: usize, step: usize, len: usize| -> Vec<u32> {
            (0..len).map(|i| first + (from + i * step) as u32).collect()
        };
        let lines = match self.labels {
            Labels::Squares => {
                return Arrangement::Board((0..64).map(|square| Some(first + square)).collect());
            }
            Labels::From(_) | Labels::Ranks(_) | Labels::Files => vec![line(0, 1, self.span.len)],
            Labels::Distances => {
                let along = [0, 8].map(|from| line(from, 1, 8));
                let across = (0..8).map(|distance| line(distance, 8, 2));
                along.into_iter().chain(across).collect()
            }
            Labels::Shelter => {
                // A missing pawn is not a neighbor of any rank. It comes last, as orders apply to the lines
                // before the first one that crosses another.
                let along = (0..4).map(|file| line(7 * file + 1, 1, 6));
                let across = (1..7).chain([0]).map(|rank| line(rank, 7, 4));
                along.chain(across).collect()
            }
            Labels::Victims | Labels::Endings(_) | Labels::Names(_) => return Arrangement::None,
        };
        Arrangement::Lines(lines)
    }

    fn feature_name(&self, index: usize) -> String {
        let name = self.name;
        match self.labels {
            Labels::Squares => format!("{name}_{}", Square::new(index as u32)),
            Labels::From(first) => format!("{name}_{}", first + index),
            Labels::Ranks(first) => format!("{name}_rank{}", first + index),
            Labels::Files => format!("{name}_{}", ["ah", "bg", "cf", "de"][index]),
            Labels::Distances => format!("{name}_{}_{}", ["low", "high"][index / 8], index % 8),
            Labels::Shelter => {
                let file = ["a", "b", "c", "d"][index / 7];
                match index % 7 {
                    0 => format!("{name}_{file}_none"),
                    rank => format!("{name}_{file}_rank{}", rank + 1),
                }
            }
            Labels::Victims => {
                format!("{name}_{}_{}", ["defended", "undefended"][index / 5], ROLE_NAMES[index % 5])
            }
            Labels::Endings(endings) => format!("{name}_{}", endings[index]),
            Labels::Names(names) => names[index].to_string(),
        }
    }
}

pub(crate) fn features_of(groups: &[Group]) -> Vec<Feature> {
    let feature = |group: &Group, index: usize| Feature {
        name: group.feature_name(index),
        group: group.name.to_string(),
    };
    groups.iter().flat_map(|group| (0..group.features()).map(move |i| feature(group, i))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_follow_each_other_and_names_are_unique() {
        let mut next = 0;
        for group in GROUPS {
            assert_eq!(group.span.first, next, "{}", group.name);
            next += group.span.len;
        }
        assert_eq!(next, COUNT);
        let features = features_of(GROUPS);
        assert_eq!(features.len(), COUNT);
        let names: std::collections::BTreeSet<&str> = features.iter().map(|f| f.name.as_str()).collect();
        assert_eq!(names.len(), COUNT);
    }
}
