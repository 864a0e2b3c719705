//! `tune --errors` and `tune --bootstrap`: flags and output for the uncertainty of tuned parameters.

use gputexel::io::median;
use gputexel::model::FeatureSet;
use gputexel::objective::LossKind;
use gputexel::run::{BEYOND, Findings, Tuned};
use gputexel::tuning::{ErrorStatus, MAX_ERROR_CP, MIN_CLUSTERS, UncertaintyRequest, check_members};
use gputexel::{Error, Result};

use super::super::table::{aligned, counted, grouped};

/// Flags that request errors; with `--resume` they add to the request of the run.
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
    /// Returns the request, from these flags or an earlier one.
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

pub fn describe(findings: &Findings, tuned: &Tuned) -> String {
    let set = &tuned.features;
    let sandwich = &findings.sandwich;
    let mut out = String::new();
    let units = if set.program.is_some() { " (of accumulators in units of their sums)" } else { "" };
    out += &if sandwich.by_game {
        format!(
            "errors      standard errors in centipawns{units}, clustered by {}\n",
            counted(sandwich.clusters as u64, "game")
        )
    } else {
        format!(
            "errors      standard errors in centipawns{units}; no games: {}, treated as independent\n",
            counted(sandwich.clusters as u64, "position")
        )
    };
    out += &aligned(&medians(findings, set), 12);
    let (all, beyond) = findings.beyond(&tuned.config().prior_theta, tuned.parameters());
    out += &format!(
        "from prior  {beyond} of {} differ by more than {BEYOND} standard errors\n",
        counted(all as u64, "parameter")
    );
    if let Some(share) = findings.prior_share() {
        let percent = 100.0 * share;
        out += &format!("prior       gives {percent:.0} % of what is known of a parameter (median)\n");
    }
    let what = if sandwich.by_game { "games" } else { "positions" };
    let without = [
        (findings.count(ErrorStatus::Unsupported), "that never occur".to_string()),
        (findings.count(ErrorStatus::Ineffective), "that occur, but change no score there".to_string()),
        (findings.count(ErrorStatus::Rare), format!("in fewer than {MIN_CLUSTERS} {what}")),
        (findings.count(ErrorStatus::AtBound), "at a bound".to_string()),
        (
            sandwich.not_determined,
            format!("not determined (beyond {} centipawns)", grouped(MAX_ERROR_CP as u64)),
        ),
    ];
    let without: Vec<String> =
        without.iter().filter(|(n, _)| *n > 0).map(|(n, why)| format!("{n} {why}")).collect();
    if !without.is_empty() {
        out += &format!("no error    {}\n", without.join(", "));
    }
    if sandwich.undetermined > 0 {
        out += &format!(
            "note        {} without effect on any score, such as a constant on all king squares, excluded from the errors\n",
            counted(sandwich.undetermined as u64, "direction")
        );
    }
    if let Some(bootstrap) = &findings.bootstrap {
        let mut ratios = findings.ratios();
        let middle = median(&mut ratios); // sorts
        let at = |share: f64| {
            let at = share * ratios.len().saturating_sub(1) as f64;
            ratios.get(at.round() as usize).copied().unwrap_or(f64::NAN)
        };
        out += &format!(
            "bootstrap   {}, {}: {:.2} times the errors above (median; 80 % within \
             {:.2} to {:.2})\n",
            counted(bootstrap.used as u64, "resample"),
            counted(bootstrap.evaluations as u64, "evaluation"),
            middle.unwrap_or(f64::NAN),
            at(0.1),
            at(0.9),
        );
    }
    out
}

fn medians(findings: &Findings, set: &FeatureSet) -> Vec<Vec<String>> {
    let cell = |error: Option<f64>| error.map_or("-".to_string(), |error| format!("{error:.1}"));
    let header = ["median", "middlegame", "endgame"].map(str::to_string).to_vec();
    let groups = findings.medians(set).into_iter();
    let rows = groups.map(|of| vec![of.group.to_string(), cell(of.middlegame), cell(of.endgame)]);
    std::iter::once(header).chain(rows).collect()
}
