//! `gputexel spsa plan`: settings for a number of games.

use std::fmt::Write as _; // to strings, which cannot fail
use std::path::PathBuf;

use gputexel::spsa::planner::{Advice, Autoselect, Guess, autoselect, expected_draw_rate, scenario, too_few};
use gputexel::spsa::simulator::Summary;
use gputexel::spsa::variables::positive;
use gputexel::spsa::{MethodKind, check_draw_rate, read_variables};
use gputexel::{Error, Result};
use serde_json::{Value, json};

use super::super::table::{aligned, grouped};
use super::super::{Context, say};
use super::simulate::summarize;

/// Flags of `spsa plan`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A guess for a parameter is how far its best value may be from the start and how much Elo can be \
gained there. Guessing too small costs more than guessing too large: half the true distance leaves \
several times the loss, double the distance hardly more.\n\n\
Sources: c_end, s and sigma from (19) of arXiv:2205.15602; r_end = 0.65 x / (e N) with \
x = ln(4 b\u{b2} e\u{b2} N / (m\u{b2} v)) / 2b, m = c_end / distance, b = m\u{b2} ln 10 / 100, v = 2 (1 - D), next to \
a fit to the values that the authors of that paper used; constant gains from fishtest's autoselect.")]
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
    parameter: Vec<Guess6>,
    /// A parameter list of spsa.pl or bspsa.pl; distances are c_end / 2.2
    #[arg(long, value_name = "CSV")]
    variables: Option<PathBuf>,
    /// This many identical parameters, given by --distance and --elo
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
    /// The engine takes integer values
    #[arg(long)]
    integers: bool,
    /// Simulated runs [default: 200, or fewer for many games and parameters]
    #[arg(long, value_name = "N")]
    repeats: Option<usize>,
    /// Seed of the simulation
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

/// A guess as it is typed.
#[derive(Clone, Debug)]
struct Guess6(Guess);

impl std::str::FromStr for Guess6 {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let fields: Vec<&str> = text.split(',').map(str::trim).collect();
        let [name, numbers @ ..] = &fields[..] else { return Err("is empty".to_string()) };
        let numbers: Vec<f64> = numbers
            .iter()
            .map(|field| field.parse().map_err(|_| format!("'{field}' is not a number")))
            .collect::<std::result::Result<_, String>>()?;
        match (name.is_empty(), &numbers[..]) {
            (false, &[start, min, max, distance, elo]) => {
                let name = name.to_string();
                Ok(Self(Guess { name, start, min, max, integer: false, distance, elo }))
            }
            _ => Err("expected NAME,START,MIN,MAX,DISTANCE,ELO".to_string()),
        }
    }
}

/// Most parameters, for whose covariance there is room in many repeats.
const MAX_PARAMETERS: usize = 1024;
/// Parameters up to which `bspsa` is simulated beside `bspsas`: its time grows with their square.
const MAX_COVARIANCES: usize = 16;
/// Updates of a parameter or a covariance that the simulation of a plan may take, unless runs are
/// asked for: some seconds.
const UPDATES: f64 = 1e10;
/// Settings of more parameters than this are not listed one by one where all are equal.
const LISTED: usize = 4;

