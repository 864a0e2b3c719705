//! Result of a run, for machines: the object printed by `--json`.

use std::borrow::Cow;
use std::path::Path;

use gputexel_io::median;
use gputexel_model::ValueChange;
use gputexel_report::Conclusion;
use gputexel_tune::ConstantTerm;
use gputexel_tune::{
    Ablation, BlendRecord, Curvature, ErrorStatus, Polish, ProgramDiagnostics, RoundingSummary, StopReason,
    Strength, TermDiagnostics, Worth,
};
use serde::{Serialize, Serializer};

use crate::pieces::PieceWorth;
use crate::tuned::{AgainstResults, SwarmLosses, Tuned};
use crate::uncertainty::{Answer, Findings};

/// Search scores in the targets of a run.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct BlendSummary<'a> {
    /// Their share.
    pub share: f64,
    /// Their scale constant, base-10 form.
    pub k: f64,
    /// Losses against results alone.
    pub against_results: Option<AgainstResults>,
    /// Origin of share and scale constant.
    #[serde(flatten)]
    pub record: &'a BlendRecord,
}

impl<'a> BlendSummary<'a> {
    fn new(tuned: &'a Tuned) -> Option<Self> {
        let (blend, record) = tuned.config().blend.zip(tuned.record.blend.as_ref())?;
        Some(Self { share: blend.share, k: blend.k, against_results: tuned.against_results, record })
    }
}

/// Summary of a run. Losses are exact, and without regularization unless their names say otherwise.
#[derive(Clone, Debug, Serialize)]
pub struct RunSummary<'a> {
    /// The folder of the run, if it has one.
    pub folder: Option<&'a Path>,
    /// Number of positions, including those held out.
    pub positions: u64,
    /// Scale constant, base-10 form.
    pub k: f64,
    /// The search of swarms, if the run is one.
    #[serde(flatten)]
    pub swarms: Option<SwarmSummary>,
    /// Training loss of the prior.
    pub loss_before: Option<f64>,
    /// Training loss of the result.
    pub loss: Option<f64>,
    /// Training loss of the result with regularization, if there is any; that of the prior has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub regularized_loss: Option<f64>,
    /// Held-out loss of the prior.
    pub held_out_before: Option<f64>,
    /// Held-out loss of the result.
    pub held_out: Option<f64>,
    /// Number of steps.
    #[serde(flatten)]
    pub steps: StepsSummary,
    /// Seconds of work, over all resumptions.
    pub seconds: f64,
    /// Reason of its end.
    pub reason: StopReason,
    /// Method and settings that produced the result.
    pub optimizer: &'a str,
    /// Details of the result.
    #[serde(flatten)]
    pub details: DetailsSummary<'a>,
    /// Verdict, findings and next command.
    #[serde(flatten)]
    pub conclusion: Cow<'a, Conclusion>,
}

/// Losses of a search by swarms.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SwarmSummary {
    /// The basis whose coordinates were searched.
    pub basis: String,
    /// Training loss of the start.
    pub original: Option<f64>,
    /// Training loss of the best position of all swarms.
    pub swarm: Option<f64>,
}

/// Steps of a run, named as by its method.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum StepsSummary {
    /// A run of `tune`.
    Epochs {
        /// Factor of the scores over the prior's on the training positions.
        score_ratio: Option<f64>,
        /// Whole epochs.
        epochs: u64,
    },
    /// A run of `pso`.
    Iterations {
        /// Iterations.
        iterations: u64,
    },
}

