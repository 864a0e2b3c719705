//! `sweep --grid`: from flags to a sweep, or from its folder, and to its end.

use std::cell::Cell;
use std::path::{Path, PathBuf};

use gputexel::dataset::{self, Dataset, Layout};
use gputexel::model::Prior;
use gputexel::objective::LossKind;
use gputexel::optimizer::Schedule;
use gputexel::tuning::sweep::{
    Axis, AxisKey, Grid, Machine, MachineRoom, Sweep, SweepConfig, SweepMethod, SweepOutputs, SweepRecord,
    rank, retrain,
};
use gputexel::tuning::{Checkpoint, StopReason, exact_scores, fit_scale};
use gputexel::{Error, Result};

use super::super::backend::Backend;
use super::super::live::Watch;
use super::super::report;
use super::super::run_folder::{Kind, RunFolder};
use super::super::table::grouped;
use super::super::targets::{check_apart, check_target, is_one};
use super::super::{Context, say};
use super::output::{self, BestTarget, check_best, holds_best_only};
use super::picture::curve;
use super::progress::Observer;
use super::{MANY, SweepArgs, base_factor};

/// More runs than this have results that no table holds.
const MOST: usize = 10_000_000;
const RECORD: &str = "sweep.json";

/// Evaluators of the backend that was chosen.
struct Room<'a> {
    backend: &'a Backend,
    /// Whether the first evaluator is still to be named.
    announce: Cell<bool>,
}

impl MachineRoom for Room<'_> {
    fn machine<'l>(&'l self, layout: &'l Layout) -> Result<Machine<'l>> {
        let (evaluator, line) = self.backend.evaluator(layout)?;
        if self.announce.take() {
            say(&format!("backend     {line}\n"))?;
        }
        Ok(Machine::new(evaluator, |_| self.backend.replacement(layout)))
    }
}

/// Runs a new sweep.
///
/// # Errors
/// Bad usage, files that cannot be read or written, devices that fail, interruption.
pub fn start(args: &SweepArgs, context: &Context, watch: &Watch) -> anyhow::Result<()> {
    // Everything that can be refused is refused before anything is written.
    check_numbers(args)?;
    let outputs = SweepOutputs {
        best: args.best.clone(),
        csv: args.csv.clone(),
        svg: args.svg.clone(),
        force: args.force,
        written: false,
    };
    let own = |best: &Path| args.out.as_deref().is_some_and(|out| is_one(best, out));
    outputs.best.as_deref().filter(|best| !own(best)).map_or(Ok(()), |path| check_best(path, args.force))?;
    check_target(outputs.csv.as_deref(), args.force)?;
    check_target(outputs.svg.as_deref(), args.force)?;
    let inputs: Vec<&Path> = args.datasets.iter().map(PathBuf::as_path).collect();
    check_apart(&[outputs.csv.as_deref(), outputs.svg.as_deref()], &inputs)?;
    let backend = args.backend.open()?;
    let data = dataset::read_many(&args.datasets)?;
    if data.is_empty() {
        return Err(Error::input(&args.datasets[0], "contains no positions").into());
    }
    let config = configure(args, &data)?;
    Sweep::try_new(&config, &data)?;
    let folder =
        args.out.as_deref().map(|path| RunFolder::create(Some(path), Kind::Sweep, args.force)).transpose()?;
    let record = SweepRecord {
        program: concat!("gputexel ", env!("CARGO_PKG_VERSION")).to_string(),
        command_line: context.command_line.clone(),
        started: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        outputs: absolutes(&outputs),
        config,
    };
    let result = (|| -> anyhow::Result<()> {
        if let Some(folder) = &folder {
            store(folder, &record)?;
        }
        execute(args, context, watch, &backend, folder.as_ref(), &record, &outputs, &data, None)
    })();
    if result.is_err()
        && let Some(folder) = &folder
    {
        folder.discard();
    }
    result
}

