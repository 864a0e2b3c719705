//! The first entry of a chain: a position, the move played in it, its score, ply and result in 32 bytes, all
//! numbers with the high byte first.

use std::num::NonZeroU32;

use crate::fen::legal_position;
use shakmaty::{Bitboard, CastlingMode, Chess, Color, EnPassantMode, Move, Position, Rank, Setup, Square};

use super::bits::{signed, unsigned};
use super::moves::PROMOTIONS;
use crate::formats::packed::{CODE_BYTES, Planes, board, codes, roles};

pub(super) const STEM_BYTES: usize = 32;

const DOUBLE_STEP: u8 = 12;
const WHITE_CASTLING_ROOK: u8 = 13;
const BLACK_CASTLING_ROOK: u8 = 14;
const BLACK_KING_TO_MOVE: u8 = 15;

pub(super) const MAX_PLY: u64 = (1 << 14) - 1;

#[derive(Clone, Debug)]
pub(super) struct Stem {
    pub position: Chess,
    /// `None` for the null move.
    pub next: Option<Move>,
    pub score: i16,
    /// 1, 0 or −1, the side to move's view.
    pub result: i16,
    /// Plies since the beginning of the game, which may differ from the position's own move number.
    pub ply: u16,
}

pub(super) enum StemError {
    Position(&'static str),
    Move,
    Result,
}

impl Stem {
    pub fn read(bytes: &[u8; STEM_BYTES]) -> Result<Self, StemError> {
        let number = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
        let ply_and_result = number(28);
        let ply = ply_and_result & MAX_PLY as u16;
        let position = read_position(bytes, ply, number(30)).map_err(StemError::Position)?;
        let result = signed(ply_and_result >> 14);
        if !(-1..=1).contains(&result) {
            return Err(StemError::Result);
        }
        let next = match number(24) {
            0 => None,
            packed => Some(read_move(&position, packed).ok_or(StemError::Move)?),
        };
        Ok(Self { position, next, score: signed(number(26)), result, ply })
    }

    /// Writes the stem; `None` if the format cannot express the position.
    pub fn write(&self) -> Option<[u8; STEM_BYTES]> {
        let position = &self.position;
        let mut bytes = [0; STEM_BYTES];
        bytes[..8].copy_from_slice(&position.board().occupied().0.to_be_bytes());
        bytes[8..24].copy_from_slice(&write_codes(position)?);
        let ply_and_result = self.ply.min(MAX_PLY as u16) | unsigned(self.result) << 14;
        let clock = position.halfmoves().min(u32::from(u16::MAX)) as u16;
        let numbers = [self.next.map_or(0, write_move), unsigned(self.score), ply_and_result, clock];
        for (place, number) in bytes[24..].chunks_exact_mut(2).zip(numbers) {
            place.copy_from_slice(&number.to_be_bytes());
        }
        Some(bytes)
    }
}

fn read_position(bytes: &[u8; STEM_BYTES], ply: u16, clock: u16) -> Result<Chess, &'static str> {
    let (head, tail) = bytes.split_at(8);
    let occupied = u64::from_be_bytes(head.try_into().unwrap_or_default());
    let codes: [u8; CODE_BYTES] = tail[..CODE_BYTES].try_into().unwrap_or_default();
    let planes = Planes::new(occupied, codes).ok_or("more than 32 pieces")?;
    let double_step = planes.of(DOUBLE_STEP);
    let (fourth, fifth) = (Bitboard::from_rank(Rank::Fourth).0, Bitboard::from_rank(Rank::Fifth).0);
    if double_step & !(fourth | fifth) != 0 || double_step.count_ones() > 1 {
        return Err("an en passant pawn where there can be none");
    }
    let (white_rooks, black_rooks) = (planes.of(WHITE_CASTLING_ROOK), planes.of(BLACK_CASTLING_ROOK));
    let corners = Bitboard::CORNERS.0;
    if (white_rooks | black_rooks) & !corners != 0 {
        return Err("castling with a rook outside the corners");
    }
    let black_king = planes.of(BLACK_KING_TO_MOVE);
    let side = |color: u8| [0, 2, 4, 6, 8, 10].map(|role| planes.of(role + color));
    let (mut white, mut black) = (side(0), side(1));
    white[0] |= double_step & fourth;
    black[0] |= double_step & fifth;
    white[3] |= white_rooks;
    black[3] |= black_rooks;
    black[5] |= black_king;
    let all = std::array::from_fn(|role| white[role] | black[role]);
    let white_pieces = white.iter().fold(0, |all, one| all | one);
    let turn = if black_king == 0 { Color::White } else { Color::Black };
    let ep_square = Bitboard(double_step & fourth).shift(-8) | Bitboard(double_step & fifth).shift(8);
    let setup = Setup {
        board: board(all, white_pieces).ok_or("not a board")?,
        promoted: Bitboard::EMPTY,
        pockets: None,
        turn,
        castling_rights: Bitboard(white_rooks | black_rooks),
        ep_square: ep_square.single_square(),
        remaining_checks: None,
        halfmoves: u32::from(clock),
        fullmoves: NonZeroU32::MIN.saturating_add(u32::from(ply / 2)),
    };
    let rights = setup.castling_rights;
    let position = legal_position(setup, CastlingMode::Chess960).map_err(crate::fen::FenError::reason)?;
    if position.castles().castling_rights() != rights {
        return Err("castling rights without a king that can castle");
    }
    Ok(position)
}

