//! Sweeps: folds, curves of K, grids compared with separate runs, resuming.

use crate::common::prelude::*;
use crate::common::random_board;
use gputexel::evaluator::Fallback;
use gputexel::io::run_folder::RunFolder;
use gputexel::optimizer::AdamRuns;
use gputexel::sweep::{SweepFiles, SweepSettings};
use gputexel::tuning::sweep::{
    Axis, Grid, MakeEvaluator, SweepConfig, SweepDriver, SweepEvent, SweepMethod, SweepOutcome, retrain,
};
use gputexel::tuning::{MinimumAt, scale_curve};

/// Label of one position of [`Rows`].
#[derive(Clone, Copy)]
struct Label {
    result: f32,
    weight: f32,
    score: Option<f32>,
    game: u32,
}

/// Boards with labels, from which datasets are written.
struct Rows {
    boards: Vec<shakmaty::Board>,
    labels: Vec<Label>,
    sources: Vec<SourceRecord>,
}

impl Rows {
    /// Returns games of 1 to 23 positions from three sources, two thirds with search scores.
    fn random(count: usize, seed: u64) -> Self {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let boards: Vec<_> = (0..count).map(|_| random_board(&mut rng)).collect();
        let (mut game, mut left) = (0, 5);
        let labels = (0..count).map(|n| {
            if left == 0 {
                (game, left) = (game + 1, rng.random_range(1..24));
            }
            left -= 1;
            let result = [0.0, 0.5, 1.0][rng.random_range(0..3)];
            let score = (n % 3 != 0).then(|| 300.0 * (result - 0.5) + rng.random_range(-200.0f32..200.0));
            Label { result, weight: 0.5 + (n % 5) as f32 / 4.0, score, game }
        });
        let labels: Vec<Label> = labels.collect();
        let source = |path: &str, positions: usize| SourceRecord {
            path: path.to_string(),
            positions: positions as u64,
            ..SourceRecord::default()
        };
        let third = count / 3;
        let sources = vec![
            source("a.pgn", third),
            source("b.pgn", third / 2),
            source("c.epd", count - third - third / 2),
        ];
        Self { boards, labels, sources }
    }

    fn write(&self, path: &Path, kind: FeatureKind, chosen: impl Fn(usize) -> Option<Label>) -> Dataset {
        let set = FeatureSet::new(kind, PhaseSettings::default());
        let mut writer = DatasetWriter::create(path, Metadata::new(set.clone()), true).unwrap();
        let mut row = FeatureRow::default();
        for (n, board) in self.boards.iter().enumerate() {
            if let Some(Label { result, weight, score, game }) = chosen(n) {
                set.compute(board, shakmaty::Color::White, &mut row);
                writer
                    .push(&row, PositionLabels { result, score_cp: score, weight, game: Some(game) })
                    .unwrap();
            }
        }
        writer.finish(self.sources.clone(), []).unwrap();
        dataset::read(path).unwrap()
    }

    fn whole(&self, path: &Path, kind: FeatureKind) -> Dataset {
        self.write(path, kind, |n| Some(self.labels[n]))
    }
}

fn cpu(layout: &Layout) -> gputexel::Result<Box<dyn Evaluator + '_>> {
    Ok(Box::new(CpuEvaluator::new(layout)))
}

/// The CPU, failing like a lost device after a number of calls.
struct Limited<'a>(CpuEvaluator<'a>, u32);

impl Evaluator for Limited<'_> {
    fn evaluate(&mut self, population: &Population, request: &Request) -> gputexel::Result<Evaluations> {
        let lost = || Error::Gpu("the device was lost".to_string());
        self.1 = self.1.checked_sub(1).ok_or_else(lost)?;
        self.0.evaluate(population, request)
    }

    fn describe(&self) -> String {
        "limited".to_string()
    }
}

