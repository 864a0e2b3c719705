//! Boards from rows: the positions of feature sets that list every piece on its square.

use shakmaty::fen::Fen;
use shakmaty::{Board, CastlingMode, Chess, Color, Piece, Role, Setup, Square};

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
        // Only pockets and promoted pieces, which there are none of, cannot be written.
        Fen::try_from_setup(setup(turn)).map_or_else(|_| String::new(), |fen| fen.to_string())
    }
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
    fn a_king_that_could_be_taken_is_to_move() {
        let set = FeatureSet::new(FeatureKind::Pst, PhaseSettings::default());
        let setup = "4k3/8/8/8/8/8/8/4RK2 b - - 0 1".parse::<Fen>().unwrap().into_setup();
        let mut row = FeatureRow::default();
        set.compute(&setup.board, setup.turn, &mut row);
        let fen = RowBoards::new(&set).unwrap().fen(&row.plus, &row.minus);
        assert_eq!(fen, "4k3/8/8/8/8/8/8/4RK2 b - - 0 1");
    }
}
