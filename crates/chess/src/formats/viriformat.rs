//! viriformat: games as Viridithas plays them: a head in marlinformat, four bytes for each move, four zeros.
//!
//! A move has two bytes, low byte first: from bits 0–5, to bits 6–11, promotion bits 12–13 (knight to queen), kind
//! bits 14–15 (0 plain, 1 en passant, 2 castling, 3 promotion); a castling king moves to its rook's square. The
//! score of the position in which it was played follows, centipawns, White's view.

use crate::sample::{Batch, Origin};
use crate::selection::{Criteria, MAX_PLIES, Ply, Reason};
use shakmaty::{Chess, Move, Position, Role, Square};

use crate::formats::collector::Collector;
use crate::formats::legality::{is_legal, some_move};
use crate::formats::records::RECORD_BYTES;
use crate::formats::spec::{FormatSpec, Output, TrainingData};
use crate::formats::{Writer, marlinformat};

pub(crate) const FORMAT: FormatSpec = FormatSpec {
    name: "viriformat",
    endings: &["vf", "viri", "viriformat"],
    records: ["game", "games"],
    has_moves: true,
    is_text: false,
    chunk_bytes: 1 << 15,
    split_point: Some(split_point),
    training: Some(TrainingData { read, detect, is_certain: false }),
    output: Some(Output::new(push)),
    ..FormatSpec::TEXT
};

/// Number of bytes of a move and its score.
const MOVE_BYTES: usize = 4;

pub(crate) const END: [u8; MOVE_BYTES] = [0; MOVE_BYTES];

/// Roles of promotions in the order of their numbers.
const PROMOTIONS: [Role; 4] = [Role::Knight, Role::Bishop, Role::Rook, Role::Queen];

/// Returns the moves of a game in bytes that begin with it, without its end; `None` if it does not end.
fn moves(game: &[u8]) -> Option<&[[u8; MOVE_BYTES]]> {
    let (moves, _) = game.get(RECORD_BYTES..)?.as_chunks::<MOVE_BYTES>();
    let end = moves.iter().position(|one| *one == END)?;
    Some(&moves[..end])
}

fn game_bytes(moves: &[[u8; MOVE_BYTES]]) -> usize {
    RECORD_BYTES + MOVE_BYTES * (moves.len() + 1)
}

/// Returns the end of the last whole game in a buffer that begins with a game.
fn split_point(buffer: &[u8]) -> Option<usize> {
    let mut end = 0;
    while let Some(moves) = moves(&buffer[end..]) {
        end += game_bytes(moves);
    }
    Some(end).filter(|end| *end > 0)
}

/// Reads the games of a chunk whose first byte is at `offset` of the input.
fn read(chunk: &[u8], offset: u64, criteria: Criteria<'_>) -> Batch {
    let mut out = Collector::new(criteria);
    let mut plies = Vec::new();
    let mut at = 0;
    while at < chunk.len() {
        let here = offset + at as u64;
        let Some(moves) = moves(&chunk[at..]) else {
            let left = chunk.len() - at;
            out.damage(here, left as u64, format!("the last game ends after {left} bytes"));
            break;
        };
        read_game(&chunk[at..], moves, here, &mut plies, &mut out);
        at += game_bytes(moves);
    }
    out.finish()
}

/// Reads a game; if a move is not legal, the positions up to it are kept.
fn read_game(
    bytes: &[u8],
    moves: &[[u8; MOVE_BYTES]],
    offset: u64,
    plies: &mut Vec<Ply>,
    out: &mut Collector<'_>,
) {
    let Some(head) = bytes.first_chunk::<RECORD_BYTES>() else { return };
    let labeled = match marlinformat::read(head) {
        Ok(labeled) => labeled,
        Err(error) => return out.refuse(error.reason(), offset, || error.text()),
    };
    let mut position = labeled.position;
    for (number, &[low, high, score_low, score_high]) in moves.iter().enumerate() {
        let at = offset + (RECORD_BYTES + MOVE_BYTES * number) as u64;
        let next =
            if number < MAX_PLIES { read_move(&position, u16::from_le_bytes([low, high])) } else { None };
        let Some(next) = next else {
            out.game(plies, labeled.result);
            let lost = (moves.len() - number) as u64;
            let reason = if number < MAX_PLIES { Reason::IllegalMove } else { Reason::LongGame };
            return out.cut_short(reason, at, lost, || format!("move {} of a game is not legal", number + 1));
        };
        let mut ply = Ply::new(position.clone());
        ply.next = Some(next);
        ply.score_cp = f32::from(i16::from_le_bytes([score_low, score_high]));
        plies.push(ply);
        position.play_unchecked(next);
    }
    out.game(plies, labeled.result);
}

