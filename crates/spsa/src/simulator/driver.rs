//! Advances all repeats together, a chunk of iterations at a time.

use rayon::prelude::*;

use super::repeat::Repeat;
use super::{Outcome, Scenario};
use crate::methods::Factors;
use crate::tuner::Tuner;
use gputexel_io::{Error, Result, StopFlag};

/// Times that progress is shown, unless there are fewer iterations.
const POINTS: u64 = 200;
/// Iterations whose factors are computed at a time, at most.
const CHUNK: u64 = 50_000;

pub(super) fn run(scenario: &Scenario, stop: &StopFlag, progress: &mut dyn FnMut(u64)) -> Result<Outcome> {
    let tuner = Tuner::try_new(scenario.settings.clone(), scenario.variables.clone())?;
    let mut repeats: Vec<Repeat<'_>> =
        (0..scenario.repeats as u64).map(|repeat| Repeat::new(scenario, tuner.clone(), repeat)).collect();
    let start = scenario.start_elo();
    let n = scenario.settings.schedule.iterations;
    let points = POINTS.max(n.div_ceil(CHUNK)).min(n);
    let mut done = 0;
    for point in 1..=points {
        let until = (u128::from(n) * u128::from(point) / u128::from(points)) as u64;
        let first = done + 1;
        let factors: Vec<Factors> = (first..=until).map(|k| tuner.factors(k)).collect();
        repeats.par_iter_mut().for_each(|repeat| repeat.advance(&factors));
        done = until;
        progress(done);
        if stop.is_set() && done < n {
            return Err(Error::Interrupted(format!("the simulation, after {done} of {n} iterations")));
        }
    }
    let values: Vec<Vec<f64>> = repeats.iter().map(Repeat::values).collect();
    let errors =
        values.iter().flat_map(|values| values.iter().zip(&scenario.optimum).map(|(x, o)| (x - o).powi(2)));
    let count = (values.len() * scenario.variables.len()) as f64;
    let rms_error = (errors.sum::<f64>() / count).sqrt();
    let deviation = scenario
        .settings
        .method
        .is_bayesian()
        .then(|| (repeats.iter().flat_map(Repeat::variances).sum::<f64>() / count).sqrt());
    let gains: Vec<f64> = repeats.iter().map(|r| r.elo() - start).collect();
    if gains.iter().any(|gain| !gain.is_finite()) {
        return Err(Error::Numeric("simulated values left the finite numbers".to_string()));
    }
    Ok(Outcome { gains, values, rms_error, deviation })
}
