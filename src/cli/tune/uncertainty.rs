//! `tune --errors` and `tune --bootstrap`: how sure the tuned parameters are.

use std::fmt::Write as _; // to strings, which cannot fail

use gputexel::dataset::{Dataset, Layout, Split};
use gputexel::evaluator::Evaluator;
use gputexel::model::{BothPhases, FeatureSet, Interval, ParameterFile, UncertaintyRecord};
use gputexel::objective::{LossKind, Objective};
use gputexel::tuning::OptimizerConfig;
use gputexel::tuning::{
    Bootstrap, Curvature, ErrorStatus, Fit, MAX_ERROR_CP, MAX_PARAMETERS, MIN_CLUSTERS, Outcome, RunConfig,
    Sandwich, Spread, UncertaintyRequest, bootstrap, bytes_needed, check_members, sandwich, space_of,
};
use gputexel::{Error, Result};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};

use super::super::backend::Backend;
use super::super::memory;
use super::super::table::{aligned, bytes, grouped};
use super::super::{Context, shows_progress};

/// Distance from the optimum, in standard errors, from which on it is worth a warning.
const OFF_OPTIMUM: f64 = 0.5;
/// Distance from the prior, in standard errors, that the summary counts.
const BEYOND: f64 = 2.0;

/// Flags that ask for errors; with `--resume` they add to what the run was asked for.
#[derive(Debug, clap::Args)]
pub struct UncertaintyArgs {
    /// Compute standard errors of all parameters, clustered by game
    #[arg(long, help_heading = "Uncertainty")]
    errors: bool,
    /// Also bootstrap standard errors and 95 % intervals from N resamples of the games, such as 200
    #[arg(long, value_name = "N", help_heading = "Uncertainty")]
    bootstrap: Option<usize>,
}

impl UncertaintyArgs {
    /// What is asked for, by these flags or before.
    ///
    /// # Errors
    /// [`Error::Usage`] for a number of members that makes no spread, or a loss without curvature.
    pub fn request(&self, before: UncertaintyRequest, loss: LossKind) -> Result<UncertaintyRequest> {
        if let Some(members) = self.bootstrap {
            check_members(members.min(2), 1)?; // too many is said where parameters have been counted
        }
        let bootstrap = self.bootstrap.unwrap_or(before.bootstrap);
        let errors = before.errors || self.errors || bootstrap > 0;
        if errors && !loss.is_smooth() {
            return Err(Error::Usage(format!(
                "--errors and --bootstrap need a loss with bounded curvature; '{loss}' has none"
            )));
        }
        Ok(UncertaintyRequest { errors, bootstrap })
    }
}

/// Why errors are left out, where their matrices are too large: of so many parameters, or for the
/// memory that is free.
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
    memory::shortage(needed).map(|free| {
        let (needed, free) = (bytes(needed), bytes(free));
        format!("standard errors of {count} parameters need {needed} of memory, but only {free} is free")
    })
}

/// Refuses what could not be answered after the run; warns of what will be left out.
///
/// # Errors
/// [`Error::Usage`] for too few games or too many members.
pub fn check(request: UncertaintyRequest, config: &RunConfig, data: &Dataset, split: &Split) -> Result<()> {
    if !request.errors {
        return Ok(());
    }
    if let Some(reason) = obstacle(request, data) {
        eprintln!("gputexel: warning: {reason}; continuing without them");
        return Ok(());
    }
    if request.bootstrap > 0 {
        check_members(request.bootstrap, config.parameterization().dimension())?;
    }
    let mut games = std::collections::HashSet::new();
    let enough = split.training().any(|n| {
        games.insert(data.game(n));
        games.len() as u64 >= MIN_CLUSTERS
    });
    match enough {
        true => Ok(()),
        false => {
            let what = if data.has_games() { "games" } else { "positions" };
            let count = games.len();
            Err(Error::Usage(format!(
                "{count} {what} are too few for standard errors: at least {MIN_CLUSTERS} are needed"
            )))
        }
    }
}

/// What is known of the errors of a run.
pub enum Answer {
    /// They were not asked for, or went wrong.
    None,
    /// Why they were left out.
    LeftOut(String),
    /// What was found out.
    Found(Box<Findings>),
}

