//! Writes positions in any format, and counts what a format cannot express.

use crate::sample::Origin;
use serde::Serialize;
use shakmaty::Position;

use crate::formats::binpack::BinpackWriter;
use crate::formats::{Format, viriformat};

/// Counts of positions of which something was lost, and of those left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Losses {
    /// Castling rights or en passant captures.
    pub rights: u64,
    /// Move numbers and plies without progress.
    pub clocks: u64,
    /// The move played.
    pub moves: u64,
    /// Color of the sides: positions with Black to move are seen from Black's side.
    pub sides: u64,
    /// Scores that were rounded to whole centipawns.
    pub rounded: u64,
    /// Positions without a known move that got a legal one, since the format demands one.
    pub invented_moves: u64,
    /// Positions without a known move that have the null move.
    pub null_moves: u64,
    /// Positions without a score that got the default one.
    pub default_scores: u64,
    /// Left out: the last position of a game, in which no move was played.
    pub without_move: u64,
    /// Left out: no score.
    pub without_score: u64,
    /// Left out: the result is neither a loss, a draw nor a win.
    pub without_result: u64,
    /// Left out for other reasons: mate or stalemate where a move is needed, more than 32 pieces, Chess960
    /// castling in binpack.
    pub inexpressible: u64,
}

impl Losses {
    /// Adds the counts of other positions.
    pub fn merge(&mut self, other: &Self) {
        let mine = [
            &mut self.rights,
            &mut self.clocks,
            &mut self.moves,
            &mut self.sides,
            &mut self.rounded,
            &mut self.invented_moves,
            &mut self.null_moves,
            &mut self.default_scores,
            &mut self.without_move,
            &mut self.without_score,
            &mut self.without_result,
            &mut self.inexpressible,
        ];
        for (mine, theirs) in mine.into_iter().zip(other.listed()) {
            *mine += theirs.0;
        }
    }

    /// Returns the counts with their descriptions.
    pub fn listed(&self) -> [(u64, &'static str); 12] {
        [
            (self.rights, "positions lost their castling rights or en passant capture"),
            (self.clocks, "positions lost their move number or the plies without progress"),
            (self.moves, "positions lost the move played"),
            (self.sides, "positions with Black to move are now seen with White to move"),
            (self.rounded, "scores were rounded to whole centipawns"),
            (
                self.invented_moves,
                "positions have no known move and got some legal one, which the format demands",
            ),
            (self.null_moves, "positions have no known move and got the null move"),
            (self.default_scores, "positions have no score and got the one given for them"),
            (self.without_move, "last positions of games left out: no move was played in them"),
            (self.without_score, "positions left out: they have no score, which the format demands"),
            (self.without_result, "positions left out: their result is neither a loss, a draw nor a win"),
            (self.inexpressible, "positions left out: the format cannot express them"),
        ]
    }

    /// Returns the number of positions left out.
    pub fn left_out(&self) -> u64 {
        self.without_move + self.without_score + self.without_result + self.inexpressible
    }
}

/// Writer of positions in order.
pub struct Writer {
    format: Format,
    /// Score of positions without one.
    default_score_cp: Option<f32>,
    /// Counts of losses.
    pub losses: Losses,
    pub(super) binpack: BinpackWriter,
    /// The last position of the game being written and its result.
    pub(super) game: Option<(Origin, f32)>,
    /// Number of the game of the positions, if the format has one.
    pub(super) game_number: u32,
    pub(super) weight: Option<f32>,
    line: String,
}

impl Writer {
    /// Creates a writer of a format. Positions without a score get `default_score_cp`, White's view, if the
    /// format demands one.
    pub fn new(format: Format, default_score_cp: Option<f32>) -> Self {
        Self {
            format,
            default_score_cp,
            losses: Losses::default(),
            binpack: BinpackWriter::default(),
            game: None,
            game_number: 0,
            weight: None,
            line: String::new(),
        }
    }

    /// Sets the game number of the following positions; only [`Format::Games`] stores it.
    pub fn set_game_number(&mut self, number: u32) {
        self.game_number = number;
    }

    /// Sets the weight of the following positions, if they have any; only formats that
    /// [have weights](Format::has_games_and_weights) store it.
    pub fn set_weight(&mut self, weight: Option<f32>) {
        self.weight = weight;
    }

    /// Appends a position with a result in White's view to `out`. Returns false if it was left out.
    ///
    /// `in_game` means that the source has moves: a position without one is the last of its game, and is left
    /// out if the format demands a move.
    pub fn push(&mut self, origin: &Origin, result: f32, in_game: bool, out: &mut Vec<u8>) -> bool {
        let spec = self.format.spec();
        let Some(output) = spec.output else {
            self.losses.inexpressible += 1;
            return false;
        };
        if in_game && origin.next.is_none() && spec.has_moves {
            self.losses.without_move += 1;
            return false;
        }
        let mut origin = std::borrow::Cow::Borrowed(origin);
        if origin.score_cp.is_nan() && !output.has_missing_scores {
            let Some(score_cp) = self.default_score_cp else {
                self.losses.without_score += 1;
                return false;
            };
            origin.to_mut().score_cp = score_cp;
            self.losses.default_scores += 1;
        }
        if ![0.0, 0.5, 1.0].contains(&result) && !output.has_fractions {
            self.losses.without_result += 1;
            return false;
        }
        if !(output.push)(self, &origin, result, out) {
            self.losses.inexpressible += 1;
            return false;
        }
        let (losses, position) = (&mut self.losses, &origin.position);
        let clocks = position.halfmoves() > 0 || position.fullmoves().get() > 1;
        losses.clocks += u64::from(clocks && !output.has_clocks);
        losses.moves += u64::from(origin.next.is_some() && !spec.has_moves);
        losses.rounded += u64::from(origin.score_cp.fract() != 0.0 && !origin.score_cp.is_nan());
        true
    }

    /// Ends games and blocks that are begun.
    pub fn flush(&mut self, out: &mut Vec<u8>) {
        self.binpack.flush(out);
        if self.game.take().is_some() {
            out.extend_from_slice(&viriformat::END);
        }
    }

    /// Appends a text that is written by `write`, which cannot fail.
    pub(super) fn push_text(
        &mut self,
        out: &mut Vec<u8>,
        write: impl FnOnce(&mut String) -> std::fmt::Result,
    ) -> bool {
        self.line.clear();
        let written = write(&mut self.line);
        out.extend_from_slice(self.line.as_bytes());
        written.is_ok()
    }
}
