//! marlinformat: records of 32 bytes with White's view of a whole position, also the heads of viriformat's games.
//!
//! Bytes, low byte first: occupancy 0–7, codes 8–23 (pawn to king 0–5, a rook with which its side may castle 6,
//! Black's with 8 added), en passant square 24 (64 for none, with 128 added if Black is to move), plies without
//! progress 25, number of the move 26–27, score in centipawns 28–29, result 30 (0 Black won, 1 draw, 2 White won),
//! one unused.

use std::num::NonZeroU32;

use crate::fen::legal_position;
use shakmaty::{Bitboard, CastlingMode, Chess, Color, EnPassantMode, Position, Setup, Square};

use crate::formats::packed::{CODE_BYTES, Planes, board, codes, roles};
use crate::formats::records::{self, Labeled, RECORD_BYTES, RecordError, are_mostly};
use crate::formats::spec::{FormatSpec, Output, TrainingData};

pub(crate) const FORMAT: FormatSpec = FormatSpec {
    name: "marlinformat",
    endings: &["marlin", "marlinformat"],
    training: Some(TrainingData {
        read: |chunk, offset, criteria| {
            records::read(chunk, offset, criteria, |record, out, number| {
                let labeled = read(record)?;
                out.position(&labeled.position, labeled.score_cp, labeled.result, number);
                Ok(())
            })
        },
        detect: |head, _| {
            are_mostly(head, |record| match read(record) {
                Ok(_) => true,
                Err(error) => matches!(error, RecordError::Illegal(_)) && record[30] < 3,
            })
        },
        is_certain: false,
    }),
    output: Some(Output::new(|_, origin, result, out| write(&origin.position, origin.score_cp, result, out))),
    ..records::RECORDS
};

/// Bit of a code that marks Black's pieces.
const BLACK: usize = 3;

const NO_SQUARE: u8 = 64;

pub(crate) fn read(record: &[u8; RECORD_BYTES]) -> Result<Labeled, RecordError> {
    let position = read_position(record)?;
    let result = match record[30] {
        0 => 0.0,
        1 => 0.5,
        2 => 1.0,
        byte => return Err(RecordError::Result(byte)),
    };
    let score = i16::from_le_bytes([record[28], record[29]]);
    Ok(Labeled { position, score_cp: f32::from(score), result })
}

fn read_position(record: &[u8; RECORD_BYTES]) -> Result<Chess, RecordError> {
    let occupied = u64::from_le_bytes(std::array::from_fn(|i| record[i]));
    let codes: [u8; CODE_BYTES] = std::array::from_fn(|i| record[8 + i]);
    let planes = Planes::new(occupied, codes).ok_or(RecordError::Board("more than 32 pieces"))?;
    let [pawn, knight, bishop, rook, queen, king, castling] = planes.lower();
    let rook = rook | castling;
    if pawn | knight | bishop | rook | queen | king != occupied {
        return Err(RecordError::Board("a piece that there is not"));
    }
    let ep_square = match record[24] & 127 {
        NO_SQUARE => None,
        square => Some(
            Square::try_from(square).map_err(|_| RecordError::Board("an en passant square off the board"))?,
        ),
    };
    let setup = Setup {
        board: board([pawn, knight, bishop, rook, queen, king], occupied & !planes.with_bit(BLACK))
            .ok_or(RecordError::Board("not a board"))?,
        promoted: Bitboard::EMPTY,
        pockets: None,
        turn: Color::from_white(record[24] < 128),
        castling_rights: Bitboard(castling),
        ep_square,
        remaining_checks: None,
        halfmoves: u32::from(record[25]),
        fullmoves: NonZeroU32::new(u32::from(u16::from_le_bytes([record[26], record[27]])))
            .unwrap_or(NonZeroU32::MIN),
    };
    legal_position(setup, CastlingMode::Chess960).map_err(RecordError::Illegal)
}

/// Appends a record. Returns true if the format can express the board. `score_cp` and `result` (0, ½ or 1)
/// are White's view.
pub(crate) fn write(position: &Chess, score_cp: f32, result: f32, out: &mut Vec<u8>) -> bool {
    let board = position.board();
    let occupied = board.occupied().0;
    let castling = position.castles().castling_rights().0;
    let [_, knight, bishop, rook, queen, king] = roles(board);
    let plain_rook = rook & !castling;
    let planes = [
        knight | plain_rook | king,
        bishop | plain_rook | castling,
        queen | king | castling,
        board.black().0,
    ];
    let Some(codes) = codes(occupied, planes) else { return false };
    let square = position.ep_square(EnPassantMode::Legal).map_or(NO_SQUARE, u8::from);
    let mut record = [0; RECORD_BYTES];
    record[..8].copy_from_slice(&occupied.to_le_bytes());
    record[8..24].copy_from_slice(&codes);
    record[24] = square | position.turn().fold_wb(0, 128);
    record[25] = position.halfmoves().min(u32::from(u8::MAX)) as u8;
    let number = position.fullmoves().get().min(u32::from(u16::MAX)) as u16;
    record[26..28].copy_from_slice(&number.to_le_bytes());
    record[28..30].copy_from_slice(&(score_cp.round() as i16).to_le_bytes());
    record[30] = (2.0 * result).round() as u8;
    out.extend_from_slice(&record);
    true
}
