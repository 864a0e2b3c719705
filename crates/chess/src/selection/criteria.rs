//! Applies the rules that a position and its game decide.

use std::cell::RefCell;

use shakmaty::{Board, Chess, Move, Position};

use super::{Reason, Resolve, Selection};
use crate::comments::{ScoreConvention, ScoreForm};
use crate::evaluation::Evaluation;
use crate::labels::MAX_SCORE_CP;
use crate::quiescence::{NodeLimit, Quiescence};
use crate::sample::{Batch, Origin, Sample, game_ply, position_key};

/// Largest number of positions of one game that are read; under the 75-move rule no game is longer than
/// 17,697.
pub const MAX_PLIES: usize = 20_000;

#[derive(Clone, Debug)]
pub struct Ply {
    pub position: Chess,
    /// The move played in it, unless it is the last.
    pub next: Option<Move>,
    /// Search score, centipawns, White's view; NaN where unknown.
    pub score_cp: f32,
    pub score_form: Option<ScoreForm>,
    pub book: bool,
    event: Option<Reason>,
}

impl Ply {
    pub fn new(position: Chess) -> Self {
        Self { position, next: None, score_cp: f32::NAN, score_form: None, book: false, event: None }
    }
}

#[derive(Clone, Copy)]
pub struct Criteria<'a> {
    pub selection: &'a Selection,
    /// Needed if [`Selection::searches`].
    pub search: Option<&'a dyn PositionSearch>,
    pub origins: bool,
    pub scores: ScoreConvention,
}

impl<'a> From<&'a Selection> for Criteria<'a> {
    fn from(selection: &'a Selection) -> Self {
        Self { selection, search: None, origins: false, scores: ScoreConvention::default() }
    }
}

/// Plies until something happens, 0 if it happens here; [`NEVER`] if it does not.
#[derive(Clone, Copy)]
struct Until {
    check: u32,
    mate: u32,
    capture: u32,
}

const NEVER: u32 = u32::MAX;

