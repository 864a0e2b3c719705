//! Scores by an engine, several positions at a time.
//!
//! Positions are scored in blocks, each by one player that begins it with empty tables. Scores by nodes or depth thus
//! depend only on the positions, not on the concurrency or where a rescoring was resumed.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;
use shakmaty::{CastlingMode, Chess, EnPassantMode, Position};

use super::memory::{BlockScores, ScoreMemory};
use crate::datagen::score_cp;
use crate::engine::Limits;
use crate::{
    Contestant, EngineConfig, Failure, GameSoFar, Player, Side, TimeControl, check_concurrency, check_hash,
    check_tables, deadline_from_seconds,
};
use gputexel_io::{Error, Result, StopFlag};

/// Number of positions in a block.
const BLOCK: usize = 64;

/// Stack size of a scoring thread: in-process searches recurse.
const STACK_BYTES: usize = 16 << 20;

/// Maximum number of unscored positions that are listed.
const NAMED: usize = 5;

/// An engine and its limits.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// The engine.
    pub engine: Side,
    /// Limit per position; no clock.
    pub limit: TimeControl,
    /// Time after which it counts as hung.
    pub deadline: Duration,
    /// Transposition table of each built-in engine, MiB.
    pub hash_mib: u32,
    /// Number of positions scored in parallel; the number of cores by default.
    pub concurrency: Option<usize>,
    /// Number of positions without a score after which the rescoring fails.
    pub max_unscored: u64,
}

impl EngineOptions {
    /// Creates an engine with the usual settings: 5,000 nodes per position.
    pub fn new(engine: Side) -> Self {
        Self {
            engine,
            limit: TimeControl::Nodes(5000),
            deadline: Duration::from_secs(60),
            hash_mib: 4,
            concurrency: None,
            max_unscored: 10,
        }
    }
}

/// Progress of an engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Progress {
    /// Number of positions scored, including earlier runs.
    pub scored: u64,
    /// Of those, positions scored by an earlier process.
    pub known: u64,
    /// Number of positions for which it returned no score.
    pub unscored: u64,
    /// Mates and stalemates, which are scored by the rules of chess.
    pub ends: u64,
}

/// A position for which the engine returned no score.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unscored {
    /// Its number among the positions to score, from 1.
    pub position: u64,
    /// The position.
    pub fen: String,
    /// Description of what the engine did instead.
    pub reason: String,
}

/// Players that score positions.
pub(super) struct Scorer<'a> {
    pub config: EngineConfig,
    contestant: Contestant,
    /// Players that have been started so far.
    players: Vec<Box<dyn Player>>,
    concurrency: usize,
    limits: Limits,
    deadline: Duration,
    max_unscored: u64,
    stop: StopFlag,
    observe: &'a mut (dyn FnMut(&Progress) + Send),
    pub progress: Progress,
    pub unscored: Vec<Unscored>,
    /// Number of positions handed in.
    position: u64,
}

/// State shared by the threads.
struct Shared<'s, 'a> {
    memory: &'s mut ScoreMemory,
    observe: &'s mut (dyn FnMut(&Progress) + Send + 'a),
    progress: Progress,
    unscored: Vec<Unscored>,
    scores: Vec<Option<BlockScores>>,
    outcome: Result<()>,
}

impl<'a> Scorer<'a> {
    /// Checks the settings and tries the engine.
    ///
    /// # Errors
    /// [`Error::Setting`] for invalid settings; errors of starting engines.
    pub fn start(
        options: &EngineOptions,
        stop: &StopFlag,
        observe: &'a mut (dyn FnMut(&Progress) + Send),
    ) -> Result<Self> {
        check_hash(options.hash_mib)?;
        deadline_from_seconds(options.deadline.as_secs_f64())?;
        let concurrency = check_concurrency(options.concurrency)?;
        let limits = match options.limit {
            TimeControl::Nodes(nodes) => Limits { nodes: Some(nodes), ..Limits::default() },
            TimeControl::Depth(depth) => Limits { depth: Some(depth), ..Limits::default() },
            TimeControl::MoveTime(time) => Limits { move_time: Some(time), ..Limits::default() },
            TimeControl::Clock { .. } => {
                let reason = "positions have no clock; expected nodes, a depth or a time per position";
                return Err(Error::setting("time", options.limit, reason));
            }
        };
        let mut config = options.engine.describe()?;
        let contestant = Contestant::open(&mut config, options.hash_mib, stop, "rescoring")?;
        let deadline = options.deadline + limits.move_time.unwrap_or_default();
        Ok(Self {
            config,
            contestant,
            players: Vec::new(),
            concurrency,
            limits,
            deadline,
            max_unscored: options.max_unscored,
            stop: stop.clone(),
            observe,
            progress: Progress::default(),
            unscored: Vec::new(),
            position: 0,
        })
    }

    /// Starts players until there is one per block, up to the concurrency limit.
    fn start_players(&mut self, blocks: usize) -> Result<()> {
        let missing = blocks.min(self.concurrency).saturating_sub(self.players.len());
        check_tables(self.contestant.table_mib(), missing as u64)?;
        for _ in 0..missing {
            self.players.push(self.contestant.player(&self.config.name)?);
        }
        Ok(())
    }

