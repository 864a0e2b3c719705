//! The runs that `spsa simulate` is asked for: flags and grids, from which scenarios are made.

use std::path::{Path, PathBuf};

use gputexel::spsa::config::{Conf, Simulation};
use gputexel::spsa::simulator::Scenario;
use gputexel::spsa::variables::positive;
use gputexel::spsa::{MethodKind, Noise, Schedule, Settings, Variable, planner, read_variables};
use gputexel::{Error, Result};

/// Most parameters of a simulated engine, and most cells of a grid.
const MAX_PARAMETERS: usize = 4096;
const MAX_CELLS: usize = 1000;

/// A number, or a factor on what it would be otherwise (`x0.5`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scaled {
    Number(f64),
    Factor(f64),
}

impl std::str::FromStr for Scaled {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let (factor, digits) = match text.strip_prefix(['x', '*']) {
            Some(digits) => (true, digits),
            None => (false, text),
        };
        match digits.trim().parse::<f64>() {
            Ok(value) if value.is_finite() && factor => Ok(Self::Factor(value)),
            Ok(value) if value.is_finite() => Ok(Self::Number(value)),
            _ => Err("expected a number, or a factor such as x0.5".to_string()),
        }
    }
}

impl Scaled {
    fn apply(this: Option<Self>, usual: f64) -> f64 {
        match this {
            None => usual,
            Some(Self::Number(value)) => value,
            Some(Self::Factor(factor)) => factor * usual,
        }
    }
}

/// What can be varied.
const AXES: [&str; 6] = ["c-end", "r-end", "s", "sigma", "a", "iterations"];

/// An axis of the grid: a name of [`AXES`] and its values as typed.
#[derive(Clone, Debug, PartialEq)]
pub struct GridAxis {
    pub name: &'static str,
    pub values: Vec<(String, Scaled)>,
}

impl std::str::FromStr for GridAxis {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let (name, list) = text.split_once('=').ok_or("expected NAME=VALUE,VALUE,...")?;
        let known = AXES.into_iter().find(|axis| axis.eq_ignore_ascii_case(name.trim()));
        let name = known.ok_or_else(|| format!("'{name}': expected one of {}", AXES.join(", ")))?;
        let values = list.split(',').map(|value| {
            let value = value.trim();
            value.parse().map(|scaled| (value.to_string(), scaled)).map_err(|e| format!("'{value}': {e}"))
        });
        Ok(Self { name, values: values.collect::<std::result::Result<_, String>>()? })
    }
}

