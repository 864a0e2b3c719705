//! Games as PGN in the format of other match programs: `{+0.35/12 2000}` after a move is the mover's score in pawns,
//! the depth and the nodes of the search; if engines play on time, `{+0.35/12 0.250s 2000}`.

use shakmaty::fen::Fen;
use shakmaty::san::SanPlus;
use shakmaty::{Chess, EnPassantMode, Position};

use super::game::{GameRecord, Played};
use super::time_control::TimeControl;
use crate::engine::Score;

const WIDTH: usize = 80;

#[derive(Clone, Debug)]
pub struct GameTags<'a> {
    pub event: &'a str,
    /// `2026.01.31`.
    pub date: &'a str,
    /// `12.1`: pair and game.
    pub round: String,
    pub names: [&'a str; 2],
    pub time_controls: [TimeControl; 2],
}

pub fn to_pgn(record: &GameRecord, tags: &GameTags<'_>) -> String {
    let mut text = String::with_capacity(4096);
    let mut tag = |name: &str, value: &str| {
        text += &format!("[{name} \"{}\"]\n", escaped(value));
    };
    let result = record.outcome.as_str();
    tag("Event", tags.event);
    tag("Site", "?");
    tag("Date", tags.date);
    tag("Round", &tags.round);
    tag("White", tags.names[0]);
    tag("Black", tags.names[1]);
    tag("Result", result);
    let start = &record.opening.start;
    if record.opening.chess960 {
        tag("Variant", "Chess960");
    }
    if *start != Chess::default() || start.fullmoves().get() != 1 || start.halfmoves() != 0 {
        tag("SetUp", "1");
        tag("FEN", &Fen::from_position(start, EnPassantMode::Legal).to_string());
    }
    tag("PlyCount", &record.plies().to_string());
    tag("Termination", record.end.termination());
    let [white, black] = tags.time_controls;
    if white == black {
        tag("TimeControl", &white.time_control());
    } else {
        tag("WhiteTimeControl", &white.time_control());
        tag("BlackTimeControl", &black.time_control());
    }
    for (name, time_control) in [("WhiteLimit", white), ("BlackLimit", black)] {
        if !matches!(time_control, TimeControl::Clock { .. }) {
            tag(name, &time_control.to_string());
        }
    }
    text.push('\n');
    let mut words = moves(record, tags.time_controls);
    let reason = match &record.failure {
        Some(failure) => format!("{}: {failure}", record.end.describe()),
        None => record.end.describe().to_string(),
    };
    // A brace would end the comment; output of engines may contain anything.
    let reason: String = reason.chars().map(|c| if c == '}' || c.is_control() { ' ' } else { c }).collect();
    words.push(format!("{{{reason}}}"));
    words.push(result.to_string());
    let mut column = 0;
    for word in words {
        if column > 0 && column + 1 + word.len() > WIDTH {
            text.push('\n');
            column = 0;
        } else if column > 0 {
            text.push(' ');
            column += 1;
        }
        text += &word;
        column += word.len();
    }
    text += "\n\n";
    text
}

/// Moves with their numbers and comments; parts that must not be separated are one word.
pub(crate) fn moves(record: &GameRecord, time_controls: [TimeControl; 2]) -> Vec<String> {
    let mut position = record.opening.start.clone();
    let mut words = Vec::with_capacity(2 * record.plies() + 2);
    let opening = record.opening.moves.iter().map(|&m| (m, None));
    let played = record.moves.iter().map(|played| (played.m, Some(played)));
    for (i, (m, played)) in opening.chain(played).enumerate() {
        let turn = position.turn();
        let number = position.fullmoves();
        let san = SanPlus::from_move_and_play_unchecked(&mut position, m);
        words.push(match (turn.is_white(), i) {
            (true, _) => format!("{number}. {san}"),
            (false, 0) => format!("{number}... {san}"),
            (false, _) => san.to_string(),
        });
        words.extend(played.and_then(|played| comment(played, time_controls[turn.fold_wb(0, 1)])));
    }
    words
}

fn comment(played: &Played, time_control: TimeControl) -> Option<String> {
    let mut parts = Vec::with_capacity(3);
    if let Some(score) = played.score {
        let score = match score {
            Score::Centipawns(cp) => format!("{:+.2}", f64::from(cp) / 100.0),
            Score::Mate(moves) if moves > 0 => format!("+M{moves}"),
            Score::Mate(moves) => format!("-M{}", moves.unsigned_abs()),
        };
        parts.push(format!("{score}/{}", played.depth.unwrap_or(0)));
    }
    // Times differ between runs: they are omitted if games are reproducible.
    if time_control.is_timed() {
        parts.push(format!("{:.3}s", played.took.as_secs_f64()));
    }
    parts.extend(played.nodes.map(|nodes| nodes.to_string()));
    (!parts.is_empty()).then(|| format!("{{{}}}", parts.join(" ")))
}

/// Quotes and backslashes are escaped; control characters would end the line.
fn escaped(value: &str) -> String {
    let plain: String = value.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    plain.replace('\\', "\\\\").replace('"', "\\\"")
}
