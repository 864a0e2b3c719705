//! From game files to a fitted model.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::wdl::calibration::{CalibrationRow, calibration};
use crate::wdl::constants::Constants;
use crate::wdl::counts::{Counts, Outcome};
use crate::wdl::fit::{Fit, FitSettings, fit};
use crate::wdl::variable::{Moment, Variable};
use gputexel_chess::selection::{Selection, Termination};
use gputexel_chess::text::PointOfView;
use gputexel_ingest::extraction::{ExtractSettings, Hooks, ScoredPosition, SourceReport, visit_scored};
use gputexel_io::{Error, Result};

/// Unit of printed scores.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum ScoreUnit {
    /// The engine's own units, or any others that the constants should use.
    #[default]
    Own,
    /// Centipawns, 100 of which are this many of the engine's units (`NormalizeToPawnValue`).
    PerPawn(f64),
    /// Centipawns, 100 of which are a(m) of the engine's units, by the constants of its present model.
    Model(Box<Constants>),
}

impl ScoreUnit {
    /// Parses a number of units per pawn, or reads a file of [`Constants`].
    ///
    /// # Errors
    /// [`Error::Setting`] for numbers that are not positive; errors of [`Constants::read`].
    pub fn read(text: &str) -> Result<Self> {
        match text.parse::<f64>() {
            Ok(units) if units.is_finite() && (1.0..=1e6).contains(&units) => Ok(Self::PerPawn(units)),
            Ok(_) => Err(Error::setting(
                "normalized-by",
                text,
                "must be from 1 to 1000000, or a file of constants",
            )),
            Err(_) => Constants::read(Path::new(text)).map(|constants| Self::Model(Box::new(constants))),
        }
    }

    /// Returns the engine's units per 100 printed centipawns.
    fn per_pawn(&self, moment: Moment) -> f64 {
        match self {
            Self::Own => 100.0,
            Self::PerPawn(units) => *units,
            Self::Model(constants) => {
                let model = &constants.model;
                model.curves(f64::from(moment.value(model.by))).0
            }
        }
    }

    /// As [`per_pawn`](Self::per_pawn) where it does not depend on the position, or at the target of the model.
    fn typical(&self) -> f64 {
        match self {
            Self::Own => 100.0,
            Self::PerPawn(units) => *units,
            Self::Model(constants) => constants.model.pawn_value(),
        }
    }
}

/// A fit of a model to games.
#[derive(Clone, Debug)]
pub struct WdlRequest {
    /// Games, or labeled positions with scores.
    pub inputs: Vec<PathBuf>,
    /// The variable that a and b depend on; material by default.
    pub by: Variable,
    /// The lowest and highest value that count. `None`: those of the variable.
    pub range: Option<(u16, u16)>,
    /// The reference value. `None`: that of the variable.
    pub target: Option<u16>,
    /// The degree of the polynomials, 0 to 3; 3 by default.
    pub degree: usize,
    /// The largest score that counts, printed centipawns; 400 by default.
    pub max_score_cp: f64,
    /// The unit of printed scores.
    pub unit: ScoreUnit,
    /// The terminations of games that are accepted; normal ones by default.
    pub termination: Termination,
    /// The last ply of games whose positions count. `None`: all count.
    pub max_ply: Option<u32>,
    /// The point of view of scores. `None`: detected.
    pub score_view: Option<PointOfView>,
    /// The number of reader threads. `None`: one per core.
    pub threads: Option<usize>,
}

impl Default for WdlRequest {
    fn default() -> Self {
        Self {
            inputs: Vec::new(),
            by: Variable::default(),
            range: None,
            target: None,
            degree: crate::wdl::MAX_DEGREE,
            max_score_cp: 400.0,
            unit: ScoreUnit::default(),
            termination: Termination::Normal,
            max_ply: None,
            score_view: None,
            threads: None,
        }
    }
}

/// Statistics of the input.
#[derive(Clone, Debug, Serialize)]
pub struct Reading {
    /// Number of positions with a score.
    pub scored: u64,
    /// Of these, positions outside the range of the variable.
    pub outside_range: u64,
    /// Of the remaining ones, positions with a larger score, or with a mate score.
    pub large_score: u64,
    /// Of the remaining ones, positions with a result other than win, draw and loss.
    pub other_result: u64,
    /// Counted positions: wins, draws and losses of the side to move.
    pub counted: [u64; 3],
    /// Games with at least one counted position; positions without a game count as one game each.
    pub games: u64,
    /// Games from which standard errors are computed.
    pub games_for_errors: u64,
    /// The inputs.
    pub sources: Vec<SourceReport>,
}

