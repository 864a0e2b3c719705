//! A finished game as a line of the journal, and back.

use std::collections::HashSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use shakmaty::fen::Fen;
use shakmaty::uci::UciMove;
use shakmaty::{CastlingMode, Chess, EnPassantMode, KnownOutcome, Move, Position};

use crate::end::End;
use crate::engine::Score;
use crate::game::{GameRecord, Played};
use crate::leaves::read_leaf;
use crate::openings::Opening;
use gputexel_chess::sample::position_key;
use gputexel_io::LogFile;
use gputexel_io::run_folder::Kind;

pub(super) const JOURNAL: LogFile = LogFile { name: "selfplay.jsonl", what: Kind::SelfPlay.name() };

/// Move, score (`+35` or `-M5`), depth, nodes, microseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct StoredMove(pub String, pub Option<String>, pub Option<u32>, pub Option<u64>, pub u64);

impl StoredMove {
    pub(super) fn new(played: &Played, chess960: bool) -> Self {
        let score = played.score.map(written);
        Self(uci(played.m, chess960), score, played.depth, played.nodes, played.took.as_micros() as u64)
    }

    pub(super) fn read(&self, position: &Chess) -> Result<Played, String> {
        let Self(m, score, depth, nodes, micros) = self;
        let score = score.as_deref().map(|text| read(text).ok_or_else(|| format!("no score: '{text}'")));
        Ok(Played {
            m: legal_move(m, position)?,
            score: score.transpose()?,
            depth: *depth,
            nodes: *nodes,
            took: Duration::from_micros(*micros),
        })
    }

    /// As reported, or 0.
    pub(super) fn nodes(&self) -> u64 {
        self.3.unwrap_or(0)
    }

    pub(super) fn has_score(&self) -> bool {
        self.1.is_some()
    }

