//! Settings that suit a number of games, and how many games per parameter needs.

mod run_plan;
mod summary;

use std::str::FromStr;

use super::schedule::Schedule;
use super::settings::check_draw_rate;
use super::simulator::Scenario;
use super::variables::{Variable, positive};
use super::{MethodKind, Settings};
use gputexel_io::{Error, Result};

pub use run_plan::{PlanOptions, RunPlan};
pub use summary::{ExpectedGain, ParameterPlan, PlanSummary};

/// C = 800 / ln 10: Elo a unit of expected score of a game in −1 to 1, near equality.
const ELO_PER_SCORE: f64 = 800.0 / std::f64::consts::LN_10;
/// σ √e / d of a curve of strength that loses e Elo at a distance d.
const CURVE: f64 = 9.9;
/// Perturbation at the end, in guessed distances: (19) of arXiv:2205.15602.
const C_END: f64 = 2.2;
/// Largest share of the range between bounds that a perturbation should end with.
const MAX_SHARE_OF_RANGE: f64 = 0.25;

#[derive(Clone, Debug, PartialEq)]
pub struct Guess {
    pub name: String,
    pub start: f64,
    pub min: f64,
    pub max: f64,
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
    pub fn listed(variable: Variable, distance: Option<f64>, elo: Option<f64>) -> Result<Self> {
        let Variable { name, start, min, max, .. } = variable;
        let distance = distance.unwrap_or(variable.c_end / C_END);
        let elo = elo.unwrap_or(variable.simul_elo * (distance / 100.0).powi(2));
        if elo == 0.0 {
            return Err(Error::Usage(format!("{name}: simul_elo is 0, so its Elo is not known")));
        }
        Ok(Self { name, start, min, max, integer: false, distance, elo })
    }

