//! New scores for positions by an engine, several at a time.
//!
//! Invariant: each block is scored by one player that begins it with empty tables, so that scores by nodes or depth
//! depend only on the positions.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;
use shakmaty::{CastlingMode, Chess, EnPassantMode, Position};

use crate::contestant::{Contestant, Side};
use crate::engine::{Limits, Score};
use crate::hash::{check_hash, check_tables};
use crate::player::{Failure, GameSoFar, Player};
use crate::pool;
use crate::settings::{check_concurrency, deadline_from_seconds};
use crate::time_control::TimeControl;
use gputexel_chess::sample::{Origin, Sample};
use gputexel_ingest::conversion::{ConversionReport, ConversionSettings, Relabel, convert_with};
use gputexel_ingest::extraction::Hooks;
use gputexel_io::{Error, Result, StopFlag, check_target, counted};

const BLOCK: usize = 64;

/// Positions without a score after which the rescoring fails.
const MOST_UNSCORED: u64 = 10;

/// Larger scores and mates are clamped to it, in centipawns.
const MAX_SCORE_CP: i32 = 30_000;

#[derive(Clone, Debug)]
pub struct RescoreOptions {
    pub engine: Side,
    /// Per position; no clock.
    pub limit: TimeControl,
    /// After which it counts as hung.
    pub deadline: Duration,
    pub hash_mib: u32,
    pub concurrency: Option<usize>,
}

impl RescoreOptions {
    pub fn new(engine: Side) -> Self {
        let (limit, deadline) = (TimeControl::Nodes(5000), Duration::from_secs(60));
        Self { engine, limit, deadline, hash_mib: 4, concurrency: None }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Progress {
    pub scored: u64,
    pub unscored: u64,
    /// Mates and stalemates, which are scored by the rules of chess.
    pub ends: u64,
}

#[derive(Clone, Debug, Serialize)]
pub struct RescoreReport {
    pub conversion: ConversionReport,
    pub engine: String,
    pub progress: Progress,
    /// FEN of a position without a score, and why.
    pub unscored: Option<String>,
}

/// Gives positions new scores, in their order; those that the engine fails to score lose theirs.
pub fn rescore(
    inputs: &[PathBuf],
    settings: &ConversionSettings,
    output: &Path,
    options: &RescoreOptions,
    stop: &StopFlag,
    observe: &mut (dyn FnMut(&Progress) + Send),
) -> Result<RescoreReport> {
    check_target(Some(output), settings.reading.force)?;
    let mut scorer = Scorer::start(options, stop, observe)?;
    let hooks = &mut Hooks { cancel: stop, progress: &mut |_| () };
    let conversion = convert_with(inputs, settings, output, hooks, Some(&mut scorer))?;
    let Scorer { search, counts, .. } = scorer;
    let Counts { progress, unscored, .. } = counts;
    Ok(RescoreReport { conversion, engine: search.name, progress, unscored })
}

struct Scorer<'a> {
    contestant: Contestant,
    players: Vec<Box<dyn Player>>,
    concurrency: usize,
    search: Search,
    counts: Counts<'a>,
}

struct Counts<'a> {
    name: String,
    observe: &'a mut (dyn FnMut(&Progress) + Send),
    progress: Progress,
    unscored: Option<String>,
}

struct Search {
    name: String,
    limits: Limits,
    deadline: Duration,
    stop: StopFlag,
}

/// Side to move's view, centipawns, or what the engine did instead.
type Answer = std::result::Result<i32, String>;

impl<'a> Scorer<'a> {
    fn start(
        options: &RescoreOptions,
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
        let name = config.name;
        let search = Search { name: name.clone(), limits, deadline, stop: stop.clone() };
        let counts = Counts { name, observe, progress: Progress::default(), unscored: None };
        Ok(Self { contestant, players: Vec::new(), concurrency, search, counts })
    }

    fn start_players(&mut self, blocks: usize) -> Result<()> {
        let missing = blocks.min(self.concurrency).saturating_sub(self.players.len());
        check_tables(self.contestant.table_mib(), missing as u64)?;
        for _ in 0..missing {
            self.players.push(self.contestant.player(&self.search.name)?);
        }
        Ok(())
    }

