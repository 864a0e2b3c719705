//! bulletformat's chess boards: records of 32 bytes as the trainer bullet reads them.
//!
//! A record is seen from the side to move: its pieces come first and move up the board. Bytes, low byte
//! first: occupancy 0–7, codes 8–23 (pawn to king 0–5, the other side's 8–13), score in centipawns 24–25,
//! result 26 (0 loss, 1 draw, 2 win), square of the own king 27, square of the other king from its own side
//! 28, three unused. Castling rights, en passant squares, clocks and moves are not stored, nor is the color
//! of the side to move. All positions are read with White to move, which makes no difference to an evaluation
//! that treats both sides alike.

use std::num::NonZeroU32;

use crate::fen::{FenError, legal_position};
use crate::sample::{Batch, Origin};
use crate::selection::{Criteria, Reason};
use shakmaty::{Bitboard, Board, CastlingMode, Chess, Color, EnPassantMode, Position, Setup};

use crate::formats::collector::Collector;
use crate::formats::packed::{CODE_BYTES, Planes, board, codes, roles};
use crate::formats::spec::{FormatSpec, Output, TrainingData};
use crate::formats::{Writer, stored_score, white_score};

pub(crate) const FORMAT: FormatSpec = FormatSpec {
    name: "bulletformat",
    endings: &["bf", "bullet", "bulletformat"],
    records: ["record", "records"],
    is_text: false,
    chunk_bytes: 1 << 17,
    max_record_bytes: 2 * RECORD_BYTES,
    split_point: Some(|buffer| Some(buffer.len() - buffer.len() % RECORD_BYTES).filter(|end| *end > 0)),
    training: Some(TrainingData { read, detect: |head, _| detect(head) }),
    output: Some(Output { has_clocks: false, ..Output::new(write) }),
    ..FormatSpec::TEXT
};

const RECORD_BYTES: usize = 32;
const DETECTED_RECORDS: usize = 1024;
const DAMAGED: f64 = 0.05;
const OTHER_SIDE: usize = 3;

struct Record {
    position: Chess,
    score_cp: f32,
    result: f32,
}

enum RecordError {
    Board(&'static str),
    Illegal(FenError),
    Result(u8),
}

impl RecordError {
    fn reason(&self) -> Reason {
        match self {
            Self::Board(_) => Reason::BadRecord,
            Self::Illegal(_) => Reason::IllegalRecord,
            Self::Result(_) => Reason::BadRecordResult,
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Board(what) => what.to_string(),
            Self::Illegal(error) => error.reason().to_string(),
            Self::Result(byte) => format!("the result is {byte}, neither 0, 1 nor 2"),
        }
    }
}

/// Reads the records of a chunk whose first byte is at `offset` of the input.
fn read(chunk: &[u8], offset: u64, criteria: Criteria<'_>) -> Batch {
    let mut out = Collector::new(criteria);
    out.expect(chunk.len() / RECORD_BYTES);
    let (records, rest) = chunk.as_chunks::<RECORD_BYTES>();
    for (number, record) in (offset / RECORD_BYTES as u64..).zip(records) {
        match read_record(record) {
            Ok(Record { position, score_cp, result }) => out.position(&position, score_cp, result, number),
            Err(error) => out.refuse(error.reason(), number * RECORD_BYTES as u64, || error.text()),
        }
    }
    if !rest.is_empty() {
        let at = offset + (chunk.len() - rest.len()) as u64;
        let what = format!("the last record has {} of {RECORD_BYTES} bytes", rest.len());
        out.damage(at, what);
    }
    out.finish()
}

/// Returns true if nearly all of the first records are right, including the very first.
fn detect(head: &[u8]) -> bool {
    let (records, _) = head.as_chunks::<RECORD_BYTES>();
    let records = &records[..records.len().min(DETECTED_RECORDS)];
    let Some(first) = records.first() else { return false };
    let wrong = records.iter().filter(|record| !looks_right(record)).count();
    looks_right(first) && wrong as f64 <= DAMAGED * records.len() as f64
}

fn looks_right(record: &[u8; RECORD_BYTES]) -> bool {
    match read_record(record) {
        Ok(Record { position, .. }) => kings_agree(record, &position),
        Err(error) => matches!(error, RecordError::Illegal(_)) && record[26] < 3,
    }
}

/// Returns true for records with the bytes of their occupancies and scores in the other order.
pub(crate) fn is_swapped(head: &[u8]) -> bool {
    let mut bytes = head[..head.len().min(DETECTED_RECORDS * RECORD_BYTES)].to_vec();
    for record in bytes.as_chunks_mut::<RECORD_BYTES>().0 {
        record[..8].reverse();
        record[24..26].reverse();
    }
    detect(&bytes)
}

fn read_record(record: &[u8; RECORD_BYTES]) -> Result<Record, RecordError> {
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
    let roles = [pawn, knight, bishop, rook, queen, king];
    let position = position(board(roles, own).ok_or(RecordError::Board("not a board"))?)?;
    Ok(Record { position, score_cp: white_score(score, Color::White), result })
}

/// Returns the position of a board with White to move, castling rights and en passant captures unknown.
fn position(board: Board) -> Result<Chess, RecordError> {
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
    legal_position(setup, CastlingMode::Standard).map_err(RecordError::Illegal)
}

fn kings_agree(record: &[u8; RECORD_BYTES], position: &Chess) -> bool {
    let board = position.board();
    let square = |color, flip| board.king_of(color).map(|king| u8::from(king) ^ flip);
    square(Color::White, 0) == Some(record[27]) && square(Color::Black, 56) == Some(record[28])
}

/// Appends a record. Returns true if the format can express the board. `result` is 0, ½ or 1.
fn write(writer: &mut Writer, origin: &Origin, result: f32, out: &mut Vec<u8>) -> bool {
    let position = &origin.position;
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
    record[24..26].copy_from_slice(&stored_score(origin.score_cp, turn).to_le_bytes());
    record[26] = (2.0 * turn.fold_wb(result, 1.0 - result)).round() as u8;
    record[27] = square(king & own);
    record[28] = square(king & !own) ^ 56;
    out.extend_from_slice(&record);
    let en_passant = position.ep_square(EnPassantMode::Legal).is_some();
    writer.losses.rights += u64::from(position.castles().any() || en_passant);
    writer.losses.sides += u64::from(turn.is_black());
    true
}
