//! The position of a square: the terms of MadChess's location scores.
//!
//! value(square) = rank · advancement + (3 − distance to the center) · square centrality +
//! (3 − distance to the center files) · file centrality + (3 − distance to a corner) · corner,
//! with Chebyshev distances and ranks from 0 to 7 as seen from the piece's own side.

/// Returns the rank of a square (a1 is 0, h8 is 63), 0 to 7.
pub(super) fn rank(square: usize) -> i32 {
    square as i32 / 8
}

/// Returns 3 − distance to the nearest of d4, e4, d5 and e5: 0 on the rim, 3 in the center.
pub(super) fn square_centrality(square: usize) -> i32 {
    file_centrality(square).min(3 - from_middle(rank(square)))
}

/// Returns 3 − distance to the d and e files: 0 on the a and h files.
pub(super) fn file_centrality(square: usize) -> i32 {
    3 - from_middle(square as i32 % 8)
}

/// Returns 3 − distance to the nearest corner: 3 in a corner, 0 in the center.
pub(super) fn corner(square: usize) -> i32 {
    let to_edge = |line: i32| line.min(7 - line);
    3 - to_edge(square as i32 % 8).max(to_edge(rank(square)))
}

/// Returns the distance of a file or rank to the nearer of the two middle ones.
fn from_middle(line: i32) -> i32 {
    (3 - line).abs().min((4 - line).abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_those_counted_by_hand() {
        // (square, rank, square centrality, file centrality, corner)
        let cases = [
            ("a1", 0, 0, 0, 3),
            ("h8", 7, 0, 0, 3),
            ("e4", 3, 3, 3, 0),
            ("d5", 4, 3, 3, 0),
            ("b1", 0, 0, 1, 2),
            ("e1", 0, 0, 3, 0),
            ("g3", 2, 1, 1, 1),
            ("c6", 5, 2, 2, 1),
            ("f3", 2, 2, 2, 1),
            ("a4", 3, 0, 0, 0),
        ];
        for (name, by_rank, center, file, edge) in cases {
            let bytes = name.as_bytes();
            let square = usize::from(bytes[0] - b'a') + 8 * usize::from(bytes[1] - b'1');
            let found = (rank(square), square_centrality(square), file_centrality(square), corner(square));
            assert_eq!(found, (by_rank, center, file, edge), "{name}");
        }
    }
}
