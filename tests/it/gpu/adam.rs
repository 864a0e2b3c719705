//! Adam steps computed on the GPU: the same results as on the host, for any number of steps at a time.

use crate::common;
use crate::common::gpu::context;
use crate::common::prelude::*;
use gputexel::evaluator::AdamStep;
use gputexel::optimizer::AdamRuns;

fn dataset(kind: FeatureKind, positions: usize) -> Dataset {
    common::random_dataset(&scratch(), kind, positions, 51)
}

/// Returns `steps` steps for some members that differ in every setting.
fn batch(data: &Dataset, members: usize, steps: usize) -> AdamBatch {
    let set = &data.metadata().feature_set;
    let theta: Vec<f64> = (0..members).flat_map(|m| common::random_theta(set, false, m as u64)).collect();
    let k = (0..members).map(|m| 0.5 + 0.1 * m as f64).collect();
    let zeros = vec![0.0; theta.len()];
    let rate = |step: usize, m: usize| {
        (0.5 + m as f64 + 0.1 * step as f64, 1.0 / (1.0 - 0.999f64.powi(step as i32 + 1)))
    };
    AdamBatch {
        population: Population::new(data.feature_count(), theta, k),
        request: Request { parts: 0..1, loss: LossKind::Squared, gradients: true, curvature: false },
        prior: Prior::default().theta(set).unwrap(),
        settings: (0..members)
            .map(|m| AdamMember { beta1: 0.9, beta2: 0.999, epsilon: 1e-12, pull: 1e-8 * m as f64 })
            .collect(),
        first_moment: zeros.clone(),
        second_moment: zeros,
        rates: (0..steps).flat_map(|step| (0..members).map(move |m| rate(step, m))).collect(),
    }
}

/// Returns the batch that continues after a step.
fn after(batch: &AdamBatch, step: &AdamStep, done: usize) -> AdamBatch {
    let mut next = batch.clone();
    next.population.parameters = step.parameters.clone();
    next.first_moment = step.first_moment.clone();
    next.second_moment = step.second_moment.clone();
    next.rates.drain(..done * batch.settings.len());
    next
}

#[test]
fn step_matches_the_paper() {
    let Some(context) = context() else { return };
    for kind in [FeatureKind::Pst, FeatureKind::Material] {
        let data = dataset(kind, 1200);
        let layout = Layout::whole(&data).unwrap();
        let mut gpu = GpuEvaluator::try_new(context, &layout).unwrap();
        let mut batch = batch(&data, 3, 4);
        for done in 0..3 {
            let step = gpu.adam_steps(&batch).unwrap().unwrap().remove(0);
            // The gradient in f64 from the CPU, and the update by the formula.
            let size = 2 * data.feature_count();
            let mut reference =
                gputexel::evaluator::reference::reference(&data, &layout, &batch.population, &batch.request);
            for (i, value) in step.losses.iter().enumerate() {
                assert!((value - reference.losses[i]).abs() < 1e-6);
            }
            for (i, gradient) in reference.gradients.iter_mut().enumerate() {
                let pull = batch.settings[i / size].pull;
                *gradient += pull * (batch.population.parameters[i] - batch.prior[i % size]);
            }
            for (member, gradient) in reference.gradients.chunks_exact(size).enumerate() {
                let norm = gradient.iter().fold(0.0f64, |norm, g| norm.max(g.abs()));
                assert!((step.gradient_norms[member] - norm).abs() < 1e-5 * norm);
                let range = member * size..(member + 1) * size;
                let first: Vec<f64> = gradient
                    .iter()
                    .zip(&batch.first_moment[range.clone()])
                    .map(|(g, m)| 0.9 * m + 0.1 * g)
                    .collect();
                let second: Vec<f64> = gradient
                    .iter()
                    .zip(&batch.second_moment[range.clone()])
                    .map(|(g, v)| 0.999 * v + 0.001 * g * g)
                    .collect();
                assert!(relative_difference(&step.first_moment[range.clone()], &first) < 1e-5);
                assert!(relative_difference(&step.second_moment[range.clone()], &second) < 2e-5);
                // Uses the device's own moments, so that gradients near 0 do not dominate.
                let (rate, correction) = batch.rates[member];
                for i in range {
                    let (m, v) = (step.first_moment[i], step.second_moment[i]);
                    let wanted =
                        batch.population.parameters[i] - rate * m / ((correction * v).sqrt() + 1e-12);
                    let got = step.parameters[i];
                    assert!((got - wanted).abs() < 2e-6, "{done} {member} {i}: {got} {wanted}");
                }
            }
            batch = after(&batch, &step, 1);
        }
    }
}