impl PlanArgs {
    fn guesses(&self) -> Result<Vec<Guess>> {
        let mut guesses: Vec<Guess> = self.parameter.iter().map(|guess| guess.0.clone()).collect();
        for (name, value) in [("--distance", self.distance), ("--elo", self.elo)] {
            if let Some(value) = value {
                positive(name, value)?;
            }
        }
        if let Some(path) = &self.variables {
            for v in read_variables(path)?.1 {
                let distance = self.distance.unwrap_or(v.c_end / 2.2);
                let elo = self.elo.unwrap_or(v.simul_elo * (distance / 100.0).powi(2));
                if elo == 0.0 {
                    let why = format!("{}: simul_elo is 0, so its Elo is not known: give --elo", v.name);
                    return Err(Error::Usage(why));
                }
                let (name, start, min, max) = (v.name, v.start, v.min, v.max);
                guesses.push(Guess { name, start, min, max, integer: false, distance, elo });
            }
        }
        if let Some(n) = self.parameters {
            let (Some(distance), Some(elo)) = (self.distance, self.elo) else {
                return Err(Error::Usage("--parameters needs --distance and --elo".to_string()));
            };
            let guess = |i: usize| Guess {
                name: format!("x{}", i + 1),
                start: 0.0,
                min: -10.0 * distance,
                max: 10.0 * distance,
                integer: false,
                distance,
                elo,
            };
            if n == 0 || n > MAX_PARAMETERS {
                return Err(Error::Usage(format!("--parameters {n}: expected 1 to {MAX_PARAMETERS}")));
            }
            guesses.extend((0..n).map(guess));
        }
        if guesses.is_empty() {
            let why =
                "nothing to plan for: give -p NAME,START,MIN,MAX,DISTANCE,ELO, --variables or --parameters";
            return Err(Error::Usage(why.to_string()));
        }
        if guesses.len() > MAX_PARAMETERS {
            return Err(Error::Usage(format!("more than {MAX_PARAMETERS} parameters")));
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

/// All that is to be said.
struct Plan {
    pairs: u64,
    draw_rate: f64,
    guesses: Vec<Guess>,
    advice: Vec<Advice>,
    autoselect: Autoselect,
    repeats: usize,
    expected: Vec<(MethodKind, Summary)>,
    warnings: Vec<String>,
}

/// Runs `spsa plan`.
///
/// # Errors
/// Bad usage, lists that cannot be read.
pub fn run(args: &PlanArgs, context: &Context) -> anyhow::Result<()> {
    let (guesses, draw_rate) = (args.guesses()?, args.draw_rate()?);
    let pairs = args.games / 2;
    if pairs == 0 {
        return Err(Error::Usage(format!("--games {}: must be at least 2, a pair", args.games)).into());
    }
    let count = guesses.len() as f64;
    let covariances = if guesses.len() <= MAX_COVARIANCES { count * count } else { 0.0 };
    let affordable = UPDATES / (pairs as f64 * (4.0 * count + 2.0 * covariances));
    // Fewer than a block of lanes take as long.
    let repeats = args.repeats.unwrap_or(affordable.clamp(32.0, 200.0) as usize);
    if !(1..=100_000).contains(&repeats) {
        return Err(Error::Usage(format!("--repeats {repeats}: expected 1 to 100000")).into());
    }
    let advice = guesses.iter().map(|g| Advice::new(g, pairs, draw_rate)).collect::<Result<Vec<Advice>>>()?;
    let bounds: Vec<(f64, f64)> = guesses.iter().map(|g| (g.min, g.max)).collect();
    let autoselect = autoselect(&bounds, 0.5, 2.0, draw_rate)?;
    let mut warnings = Vec::new();
    for (guess, advice) in guesses.iter().zip(&advice) {
        if advice.r_end.is_none() {
            warnings.push(too_few(guess, advice, pairs).to_string());
        }
        if advice.c_end < 2.19 * guess.distance {
            warnings.push(format!(
                "{}: c_end is a quarter of its range instead of 2.2 distances, which would be {}",
                guess.name,
                short(2.2 * guess.distance)
            ));
        }
    }
    let mut expected = Vec::new();
    for method in MethodKind::ALL {
        let lacks_gains = method == MethodKind::Spsa && advice.iter().any(|a| a.r_end.is_none());
        // A covariance of many parameters takes long and gains what bspsas gains.
        let is_large = method == MethodKind::Bspsa && guesses.len() > MAX_COVARIANCES;
        if lacks_gains || is_large {
            continue;
        }
        let scenario = scenario(method, &guesses, pairs, draw_rate, (repeats, args.seed))?;
        expected.push((method, summarize(context, &scenario)?));
    }
    for guess in &guesses {
        let room = (guess.start - guess.min).min(guess.max - guess.start);
        if room < 0.99 * guess.distance {
            warnings.push(format!(
                "{}: starts only {} from a bound, which leaves the two sides little room: it will be slow to move away",
                guess.name,
                short(room)
            ));
        }
    }
    let available: f64 = guesses.iter().map(|g| g.elo).sum();
    warnings.extend(budget_warnings(&expected, available));
    if autoselect.games > args.games as f64 {
        warnings.push(format!(
            "constant gains (autoselect: 0.5 Elo of noise, 2 Elo at the bounds) would take {} games to become independent of \
             the start",
            grouped(autoselect.games.ceil() as u64)
        ));
    }
    let plan = Plan { pairs, draw_rate, guesses, advice, autoselect, repeats, expected, warnings };
    if context.json {
        return Ok(say(&format!("{:#}\n", plan.to_json(args)))?);
    }
    if context.quiet {
        return Ok(());
    }
    Ok(say(&plan.to_text(args))?)
}

/// Which methods the budget is too small for.
fn budget_warnings(expected: &[(MethodKind, Summary)], available: f64) -> Vec<String> {
    let those = |test: &dyn Fn(&Summary) -> bool| {
        let some = expected.iter().filter(|(_, summary)| test(summary));
        let names: Vec<String> = some.map(|(method, _)| method.to_string()).collect();
        let all = names.len() == expected.len();
        (!names.is_empty()).then(|| if all { "every method".to_string() } else { names.join(", ") })
    };
    let poor = those(&|s| s.mean < 0.5 * available).map(|names| {
        format!("too few games for {names}: they gain less than half of {} Elo on average", short(available))
    });
    let weaker = those(&|s| s.p5 < 0.0)
        .map(|names| format!("more than one run in twenty ends weaker than it started: {names}"));
    poor.into_iter().chain(weaker).collect()
}

/// A number in four digits.
fn short(value: f64) -> String {
    if value == 0.0 {
        return "0".to_string();
    }
    let digits = (3 - value.abs().log10().floor() as i32).clamp(0, 9) as usize;
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_string() } else { text }
}

impl Plan {
    fn tau(&self) -> f64 {
        (2.0 * (1.0 - self.draw_rate)).sqrt()
    }

    fn available(&self) -> f64 {
        self.guesses.iter().map(|g| g.elo).sum()
    }

    fn to_json(&self, args: &PlanArgs) -> Value {
        let parameter = |i: usize| {
            let (g, a) = (&self.guesses[i], &self.advice[i]);
            json!({
                "name": g.name, "start": g.start, "min": g.min, "max": g.max,
                "distance": g.distance, "elo": g.elo,
                "c_end": a.c_end, "r_end": a.r_end, "authors_r_end": a.authors_r_end,
                "s": a.s, "sigma": a.sigma, "least_pairs": a.least_pairs,
                "constant_c": self.autoselect.c[i],
            })
        };
        let expected = |(method, summary): &(MethodKind, Summary)| {
            let mut object = json!(summary);
            object["method"] = json!(method.to_string());
            object
        };
        json!({
            "games": args.games, "pairs": self.pairs, "draw_rate": self.draw_rate,
            "a": self.pairs as f64 / 10.0, "alpha": 0.602, "gamma": 0.101, "tau": self.tau(),
            "elo_available": self.available(),
            "parameters": (0..self.guesses.len()).map(parameter).collect::<Vec<_>>(),
            "constant_r": self.autoselect.r, "constant_games": self.autoselect.games,
            "expected": self.expected.iter().map(expected).collect::<Vec<_>>(),
            "warnings": self.warnings, "seed": args.seed,
        })
    }

    fn to_text(&self, args: &PlanArgs) -> String {
        let mut out = String::new();
        let _ = writeln!(
            out,
            "{} games, N = {} pairs, {} % drawn: A {}, alpha 0.602, gamma 0.101, tau {}\n",
            grouped(args.games),
            grouped(self.pairs),
            short(100.0 * self.draw_rate),
            short(self.pairs as f64 / 10.0),
            short(self.tau()),
        );
        let header =
            ["parameter", "distance", "Elo", "c_end", "r_end", "authors' r_end", "s", "sigma", "constant c"];
        let mut rows = vec![header.map(str::to_string).to_vec()];
        let equal = args.parameters.is_some() && self.guesses.len() > LISTED;
        let listed = if equal { 1 } else { self.guesses.len() };
        let gain = |r: Option<f64>| r.map_or_else(|| "too few games".to_string(), short);
        for ((guess, advice), c) in self.guesses.iter().zip(&self.advice).zip(&self.autoselect.c).take(listed)
        {
            let name = if equal { format!("each of {}", self.guesses.len()) } else { guess.name.clone() };
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
            short(self.autoselect.r),
            grouped(self.autoselect.games.ceil() as u64),
            short(self.available()),
            self.repeats
        );
        let mut rows = vec![["method", "mean", "sd", "5 %", "median", "95 %"].map(str::to_string).to_vec()];
        for (method, s) in &self.expected {
            let mut row = vec![method.to_string()];
            row.extend([s.mean, s.sd, s.p5, s.median, s.p95].map(|value| format!("{value:.3}")));
            rows.push(row);
        }
        out += &aligned(&rows, 0);
        if self.guesses.len() > MAX_COVARIANCES {
            let _ = writeln!(
                out,
                "bspsa, which gains as much as bspsas, is only simulated for up to {MAX_COVARIANCES} parameters"
            );
        }
        for warning in &self.warnings {
            let _ = writeln!(out, "warning     {warning}");
        }
        out
    }
}