/// Details of the result of a run.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum DetailsSummary<'a> {
    /// A run of `tune`.
    Tune(Box<TuneDetails<'a>>),
    /// A run of `pso`.
    Swarms(Box<SwarmDetails<'a>>),
}

/// Details of the result of a run of `tune`.
#[derive(Clone, Debug, Serialize)]
pub struct TuneDetails<'a> {
    /// The epoch of the result.
    pub best_epoch: u64,
    /// All members of the population.
    pub members: Vec<MemberSummary<'a>>,
    /// Worth of the pieces before and after.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pieces: Vec<PieceWorth>,
    /// The constant term that accounts for much of the gain, if one does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub constant_term: Option<&'a ConstantTerm>,
    /// Features that no position has.
    pub unsupported: Vec<&'a str>,
    /// Changes of their values, see [`Tuned::filled`].
    pub filled: Vec<ValueChange>,
    /// Features that [few](crate::WEAK_SUPPORT) positions have.
    pub weak: Vec<&'a str>,
    /// Uncertainty of the parameters, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uncertainty: Option<UncertaintySummary<'a>>,
    /// Rounding.
    #[serde(flatten)]
    pub rounding: RoundingSummary,
    /// Search scores in the targets, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blend: Option<BlendSummary<'a>>,
    /// Choice of the weights of penalties, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strength: Option<&'a Strength>,
    /// Worth of each group of features, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ablation: Option<&'a Ablation>,
    /// The nonlinear parts of the evaluation, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<ProgramSummary<'a>>,
}

/// Details of the result of a run of `pso`.
#[derive(Clone, Debug, Serialize)]
pub struct SwarmDetails<'a> {
    /// The iteration of the result.
    pub best_iteration: u64,
    /// Polishing, if requested.
    pub polish: Option<PolishSummary>,
    /// The result: values of the basis by name, in centipawns.
    #[serde(serialize_with = "as_map")]
    pub coordinates: Vec<(String, f64)>,
    /// Uncertainty of the parameters, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uncertainty: Option<UncertaintySummary<'a>>,
    /// Rounding.
    #[serde(flatten)]
    pub rounding: RoundingSummary,
    /// Worth of each group of features, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ablation: Option<&'a Ablation>,
}

/// A method with its settings.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MemberSummary<'a> {
    /// The method and its settings.
    pub optimizer: &'a str,
    /// Its best held-out loss, or without held-out positions its best loss with regularization.
    pub best: f64,
}

/// Uncertainty of parameters.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum UncertaintySummary<'a> {
    /// Not estimated.
    LeftOut {
        /// The reason.
        left_out: &'a str,
    },
    /// Estimated.
    Found(FindingsSummary),
}

/// [`Findings`] in numbers. Errors are in centipawns.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FindingsSummary {
    /// Number of games, or positions, treated as independent.
    pub clusters: usize,
    /// Unit of these: `game` or `position`.
    pub clustered_by: &'static str,
    /// The curvature matrix they are based on.
    pub curvature: Curvature,
    /// Number of directions that do not affect any score.
    pub undetermined: usize,
    /// Number of parameters that have errors.
    pub estimated: usize,
    /// Number of coordinates of features that no position has.
    pub unsupported: usize,
    /// Number of coordinates of features that positions have, but without effect on any score.
    pub ineffective: usize,
    /// Number of coordinates that too few games depend on.
    pub rare: usize,
    /// Number of coordinates at a bound.
    pub at_bound: usize,
    /// Number of parameters with meaningless errors.
    pub not_determined: usize,
    /// Median of the errors.
    pub median_error: Option<f64>,
    /// Number of parameters that differ from their prior by more than [`BEYOND`](crate::BEYOND) errors.
    pub beyond_two_errors: usize,
    /// Number of coordinates that are more than [`OFF_OPTIMUM`](crate::OFF_OPTIMUM) errors from the optimum.
    pub off_optimum: usize,
    /// Median share of the information on a parameter that comes from the regularization, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prior_share: Option<f64>,
    /// The bootstrap, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bootstrap: Option<BootstrapSummary>,
}

