//! The course of a game: the board, repetitions, scores, and all conditions that end it.

use shakmaty::zobrist::Zobrist64;
use shakmaty::{KnownOutcome, Move, Position};

use super::adjudication::{Adjudication, Adjudicator, Verdict};
use super::end::{End, key, natural_end};
use super::openings::Opening;
use super::player::GameSoFar;
use crate::engine::Score;

/// A game in progress, or a replayed one.
pub(super) struct Course {
    pub game: GameSoFar,
    keys: Vec<Zobrist64>,
    adjudicator: Adjudicator,
}

impl Course {
    /// Creates a game after the moves of its opening.
    pub fn new(opening: &Opening, adjudication: Adjudication) -> Self {
        let game = GameSoFar {
            start: opening.start.clone(),
            chess960: opening.chess960,
            moves: Vec::with_capacity(200),
            position: opening.start.clone(),
            clocks: None,
        };
        let keys = vec![key(&opening.start)];
        let mut course = Self { game, keys, adjudicator: Adjudicator::new(adjudication) };
        opening.moves.iter().for_each(|&m| course.push(m));
        course
    }

    /// Adds a legal move that an engine chose, with its score from the mover's view.
    pub fn play(&mut self, m: Move, score: Option<Score>) {
        let turn = self.game.position.turn();
        self.push(m);
        self.adjudicator.add(turn, score);
    }

    /// Returns the outcome if the game is over by the rules of chess, or else by adjudication.
    pub fn end(&self) -> Option<(KnownOutcome, End)> {
        let position = &self.game.position;
        natural_end(position, &self.keys).or_else(|| {
            let moves_over = position.fullmoves().get() - 1;
            self.adjudicator.verdict(self.game.moves.len(), moves_over).map(|verdict| match verdict {
                Verdict::Draw => (KnownOutcome::Draw, End::AdjudicatedDraw),
                Verdict::Win(winner) => (KnownOutcome::Decisive { winner }, End::AdjudicatedWin),
                Verdict::TooLong => (KnownOutcome::Draw, End::TooLong),
            })
        })
    }

    fn push(&mut self, m: Move) {
        self.game.position.play_unchecked(m);
        self.game.moves.push(m);
        // Positions before a capture or pawn move cannot recur.
        if self.game.position.halfmoves() == 0 {
            self.keys.clear();
        }
        self.keys.push(key(&self.game.position));
    }
}