    /// Scores positions, all of which must have legal moves, from the side to move's view.
    ///
    /// # Errors
    /// [`Error::Engine`] when too many positions have no score; [`Error::Interrupted`]; errors of the memory.
    pub fn score(&mut self, positions: &[&Chess], memory: &mut ScoreMemory) -> Result<Vec<Option<i32>>> {
        let blocks: Vec<&[&Chess]> = positions.chunks(BLOCK).collect();
        self.start_players(blocks.len())?;
        let first = self.position;
        self.position += positions.len() as u64;
        let shared = Mutex::new(Shared {
            memory,
            observe: &mut *self.observe,
            progress: self.progress,
            unscored: std::mem::take(&mut self.unscored),
            scores: vec![None; blocks.len()],
            outcome: Ok(()),
        });
        let work = Work {
            name: &self.config.name,
            blocks: &blocks,
            first,
            limits: self.limits,
            deadline: self.deadline,
            max_unscored: self.max_unscored,
            stop: &self.stop,
            next: AtomicUsize::new(0),
            over: StopFlag::new(),
        };
        let failed = std::thread::scope(|scope| {
            let mut failed = None;
            for player in self.players.iter_mut().take(blocks.len()) {
                let builder = std::thread::Builder::new().stack_size(STACK_BYTES);
                let (work, shared) = (&work, &shared);
                if let Err(error) = builder.spawn_scoped(scope, || work.serve(player.as_mut(), shared)) {
                    work.over.set();
                    failed = Some(Error::io("a thread", error));
                }
            }
            failed
        });
        let shared = shared.into_inner().unwrap_or_else(PoisonError::into_inner);
        self.progress = shared.progress;
        self.unscored = shared.unscored;
        failed.map_or(Ok(()), Err)?;
        shared.outcome?;
        Ok(shared.scores.into_iter().flatten().flatten().collect())
    }
}

/// Blocks of positions, from which each thread takes the next.
struct Work<'a> {
    name: &'a str,
    blocks: &'a [&'a [&'a Chess]],
    first: u64,
    limits: Limits,
    deadline: Duration,
    max_unscored: u64,
    stop: &'a StopFlag,
    next: AtomicUsize,
    over: StopFlag,
}

impl Work<'_> {
    fn serve(&self, player: &mut dyn Player, shared: &Mutex<Shared<'_, '_>>) {
        while !self.over.is_set() {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(block) = self.blocks.get(index) else { return };
            if let Err(error) = self.block(player, index, block, shared) {
                self.over.set();
                let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
                if shared.outcome.is_ok() {
                    shared.outcome = Err(error);
                }
            }
        }
    }

    fn block(
        &self,
        player: &mut dyn Player,
        index: usize,
        block: &[&Chess],
        shared: &Mutex<Shared<'_, '_>>,
    ) -> Result<()> {
        let first = self.first + (index * BLOCK) as u64;
        let lock = || shared.lock().unwrap_or_else(PoisonError::into_inner);
        let recalled = lock().memory.recall(first, block)?;
        let is_known = recalled.is_some();
        let (scores, reasons) = match recalled {
            Some(scores) => (scores, Vec::new()),
            None => {
                let (scores, reasons) = self.ask(player, block)?;
                lock().memory.keep(first, block, &scores)?;
                (scores, reasons)
            }
        };
        let mut shared = lock();
        let Shared { observe, progress, unscored, .. } = &mut *shared;
        for (i, score) in scores.iter().enumerate() {
            match score {
                Some(_) => {
                    progress.scored += 1;
                    progress.known += u64::from(is_known);
                }
                None => {
                    progress.unscored += 1;
                    let reason = reasons.iter().find(|(at, _)| *at == i).map(|(_, reason)| reason.clone());
                    unscored.push(Unscored {
                        position: first + i as u64 + 1,
                        fen: shakmaty::fen::Fen::from_position(block[i], EnPassantMode::Legal).to_string(),
                        reason: reason.unwrap_or_else(|| "no score, in an earlier process".to_string()),
                    });
                }
            }
        }
        unscored.sort_by_key(|one| one.position);
        let last = unscored.last().map(|one| format!("{}: {}", one.fen, one.reason));
        unscored.truncate(NAMED);
        observe(progress);
        match last {
            Some(last) if progress.unscored > self.max_unscored => Err(Error::Engine {
                engine: self.name.to_string(),
                reason: format!("gave no score for {} positions, such as {last}", progress.unscored),
            }),
            _ => {
                shared.scores[index] = Some(scores);
                Ok(())
            }
        }
    }

    /// Returns the scores of a block, and the reasons for missing ones.
    fn ask(&self, player: &mut dyn Player, block: &[&Chess]) -> Result<(BlockScores, Vec<(usize, String)>)> {
        let interrupted = || Error::Interrupted("before all positions were scored".to_string());
        let chess960 = block.iter().any(|position| is_chess960(position));
        let ready = |player: &mut dyn Player| match player.new_game(chess960) {
            Ok(()) => Ok(()),
            Err(Failure::Stopped) => Err(interrupted()),
            Err(failure) => Err(Error::Engine { engine: self.name.to_string(), reason: failure.to_string() }),
        };
        ready(player)?;
        let (mut scores, mut reasons) = (Vec::with_capacity(block.len()), Vec::new());
        for (i, &position) in block.iter().enumerate() {
            if self.stop.is_set() {
                return Err(interrupted());
            }
            let game = GameSoFar {
                start: position.clone(),
                chess960,
                moves: Vec::new(),
                position: position.clone(),
                clocks: None,
            };
            let score = match player.choose(&game, &self.limits, self.deadline) {
                Ok(choice) => choice.score.map(score_cp).ok_or_else(|| "no score".to_string()),
                Err(Failure::Stopped) => return Err(interrupted()),
                Err(failure) => {
                    ready(player)?;
                    Err(failure.to_string())
                }
            };
            match score {
                Ok(score) => scores.push(Some(score)),
                Err(reason) => {
                    scores.push(None);
                    reasons.push((i, reason));
                }
            }
        }
        Ok((scores, reasons))
    }
}

/// Returns true if castling must be written in Chess960 notation.
fn is_chess960(position: &Chess) -> bool {
    position.castles().any() && CastlingMode::detect(&position.to_setup(EnPassantMode::Legal)).is_chess960()
}
