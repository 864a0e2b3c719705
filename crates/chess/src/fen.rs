//! Reading positions written as FEN or EPD, fast.

use std::num::NonZeroU32;

use shakmaty::fen::Fen;
use shakmaty::{
    Bitboard, Board, ByColor, ByRole, CastlingMode, Chess, Color, EnPassantMode, FromSetup, Position,
    PositionError, PositionErrorKinds, Setup, Square,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FenError {
    Board,
    /// The side to move is neither `w` nor `b`.
    Turn,
    Castling,
    EnPassant,
    Kings,
    /// A pawn stands on the first or last rank.
    Pawns,
    OppositeCheck,
    Counters,
}

impl FenError {
    /// Returns a short description, the part at fault first.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Board => "not a position: the piece placement cannot be read",
            Self::Turn => "the side to move is neither w nor b",
            Self::Castling => "castling rights cannot be read",
            Self::EnPassant => "the en passant square cannot be read",
            Self::Kings => "illegal position: not one king a side",
            Self::Pawns => "illegal position: a pawn on the first or last rank",
            Self::OppositeCheck => "illegal position: the side not to move is in check",
            Self::Counters => "the operation hmvc or fmvn has no whole number that a FEN could have",
        }
    }
}

#[derive(Clone, Copy)]
struct Symbol {
    /// 0–11 a piece (role, +6 for Black), 12 none, 255 not part of a placement.
    piece: u8,
    squares: u8,
    /// 8 for the separator of ranks, else 0.
    rank: u8,
}

const SYMBOLS: [Symbol; 256] = {
    let mut table = [Symbol { piece: 255, squares: 0, rank: 0 }; 256];
    let letters = *b"pnbrqk";
    let mut i = 0;
    while i < 6 {
        table[letters[i].to_ascii_uppercase() as usize] = Symbol { piece: i as u8, squares: 1, rank: 0 };
        table[letters[i] as usize] = Symbol { piece: 6 + i as u8, squares: 1, rank: 0 };
        i += 1;
    }
    let mut digit = 1;
    while digit <= 8 {
        table[(b'0' + digit) as usize] = Symbol { piece: 12, squares: digit, rank: 0 };
        digit += 1;
    }
    table[b'/' as usize] = Symbol { piece: 12, squares: 0, rank: 8 };
    table
};

/// Number of bytes of the longest placement: 64 pieces and 7 separators.
const MAX_PLACEMENT: usize = 71;

/// Parses a piece placement at the start of `text`. Returns the board and the number of bytes it took.
pub fn parse_board(text: &[u8]) -> Result<(Board, usize), FenError> {
    // One bitboard per piece, Black's six after White's, and one for anything else. The kind of a byte cannot
    // be predicted, so nothing branches on it: errors are collected on the way.
    let mut pieces = [0u64; 13];
    let mut square = 0u32;
    let mut rank_end = 8u32;
    let mut wrong = false;
    let mut used = 0;
    for &byte in text {
        let symbol = SYMBOLS[usize::from(byte)];
        if symbol.piece == 255 || used > MAX_PLACEMENT {
            break;
        }
        // Squares are counted from a8, rank by rank; flipping three bits makes them a1 to h8.
        pieces[usize::from(symbol.piece)] |= 1 << ((square ^ 56) & 63);
        square += u32::from(symbol.squares);
        wrong |= square > rank_end || (symbol.rank != 0 && square != rank_end);
        rank_end += u32::from(symbol.rank);
        used += 1;
    }
    if wrong || square != 64 || rank_end != 64 {
        return Err(FenError::Board);
    }
    let both = |role: usize| Bitboard(pieces[role] | pieces[role + 6]);
    let side = |first: usize| Bitboard(pieces[first..first + 6].iter().fold(0, |all, one| all | one));
    let roles = ByRole {
        pawn: both(0),
        knight: both(1),
        bishop: both(2),
        rook: both(3),
        queen: both(4),
        king: both(5),
    };
    let colors = ByColor { black: side(6), white: side(0) };
    let board = Board::try_from_bitboards(roles, colors).map_err(|_| FenError::Board)?;
    Ok((board, used))
}

