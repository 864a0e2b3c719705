//! Output of the readers: positions with their labels, batch by batch, and the agreement of labels with the
//! material on the board.

use shakmaty::{Board, Chess, Color, EnPassantMode, Move, Position, Square};
use xxhash_rust::xxh3::xxh3_64;

pub use super::agreement::{Agreement, Verdict, material_balance};
use super::agreement::{TELLING_SCORE_CP, is_decisive};
use super::comments::CommentTally;
use super::reason::{LeftOut, Reason};
use super::scale::ResultTally;

#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The pieces, after resolving if positions are resolved.
    pub board: Board,
    pub turn: Color,
    /// Hash of board, side to move, castling rights and en passant square.
    pub key: u64,
    /// The same hash for the position that the features are taken from: another one if positions are
    /// resolved.
    pub leaf_key: u64,
    pub result: f32,
    /// Search score, centipawns, White's view; NaN where unknown.
    pub score_cp: f32,
    /// Number of the move, as in a FEN: 1 until Black's first move is played.
    pub move_number: u32,
    /// For games: the number of the game within its batch. For text: the game column, if there is one.
    pub game: Option<u64>,
}

/// The whole position of a sample, which a conversion also needs.
#[derive(Clone, Debug)]
pub struct Origin {
    pub position: Chess,
    pub next: Option<Move>,
    /// Search score, centipawns, White's view; NaN where unknown.
    pub score_cp: f32,
}

/// The first bytes of a binary input that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    pub offset: u64,
    pub what: String,
}

/// Unread text next to positions: the number of occurrences, and the first, with its line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unread {
    pub count: u64,
    pub first: Option<(u64, String)>,
}

impl Unread {
    pub fn add(&mut self, line: u64, text: impl FnOnce() -> String) {
        self.count += 1;
        self.first.get_or_insert_with(|| (line, text()));
    }
}

#[derive(Clone, Debug, Default)]
pub struct Batch {
    pub samples: Vec<Sample>,
    pub origins: Vec<Origin>,
    /// Games (PGN) or lines (text, without blank lines and comments) read.
    pub records: u64,
    pub positions_read: u64,
    pub left_out: LeftOut,
    /// The first few complaints: line and reason.
    pub complaints: Vec<(u64, String)>,
    /// The first games that were left out or cut short.
    pub skipped: Vec<SkippedGame>,
    /// Plies of the games that can be used at least in part, and of faulty games.
    pub plies: u64,
    /// Number of plies that cannot be played.
    pub plies_lost: u64,
    pub agreement: Agreement,
    pub score_agreement: Agreement,
    pub comments: CommentTally,
    pub tally: ResultTally,
    pub unread_scores: Unread,
    /// Parts of labeled text other than positions, results and scores.
    pub unread_text: Unread,
    pub damage: Option<Damage>,
}

/// Game that was left out, wholly or from some move on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedGame {
    /// Number of the game within its batch, from 0.
    pub game: u64,
    pub line: u64,
    pub reason: Reason,
    pub what: String,
}

impl Batch {
    pub const COMPLAINTS: usize = 5;
    pub const NAMED_GAMES: usize = 20;
    /// Number of faulty games recorded for a batch in any case, and when too many are rejected.
    pub const NAMED_FAULTS: usize = 3;

    /// Adds a position that belongs to no game, and its origin if requested.
    pub fn push_single(&mut self, sample: Sample, origin: Option<Origin>) {
        self.hold_against_material(&sample.board, sample.turn, sample.result, sample.score_cp);
        self.samples.push(sample);
        self.origins.extend(origin);
    }

    fn hold_against_material(&mut self, board: &Board, turn: Color, result: f32, score_cp: f32) {
        let decisive = is_decisive(result);
        let scored = score_cp.abs() >= TELLING_SCORE_CP;
        if !decisive && !scored {
            return;
        }
        let balance = material_balance(board);
        if decisive && let Some(agrees) = self.agreement.add_balance(balance, turn, result > 0.5) {
            self.tally.decisive(result, agrees);
        }
        if scored {
            self.score_agreement.add_balance(balance, turn, score_cp > 0.0);
        }
    }

    /// Records a complaint unless there are enough already.
    pub fn complain(&mut self, line: u64, reason: impl FnOnce() -> String) {
        if self.complaints.len() < Self::COMPLAINTS {
            self.complaints.push((line, reason()));
        }
    }
}

/// Returns the plies since the beginning of the game, by the move number, which may be any in a FEN.
pub fn game_ply(position: &Chess) -> u64 {
    2 * u64::from(position.fullmoves().get() - 1) + u64::from(position.turn().is_black())
}

/// Returns the hash of everything that makes two positions the same: board, side to move, castling rights,
/// and the en passant square if a capture on it is legal.
pub fn position_key(position: &Chess) -> u64 {
    let ep = position.ep_square(EnPassantMode::Legal);
    board_key(position.board(), position.turn(), position.castles().castling_rights().0, ep)
}

/// Returns the hash of a position given by its parts: the rooks with castling rights, and the square of a
/// legal en passant capture.
pub(crate) fn board_key(board: &Board, turn: Color, castling: u64, ep: Option<Square>) -> u64 {
    let ep = ep.map_or(64, |square| u64::from(u32::from(square)));
    let words = [
        board.white().0,
        board.pawns().0,
        board.knights().0,
        board.bishops().0,
        board.rooks().0,
        board.queens().0,
        board.kings().0,
        castling,
        ep << 1 | u64::from(turn.is_white()),
    ];
    xxh3_64(bytemuck::bytes_of(&words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn en_passant_counts_only_where_it_can_be_taken() {
        let key = |fen: &str| {
            let (setup, _) = super::super::fen::parse_fen(fen.as_bytes()).unwrap();
            position_key(&super::super::fen::legal_position(setup, shakmaty::CastlingMode::Chess960).unwrap())
        };
        let after_e4 = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq";
        assert_eq!(key(&format!("{after_e4} e3 0 1")), key(&format!("{after_e4} - 5 9")));
        let takable = "4k3/8/8/8/3pP3/8/8/4K3 b -";
        assert_ne!(key(&format!("{takable} e3")), key(&format!("{takable} -")));
        assert_ne!(key("4k3/8/8/8/8/8/8/4K3 b - -"), key("4k3/8/8/8/8/8/8/4K3 w - -"));
        assert_ne!(key("4k3/8/8/8/8/8/8/4K2R w K -"), key("4k3/8/8/8/8/8/8/4K2R w - -"));
    }
}