/// Flags that say what is simulated.
#[derive(Debug, Default, PartialEq, clap::Args)]
pub struct ScenarioArgs {
    /// Methods to simulate: spsa, bspsas, bspsa, constant [default: spsa,bspsas,bspsa]
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "Simulation")]
    method: Vec<MethodKind>,
    /// A parameter list in the format of spsa.pl (7 columns) or bspsa.pl (8 columns)
    #[arg(long, value_name = "CSV", help_heading = "Simulation", conflicts_with_all = ["parameters", "distance", "bounds"])]
    variables: Option<PathBuf>,
    /// A configuration of spsa.pl or bspsa.pl (Simulate = 1), or of 'spsa run': its method, iterations,
    /// A, exponents, tau and parameters are used; other flags override them
    #[arg(long, value_name = "FILE", help_heading = "Simulation", conflicts_with_all = ["variables", "parameters", "distance", "bounds"])]
    conf: Option<PathBuf>,
    /// Numbers of identical parameters, simulated one after the other [default: 4]
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "Simulation")]
    parameters: Vec<usize>,
    /// Distance of their starting values from the optimum, which is at 0 [default: 100]
    #[arg(long, value_name = "D", help_heading = "Simulation")]
    distance: Option<f64>,
    /// Elo that all of them together lose at the start [default: 2, or from the list]
    #[arg(long, value_name = "ELO", help_heading = "Simulation")]
    elo: Option<f64>,
    /// Bounds on either side of 0 [default: 1000]
    #[arg(long, value_name = "B", help_heading = "Simulation")]
    bounds: Option<f64>,
    /// Optimum of the listed parameters: one number, or one for each [default: 0]
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        help_heading = "Simulation",
        allow_negative_numbers = true
    )]
    optimum: Vec<f64>,
    /// Pairs of games per run [default: 200000]
    #[arg(long, short = 'N', value_name = "N", help_heading = "Simulation")]
    iterations: Option<u64>,
    /// Draw rate [default: 0.82]
    #[arg(long, value_name = "D", help_heading = "Simulation")]
    draw_rate: Option<f64>,
    /// Concurrent pairs: results arrive after further pairs have been started
    #[arg(long, value_name = "N", help_heading = "Simulation")]
    concurrency: Option<usize>,
    /// Final perturbation [default: 2.2 distances, or from the list; xF: F times that]
    #[arg(long, value_name = "C", help_heading = "Settings")]
    c_end: Option<Scaled>,
    /// Final gain [default: by the formula of 'spsa plan', or from the list]
    #[arg(long, value_name = "R", help_heading = "Settings")]
    r_end: Option<Scaled>,
    /// Stability constant A, in iterations [default: N/10]
    #[arg(short = 'A', long = "a", value_name = "A", help_heading = "Settings")]
    stability: Option<Scaled>,
    /// Exponent of the gain [default: 0.602]
    #[arg(long, value_name = "ALPHA", help_heading = "Settings")]
    alpha: Option<f64>,
    /// Exponent of the perturbation [default: 0.101]
    #[arg(long, value_name = "GAMMA", help_heading = "Settings")]
    gamma: Option<f64>,
    /// BSPSA's s [default: the distance, or from the list]
    #[arg(long, value_name = "S", help_heading = "Settings")]
    s: Option<Scaled>,
    /// BSPSA's sigma [default: 9.9 distance / sqrt(Elo), or from the list]
    #[arg(long, value_name = "SIGMA", help_heading = "Settings")]
    sigma: Option<Scaled>,
    /// BSPSA's tau: a number, or 'measured' during the run [default: sqrt(2 - 2 draw rate)]
    #[arg(long, value_name = "TAU", help_heading = "Settings")]
    tau: Option<String>,
    /// Play integer values only
    #[arg(long, help_heading = "Settings")]
    integers: bool,
    /// Rounding to integers: away (half away from zero) or stochastic
    #[arg(long, value_name = "HOW", requires = "integers", help_heading = "Settings")]
    rounding: Option<gputexel::spsa::Rounding>,
    /// Update with the intended perturbation instead of the one left after clamping and rounding
    #[arg(long, help_heading = "Settings")]
    as_published: bool,
    /// Vary c-end, r-end, s, sigma, a or iterations: c-end=55,110,220 or sigma=x0.5,x1,x2; repeat
    /// for a grid
    #[arg(long, value_name = "NAME=LIST", help_heading = "Settings")]
    grid: Vec<GridAxis>,
}

/// One run of the grid.
#[derive(Clone, Debug)]
pub struct Cell {
    pub scenario: Scenario,
    /// Name and value along each axis of the grid.
    pub place: Vec<(&'static str, String)>,
}

impl ScenarioArgs {
    /// All runs that are asked for.
    ///
    /// # Errors
    /// Bad usage, and lists that cannot be read.
    pub fn cells(&self, repeats: usize, seed: u64) -> Result<Vec<Cell>> {
        let told = self.conf.as_deref().map(Told::open).transpose()?;
        let methods = match (&self.method[..], &told) {
            ([], Some(told)) => std::slice::from_ref(&told.settings.method),
            ([], None) => &[MethodKind::Spsa, MethodKind::Bspsas, MethodKind::Bspsa],
            (methods, _) => methods,
        };
        for (i, axis) in self.grid.iter().enumerate() {
            if self.grid[..i].iter().any(|other| other.name == axis.name) {
                return Err(Error::Usage(format!("--grid {}: is given twice", axis.name)));
            }
        }
        let places = self.grid.iter().map(|axis| axis.values.len()).try_fold(1, usize::checked_mul);
        let lists = self.lists(told.as_ref())?;
        let count =
            places.and_then(|n| n.checked_mul(methods.len())).and_then(|n| n.checked_mul(lists.len()));
        let (Some(places), true) = (places, count.is_some_and(|count| count <= MAX_CELLS)) else {
            return Err(Error::Usage(format!("--grid: more than {MAX_CELLS} runs")));
        };
        let mut cells = Vec::new();
        for list in &lists {
            for &method in methods {
                for index in 0..places {
                    let mut rest = index;
                    let mut place = Vec::new();
                    // The last axis runs fastest.
                    for axis in self.grid.iter().rev() {
                        let (text, value) = &axis.values[rest % axis.values.len()];
                        place.push((axis.name, text.clone(), *value));
                        rest /= axis.values.len();
                    }
                    place.reverse();
                    let scenario = self.scenario(list, told.as_ref(), method, &place, (repeats, seed))?;
                    let place = place.into_iter().map(|(name, text, _)| (name, text)).collect();
                    cells.push(Cell { scenario, place });
                }
            }
        }
        Ok(cells)
    }

