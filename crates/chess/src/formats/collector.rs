//! Turns parsed games and positions into samples: judges them by the criteria and counts what is left out.

use crate::sample::{Batch, Damage, Sample, game_ply, position_key};
use crate::selection::{Criteria, Ply, Reason, draw};
use shakmaty::{Bitboard, Chess, Position, Rank};

pub(crate) struct Collector<'c> {
    batch: Batch,
    criteria: Criteria<'c>,
    games: u64,
    /// The last position of the last game.
    last: Option<Place>,
}

struct Place {
    /// See [`game_ply`].
    ply: u64,
    /// Pieces of White and Black.
    pieces: [usize; 2],
    result: f32,
}

/// Largest number of plies that may be missing between two parts of a game.
const MOST_MISSING: u32 = 32;

impl Place {
    fn new(position: &Chess, result: f32) -> Self {
        let board = position.board();
        Self { ply: game_ply(position), pieces: [board.white().count(), board.black().count()], result }
    }

    /// Returns true if a later position may belong to the same game. Taking two games for one does no harm:
    /// their positions go to the same fold.
    fn may_precede(&self, later: &Self) -> bool {
        self.result == later.result
            && (self.ply + 1..=self.ply + 1 + u64::from(MOST_MISSING)).contains(&later.ply)
            && self.pieces.iter().zip(later.pieces).all(|(before, after)| after <= *before)
    }
}

impl<'c> Collector<'c> {
    pub fn new(criteria: Criteria<'c>) -> Self {
        Self { batch: Batch::default(), criteria, games: 0, last: None }
    }

    /// Adds consecutive positions of a game, each with the move played in it and its score, and the game's
    /// result in White's view.
    pub fn game(&mut self, plies: &mut Vec<Ply>, result: f32) {
        if let [ply] = &plies[..]
            && has_no_counters(&ply.position)
        {
            let (position, next, score_cp) = (ply.position.clone(), ply.next, ply.score_cp);
            plies.clear();
            let number = self.batch.records;
            let kept = self.batch.origins.len();
            self.position(&position, score_cp, result, number);
            if let Some(origin) = self.batch.origins.get_mut(kept) {
                origin.next = next;
            }
            return;
        }
        let identity = if self.criteria.draws_by_game() { identity(plies) } else { 0 };
        let batch = &mut self.batch;
        batch.records += 1;
        batch.plies += plies.len() as u64;
        batch.positions_read += plies.len() as u64;
        let first = batch.samples.len();
        self.criteria.judge_game(plies, identity, batch);
        if let (Some(first), Some(last)) = (plies.first(), plies.last()) {
            let first = Place::new(&first.position, result);
            self.games += u64::from(!self.last.as_ref().is_some_and(|before| before.may_precede(&first)));
            self.last = Some(Place::new(&last.position, result));
        }
        let number = self.games;
        let mut heard = [false; 2];
        for sample in &mut batch.samples[first..] {
            sample.result = result;
            sample.game = Some(number);
            // Positions of a game are not independent: one per side to move counts.
            let heard = &mut heard[usize::from(sample.turn.is_white())];
            *heard = *heard || batch.agreement.add(&sample.board, sample.turn, result);
        }
        plies.clear();
    }

    /// Adds a position that belongs to no known game; `number` distinguishes it from others of the input.
    pub fn position(&mut self, position: &Chess, score_cp: f32, result: f32, number: u64) {
        self.batch.records += 1;
        self.batch.positions_read += 1;
        match self.criteria.judge_line(position, score_cp, number) {
            Ok((sample, origin)) => {
                self.batch.push_single(Sample { result, ..sample }, origin);
            }
            Err(reason) => self.batch.left_out.add(reason),
        }
    }

    pub fn expect(&mut self, samples: usize) {
        self.batch.samples.reserve(samples);
    }

    /// Counts a record that cannot be used; `offset` is that of its first byte in the input.
    pub fn refuse(&mut self, reason: Reason, offset: u64, what: impl FnOnce() -> String) {
        self.batch.records += 1;
        self.batch.left_out.add(reason);
        self.batch.complain(offset, what);
    }

    /// Records bytes that cannot be parsed at all, unless others before them are recorded.
    pub fn damage(&mut self, offset: u64, what: String) {
        self.batch.damage.get_or_insert(Damage { offset, what });
    }

    pub fn is_damaged(&self) -> bool {
        self.batch.damage.is_some()
    }

    pub fn finish(self) -> Batch {
        self.batch
    }
}

/// Returns true if a position claims to be the first of a game, or the one after it, and cannot be.
fn has_no_counters(position: &Chess) -> bool {
    let begun = position.fullmoves().get() == 1 && position.halfmoves() == 0;
    let homes = Bitboard::from_rank(Rank::First) | Bitboard::from_rank(Rank::Second);
    let initial = homes | Bitboard(homes.0.swap_bytes());
    // One move changes at most two squares of a side, or four of a king and a rook.
    begun && (position.board().occupied() ^ initial).count() > 4
}

/// Returns a number that depends only on the first position and the moves.
fn identity(plies: &[Ply]) -> u64 {
    let start = plies.first().map_or(0, |ply| position_key(&ply.position));
    plies.iter().filter_map(|ply| ply.next).fold(start, |identity, next| {
        let from = next.from().map_or(64, u64::from);
        draw(identity, from << 8 | u64::from(next.to()), next.promotion().map_or(0, |role| role as u64))
    })
}
