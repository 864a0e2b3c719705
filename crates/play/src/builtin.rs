//! The built-in engine as a player, in this process.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::player::{Choice, Failure, GameSoFar, Player};
use crate::engine::{Engine, Limits};
use gputexel_io::{Result, StopFlag};
use gputexel_model::TableEvaluation;

/// Begins every game with empty tables, so that games by nodes or depth do not depend on earlier ones.
pub struct BuiltinPlayer {
    name: String,
    engine: Engine,
    stop: StopFlag,
}

impl BuiltinPlayer {
    pub fn try_new(name: impl Into<String>, evaluation: TableEvaluation, hash_mib: usize) -> Result<Self> {
        Ok(Self { name: name.into(), engine: Engine::try_new(evaluation, hash_mib)?, stop: StopFlag::new() })
    }

    pub fn with_stop(mut self, stop: impl Into<StopFlag>) -> Self {
        self.stop = stop.into();
        self
    }

    /// One in `one_in` of the positions that searches evaluate, by their keys; 0 draws none.
    pub fn draw_leaves(mut self, one_in: u64) -> Self {
        self.engine.draw_leaves(one_in);
        self
    }

    pub fn set_evaluation(&mut self, evaluation: TableEvaluation) {
        self.engine.set_evaluation(evaluation);
    }
}

impl Player for BuiltinPlayer {
    fn name(&self) -> &str {
        &self.name
    }

    fn new_game(&mut self, _chess960: bool) -> Result<(), Failure> {
        self.engine.new_game();
        Ok(())
    }

    fn choose(&mut self, game: &GameSoFar, limits: &Limits, _deadline: Duration) -> Result<Choice, Failure> {
        let earlier = game.keys.split_last().map_or(&[][..], |(_, earlier)| earlier);
        let chosen = self.engine.search(&game.position, earlier, limits, &self.stop, &mut |_| {});
        // A search that was aborted says nothing about the engine.
        if self.stop.load(Ordering::Relaxed) {
            return Err(Failure::Stopped);
        }
        let chosen = chosen.ok_or_else(|| Failure::NoMove("(none)".to_string()))?;
        Ok(Choice {
            m: chosen.best,
            score: Some(chosen.score),
            depth: Some(chosen.depth),
            nodes: Some(chosen.nodes),
            leaves: self.engine.take_leaves(),
        })
    }
}
