//! Sums by sections: results are bit-identical whoever computes which section, and agree with the f64 reference.

use crate::common::prelude::*;
use crate::common::{gpu, scored_dataset};
use gputexel::Result;
use gputexel::evaluator::Backend;
use gputexel::evaluator::divided::{Answer, Divided, Helper, ListedDevice, Task};
use gputexel::evaluator::gpu::BackendChoice;
use std::ops::Range;

/// Writes positions with weights, search scores and games of ten positions, with few features, so that matrices are
/// small.
fn data(folder: &Path, positions: usize) -> Dataset {
    scored_dataset(&folder.join("d.bin"), FeatureKind::Material, positions, 5, |labels| {
        labels.weight = 0.5 + labels.game.map_or(0.0, |game| (game % 7) as f32 / 4.0);
    })
}

/// Part 3 occurs only at the end of the dataset, so that most sections have none of it.
fn layout(data: &Dataset, sections: Option<usize>) -> Layout {
    let data = data.clone().with_sections(sections).unwrap();
    let last = data.len() - data.len() / 9;
    let layout = Layout::try_new(&data, 4, |n| if n >= last { 3 } else { n / 10 % 3 }).unwrap();
    layout.with_search_scores(&data, 1.0).unwrap()
}

/// Returns populations of every kind: plain, weighted by part, blended and resampled, and with shared scores.
fn populations(features: usize, members: usize) -> Vec<Population> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(members as u64);
    let theta = (0..2 * features * members).map(|_| rng.random_range(-60.0..60.0)).collect();
    let k = (0..members).map(|m| 0.6 + 0.01 * m as f64).collect();
    let plain = Population::new(features, theta, k);
    let part_weights = (0..members * 4).map(|i| [0.0, 1.0, 2.5, 0.5, 1.0][i % 5]).collect();
    let weighted = Population { part_weights, ..plain.clone() };
    let blends = (0..members).map(|m| (m % 5) as f32 / 4.0).collect();
    let resampled = Population { blends, resamples: (0..members as u32).collect(), ..weighted.clone() };
    let shared = Population { parameters: plain.member(0).to_vec(), ..plain.clone() };
    vec![plain, weighted, resampled, shared]
}

fn requests() -> Vec<Request> {
    let request = |parts, loss, gradients, curvature| Request { parts, loss, gradients, curvature };
    vec![
        request(0..4, LossKind::Squared, true, true),
        request(1..3, LossKind::CrossEntropy, false, false),
        request(3..4, LossKind::Power(2.5), true, false),
    ]
}

/// Returns the bits of all results of an evaluator.
fn answers(evaluator: &mut dyn Evaluator, features: usize, members: usize) -> Vec<u64> {
    let mut bits = Vec::new();
    let mut keep = |values: &[f64]| bits.extend(values.iter().map(|value| value.to_bits()));
    for population in populations(features, members) {
        for request in requests() {
            let request = Request { curvature: request.curvature && members < 3, ..request };
            let got = evaluator.evaluate(&population, &request).unwrap();
            for values in [&got.losses, &got.part_losses, &got.gradients, &got.curvatures] {
                keep(values);
            }
        }
    }
    bits
}

/// Simulates another process with a copy of its data.
struct Far {
    layout: Layout,
    answer: Option<Result<Answer>>,
}

impl Far {
    fn new(layout: &Layout, sections: Range<usize>) -> Self {
        let bytes = layout.select(sections).unwrap().to_bytes();
        Self { layout: Layout::from_bytes(&bytes).unwrap(), answer: None }
    }
}

impl Helper for Far {
    fn sections(&self) -> Range<usize> {
        self.layout.sections()
    }

    fn begin(&mut self, task: &Task) -> Result<()> {
        let backend = Backend::open(BackendChoice::Cpu)?;
        self.answer = Some(backend.of_sections(&self.layout)?.nodes(task));
        Ok(())
    }

    fn end(&mut self) -> Result<Answer> {
        self.answer.take().unwrap_or_else(|| Err(Error::Usage("nothing was asked".to_string())))
    }

    fn describe(&self) -> String {
        "far".to_string()
    }
}

#[test]
#[ignore = "full"]
fn results_do_not_depend_on_section_owners() {
    let folder = tempfile::tempdir().unwrap();
    let data = data(folder.path(), 9001);
    for sections in [1, 2, 5, 13] {
        let layout = layout(&data, Some(sections));
        assert_eq!(layout.sections(), 0..sections);
        for members in [1, 2, 35] {
            let alone = answers(&mut CpuEvaluator::new(&layout), data.feature_count(), members);
            for shares in [1, 2, 3, 4, 20] {
                let of = |share: usize| share * sections / shares..(share + 1) * sections / shares;
                // The first is this process, after all others.
                let helpers = (0..shares - 1)
                    .map(of)
                    .filter(|sections| !sections.is_empty())
                    .map(|sections| Box::new(Far::new(&layout, sections)) as Box<dyn Helper>);
                let mut divided =
                    Divided::try_new(&layout, of(shares - 1), helpers.collect(), false).unwrap();
                let got = answers(&mut divided, data.feature_count(), members);
                assert_eq!(got, alone, "{sections} sections, {shares} shares, {members} members");
            }
        }
    }
}

