//! A scenario on which simulators are compared with each other.

use super::Scenario;
use crate::{MethodKind, Schedule, Settings, Variable};

/// Parameters that differ, more of them than a word of signs has bits, optima off the origin, bounds that are met, leads
/// from none to hundreds of Elo. For tests, and for the check of devices.
pub fn trial_scenario(method: MethodKind, as_published: bool, iterations: u64) -> Scenario {
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
    let schedule = Schedule::new(iterations);
    let settings = Settings { schedule, as_published, ..Settings::new(method, iterations, 0.6) };
    let (variables, optimum) = ((0..n).map(variable).collect(), (0..n).map(|i| -20.0 + i as f64).collect());
    Scenario { settings, variables, optimum, draw_rate: 0.6, repeats: 45, seed: 3, concurrency: 1 }
}
