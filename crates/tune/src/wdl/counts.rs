//! Counts of positions, which are all that the likelihood depends on, and a sample of games for standard errors.

use std::collections::BTreeMap;

/// Result of a game, from the view of the side that the score belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// That side wins.
    Win,
    /// A draw.
    Draw,
    /// That side loses.
    Loss,
}

impl Outcome {
    /// Returns the outcome of a result from 0 to 1; `None` for values other than 0, ½ and 1.
    pub fn of_result(result: f32) -> Option<Self> {
        match result {
            1.0 => Some(Self::Win),
            0.5 => Some(Self::Draw),
            0.0 => Some(Self::Loss),
            _ => None,
        }
    }

    /// Returns the outcome for the other side.
    #[must_use]
    pub fn reversed(self) -> Self {
        match self {
            Self::Win => Self::Loss,
            Self::Draw => Self::Draw,
            Self::Loss => Self::Win,
        }
    }
}

/// Positions with one value of the variable and one score, by outcome: win, draw, loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// Score of the side to move, rounded to whole units of the engine.
    pub score: f64,
    /// Numbers of positions.
    pub counts: [f64; 3],
}

/// A sampled position, kept for standard errors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Entry {
    pub value: u16,
    pub score: i32,
    pub outcome: Outcome,
}

/// Counts of positions. Memory is bounded by the ranges of variable and score, regardless of the input.
#[derive(Clone, Debug)]
pub struct Counts {
    cells: BTreeMap<(u16, i32), [u64; 3]>,
    totals: [u64; 3],
    games: Games,
}

/// A sample of the games: all of them until there are too many.
#[derive(Clone, Debug)]
struct Games {
    /// Number of games that have ended, kept or not.
    number: u64,
    /// Hash of each kept game, and the end of its entries.
    kept: Vec<(u64, usize)>,
    entries: Vec<Entry>,
    /// Games with hashes up to this value are kept.
    threshold: u64,
    capacity: usize,
    open: Vec<Entry>,
}

/// Maximum number of positions kept for standard errors: about 200 MB.
const CAPACITY: usize = 16 << 20;

impl Default for Counts {
    fn default() -> Self {
        Self::with_capacity(CAPACITY)
    }
}

impl Counts {
    pub(crate) fn with_capacity(capacity: usize) -> Self {
        Self {
            cells: BTreeMap::new(),
            totals: [0; 3],
            games: Games {
                number: 0,
                kept: Vec::new(),
                entries: Vec::new(),
                threshold: u64::MAX,
                capacity,
                open: Vec::new(),
            },
        }
    }

    /// Adds a position of the current game.
    pub fn add(&mut self, value: u16, score: i32, outcome: Outcome) {
        self.cells.entry((value, score)).or_default()[outcome as usize] += 1;
        self.totals[outcome as usize] += 1;
        self.games.open.push(Entry { value, score, outcome });
    }

    /// Ends the current game: positions that are added later belong to another one.
    pub fn end_game(&mut self) {
        self.games.close();
    }

    /// Returns the number of positions by outcome: win, draw, loss of the side to move.
    pub fn totals(&self) -> [u64; 3] {
        self.totals
    }

    /// Returns the number of positions.
    pub fn positions(&self) -> u64 {
        self.totals.iter().sum()
    }

    /// Returns the number of games with at least one counted position.
    pub fn games(&self) -> u64 {
        self.games.number
    }

    /// Returns the number of games whose positions are kept, from which standard errors are computed.
    pub fn games_kept(&self) -> u64 {
        self.games.kept.len() as u64
    }

    /// Returns the cells by value of the variable, ascending, each with its scores, ascending.
    pub fn rows(&self) -> Vec<(u16, Vec<Cell>)> {
        let mut rows: Vec<(u16, Vec<Cell>)> = Vec::new();
        for (&(value, score), counts) in &self.cells {
            let cell = Cell { score: f64::from(score), counts: counts.map(|count| count as f64) };
            match rows.last_mut() {
                Some((last, cells)) if *last == value => cells.push(cell),
                _ => rows.push((value, vec![cell])),
            }
        }
        rows
    }

    /// Returns the positions of each kept game.
    pub(crate) fn kept_games(&self) -> impl Iterator<Item = &[Entry]> {
        let mut start = 0;
        self.games.kept.iter().map(move |&(_, end)| {
            let entries = &self.games.entries[start..end];
            start = end;
            entries
        })
    }
}

impl Games {
    fn close(&mut self) {
        if self.open.is_empty() {
            return;
        }
        let hash = mix(self.number);
        self.number += 1;
        if hash <= self.threshold {
            self.entries.append(&mut self.open);
            self.kept.push((hash, self.entries.len()));
            while self.entries.len() > self.capacity && self.kept.len() > 1 {
                self.halve();
            }
        }
        self.open.clear();
    }

    /// Keeps about every second game.
    fn halve(&mut self) {
        self.threshold /= 2;
        let (mut start, mut end) = (0, 0);
        self.kept.retain_mut(|(hash, until)| {
            let range = start..*until;
            start = *until;
            if *hash > self.threshold {
                return false;
            }
            self.entries.copy_within(range.clone(), end);
            end += range.len();
            *until = end;
            true
        });
        self.entries.truncate(end);
    }
}

/// Finalizer of SplitMix64 (Steele, Lea, Flood 2014).
fn mix(number: u64) -> u64 {
    let word = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_counted_and_games_sampled() {
        let mut counts = Counts::with_capacity(1000);
        for game in 0..2000u16 {
            for ply in 0..5 {
                counts.add(ply, i32::from(game % 7), Outcome::of_result(0.5).unwrap());
            }
            counts.add(9, i32::from(game), Outcome::Win);
            counts.end_game();
            counts.end_game(); // of nothing
        }
        assert_eq!((counts.positions(), counts.games(), counts.totals()), (12_000, 2000, [2000, 10_000, 0]));
        let rows = counts.rows();
        assert_eq!((rows.len(), rows[0].1.len(), rows[5].1.len()), (6, 7, 2000));
        assert_eq!(rows[0].1[0].counts, [0.0, 286.0, 0.0]);
        let kept: Vec<&[Entry]> = counts.kept_games().collect();
        assert!((40..=166).contains(&kept.len()) && kept.len() as u64 == counts.games_kept());
        for game in kept {
            assert_eq!(game.len(), 6);
            // Games are kept whole: all positions belong to the same game.
            assert!(game[..5].iter().all(|entry| entry.score == game[5].score % 7), "{game:?}");
        }
    }

    #[test]
    fn outcomes_of_results() {
        assert_eq!(Outcome::of_result(0.25), None);
        assert_eq!(Outcome::of_result(0.0).map(Outcome::reversed), Some(Outcome::Win));
    }
}
