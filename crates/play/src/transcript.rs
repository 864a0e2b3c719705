//! Games as text, for journals and for transfer, and parsing of it.
//!
//! The text is not trusted: every move is played on a board, and [`recorded_game`] also checks the end of a game
//! against its rules.

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
use crate::engine::Score;
use gputexel_chess::fen::{legal_position, parse_fen};

/// Maximum nodes of a move, far more than can be searched; sums of a game's moves do not overflow.
const MAX_NODES: u64 = 1 << 48;

/// Maximum microseconds of a move: ten days.
const MAX_MICROS: u64 = 864_000_000_000;

/// Maximum length of a failure's description, bytes.
const MAX_FAILURE: usize = 500;

/// Move, score (`+35` or `-M5`), depth, nodes, microseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredMove(pub String, pub Option<String>, pub Option<u32>, pub Option<u64>, pub u64);

impl StoredMove {
    /// Formats a move.
    pub fn new(played: &Played, chess960: bool) -> Self {
        let score = played.score.map(written);
        Self(uci(played.m, chess960), score, played.depth, played.nodes, played.took.as_micros() as u64)
    }

    /// Parses the move in a position.
    ///
    /// # Errors
    /// A description of what is wrong with it.
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

    /// Returns the number of nodes reported, 0 if none were.
    pub fn nodes(&self) -> u64 {
        self.3.unwrap_or(0)
    }

    /// Returns true if the engine gave a score.
    pub fn has_score(&self) -> bool {
        self.1.is_some()
    }

    /// Returns the time that the engine took, microseconds.
    pub fn micros(&self) -> u64 {
        self.4
    }
}

/// Start of a game.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StoredOpening {
    /// The position, unless it is the usual one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fen: Option<String>,
    /// True if castling follows Chess960.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub chess960: bool,
    /// Moves before the engines took over, in UCI notation.
    pub moves: String,
}

impl StoredOpening {
    /// Formats an opening.
    pub fn new(opening: &Opening) -> Self {
        let start = &opening.start;
        let fen = *start != Chess::default() || start.fullmoves().get() != 1 || start.halfmoves() != 0;
        Self {
            fen: fen.then(|| Fen::from_position(start, EnPassantMode::Legal).to_string()),
            chess960: opening.chess960,
            moves: opening.moves.iter().map(|&m| uci(m, opening.chess960)).collect::<Vec<_>>().join(" "),
        }
    }

    /// Parses the opening.
    ///
    /// # Errors
    /// A description of what is wrong with it.
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

/// A game after its opening.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredCourse {
    /// Moves of the engines.
    pub moves: Vec<StoredMove>,
    /// `1-0`, `0-1` or `1/2-1/2`.
    pub result: String,
    /// Reason for its end.
    pub end: End,
    /// Description of the loser's failure, if it failed or exceeded the time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

impl StoredCourse {
    /// Formats a game.
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

/// Returns the game allegedly played from an opening by these rules, if it is possible: all moves are legal, none
/// follows the end, and the result is that of the board, of the adjudication by its scores, or else a loss of the side
/// to move. `time_controls` are White's and Black's.
///
/// # Errors
/// A description of what is impossible.
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
            let fits = course.end.is_failure()
                || course.end == End::Resignation
                || (course.end == End::TimeForfeit && timed);
            fits && lost.as_str() == course.result
                && course.failure.as_ref().is_some_and(|failure| failure.len() <= MAX_FAILURE)
        }
    };
    let outcome = course.result.parse().ok().filter(|_| may_end).ok_or_else(|| {
        format!(
            "'{}' by {} is not how the game ended",
            gputexel_io::printable(&course.result),
            course.end.describe()
        )
    })?;
    let failure = course.failure.as_deref().map(gputexel_io::printable).map(|text| text.to_string());
    Ok(GameRecord { opening: opening.clone(), moves, outcome, end: course.end, failure, leaves: Vec::new() })
}