/// Goes on with a sweep, or shows a finished one.
///
/// # Errors
/// As [`start`], and where the folder is not that of a sweep.
pub fn resume(args: &SweepArgs, path: &Path, context: &Context, watch: &Watch) -> anyhow::Result<()> {
    check_numbers(args)?;
    let folder = RunFolder::enter(path, Kind::Sweep)?;
    let mut record: SweepRecord = folder.record(Kind::Sweep)?;
    let outputs = resumed_outputs(args, &folder, &record.outputs)?;
    let backend = args.backend.open()?;
    let config = &record.config;
    let checkpoint = folder.read_checkpoint()?;
    let data = dataset::read_many(&config.datasets)?;
    if data.checksum() != config.checksum {
        return Err(
            Error::input(&config.datasets[0], "is not the dataset that the sweep started with").into()
        );
    }
    config.validate().map_err(|e| Error::input(folder.file(RECORD), e.to_string()))?;
    // What a finished sweep is asked for is no part of it.
    let same_best = outputs.best.as_ref().map(absolute) == record.outputs.best;
    let force = args.force || (same_best && record.outputs.force);
    let recorded = SweepOutputs { force, ..absolutes(&outputs) };
    if !record.outputs.written && record.outputs != recorded {
        record.outputs = recorded;
        store(&folder, &record)?;
    }
    execute(args, context, watch, &backend, Some(&folder), &record, &outputs, &data, checkpoint)
}

fn store(folder: &RunFolder, record: &SweepRecord) -> anyhow::Result<()> {
    Ok(folder.write(RECORD, &(serde_json::to_string_pretty(record)? + "\n"))?)
}

fn absolute(path: &PathBuf) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.clone())
}

fn absolutes(outputs: &SweepOutputs) -> SweepOutputs {
    let full = |path: &Option<PathBuf>| path.as_ref().map(absolute);
    let (best, csv, svg) = (full(&outputs.best), full(&outputs.csv), full(&outputs.svg));
    SweepOutputs { best, csv, svg, ..outputs.clone() }
}

/// What a resumed sweep writes: what the flags say, else what is recorded and not yet written.
/// What the sweep itself is to write may exist, anything else needs `--force`.
fn resumed_outputs(args: &SweepArgs, folder: &RunFolder, recorded: &SweepOutputs) -> Result<SweepOutputs> {
    let choose = |given: &Option<PathBuf>, recorded_path: &Option<PathBuf>| match given {
        Some(path) => Some(path.clone()),
        None => recorded_path.clone().filter(|_| !recorded.written),
    };
    let file = |given, recorded_path: &Option<PathBuf>, own: &str| {
        let path = choose(given, recorded_path);
        let full = path.as_ref().map(absolute);
        let ours = full == *recorded_path || full == Some(absolute(&folder.file(own)));
        check_target(path.as_deref(), args.force || ours).map(|()| path)
    };
    let csv = file(&args.csv, &recorded.csv, "runs.csv")?;
    let svg = file(&args.svg, &recorded.svg, "sweep.svg")?;
    let best = choose(&args.best, &recorded.best);
    let ours = best.as_ref().map(absolute) == recorded.best;
    let force = args.force || (ours && (recorded.force || best.as_deref().is_some_and(holds_best_only)));
    let elsewhere = best.as_deref().filter(|best| !is_one(best, folder.path()));
    elsewhere.map_or(Ok(()), |path| check_best(path, force))?;
    Ok(SweepOutputs { best, csv, svg, force, written: false })
}

fn check_numbers(args: &SweepArgs) -> Result<()> {
    if !(args.checkpoint_every.is_finite() && args.checkpoint_every >= 0.0) {
        return Err(Error::Usage("--checkpoint-every must be 0 or a positive number".to_string()));
    }
    if args.top == 0 {
        return Err(Error::Usage("--top 0: must be at least 1".to_string()));
    }
    Ok(())
}

