//! Flags of `tune` that decide what a run computes, and what they mean.

use gputexel::objective::LossKind;
use gputexel::optimizer::{AdamSettings, GaussNewtonSettings, LocalSettings, Schedule};
use gputexel::tuning::{OptimizerConfig, Rounding, Stopping};
use gputexel::{Error, Result};

/// Above this many parameters the Gauss–Newton matrix and its factorisation take too long.
pub const GAUSS_NEWTON_LIMIT: usize = 4096;

/// Flags that decide what a run computes; a resumed run has them in its folder.
#[derive(Debug, clap::Args)]
#[group(id = "Fresh", multiple = true)]
pub struct Fresh {
    /// Starting point and reference: material:P,N,B,R,Q, zero, or a params.json or
    /// the folder of a run
    /// [default: material:100,300,320,500,900]
    #[arg(long, value_name = "PRIOR", help_heading = "Objective")]
    pub(super) prior: Option<String>,
    /// squared, cross-entropy, or power:Q [default: squared]
    #[arg(long, value_name = "LOSS", help_heading = "Objective")]
    pub(super) loss: Option<String>,
    /// L2 regularization toward the prior: the cost of a parameter one pawn away from it [default: 0]
    #[arg(long, value_name = "LAMBDA", value_delimiter = ',', help_heading = "Objective")]
    pub(super) l2: Vec<f64>,
    /// Share of the games held out to evaluate the parameters on unseen positions
    #[arg(long, value_name = "SHARE", help_heading = "Objective")]
    pub(super) holdout: Option<f64>,
    /// Ignore the bounds of the basis
    #[arg(long, requires = "basis", help_heading = "Objective")]
    pub(super) no_bounds: bool,
    /// Random seed [default: 1]
    #[arg(long, value_name = "N", help_heading = "Objective")]
    pub(super) seed: Option<u64>,
    /// gauss-newton, adam, or local (search on integers) [default: gauss-newton if the loss is
    /// differentiable and there are not too many parameters]
    #[arg(long, value_name = "NAME", help_heading = "Optimizer")]
    pub(super) optimizer: Option<String>,
    /// Gauss-Newton: initial damping, relative to the diagonal [default: 0.0001]
    #[arg(long, value_name = "MU", help_heading = "Optimizer")]
    pub(super) damping: Option<f64>,
    /// Adam: learning rate, in centipawns per step [default: 20]
    #[arg(long, value_name = "RATE", value_delimiter = ',', help_heading = "Optimizer")]
    pub(super) learning_rate: Vec<f64>,
    /// Adam: decay of the first moment [default: 0.9]
    #[arg(long, value_name = "BETA", value_delimiter = ',', help_heading = "Optimizer")]
    pub(super) beta1: Vec<f64>,
    /// Adam: decay of the second moment [default: 0.999]
    #[arg(long, value_name = "BETA", value_delimiter = ',', help_heading = "Optimizer")]
    pub(super) beta2: Vec<f64>,
    /// Adam: epsilon, in loss per centipawn [default: 1e-12]
    #[arg(long, value_name = "EPS", value_delimiter = ',', help_heading = "Optimizer")]
    pub(super) epsilon: Vec<f64>,
    /// Adam: omit the bias correction, as some tuners do
    #[arg(long, help_heading = "Optimizer")]
    pub(super) no_bias_correction: bool,
    /// Adam: constant, cosine, linear, or step:FACTOR:EPOCHS [default: cosine]
    #[arg(long, value_name = "NAME", help_heading = "Optimizer")]
    pub(super) schedule: Option<String>,
    /// Adam: mini-batches per epoch [default: 1, the full batch]
    #[arg(long, value_name = "N", help_heading = "Optimizer")]
    pub(super) batches: Option<usize>,
    /// Local: step sizes in descending order; 1 is always the last [default: 8,4,2,1]
    #[arg(long, value_name = "STEP", value_delimiter = ',', help_heading = "Optimizer")]
    pub(super) step: Vec<u32>,
    /// Round the result of gauss-newton or adam to integers: naive (each to the nearest), local (until
    /// no single step of any parameter improves the exact loss), or none [default: none]
    #[arg(long, value_name = "HOW", help_heading = "Optimizer")]
    pub(super) round: Option<String>,
    /// Epoch limit [default: 50 for gauss-newton, 500 for adam and local]
    #[arg(long, value_name = "N", help_heading = "Stopping")]
    pub(super) epochs: Option<u64>,
    /// Time limit in seconds
    #[arg(long, value_name = "SECONDS", help_heading = "Stopping")]
    pub(super) time: Option<f64>,
    /// Stop when no component of the gradient (loss per centipawn) exceeds this [default: 0]
    #[arg(long, value_name = "NORM", help_heading = "Stopping")]
    pub(super) gradient_norm: Option<f64>,
    /// Stop when the relative improvement of the loss over the window is less than this
    /// [default: 1e-8 for gauss-newton, otherwise 0]
    #[arg(long, value_name = "SHARE", help_heading = "Stopping")]
    pub(super) improvement: Option<f64>,
    /// Window for --improvement, in epochs [default: 1 for gauss-newton, otherwise 50]
    #[arg(long, value_name = "N", help_heading = "Stopping")]
    pub(super) window: Option<u64>,
    /// With --holdout: stop after this many epochs without a better held-out loss [default: 5 for
    /// gauss-newton, otherwise 50]
    #[arg(long, value_name = "N", help_heading = "Stopping")]
    pub(super) patience: Option<u64>,
}

