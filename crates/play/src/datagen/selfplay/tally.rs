use std::collections::BTreeMap;

use shakmaty::Color;

use super::record::{StoredGame, is_sound};
use crate::end::End;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SelfPlayTally {
    /// White wins, draws, Black wins.
    pub results: [u64; 3],
    /// Including spoiled games.
    pub ends: BTreeMap<End, u64>,
    /// Searched in games that count.
    pub positions: u64,
    pub without_score: u64,
    /// Drawn from those that were evaluated, in a game each once.
    pub leaves: u64,
    pub nodes: u64,
    /// In searches of all games.
    pub micros: u64,
    /// Games with an illegal move or none, a crash, a hang, or exceeded time. They are not written.
    pub spoiled: u64,
    pub last_failure: Option<String>,
}

impl SelfPlayTally {
    pub(super) fn add(&mut self, game: &StoredGame) {
        *self.ends.entry(game.end).or_default() += 1;
        self.micros += game.moves.iter().map(|played| played.micros()).sum::<u64>();
        if !is_sound(game.end) {
            self.spoiled += 1;
            let what = game.failure.as_deref().unwrap_or("unknown");
            self.last_failure = Some(format!("{}: {what}", game.end.describe()));
            return;
        }
        let place = match game.outcome().and_then(|outcome| outcome.winner()) {
            Some(Color::White) => 0,
            None => 1,
            Some(Color::Black) => 2,
        };
        self.results[place] += 1;
        self.positions += game.moves.len() as u64;
        self.without_score += game.moves.iter().filter(|played| !played.has_score()).count() as u64;
        self.leaves += game.leaves.len() as u64;
        self.nodes += game.moves.iter().map(|played| played.nodes()).sum::<u64>();
    }

    pub fn games(&self) -> u64 {
        self.results.iter().sum()
    }

    pub fn finished(&self) -> u64 {
        self.games() + self.spoiled
    }
}
