//! Flags of `tune` that determine what a run computes.

use gputexel::extraction::{ExtractSettings, Target};
use gputexel::objective::LossKind;
use gputexel::optimizer::MethodFlags;
use gputexel::run::{BlendSettings, BlendShare, PriorStrength, TunerSettings};
use gputexel::tuning::{Limits, ModelSize, OptimizerConfig, Rounding};
use gputexel::{Error, Result};

use super::super::settings::parsed;

/// Flags of `tune` and `pso` about the objective; a resumed run has them in its folder.
#[derive(Debug, clap::Args)]
#[group(id = "ObjectiveArgs", multiple = true)]
pub struct ObjectiveArgs {
    /// Divide sums over positions into this many sections, which devices and machines can share; the last digits of
    /// results depend on it [default: one per 2^20 positions, up to 64]
    #[arg(long, value_name = "N", help_heading = "Inputs")]
    pub(super) sections: Option<usize>,
    /// Starting point and reference: material:P,N,B,R,Q, pesto (PeSTO's tables), zero, or a params.json or
    /// the folder of a run
    /// [default: material:100,300,320,500,900]
    #[arg(long, value_name = "PRIOR", help_heading = "Objective")]
    pub(super) prior: Option<String>,
    /// Loss function: squared, cross-entropy, or power:Q [default: squared]
    #[arg(long, value_name = "LOSS", help_heading = "Objective")]
    pub(super) loss: Option<String>,
    /// Regularization toward neighbors and the prior: auto (weights chosen by held-out loss), none, weights such as
    /// bend=1e-4,mirror=1e-2,ridge:king=1e-5, or the folder of a run, for its weights; see docs/strength.md [default:
    /// auto; none with --l2 and for swarms]
    #[arg(long, value_name = "HOW", help_heading = "Objective")]
    pub(super) prior_strength: Option<String>,
    /// L2 regularization toward the prior only: the cost of a parameter one pawn away from it [default: none, but
    /// 1e-6 with more than 4,096 parameters]
    #[arg(long, value_name = "LAMBDA", value_delimiter = ',', help_heading = "Objective")]
    pub(super) l2: Vec<f64>,
    /// Share of the games held out to evaluate the parameters on unseen positions
    #[arg(long, value_name = "SHARE", value_parser = crate::cli::target::share, help_heading = "Objective")]
    pub(super) holdout: Option<f64>,
    /// Random seed [default: 1]
    #[arg(long, value_name = "N", help_heading = "Objective")]
    pub(super) seed: Option<u64>,
    /// Time limit in seconds
    #[arg(long, value_name = "SECONDS", help_heading = "Stopping")]
    pub time: Option<f64>,
}

impl ObjectiveArgs {
    pub fn settings(&self) -> Result<TunerSettings<'_>> {
        let default = TunerSettings::default();
        Ok(TunerSettings {
            loss: self.loss()?,
            holdout: self.holdout.unwrap_or(default.holdout),
            seed: self.seed.unwrap_or(default.seed),
            prior: parsed(&self.prior)?,
            l2: self.l2.clone(),
            sections: self.sections,
            ..default
        })
    }

    pub(super) fn loss(&self) -> Result<LossKind> {
        Ok(parsed(&self.loss)?.unwrap_or_default())
    }

    pub fn given_strength(&self) -> Result<Option<PriorStrength>> {
        let strength = self.prior_strength.as_deref().map(PriorStrength::read).transpose()?;
        if let Some(strength) = &strength {
            strength.weights()?;
        }
        Ok(strength)
    }
}