    pub(super) fn micros(&self) -> u64 {
        self.4
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct StoredGame {
    pub game: u64,
    /// Of the position after the opening, unique among games.
    pub key: u64,
    /// `None` for the usual position.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fen: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub chess960: bool,
    /// In UCI notation.
    pub opening: String,
    pub moves: Vec<StoredMove>,
    pub result: String,
    pub end: End,
    /// If the engine failed or exceeded the time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// As FEN, in order and without duplicates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leaves: Vec<String>,
}

impl StoredGame {
    pub(super) fn new(game: u64, record: &GameRecord) -> Self {
        let GameRecord { opening, outcome, end, failure, leaves, .. } = record;
        let (start, chess960) = (&opening.start, opening.chess960);
        let usual = *start == Chess::default() && start.fullmoves().get() == 1 && start.halfmoves() == 0;
        let words: Vec<String> = opening.moves.iter().map(|&m| uci(m, chess960)).collect();
        Self {
            game,
            key: position_key(&opening.position()),
            fen: (!usual).then(|| Fen::from_position(start, EnPassantMode::Legal).to_string()),
            chess960,
            opening: words.join(" "),
            moves: record.moves.iter().map(|played| StoredMove::new(played, chess960)).collect(),
            result: outcome.as_str().to_string(),
            end: *end,
            failure: failure.clone(),
            leaves: distinct(leaves),
        }
    }

    pub(super) fn outcome(&self) -> Option<KnownOutcome> {
        self.result.parse().ok()
    }

    fn opening(&self) -> Result<Opening, String> {
        let start =
            self.fen.as_ref().map_or(Ok(Chess::default()), |fen| read_position(fen, self.chess960))?;
        let mut position = start.clone();
        let mut moves = Vec::new();
        for word in self.opening.split_whitespace() {
            let m = legal_move(word, &position)?;
            position.play_unchecked(m);
            moves.push(m);
        }
        Ok(Opening { start, moves, chess960: self.chess960 })
    }

    /// The game, or what is wrong with the line.
    pub(super) fn record(&self) -> Result<GameRecord, String> {
        let opening = self.opening()?;
        let mut position = opening.position();
        let mut play = |stored: &StoredMove| {
            let played = stored.read(&position)?;
            position.play_unchecked(played.m);
            Ok(played)
        };
        Ok(GameRecord {
            moves: self.moves.iter().map(&mut play).collect::<Result<_, String>>()?,
            opening,
            outcome: self.outcome().ok_or_else(|| format!("no result: '{}'", self.result))?,
            end: self.end,
            failure: self.failure.clone(),
            leaves: self
                .leaves
                .iter()
                .map(|fen| read_position(fen, self.chess960))
                .collect::<Result<_, String>>()?,
        })
    }
}

/// As FEN, each once.
fn distinct(leaves: &[Chess]) -> Vec<String> {
    let mut seen = HashSet::new();
    let new = leaves.iter().filter(|position| seen.insert(position_key(position)));
    new.map(|position| Fen::from_position(position, EnPassantMode::Legal).to_string()).collect()
}

fn read_position(fen: &str, chess960: bool) -> Result<Chess, String> {
    read_leaf(fen, chess960).map_err(|error| format!("'{fen}': {}", error.reason()))
}

fn legal_move(word: &str, position: &Chess) -> Result<Move, String> {
    let m = word.parse::<UciMove>().ok().and_then(|uci| uci.to_move(position).ok());
    m.ok_or_else(|| format!("illegal move '{}'", gputexel_io::printable(word)))
}

fn uci(m: Move, chess960: bool) -> String {
    m.to_uci(CastlingMode::from_chess960(chess960)).to_string()
}

fn written(score: Score) -> String {
    match score {
        Score::Centipawns(cp) => format!("{cp:+}"),
        Score::Mate(moves) if moves > 0 => format!("M{moves}"),
        Score::Mate(moves) => format!("-M{}", moves.unsigned_abs()),
    }
}

fn read(text: &str) -> Option<Score> {
    let mate = |moves: &str| moves.parse::<i32>().ok();
    match (text.strip_prefix("-M"), text.strip_prefix('M')) {
        (Some(moves), _) => mate(moves)?.checked_neg().map(Score::Mate),
        (_, Some(moves)) => mate(moves).map(Score::Mate),
        _ => text.parse().ok().map(Score::Centipawns),
    }
}

/// Only games that were played properly say something about positions.
pub(super) fn is_sound(end: End) -> bool {
    !end.is_failure() && end != End::TimeForfeit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn games_come_back_from_the_journal() {
        let fen = "4k3/P7/8/8/8/8/8/R3K2R w KQ - 5 20";
        let stored = StoredGame {
            game: 7,
            key: 1,
            fen: Some(fen.to_string()),
            chess960: false,
            opening: "e1g1 e8d7".to_string(),
            moves: vec![
                StoredMove("a7a8q".into(), Some("M4".into()), Some(5), Some(900), 31),
                StoredMove("d7e6".into(), None, None, None, 2),
            ],
            result: "1-0".to_string(),
            end: End::AdjudicatedWin,
            failure: None,
            leaves: Vec::new(),
        };
        let record = stored.record().unwrap();
        assert_eq!((record.plies(), record.moves[0].score), (4, Some(Score::Mate(4))));
        let again = StoredGame::new(7, &record);
        assert_eq!(StoredGame { key: again.key, ..stored.clone() }, again);
        for (damaged, reason) in [
            (StoredGame { opening: "e1g1 e8e7 e7".to_string(), ..stored.clone() }, "illegal move 'e7'"),
            (StoredGame { result: "2-0".to_string(), ..stored.clone() }, "no result: '2-0'"),
            (StoredGame { fen: Some("8/8".to_string()), ..stored.clone() }, ""),
        ] {
            let found = damaged.record().unwrap_err();
            assert!(found.contains(reason) && !found.is_empty(), "{found}");
        }
    }

    #[test]
    fn scores_are_read_as_they_are_written() {
        use Score::{Centipawns, Mate};
        for score in [0, 35, -120, i32::MAX, i32::MIN].map(Centipawns) {
            assert_eq!(read(&written(score)), Some(score));
        }
        for (score, text) in [(Mate(3), "M3"), (Mate(-3), "-M3"), (Mate(0), "-M0")] {
            assert_eq!((written(score).as_str(), read(text)), (text, Some(score)));
        }
        for none in ["", "M", "-M", "+", "1.5", "M99999999999", "-M-2147483648"] {
            assert_eq!(read(none), None, "{none}");
        }
    }
}