#[test]
fn results_hardly_depend_on_the_number_of_sections() {
    let folder = tempfile::tempdir().unwrap();
    let data = data(folder.path(), 9001);
    let whole = layout(&data, None);
    assert_eq!(whole.sections(), 0..1);
    let divided = layout(&data, Some(7));
    let of = |layout: &Layout| answers(&mut CpuEvaluator::new(layout), data.feature_count(), 2);
    for (a, b) in of(&whole).into_iter().zip(of(&divided)) {
        let (a, b) = (f64::from_bits(a), f64::from_bits(b));
        assert!((a - b).abs() <= 1e-5 * a.abs() + 1e-7 || (a.is_nan() && b.is_nan()), "{a} {b}");
    }
}

#[test]
fn shares_must_cover_all_sections_once() {
    let folder = tempfile::tempdir().unwrap();
    let layout = layout(&data(folder.path(), 100), Some(4));
    let helper = |sections| -> Vec<Box<dyn Helper>> { vec![Box::new(Far::new(&layout, sections))] };
    assert!(Divided::try_new(&layout, 0..3, helper(3..4), false).is_ok());
    assert!(Divided::try_new(&layout, 0..2, helper(3..4), false).is_err());
    assert!(Divided::try_new(&layout, 0..3, helper(2..4), false).is_err());
    assert!(Divided::try_new(&layout, 0..2, helper(2..3), false).is_err() && layout.select(2..5).is_err());
}

#[test]
#[ignore = "full"]
fn several_devices_agree_to_the_last_bit() {
    let Some(context) = gpu::context() else { return };
    let folder = tempfile::tempdir().unwrap();
    let data = data(folder.path(), 3000);
    let layout = layout(&data, Some(5));
    // A different device of the same adapter each time.
    let device =
        |share| ListedDevice { context: Some(GpuContext::with_default_limits(true).unwrap()), share };
    let several = |devices: Vec<ListedDevice>| {
        let backend = Backend::several(BackendChoice::Gpu, devices).unwrap();
        let (mut evaluator, line) = backend.evaluator(&layout).unwrap();
        (answers(&mut *evaluator, data.feature_count(), 2), line)
    };
    let (one, line) = several(vec![device(None)]);
    assert!(line.contains("5 sections: 5 by GPU"), "{line}");
    let (two, line) = several(vec![device(Some(2.0)), device(Some(3.0))]);
    assert!(line.contains("5 sections: 2 by GPU") && line.contains("; 3 by GPU"), "{line}");
    assert_eq!(one, two);
    let (measured, _) = several(vec![device(None), device(None), device(None)]);
    assert_eq!(one, measured);
    // With the CPU, results differ as little as those of GPU and CPU do.
    let cpu = ListedDevice { context: None, share: Some(1.0) };
    let (mixed, line) = several(vec![device(Some(1.0)), cpu]);
    assert!(line.contains("by CPU") && line.contains("by GPU"), "{line}");
    for (a, b) in one.iter().zip(mixed) {
        let (a, b) = (f64::from_bits(*a), f64::from_bits(b));
        assert!((a - b).abs() <= 1e-4 * a.abs() + 1e-6 || (a.is_nan() && b.is_nan()), "{a} {b}");
    }
    assert!(one.len() > 500 && context.check().is_ok());
}

#[test]
fn devices_are_listed_by_flags() {
    let Some(_) = gpu::context() else { return };
    let bench = Bench::with_positions(2_000, 9);
    let tune = |device: &str, out: &str| {
        let args =
            ["tune", "-v", "d.bin", "--sections", "4", "--prior-strength", "none", "--optimizer", "adam"];
        let args = [&args[..], &["--epochs", "5", "--device", device, "--out", out]].concat();
        let told = bench.ok(&args);
        (bench.bytes(&format!("{out}/params.json")), told)
    };
    let (one, told) = tune("0", "one");
    assert!(told.contains("4 sections: 4 by GPU"), "{told}");
    let (two, told) = tune("0,0", "two");
    assert!(told.contains("by GPU") && told.contains("4 sections"), "{told}");
    let (uneven, told) = tune("0=1,0=3", "uneven");
    assert!(told.contains("4 sections: 1 by GPU"), "{told}");
    assert!(one == two && one == uneven, "results depend on who has which section");
    let (_, told) = tune("0=1,cpu=1", "mixed");
    assert!(told.contains("4 sections: 2 by CPU"), "{told}");
    let refused = [
        (&["--device", "7"][..], "--device 7: '7': there "),
        (&["--device", "0=1,cpu"], "shares are given for some devices only"),
        (&["--device", "0", "--backend", "cpu"], "--device lists what --backend cpu leaves out"),
        (&["--sections", "0"], "--sections 0: must be from 1 to 4096"),
        (&["--resume", "one", "--sections", "3"], "--sections"),
    ];
    for (flags, reason) in refused {
        let input: &[&str] = if flags[0] == "--resume" { &[] } else { &["d.bin"] };
        let (code, _, err) = bench.run(("tune", (input, flags)));
        assert_eq!(code, 2, "{flags:?}");
        assert_one_line(&err);
        assert!(err.contains(reason), "{err}");
    }
}
