//! The registry of feature sets.
//!
//! A new feature set is an implementation of [`Features`] in a file of its own and a line in the table.

mod classical;
mod full;
mod imported;
mod king_pst;
mod material;
mod pst;

use serde::{Deserialize, Serialize};
use shakmaty::{Board, Color};

use crate::KingBuckets;
use crate::classical::{Tapered, Values};
use crate::feature::{Arrangement, Feature, FeatureRow};
use crate::full::FurtherValues;
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

            /// Returns its name, as serialized, and its definition.
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
    Pst("pst"): pst::Pst,
    /// One feature per piece type: 6 features; a coefficient is White's count − Black's.
    Material("material"): material::Material,
    /// The usual terms of a hand-written evaluation, see [`classical`](crate::classical); coefficients are whole
    /// numbers, expressed by repeating ids in a row.
    Classical("classical"): classical::Classical,
    /// The features of [`classical`](crate::classical) and a program: danger of kings, complexity and a factor on the
    /// endgame, see [`full`](crate::full).
    Full("full"): full::Full,
    /// Features computed by another program, see [`Imported`](crate::Imported).
    Imported("imported"): imported::ImportedFeatures,
    /// Piece-square tables by the squares of kings, see [`KingBuckets`]; all coefficients ±1.
    KingPst("king-pst"): king_pst::KingPst,
}

impl FeatureKind {
    /// Returns the feature sets that are computed from a position and determined by their kind alone.
    pub fn computed() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|kind| kind.spec().is_computed())
    }

    pub(crate) fn spec(self) -> &'static dyn Features {
        self.entry().1
    }

    /// Returns its name on the command line and in files.
    pub fn name(self) -> &'static str {
        self.entry().0
    }

    /// Returns the computed feature set with the given name.
    ///
    /// # Errors
    /// [`Error::Usage`] that lists the valid names.
    pub fn parse(name: &str) -> Result<Self> {
        Self::computed()
            .find(|kind| kind.name() == name)
            .ok_or_else(|| Error::Usage(format!("model '{name}': expected {}", Self::names())))
    }

    /// Returns the names of the [computed](Self::computed) feature sets as a phrase.
    pub fn names() -> String {
        any_of(Self::computed().map(Self::name))
    }

    /// Returns the [computed](Self::computed) feature sets with explanations, as a phrase.
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
    /// None.
    None,
    /// Values of the features of `classical`, including its piece-square tables, which are not used here.
    Classical(Values),
    /// The same, and further values of `full`.
    Full(Values, FurtherValues),
    /// The values of `king-pst`, by feature.
    Kings(KingBuckets, Vec<Tapered>),
}

/// Definition of a feature set.
pub(crate) trait Features {
    /// Returns true if it is computed from a position and determined by its kind alone.
    fn is_computed(&self) -> bool {
        true
    }

    /// Returns an explanation for the list of feature sets; empty if its name explains it.
    fn about(&self) -> &'static str {
        ""
    }

    /// Returns its features in id order; none if a file declares them, or if they need missing king buckets.
    fn features(&self, king_buckets: Option<&KingBuckets>) -> Vec<Feature>;

    /// Returns the program on sums of parameters, if the score is not just their sum.
    fn program(&self) -> Option<Program> {
        None
    }

    /// Returns the definition of the features of a group.
    fn definition(&self, group: &str) -> Option<&'static str>;

    /// Returns the arrangement of the features of a group.
    fn arrangement(&self, _group: &str, _ids: &[u32]) -> Arrangement {
        Arrangement::None
    }

    /// Returns true if its first features are the piece-square tables of all pieces, pawns first.
    fn has_boards(&self) -> bool {
        false
    }

    /// Returns true if every coefficient is ±1.
    fn unit_rows(&self) -> bool {
        true
    }

    /// Returns true for each of the middlegame and the endgame value of a feature that scores depend on.
    fn used(&self, _id: usize) -> [bool; 2] {
        [true; 2]
    }

    /// Returns the feature set whose features come first, and whose parameter files are valid priors.
    fn base(&self) -> Option<FeatureKind> {
        None
    }

    /// Replaces starting values of 0 (in `theta`: mg of every feature, then eg) by values with slopes.
    fn fill_start(&self, _theta: &mut [f64]) {}

    /// Appends the features of a board with `turn` to move to `row`, which is empty.
    fn compute(&self, king_buckets: Option<&KingBuckets>, board: &Board, turn: Color, row: &mut FeatureRow);

    /// Returns the feature whose value a piece has on a square, regardless of other pieces, for play.
    fn on_square(&self, role: usize, square: usize) -> Option<usize> {
        self.has_boards().then_some(64 * role + square)
    }

    /// Returns all terms for play except those [on squares](Self::on_square), from a value for each feature.
    fn terms(&self, _king_buckets: Option<&KingBuckets>, _values: Vec<Tapered>) -> Terms {
        Terms::None
    }
}
