//! `tune` with a GPU, without one, and with one that fails midway.

use crate::common::prelude::*;
use gputexel::Result;
use gputexel::evaluator::Fallback;
use gputexel::optimizer::AdamRuns;
use std::cell::Cell;
use std::rc::Rc;

/// Returns true if there is an adapter.
fn gpu() -> bool {
    let there = !list_adapters().is_empty();
    if !there {
        requirement::lack("gpu", "there is no adapter");
    }
    there
}

/// Tunes on the GPU; returns the report.
fn tune(bench: &Bench, args: &[&str]) -> Value {
    bench.told(Bench::tuning("gpu", args))
}

#[test]
#[ignore = "full"]
fn gpu_run_matches_cpu_run() {
    if !gpu() {
        return;
    }
    let bench = Bench::new();
    bench.dataset("d.bin", FeatureKind::Pst, 20_000, 41);
    for (name, flags) in [
        ("one", &[][..]),
        ("several", &["--learning-rate", "0.5,2,8", "--l2", "0,0.001"][..]),
        ("batches", &["--batches", "4", "--holdout", "0.2", "--learning-rate", "1", "--l2", "0.01"][..]),
    ] {
        let common = [&["d.bin", "--optimizer", "adam", "--epochs", "50"], flags].concat();
        let out = |suffix: &str| format!("{name}-{suffix}");
        let cpu = bench.tune([&common[..], &["--out", &out("cpu")]].concat());
        let first = tune(&bench, &[&common[..], &["--out", &out("gpu")]].concat());
        tune(&bench, &[&common[..], &["--out", &out("again")]].concat());
        for key in ["loss", "held_out"] {
            let (Some(a), Some(b)) = (cpu[key].as_f64(), first[key].as_f64()) else {
                assert_eq!((key, name != "batches"), ("held_out", true));
                continue;
            };
            assert!((a - b).abs() < 1e-5, "{name}: {key} {a} on the CPU, {b} on the GPU");
        }
        assert!(first["loss"].as_f64() < first["loss_before"].as_f64());
        let params = |suffix: &str| bench.bytes(&format!("{}/params.json", out(suffix)));
        assert!(params("gpu") == params("again"), "{name}: the same command gives other bytes");
    }
}

#[test]
fn gauss_newton_uses_the_gpu_matrix() {
    if !gpu() {
        return;
    }
    let bench = Bench::new();
    bench.dataset("d.bin", FeatureKind::Pst, 10_000, 42);
    let (code, out, err) =
        bench.run(["tune", "d.bin", "-v", "--out", "r", "--backend", "gpu", "--l2", "0.0001"]);
    assert_eq!((code, err.as_str()), (0, ""));
    let line = out.lines().find(|line| line.starts_with("backend")).unwrap();
    assert!(line.starts_with("backend     GPU"), "{line}");
    let cpu = bench.tune(["d.bin", "--out", "c", "--l2", "0.0001"]);
    let loss = bench.json("r/params.json")["provenance"]["loss"].as_f64().unwrap();
    assert!((loss - cpu["loss"].as_f64().unwrap()).abs() < 1e-5, "{loss} {cpu}");
    tune(&bench, &["d.bin", "--out", "s", "--l2", "0.0001"]);
    assert!(bench.bytes("r/params.json") == bench.bytes("s/params.json"));
}

#[test]
#[cfg(target_os = "linux")]
fn falls_back_to_the_cpu_without_a_gpu() {
    let bench = Bench::new();
    bench.dataset("d.bin", FeatureKind::Pst, 500, 43);
    let hidden =
        "VK_DRIVER_FILES=/nonexistent VK_ICD_FILENAMES=/nonexistent \"$GPUTEXEL\" tune -v d.bin --epochs 2";
    let (code, out, err) = bench.shell(&format!("{hidden} --out r"));
    assert_eq!((code, err.as_str()), (0, ""));
    let line = out.lines().find(|line| line.starts_with("backend")).unwrap();
    assert!(line.contains("CPU") && line.contains("(no GPU adapter was found)"), "{line}");
    assert!(bench.path("r/params.json").exists());
    let (code, out, err) = bench.shell(&format!("{hidden} --out g --backend gpu"));
    assert_eq!((code, out.as_str()), (1, ""));
    assert_one_line(&err);
    assert!(err.starts_with("gputexel: GPU: "), "{err}");
    assert!(!bench.path("g").exists());
}

/// An evaluator that fails from some call on, as a lost device does.
struct Failing<'a> {
    inner: CpuEvaluator<'a>,
    calls_left: u32,
    calls: Rc<Cell<u32>>,
}

impl Evaluator for Failing<'_> {
    fn evaluate(&mut self, population: &Population, request: &Request) -> Result<Evaluations> {
        self.calls.set(self.calls.get() + 1);
        match self.calls_left.checked_sub(1) {
            None => Err(Error::Gpu("the device was lost".to_string())),
            Some(left) => {
                self.calls_left = left;
                self.inner.evaluate(population, request)
            }
        }
    }

    fn describe(&self) -> String {
        "failing".to_string()
    }
}

