//! Uncertainty of tuned parameters: standard errors, and resamples of the games.

use crate::event::{RunEvent, RunObserver};
use gputexel_dataset::objective::Objective;
use gputexel_dataset::{Dataset, Split};
use gputexel_io::{Error, Result, median};
use gputexel_model::{
    BothPhases, CorrelationRecord, FeatureSet, Interval, ParameterFile, Parameterization, UncertaintyRecord,
};
use gputexel_report::{bytes, grouped};
use gputexel_tune::{
    Bootstrap, BootstrapEvent, CoordinateUncertainty, Curvature, ErrorStatus, Fit, MAX_PARAMETERS,
    MIN_CLUSTERS, RunConfig, RunParts, Sandwich, Spread, UncertaintyRequest, bootstrap, bytes_needed,
    check_members, sandwich,
};

/// Distance from the optimum, in standard errors, above which there is a warning.
pub const OFF_OPTIMUM: f64 = 0.5;
/// Distance from the prior, in standard errors, that the summary counts.
pub const BEYOND: f64 = 2.0;
/// Number of parameters, and of positions, up to which standard errors take less than a second.
const QUICK: usize = 1024;
const QUICK_POSITIONS: usize = 1 << 18;
const CORRELATIONS: usize = 20;

/// Returns why errors are left out if their matrices are too large: too many parameters, or too little free memory.
fn obstacle(request: UncertaintyRequest, data: &Dataset) -> Option<String> {
    let parameters = 2 * data.feature_count();
    if !request.errors {
        return None;
    }
    let count = grouped(parameters as u64);
    if parameters > MAX_PARAMETERS {
        let most = grouped(MAX_PARAMETERS as u64);
        return Some(format!("no standard errors for {count} parameters: the limit is {most}"));
    }
    let needed = bytes_needed(parameters, data.len());
    gputexel_io::memory::available().filter(|&free| free < needed).map(|free| {
        let (needed, free) = (bytes(needed), bytes(free));
        format!("standard errors of {count} parameters need {needed} of memory, but only {free} is free")
    })
}

/// Rejects requests that would fail after the run; warns of estimates that will be left out.
pub(crate) fn check(
    request: UncertaintyRequest,
    config: &RunConfig,
    data: &Dataset,
    split: &Split,
    observe: &mut RunObserver<'_>,
) -> Result<()> {
    if !request.errors {
        return Ok(());
    }
    if !config.loss.is_smooth() {
        return Err(Error::Usage(format!(
            "standard errors need a loss with bounded curvature; '{}' has none",
            config.loss
        )));
    }
    if let Some(reason) = obstacle(request, data) {
        return observe(RunEvent::Warning(&format!("{reason}; continuing without them")));
    }
    if request.bootstrap > 0 {
        check_members(request.bootstrap, config.parameterization().dimension())?;
    }
    let mut games = std::collections::HashSet::new();
    let enough = split.training().any(|n| {
        games.insert(data.game(n));
        games.len() as u64 >= MIN_CLUSTERS
    });
    if enough {
        Ok(())
    } else {
        let what = if data.has_games() { "games" } else { "positions" };
        let count = games.len();
        Err(Error::Usage(format!(
            "{count} {what} are too few for standard errors: at least {MIN_CLUSTERS} are needed"
        )))
    }
}

#[derive(Debug)]
pub enum Answer {
    None,
    LeftOut(String),
    Found(Box<Findings>),
}

impl Answer {
    pub fn findings(&self) -> Option<&Findings> {
        match self {
            Self::Found(findings) => Some(findings),
            _ => None,
        }
    }
}

#[derive(Debug)]
pub struct Findings {
    pub sandwich: Sandwich,
    /// Spread over resamples, if requested.
    pub bootstrap: Option<Bootstrap>,
    pub seed: u64,
}

/// Median standard errors of a group of features, centipawns; `None` if none of them has an error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroupErrors<'s> {
    pub group: &'s str,
    pub middlegame: Option<f64>,
    pub endgame: Option<f64>,
}

pub(crate) fn find(
    parts: &RunParts<'_>,
    request: UncertaintyRequest,
    (z, best_member): (&[f64], usize),
    observe: &mut RunObserver<'_>,
) -> Result<Answer> {
    let RunParts { config, data, layout, backend, cancel, .. } = *parts;
    if !request.errors {
        return Ok(Answer::None);
    }
    if let Some(reason) = obstacle(request, data) {
        return Ok(Answer::LeftOut(reason));
    }
    let parameterization = config.parameterization();
    let fit = fit(parts, &parameterization, (z, best_member));
    let sandwich = sandwich(&fit)?;
    let mut findings = Findings { sandwich, bootstrap: None, seed: config.seed };
    if request.bootstrap > 0 {
        let members = request.bootstrap;
        let mut told = Ok(());
        let (mut evaluator, _) = backend.evaluator(layout)?;
        let mut progress = |event: BootstrapEvent| {
            let event = match &event {
                BootstrapEvent::Progress { done, evaluations } => {
                    RunEvent::Resampling { done: *done, members, evaluations: *evaluations }
                }
                BootstrapEvent::Replaced(fallback) => RunEvent::Replaced(fallback),
            };
            if told.is_ok() {
                told = observe(event);
            }
        };
        let (errors, seed) = (&findings.sandwich, config.seed);
        let found = bootstrap(&fit, errors, &mut *evaluator, members, seed, cancel, &mut progress);
        observe(RunEvent::Resampled)?;
        told?;
        findings.bootstrap = Some(found?);
    }
    Ok(Answer::Found(Box::new(findings)))
}