/// Flags that determine what a new run computes; a resumed run has them in its folder.
#[derive(Debug, clap::Args)]
#[group(id = "NewRun", multiple = true)]
pub struct NewRunArgs {
    #[arg(long, value_name = "NAME", help_heading = "Inputs", help = crate::cli::reading::format_help())]
    pub(super) format: Option<String>,
    /// Label of extracted positions: result, or score (the expected score of the search score) [default: result]
    #[arg(long, value_name = "NAME", help_heading = "Inputs")]
    pub(super) target: Option<String>,
    /// K of --target score [default: 1]
    #[arg(long, value_name = "K", requires = "target", help_heading = "Inputs")]
    pub(super) target_k: Option<f64>,
    /// Share of the search score in the targets, 0 to 1, the rest being the result; see docs/blend.md [default: 1 if
    /// most positions have a search score, else 0]
    #[arg(long, value_name = "SHARE", value_parser = crate::cli::target::share, help_heading = "Objective")]
    pub(super) blend: Option<f64>,
    /// K of search scores (base 10) for --blend, or fit: the value that best fits their results [default: fit,
    /// or 1 if results do not follow scores]
    #[arg(long, value_name = "K", requires = "blend", help_heading = "Objective")]
    pub(super) blend_k: Option<String>,
    /// Keep the values of an engine's features of whose occurrences less than this share is the side to move's, such as
    /// threats: quiet positions do not tell what they are worth
    #[arg(long, value_name = "SHARE", value_parser = crate::cli::target::share, default_value_t = 0.1, help_heading = "Objective")]
    pub(super) least_to_move: f64,
    /// Ignore the bounds of the basis
    #[arg(long, requires = "basis", help_heading = "Objective")]
    pub(super) no_bounds: bool,
    #[arg(long, value_name = "NAME", help_heading = "Optimizer", help = optimizer_help())]
    pub(super) optimizer: Option<String>,
    /// Number of starting points if scores are not linear: of short fits from each, including the prior, the best
    /// continues [default: 1, or 5 if a term is off in nearly all positions under the prior]
    #[arg(long, value_name = "N", help_heading = "Optimizer")]
    pub(super) starts: Option<usize>,
    /// Gauss-Newton: initial damping, relative to the diagonal [default: 0.0001]
    #[arg(long, value_name = "MU", help_heading = "Optimizer")]
    pub(super) damping: Option<f64>,
    /// Adam: learning rate, in centipawns per step [default: 20]; a list such as 0.5,1,2 runs side by side as one
    /// population, and the parameters of the best are kept
    #[arg(long, value_name = "RATE", value_delimiter = ',', help_heading = "Optimizer")]
    pub(super) learning_rate: Vec<f64>,
    /// Adam: constant, cosine, linear, or step:FACTOR:EPOCHS [default: cosine]
    #[arg(long, value_name = "NAME", help_heading = "Optimizer")]
    pub(super) schedule: Option<String>,
    /// Adam: mini-batches per epoch [default: 1, the full batch]
    #[arg(long, value_name = "N", help_heading = "Optimizer")]
    pub(super) batches: Option<usize>,
    /// Local: step sizes in descending order; 1 is always the last [default: 8,4,2,1]
    #[arg(long, value_name = "STEP", value_delimiter = ',', help_heading = "Optimizer")]
    pub(super) step: Vec<u32>,
    /// Round the result to integers: naive, local (no single step improves the exact loss) or none [default: none]
    ///
    /// For gauss-newton, gn-lbfgs and adam; for pso, local is its --polish. naive rounds each value to the nearest.
    #[arg(long, value_name = "HOW", help_heading = "Optimizer")]
    pub(super) round: Option<String>,
    #[arg(long, alias = "iterations", value_name = "N", help_heading = "Stopping", help = epochs_help())]
    pub(super) epochs: Option<u64>,
    #[arg(long, value_name = "SHARE", help_heading = "Stopping", help = improvement_help())]
    pub(super) improvement: Option<f64>,
    #[arg(long, value_name = "N", help_heading = "Stopping", help = patience_help())]
    pub(super) patience: Option<u64>,
}

fn optimizer_help() -> String {
    let list = OptimizerConfig::list();
    format!(
        "Optimizer: {list} [default: gn-lbfgs; with more than 4,096 parameters, and if the loss is not \
         differentiable, adam]"
    )
}

fn epochs_help() -> String {
    let defaults = OptimizerConfig::list_defaults(|limits| limits.epochs.to_string());
    format!(
        "Epoch limit; the first epoch of gn-lbfgs and gauss-newton evaluates the prior [default: {defaults}]"
    )
}

fn improvement_help() -> String {
    let defaults = OptimizerConfig::list_defaults(|limits| match limits.improvement {
        0.0 => "0 (never)".to_string(),
        share => format!("{share:e} over {}", limits.window),
    });
    format!(
        "Stop when the relative improvement of the lowest loss (regularized, if there is regularization) over some \
         epochs is below this [default: {defaults}]"
    )
}

