//! The registry of feature sets.

use half::f16;
use serde::{Deserialize, Serialize};
use shakmaty::{Bitboard, Board, Color, Role, Square};

use crate::classical::catalog::features_of;
use crate::classical::{self, Tapered, Values};
use crate::feature::{Arrangement, Feature, FeatureRow, ROLE_NAMES};
use crate::full::{self, FurtherValues};
use crate::program::Program;
use gputexel_io::{Error, Result, any_of};

/// Declares [`FeatureKind`] from the feature sets of the library.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident($name:literal): $features:expr,)*) => {
        /// Kind of a feature set, which determines the computation of its rows.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        pub enum FeatureKind {
            $($(#[$doc])* #[serde(rename = $name)] $kind,)*
        }

        impl FeatureKind {
            const ALL: [Self; [$($name),*].len()] = [$(Self::$kind),*];

            fn entry(self) -> (&'static str, &'static dyn Features) {
                match self {
                    $(Self::$kind => ($name, &$features),)*
                }
            }
        }
    };
}

kinds! {
    /// One feature per piece type and square: 384 features, all coefficients ±1.
    Pst("pst"): Pst,
    /// One feature per piece type: 6 features; a coefficient is White's count − Black's.
    Material("material"): Material,
    /// The usual terms of a hand-written evaluation, see [`classical`]; coefficients are
    /// whole numbers, expressed by repeating ids in a row.
    Classical("classical"): Classical,
    /// The features of [`classical`] and a program: danger of kings, complexity and a factor
    /// on the endgame, see [`full`].
    Full("full"): Full,
    Imported("imported"): ImportedFeatures,
}

impl FeatureKind {
    /// The feature sets that are computed from a position and determined by their kind alone.
    pub fn computed() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|kind| kind.spec().is_computed())
    }

    pub(crate) fn spec(self) -> &'static dyn Features {
        self.entry().1
    }

    pub fn name(self) -> &'static str {
        self.entry().0
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
    pub fn explained() -> String {
        let explained = |kind: Self| match kind.spec().about() {
            "" => kind.name().to_string(),
            about => format!("{} ({about})", kind.name()),
        };
        let sets: Vec<String> = Self::computed().map(explained).collect();
        let (last, sets) = sets.split_last().expect("there are feature sets");
        format!("{}, or {last}", sets.join(", "))
    }
}

/// Terms of an evaluation that depend on more than a piece and its square.
#[derive(Clone, Debug)]
pub(crate) enum Terms {
    None,
    /// Values of the features of `classical`, including its piece-square tables, which are not used here.
    Classical(Values),
    Full(Values, FurtherValues),
}

pub(crate) trait Features {
    fn is_computed(&self) -> bool {
        true
    }

    fn about(&self) -> &'static str {
        ""
    }

    /// Its features in id order; none if a file declares them.
    fn features(&self) -> Vec<Feature>;

    fn program(&self) -> Option<Program> {
        None
    }

    fn definition(&self, group: &str) -> Option<&'static str>;

    fn arrangement(&self, _group: &str, _ids: &[u32]) -> Arrangement {
        Arrangement::None
    }

    /// True if its first features are the piece-square tables of all pieces, pawns first.
    fn has_boards(&self) -> bool {
        false
    }

    fn unit_rows(&self) -> bool {
        true
    }

    fn used(&self, _id: usize) -> [bool; 2] {
        [true; 2]
    }

    /// The feature set whose features come first, and whose parameter files are valid priors.
    fn base(&self) -> Option<FeatureKind> {
        None
    }

    /// Replaces starting values of 0 (in `theta`: mg of every feature, then eg) by values with slopes.
    fn fill_start(&self, _theta: &mut [f64]) {}

    fn compute(&self, board: &Board, turn: Color, row: &mut FeatureRow);

    fn on_square(&self, role: usize, square: usize) -> Option<usize> {
        self.has_boards().then_some(64 * role + square)
    }

    /// All terms for play except those [on squares](Self::on_square), from a value for each feature.
    fn terms(&self, _values: Vec<Tapered>) -> Terms {
        Terms::None
    }
}

/// Pieces by type and square.
struct Pst;

