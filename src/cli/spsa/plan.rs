//! `gputexel spsa plan`: plans settings for a number of games.

use std::path::PathBuf;

use gputexel::io::Advice;
use gputexel::spsa::numbers::shortest_digits as short;
use gputexel::spsa::planner::{ExpectedGain, Guess, ParameterPlan, PlanOptions, RunPlan};
use gputexel::spsa::variables::positive;
use gputexel::spsa::{MethodKind, read_variables};
use gputexel::{Error, Result};
use indicatif::ProgressBar;
use serde_json::json;

use super::super::context::Context;
use super::super::output::{print_text, write_stdout};
use super::super::table::{aligned, grouped};
use super::simulate::bar;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
A guess for a parameter is how far its best value may be from the start and how much Elo can be \
gained there. Guessing too small costs more than guessing too large: half the true distance leaves \
several times the loss, double the distance hardly more.\n\n\
Sources: c_end, s and sigma from (19) of arXiv:2205.15602; r_end = 0.65 x / (e N) with \
x = ln(4 b\u{b2} e\u{b2} N / (m\u{b2} v)) / 2b, m = c_end / distance, b = m\u{b2} ln 10 / 100, v = 2 (1 - D).\n\n\
Examples:\n  \
gputexel spsa plan --games 20000 --draw-rate 0.6 \\\n      -p \"King Safety,100,0,400,50,5\"")]
pub struct PlanArgs {
    /// Number of games (two per pair)
    #[arg(long, value_name = "N")]
    games: u64,
    /// A parameter: its bounds, the distance of its best value, and the Elo that can be gained there
    #[arg(
        short,
        long = "parameter",
        value_name = "NAME,START,MIN,MAX,DISTANCE,ELO",
        allow_hyphen_values = true
    )]
    parameter: Vec<Guess>,
    /// A parameter list in a format of 'spsa convert'; distances are c_end / 2.2
    #[arg(long, value_name = "FILE")]
    variables: Option<PathBuf>,
    /// Elo that each parameter in the list can gain [default: its simul_elo]
    #[arg(long, value_name = "ELO", requires = "variables")]
    elo: Option<f64>,
    /// Expected draw rate
    #[arg(long, value_name = "D")]
    draw_rate: f64,
    /// Plan for an engine that takes integer values
    #[arg(long)]
    integers: bool,
    /// Number of simulated runs [default: 200, or fewer for many games and parameters]
    #[arg(long, value_name = "N")]
    repeats: Option<usize>,
    /// Seed of the simulation
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

impl PlanArgs {
    fn guesses(&self) -> Result<Vec<Guess>> {
        let mut guesses: Vec<Guess> = self.parameter.clone();
        self.elo.map_or(Ok(()), |elo| positive("--elo", elo))?;
        if let Some(path) = &self.variables {
            for variable in read_variables(path, None)? {
                let advice = Advice::behind(": ").text("give ").setting("elo", "");
                guesses.push(Guess::listed(variable, self.elo).map_err(|error| error.advise(advice))?);
            }
        }
        if guesses.is_empty() {
            let why = "nothing to plan for: give -p NAME,START,MIN,MAX,DISTANCE,ELO, or --variables";
            return Err(Error::Usage(why.to_string()));
        }
        for guess in &mut guesses {
            guess.integer = self.integers;
        }
        Ok(guesses)
    }
}

pub fn run(args: &PlanArgs, context: &Context) -> anyhow::Result<()> {
    let guesses = args.guesses()?;
    let PlanArgs { games, draw_rate, repeats, seed, .. } = *args;
    let mut shown: Option<(MethodKind, ProgressBar)> = None;
    let mut progress = |method: MethodKind, done: u64| {
        if shown.as_ref().is_none_or(|(other, _)| *other != method) {
            shown.take().inspect(|(_, bar)| bar.finish_and_clear());
        }
        let (_, bar) = shown.get_or_insert_with(|| (method, bar(context, games / 2, method.to_string())));
        bar.set_position(done);
    };
    let options = PlanOptions { games, draw_rate, repeats, seed };
    let plan = RunPlan::new(guesses, options, &context.cancel.into(), &mut progress);
    shown.inspect(|(_, bar)| bar.finish_and_clear());
    let plan = plan?;
    if context.json {
        return Ok(write_stdout(&format!("{:#}\n", json!(plan)))?);
    }
    if context.quiet {
        return Ok(());
    }
    Ok(print_text(&to_text(&plan))?)
}

fn to_text(plan: &RunPlan) -> String {
    let mut out = format!(
        "{} games, N = {} pairs, {} % drawn: A {}, alpha 0.602, gamma 0.101, tau {}\n\n",
        grouped(plan.games),
        grouped(plan.pairs),
        short(100.0 * plan.draw_rate),
        short(plan.a),
        short(plan.tau),
    );
    let header = ["parameter", "distance", "Elo", "c_end", "r_end", "s", "sigma"];
    let mut rows = vec![header.map(str::to_string).to_vec()];
    let gain = |r: Option<f64>| r.map_or_else(|| "too few games".to_string(), short);
    for ParameterPlan { guess, advice } in &plan.parameters {
        let mut row = vec![guess.name.clone()];
        row.extend([guess.distance, guess.elo, advice.c_end].map(short));
        row.extend([gain(advice.r_end), short(advice.s), short(advice.sigma)]);
        rows.push(row);
    }
    out += &aligned(&rows, 0);
    let repeats = plan.expected.first().map_or(0, |one| one.gains.repeats);
    let elo = short(plan.elo_available);
    out += &format!("\nexpected gain of {elo} Elo, {repeats} simulated runs:\n");
    let mut rows = vec![["method", "mean", "sd", "5 %", "median", "95 %"].map(str::to_string).to_vec()];
    for ExpectedGain { method, gains: s } in &plan.expected {
        let mut row = vec![method.to_string()];
        row.extend([s.mean, s.sd, s.p5, s.median, s.p95].map(|value| format!("{value:.3}")));
        rows.push(row);
    }
    out += &aligned(&rows, 0);
    if plan.parameters.len() > RunPlan::MAX_COVARIANCES {
        out += &format!(
            "bspsa, which gains as much as bspsas, is only simulated for up to {} parameters\n",
            RunPlan::MAX_COVARIANCES
        );
    }
    for warning in &plan.warnings {
        out += &format!("warning     {warning}\n");
    }
    out
}
