//! The model: the features of a position, the names of their parameters, and their starting values.

#![allow(missing_docs, reason = "internal crate; the library's front door is documented")]

mod basis;
pub mod classical;
mod feature;
mod feature_set;
pub mod full;
mod groups;
mod imported;
mod kinds;
mod parameterization;
mod parameters;
mod penalty;
mod pesto;
mod places;
mod playing;
mod prior;
pub mod program;
mod row_boards;
mod squares;
mod structure;
mod tables;
mod value_change;
mod worth;

pub use basis::{
    Base, BaseWord, Basis, BasisFile, Constraint, ConstraintKind, CoordinateRecord, Named, NamedBasis,
    PriorWord, Value,
};
pub use feature::{Arrangement, Feature, FeatureRow, ROLE_NAMES};
pub use feature_set::{FeatureGroup, FeatureSet, SINGLE_VALUES};
pub use groups::{ParameterGroups, resolve as resolve_parameters};
pub use imported::{Division, Imported, ImportedParameter, MAX_FEATURES, Phases, Place, check_name};
pub use kinds::FeatureKind;
pub use parameterization::{Coordinate, Parameterization};
pub use parameters::{
    BothPhases, CorrelationRecord, Interval, ParameterFile, ParameterRecord, Provenance, RoundingRecord,
    SingleStepsRecord, UncertaintyRecord,
};
pub use penalty::{
    Form, PENALTY_SCALE_CP, Penalty, PenaltyKind, SparseSymmetric, Term, parse_penalties, penalties,
    supported_penalties,
};
pub use playing::{TableEvaluation, TableSums, named_parameters};
pub use prior::Prior;
pub use row_boards::{PackedBoard, RowBoards, fen_of, pack, unpack};
pub use squares::{Colors, SquareCell, SquareOrder};
pub use structure::{Part, Structure};
pub use tables::{FeatureTable, FeatureTables};
pub use value_change::ValueChange;
pub use worth::{LEAST_WORTH, PieceValues, PieceWorth};
