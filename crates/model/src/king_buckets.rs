//! King buckets: piece-square tables that depend on the square of a king.
//!
//! A side's king selects, by its square, one of N buckets; squares are seen from that side (Black's are
//! flipped vertically). If buckets are mirrored, a king on files e to h first mirrors the whole board
//! horizontally as its side sees it, so that kings stand on files a to d. A side's king affects that side
//! alone: both sides choose bucket and mirror separately.
//!
//! - [`KingPieces::Own`]: each piece counts in the tables of its own king's bucket. Features are (bucket,
//!   piece, square), 384 for each bucket.
//! - [`KingPieces::All`]: each side sees all pieces, those of its opponent in separate tables, and the score
//!   is White's view minus Black's. Features are (bucket, own or opponent's, piece, square), 768 for each
//!   bucket.
//!
//! The second kind are the features that the networks of Stockfish call HalfKAv2, with one linear layer.

use std::path::Path;

use serde::{Deserialize, Serialize};
use shakmaty::{Board, Color, Role, Square};

use crate::feature::{Feature, ROLE_NAMES};
use gputexel_io::{Error, Result};

const SQUARES: usize = 64;
/// Number of features of one bucket and one side's pieces.
const TABLES: usize = 6 * SQUARES;

/// Buckets of kings on files a to d, from the first rank to the eighth.
const FOUR: [u8; 32] = [
    0, 0, 1, 1, //
    2, 2, 2, 2, //
    3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3,
];
const EIGHT: [u8; 32] = [
    0, 1, 2, 3, //
    4, 4, 5, 5, //
    6, 6, 6, 6, 6, 6, 6, 6, //
    7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
];
const SIXTEEN: [u8; 32] = [
    0, 1, 2, 3, //
    4, 5, 6, 7, //
    8, 8, 9, 9, //
    10, 10, 11, 11, //
    12, 12, 13, 13, 12, 12, 13, 13, //
    14, 14, 15, 15, 14, 14, 15, 15,
];

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KingPieces {
    #[default]
    Own,
    /// Pieces of both sides.
    All,
}

gputexel_io::names!(KingPieces "king pieces": Own "own", All "all");

/// A partition of the squares of a king; see the module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KingBuckets {
    /// The bucket of each square, a1, b1 … h8, as the king's side sees it. If buckets are mirrored, mirrored
    /// squares have the same bucket.
    squares: Vec<u8>,
    mirrored: bool,
    pieces: KingPieces,
}

impl KingBuckets {
    /// The built-in mirrored buckets: 4, 8 or 16 of them.
    pub fn named(count: &str, pieces: KingPieces) -> Option<Self> {
        let quarter = match count {
            "4" => &FOUR,
            "8" => &EIGHT,
            "16" => &SIXTEEN,
            _ => return None,
        };
        Some(Self { squares: mirror(quarter), mirrored: true, pieces })
    }

    /// Buckets by their name, or from a file as [`parse`](Self::parse) reads it.
    pub fn read(text: &str, pieces: KingPieces) -> Result<Self> {
        if let Some(named) = Self::named(text, pieces) {
            return Ok(named);
        }
        let path = Path::new(text);
        if text.parse::<u64>().is_ok() && !path.exists() {
            let reason =
                format!("king buckets '{text}': expected 4, 8, 16 or a file with a number for each square");
            return Err(Error::Usage(reason));
        }
        let content = gputexel_io::read_whole_text(path, gputexel_io::SETTINGS_BYTES)
            .map_err(|error| Error::io(path, error))?;
        Self::parse(&content, path, pieces)
    }

