//! The simulator of SPSA against that of the CPU, which draws the same random bits.

use std::sync::atomic::AtomicBool;

use gputexel_files::Result;
use gputexel_gpu::GpuContext;
use gputexel_spsa::MethodKind;
use gputexel_spsa::simulator::{simulate, simulate_on_gpu, trial_scenario};

use super::{Findings, Group, Measured, repeated};
use crate::positions::Sample;

/// Bound on the error of values relative to their range, as long as all games have the same results.
const BOUND: f64 = 2e-5;

/// Number of repeats in which a game may have another result because its random number fell between the roundings of
/// both sides: one in some thousand games does.
const MAX_OTHER_GAMES: usize = 2;

/// Range of values.
const RANGE: f64 = 200.0;

pub(super) fn check(context: &GpuContext, _sample: &Sample, findings: &mut Findings) -> Result<()> {
    let never = AtomicBool::new(false);
    for method in MethodKind::ALL {
        for as_published in [false, true] {
            if as_published && !findings.is_thorough() {
                continue;
            }
            let iterations = if findings.is_thorough() { 200 } else { 40 };
            let scenario = trial_scenario(method, as_published, iterations);
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
            // Missing repeats are wrong.
            errors.resize(cpu.values.len(), f64::INFINITY);
            errors.sort_by(f64::total_cmp);
            let error = errors.iter().rev().nth(MAX_OTHER_GAMES).copied().unwrap_or(f64::INFINITY);
            let what = if as_published { format!("{method} as published") } else { method.to_string() };
            findings.add(&groups, &what, Measured { error, bound: BOUND }, same)?;
        }
    }
    Ok(())
}