fn legal_move(word: &str, position: &Chess) -> Result<Move, String> {
    let m = word.parse::<UciMove>().ok().and_then(|uci| uci.to_move(position).ok());
    m.ok_or_else(|| format!("illegal move '{}'", gputexel_io::printable(word)))
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
    use crate::adjudication::Adjudication;

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

    fn rules(limit: &str) -> Rules {
        Rules {
            time_controls: [limit.parse().unwrap(); 2],
            time_margin: Duration::ZERO,
            deadline: Duration::from_secs(1),
            adjudication: Adjudication { max_plies: Some(6), ..Adjudication::default() },
        }
    }

    fn course(moves: &str, result: &str, end: End, failure: Option<&str>) -> StoredCourse {
        let moves =
            moves.split_whitespace().map(|m| StoredMove(m.into(), Some("+5".into()), None, Some(3), 7));
        let failure = failure.map(str::to_string);
        StoredCourse { moves: moves.collect(), result: result.into(), end, failure }
    }

    fn replay(limit: &str, course: &StoredCourse) -> Result<GameRecord, String> {
        let opening = StoredOpening { moves: "f2f3 e7e5".into(), ..StoredOpening::default() }.read()?;
        let rules = rules(limit);
        recorded_game(&opening, &rules, rules.time_controls, course)
    }

    #[test]
    fn games_that_can_have_been_played_come_back() {
        for (limit, course) in [
            ("nodes=5", course("g2g4 d8h4", "0-1", End::Checkmate, None)),
            ("nodes=5", course("a2a3 a7a6 a3a4 a6a5", "1/2-1/2", End::TooLong, None)),
            ("nodes=5", course("", "0-1", End::Died, Some("died"))),
            ("nodes=5", course("a2a3", "1-0", End::Hung, Some("no answer"))),
            ("time=1", course("a2a3", "1-0", End::TimeForfeit, Some("late"))),
        ] {
            let record = replay(limit, &course).unwrap();
            assert_eq!(StoredCourse::new(&record), course);
        }
    }

    #[test]
    fn games_that_cannot_have_been_played_are_refused() {
        let mate = course("g2g4 d8h4", "0-1", End::Checkmate, None);
        let mut busy = mate.clone();
        busy.moves[0].3 = Some(u64::MAX);
        let mut slow = mate.clone();
        slow.moves[1].4 = u64::MAX;
        let mut odd = mate.clone();
        odd.moves[0].1 = Some("much".into());
        let long = "x".repeat(MAX_FAILURE + 1);
        for (course, reason) in [
            (course("e2e5", "1-0", End::Checkmate, None), "illegal move 'e2e5'"),
            (course("g2g4 d8h4 a2a3", "0-1", End::Checkmate, None), "a move after the end: 'a2a3'"),
            (course("a2a3 a7a6 a3a4 a6a5 b2b3", "1/2-1/2", End::TooLong, None), "a move after the end"),
            (course("g2g4 d8h4", "1-0", End::Checkmate, None), "'1-0' by mate is not how"),
            (course("g2g4 d8h4", "0-1", End::Stalemate, None), "'0-1' by stalemate is not how"),
            (course("g2g4 d8h4", "0-1", End::Checkmate, Some("and more")), "is not how"),
            (course("g2g4", "1/2-1/2", End::Repetition, None), "is not how"),
            (course("", "1-0", End::Died, Some("died")), "is not how"),
            (course("", "0-1", End::Died, None), "is not how"),
            (course("", "0-1", End::Died, Some(&long)), "is not how"),
            (course("", "0-1", End::TimeForfeit, Some("without a clock")), "is not how"),
            (course("", "2-0", End::Died, Some("died")), "is not how"),
            (busy, "more nodes or time"),
            (slow, "more nodes or time"),
            (odd, "no score: 'much'"),
        ] {
            let found = replay("nodes=5", &course).unwrap_err();
            assert!(found.contains(reason), "{found}");
        }
    }
}
