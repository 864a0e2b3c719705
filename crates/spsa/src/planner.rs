//! Settings that suit a number of games, what to expect of them, and how many games per parameter needs.

use std::str::FromStr;

use serde::Serialize;

use super::schedule::Schedule;
use super::settings::check_draw_rate;
use super::simulator::{Scenario, Summary, simulate};
use super::variables::{Variable, positive};
use super::{MethodKind, Settings};
use crate::numbers::shortest_digits;
use gputexel_io::{Error, Result, StopFlag};

/// σ √e / d of a curve of strength that loses e Elo at a distance d.
const CURVE: f64 = 9.9;
/// Perturbation at the end, in guessed distances: (19) of arXiv:2205.15602.
const C_END: f64 = 2.2;
/// Largest share of the range between bounds that a perturbation should end with.
const MAX_SHARE_OF_RANGE: f64 = 0.25;
/// Most parameters, for whose covariance there is room in many repeats.
const MAX_PARAMETERS: usize = 1024;
/// Updates of a parameter that the simulation of a plan may take, unless runs are asked for: half a minute of
/// computing time.
const UPDATES: f64 = 2e9;
const ENTRIES_PER_UPDATE: f64 = 16.0;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Guess {
    pub name: String,
    pub start: f64,
    pub min: f64,
    pub max: f64,
    #[serde(skip)]
    pub integer: bool,
    pub distance: f64,
    pub elo: f64,
}

impl FromStr for Guess {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut fields = text.split(',').map(str::trim);
        let name = fields.next().unwrap_or_default().to_string();
        let number =
            |field: &str| field.parse().map_err(|_| Error::Usage(format!("'{field}' is not a number")));
        let numbers: Vec<f64> = fields.map(number).collect::<Result<_>>()?;
        match (name.is_empty(), &numbers[..]) {
            (false, &[start, min, max, distance, elo]) => {
                Ok(Self { name, start, min, max, integer: false, distance, elo })
            }
            _ => Err(Error::Usage("expected NAME,START,MIN,MAX,DISTANCE,ELO".to_string())),
        }
    }
}

impl Guess {
    /// What a list says of a parameter, where nothing else is guessed: its best value is `c_end` / 2.2 away, and
    /// its Elo that of the curve with its `simul_elo`.
    ///
    /// # Errors
    /// [`Error::Usage`] where there is no Elo, neither given nor listed.
    pub fn listed(variable: Variable, elo: Option<f64>) -> Result<Self> {
        let Variable { name, start, min, max, .. } = variable;
        let distance = variable.c_end / C_END;
        let elo = elo.unwrap_or(variable.simul_elo * (distance / 100.0).powi(2));
        if elo == 0.0 {
            return Err(Error::Usage(format!("{name}: simul_elo is 0, so its Elo is not known")));
        }
        Ok(Self { name, start, min, max, integer: false, distance, elo })
    }

    pub fn validate(&self) -> Result<()> {
        positive(&format!("{}: distance", self.name), self.distance)?;
        positive(&format!("{}: Elo", self.name), self.elo)
    }

