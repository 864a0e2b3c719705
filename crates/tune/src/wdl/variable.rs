//! Variables that the curves of a model depend on.

use serde::{Deserialize, Serialize};
use shakmaty::Board;

/// Variable of the polynomials a and b.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Variable {
    /// Material of both sides: pawns + 3 knights + 3 bishops + 5 rooks + 9 queens, 78 at the start of a game.
    #[default]
    Material,
    /// Move number, as in a FEN.
    Move,
    /// Ply number: 0 before White's first move.
    Ply,
}

impl Variable {
    /// Returns the default range and reference value. For material and moves these are those of Stockfish's model.
    pub fn defaults(self) -> ((u16, u16), u16) {
        match self {
            Self::Material => ((17, 78), 58),
            Self::Move => ((1, 120), 32),
            Self::Ply => ((0, 240), 64),
        }
    }
}

gputexel_io::names!(Variable setting "by": Material "material", Move "move", Ply "ply");

/// Values of all variables for one position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// See [`Variable::Material`].
    pub material: u16,
    /// See [`Variable::Move`].
    pub move_number: u16,
    /// See [`Variable::Ply`].
    pub ply: u16,
}

impl Moment {
    /// Computes the variables of a position from its move number and the side to move.
    pub fn new(board: &Board, move_number: u32, black: bool) -> Self {
        let count = |pieces: shakmaty::Bitboard| pieces.count() as u16;
        let minor = count(board.knights()) + count(board.bishops());
        let material =
            count(board.pawns()) + 3 * minor + 5 * count(board.rooks()) + 9 * count(board.queens());
        let number = move_number.max(1).min(u32::from(u16::MAX / 2)) as u16;
        Self { material, move_number: number, ply: 2 * (number - 1) + u16::from(black) }
    }

    /// Returns the value of a variable.
    pub fn value(self, variable: Variable) -> u16 {
        match variable {
            Variable::Material => self.material,
            Variable::Move => self.move_number,
            Variable::Ply => self.ply,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_of_positions() {
        let start = Moment::new(&Board::new(), 1, false);
        assert_eq!((start.material, start.move_number, start.ply), (78, 1, 0));
        let later = Moment::new(&Board::empty(), 40, true);
        assert_eq!((later.value(Variable::Material), later.value(Variable::Ply)), (0, 79));
        assert_eq!(Moment::new(&Board::empty(), u32::MAX, true).move_number, u16::MAX / 2);
        for variable in [Variable::Material, Variable::Move, Variable::Ply] {
            assert_eq!(variable.name().parse::<Variable>().unwrap(), variable);
        }
        assert!("moves".parse::<Variable>().is_err());
    }
}
