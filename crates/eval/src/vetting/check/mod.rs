//! Checks whether a device computes correctly: every kernel variant on up to 4,096 positions against f64, three times
//! with the same bits.

mod linear;
mod programs;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crate::device::GpuContext;
use gputexel_io::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::vetting::positions::{self, Sample};

/// Number of repetitions, which must give the same bits.
pub const REPEATS: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Depth {
    /// Each kernel once: under a second on a GPU.
    Brief,
    Thorough,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Group {
    Losses,
    Gradients,
    StagedTables,
    Matrices,
    BlendedTargets,
    ResampledGames,
    PartWeights,
    /// Scores that all members share, as in a search for K.
    SharedScores,
    /// Rows with coefficients other than ±1.
    Coefficients,
    Programs,
}

impl Group {
    /// All groups, in the order of reports.
    pub const ALL: [Self; 10] = [
        Self::Losses,
        Self::Gradients,
        Self::StagedTables,
        Self::Matrices,
        Self::BlendedTargets,
        Self::ResampledGames,
        Self::PartWeights,
        Self::SharedScores,
        Self::Coefficients,
        Self::Programs,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Losses => "losses",
            Self::Gradients => "gradients",
            Self::StagedTables => "staged tables",
            Self::Matrices => "Gauss-Newton matrices",
            Self::BlendedTargets => "blended targets",
            Self::ResampledGames => "resampled games",
            Self::PartWeights => "part weights",
            Self::SharedScores => "shared scores",
            Self::Coefficients => "coefficients",
            Self::Programs => "programs",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    pub group: Group,
    pub cases: usize,
    /// Relative error of the case that came closest to its bound, or exceeded it most.
    pub error: f64,
    pub bound: f64,
    pub fault: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckReport {
    pub adapter: String,
    pub depth: Depth,
    /// Results by group, in order; a brief check has only the groups that it covers.
    pub findings: Vec<Finding>,
    /// Reason why the check was not finished, if the device failed.
    pub broken: Option<String>,
    pub seconds: f64,
}

impl CheckReport {
    /// Returns the description of the first fault, with its group; `None` for a sound device.
    pub fn fault(&self) -> Option<String> {
        let of = |finding: &Finding| {
            finding.fault.as_ref().map(|fault| format!("{}: {fault}", finding.group.name()))
        };
        self.findings.iter().find_map(of).or_else(|| self.broken.clone())
    }
}

pub struct Checker<'a> {
    context: &'a GpuContext,
    depth: Depth,
    expected: fn(Group) -> f64,
    cancel: Option<&'a AtomicBool>,
}

impl<'a> Checker<'a> {
    pub fn new(context: &'a GpuContext, depth: Depth) -> Self {
        Self { context, depth, expected: |_| 1.0, cancel: None }
    }

    #[must_use]
    pub fn cancel(self, cancel: &'a AtomicBool) -> Self {
        Self { cancel: Some(cancel), ..self }
    }

    /// Multiplies the expected values of the cases of a group, so that tests can see a working device fail.
    #[must_use]
    pub fn expecting(self, expected: fn(Group) -> f64) -> Self {
        Self { expected, ..self }
    }

    pub fn run(&self) -> Result<CheckReport> {
        let started = Instant::now();
        let sample = positions::piece_squares()?;
        let mut findings =
            Findings { depth: self.depth, expected: self.expected, cancel: self.cancel, all: Vec::new() };
        let stages: [Stage; 2] = [linear::check, programs::check];
        let mut broken = None;
        for stage in stages {
            match stage(self.context, &sample, &mut findings) {
                Ok(()) => {}
                // The device failed: all later cases would give the same error.
                Err(Error::Gpu(reason)) => {
                    broken = Some(format!("it failed: {reason}"));
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        let mut findings = findings.all;
        findings.sort_by_key(|finding| finding.group);
        Ok(CheckReport {
            adapter: self.context.summary().name.clone(),
            depth: self.depth,
            findings,
            broken,
            seconds: started.elapsed().as_secs_f64(),
        })
    }
}

type Stage = fn(&GpuContext, &Sample, &mut Findings<'_>) -> Result<()>;

struct Findings<'a> {
    depth: Depth,
    expected: fn(Group) -> f64,
    cancel: Option<&'a AtomicBool>,
    all: Vec<Finding>,
}

#[derive(Clone, Copy, Debug)]
struct Measured {
    error: f64,
    bound: f64,
}

impl Findings<'_> {
    fn is_thorough(&self) -> bool {
        self.depth == Depth::Thorough
    }

    fn factor(&self, groups: &[Group]) -> f64 {
        groups.iter().map(|&group| (self.expected)(group)).product()
    }

    fn of(&mut self, group: Group) -> &mut Finding {
        let at = self.all.iter().position(|finding| finding.group == group).unwrap_or_else(|| {
            self.all.push(Finding { group, cases: 0, error: 0.0, bound: 1.0, fault: None });
            self.all.len() - 1
        });
        &mut self.all[at]
    }

    /// Adds a case to its groups: its measurement, and whether its repetitions had the same bits.
    fn add(&mut self, groups: &[Group], what: &str, measured: Measured, same: bool) -> Result<()> {
        if self.cancel.is_some_and(|cancel| cancel.load(Ordering::Relaxed)) {
            return Err(Error::Interrupted("in the check of a device".to_string()));
        }
        let Measured { error, bound } = measured;
        // NaN counts as infinitely wrong.
        let error = if error.is_nan() { f64::INFINITY } else { error };
        for &group in groups {
            let finding = self.of(group);
            finding.cases += 1;
            if finding.cases == 1 || error / bound > finding.error / finding.bound {
                (finding.error, finding.bound) = (error, bound);
                if error > bound {
                    finding.fault = Some(format!("{what}: relative error {error:.1e}, at most {bound:.0e}"));
                }
            }
            if !same && finding.fault.is_none() {
                finding.fault = Some(format!("{what}: not the same bits each time"));
            }
        }
        Ok(())
    }
}

/// Returns the largest difference relative to the largest expected magnitude, which is multiplied by `factor` first.
fn relative_error(got: &[f64], wanted: &[f64], factor: f64) -> f64 {
    if got.len() != wanted.len() {
        return f64::INFINITY;
    }
    let largest = wanted.iter().fold(f64::MIN_POSITIVE, |largest, value| largest.max(value.abs()));
    let differences = got.iter().zip(wanted).map(|(got, wanted)| (got - factor * wanted).abs() / largest);
    differences.fold(
        0.0,
        |worst, difference| if difference.is_nan() { f64::INFINITY } else { worst.max(difference) },
    )
}

/// Returns the largest [`relative_error`] of a member, for `size` numbers per member.
fn largest_error(got: &[f64], wanted: &[f64], size: usize, factor: f64) -> f64 {
    if got.len() != wanted.len() {
        return f64::INFINITY;
    }
    let members = got.chunks(size).zip(wanted.chunks(size));
    members.map(|(got, wanted)| relative_error(got, wanted, factor)).fold(0.0, f64::max)
}

fn repeated<T: PartialEq>(mut run: impl FnMut() -> Result<T>) -> Result<(T, bool)> {
    let first = run()?;
    let mut same = true;
    for _ in 1..REPEATS {
        same &= run()? == first;
    }
    Ok((first, same))
}