fn write_codes(position: &Chess) -> Option<[u8; CODE_BYTES]> {
    let board = position.board();
    let (white, black) = (board.white().0, board.black().0);
    let mut squares = [0u64; 16];
    for (role, pieces) in roles(board).into_iter().enumerate() {
        squares[2 * role] = pieces & white;
        squares[2 * role + 1] = pieces & black;
    }
    let mut mark = |code: u8, marked: u64| {
        squares.iter_mut().for_each(|one| *one &= !marked);
        squares[usize::from(code)] |= marked;
    };
    let rights = position.castles().castling_rights();
    if (rights & !Bitboard::CORNERS).any() {
        return None;
    }
    mark(WHITE_CASTLING_ROOK, rights.0 & white);
    mark(BLACK_CASTLING_ROOK, rights.0 & black);
    if position.turn().is_black() {
        mark(BLACK_KING_TO_MOVE, board.kings().0 & black);
    }
    if let Some(square) = position.ep_square(EnPassantMode::Legal) {
        mark(DOUBLE_STEP, Bitboard::from(square).shift(position.turn().fold_wb(-8, 8)).0);
    }
    let planes = std::array::from_fn(|bit| {
        (0..16).filter(|code| code >> bit & 1 == 1).fold(0, |plane, code: usize| plane | squares[code])
    });
    codes(board.occupied().0, planes)
}

mod kind {
    pub const NORMAL: u16 = 0;
    pub const PROMOTION: u16 = 1;
    pub const CASTLING: u16 = 2;
    pub const EN_PASSANT: u16 = 3;
}

fn read_move(position: &Chess, packed: u16) -> Option<Move> {
    let square = |shift: u32| Square::try_from(u32::from(packed >> shift & 63)).ok();
    let (from, to) = (square(8)?, square(2)?);
    let board = position.board();
    let role = board.role_at(from).filter(|_| board.by_color(position.turn()).contains(from))?;
    let capture = board.role_at(to);
    let m = match packed >> 14 {
        kind::NORMAL => Move::Normal { role, from, capture, to, promotion: None },
        kind::PROMOTION => {
            let promotion = Some(PROMOTIONS[usize::from(packed & 3)]);
            Move::Normal { role, from, capture, to, promotion }
        }
        kind::CASTLING => Move::Castle { king: from, rook: to },
        _ => Move::EnPassant { from, to },
    };
    position.is_legal(m).then_some(m)
}

fn write_move(m: Move) -> u16 {
    let kind = match m {
        Move::Castle { .. } => kind::CASTLING,
        Move::EnPassant { .. } => kind::EN_PASSANT,
        _ if m.is_promotion() => kind::PROMOTION,
        _ => kind::NORMAL,
    };
    let promotion =
        m.promotion().and_then(|role| PROMOTIONS.iter().position(|one| *one == role)).unwrap_or(0);
    let (from, to) = (m.from().map_or(0, u16::from), u16::from(m.to()));
    kind << 14 | from << 8 | to << 2 | promotion as u16
}