/// Parses a FEN (six fields) or the position of an EPD (four) at the start of `text`.
pub fn parse_fen(text: &[u8]) -> Result<(Setup, usize), FenError> {
    let (board, used) = parse_board(text)?;
    let mut at = used;
    let (turn_field, next) = field(text, at);
    let turn = match turn_field {
        b"w" | b"W" => Color::White,
        b"b" | b"B" => Color::Black,
        _ => return Err(FenError::Turn),
    };
    at = next;
    let (castling, next) = field(text, at);
    let castling_rights = match castling {
        b"-" => Bitboard::EMPTY,
        _ => parse_castling(castling, &board)?,
    };
    at = next;
    let (ep, next) = field(text, at);
    let ep_square = match ep {
        b"-" => None,
        _ => Some(Square::from_ascii(ep).map_err(|_| FenError::EnPassant)?),
    };
    at = next;
    let (mut halfmoves, mut fullmoves) = (0, NonZeroU32::MIN);
    if let Some((half, after_half)) = counter(text, at)
        && let Some((full, after_full)) = counter(text, after_half)
    {
        halfmoves = half;
        fullmoves = NonZeroU32::new(full).unwrap_or(NonZeroU32::MIN);
        at = after_full;
    }
    let setup = Setup {
        board,
        promoted: Bitboard::EMPTY,
        pockets: None,
        turn,
        castling_rights,
        ep_square,
        remaining_checks: None,
        halfmoves,
        fullmoves,
    };
    Ok((setup, at))
}

fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

fn skip_blanks(text: &[u8], mut at: usize) -> usize {
    while text.get(at).is_some_and(|&byte| is_blank(byte)) {
        at += 1;
    }
    at
}

/// Returns the next field: letters, digits or `-`; anything else ends it.
fn field(text: &[u8], at: usize) -> (&[u8], usize) {
    let start = skip_blanks(text, at);
    let length =
        text[start..].iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'-').count();
    (&text[start..start + length], start + length)
}

fn counter(text: &[u8], at: usize) -> Option<(u32, usize)> {
    let start = skip_blanks(text, at);
    if start == at {
        return None;
    }
    let mut value = 0u32;
    let mut end = start;
    while let Some(digit) = text.get(end).filter(|byte| byte.is_ascii_digit()) {
        value = value.saturating_mul(10).saturating_add(u32::from(digit - b'0'));
        end += 1;
    }
    let ended = match text.get(end) {
        None => true,
        Some(byte) => is_blank(*byte) || matches!(byte, b'|' | b';' | b',' | b':' | b'[' | b'"'),
    };
    (end > start && ended).then_some((value, end))
}

/// Parses castling rights as rook squares: `KQkq` (the outermost rook, as in X-FEN) or rook files.
fn parse_castling(letters: &[u8], board: &Board) -> Result<Bitboard, FenError> {
    if letters.is_empty() {
        return Err(FenError::Castling);
    }
    let mut rights = Bitboard::EMPTY;
    for &letter in letters {
        let color = Color::from_white(letter.is_ascii_uppercase());
        let home = Bitboard::from_rank(color.backrank());
        let candidates = board.by_color(color) & home & (board.rooks() | board.kings());
        let is_rook = |square: &Square| board.rooks().contains(*square);
        let corner = |file| Square::from_coords(file, color.backrank());
        rights.add(match letter.to_ascii_lowercase() {
            b'k' => candidates.last().filter(is_rook).unwrap_or(corner(shakmaty::File::H)),
            b'q' => candidates.first().filter(is_rook).unwrap_or(corner(shakmaty::File::A)),
            file => corner(shakmaty::File::from_char(char::from(file)).ok_or(FenError::Castling)?),
        });
        if (rights & home).count() > 2 {
            return Err(FenError::Castling);
        }
    }
    Ok(rights)
}

/// Checks a position as shakmaty does, without its stricter rules. Too much material, impossible checks,
/// stale en passant squares and castling rights without a rook (common in hand-made and odds positions; such
/// rights are dropped) do not harm an evaluation.
pub fn legal_position(setup: Setup, mode: CastlingMode) -> Result<Chess, FenError> {
    match Chess::from_setup(setup, mode) {
        // A position is some 200 bytes; passing it through the chain below would copy it each time.
        Ok(position) => Ok(position),
        Err(error) => tolerate(error),
    }
}

