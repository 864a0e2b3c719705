//! Names that many tests use.

pub use super::games::extracted_games;
pub use super::program::{
    Bench, GAME, Json, Words, assert_has, assert_one_line, game_lines, pgn, positions, results, shared,
    tensors, wait_until, write_games,
};
pub use super::{
    cells, fit_of, random_dataset, relative_difference, requirement, scratch, stopping, weighted_dataset,
};
pub use gputexel::chess::PhaseSettings;
pub use gputexel::chess::pgn::read_pgn;
pub use gputexel::chess::selection::Selection;
pub use gputexel::dataset::{
    self, Dataset, DatasetWriter, Folds, ImportedPosition, Layout, Metadata, PositionLabels, SourceRecord,
    Split, poisson_weight,
};
pub use gputexel::engine::{Engine, Score};
pub use gputexel::evaluator::cpu::{CpuEvaluator, InstructionSet};
pub use gputexel::evaluator::gpu::kernels::{Kernel, Segment, Shape, Uniforms, Variant};
pub use gputexel::evaluator::gpu::program::program_sources;
pub use gputexel::evaluator::gpu::{
    GpuContext, GpuEvaluator, GpuOptions, GpuProgramEvaluator, TileChoice, list_adapters,
};
pub use gputexel::evaluator::{Evaluations, Evaluator, FallbackEvaluator, Population, Request};
pub use gputexel::extraction::{ExtractSettings, Hooks, extract};
pub use gputexel::matches::client::{EngineCommand, UciPlayer};
pub use gputexel::matches::openings::Opening;
pub use gputexel::matches::statistics::SprtState;
pub use gputexel::matches::{
    Adjudication, Choice, End, Failure, GameRecord, GameSoFar, Player, Rules, TimeControl, Unplayed, WinRule,
};
pub use gputexel::model::program::{
    Accumulator, Adjustment, CompiledProgram, Factor, FactorTarget, Input, Operator, Phase, Program, Taper,
    Term,
};
pub use gputexel::model::{
    Arrangement, Basis, Constraint, ConstraintKind, Coordinate, Feature, FeatureKind, FeatureRow, FeatureSet,
    Imported, ImportedParameter, ParameterFile, ParameterRecord, Parameterization, PenaltyKind, Phases,
    Prior, TableEvaluation, named_parameters, parse_penalties, penalties,
};
pub use gputexel::objective::{self, LossKind, Objective, expected_score};
pub use gputexel::optimizer::{AdamSettings, GaussNewton, GaussNewtonSettings, Optimizer, Schedule, Space};
pub use gputexel::patch::PatchPlan;
pub use gputexel::trace::{CompiledSchema, Division, ImportReport, ImportSettings, Schema};
pub use gputexel::tuning::{
    Checkpoint, Curvature, Event, ExactProblem, Fit, OptimizerConfig, Outcome, Regularization, RunConfig,
    RunScores, SingleSteps, StopReason, Stopping, Tuning, exact_loss, exact_scores, fit_scale,
};
pub use gputexel::{Backend, Error, StopFlag};
pub use rand::{RngExt, SeedableRng};
pub use rand_xoshiro::Xoshiro256PlusPlus;
pub use serde_json::{Value, json};
pub use shakmaty::fen::Fen;
pub use shakmaty::san::SanPlus;
pub use shakmaty::uci::UciMove;
pub use shakmaty::zobrist::Zobrist64;
pub use shakmaty::{Board, CastlingMode, Chess, Color, EnPassantMode, Position, Role, Square};
pub use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
pub use std::io::{BufRead, BufReader};
pub use std::net::TcpStream;
pub use std::path::{Path, PathBuf};
pub use std::process::{Child, Stdio};
pub use std::sync::OnceLock;
pub use std::sync::atomic::{AtomicBool, Ordering};
pub use std::time::{Duration, Instant};
pub use tempfile::TempDir;
