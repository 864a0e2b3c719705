//! Folds: parts of about equal size, each of which is held out in turn.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rayon::prelude::*;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::Dataset;
use gputexel_io::{Error, Result};

/// A seeded partition of the games. Positions of one game are always in the same fold; if the input had no
/// games, positions are distributed individually.
#[derive(Clone, Debug, PartialEq)]
pub struct Folds {
    of: Vec<u32>,
    count: usize,
}

impl Folds {
    /// Distributes the games over `count` folds: in an order that depends only on the seed and the game's
    /// number, each goes to the fold with the fewest positions.
    pub fn try_new(dataset: &Dataset, count: usize, seed: u64) -> Result<Self> {
        if count < 2 {
            return Err(Error::Usage(format!("{count} folds: at least 2 are needed, to train and to judge")));
        }
        let hash = |game: u32| {
            let mut bytes = [b'f'; 5]; // differs from what `Split` hashes
            bytes[1..].copy_from_slice(&game.to_le_bytes());
            xxh3_64_with_seed(&bytes, seed)
        };
        let mut order: Vec<(u64, u32, u32)> = (0..dataset.len() as u32)
            .into_par_iter()
            .map(|n| {
                let game = dataset.game(n as usize);
                (hash(game), game, n)
            })
            .collect();
        order.par_sort_unstable();
        let games = order.chunk_by(|a, b| a.1 == b.1);
        let number = games.clone().count();
        if count > number {
            let what = if dataset.has_games() { "games" } else { "positions" };
            return Err(Error::Usage(format!("{count} folds: more than the {number} {what}")));
        }
        // The fold with the fewest positions comes first; among equals, the one with the lowest number.
        let mut sizes: BinaryHeap<Reverse<(usize, u32)>> =
            (0..count as u32).map(|f| Reverse((0, f))).collect();
        let mut of = vec![0; dataset.len()];
        for game in games {
            let Reverse((size, fold)) = sizes.pop().expect("there are folds");
            game.iter().for_each(|&(_, _, n)| of[n as usize] = fold);
            sizes.push(Reverse((size + game.len(), fold)));
        }
        Ok(Self { of, count })
    }

    pub fn count(&self) -> usize {
        self.count
    }

    #[inline]
    pub fn fold_of(&self, n: usize) -> usize {
        self.of[n] as usize
    }

    /// Returns the positions of one fold, ascending.
    pub fn members(&self, fold: usize) -> impl Iterator<Item = usize> + '_ {
        (0..self.of.len()).filter(move |&n| self.fold_of(n) == fold)
    }
}