    /// Parses buckets from text: 32 numbers, of the squares of files a to d, for mirrored buckets, or 64 of
    /// all squares, beginning with the first rank (a1, b1 …).
    pub fn parse(text: &str, path: &Path, pieces: KingPieces) -> Result<Self> {
        let mut squares: Vec<u8> = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let content = line.split('#').next().unwrap_or_default();
            for word in content.split([',', ' ', '\t', '\r']).filter(|word| !word.is_empty()) {
                // Both are slices of the same line.
                let column = word.as_ptr() as usize - line.as_ptr() as usize;
                let column = 1 + line[..column].chars().count();
                let fault = |reason: String| Error::line(path, number, format!("column {column}: {reason}"));
                match word.parse::<u8>().ok().filter(|&bucket| usize::from(bucket) < SQUARES) {
                    Some(bucket) if squares.len() < SQUARES => squares.push(bucket),
                    Some(_) => return Err(fault("more than 64 numbers".to_string())),
                    None => return Err(fault(format!("'{word}' is not a bucket: expected 0 to 63"))),
                }
            }
        }
        let mirrored = squares.len() == SQUARES / 2;
        if !mirrored && squares.len() != SQUARES {
            let reason = format!(
                "{} numbers: expected 64, one for each square from a1 on, or 32 of files a to d for mirrored buckets",
                squares.len()
            );
            return Err(Error::input(path, reason));
        }
        let squares = if mirrored { mirror(&squares) } else { squares };
        let buckets = Self { squares, mirrored, pieces };
        buckets.validate().map(|()| buckets).map_err(|error| Error::input(path, error.to_string()))
    }

    /// Checks buckets that were read from a file.
    pub fn validate(&self) -> Result<()> {
        let usage = |reason: String| Err(Error::Usage(format!("king buckets: {reason}")));
        if self.squares.len() != SQUARES || self.squares.iter().any(|&b| usize::from(b) >= SQUARES) {
            return usage("expected 64 numbers from 0 to 63".to_string());
        }
        let highest = self.count() - 1;
        if let Some(free) = (0..highest).find(|&bucket| !self.squares.contains(&(bucket as u8))) {
            return usage(format!("no square has number {free}, but there is a {highest}"));
        }
        if self.mirrored && (0..SQUARES).any(|square| self.squares[square] != self.squares[square ^ 7]) {
            return usage("mirrored buckets must be the same on both wings".to_string());
        }
        Ok(())
    }

    pub fn count(&self) -> usize {
        usize::from(self.squares.iter().copied().max().unwrap_or(0)) + 1
    }

    /// The bucket of each square, a1, b1 … h8, as the king's side sees it.
    pub fn squares(&self) -> &[u8] {
        &self.squares
    }

    pub fn pieces(&self) -> KingPieces {
        self.pieces
    }

    pub fn mirrored(&self) -> bool {
        self.mirrored
    }

    fn sides(&self) -> usize {
        match self.pieces {
            KingPieces::Own => 1,
            KingPieces::All => 2,
        }
    }

    /// The features: tables `knight_k3` of pieces whose own king is in bucket 3, with features such as
    /// `knight_k3_f5`, and tables `enemy_knight_k3` of its opponent's.
    pub(crate) fn features(&self) -> Vec<Feature> {
        let mut features = Vec::with_capacity(self.count() * self.sides() * TABLES);
        for bucket in 0..self.count() {
            for side in ["", "enemy_"].into_iter().take(self.sides()) {
                for role in ROLE_NAMES {
                    let group = format!("{side}{role}_k{bucket}");
                    let feature =
                        |square: &Square| Feature { name: format!("{group}_{square}"), group: group.clone() };
                    features.extend(Square::ALL.iter().map(feature));
                }
            }
        }
        features
    }

    /// The piece of a feature (0 is the pawn), its side (0 is the king's own) and its square.
    fn piece(&self, id: usize) -> (usize, usize, usize) {
        (id / SQUARES % 6, id / TABLES % self.sides(), id % SQUARES)
    }

    /// True if a feature can occur: pawns do not stand on the first and last rank, nor does a king stand
    /// outside of its bucket.
    pub(crate) fn is_possible(&self, id: usize) -> bool {
        let bucket = id / (self.sides() * TABLES);
        match self.piece(id) {
            (0, _, square) => (8..56).contains(&square),
            (5, 0, square) => {
                usize::from(self.squares[square]) == bucket && !(self.mirrored && square % 8 >= 4)
            }
            _ => true,
        }
    }

    /// The value of a feature in a position's score if pieces (0 is the pawn) have the given values on squares
    /// as their own side sees them: those of the opponent's are negative. If both sides see a piece, each
    /// counts half of it.
    pub(crate) fn worth(&self, id: usize, value: impl Fn(usize, usize) -> f64) -> f64 {
        let (role, side, square) = self.piece(id);
        let value = |square| match self.mirrored {
            true => 0.5 * (value(role, square) + value(role, square ^ 7)),
            false => value(role, square),
        };
        match (self.pieces, side) {
            (KingPieces::Own, _) => value(square),
            (KingPieces::All, 0) => 0.5 * value(square),
            (KingPieces::All, _) => -0.5 * value(square ^ 56),
        }
    }

    /// Calls `found` with each feature that a side sees; White's count with their sign, Black's with the
    /// opposite sign. A side without a king sees nothing.
    #[inline]
    pub(crate) fn visit(&self, board: &Board, side: Color, mut found: impl FnMut(usize)) {
        let Some(king) = board.king_of(side) else { return };
        let flip = if side.is_white() { 0 } else { 56 };
        let king = usize::from(king) ^ flip;
        let turned = flip ^ if self.mirrored && king % 8 >= 4 { 7 } else { 0 };
        let first = usize::from(self.squares[king]) * self.sides() * TABLES;
        for (number, color) in [side, !side].into_iter().take(self.sides()).enumerate() {
            for (role, base) in Role::ALL.into_iter().zip((first + number * TABLES..).step_by(SQUARES)) {
                for square in board.by_role(role) & board.by_color(color) {
                    found(base + (usize::from(square) ^ turned));
                }
            }
        }
    }
}

