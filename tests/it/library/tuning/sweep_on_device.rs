//! Sweeps whose steps a device takes on its own.

use super::sweep::{ADAM, Rows, config, run};
use crate::common::gpu::context;
use crate::common::prelude::*;
use gputexel::evaluator::{AdamState, AdamStep};
use gputexel::tuning::sweep::{MakeEvaluator, SweepDriver, SweepEvent};

/// A device that takes all steps, and is lost after a number of calls for them.
struct Stepping<'a>(GpuEvaluator<'a>, u32);

impl Evaluator for Stepping<'_> {
    fn evaluate(&mut self, population: &Population, request: &Request) -> gputexel::Result<Evaluations> {
        assert!(!request.gradients, "the host takes a step");
        self.0.evaluate(population, request)
    }

    fn describe(&self) -> String {
        self.0.describe()
    }

    fn begin_adam(&mut self, start: &AdamStart) -> gputexel::Result<bool> {
        self.0.begin_adam(start)
    }

    fn adam_steps(&mut self, rates: &[(f64, f64)]) -> gputexel::Result<Option<Vec<AdamStep>>> {
        let lost = || Error::Gpu("the device was lost".to_string());
        self.1 = self.1.checked_sub(1).ok_or_else(lost)?;
        self.0.adam_steps(rates)
    }

    fn adam_state(&mut self, steps: usize) -> gputexel::Result<Option<AdamState>> {
        let lost = || Error::Gpu("the device was lost".to_string());
        self.1 = self.1.checked_sub(1).ok_or_else(lost)?;
        self.0.adam_state(steps)
    }
}

/// A device takes the steps of a sweep on its own; its state can be stored after each.
#[test]
fn sweeps_on_a_device_resume_after_any_step() {
    let Some(context) = context() else { return };
    let folder = tempfile::tempdir().unwrap();
    let data = Rows::random(600, 10).whole(&folder.path().join("d.bin"), FeatureKind::Pst);
    let config = config(&data, &["l2=0,1e-3", "learning-rate=2,8", "blend=0,0.5"], ADAM, 9);
    let never = AtomicBool::new(false);
    let gpu: &MakeEvaluator<'_> =
        &|layout| Ok(Box::new(Stepping(GpuEvaluator::try_new(context, layout)?, u32::MAX)));
    let mut states = Vec::new();
    let whole = SweepDriver::try_new(&config, &data).unwrap().run(gpu, &never, &mut |_| Ok(())).unwrap();
    // What was stored in between changes nothing.
    let observed = SweepDriver::try_new(&config, &data).unwrap().run(gpu, &never, &mut |event| {
        if let SweepEvent::State { checkpoint, .. } = event {
            states.push(checkpoint()?);
        }
        Ok(())
    });
    assert_eq!(observed.unwrap().runs, whole.runs);
    assert_eq!(states.len(), 10);
    for state in states {
        let path = Path::new("c.safetensors");
        let mut sweep = SweepDriver::resume(&config, &data, state, path).unwrap();
        assert_eq!(sweep.run(gpu, &never, &mut |_| Ok(())).unwrap().runs, whole.runs);
    }
    for (a, b) in whole.runs.iter().zip(&run(&config, &data).runs) {
        assert!((a.result.held_out - b.result.held_out).abs() < 1e-5, "{a:?} {b:?}");
        assert!((a.result.training - b.result.training).abs() < 1e-5, "{a:?} {b:?}");
    }
    // A device that fails costs nothing but time.
    for works in 0..3 {
        let failing: &MakeEvaluator<'_> = &|layout| {
            let first = Box::new(Stepping(GpuEvaluator::try_new(context, layout)?, works));
            Ok(Box::new(FallbackEvaluator::new(first, || Box::new(CpuEvaluator::new(layout)))))
        };
        let mut replaced = 0;
        let outcome = SweepDriver::try_new(&config, &data).unwrap().run(failing, &never, &mut |event| {
            replaced += u32::from(matches!(event, SweepEvent::Replaced(_)));
            Ok(())
        });
        assert_eq!(replaced, 1, "after {works} calls");
        for (a, b) in outcome.unwrap().runs.iter().zip(&whole.runs) {
            assert!((a.result.held_out - b.result.held_out).abs() < 1e-5, "{a:?} {b:?}");
        }
    }
}