/// What the flags and the data say.
fn configure(args: &SweepArgs, data: &Dataset) -> Result<SweepConfig> {
    let fresh = &args.fresh;
    let loss: LossKind = fresh.loss.as_deref().map(str::parse).transpose()?.unwrap_or_default();
    let prior: Option<Prior> = fresh.prior.as_deref().map(str::parse).transpose()?;
    let factor = base_factor(&fresh.k_base)?;
    let axis = |text: &String| Axis::parse(text, &data.metadata().sources, factor);
    let mut grid = Grid { axes: fresh.grid.iter().map(axis).collect::<Result<_>>()? };
    let method = match fresh.optimizer.as_deref().unwrap_or("adam") {
        "adam" => {
            let schedule = fresh.schedule.as_deref().map(str::parse).transpose()?;
            SweepMethod::Adam { schedule: schedule.unwrap_or(Schedule::default()) }
        }
        "gauss-newton" if fresh.schedule.is_some() => {
            return Err(Error::Usage("--schedule only applies to adam".to_string()));
        }
        "gauss-newton" => SweepMethod::GaussNewton { improvement: 1e-8 },
        other => return Err(Error::Usage(format!("optimizer '{other}': expected adam or gauss-newton"))),
    };
    let seeds = match grid.axes.iter().position(|axis| axis.key == AxisKey::Seed) {
        Some(_) if fresh.seed.is_some() => {
            return Err(Error::Usage("--seed and --grid seed: give only one of them".to_string()));
        }
        Some(place) => {
            let axis = grid.axes.remove(place);
            if grid.varies(AxisKey::Seed) {
                return Err(Error::Usage("--grid seed: given twice".to_string()));
            }
            (0..axis.len()).filter_map(|i| axis.number(i)).map(|seed| seed as u64).collect()
        }
        None => vec![fresh.seed.unwrap_or(1)],
    };
    let kinds = grid.losses(loss);
    if fresh.loss.is_some() && grid.varies(AxisKey::Loss) {
        return Err(Error::Usage("--loss and --grid loss: give only one of them".to_string()));
    }
    let judge: Option<LossKind> = fresh.judge.as_deref().map(str::parse).transpose()?;
    let judge = judge.unwrap_or(if kinds.len() == 1 { kinds[0] } else { LossKind::Squared });
    let prior = prior.unwrap_or_else(|| Prior::default_for(&data.metadata().feature_set));
    let start = prior.theta(&data.metadata().feature_set)?;
    let basis = args.basis.resolve("identity", &data.metadata().feature_set, &start)?;
    let mut config = SweepConfig {
        datasets: args.datasets.iter().map(|path| absolute(path).display().to_string()).collect(),
        checksum: data.checksum().to_string(),
        prior: prior.to_string(),
        start,
        basis,
        grid,
        loss,
        k: Vec::new(),
        judge,
        blend_k: None,
        folds: fresh.folds.unwrap_or(5),
        seeds,
        epochs: fresh.epochs.unwrap_or(if matches!(method, SweepMethod::Adam { .. }) { 100 } else { 50 }),
        method,
    };
    config.validate()?;
    config.check_data(data)?;
    let runs = config.runs();
    if runs > MANY && !fresh.yes {
        return Err(Error::Usage(format!("{} runs; confirm with --yes", grouped(runs as u64))));
    }
    if runs > MOST {
        return Err(Error::Usage(format!("{} runs: at most {}", grouped(runs as u64), grouped(MOST as u64))));
    }
    // What must be fitted comes last.
    config.blend_k = blend_scale(args, data, &config.grid)?;
    config.k = scales(args, data, &config, &kinds)?;
    Ok(config)
}

/// K of each loss function, given or fitted on the prior; none where the grid varies K.
fn scales(
    args: &SweepArgs,
    data: &Dataset,
    config: &SweepConfig,
    kinds: &[LossKind],
) -> Result<Vec<(LossKind, f64)>> {
    let given = args.k.k()?;
    if config.grid.varies(AxisKey::K) {
        return match given {
            Some(_) => Err(Error::Usage("a fixed K and --grid k: give only one of them".to_string())),
            None => Ok(Vec::new()),
        };
    }
    if let Some(k) = given {
        return Ok(kinds.iter().map(|&kind| (kind, k)).collect());
    }
    let all: Vec<u32> = (0..data.len() as u32).collect();
    let scores = exact_scores(data, &config.start, &all);
    kinds.iter().map(|&kind| Ok((kind, fit_scale(data, &scores, &all, kind)?.k))).collect()
}

/// K of search scores, where targets are blended with them.
fn blend_scale(args: &SweepArgs, data: &Dataset, grid: &Grid) -> Result<Option<f64>> {
    let blends = grid.axes.iter().find(|axis| axis.key == AxisKey::Blend);
    let blended = blends.is_some_and(|axis| (0..axis.len()).any(|i| axis.number(i) > Some(0.0)));
    match (blended, args.fresh.blend_k) {
        (false, None) => return Ok(None),
        (false, Some(_)) => {
            return Err(Error::Usage("--blend-k: needs --grid blend, for example blend=0:1:3".to_string()));
        }
        (true, Some(k)) if !(k.is_finite() && k > 0.0) => {
            return Err(Error::Usage(format!("--blend-k {k}: must be a positive number")));
        }
        _ => {}
    }
    if data.search_scores().is_empty() {
        return Err(Error::Usage("--grid blend: the dataset has no search scores to blend".to_string()));
    }
    if args.fresh.blend_k.is_some() {
        return Ok(args.fresh.blend_k);
    }
    let searched = data.search_scores().iter().enumerate().filter(|(_, score)| !score.is_nan());
    let (which, scores): (Vec<u32>, Vec<f64>) =
        searched.map(|(n, &score)| (n as u32, f64::from(score))).unzip();
    let fit = fit_scale(data, &scores, &which, LossKind::Squared);
    let fit =
        fit.map_err(|e| Error::Usage(format!("K of the search scores: {e}; give it with --blend-k")))?;
    Ok(Some(fit.k))
}

