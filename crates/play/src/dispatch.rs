//! Games that are played elsewhere: everything needed to play them, and the interface to a dispatcher.
//!
//! Owns the self-contained description of an encounter for another process: both sides, the opening, the rules.
//! Transport is up to a [`Dispatcher`].

use std::sync::Arc;

use super::client::EngineCommand;
use super::game::{GameRecord, Rules};
use super::openings::Opening;
use gputexel_chess::PhaseSettings;
use gputexel_io::{Result, StopFlag};
use gputexel_model::{FeatureKind, FeatureSet, KingBuckets};

/// One side of games that are played elsewhere.
#[derive(Clone, Debug)]
pub enum RemoteSide {
    /// The built-in engine, with its complete evaluation.
    BuiltIn {
        /// Kind of its feature set, one that is computed from positions.
        kind: FeatureKind,
        /// King buckets of its tables, if any.
        king_buckets: Option<KingBuckets>,
        /// Computation of phases.
        phase: PhaseSettings,
        /// Middlegame values of all features, then endgame values, centipawns.
        theta: Arc<[f64]>,
        /// Transposition table, MiB.
        hash_mib: usize,
    },
    /// A program that speaks UCI with its settings; the remote machine must have the same.
    Uci(EngineCommand),
}

impl RemoteSide {
    /// Creates a built-in engine with an evaluation.
    pub fn built_in(set: &FeatureSet, theta: &[f64], hash_mib: usize) -> Self {
        let (kind, king_buckets, phase) = (set.kind, set.king_buckets.clone(), set.phase.clone());
        Self::BuiltIn { kind, king_buckets, phase, theta: theta.into(), hash_mib }
    }
}

/// A pair of games, or a single game, to be played elsewhere.
#[derive(Clone, Debug)]
pub struct Assignment {
    /// Its number, unique among those of a run that are in progress.
    pub number: u64,
    /// The sides: A or plus, then B or minus.
    pub sides: [RemoteSide; 2],
    /// Start of its games.
    pub opening: Opening,
    /// Rules of its games.
    pub rules: Rules,
    /// Number of games: 1, or 2 with colors swapped in the second.
    pub games: usize,
}

/// Games that came back.
pub struct Delivery {
    /// As many as requested, replayed and validated by [`recorded_game`](super::recorded_game).
    pub games: Vec<GameRecord>,
    /// Called when they are stored permanently; until then the sender keeps them.
    pub stored: Box<dyn FnOnce() + Send>,
}

/// Lets games be played elsewhere. Called by one thread for each encounter in progress.
pub trait Dispatcher: Send + Sync {
    /// Waits until there is a place for another encounter, so that the choice of the next one is not made earlier.
    /// Returns false when `over` was set meanwhile.
    fn wait_for_place(&self, over: &StopFlag) -> bool;

    /// Frees a place without using it, because there is nothing to play.
    fn free_place(&self);

    /// Lets games be played in a place obtained by [`wait_for_place`](Self::wait_for_place), which is free again
    /// afterwards, and waits for them. Returns `None` when `over` was set meanwhile.
    ///
    /// # Errors
    /// Any error that makes waiting pointless.
    fn play(&self, assignment: &Assignment, over: &StopFlag) -> Result<Option<Delivery>>;
}
