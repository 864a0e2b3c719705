//! Grids of scenarios: methods, numbers of parameters and settings, each combined with each.

mod report;

use std::str::FromStr;

use gputexel_io::{Error, Result};

pub use report::{CellReport, SimulatedCell, VariableReport};

use crate::config::{Conf, Simulation};
use crate::simulator::Scenario;
use crate::variables::positive;
use crate::{MethodKind, Noise, Rounding, Schedule, Settings, Variable, check_draw_rate, planner};

/// Most parameters of a simulated engine, and most cells of a grid.
const MAX_PARAMETERS: usize = 4096;
const MAX_CELLS: usize = 1000;

/// A number, or a factor on what it would be otherwise (`x0.5`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scaled {
    /// The number itself.
    Number(f64),
    /// So many times what it would be otherwise.
    Factor(f64),
}

impl FromStr for Scaled {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (factor, digits) = match text.strip_prefix(['x', '*']) {
            Some(digits) => (true, digits),
            None => (false, text),
        };
        match digits.trim().parse::<f64>() {
            Ok(value) if value.is_finite() && factor => Ok(Self::Factor(value)),
            Ok(value) if value.is_finite() => Ok(Self::Number(value)),
            _ => Err(Error::Usage("expected a number, or a factor such as x0.5".to_string())),
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

/// A setting that can be varied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GridSetting {
    /// Perturbation at the end.
    CEnd,
    /// Gain at the end.
    REnd,
    /// BSPSA's s.
    S,
    /// BSPSA's sigma.
    Sigma,
    /// A, iterations that hold gains back.
    A,
    /// Pairs of games in a run.
    Iterations,
}

impl GridSetting {
    const ALL: [Self; 6] = [Self::CEnd, Self::REnd, Self::S, Self::Sigma, Self::A, Self::Iterations];

    /// Its name: `c-end`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CEnd => "c-end",
            Self::REnd => "r-end",
            Self::S => "s",
            Self::Sigma => "sigma",
            Self::A => "a",
            Self::Iterations => "iterations",
        }
    }
}

/// An axis of the grid, written `c-end=55,110` or `sigma=x0.5,x1,x2`.
#[derive(Clone, Debug, PartialEq)]
pub struct GridAxis {
    /// What is varied.
    pub setting: GridSetting,
    /// Its values, each as typed and as meant.
    pub values: Vec<(String, Scaled)>,
}

impl FromStr for GridAxis {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let usage = |reason: String| Error::Usage(reason);
        let (name, list) =
            text.split_once('=').ok_or_else(|| usage("expected NAME=VALUE,VALUE,...".to_string()))?;
        let known = GridSetting::ALL.into_iter().find(|s| s.name().eq_ignore_ascii_case(name.trim()));
        let names = GridSetting::ALL.map(GridSetting::name).join(", ");
        let setting = known.ok_or_else(|| usage(format!("'{name}': expected one of {names}")))?;
        let values = list.split(',').map(|value| {
            let value = value.trim();
            let scaled = value.parse().map_err(|e| usage(format!("'{value}': {e}")))?;
            Ok((value.to_string(), scaled))
        });
        Ok(Self { setting, values: values.collect::<Result<_>>()? })
    }
}

