//! Results of single games.

use serde::{Deserialize, Serialize};

use super::{Estimate, Moments, as_f64, logistic_elo, normalized_elo, superiority};

/// Games counted by A's result, as reports print them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trinomial {
    /// Games that A won.
    pub wins: u64,
    /// Games drawn.
    pub draws: u64,
    /// Games that A lost.
    pub losses: u64,
}

impl Trinomial {
    /// Counts one more game in which A scored `half_points`, 0 to 2.
    ///
    /// # Panics
    /// If `half_points` is above 2.
    pub fn add(&mut self, half_points: usize) {
        match half_points {
            0 => self.losses += 1,
            1 => self.draws += 1,
            2 => self.wins += 1,
            _ => panic!("a game gives at most 2 half points, not {half_points}"),
        }
    }

    /// Adds the games of another count.
    pub fn merge(&mut self, other: &Self) {
        self.wins += other.wins;
        self.draws += other.draws;
        self.losses += other.losses;
    }

    /// Returns the number of games.
    pub fn games(&self) -> u64 {
        self.wins + self.draws + self.losses
    }

    /// Returns A's mean score per game, 0 to 1; ½ without games.
    pub fn score(&self) -> f64 {
        if self.games() == 0 { 0.5 } else { Moments::of(&as_f64(&self.counts())).mean }
    }

    /// Returns A's logistic Elo over B with its 95 % interval, as if all games were independent.
    ///
    /// For games in pairs use [`Pentanomial::elo`](super::Pentanomial::elo), which has the correct error.
    pub fn elo(&self) -> Estimate {
        logistic_elo(&self.counts(), 1.0)
    }

    /// Returns A's normalized Elo over B with its 95 % interval, as if all games were independent.
    pub fn normalized_elo(&self) -> Estimate {
        normalized_elo(&self.counts(), 1.0)
    }

    /// Returns the likelihood of superiority, 0 to 1, as if all games were independent; ½ without games.
    pub fn los(&self) -> f64 {
        superiority(&self.counts())
    }

    /// Returns losses, draws, wins: in order of increasing score.
    pub(super) fn counts(&self) -> [u64; 3] {
        [self.losses, self.draws, self.wins]
    }
}