/// Returns an evaluator, with or without a fallback to the CPU.
fn or_cpu<'a>(
    evaluator: Box<dyn Evaluator + 'a>,
    layout: &'a Layout,
    replace: bool,
) -> Box<dyn Evaluator + 'a> {
    match replace {
        true => Box::new(FallbackEvaluator::new(evaluator, || Box::new(CpuEvaluator::new(layout)))),
        false => evaluator,
    }
}

/// Carries out a run whose device fails after `works` calls, with or without a fallback.
fn with_failure(
    data: &Dataset,
    config: &RunConfig,
    works: u32,
    replace: bool,
) -> (Result<Outcome>, Vec<String>, u32) {
    let split = Split::try_new(data, config.holdout, config.optimizer.batches(), config.seed).unwrap();
    let layout = Layout::try_new(data, split.parts(), |n| split.part_of(n)).unwrap();
    let calls = Rc::new(Cell::new(0));
    let failing = Failing { inner: CpuEvaluator::new(&layout), calls_left: works, calls: Rc::clone(&calls) };
    let mut told = Vec::new();
    let outcome = Tuning::try_new(config, &split).unwrap().run(
        &mut *or_cpu(Box::new(failing), &layout, replace),
        &AtomicBool::new(false),
        &mut |event| {
            if let Event::Replaced(Fallback { error, evaluator }) = event {
                told.push(format!("{error}; {evaluator}"));
            }
            Ok(())
        },
    );
    (outcome, told, calls.get())
}

#[test]
fn lost_device_does_not_change_the_result() {
    let bench = Bench::new();
    let data = bench.dataset("d.bin", FeatureKind::Pst, 2000, 44);
    let adam = OptimizerConfig::Adam(AdamRuns {
        runs: vec![AdamSettings::default()],
        schedule: Schedule::Cosine,
        batches: 1,
    });
    let newton = OptimizerConfig::GaussNewton(GaussNewtonSettings::default());
    // Steps with and without held-out positions, so that either kind of call may fail.
    for (optimizer, l2, holdout) in
        [(adam.clone(), 0.0, 0.0), (adam, 0.0, 0.2), (newton.clone(), 1e-3, 0.0), (newton, 1e-3, 0.2)]
    {
        let config = RunConfig {
            holdout,
            stopping: stopping(6, 1, 9),
            l2: vec![l2],
            optimizer,
            ..RunConfig::new(&data, &Prior::default(), 0.8).unwrap()
        };
        let (whole, told, calls) = with_failure(&data, &config, u32::MAX, true);
        let whole = whole.unwrap();
        assert!(told.is_empty());
        assert!(calls > 5);
        for works in 0..5 {
            let (outcome, told, _) = with_failure(&data, &config, works, true);
            let outcome = outcome.unwrap_or_else(|e| panic!("after {works} calls, held out {holdout}: {e}"));
            assert_eq!(told.len(), 1, "{told:?}");
            assert!(told[0].starts_with("GPU: the device was lost; CPU"), "{told:?}");
            assert_eq!(outcome.epochs, whole.epochs);
            let pairs = outcome.parameters.iter().zip(&whole.parameters);
            let largest = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(largest < 1e-9, "after {works} calls: {largest} centipawns off");
            // If the GPU was required, the failure ends the run.
            let (outcome, told, _) = with_failure(&data, &config, works, false);
            assert!(matches!(outcome, Err(Error::Gpu(_))) && told.is_empty());
        }
    }
}

/// Kinds of device failures.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Trouble {
    None,
    /// Lost after an epoch.
    Lost(u64),
    /// Cannot run the shaders.
    Rejects,
    /// Has no memory.
    NoMemory,
}

/// Carries out a run on a failing device, which continues on the CPU or ends.
fn in_trouble(
    data: &Dataset,
    config: &RunConfig,
    trouble: Trouble,
    replace: bool,
) -> (Result<Outcome>, Vec<String>) {
    let split = Split::try_new(data, config.holdout, config.optimizer.batches(), config.seed).unwrap();
    let layout = Layout::try_new(data, split.parts(), |n| split.part_of(n)).unwrap();
    let context = match trouble {
        Trouble::Rejects => {
            // A device that computes nothing but checks everything, with fewer bindings than needed.
            let required_limits =
                wgpu::Limits { max_storage_buffers_per_shader_stage: 4, ..wgpu::Limits::default() };
            let (device, queue) =
                wgpu::Device::noop(&wgpu::DeviceDescriptor { required_limits, ..Default::default() });
            GpuContext::from_device(device, queue)
        }
        _ => GpuContext::try_new(true).unwrap(),
    };
    let mut told = Vec::new();
    let memory = (trouble == Trouble::NoMemory).then_some(40_000);
    let options = GpuOptions { memory_bytes: memory, ..GpuOptions::new(&context) };
    let evaluator = match GpuEvaluator::with_options(&context, &layout, options) {
        Ok(evaluator) => evaluator,
        Err(error) => return (Err(error), told),
    };
    let outcome = Tuning::try_new(config, &split).unwrap().run(
        &mut *or_cpu(Box::new(evaluator), &layout, replace),
        &AtomicBool::new(false),
        &mut |event| {
            match event {
                Event::Epoch { epoch, .. } if trouble == Trouble::Lost(epoch) => context.device().destroy(),
                Event::Replaced(Fallback { error, evaluator }) => told.push(format!("{error}; {evaluator}")),
                _ => {}
            }
            Ok(())
        },
    );
    (outcome, told)
}

