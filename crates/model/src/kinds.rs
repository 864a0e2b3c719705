//! The kinds of feature sets.

use half::f16;
use serde::{Deserialize, Serialize};
use shakmaty::{Bitboard, Board, Color, Role, Square};

use crate::classical::catalog::features_of;
use crate::classical::{self, Group, Tapered, Values};
use crate::feature::{Arrangement, Feature, FeatureRow, ROLE_NAMES};
use crate::full::{self, FurtherValues};
use gputexel_io::{Error, Result, any_of};

/// Kind of a feature set, which determines the computation of its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FeatureKind {
    /// One feature per piece type and square: 384 features, all coefficients ±1.
    Pst,
    /// One feature per piece type: 6 features; a coefficient is White's count − Black's.
    Material,
    /// The usual terms of a hand-written evaluation, see [`classical`]; coefficients are
    /// whole numbers, expressed by repeating ids in a row.
    Classical,
    /// The features of [`classical`] and a program: danger of kings, complexity and a factor
    /// on the endgame, see [`full`].
    Full,
    /// Features of another engine, which alone can compute them and play with them.
    Imported,
}

/// Terms of an evaluation that depend on more than a piece and its square.
#[derive(Clone, Debug)]
pub(crate) enum Terms {
    None,
    /// Values of the features of `classical`, including its piece-square tables, which are not used here.
    Classical(Values),
    Full(Values, Box<FurtherValues>),
}

impl FeatureKind {
    /// The feature sets that are computed from a position and determined by their kind alone.
    pub fn computed() -> impl Iterator<Item = Self> {
        [Self::Pst, Self::Material, Self::Classical, Self::Full].into_iter()
    }

    pub fn name(self) -> &'static str {
        ["pst", "material", "classical", "full", "imported"][self as usize]
    }

    /// The computed feature set with the given name.
    pub fn parse(name: &str) -> Result<Self> {
        Self::computed()
            .find(|kind| kind.name() == name)
            .ok_or_else(|| Error::Usage(format!("model '{name}': expected {}", Self::names())))
    }

    /// The names of the [computed](Self::computed) feature sets as a phrase.
    pub fn names() -> String {
        any_of(Self::computed().map(Self::name))
    }

    /// The [computed](Self::computed) feature sets with explanations, as a phrase.
    pub fn explained() -> &'static str {
        "pst (a parameter for each piece on each square), material, classical (the usual terms of a hand-crafted \
         evaluation), or full (classical plus king danger, complexity and an endgame factor, which are not linear)"
    }

    /// Its features in id order; none if a file declares them.
    pub(crate) fn features(self) -> Vec<Feature> {
        match self {
            Self::Pst => {
                let feature = |role: &str, square: &Square| Feature {
                    name: format!("{role}_{square}"),
                    group: role.to_string(),
                };
                let table = |role| Square::ALL.iter().map(move |square| feature(role, square));
                ROLE_NAMES.into_iter().flat_map(table).collect()
            }
            Self::Material => {
                let feature = |role: &str| Feature { name: role.to_string(), group: "material".to_string() };
                ROLE_NAMES.map(feature).to_vec()
            }
            Self::Classical => features_of(classical::GROUPS),
            Self::Full => [classical::GROUPS, full::GROUPS].into_iter().flat_map(features_of).collect(),
            Self::Imported => Vec::new(),
        }
    }

    pub(crate) fn definition(self, group: &str) -> Option<&'static str> {
        match self {
            Self::Material => Some("Pieces of a kind, White's less Black's."),
            Self::Imported => None,
            // `pst` and `classical` have the same piece-square tables.
            Self::Pst | Self::Classical => classical::definition(group),
            Self::Full => {
                full_group(group).map_or_else(|| classical::definition(group), |own| Some(own.about))
            }
        }
    }

    pub(crate) fn arrangement(self, group: &str, ids: &[u32]) -> Arrangement {
        match (self, full_group(group), ids) {
            (Self::Pst, ..) => Arrangement::Board(ids.iter().copied().map(Some).collect()),
            (Self::Full, Some(own), &[first, ..]) => own.arrangement(first),
            (Self::Classical | Self::Full, ..) => classical::arrangement(group, ids),
            (Self::Material | Self::Imported, ..) => Arrangement::None,
        }
    }

    /// True if its first features are the piece-square tables of all pieces, pawns first.
    pub(crate) fn has_boards(self) -> bool {
        matches!(self, Self::Pst | Self::Classical | Self::Full)
    }

    pub(crate) fn on_square(self, role: usize, square: usize) -> Option<usize> {
        match self {
            Self::Material => Some(role),
            _ => self.has_boards().then_some(64 * role + square),
        }
    }

    pub(crate) fn compute(self, board: &Board, turn: Color, row: &mut FeatureRow) {
        if self.has_boards() {
            let white = board.by_color(Color::White);
            append_squares(board, white, 0, &mut row.plus);
            append_squares(board, !white, 56, &mut row.minus);
        }
        match self {
            Self::Material => count_pieces(board, row),
            Self::Classical => {
                let passed = classical::pawn_structure(board, &mut row.plus, &mut row.minus);
                classical::terms(board, turn, passed, &mut row.plus, &mut row.minus, |_, _| {});
            }
            Self::Full => full::compute(board, turn, &mut row.plus, &mut row.minus),
            Self::Pst | Self::Imported => {}
        }
    }

    /// All terms for play except those [on squares](Self::on_square), from a value for each feature.
    pub(crate) fn terms(self, mut values: Vec<Tapered>) -> Terms {
        match self {
            Self::Classical => Terms::Classical(Values::new(values)),
            Self::Full => {
                let further = Box::new(FurtherValues::new(values.split_off(classical::COUNT)));
                Terms::Full(Values::new(values), further)
            }
            Self::Pst | Self::Material | Self::Imported => Terms::None,
        }
    }
}

fn append_squares(board: &Board, side: Bitboard, flip: u16, ids: &mut Vec<u16>) {
    let mut found = [0; 64];
    let mut count = 0;
    for (index, role) in Role::ALL.into_iter().enumerate() {
        let base = 64 * index as u16;
        let mut rest = (board.by_role(role) & side).0;
        while rest != 0 {
            // A board has at most 64 squares; the mask avoids the bounds check.
            found[count & 63] = base + (rest.trailing_zeros() as u16 ^ flip);
            count += 1;
            rest &= rest - 1;
        }
    }
    ids.extend_from_slice(&found[..count.min(64)]);
}

fn count_pieces(board: &Board, row: &mut FeatureRow) {
    for (id, role) in Role::ALL.iter().enumerate() {
        let pieces = board.by_role(*role);
        let white = (pieces & board.by_color(Color::White)).count() as i32;
        let difference = white - (pieces.count() as i32 - white);
        if difference != 0 {
            row.plus.push(id as u16);
            row.coefficients.push(f16::from_f32(difference as f32));
        }
    }
}

fn full_group(name: &str) -> Option<&'static Group> {
    full::GROUPS.iter().find(|known| known.name == name)
}
