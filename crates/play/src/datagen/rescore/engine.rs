//! Scores by an engine, several positions at a time.
//!
//! Invariant: each block is scored by one player that begins it with empty tables, so that scores by nodes or depth
//! depend only on the positions.

use std::time::Duration;

use serde::Serialize;
use shakmaty::{CastlingMode, Chess, EnPassantMode, Position};

use super::memory::{BlockScores, ScoreMemory};
use crate::config::EngineConfig;
use crate::contestant::{Contestant, Side};
use crate::datagen::score_cp;
use crate::engine::Limits;
use crate::hash::{check_hash, check_tables};
use crate::player::{Failure, GameSoFar, Player};
use crate::pool;
use crate::replay::other_engine;
use crate::settings::{check_concurrency, deadline_from_seconds};
use crate::time_control::TimeControl;
use gputexel_io::run_folder::Kind;
use gputexel_io::{Error, Result, StopFlag};

const BLOCK: usize = 64;
const NAMED: usize = 5;
/// Scores of an earlier process that the engine is to give again.
const CHECKED: usize = 16;

#[derive(Clone, Debug)]
pub struct EngineOptions {
    pub engine: Side,
    /// Per position; no clock.
    pub limit: TimeControl,
    /// After which it counts as hung.
    pub deadline: Duration,
    pub hash_mib: u32,
    pub concurrency: Option<usize>,
    /// Positions without a score after which the rescoring fails.
    pub max_unscored: u64,
}

impl EngineOptions {
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

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Progress {
    pub scored: u64,
    /// Of those, by an earlier process.
    pub known: u64,
    pub unscored: u64,
    /// Mates and stalemates, which are scored by the rules of chess.
    pub ends: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unscored {
    /// Among the positions to score, from 1.
    pub position: u64,
    pub fen: String,
    /// What the engine did instead.
    pub reason: String,
}

pub(super) struct Scorer<'a> {
    pub config: EngineConfig,
    contestant: Contestant,
    players: Vec<Box<dyn Player>>,
    concurrency: usize,
    search: Search,
    pub counts: Counts<'a>,
    /// Positions handed in.
    position: u64,
    /// The first scores of an earlier process, until the engine is compared with them.
    first: Option<Vec<(Chess, i32)>>,
}

pub(super) struct Counts<'a> {
    name: String,
    max_unscored: u64,
    observe: &'a mut (dyn FnMut(&Progress) + Send),
    pub progress: Progress,
    /// The first of them.
    pub unscored: Vec<Unscored>,
}

struct Search {
    name: String,
    limits: Limits,
    deadline: Duration,
    stop: StopFlag,
}

/// Scores of a block, and the reasons for missing ones.
type Answers = (BlockScores, Vec<(usize, String)>);