fn config(data: &Dataset, axes: &[&str], method: SweepMethod, epochs: u64) -> SweepConfig {
    let axis = |text: &&str| Axis::parse(text, &data.metadata().sources, 1.0).unwrap();
    let grid = Grid { axes: axes.iter().map(axis).collect() };
    let kinds = grid.losses(LossKind::Squared);
    SweepConfig {
        datasets: Vec::new(),
        sections: None,
        checksum: String::new(),
        prior: Prior::default().to_string(),
        start: Prior::default().theta(&data.metadata().feature_set).unwrap(),
        basis: None,
        penalties: Vec::new(),
        loss: LossKind::Squared,
        k: kinds.iter().map(|&kind| (kind, 0.9)).collect(),
        grid,
        judge: LossKind::Squared,
        blend_k: Some(0.8),
        folds: 3,
        seeds: vec![4],
        method,
        epochs,
    }
}

const ADAM: SweepMethod = SweepMethod::Adam { schedule: Schedule::Constant };
const NEWTON: SweepMethod = SweepMethod::GaussNewton { improvement: 1e-8 };

fn run(config: &SweepConfig, data: &Dataset) -> SweepOutcome {
    let mut sweep = SweepDriver::try_new(config, data).unwrap();
    sweep.run(&cpu, &AtomicBool::new(false), &mut |_| Ok(())).unwrap()
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-6 * b.abs()
}

/// Compares losses: Gauss–Newton runs end where the regularized training loss is flat within f32; the other losses
/// are not flat there.
fn about(a: f64, b: f64, method: SweepMethod) -> bool {
    let tolerance = if matches!(method, SweepMethod::Adam { .. }) { 1e-6 } else { 1e-4 };
    (a - b).abs() <= tolerance * b.abs()
}

#[test]
fn folds_keep_games_whole_with_similar_sizes() {
    let folder = tempfile::tempdir().unwrap();
    let data = Rows::random(3000, 11).whole(&folder.path().join("d.bin"), FeatureKind::Material);
    let longest = 23;
    for seed in 0..5 {
        for count in [2, 3, 5, 10] {
            let folds = Folds::try_new(&data, count, seed).unwrap();
            assert_eq!(folds, Folds::try_new(&data, count, seed).unwrap());
            let mut fold_of_game = std::collections::HashMap::new();
            for n in 0..data.len() {
                assert_eq!(*fold_of_game.entry(data.game(n)).or_insert(folds.fold_of(n)), folds.fold_of(n));
            }
            let sizes: Vec<usize> = (0..count).map(|fold| folds.members(fold).count()).collect();
            assert_eq!(sizes.iter().sum::<usize>(), data.len());
            let (least, most) = (sizes.iter().min().unwrap(), sizes.iter().max().unwrap());
            assert!(most - least <= longest, "{sizes:?}");
        }
    }
    assert_ne!(Folds::try_new(&data, 3, 1).unwrap(), Folds::try_new(&data, 3, 2).unwrap());
    let games = data.game(data.len() - 1) as usize + 1;
    Folds::try_new(&data, games, 1).unwrap();
    for (count, text) in [(0, "at least 2"), (1, "at least 2"), (games + 1, "games")] {
        let error = Folds::try_new(&data, count, 1).unwrap_err();
        assert!(matches!(&error, Error::Usage(why) if why.contains(text)), "{count}: {error}");
    }
}