/// The scale constant in the forms in which tuners write it.
#[derive(Debug, clap::Args)]
#[group(id = "Scale", multiple = false)]
pub struct ScaleArgs {
    /// K of 1 / (1 + 10^(-K s / 400)) [default: fitted on the prior]
    #[arg(long, value_name = "K", help_heading = "Objective")]
    k: Option<f64>,
    /// K of 1 / (1 + e^(-K s / 400)), as in texel-tuner and Ethereal
    #[arg(long, value_name = "K", help_heading = "Objective")]
    k_e: Option<f64>,
    /// Scale of 1 / (1 + 10^(-s / scale)), as in MadChess
    #[arg(long, value_name = "SCALE", help_heading = "Objective")]
    win_scale: Option<f64>,
    /// Scale of 1 / (1 + e^(-s / scale)), as in pliers
    #[arg(long, value_name = "SCALE", help_heading = "Objective")]
    e_scale: Option<f64>,
}

/// K that is told apart: beyond, every score is a draw or decides the game.
const SCALES: (f64, f64) = (1e-4, 1e4);

impl ScaleArgs {
    /// K in base-10 form, if it was given.
    ///
    /// # Errors
    /// [`Error::Usage`] for numbers that are not finite and positive.
    pub fn k(&self) -> Result<Option<f64>> {
        let ln10 = std::f64::consts::LN_10;
        let forms = [
            ("--k", self.k, self.k),
            ("--k-e", self.k_e, self.k_e.map(|k| k / ln10)),
            ("--win-scale", self.win_scale, self.win_scale.map(|scale| 400.0 / scale)),
            ("--e-scale", self.e_scale, self.e_scale.map(|scale| 400.0 / (scale * ln10))),
        ];
        for (flag, given, k) in forms {
            if let (Some(given), Some(k)) = (given, k) {
                if !(k.is_finite() && k > 0.0 && given.is_finite()) {
                    return Err(Error::Usage(format!("{flag} {given}: must be a positive number")));
                }
                if !(SCALES.0..=SCALES.1).contains(&k) {
                    let (low, high) = SCALES;
                    return Err(Error::Usage(format!(
                        "{flag} {given}: corresponds to {k:e} in base-10 form, which must be from {low} to {high}"
                    )));
                }
                return Ok(Some(k));
            }
        }
        Ok(None)
    }
}

