//! Settings for a number of games, and what to expect of them, by simulation.

use gputexel_io::{Error, Result, StopFlag};

use super::{Advice, Autoselect, Guess, autoselect, scenario, too_few};
use crate::method_kind::MethodKind;
use crate::numbers::shortest_digits;
use crate::settings::check_draw_rate;
use crate::simulator::{Summary, simulate};

/// Most parameters, for whose covariance there is room in many repeats.
const MAX_PARAMETERS: usize = 1024;
/// Updates of a parameter that the simulation of a plan may take, unless runs are asked for: half a minute of
/// computing time.
const UPDATES: f64 = 2e9;
const ENTRIES_PER_UPDATE: f64 = 16.0;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlanOptions {
    /// Games, two in each pair: at least 2.
    pub games: u64,
    /// Share of the games that will be drawn, 0 to 1.
    pub draw_rate: f64,
    /// Simulated runs, 1 to 100,000; 200, or fewer where games and parameters are many, where there is none.
    pub repeats: Option<usize>,
    pub seed: u64,
}

/// Settings for a number of games, and what they gain in simulated runs.
#[derive(Clone, Debug)]
pub struct RunPlan {
    pub games: u64,
    pub seed: u64,
    pub pairs: u64,
    pub draw_rate: f64,
    pub guesses: Vec<Guess>,
    pub advice: Vec<Advice>,
    pub autoselect: Autoselect,
    pub repeats: usize,
    /// Methods that cannot be run with so few games, or would take too long to simulate, are left out.
    pub expected: Vec<(MethodKind, Summary)>,
    pub warnings: Vec<String>,
}

impl RunPlan {
    /// Parameters up to which `bspsa` is simulated beside `bspsas`: its time grows with their square.
    pub const MAX_COVARIANCES: usize = 16;

    /// `progress` sees the method that is simulated and its iterations that are done.
    ///
    /// # Errors
    /// [`Error::Setting`] and [`Error::Usage`] for what cannot be planned, [`Error::Interrupted`] once `stop` is
    /// set.
    pub fn new(
        guesses: Vec<Guess>,
        options: PlanOptions,
        stop: &StopFlag,
        progress: &mut dyn FnMut(MethodKind, u64),
    ) -> Result<Self> {
        let PlanOptions { games, draw_rate, repeats, seed } = options;
        let pairs = games / 2;
        if pairs == 0 {
            return Err(Error::setting("games", games, "must be at least 2, a pair"));
        }
        check_draw_rate(draw_rate)?;
        if guesses.is_empty() || guesses.len() > MAX_PARAMETERS {
            let reason = format!("{} parameters: expected 1 to {MAX_PARAMETERS}", guesses.len());
            return Err(Error::Usage(reason));
        }
        let count = guesses.len() as f64;
        let covariances = if guesses.len() <= Self::MAX_COVARIANCES { count * count } else { 0.0 };
        // All pairs of all methods cost as much as a few parameters, whatever is tuned.
        let updates = pairs as f64 * (4.0 * (count + 4.0) + covariances / ENTRIES_PER_UPDATE);
        let repeats = repeats.unwrap_or((UPDATES / updates).clamp(32.0, 200.0) as usize);
        if !(1..=100_000).contains(&repeats) {
            return Err(Error::setting("repeats", repeats, "expected 1 to 100000"));
        }
        let advice = guesses.iter().map(|g| Advice::new(g, pairs, draw_rate)).collect::<Result<Vec<_>>>()?;
        let bounds: Vec<(f64, f64)> = guesses.iter().map(|g| (g.min, g.max)).collect();
        let autoselect = autoselect(&bounds, 0.5, 2.0, draw_rate)?;
        let mut warnings = advice_warnings(&guesses, &advice, pairs);
        let mut expected = Vec::new();
        for method in MethodKind::ALL {
            let lacks_gains = method == MethodKind::Spsa && advice.iter().any(|a| a.r_end.is_none());
            // A covariance of many parameters takes long and gains what bspsas gains.
            let is_large = method == MethodKind::Bspsa && guesses.len() > Self::MAX_COVARIANCES;
            if lacks_gains || is_large {
                continue;
            }
            let scenario = scenario(method, &guesses, pairs, draw_rate, (repeats, seed))?;
            let outcome = simulate(&scenario, stop, &mut |done| progress(method, done))?;
            expected.push((method, Summary::new(&outcome.gains)));
        }
        warnings.extend(room_warnings(&guesses));
        let available: f64 = guesses.iter().map(|g| g.elo).sum();
        warnings.extend(budget_warnings(&expected, available));
        Ok(Self { games, seed, pairs, draw_rate, guesses, advice, autoselect, repeats, expected, warnings })
    }

    /// τ, the standard deviation of a pair's score at equal strength.
    pub fn tau(&self) -> f64 {
        (2.0 * (1.0 - self.draw_rate)).sqrt()
    }

    pub fn available_elo(&self) -> f64 {
        self.guesses.iter().map(|g| g.elo).sum()
    }
}

impl Guess {
    /// So many equal parameters `x1`, `x2`, ... with bounds ten distances away.
    pub fn equal(count: usize, distance: f64, elo: f64) -> Result<Vec<Self>> {
        if count == 0 || count > MAX_PARAMETERS {
            return Err(Error::setting("parameters", count, format!("expected 1 to {MAX_PARAMETERS}")));
        }
        let guess = |i: usize| Self {
            name: format!("x{}", i + 1),
            start: 0.0,
            min: -10.0 * distance,
            max: 10.0 * distance,
            integer: false,
            distance,
            elo,
        };
        Ok((0..count).map(guess).collect())
    }
}

fn advice_warnings(guesses: &[Guess], advice: &[Advice], pairs: u64) -> Vec<String> {
    let mut warnings = Vec::new();
    for (guess, advice) in guesses.iter().zip(advice) {
        if advice.r_end.is_none() {
            warnings.push(too_few(guess, advice, pairs).to_string());
        }
        if advice.c_end < 2.19 * guess.distance {
            warnings.push(format!(
                "{}: c_end is a quarter of its range instead of 2.2 distances, which would be {}",
                guess.name,
                shortest_digits(2.2 * guess.distance)
            ));
        }
    }
    warnings
}

fn room_warnings(guesses: &[Guess]) -> Vec<String> {
    let room = |guess: &Guess| (guess.start - guess.min).min(guess.max - guess.start);
    let cramped = guesses.iter().filter(|guess| room(guess) < 0.99 * guess.distance);
    cramped
        .map(|guess| {
            format!(
                "{}: starts only {} from a bound, which leaves the two sides little room: it will be slow to \
                 move away",
                guess.name,
                shortest_digits(room(guess))
            )
        })
        .collect()
}

fn budget_warnings(expected: &[(MethodKind, Summary)], available: f64) -> Vec<String> {
    let those = |test: &dyn Fn(&Summary) -> bool| {
        let some = expected.iter().filter(|(_, summary)| test(summary));
        let names: Vec<String> = some.map(|(method, _)| method.to_string()).collect();
        let all = names.len() == expected.len();
        (!names.is_empty()).then(|| if all { "every method".to_string() } else { names.join(", ") })
    };
    let poor = those(&|s| s.mean < 0.5 * available).map(|names| {
        let elo = shortest_digits(available);
        format!("too few games for {names}: they gain less than half of {elo} Elo on average")
    });
    let weaker = those(&|s| s.p5 < 0.0)
        .map(|names| format!("more than one run in twenty ends weaker than it started: {names}"));
    poor.into_iter().chain(weaker).collect()
}
