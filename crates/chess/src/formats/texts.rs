//! Games, and texts of one position per line, White's view.

use std::fmt::Write as _;

use crate::formats::Writer;
use crate::formats::spec::{FormatSpec, Output, last_line_end};
use crate::pgn::last_game_start;
use crate::sample::Origin;
use shakmaty::fen::{Epd, Fen};
use shakmaty::{EnPassantMode, Position};

pub(crate) const PGN: FormatSpec = FormatSpec {
    name: "pgn",
    endings: &["pgn"],
    records: ["game", "games"],
    has_moves: true,
    split_point: Some(last_game_start),
    ..FormatSpec::TEXT
};

/// Labeled positions, written as `FEN | centipawns | result`. Results have at least one decimal.
pub(crate) const TEXT: FormatSpec = FormatSpec {
    name: "text",
    form: "FEN | centipawns | result",
    endings: &["txt", "fen"],
    split_point: Some(last_line_end),
    output: Some(Output {
        has_fractions: true,
        ..Output::new(|writer, origin, result, out| {
            writer.push_text(out, |line| writeln!(line, "{} | {} | {result:?}", fen(origin), origin.score_cp))
        })
    }),
    ..FormatSpec::TEXT
};

pub(crate) const EPD: FormatSpec = FormatSpec {
    name: "epd",
    endings: &["epd"],
    output: Some(Output { has_missing_scores: true, has_fractions: true, ..Output::new(push_epd) }),
    ..FormatSpec::TEXT
};

/// `GAME RESULT FEN [centipawns]`.
pub(crate) const GAMES: FormatSpec = FormatSpec {
    name: "games",
    form: "GAME RESULT FEN [centipawns]",
    endings: &["fens"],
    output: Some(Output {
        has_missing_scores: true,
        has_fractions: true,
        has_games_and_weights: true,
        ..Output::new(push_of_game)
    }),
    ..FormatSpec::TEXT
};

fn fen(origin: &Origin) -> Fen {
    Fen::from_position(&origin.position, EnPassantMode::Legal)
}

fn push_of_game(writer: &mut Writer, origin: &Origin, result: f32, out: &mut Vec<u8>) -> bool {
    let (game, weight) = (writer.game_number, writer.weight);
    writer.push_text(out, |line| {
        // Results without a needless decimal point, as in traces.
        write!(line, "{game} {result} {}", fen(origin))?;
        if !origin.score_cp.is_nan() {
            write!(line, " {}", origin.score_cp)?;
        }
        if let Some(weight) = weight {
            let unknown = if origin.score_cp.is_nan() { " -" } else { "" };
            write!(line, "{unknown} {weight}")?;
        }
        line.write_char('\n')
    })
}

fn push_epd(writer: &mut Writer, origin: &Origin, result: f32, out: &mut Vec<u8>) -> bool {
    writer.push_text(out, |line| {
        write!(line, "{} ", Epd::from_position(&origin.position, EnPassantMode::Legal))?;
        let (half, full) = (origin.position.halfmoves(), origin.position.fullmoves().get());
        if half > 0 || full > 1 {
            write!(line, "hmvc {half}; fmvn {full}; ")?;
        }
        line.push_str("c9 \"");
        if !origin.score_cp.is_nan() {
            write!(line, "{}|", f64::from(origin.score_cp) / 100.0)?;
        }
        match result {
            1.0 => line.push_str("1-0"),
            0.5 => line.push_str("1/2-1/2"),
            0.0 => line.push_str("0-1"),
            _ => write!(line, "{result}")?,
        }
        line.push_str("\";\n");
        Ok(())
    })
}