/// What is simulated: every combination of the parameters, the methods and the axes.
#[derive(Clone, Debug, PartialEq)]
pub struct ScenarioGrid {
    /// Methods; none stands for that of the configuration, or else `spsa`, `bspsas` and `bspsa`.
    pub methods: Vec<MethodKind>,
    /// The parameters.
    pub parameters: GridParameters,
    /// Elo that all of them together lose at the start; of equal ones 2, of listed ones what the list
    /// says, where there is none.
    pub elo: Option<f64>,
    /// Pairs of games in a run; 200,000, or what the configuration says, where there is none.
    pub iterations: Option<u64>,
    /// Share of the games that is drawn, 0 to 1; 0.82, or what the configuration says, where there is none.
    pub draw_rate: Option<f64>,
    /// Pairs played at a time: each is told when others have been asked for since.
    pub concurrency: usize,
    /// Perturbation at the end; 2.2 distances, or what the list says, where there is none.
    pub c_end: Option<Scaled>,
    /// Gain at the end; by [`planner::gain`], or what the list says, where there is none.
    pub r_end: Option<Scaled>,
    /// A; a tenth of the iterations, or what the configuration says, where there is none.
    pub stability: Option<Scaled>,
    /// Exponent of the gain.
    pub alpha: Option<f64>,
    /// Exponent of the perturbation.
    pub gamma: Option<f64>,
    /// BSPSA's s; the distance, or what the list says, where there is none.
    pub s: Option<Scaled>,
    /// BSPSA's sigma; 9.9 distance / sqrt(Elo), or what the list says, where there is none.
    pub sigma: Option<Scaled>,
    /// BSPSA's τ; that of the configuration, or by the draw rate, where there is none.
    pub noise: Option<Noise>,
    /// Play whole numbers only.
    pub integers: bool,
    /// How whole numbers are made.
    pub rounding: Rounding,
    /// Update with the perturbation that was meant.
    pub as_published: bool,
    /// What is varied.
    pub axes: Vec<GridAxis>,
}

impl Default for ScenarioGrid {
    /// Four equal parameters that are 100 from the best value and lose 2 Elo.
    fn default() -> Self {
        Self {
            methods: Vec::new(),
            parameters: GridParameters::Equal { counts: vec![4], distance: 100.0, bounds: 1000.0 },
            elo: None,
            iterations: None,
            draw_rate: None,
            concurrency: 1,
            c_end: None,
            r_end: None,
            stability: None,
            alpha: None,
            gamma: None,
            s: None,
            sigma: None,
            noise: None,
            integers: false,
            rounding: Rounding::default(),
            as_published: false,
            axes: Vec::new(),
        }
    }
}

/// The parameters of simulated engines.
#[derive(Clone, Debug, PartialEq)]
pub enum GridParameters {
    /// Equal ones, which are best at 0.
    Equal {
        /// Numbers of parameters, simulated one after the other.
        counts: Vec<usize>,
        /// Where they start.
        distance: f64,
        /// Their bounds on either side of 0.
        bounds: f64,
    },
    /// Listed ones.
    Listed {
        /// The list, with the settings that it has.
        variables: Vec<Variable>,
        /// Where they are best: one number for all, one each, or none for 0.
        optimum: Vec<f64>,
    },
    /// Those of a configuration, with its method, schedule and noise.
    Configured {
        /// The configuration.
        conf: Box<Conf>,
        /// Where they are best: one number for all, one each, or none for 0.
        optimum: Vec<f64>,
    },
}

/// One scenario of the grid.
#[derive(Clone, Debug, PartialEq)]
pub struct GridCell {
    /// What is simulated.
    pub scenario: Scenario,
    /// Name and value, as typed, along each axis of the grid.
    pub place: Vec<(&'static str, String)>,
}

impl ScenarioGrid {
    /// All scenarios, the last axis running fastest, then methods, then parameters.
    ///
    /// # Errors
    /// [`Error::Setting`] and [`Error::Usage`] for what cannot be simulated.
    pub fn cells(&self, repeats: usize, seed: u64) -> Result<Vec<GridCell>> {
        let configured = self.configured();
        let methods = match (&self.methods[..], &configured) {
            ([], Some(configured)) => std::slice::from_ref(&configured.settings.method),
            ([], None) => &[MethodKind::Spsa, MethodKind::Bspsas, MethodKind::Bspsa],
            (methods, _) => methods,
        };
        for (i, axis) in self.axes.iter().enumerate() {
            if self.axes[..i].iter().any(|other| other.setting == axis.setting) {
                return Err(Error::setting("grid", axis.setting.name(), "is given twice"));
            }
        }
        let places = self.axes.iter().map(|axis| axis.values.len()).try_fold(1, usize::checked_mul);
        let lists = self.lists(configured.as_ref())?;
        let count =
            places.and_then(|n| n.checked_mul(methods.len())).and_then(|n| n.checked_mul(lists.len()));
        let (Some(places), true) = (places, count.is_some_and(|count| count <= MAX_CELLS)) else {
            let reason = format!("more than {MAX_CELLS} runs");
            return Err(Error::Setting { setting: "grid", value: None, reason });
        };
        let mut cells = Vec::new();
        for list in &lists {
            for &method in methods {
                for index in 0..places {
                    let mut rest = index;
                    let mut place = Vec::new();
                    // The last axis runs fastest.
                    for axis in self.axes.iter().rev() {
                        let (text, value) = &axis.values[rest % axis.values.len()];
                        place.push((axis.setting, text.clone(), *value));
                        rest /= axis.values.len();
                    }
                    place.reverse();
                    let scenario =
                        self.scenario(list, configured.as_ref(), method, &place, (repeats, seed))?;
                    let place = place.into_iter().map(|(setting, text, _)| (setting.name(), text)).collect();
                    cells.push(GridCell { scenario, place });
                }
            }
        }
        Ok(cells)
    }

