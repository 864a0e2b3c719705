//! An engine that was probed, asked once more: whether it evaluates under other values as the coefficients predict,
//! and if not, why.

mod ready;
mod singles;

use std::time::Duration;

use serde::Serialize;

use super::asking::Way;
use super::search::explained_cp;
use super::{block_size, pool};
use crate::client::EngineCommand;
use gputexel_ingest::trace::ProbingRecord;
use gputexel_io::{Result, StopFlag};
use ready::Ready;

const WORST: usize = 3;
const STRAY: f64 = 0.01;
/// Least deviation of a scale from 1.
const OTHER_SCALE: f64 = 0.02;

#[derive(Clone, Debug, PartialEq)]
pub struct KnownPosition {
    pub fen: String,
    /// Under the values of then, centipawns, White's view.
    pub evaluation_cp: f64,
    /// Change of the evaluation for a change of a parameter by 1.
    pub effects: Vec<(u32, f64)>,
}

#[derive(Clone, Debug)]
pub struct AgainSettings {
    pub command: EngineCommand,
    /// Ask under the values that it was built with, instead of setting those to be verified.
    pub as_built: bool,
    /// Difference that counts as rounding in any case.
    pub tolerance_cp: f64,
    pub processes: usize,
    pub deadline: Duration,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Deviation {
    pub fen: String,
    /// White's view.
    pub engine_cp: f64,
    pub predicted_cp: f64,
}

/// Why evaluations are not those that were predicted.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "cause", rename_all = "kebab-case")]
pub enum Cause {
    Agreement,
    Indistinguishable,
    Start,
    /// A multiple of what they should be: under the values of then, or, as built, of the predictions.
    Scale {
        factor: f64,
    },
    /// Under the values of then, they are others than then.
    OtherEngine {
        differing: u64,
    },
    /// Some parameters have no effect when they are moved alone; most important first.
    NotApplied {
        names: Vec<String>,
    },
    /// Evaluations do not change in proportion to these parameters, most important first; none if only several
    /// together show it.
    NotLinear {
        names: Vec<String>,
    },
    Unknown,
}

#[derive(Clone, Debug, Serialize)]
pub struct Again {
    /// In the order of the parameters.
    pub values: Vec<f64>,
    /// Values that were rounded to whole numbers.
    pub rounded: u64,
    /// Values that are not those of then.
    pub changed: u64,
    /// Parameters that the engine as built has other values of: its own, and the ones to be verified.
    pub built_otherwise: Vec<(String, f64, f64)>,
    pub compared: u64,
    pub missing: u64,
    /// Evaluations that differ by more than rounding explains.
    pub differing: u64,
    pub mean_cp: f64,
    /// The largest differences first.
    pub worst: Vec<Deviation>,
    #[serde(flatten)]
    pub cause: Cause,
    /// NaN where there is none.
    #[serde(skip)]
    pub evaluations: Vec<f64>,
    #[serde(skip)]
    pub predictions: Vec<f64>,
}

/// `values` are in the order of the record's parameters.
pub fn ask_again(
    record: &ProbingRecord,
    positions: &[KnownPosition],
    values: &[f64],
    settings: &AgainSettings,
    stop: &StopFlag,
) -> Result<Again> {
    let way = Way::from_record(record)?;
    let ready = Ready::new(record, values, settings, &way, stop)?;
    let block = block_size(&ready.source, positions.len(), settings.processes);
    let inquiry = Inquiry { record, positions, way, ready, processes: settings.processes, block };
    inquiry.run(settings)
}

struct Inquiry<'a> {
    record: &'a ProbingRecord,
    positions: &'a [KnownPosition],
    way: Way,
    ready: Ready,
    processes: usize,
    block: usize,
}

