//! Adam steps computed on the GPU: the same results as on the host, for any number of steps at a time.

use crate::common;
use crate::common::gpu::context;
use crate::common::prelude::*;
use gputexel::evaluator::{AdamState, AdamStep};
use gputexel::optimizer::AdamRuns;
use std::ops::Range;

fn dataset(kind: FeatureKind, positions: usize) -> Dataset {
    common::random_dataset(&scratch(), kind, positions, 51)
}

/// Returns a state of some members that differ in every setting.
fn start(data: &Dataset, members: usize) -> AdamStart {
    let set = &data.metadata().feature_set;
    let theta = (0..members).flat_map(|m| common::random_theta(set, false, m as u64));
    let theta: Vec<f64> = theta.collect();
    let k = (0..members).map(|m| 0.5 + 0.1 * (m % 20) as f64).collect();
    let zeros = vec![0.0; theta.len()];
    AdamStart {
        population: Population::new(data.feature_count(), theta, k),
        request: Request { parts: 0..1, loss: LossKind::Squared, gradients: true, curvature: false },
        prior: Prior::default().theta(set).unwrap(),
        settings: (0..members)
            .map(|m| AdamMember { beta1: 0.9, beta2: 0.999, epsilon: 1e-12, pull: 1e-8 * m as f64 })
            .collect(),
        first_moment: zeros.clone(),
        second_moment: zeros,
    }
}

/// Returns the rates of some members in consecutive steps.
fn rates(members: usize, steps: Range<usize>) -> Vec<(f64, f64)> {
    let rate = |step: usize, m: usize| {
        (0.5 + m as f64 + 0.1 * step as f64, 1.0 / (1.0 - 0.999f64.powi(step as i32 + 1)))
    };
    steps.flat_map(|step| (0..members).map(move |m| rate(step, m))).collect()
}

/// Returns the start that continues from a state.
fn after(start: &AdamStart, state: &AdamState) -> AdamStart {
    let mut next = start.clone();
    next.population.parameters = state.parameters.clone();
    next.first_moment = state.first_moment.clone();
    next.second_moment = state.second_moment.clone();
    next
}