/// Bootstrap over resamples of the games.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BootstrapSummary {
    /// Number of resamples requested.
    pub members: usize,
    /// Number of resamples that have any position.
    pub used: usize,
    /// Number of these that did not reach their optimum.
    pub unfinished: usize,
    /// Number of evaluations of populations.
    pub evaluations: usize,
    /// Seed of the resamples.
    pub seed: u64,
    /// Median ratio of bootstrap errors to standard errors.
    pub ratio: Option<f64>,
}

impl<'a> RunSummary<'a> {
    /// Summarizes a run.
    pub fn new(tuned: &'a Tuned) -> Self {
        let outcome = &tuned.outcome;
        let is_swarm = tuned.config().optimizer.swarms().is_some();
        let (steps, details) = if is_swarm {
            let steps = StepsSummary::Iterations { iterations: outcome.epochs };
            (steps, DetailsSummary::Swarms(Box::new(SwarmDetails::new(tuned))))
        } else {
            let steps = StepsSummary::Epochs { score_ratio: tuned.score_ratio, epochs: outcome.epochs };
            (steps, DetailsSummary::Tune(Box::new(TuneDetails::new(tuned))))
        };
        Self {
            folder: tuned.folder.as_deref(),
            positions: tuned.positions,
            k: tuned.config().k,
            swarms: is_swarm.then(|| SwarmSummary::new(tuned)),
            loss_before: tuned.loss_before,
            loss: tuned.loss,
            regularized_loss: tuned.regularized_loss(),
            held_out_before: tuned.held_out_before,
            held_out: tuned.held_out,
            steps,
            seconds: outcome.seconds,
            reason: outcome.reason,
            optimizer: &outcome.optimizer,
            details,
            conclusion: tuned.conclusion(),
        }
    }
}

impl SwarmSummary {
    fn new(tuned: &Tuned) -> Self {
        let losses = tuned.swarm_losses.map(|SwarmLosses { original, best }| (original, best)).unzip();
        Self { basis: tuned.config().parameterization().name, original: losses.0, swarm: losses.1 }
    }
}

impl<'a> TuneDetails<'a> {
    fn new(tuned: &'a Tuned) -> Self {
        let member = |(optimizer, best): &'a (String, f64)| MemberSummary { optimizer, best: *best };
        Self {
            best_epoch: tuned.outcome.best_epoch,
            members: tuned.outcome.members.iter().map(member).collect(),
            pieces: tuned.pieces(),
            constant_term: tuned.constant_term.as_ref(),
            unsupported: tuned.unsupported(),
            filled: tuned.filled(),
            weak: tuned.weak(),
            uncertainty: UncertaintySummary::new(tuned),
            rounding: RoundingSummary::new(tuned.rounding.as_ref()),
            blend: BlendSummary::new(tuned),
            strength: tuned.record.strength.as_ref(),
            ablation: tuned.ablation.as_ref(),
            program: tuned.program.as_ref().map(ProgramSummary::new),
        }
    }
}

impl<'a> UncertaintySummary<'a> {
    fn new(tuned: &'a Tuned) -> Option<Self> {
        match &tuned.uncertainty {
            Answer::None => None,
            Answer::LeftOut(left_out) => Some(Self::LeftOut { left_out }),
            Answer::Found(found) => Some(Self::Found(FindingsSummary::new(found, tuned))),
        }
    }
}

impl<'a> SwarmDetails<'a> {
    fn new(tuned: &'a Tuned) -> Self {
        let basis = tuned.config().parameterization();
        let named = basis.coordinates.iter().zip(&tuned.outcome.z);
        Self {
            best_iteration: tuned.outcome.best_epoch,
            polish: tuned.polish.as_ref().map(PolishSummary::from),
            coordinates: named.map(|(coordinate, z)| (coordinate.name.clone(), *z)).collect(),
            uncertainty: UncertaintySummary::new(tuned),
            rounding: RoundingSummary::new(tuned.rounding.as_ref()),
            ablation: tuned.ablation.as_ref(),
        }
    }
}

