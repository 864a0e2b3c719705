//! Boards from rows: the positions of feature sets that list every piece on its square.

use shakmaty::fen::Fen;
use shakmaty::{Bitboard, Board, CastlingMode, Chess, Color, Piece, Role, Setup, Square};

use super::FeatureSet;

const TEMPO: &str = "tempo";
/// Number of ids of the piece-square tables, which come first.
const PIECES: u16 = 6 * 64;

#[derive(Clone, Copy, Debug)]
pub struct RowBoards {
    tempo: Option<u16>,
}

impl RowBoards {
    /// Creates a reader for the rows of a feature set; `None` if they do not have every piece on its square.
    pub fn new(set: &FeatureSet) -> Option<Self> {
        let tempo = || set.features.iter().position(|feature| feature.name == TEMPO).map(|id| id as u16);
        set.kind.has_boards().then(|| Self { tempo: tempo() })
    }

    /// The board of a row with White's ids and Black's.
    pub fn board(&self, plus: &[u16], minus: &[u16]) -> Board {
        let mut board = Board::empty();
        for (ids, color, flip) in [(plus, Color::White, 0), (minus, Color::Black, 56)] {
            for &id in ids.iter().filter(|&&id| id < PIECES) {
                let role = Role::ALL[usize::from(id / 64)];
                board.set_piece_at(Square::new(u32::from(id % 64) ^ flip), Piece { color, role });
            }
        }
        board
    }

    /// The side to move, if the row has it.
    pub fn turn(&self, plus: &[u16], minus: &[u16]) -> Option<Color> {
        let tempo = self.tempo?;
        match (plus.contains(&tempo), minus.contains(&tempo)) {
            (true, false) => Some(Color::White),
            (false, true) => Some(Color::Black),
            _ => None,
        }
    }

    /// The position of a row as a FEN without castling rights. If the row does not have the side to move, it
    /// is White, or Black if White could take the king.
    pub fn fen(&self, plus: &[u16], minus: &[u16]) -> String {
        let board = self.board(plus, minus);
        let setup = |turn: Color| Setup { board: board.clone(), turn, ..Setup::empty() };
        let is_legal = |turn: Color| setup(turn).position::<Chess>(CastlingMode::Standard).is_ok();
        let turn = self.turn(plus, minus).unwrap_or_else(|| {
            let black_only = !is_legal(Color::White) && is_legal(Color::Black);
            Color::from_white(!black_only)
        });
        fen_of(board, turn)
    }
}

/// The FEN without castling rights.
pub fn fen_of(board: Board, turn: Color) -> String {
    // Only pockets and promoted pieces, which there are none of, cannot be written.
    Fen::try_from_setup(Setup { board, turn, ..Setup::empty() })
        .map_or_else(|_| String::new(), |fen| fen.to_string())
}

/// A board and the side to move: the squares that are occupied, then four bits for the man on each in their order. All
/// 0 if there is none, or more than 32 men.
pub type PackedBoard = [u64; 3];

/// Added to the six men of White, and once more to those of Black.
const BLACK: u64 = 6;
/// The king of the side to move, White's and Black's.
const TO_MOVE: u64 = 12;

pub fn pack(board: &Board, turn: Color) -> PackedBoard {
    let mut packed = [board.occupied().into(), 0, 0];
    if board.occupied().count() > 32 {
        return [0; 3];
    }
    for (i, (_, man)) in board.clone().into_iter().enumerate() {
        let black = u64::from(man.color.is_black());
        let code = match man.role {
            Role::King if man.color == turn => TO_MOVE + black,
            role => BLACK * black + role as u64 - 1,
        };
        packed[1 + i / 16] |= code << (4 * (i % 16));
    }
    packed
}

/// The inverse of [`pack`]; `None` if there is no board.
pub fn unpack([occupied, men @ ..]: PackedBoard) -> Option<(Board, Color)> {
    let (mut board, mut turn) = (Board::empty(), Color::White);
    for (i, square) in Bitboard(occupied).into_iter().enumerate() {
        let code = men.get(i / 16)? >> (4 * (i % 16)) & 15;
        let (role, black) = match code {
            TO_MOVE.. => (Role::King, code > TO_MOVE),
            _ => (Role::ALL[(code % BLACK) as usize], code >= BLACK),
        };
        let color = Color::from_black(black);
        board.set_piece_at(square, Piece { color, role });
        turn = if code >= TO_MOVE { color } else { turn };
    }
    (occupied != 0).then_some((board, turn))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feature::FeatureRow;
    use crate::kinds::FeatureKind;
    use gputexel_chess::PhaseSettings;

    #[test]
    fn positions_are_read_back_from_their_rows() {
        let positions = [
            "r1bqkbnr/pppp1ppp/2n5/4p3/2B1P3/5Q2/PPPP1PPP/RNB1K1NR w - - 0 1",
            "8/5k2/8/3pP3/8/1q6/6PP/7K b - - 0 1",
            "8/8/8/8/8/7k/8/K6q w - - 0 1",
        ];
        for kind in [FeatureKind::Pst, FeatureKind::Classical, FeatureKind::Full] {
            let set = FeatureSet::new(kind, PhaseSettings::default());
            let reader = RowBoards::new(&set).unwrap();
            for text in positions {
                let setup = text.parse::<Fen>().unwrap().into_setup();
                let mut row = FeatureRow::default();
                set.compute(&setup.board, setup.turn, &mut row);
                assert_eq!(reader.board(&row.plus, &row.minus), setup.board, "{kind:?} {text}");
                let fen = reader.fen(&row.plus, &row.minus);
                match kind {
                    // Only there the side to move is not in the row.
                    FeatureKind::Pst => assert_eq!(fen.replace(" b ", " w "), text.replace(" b ", " w ")),
                    _ => assert_eq!(fen, text),
                }
            }
        }
        let set = FeatureSet::new(FeatureKind::Material, PhaseSettings::default());
        assert!(RowBoards::new(&set).is_none());
    }

    #[test]
    fn boards_are_unpacked_as_they_were_packed() {
        let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR";
        for text in [start, "8/8/8/8/8/7k/8/K6q", "qqqqkqqq/8/8/8/8/8/8/QQQQKQQQ"] {
            let board: Board = text.parse().unwrap();
            for turn in Color::ALL {
                assert_eq!(unpack(pack(&board, turn)), Some((board.clone(), turn)), "{text}");
            }
        }
        let full = "pppppppp/pppppppp/8/8/8/8/PPPPPPPP/PPPPPPPP".replacen("8/8/8/8", "8/8/8/7p", 1);
        assert_eq!(unpack(pack(&full.parse().unwrap(), Color::White)), None);
        assert_eq!(unpack([0; 3]), None);
        assert_eq!(unpack([u64::MAX; 3]), None);
    }

    #[test]
    fn a_king_that_could_be_taken_is_to_move() {
        let set = FeatureSet::new(FeatureKind::Pst, PhaseSettings::default());
        let setup = "4k3/8/8/8/8/8/8/4RK2 b - - 0 1".parse::<Fen>().unwrap().into_setup();
        let mut row = FeatureRow::default();
        set.compute(&setup.board, setup.turn, &mut row);
        let fen = RowBoards::new(&set).unwrap().fen(&row.plus, &row.minus);
        assert_eq!(fen, "4k3/8/8/8/8/8/8/4RK2 b - - 0 1");
    }
}