/// A fitted model, its data, and the quality of the fit.
#[derive(Clone, Debug, Serialize)]
pub struct WdlReport {
    /// The fit.
    pub fit: Fit,
    /// Statistics of the input.
    pub reading: Reading,
    /// Largest counted score, engine's units.
    pub max_score: f64,
    /// Engine's units per 100 printed centipawns, at the target if they vary.
    pub units_per_pawn: f64,
    /// Observed shares of outcomes and those of the model, by score.
    pub calibration: Vec<CalibrationRow>,
    /// The counts.
    #[serde(skip)]
    pub counts: Counts,
}

impl WdlRequest {
    /// Reads the games and fits the model.
    ///
    /// # Errors
    /// [`Error::Setting`] for settings out of their range; errors of [`visit_scored`] and [`fit()`].
    pub fn run(&self, hooks: &mut Hooks<'_>) -> Result<WdlReport> {
        let (default_range, default_target) = self.by.defaults();
        let range = self.range.unwrap_or(default_range);
        if range.0 > range.1 {
            return Err(Error::setting("range", format!("{}:{}", range.0, range.1), "must ascend"));
        }
        if !(self.max_score_cp >= 1.0 && self.max_score_cp < 30_000.0) {
            return Err(Error::setting("max-score", self.max_score_cp, "must be from 1 to 29999"));
        }
        let target = self.target.unwrap_or(default_target);
        if !(range.0..=range.1).contains(&target) {
            let reason = format!("must be in the range {}:{}", range.0, range.1);
            return Err(Error::setting("target", target, reason));
        }
        let settings = FitSettings { by: self.by, target, degree: self.degree };
        if self.degree > crate::wdl::MAX_DEGREE {
            // Before reading anything.
            return fit(&Counts::default(), settings).map(|_| unreachable!("the degree is refused"));
        }
        let mut reading = ExtractSettings::default();
        reading.selection =
            Selection { termination: self.termination, max_ply: self.max_ply, ..Selection::everything() };
        reading.score_view = self.score_view;
        reading.threads = self.threads.unwrap_or(reading.threads);
        let max_score = self.max_score_cp * self.unit.typical() / 100.0;
        let mut reader = Reader {
            by: self.by,
            range,
            max_score,
            unit: &self.unit,
            counts: Counts::default(),
            scored: 0,
            outside_range: 0,
            large_score: 0,
            other_result: 0,
        };
        let sources = visit_scored(&self.inputs, &reading, &mut |position| reader.visit(position), hooks)?;
        reader.counts.end_game();
        let Reader { counts, scored, outside_range, large_score, other_result, .. } = reader;
        let fit = fit(&counts, settings)?;
        Ok(WdlReport {
            calibration: calibration(&counts, &fit.model),
            fit,
            max_score,
            units_per_pawn: self.unit.typical(),
            reading: Reading {
                scored,
                outside_range,
                large_score,
                other_result,
                counted: counts.totals(),
                games: counts.games(),
                games_for_errors: counts.games_kept(),
                sources,
            },
            counts,
        })
    }
}

/// Counts positions.
struct Reader<'a> {
    by: Variable,
    range: (u16, u16),
    max_score: f64,
    unit: &'a ScoreUnit,
    counts: Counts,
    scored: u64,
    outside_range: u64,
    large_score: u64,
    other_result: u64,
}

impl Reader<'_> {
    fn visit(&mut self, position: ScoredPosition<'_>) {
        let sample = position.sample;
        if !position.same_game {
            self.counts.end_game();
        }
        self.scored += 1;
        let black = sample.turn.is_black();
        let moment = Moment::new(&sample.board, sample.move_number, black);
        let value = moment.value(self.by);
        if value < self.range.0 || value > self.range.1 {
            self.outside_range += 1;
            return;
        }
        let score = (f64::from(sample.score_cp) * self.unit.per_pawn(moment) / 100.0).round();
        if score.abs() > self.max_score {
            self.large_score += 1;
            return;
        }
        let Some(outcome) = Outcome::of_result(sample.result) else {
            self.other_result += 1;
            return;
        };
        let (score, outcome) = if black { (-score, outcome.reversed()) } else { (score, outcome) };
        self.counts.add(value, score as i32, outcome);
    }
}
