//! Flags of `spsa simulate` that define the runs, as a grid of scenarios.

use std::path::PathBuf;

use gputexel::spsa::config::Conf;
use gputexel::spsa::grid::{GridAxis, GridCell, GridParameters, Scaled, ScenarioGrid};
use gputexel::spsa::{MethodKind, Rounding, read_variables};
use gputexel::{Error, Result};

use super::super::settings::parsed;

/// Flags that define the scenarios.
#[derive(Debug, Default, PartialEq, clap::Args)]
pub struct ScenarioArgs {
    /// Methods to simulate: spsa, bspsas, bspsa, constant [default: spsa,bspsas,bspsa]
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "Simulation")]
    method: Vec<MethodKind>,
    /// Parameter list in the format of spsa.pl (7 columns) or bspsa.pl (8 columns)
    #[arg(long, value_name = "CSV", help_heading = "Simulation", conflicts_with_all = ["parameters", "distance", "bounds"])]
    variables: Option<PathBuf>,
    /// Configuration of spsa.pl or bspsa.pl (Simulate = 1), or of 'spsa run'; its method, iterations, A, exponents,
    /// tau and parameters are used; other flags override them
    #[arg(long, value_name = "FILE", help_heading = "Simulation", conflicts_with_all = ["variables", "parameters", "distance", "bounds"])]
    conf: Option<PathBuf>,
    /// Numbers of identical parameters, simulated one after the other [default: 4]
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "Simulation")]
    parameters: Vec<usize>,
    /// Distance of their starting values from the optimum, which is at 0 [default: 100]
    #[arg(long, value_name = "D", help_heading = "Simulation")]
    distance: Option<f64>,
    /// Total Elo lost by all of them at the start [default: 2, or from the list]
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
    rounding: Option<Rounding>,
    /// Update with the intended perturbation instead of the one left after clamping and rounding
    #[arg(long, help_heading = "Settings")]
    as_published: bool,
    /// Vary c-end, r-end, s, sigma, a or iterations: c-end=55,110,220 or sigma=x0.5,x1,x2; repeat
    /// for a grid
    #[arg(long, value_name = "NAME=LIST", help_heading = "Settings")]
    grid: Vec<GridAxis>,
}

impl ScenarioArgs {
    /// Returns all requested runs.
    ///
    /// # Errors
    /// Bad usage, and lists that cannot be read.
    pub fn cells(&self, repeats: usize, seed: u64) -> Result<Vec<GridCell>> {
        let grid = ScenarioGrid {
            methods: self.method.clone(),
            parameters: self.parameters()?,
            elo: self.elo,
            iterations: self.iterations,
            draw_rate: self.draw_rate,
            concurrency: self.concurrency.unwrap_or(1),
            c_end: self.c_end,
            r_end: self.r_end,
            stability: self.stability,
            alpha: self.alpha,
            gamma: self.gamma,
            s: self.s,
            sigma: self.sigma,
            noise: parsed(&self.tau)?,
            integers: self.integers,
            rounding: self.rounding.unwrap_or_default(),
            as_published: self.as_published,
            axes: self.grid.clone(),
        };
        grid.cells(repeats, seed)
    }

    fn parameters(&self) -> Result<GridParameters> {
        let optimum = self.optimum.clone();
        if let Some(path) = &self.conf {
            return Ok(GridParameters::Configured { conf: Box::new(Conf::open(path)?), optimum });
        }
        if let Some(path) = &self.variables {
            return Ok(GridParameters::Listed { variables: read_variables(path)?.1, optimum });
        }
        if !optimum.is_empty() {
            return Err(Error::Usage(
                "--optimum: only applies to parameters of --variables or --conf".to_string(),
            ));
        }
        let counts = if self.parameters.is_empty() { vec![4] } else { self.parameters.clone() };
        let (distance, bounds) = (self.distance.unwrap_or(100.0), self.bounds.unwrap_or(1000.0));
        Ok(GridParameters::Equal { counts, distance, bounds })
    }
}