/// The position with colors exchanged and the board turned over, which is worth the same for the side to move; `None` if it
/// is not legal.
pub fn mirrored(fen: &str) -> Option<String> {
    let setup = parse_fen(fen.as_bytes()).ok()?.0;
    let position = legal_position(setup, CastlingMode::Standard).ok()?;
    let mut setup = position.to_setup(EnPassantMode::Legal);
    setup.mirror();
    Fen::try_from_setup(setup).ok().map(|fen| fen.to_string())
}

#[cold]
fn tolerate(error: PositionError<Chess>) -> Result<Chess, FenError> {
    error
        .ignore_too_much_material()
        .or_else(PositionError::ignore_impossible_check)
        .or_else(PositionError::ignore_invalid_ep_square)
        .or_else(PositionError::ignore_invalid_castling_rights)
        .map_err(|error| {
            let kinds = error.kinds();
            if kinds.intersects(
                PositionErrorKinds::EMPTY_BOARD
                    | PositionErrorKinds::MISSING_KING
                    | PositionErrorKinds::TOO_MANY_KINGS,
            ) {
                FenError::Kings
            } else if kinds.contains(PositionErrorKinds::PAWNS_ON_BACKRANK) {
                FenError::Pawns
            } else {
                FenError::OppositeCheck
            }
        })
}

/// Returns true if the side to move, known not to be in check, has no legal move.
///
/// Nearly every position has a piece that is not on a line with its own king and can move. Only the others
/// pay for move generation.
pub fn is_stalemate(position: &Chess) -> bool {
    !has_free_move(position.board(), position.turn()) && position.legal_moves().is_empty()
}

