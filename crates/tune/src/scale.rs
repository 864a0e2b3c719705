//! Fits the scale constant K by one-dimensional minimization over scores computed once.

use std::collections::{BTreeMap, HashMap};

use rayon::prelude::*;

use gputexel_dataset::Dataset;
use gputexel_dataset::objective::{LossKind, Objective, x_per_cp};
use gputexel_eval::exact::loss_of_scores;
use gputexel_io::{Advice, Error, Result};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScaleFit {
    /// Base-10 form.
    pub k: f64,
    pub loss: f64,
    pub evaluations: u32,
}

/// Smallest and largest K considered, base-10 form.
pub const K_RANGE: (f64, f64) = (0.01, 20.0);
/// Number of points of the initial scan, evenly spaced in ln K.
const SCAN: usize = 24;
/// Number of positions of which the minimum is found first, and the distance from it, in ln K, within which that of all
/// of them is looked for.
const SCANNED: usize = 1 << 15;
const NEAR: f64 = 0.05;
/// Positions whose pairs of score and target are counted at a time, and number of different pairs beyond which that does
/// not pay.
const CHUNK: usize = 1 << 15;
const FEW: usize = 1 << 12;
/// Tolerance in ln K: about what f64 losses can resolve around a minimum.
const TOLERANCE: f64 = 1e-9;

/// Rejects targets that are all the same: the squares of the pieces tell whose they are, so that held-out positions, of
/// which the same can be learned, seem to confirm it.
pub fn refuse_one_target(targets: impl IntoIterator<Item = f32>) -> Result<()> {
    let mut targets = targets.into_iter();
    let Some(first) = targets.next().filter(|&first| targets.all(|other| other == first)) else {
        return Ok(());
    };
    let every = match first {
        0.0 => "result is a win of Black".to_string(),
        0.5 => "result is a draw".to_string(),
        1.0 => "result is a win of White".to_string(),
        label => format!("label is {label}"),
    };
    Err(Error::Numeric(format!("every {every}: nothing can be learned; give losses, draws and wins")))
}

/// Minimizes the mean loss of the positions `which`, given their `scores` (centipawns), over K: a scan for the bracket,
/// then Brent's method (Brent, "Algorithms for minimization without derivatives", 1973, chapter 5).
pub fn fit_scale(dataset: &Dataset, scores: &[f64], which: &[u32], loss: LossKind) -> Result<ScaleFit> {
    refuse_one_target(which.iter().map(|&n| dataset.results()[n as usize]))?;
    if scores.iter().all(|&score| score == 0.0) {
        let reason = "K cannot be fitted where the prior scores every position as 0";
        return Err(Error::Usage(reason.to_string()).advise(give_k()));
    }
    let pairs = counted_pairs(dataset, scores, which);
    let mut evaluations = 0;
    let mut value = |ln_k: f64| {
        evaluations += 1;
        loss_at_scale(dataset, (scores, which), pairs.as_deref(), Objective { k: ln_k.exp(), loss })
    };
    let (low, high) = (K_RANGE.0.ln(), K_RANGE.1.ln());
    let at = |i: usize| low + (high - low) * i as f64 / (SCAN - 1) as f64;
    let lowest = |scan: &[f64]| (0..SCAN).min_by(|&a, &b| scan[a].total_cmp(&scan[b])).unwrap_or(0);
    let guess = sample(scores, which).filter(|_| pairs.is_none()).and_then(|(scores, which)| {
        let mut value =
            |ln_k: f64| loss_of_scores(dataset, Objective { k: ln_k.exp(), loss }, &scores, &which);
        let best = lowest(&(0..SCAN).map(|i| value(at(i))).collect::<Vec<f64>>());
        (1..SCAN - 1).contains(&best).then(|| brent(&mut value, at(best - 1), at(best), at(best + 1)))
    });
    let bracket = guess.map(|ln_k| [ln_k - NEAR, ln_k, ln_k + NEAR]).filter(|bracket| {
        let [before, own, after] = bracket.map(&mut value);
        own < before && own < after
    });
    let [before, middle, after] = match bracket {
        Some(bracket) => bracket,
        None => {
            let scan: Vec<f64> = (0..SCAN).map(|i| value(at(i))).collect();
            let best = lowest(&scan);
            if !scan[best].is_finite() {
                return Err(Error::Numeric(
                    "K cannot be fitted: the loss is not a finite number".to_string(),
                ));
            }
            if best == 0 || best == SCAN - 1 {
                let why = match best {
                    0 => {
                        "results do not follow the prior's scores; is the point of view of evaluation and labels \
                         right?"
                    }
                    _ => "the prior's scores predict every result; the prior's values may be far too small",
                };
                return Err(Error::Usage(format!("K cannot be fitted ({why})")).advise(give_k()));
            }
            [best - 1, best, best + 1].map(at)
        }
    };
    let ln_k = brent(&mut value, before, middle, after);
    let minimum = value(ln_k);
    Ok(ScaleFit { k: ln_k.exp(), loss: minimum, evaluations })
}