    /// The engines to be simulated: variables whose missing settings are still to be filled in, and
    /// their optima.
    fn lists(&self, told: Option<&Told>) -> Result<Vec<List>> {
        let listed = match (told, &self.variables) {
            (Some(told), _) => Some(told.variables.clone()),
            (None, Some(path)) => Some(read_variables(path)?.1),
            (None, None) if !self.optimum.is_empty() => {
                return Err(Error::Usage(
                    "--optimum: only applies to parameters of --variables or --conf".to_string(),
                ));
            }
            (None, None) => None,
        };
        if let Some(mut variables) = listed {
            let optimum = match &self.optimum[..] {
                [] => vec![0.0; variables.len()],
                [one] => vec![*one; variables.len()],
                all if all.len() == variables.len() => all.to_vec(),
                all => {
                    let (given, needed) = (all.len(), variables.len());
                    return Err(Error::Usage(format!("--optimum: {given} values for {needed} parameters")));
                }
            };
            let lost = |v: &Variable, o: f64| v.simul_elo * 1e-4 * (v.start - o).powi(2);
            if let Some(elo) = self.elo {
                positive("--elo", elo)?;
                // Shared out as the list does, or evenly where it says nothing.
                let total: f64 = variables.iter().zip(&optimum).map(|(v, &o)| lost(v, o)).sum();
                let count = variables.len() as f64;
                for (variable, &o) in variables.iter_mut().zip(&optimum) {
                    let distance = distance(variable, o);
                    variable.simul_elo = match total > 0.0 {
                        true => variable.simul_elo * elo / total,
                        false => elo / count * (100.0 / distance).powi(2),
                    };
                }
            }
            return Ok(vec![List { variables, optimum, given: true }]);
        }
        let distance = self.distance.unwrap_or(100.0);
        let elo = self.elo.unwrap_or(2.0);
        let bounds = self.bounds.unwrap_or(1000.0);
        for (name, value) in [("--distance", distance), ("--elo", elo), ("--bounds", bounds)] {
            positive(name, value)?;
        }
        if distance > bounds {
            return Err(Error::Usage(format!("--distance {distance}: is outside --bounds {bounds}")));
        }
        let numbers = if self.parameters.is_empty() { &[4][..] } else { &self.parameters };
        let list = |&n: &usize| {
            if n == 0 || n > MAX_PARAMETERS {
                return Err(Error::Usage(format!("--parameters {n}: expected 1 to {MAX_PARAMETERS}")));
            }
            let variable = |i: usize| Variable {
                name: format!("x{}", i + 1),
                start: distance,
                min: -bounds,
                max: bounds,
                integer: false,
                c_end: distance * 22.0 / 10.0, // not 220.00000000000003 of 100
                r_end: None,
                s: None,
                sigma: None,
                simul_elo: elo / n as f64 * (100.0 / distance).powi(2),
            };
            Ok(List { variables: (0..n).map(variable).collect(), optimum: vec![0.0; n], given: false })
        };
        numbers.iter().map(list).collect()
    }

