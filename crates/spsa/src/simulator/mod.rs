//! What a method gains on an engine whose strength is known.
//!
//! Strength is a parabola in every parameter, games are drawn at a fixed rate, and a run is repeated
//! many times. Repeats advance together in lanes and on all threads, or on a GPU; each has its own
//! generator, so that results depend on the seed alone. Owns the model, the statistics and the settings of the
//! paper's table; shows nothing.

mod backend;
mod driver;
mod games;
pub mod gpu;
mod lanes;
mod paper;
mod random;
mod single;
mod statistics;
mod trial;

use std::sync::atomic::AtomicBool;

use super::methods::Method;
use super::settings::{Noise, Settings, check_draw_rate};
use super::variables::{Variable, positive, validate};
use gputexel_files::{Error, Result};
use gputexel_gpu::GpuContext;

pub use backend::{Simulated, Simulator};
pub use paper::{PaperCell, paper_cells};
pub use statistics::{Summary, percentile};
#[doc(hidden)]
pub use trial::trial_scenario;

/// What is simulated.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// The run.
    pub settings: Settings,
    /// Its variables; `simul_elo` is the Elo lost at a distance of 100 from the optimum.
    pub variables: Vec<Variable>,
    /// Where each parameter is best.
    pub optimum: Vec<f64>,
    /// Share of all games that is drawn.
    pub draw_rate: f64,
    /// Runs.
    pub repeats: usize,
    /// Seed of everything random.
    pub seed: u64,
    /// Pairs of games in flight at a time.
    pub concurrency: usize,
}

impl Scenario {
    /// Elo of some values, at most 0.
    pub fn elo(&self, values: &[f64]) -> f64 {
        let one = |((v, x), o): ((&Variable, &f64), &f64)| v.simul_elo * 1e-4 * (x - o) * (x - o);
        -self.variables.iter().zip(values).zip(&self.optimum).map(one).sum::<f64>()
    }

    /// Elo of the start: what there is to be gained, negative.
    pub fn start_elo(&self) -> f64 {
        let start: Vec<f64> = self.variables.iter().map(|v| v.start).collect();
        self.elo(&start)
    }

    /// Refuses what cannot be simulated.
    ///
    /// # Errors
    /// [`Error::Usage`].
    pub fn validate(&self) -> Result<()> {
        self.settings.validate()?;
        validate(&self.variables)?;
        check_draw_rate(self.draw_rate)?;
        positive("repeats", self.repeats as f64)?;
        positive("concurrency", self.concurrency as f64)?;
        if self.optimum.len() != self.variables.len() || self.optimum.iter().any(|o| !o.is_finite()) {
            return Err(Error::Usage("every parameter needs an optimum that is a number".to_string()));
        }
        if !self.start_elo().is_finite() || self.start_elo() == 0.0 {
            let why = "the start is as strong as can be: give Elo (simul_elo) and distance to the parameters";
            return Err(Error::Usage(why.to_string()));
        }
        Ok(())
    }

    /// What only the tuner itself does, on a CPU: lanes and GPUs neither wait, nor measure, nor
    /// round.
    pub fn needs_tuner(&self) -> Option<&'static str> {
        if self.concurrency > 1 {
            return Some("concurrent pairs");
        }
        if matches!(self.settings.noise, Noise::Measured(_)) {
            return Some("a measured tau");
        }
        self.variables.iter().any(|v| v.integer).then_some("integer parameters")
    }
}

/// What came of the repeats.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Elo gained from start to end, a repeat.
    pub gains: Vec<f64>,
    /// The same after some numbers of iterations, the first of which is 0.
    pub trajectory: Vec<(u64, Vec<f64>)>,
    /// Final values, `[repeat][parameter]`, as fractions.
    pub values: Vec<Vec<f64>>,
    /// Root of the mean square distance of final values from the optimum, over repeats and
    /// parameters.
    pub rms_error: f64,
    /// What the posterior says of that; `None` for methods without one.
    pub deviation: Option<f64>,
}

