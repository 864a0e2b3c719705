//! A finished game as a line of the journal, and back.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use shakmaty::fen::Fen;
use shakmaty::{Chess, EnPassantMode, KnownOutcome, Position};

use crate::leaves::read_leaf;
use crate::{End, GameRecord, StoredMove, StoredOpening};
use gputexel_chess::sample::position_key;
use gputexel_io::LogFile;
use gputexel_io::run_folder::Kind;

/// The journal, with a line for each finished game.
pub(super) const JOURNAL: LogFile = LogFile { name: "selfplay.jsonl", what: Kind::SelfPlay.name() };

/// A game as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct StoredGame {
    /// Its number, from 0.
    pub game: u64,
    /// Key of the position after the opening, unique among games.
    pub key: u64,
    /// Start position, unless it is the usual one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fen: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub chess960: bool,
    /// Opening moves, in UCI notation.
    pub opening: String,
    /// Moves of the engine.
    pub moves: Vec<StoredMove>,
    /// `1-0`, `0-1` or `1/2-1/2`.
    pub result: String,
    /// Reason for its end.
    pub end: End,
    /// Description of the failure, if the engine failed or exceeded the time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Positions drawn from those that the searches evaluated, as FEN, in order and without duplicates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leaves: Vec<String>,
}

impl StoredGame {
    pub(super) fn new(game: u64, record: &GameRecord) -> Self {
        let GameRecord { opening, outcome, end, failure, leaves, .. } = record;
        let StoredOpening { fen, chess960, moves } = StoredOpening::new(opening);
        Self {
            game,
            key: position_key(&opening.position()),
            fen,
            chess960,
            opening: moves,
            moves: record.moves.iter().map(|played| StoredMove::new(played, chess960)).collect(),
            result: outcome.as_str().to_string(),
            end: *end,
            failure: failure.clone(),
            leaves: distinct(leaves),
        }
    }

    /// Returns the outcome.
    pub(super) fn outcome(&self) -> Option<KnownOutcome> {
        self.result.parse().ok()
    }

    /// Returns the game, or what is wrong with the line.
    pub(super) fn record(&self) -> Result<GameRecord, String> {
        let Self { fen, chess960, .. } = self;
        let opening = StoredOpening { fen: fen.clone(), chess960: *chess960, moves: self.opening.clone() };
        let opening = opening.read()?;
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
            leaves: self.leaves.iter().map(|fen| leaf(fen, *chess960)).collect::<Result<_, String>>()?,
        })
    }
}

/// Returns positions as FEN, each once.
fn distinct(leaves: &[Chess]) -> Vec<String> {
    let mut seen = HashSet::new();
    let new = leaves.iter().filter(|position| seen.insert(position_key(position)));
    new.map(|position| Fen::from_position(position, EnPassantMode::Legal).to_string()).collect()
}

/// Reads a position of [`distinct`].
fn leaf(fen: &str, chess960: bool) -> Result<Chess, String> {
    read_leaf(fen, chess960).map_err(|error| format!("'{fen}': {}", error.reason()))
}

/// Returns true if a game with this end was played properly by the engine. Only then does its result say something
/// about the positions.
pub(super) fn is_sound(end: End) -> bool {
    !end.is_failure() && end != End::TimeForfeit
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Score;

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
}
