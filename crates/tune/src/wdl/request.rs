//! From files with games to a fitted model.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::wdl::calibration::{CalibrationRow, calibration};
use crate::wdl::constants::Constants;
use crate::wdl::counts::{Counts, Outcome};
use crate::wdl::fit::{Fit, FitSettings, fit};
use crate::wdl::variable::{Moment, Variable};
use gputexel_chess::selection::{Selection, Termination};
use gputexel_chess::text::PointOfView;
use gputexel_ingest::extraction::{
    ExtractSettings, Hooks, ScoredPosition, ScoredVisitor, SourceReport, visit_scored,
};
use gputexel_io::{Error, Result};

/// What printed scores are in.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum ScoreUnit {
    /// The engine's own units, or any others that the constants shall be in.
    #[default]
    Own,
    /// Centipawns, 100 of which are this many of the engine's units (`NormalizeToPawnValue`).
    PerPawn(f64),
    /// Centipawns, 100 of which are a(m) of the engine's units, by the constants of its present model.
    Model(Box<Constants>),
}

impl ScoreUnit {
    /// What a text says: a number of units per pawn, or a file of [`Constants`].
    ///
    /// # Errors
    /// [`Error::Setting`] for numbers that are not positive; those of [`Constants::read`].
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

    /// Engine's units per 100 printed centipawns.
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

    /// The same where it does not depend on the position, or at the target of the model.
    fn typical(&self) -> f64 {
        match self {
            Self::Own => 100.0,
            Self::PerPawn(units) => *units,
            Self::Model(constants) => constants.model.pawn_value(),
        }
    }
}

/// Fits a model to games: a builder for the settings that differ from the defaults.
#[derive(Clone, Debug)]
pub struct WdlRequest {
    inputs: Vec<PathBuf>,
    by: Variable,
    range: Option<(u16, u16)>,
    target: Option<u16>,
    degree: usize,
    max_score_cp: f64,
    unit: ScoreUnit,
    termination: Termination,
    max_ply: Option<u32>,
    score_view: Option<PointOfView>,
    threads: Option<usize>,
}

/// What was read.
#[derive(Clone, Debug, Serialize)]
pub struct Reading {
    /// Positions with a score that were read.
    pub scored: u64,
    /// Of these, positions outside the range of material or moves.
    pub outside_range: u64,
    /// Of the others, positions with a larger score, or one that announces a mate.
    pub large_score: u64,
    /// Of the others, positions with a result other than win, draw and loss.
    pub other_result: u64,
    /// Positions that count: wins, draws and losses of the side to move.
    pub counted: [u64; 3],
    /// Games with a position that counts; positions of unknown games count as one each.
    pub games: u64,
    /// Games from which standard errors are computed.
    pub games_for_errors: u64,
    /// The inputs.
    pub sources: Vec<SourceReport>,
}

/// A fitted model, what it was fitted to, and how well.
#[derive(Clone, Debug, Serialize)]
pub struct WdlReport {
    /// The fit.
    pub fit: Fit,
    /// What was read.
    pub reading: Reading,
    /// The largest score that counts, engine's units.
    pub max_score: f64,
    /// Engine's units per 100 printed centipawns, at the target if they vary.
    pub units_per_pawn: f64,
    /// Observed shares of outcomes beside those of the model, by score.
    pub calibration: Vec<CalibrationRow>,
    /// The counts.
    #[serde(skip)]
    pub counts: Counts,
}

impl WdlRequest {
    /// A fit to games, or to labeled positions with scores.
    pub fn new<P: AsRef<Path>>(inputs: &[P]) -> Self {
        Self {
            inputs: inputs.iter().map(|path| path.as_ref().to_path_buf()).collect(),
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

    /// What a and b depend on [default: material].
    #[must_use]
    pub fn by(mut self, by: Variable) -> Self {
        self.by = by;
        self
    }

    /// Lowest and highest value that count [default: those of the variable].
    #[must_use]
    pub fn range(mut self, low: u16, high: u16) -> Self {
        self.range = Some((low, high));
        self
    }

    /// The value that stands for all [default: that of the variable].
    #[must_use]
    pub fn target(mut self, target: u16) -> Self {
        self.target = Some(target);
        self
    }

    /// Degree of the polynomials, 0 to 3 [default: 3].
    #[must_use]
    pub fn degree(mut self, degree: usize) -> Self {
        self.degree = degree;
        self
    }

    /// Largest score that counts, printed centipawns [default: 400].
    #[must_use]
    pub fn max_score(mut self, centipawns: f64) -> Self {
        self.max_score_cp = centipawns;
        self
    }

    /// What printed scores are in [default: the engine's units].
    #[must_use]
    pub fn unit(mut self, unit: ScoreUnit) -> Self {
        self.unit = unit;
        self
    }

    /// Which ends of games are accepted [default: normal ones].
    #[must_use]
    pub fn termination(mut self, termination: Termination) -> Self {
        self.termination = termination;
        self
    }

    /// Positions of games after this ply do not count [default: all count].
    #[must_use]
    pub fn max_ply(mut self, ply: u32) -> Self {
        self.max_ply = Some(ply);
        self
    }

    /// Whose view scores take [default: detected].
    #[must_use]
    pub fn score_view(mut self, view: PointOfView) -> Self {
        self.score_view = Some(view);
        self
    }

    /// Threads that read [default: one for each of the machine].
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads);
        self
    }

    /// Reads the games and fits the model.
    ///
    /// # Errors
    /// [`Error::Setting`] for settings out of their range; those of [`visit_scored`] and of [`fit()`].
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
            // Before anything is read.
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
        let sources = visit_scored(&self.inputs, &reading, &mut reader, hooks)?;
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

impl ScoredVisitor for Reader<'_> {
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