/// Returns true if the first bytes are a game with legal moves, or the beginning of one.
fn detect(head: &[u8], complete: bool) -> bool {
    let Some((record, rest)) = head.split_first_chunk::<RECORD_BYTES>() else { return false };
    let Ok(labeled) = marlinformat::read(record) else { return false };
    let mut position = labeled.position;
    for one in rest.as_chunks::<MOVE_BYTES>().0 {
        if *one == END {
            return true;
        }
        let Some(next) = read_move(&position, u16::from_le_bytes([one[0], one[1]])) else { return false };
        position.play_unchecked(next);
    }
    // A game that never ends within the head is not a game: games have at most a few hundred moves.
    complete && rest.len() >= MOVE_BYTES
}

/// Appends a position, to the game before if it continues it.
fn push(writer: &mut Writer, origin: &Origin, result: f32, out: &mut Vec<u8>) -> bool {
    let Some(next) = origin.next.or_else(|| some_move(&origin.position)) else { return false };
    let goes_on = writer.game.as_ref().is_some_and(|(last, result_before)| {
        *result_before == result && last.next.is_some_and(|played| follows(last, played, origin))
    });
    if !goes_on {
        if writer.game.take().is_some() {
            out.extend_from_slice(&END);
        }
        if !marlinformat::write(&origin.position, origin.score_cp, result, out) {
            return false;
        }
    }
    out.extend_from_slice(&write_move(next).to_le_bytes());
    out.extend_from_slice(&(origin.score_cp.round() as i16).to_le_bytes());
    writer.game = Some((origin.clone(), result));
    writer.losses.invented_moves += u64::from(origin.next.is_none());
    true
}

/// Returns true if a position is the one after another's move, clocks included.
fn follows(last: &Origin, played: Move, origin: &Origin) -> bool {
    let mut position = last.position.clone();
    position.play_unchecked(played);
    position == origin.position
        && position.halfmoves() == origin.position.halfmoves()
        && position.fullmoves() == origin.position.fullmoves()
}

/// Kinds of moves, by their two highest bits.
mod kind {
    pub const PLAIN: u16 = 0;
    pub const EN_PASSANT: u16 = 1;
    pub const CASTLING: u16 = 2;
    pub const PROMOTION: u16 = 3;
}

/// Reads a move; `None` unless it is legal.
fn read_move(position: &Chess, packed: u16) -> Option<Move> {
    let square = |shift: u32| Square::try_from(u32::from(packed >> shift & 63)).ok();
    let (from, to) = (square(0)?, square(6)?);
    let board = position.board();
    let role = board.role_at(from).filter(|_| board.by_color(position.turn()).contains(from))?;
    let capture = board.role_at(to);
    let promotion = PROMOTIONS[usize::from(packed >> 12 & 3)];
    let m = match packed >> 14 {
        kind::PLAIN => Move::Normal { role, from, capture, to, promotion: None },
        kind::EN_PASSANT => Move::EnPassant { from, to },
        kind::CASTLING => Move::Castle { king: from, rook: to },
        _ => Move::Normal { role, from, capture, to, promotion: Some(promotion) },
    };
    is_legal(position, m).then_some(m)
}

/// Returns the two bytes of a legal move.
fn write_move(m: Move) -> u16 {
    let kind = match m {
        Move::Castle { .. } => kind::CASTLING,
        Move::EnPassant { .. } => kind::EN_PASSANT,
        _ if m.is_promotion() => kind::PROMOTION,
        _ => kind::PLAIN,
    };
    let promotion =
        m.promotion().and_then(|role| PROMOTIONS.iter().position(|one| *one == role)).unwrap_or(0);
    let (from, to) = (m.from().map_or(0, u16::from), u16::from(m.to()));
    kind << 14 | (promotion as u16) << 12 | to << 6 | from
}