#[allow(clippy::too_many_arguments, reason = "the two ways into a sweep share its parts, not a type")]
fn execute(
    args: &SweepArgs,
    context: &Context,
    watch: &Watch,
    backend: &Backend,
    folder: Option<&RunFolder>,
    record: &SweepRecord,
    outputs: &SweepOutputs,
    data: &Dataset,
    checkpoint: Option<Checkpoint>,
) -> anyhow::Result<()> {
    let config = &record.config;
    let target =
        outputs.best.as_deref().map(|path| BestTarget::open(path, folder, outputs.force)).transpose()?;
    let result = (|| -> anyhow::Result<()> {
        let resumed = checkpoint.is_some();
        let mut sweep = match (checkpoint, folder) {
            (Some(checkpoint), Some(folder)) => {
                Sweep::resume(config, data, checkpoint, &folder.checkpoint())?
            }
            _ => Sweep::try_new(config, data)?,
        };
        let talks = !context.quiet && !context.json;
        let room = Room { backend, announce: Cell::new(talks) };
        if talks {
            output::print_opening(config, data, folder, resumed)?;
        }
        if let Some(folder) = folder {
            watch.follow(context, folder, &data.metadata().feature_set)?;
        }
        let ends_early = matches!(config.method, SweepMethod::GaussNewton { .. });
        let mut observer = Observer::new(context, folder, args.checkpoint_every, ends_early);
        let outcome = sweep.run(&room, context.cancel, &mut |event| observer.observe(event));
        observer.finish();
        let outcome = outcome?;
        let ranking = rank(&outcome.runs, config.folds);
        let interrupted = outcome.reason == StopReason::Interrupted;
        let (done, planned) = (grouped(outcome.epochs), grouped(outcome.planned));
        let unfinished = interrupted.then(|| format!("{done} of {planned} epochs"));
        let (csv, svg) = (outputs.csv.as_deref(), outputs.svg.as_deref());
        output::write_files(csv, svg, folder, config, &ranking, unfinished.as_deref())?;
        if let Some(folder) = folder {
            report::leave_sweep(folder, &ranking);
        }
        // What was learnt is shown even where the last training is interrupted.
        let best = match (&target, ranking.ranked.first()) {
            (Some(target), Some(first)) if !interrupted && first.held_out.mean.is_finite() => {
                retrain(config, data, first.combination, &room, context.cancel)
                    .and_then(|trained| target.write(config, data, first.combination, &trained))
                    .map(Some)
            }
            _ => Ok(None),
        };
        let written = best.as_ref().ok().and_then(Option::as_ref);
        if talks
            && watch.chart
            && let Some(chart) = curve(config, &ranking, unfinished.as_deref())
        {
            say(&format!("{}\n", chart.to_terminal()))?;
        }
        output::print_results(context, args.top, config, data, &outcome, &ranking, written)?;
        best?;
        if interrupted {
            let how = match folder {
                Some(folder) => format!("resume with 'gputexel sweep --resume {}'", folder.path().display()),
                None => "use --out to be able to resume".to_string(),
            };
            return Err(
                Error::Interrupted(format!("after {done} of {planned} epochs of all runs; {how}")).into()
            );
        }
        if ranking.ranked.first().is_none_or(|best| !best.held_out.mean.is_finite()) {
            return Err(Error::Numeric("the losses of all runs are no longer finite".to_string()).into());
        }
        if let Some(folder) = folder
            && !outputs.is_empty()
            && !record.outputs.written
        {
            let outputs = SweepOutputs { written: true, ..record.outputs.clone() };
            store(folder, &SweepRecord { outputs, ..record.clone() })?;
        }
        Ok(())
    })();
    if result.is_err()
        && let Some(target) = &target
    {
        target.discard();
    }
    result
}
