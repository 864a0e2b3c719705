//! Games of positions: which are one and the same, and whether they are known at all.

use std::collections::HashMap;

use xxhash_rust::xxh3::xxh3_64;

use super::Dataset;

/// Games that share positions of a kind are only told apart from chance if no more games have it.
const RARE: usize = 4;
/// Number of such kinds that two games share at least if they are one, and their share of those of the shorter game.
const SHARED: (usize, f64) = (2, 0.25);
/// One of so many games must repeat another one before any are united.
const SOME: u64 = 20;
/// Number of features from which on rows tell games apart.
const TOLD_APART: usize = 64;
/// Positions of a game, on average, beyond which few games would have a single one by chance.
const LONG: f64 = 5.0;

impl Dataset {
    /// Finds games that are one and the same, such as the odd and the even positions of a game in two inputs: for each
    /// but the first, its number and a lower one.
    ///
    /// Pawns move seldom, and what they form is hardly ever the same in two games once the opening is over. Without
    /// squares of pawns, whole rows are compared; few features are alike in different games, and learn little of them.
    pub fn repeated_games(&self) -> HashMap<u32, u32> {
        let set = &self.metadata.feature_set;
        let is_pawn: Vec<bool> = set.features.iter().map(|feature| feature.group == "pawn").collect();
        let squares = is_pawn.iter().filter(|&&is_pawn| is_pawn).count() >= 48;
        if !self.has_games() || is_pawn.len() < TOLD_APART {
            return HashMap::new();
        }
        let mut kinds: Vec<(u64, u32)> = Vec::with_capacity(self.len());
        let mut bytes = Vec::new();
        for n in 0..self.len() {
            bytes.clear();
            for (id, coefficient) in self.row(n).entries() {
                if !squares || is_pawn[usize::from(self.feature_of(id))] {
                    bytes.extend(id.to_le_bytes());
                    bytes.extend(coefficient.to_le_bytes());
                }
            }
            kinds.push((xxh3_64(&bytes), self.games[n]));
        }
        kinds.sort_unstable();
        kinds.dedup();
        let mut of_game: HashMap<u32, usize> = HashMap::new();
        kinds.iter().for_each(|&(_, game)| *of_game.entry(game).or_default() += 1);
        let mut shared: HashMap<(u32, u32), usize> = HashMap::new();
        for kind in kinds.chunk_by(|a, b| a.0 == b.0).filter(|kind| kind.len() <= RARE) {
            for (i, &(_, a)) in kind.iter().enumerate() {
                kind[i + 1..].iter().for_each(|&(_, b)| *shared.entry((a, b)).or_default() += 1);
            }
        }
        let mut first: HashMap<u32, u32> = HashMap::new();
        for (&(a, b), &count) in &shared {
            if count >= SHARED.0 && count as f64 >= SHARED.1 * of_game[&a].min(of_game[&b]) as f64 {
                let (a, b) = (root(&first, a), root(&first, b));
                if a != b {
                    first.insert(a.max(b), a.min(b));
                }
            }
        }
        // A few games repeat others by chance or by choice of the players.
        if (first.len() as u64) < self.metadata.games.div_ceil(SOME) {
            first.clear();
        }
        first
    }

    /// Gives [games that are one](Self::repeated_games) one number, so that they are held out together.
    pub fn unite_games(&mut self, repeated: &HashMap<u32, u32>) {
        self.games.iter_mut().for_each(|game| *game = root(repeated, *game));
        self.united = repeated.len() as u64;
        self.metadata.games -= self.united.min(self.metadata.games);
    }

    /// Returns how many more games there were before [those that are one](Self::unite_games) were united.
    pub fn united_games(&self) -> u64 {
        self.united
    }

    /// Counts the positions whose game is not known: all of them, or those alone in theirs where games are long.
    pub fn positions_without_game(&self) -> u64 {
        let mut sizes: HashMap<u32, u64> = HashMap::new();
        self.games.iter().for_each(|&game| *sizes.entry(game).or_default() += 1);
        let alone = sizes.values().filter(|&&size| size == 1).count();
        let (others, games) = (self.len() - alone.min(self.len()), sizes.len() - alone);
        match self.has_games() {
            false => self.len() as u64,
            true if others as f64 > LONG * games as f64 && 20 * alone > self.len() => alone as u64,
            true => 0,
        }
    }
}

fn root(first: &HashMap<u32, u32>, game: u32) -> u32 {
    std::iter::successors(Some(game), |game| first.get(game).copied()).last().unwrap_or(game)
}
