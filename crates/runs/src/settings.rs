use std::path::PathBuf;

use crate::basis::BasisSettings;
use crate::blend::BlendSettings;
use crate::strength::PriorStrength;
use gputexel_dataset::Split;
use gputexel_dataset::objective::LossKind;
use gputexel_ingest::extraction::ExtractSettings;
use gputexel_io::{Error, Result};
use gputexel_model::Prior;
use gputexel_optim::Space;
use gputexel_tune::{
    GAUSS_NEWTON_LIMIT, Limits, MOST_STARTS, ModelSize, OptimizerConfig, Rounding, ScaleMode, check_l2,
};

/// Default weight λ if there are too many parameters to choose one.
const L2_OF_MANY: f64 = 1e-6;

/// Settings of a new run: everything that determines what it computes, and where it is stored.
pub struct TunerSettings<'a> {
    /// How files that are not datasets are read, and the features to extract. `None`: detected, with
    /// [`default_features`](crate::default_features).
    pub extraction: Option<ExtractSettings>,
    /// The starting point, and target of the regularization. `None`: that of the features.
    pub prior: Option<Prior>,
    pub basis: BasisSettings,
    /// The scale constant K, base-10 form. `None`: fitted, see [`scale`](Self::scale).
    pub k: Option<f64>,
    pub scale: ScaleMode,
    /// The regularization toward each other and the prior. `None`: penalties whose weights are chosen by held-out loss,
    /// unless there is an [`l2`](Self::l2).
    pub prior_strength: Option<PriorStrength>,
    pub loss: LossKind,
    pub blend: BlendSettings,
    /// The regularization weight λ: a parameter one pawn (100 centipawns) from the prior costs λ. Then there is no
    /// other regularization, unless [`prior_strength`](Self::prior_strength) gives weights.
    pub l2: Vec<f64>,
    /// The share of the games to hold out, 0 to 0.9, for the evaluation of the parameters.
    pub holdout: f64,
    pub seed: u64,
    pub optimizer: OptimizerChoice<'a>,
    pub round: Rounding,
    pub limits: Limits,
    /// The number of points, including the prior, from the best of which a nonlinear evaluation starts after a short
    /// fit from each, see [`choose_start`](gputexel_tune::choose_start). `None`: only the prior, or
    /// [`DEFAULT_STARTS`](gputexel_tune::DEFAULT_STARTS) if a term is inactive there in nearly all positions.
    pub starts: Option<usize>,
    /// The number of [sections](gputexel_dataset::Layout::sections) of files; a dataset in memory has [its
    /// own](gputexel_dataset::Dataset::with_sections).
    pub sections: Option<usize>,
    /// The files with the positions of a dataset in memory, which make a run in a folder resumable.
    pub datasets: Vec<PathBuf>,
    pub output: RunOutput,
    pub overwrite: bool,
    pub command_line: String,
}

impl Default for TunerSettings<'_> {
    fn default() -> Self {
        Self {
            extraction: None,
            prior: None,
            basis: BasisSettings::default(),
            k: None,
            scale: ScaleMode::Auto,
            prior_strength: None,
            loss: LossKind::default(),
            blend: BlendSettings::default(),
            l2: Vec::new(),
            holdout: 0.0,
            seed: 1,
            optimizer: OptimizerChoice::Default,
            round: Rounding::None,
            limits: Limits::default(),
            starts: None,
            sections: None,
            datasets: Vec::new(),
            output: RunOutput::Memory,
            overwrite: false,
            command_line: String::new(),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RunOutput {
    /// Nowhere: everything stays in memory.
    #[default]
    Memory,
    Dated,
    Folder(PathBuf),
}

pub type ChooseOptimizer<'a> = Box<dyn Fn(ModelSize) -> Result<OptimizerConfig> + 'a>;

#[derive(Default)]
pub enum OptimizerChoice<'a> {
    #[default]
    Default,
    Given(OptimizerConfig),
    /// One that depends on the size of the model. First called with [`ModelSize::UNKNOWN`], so that invalid settings
    /// are rejected before anything is read.
    BySize(ChooseOptimizer<'a>),
}

impl TunerSettings<'_> {
    pub(crate) fn validate(&self) -> Result<()> {
        Split::check_share(self.holdout)?;
        self.blend.validate()?;
        if let Some(count) = self.starts.filter(|count| !(1..=MOST_STARTS).contains(count)) {
            let reason = format!("must be at least 1 and at most {MOST_STARTS}");
            return Err(Error::Setting { setting: "starts", value: Some(count.to_string()), reason });
        }
        check_l2(&self.l2)?;
        let optimizer = self.method(ModelSize::UNKNOWN)?;
        let regularizes = self.l2.iter().any(|&l2| l2 > 0.0);
        if matches!(self.prior_strength, Some(PriorStrength::Auto)) && regularizes {
            let reason = "is either given or chosen with the strength of the prior".to_string();
            return Err(Error::Setting { setting: "l2", value: None, reason });
        }
        self.limits.for_method(&optimizer).validate()?;
        if optimizer.swarms().is_none() {
            optimizer.build(&Space::unbounded(&[0.0, 0.0]), 1)?;
        }
        match optimizer.batches() {
            0 => Err(Error::Usage("there must be at least 1 mini-batch".to_string())),
            _ => Ok(()),
        }
    }

    pub(crate) fn method(&self, model: ModelSize) -> Result<OptimizerConfig> {
        let optimizer = match &self.optimizer {
            OptimizerChoice::Default => OptimizerConfig::default_for(self.loss.is_smooth(), model),
            OptimizerChoice::Given(optimizer) => optimizer.clone(),
            OptimizerChoice::BySize(choose) => choose(model)?,
        };
        optimizer.repeated(self.l2.len().max(1))
    }

    /// Returns the weights λ for a model: those given, or 1e-6 where penalties cannot be chosen because there are so
    /// many parameters, most of which occur in few positions.
    pub(crate) fn weights(&self, model: ModelSize) -> Vec<f64> {
        let many = model.parameters > GAUSS_NEWTON_LIMIT && model.linear;
        match self.l2.is_empty() && many && self.prior_strength.is_none() {
            true => vec![L2_OF_MANY],
            false => self.l2.clone(),
        }
    }

    /// Returns the regularization by penalties: as given, or chosen, unless there are weights λ or it is a swarm.
    pub(crate) fn strength(&self, optimizer: &OptimizerConfig, weights: &[f64]) -> PriorStrength {
        match &self.prior_strength {
            Some(strength) => strength.clone(),
            None if optimizer.swarms().is_some() || !weights.is_empty() => PriorStrength::None,
            None => PriorStrength::Auto,
        }
    }
}
