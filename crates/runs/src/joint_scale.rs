//! The scale constant K fitted together with the parameters, so that tuned scores keep the scale of the prior's.

use std::sync::atomic::AtomicBool;

use gputexel_dataset::objective::Objective;
use gputexel_dataset::{Dataset, Layout, Split};
use gputexel_eval::Backend;
use gputexel_eval::exact::{all_scores, loss_at};
use gputexel_io::{Error, Result};
use gputexel_tune::{
    K_RANGE, Limits, ModelSize, OptimizerConfig, RunConfig, RunScores, StopReason, Tuning, space_of,
    training_score_ratio,
};

/// K is accepted when the regression of tuned scores on the prior's has slope 1 to this precision.
const PRECISION: f64 = 1e-6;
/// Precision that is reachable if the prior is so strong that fits end before such slopes can be distinguished.
const SETTLED: f64 = 1e-4;
const MIN_CHANGE: f64 = 1e-4;
/// Relative improvement of the loss below which a fit ends: of nonlinear scores, whose fits take long, far from the K
/// that is looked for; and of all others, because slopes must be more precise than in a run.
const FAR: f64 = 1e-7;
const NEAR: f64 = 1e-10;
const IS_NEAR: f64 = 1e-3;
pub(crate) const FITS: usize = 12;
/// Share by which the loss may exceed that of a fit with another K: healthy data differ by up to 0.04 % with results
/// and 0.8 % with search scores as targets, priors that say nothing by a factor.
const WORSE: f64 = 0.02;

struct Fit {
    k: f64,
    z: Vec<f64>,
    loss: f64,
    /// Tuned scores per score of the prior.
    ratio: Option<f64>,
}

pub(crate) enum JointScale {
    Found {
        k: f64,
        z: Vec<f64>,
    },
    /// The prior's scores have no scale that tuned scores could keep; of its K and 1, `k` has the lower loss.
    Impossible {
        k: f64,
        reason: String,
    },
}

pub(crate) struct ScaleSearch<'a> {
    data: &'a Dataset,
    split: &'a Split,
    backend: &'a Backend,
    stop: &'a AtomicBool,
    /// Configuration with K fitted on the prior, and the penalties for it.
    config: &'a RunConfig,
    method: OptimizerConfig,
    layout: Layout,
    training: Vec<u32>,
    scores: RunScores,
}

impl<'a> ScaleSearch<'a> {
    pub fn try_new(
        data: &'a Dataset,
        split: &'a Split,
        backend: &'a Backend,
        stop: &'a AtomicBool,
        config: &'a RunConfig,
    ) -> Result<Self> {
        let model = ModelSize { parameters: config.prior_theta.len(), linear: data.program().is_none() };
        Ok(Self {
            method: OptimizerConfig::default_for(config.loss.is_smooth(), model),
            layout: Layout::try_new(data, split.parts(), |n| split.part_of(n))?,
            training: split.training().map(|n| n as u32).collect(),
            scores: RunScores { prior: all_scores(data, &config.prior_theta), result: Vec::new() },
            data,
            split,
            backend,
            stop,
            config,
        })
    }

