//! Stored data of finished pairs, and their totals.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use shakmaty::{Color, KnownOutcome};

use super::end::End;
use super::game::GameRecord;
use super::statistics::Pentanomial;

/// Stored data of a game, by engine (A, then B).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GameSummary {
    /// `1-0`, `0-1` or `1/2-1/2`.
    pub result: String,
    /// Reason for its end.
    pub end: End,
    /// Description of the loser's failure, if it failed or exceeded the time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Number of plies, including the opening.
    pub plies: u32,
    /// Nodes that the engines reported.
    pub nodes: [u64; 2],
    /// Moves that the engines chose.
    pub moves: [u32; 2],
    /// Time that the engines took, microseconds.
    pub micros: [u64; 2],
}

impl GameSummary {
    /// Summarizes a game in which A has the given color.
    pub fn new(record: &GameRecord, color_of_a: Color) -> Self {
        let (mut nodes, mut moves, mut micros) = ([0; 2], [0; 2], [0; 2]);
        let mut turn = record.opening.first_turn();
        for played in &record.moves {
            let engine = usize::from(turn != color_of_a);
            nodes[engine] += played.nodes.unwrap_or(0);
            moves[engine] += 1;
            micros[engine] += played.took.as_micros() as u64;
            turn = !turn;
        }
        Self {
            result: record.outcome.as_str().to_string(),
            end: record.end,
            failure: record.failure.clone(),
            plies: record.plies() as u32,
            nodes,
            moves,
            micros,
        }
    }

    /// Returns the winner's color; `None` for draws.
    fn winner(&self) -> Option<Color> {
        self.result.parse::<KnownOutcome>().ok().and_then(KnownOutcome::winner)
    }

    fn is_valid(&self) -> bool {
        self.result.parse::<KnownOutcome>().is_ok()
    }
}

/// A finished pair as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PairSummary {
    /// Its number, from 0.
    pub pair: u64,
    /// A had White in the first game, Black in the second.
    pub games: [GameSummary; 2],
    /// PGN of both games.
    pub pgn: String,
}

impl PairSummary {
    /// Summarizes a pair.
    pub fn new(pair: u64, [first, second]: &[GameRecord; 2], pgn: String) -> Self {
        let games = [GameSummary::new(first, Color::White), GameSummary::new(second, Color::Black)];
        Self { pair, games, pgn }
    }

    /// Returns A's half points, 0 to 4.
    pub fn half_points(&self) -> usize {
        [Color::White, Color::Black].iter().zip(&self.games).map(|(a, game)| half_points(game, *a)).sum()
    }

    /// Returns White's half points in both games, 0 to 4.
    pub fn white_half_points(&self) -> usize {
        self.games.iter().map(|game| half_points(game, Color::White)).sum()
    }

    /// Returns true if its contents are valid.
    pub fn is_valid(&self) -> bool {
        self.games.iter().all(GameSummary::is_valid)
    }
}

fn half_points(game: &GameSummary, a: Color) -> usize {
    match game.winner() {
        None => 1,
        Some(winner) => {
            if winner == a {
                2
            } else {
                0
            }
        }
    }
}

/// Totals over pairs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    /// Pairs by A's points.
    pub pairs: Pentanomial,
    /// Games that A won, drew and lost.
    pub wins_draws_losses: [u64; 3],
    /// Games that White won.
    pub white_wins: u64,
    /// Games that Black won.
    pub black_wins: u64,
    /// Games by their end.
    pub ends: BTreeMap<End, u64>,
    /// Plies of all games.
    pub plies: u64,
    /// Nodes by engine.
    pub nodes: [u64; 2],
    /// Moves by engine.
    pub moves: [u64; 2],
    /// Microseconds by engine.
    pub micros: [u64; 2],
    /// Games lost by failures (illegal moves, crashes, hangs), by engine.
    pub failures: [u64; 2],
    /// Games lost on time, by engine.
    pub time_forfeits: [u64; 2],
    /// Description of the last failure or time forfeit of each engine.
    pub last_failure: [Option<String>; 2],
}

impl Tally {
    /// Counts one more pair.
    pub fn add(&mut self, pair: &PairSummary) {
        self.pairs.add(pair.half_points());
        for (game, a) in pair.games.iter().zip([Color::White, Color::Black]) {
            self.wins_draws_losses[2 - half_points(game, a)] += 1;
            let winner = game.winner();
            self.white_wins += u64::from(winner == Some(Color::White));
            self.black_wins += u64::from(winner == Some(Color::Black));
            *self.ends.entry(game.end).or_default() += 1;
            self.plies += u64::from(game.plies);
            for engine in 0..2 {
                self.nodes[engine] += game.nodes[engine];
                self.moves[engine] += u64::from(game.moves[engine]);
                self.micros[engine] += game.micros[engine];
            }
            let loser = usize::from(winner == Some(a));
            self.failures[loser] += u64::from(game.end.is_failure());
            self.time_forfeits[loser] += u64::from(game.end == End::TimeForfeit);
            if let Some(failure) = &game.failure {
                self.last_failure[loser] = Some(failure.clone());
            }
        }
    }

    /// Returns the number of games.
    pub fn games(&self) -> u64 {
        self.wins_draws_losses.iter().sum()
    }

    /// Returns nodes per second of an engine, 0 or 1, over all its moves.
    pub fn nodes_per_second(&self, engine: usize) -> u64 {
        (self.nodes[engine] as f64 / (self.micros[engine].max(1) as f64 / 1e6)) as u64
    }

    /// Returns A's points.
    pub fn points(&self) -> f64 {
        self.wins_draws_losses[0] as f64 + 0.5 * self.wins_draws_losses[1] as f64
    }
}
