//! Gains of a method on an engine whose strength is known.

mod driver;
mod games;
mod paper;
mod random;
mod statistics;

use super::settings::{Settings, check_draw_rate};
use super::variables::{Variable, positive, validate};
use gputexel_io::{Error, Result, StopFlag};

pub use paper::{PaperCell, paper_cells};
pub use statistics::{Summary, percentile};

/// A run on an engine whose strength is known, and its repeats.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    pub settings: Settings,
    /// `simul_elo` is the Elo lost at a distance of 100 from the optimum.
    pub variables: Vec<Variable>,
    pub optimum: Vec<f64>,
    pub draw_rate: f64,
    pub repeats: usize,
    pub seed: u64,
}

impl Scenario {
    /// Elo of some values, at most 0.
    pub fn elo(&self, values: &[f64]) -> f64 {
        let one = |((v, x), o): ((&Variable, &f64), &f64)| v.simul_elo * 1e-4 * (x - o) * (x - o);
        -self.variables.iter().zip(values).zip(&self.optimum).map(one).sum::<f64>()
    }

    pub fn start_elo(&self) -> f64 {
        let start: Vec<f64> = self.variables.iter().map(|v| v.start).collect();
        self.elo(&start)
    }

    pub fn validate(&self) -> Result<()> {
        self.settings.validate()?;
        validate(&self.variables)?;
        check_draw_rate(self.draw_rate)?;
        positive("repeats", self.repeats as f64)?;
        if self.optimum.len() != self.variables.len() || self.optimum.iter().any(|o| !o.is_finite()) {
            return Err(Error::Usage("every parameter needs an optimum that is a number".to_string()));
        }
        if !self.start_elo().is_finite() || self.start_elo() == 0.0 {
            let why = "the start is as strong as can be: give Elo (simul_elo) and distance to the parameters";
            return Err(Error::Usage(why.to_string()));
        }
        Ok(())
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    pub gains: Vec<f64>,
    pub values: Vec<Vec<f64>>,
    /// Root of the mean square distance of final values from the optimum, over repeats and parameters.
    pub rms_error: f64,
    /// `None` for methods without one.
    pub deviation: Option<f64>,
}

/// # Errors
/// [`Error::Usage`] for scenarios that cannot be simulated, [`Error::Interrupted`] once `stop` is set,
/// [`Error::Numeric`] when values leave the finite numbers.
pub fn simulate(scenario: &Scenario, stop: &StopFlag, progress: &mut dyn FnMut(u64)) -> Result<Outcome> {
    scenario.validate()?;
    driver::run(scenario, stop, progress)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method_kind::MethodKind;
    use crate::settings::Noise;
    use crate::tuner::Tuner;

    /// Parameters that differ, more of them than a word of signs has bits, with optima off the origin and bounds
    /// that are met.
    fn mixed(method: MethodKind) -> Scenario {
        let n = 70;
        let variable = |i: usize| Variable {
            name: format!("x{i}"),
            start: (40.0 + 10.0 * i as f64).min(130.0 + i as f64),
            min: -120.0,
            max: 130.0 + i as f64,
            integer: false,
            c_end: 30.0 + 5.0 * i as f64,
            r_end: Some(0.002),
            s: Some(60.0 + i as f64),
            sigma: Some(300.0 + 20.0 * i as f64),
            simul_elo: 3.0 + i as f64,
        };
        let optimum = (0..n).map(|i| -20.0 + i as f64).collect();
        Scenario {
            settings: Settings::new(method, 600, 0.6),
            variables: (0..n).map(variable).collect(),
            optimum,
            draw_rate: 0.6,
            repeats: 5,
            seed: 3,
        }
    }

    /// The tuner asked and told in the plain way, without anything that is shared or used again.
    fn plainly(scenario: &Scenario, repeat: u64) -> Vec<f64> {
        let mut tuner = Tuner::try_new(scenario.settings.clone(), scenario.variables.clone()).unwrap();
        let mut random = random::SignRandom::new(scenario.seed, repeat);
        while !tuner.is_finished() {
            random.start_iteration();
            let perturbation = tuner.ask(&mut random).unwrap();
            let bits = random.word();
            let lead = scenario.elo(&perturbation.plus) - scenario.elo(&perturbation.minus);
            let y = games::pair(bits, lead, scenario.draw_rate);
            tuner.tell(&perturbation, (y + 2.0) as u8).unwrap();
        }
        tuner.values().to_vec()
    }

    #[test]
    fn repeats_do_what_the_tuner_does() {
        for method in MethodKind::ALL {
            let usual = mixed(method);
            let mut published = usual.clone();
            published.settings.as_published = true;
            let mut whole = usual.clone();
            whole.variables.iter_mut().for_each(|v| v.integer = true);
            whole.settings.noise = Noise::Measured(0.5);
            for scenario in [usual, published, whole] {
                let outcome = simulate(&scenario, &StopFlag::new(), &mut |_| {}).unwrap();
                assert_eq!(outcome.gains.len(), 5);
                for repeat in [0, 4] {
                    for (x, plain) in outcome.values[repeat].iter().zip(plainly(&scenario, repeat as u64)) {
                        assert!((x - plain).abs() < 1e-7, "{method} {repeat}: {x} {plain}");
                    }
                }
                let moved = (outcome.values[0][0] - scenario.variables[0].start).abs();
                assert!(moved > 0.1 && outcome.values[0] != outcome.values[1]);
                assert_eq!(outcome.deviation.is_some(), method.is_bayesian());
            }
        }
    }

    #[test]
    fn nonsense_is_refused_and_cancelling_works() {
        let run = |scenario: &Scenario| simulate(scenario, &StopFlag::new(), &mut |_| {});
        let good = mixed(MethodKind::Spsa);
        assert!(run(&Scenario { repeats: 0, ..good.clone() }).is_err());
        assert!(run(&Scenario { draw_rate: f64::NAN, ..good.clone() }).is_err());
        assert!(run(&Scenario { optimum: vec![0.0], ..good.clone() }).is_err());
        let mut lacking = good.clone();
        lacking.variables[3].r_end = None;
        assert!(run(&lacking).unwrap_err().to_string().starts_with("x3: spsa needs r_end"));
        let there = good.variables.iter().map(|v| v.start).collect();
        assert!(run(&Scenario { optimum: there, ..good.clone() }).is_err());
        let stop = StopFlag::new();
        stop.set();
        let cancelled = simulate(&good, &stop, &mut |_| {});
        assert!(matches!(cancelled, Err(Error::Interrupted(_))));
    }
}
