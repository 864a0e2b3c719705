//! The simulator of SPSA against the CPU's, which draws the same random bits.

use std::sync::atomic::AtomicBool;

use gputexel_files::Result;
use gputexel_gpu::GpuContext;
use gputexel_spsa::simulator::{Scenario, simulate, simulate_on_gpu};
use gputexel_spsa::{MethodKind, Schedule, Settings, Variable};

use super::{Findings, Group, Measured, repeated};
use crate::positions::Sample;

/// Bound on the error of values relative to their range, as long as all games end alike.
const BOUND: f64 = 2e-5;

/// Repeats in which a game may end differently, because its random number fell between the roundings of both sides:
/// one in some thousand games does.
const MAX_OTHER_GAMES: usize = 2;

/// Values range over this.
const RANGE: f64 = 200.0;

pub(super) fn check(context: &GpuContext, _sample: &Sample, findings: &mut Findings) -> Result<()> {
    let never = AtomicBool::new(false);
    for method in MethodKind::ALL {
        for as_published in [false, true] {
            if as_published && !findings.is_thorough() {
                continue;
            }
            let scenario = scenario(method, as_published, if findings.is_thorough() { 200 } else { 40 });
            let cpu = simulate(&scenario, &never, &mut |_| {})?;
            let (gpu, same) = repeated(|| simulate_on_gpu(context, &scenario, &never, &mut |_| {}))?;
            let groups = [Group::Simulator];
            let factor = findings.factor(&groups);
            let of_repeat = |(cpu, gpu): (&Vec<f64>, &Vec<f64>)| {
                let apart = cpu.iter().zip(gpu).map(|(cpu, gpu)| (factor * cpu - gpu).abs() / RANGE);
                apart.fold(
                    0.0,
                    |worst: f64, apart| if apart.is_nan() { f64::INFINITY } else { worst.max(apart) },
                )
            };
            let mut errors: Vec<f64> = cpu.values.iter().zip(&gpu.values).map(of_repeat).collect();
            errors.sort_by(f64::total_cmp);
            let error = errors[errors.len() - 1 - MAX_OTHER_GAMES];
            let what = if as_published { format!("{method} as published") } else { method.to_string() };
            findings.add(&groups, &what, Measured { error, bound: BOUND }, same)?;
        }
    }
    Ok(())
}

/// Parameters that differ, more of them than a word of signs has bits, optima off the origin, bounds that are met.
fn scenario(method: MethodKind, as_published: bool, iterations: u64) -> Scenario {
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
