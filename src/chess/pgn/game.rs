//! What is known of a game while it is played.
//!
//! Owns results, variants, FEN tags, and which positions are offered to the selection.

use shakmaty::{CastlingMode, Chess, FromSetup, Move, Position, PositionErrorKinds};

use super::scores::comment_scores;
use crate::chess::fen::{legal_position, parse_fen};
use crate::chess::sample::{Sample, position_key};
use crate::chess::selection::{LeftOut, Reason, Selection};

/// What the result tag says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TagResult {
    Missing,
    Known(f32),
}

pub struct Game {
    /// Where it begins in the chunk.
    pub offset: usize,
    pub tag_result: TagResult,
    pub token_result: Option<f32>,
    variant: Variant,
    fen: Option<Vec<u8>>,
    /// `None` before the first move.
    pub position: Option<Chess>,
    pub moves: u32,
    /// Set when the game, or the rest of it, cannot be used.
    pub stopped: Option<Reason>,
    pub terminated: bool,
    /// Of the next position, from a comment behind the last move; centipawns, White's view.
    score_cp: f32,
    /// Whether the position before the last move was the last sample.
    sampled: bool,
    pub first_sample: usize,
    pub positions_read: u64,
    pub left_out: LeftOut,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    Standard,
    Chess960,
    Other,
}

impl Variant {
    /// Judges a Variant tag by its letters and digits.
    fn parse(value: &[u8]) -> Self {
        let name: String = value
            .iter()
            .filter(|b| b.is_ascii_alphanumeric())
            .map(|b| char::from(b.to_ascii_lowercase()))
            .collect();
        match name.as_str() {
            "" | "standard" | "chess" | "normal" | "orthodox" | "regular" | "fromposition" => Self::Standard,
            "chess960" | "960" | "frc" | "dfrc" | "freestyle" | "freestylechess" => Self::Chess960,
            _ if name.contains("fischer") || name.contains("960") => Self::Chess960,
            _ => Self::Other,
        }
    }
}
impl Game {
    pub fn new(offset: usize, first_sample: usize) -> Self {
        Self {
            offset,
            tag_result: TagResult::Missing,
            token_result: None,
            variant: Variant::Standard,
            fen: None,
            position: None,
            moves: 0,
            stopped: None,
            terminated: false,
            score_cp: f32::NAN,
            sampled: false,
            first_sample,
            positions_read: 0,
            left_out: LeftOut::default(),
        }
    }

    /// Whether a tag belongs to another game.
    pub fn ends_at_tags(&self) -> bool {
        self.position.is_some() || self.terminated
    }

    pub fn tag(&mut self, name: &[u8], value: &[u8]) {
        match name {
            b"Result" => {
                self.tag_result = match value.trim_ascii() {
                    b"1-0" => TagResult::Known(1.0),
                    b"0-1" => TagResult::Known(0.0),
                    b"1/2-1/2" | b"1/2" | b"\xc2\xbd-\xc2\xbd" => TagResult::Known(0.5),
                    _ => TagResult::Missing,
                }
            }
            b"FEN" if !matches!(value.trim_ascii(), b"" | b"?" | b"startpos") => {
                self.fen = Some(value.trim_ascii().to_vec());
            }
            b"Variant" => self.variant = Variant::parse(value),
            _ => {}
        }
    }

    /// Sets up the first position; does nothing once that is done.
    pub fn begin(&mut self) {
        if self.position.is_some() {
            return;
        }
        let start = match (&self.fen, self.variant) {
            (_, Variant::Other) => Err(Reason::Variant),
            (None, _) => Ok(Chess::default()),
            (Some(fen), variant) => start_position(fen, variant == Variant::Chess960),
        };
        match start {
            Ok(position) => self.position = Some(position),
            Err(reason) => {
                self.position = Some(Chess::default());
                self.stopped = Some(reason);
            }
        }
    }

    /// Applies the rules of selection to the current position. The last position of a game has no
    /// `next` move; it is kept unless the game is over on the board.
    pub fn offer(&mut self, next: Option<Move>, selection: &Selection, samples: &mut Vec<Sample>) {
        let Some(position) = &self.position else { return };
        let score_cp = std::mem::replace(&mut self.score_cp, f32::NAN);
        self.positions_read += 1;
        self.sampled = false;
        let ply = u64::from(position.fullmoves().get() - 1) * 2 + u64::from(position.turn().is_black());
        let reason = if next.is_none() && position.legal_moves().is_empty() {
            Some(Reason::GameOver)
        } else if ply < u64::from(selection.skip_plies) {
            Some(Reason::EarlyPly)
        } else if !selection.keep_checks && position.is_check() {
            Some(Reason::InCheck)
        } else if !selection.keep_captures && next.is_some_and(|m| m.is_capture() || m.is_promotion()) {
            Some(Reason::CaptureNext)
        } else {
            None
        };
        if let Some(reason) = reason {
            self.left_out.add(reason);
            return;
        }
        self.sampled = true;
        samples.push(Sample {
            board: position.board().clone(),
            turn: position.turn(),
            key: position_key(position),
            result: 0.5,
            score_cp,
            game: None,
        });
    }

    pub fn comment(&mut self, text: &[u8], samples: &mut [Sample]) {
        if self.position.is_none() || self.stopped.is_some() || self.moves == 0 {
            return;
        }
        let scores = comment_scores(text);
        if let Some(after) = scores.after {
            self.score_cp = after;
        }
        if let (Some(mover), true, Some(sample)) = (scores.mover, self.sampled, samples.last_mut())
            && sample.score_cp.is_nan()
        {
            sample.score_cp = if sample.turn.is_white() { mover } else { 0.0 - mover };
        }
    }
}

/// The first position of a game with a FEN tag. Castling rights that ordinary chess cannot
/// express are taken as Chess960 whatever the Variant tag says.
fn start_position(fen: &[u8], chess960: bool) -> Result<Chess, Reason> {
    let (setup, used) = parse_fen(fen).map_err(|_| Reason::BadFen)?;
    if !fen[used..].trim_ascii().is_empty() && !fen[used..].starts_with(b" ") {
        return Err(Reason::BadFen);
    }
    let mode = if chess960 { CastlingMode::Chess960 } else { CastlingMode::detect(&setup) };
    if chess960 {
        let strict = Chess::from_setup(setup.clone(), mode);
        if strict.is_err_and(|error| error.kinds().contains(PositionErrorKinds::INVALID_CASTLING_RIGHTS)) {
            return Err(Reason::BadCastling);
        }
    }
    legal_position(setup, mode).map_err(|_| Reason::BadFen)
}
