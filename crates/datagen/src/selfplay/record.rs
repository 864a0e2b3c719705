//! A finished game as a line of the journal, and back.

use serde::{Deserialize, Serialize};
use shakmaty::fen::Fen;
use shakmaty::uci::UciMove;
use shakmaty::{CastlingMode, Chess, EnPassantMode, KnownOutcome, Move, Position};

use std::time::Duration;

use gputexel_chess::fen::{legal_position, parse_fen};
use gputexel_chess::sample::position_key;
use gputexel_engine::Score;
use gputexel_matches::openings::Opening;
use gputexel_matches::{End, GameRecord, Played};

/// A game as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct StoredGame {
    /// Its number, from 0.
    pub game: u64,
    /// The key of the position where the engine took over: no two games have the same.
    pub key: u64,
    /// Where it began, unless in the usual way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fen: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub chess960: bool,
    /// Moves before the engine took over, as UCI writes them.
    pub opening: String,
    /// What the engine played.
    pub moves: Vec<StoredMove>,
    /// `1-0`, `0-1` or `1/2-1/2`.
    pub result: String,
    /// Why it ended.
    pub end: End,
    /// What the engine did, where it failed or was too slow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// Move, score (`+35` or `-M5`), depth, nodes, microseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct StoredMove(String, Option<String>, Option<u32>, Option<u64>, pub u64);

impl StoredMove {
    pub(super) fn nodes(&self) -> u64 {
        self.3.unwrap_or(0)
    }

    pub(super) fn has_score(&self) -> bool {
        self.1.is_some()
    }
}

impl StoredGame {
    pub(super) fn new(game: u64, record: &GameRecord) -> Self {
        let GameRecord { opening, outcome, end, failure, .. } = record;
        let castling = mode(opening.chess960);
        let uci = |m: Move| m.to_uci(castling).to_string();
        let moves = record.moves.iter().map(|played| {
            let score = played.score.map(written);
            StoredMove(uci(played.m), score, played.depth, played.nodes, played.took.as_micros() as u64)
        });
        let start = &opening.start;
        let fen = *start != Chess::default() || start.fullmoves().get() != 1 || start.halfmoves() != 0;
        Self {
            game,
            key: position_key(&opening.position()),
            fen: fen.then(|| Fen::from_position(start, EnPassantMode::Legal).to_string()),
            chess960: opening.chess960,
            opening: opening.moves.iter().map(|&m| uci(m)).collect::<Vec<_>>().join(" "),
            moves: moves.collect(),
            result: outcome.as_str().to_string(),
            end: *end,
            failure: failure.clone(),
        }
    }

    /// Who won.
    pub(super) fn outcome(&self) -> Option<KnownOutcome> {
        self.result.parse().ok()
    }

    /// The game, or what is wrong with the line.
    pub(super) fn record(&self) -> Result<GameRecord, String> {
        let start = match &self.fen {
            None => Chess::default(),
            Some(fen) => {
                let (setup, _) = parse_fen(fen.as_bytes()).map_err(|e| e.reason().to_string())?;
                legal_position(setup, mode(self.chess960)).map_err(|e| e.reason().to_string())?
            }
        };
        let mut position = start.clone();
        let mut play = |word: &str| {
            let m = word.parse::<UciMove>().ok().and_then(|uci| uci.to_move(&position).ok());
            let m = m.ok_or_else(|| format!("illegal move '{word}'"))?;
            position.play_unchecked(m);
            Ok::<Move, String>(m)
        };
        let moves: Vec<Move> = self.opening.split_whitespace().map(&mut play).collect::<Result<_, _>>()?;
        let played = |stored: &StoredMove| {
            let StoredMove(m, score, depth, nodes, micros) = stored;
            let score = score.as_deref().map(|text| read(text).ok_or_else(|| format!("no score: '{text}'")));
            Ok(Played {
                m: play(m)?,
                score: score.transpose()?,
                depth: *depth,
                nodes: *nodes,
                took: Duration::from_micros(*micros),
            })
        };
        Ok(GameRecord {
            moves: self.moves.iter().map(played).collect::<Result<_, String>>()?,
            opening: Opening { start, moves, chess960: self.chess960 },
            outcome: self.outcome().ok_or_else(|| format!("no result: '{}'", self.result))?,
            end: self.end,
            failure: self.failure.clone(),
        })
    }
}

/// Whether the engine did its part in a game that ended so: only then its result says something of the positions.
pub(super) fn is_sound(end: End) -> bool {
    !end.is_failure() && end != End::TimeForfeit
}

fn mode(chess960: bool) -> CastlingMode {
    if chess960 { CastlingMode::Chess960 } else { CastlingMode::Standard }
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

#[cfg(test)]
mod tests {
    use super::*;

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
