//! `gputexel spsa plan`: plans settings for a number of games.

use std::fmt::Write as _; // to strings, which cannot fail
use std::path::PathBuf;

use gputexel::io::Advice;
use gputexel::spsa::numbers::shortest_digits as short;
use gputexel::spsa::planner::{Guess, PlanOptions, PlanSummary, RunPlan, expected_draw_rate};
use gputexel::spsa::variables::positive;
use gputexel::spsa::{MethodKind, check_draw_rate, read_variables};
use gputexel::{Error, Result};
use indicatif::ProgressBar;
use serde_json::json;

use super::super::context::Context;
use super::super::output::{print_text, write_stdout};
use super::super::table::{aligned, grouped};
use super::simulate::bar;

/// Flags of `spsa plan`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A guess for a parameter is how far its best value may be from the start and how much Elo can be \
gained there. Guessing too small costs more than guessing too large: half the true distance leaves \
several times the loss, double the distance hardly more.\n\n\
Sources: c_end, s and sigma from (19) of arXiv:2205.15602; r_end = 0.65 x / (e N) with \
x = ln(4 b\u{b2} e\u{b2} N / (m\u{b2} v)) / 2b, m = c_end / distance, b = m\u{b2} ln 10 / 100, v = 2 (1 - D), next to \
a fit to the values that the authors of that paper used; constant gains from fishtest's autoselect.\n\n\
Examples:\n  \
gputexel spsa plan --games 20000 --draw-rate 0.6 -p \"King Safety,100,0,400,50,5\"")]
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
    /// A parameter list of spsa.pl or bspsa.pl; distances are c_end / 2.2
    #[arg(long, value_name = "CSV")]
    variables: Option<PathBuf>,
    /// Number of identical parameters, given by --distance and --elo
    #[arg(long, value_name = "N", conflicts_with_all = ["parameter", "variables"])]
    parameters: Option<usize>,
    /// Distance of the best value, for --parameters or for all in a list
    #[arg(long, value_name = "D")]
    distance: Option<f64>,
    /// Elo that each parameter can gain, for --parameters or for all in a list
    #[arg(long, value_name = "ELO")]
    elo: Option<f64>,
    /// Expected draw rate
    #[arg(long, value_name = "D", conflicts_with = "seconds_per_move")]
    draw_rate: Option<f64>,
    /// Estimate the draw rate from the time per move, as fishtest does: logistic(0.22 ln t + 1.35)
    #[arg(long, value_name = "T")]
    seconds_per_move: Option<f64>,
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

const LISTED: usize = 4;

impl PlanArgs {
    fn guesses(&self) -> Result<Vec<Guess>> {
        let mut guesses: Vec<Guess> = self.parameter.clone();
        for (name, value) in [("--distance", self.distance), ("--elo", self.elo)] {
            if let Some(value) = value {
                positive(name, value)?;
            }
        }
        if let Some(path) = &self.variables {
            for variable in read_variables(path)?.1 {
                let guess = Guess::listed(variable, self.distance, self.elo);
                guesses.push(
                    guess.map_err(|error| {
                        error.advise(Advice::behind(": ").text("give ").setting("elo", ""))
                    })?,
                );
            }
        }
        if let Some(n) = self.parameters {
            let (Some(distance), Some(elo)) = (self.distance, self.elo) else {
                return Err(Error::Usage("--parameters needs --distance and --elo".to_string()));
            };
            guesses.extend(Guess::equal(n, distance, elo)?);
        }
        if guesses.is_empty() {
            let why =
                "nothing to plan for: give -p NAME,START,MIN,MAX,DISTANCE,ELO, --variables or --parameters";
            return Err(Error::Usage(why.to_string()));
        }
        for guess in &mut guesses {
            guess.integer = self.integers;
        }
        Ok(guesses)
    }

    fn draw_rate(&self) -> Result<f64> {
        let rate = match (self.draw_rate, self.seconds_per_move) {
            (Some(rate), _) => rate,
            (None, Some(seconds)) => {
                positive("--seconds-per-move", seconds)?;
                expected_draw_rate(seconds)
            }
            (None, None) => return Err(Error::Usage("give --draw-rate, or --seconds-per-move".to_string())),
        };
        check_draw_rate(rate)?;
        Ok(rate)
    }
}

/// # Errors
/// Bad usage, lists that cannot be read.
pub fn run(args: &PlanArgs, context: &Context) -> anyhow::Result<()> {
    let (guesses, draw_rate) = (args.guesses()?, args.draw_rate()?);
    let PlanArgs { games, repeats, seed, .. } = *args;
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
    let mut plan = plan?;
    if plan.autoselect.games > games as f64 {
        plan.warnings.push(format!(
            "constant gains (autoselect: 0.5 Elo of noise, 2 Elo at the bounds) would take {} games to \
             become independent of the start",
            grouped(plan.autoselect.games.ceil() as u64)
        ));
    }
    if context.json {
        return Ok(write_stdout(&format!("{:#}\n", json!(PlanSummary::new(&plan))))?);
    }
    if context.quiet {
        return Ok(());
    }
    Ok(print_text(&to_text(&plan, args))?)
}

fn to_text(plan: &RunPlan, args: &PlanArgs) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{} games, N = {} pairs, {} % drawn: A {}, alpha 0.602, gamma 0.101, tau {}\n",
        grouped(args.games),
        grouped(plan.pairs),
        short(100.0 * plan.draw_rate),
        short(plan.pairs as f64 / 10.0),
        short(plan.tau()),
    );
    let header =
        ["parameter", "distance", "Elo", "c_end", "r_end", "authors' r_end", "s", "sigma", "constant c"];
    let mut rows = vec![header.map(str::to_string).to_vec()];
    let equal = args.parameters.is_some() && plan.guesses.len() > LISTED;
    let listed = if equal { 1 } else { plan.guesses.len() };
    let gain = |r: Option<f64>| r.map_or_else(|| "too few games".to_string(), short);
    for ((guess, advice), c) in plan.guesses.iter().zip(&plan.advice).zip(&plan.autoselect.c).take(listed) {
        let name = if equal { format!("each of {}", plan.guesses.len()) } else { guess.name.clone() };
        rows.push(vec![
            name,
            short(guess.distance),
            short(guess.elo),
            short(advice.c_end),
            gain(advice.r_end),
            gain(advice.authors_r_end),
            short(advice.s),
            short(advice.sigma),
            short(*c),
        ]);
    }
    out += &aligned(&rows, 0);
    let _ = writeln!(
        out,
        "\nconstant gain r {} (autoselect: needs {} games)\n\nexpected gain of {} Elo, {} simulated runs:",
        short(plan.autoselect.r),
        grouped(plan.autoselect.games.ceil() as u64),
        short(plan.available_elo()),
        plan.repeats
    );
    let mut rows = vec![["method", "mean", "sd", "5 %", "median", "95 %"].map(str::to_string).to_vec()];
    for (method, s) in &plan.expected {
        let mut row = vec![method.to_string()];
        row.extend([s.mean, s.sd, s.p5, s.median, s.p95].map(|value| format!("{value:.3}")));
        rows.push(row);
    }
    out += &aligned(&rows, 0);
    if plan.guesses.len() > RunPlan::MAX_COVARIANCES {
        let _ = writeln!(
            out,
            "bspsa, which gains as much as bspsas, is only simulated for up to {} parameters",
            RunPlan::MAX_COVARIANCES
        );
    }
    for warning in &plan.warnings {
        let _ = writeln!(out, "warning     {warning}");
    }
    out
}