/// Lanes of a block: four vectors of the widest instruction set, which hides latencies. (Loops of
/// eight are unrolled before they are vectorized, and then are not.)
const LANES: usize = 32;

/// Simulates all repeats on the CPU; `progress` is told the iterations done.
///
/// # Errors
/// [`Error::Usage`] for scenarios that cannot be simulated, [`Error::Interrupted`] once `cancel` is
/// set, [`Error::Numeric`] when values leave the finite numbers.
pub fn simulate(scenario: &Scenario, cancel: &AtomicBool, progress: &mut dyn FnMut(u64)) -> Result<Outcome> {
    check(scenario)?;
    if scenario.needs_tuner().is_some() {
        let repeats = 0..scenario.repeats as u64;
        let runners = repeats.map(|repeat| single::Single::try_new(scenario, repeat));
        return driver::run(scenario, runners.collect::<Result<Vec<_>>>()?, cancel, progress);
    }
    driver::run(scenario, blocks(scenario), cancel, progress)
}

/// Simulates all repeats on a GPU, in f32; otherwise as [`simulate`], whose games these are until
/// rounding lets one of them end differently.
///
/// # Errors
/// As [`simulate`]; also [`Error::Usage`] for what [`Scenario::needs_tuner`] names and for settings
/// that f32 does not hold, and [`Error::Gpu`] when the device fails.
pub fn simulate_on_gpu(
    context: &GpuContext,
    scenario: &Scenario,
    cancel: &AtomicBool,
    progress: &mut dyn FnMut(u64),
) -> Result<Outcome> {
    let summary = context.summary();
    // Kernels count elements in 32 bits.
    let bytes = summary.max_binding_bytes.min(summary.max_buffer_bytes).min(1 << 33);
    simulate_in_groups(context, bytes, scenario, cancel, progress)
}

fn simulate_in_groups(
    context: &GpuContext,
    binding_bytes: u64,
    scenario: &Scenario,
    cancel: &AtomicBool,
    progress: &mut dyn FnMut(u64),
) -> Result<Outcome> {
    check(scenario)?;
    if let Some(what) = scenario.needs_tuner() {
        return Err(Error::Usage(format!("{what}: simulated on the CPU only")));
    }
    let repeats = gpu::GpuRepeats::try_new(context, scenario, binding_bytes)?;
    driver::run(scenario, vec![repeats], cancel, progress)
}

fn check(scenario: &Scenario) -> Result<()> {
    scenario.validate()?;
    // Names the setting that a method lacks.
    Method::try_new(&scenario.settings, &scenario.variables).map(|_| ())
}

