//! Regularization of a run, and the scale constant that it is fitted with.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use crate::event::{Deciding, RunEvent, RunObserver};
use crate::joint_scale::{FITS, JointScale, ScaleSearch, at_scale};
use gputexel_dataset::{Dataset, Split};
use gputexel_eval::Backend;
use gputexel_eval::cpu::CpuEvaluator;
use gputexel_io::run_folder::Kind;
use gputexel_io::{Advice, Error, Result, RunFolder};
use gputexel_model::program::TermActivity;
use gputexel_model::{FeatureSet, Penalty, parse_penalties};
use gputexel_tune::{
    KindStrength, PendingChoices, RunConfig, RunRecord, RunScores, ScaleMode, ScaleRecord, StartsRecord,
    Strength, StrengthOrder, StrengthRequest, choose_start, choose_strength, default_starts, starts_obstacle,
    strength_obstacle, training_score_ratio,
};

#[derive(Clone, Debug, PartialEq)]
pub enum PriorStrength {
    /// Penalties whose weights are chosen by held-out loss.
    Auto,
    /// Only the L2 regularization of the optimizer.
    None,
    /// Penalties with given weights, see [`parse_penalties`].
    Weights(String),
}

/// Factor between tuned scores and the prior's from which they are on another scale.
const OTHER_SCALE: f64 = 1.25;

impl PriorStrength {
    /// Parses `auto`, `none`, weights of penalties, or the folder of a run, whose weights apply.
    pub fn read(text: &str) -> Result<Self> {
        match text.trim() {
            "auto" => Ok(Self::Auto),
            "none" => Ok(Self::None),
            path if Path::new(path).is_dir() => weights_of(Path::new(path)).map(Self::Weights),
            weights => Ok(Self::Weights(weights.to_string())),
        }
    }

    pub fn weights(&self) -> Result<Option<&str>> {
        match self {
            Self::Weights(text) => Ok(Some(text)),
            Self::None => Ok(None),
            Self::Auto => {
                let reason =
                    "weights are chosen for single runs: give weights, or the folder of a run".to_string();
                Err(Error::Setting { setting: "prior-strength", value: Some("auto".to_string()), reason })
            }
        }
    }

    /// Returns the order to choose weights, if they are to be chosen; `given` tells whether this is not the default.
    pub(crate) fn order(&self, given: bool) -> Option<StrengthOrder> {
        (*self == Self::Auto).then_some(StrengthOrder { given })
    }

    pub(crate) fn given(&self, set: &FeatureSet) -> Result<Vec<Penalty>> {
        match self {
            Self::Weights(text) => parse_penalties(set, text),
            _ => Ok(Vec::new()),
        }
    }
}

fn weights_of(folder: &Path) -> Result<String> {
    let record: RunRecord = RunFolder::view(folder).record(Kind::Run)?;
    let weights: Vec<String> = record
        .config
        .penalties
        .iter()
        .map(|penalty| format!("{}:{}={:e}", penalty.kind, penalty.of, penalty.weight))
        .collect();
    match weights.is_empty() {
        true => Err(Error::input(folder, "the run has no penalties whose weights could be used")),
        false => Ok(weights.join(",")),
    }
}

pub(crate) struct Decision<'a, 'o> {
    pub data: &'a Dataset,
    pub split: &'a Split,
    pub backend: &'a Backend,
    pub activity: &'a [TermActivity],
    pub stop: &'a AtomicBool,
    pub observe: &'a mut RunObserver<'o>,
}

fn not_joint(reason: String) -> Error {
    Error::Setting { setting: "k", value: Some("joint".to_string()), reason }
}

#[derive(Default)]
pub(crate) struct Decided {
    starts: Option<StartsRecord>,
    strength: Option<Strength>,
    scale: Option<ScaleRecord>,
}

impl Decided {
    pub fn enter(self, record: &mut RunRecord) {
        let Self { starts, strength, scale } = self;
        (record.undecided, record.starts, record.strength, record.scale) = (None, starts, strength, scale);
    }
}

impl Decision<'_, '_> {
    fn choose_start(
        &mut self,
        config: &mut RunConfig,
        starts: Option<usize>,
    ) -> Result<Option<StartsRecord>> {
        if let (Some(2..), Some(reason)) = (starts, starts_obstacle(config, self.data)) {
            let value = starts.map(|count| count.to_string());
            return Err(Error::Setting { setting: "starts", value, reason: reason.to_string() });
        }
        let count = starts.unwrap_or_else(|| default_starts(config, self.data, self.activity));
        if count < 2 {
            return Ok(None);
        }
        let text = format!("where to begin: a short fit from each of {count} points");
        (self.observe)(RunEvent::Deciding { what: Deciding::Start, progress: &text, share: None })?;
        let choice = choose_start(config, self.data, self.split, self.backend, count, self.stop)?;
        config.begin = Some(choice.z);
        Ok(Some(choice.record))
    }