fn largest_difference(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

#[test]
fn step_matches_the_paper() {
    let Some(context) = context() else { return };
    for kind in [FeatureKind::Pst, FeatureKind::Material] {
        let data = dataset(kind, 1200);
        // The parts of two folds, one of which counts half for a member, and not at all for another.
        let layout = Layout::try_new(&data, 2, |n| n % 2).unwrap();
        let mut gpu = GpuEvaluator::try_new(context, &layout).unwrap();
        for weighted in [false, true] {
            let mut start = start(&data, 3);
            start.request.parts = 0..2;
            if weighted {
                start.population.part_weights = vec![1.0, 1.0, 1.0, 0.5, 0.0, 1.0];
            }
            for done in 0..3 {
                assert!(gpu.begin_adam(&start).unwrap());
                let rates = rates(3, done..done + 1);
                let step = gpu.adam_steps(&rates).unwrap().unwrap().remove(0);
                let state = gpu.adam_state(1).unwrap().unwrap();
                check_step(&data, &layout, &start, &rates, (&step, &state));
                start = after(&start, &state);
            }
        }
    }
}

/// Compares a step with the gradient in f64 from the CPU, and the update by the formula.
fn check_step(
    data: &Dataset,
    layout: &Layout,
    start: &AdamStart,
    rates: &[(f64, f64)],
    (step, state): (&AdamStep, &AdamState),
) {
    let size = 2 * data.feature_count();
    let population = &start.population;
    let mut wanted = gputexel::evaluator::reference::reference(data, layout, population, &start.request);
    for (i, gradient) in wanted.gradients.iter_mut().enumerate() {
        let distance = population.parameters[i] - start.prior[i % size];
        let pull = start.settings[i / size].pull;
        *gradient += pull * distance;
        wanted.losses[i / size] += 0.5 * pull * distance * distance;
    }
    for (i, value) in step.losses.iter().enumerate() {
        assert!((value - wanted.losses[i]).abs() < 1e-6, "{value} {}", wanted.losses[i]);
    }
    // The only step is the best so far.
    assert!(largest_difference(&state.best_parameters, &population.parameters) < 1e-9);
    for (member, gradient) in wanted.gradients.chunks_exact(size).enumerate() {
        let norm = gradient.iter().fold(0.0f64, |norm, g| norm.max(g.abs()));
        assert!((step.gradient_norms[member] - norm).abs() < 1e-5 * norm);
        let range = member * size..(member + 1) * size;
        let moments = gradient.iter().zip(&start.first_moment[range.clone()]);
        let first: Vec<f64> = moments.map(|(g, m)| 0.9 * m + 0.1 * g).collect();
        let moments = gradient.iter().zip(&start.second_moment[range.clone()]);
        let second: Vec<f64> = moments.map(|(g, v)| 0.999 * v + 0.001 * g * g).collect();
        assert!(relative_difference(&state.first_moment[range.clone()], &first) < 1e-5);
        assert!(relative_difference(&state.second_moment[range.clone()], &second) < 2e-5);
        // Uses the device's own moments, so that gradients near 0 do not dominate.
        let (rate, correction) = rates[member];
        for i in range {
            let (m, v) = (state.first_moment[i], state.second_moment[i]);
            let wanted = population.parameters[i] - rate * m / ((correction * v).sqrt() + 1e-12);
            let got = state.parameters[i];
            assert!((got - wanted).abs() < 2e-6, "{member} {i}: {got} {wanted}");
        }
    }
}

#[test]
fn results_do_not_depend_on_steps_per_call() {
    let Some(context) = context() else { return };
    let data = dataset(FeatureKind::Pst, 1500);
    let layout = Layout::whole(&data).unwrap();
    for members in [1, 6] {
        let start = start(&data, members);
        // One by one, from a new state each time.
        let mut gpu = GpuEvaluator::try_new(context, &layout).unwrap();
        let mut one_by_one: Vec<(AdamStep, AdamState)> = Vec::new();
        for done in 0..9 {
            let next = one_by_one.last().map_or(start.clone(), |(_, state)| after(&start, state));
            assert!(gpu.begin_adam(&next).unwrap());
            let step = gpu.adam_steps(&rates(members, done..done + 1)).unwrap().unwrap().remove(0);
            one_by_one.push((step, gpu.adam_state(1).unwrap().unwrap()));
        }
        // Each member's best are its parameters before the step with the lowest loss.
        let best: Vec<f64> = (0..members)
            .flat_map(|member| {
                let losses = one_by_one.iter().map(|(step, _)| step.losses[member]);
                let lowest = (0..9).zip(losses).min_by(|a, b| a.1.total_cmp(&b.1)).unwrap().0;
                let of = if lowest == 0 { &start } else { &after(&start, &one_by_one[lowest - 1].1) };
                of.population.member(member).to_vec()
            })
            .collect();
        // All at once and in pieces; in slices of a few segments; going back to earlier states in between.
        for slabs in [1 << 27, 400 << 10] {
            let options = GpuOptions { slab_bytes: slabs, ..GpuOptions::new(context) };
            let mut gpu = GpuEvaluator::with_options(context, &layout, options).unwrap();
            for pieces in [&[(9, 9)][..], &[(4, 4), (5, 5)], &[(7, 2), (6, 5), (2, 0), (2, 2)]] {
                assert!(gpu.begin_adam(&start).unwrap());
                let mut done = 0;
                for &(take, keep) in pieces {
                    let steps = gpu.adam_steps(&rates(members, done..done + take)).unwrap().unwrap();
                    assert_eq!(steps.len(), take);
                    for (i, step) in steps.iter().enumerate() {
                        assert!(*step == one_by_one[done + i].0, "{members} members, step {}", done + i);
                    }
                    done += keep;
                    let state = gpu.adam_state(keep).unwrap().unwrap();
                    let wanted = &one_by_one[done - 1].1;
                    assert!(state.parameters == wanted.parameters, "{members} members, after {done}");
                    assert!(state.first_moment == wanted.first_moment);
                    assert!(state.second_moment == wanted.second_moment);
                    // A second time, without steps in between.
                    assert!(gpu.adam_state(keep).unwrap().unwrap() == state);
                    let best = largest_difference(&state.best_parameters, &best);
                    assert!(done < 9 || best < 1e-9, "{members} members: {best}");
                }
                assert_eq!(done, 9);
            }
        }
        // Small steps add up: a thousandth of a centipawn is not lost in a float.
        assert!(gpu.begin_adam(&start).unwrap());
        gpu.adam_steps(&rates(members, 0..1).iter().map(|rate| (1e-6, rate.1)).collect::<Vec<_>>()).unwrap();
        let state = gpu.adam_state(1).unwrap().unwrap();
        // All of them, including those of hundreds of centipawns, if they have a gradient.
        let moved = state.parameters.iter().zip(&start.population.parameters).map(|(a, b)| (a - b).abs());
        let moved: Vec<f64> = moved.filter(|&moved| moved > 1e-9).collect();
        assert!(moved.len() > 600 * members);
        let worst = moved.iter().map(|moved| (moved - 1e-7).abs()).fold(0.0, f64::max);
        assert!(worst < 1e-9, "{worst:e}");
    }
}

/// A run whose loss or gradient is not finite stays where it is, and no other run notices.
#[test]
fn runs_that_diverge_stay_where_they_are() {
    let Some(context) = context() else { return };
    let data = dataset(FeatureKind::Pst, 300);
    let layout = Layout::whole(&data).unwrap();
    let mut gpu = GpuEvaluator::try_new(context, &layout).unwrap();
    let mut start = start(&data, 3);
    start.settings.iter_mut().for_each(|member| member.pull = 0.0);
    let mut run = |pull: f64| {
        start.settings[1].pull = pull;
        assert!(gpu.begin_adam(&start).unwrap());
        let steps = gpu.adam_steps(&rates(3, 0..4)).unwrap().unwrap();
        (steps, gpu.adam_state(4).unwrap().unwrap())
    };
    let ((sound, moved), (broken, stayed)) = (run(0.0), run(1e38));
    let size = 2 * data.feature_count();
    for member in [0, 2] {
        let range = member * size..(member + 1) * size;
        assert!(stayed.parameters[range.clone()] == moved.parameters[range.clone()]);
        assert!(stayed.best_parameters[range.clone()] == moved.best_parameters[range]);
    }
    for (sound, broken) in sound.iter().zip(&broken) {
        assert!([0, 2].iter().all(|&m| sound.losses[m] == broken.losses[m]));
        assert!(sound.losses[1].is_finite() && broken.losses[1].is_nan(), "{}", broken.losses[1]);
    }
    let range = size..2 * size;
    let from = &start.population.parameters[range.clone()];
    assert!(largest_difference(&stayed.parameters[range.clone()], from) < 1e-9);
    assert!(largest_difference(&moved.parameters[range], from) > 1.0);
}

#[test]
fn declines_unsupported_states() {
    let Some(context) = context() else { return };
    let data = dataset(FeatureKind::Pst, 24_000);
    let layout = Layout::whole(&data).unwrap();
    let start = start(&data, 2);
    let little = GpuOptions { memory_bytes: Some(5 << 20), ..GpuOptions::new(context) };
    let mut streamed = GpuEvaluator::with_options(context, &layout, little).unwrap();
    assert!(streamed.is_streamed() && !streamed.begin_adam(&start).unwrap());
    let mut gpu = GpuEvaluator::try_new(context, &layout).unwrap();
    let mut broken = start.clone();
    broken.population.parameters[3] = f64::NAN;
    assert!(!gpu.begin_adam(&broken).unwrap());
    assert!(!CpuEvaluator::new(&layout).begin_adam(&start).unwrap());
    // Any other call ends what was begun, and so does a beginning that is refused.
    let steps = rates(2, 0..1);
    assert!(gpu.begin_adam(&start).unwrap() && gpu.adam_steps(&steps).unwrap().is_some());
    gpu.evaluate(&start.population, &start.request).unwrap();
    assert!(gpu.adam_steps(&steps).unwrap().is_none() && gpu.adam_state(0).unwrap().is_none());
    assert!(gpu.begin_adam(&start).unwrap() && !gpu.begin_adam(&broken).unwrap());
    assert!(gpu.adam_steps(&steps).unwrap().is_none());
    type Break = fn(&mut AdamStart);
    let ways: [Break; 8] = [
        |start| start.request.parts = 1..2,
        |start| start.population.features += 1,
        |start| start.population.parameters.truncate(1),
        |start| start.population.k.push(1.0),
        |start| start.prior.truncate(1),
        |start| start.settings.truncate(1),
        |start| start.first_moment.clear(),
        |start| start.second_moment.push(0.0),
    ];
    for (i, way) in ways.into_iter().enumerate() {
        let mut wrong = start.clone();
        way(&mut wrong);
        let error = gpu.begin_adam(&wrong).unwrap_err();
        assert!(matches!(error, Error::Usage(_)), "{i}: {error}");
    }
}

fn config(data: &Dataset, l2: f64) -> RunConfig {
    let run = |learning_rate| AdamSettings { learning_rate, ..AdamSettings::default() };
    RunConfig {
        stopping: stopping(50, 50, 9),
        optimizer: OptimizerConfig::Adam(AdamRuns {
            runs: vec![run(2.0), run(8.0)],
            schedule: Schedule::Cosine,
            batches: 1,
        }),
        l2: vec![l2],
        ..RunConfig::new(data, &Prior::default(), 0.8).unwrap()
    }
}

/// Carries out a run; returns the checkpoint after every epoch.
fn run(
    data: &Dataset,
    config: &RunConfig,
    gpu: bool,
    from: Option<Checkpoint>,
) -> (Outcome, Vec<Checkpoint>) {
    let split = Split::try_new(data, 0.0, 1, 1).unwrap();
    let layout = Layout::whole(data).unwrap();
    let mut evaluator: Box<dyn Evaluator> = match gpu {
        true => Box::new(GpuEvaluator::try_new(context().unwrap(), &layout).unwrap()),
        false => Box::new(CpuEvaluator::new(&layout)),
    };
    let mut run = match from {
        Some(checkpoint) => Tuning::resume(config, &split, checkpoint, "c".as_ref()).unwrap(),
        None => Tuning::try_new(config, &split).unwrap(),
    };
    let mut checkpoints = Vec::new();
    let outcome = run.run(&mut *evaluator, &std::sync::atomic::AtomicBool::new(false), &mut |event| {
        if let Event::State { checkpoint, .. } = event {
            checkpoints.push(checkpoint()?);
        }
        Ok(())
    });
    (outcome.unwrap(), checkpoints)
}

#[test]
#[ignore = "full"]
fn run_matches_the_host_and_resumes_from_any_epoch() {
    if context().is_none() {
        return;
    }
    let data = dataset(FeatureKind::Pst, 4000);
    for l2 in [0.0, 0.01] {
        let config = config(&data, l2);
        let (cpu, _) = run(&data, &config, false, None);
        let (gpu, checkpoints) = run(&data, &config, true, None);
        assert_eq!((gpu.epochs, gpu.reason), (cpu.epochs, cpu.reason));
        for ((_, a), (_, b)) in gpu.members.iter().zip(&cpu.members) {
            assert!((a - b).abs() < 1e-5, "{a} {b}");
        }
        // The reported losses include the pull; so does the reference.
        let layout = Layout::whole(&data).unwrap();
        let request = Request { parts: 0..1, loss: LossKind::Squared, gradients: false, curvature: false };
        let mut exact = gputexel::evaluator::reference::reference(
            &data,
            &layout,
            &Population::single(&gpu.parameters, 0.8),
            &request,
        );
        config.regularization(0).add(&mut exact, &gpu.parameters);
        let best = gpu.members.iter().map(|member| member.1).fold(f64::MAX, f64::min);
        assert!((best - exact.losses[0]).abs() < 1e-6, "{best} {}", exact.losses[0]);
        for epoch in [1, 7, 33, 49] {
            let (again, _) = run(&data, &config, true, Some(checkpoints[epoch - 1].clone()));
            assert_eq!(again.parameters, gpu.parameters, "from epoch {epoch}");
            assert_eq!(again.members, gpu.members, "from epoch {epoch}");
        }
    }
}

/// However many steps a run takes, its parameters come down once.
#[test]
fn parameters_of_a_run_stay_on_the_device() {
    let Some(context) = context() else { return };
    let data = dataset(FeatureKind::Pst, 300);
    let split = Split::try_new(&data, 0.0, 1, 1).unwrap();
    let layout = Layout::whole(&data).unwrap();
    let members = 64;
    let config = RunConfig {
        optimizer: OptimizerConfig::Adam(AdamRuns {
            runs: vec![AdamSettings::default(); members],
            ..AdamRuns::default()
        }),
        ..config(&data, 0.0)
    };
    let mut gpu = GpuEvaluator::try_new(context, &layout).unwrap();
    let never = AtomicBool::new(false);
    let outcome = Tuning::try_new(&config, &split).unwrap().run(&mut gpu, &never, &mut |_| Ok(())).unwrap();
    assert_eq!(outcome.epochs, 50);
    let state = 24 * 768 * members as u64;
    let down = gpu.stats().unwrap().bytes_down;
    assert!(down > state && down < 2 * state, "{down} bytes, {state} for a state");
}
