//! Openings of games.
//!
//! Invariant: the opening of a pair depends only on the seed and the number of the pair.

mod book;
mod generated;

use std::path::Path;

use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use shakmaty::{Chess, Color, Move, Position};
use xxhash_rust::xxh3::xxh3_64_with_seed;

pub use book::Book;
pub use generated::RandomPlies;
use gputexel_io::Result;

#[derive(Clone, Debug, PartialEq)]
pub struct Opening {
    pub start: Chess,
    /// Before the engines take over, all legal.
    pub moves: Vec<Move>,
    pub chess960: bool,
}

impl Opening {
    pub fn at(start: Chess, chess960: bool) -> Self {
        Self { start, moves: Vec::new(), chess960 }
    }

    pub fn first_turn(&self) -> Color {
        if self.moves.len().is_multiple_of(2) { self.start.turn() } else { !self.start.turn() }
    }

    pub fn position(&self) -> Chess {
        let mut position = self.start.clone();
        for &m in &self.moves {
            position.play_unchecked(m);
        }
        position
    }
}

/// With one opening of a book before the next is tried.
const DRAWS_OF_ONE: u64 = 1000;

#[derive(Clone, Debug)]
pub struct Openings {
    book: Option<(Book, Vec<u32>)>,
    seed: u64,
}

impl Openings {
    /// Eight random plies from the usual position, accepted if a search of one ply and captures, counting material,
    /// stays within a pawn.
    pub fn generated(seed: u64) -> Self {
        Self { book: None, seed }
    }

    /// In an order by the seed: none recurs before all have been played.
    pub fn of_book(book: Book, seed: u64) -> Self {
        let mut indices: Vec<u32> = (0..book.len() as u32).collect();
        indices.shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(seed));
        Self { book: Some((book, indices)), seed }
    }

    pub fn read(path: &Path, book_plies: u32, seed: u64) -> Result<Self> {
        Ok(Self::of_book(Book::read(path, book_plies)?, seed))
    }

    pub fn book(&self) -> Option<&Book> {
        self.book.as_ref().map(|(book, _)| book)
    }

    /// For one game, counted from 0: random plies after the usual position or an opening of the book. If none is
    /// within the limit, the next openings of the book are tried; ends after too many failed attempts.
    pub fn drawn(&self, game: u64, random: RandomPlies) -> impl Iterator<Item = Opening> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(xxh3_64_with_seed(&game.to_le_bytes(), self.seed));
        let book = self.book.as_ref().map_or(1, |(book, _)| book.len() as u64);
        let usual = Opening::at(Chess::default(), false);
        let from = move |draw: u64| match &self.book {
            None => usual.clone(),
            Some(_) => self.get(game % book + draw / DRAWS_OF_ONE),
        };
        let draws = DRAWS_OF_ONE * book.clamp(10, 100);
        (0..draws).filter_map(move |draw| random.draw(&from(draw), &mut rng))
    }

    /// Counted from 0; a book restarts when all of it has been played.
    pub fn get(&self, pair: u64) -> Opening {
        match &self.book {
            None => generated::opening(self.seed, pair),
            Some((book, indices)) => book.opening(indices[(pair % indices.len() as u64) as usize] as usize),
        }
    }
}