    pub fn decide(mut self, config: &mut RunConfig, undecided: PendingChoices) -> Result<Decided> {
        let PendingChoices { starts, strength, scale: mode } = undecided;
        if mode == Some(ScaleMode::Joint) {
            Self::check_joint(config)?;
        }
        let mut decided = Decided { starts: self.choose_start(config, starts)?, ..Decided::default() };
        let mut start = config.begin.clone();
        if let Some(StrengthOrder { given }) = strength {
            match strength_obstacle(config) {
                Some(reason) if given => {
                    let reason = format!("cannot be chosen by held-out loss: {reason}");
                    return Err(Error::Setting { setting: "prior-strength", value: None, reason });
                }
                Some(reason) => {
                    let text =
                        format!("the strength of the prior is not chosen: {reason}; nothing is regularized");
                    (self.observe)(RunEvent::Warning(&text))?;
                }
                None => {
                    let request = StrengthRequest::default();
                    let (data, split, stop) = (self.data, self.split, self.stop);
                    let choose = |backend: &Backend, observe: &mut RunObserver<'_>| {
                        choose_strength(config, data, split, backend, request, stop, &mut |at| {
                            observe(RunEvent::Deciding {
                                what: Deciding::Strength,
                                progress: &format!(
                                    "the strength of the prior: round {} of at most {}",
                                    at.round, at.rounds
                                ),
                                share: Some(at.share()),
                            })
                        })
                    };
                    let choice = match choose(self.backend, self.observe) {
                        // Matrices take more memory than the run itself may need.
                        Err(Error::Gpu(reason)) => {
                            let text = format!("{reason}; the strength of the prior is chosen on the CPU");
                            (self.observe)(RunEvent::Warning(&text))?;
                            let cpu =
                                Backend::custom("cpu", |layout| Ok(Box::new(CpuEvaluator::new(layout))));
                            choose(&cpu, self.observe)?
                        }
                        answer => answer?,
                    };
                    choice.warnings.iter().try_for_each(|text| (self.observe)(RunEvent::Warning(text)))?;
                    config.penalties = choice.penalties;
                    decided.strength = Some(choice.strength);
                    start = Some(choice.z);
                }
            }
        }
        if let Some(mode) = mode {
            let on_prior = config.k;
            let ratio = match (mode, &start) {
                (ScaleMode::Auto, Some(z)) => self.ratio(config, &config.parameterization().theta(z)),
                _ => None,
            };
            let other = ratio.is_some_and(|ratio| !(1.0 / OTHER_SCALE..=OTHER_SCALE).contains(&ratio));
            let mut scale = ScaleRecord { mode: ScaleMode::Prior, on_prior, joint_failed: false };
            if mode == ScaleMode::Joint || other {
                match self.joint_scale(config, start.clone())? {
                    JointScale::Found { k, z } => {
                        *config = at_scale(config, k);
                        if let Some(strength) = &mut decided.strength {
                            self.judge_again(config, strength, &z, k / on_prior)?;
                        }
                        start = Some(z);
                        scale.mode = ScaleMode::Joint;
                    }
                    JointScale::Impossible { reason, .. } if mode == ScaleMode::Joint => {
                        let advice =
                            Advice::default().text("use ").setting("k", "prior").text(" or a number");
                        return Err(not_joint(reason).advise(advice));
                    }
                    JointScale::Impossible { k, reason } => {
                        (self.observe)(RunEvent::Warning(&format!("{reason}; K {k:.3} is used")))?;
                        scale.joint_failed = true;
                        if k != on_prior {
                            (config.k, config.begin) = (k, None);
                            return self.decide(config, PendingChoices { scale: None, ..undecided });
                        }
                    }
                }
            }
            decided.scale = Some(scale);
        }
        let whole = config.parameterization().coordinates.iter().any(|coordinate| coordinate.integer);
        if config.optimizer.uses_matrices() && !whole {
            config.begin = start;
        }
        Ok(decided)
    }

    fn ratio(&self, config: &RunConfig, theta: &[f64]) -> Option<f64> {
        let scores = RunScores::new(self.data, &config.prior_theta, theta);
        training_score_ratio(self.data, config.k, self.split, &scores)
    }

    fn joint_scale(&mut self, config: &RunConfig, start: Option<Vec<f64>>) -> Result<JointScale> {
        Self::check_joint(config)?;
        let start = start.unwrap_or_else(|| config.parameterization().start());
        let search = ScaleSearch::try_new(self.data, self.split, self.backend, self.stop, config)?;
        search.run(start, &mut |fit| {
            let progress = format!("K together with the parameters: fit {fit} of at most {FITS}");
            let share = Some(fit.saturating_sub(1) as f64 / FITS as f64);
            (self.observe)(RunEvent::Deciding { what: Deciding::Scale, progress: &progress, share })
        })
    }

    /// Recomputes the held-out losses of a strength at another K than the one it was chosen at, so that they are those
    /// of the run:
    fn judge_again(&self, config: &RunConfig, strength: &mut Strength, z: &[f64], factor: f64) -> Result<()> {
        for kind in &mut strength.kinds {
            kind.weight *= factor * factor;
            kind.by_fold.iter_mut().for_each(|weight| *weight *= factor * factor);
        }
        if strength.keeps_prior {
            return Ok(());
        }
        let request = StrengthRequest { folds: Some(strength.folds), given: Some((strength, z)) };
        let (data, split, stop) = (self.data, self.split, self.stop);
        let judged = choose_strength(config, data, split, self.backend, request, stop, &mut |_| Ok(()))?;
        // Unchanged, including those without effect.
        let kinds = std::mem::take(&mut strength.kinds).into_iter().zip(judged.strength.kinds);
        let kinds = kinds.map(|(own, judged)| KindStrength { weight: own.weight, ..judged }).collect();
        *strength = Strength { kinds, ..judged.strength };
        Ok(())
    }

    fn check_joint(config: &RunConfig) -> Result<()> {
        match strength_obstacle(config) {
            Some(reason) => Err(not_joint(format!("cannot be fitted with the parameters: {reason}"))),
            None => Ok(()),
        }
    }
}