impl Criteria<'_> {
    /// Returns true if anything is drawn per game, for which a game needs an identity.
    pub fn draws_by_game(&self) -> bool {
        self.selection.share < 1.0 || self.selection.per_game.is_some()
    }

    /// Judges the positions of a game, appends those that are kept to `batch` and counts the others there.
    pub fn judge_game(&self, plies: &mut [Ply], identity: u64, batch: &mut Batch) {
        let rules = self.selection;
        let ahead = rules.before_checks.max(rules.before_captures).max(rules.before_mates) > 0;
        if ahead {
            self.look_ahead(plies);
        }
        let mut kept = Vec::new();
        for (index, ply) in plies.iter().enumerate() {
            match self.judge_ply(ply, ahead).or_else(|| self.judge_anywhere(&ply.position, ply.score_cp)) {
                Some(reason) => batch.left_out.add(reason),
                None if !self.shared(identity, index as u64) => batch.left_out.add(Reason::Share),
                None if rules.per_game.is_some() => kept.push(index),
                None => self.keep(ply, batch),
            }
        }
        if let Some(count) = rules.per_game {
            let count = count as usize;
            if kept.len() > count {
                batch.left_out.add_many(Reason::PerGame, (kept.len() - count) as u64);
                kept.select_nth_unstable_by_key(count, |&index| {
                    (draw(rules.seed, identity, 2 * index as u64 + 1), index)
                });
                kept.truncate(count);
                kept.sort_unstable();
            }
            for index in kept {
                self.keep(&plies[index], batch);
            }
        }
    }

    fn keep(&self, ply: &Ply, batch: &mut Batch) {
        match self.sample(&ply.position, ply.next, ply.score_cp) {
            Ok((sample, origin)) => {
                batch.samples.push(sample);
                batch.origins.extend(origin);
            }
            Err(reason) => batch.left_out.add(reason),
        }
    }

    /// Judges a labeled position that belongs to no game; `number` is that of its line. The origin is there
    /// if requested.
    pub fn judge_line(
        &self,
        position: &Chess,
        score_cp: f32,
        number: u64,
    ) -> Result<(Sample, Option<Origin>), Reason> {
        if position.is_check() {
            // Mate is a check, too, and cannot be evaluated whatever the settings.
            if !self.selection.keep_checks {
                return Err(Reason::InCheck);
            }
            if !self.selection.keep_ends && position.legal_moves().is_empty() {
                return Err(Reason::GameOver);
            }
        } else if !self.selection.keep_ends && crate::fen::is_stalemate(position) {
            return Err(Reason::GameOver);
        }
        if let Some(reason) = self.judge_anywhere(position, score_cp) {
            return Err(reason);
        }
        if !self.shared(number, 0) {
            return Err(Reason::Share);
        }
        self.sample(position, None, score_cp)
    }

    fn judge_ply(&self, ply: &Ply, ahead: bool) -> Option<Reason> {
        let rules = self.selection;
        let position = &ply.position;
        if ply.next.is_none() && !rules.keep_ends && position.legal_moves().is_empty() {
            return Some(Reason::GameOver);
        }
        let number = game_ply(position);
        if number < u64::from(rules.skip_plies) {
            return Some(Reason::EarlyPly);
        }
        if rules.max_ply.is_some_and(|last| number > u64::from(last)) {
            return Some(Reason::LatePly);
        }
        let event = if ahead {
            ply.event
        } else {
            let at = |now: bool| if now { 0 } else { NEVER };
            self.event(Until {
                check: at(!rules.keep_checks && position.is_check()),
                mate: NEVER,
                capture: at(self.is_capture(ply.next)),
            })
        };
        event.or_else(|| (rules.no_book && ply.book).then_some(Reason::BookMove))
    }

    fn judge_anywhere(&self, position: &Chess, score_cp: f32) -> Option<Reason> {
        let rules = self.selection;
        if let Some(reason) = self.judge_pieces(position.board(), score_cp) {
            return Some(reason);
        }
        match (rules.quiescence_margin_cp, self.search) {
            (Some(margin), Some(search)) => match search.is_quiet(position, margin) {
                Ok(true) => None,
                Ok(false) => Some(Reason::Loud),
                Err(_) => Some(Reason::Unsearched),
            },
            _ => None,
        }
    }

    fn judge_pieces(&self, board: &Board, score_cp: f32) -> Option<Reason> {
        let rules = self.selection;
        let pieces = board.occupied().count() as u32;
        if rules.min_non_pawns > 0 && pieces - (board.pawns().count() as u32) < rules.min_non_pawns {
            return Some(Reason::FewNonPawns);
        }
        if pieces < rules.min_pieces {
            return Some(Reason::FewPieces);
        }
        if pieces > rules.max_pieces {
            return Some(Reason::ManyPieces);
        }
        if score_cp.is_nan() {
            if rules.require_score {
                return Some(Reason::NoScore);
            }
        } else if rules.no_mates && score_cp.abs() >= MAX_SCORE_CP {
            return Some(Reason::MateScore);
        } else if rules.max_score_cp.is_some_and(|limit| f64::from(score_cp.abs()) > f64::from(limit)) {
            return Some(Reason::LargeScore);
        }
        None
    }

    fn look_ahead(&self, plies: &mut [Ply]) {
        let mut until = Until { check: NEVER, mate: NEVER, capture: NEVER };
        for ply in plies.iter_mut().rev() {
            let step = |distance: u32, now: bool| if now { 0 } else { distance.saturating_add(1) };
            let check = ply.position.is_check();
            let mate = check && ply.next.is_none() && ply.position.legal_moves().is_empty();
            until = Until {
                check: step(until.check, check),
                mate: step(until.mate, mate),
                capture: step(until.capture, self.is_capture(ply.next)),
            };
            ply.event = self.event(until);
        }
    }

    fn event(&self, until: Until) -> Option<Reason> {
        let rules = self.selection;
        if !rules.keep_checks && until.check <= rules.before_checks {
            return Some(if until.check == 0 { Reason::InCheck } else { Reason::BeforeCheck });
        }
        if until.mate <= rules.before_mates {
            return Some(Reason::BeforeMate);
        }
        if until.capture <= rules.before_captures {
            return Some(if until.capture == 0 { Reason::CaptureNext } else { Reason::BeforeCapture });
        }
        None
    }

    fn is_capture(&self, next: Option<Move>) -> bool {
        let rules = self.selection;
        !rules.keep_captures
            && next.is_some_and(|m| m.is_capture() || (m.is_promotion() && !rules.keep_promotions))
    }

    fn shared(&self, identity: u64, index: u64) -> bool {
        let share = self.selection.share;
        share >= 1.0 || unit_interval(draw(self.selection.seed, identity, 2 * index)) < share
    }

    fn sample(
        &self,
        position: &Chess,
        next: Option<Move>,
        score_cp: f32,
    ) -> Result<(Sample, Option<Origin>), Reason> {
        let key = position_key(position);
        let kept = |position: &Chess, leaf_key| {
            let next = next.filter(|_| leaf_key == key);
            let origin = self.origins.then(|| Origin { position: position.clone(), next, score_cp });
            (sample_of(position, key, leaf_key, score_cp), origin)
        };
        match (self.selection.resolve, self.search) {
            (Resolve::None, _) | (_, None) => Ok(kept(position, key)),
            (resolve, Some(search)) => match search.leaf(position, resolve) {
                Ok(leaf) => Ok(kept(&leaf, position_key(&leaf))),
                Err(_) => Err(Reason::Unsearched),
            },
        }
    }
}

