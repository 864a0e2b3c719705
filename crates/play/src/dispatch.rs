//! Games that are played elsewhere: what has to be known to play them, and who sees to it.
//!
//! Owns the description of an encounter that another process can play without anything else: both sides, the
//! opening, the rules. How it gets there and back is up to a [`Dispatcher`].

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::client::EngineCommand;
use super::game::{GameRecord, Rules};
use super::openings::Opening;
use gputexel_chess::PhaseSettings;
use gputexel_io::Result;
use gputexel_model::{FeatureKind, FeatureSet, KingBuckets};

/// One side of games that are played elsewhere.
#[derive(Clone, Debug)]
pub enum RemoteSide {
    /// The built-in engine, whose whole evaluation is known.
    BuiltIn {
        /// Its feature set, one that is computed from positions.
        kind: FeatureKind,
        /// Where kings decide about its tables, if they do.
        king_buckets: Option<KingBuckets>,
        /// How phases are counted.
        phase: PhaseSettings,
        /// Middlegame values of all features, then endgame values, centipawns.
        theta: Arc<[f64]>,
        /// Transposition table, MiB.
        hash_mib: usize,
    },
    /// A program that speaks UCI with its settings; whoever plays has to have the same.
    Uci(EngineCommand),
}

impl RemoteSide {
    /// The built-in engine with an evaluation.
    pub fn built_in(set: &FeatureSet, theta: &[f64], hash_mib: usize) -> Self {
        let (kind, king_buckets, phase) = (set.kind, set.king_buckets.clone(), set.phase.clone());
        Self::BuiltIn { kind, king_buckets, phase, theta: theta.into(), hash_mib }
    }
}

/// A pair of games, or a single game, to be played elsewhere.
#[derive(Clone, Debug)]
pub struct Assignment {
    /// What it is called, unique among those of a run that are under way.
    pub number: u64,
    /// Who plays: A or plus, then B or minus.
    pub sides: [RemoteSide; 2],
    /// Where its games begin.
    pub opening: Opening,
    /// By which rules.
    pub rules: Rules,
    /// 1, or 2 with colors swapped in the second.
    pub games: usize,
}

/// Games that came back.
pub struct Delivery {
    /// As many as were asked for, replayed and found possible by [`recorded_game`](super::recorded_game).
    pub games: Vec<GameRecord>,
    /// Called when they are stored for good; until then the sender keeps them.
    pub stored: Box<dyn FnOnce() + Send>,
}

/// Has games played elsewhere. Called by one thread for each encounter that is under way.
pub trait Dispatcher: Send + Sync {
    /// Waits until somebody has time for another encounter, so that what is played next is decided no
    /// earlier. Returns false when `over` was set meanwhile.
    fn wait_for_place(&self, over: &AtomicBool) -> bool;

    /// Gives a place back that was waited for, because there is nothing to play.
    fn free_place(&self);

    /// Has games played in a place that was waited for, which is free again afterwards, and waits for them. Returns `None` when `over` was set meanwhile.
    ///
    /// # Errors
    /// Whatever makes waiting pointless.
    fn play(&self, assignment: &Assignment, over: &AtomicBool) -> Result<Option<Delivery>>;
}
