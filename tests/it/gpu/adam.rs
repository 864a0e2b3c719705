//! Runs of Adam with the gradients of a GPU.

use crate::common;
use crate::common::gpu::context;
use crate::common::prelude::*;
use gputexel::optimizer::AdamRuns;

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
            checkpoints.push(checkpoint());
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
    let data = common::random_dataset(&scratch(), FeatureKind::Pst, 4000, 51);
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
