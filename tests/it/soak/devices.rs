//! Runs whose device is lost at random, repeated in one process.

use super::gauge::Gauge;
use crate::common::prelude::*;
use gputexel::optimizer::AdamRuns;

const EPOCHS: u64 = 12;

/// Variable that makes a process run this test alone, as its memory is measured.
const ALONE: &str = "GPUTEXEL_SOAK_ALONE";

#[test]
#[ignore = "full"]
fn lost_devices_do_not_change_results() {
    if std::env::var_os(ALONE).is_none() {
        let name = "soak::devices::lost_devices_do_not_change_results";
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", name, "--include-ignored", "--nocapture"]).env(ALONE, "1");
        assert!(command.status().unwrap().success());
        return;
    }
    if list_adapters().is_empty() {
        requirement::lack("gpu", "there is no adapter");
        return;
    }
    let bench = Bench::new();
    let data = bench.dataset("d.bin", FeatureKind::Pst, 3000, 45);
    // Without held-out positions, the device keeps the parameters.
    let configs = [0.2, 0.0].map(|holdout| RunConfig {
        holdout,
        stopping: stopping(EPOCHS, 1, 99),
        optimizer: OptimizerConfig::Adam(AdamRuns {
            runs: vec![AdamSettings::default()],
            schedule: Schedule::Cosine,
            batches: 1,
        }),
        ..RunConfig::new(&data, &Prior::default(), 0.8).unwrap()
    });
    let never = AtomicBool::new(false);
    let cases = configs.each_ref().map(|config| {
        let split = Split::try_new(&data, config.holdout, config.optimizer.batches(), config.seed).unwrap();
        let layout = Layout::try_new(&data, split.parts(), |n| split.part_of(n)).unwrap();
        let mut cpu = CpuEvaluator::new(&layout);
        let wanted = Tuning::try_new(config, &split).unwrap().run(&mut cpu, &never, &mut |_| Ok(())).unwrap();
        (config, split, layout, wanted)
    });
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let (mut runs, mut lost) = (0, 0);
    let mut gauge = Gauge::new(std::process::id());
    while gauge.goes_on() {
        let (config, split, layout, wanted) = &cases[runs as usize % 2];
        let context = GpuContext::try_new(true).unwrap();
        let device: Box<dyn Evaluator> =
            Box::new(GpuEvaluator::with_options(&context, layout, GpuOptions::new(&context)).unwrap());
        let mut evaluator = FallbackEvaluator::new(device, || Box::new(CpuEvaluator::new(layout)));
        // Sometimes never.
        let at = random.random_range(0..EPOCHS + 2);
        if at == 0 {
            context.device().destroy();
        }
        let mut replaced = 0;
        let outcome = Tuning::try_new(config, split).unwrap().run(&mut evaluator, &never, &mut |event| {
            match event {
                Event::Epoch { epoch, .. } if epoch == at => context.device().destroy(),
                Event::Replaced(_) => replaced += 1,
                _ => {}
            }
            Ok(())
        });
        let outcome = outcome.unwrap_or_else(|error| panic!("lost at {at}: {error}"));
        // A loss at the end has no effect.
        assert!(replaced == 1 || at >= EPOCHS, "lost at {at}: replaced {replaced} times");
        assert_eq!(outcome.epochs, wanted.epochs);
        let pairs = outcome.parameters.iter().zip(&wanted.parameters);
        let largest = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(largest < 0.5, "lost at {at}: {largest} centipawns off");
        runs += 1;
        lost += replaced;
        gauge.read();
    }
    eprintln!("devices: {runs} runs, {lost} devices lost");
    gauge.check("devices");
}
