//! bulletformat's chess boards: records of 32 bytes as the trainer bullet reads them.
//!
//! A record is seen from the side to move: its pieces come first and move up the board. Bytes, low byte
//! first: occupancy 0–7, codes 8–23 (pawn to king 0–5, the other side's 8–13), score in centipawns 24–25,
//! result 26 (0 loss, 1 draw, 2 win), square of the own king 27, square of the other king from its own side
//! 28, three unused. Castling rights, en passant squares, clocks and moves are not stored, nor is the color
//! of the side to move. All positions are read with White to move, which makes no difference to an evaluation
//! that treats both sides alike.

use std::num::NonZeroU32;

use crate::fen::legal_position;
use shakmaty::{Bitboard, CastlingMode, Chess, Color, Position, Setup};

use crate::formats::packed::{CODE_BYTES, Planes, board, codes, roles};
use crate::formats::records::{Bare, Labeled, RECORD_BYTES, RecordError};
use crate::formats::{stored_score, white_score};

/// Bit of a code that marks the other side's pieces.
const OTHER_SIDE: usize = 3;

/// Reads a record without checking the legality of its position.
pub(crate) fn read_bare(record: &[u8; RECORD_BYTES]) -> Result<Bare, RecordError> {
    let (head, tail) = record.split_at(8);
    let occupied = u64::from_le_bytes(head.try_into().unwrap_or_default());
    let codes: [u8; CODE_BYTES] = tail[..CODE_BYTES].try_into().unwrap_or_default();
    let planes = Planes::new(occupied, codes).ok_or(RecordError::Board("more than 32 pieces"))?;
    let [pawn, knight, bishop, rook, queen, king, _] = planes.lower();
    if pawn | knight | bishop | rook | queen | king != occupied {
        return Err(RecordError::Board("a piece that there is not"));
    }
    let own = occupied & !planes.with_bit(OTHER_SIDE);
    let result = match record[26] {
        0 => 0.0,
        1 => 0.5,
        2 => 1.0,
        byte => return Err(RecordError::Result(byte)),
    };
    let score = i16::from_le_bytes([record[24], record[25]]);
    let board =
        board([pawn, knight, bishop, rook, queen, king], own).ok_or(RecordError::Board("not a board"))?;
    Ok(Bare { board, score_cp: white_score(score, Color::White), result })
}

/// Reads a record.
pub(crate) fn read(record: &[u8; RECORD_BYTES]) -> Result<Labeled, RecordError> {
    let Bare { board, score_cp, result } = read_bare(record)?;
    let setup = Setup {
        board,
        promoted: Bitboard::EMPTY,
        pockets: None,
        turn: Color::White,
        castling_rights: Bitboard::EMPTY,
        ep_square: None,
        remaining_checks: None,
        halfmoves: 0,
        fullmoves: NonZeroU32::MIN,
    };
    let position = legal_position(setup, CastlingMode::Standard).map_err(RecordError::Illegal)?;
    Ok(Labeled { position, score_cp, result })
}

/// Returns true if the squares of the kings agree with the record: a check that identifies the format.
pub(crate) fn kings_agree(record: &[u8; RECORD_BYTES], labeled: &Labeled) -> bool {
    let board = labeled.position.board();
    let square = |color, flip| board.king_of(color).map(|king| u8::from(king) ^ flip);
    square(Color::White, 0) == Some(record[27]) && square(Color::Black, 56) == Some(record[28])
}

/// Appends a record. Returns true if the format can express the board. `score_cp` and `result` (0, ½ or 1)
/// are White's view.
pub(crate) fn write(position: &Chess, score_cp: f32, result: f32, out: &mut Vec<u8>) -> bool {
    let turn = position.turn();
    let board = position.board();
    let flip = |squares: u64| turn.fold_wb(squares, squares.swap_bytes());
    let own = flip(board.by_color(turn).0);
    let roles = roles(board).map(flip);
    let occupied = flip(board.occupied().0);
    let [_, knight, bishop, rook, queen, king] = roles;
    let planes = [knight | rook | king, bishop | rook, queen | king, occupied & !own];
    let Some(codes) = codes(occupied, planes) else { return false };
    let square = |king: u64| king.trailing_zeros() as u8;
    let mut record = [0; RECORD_BYTES];
    record[..8].copy_from_slice(&occupied.to_le_bytes());
    record[8..24].copy_from_slice(&codes);
    record[24..26].copy_from_slice(&stored_score(score_cp, turn).to_le_bytes());
    record[26] = (2.0 * turn.fold_wb(result, 1.0 - result)).round() as u8;
    record[27] = square(king & own);
    record[28] = square(king & !own) ^ 56;
    out.extend_from_slice(&record);
    true
}
