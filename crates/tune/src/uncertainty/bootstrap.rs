//! The bootstrap: how the optimum varies over resampled games.

use std::ops::Range;
use std::sync::atomic::AtomicBool;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::{ErrorStatus, Fit, Sandwich, is_determined, rows_of};
use crate::config::space_of;
use crate::stopping::StopReason;
use crate::training::{Problem, train};
use gputexel_eval::{Evaluator, Fallback, Population, Request};
use gputexel_io::{Error, Result};
use gputexel_optim::{MemberStatus, QUASI_NEWTON_PAIRS, QuasiNewton, SharedModel, Space};

/// Maximum number of evaluations per member.
const ROUNDS: usize = 30;
const RESULT_BYTES: usize = 1 << 30;
const WORK_BYTES: usize = 1 << 28;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    pub error: f64,
    /// 2.5th percentile.
    pub low: f64,
    /// 97.5th percentile.
    pub high: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Bootstrap {
    pub members: usize,
    /// Number of members that the spreads are computed from: those that drew any position.
    pub used: usize,
    /// Members among them that had not converged when the evaluation limit was reached.
    pub unfinished: usize,
    pub evaluations: usize,
    /// Spread of z; `None` if the sandwich has no standard error.
    pub z: Vec<Option<Spread>>,
    /// Spread of θ; `None` if the sandwich has no standard error, or if the spread's own is above
    /// [`MAX_ERROR_CP`](super::MAX_ERROR_CP).
    pub theta: Vec<Option<Spread>>,
}

pub fn resample_seeds(seed: u64, members: usize) -> Vec<u32> {
    let first = xxh3_64_with_seed(b"bootstrap", seed) as u32;
    (0..members as u32).map(|member| first.wrapping_add(member)).collect()
}

pub fn check_members(members: usize, dimension: usize) -> Result<()> {
    let most = (RESULT_BYTES / (8 * dimension.max(1))).min(u32::MAX as usize);
    match members {
        0 | 1 => Err(Error::Usage(format!("bootstrap of {members}: at least 2 resamples are needed"))),
        _ if members > most => Err(Error::Usage(format!(
            "bootstrap of {members}: the optima of at most {most} resamples of {dimension} parameters fit in 1 GiB"
        ))),
        _ => Ok(()),
    }
}

#[derive(Debug)]
pub enum BootstrapEvent {
    Progress { done: usize, evaluations: usize },
    Replaced(Fallback),
}