fn patience_help() -> String {
    let defaults = OptimizerConfig::list_defaults(|limits| {
        limits.patience.map_or("all epochs".to_string(), |epochs| epochs.to_string())
    });
    format!(
        "With --holdout: stop after this many epochs without a better held-out loss [default: {defaults}]"
    )
}

impl NewRunArgs {
    pub(super) fn extraction(&self) -> Result<Option<ExtractSettings>> {
        if self.format.is_none() && self.target.is_none() {
            return Ok(None);
        }
        Ok(Some(ExtractSettings {
            format: parsed(&self.format)?,
            target: Target::new(self.target.as_deref().unwrap_or("result"), self.target_k)?,
            ..ExtractSettings::default()
        }))
    }

    /// Returns the flags that were given and belong to some methods only.
    fn given(&self) -> Vec<&'static str> {
        let flags = [
            ("damping", self.damping.is_some()),
            ("learning-rate", !self.learning_rate.is_empty()),
            ("schedule", self.schedule.is_some()),
            ("batches", self.batches.is_some()),
            ("step", !self.step.is_empty()),
        ];
        flags.into_iter().filter(|(_, given)| *given).map(|(flag, _)| flag).collect()
    }

    pub(super) fn optimizer(
        &self,
        objective: &ObjectiveArgs,
        loss: LossKind,
        model: ModelSize,
    ) -> Result<OptimizerConfig> {
        let (given, methods) = (self.given(), OptimizerConfig::NAMED);
        let names_adam =
            |flag: &&str| methods.iter().any(|method| method.name == "adam" && method.flags.contains(flag));
        let name = match self.optimizer.as_deref() {
            Some(name) => name,
            None if given.iter().any(names_adam) => "adam",
            None => OptimizerConfig::default_for(loss.is_smooth(), model).spec().name,
        };
        if let Some(method) = methods.iter().find(|method| method.name == name)
            && let Some(flag) = given.iter().find(|flag| !method.flags.contains(flag))
        {
            let takers = OptimizerConfig::list_taking(flag);
            return Err(Error::Usage(format!("--{flag} only applies to --optimizer {takers}")));
        }
        let polish = match self.round.as_deref().filter(|_| self.is_swarm()) {
            None | Some("none") => false,
            Some("local") => true,
            Some(how) => {
                return Err(Error::Usage(format!("--round {how}: pso rounds by local, or not at all")));
            }
        };
        let flags = MethodFlags {
            nonlinear: !model.linear,
            seed: objective.seed,
            damping: self.damping,
            learning_rate: self.learning_rate.clone(),
            schedule: parsed(&self.schedule)?,
            batches: self.batches,
            step: self.step.clone(),
            polish,
        };
        OptimizerConfig::named(name, &flags)
    }

    pub(super) fn is_swarm(&self) -> bool {
        self.optimizer.as_deref() == Some("pso")
    }

    /// Returns the regularization toward neighbors and the prior, if the flags specify it.
    pub(super) fn prior_strength(&self, objective: &ObjectiveArgs) -> Result<Option<PriorStrength>> {
        match self.is_swarm() {
            true => objective.given_strength(),
            false => objective.prior_strength.as_deref().map(PriorStrength::read).transpose(),
        }
    }

    pub(super) fn blend(&self) -> Result<BlendSettings> {
        // Swarms tune by results, as MadChess does.
        let default = (!self.is_swarm()).then_some(BlendShare::Scores);
        let share = self.blend.map(BlendShare::Given).or(default);
        let k = match self.blend_k.as_deref().filter(|&text| text != "fit") {
            None => None,
            Some(text) => match text.parse::<f64>() {
                Ok(k) => Some(k),
                Err(_) => return Err(Error::Usage(format!("--blend-k {text}: must be a number, or fit"))),
            },
        };
        Ok(BlendSettings { share, k })
    }

    /// Returns the rounding of the result; swarms are polished instead.
    pub(super) fn rounding(&self) -> Result<Rounding> {
        let round = self.round.as_deref().filter(|_| !self.is_swarm());
        round.map_or(Ok(Rounding::None), str::parse)
    }

    pub(super) fn limits(&self, objective: &ObjectiveArgs) -> Limits {
        Limits {
            epochs: self.epochs,
            seconds: objective.time,
            improvement: self.improvement,
            patience: self.patience,
        }
    }
}