/// Estimates standard errors of θ that nobody requested, where they take little time; `None` otherwise.
pub(crate) fn for_display(parts: &RunParts<'_>, result: (&[f64], usize)) -> Option<Vec<Option<f64>>> {
    let RunParts { config, data, .. } = *parts;
    let is_quick =
        2 * data.feature_count() <= QUICK && data.len() <= QUICK_POSITIONS && data.program().is_none();
    if !is_quick || !config.loss.is_smooth() {
        return None;
    }
    // Too few games are no error here.
    sandwich(&fit(parts, &config.parameterization(), result)).ok().map(|sandwich| sandwich.theta)
}

fn fit<'a>(
    parts: &RunParts<'a>,
    parameterization: &'a Parameterization,
    (z, best_member): (&'a [f64], usize),
) -> Fit<'a> {
    let RunParts { config, split, layout, .. } = *parts;
    Fit {
        layout,
        parts: 0..split.batches(),
        parameterization,
        z,
        regularization: config.regularization(best_member),
        objective: Objective { k: config.k, loss: config.loss },
    }
}

fn interval(spread: &Spread) -> Interval {
    Interval { error: spread.error, low: spread.low, high: spread.high }
}

/// Returns the values of both phases of a feature from a list in the order of θ.
fn both<T: Copy, U>(list: &[Option<T>], id: usize, of: impl Fn(&T) -> U) -> BothPhases<U> {
    let eg = list.len() / 2 + id;
    BothPhases { mg: list[id].as_ref().map(&of), eg: list[eg].as_ref().map(&of) }
}

impl Findings {
    pub(crate) fn annotate(&self, file: &mut ParameterFile, coordinates: &[String]) {
        for (id, record) in file.parameters.iter_mut().enumerate() {
            record.errors = Some(both(&self.sandwich.theta, id, |&error| error));
            record.bootstrap = self.bootstrap.as_ref().map(|b| both(&b.theta, id, interval));
        }
        file.uncertainty = Some(UncertaintyRecord {
            clusters: self.sandwich.clusters as u64,
            clustered_by: if self.sandwich.by_game { "game" } else { "position" }.to_string(),
            curvature: match self.sandwich.curvature {
                Curvature::SecondDerivatives => "second-derivatives",
                Curvature::GaussNewton => "gauss-newton",
            }
            .to_string(),
            undetermined: self.sandwich.undetermined as u64,
            resamples: self.bootstrap.as_ref().map(|b| b.used as u64),
            unfinished: self.bootstrap.as_ref().map(|b| b.unfinished as u64),
            correlations: self.correlations(coordinates),
        });
    }

    fn correlations(&self, coordinates: &[String]) -> Vec<CorrelationRecord> {
        let named = |(a, b, r)| {
            let name = |i: usize| coordinates.get(i).cloned();
            Some(CorrelationRecord { a: name(a)?, b: name(b)?, r })
        };
        self.sandwich.correlations(CORRELATIONS).into_iter().filter_map(named).collect()
    }

    pub(crate) fn coordinate(&self, i: usize) -> CoordinateUncertainty {
        CoordinateUncertainty {
            error: self.sandwich.z[i],
            standing: self.sandwich.standing[i],
            prior_share: self.sandwich.prior_share[i].filter(|share| *share > 0.0),
            bootstrap: self.bootstrap.as_ref().map(|b| b.z[i].as_ref().map(interval)),
        }
    }

    pub fn count(&self, standing: ErrorStatus) -> usize {
        self.sandwich.standing.iter().filter(|&&s| s == standing).count()
    }

    pub fn off_optimum(&self) -> usize {
        self.sandwich.distance.iter().filter(|&&distance| distance > OFF_OPTIMUM).count()
    }

    pub fn beyond(&self, prior: &[f64], theta: &[f64]) -> (usize, usize) {
        let far = |i: usize, error: f64| (theta[i] - prior[i]).abs() > BEYOND * error;
        let errors = self.sandwich.theta.iter().enumerate();
        let (mut all, mut beyond) = (0, 0);
        for (i, error) in errors.filter_map(|(i, error)| error.map(|error| (i, error))) {
            all += 1;
            beyond += usize::from(far(i, error));
        }
        (all, beyond)
    }

    /// Returns the median share of the information on a coordinate that comes from the regularization; `None` without
    /// any.
    pub fn prior_share(&self) -> Option<f64> {
        let mut shares: Vec<f64> = self.sandwich.prior_share.iter().flatten().copied().collect();
        median(&mut shares).filter(|share| *share > 0.0)
    }

    /// Returns median errors of the groups of features, in the order of their first features.
    pub fn medians<'s>(&self, set: &'s FeatureSet) -> Vec<GroupErrors<'s>> {
        let count = set.features.len();
        let middle = |group: &str, phase: usize| {
            let features = set.features.iter().enumerate().filter(|(_, feature)| feature.group == group);
            let errors = features.filter_map(|(id, _)| self.sandwich.theta[phase * count + id]);
            median(&mut errors.collect::<Vec<f64>>())
        };
        let medians = |group| GroupErrors { group, middlegame: middle(group, 0), endgame: middle(group, 1) };
        set.group_names().into_iter().map(medians).collect()
    }

    /// Returns ratios of bootstrap errors to sandwich errors, in the order of θ.
    pub fn ratios(&self) -> Vec<f64> {
        let Some(bootstrap) = &self.bootstrap else { return Vec::new() };
        let both = self.sandwich.theta.iter().zip(&bootstrap.theta);
        both.filter_map(|(s, b)| s.zip(*b)).filter(|(s, _)| *s > 0.0).map(|(s, b)| b.error / s).collect()
    }
}