    pub fn run(
        mut self,
        start: Vec<f64>,
        observe: &mut dyn FnMut(usize) -> Result<()>,
    ) -> Result<JointScale> {
        let k = self.config.k;
        let mut fits = 0;
        let mut fit_at = |search: &mut Self, k: f64, z: Vec<f64>, improvement: f64| {
            fits += 1;
            observe(fits)?;
            search.fit(k, z, improvement)
        };
        let mut improvement = if self.data.program().is_some() { FAR } else { NEAR };
        let on_prior = fit_at(&mut self, k, start, improvement)?;
        let from = on_prior.warm_start(1.0, &self);
        let unit = fit_at(&mut self, 1.0, from, improvement)?;
        let plain = if unit.loss < on_prior.loss { &unit } else { &on_prior };
        let (plain_k, plain_loss) = (plain.k, plain.loss);
        let impossible = |reason: String| Ok(JointScale::Impossible { k: plain_k, reason });
        // ln K and ln ratio of the previous fit: the ratio falls as K grows, by less the stronger the prior is.
        let mut before: Option<(f64, f64)> = None;
        let mut slope = -1.0;
        let mut fit = on_prior;
        for _ in 2..FITS {
            let Some(ratio) = fit.ratio else {
                return impossible(
                    "the prior's scores, or the tuned ones, are 0 and have no scale".to_string(),
                );
            };
            let (x, y) = (fit.k.ln(), ratio.ln());
            if (ratio - 1.0).abs() < PRECISION && improvement == NEAR {
                break;
            }
            // Between fits that are nearer, the rounding of sums decides the slope.
            if let Some((x0, y0)) = before.filter(|(x0, _)| (x - x0).abs() > MIN_CHANGE) {
                slope = ((y - y0) / (x - x0)).clamp(-2.0, -1e-3);
            }
            before = Some((x, y));
            if (ratio - 1.0).abs() < IS_NEAR && improvement == FAR {
                // A slope between fits of different precision says little.
                (improvement, before) = (NEAR, None);
            }
            let k = (x - (y / slope).clamp(-1.0, 1.0)).exp();
            if !(K_RANGE.0..=K_RANGE.1).contains(&k) {
                break;
            }
            let from = fit.warm_start(k, &self);
            fit = fit_at(&mut self, k, from, improvement)?;
        }
        let settled = fit.ratio.is_some_and(|ratio| (ratio - 1.0).abs() < SETTLED);
        if settled && fit.loss <= plain_loss * (1.0 + WORSE) {
            return Ok(JointScale::Found { k: fit.k, z: fit.z });
        }
        impossible(format!(
            "tuned scores cannot keep the scale of the prior, which says too little about the results (loss {:.6} at K \
             {:.3}, {plain_loss:.6} at K {plain_k:.3})",
            fit.loss, fit.k
        ))
    }

    fn fit(&mut self, k: f64, z: Vec<f64>, improvement: f64) -> Result<Fit> {
        let config = RunConfig {
            begin: Some(z),
            stopping: Limits { improvement: Some(improvement), ..Limits::default() }.for_method(&self.method),
            optimizer: self.method.clone(),
            ..at_scale(self.config, k)
        };
        let (mut evaluator, _) = self.backend.evaluator(&self.layout)?;
        let outcome =
            Tuning::try_new(&config, self.split)?.run(&mut *evaluator, self.stop, &mut |_| Ok(()))?;
        if outcome.reason == StopReason::Interrupted {
            return Err(Error::Interrupted("while fitting K".to_string()));
        }
        self.scores.result = all_scores(self.data, &outcome.parameters);
        let objective = Objective { k, loss: config.loss };
        Ok(Fit {
            k,
            z: outcome.z,
            loss: loss_at(self.data, objective, &self.scores.result, &self.training),
            ratio: training_score_ratio(self.data, k, self.split, &self.scores),
        })
    }
}

impl Fit {
    /// Returns a point near the optimum at another K: if scores are proportional to z, their product with K is
    /// unchanged.
    fn warm_start(&self, k: f64, search: &ScaleSearch<'_>) -> Vec<f64> {
        let basis = search.config.parameterization();
        let mut z = self.z.clone();
        if search.data.program().is_none() && basis.base.iter().all(|&value| value == 0.0) {
            z.iter_mut().for_each(|value| *value *= self.k / k);
            space_of(&basis).clamp(&mut z);
        }
        z
    }
}

/// Returns the configuration with another K. Weights of penalties follow, because they count centipawns.
pub(crate) fn at_scale(config: &RunConfig, k: f64) -> RunConfig {
    let factor = (k / config.k).powi(2);
    let mut scaled = RunConfig { k, ..config.clone() };
    scaled.penalties.iter_mut().for_each(|penalty| penalty.weight *= factor);
    scaled
}