impl Features for Pst {
    fn about(&self) -> &'static str {
        "a parameter for each piece on each square"
    }

    fn features(&self) -> Vec<Feature> {
        let table = |role: &'static str| {
            Square::ALL
                .iter()
                .map(move |square| Feature { name: format!("{role}_{square}"), group: role.to_string() })
        };
        ROLE_NAMES.into_iter().flat_map(table).collect()
    }

    fn definition(&self, group: &str) -> Option<&'static str> {
        // `classical` has the same piece-square tables.
        classical::definition(group)
    }

    fn arrangement(&self, _: &str, ids: &[u32]) -> Arrangement {
        Arrangement::Board(ids.iter().copied().map(Some).collect())
    }

    fn has_boards(&self) -> bool {
        true
    }

    fn compute(&self, board: &Board, _: Color, row: &mut FeatureRow) {
        let white = board.by_color(Color::White);
        append_squares(board, white, 0, &mut row.plus);
        append_squares(board, !white, 56, &mut row.minus);
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

struct Material;

impl Features for Material {
    fn features(&self) -> Vec<Feature> {
        ROLE_NAMES.map(|role| Feature { name: role.to_string(), group: "material".to_string() }).to_vec()
    }

    fn definition(&self, _: &str) -> Option<&'static str> {
        Some("Pieces of a kind, White's less Black's.")
    }

    fn unit_rows(&self) -> bool {
        false
    }

    fn compute(&self, board: &Board, _: Color, row: &mut FeatureRow) {
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

    fn on_square(&self, role: usize, _: usize) -> Option<usize> {
        Some(role)
    }
}

/// The usual terms of a hand-written evaluation.
struct Classical;

impl Features for Classical {
    fn about(&self) -> &'static str {
        "the usual terms of a hand-crafted evaluation"
    }

    fn features(&self) -> Vec<Feature> {
        features_of(classical::GROUPS)
    }

    fn definition(&self, group: &str) -> Option<&'static str> {
        classical::definition(group)
    }

    fn arrangement(&self, group: &str, ids: &[u32]) -> Arrangement {
        classical::arrangement(group, ids)
    }

    fn has_boards(&self) -> bool {
        true
    }

    fn compute(&self, board: &Board, turn: Color, row: &mut FeatureRow) {
        // Its piece-square tables come first and have the same ids.
        Pst.compute(board, turn, row);
        let passed = classical::pawn_structure(board, &mut row.plus, &mut row.minus);
        classical::terms(board, turn, passed, &mut row.plus, &mut row.minus, |_, _| {});
    }

    fn terms(&self, values: Vec<Tapered>) -> Terms {
        Terms::Classical(Values::new(values))
    }
}

/// The features of `classical`, and those of a program.
struct Full;

impl Features for Full {
    fn about(&self) -> &'static str {
        "classical plus king danger, complexity and an endgame factor, which are not linear"
    }

    fn features(&self) -> Vec<Feature> {
        [classical::GROUPS, full::GROUPS].into_iter().flat_map(features_of).collect()
    }

    fn program(&self) -> Option<Program> {
        Some(full::program())
    }

    fn definition(&self, group: &str) -> Option<&'static str> {
        let own = full::GROUPS.iter().find(|known| known.name == group).map(|known| known.about);
        own.or_else(|| classical::definition(group))
    }

    fn arrangement(&self, group: &str, ids: &[u32]) -> Arrangement {
        match full::GROUPS.iter().find(|known| known.name == group).zip(ids.first()) {
            Some((group, &first)) => group.arrangement(first),
            None => classical::arrangement(group, ids),
        }
    }

    fn has_boards(&self) -> bool {
        true
    }

    fn used(&self, id: usize) -> [bool; 2] {
        full::used(id)
    }

    fn base(&self) -> Option<FeatureKind> {
        Some(FeatureKind::Classical)
    }

    fn fill_start(&self, theta: &mut [f64]) {
        full::fill_start(theta);
    }

    fn compute(&self, board: &Board, turn: Color, row: &mut FeatureRow) {
        Pst.compute(board, turn, row);
        full::compute(board, turn, &mut row.plus, &mut row.minus);
    }

    fn terms(&self, mut values: Vec<Tapered>) -> Terms {
        let further = FurtherValues::new(values.split_off(classical::COUNT));
        Terms::Full(Values::new(values), further)
    }
}

/// Features of another engine, which alone can compute them and play with them.
struct ImportedFeatures;

impl Features for ImportedFeatures {
    fn is_computed(&self) -> bool {
        false
    }

    fn features(&self) -> Vec<Feature> {
        Vec::new()
    }

    fn definition(&self, _: &str) -> Option<&'static str> {
        None
    }

    fn unit_rows(&self) -> bool {
        false
    }

    fn compute(&self, _: &Board, _: Color, _: &mut FeatureRow) {}
}