#[test]
fn curves_of_k_are_exact_and_have_the_minimum_of_brent() {
    let folder = tempfile::tempdir().unwrap();
    let data = weighted_dataset(&folder.path().join("d.bin"), 4000, 3);
    let theta = Prior::default().theta(&data.metadata().feature_set).unwrap();
    let layout = Layout::whole(&data).unwrap();
    let mut evaluator = CpuEvaluator::new(&layout);
    let all: Vec<u32> = (0..data.len() as u32).collect();
    let ks: Vec<f64> = (0..301).map(|i| 3.0 - 0.0096 * f64::from(i)).collect();
    for loss in [LossKind::Squared, LossKind::CrossEntropy, LossKind::Power(2.5)] {
        let fit = fit_scale(&data, &exact_scores(&data, &theta, &all), &all, loss).unwrap();
        let curve = scale_curve(&mut evaluator, &layout, &data, &theta, &ks, loss).unwrap();
        assert!((curve.minimum.k / fit.k - 1.0).abs() < 1e-6, "{loss}: {} {}", curve.minimum.k, fit.k);
        assert!((curve.minimum.loss / fit.loss - 1.0).abs() < 1e-12, "{loss}");
        assert_eq!((curve.at, curve.points.len()), (MinimumAt::Inside, 301));
        assert!(curve.points.is_sorted_by(|a, b| a.0 < b.0));
        for &(k, value) in curve.points.iter().step_by(37) {
            assert!(close(value, objective::loss(&data, Objective { k, loss }, &theta, 0..data.len())));
        }
        // If neighbors differ by less than the precision of f32, the minimum is just as exact.
        let narrow: Vec<f64> = (0..200).map(|i| fit.k * (1.0 + 1e-6 * (f64::from(i) - 150.3))).collect();
        let curve = scale_curve(&mut evaluator, &layout, &data, &theta, &narrow, loss).unwrap();
        assert!((curve.minimum.k / fit.k - 1.0).abs() < 1e-6, "{loss}: {}", curve.minimum.k);
        let above = scale_curve(&mut evaluator, &layout, &data, &theta, &[2.0, 3.0], loss).unwrap();
        assert!(close(above.minimum.k, 2.0) && above.at == MinimumAt::LowerEnd);
    }
    for bad in [&[][..], &[0.0], &[-1.0], &[f64::NAN, 1.0]] {
        assert!(
            scale_curve(&mut evaluator, &layout, &data, &theta, bad, LossKind::Squared).is_err(),
            "{bad:?}"
        );
    }
}

/// Compares every run of `config` (whose axes include blend and a source factor) with `tune` on a dataset of its own,
/// whose positions are those of the training folds, weighted and blended.
fn compare_with_tune(rows: &Rows, kind: FeatureKind, config: &dyn Fn(&Dataset) -> SweepConfig) {
    let folder = tempfile::tempdir().unwrap();
    let data = rows.whole(&folder.path().join("d.bin"), kind);
    let config = config(&data);
    let folds = Folds::try_new(&data, config.folds, config.seeds[0]).unwrap();
    let outcome = run(&config, &data);
    assert_eq!((outcome.reason, outcome.together), (StopReason::Epochs, config.runs()));
    assert_eq!(outcome.runs.len(), config.runs());
    let sources = data.sources_of_positions().unwrap();
    for run in outcome.runs.iter().step_by(5) {
        let setting = config.setting(run.combination);
        let own = |n: usize, label: Label| {
            let search =
                label.score.map_or(label.result, |s| objective::expected_score(0.8, s.into()) as f32);
            let place = config.grid.sources().iter().position(|&s| s == sources[n] as usize);
            Label {
                result: label.result + setting.blend * (search - label.result),
                weight: label.weight * place.map_or(1.0, |at| setting.sources[at]),
                score: None,
                ..label
            }
        };
        let chosen = |n: usize| (folds.fold_of(n) != run.fold).then(|| own(n, rows.labels[n]));
        let part = rows.write(&folder.path().join("part.bin"), kind, chosen);
        let tune = RunConfig {
            prior: config.prior.clone(),
            prior_theta: config.start.clone(),
            k: setting.k,
            loss: setting.loss,
            optimizer: match config.method {
                SweepMethod::Adam { schedule } => {
                    OptimizerConfig::Adam(AdamRuns { runs: vec![setting.adam], schedule, batches: 1 })
                }
                SweepMethod::GaussNewton { .. } => {
                    OptimizerConfig::GaussNewton(GaussNewtonSettings::default())
                }
            },
            l2: vec![setting.l2],
            stopping: Stopping {
                epochs: config.epochs,
                seconds: None,

                improvement: if matches!(config.method, SweepMethod::Adam { .. }) { 0.0 } else { 1e-8 },
                window: if matches!(config.method, SweepMethod::Adam { .. }) { 100 } else { 1 },
                patience: 1,
            },
            ..RunConfig::default()
        };
        let split = Split::try_new(&part, 0.0, 1, 1).unwrap();
        let layout = Layout::whole(&part).unwrap();
        let tuned = Tuning::try_new(&tune, &split)
            .unwrap()
            .run(&mut CpuEvaluator::new(&layout), &AtomicBool::new(false), &mut |_| Ok(()))
            .unwrap();
        let theta = &tuned.parameters;
        let objective = Objective { k: setting.k, loss: setting.loss };
        let judged = Objective { k: setting.k, loss: config.judge };
        let expected = objective::loss(&data, judged, theta, folds.members(run.fold));
        assert!(about(run.result.held_out, expected, config.method), "{run:?} {setting:?}: {expected}");
        let expected = objective::loss(&part, objective, theta, 0..part.len());
        assert!(about(run.result.training, expected, config.method), "{run:?} {setting:?}: {expected}");
        // Blended, with the run's own loss, and weighted as in the dataset.
        let unseen = |n: usize| {
            let label = Label { weight: rows.labels[n].weight, ..own(n, rows.labels[n]) };
            (folds.fold_of(n) == run.fold).then_some(label)
        };
        let part = rows.write(&folder.path().join("part.bin"), kind, unseen);
        let expected = objective::loss(&part, objective, theta, 0..part.len());
        assert!(about(run.result.own_held_out, expected, config.method), "{run:?} {setting:?}: {expected}");
    }
}

