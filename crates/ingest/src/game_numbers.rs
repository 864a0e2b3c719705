//! Assigns consecutive numbers from 0 to the games of all inputs.

use std::collections::HashMap;

/// Game numbers assigned so far. Memory: a few dozen bytes per game of the current input, if games have keys.
#[derive(Debug, Default)]
pub(crate) struct GameNumbers {
    next: u32,
    /// Index of the current input, whose games are `known` by key.
    source: usize,
    known: HashMap<u64, u32>,
    previous: Option<(u64, u32)>,
}

impl GameNumbers {
    /// Begins a chunk of an input; keys are specific to their input or, if `by_chunk`, to their chunk.
    pub fn begin_chunk(&mut self, source: usize, by_chunk: bool) {
        if self.source != source || by_chunk {
            self.source = source;
            self.known.clear();
        }
        self.previous = None;
    }

    /// Returns the number of the game with `key`; without one, a position is a game of its own.
    pub fn number(&mut self, key: Option<u64>) -> u32 {
        let Some(key) = key else {
            self.previous = None;
            return self.fresh();
        };
        if let Some((_, number)) = self.previous.filter(|(previous, _)| *previous == key) {
            return number;
        }
        let number = if let Some(&number) = self.known.get(&key) {
            number
        } else {
            let number = self.fresh();
            self.known.insert(key, number);
            number
        };
        self.previous = Some((key, number));
        number
    }

    fn fresh(&mut self) -> u32 {
        self.next += 1;
        self.next - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn games_are_numbered_across_inputs() {
        let mut numbers = GameNumbers::default();
        let mut of = |source, by_chunk, keys: &[Option<u64>]| {
            numbers.begin_chunk(source, by_chunk);
            keys.iter().map(|key| numbers.number(*key)).collect::<Vec<_>>()
        };
        assert_eq!(of(0, false, &[Some(7), Some(7), Some(9), Some(7)]), [0, 0, 1, 0]);
        assert_eq!(of(0, false, &[Some(9), Some(5), None]), [1, 2, 3]);
        // In another input, the same keys refer to other games.
        assert_eq!(of(1, false, &[Some(9), Some(7)]), [4, 5]);
        assert_eq!(of(2, true, &[Some(0), Some(0), Some(1)]), [6, 6, 7]);
        assert_eq!(of(2, true, &[Some(1)]), [8]);
    }
}