    /// The side to move's view; all positions must have legal moves.
    fn score(&mut self, positions: &[&Chess]) -> Result<Vec<Option<i32>>> {
        let blocks: Vec<&[&Chess]> = positions.chunks(BLOCK).collect();
        self.start_players(blocks.len())?;
        let mut scores = vec![Vec::new(); blocks.len()];
        let Self { players, search, counts, .. } = self;
        let begin = players.iter_mut().map(|player| move || Ok(player));
        let ask = |player: &mut &mut Box<dyn Player>, index: usize| search.ask(&mut ***player, blocks[index]);
        let all: Vec<usize> = (0..blocks.len()).collect();
        pool::each(begin, &all, ask, |index, found| {
            counts.add(blocks[index], &found)?;
            scores[index] = found.into_iter().map(Answer::ok).collect();
            Ok(())
        })?;
        Ok(scores.concat())
    }
}

impl Relabel for Scorer<'_> {
    fn relabel(&mut self, _: &mut [Sample], origins: &mut [Origin]) -> Result<()> {
        let mut open = Vec::new();
        for (i, Origin { position, score_cp, .. }) in origins.iter_mut().enumerate() {
            if position.legal_moves().is_empty() {
                let mated = if position.is_check() { MAX_SCORE_CP as f32 } else { 0.0 };
                *score_cp = position.turn().fold_wb(-mated, mated) + 0.0;
                self.counts.progress.ends += 1;
            } else {
                open.push(i);
            }
        }
        let positions: Vec<&Chess> = open.iter().map(|&i| &origins[i].position).collect();
        for (i, score) in open.into_iter().zip(self.score(&positions)?) {
            let turn = origins[i].position.turn();
            origins[i].score_cp = score.map_or(f32::NAN, |cp| turn.fold_wb(cp, -cp) as f32);
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        let Counts { progress, unscored, .. } = &self.counts;
        match unscored {
            Some(one) if progress.scored + progress.ends == 0 => {
                let all = counted(progress.unscored, "position");
                let reason = format!("gave no score for any of {all}, such as {one}");
                Err(Error::Engine { engine: self.search.name.clone(), reason })
            }
            _ => Ok(()),
        }
    }
}

impl Counts<'_> {
    fn add(&mut self, block: &[&Chess], answers: &[Answer]) -> Result<()> {
        let Self { progress, unscored, .. } = self;
        for (answer, position) in answers.iter().zip(block) {
            let Err(reason) = answer else {
                progress.scored += 1;
                continue;
            };
            progress.unscored += 1;
            let fen = shakmaty::fen::Fen::from_position(*position, EnPassantMode::Legal).to_string();
            *unscored = Some(format!("{fen}: {reason}"));
        }
        (self.observe)(progress);
        match unscored {
            Some(last) if progress.unscored > MOST_UNSCORED => {
                let reason = format!("gave no score for {} positions, such as {last}", progress.unscored);
                Err(Error::Engine { engine: self.name.clone(), reason })
            }
            _ => Ok(()),
        }
    }
}

impl Search {
    fn ask(&self, player: &mut dyn Player, block: &[&Chess]) -> Result<Vec<Answer>> {
        let interrupted = || Error::Interrupted("before all positions were scored".to_string());
        let chess960 = block.iter().any(|position| is_chess960(position));
        let ready = |player: &mut dyn Player| match player.new_game(chess960) {
            Ok(()) => Ok(()),
            Err(Failure::Stopped) => Err(interrupted()),
            Err(failure) => Err(Error::Engine { engine: self.name.clone(), reason: failure.to_string() }),
        };
        ready(player)?;
        let mut answers = Vec::with_capacity(block.len());
        for &position in block {
            if self.stop.is_set() {
                return Err(interrupted());
            }
            let game = GameSoFar::at(position.clone(), chess960);
            answers.push(match player.choose(&game, &self.limits, self.deadline) {
                Ok(choice) => choice.score.map(score_cp).ok_or_else(|| "no score".to_string()),
                Err(Failure::Stopped) => return Err(interrupted()),
                Err(failure) => {
                    ready(player)?;
                    Err(failure.to_string())
                }
            });
        }
        Ok(answers)
    }
}

fn score_cp(score: Score) -> i32 {
    match score {
        Score::Centipawns(cp) => cp.clamp(-MAX_SCORE_CP, MAX_SCORE_CP),
        Score::Mate(moves) if moves > 0 => MAX_SCORE_CP,
        Score::Mate(_) => -MAX_SCORE_CP,
    }
}

fn is_chess960(position: &Chess) -> bool {
    position.castles().any() && CastlingMode::detect(&position.to_setup(EnPassantMode::Legal)).is_chess960()
}
