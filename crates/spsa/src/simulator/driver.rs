//! Advances all repeats together, a chunk of iterations at a time.

use rayon::prelude::*;

use super::games::pair;
use super::random::SignRandom;
use super::{Outcome, Scenario};
use crate::methods::{Factors, Scratch};
use crate::tuner::{Perturbation, Tuner};
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
        repeats.par_iter_mut().for_each(|one| factors.iter().for_each(|factors| one.play_pair(*factors)));
        done = until;
        progress(done);
        if stop.is_set() && done < n {
            return Err(Error::Interrupted(format!("the simulation, after {done} of {n} iterations")));
        }
    }
    let values: Vec<Vec<f64>> = repeats.iter().map(|repeat| repeat.tuner.values().to_vec()).collect();
    let errors =
        values.iter().flat_map(|values| values.iter().zip(&scenario.optimum).map(|(x, o)| (x - o).powi(2)));
    let count = (values.len() * scenario.variables.len()) as f64;
    let rms_error = (errors.sum::<f64>() / count).sqrt();
    let deviation = scenario.settings.method.is_bayesian().then(|| {
        (repeats.iter().flat_map(|r| r.tuner.standard_errors()).map(|s| s * s).sum::<f64>() / count).sqrt()
    });
    let gains: Vec<f64> = repeats.iter().map(|r| r.elo() - start).collect();
    if gains.iter().any(|gain| !gain.is_finite()) {
        return Err(Error::Numeric("simulated values left the finite numbers".to_string()));
    }
    Ok(Outcome { gains, values, rms_error, deviation })
}

#[derive(Clone, Debug)]
struct Repeat<'a> {
    scenario: &'a Scenario,
    tuner: Tuner,
    random: SignRandom,
    perturbation: Perturbation,
    scratch: Scratch,
}

impl<'a> Repeat<'a> {
    fn new(scenario: &'a Scenario, tuner: Tuner, repeat: u64) -> Self {
        let random = SignRandom::new(scenario.seed, repeat);
        let perturbation = Perturbation::with_capacity(scenario.variables.len());
        Self { scenario, tuner, random, perturbation, scratch: Scratch::default() }
    }

    fn play_pair(&mut self, factors: Factors) {
        let Some(k) = self.tuner.next_iteration() else { return };
        self.random.start_iteration();
        self.tuner.ask_into(&mut self.perturbation, k, factors, &mut self.random);
        let bits = self.random.word();
        let sides = self.perturbation.plus.iter().zip(&self.perturbation.minus);
        let lead: f64 = sides
            .zip(self.scenario.variables.iter().zip(&self.scenario.optimum))
            .map(|((plus, minus), (v, o))| -v.simul_elo * 1e-4 * (plus - minus) * (plus + minus - 2.0 * o))
            .sum();
        let y = pair(bits, lead, self.scenario.draw_rate);
        self.tuner.learn(&self.perturbation, (y + 2.0) as u8, factors, &mut self.scratch);
    }

    /// Elo of the values that an engine would get now.
    fn elo(&self) -> f64 {
        if self.scenario.variables.iter().any(|v| v.integer) {
            self.scenario.elo(&self.tuner.rounded_values())
        } else {
            self.scenario.elo(self.tuner.values())
        }
    }
}
