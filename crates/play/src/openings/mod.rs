//! Openings of games.
//!
//! Invariant: the opening of a pair depends only on the seed and the number of the pair.

mod book;
mod random;

use std::path::Path;

use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use shakmaty::{Chess, Color, Move, Position};
use xxhash_rust::xxh3::xxh3_64_with_seed;

pub use book::Book;
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
    book: Book,
    order: Vec<u32>,
    seed: u64,
}

impl Openings {
    /// Of the [bundled book](Book::bundled).
    pub fn bundled(seed: u64) -> Self {
        Self::of_book(Book::bundled(), seed)
    }

    /// In an order by the seed: none recurs before all have been played.
    pub fn of_book(book: Book, seed: u64) -> Self {
        let mut order: Vec<u32> = (0..book.len() as u32).collect();
        order.shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(seed));
        Self { book, order, seed }
    }

    /// Of a book, or of the [bundled one](Book::bundled) without a path.
    pub fn read(path: Option<&Path>, book_plies: u32, seed: u64) -> Result<Self> {
        let book = path.map_or_else(|| Ok(Book::bundled()), |path| Book::read(path, book_plies))?;
        Ok(Self::of_book(book, seed))
    }

    pub fn book(&self) -> &Book {
        &self.book
    }

    /// For one game, counted from 0: random plies after an opening of the book. If none is within the limit, the next
    /// openings of the book are tried; ends after too many failed attempts.
    pub fn drawn(&self, game: u64, plies: u32) -> impl Iterator<Item = Opening> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(xxh3_64_with_seed(&game.to_le_bytes(), self.seed));
        let book = self.book.len() as u64;
        let from = move |draw: u64| self.get(game % book + draw / DRAWS_OF_ONE);
        let draws = DRAWS_OF_ONE * book.clamp(10, 100);
        (0..draws).filter_map(move |draw| random::draw(plies, &from(draw), &mut rng))
    }

    /// Counted from 0; a book restarts when all of it has been played.
    pub fn get(&self, pair: u64) -> Opening {
        self.book.opening(self.order[(pair % self.order.len() as u64) as usize] as usize)
    }
}
