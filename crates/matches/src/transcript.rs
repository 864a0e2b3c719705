//! Games as text, for journals and for sending them, and back.
//!
//! Reading trusts nothing: every move is played on a board, and [`recorded_game`] also holds the end of a game
//! against the rules that it was played by.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use shakmaty::fen::Fen;
use shakmaty::uci::UciMove;
use shakmaty::{CastlingMode, Chess, EnPassantMode, KnownOutcome, Move, Position};

use super::course::Course;
use super::end::End;
use super::game::{GameRecord, Played, Rules};
use super::openings::Opening;
use super::time_control::TimeControl;
use gputexel_chess::fen::{legal_position, parse_fen};
use gputexel_engine::Score;

/// Nodes of a move at most, far more than can be searched; sums of a game's moves do not overflow.
const MAX_NODES: u64 = 1 << 48;

/// Microseconds of a move at most: ten days.
const MAX_MICROS: u64 = 864_000_000_000;

/// Bytes of a failure in words at most.
const MAX_FAILURE: usize = 500;

/// Move, score (`+35` or `-M5`), depth, nodes, microseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredMove(pub String, pub Option<String>, pub Option<u32>, pub Option<u64>, pub u64);

impl StoredMove {
    /// A move as text.
    pub fn new(played: &Played, chess960: bool) -> Self {
        let score = played.score.map(written);
        Self(uci(played.m, chess960), score, played.depth, played.nodes, played.took.as_micros() as u64)
    }

    /// The move in a position.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(&self, position: &Chess) -> Result<Played, String> {
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

    /// Nodes reported, 0 if none were.
    pub fn nodes(&self) -> u64 {
        self.3.unwrap_or(0)
    }

    /// Whether the engine gave a score.
    pub fn has_score(&self) -> bool {
        self.1.is_some()
    }

    /// Microseconds that the engine took.
    pub fn micros(&self) -> u64 {
        self.4
    }
}

/// Where a game began.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StoredOpening {
    /// The position, unless the usual one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fen: Option<String>,
    /// Whether castling is that of Chess960.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub chess960: bool,
    /// Moves before the engines took over, as UCI writes them.
    pub moves: String,
}

impl StoredOpening {
    /// An opening as text.
    pub fn new(opening: &Opening) -> Self {
        let start = &opening.start;
        let fen = *start != Chess::default() || start.fullmoves().get() != 1 || start.halfmoves() != 0;
        Self {
            fen: fen.then(|| Fen::from_position(start, EnPassantMode::Legal).to_string()),
            chess960: opening.chess960,
            moves: opening.moves.iter().map(|&m| uci(m, opening.chess960)).collect::<Vec<_>>().join(" "),
        }
    }

    /// The opening.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(&self) -> Result<Opening, String> {
        let start = match &self.fen {
            None => Chess::default(),
            Some(fen) => {
                let (setup, _) = parse_fen(fen.as_bytes()).map_err(|e| e.reason().to_string())?;
                legal_position(setup, mode(self.chess960)).map_err(|e| e.reason().to_string())?
            }
        };
        let mut position = start.clone();
        let mut moves = Vec::new();
        for word in self.moves.split_whitespace() {
            let m = legal_move(word, &position)?;
            position.play_unchecked(m);
            moves.push(m);
        }
        Ok(Opening { start, moves, chess960: self.chess960 })
    }
}

/// A game behind its opening.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredCourse {
    /// What the engines played.
    pub moves: Vec<StoredMove>,
    /// `1-0`, `0-1` or `1/2-1/2`.
    pub result: String,
    /// Why it ended.
    pub end: End,
    /// What the loser did, where it failed or was too slow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

impl StoredCourse {
    /// A game as text.
    pub fn new(record: &GameRecord) -> Self {
        let moves = record.moves.iter().map(|played| StoredMove::new(played, record.opening.chess960));
        Self {
            moves: moves.collect(),
            result: record.outcome.as_str().to_string(),
            end: record.end,
            failure: record.failure.clone(),
        }
    }
}

/// The game that somebody says was played from an opening by these rules, where it is possible: all moves are
/// legal, none follows the end, and the result is that of the board, of the adjudication by the scores that it
/// has, or else a loss of the side to move. `time_controls` are White's and Black's.
///
/// # Errors
/// What cannot be.
pub fn recorded_game(
    opening: &Opening,
    rules: &Rules,
    time_controls: [TimeControl; 2],
    course: &StoredCourse,
) -> Result<GameRecord, String> {
    let mut board = Course::new(opening, rules.adjudication);
    let mut moves = Vec::with_capacity(course.moves.len());
    for stored in &course.moves {
        if board.end().is_some() {
            return Err(format!("a move after the end: '{}'", stored.0));
        }
        let played = stored.read(&board.game.position)?;
        if stored.nodes() > MAX_NODES || stored.micros() > MAX_MICROS {
            return Err(format!("'{}': more nodes or time than there can be", stored.0));
        }
        board.play(played.m, played.score);
        moves.push(played);
    }
    let turn = board.game.position.turn();
    let lost = KnownOutcome::Decisive { winner: !turn };
    let may_end = match board.end() {
        Some((outcome, end)) => {
            (outcome.as_str(), end) == (&course.result, course.end) && course.failure.is_none()
        }
        None => {
            let timed = time_controls[turn.fold_wb(0, 1)].is_timed();
            let fits = course.end.is_failure() || (course.end == End::TimeForfeit && timed);
            fits && lost.as_str() == course.result
                && course.failure.as_ref().is_some_and(|failure| failure.len() <= MAX_FAILURE)
        }
    };
    let outcome = course.result.parse().ok().filter(|_| may_end).ok_or_else(|| {
        format!(
            "'{}' by {} is not how the game ended",
            gputexel_files::printable(&course.result),
            course.end.describe()
        )
    })?;
    let failure = course.failure.as_deref().map(gputexel_files::printable).map(|text| text.to_string());
    Ok(GameRecord { opening: opening.clone(), moves, outcome, end: course.end, failure })
}

fn legal_move(word: &str, position: &Chess) -> Result<Move, String> {
    let m = word.parse::<UciMove>().ok().and_then(|uci| uci.to_move(position).ok());
    m.ok_or_else(|| format!("illegal move '{}'", gputexel_files::printable(word)))
}

fn uci(m: Move, chess960: bool) -> String {
    m.to_uci(mode(chess960)).to_string()
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
}
