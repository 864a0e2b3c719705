//! Splits: the held-out positions, and the training batches of the others.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::Dataset;
use gputexel_io::{Error, Result};

/// A seeded split by game. Positions of one game are always on the same side of the hold-out, because
/// neighboring positions share their result and look alike; if the input had no games, positions are split
/// individually.
#[derive(Clone, Debug, PartialEq)]
pub struct Split {
    /// Part of each position: batches are 0 to `batches` − 1, the held-out set is `batches`.
    parts: Vec<u32>,
    batches: usize,
    held_out: usize,
}

/// Returns a uniform number in 0..1, a function of the seed, the purpose and the number.
fn uniform(seed: u64, purpose: u8, number: u32) -> f64 {
    let mut bytes = [purpose; 5];
    bytes[1..].copy_from_slice(&number.to_le_bytes());
    (xxh3_64_with_seed(&bytes, seed) >> 11) as f64 / (1u64 << 53) as f64
}

impl Split {
    /// Holds out a share of the games and distributes the other positions over `batches` batches.
    pub fn try_new(dataset: &Dataset, share: f64, batches: usize, seed: u64) -> Result<Self> {
        Self::check_share(share)?;
        if batches > dataset.len() {
            return Err(Error::Usage(format!(
                "{batches} batches: more than the {} positions",
                dataset.len()
            )));
        }
        let mut held_out = 0;
        let parts: Vec<u32> = (0..dataset.len())
            .map(|n| {
                if share > 0.0 && uniform(seed, b'h', dataset.game(n)) < share {
                    held_out += 1;
                    batches as u32
                } else if batches == 1 {
                    0
                } else {
                    (uniform(seed, b'b', n as u32) * batches as f64) as u32
                }
            })
            .collect();
        if batches == 0 || held_out == dataset.len() || (share > 0.0 && held_out == 0) {
            return Err(Error::Usage(format!(
                "{} positions are too few to hold out a share of {share} of the games",
                dataset.len()
            )));
        }
        Ok(Self { parts, batches, held_out })
    }

    pub fn check_share(share: f64) -> Result<()> {
        match (0.0..=0.9).contains(&share) {
            true => Ok(()),
            false => Err(Error::setting("holdout", share, "must be from 0 to 0.9")),
        }
    }

    /// Returns the number of parts: the batches and, if there is one, the held-out set.
    pub fn parts(&self) -> usize {
        self.batches + usize::from(self.held_out > 0)
    }

    pub fn batches(&self) -> usize {
        self.batches
    }

    #[inline]
    pub fn part_of(&self, n: usize) -> usize {
        self.parts[n] as usize
    }

    pub fn held_out_part(&self) -> Option<usize> {
        (self.held_out > 0).then_some(self.batches)
    }

    /// Returns the training positions, ascending.
    pub fn training(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.parts.len()).filter(|&n| self.part_of(n) < self.batches)
    }

    /// Returns the held-out positions, ascending.
    pub fn held_out(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.parts.len()).filter(|&n| self.part_of(n) == self.batches)
    }
}
