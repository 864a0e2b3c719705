//! Order of the numbers of an array: piece, square and phase of each index, by its brackets and its marker.

use super::array::Array;
use super::content::Content;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Grouping {
    Color,
    Piece,
}

/// Squares are innermost, except that the phase may be anywhere.
pub(super) struct Order {
    pieces: usize,
    squares: usize,
    phases: usize,
    /// Consecutive numbers of one phase.
    run: usize,
    colors: Option<Grouping>,
}

impl Order {
    /// Fails if the brackets contradict the marker.
    pub fn of(array: &Array, content: &Content<'_>) -> Result<Self, String> {
        let Some(shape) = array.shape.as_deref() else {
            return Self::of_jagged(array, content);
        };
        let phases = content.phases.len();
        let mut rest = shape.to_vec();
        let mut run = 1;
        if phases == 2 {
            // Pairs are innermost, or at the only other possible place.
            let mut twos = (0..shape.len()).filter(|&axis| shape[axis] == 2);
            let axis = match (shape.last(), twos.next(), twos.next()) {
                (Some(2), ..) => shape.len() - 1,
                (_, Some(axis), None) => axis,
                _ => {
                    let why = "the array has no pairs of a middlegame and an endgame value; put braces around the numbers of each phase, or mark arrays of one as '.mg' and '.eg'";
                    return Err(why.to_string());
                }
            };
            rest.remove(axis);
            run = rest[axis..].iter().product();
        }
        let lengths = |shape: &[usize]| shape.iter().map(|n| format!("[{n}]")).collect::<String>();
        let grouping = grouping(&rest, content);
        let block = match grouping {
            Some(Grouping::Color) => content.squares() / 2,
            _ => content.squares(),
        };
        let mut inner = 1;
        for length in rest.iter().rev() {
            inner *= length;
            let fits = |of: usize| of == 1 || inner.is_multiple_of(of) || of.is_multiple_of(inner);
            let row = if content.has_squares() { content.row } else { 1 };
            // Half a table has rows of 4, two of which make 8, but not columns of 8.
            if !fits(block) || !fits(row) || (row == 4 && *length == 8 && inner == 8) {
                return Err(format!(
                    "the array is {}, which does not go with {}",
                    lengths(shape),
                    lengths(&content.shape())
                ));
            }
        }
        Ok(Self { pieces: content.pieces.len(), squares: content.squares(), phases, run, colors: grouping })
    }

    /// For rows of different lengths: lists of values in their order.
    fn of_jagged(array: &Array, content: &Content<'_>) -> Result<Self, String> {
        let phases = content.phases.len();
        if content.has_squares() || content.colors == 2 {
            return Err("the rows of the array have different lengths".to_string());
        }
        if phases == 2 && !array.pairs_inside {
            let why = "the rows of the array have different lengths, and no pairs of a middlegame and an endgame value; \
                       there are '.mg' and '.eg'";
            return Err(why.to_string());
        }
        Ok(Self { pieces: content.pieces.len(), squares: 1, phases, run: 1, colors: None })
    }

    /// Returns piece, square (Black's after White's) and phase of a number.
    pub fn place(&self, index: usize) -> (usize, usize, usize) {
        let phase = index / self.run % self.phases;
        let rest = index / (self.run * self.phases) * self.run + index % self.run;
        let Some(grouping) = self.colors else {
            return (rest / self.squares, rest % self.squares, phase);
        };
        let half = self.squares / 2;
        let (piece, color) = match grouping {
            Grouping::Piece => (rest / self.squares, rest / half % 2),
            Grouping::Color => (rest / half % self.pieces, rest / (half * self.pieces)),
        };
        (piece, color * half + rest % half, phase)
    }

    pub fn describe_colors(&self) -> Option<&'static str> {
        Some(match self.colors? {
            _ if self.pieces == 1 => "White's before Black's",
            Grouping::Color => "all of White's before all of Black's",
            Grouping::Piece => "White's and Black's by turns",
        })
    }
}

/// As the brackets have it, else by color; `None` for one color.
fn grouping(rest: &[usize], content: &Content<'_>) -> Option<Grouping> {
    if content.colors == 1 {
        return None;
    }
    let (pieces, half) = (content.pieces.len(), content.squares() / 2);
    let mut inner = 1;
    let blocks: Vec<usize> = rest
        .iter()
        .rev()
        .map(|length| {
            inner *= length;
            inner
        })
        .collect();
    let by_piece = blocks.contains(&(2 * half)) && !blocks.contains(&(half * pieces));
    Some(if pieces == 1 || by_piece { Grouping::Piece } else { Grouping::Color })
}