    fn scenario(
        &self,
        list: &List,
        told: Option<&Told>,
        method: MethodKind,
        place: &[(&'static str, String, Scaled)],
        (repeats, seed): (usize, u64),
    ) -> Result<Scenario> {
        let setting = |name: &str, flag: Option<Scaled>| {
            place.iter().find(|(axis, ..)| *axis == name).map(|(.., value)| *value).or(flag)
        };
        let given = told.map(|told| told.settings.schedule);
        let usual = self.iterations.or(given.map(|given| given.iterations)).unwrap_or(200_000);
        let iterations = Scaled::apply(setting("iterations", None), usual as f64);
        if !(1.0..1e15).contains(&iterations) {
            return Err(Error::Usage(format!(
                "--iterations {iterations}: must be at least 1 and below 1e15"
            )));
        }
        let iterations = iterations.round() as u64;
        let draw_rate = self.draw_rate.or(told.map(|told| told.draw_rate)).unwrap_or(0.82);
        gputexel::spsa::check_draw_rate(draw_rate)?;
        // A of a configuration is for its own number of iterations, as its r_end is.
        let spsa = given.map_or(Schedule::new(iterations), |given| Schedule { iterations, ..given });
        let schedule = Schedule {
            iterations,
            stability: Scaled::apply(setting("a", self.stability), spsa.stability),
            alpha: self.alpha.unwrap_or(spsa.alpha),
            gamma: self.gamma.unwrap_or(spsa.gamma),
        };
        let noise = match self.tau.as_deref() {
            None => match told.map(|told| told.settings.noise) {
                Some(noise @ Noise::Tau(_)) => noise,
                _ => Noise::DrawRate(draw_rate),
            },
            Some("measured") => Noise::Measured(0.5),
            Some(text) => Noise::Tau(
                text.parse()
                    .map_err(|_| Error::Usage(format!("--tau {text}: expected a number, or measured")))?,
            ),
        };
        let rounding = self.rounding.unwrap_or_default();
        let settings = Settings { method, schedule, noise, rounding, as_published: self.as_published };
        let mut variables = list.variables.clone();
        let bounds: Vec<(f64, f64)> = variables.iter().map(|v| (v.min, v.max)).collect();
        let auto = (method == MethodKind::Constant && !list.given)
            .then(|| planner::autoselect(&bounds, 0.5, 2.0, draw_rate))
            .transpose()?;
        for (i, (variable, &optimum)) in variables.iter_mut().zip(&list.optimum).enumerate() {
            let distance = distance(variable, optimum);
            let elo = variable.simul_elo * (distance / 100.0).powi(2);
            variable.integer = self.integers;
            let c_end = auto.as_ref().map_or(variable.c_end, |auto| auto.c[i]);
            variable.c_end = Scaled::apply(setting("c-end", self.c_end), c_end);
            positive(&format!("{}: c_end", variable.name), variable.c_end)?;
            if method.is_bayesian() {
                variable.s = Some(Scaled::apply(setting("s", self.s), variable.s.unwrap_or(distance)));
                let usual = variable.sigma.unwrap_or(9.9 * distance / elo.sqrt());
                let sigma = Scaled::apply(setting("sigma", self.sigma), usual);
                if elo == 0.0 && sigma == f64::INFINITY {
                    return Err(Error::Usage(format!(
                        "{}: simul_elo is 0, so there is no default sigma: give --sigma, or --elo",
                        variable.name
                    )));
                }
                variable.sigma = Some(sigma);
                continue;
            }
            let asked = setting("r-end", self.r_end);
            let usual = || match (&auto, variable.r_end) {
                (Some(auto), _) => Ok(auto.r),
                (None, Some(given)) => Ok(given),
                (None, None) => planner::gain(iterations as f64, elo, variable.c_end / distance, draw_rate)
                    .ok_or_else(|| {
                        Error::Usage(format!(
                            "{}: {iterations} pairs are too few for {elo:.3} Elo at c_end {}, so there is no \
                             default r_end: give --r-end",
                            variable.name, variable.c_end
                        ))
                    }),
            };
            variable.r_end = Some(match asked {
                Some(Scaled::Number(value)) => value,
                _ => Scaled::apply(asked, usual()?),
            });
        }
        let concurrency = self.concurrency.unwrap_or(1);
        let optimum = list.optimum.clone();
        let scenario = Scenario { settings, variables, optimum, draw_rate, repeats, seed, concurrency };
        scenario.validate()?;
        Ok(scenario)
    }
}

/// What a configuration says.
struct Told {
    settings: Settings,
    variables: Vec<Variable>,
    draw_rate: f64,
}

impl Told {
    fn open(path: &Path) -> Result<Self> {
        Ok(match Conf::open(path)? {
            Conf::Games(config) => {
                let draw_rate = config.run.draw_rate.unwrap_or(0.5);
                Self { settings: config.settings(), variables: config.parameters, draw_rate }
            }
            Conf::Simulation(Simulation { settings, variables, draw_rate, .. }) => {
                Self { settings, variables, draw_rate }
            }
        })
    }
}

/// An engine to be simulated.
struct List {
    variables: Vec<Variable>,
    optimum: Vec<f64>,
    /// Whether it was read from a file, whose settings count.
    given: bool,
}

/// How far a variable is from its optimum; of one that starts there, what its c_end takes for it.
fn distance(variable: &Variable, optimum: f64) -> f64 {
    let distance = (variable.start - optimum).abs();
    if distance > 0.0 { distance } else { variable.c_end / 2.2 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_factors_and_axes_are_read() {
        assert_eq!("220".parse(), Ok(Scaled::Number(220.0)));
        assert_eq!("x0.5".parse(), Ok(Scaled::Factor(0.5)));
        for bad in ["", "x", "nan", "2y", "inf"] {
            assert!(bad.parse::<Scaled>().is_err(), "{bad}");
        }
        let axis: GridAxis = "A=x1, 300".parse().unwrap();
        assert_eq!(axis.name, "a");
        assert_eq!(axis.values[1], ("300".to_string(), Scaled::Number(300.0)));
        for bad in ["c-end", "gamma=1", "c-end=", "c-end=1,,2"] {
            assert!(bad.parse::<GridAxis>().is_err(), "{bad}");
        }
    }
}
