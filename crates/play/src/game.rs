//! One game between two players.
//!
//! Invariant: ends are checked in this order: the clock, the board (mate and stalemate before repetition, 50 moves
//! and dead positions), adjudication.

use std::fmt;
use std::time::{Duration, Instant};

use shakmaty::uci::UciMove;
use shakmaty::{Chess, Color, KnownOutcome, Move, Position};

use super::adjudication::{Adjudication, Adjudicator, EarlyEnd};
use super::end::{End, natural_end};
use super::openings::Opening;
use super::player::{Failure, GameSoFar, Player};
use super::time_control::{RunningClock, TimeControl};
use crate::engine::Score;
use gputexel_io::StopFlag;

/// Time beyond the flag after which an engine counts as hung: one that is merely late has lost, but need not be killed.
const GRACE: Duration = Duration::from_secs(5);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Limits of A and B.
    pub time_controls: [TimeControl; 2],
    pub time_margin: Duration,
    /// Time after which an engine without a clock counts as hung.
    pub deadline: Duration,
    pub adjudication: Adjudication,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Played {
    pub m: Move,
    /// The engine's score, mover's view.
    pub score: Option<Score>,
    pub depth: Option<u32>,
    pub nodes: Option<u64>,
    pub took: Duration,
}

#[derive(Clone, Debug, PartialEq)]
pub struct GameRecord {
    pub opening: Opening,
    /// After the opening.
    pub moves: Vec<Played>,
    pub outcome: KnownOutcome,
    pub end: End,
    /// Of the loser, if it failed or exceeded the time.
    pub failure: Option<String>,
    /// Drawn from what the searches evaluated.
    pub leaves: Vec<Chess>,
}

impl GameRecord {
    pub fn plies(&self) -> usize {
        self.opening.moves.len() + self.moves.len()
    }

    /// Returns the half points of a color: 0, 1 or 2.
    pub fn half_points(&self, color: Color) -> u8 {
        match self.outcome.winner() {
            None => 1,
            Some(winner) if winner == color => 2,
            Some(_) => 0,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unplayed {
    Cancelled,
    NotReady { name: String, failure: Failure },
}

impl fmt::Display for Unplayed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cancelled => f.write_str("cancelled"),
            Self::NotReady { name, failure } => write!(f, "{name}: {failure}"),
        }
    }
}

struct Course {
    game: GameSoFar,
    adjudicator: Adjudicator,
}

impl Course {
    fn new(opening: &Opening, adjudication: Adjudication) -> Self {
        let mut game = GameSoFar::at(opening.start.clone(), opening.chess960);
        opening.moves.iter().for_each(|&m| game.push(m));
        Self { game, adjudicator: Adjudicator::new(adjudication) }
    }

    /// `m` is legal, `score` the mover's view.
    fn play(&mut self, m: Move, score: Option<Score>) {
        let turn = self.game.position.turn();
        self.game.push(m);
        self.adjudicator.add(turn, score);
    }

    /// By the rules of chess, or else by adjudication.
    fn end(&self) -> Option<(KnownOutcome, End)> {
        let position = &self.game.position;
        natural_end(position, &self.game.keys).or_else(|| {
            let moves_over = position.fullmoves().get() - 1;
            self.adjudicator.early_end(self.game.moves.len(), moves_over).map(|end| match end {
                EarlyEnd::Draw => (KnownOutcome::Draw, End::AdjudicatedDraw),
                EarlyEnd::Win(winner) => (KnownOutcome::Decisive { winner }, End::AdjudicatedWin),
                EarlyEnd::TooLong => (KnownOutcome::Draw, End::TooLong),
            })
        })
    }
}