#[test]
#[ignore = "full"]
fn failing_device_is_replaced_during_the_run() {
    if !gpu() {
        return;
    }
    let bench = Bench::new();
    let data = bench.dataset("d.bin", FeatureKind::Pst, 3000, 45);
    let adam = OptimizerConfig::Adam(AdamRuns {
        runs: vec![AdamSettings::default()],
        schedule: Schedule::Cosine,
        batches: 1,
    });
    let newton = OptimizerConfig::GaussNewton(GaussNewtonSettings::default());
    // Few enough that Gauss-Newton does not stop at its minimum, where the last bit matters.
    for (optimizer, l2, epochs) in [(adam, 0.0, 30), (newton, 1e-3, 3)] {
        let config = RunConfig {
            holdout: 0.2,
            stopping: stopping(epochs, 1, 99),
            l2: vec![l2],
            optimizer,
            ..RunConfig::new(&data, &Prior::default(), 0.8).unwrap()
        };
        let (cpu, _, _) = with_failure(&data, &config, u32::MAX, true);
        let cpu = cpu.unwrap();
        for (trouble, why) in [
            (Trouble::None, ""),
            (Trouble::Lost(1), "GPU: device lost: "),
            (Trouble::Lost(2), "GPU: device lost: "),
            (Trouble::Lost(epochs - 1), "GPU: device lost: "),
            (Trouble::Rejects, "GPU: "),
        ] {
            let (outcome, told) = in_trouble(&data, &config, trouble, true);
            let outcome = outcome.unwrap_or_else(|e| panic!("{trouble:?}: {e}"));
            assert_eq!(outcome.epochs, cpu.epochs, "{trouble:?}");
            let pairs = outcome.parameters.iter().zip(&cpu.parameters);
            let largest = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(largest < 0.5, "{trouble:?}: {largest} centipawns off");
            if trouble == Trouble::None {
                assert!(told.is_empty(), "{told:?}");
                continue;
            }
            assert_eq!(told.len(), 1, "{told:?}");
            assert!(told[0].starts_with(why) && told[0].contains("; CPU"), "{told:?}");
            assert_eq!(told[0].lines().count(), 1);
            let (outcome, told) = in_trouble(&data, &config, trouble, false);
            assert!(matches!(outcome, Err(Error::Gpu(_))) && told.is_empty());
        }
        let (outcome, _) = in_trouble(&data, &config, Trouble::NoMemory, true);
        let error = outcome.unwrap_err().to_string();
        assert!(error.starts_with("GPU: 40 KiB of memory is too little; "), "{error}");
    }
}

#[test]
#[ignore = "full"]
fn memory_limit_streams_and_is_reported() {
    if !gpu() {
        return;
    }
    let bench = Bench::new();
    bench.dataset("d.bin", FeatureKind::Pst, 20_000, 46);
    let flags = [
        "d.bin",
        "--l2",
        "0",
        "--optimizer",
        "adam",
        "--epochs",
        "2",
        "--holdout",
        "0.2",
        "--k",
        "0.8",
        "--force",
        "--out",
    ];
    let plain = tune(&bench, &[&flags[..], &["a"]].concat());
    let gpu = ["tune", "-v", "--backend", "gpu", "--stats"];
    let (code, out, err) = bench.run([&gpu[..], &flags, &["b", "--gpu-memory", "3M"]].concat());
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("data streamed"), "{out}");
    assert!(err.starts_with("GPU: ") && err.contains(" dispatches in ") && err.lines().count() == 1, "{err}");
    assert_eq!(bench.json("b/params.json")["provenance"]["loss"], plain["loss"]);
    let (code, out, err) = bench.run([&gpu[..], &flags, &["c", "--gpu-memory", "50K"]].concat());
    assert_eq!((code, out.as_str()), (1, ""));
    assert_one_line(&err);
    assert!(err.contains("50 KiB of memory is too little; "), "{err}");
    let (code, _, err) = bench.run([&gpu[..], &flags, &["c", "--gpu-memory", "much"]].concat());
    assert!(code == 2 && err.contains("expected a size such as 64M or 2G"), "{err}");
    // With auto, the CPU takes over; without a real GPU it is used anyway.
    let auto = [&["tune"][..], &flags, &["d", "--gpu-memory", "50K"]].concat();
    assert_eq!(bench.run(&auto).0, 0);
}
