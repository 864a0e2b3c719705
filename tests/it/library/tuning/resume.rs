//! Runs that stop after any step and resume from the stored state with identical results.

use crate::common::prelude::*;
use gputexel::optimizer::{AdamRuns, LocalSettings};

fn config(data: &Dataset, optimizer: OptimizerConfig, epochs: u64) -> RunConfig {
    RunConfig {
        penalties: parse_penalties(&data.metadata().feature_set, "mean=1e-4,level=1e-5,phases=1e-4").unwrap(),
        seed: 5,
        stopping: stopping(epochs, 1, 5),
        optimizer,
        ..RunConfig::new(data, &Prior::default(), 0.8).unwrap()
    }
}

/// Runs until `stop_after` states were offered, each of which goes to `path`.
fn run(mut tuning: Tuning<'_>, layout: &Layout, path: &Path, stop_after: usize) -> Outcome {
    let cancel = AtomicBool::new(false);
    let mut states = 0;
    let mut observe = |event: Event<'_>| {
        if let Event::State { checkpoint, .. } = event {
            checkpoint().write(path)?;
            states += 1;
            cancel.store(states >= stop_after, Ordering::Relaxed);
        }
        Ok(())
    };
    tuning.run(&mut CpuEvaluator::new(layout), &cancel, &mut observe).unwrap()
}

#[test]
#[ignore = "full"]
fn runs_resume_after_any_step() {
    let folder = tempfile::tempdir().unwrap();
    let data = random_dataset(&folder.path().join("d.bin"), FeatureKind::Material, 3000, 4);
    let path = folder.path().join("c.safetensors");
    let adam = AdamSettings { learning_rate: 20.0, ..AdamSettings::default() };
    for (method, l2, share, batches) in [
        (OptimizerConfig::GaussNewton(GaussNewtonSettings::default()), 0.001, 0.0, 1),
        (OptimizerConfig::GaussNewton(GaussNewtonSettings { damping: 1e-9 }), 0.0, 0.3, 1),
        (
            OptimizerConfig::Adam(AdamRuns { runs: vec![adam; 2], schedule: Schedule::Linear, batches: 3 }),
            0.0,
            0.2,
            3,
        ),
        (OptimizerConfig::Local(LocalSettings::default()), 0.0, 0.0, 1),
        (OptimizerConfig::Local(LocalSettings { steps: vec![1] }), 0.01, 0.3, 1),
    ] {
        let mut config = RunConfig { l2: vec![l2], ..config(&data, method, 6) };
        // Results were drawn with the default prior: start elsewhere, so that there is something to gain.
        config.prior_theta.iter_mut().for_each(|value| *value *= 0.5);
        let split = Split::try_new(&data, share, batches, 5).unwrap();
        let layout = Layout::try_new(&data, split.parts(), |n| split.part_of(n)).unwrap();
        let whole = run(Tuning::try_new(&config, &split).unwrap(), &layout, &path, usize::MAX);
        assert_ne!(whole.reason, StopReason::Interrupted);
        assert_ne!(whole.parameters, config.prior_theta);
        let last = Checkpoint::read(&path).unwrap();
        let mut stops = 0;
        for stop_after in 1.. {
            // Interrupted after this many states, then after each further one.
            let first = run(Tuning::try_new(&config, &split).unwrap(), &layout, &path, stop_after);
            if first.reason != StopReason::Interrupted {
                break;
            }
            stops += 1;
            let resumed = Tuning::resume(&config, &split, Checkpoint::read(&path).unwrap(), &path).unwrap();
            let second = run(resumed, &layout, &path, usize::MAX);
            assert_eq!(second.parameters, whole.parameters, "{:?} after {stop_after}", config.optimizer);
            assert_eq!((second.reason, second.epochs), (whole.reason, whole.epochs));
            let state = Checkpoint::read(&path).unwrap();
            assert_eq!(state.optimizer, last.optimizer);
            assert_eq!(state.progress.recent_losses, last.progress.recent_losses);
            // The state of a finished run yields its result again, without another step.
            let resumed = Tuning::resume(&config, &split, state, &path).unwrap();
            let third = run(resumed, &layout, &path, usize::MAX);
            assert_eq!((third.parameters, third.epochs), (second.parameters, second.epochs));
        }
        assert!(stops >= 5, "{stops} interruptions");
    }
}
