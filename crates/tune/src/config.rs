//! The configuration of a run, stored in its folder so that it can be resumed and repeated.

use serde::{Deserialize, Serialize};

use super::{Regularization, Rounding, Stopping};
use gputexel_dataset::objective::{GivenScale, LossKind};
use gputexel_dataset::{Blend, Dataset};
use gputexel_io::{Advice, Error, Result};
use gputexel_model::{Coordinate, Parameterization, Penalty, Prior};
use gputexel_optim::{GaussNewtonSettings, MethodLimits, OptimizerConfig, Space};

/// The limits set by the user; `None` leaves a limit to the method's default.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// See [`Stopping::epochs`]; default: that of the method.
    pub epochs: Option<u64>,
    /// See [`Stopping::seconds`]; default: none.
    pub seconds: Option<f64>,
    /// See [`Stopping::improvement`]; default: that of the method.
    pub improvement: Option<f64>,
    /// See [`Stopping::patience`]; default: that of the method.
    pub patience: Option<u64>,
}

impl Limits {
    pub fn for_method(self, optimizer: &OptimizerConfig) -> Stopping {
        let MethodLimits { epochs, improvement, window, patience } = optimizer.spec().limits;
        let epochs = self.epochs.unwrap_or(epochs);
        Stopping {
            epochs,
            seconds: self.seconds,
            improvement: self.improvement.unwrap_or(improvement),
            window,
            patience: self.patience.or(patience).unwrap_or(epochs),
        }
    }
}

/// Everything that determines what a run computes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunConfig {
    pub datasets: Vec<String>,
    /// Checksum of the datasets, to detect different files under the same names.
    pub checksum: String,
    pub prior: String,
    /// θ of the prior, so that a resumed run does not depend on the prior's file.
    #[serde(rename = "start")]
    pub prior_theta: Vec<f64>,
    /// The parameterization of θ; without it, every parameter is tuned by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub basis: Option<Parameterization>,
    /// z at which a continuous optimizer begins, if not at the start of the parameterization: a point near the optimum
    /// that is already known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begin: Option<Vec<f64>>,
    /// Weights λ of the regularization toward the prior, those of the members in turn: a parameter one pawn from the
    /// prior costs λ. Empty: 0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub l2: Vec<f64>,
    /// Penalties that tie parameters to each other or to the prior, the same for all members.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub penalties: Vec<Penalty>,
    /// Scale constant, base-10 form.
    pub k: f64,
    /// How search scores are blended into the targets; without it, targets are the results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blend: Option<Blend>,
    pub loss: LossKind,
    /// Requested number of [sections](gputexel_dataset::Layout::sections); results depend on it to the last digit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sections: Option<usize>,
    /// Fraction of games held out.
    pub holdout: f64,
    /// Seed of the split and the batches.
    pub seed: u64,
    pub optimizer: OptimizerConfig,
    #[serde(default)]
    pub round: Rounding,
    pub stopping: Stopping,
}

pub fn space_of(parameterization: &Parameterization) -> Space {
    let mut space = Space::unbounded(&parameterization.start());
    for (i, Coordinate { min, max, integer, .. }) in parameterization.coordinates.iter().enumerate() {
        space.lower[i] = min.unwrap_or(f64::NEG_INFINITY);
        space.upper[i] = max.unwrap_or(f64::INFINITY);
        space.integer[i] = *integer;
    }
    space
}

impl Default for RunConfig {
    /// Defaults for everything but the prior's values and K, which depend on the positions: see [`RunConfig::new`].
    fn default() -> Self {
        let optimizer = OptimizerConfig::GaussNewton(GaussNewtonSettings::default());
        Self {
            datasets: Vec::new(),
            checksum: String::new(),
            sections: None,
            prior: Prior::default().to_string(),
            prior_theta: Vec::new(),
            basis: None,
            begin: None,
            l2: Vec::new(),
            penalties: Vec::new(),
            k: 1.0,
            blend: None,
            loss: LossKind::default(),
            holdout: 0.0,
            seed: 1,
            round: Rounding::None,
            stopping: Limits::default().for_method(&optimizer),
            optimizer,
        }
    }
}

/// Refuses weights λ that are negative or not finite.
pub fn check_l2(weights: &[f64]) -> Result<()> {
    match weights.iter().find(|l2| !(l2.is_finite() && **l2 >= 0.0)) {
        Some(l2) => Err(Error::setting("l2", *l2, "must be 0 or a positive number")),
        None => Ok(()),
    }
}

pub(crate) fn rough_loss(loss: LossKind) -> Error {
    let advice = Advice::default().text("use ").setting("optimizer", "adam");
    Error::Usage(format!("gauss-newton needs a smooth loss; '{loss}' is not")).advise(advice)
}