#[test]
fn adam_runs_match_tune_on_the_training_folds() {
    let rows = Rows::random(1500, 5);
    compare_with_tune(&rows, FeatureKind::Pst, &|data| {
        let axes = [
            "learning-rate=0.5,1",
            "loss=squared,cross-entropy",
            "blend=0,0.4",
            "source:b.pgn=0.25,3",
            "l2=0,1e-3",
        ];
        config(data, &axes, ADAM, 30)
    });
}

#[test]
fn gauss_newton_runs_match_tune_on_the_training_folds() {
    let rows = Rows::random(1500, 6);
    compare_with_tune(&rows, FeatureKind::Material, &|data| {
        let axes = ["l2=1e-4,1e-2", "k=0.7,1.1", "loss=squared,cross-entropy", "blend=0.5", "source:2=2"];
        config(data, &axes, NEWTON, 30)
    });
}

#[test]
#[ignore = "full"]
fn portions_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let data = Rows::random(900, 7).whole(&folder.path().join("d.bin"), FeatureKind::Material);
    for method in [ADAM, NEWTON] {
        let config = config(&data, &["l2=0,1e-3,1e-2", "loss=squared,cross-entropy"], method, 12);
        let whole = run(&config, &data);
        let mut sweep = SweepDriver::try_new(&config, &data).unwrap().with_portion(4);
        let cut = sweep.run(&cpu, &AtomicBool::new(false), &mut |_| Ok(())).unwrap();
        assert_eq!((whole.together, cut.together), (18, 4));
        // Gauss-Newton runs end when they have converged.
        let most = 18 * 12;
        match method {
            SweepMethod::Adam { .. } => assert_eq!((whole.epochs, cut.epochs), (most, most)),
            SweepMethod::GaussNewton { .. } => assert!(whole.epochs < most && cut.epochs < most),
        }
        for (a, b) in whole.runs.iter().zip(&cut.runs) {
            assert_eq!((a.combination, a.fold), (b.combination, b.fold));
            assert!(about(a.result.held_out, b.result.held_out, method), "{a:?} {b:?}");
        }
    }
}

