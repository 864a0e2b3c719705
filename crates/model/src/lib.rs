//! The model: which features a position has, what their parameters are called, and where their
//! values start.
//!
//! Owns feature sets, parameter files, priors, and what of them is tuned. What a parameter is worth is decided by the
//! optimizers; how it is scored, by the evaluators.

mod basis;
pub mod classical;
mod feature;
mod feature_set;
mod groups;
mod imported;
mod parameterization;
mod parameters;
mod playing;
mod prior;
mod squares;
mod tables;

pub use basis::{Base, BaseWord, Basis, BasisFile, CoordinateRecord, Named, NamedBasis, PriorWord, Value};
pub use feature::{Feature, ROLE_NAMES};
pub use feature_set::{FeatureGroup, FeatureKind, FeatureRow, FeatureSet};
pub use groups::{ParameterGroups, resolve as resolve_parameters};
pub use imported::{Imported, ImportedParameter, MAX_FEATURES, Phases, check_name};
pub use parameterization::{Coordinate, Parameterization};
pub use parameters::{
    BothPhases, Interval, ParameterFile, ParameterRecord, Provenance, RoundingRecord, SingleStepsRecord,
    UncertaintyRecord, Unfinished,
};
pub use playing::{TableEvaluation, TableSums, named_parameters};
pub use prior::Prior;
pub use squares::{Colors, SquareCell, SquareOrder};
pub use tables::{FeatureTable, FeatureTables};