    /// The engines to be simulated: variables whose missing settings are still to be filled in, and
    /// their optima.
    fn lists(&self, configured: Option<&Configured>) -> Result<Vec<List>> {
        let (variables, optimum) = match (&self.parameters, configured) {
            (GridParameters::Equal { counts, distance, bounds }, _) => {
                return self.equal_lists(counts, *distance, *bounds);
            }
            (GridParameters::Configured { optimum, .. }, Some(configured)) => {
                (configured.variables.clone(), optimum)
            }
            (GridParameters::Configured { optimum, .. }, None) => (Vec::new(), optimum),
            (GridParameters::Listed { variables, optimum }, _) => (variables.clone(), optimum),
        };
        Ok(vec![self.listed(variables, optimum)?])
    }

    fn listed(&self, mut variables: Vec<Variable>, optimum: &[f64]) -> Result<List> {
        let optimum = match optimum {
            [] => vec![0.0; variables.len()],
            [one] => vec![*one; variables.len()],
            all if all.len() == variables.len() => all.to_vec(),
            all => {
                let reason = format!("{} values for {} parameters", all.len(), variables.len());
                return Err(Error::Setting { setting: "optimum", value: None, reason });
            }
        };
        let lost = |v: &Variable, o: f64| v.simul_elo * 1e-4 * (v.start - o).powi(2);
        if let Some(elo) = self.elo {
            positive_setting("elo", elo)?;
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
        Ok(List { variables, optimum, given: true })
    }

    fn equal_lists(&self, counts: &[usize], distance: f64, bounds: f64) -> Result<Vec<List>> {
        let elo = self.elo.unwrap_or(2.0);
        for (name, value) in [("distance", distance), ("elo", elo), ("bounds", bounds)] {
            positive_setting(name, value)?;
        }
        if distance > bounds {
            return Err(Error::setting("distance", distance, format!("is outside the bounds {bounds}")));
        }
        let list = |&n: &usize| {
            if n == 0 || n > MAX_PARAMETERS {
                return Err(Error::setting("parameters", n, format!("expected 1 to {MAX_PARAMETERS}")));
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
        counts.iter().map(list).collect()
    }

    fn configured(&self) -> Option<Configured> {
        let GridParameters::Configured { conf, .. } = &self.parameters else { return None };
        Some(match &**conf {
            Conf::Games(config) => {
                let draw_rate = config.run.draw_rate.unwrap_or(0.5);
                let (settings, variables) = (config.settings(), config.parameters.clone());
                Configured { settings, variables, draw_rate }
            }
            Conf::Simulation(Simulation { settings, variables, draw_rate, .. }) => {
                let (settings, variables) = (settings.clone(), variables.clone());
                Configured { settings, variables, draw_rate: *draw_rate }
            }
        })
    }

    fn scenario(
        &self,
        list: &List,
        configured: Option<&Configured>,
        method: MethodKind,
        place: &[(GridSetting, String, Scaled)],
        (repeats, seed): (usize, u64),
    ) -> Result<Scenario> {
        let setting = |setting: GridSetting, usual: Option<Scaled>| {
            place.iter().find(|(axis, ..)| *axis == setting).map(|(.., value)| *value).or(usual)
        };
        let given = configured.map(|configured| configured.settings.schedule);
        let usual = self.iterations.or(given.map(|given| given.iterations)).unwrap_or(200_000);
        let iterations = Scaled::apply(setting(GridSetting::Iterations, None), usual as f64);
        if !(1.0..1e15).contains(&iterations) {
            let reason = "must be at least 1 and below 1e15";
            return Err(Error::setting("iterations", iterations, reason));
        }
        let iterations = iterations.round() as u64;
        let draw_rate = self.draw_rate.or(configured.map(|c| c.draw_rate)).unwrap_or(0.82);
        check_draw_rate(draw_rate)?;
        // A of a configuration is for its own number of iterations, as its r_end is.
        let spsa = given.map_or(Schedule::new(iterations), |given| Schedule { iterations, ..given });
        let schedule = Schedule {
            iterations,
            stability: Scaled::apply(setting(GridSetting::A, self.stability), spsa.stability),
            alpha: self.alpha.unwrap_or(spsa.alpha),
            gamma: self.gamma.unwrap_or(spsa.gamma),
        };
        let noise = self.noise.unwrap_or_else(|| match configured.map(|c| c.settings.noise) {
            Some(noise @ Noise::Tau(_)) => noise,
            _ => Noise::DrawRate(draw_rate),
        });
        let Self { rounding, as_published, .. } = *self;
        let settings = Settings { method, schedule, noise, rounding, as_published };
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
            variable.c_end = Scaled::apply(setting(GridSetting::CEnd, self.c_end), c_end);
            positive(&format!("{}: c_end", variable.name), variable.c_end)?;
            if method.is_bayesian() {
                variable.s =
                    Some(Scaled::apply(setting(GridSetting::S, self.s), variable.s.unwrap_or(distance)));
                let usual = variable.sigma.unwrap_or(9.9 * distance / elo.sqrt());
                let sigma = Scaled::apply(setting(GridSetting::Sigma, self.sigma), usual);
                if elo == 0.0 && sigma == f64::INFINITY {
                    let reason =
                        format!("{}: simul_elo is 0, so there is no default: give it, or Elo", variable.name);
                    return Err(Error::Setting { setting: "sigma", value: None, reason });
                }
                variable.sigma = Some(sigma);
                continue;
            }
            let asked = setting(GridSetting::REnd, self.r_end);
            let usual = || match (&auto, variable.r_end) {
                (Some(auto), _) => Ok(auto.r),
                (None, Some(given)) => Ok(given),
                (None, None) => planner::gain(iterations as f64, elo, variable.c_end / distance, draw_rate)
                    .ok_or_else(|| {
                        let reason = format!(
                            "{}: {iterations} pairs are too few for {elo:.3} Elo at c_end {}, so there is no \
                             default: give it",
                            variable.name, variable.c_end
                        );
                        Error::Setting { setting: "r-end", value: None, reason }
                    }),
            };
            variable.r_end = Some(match asked {
                Some(Scaled::Number(value)) => value,
                _ => Scaled::apply(asked, usual()?),
            });
        }
        let concurrency = self.concurrency;
        let optimum = list.optimum.clone();
        let scenario = Scenario { settings, variables, optimum, draw_rate, repeats, seed, concurrency };
        scenario.validate()?;
        Ok(scenario)
    }
}

/// What a configuration says.
struct Configured {
    settings: Settings,
    variables: Vec<Variable>,
    draw_rate: f64,
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

fn positive_setting(setting: &'static str, value: f64) -> Result<()> {
    positive(setting, value).map_err(|_| Error::setting(setting, value, "must be a positive number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_factors_and_axes_are_read() {
        assert_eq!("220".parse::<Scaled>().unwrap(), Scaled::Number(220.0));
        assert_eq!("x0.5".parse::<Scaled>().unwrap(), Scaled::Factor(0.5));
        for bad in ["", "x", "nan", "2y", "inf"] {
            assert!(bad.parse::<Scaled>().is_err(), "{bad}");
        }
        let axis: GridAxis = "A=x1, 300".parse().unwrap();
        assert_eq!(axis.setting, GridSetting::A);
        assert_eq!(axis.values[1], ("300".to_string(), Scaled::Number(300.0)));
        for bad in ["c-end", "gamma=1", "c-end=", "c-end=1,,2"] {
            assert!(bad.parse::<GridAxis>().is_err(), "{bad}");
        }
    }
}