impl Answer {
    /// What was found out, if anything.
    pub fn findings(&self) -> Option<&Findings> {
        match self {
            Self::Found(findings) => Some(findings),
            _ => None,
        }
    }
}

/// What was found out.
pub struct Findings {
    /// Standard errors.
    pub sandwich: Sandwich,
    /// Spread over resamples, where asked for.
    pub bootstrap: Option<Bootstrap>,
    /// Seed of the resamples.
    seed: u64,
}

/// Finds out what is asked for about the end of a run.
///
/// # Errors
/// [`Error::Interrupted`] on Ctrl-C; [`Error::Numeric`] when sums are not finite; those of the
/// evaluator.
#[allow(clippy::too_many_arguments, reason = "what a run is made of, and where it ended")]
pub fn find(
    context: &Context,
    request: UncertaintyRequest,
    backend: &Backend,
    layout: &Layout,
    data: &Dataset,
    split: &Split,
    config: &RunConfig,
    (z, best_member): (&[f64], usize),
) -> Result<Answer> {
    if !request.errors {
        return Ok(Answer::None);
    }
    if let Some(reason) = obstacle(request, data) {
        return Ok(Answer::LeftOut(reason));
    }
    let parameterization = config.parameterization();
    let fit = Fit {
        layout,
        parts: 0..split.batches(),
        parameterization: &parameterization,
        z,
        prior: &config.start,
        l2: config.optimizer.l2(best_member),
        objective: Objective { k: config.k, loss: config.loss },
    };
    let sandwich = sandwich(&fit)?;
    let mut findings = Findings { sandwich, bootstrap: None, seed: config.seed };
    if request.bootstrap > 0 {
        let members = request.bootstrap;
        let bar = match shows_progress(context) {
            true => ProgressBar::new(members as u64),
            false => ProgressBar::hidden(),
        };
        if let Ok(style) = ProgressStyle::with_template("{bar:24} {pos}/{len} resamples, {msg}") {
            bar.set_style(style);
        }
        let resample = |evaluator: &mut dyn Evaluator| {
            let mut observe = |done: usize, evaluations: usize| {
                bar.set_position(done as u64);
                bar.set_message(format!("{evaluations} evaluations"));
            };
            bootstrap(&fit, &findings.sandwich, evaluator, members, config.seed, context.cancel, &mut observe)
        };
        let (mut evaluator, _) = backend.evaluator(layout)?;
        let found = match resample(&mut *evaluator) {
            Err(error @ Error::Gpu(_)) => match backend.replacement(layout) {
                Some(mut other) => {
                    eprintln!("gputexel: warning: {error}; continuing on the {}", other.describe());
                    resample(&mut *other)
                }
                None => Err(error),
            },
            found => found,
        };
        bar.finish_and_clear();
        findings.bootstrap = Some(found?);
    }
    Ok(Answer::Found(Box::new(findings)))
}

fn interval(spread: &Spread) -> Interval {
    Interval { error: spread.error, low: spread.low, high: spread.high }
}

/// The two phases of a feature out of a list by θ.
fn both<T: Copy, U>(list: &[Option<T>], id: usize, of: impl Fn(&T) -> U) -> BothPhases<U> {
    let eg = list.len() / 2 + id;
    BothPhases { mg: list[id].as_ref().map(&of), eg: list[eg].as_ref().map(&of) }
}

