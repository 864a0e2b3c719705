#![allow(missing_docs, reason = "internal crate; the library's front door is documented")]

mod checkpoint;
mod clustered;
mod compensation;
mod config;
mod constant_term;
mod diagnostics;
mod driver;
mod file_loss;
mod parts;
mod polish;
mod program_diagnostics;
mod records;
mod regularization;
mod rounding;
mod rounding_outcome;
mod run_record;
mod run_scores;
mod scale;
mod scale_curve;
mod scale_ratio;
mod single_steps;
mod starts;
mod stopping;
mod strength;
pub mod sweep;
mod training;
mod uncertainty;
mod values;
mod worst;

pub use checkpoint::{Checkpoint, Progress};
pub use compensation::{Ahead, compensation, compensation_unknown, explained_compensation};
pub use config::{Limits, RunConfig, check_l2, space_of};
pub use constant_term::ConstantTerm;
pub use diagnostics::{diagnose, paired_difference};
pub use driver::{Event, Outcome, Tuning};
pub use file_loss::{FileLoss, ScaleOrigin};
pub use gputexel_eval::exact::{exact_loss, exact_scores, loss_against_results};
pub use gputexel_optim::{GAUSS_NEWTON_LIMIT, ModelSize, OptimizerConfig};
pub use gputexel_report::{
    AdjustmentDiagnostics, Calibration, CalibrationBin, Diagnostics, FactorDiagnostics, FactorGroup,
    Histogram, PartWorth, ProgramDiagnostics, Residual, SetDiagnostics, SumDiagnostics, TermDiagnostics,
    Worth,
};
pub use parts::RunParts;
pub use polish::{Polish, polish};
pub use program_diagnostics::{MIN_ACTIVE_SHARE, TermActivity, diagnose_program, term_activity};
pub use records::{CoordinateRecord, CoordinateUncertainty, CoordinatesFile, EpochRecord, read_metrics};
pub use regularization::{REGULARIZATION_SCALE_CP, Regularization, penalties_of};
pub use rounding::{Rounded, Rounding, round, round_naively, round_successively};
pub use rounding_outcome::{RoundingOutcome, gauss_newton_matrix, round_outcome};
pub use run_record::{BlendRecord, PendingChoices, RunRecord, StrengthOrder, UncertaintyRequest};
pub use run_scores::RunScores;
pub use scale::{K_RANGE, ScaleFit, fit_scale, refuse_one_target};
pub use scale_curve::{MinimumAt, ScaleCurve, scale_curve};
pub use scale_ratio::{ScaleMode, ScaleRecord, score_ratio, training_score_ratio};
pub use single_steps::{ExactProblem, SingleSteps, Step, Survey, TIE, Watch};
pub use starts::{
    DEFAULT_STARTS, MOST_STARTS, StartChoice, StartsRecord, choose_start, default_starts, starts_obstacle,
};
pub use stopping::{StopReason, Stopping};
pub use strength::{
    HeldOutGain, KindStrength, Strength, StrengthChoice, StrengthObserver, StrengthProgress, StrengthRequest,
    choose_strength, strength_obstacle,
};
pub use uncertainty::{
    Bootstrap, BootstrapEvent, Curvature, ErrorStatus, Fit, MAX_ERROR_CP, MAX_PARAMETERS, MIN_CLUSTERS,
    Sandwich, Spread, bootstrap, bytes_needed, check_members, resample_seeds, sandwich,
};
pub use values::Values;
pub use worst::{disagreements, worst_positions};