#[test]
fn lost_device_is_reported_once_per_seed() {
    let folder = tempfile::tempdir().unwrap();
    let data = Rows::random(600, 9).whole(&folder.path().join("d.bin"), FeatureKind::Material);
    let mut config = config(&data, &["l2=0,1e-3"], ADAM, 5);
    config.seeds = vec![1, 2];
    let whole = run(&config, &data);
    // Six calls per seed: five steps, and an evaluation.
    for works in 0..6 {
        let mut told = Vec::new();
        let mut sweep = SweepDriver::try_new(&config, &data).unwrap();
        let evaluator: &MakeEvaluator<'_> = &|layout| {
            let first = Box::new(Limited(CpuEvaluator::new(layout), works));
            Ok(Box::new(FallbackEvaluator::new(first, || Box::new(CpuEvaluator::new(layout)))))
        };
        let outcome = sweep.run(evaluator, &AtomicBool::new(false), &mut |event| {
            if let SweepEvent::Replaced(Fallback { error, evaluator }) = event {
                told.push(format!("{error}; {evaluator}"));
            }
            Ok(())
        });
        assert_eq!(outcome.unwrap().runs, whole.runs, "after {works} calls");
        assert!(told.len() == 2 && told[0].starts_with("GPU: the device was lost; CPU"), "{told:?}");
    }
}

#[test]
#[ignore = "full"]
fn sweeps_resume_after_any_step() {
    let folder = tempfile::tempdir().unwrap();
    let data = Rows::random(600, 8).whole(&folder.path().join("d.bin"), FeatureKind::Material);
    let path = folder.path().join("c.safetensors");
    for method in [ADAM, NEWTON] {
        let mut config = config(&data, &["l2=0,1e-3", "loss=squared,cross-entropy"], method, 5);
        config.seeds = vec![1, 2];
        let whole = run(&config, &data);
        assert_eq!(whole.runs.len(), 24);
        assert_ne!(whole.runs[0].result, whole.runs[12].result, "seeds cut different folds");
        for stop in 1.. {
            let cancel = AtomicBool::new(false);
            let mut steps = 0;
            let mut sweep = SweepDriver::try_new(&config, &data).unwrap();
            let mut observe = |event: SweepEvent<'_>| {
                match event {
                    SweepEvent::Step { .. } => {
                        steps += 1;
                        cancel.store(steps >= stop, Ordering::Relaxed);
                    }
                    SweepEvent::State { checkpoint, last } => {
                        if last {
                            checkpoint().write(&path)?;
                        }
                    }
                    SweepEvent::Replaced(_) => unreachable!("nothing fails"),
                }
                Ok(())
            };
            let first = sweep.run(&cpu, &cancel, &mut observe).unwrap();
            let stored = Checkpoint::read(&path).unwrap();
            if first.reason == StopReason::Epochs {
                assert_eq!(
                    (first.runs, stored.progress.finished),
                    (whole.runs.clone(), Some(StopReason::Epochs))
                );
                break;
            }
            assert!(first.reason == StopReason::Interrupted && first.epochs < whole.epochs);
            assert!(first.runs.len() == 12 || first.runs.len() == 24, "{}", first.runs.len());
            let mut sweep = SweepDriver::resume(&config, &data, stored, &path).unwrap();
            let rest = sweep.run(&cpu, &AtomicBool::new(false), &mut |_| Ok(())).unwrap();
            assert_eq!((rest.runs, rest.epochs), (whole.runs.clone(), whole.epochs), "after {stop} steps");
        }
        // A sweep that is interrupted before its first step leaves the state unchanged.
        let mut sweep = SweepDriver::try_new(&config, &data).unwrap();
        let nothing = sweep.run(&cpu, &AtomicBool::new(true), &mut |_| Ok(())).unwrap();
        assert_eq!((nothing.reason, nothing.runs.len()), (StopReason::Interrupted, 0));
        // The state of another sweep, or with a non-finite number.
        let mut other = config.clone();
        other.grid.axes.truncate(1);
        let cancel = AtomicBool::new(false);
        let mut stored = None;
        let mut observe = |event: SweepEvent<'_>| {
            if let SweepEvent::State { checkpoint, last: false } = event {
                stored = Some(checkpoint());
                cancel.store(true, Ordering::Relaxed);
            }
            Ok(())
        };
        SweepDriver::try_new(&config, &data).unwrap().run(&cpu, &cancel, &mut observe).unwrap();
        let stored = stored.unwrap();
        let mut resumed = SweepDriver::resume(&config, &data, stored.clone(), &path).unwrap();
        let mut written = false;
        let mut watch = |event: SweepEvent<'_>| {
            written |= matches!(event, SweepEvent::State { .. });
            Ok(())
        };
        resumed.run(&cpu, &AtomicBool::new(true), &mut watch).unwrap();
        assert!(!written, "the state under way was given up");
        assert!(matches!(
            SweepDriver::resume(&other, &data, stored.clone(), &path),
            Err(Error::Input { .. })
        ));
        let mut poisoned = stored;
        poisoned.optimizer.vectors.values_mut().find(|v| !v.is_empty()).unwrap()[0] = f64::NAN;
        assert!(matches!(SweepDriver::resume(&config, &data, poisoned, &path), Err(Error::Input { .. })));
    }
}

