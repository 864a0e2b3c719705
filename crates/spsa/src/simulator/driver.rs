//! Advances all repeats together, a chunk of iterations at a time.

use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use super::{Outcome, Scenario};
use crate::MethodKind;
use gputexel_files::{Error, Result};

/// Shares of c_end and r_end at an iteration.
#[derive(Clone, Copy, Debug)]
pub(super) struct GainFactors {
    pub c: f64,
    pub r: f64,
}

/// Some iterations, one after the other.
#[derive(Clone, Debug)]
pub(super) struct Chunk {
    pub steps: Vec<GainFactors>,
}

/// One repeat or several.
pub(super) trait Runner: Send {
    /// Goes on by a chunk.
    fn advance(&mut self, chunk: &Chunk) -> Result<()>;
    /// Elo gained since the start, a repeat.
    fn gains(&mut self) -> Result<Vec<f64>>;
    /// Values, `[repeat][parameter]`.
    fn values(&mut self) -> Result<Vec<Vec<f64>>>;
    /// What the method says is the variance of their error, likewise.
    fn variances(&mut self) -> Result<Vec<Vec<f64>>>;
}

/// What all runners have, one after the other.
fn all<R, T>(runners: &mut [R], of: impl Fn(&mut R) -> Result<Vec<T>>) -> Result<Vec<T>> {
    let lists = runners.iter_mut().map(of).collect::<Result<Vec<_>>>()?;
    Ok(lists.into_iter().flatten().collect())
}

/// Points of a trajectory, unless there are fewer iterations.
const POINTS: u64 = 200;
/// Iterations whose gains are computed at a time, at most.
const CHUNK: u64 = 50_000;

/// Runs all to the end. `progress` is told the iterations done.
pub(super) fn run<R: Runner>(
    scenario: &Scenario,
    mut runners: Vec<R>,
    cancel: &AtomicBool,
    progress: &mut dyn FnMut(u64),
) -> Result<Outcome> {
    let schedule = &scenario.settings.schedule;
    let n = schedule.iterations;
    let points = POINTS.max(n.div_ceil(CHUNK)).min(n);
    let mut trajectory = Vec::with_capacity(points as usize + 1);
    trajectory.push((0, all(&mut runners, R::gains)?));
    let mut done = 0;
    for point in 1..=points {
        let until = (u128::from(n) * u128::from(point) / u128::from(points)) as u64;
        let step = |k: u64| match scenario.settings.method {
            MethodKind::Constant => GainFactors { c: 1.0, r: 1.0 },
            MethodKind::Spsa => GainFactors { c: schedule.c_factor(k), r: schedule.r_factor(k) },
            MethodKind::Bspsas | MethodKind::Bspsa => GainFactors { c: schedule.c_factor(k), r: 1.0 },
        };
        let chunk = Chunk { steps: (done + 1..=until).map(step).collect() };
        runners.par_iter_mut().try_for_each(|runner| runner.advance(&chunk))?;
        done = until;
        trajectory.push((done, all(&mut runners, R::gains)?));
        progress(done);
        if cancel.load(Ordering::Relaxed) && done < n {
            return Err(Error::Interrupted(format!("the simulation, after {done} of {n} iterations")));
        }
    }
    let values = all(&mut runners, R::values)?;
    let errors =
        values.iter().flat_map(|values| values.iter().zip(&scenario.optimum).map(|(x, o)| (x - o).powi(2)));
    let count = (values.len() * scenario.variables.len()) as f64;
    let rms_error = (errors.sum::<f64>() / count).sqrt();
    let deviation = if scenario.settings.method.is_bayesian() {
        let variances = all(&mut runners, R::variances)?;
        Some((variances.iter().flatten().sum::<f64>() / count).sqrt())
    } else {
        None
    };
    let gains = trajectory.last().map(|(_, gains)| gains.clone()).unwrap_or_default();
    if gains.iter().any(|gain| !gain.is_finite()) {
        return Err(Error::Numeric("simulated values left the finite numbers".to_string()));
    }
    Ok(Outcome { gains, trajectory, values, rms_error, deviation })
}