#[test]
#[ignore = "full"]
fn results_do_not_depend_on_steps_per_call() {
    let Some(context) = context() else { return };
    let data = dataset(FeatureKind::Pst, 1500);
    let layout = Layout::whole(&data).unwrap();
    for members in [1, 6] {
        let batch = batch(&data, members, 12);
        let mut gpu = GpuEvaluator::try_new(context, &layout).unwrap();
        let mut at_once = Vec::new();
        let mut rest = batch.clone();
        while !rest.rates.is_empty() {
            let before = gpu.stats().unwrap().submissions;
            let steps = gpu.adam_steps(&rest).unwrap().unwrap();
            assert!(steps.len() > 1 || rest.rates.len() == members);
            // One for all steps, one to wait for the results; the first call uploads as well.
            let submissions = gpu.stats().unwrap().submissions - before;
            assert!(at_once.is_empty() || submissions <= steps.len() as u64, "{submissions}");
            rest = after(&rest, steps.last().unwrap(), steps.len());
            at_once.extend(steps);
        }
        assert_eq!(at_once.len(), 12);
        // One by one, and in slices of a few segments.
        for slabs in [1 << 27, 400 << 10] {
            let options = GpuOptions { slab_bytes: slabs, ..GpuOptions::new(context) };
            let mut gpu = GpuEvaluator::with_options(context, &layout, options).unwrap();
            let mut next = batch.clone();
            for (i, wanted) in at_once.iter().enumerate() {
                let mut alone = next.clone();
                alone.rates.truncate(members);
                let step = gpu.adam_steps(&alone).unwrap().unwrap().remove(0);
                assert!(step == *wanted, "{members} members, step {i}");
                next = after(&next, &step, 1);
            }
        }
        // Small steps add up: a thousandth of a centipawn is not lost in a float.
        let mut small = batch.clone();
        small.rates.iter_mut().for_each(|rate| rate.0 = 1e-6);
        let steps = gpu.adam_steps(&small).unwrap().unwrap();
        // All of them, including those of hundreds of centipawns, if they have a gradient.
        let moved = steps[0].parameters.iter().zip(&batch.population.parameters).map(|(a, b)| (a - b).abs());
        let moved: Vec<f64> = moved.filter(|&moved| moved > 1e-9).collect();
        assert!(moved.len() > 600 * members);
        let worst = moved.iter().map(|moved| (moved - 1e-7).abs()).fold(0.0, f64::max);
        assert!(worst < 1e-9, "{worst:e}");
    }
}

#[test]
fn declines_unsupported_batches() {
    let Some(context) = context() else { return };
    let data = dataset(FeatureKind::Pst, 24_000);
    let layout = Layout::whole(&data).unwrap();
    let batch = batch(&data, 2, 2);
    let little = GpuOptions { memory_bytes: Some(5 << 20), ..GpuOptions::new(context) };
    let mut streamed = GpuEvaluator::with_options(context, &layout, little).unwrap();
    assert!(streamed.is_streamed() && streamed.adam_steps(&batch).unwrap().is_none());
    let mut gpu = GpuEvaluator::try_new(context, &layout).unwrap();
    let mut broken = batch.clone();
    broken.population.parameters[3] = f64::NAN;
    assert!(gpu.adam_steps(&broken).unwrap().is_none());
    assert!(CpuEvaluator::new(&layout).adam_steps(&batch).unwrap().is_none());
    type Break = fn(&mut AdamBatch);
    let ways: [Break; 11] = [
        |batch| batch.request.parts = 1..2,
        |batch| batch.population.features += 1,
        |batch| batch.population.parameters.truncate(1),
        |batch| batch.population.k.push(1.0),
        |batch| batch.prior.truncate(1),
        |batch| batch.settings.truncate(1),
        |batch| batch.first_moment.clear(),
        |batch| batch.second_moment.push(0.0),
        |batch| batch.rates.truncate(3),
        |batch| batch.rates.truncate(1),
        |batch| batch.rates.clear(),
    ];
    for (i, way) in ways.into_iter().enumerate() {
        let mut wrong = batch.clone();
        way(&mut wrong);
        let error = gpu.adam_steps(&wrong).unwrap_err();
        assert!(matches!(error, Error::Usage(_)), "{i}: {error}");
    }
}

fn config(data: &Dataset, l2: f64) -> RunConfig {
    let run = |learning_rate| AdamSettings { learning_rate, l2, ..AdamSettings::default() };
    RunConfig {
        stopping: stopping(50, 50, 9),
        optimizer: OptimizerConfig::Adam(AdamRuns {
            runs: vec![run(2.0), run(8.0)],
            schedule: Schedule::Cosine,
            batches: 1,
        }),
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
        if let Event::State { progress, optimizer, .. } = event {
            checkpoints.push(Checkpoint { progress: progress.clone(), optimizer: optimizer.save() });
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
        config.regularization().add(&mut exact, &gpu.parameters, &[l2]);
        let best = gpu.members.iter().map(|member| member.1).fold(f64::MAX, f64::min);
        assert!((best - exact.losses[0]).abs() < 1e-6, "{best} {}", exact.losses[0]);
        for epoch in [1, 7, 33, 49] {
            let (again, _) = run(&data, &config, true, Some(checkpoints[epoch - 1].clone()));
            assert_eq!(again.parameters, gpu.parameters, "from epoch {epoch}");
            assert_eq!(again.members, gpu.members, "from epoch {epoch}");
        }
    }
}