fn mirror(half: &[u8]) -> Vec<u8> {
    half.chunks(4).flat_map(|rank| rank.iter().chain(rank.iter().rev())).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<KingBuckets> {
        KingBuckets::parse(text, Path::new("k.txt"), KingPieces::Own)
    }

    #[test]
    fn known_buckets_are_valid_and_have_their_number() {
        for (name, count) in [("4", 4), ("8", 8), ("16", 16)] {
            let buckets = KingBuckets::named(name, KingPieces::All).unwrap();
            buckets.validate().unwrap();
            assert_eq!((buckets.count(), buckets.features().len()), (count, 768 * count));
        }
        assert!(KingBuckets::named("5", KingPieces::Own).is_none());
    }

    #[test]
    fn files_are_read_from_the_first_rank_on() {
        let half: String = (0..32)
            .map(|square| format!("{}{}", square / 16, if square % 4 == 3 { ",\n" } else { " " }))
            .collect();
        let buckets = parse(&format!("# two halves\n{half}")).unwrap();
        assert!(buckets.mirrored && buckets.count() == 2);
        assert_eq!((buckets.squares[31], buckets.squares[32]), (0, 1));
        let whole: String = (0..64).map(|square| format!("{} ", u8::from(square == 63))).collect();
        let buckets = parse(&whole).unwrap();
        assert!(!buckets.mirrored && buckets.squares[63] == 1 && buckets.squares[62] == 0);
    }

    #[test]
    fn faults_are_named_by_line_and_column() {
        let message = |text: &str| parse(text).unwrap_err().to_string();
        assert_eq!(message("0 0\n0, x1 0"), "k.txt:2: column 4: 'x1' is not a bucket: expected 0 to 63");
        assert_eq!(message("0 64"), "k.txt:1: column 3: '64' is not a bucket: expected 0 to 63");
        assert!(message(&"0 ".repeat(65)).contains("column 129: more than 64 numbers"));
        assert!(message("0 1 2 # 3").starts_with("k.txt: 3 numbers: expected 64"));
        assert!(message(&"2 0 ".repeat(32)).contains("no square has number 1, but there is a 2"));
        let error = KingBuckets::read("5", KingPieces::Own).unwrap_err().to_string();
        assert_eq!(error, "king buckets '5': expected 4, 8, 16 or a file with a number for each square");
    }
}