#[test]
fn retraining_uses_every_position() {
    let folder = tempfile::tempdir().unwrap();
    let data = random_dataset(&folder.path().join("d.bin"), FeatureKind::Material, 1200, 9);
    let mut config = config(&data, &["l2=1e-5,1e-3"], NEWTON, 30);
    config.blend_k = None;
    let trained = retrain(&config, &data, 1, &cpu, &AtomicBool::new(false)).unwrap();
    assert!(trained.optimizer.contains("L2 1e-3"), "{}", trained.optimizer);
    // At the minimum over all positions, the gradient and the pull toward the prior cancel.
    let objective = Objective { k: 0.9, loss: LossKind::Squared };
    let reference = objective::loss_and_gradient(&data, objective, &trained.theta, 0..data.len());
    let start = objective::loss_and_gradient(&data, objective, &config.start, 0..data.len());
    let norm = |g: &[f64]| g.iter().fold(0.0f64, |norm, v| norm.max(v.abs()));
    let rest: Vec<f64> = (0..config.start.len())
        .map(|i| reference.gradient[i] + 2.0 * 1e-3 / 1e4 * (trained.theta[i] - config.start[i]))
        .collect();
    assert!(norm(&rest) < 1e-3 * norm(&start.gradient), "{} {}", norm(&rest), norm(&start.gradient));
}

#[test]
fn diverging_runs_rank_last_and_do_not_affect_others() {
    let folder = tempfile::tempdir().unwrap();
    let data = Rows::random(600, 10).whole(&folder.path().join("d.bin"), FeatureKind::Material);
    let alone = run(&config(&data, &["learning-rate=1"], ADAM, 20), &data);
    let beside = run(&config(&data, &["learning-rate=1,1e6"], ADAM, 20), &data);
    for run in beside.runs.iter().filter(|run| run.combination == 0) {
        let own = alone.runs.iter().find(|own| own.fold == run.fold).unwrap();
        assert!(close(run.result.held_out, own.result.held_out));
    }
    let ranking = gputexel::tuning::sweep::rank(&beside.runs, 3);
    assert_eq!(ranking.ranked[0].combination, 0);
    assert!(ranking.ranked[1].held_out.mean > 1.1 * ranking.ranked[0].held_out.mean);
}