fn blocks(scenario: &Scenario) -> Vec<lanes::Block<LANES>> {
    let count = |first: usize| LANES.min(scenario.repeats - first);
    let firsts = (0..scenario.repeats).step_by(LANES);
    firsts.map(|first| lanes::Block::new(scenario, first as u64, count(first))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BoundRule, MethodKind};
    use std::io::Write as _;

    fn mixed(method: MethodKind, as_published: bool) -> Scenario {
        Scenario { repeats: 37, ..trial_scenario(method, as_published, 1500) }
    }

    #[test]
    fn lanes_do_what_the_tuner_does() {
        for method in MethodKind::ALL {
            let mut centered = mixed(method, false);
            centered.settings.near_bounds = BoundRule::Centered;
            for scenario in [mixed(method, false), mixed(method, true), centered] {
                let lanes = simulate(&scenario, &AtomicBool::new(false), &mut |_| {}).unwrap();
                assert_eq!(lanes.gains.len(), 37);
                // The first block, and the last lane of the second.
                for repeat in [0, 31, 36] {
                    let single = vec![single::Single::try_new(&scenario, repeat as u64).unwrap()];
                    let single =
                        driver::run(&scenario, single, &AtomicBool::new(false), &mut |_| {}).unwrap();
                    let pairs = lanes.values[repeat].iter().zip(&single.values[0]);
                    for (lane, single) in pairs {
                        assert!((lane - single).abs() < 1e-7, "{method} {repeat}: {lane} {single}");
                    }
                    assert!((lanes.gains[repeat] - single.gains[0]).abs() < 1e-7);
                    assert_eq!(lanes.trajectory.len(), single.trajectory.len());
                }
                let moved = |repeat: usize| (lanes.values[repeat][0] - scenario.variables[0].start).abs();
                assert!(moved(0) > 0.1 && lanes.values[0] != lanes.values[1]);
            }
        }
    }

    #[test]
    fn posteriors_of_lanes_and_tuner_agree() {
        for method in [MethodKind::Bspsas, MethodKind::Bspsa] {
            let scenario = Scenario { repeats: 1, ..mixed(method, false) };
            let lanes = simulate(&scenario, &AtomicBool::new(false), &mut |_| {}).unwrap();
            let single = vec![single::Single::try_new(&scenario, 0).unwrap()];
            let single = driver::run(&scenario, single, &AtomicBool::new(false), &mut |_| {}).unwrap();
            let (lanes, single) = (lanes.deviation.unwrap(), single.deviation.unwrap());
            assert!((lanes / single - 1.0).abs() < 1e-9 && lanes < 95.0, "{method}: {lanes} {single}");
        }
    }

    #[test]
    fn nonsense_is_refused_and_cancelling_works() {
        let run = |scenario: &Scenario| simulate(scenario, &AtomicBool::new(false), &mut |_| {});
        let good = mixed(MethodKind::Spsa, false);
        assert!(run(&Scenario { repeats: 0, ..good.clone() }).is_err());
        assert!(run(&Scenario { draw_rate: f64::NAN, ..good.clone() }).is_err());
        assert!(run(&Scenario { concurrency: 0, ..good.clone() }).is_err());
        assert!(run(&Scenario { optimum: vec![0.0], ..good.clone() }).is_err());
        let mut lacking = good.clone();
        lacking.variables[3].r_end = None;
        assert!(run(&lacking).unwrap_err().to_string().starts_with("x3: spsa needs r_end"));
        let there = good.variables.iter().map(|v| v.start).collect();
        assert!(run(&Scenario { optimum: there, ..good.clone() }).is_err());
        let cancelled = simulate(&good, &AtomicBool::new(true), &mut |_| {});
        assert!(matches!(cancelled, Err(Error::Interrupted(_))));
    }

    #[test]
    fn results_on_a_gpu_do_not_depend_on_groups() {
        let context = match GpuContext::with_default_limits(true) {
            Ok(context) => context,
            Err(error) => {
                let switches = ["GPUTEXEL_REQUIRE_GPU", "GPUTEXEL_REQUIRE_ALL", "GPUTEXEL_REQUIRE"];
                let asked = |name| {
                    std::env::var(name)
                        .is_ok_and(|v| v == "1" || v.split(',').any(|item| item.trim() == "gpu"))
                };
                assert!(!switches.into_iter().any(asked), "{error}");
                // Past the harness, which shows what is printed of failed tests alone.
                let _ = writeln!(std::io::stderr(), "SKIPPED: no gpu: {error}");
                return;
            }
        };
        for method in MethodKind::ALL {
            let mut scenario = mixed(method, false);
            scenario.settings.schedule.iterations = 40;
            scenario.variables.truncate(10);
            scenario.optimum.truncate(10);
            let run = |bytes: u64| {
                simulate_in_groups(&context, bytes, &scenario, &AtomicBool::new(false), &mut |_| {})
            };
            // 55 rows of the covariance and 10 of the walk: five repeats a group, or 28.
            assert_eq!(run(55 * 4 * 5).unwrap(), run(1 << 20).unwrap(), "{method}");
            assert!(run(16).unwrap_err().to_string().contains("exceeds the 16 bytes of a binding"));
        }
    }
}
