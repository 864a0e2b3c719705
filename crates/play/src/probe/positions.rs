//! Positions that an engine is asked about, with their labels.

use std::path::Path;

use shakmaty::{CastlingMode, Color, Position};
use xxhash_rust::xxh3::Xxh3;

use gputexel_chess::fen::{legal_position, parse_fen};
use gputexel_io::{Error, Result};

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Labeled {
    pub fen: String,
    pub black: bool,
    pub game: u64,
    /// White's view, 0 to 1, as written.
    pub result: String,
    /// Search score, centipawns, White's view, as written; may be empty.
    pub score: String,
    /// As written; may be empty.
    pub weight: String,
}

/// In which the side to move has a move, in their order.
#[derive(Clone, Debug, Default)]
pub(super) struct Positions {
    pub all: Vec<Labeled>,
    pub ended: u64,
    /// Otherwise every position is numbered as a game of its own.
    pub has_games: bool,
    /// Hash of all lines.
    pub key: u64,
}

impl Positions {
    /// Lines `GAME RESULT FEN [SCORE|- [WEIGHT]]`; `path` is for messages.
    pub fn parse(text: &str, has_games: bool, path: &Path) -> Result<Self> {
        let mut found = Self { has_games, ..Self::default() };
        let mut hash = Xxh3::new();
        for (number, line) in (1..).zip(text.lines()) {
            hash.update(line.as_bytes());
            hash.update(b"\n");
            let words: Vec<&str> = line.split_whitespace().collect();
            let wrong = || Error::line(path, number, "is not a line 'GAME RESULT FEN [SCORE]'");
            let [game, result, fen @ ..] = &words[..] else { return Err(wrong()) };
            if fen.len() < 6 {
                return Err(wrong());
            }
            let (fen, rest) = fen.split_at(6);
            let fen = fen.join(" ");
            let setup = parse_fen(fen.as_bytes()).map_err(|_| wrong())?.0;
            let black = setup.turn == Color::Black;
            let position = legal_position(setup, CastlingMode::Standard);
            let position = position.map_err(|error| Error::line(path, number, error.reason()))?;
            if position.legal_moves().is_empty() {
                found.ended += 1;
                continue;
            }
            let word = |at: usize| {
                rest.get(at).filter(|word| **word != "-").map_or(String::new(), ToString::to_string)
            };
            found.all.push(Labeled {
                fen,
                black,
                game: game.parse().map_err(|_| wrong())?,
                result: (*result).to_string(),
                score: word(0),
                weight: word(1),
            });
        }
        found.key = hash.digest();
        Ok(found)
    }

    /// Indices of `count` positions, spread evenly.
    pub fn spread(&self, count: usize) -> Vec<u32> {
        let all = self.all.len();
        let count = count.min(all);
        (0..count).map(|i| (i * all / count) as u32).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_keep_their_labels() {
        let text = "3 0.5 4k3/8/8/8/8/8/4P3/4K3 b - - 0 1 -31 0.5\n\
                    4 1 4k3/8/8/8/8/8/4P3/4K3 w - - 0 1 - 2\n\
                    5 0 7k/5Q2/6K1/8/8/8/8/8 b - - 0 1\n";
        let found = Positions::parse(text, true, Path::new("x")).unwrap();
        assert_eq!((found.all.len(), found.ended, found.has_games), (2, 1, true));
        let first = &found.all[0];
        assert_eq!((first.black, first.score.as_str(), first.weight.as_str()), (true, "-31", "0.5"));
        assert_eq!((found.all[1].score.as_str(), found.all[1].weight.as_str()), ("", "2"));
        assert!(Positions::parse("4k3/8/8/8/8/8/4P3/4K3 b - - 0 1\n", true, Path::new("x")).is_err());
    }
}
