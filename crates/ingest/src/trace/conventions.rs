//! Meaning of the numbers of a trace by its schema: the source of the phase, the units of endgame scale
//! factors, and points of view.

use super::schema::{Comment, PhaseRecord, PhaseWord, Schema, View, Views};
use gputexel_chess::PhaseSettings;
use gputexel_io::{Error, Result, shown_number};

const RATIO_STEPS: u16 = 128;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum PhaseSource {
    Untapered,
    Fen,
    /// (value − endgame) · factor is the phase in units.
    Column {
        endgame: f64,
        factor: f64,
    },
}

pub(super) fn phase_of(schema: &Schema) -> Result<(PhaseSource, PhaseSettings)> {
    let usage = |text: &str| Err(Error::Usage(text.to_string()));
    let has_column = schema.columns.phase.is_some();
    let none = PhaseSettings::NONE;
    let record = match (&schema.phase, has_column) {
        (None, true) => {
            return usage(
                "columns has a phase: \"phase\": {\"middlegame\": …, \"endgame\": …} must say what its values mean",
            );
        }
        (None, false) => return Ok((PhaseSource::Untapered, none)),
        (Some(record), _) => record,
    };
    if !matches!(record, PhaseRecord::Column { .. }) {
        if has_column {
            return usage("columns has a phase, and \"phase\" says that it is counted from the FEN");
        }
        if schema.comment != Comment::Fen {
            return usage("the phase is counted from the FEN: \"comment\": \"fen\" must say where that is");
        }
    }
    match record {
        PhaseRecord::Word(PhaseWord::Fen) => Ok((PhaseSource::Fen, PhaseSettings::default())),
        PhaseRecord::Counted { fen } => Ok((PhaseSource::Fen, PhaseSettings::parse(fen)?)),
        PhaseRecord::Column { .. } if !has_column => {
            usage("\"phase\" says what values mean, but columns has no phase")
        }
        &PhaseRecord::Column { middlegame, endgame, steps } => {
            let span = middlegame - endgame;
            let max = steps.map_or(span.abs(), f64::from);
            if !(span.is_finite() && span != 0.0 && max.fract() == 0.0 && (1.0..=1024.0).contains(&max)) {
                return Err(Error::Usage(format!(
                    "phase from {} to {}: must be two numbers with 1 to 1024 steps between them; round \
                     a finer one, as taper(p, phase / 16, whole / 16) does",
                    shown_number(endgame),
                    shown_number(middlegame)
                )));
            }
            let settings = PhaseSettings { max: max as u16, ..none };
            Ok((PhaseSource::Column { endgame, factor: max / span }, settings))
        }
    }
}

/// Returns the value of endgame scale factors that represents 1, and units per value.
pub(super) fn scale_of(schema: &Schema) -> Result<(u16, f64)> {
    let Some(record) = schema.scale else {
        let one = if schema.columns.scale.is_some() { RATIO_STEPS } else { 1 };
        return Ok((one, f64::from(one)));
    };
    if schema.columns.scale.is_none() {
        return Err(Error::Usage("\"scale\" says what values mean, but columns has no scale".to_string()));
    }
    let whole = record.one > 1.0 && record.one.fract() == 0.0 && record.one <= 1024.0;
    let steps = record.steps.unwrap_or(if whole { record.one as u16 } else { RATIO_STEPS });
    if !(record.one.is_finite() && record.one > 0.0 && (1..=1024).contains(&steps)) {
        return Err(Error::Usage(format!(
            "scale: one is {}, steps {steps}: must be a positive number and 1 to 1024",
            shown_number(record.one)
        )));
    }
    Ok((steps, f64::from(steps) / record.one))
}

/// Returns the numbers that must be reversed when Black is to move, and true if all are from the side to
/// move's view and the side is unknown.
pub(super) fn views_of(schema: &Schema) -> Result<([bool; 5], bool)> {
    let turned = match schema.point_of_view {
        Views::All(view) => [view == View::Stm; 5],
        Views::Each { result, coefficients, offset, score, eval } => {
            [result, coefficients, offset, score, eval].map(|view| view == View::Stm)
        }
    };
    let knows_turn = schema.columns.turn.is_some() || schema.comment == Comment::Fen;
    if knows_turn || turned == [false; 5] {
        return Ok((turned, false));
    }
    let columns = &schema.columns;
    let used = [true, true, columns.offset.is_some(), columns.score.is_some(), columns.eval.is_some()];
    match turned.iter().zip(used).all(|(turned, used)| *turned || !used) {
        // Everything is seen from the same side, so numbers are consistent without reversal.
        true => Ok(([false; 5], true)),
        false => Err(Error::Usage(
            "some numbers are White's view, others the side to move's: a turn column or \"comment\": \"fen\" must tell the side"
                .to_string(),
        )),
    }
}
