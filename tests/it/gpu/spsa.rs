//! The SPSA simulator on the GPU against the one on the CPU, which draws the same random bits.

use std::sync::atomic::AtomicBool;

use crate::common::gpu::context;
use gputexel::Error;
use gputexel::evaluator::gpu::GpuContext;
use gputexel::spsa::simulator::{
    Outcome, Scenario, Summary, paper_cells, simulate, simulate_on_gpu, trial_scenario,
};
use gputexel::spsa::{BoundRule, MethodKind, Noise, Settings, Variable};

fn mixed(method: MethodKind, as_published: bool) -> Scenario {
    trial_scenario(method, as_published, 300)
}

/// As published, and with each rule for bounds, with most parameters near a bound.
fn variants(method: MethodKind) -> [Scenario; 3] {
    let mut centered = mixed(method, false);
    centered.settings.near_bounds = BoundRule::Centered;
    [mixed(method, true), mixed(method, false), centered]
}

fn on_cpu(scenario: &Scenario) -> Outcome {
    simulate(scenario, &AtomicBool::new(false), &mut |_| {}).unwrap()
}

fn on_gpu(context: &GpuContext, scenario: &Scenario) -> Outcome {
    simulate_on_gpu(context, scenario, &AtomicBool::new(false), &mut |_| {}).unwrap()
}

#[test]
fn short_runs_agree_repeat_by_repeat() {
    let Some(context) = context() else { return };
    for method in MethodKind::ALL {
        for scenario in variants(method) {
            let (as_published, rule) = (scenario.settings.as_published, scenario.settings.near_bounds);
            let (cpu, gpu) = (on_cpu(&scenario), on_gpu(context, &scenario));
            let mut worst = 0f64;
            for (cpu, gpu) in cpu.values.iter().zip(&gpu.values) {
                worst = cpu.iter().zip(gpu).map(|(c, g)| (c - g).abs()).fold(worst, f64::max);
            }
            // Values reach 200; a single game with a different result would move them by 0.1 or more.
            assert!(worst < 2e-3, "{method} {as_published} {rule}: {worst}");
            assert_eq!(cpu.trajectory.len(), gpu.trajectory.len());
            for ((k, cpu), (l, gpu)) in cpu.trajectory.iter().zip(&gpu.trajectory) {
                assert_eq!((k, cpu.len()), (l, gpu.len()));
                assert!(cpu.iter().zip(gpu).all(|(c, g)| (c - g).abs() < 1e-3 * c.abs().max(10.0)));
            }
            match (cpu.deviation, gpu.deviation) {
                (Some(c), Some(g)) => assert!((c / g - 1.0).abs() < 1e-5, "{method}: {c} {g}"),
                (c, g) => assert_eq!((c, g, method.is_bayesian()), (None, None, false)),
            }
            let moved = (gpu.values[0][0] - scenario.variables[0].start).abs();
            assert!(moved > 0.1 && gpu.values[0] != gpu.values[44]);
        }
    }
}

#[test]
fn long_runs_match_the_paper() {
    let Some(context) = context() else { return };
    // The last two need more loop iterations per chunk than software adapters allow in a dispatch.
    let sizes = [
        (1, MethodKind::Spsa),
        (1, MethodKind::Bspsas),
        (1, MethodKind::Bspsa),
        (16, MethodKind::Bspsa),
        (64, MethodKind::Spsa),
    ];
    for (parameters, method) in sizes {
        let cell =
            paper_cells().into_iter().find(|c| (c.parameters, c.method) == (parameters, method)).unwrap();
        let scenario = cell.scenario(16, 1);
        let (cpu, gpu) = (on_cpu(&scenario), on_gpu(context, &scenario));
        let summary = Summary::new(&gpu.gains);
        let off = cell.deviations(summary.mean, summary.standard_error);
        assert!(off.abs() < 3.0, "{method} {parameters}: {summary:?}");
        // Almost all games are the same: much closer than two independent samples would be.
        let reference = Summary::new(&cpu.gains);
        let apart = (summary.mean - reference.mean).abs() / reference.standard_error;
        assert!(apart < 0.5 && (summary.sd / reference.sd - 1.0).abs() < 0.2, "{summary:?} {reference:?}");
        if let (Some(c), Some(g)) = (cpu.deviation, gpu.deviation) {
            assert!((g / c - 1.0).abs() < 0.01, "{method} {parameters}: posterior {g}, on the CPU {c}");
        }
    }
}

#[test]
fn rejects_unsupported_simulations_in_one_line() {
    let Some(context) = context() else { return };
    let good = mixed(MethodKind::Bspsas, false);
    let why = |scenario: Scenario| match simulate_on_gpu(
        context,
        &scenario,
        &AtomicBool::new(false),
        &mut |_| {},
    ) {
        Err(Error::Usage(why)) => why,
        other => panic!("{other:?}"),
    };
    let whole = |v: &Variable| Variable { integer: true, ..v.clone() };
    assert!(why(Scenario { concurrency: 2, ..good.clone() }).starts_with("concurrent pairs"));
    let variables = good.variables.iter().map(whole).collect();
    assert!(why(Scenario { variables, ..good.clone() }).starts_with("integer parameters"));
    let settings = Settings { noise: Noise::Measured(0.5), ..good.settings.clone() };
    assert!(why(Scenario { settings, ..good.clone() }).starts_with("a measured tau"));
    let mut fine = good.clone();
    (fine.variables[2].c_end, fine.variables[2].start) = (1e-4, 60.0);
    assert!(why(fine).starts_with("x2: c_end 0.0001: too small relative to"));
    let mut narrow = good.clone();
    narrow.variables[3].sigma = Some(1e-25);
    assert!(why(narrow).starts_with("x3: 2 / sigma squared"));
    let cancelled = simulate_on_gpu(context, &good, &AtomicBool::new(true), &mut |_| {});
    assert!(matches!(cancelled, Err(Error::Interrupted(_))));
}
