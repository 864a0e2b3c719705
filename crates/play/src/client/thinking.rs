//! Output of an xboard engine while it chooses a move, and the notation of moves sent to it.

use shakmaty::san::San;
use shakmaty::uci::UciMove;
use shakmaty::{CastlingMode, Chess, Move, Position};

use crate::engine::Score;
use crate::player::{Choice, Failure};
use gputexel_io::shown;

/// Scores from here on are mates, one point per move.
const MATE: i32 = 100_000;

/// Information about a search so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Thinking {
    score: Option<Score>,
    depth: Option<u32>,
    nodes: Option<u64>,
}

impl Thinking {
    /// Reads a line; returns the answer to `go`, if it is one.
    pub fn read(&mut self, line: &str, position: &Chess) -> Option<Result<Choice, Failure>> {
        let line = line.trim();
        let mut words = line.split_whitespace();
        let told = || shown(line);
        let loses = |claim: &str| claim == position.turn().fold_wb("0-1", "1-0");
        match words.next()? {
            "move" => {
                let word = words.next().unwrap_or_default();
                let choice = |m| Choice {
                    m,
                    score: self.score,
                    depth: self.depth,
                    nodes: self.nodes,
                    leaves: Vec::new(),
                };
                let illegal = || Failure::IllegalMove(shown(word));
                Some(parsed(word, position).map(choice).ok_or_else(illegal))
            }
            "resign" => Some(Err(Failure::Resigned(told()))),
            "tellics" if words.next() == Some("resign") => Some(Err(Failure::Resigned(told()))),
            claim @ ("1-0" | "0-1") if loses(claim) => Some(Err(Failure::Resigned(told()))),
            // If the claim were correct, the game would have ended without it.
            "1-0" | "0-1" | "1/2-1/2" => Some(Err(Failure::NoMove(told()))),
            _ if is_refusal(line) => Some(Err(Failure::NoMove(told()))),
            first => {
                self.take(first, words);
                None
            }
        }
    }

    /// Reads `ply score time nodes ...`; a sign may follow the ply.
    fn take<'a>(&mut self, ply: &str, mut words: impl Iterator<Item = &'a str>) {
        let digits = ply.trim_end_matches(|c: char| !c.is_ascii_digit());
        let mut number = || words.next().and_then(|word| word.parse::<i64>().ok());
        let (Ok(depth), Some(score), Some(_), Some(nodes)) = (digits.parse(), number(), number(), number())
        else {
            return;
        };
        self.depth = Some(depth);
        self.nodes = nodes.try_into().ok();
        self.score = i32::try_from(score).ok().map(|score| match score {
            MATE.. => Score::Mate(score - MATE),
            _ if score <= -MATE => Score::Mate(score + MATE),
            _ => Score::Centipawns(score),
        });
    }
}

/// Returns true if an engine reports that a command was invalid.
pub(super) fn is_refusal(line: &str) -> bool {
    let lower = line.trim().to_ascii_lowercase();
    lower.starts_with("illegal move") || lower.starts_with("tellusererror illegal")
}

/// Parses a move as engines write it: from and to squares, or standard notation.
fn parsed(word: &str, position: &Chess) -> Option<Move> {
    let uci = UciMove::from_ascii(word.to_ascii_lowercase().as_bytes()).ok();
    if let Some(m) = uci.and_then(|uci| uci.to_move(position).ok()) {
        return Some(m);
    }
    let castling = word.replace('0', "O");
    let san = [word, castling.as_str()].into_iter().find_map(|text| San::from_ascii(text.as_bytes()).ok());
    san.and_then(|san| san.to_move(position).ok())
}

/// Formats a move for an engine.
pub(super) fn written(position: &Chess, m: Move, san: bool, chess960: bool) -> String {
    if san || (chess960 && m.is_castle()) {
        return San::from_move(position, m).to_string();
    }
    m.to_uci(CastlingMode::Standard).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(lines: &[&str]) -> Option<Result<Choice, Failure>> {
        let mut thinking = Thinking::default();
        lines.iter().find_map(|line| thinking.read(line, &Chess::default()))
    }

    #[test]
    fn moves_claims_and_thoughts_are_read() {
        let choice = answer(&["# hello", "7 31 12 4567 e2e4 e7e5", "8. -20 15 9000 d4", "move e2e4"])
            .unwrap()
            .unwrap();
        assert_eq!(
            (choice.score, choice.depth, choice.nodes),
            (Some(Score::Centipawns(-20)), Some(8), Some(9000))
        );
        assert_eq!(answer(&["move Nf3"]).unwrap().unwrap().m, answer(&["move g1f3"]).unwrap().unwrap().m);
        let score = |line: &str| answer(&[line, "move e2e4"]).unwrap().unwrap().score;
        assert_eq!(score("9 100003 1 2 x"), Some(Score::Mate(3)));
        assert_eq!(score("9& -100002 1 2"), Some(Score::Mate(-2)));
        assert_eq!(score("9 99999999999 1 2"), None);
        assert_eq!(score("nothing at all"), None);
        for (line, expected) in [
            ("move e2e5", Failure::IllegalMove("e2e5".to_string())),
            ("move", Failure::IllegalMove(String::new())),
            ("resign", Failure::Resigned("resign".to_string())),
            ("0-1 {White resigns}", Failure::Resigned("0-1 {White resigns}".to_string())),
            ("1-0 {White mates}", Failure::NoMove("1-0 {White mates}".to_string())),
            ("1/2-1/2 {Draw}", Failure::NoMove("1/2-1/2 {Draw}".to_string())),
            ("Illegal move: e7e5", Failure::NoMove("Illegal move: e7e5".to_string())),
        ] {
            assert_eq!(answer(&[line]), Some(Err(expected)), "{line}");
        }
        assert_eq!(answer(&["", "Error (unknown command): easy", "tellics hello", "offer draw"]), None);
    }

    #[test]
    fn moves_are_told_as_the_engine_wants_them() {
        let start = Chess::default();
        let m = parsed("g1f3", &start).unwrap();
        assert_eq!(
            (written(&start, m, false, false), written(&start, m, true, false)),
            ("g1f3".into(), "Nf3".into())
        );
        let fen = "4k3/8/8/8/8/8/8/4K2R w K - 0 1".parse::<shakmaty::fen::Fen>().unwrap();
        let castling: Chess = fen.into_position(CastlingMode::Standard).unwrap();
        for text in ["e1g1", "O-O", "0-0"] {
            let m = parsed(text, &castling).unwrap();
            assert_eq!(written(&castling, m, false, false), "e1g1");
            assert_eq!(written(&castling, m, false, true), "O-O");
        }
    }
}