/// Effects of the program of an evaluation. Pairs have the prior's first.
#[derive(Clone, Debug, Serialize)]
pub struct ProgramSummary<'a> {
    /// Worth of each part.
    pub worth: &'a Worth,
    /// Activity of terms.
    pub terms: Vec<TermSummary<'a>>,
    /// The factor, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub factor: Option<FactorSummary>,
}

/// Activity of a term.
#[derive(Clone, Debug, Serialize)]
pub struct TermSummary<'a> {
    /// Readable formula.
    pub formula: &'a str,
    /// Share of positions in which it is active for either side.
    pub active: [f64; 2],
    /// True if it is active so rarely that its parameters can hardly be tuned.
    pub dead: [bool; 2],
}

/// A factor.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct FactorSummary {
    /// Its mean.
    pub mean: [f64; 2],
    /// Share of positions in which it is at its smallest value.
    pub at_min: [f64; 2],
    /// Share of positions in which it is at its largest value.
    pub at_max: [f64; 2],
}

impl<'a> ProgramSummary<'a> {
    /// Summarizes diagnostics.
    pub fn new(program: &'a ProgramDiagnostics) -> Self {
        let term = |term: &'a TermDiagnostics| TermSummary {
            formula: &term.formula,
            active: [0, 1].map(|which| term.activity[which].share()),
            dead: [0, 1].map(|which| term.activity[which].is_dead()),
        };
        Self {
            worth: &program.worth,
            terms: program.terms.iter().map(term).collect(),
            factor: program.factor.as_ref().map(|factor| FactorSummary {
                mean: factor.histogram.means,
                at_min: factor.at_min,
                at_max: factor.at_max,
            }),
        }
    }
}

impl FindingsSummary {
    /// Summarizes the uncertainty of a run.
    pub fn new(findings: &Findings, tuned: &Tuned) -> Self {
        let sandwich = &findings.sandwich;
        let (estimated, beyond) = findings.beyond(&tuned.config().prior_theta, tuned.parameters());
        let mut errors: Vec<f64> = sandwich.theta.iter().flatten().copied().collect();
        Self {
            clusters: sandwich.clusters,
            clustered_by: if sandwich.by_game { "game" } else { "position" },
            curvature: sandwich.curvature,
            undetermined: sandwich.undetermined,
            estimated,
            unsupported: findings.count(ErrorStatus::Unsupported),
            ineffective: findings.count(ErrorStatus::Ineffective),
            rare: findings.count(ErrorStatus::Rare),
            at_bound: findings.count(ErrorStatus::AtBound),
            not_determined: sandwich.not_determined,
            median_error: median(&mut errors),
            beyond_two_errors: beyond,
            off_optimum: findings.off_optimum(),
            prior_share: findings.prior_share(),
            bootstrap: findings.bootstrap.as_ref().map(|bootstrap| BootstrapSummary {
                members: bootstrap.members,
                used: bootstrap.used,
                unfinished: bootstrap.unfinished,
                evaluations: bootstrap.evaluations,
                seed: findings.seed,
                ratio: median(&mut findings.ratios()),
            }),
        }
    }
}

/// Polishing. Losses include regularization.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PolishSummary {
    /// Loss of the swarms' best position.
    pub swarm: f64,
    /// Loss of the optimum on real numbers.
    pub optimum: Option<f64>,
    /// Loss of the result.
    pub loss: f64,
    /// Share of the distance to the optimum that was covered.
    pub closed: Option<f64>,
    /// True if held-out positions contradicted it.
    pub refused: bool,
    /// Duration in seconds.
    pub seconds: f64,
}

impl From<&Polish> for PolishSummary {
    fn from(polish: &Polish) -> Self {
        let Polish { swarm, optimum, polished: loss, refused, seconds, .. } = *polish;
        Self { swarm, optimum, loss, closed: polish.closed(), refused, seconds }
    }
}

fn as_map<S: Serializer>(pairs: &[(String, f64)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(name, value)| (name, value)))
}
