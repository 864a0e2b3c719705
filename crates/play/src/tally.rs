use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use shakmaty::{Color, KnownOutcome};

use super::end::End;
use super::game::GameRecord;
use super::statistics::Pentanomial;

/// By engine: A, then B.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GameSummary {
    pub result: String,
    pub end: End,
    /// Of the loser, if it failed or exceeded the time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Including the opening.
    pub plies: u32,
    pub nodes: [u64; 2],
    pub moves: [u32; 2],
    pub micros: [u64; 2],
}

impl GameSummary {
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

    fn outcome(&self) -> Option<KnownOutcome> {
        self.result.parse().ok()
    }

    fn winner(&self) -> Option<Color> {
        self.outcome().and_then(KnownOutcome::winner)
    }

    fn half_points(&self, color: Color) -> usize {
        self.winner().map_or(1, |winner| if winner == color { 2 } else { 0 })
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PairSummary {
    pub pair: u64,
    /// A has White in the first.
    pub games: [GameSummary; 2],
    pub pgn: String,
}

impl PairSummary {
    pub fn new(pair: u64, [first, second]: &[GameRecord; 2], pgn: String) -> Self {
        let games = [GameSummary::new(first, Color::White), GameSummary::new(second, Color::Black)];
        Self { pair, games, pgn }
    }

    pub fn half_points(&self) -> usize {
        [Color::White, Color::Black].iter().zip(&self.games).map(|(a, game)| game.half_points(*a)).sum()
    }

    /// In both games, 0 to 4.
    pub fn white_half_points(&self) -> usize {
        self.games.iter().map(|game| game.half_points(Color::White)).sum()
    }

    pub fn is_valid(&self) -> bool {
        self.games.iter().all(|game| game.outcome().is_some())
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    pub pairs: Pentanomial,
    pub wins_draws_losses: [u64; 3],
    pub white_wins: u64,
    pub black_wins: u64,
    pub ends: BTreeMap<End, u64>,
    pub plies: u64,
    pub nodes: [u64; 2],
    pub moves: [u64; 2],
    pub micros: [u64; 2],
    /// Illegal moves, crashes, hangs, by engine.
    pub failures: [u64; 2],
    pub time_forfeits: [u64; 2],
    /// Failure or time forfeit, by engine.
    pub last_failure: [Option<String>; 2],
}

impl Tally {
    pub fn add(&mut self, pair: &PairSummary) {
        self.pairs.add(pair.half_points());
        for (game, a) in pair.games.iter().zip([Color::White, Color::Black]) {
            self.wins_draws_losses[2 - game.half_points(a)] += 1;
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

    pub fn games(&self) -> u64 {
        self.wins_draws_losses.iter().sum()
    }

    /// True if every game was decided by an engine failure.
    pub fn is_all_failed(&self) -> bool {
        self.games() > 0 && self.failures.iter().sum::<u64>() == self.games()
    }

    /// Over all moves of an engine, 0 or 1.
    pub fn nodes_per_second(&self, engine: usize) -> u64 {
        (self.nodes[engine] as f64 / (self.micros[engine].max(1) as f64 / 1e6)) as u64
    }

    pub fn points(&self) -> f64 {
        self.wins_draws_losses[0] as f64 + 0.5 * self.wins_draws_losses[1] as f64
    }
}
