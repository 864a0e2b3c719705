use super::chooser::{Chooser, Found, LARGEST, weights};
use super::progress::StrengthProgress;
use super::search::Limits;
use gputexel_io::{Error, Result};

/// Weights at the start, relative to those at the start of a search for linear scores.
pub(super) const STRONG: f64 = 100.0;
const FACTOR: f64 = 20.0;
const EVALUATIONS: usize = 6;
const ROUNDS: usize = 8;
/// The search ends when a round lowers the held-out loss by less than this share.
const GAIN: f64 = 3e-4;
/// A round ends when the predicted gain is less than this share.
const PROMISE: f64 = 1e-4;

impl Chooser<'_> {
    /// Searches from strong weights, `start` each, to weaker ones, and from a point z near the optimum with the former.
    pub(super) fn descend(&mut self, mut z: Vec<f64>, start: f64) -> Result<Found> {
        let mut logarithms = vec![start.ln(); self.kinds.len()];
        let mut best: Option<Found> = None;
        let mut before = f64::INFINITY;
        // The folds' own points, which are independent of the held-out positions.
        let mut origins = vec![self.parameterization.start(); self.folded.folds];
        for round in 0..ROUNDS {
            let progress = StrengthProgress::of_round(round, ROUNDS, EVALUATIONS);
            // Reported before: with many parameters, the model takes longest.
            self.proceed(progress)?;
            let model = self.model(&z)?;
            let (least, largest) = (self.least().ln(), LARGEST.ln());
            let bound = |by: f64| logarithms.iter().map(|from| (from + by).clamp(least, largest)).collect();
            let limits = Limits {
                low: bound(-FACTOR.ln()),
                high: bound(FACTOR.ln()),
                gain: PROMISE * model.mean_loss(),
                evaluations: EVALUATIONS,
            };
            (logarithms, _) = self.minimize(&model, &logarithms, &limits, progress)?;
            let weights = weights(&logarithms);
            let at = self.place(&model, &z, &weights, &[], Some(&origins))?;
            origins.clone_from(&at.without);
            let exact = self.exact(&at)?;
            let around = std::mem::replace(&mut z, at.z.clone());
            let gained = before - exact;
            if exact < before {
                best = Some(Found { weights, around, model, at });
                before = exact;
            }
            if gained.is_nan() || gained < GAIN * exact {
                break;
            }
        }
        best.ok_or_else(|| Error::Numeric("no strength of the prior was found".to_string()))
    }
}