/// Returns true if a piece of the side to move, known not to be in check, that is not on a line with its king
/// can move.
fn has_free_move(board: &Board, turn: Color) -> bool {
    let own = board.by_color(turn);
    let Some(king) = board.king_of(turn) else { return false };
    let free = own & !shakmaty::attacks::queen_attacks(king, Bitboard::EMPTY);
    let pushes = (board.pawns() & free).shift(turn.fold_wb(8, -8)) & !board.occupied();
    let targets = |from| board.attacks_from(from) & !own;
    pushes.any() || (free & !board.pawns() & !board.kings()).into_iter().any(|from| targets(from).any())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn position(fen: &str) -> Result<Chess, FenError> {
        let (setup, _) = parse_fen(fen.as_bytes())?;
        legal_position(setup, CastlingMode::Chess960)
    }

    #[test]
    fn counters_are_taken_only_in_pairs() {
        let used = |text: &str| text[parse_fen(text.as_bytes()).unwrap().1..].to_string();
        let four = "4k3/8/8/8/8/8/8/4K3 w - -";
        assert_eq!(used(&format!("{four} 0 1 [1.0]")), " [1.0]");
        assert_eq!(used(&format!("{four} 12 45|1-0")), "|1-0");
        assert_eq!(used(&format!("{four} 1-0")), " 1-0");
        assert_eq!(used(&format!("{four} 0.5")), " 0.5");
        assert_eq!(used(&format!("{four} 1")), " 1");
        assert_eq!(used(&format!("{four};1.0")), ";1.0");
        assert_eq!(used(&format!("{four} 3 0.5")), " 3 0.5");
        assert_eq!(used(four), "");
    }

    #[test]
    fn illegal_positions_are_named() {
        for (fen, error) in [
            ("8/8/8/8/8/8/8/8 w - - 0 1", FenError::Kings),
            ("kk6/8/8/8/8/8/8/K7 w - - 0 1", FenError::Kings),
            ("k6P/8/8/8/8/8/8/K7 w - - 0 1", FenError::Pawns),
            ("k6R/8/8/8/8/8/8/K7 w - - 0 1", FenError::OppositeCheck),
            ("k7/8/8/8/8/8/8/K7 x - - 0 1", FenError::Turn),
            ("k7/8/8/8/8/8/8/K7 w Kx - 0 1", FenError::Castling),
            ("k7/8/8/8/8/8/8/K7 w - e9 0 1", FenError::EnPassant),
            ("k7/8/8/8/8/8/8 w - - 0 1", FenError::Board),
            ("k8/8/8/8/8/8/8/K7 w - - 0 1", FenError::Board),
            ("", FenError::Board),
        ] {
            assert_eq!(position(fen).unwrap_err(), error, "{fen}");
        }
    }

    #[test]
    fn odd_but_usable_positions_are_kept() {
        for fen in [
            "1nbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
            "qqqqkqqq/8/8/8/8/8/8/QQQQKQQQ w - - 0 1",
            "4k3/8/8/8/8/8/8/4K3 w - e6 0 1",
            "1rbbnnkr/p1pp1ppp/8/1p2p3/1P2q3/5N2/P1PP1PPP/QRBB1NKR w KQkq - 0 4",
            "nrk2bbr/pp1ppppp/8/8/8/8/PPPPPPPP/NRK2BBR w HBhb - 0 4",
        ] {
            assert!(position(fen).is_ok(), "{fen}");
        }
    }

    #[test]
    fn stalemate_is_what_shakmaty_says() {
        for fen in [
            "7k/5Q2/6K1/8/8/8/8/8 b - - 0 1",
            "8/8/8/8/8/5k2/5p2/5K2 w - - 0 1",
            "k7/p7/P7/8/8/8/8/1R5K b - - 0 1",
            "8/8/8/8/8/1pk5/1n6/K7 w - - 0 1",
            "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
        ] {
            let position = position(fen).unwrap();
            assert_eq!(is_stalemate(&position), position.is_stalemate(), "{fen}");
        }
    }

    proptest! {
        #[test]
        fn boards_are_read_as_shakmaty_reads_them(text in "[pnbrqkPNBRQK1-8/]{0,72}") {
            let ours = parse_board(text.as_bytes()).ok().filter(|(_, used)| *used == text.len());
            let theirs = Board::from_ascii_board_fen(text.as_bytes()).ok();
            prop_assert_eq!(ours.map(|(board, _)| board), theirs);
        }

        #[test]
        fn full_boards_are_read_as_shakmaty_reads_them(
            ranks in proptest::collection::vec(proptest::collection::vec(0usize..20, 8), 8),
            turn in "[wb]", castling in "(-|K?Q?k?q?|[A-H]?[a-h]?)", ep in "(-|[a-h][36])",
        ) {
            let mut board = String::new();
            for rank in ranks {
                let mut empty = 0;
                for square in rank {
                    match b"pnbrqkPNBRQK".get(square) {
                        Some(&piece) => {
                            if empty > 0 {
                                board.push_str(&empty.to_string());
                            }
                            empty = 0;
                            board.push(char::from(piece));
                        }
                        None => empty += 1,
                    }
                }
                if empty > 0 {
                    board.push_str(&empty.to_string());
                }
                board.push('/');
            }
            board.pop();
            prop_assume!(!castling.is_empty());
            let fen = format!("{board} {turn} {castling} {ep} 3 17");
            let theirs = Fen::from_ascii(fen.as_bytes()).ok().map(Fen::into_setup);
            prop_assert_eq!(parse_fen(fen.as_bytes()).ok().map(|(setup, _)| setup), theirs);
        }

        #[test]
        fn broken_positions_do_not_panic(text in "[pnbrqkPNBRQK1-8/]{15,72} [wb] [KQkqA-Ha-h-]{0,5} [a-h3-6-]{0,3}") {
            if let Ok((setup, _)) = parse_fen(text.as_bytes())
                && let Ok(position) = legal_position(setup, CastlingMode::Chess960)
            {
                let _ = is_stalemate(&position);
            }
        }
    }

    #[test]
    fn mirrored_positions_exchange_everything() {
        let fen = "r3k2r/8/8/3pP3/8/8/8/R3K3 w Qk d6 0 2";
        assert_eq!(super::mirrored(fen).unwrap(), "r3k3/8/8/8/3Pp3/8/8/R3K2R b Kq d3 0 2");
    }
}