impl Inquiry<'_> {
    fn run(self, settings: &AgainSettings) -> Result<Again> {
        let set = if settings.as_built { Vec::new() } else { self.ready.values.clone() };
        let evaluations = self.evaluate(&set)?;
        let compared = evaluations.iter().filter(|value| !value.is_nan()).count();
        if compared == 0 {
            return Err(self.ready.source.error("gives no evaluation in any position"));
        }
        let predictions: Vec<f64> = self.positions.iter().map(|position| self.predicted(position)).collect();
        let bounds: Vec<f64> =
            self.positions.iter().map(|one| self.explained(one).max(settings.tolerance_cp)).collect();
        let mut differing = Vec::new();
        let mut sum = 0.0;
        for (n, value) in evaluations.iter().enumerate().filter(|(_, value)| !value.is_nan()) {
            let difference = (value - predictions[n]).abs();
            sum += difference;
            if difference > bounds[n] {
                differing.push(n);
            }
        }
        let cause = self.cause(&evaluations, &predictions, &bounds, &differing, settings.as_built)?;
        let changed =
            (0..self.record.parameters.len() as u32).filter(|i| self.change(*i) != 0.0).count() as u64;
        let Ready { values, rounded, built_otherwise, .. } = self.ready;
        Ok(Again {
            values,
            rounded,
            changed,
            built_otherwise,
            compared: compared as u64,
            missing: (evaluations.len() - compared) as u64,
            differing: differing.len() as u64,
            mean_cp: sum / compared as f64,
            worst: worst(self.positions, &evaluations, &predictions),
            cause,
            evaluations,
            predictions,
        })
    }

    fn evaluate(&self, values: &[f64]) -> Result<Vec<f64>> {
        let asked: Vec<(&str, bool)> = self.positions.iter().map(asked).collect();
        let pool = (self.processes, self.block);
        pool::evaluations(&self.ready.source, &self.way, pool, values, &asked, &mut |_| {})
    }

    /// Since the coefficients were measured.
    fn change(&self, i: u32) -> f64 {
        self.ready.values[i as usize] - self.record.parameters[i as usize].start
    }

    fn predicted(&self, position: &KnownPosition) -> f64 {
        position.evaluation_cp + position.effects.iter().map(|(i, c)| c * self.change(*i)).sum::<f64>()
    }

    /// The smallest difference that means something.
    fn unit(&self) -> f64 {
        self.record.resolution_cp + self.record.noise_cp
    }

    /// The change in steps of the measurement.
    fn share(&self, i: u32) -> f64 {
        let step = self.record.parameters[i as usize].step;
        if step == 0.0 { 0.0 } else { self.change(i) / step }
    }

    fn explained(&self, position: &KnownPosition) -> f64 {
        explained_cp(position.effects.iter().map(|(i, _)| self.share(*i)), self.unit())
    }

    fn cause(
        &self,
        found: &[f64],
        predictions: &[f64],
        bounds: &[f64],
        differing: &[usize],
        as_built: bool,
    ) -> Result<Cause> {
        let then: Vec<f64> = self.positions.iter().map(|position| position.evaluation_cp).collect();
        let units = vec![self.unit() + 1e-6; then.len()];
        // Rounding within an evaluation has no strict bound.
        let is_small = |n: &usize| (found[*n] - predictions[*n]).abs() <= 2.0 * bounds[*n];
        if differing.len() as f64 <= STRAY * found.len() as f64 && differing.iter().all(is_small) {
            let is_seen =
                predictions.iter().zip(&then).zip(bounds).any(|((a, b), most)| (a - b).abs() > *most);
            return Ok(if is_seen { Cause::Agreement } else { Cause::Indistinguishable });
        }
        if beyond(found, &then, &units) == 0 {
            return Ok(Cause::Start);
        }
        if as_built {
            let factor = factor(found, predictions, bounds);
            return Ok(factor.map_or(Cause::Unknown, |factor| Cause::Scale { factor }));
        }
        let starts: Vec<f64> = self.record.parameters.iter().map(|one| one.start).collect();
        let now = self.evaluate(&starts)?;
        if let Some(factor) = factor(&now, &then, &units) {
            return Ok(Cause::Scale { factor });
        }
        let others = beyond(&now, &then, &units);
        if others as f64 > STRAY * then.len() as f64 {
            return Ok(Cause::OtherEngine { differing: others });
        }
        self.singles(&starts, &now, differing)
    }
}

fn asked(position: &KnownPosition) -> (&str, bool) {
    (position.fen.as_str(), position.fen.split(' ').nth(1) == Some("b"))
}

fn beyond(found: &[f64], expected: &[f64], bounds: &[f64]) -> u64 {
    let pairs = found.iter().zip(expected).zip(bounds);
    pairs.filter(|((found, expected), most)| (*found - *expected).abs() > **most).count() as u64
}

/// The factor between evaluations and what was expected, if it is not 1 and explains almost all of them.
fn factor(found: &[f64], expected: &[f64], bounds: &[f64]) -> Option<f64> {
    let known = || found.iter().zip(expected).filter(|(found, _)| !found.is_nan());
    let square: f64 = known().map(|(_, expected)| expected * expected).sum();
    let factor = known().map(|(found, expected)| found * expected).sum::<f64>() / square;
    if !factor.is_finite() || (factor - 1.0).abs() < OTHER_SCALE {
        return None;
    }
    let scaled: Vec<f64> = expected.iter().map(|expected| factor * expected).collect();
    let wider: Vec<f64> = bounds.iter().map(|most| most * (1.0 + factor.abs())).collect();
    // A factor near 0 would explain everything by a constant.
    let is_told = beyond(&scaled, &vec![0.0; scaled.len()], &wider) as f64 > 0.1 * scaled.len() as f64;
    (is_told && beyond(found, &scaled, &wider) as f64 <= STRAY * known().count() as f64).then_some(factor)
}

fn worst(positions: &[KnownPosition], found: &[f64], predictions: &[f64]) -> Vec<Deviation> {
    let mut order: Vec<usize> = (0..found.len()).filter(|n| !found[*n].is_nan()).collect();
    let size = |n: usize| (found[n] - predictions[n]).abs();
    order.sort_by(|a, b| size(*b).total_cmp(&size(*a)));
    let deviation = |n: &usize| Deviation {
        fen: positions[*n].fen.clone(),
        engine_cp: found[*n],
        predicted_cp: predictions[*n],
    };
    order.iter().take(WORST).map(deviation).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_explain_almost_all() {
        let expected: Vec<f64> = (-50..50).map(|n| f64::from(n) * 7.0).collect();
        let bounds = vec![1.5; expected.len()];
        let mut found: Vec<f64> = expected.iter().map(|value| (value * 2.13).round()).collect();
        found[3] = f64::NAN;
        assert!((factor(&found, &expected, &bounds).unwrap() - 2.13).abs() < 0.01);
        let negated: Vec<f64> = expected.iter().map(|value| -value).collect();
        assert!((factor(&negated, &expected, &bounds).unwrap() + 1.0).abs() < 1e-9);
        assert_eq!(factor(&expected, &expected, &bounds), None);
        let odd: Vec<f64> = expected.iter().map(|value| value.abs() * 3.0).collect();
        assert_eq!(factor(&odd, &expected, &bounds), None);
        assert_eq!(factor(&vec![0.0; expected.len()], &expected, &bounds), None);
    }
}