impl<'a> Scorer<'a> {
    /// Checks the settings and tries the engine.
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
        let (name, max_unscored) = (config.name.clone(), options.max_unscored);
        Ok(Self {
            contestant,
            players: Vec::new(),
            concurrency,
            search: Search { name: name.clone(), limits, deadline, stop: stop.clone() },
            counts: Counts {
                name,
                max_unscored,
                observe,
                progress: Progress::default(),
                unscored: Vec::new(),
            },
            position: 0,
            first: None,
            config,
        })
    }

    fn start_players(&mut self, blocks: usize) -> Result<()> {
        let missing = blocks.min(self.concurrency).saturating_sub(self.players.len());
        check_tables(self.contestant.table_mib(), missing as u64)?;
        for _ in 0..missing {
            self.players.push(self.contestant.player(&self.config.name)?);
        }
        Ok(())
    }

    /// Refuses an engine that scores the first positions otherwise than an earlier process has it, unless it does so
    /// each time.
    fn check_engine(&mut self, known: &[(Chess, i32)]) -> Result<()> {
        let positions: Vec<&Chess> = known.iter().map(|(position, _)| position).collect();
        let ask = || -> Result<BlockScores> {
            let mut player = self.contestant.player(&self.config.name)?;
            Ok(self.search.ask(&mut *player, &positions)?.0)
        };
        let now = ask()?;
        let same = now.iter().zip(known).all(|(now, (_, then))| now.is_none_or(|now| now == *then));
        let timed = self.search.limits.move_time.is_some();
        if same || timed || ask()? != now {
            return Ok(());
        }
        Err(other_engine(
            &self.config.name,
            "scores otherwise than when the rescoring began",
            Kind::Rescore.name(),
        ))
    }

    /// The side to move's view; all positions must have legal moves.
    pub fn score(&mut self, positions: &[&Chess], memory: &mut ScoreMemory) -> Result<Vec<Option<i32>>> {
        let blocks: Vec<&[&Chess]> = positions.chunks(BLOCK).collect();
        let first = self.position;
        self.position += positions.len() as u64;
        let start = |index: usize| first + (index * BLOCK) as u64;
        let mut scores = Vec::with_capacity(blocks.len());
        for (index, block) in blocks.iter().enumerate() {
            let known = memory.recall(start(index), block)?;
            if let Some(known) = &known {
                self.counts.progress.known += known.iter().flatten().count() as u64;
                self.counts.add(start(index), block, known, &[])?;
            }
            if self.first.is_none()
                && let Some(known) = &known
            {
                let asked = block
                    .iter()
                    .zip(known)
                    .take(CHECKED)
                    .map_while(|(position, score)| Some(((*position).clone(), (*score)?)));
                self.first = Some(asked.collect());
            }
            scores.push(known);
        }
        let open: Vec<usize> = (0..blocks.len()).filter(|index| scores[*index].is_none()).collect();
        self.start_players(open.len())?;
        if !open.is_empty()
            && let Some(known) = self.first.replace(Vec::new())
        {
            self.check_engine(&known)?;
        }
        let Self { players, search, counts, .. } = self;
        let begin = players.iter_mut().map(|player| move || Ok(player));
        let ask = |player: &mut &mut Box<dyn Player>, index: usize| search.ask(&mut ***player, blocks[index]);
        pool::each(begin, &open, ask, |index, (found, reasons): Answers| {
            memory.keep(start(index), blocks[index], &found)?;
            counts.add(start(index), blocks[index], &found, &reasons)?;
            scores[index] = Some(found);
            Ok(())
        })?;
        Ok(scores.into_iter().flatten().flatten().collect())
    }
}

impl Counts<'_> {
    fn add(
        &mut self,
        first: u64,
        block: &[&Chess],
        scores: &BlockScores,
        reasons: &[(usize, String)],
    ) -> Result<()> {
        let Self { progress, unscored, .. } = self;
        for (i, score) in scores.iter().enumerate() {
            if score.is_some() {
                progress.scored += 1;
                continue;
            }
            progress.unscored += 1;
            let reason = reasons.iter().find(|(at, _)| *at == i).map(|(_, reason)| reason.clone());
            unscored.push(Unscored {
                position: first + i as u64 + 1,
                fen: shakmaty::fen::Fen::from_position(block[i], EnPassantMode::Legal).to_string(),
                reason: reason.unwrap_or_else(|| "no score, in an earlier process".to_string()),
            });
        }
        unscored.sort_by_key(|one| one.position);
        let last = unscored.last().map(|one| format!("{}: {}", one.fen, one.reason));
        unscored.truncate(NAMED);
        (self.observe)(progress);
        match last {
            Some(last) if progress.unscored > self.max_unscored => Err(Error::Engine {
                engine: self.name.clone(),
                reason: format!("gave no score for {} positions, such as {last}", progress.unscored),
            }),
            _ => Ok(()),
        }
    }
}

impl Search {
    fn ask(&self, player: &mut dyn Player, block: &[&Chess]) -> Result<Answers> {
        let interrupted = || Error::Interrupted("before all positions were scored".to_string());
        let chess960 = block.iter().any(|position| is_chess960(position));
        let ready = |player: &mut dyn Player| match player.new_game(chess960) {
            Ok(()) => Ok(()),
            Err(Failure::Stopped) => Err(interrupted()),
            Err(failure) => Err(Error::Engine { engine: self.name.clone(), reason: failure.to_string() }),
        };
        ready(player)?;
        let (mut scores, mut reasons) = (Vec::with_capacity(block.len()), Vec::new());
        for (i, &position) in block.iter().enumerate() {
            if self.stop.is_set() {
                return Err(interrupted());
            }
            let game = GameSoFar::at(position.clone(), chess960);
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

fn is_chess960(position: &Chess) -> bool {
    position.castles().any() && CastlingMode::detect(&position.to_setup(EnPassantMode::Legal)).is_chess960()
}
