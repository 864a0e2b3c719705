//! A plan for machines.

use serde::Serialize;

use super::{Advice, Guess, RunPlan};
use crate::simulator::Summary;
use crate::{MethodKind, Schedule};

/// A plan in one object; its JSON is what `spsa plan --json` prints.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlanSummary<'a> {
    /// Games, two in each pair.
    pub games: u64,
    /// Pairs of games, which are iterations.
    pub pairs: u64,
    /// Share of the games that will be drawn.
    pub draw_rate: f64,
    /// A: iterations over which gains are held back at the start.
    pub a: f64,
    /// α, by which the gain falls.
    pub alpha: f64,
    /// γ, by which the perturbation falls.
    pub gamma: f64,
    /// τ, the standard deviation of a pair's score at equal strength.
    pub tau: f64,
    /// Elo that all parameters together may gain.
    pub elo_available: f64,
    /// Settings of each parameter.
    pub parameters: Vec<ParameterPlan<'a>>,
    /// The gain of all parameters where gains are constant.
    pub constant_r: f64,
    /// Games after which constant gains have forgotten the start.
    pub constant_games: f64,
    /// What the methods gain in simulated runs.
    pub expected: Vec<ExpectedGain>,
    /// What the settings should not be taken without, a sentence each.
    pub warnings: &'a [String],
    /// Seed of the simulation.
    pub seed: u64,
}

/// What is guessed of a parameter, and the settings that follow.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ParameterPlan<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its value now.
    pub start: f64,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
    /// How far the best value may be from the start.
    pub distance: f64,
    /// Elo to be gained by going there.
    pub elo: f64,
    /// The settings, in units of the parameter.
    #[serde(flatten)]
    pub advice: Advice,
    /// Perturbation where gains are constant.
    pub constant_c: f64,
}

/// What a method gains in simulated runs, Elo.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ExpectedGain {
    /// The gains.
    #[serde(flatten)]
    pub gains: Summary,
    /// The method.
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