    /// Refuses distances and Elos that are not positive.
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

#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Advice {
    /// Perturbation at the last iteration: 2.2 distances, at most a quarter of the range between the bounds, and
    /// at least ½ of whole numbers.
    pub c_end: f64,
    /// SPSA's gain at the last iteration, by this project's formula; `None` where there are too few games for
    /// this parameter.
    pub r_end: Option<f64>,
    pub authors_r_end: Option<f64>,
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
            authors_r_end: authors_gain(pairs as f64, elo),
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

/// Elo lost at a distance `s` from the top of a curve of strength of width `sigma`, the inverse of
/// [`Advice::sigma`]'s formula.
pub fn elo_of_curve(s: f64, sigma: f64) -> f64 {
    (CURVE * s / sigma).powi(2)
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
pub fn gain(pairs: f64, elo: f64, ratio: f64, draw_rate: f64) -> Option<f64> {
    let (b, v) = (rate(ratio), 2.0 * (1.0 - draw_rate));
    let log = (4.0 * b * b * elo * elo * pairs / (ratio * ratio * v)).ln();
    (log > 0.0).then(|| 0.65 * log / (2.0 * b) / (elo * pairs))
}

/// A fit to the four `r_end` in the spreadsheet of BSPSA's authors: R = (3.17 ln(e² N) − 11.1) / (e N). It
/// knows neither draw rates nor other c_end than 2.2 d.
pub fn authors_gain(pairs: f64, elo: f64) -> Option<f64> {
    let factor = 3.17 * (elo * elo * pairs).ln() - 11.1;
    (factor > 0.0).then(|| factor / (elo * pairs))
}

/// Pairs from which [`gain`] has an answer at c_end = 2.2 d: N = m² v / (4 b² e²).
pub fn least_pairs(elo: f64, draw_rate: f64) -> f64 {
    let b = rate(C_END);
    C_END * C_END * 2.0 * (1.0 - draw_rate) / (4.0 * b * b * elo * elo)
}

/// Settings by fishtest's autoselect, constant over the run.
#[derive(Clone, Debug, PartialEq)]
pub struct Autoselect {
    pub c: Vec<f64>,
    pub r: f64,
    pub games: f64,
}

/// Fishtest's autoselect for parameters with these bounds: constant gains that leave less than `precision`
/// Elo of noise with a probability of 95 %, where leaving the middle of its range for a bound costs a
/// parameter `elo` (fishtest: ½ and 2).
///
/// c = (max − min) / 6, r = 8 precision / (C χ²₉₅(n) (1 − D)), games = 3 max C / (2 r c² |H|) with H = −2 elo
/// / ((max − min) / 2)² and C = 800 / ln 10.
pub fn autoselect(bounds: &[(f64, f64)], precision: f64, elo: f64, draw_rate: f64) -> Result<Autoselect> {
    positive("precision", precision)?;
    positive("Elo", elo)?;
    check_draw_rate(draw_rate)?;
    let r = 8.0 * precision / (ELO_PER_SCORE * chi_squared_95(bounds.len()) * (1.0 - draw_rate));
    let c: Vec<f64> = bounds.iter().map(|(min, max)| (max - min) / 6.0).collect();
    let games = |((min, max), c): (&(f64, f64), &f64)| {
        let curvature = 2.0 * elo / ((max - min) / 2.0).powi(2);
        3.0 * ELO_PER_SCORE / (2.0 * r * c * c * curvature)
    };
    let games = bounds.iter().zip(&c).map(games).fold(0.0, f64::max);
    Ok(Autoselect { c, r, games })
}

/// The draw rate that fishtest expects: logistic(0.22 ln(seconds per move) + 1.35).
pub fn expected_draw_rate(seconds_per_move: f64) -> f64 {
    1.0 / (1.0 + (-(0.22 * seconds_per_move.ln() + 1.35)).exp())
}

/// The value that χ² with `n` ≥ 1 degrees of freedom stays below with a probability of 95 %.
pub fn chi_squared_95(n: usize) -> f64 {
    let a = n.max(1) as f64 / 2.0;
    // ln Γ(a + 1), from Γ(1) = 1 or Γ(1/2) = √π.
    let (mut z, mut log_gamma) =
        if n.is_multiple_of(2) { (1.0, 0.0) } else { (0.5, std::f64::consts::PI.ln() / 2.0) };
    while z < a + 0.75 {
        log_gamma += f64::ln(z);
        z += 1.0;
    }
    // The regularized lower incomplete gamma function, by its series.
    let below = |x: f64| {
        let (mut term, mut sum, mut denominator) = (1.0, 1.0, a);
        while term > 1e-17 * sum {
            denominator += 1.0;
            term *= x / denominator;
            sum += term;
        }
        sum.ln() + a * x.ln() - x - log_gamma
    };
    let (mut low, mut high) = (0.0, 2.0 * a + 10.0 * (2.0 * a).sqrt() + 10.0);
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if below(middle / 2.0) < f64::ln(0.95) { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

/// What is simulated to say what a plan would gain: the best values lie at the guessed distances, parameters
/// are tuned with what [`Advice`] or, for the constant method, [`autoselect`] says.
///
/// # Errors
/// [`Error::Usage`] for guesses that make no sense, and for SPSA with too few games.
pub fn scenario(
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
    if method == MethodKind::Constant {
        let bounds: Vec<(f64, f64)> = guesses.iter().map(|g| (g.min, g.max)).collect();
        let auto = autoselect(&bounds, 0.5, 2.0, draw_rate)?;
        for (variable, c) in variables.iter_mut().zip(&auto.c) {
            (variable.c_end, variable.r_end) = (*c, Some(auto.r));
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn guess(elo: f64) -> Guess {
        let name = "x".to_string();
        Guess { name, start: 100.0, min: -1000.0, max: 1000.0, integer: false, distance: 100.0, elo }
    }

    #[test]
    fn advice_is_near_what_the_authors_used() {
        let table = [
            (2.0, 0.00008, 700.0, 7.3e-5),
            (0.5, 0.00022, 1400.0, 2.1e-4),
            (0.125, 0.00059, 2800.0, 5.2e-4),
            (0.03125, 0.0009, 5600.0, 8.0e-4),
        ];
        for (elo, r_end, sigma, ours) in table {
            let advice = Advice::new(&guess(elo), 200_000, 0.82).unwrap();
            assert!((advice.c_end - 220.0).abs() < 1e-9 && advice.s == 100.0);
            assert!((advice.sigma / sigma - 1.0).abs() < 1e-3, "{}", advice.sigma);
            assert!((advice.r_end.unwrap() / ours - 1.0).abs() < 0.02, "{:?}", advice.r_end);
            assert!((advice.authors_r_end.unwrap() / r_end - 1.0).abs() < 0.06, "{:?}", advice.authors_r_end);
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
        let listed = Guess::listed(variable.clone(), None, None).unwrap();
        assert!((listed.distance - 50.0).abs() < 1e-9 && (listed.elo - 5.0).abs() < 1e-9, "{listed:?}");
        let unknown = Variable { simul_elo: 0.0, ..variable };
        assert!(Guess::listed(unknown.clone(), None, None).is_err());
        assert_eq!(Guess::listed(unknown, Some(7.0), Some(2.0)).unwrap().elo, 2.0);
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

    #[test]
    fn autoselect_is_fishtests() {
        for (n, expected) in [(1, 3.841459), (2, 5.991465), (7, 14.06714), (10, 18.30704), (100, 124.3421)] {
            assert!((chi_squared_95(n) / expected - 1.0).abs() < 1e-6, "{n}: {}", chi_squared_95(n));
        }
        assert!((chi_squared_95(4_000) / 4_148.25 - 1.0).abs() < 1e-3, "{}", chi_squared_95(4_000));
        let auto = autoselect(&[(-1000.0, 1000.0), (0.0, 60.0)], 0.5, 2.0, 0.5).unwrap();
        assert!((auto.c[0] - 1000.0 / 3.0).abs() < 1e-9 && (auto.c[1] - 10.0).abs() < 1e-12);
        let r = 4.0 / (347.4355855 * 5.991465 * 0.5);
        assert!((auto.r / r - 1.0).abs() < 1e-6);
        // Ranges scale out: c² |H| is 2 elo / 9 of each.
        assert!((auto.games / (3.0 * 347.4355855 / (2.0 * r * 4.0 / 9.0)) - 1.0).abs() < 1e-6);
        assert!((expected_draw_rate(1.0) - 0.7941).abs() < 1e-3);
    }
}