/// `time_controls` are White's and Black's. An engine that fails loses. The clock starts only after the engine has received the position
/// ([`Player::prepare`]).
pub fn play_game(
    white: &mut dyn Player,
    black: &mut dyn Player,
    opening: &Opening,
    rules: &Rules,
    time_controls: [TimeControl; 2],
    stop: &StopFlag,
) -> Result<GameRecord, Unplayed> {
    make_ready(white, opening.chess960)?;
    make_ready(black, opening.chess960)?;
    let mut course = Course::new(opening, rules.adjudication);
    let mut clocks = time_controls.map(|time_control| RunningClock::new(&time_control));
    let mut moves = Vec::with_capacity(200);
    let mut leaves = Vec::new();
    let finish = |moves, leaves, (outcome, end), failure| GameRecord {
        opening: opening.clone(),
        moves,
        outcome,
        end,
        failure,
        leaves,
    };
    loop {
        if let Some(end) = course.end() {
            return Ok(finish(moves, leaves, end, None));
        }
        if stop.is_set() {
            return Err(Unplayed::Cancelled);
        }
        let turn = course.game.position.turn();
        let side = turn.fold_wb(0, 1);
        let player: &mut dyn Player = if turn.is_white() { &mut *white } else { &mut *black };
        let lost = KnownOutcome::Decisive { winner: !turn };
        let time_control = time_controls[side];
        course.game.clocks = shown_clocks(&time_controls, &clocks);
        let limits = time_control.limits(&clocks[side]);
        let deadline = match time_control {
            TimeControl::Nodes(_) | TimeControl::Depth(_) => rules.deadline,
            TimeControl::MoveTime(time) => time.saturating_add(rules.time_margin).saturating_add(GRACE),
            TimeControl::Clock { .. } => {
                clocks[side].left.saturating_add(rules.time_margin).saturating_add(GRACE)
            }
        };
        let prepared = player.prepare(&course.game, &limits);
        let begin = Instant::now();
        let choice = prepared.and_then(|()| player.choose(&course.game, &limits, deadline));
        let took = begin.elapsed();
        let choice = match choice {
            Ok(choice) if course.game.position.is_legal(choice.m) => choice,
            Ok(choice) => {
                let failure = Failure::IllegalMove(UciMove::from_standard(choice.m).to_string());
                return Ok(finish(moves, leaves, (lost, End::IllegalMove), Some(failure.to_string())));
            }
            Err(Failure::Stopped) => return Err(Unplayed::Cancelled),
            Err(failure) => {
                return Ok(finish(moves, leaves, (lost, End::from(&failure)), Some(failure.to_string())));
            }
        };
        let left = if let TimeControl::MoveTime(time) = time_control { time } else { clocks[side].left };
        if clocks[side].after_move(&time_control, took, rules.time_margin) {
            let detail = format!("took {:.3} s of {:.3} s", took.as_secs_f64(), left.as_secs_f64());
            return Ok(finish(moves, leaves, (lost, End::TimeForfeit), Some(detail)));
        }
        course.play(choice.m, choice.score);
        leaves.extend(choice.leaves);
        moves.push(Played {
            m: choice.m,
            score: choice.score,
            depth: choice.depth,
            nodes: choice.nodes,
            took,
        });
    }
}

/// Plays games from one opening: A has White in the first, Black in the second, and so on.
pub fn play_games<const N: usize>(
    a: &mut dyn Player,
    b: &mut dyn Player,
    opening: &Opening,
    rules: &Rules,
    stop: &StopFlag,
) -> Result<[GameRecord; N], Unplayed> {
    let [control_a, control_b] = rules.time_controls;
    let play = |game| match game % 2 {
        0 => play_game(a, b, opening, rules, [control_a, control_b], stop),
        _ => play_game(b, a, opening, rules, [control_b, control_a], stop),
    };
    let mut games = (0..N).map(play).collect::<Result<Vec<_>, _>>()?;
    Ok(std::array::from_fn(|_| games.remove(0)))
}

fn make_ready(player: &mut dyn Player, chess960: bool) -> Result<(), Unplayed> {
    let ready = player.new_game(chess960);
    ready.map_err(|failure| match failure {
        Failure::Stopped => Unplayed::Cancelled,
        failure => Unplayed::NotReady { name: player.name().to_string(), failure },
    })
}

/// Returns both clocks if both sides have one; if only one has, the other shows the same.
fn shown_clocks(
    time_controls: &[TimeControl; 2],
    clocks: &[RunningClock; 2],
) -> Option<[(Duration, Duration); 2]> {
    let shown = |side: usize| match time_controls[side] {
        TimeControl::Clock { increment, .. } => Some((clocks[side].left, increment)),
        _ => None,
    };
    match (shown(0), shown(1)) {
        (None, None) => None,
        (Some(one), None) | (None, Some(one)) => Some([one, one]),
        (Some(white), Some(black)) => Some([white, black]),
    }
}
