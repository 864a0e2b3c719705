//! Piece-square tables: the order in which squares are written, halves of symmetric tables, tables for both
//! colors, and the piece value contained in a table.

use std::str::FromStr;

use gputexel_io::{Error, Result};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Colors {
    /// One table for both: Black's squares are flipped (`square ^ 56`) before the lookup.
    #[default]
    One,
    /// White's table, then Black's, both in the same order of squares.
    Both,
    /// As [`Both`](Self::Both), with Black's values negated.
    Negated,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SquareOrder {
    pub ranks_down: bool,
    pub files_down: bool,
    /// Squares per rank: 8, or 4 for tables with mirrored halves.
    pub files: usize,
    pub colors: Colors,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SquareCell {
    /// The squares (a1 is 0, h8 is 63, from the piece's own side) whose mean it is: one, or two that mirror
    /// each other.
    pub squares: Vec<usize>,
    pub negative: bool,
}

impl Default for SquareOrder {
    fn default() -> Self {
        Self { ranks_down: false, files_down: false, files: 8, colors: Colors::One }
    }
}

impl FromStr for SquareOrder {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (ranks_down, files_down) = match text {
            "a1" => (false, false),
            "h1" => (false, true),
            "a8" => (true, false),
            "h8" => (true, true),
            _ => {
                return Err(Error::Usage(format!(
                    "orientation '{text}': expected the first square: a1, h1, a8 or h8"
                )));
            }
        };
        Ok(Self { ranks_down, files_down, ..Self::default() })
    }
}

impl SquareOrder {
    pub fn first(&self) -> &'static str {
        match (self.ranks_down, self.files_down) {
            (false, false) => "a1",
            (false, true) => "h1",
            (true, false) => "a8",
            (true, true) => "h8",
        }
    }

    /// The number of entries per color.
    pub fn entries(&self) -> usize {
        8 * self.files
    }

    /// The four orders of all squares, identified by their first square.
    pub const ORIENTATIONS: [&'static str; 4] = ["a1", "h1", "a8", "h8"];

    /// The square at each index of a full table; the last is opposite to the first.
    pub fn squares(&self) -> [usize; 64] {
        let ranks = if self.ranks_down { 56 } else { 0 };
        let files = if self.files_down { 7 } else { 0 };
        std::array::from_fn(|index| index ^ ranks ^ files)
    }

    /// The entries of a piece in order: White's, then Black's if both colors have their own.
    pub fn cells(&self) -> Vec<SquareCell> {
        self.cells_of(&self.squares())
    }

    /// The cells as [`cells`](Self::cells), with full tables in any order of squares, half tables rank by
    /// rank.
    pub fn cells_of(&self, squares: &[usize; 64]) -> Vec<SquareCell> {
        let mut cells = Vec::with_capacity(2 * self.entries());
        for row in squares.chunks(8) {
            for &square in &row[..self.files] {
                // In a half table, each square also represents its mirror image.
                let mirrored = (self.files == 4).then_some(square ^ 7);
                let squares = std::iter::once(square).chain(mirrored).collect();
                cells.push(SquareCell { squares, negative: false });
            }
        }
        if self.colors != Colors::One {
            for index in 0..cells.len() {
                let squares = cells[index].squares.iter().map(|square| square ^ 56).collect();
                cells.push(SquareCell { squares, negative: self.colors == Colors::Negated });
            }
        }
        cells
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(first: &str, files: usize, colors: Colors) -> SquareOrder {
        SquareOrder { files, colors, ..first.parse().unwrap() }
    }

    #[test]
    fn half_tables_are_of_mirrored_squares() {
        let cells = order("a8", 4, Colors::One).cells();
        assert_eq!((cells.len(), &cells[0].squares, &cells[31].squares), (32, &vec![56, 63], &vec![3, 4]));
        assert_eq!(order("h1", 4, Colors::One).cells()[1].squares, [6, 1]);
    }

    #[test]
    fn both_colors_have_the_same_order_of_squares() {
        for first in ["a1", "h1", "a8", "h8"] {
            let white = order(first, 8, Colors::One);
            assert_eq!(white.first(), first);
            let both = order(first, 8, Colors::Negated).cells();
            // An index of Black's table is the same square of the board, seen from the other side.
            for index in 0..64 {
                assert_eq!(both[64 + index].squares[0], both[index].squares[0] ^ 56);
                assert!(both[64 + index].negative && !both[index].negative);
            }
        }
        assert!("e4".parse::<SquareOrder>().is_err());
    }
}