    /// A place for the optimum: the guessed distance above the start, or below it.
    pub fn optimum(&self) -> Result<f64> {
        let places = [self.start + self.distance, self.start - self.distance];
        places.into_iter().find(|place| (self.min..=self.max).contains(place)).ok_or_else(|| {
            let Self { name, distance, min, max, .. } = self;
            Error::Usage(format!("{name}: at a distance of {distance} the bounds {min} and {max} are left"))
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Advice {
    /// Perturbation at the last iteration: 2.2 distances, at most a quarter of the range between the bounds, and
    /// at least ½ of whole numbers.
    pub c_end: f64,
    /// SPSA's gain at the last iteration, by this project's formula; `None` where there are too few games for
    /// this parameter.
    pub r_end: Option<f64>,
    pub s: f64,
    /// Width of the curve of strength: 9.9 d / √e, from the authors' spreadsheet. (The curvature of the Elo
    /// parabola alone would give 9.32.)
    pub sigma: f64,
    /// Pairs of games below which this parameter drowns in noise.
    pub least_pairs: f64,
}

impl Advice {
    /// # Errors
    /// [`Error::Usage`] for guesses and draw rates that make no sense.
    pub fn new(guess: &Guess, pairs: u64, draw_rate: f64) -> Result<Self> {
        guess.validate()?;
        check_draw_rate(draw_rate)?;
        let Guess { distance, elo, .. } = *guess;
        let mut c_end = (C_END * distance).min(MAX_SHARE_OF_RANGE * (guess.max - guess.min));
        if guess.integer {
            c_end = c_end.max(0.5);
        }
        let ratio = c_end / distance;
        Ok(Self {
            c_end,
            r_end: gain(pairs as f64, elo, ratio, draw_rate),
            s: distance,
            sigma: CURVE * distance / elo.sqrt(),
            least_pairs: least_pairs(elo, draw_rate),
        })
    }

    /// The parameter with these settings; without an `r_end` where there are too few games.
    pub fn variable(&self, guess: &Guess) -> Variable {
        Variable {
            name: guess.name.clone(),
            start: guess.start,
            min: guess.min,
            max: guess.max,
            integer: guess.integer,
            c_end: self.c_end,
            r_end: self.r_end,
            s: Some(self.s),
            sigma: Some(self.sigma),
            simul_elo: guess.elo * (100.0 / guess.distance).powi(2),
        }
    }
}

fn rate(ratio: f64) -> f64 {
    ratio * ratio * std::f64::consts::LN_10 / 100.0
}

/// SPSA's `r_end` for N pairs, `elo` e to be gained at a distance d, and c_end = `ratio` m · d:
///
/// b = m² ln 10 / 100, v = 2 (1 − D), x = ln(4 b² e² N / (m² v)) / (2 b), R_end = 0.65 x / (e N),
///
/// for α = 0.602, γ = 0.101, A = N/10. Without the factor 0.65 it is the gain at which what is left of the
/// start equals the noise; sweeps over 18 settings (e 0.03 to 8, N 20,000 to 200,000, D 0.4 and 0.82) were
/// best at 0.6 to 0.7 of that, within 8 % of the best loss everywhere. `None` where the logarithm is not
/// positive: too few games.
fn gain(pairs: f64, elo: f64, ratio: f64, draw_rate: f64) -> Option<f64> {
    let (b, v) = (rate(ratio), 2.0 * (1.0 - draw_rate));
    let log = (4.0 * b * b * elo * elo * pairs / (ratio * ratio * v)).ln();
    (log > 0.0).then(|| 0.65 * log / (2.0 * b) / (elo * pairs))
}

/// Pairs from which [`gain`] has an answer at c_end = 2.2 d: N = m² v / (4 b² e²).
fn least_pairs(elo: f64, draw_rate: f64) -> f64 {
    let b = rate(C_END);
    C_END * C_END * 2.0 * (1.0 - draw_rate) / (4.0 * b * b * elo * elo)
}

/// What is simulated to say what a plan would gain: the best values lie at the guessed distances, parameters
/// are tuned with what [`Advice`] says.
///
/// # Errors
/// [`Error::Usage`] for guesses that make no sense, and for SPSA with too few games.
fn scenario(
    method: MethodKind,
    guesses: &[Guess],
    pairs: u64,
    draw_rate: f64,
    (repeats, seed): (usize, u64),
) -> Result<Scenario> {
    let settings = Settings { schedule: Schedule::new(pairs), ..Settings::new(method, pairs, draw_rate) };
    let mut variables = Vec::with_capacity(guesses.len());
    for guess in guesses {
        let advice = Advice::new(guess, pairs, draw_rate)?;
        if method == MethodKind::Spsa && advice.r_end.is_none() {
            return Err(too_few(guess, &advice, pairs));
        }
        variables.push(advice.variable(guess));
    }
    let optimum = guesses.iter().map(Guess::optimum).collect::<Result<Vec<f64>>>()?;
    let scenario = Scenario { settings, variables, optimum, draw_rate, repeats, seed };
    scenario.validate()?;
    Ok(scenario)
}

pub fn too_few(guess: &Guess, advice: &Advice, pairs: u64) -> Error {
    // Four digits are as much as a guess has.
    let elo = format!("{:.4}", guess.elo);
    let elo = elo.trim_end_matches('0').trim_end_matches('.');
    Error::Usage(format!(
        "{}: {pairs} pairs of games are too few for {elo} Elo; it takes more than {:.0} to rise above the noise",
        guess.name, advice.least_pairs
    ))
}

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

/// Settings for a number of games, and what they gain in simulated runs; its JSON is what `spsa plan --json` prints.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunPlan {
    pub games: u64,
    pub pairs: u64,
    pub draw_rate: f64,
    /// A: iterations over which gains are held back at the start.
    pub a: f64,
    pub alpha: f64,
    pub gamma: f64,
    /// τ, the standard deviation of a pair's score at equal strength.
    pub tau: f64,
    pub elo_available: f64,
    pub parameters: Vec<ParameterPlan>,
    /// Methods that cannot be run with so few games, or would take too long to simulate, are left out.
    pub expected: Vec<ExpectedGain>,
    /// Warnings that belong to the settings, one sentence each.
    pub warnings: Vec<String>,
    pub seed: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ParameterPlan {
    #[serde(flatten)]
    pub guess: Guess,
    #[serde(flatten)]
    pub advice: Advice,
}

/// What a method gains in simulated runs, Elo.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ExpectedGain {
    #[serde(flatten)]
    pub gains: Summary,
    pub method: MethodKind,
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
            expected.push(ExpectedGain { gains: Summary::new(&outcome.gains), method });
        }
        warnings.extend(room_warnings(&guesses));
        let elo_available: f64 = guesses.iter().map(|g| g.elo).sum();
        warnings.extend(budget_warnings(&expected, elo_available));
        let Schedule { stability: a, alpha, gamma, .. } = Schedule::new(pairs);
        let tau = (2.0 * (1.0 - draw_rate)).sqrt();
        let both = guesses.into_iter().zip(advice);
        let parameters = both.map(|(guess, advice)| ParameterPlan { guess, advice }).collect();
        Ok(Self {
            games,
            pairs,
            draw_rate,
            a,
            alpha,
            gamma,
            tau,
            elo_available,
            parameters,
            expected,
            warnings,
            seed,
        })
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

fn budget_warnings(expected: &[ExpectedGain], available: f64) -> Vec<String> {
    let those = |test: &dyn Fn(&Summary) -> bool| {
        let some = expected.iter().filter(|one| test(&one.gains));
        let names: Vec<String> = some.map(|one| one.method.to_string()).collect();
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

#[cfg(test)]
mod tests {
    use super::*;

    fn guess(elo: f64) -> Guess {
        let name = "x".to_string();
        Guess { name, start: 100.0, min: -1000.0, max: 1000.0, integer: false, distance: 100.0, elo }
    }

    #[test]
    fn advice_is_near_what_the_authors_used() {
        let table =
            [(2.0, 700.0, 7.3e-5), (0.5, 1400.0, 2.1e-4), (0.125, 2800.0, 5.2e-4), (0.03125, 5600.0, 8.0e-4)];
        for (elo, sigma, ours) in table {
            let advice = Advice::new(&guess(elo), 200_000, 0.82).unwrap();
            assert!((advice.c_end - 220.0).abs() < 1e-9 && advice.s == 100.0);
            assert!((advice.sigma / sigma - 1.0).abs() < 1e-3, "{}", advice.sigma);
            assert!((advice.r_end.unwrap() / ours - 1.0).abs() < 0.02, "{:?}", advice.r_end);
        }
    }

    #[test]
    fn guesses_are_read_and_taken_from_lists() {
        let read: Guess = "King Safety, 100,0, 400,50,5".parse().unwrap();
        assert_eq!(
            (read.name.as_str(), read.start, read.distance, read.elo),
            ("King Safety", 100.0, 50.0, 5.0)
        );
        for bad in ["", "x", "x,1,2,3,4", "x,1,2,3,4,5,6", ",1,2,3,4,5", "x,1,2,3,4,y"] {
            assert!(bad.parse::<Guess>().is_err(), "{bad}");
        }
        // What was advised for a guess leads back to it.
        let variable = Advice::new(&read, 10_000, 0.6).unwrap().variable(&read);
        let variable = Variable { c_end: 110.0, ..variable };
        let listed = Guess::listed(variable.clone(), None).unwrap();
        assert!((listed.distance - 50.0).abs() < 1e-9 && (listed.elo - 5.0).abs() < 1e-9, "{listed:?}");
        let unknown = Variable { simul_elo: 0.0, ..variable };
        assert!(Guess::listed(unknown.clone(), None).is_err());
        assert_eq!(Guess::listed(unknown, Some(2.0)).unwrap().elo, 2.0);
    }

    #[test]
    fn too_few_games_are_seen() {
        let small = guess(0.01);
        let least = least_pairs(0.01, 0.82);
        assert!(Advice::new(&small, least as u64 - 2, 0.82).unwrap().r_end.is_none());
        assert!(Advice::new(&small, least as u64 + 2, 0.82).unwrap().r_end.is_some());
        let text = scenario(MethodKind::Spsa, &[small], 1000, 0.82, (1, 1)).unwrap_err().to_string();
        assert!(text.starts_with("x: 1000 pairs of games are too few for 0.01 Elo; it takes more"), "{text}");
    }

    #[test]
    fn perturbations_suit_bounds_and_whole_numbers() {
        let narrow = Guess { min: 50.0, max: 150.0, distance: 40.0, ..guess(1.0) };
        assert_eq!(Advice::new(&narrow, 10_000, 0.6).unwrap().c_end, 25.0);
        let whole = Guess { min: 99.0, max: 101.0, distance: 0.1, integer: true, ..guess(1.0) };
        assert_eq!(Advice::new(&whole, 10_000, 0.6).unwrap().c_end, 0.5);
        assert_eq!(guess(1.0).optimum().unwrap(), 200.0);
        assert_eq!(Guess { max: 150.0, ..guess(1.0) }.optimum().unwrap(), 0.0);
        assert!(Guess { min: 10.0, max: 150.0, ..guess(1.0) }.optimum().is_err());
        for bad in [0.0, -1.0, f64::NAN] {
            assert!(Advice::new(&guess(bad), 1000, 0.6).is_err());
            assert!(Advice::new(&Guess { distance: bad, ..guess(1.0) }, 1000, 0.6).is_err());
        }
        assert!(Advice::new(&guess(1.0), 1000, 1.0).is_err());
    }
}
