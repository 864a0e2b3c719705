//! The result of a cell of a grid, for machines.

use serde::{Serialize, Serializer};

use super::GridCell;
use crate::simulator::{Outcome, PaperCell, Summary};
use crate::{MethodKind, Noise};

/// A cell of the grid that was simulated.
#[derive(Clone, Debug)]
pub struct SimulatedCell {
    /// The cell.
    pub cell: GridCell,
    /// Elo gained.
    pub summary: Summary,
    /// Root of the mean square distance of final values from the optimum.
    pub rms_error: f64,
    /// The same by the posterior; `None` for methods without one.
    pub deviation: Option<f64>,
    /// The paper's figures, where the cell is one of its table.
    pub paper: Option<PaperCell>,
    /// Seconds that it took.
    pub seconds: f64,
}

impl SimulatedCell {
    /// Sums up the outcome of a cell.
    pub fn new(cell: GridCell, outcome: &Outcome, paper: Option<PaperCell>, seconds: f64) -> Self {
        let &Outcome { rms_error, deviation, .. } = outcome;
        Self { cell, summary: Summary::new(&outcome.gains), rms_error, deviation, paper, seconds }
    }

    /// It in one object; its JSON is what `--json` prints.
    pub fn report(&self) -> CellReport<'_> {
        let (s, scenario) = (&self.summary, &self.cell.scenario);
        let settings = &scenario.settings;
        let bayesian = settings.method.is_bayesian();
        let variables = scenario.variables.iter().zip(&scenario.optimum).map(|(v, optimum)| VariableReport {
            name: &v.name,
            start: v.start,
            min: v.min,
            max: v.max,
            optimum: *optimum,
            simul_elo: v.simul_elo,
            c_end: v.c_end,
            s: bayesian.then_some(v.s),
            sigma: bayesian.then_some(v.sigma),
            r_end: (!bayesian).then_some(v.r_end),
        });
        CellReport {
            method: settings.method,
            parameters: scenario.variables.len(),
            mean: s.mean,
            sd: s.sd,
            paper_mean: self.paper.map(|paper| paper.mean),
            paper_sd: self.paper.map(|paper| paper.sd),
            difference_in_standard_errors: self.paper.map(|paper| paper.deviations(s.mean, s.standard_error)),
            repeats: scenario.repeats,
            standard_error: s.standard_error,
            p5: s.p5,
            p25: s.p25,
            median: s.median,
            p75: s.p75,
            p95: s.p95,
            rms_error: self.rms_error,
            posterior_deviation: self.deviation,
            elo_at_start: scenario.start_elo(),
            iterations: settings.schedule.iterations,
            a: settings.schedule.stability,
            alpha: settings.schedule.alpha,
            gamma: settings.schedule.gamma,
            noise: settings.noise,
            draw_rate: scenario.draw_rate,
            concurrency: scenario.concurrency,
            as_published: settings.as_published,
            seed: scenario.seed,
            grid: &self.cell.place,
            seconds: self.seconds,
            variables: self.paper.is_none().then(|| variables.collect()),
        }
    }
}

/// The result of a cell of the grid. Gains are in Elo.
#[derive(Clone, Debug, Serialize)]
pub struct CellReport<'a> {
    /// The update rule.
    pub method: MethodKind,
    /// Number of parameters.
    pub parameters: usize,
    /// Mean gain.
    pub mean: f64,
    /// Standard deviation of the gains.
    pub sd: f64,
    /// The paper's mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paper_mean: Option<f64>,
    /// The paper's standard deviation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paper_sd: Option<f64>,
    /// Difference of the means, in standard errors of both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference_in_standard_errors: Option<f64>,
    /// Runs.
    pub repeats: usize,
    /// Standard error of the mean.
    pub standard_error: f64,
    /// The gain that 5 % of the runs stay below.
    pub p5: f64,
    /// The lower quartile.
    pub p25: f64,
    /// The median.
    pub median: f64,
    /// The upper quartile.
    pub p75: f64,
    /// The gain that 95 % of the runs stay below.
    pub p95: f64,
    /// Root of the mean square distance of final values from the optimum.
    pub rms_error: f64,
    /// The same by the posterior.
    pub posterior_deviation: Option<f64>,
    /// Elo of the start, negative.
    pub elo_at_start: f64,
    /// Pairs of games in a run.
    pub iterations: u64,
    /// A.
    pub a: f64,
    /// Exponent of the gain.
    pub alpha: f64,
    /// Exponent of the perturbation.
    pub gamma: f64,
    /// τ² of the Bayesian methods.
    pub noise: Noise,
    /// Share of drawn games.
    pub draw_rate: f64,
    /// Pairs played at a time.
    pub concurrency: usize,
    /// Updates are with the perturbation that was meant.
    pub as_published: bool,
    /// Seed.
    pub seed: u64,
    /// Name and value along each axis of the grid.
    #[serde(serialize_with = "as_map")]
    pub grid: &'a [(&'static str, String)],
    /// Seconds that it took.
    pub seconds: f64,
    /// The parameters, unless the cell is one of the paper's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variables: Option<Vec<VariableReport<'a>>>,
}

/// A parameter of a simulated engine. Settings that the method does not use are left out.
#[derive(Clone, Debug, Serialize)]
pub struct VariableReport<'a> {
    /// Its name.
    pub name: &'a str,
    /// Where it starts.
    pub start: f64,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
    /// Where it is best.
    pub optimum: f64,
    /// Elo lost at a distance of 100 from there.
    pub simul_elo: f64,
    /// Perturbation at the last iteration.
    pub c_end: f64,
    /// BSPSA's s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub s: Option<Option<f64>>,
    /// BSPSA's sigma.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sigma: Option<Option<f64>>,
    /// SPSA's gain at the last iteration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r_end: Option<Option<f64>>,
}

fn as_map<S: Serializer>(pairs: &[(&'static str, String)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(name, value)| (name, value)))
}