impl RunConfig {
    /// Configures a run of Gauss–Newton on all positions of a dataset, each parameter by itself, from a prior and with
    /// a scale constant K in base-10 form, such as that of [`fit_scale`](super::fit_scale).
    ///
    /// ```
    /// # use gputexel_tune::RunConfig;
    /// let config = RunConfig { holdout: 0.2, seed: 7, ..RunConfig::default() };
    /// assert_eq!(config.stopping.epochs, 50);
    /// ```
    pub fn new(data: &Dataset, prior: &Prior, k: f64) -> Result<Self> {
        Ok(Self {
            checksum: data.checksum().to_string(),
            sections: data.sections(),
            prior: prior.to_string(),
            prior_theta: prior.theta(&data.metadata().feature_set)?,
            k,
            ..Self::default()
        })
    }

    pub fn set_targets(&self, data: &mut Dataset) -> Result<()> {
        self.blend.map_or(Ok(()), |blend| data.blend(blend))
    }

    /// Returns the basis, unless every parameter is tuned by itself.
    pub fn named_basis(&self) -> Option<&Parameterization> {
        self.basis.as_ref().filter(|basis| !basis.is_identity())
    }

    pub fn parameterization(&self) -> Parameterization {
        self.basis.clone().unwrap_or_else(|| Parameterization::identity(&self.prior_theta))
    }

    pub fn l2(&self, member: usize) -> f64 {
        self.l2.get(member % self.l2.len().max(1)).copied().unwrap_or(0.0)
    }

    /// Returns true if any member has a weight λ.
    pub fn has_l2(&self) -> bool {
        self.l2.iter().any(|&l2| l2 > 0.0)
    }

    /// Returns the regularization that is added to the loss of the positions for a member.
    pub fn regularization(&self, member: usize) -> Regularization {
        Regularization::new(&self.prior_theta, self.l2(member), &self.penalties)
    }

    /// Returns true if the loss includes anything but that of the positions.
    pub fn regularizes(&self) -> bool {
        self.has_l2() || self.penalties.iter().any(|penalty| penalty.weight > 0.0)
    }

    pub fn validate(&self) -> Result<()> {
        GivenScale::K(self.k).k()?;
        self.blend.map_or(Ok(()), Blend::validate)?;
        if self.prior_theta.iter().any(|value| !value.is_finite()) {
            return Err(Error::Usage("the prior contains non-finite values".to_string()));
        }
        let dimension = self.parameterization().dimension();
        if self.begin.as_ref().is_some_and(|z| z.len() != dimension || z.iter().any(|z| !z.is_finite())) {
            return Err(Error::Usage(format!("a run must begin at {dimension} finite numbers")));
        }
        check_l2(&self.l2)?;
        self.penalties.iter().try_for_each(|penalty| penalty.validate(self.prior_theta.len()))?;
        if let Some(basis) = &self.basis {
            basis.validate()?;
            if basis.parameters() != self.prior_theta.len() {
                return Err(Error::Usage(format!(
                    "basis '{}' is for {} parameters, the prior has {}",
                    basis.name,
                    basis.parameters(),
                    self.prior_theta.len()
                )));
            }
            let names: Vec<String> = basis.coordinates.iter().map(|c| c.name.clone()).collect();
            space_of(basis).validate(&names)?;
        }
        if self.optimizer.uses_matrices() && !self.loss.is_smooth() {
            return Err(rough_loss(self.loss));
        }
        if self.optimizer.swarms().is_some() {
            self.validate_swarm()?;
        }
        if self.round != Rounding::None {
            self.validate_rounding()?;
        }
        self.stopping.validate()
    }

    fn validate_swarm(&self) -> Result<()> {
        let unbounded = |c: &&Coordinate| c.min.is_none() || c.max.is_none();
        let name = match &self.basis {
            None => Some("every parameter"),
            Some(basis) => basis.coordinates.iter().find(unbounded).map(|c| c.name.as_str()),
        };
        name.map_or(Ok(()), |name| {
            let advice = Advice::default().text("give its min and max, or ").setting("radius", "CP");
            Err(Error::Usage(format!("swarms need bounds, and '{name}' has none")).advise(advice))
        })
    }

    fn validate_rounding(&self) -> Result<()> {
        let usage = |reason: String| Err(Error::Setting { setting: "round", value: None, reason });
        if matches!(self.optimizer, OptimizerConfig::Local(_)) {
            return usage(
                "only applies to continuous optimizers: the local search already uses integers".to_string(),
            );
        }
        let Some(basis) = &self.basis else { return Ok(()) };
        for (coordinate, column) in basis.coordinates.iter().zip(&basis.columns) {
            if let Some((_, factor)) = column.iter().find(|(_, factor)| factor.fract() != 0.0) {
                return usage(format!(
                    "needs an integer basis: '{}' of '{}' has the factor {factor}",
                    coordinate.name, basis.name
                ));
            }
            let (low, high) = (coordinate.min.unwrap_or(f64::MIN), coordinate.max.unwrap_or(f64::MAX));
            if low.ceil() > high.floor() {
                return usage(format!("there is no integer within the bounds of '{}'", coordinate.name));
            }
        }
        match basis.base.iter().find(|value| value.fract() != 0.0) {
            Some(value) => {
                usage(format!("needs an integer basis: the base of '{}' holds {value}", basis.name))
            }
            None => Ok(()),
        }
    }
}