/// Computes the mean loss of the positions `which` with known scores; `pairs` are those of [`counted_pairs`].
pub(super) fn loss_at_scale(
    dataset: &Dataset,
    (scores, which): (&[f64], &[u32]),
    pairs: Option<&[[f64; 3]]>,
    objective: Objective,
) -> f64 {
    let Some(pairs) = pairs else { return loss_of_scores(dataset, objective, scores, which) };
    let x_per_cp = x_per_cp(objective.k);
    let value = |&[score, target, weight]: &[f64; 3]| weight * objective.loss.value(x_per_cp * score, target);
    pairs.iter().map(value).sum::<f64>() / pairs.iter().map(|pair| pair[2]).sum::<f64>()
}

/// Returns score, target and the sum of the weights of each pair of them, if these are few: some hundreds with whole
/// piece values.
pub(super) fn counted_pairs(dataset: &Dataset, scores: &[f64], which: &[u32]) -> Option<Vec<[f64; 3]>> {
    let of_chunk = |(scores, which): (&[f64], &[u32])| {
        let mut sums = HashMap::new();
        for (score, &n) in scores.iter().zip(which) {
            let weight = dataset.weights().get(n as usize).map_or(1.0, |&weight| f64::from(weight));
            let pair = (score.to_bits(), dataset.results()[n as usize].to_bits());
            *sums.entry(pair).or_insert(0.0) += weight;
            if sums.len() > FEW {
                return None;
            }
        }
        Some(sums)
    };
    let chunks = scores.par_chunks(CHUNK).zip(which.par_chunks(CHUNK)).map(of_chunk);
    let chunks: Vec<HashMap<(u64, u32), f64>> = chunks.collect::<Option<_>>()?;
    let mut all = BTreeMap::new();
    for (pair, weight) in chunks.into_iter().flatten() {
        *all.entry(pair).or_insert(0.0) += weight;
    }
    let plain =
        |((score, target), weight)| [f64::from_bits(score), f64::from(f32::from_bits(target)), weight];
    (all.len() <= FEW).then(|| all.into_iter().map(plain).collect())
}

fn sample(scores: &[f64], which: &[u32]) -> Option<(Vec<f64>, Vec<u32>)> {
    let every = which.len() / SCANNED;
    (every >= 4).then(|| {
        let scores = scores.iter().step_by(every).copied().collect();
        (scores, which.iter().step_by(every).copied().collect())
    })
}

/// Finds the minimum of `f` between `a` and `b`; `f(middle)` is lower than at both ends.
pub(super) fn brent(f: &mut impl FnMut(f64) -> f64, mut a: f64, middle: f64, mut b: f64) -> f64 {
    let golden = 0.5 * (3.0 - 5.0f64.sqrt());
    // x is the best point, w the second best, v the previous value of w.
    let (mut x, mut w, mut v) = (middle, middle, middle);
    let mut fx = f(x);
    let (mut fw, mut fv) = (fx, fx);
    let (mut step, mut before_last) = (0.0f64, 0.0f64);
    for _ in 0..100 {
        let center = 0.5 * (a + b);
        let tolerance = TOLERANCE * x.abs().max(1.0);
        if (x - center).abs() <= 2.0 * tolerance - 0.5 * (b - a) {
            break;
        }
        // A parabola through the three points, if its step stays inside and is shorter than half of the step
        // before the last; otherwise a golden section.
        let r = (x - w) * (fx - fv);
        let q = (x - v) * (fx - fw);
        let (mut p, mut q) = ((x - v) * q - (x - w) * r, 2.0 * (q - r));
        if q > 0.0 {
            p = -p;
        }
        q = q.abs();
        let parabolic = before_last.abs() > tolerance
            && p.abs() < (0.5 * q * before_last).abs()
            && p > q * (a - x)
            && p < q * (b - x);
        before_last = step;
        if parabolic {
            step = p / q;
            let u = x + step;
            if u - a < 2.0 * tolerance || b - u < 2.0 * tolerance {
                step = tolerance.copysign(center - x);
            }
        } else {
            before_last = if x < center { b - x } else { a - x };
            step = golden * before_last;
        }
        let u = if step.abs() >= tolerance { x + step } else { x + tolerance.copysign(step) };
        let fu = f(u);
        if fu <= fx {
            if u < x {
                b = x
            } else {
                a = x
            }
            (v, fv, w, fw, x, fx) = (w, fw, x, fx, u, fu);
        } else {
            if u < x {
                a = u
            } else {
                b = u
            }
            if fu <= fw || w == x {
                (v, fv, w, fw) = (w, fw, u, fu);
            } else if fu <= fv || v == x || v == w {
                (v, fv) = (u, fu);
            }
        }
    }
    x
}

fn give_k() -> Advice {
    Advice::default().text("give it with ").setting("k", "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brent_finds_minima() {
        let mut calls = 0;
        let x = brent(
            &mut |x| {
                calls += 1;
                (x - 0.3).powi(2) + 0.1 * (x - 0.3).powi(4)
            },
            -2.0,
            0.0,
            3.0,
        );
        assert!((x - 0.3).abs() < 1e-7 && calls < 30, "{x} in {calls}");
        let x = brent(&mut |x: f64| x.exp() - 2.0 * x, -1.0, 0.5, 2.0);
        assert!((x - 2.0f64.ln()).abs() < 1e-7, "{x}");
    }
}
