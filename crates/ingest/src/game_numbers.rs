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
    /// Begins a chunk of an input; keys are specific to their input.
    pub fn begin_chunk(&mut self, source: usize) {
        if self.source != source {
            self.source = source;
            self.known.clear();
        }
        self.previous = None;
    }

    pub fn single(&mut self) -> u32 {
        self.previous = None;
        self.fresh()
    }

    /// Returns the number of the game with `key`, which is unique in its input.
    pub fn of_input(&mut self, key: u64) -> u32 {
        if let Some((_, number)) = self.previous.filter(|(previous, _)| *previous == key) {
            return number;
        }
        let number = match self.known.get(&key) {
            Some(&number) => number,
            None => {
                let number = self.fresh();
                self.known.insert(key, number);
                number
            }
        };
        self.previous = Some((key, number));
        number
    }

    /// Returns the number of the game with `key`, which is unique in its chunk, where its positions are
    /// adjacent.
    pub fn of_chunk(&mut self, key: u64) -> u32 {
        if let Some((_, number)) = self.previous.filter(|(previous, _)| *previous == key) {
            return number;
        }
        let number = self.fresh();
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
        numbers.begin_chunk(0);
        assert_eq!([7, 7, 9, 7].map(|key| numbers.of_input(key)), [0, 0, 1, 0]);
        numbers.begin_chunk(0);
        assert_eq!(([9, 5].map(|key| numbers.of_input(key)), numbers.single()), ([1, 2], 3));
        // In another input, the same keys refer to other games.
        numbers.begin_chunk(1);
        assert_eq!([9, 7].map(|key| numbers.of_input(key)), [4, 5]);
        numbers.begin_chunk(2);
        assert_eq!([0, 0, 1].map(|key| numbers.of_chunk(key)), [6, 6, 7]);
        numbers.begin_chunk(2);
        assert_eq!(numbers.of_chunk(1), 8);
    }
}
