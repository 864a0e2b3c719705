//! Layouts of squares in an array: all squares, the ranks that pawns can reach, or boards with a margin whose entries
//! are not squares.

use gputexel_model::SquareCell;

/// Layout of the entries of an array.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Board {
    /// Every square.
    #[default]
    Squares,
    /// The squares of ranks 2 to 7.
    PawnRanks,
    /// 8 ranks of 16: after each rank, 8 entries that are not squares.
    X88,
    /// 12 ranks of 10: 2 ranks and 1 file on each side are not squares.
    Mailbox,
}

impl Board {
    /// Parses the option `board`.
    pub fn of_option(text: &str) -> Option<Self> {
        match text {
            "0x88" => Some(Self::X88),
            "10x12" => Some(Self::Mailbox),
            _ => None,
        }
    }

    /// Returns the option of a marker, with a space before it; empty for plain boards.
    pub fn option(self) -> &'static str {
        match self {
            Self::Squares => "",
            Self::PawnRanks => " ranks 2-7",
            Self::X88 => " board 0x88",
            Self::Mailbox => " board 10x12",
        }
    }

    /// Returns the entries per rank if tables have `files` squares of it.
    pub fn row(self, files: usize) -> usize {
        match self {
            Self::Squares | Self::PawnRanks => files,
            Self::X88 => 16,
            Self::Mailbox => 10,
        }
    }

    /// Returns the number of entries of a table of `squares` squares.
    pub fn entries(self, squares: usize) -> usize {
        match self {
            Self::Squares => squares,
            Self::PawnRanks => squares / 8 * 6,
            Self::X88 => 128,
            Self::Mailbox => 120,
        }
    }

    /// Returns the entries of a color's table, given those of its squares in order. Entries outside of the board have
    /// no squares.
    pub fn place(self, cells: Vec<SquareCell>) -> Vec<SquareCell> {
        let margin =
            |count: usize| std::iter::repeat_n(SquareCell { squares: Vec::new(), negative: false }, count);
        match self {
            Self::Squares => cells,
            // Seen from either side, pawns are neither on the first nor the last rank.
            Self::PawnRanks => {
                let reached = |cell: &SquareCell| cell.squares.iter().all(|square| (8..56).contains(square));
                cells.into_iter().filter(reached).collect()
            }
            Self::X88 => cells.chunks(8).flat_map(|rank| rank.iter().cloned().chain(margin(8))).collect(),
            Self::Mailbox => {
                let ranks =
                    cells.chunks(8).flat_map(|rank| margin(1).chain(rank.iter().cloned()).chain(margin(1)));
                margin(20).chain(ranks).chain(margin(20)).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gputexel_model::SquareOrder;

    #[test]
    fn squares_are_where_engines_look_for_them() {
        let cells = |board: Board, first: &str| {
            let order: SquareOrder = first.parse().unwrap();
            let placed = board.place(order.cells());
            assert_eq!(placed.len(), board.entries(64));
            placed.into_iter().map(|cell| cell.squares.first().copied()).collect::<Vec<_>>()
        };
        let x88 = cells(Board::X88, "a1");
        let mailbox = cells(Board::Mailbox, "a8");
        for (index, square) in x88.iter().enumerate() {
            assert_eq!(*square, (index & 0x88 == 0).then_some(8 * (index >> 4) + (index & 7)));
        }
        for square in 0..64 {
            // A8 is 21, H1 is 98.
            assert_eq!(mailbox[21 + 10 * (7 - square / 8) + square % 8], Some(square));
        }
        assert_eq!(mailbox.iter().flatten().count(), 64);
        assert_eq!(cells(Board::PawnRanks, "a8"), (8..56).map(|i| Some(i ^ 56)).collect::<Vec<_>>());
    }
}