fn sample_of(position: &Chess, key: u64, leaf_key: u64, score_cp: f32) -> Sample {
    Sample {
        board: position.board().clone(),
        turn: position.turn(),
        key,
        leaf_key,
        result: 0.5,
        score_cp,
        move_number: position.fullmoves().get(),
        game: None,
    }
}

/// Returns a pseudorandom number determined by a seed and two numbers: the finalizer of SplitMix64 (Steele,
/// Lea, Flood 2014) over each in turn.
#[inline]
pub fn draw(seed: u64, identity: u64, index: u64) -> u64 {
    [identity, index].into_iter().fold(mix(seed), |state, word| mix(state ^ word))
}

#[inline]
fn mix(word: u64) -> u64 {
    let word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// Maps to a number from 0 to 1, 1 excluded.
#[inline]
pub fn unit_interval(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1u64 << 53) as f64
}

/// Number of nodes of quiescence after which a position is given up. Real ones take dozens, at worst some ten
/// thousand, and made-up ones could take hours.
pub const NODE_LIMIT: u64 = 100_000;

pub trait PositionSearch {
    /// Returns true if the quiescence score is within `margin_cp` of the static one.
    fn is_quiet(&self, position: &Chess, margin_cp: u32) -> Result<bool, NodeLimit>;

    /// Returns the position that replaces `position`: the end of its principal variation, or the last
    /// position before a mate or stalemate, in which there is nothing to evaluate.
    fn leaf(&self, position: &Chess, resolve: Resolve) -> Result<Chess, NodeLimit>;
}

impl<E: Evaluation> PositionSearch for RefCell<Quiescence<'_, E>> {
    fn is_quiet(&self, position: &Chess, margin_cp: u32) -> Result<bool, NodeLimit> {
        self.borrow_mut().is_quiet(position, i32::try_from(margin_cp).unwrap_or(i32::MAX))
    }

    fn leaf(&self, position: &Chess, resolve: Resolve) -> Result<Chess, NodeLimit> {
        let resolved = match resolve {
            Resolve::None => return Ok(position.clone()),
            Resolve::Quiescence => self.borrow_mut().resolve(position)?,
            Resolve::Depth1 => self.borrow_mut().resolve_depth1(position)?,
        };
        let over = if resolved.position.is_check() {
            resolved.position.legal_moves().is_empty()
        } else {
            crate::fen::is_stalemate(&resolved.position)
        };
        if !over {
            return Ok(resolved.position);
        }
        let mut last = position.clone();
        for &m in resolved.moves.split_last().map_or(&[][..], |(_, before)| before) {
            last.play_unchecked(m);
        }
        Ok(last)
    }
}