impl Fresh {
    pub(super) fn optimizer(&self, loss: LossKind, parameters: usize) -> Result<OptimizerConfig> {
        let name = match self.optimizer.as_deref() {
            Some(name) => name,
            None if loss.is_smooth() && parameters <= GAUSS_NEWTON_LIMIT && !self.names_adam() => {
                "gauss-newton"
            }
            None => "adam",
        };
        if name != "local" && !self.step.is_empty() {
            return Err(Error::Usage("--step only applies to --optimizer local".to_string()));
        }
        match name {
            "gauss-newton" => {
                if self.names_adam() {
                    return Err(Error::Usage("some of the flags only apply to --optimizer adam".to_string()));
                }
                let l2 = self.one_l2(name)?;
                let damping = self.damping.unwrap_or(GaussNewtonSettings::default().damping);
                Ok(OptimizerConfig::GaussNewton(GaussNewtonSettings { l2, damping }))
            }
            "adam" => {
                if self.damping.is_some() {
                    return Err(Error::Usage("--damping only applies to gauss-newton".to_string()));
                }
                let schedule = self.schedule.as_deref().map(str::parse).transpose()?;
                Ok(OptimizerConfig::Adam {
                    runs: self.adam_runs()?,
                    schedule: schedule.unwrap_or(Schedule::default()),
                    batches: self.batches.unwrap_or(1),
                })
            }
            "local" => {
                if self.names_adam() || self.damping.is_some() {
                    return Err(Error::Usage(
                        "some of the flags do not apply to --optimizer local".to_string(),
                    ));
                }
                Ok(OptimizerConfig::Local(self.local()?))
            }
            other => Err(Error::Usage(format!("optimizer '{other}': expected gauss-newton, adam or local"))),
        }
    }

    /// What is done to the result.
    pub(super) fn rounding(&self) -> Result<Rounding> {
        self.round.as_deref().map_or(Ok(Rounding::None), str::parse)
    }

    fn one_l2(&self, name: &str) -> Result<f64> {
        match self.l2[..] {
            [] => Ok(0.0),
            [l2] => Ok(l2),
            _ => Err(Error::Usage(format!("{name} accepts only one --l2"))),
        }
    }

    fn local(&self) -> Result<LocalSettings> {
        let mut settings = LocalSettings { l2: self.one_l2("local")?, ..LocalSettings::default() };
        if !self.step.is_empty() {
            settings.steps.clone_from(&self.step);
            if settings.steps.last() != Some(&1) {
                settings.steps.push(1);
            }
        }
        Ok(settings)
    }

    pub(super) fn seed(&self) -> u64 {
        self.seed.unwrap_or(1)
    }

    fn names_adam(&self) -> bool {
        let lists = [&self.learning_rate, &self.beta1, &self.beta2, &self.epsilon];
        lists.iter().any(|list| !list.is_empty())
            || self.no_bias_correction
            || self.schedule.is_some()
            || self.batches.is_some()
    }

    /// All combinations of the lists.
    fn adam_runs(&self) -> Result<Vec<AdamSettings>> {
        let default = AdamSettings { bias_correction: !self.no_bias_correction, ..AdamSettings::default() };
        let mut runs = vec![default];
        let mut cross = |values: &[f64], set: fn(&mut AdamSettings, f64)| {
            if !values.is_empty() {
                let combine = |run: &AdamSettings, &value: &f64| {
                    let mut run = *run;
                    set(&mut run, value);
                    run
                };
                runs =
                    runs.iter().flat_map(|run| values.iter().map(move |value| combine(run, value))).collect();
            }
        };
        cross(&self.learning_rate, |run, value| run.learning_rate = value);
        cross(&self.beta1, |run, value| run.beta1 = value);
        cross(&self.beta2, |run, value| run.beta2 = value);
        cross(&self.epsilon, |run, value| run.epsilon = value);
        cross(&self.l2, |run, value| run.l2 = value);
        if runs.len() > 10_000 {
            return Err(Error::Usage(format!(
                "{} combinations of Adam settings: at most 10000 are allowed",
                runs.len()
            )));
        }
        Ok(runs)
    }

    pub(super) fn stopping(&self, optimizer: &OptimizerConfig) -> Stopping {
        let smooth = matches!(optimizer, OptimizerConfig::GaussNewton(_));
        Stopping {
            epochs: self.epochs.unwrap_or(if smooth { 50 } else { 500 }),
            seconds: self.time,
            gradient_norm: self.gradient_norm.unwrap_or(0.0),
            improvement: self.improvement.unwrap_or(if smooth { 1e-8 } else { 0.0 }),
            window: self.window.unwrap_or(if smooth { 1 } else { 50 }),
            patience: self.patience.unwrap_or(if smooth { 5 } else { 50 }),
        }
    }
}
