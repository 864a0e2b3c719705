//! A plan for machines.

use serde::Serialize;

use super::{Advice, Guess, RunPlan};
use crate::method_kind::MethodKind;
use crate::schedule::Schedule;
use crate::simulator::Summary;

/// A plan in one object; its JSON is what `spsa plan --json` prints.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlanSummary<'a> {
    pub games: u64,
    pub pairs: u64,
    pub draw_rate: f64,
    /// A: iterations over which gains are held back at the start.
    pub a: f64,
    /// α, by which the gain falls.
    pub alpha: f64,
    /// γ, by which the perturbation falls.
    pub gamma: f64,
    /// τ, the standard deviation of a pair's score at equal strength.
    pub tau: f64,
    pub elo_available: f64,
    pub parameters: Vec<ParameterPlan<'a>>,
    pub constant_r: f64,
    /// Games after which constant gains have forgotten the start.
    pub constant_games: f64,
    pub expected: Vec<ExpectedGain>,
    /// What the settings should not be taken without, a sentence each.
    pub warnings: &'a [String],
    pub seed: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ParameterPlan<'a> {
    pub name: &'a str,
    pub start: f64,
    pub min: f64,
    pub max: f64,
    pub distance: f64,
    pub elo: f64,
    #[serde(flatten)]
    pub advice: Advice,
    pub constant_c: f64,
}

/// What a method gains in simulated runs, Elo.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ExpectedGain {
    #[serde(flatten)]
    pub gains: Summary,
    pub method: MethodKind,
}

impl<'a> PlanSummary<'a> {
    /// Sums up a plan.
    pub fn new(plan: &'a RunPlan) -> Self {
        let schedule = Schedule::new(plan.pairs);
        let settings = plan.guesses.iter().zip(&plan.advice).zip(&plan.autoselect.c);
        let parameter = |((guess, advice), c): ((&'a Guess, &Advice), &f64)| ParameterPlan {
            name: &guess.name,
            start: guess.start,
            min: guess.min,
            max: guess.max,
            distance: guess.distance,
            elo: guess.elo,
            advice: *advice,
            constant_c: *c,
        };
        Self {
            games: plan.games,
            pairs: plan.pairs,
            draw_rate: plan.draw_rate,
            a: schedule.stability,
            alpha: schedule.alpha,
            gamma: schedule.gamma,
            tau: plan.tau(),
            elo_available: plan.available_elo(),
            parameters: settings.map(parameter).collect(),
            constant_r: plan.autoselect.r,
            constant_games: plan.autoselect.games,
            expected: plan.expected.iter().map(|&(method, gains)| ExpectedGain { gains, method }).collect(),
            warnings: &plan.warnings,
            seed: plan.seed,
        }
    }
}