pub fn bootstrap(
    fit: &Fit<'_>,
    sandwich: &Sandwich,
    evaluator: &mut dyn Evaluator,
    members: usize,
    seed: u64,
    cancel: &AtomicBool,
    observe: &mut dyn FnMut(BootstrapEvent),
) -> Result<Bootstrap> {
    fit.validate()?;
    let size = fit.parameterization.dimension();
    check_members(members, size)?;
    let problem = Problem {
        parameterization: fit.parameterization.clone(),
        regularization: fit.regularization.clone(),
        weights: vec![fit.regularization.weights()],
    };
    let request =
        Request { parts: fit.parts.clone(), loss: fit.objective.loss, gradients: true, curvature: false };
    let space = Space { start: fit.z.to_vec(), ..space_of(fit.parameterization) };
    let model = match space.is_bounded() {
        true => SharedModel::Curvature(&sandwich.steps),
        false => SharedModel::Inverse(&sandwich.inverse),
    };
    let seeds = resample_seeds(seed, members);
    let member_bytes = 8 * (size * (2 * QUASI_NEWTON_PAIRS + 6) + 4 * fit.layout.features());
    let portion = (WORK_BYTES / member_bytes).clamp(16, 1024);
    let mut optima: Vec<f64> = Vec::with_capacity(members * size);
    let (mut unfinished, mut evaluations) = (0, 0);
    for seeds in seeds.chunks(portion) {
        let mut method = QuasiNewton::new(&space, model, seeds.len());
        let mut round = 0;
        let reason = train(None, cancel, || {
            let resamples: Vec<u32> = method.running().iter().map(|&member| seeds[member]).collect();
            let population = |mut theta: Vec<f64>, members: Range<usize>| {
                theta.truncate(if round == 0 { 2 * fit.layout.features() } else { theta.len() });
                let k = vec![fit.objective.k; members.len()];
                let resamples = resamples.clone();
                Population { resamples, ..Population::new(fit.layout.features(), theta, k) }
            };
            let groups = [(0..resamples.len(), request.clone())];
            let weights = problem.weights(resamples.len());
            let answer = problem.evaluate(evaluator, method.ask().into(), groups, population, &weights)?;
            evaluator.take_fallback().into_iter().for_each(|it| observe(BootstrapEvent::Replaced(it)));
            method.tell(&answer.losses, &answer.gradients);
            (round, evaluations) = (round + 1, evaluations + 1);
            let running = method.running().len();
            let done = optima.len() / size.max(1) + seeds.len() - running;
            observe(BootstrapEvent::Progress { done, evaluations });
            Ok((running == 0 || round == ROUNDS).then_some(StopReason::Converged))
        })?;
        if reason == StopReason::Interrupted {
            return Err(Error::Interrupted("in the bootstrap".to_string()));
        }
        for member in 0..seeds.len() {
            match method.arrival(member) {
                MemberStatus::Lost => continue,
                MemberStatus::Running => unfinished += 1,
                MemberStatus::Arrived => {}
            }
            optima.extend_from_slice(method.point(member));
        }
    }
    let used = optima.len() / size.max(1);
    if used < 2 {
        return Err(Error::Numeric("the bootstrap drew no games: there are too few".to_string()));
    }
    let spread = |value: &dyn Fn(&[f64]) -> f64| {
        let mut values: Vec<f64> = optima.chunks_exact(size).map(value).collect();
        spread(&mut values)
    };
    let z = (0..size)
        .map(|i| (sandwich.standing[i] == ErrorStatus::Estimated).then(|| spread(&|z| z[i])))
        .collect();
    let base = &fit.parameterization.base;
    let theta = rows_of(fit.parameterization)
        .iter()
        .zip(base)
        .zip(&sandwich.theta)
        .map(|((row, base), known)| {
            let value = |z: &[f64]| base + row.iter().map(|&(i, factor)| factor * z[i]).sum::<f64>();
            known.map(|_| spread(&value)).filter(|spread| is_determined(spread.error))
        })
        .collect();
    Ok(Bootstrap { members, used, unfinished, evaluations, z, theta })
}

/// Computes standard deviation and percentiles of at least two values, which are sorted in place.
fn spread(values: &mut [f64]) -> Spread {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    values.sort_unstable_by(f64::total_cmp);
    let percentile = |share: f64| {
        let at = share * (count - 1.0);
        let (below, above) = (values[at.floor() as usize], values[at.ceil() as usize]);
        below + (above - below) * at.fract()
    };
    Spread { error: (squares / (count - 1.0)).sqrt(), low: percentile(0.025), high: percentile(0.975) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spreads_are_those_of_statistics() {
        let mut values: Vec<f64> = (0..=400).rev().map(f64::from).collect();
        let got = spread(&mut values);
        assert_eq!((got.low, got.high), (10.0, 390.0));
        // Variance of 0..=n: n (n + 2) / 12, times (n + 1) / n for a sample.
        assert!((got.error - (400.0 * 402.0 / 12.0 * 401.0 / 400.0f64).sqrt()).abs() < 1e-9);
    }

    #[test]
    fn seeds_differ_and_numbers_are_checked() {
        let mut seeds = resample_seeds(7, 1000);
        assert_ne!(seeds, resample_seeds(8, 1000));
        seeds.sort_unstable();
        seeds.dedup();
        assert_eq!(seeds.len(), 1000);
        assert!(check_members(1, 768).is_err() && check_members(2, 768).is_ok());
        let message = check_members(1_000_000, 768).unwrap_err().to_string();
        assert!(message.contains("at most 174762 resamples"), "{message}");
    }
}
