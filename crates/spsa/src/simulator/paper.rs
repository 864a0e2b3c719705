//! The table of arXiv:2205.15602 and the settings behind it.

use super::Scenario;
use crate::method_kind::MethodKind;
use crate::schedule::Schedule;
use crate::settings::{Noise, Settings};
use crate::variables::Variable;

/// Elo gained over 50 runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PaperCell {
    pub method: MethodKind,
    pub parameters: usize,
    pub mean: f64,
    pub sd: f64,
    pub r_end: f64,
    /// BSPSA's width of the curve of strength.
    pub sigma: f64,
}

const RUNS: f64 = 50.0;

/// Of each size: number of parameters, `r_end` and σ from the authors' spreadsheet, and what the paper says
/// of the three methods.
pub fn paper_cells() -> Vec<PaperCell> {
    let methods = [MethodKind::Spsa, MethodKind::Bspsas, MethodKind::Bspsa];
    let sizes = [
        (1, 0.00008, 700.0, [(1.99944, 0.00071), (1.99970, 0.00042), (1.99968, 0.00044)]),
        (4, 0.00022, 1400.0, [(1.9929, 0.0044), (1.9951, 0.0035), (1.9953, 0.0033)]),
        (16, 0.00059, 2800.0, [(1.9048, 0.0331), (1.9333, 0.0256), (1.9303, 0.0243)]),
        (64, 0.0009, 5600.0, [(1.2616, 0.1159), (1.2525, 0.1093), (1.2683, 0.1054)]),
    ];
    let cells = sizes.into_iter().flat_map(|(parameters, r_end, sigma, results)| {
        let cell = move |(method, (mean, sd))| PaperCell { method, parameters, mean, sd, r_end, sigma };
        methods.into_iter().zip(results).map(cell)
    });
    cells.collect()
}

impl PaperCell {
    /// The run of this cell: 200,000 pairs, 82 % of all games drawn, every parameter 100 away from its optimum at
    /// 0, a total of 2 Elo to gain.
    pub fn scenario(&self, repeats: usize, seed: u64) -> Scenario {
        let n = self.parameters;
        let variable = |i: usize| Variable {
            name: format!("x{}", i + 1),
            start: 100.0,
            min: -1000.0,
            max: 1000.0,
            integer: false,
            c_end: 220.0,
            r_end: Some(self.r_end),
            s: Some(100.0),
            sigma: Some(self.sigma),
            simul_elo: 2.0 / n as f64,
        };
        let schedule = Schedule { iterations: 200_000, stability: 20_000.0, alpha: 0.602, gamma: 0.101 };
        let settings =
            Settings { schedule, noise: Noise::Tau(0.6), ..Settings::new(self.method, 200_000, 0.82) };
        let variables = (0..n).map(variable).collect();
        Scenario { settings, variables, optimum: vec![0.0; n], draw_rate: 0.82, repeats, seed }
    }

    /// How far a mean is from the paper's, in standard errors of both together.
    pub fn deviations(&self, mean: f64, standard_error: f64) -> f64 {
        (mean - self.mean) / (self.sd * self.sd / RUNS + standard_error * standard_error).sqrt()
    }
}