impl Findings {
    /// Writes errors into a parameter file.
    pub fn annotate(&self, file: &mut ParameterFile) {
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
        });
    }

    /// Error and interval of a coordinate of z, for `z.json`.
    pub fn coordinate(&self, i: usize) -> Value {
        let spread = self.bootstrap.as_ref().map(|b| b.z[i].as_ref().map(interval));
        match spread {
            Some(spread) => {
                json!({ "error": self.sandwich.z[i], "standing": self.sandwich.standing[i], "bootstrap": spread })
            }
            None => json!({ "error": self.sandwich.z[i], "standing": self.sandwich.standing[i] }),
        }
    }

    /// Coordinates of a standing.
    fn count(&self, standing: ErrorStatus) -> usize {
        self.sandwich.standing.iter().filter(|&&s| s == standing).count()
    }

    /// Coordinates that are further from the optimum than their errors allow.
    fn off_optimum(&self) -> usize {
        self.sandwich.distance.iter().filter(|&&distance| distance > OFF_OPTIMUM).count()
    }

    /// Parameters that have errors, and those of them that are far from their prior.
    fn beyond(&self, config: &RunConfig, outcome: &Outcome) -> (usize, usize) {
        let far = |i: usize, error: f64| (outcome.parameters[i] - config.start[i]).abs() > BEYOND * error;
        let theta = self.sandwich.theta.iter().enumerate();
        let (mut all, mut beyond) = (0, 0);
        for (i, error) in theta.filter_map(|(i, error)| error.map(|error| (i, error))) {
            all += 1;
            beyond += usize::from(far(i, error));
        }
        (all, beyond)
    }

    /// The object of `--json`.
    pub fn json(&self, config: &RunConfig, outcome: &Outcome) -> Value {
        let sandwich = &self.sandwich;
        let (all, beyond) = self.beyond(config, outcome);
        let mut theta: Vec<f64> = sandwich.theta.iter().flatten().copied().collect();
        let mut object = json!({
            "clusters": sandwich.clusters,
            "clustered_by": if sandwich.by_game { "game" } else { "position" },
            "curvature": sandwich.curvature,
            "undetermined": sandwich.undetermined,
            "estimated": all,
            "unsupported": self.count(ErrorStatus::Unsupported),
            "rare": self.count(ErrorStatus::Rare),
            "at_bound": self.count(ErrorStatus::AtBound),
            "not_determined": sandwich.not_determined,
            "median_error": median(&mut theta),
            "beyond_two_errors": beyond,
            "off_optimum": self.off_optimum(),
        });
        if let Some(bootstrap) = &self.bootstrap {
            object["bootstrap"] = json!({
                "members": bootstrap.members, "used": bootstrap.used, "unfinished": bootstrap.unfinished,
                "evaluations": bootstrap.evaluations, "seed": self.seed,
                "ratio": median(&mut self.ratios()),
            });
        }
        object
    }

    /// Bootstrap errors by sandwich errors, by θ.
    fn ratios(&self) -> Vec<f64> {
        let Some(bootstrap) = &self.bootstrap else { return Vec::new() };
        let both = self.sandwich.theta.iter().zip(&bootstrap.theta);
        both.filter_map(|(s, b)| s.zip(*b)).filter(|(s, _)| *s > 0.0).map(|(s, b)| b.error / s).collect()
    }

    /// The summary for people.
    pub fn describe(&self, set: &FeatureSet, config: &RunConfig, outcome: &Outcome) -> String {
        let sandwich = &self.sandwich;
        let mut out = String::new();
        let clusters = grouped(sandwich.clusters as u64);
        let _ = match sandwich.by_game {
            true => writeln!(out, "errors      standard errors in centipawns, clustered by {clusters} games"),
            false => writeln!(
                out,
                "errors      standard errors in centipawns; no games: {clusters} positions are treated as independent"
            ),
        };
        out += &aligned(&self.medians(set), 12);
        let features = set.features.len();
        let name = |i: usize| {
            let phase = if i < features { "mg" } else { "eg" };
            format!("{} {phase}", set.features[i % features].name)
        };
        let mut largest: Vec<(usize, f64)> =
            sandwich.theta.iter().enumerate().filter_map(|(i, error)| error.map(|e| (i, e))).collect();
        largest.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let largest: Vec<String> =
            largest.iter().take(5).map(|&(i, error)| format!("{} {error:.1}", name(i))).collect();
        if !largest.is_empty() {
            let _ = writeln!(out, "largest     {}", largest.join(", "));
        }
        let (all, beyond) = self.beyond(config, outcome);
        let _ = writeln!(
            out,
            "from prior  {beyond} of {all} parameters differ by more than {BEYOND} standard errors"
        );
        let what = if sandwich.by_game { "games" } else { "positions" };
        let without = [
            (self.count(ErrorStatus::Unsupported), "that never occur".to_string()),
            (self.count(ErrorStatus::Rare), format!("in fewer than {MIN_CLUSTERS} {what}")),
            (self.count(ErrorStatus::AtBound), "at a bound".to_string()),
            (
                sandwich.not_determined,
                format!("not determined (beyond {} centipawns)", grouped(MAX_ERROR_CP as u64)),
            ),
        ];
        let without: Vec<String> =
            without.iter().filter(|(n, _)| *n > 0).map(|(n, why)| format!("{n} {why}")).collect();
        if !without.is_empty() {
            let _ = writeln!(out, "no error    {}", without.join(", "));
        }
        if sandwich.undetermined > 0 {
            let _ = writeln!(
                out,
                "note        {} directions do not affect any score, such as a constant on all king squares; they are \
                 excluded from the errors",
                sandwich.undetermined
            );
        }
        if sandwich.curvature == Curvature::GaussNewton {
            let _ = writeln!(
                out,
                "warning     this is not a minimum: errors are computed from the Gauss-Newton matrix"
            );
        }
        let off = self.off_optimum();
        if off > 0 {
            let _ = writeln!(
                out,
                "warning     {off} parameters are more than {OFF_OPTIMUM} standard errors from the optimum of the training \
                 games: {}",
                match config.optimizer {
                    _ if config.holdout > 0.0 && outcome.epochs > 1 =>
                        "the held-out games may have selected another step",
                    OptimizerConfig::GaussNewton(_) => "run longer",
                    _ => "run longer, or --optimizer gauss-newton",
                }
            );
        }
        if let Some(bootstrap) = &self.bootstrap {
            let mut ratios = self.ratios();
            let middle = median(&mut ratios); // sorts
            let at = |share: f64| {
                let at = share * ratios.len().saturating_sub(1) as f64;
                ratios.get(at.round() as usize).copied().unwrap_or(f64::NAN)
            };
            let _ = writeln!(
                out,
                "bootstrap   {} resamples, {} evaluations: {:.2} times the errors above (median; 80 % within \
                 {:.2} to {:.2})",
                grouped(bootstrap.used as u64),
                bootstrap.evaluations,
                middle.unwrap_or(f64::NAN),
                at(0.1),
                at(0.9),
            );
            if bootstrap.unfinished > 0 {
                let why = match space_of(&config.parameterization()).is_bounded() {
                    true => ": their spread may be too small",
                    false => ", which may be at infinity: try --l2",
                };
                let _ = writeln!(
                    out,
                    "warning     {} resamples did not reach their optimum{why}",
                    bootstrap.unfinished
                );
            }
            if bootstrap.used < bootstrap.members {
                let lost = bootstrap.members - bootstrap.used;
                let _ = writeln!(out, "warning     {lost} resamples contained no positions and are left out");
            }
        }
        out
    }

    /// Median errors by group and phase.
    fn medians(&self, set: &FeatureSet) -> Vec<Vec<String>> {
        let mut groups: Vec<&str> = Vec::new();
        for feature in &set.features {
            if !groups.contains(&feature.group.as_str()) {
                groups.push(&feature.group);
            }
        }
        let count = set.features.len();
        let cell = |group: &str, phase: usize| {
            let features = set.features.iter().enumerate().filter(|(_, feature)| feature.group == group);
            let mut errors: Vec<f64> =
                features.filter_map(|(id, _)| self.sandwich.theta[phase * count + id]).collect();
            median(&mut errors).map_or("-".to_string(), |error| format!("{error:.1}"))
        };
        let header = ["median", "middlegame", "endgame"].map(str::to_string).to_vec();
        let rows = groups.iter().map(|group| vec![group.to_string(), cell(group, 0), cell(group, 1)]);
        std::iter::once(header).chain(rows).collect()
    }
}

/// The middle value; sorts.
fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    match values.len() {
        0 => None,
        n if n % 2 == 1 => Some(values[n / 2]),
        n => Some((values[n / 2 - 1] + values[n / 2]) / 2.0),
    }
}