#[test]
fn built_sweep_matches_its_settings_and_folder() {
    let folder = tempfile::tempdir().unwrap();
    let data = Rows::random(600, 11).whole(&folder.path().join("d.bin"), FeatureKind::Material);
    let settings = |axes: &[&str], k: Option<f64>, blend_k: Option<f64>| SweepSettings {
        axes: axes.iter().map(|axis| axis.to_string()).collect(),
        k,
        blend_k,
        folds: 3,
        seed: 4,
        epochs: Some(6),
        ..SweepSettings::default()
    };
    let sweep = settings(&["l2=0,1e-3", "blend=0,0.5"], Some(0.9), Some(0.8));
    let expected = SweepConfig {
        sections: None,
        checksum: data.checksum().to_string(),
        ..config(&data, &["l2=0,1e-3", "blend=0,0.5"], SweepMethod::default(), 6)
    };
    assert_eq!(sweep.config(&data).unwrap(), expected);
    let backend = Backend::custom("cpu", |layout| Ok(Box::new(CpuEvaluator::new(layout))));
    let results = sweep.run(&data, &backend, &AtomicBool::new(false)).unwrap();
    assert_eq!(results.outcome.runs, run(&expected, &data).runs);
    assert!(results.best().is_some() && results.unfinished().is_none());
    // The data in memory and those read from the folder give the same report.
    let out = folder.path().join("out");
    results.write_to(&out).unwrap();
    assert!(results.write_to(&out).is_err(), "the folder is not empty");
    let read = gputexel::sweep::sweep_report(&RunFolder::view(&out)).unwrap();
    assert_eq!(std::fs::read_to_string(out.join("report.html")).unwrap(), read.to_html(None));
    assert_eq!(std::fs::read_to_string(out.join("runs.csv")).unwrap().lines().count(), 1 + 12);
    let best = results.train_best(&cpu, &AtomicBool::new(false)).unwrap().unwrap();
    assert_eq!(best.file.provenance.loss, Some(best.loss));
    // Settings that contradict each other, or the data.
    for (bad, why) in [
        (settings(&["k=0.8,1"], Some(0.9), None), "both fixed and varied"),
        (settings(&["seed=1,2", "seed=3"], None, None), "grid seed: given twice"),
        (settings(&["l2=0"], None, Some(0.8)), "no target is blended"),
        (SweepSettings { folds: 1, ..settings(&["l2=0"], None, None) }, "folds"),
    ] {
        let error = bad.config(&data).unwrap_err();
        assert!(error.exit_code() == 2 && error.to_string().contains(why), "{error}");
    }
}

#[test]
fn files_of_a_sweep_are_checked_recorded_and_written_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.bin");
    let data = || dataset::read(&path).unwrap();
    let config = {
        let data = Rows::random(600, 11).whole(&path, FeatureKind::Material);
        let settings = SweepSettings {
            datasets: vec![path.clone()],
            axes: vec!["l2=0,1e-3".to_string()],
            folds: 3,
            k: Some(0.9),
            epochs: Some(4),
            ..SweepSettings::default()
        };
        settings.config(&data).unwrap()
    };
    let out = |name: &str| Some(folder.path().join(name));
    let files = SweepFiles {
        folder: out("run"),
        best: out("best.json"),
        csv: out("runs.csv"),
        ..SweepFiles::default()
    };
    files.check(std::slice::from_ref(&path)).unwrap();
    let go_on = AtomicBool::new(false);
    {
        let sweep = files.begin(config.clone(), data()).unwrap();
        // If stopped before its first epoch, it keeps its starting state and writes no parameters.
        let end = sweep.carry_out(&cpu, &AtomicBool::new(true), &mut |_| Ok(())).unwrap();
        assert!(end.best.is_none() && end.results.is_interrupted());
        assert!(matches!(end.finish(), Err(Error::Interrupted(_))));
    }
    // A resumed sweep writes the original files, whether or not they are named again.
    {
        let sweep = SweepFiles::default().resume(folder.path().join("run")).unwrap();
        let end = sweep.carry_out(&cpu, &go_on, &mut |_| Ok(())).unwrap();
        assert_eq!(end.best.as_ref().map(|(path, _)| path.clone()), out("best.json"));
        end.finish().unwrap();
    }
    let best = || std::fs::metadata(folder.path().join("best.json")).unwrap().modified().unwrap();
    let written = best();
    // Once everything is written, it is only shown again.
    {
        let sweep = SweepFiles::default().resume(folder.path().join("run")).unwrap();
        assert!(sweep.resumed);
        let end = sweep.carry_out(&cpu, &go_on, &mut |_| Ok(())).unwrap();
        assert!(end.best.is_none());
        end.finish().unwrap();
    }
    assert_eq!(best(), written);
    assert!(matches!(files.check(std::slice::from_ref(&path)), Err(Error::Exists(_))));
    // A sweep that fails leaves no folder behind.
    let fresh = SweepFiles { best: out("parameters"), ..SweepFiles::default() };
    drop(fresh.begin(config, data()).unwrap());
    assert!(!folder.path().join("parameters").exists());
}
