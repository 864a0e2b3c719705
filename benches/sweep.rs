//! A grid of Adam runs on folds as one population, compared with the same runs one after another: the same steps, by
//! the one-member path. Of the latter only a sample is run and scaled up, because all would take minutes.
//!
//! `GPUTEXEL_BENCH_DATASET` names a dataset other than the sample.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use gputexel::dataset::{self, Dataset, Folds, Layout};
use gputexel::evaluator::cpu::CpuEvaluator;
use gputexel::evaluator::{Evaluator, Population, Request};
use gputexel::model::Prior;
use gputexel::objective::LossKind;
use gputexel::optimizer::{Adam, Optimizer, Schedule, Space};
use gputexel::tuning::Regularization;
use gputexel::tuning::sweep::{Axis, Grid, SweepConfig, SweepDriver, SweepEvent, SweepMethod};

const EPOCHS: u64 = 100;
const FOLDS: usize = 5;
/// Number of runs in the sample that is trained one after another.
const SAMPLE: usize = 8;
/// Number of rounds, each a pair of timings, of which the medians are printed.
const ROUNDS: usize = 3;

fn cpu(layout: &Layout) -> gputexel::Result<Box<dyn Evaluator + '_>> {
    Ok(Box::new(CpuEvaluator::new(layout)))
}

fn config(data: &Dataset) -> SweepConfig {
    let axis = |text| Axis::parse(text, &[], 1.0).expect("the axis is well formed");
    SweepConfig {
        datasets: Vec::new(),
        sections: None,
        checksum: String::new(),
        prior: Prior::default().to_string(),
        start: Prior::default().theta(&data.metadata().feature_set).expect("the default prior fits"),
        basis: None,
        penalties: Vec::new(),
        grid: Grid { axes: vec![axis("l2=1e-6:1e-3:8:log"), axis("learning-rate=2:40:8")] },
        loss: LossKind::Squared,
        k: vec![(LossKind::Squared, 0.83)],
        judge: LossKind::Squared,
        blend_k: None,
        folds: FOLDS,
        seeds: vec![1],
        method: SweepMethod::Adam { schedule: Schedule::Cosine },
        epochs: EPOCHS,
    }
}

/// Trains all runs as one population; returns the time and the best held-out losses by combination and fold.
fn together(config: &SweepConfig, data: &Dataset) -> (Duration, Vec<(usize, usize, f64)>) {
    let started = Instant::now();
    let mut sweep = SweepDriver::try_new(config, data).expect("the settings are good");
    let cancel = AtomicBool::new(false);
    let outcome = sweep.run(&cpu, &cancel, &mut |_: SweepEvent<'_>| Ok(())).expect("the sweep runs");
    assert_eq!(outcome.together, config.runs());
    let time = started.elapsed();
    (time, outcome.runs.iter().map(|run| (run.combination, run.fold, run.result.held_out)).collect())
}

/// Trains a single run; `whole` evaluates the left-out fold at each step, as the population does.
fn alone(
    config: &SweepConfig,
    data: &Dataset,
    combination: usize,
    fold: usize,
    whole: bool,
) -> (Duration, f64) {
    let folds = Folds::try_new(data, FOLDS, 1).expect("there are enough positions");
    // The left-out fold is the last part, so that the others are contiguous.
    let place = |n: usize| (folds.fold_of(n) + FOLDS - fold - 1) % FOLDS;
    let layout = Layout::try_new(data, FOLDS, place).expect("no fold is empty");
    let started = Instant::now();
    let setting = config.setting(combination);
    let mut evaluator = CpuEvaluator::new(&layout);
    let mut adam =
        Adam::try_new(&Space::unbounded(&config.start), vec![setting.adam], Schedule::Cosine, EPOCHS, 1)
            .expect("the settings are good");
    let mut weights = vec![1.0; FOLDS];
    weights[FOLDS - 1] = 0.0;
    let population = |theta: Vec<f64>| Population {
        part_weights: weights.clone(),
        ..Population::new(data.feature_count(), theta, vec![setting.k])
    };
    let request = |parts, gradients| Request { parts, loss: setting.loss, gradients, curvature: false };
    let parts = if whole { FOLDS } else { FOLDS - 1 };
    for _ in 0..EPOCHS {
        let proposal = adam.ask();
        let population = population(proposal.parameters);
        let mut answer = evaluator.evaluate(&population, &request(0..parts, true)).expect("it evaluates");
        Regularization::new(&config.start, setting.l2, &[]).add(&mut answer, &population.parameters);
        adam.tell(&answer).expect("losses are finite");
    }
    let last = population(adam.ask().parameters);
    let judged = evaluator.evaluate(&last, &request(0..FOLDS, false)).expect("it evaluates");
    (started.elapsed(), judged.part_losses[FOLDS - 1])
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/sample.bin");
    let path = std::env::var_os("GPUTEXEL_BENCH_DATASET").map_or(sample, Into::into);
    let data = dataset::read(&path).expect("the dataset is readable");
    let config = config(&data);
    let runs = config.runs();
    println!(
        "{runs} Adam runs ({} settings, {FOLDS} folds), {EPOCHS} epochs, {} positions; {}",
        config.grid.len(),
        data.len(),
        CpuEvaluator::new(&Layout::whole(&data).expect("there are positions")).describe()
    );
    let scale = runs as f64 / SAMPLE as f64;
    let (mut population, mut same, mut fewer) = (Vec::new(), Vec::new(), Vec::new());
    let mut worst: f64 = 0.0;
    for _ in 0..ROUNDS {
        let (time, results) = together(&config, &data);
        population.push(time.as_secs_f64());
        let (mut whole, mut training) = (0.0, 0.0);
        for i in 0..SAMPLE {
            let (combination, fold) = (i * config.grid.len() / SAMPLE, i % FOLDS);
            let (time, held_out) = alone(&config, &data, combination, fold, true);
            whole += time.as_secs_f64();
            training += alone(&config, &data, combination, fold, false).0.as_secs_f64();
            let known =
                results.iter().find(|r| (r.0, r.1) == (combination, fold)).expect("every run is there");
            worst = worst.max((known.2 - held_out).abs() / held_out);
        }
        same.push(whole * scale);
        fewer.push(training * scale);
    }
    let ratio = |times: &[f64]| median(times.iter().zip(&population).map(|(a, b)| a / b).collect());
    println!("one population, folds and layout included   {:>8.2} s", median(population.clone()));
    println!(
        "one after another, the same requests        {:>8.2} s   {:>5.1} times as long   ({SAMPLE} runs, scaled)",
        median(same.clone()),
        ratio(&same)
    );
    println!(
        "one after another, training positions only  {:>8.2} s   {:>5.1} times as long   ({SAMPLE} runs, scaled)",
        median(fewer.clone()),
        ratio(&fewer)
    );
    println!("held-out losses differ by at most {worst:.1e} of them");
}
