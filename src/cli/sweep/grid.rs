//! `sweep --grid`: from flags to a sweep, or from its folder, and to its end.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::time::Duration;

use gputexel::dataset::{self, Dataset};
use gputexel::report::sweep_curve;
use gputexel::sweep::{SweepSession, holds_best_only};
use gputexel::tuning::Checkpoint;
use gputexel::tuning::sweep::{MakeEvaluator, SweepConfig, SweepMethod, SweepOutputs, SweepRecord};
use gputexel::{Error, Result};

use super::super::backend::Backend;
use super::super::live::Watch;
use super::super::report;
use super::super::run_folder::{self, Kind, RunFolder};
use super::super::table::grouped;
use super::super::targets::{check_apart, check_target, is_one};
use super::super::{Context, say};
use super::output::{self, check_best, open_best};
use super::progress::Observer;
use super::{Fresh, MANY, SweepArgs, base_factor};

const RECORD: &str = "sweep.json";

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
    SweepSession::new(&config, &data)?;
    let folder = args
        .out
        .as_deref()
        .map(|path| run_folder::create(Some(path), Kind::Sweep, args.force))
        .transpose()?;
    let record = SweepRecord::new(&context.command_line, absolutes(&outputs), config);
    let result = (|| -> anyhow::Result<()> {
        if let Some(folder) = &folder {
            folder.write_record(Kind::Sweep, &record)?;
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
    let folder = run_folder::enter(path, Kind::Sweep)?;
    let mut record: SweepRecord = folder.record(Kind::Sweep)?;
    let outputs = resumed_outputs(args, &folder, &record.outputs)?;
    let backend = args.backend.open()?;
    let config = &record.config;
    let checkpoint = Checkpoint::read_from(&folder)?;
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
        folder.write_record(Kind::Sweep, &record)?;
    }
    execute(args, context, watch, &backend, Some(&folder), &record, &outputs, &data, checkpoint)
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
    let usage = |text: &str| Error::Usage(text.to_string());
    let mut sweep = gputexel::sweep::Sweep::builder(data)
        .datasets(args.datasets.iter().map(|path| absolute(path).display().to_string()).collect())
        .k_factor(base_factor(&fresh.k_base)?)
        .method(method(fresh)?);
    let mut names = Vec::new();
    for text in &fresh.grid {
        let Some((name, values)) = text.rsplit_once('=') else {
            return Err(Error::Usage(format!("--grid '{text}': expected KEY=VALUES")));
        };
        sweep = sweep.axis(name, values);
        names.push(name);
    }
    let k = args.k.k()?;
    for (name, given, flag) in [
        ("seed", fresh.seed.is_some(), "--seed"),
        ("loss", fresh.loss.is_some(), "--loss"),
        ("k", k.is_some(), "a fixed K"),
    ] {
        if given && names.contains(&name) {
            return Err(Error::Usage(format!("{flag} and --grid {name}: give only one of them")));
        }
    }
    if names.iter().filter(|name| **name == "seed").count() > 1 {
        return Err(usage("--grid seed: given twice"));
    }
    if let Some(prior) = &fresh.prior {
        sweep = sweep.prior(prior.parse()?);
    }
    let (basis, frozen) = args.basis.names();
    sweep = sweep.freeze(frozen);
    if let Some(basis) = basis {
        sweep = sweep.basis(basis);
    }
    if let Some(loss) = &fresh.loss {
        sweep = sweep.loss(loss.parse()?);
    }
    if let Some(judge) = &fresh.judge {
        sweep = sweep.judge(judge.parse()?);
    }
    if let Some(k) = k {
        sweep = sweep.k(k);
    }
    if let Some(folds) = fresh.folds {
        sweep = sweep.folds(folds);
    }
    if let Some(seed) = fresh.seed {
        sweep = sweep.seed(seed);
    }
    if let Some(epochs) = fresh.epochs {
        sweep = sweep.epochs(epochs);
    }
    let unscaled = sweep.without_scales()?;
    let runs = unscaled.runs();
    if runs > MANY && !fresh.yes {
        return Err(Error::Usage(format!("{} runs; confirm with --yes", grouped(runs as u64))));
    }
    match fresh.blend_k {
        Some(_) if !unscaled.blends() => {
            return Err(usage("--blend-k: needs --grid blend, for example blend=0:1:3"));
        }
        Some(k) if !(k.is_finite() && k > 0.0) => {
            return Err(Error::Usage(format!("--blend-k {k}: must be a positive number")));
        }
        _ if unscaled.blends() && data.search_scores().is_empty() => {
            return Err(usage("--grid blend: the dataset has no search scores to blend"));
        }
        Some(k) => sweep = sweep.blend_k(k),
        None => {
            let fitted = sweep.blend_scale(&unscaled);
            if let Some(k) = fitted.map_err(|e| Error::Usage(format!("{e}; give it with --blend-k")))? {
                sweep = sweep.blend_k(k);
            }
        }
    }
    sweep.config()
}

/// The method that trains every run.
fn method(fresh: &Fresh) -> Result<SweepMethod> {
    match fresh.optimizer.as_deref().unwrap_or("adam") {
        "adam" => {
            let schedule = fresh.schedule.as_deref().map(str::parse).transpose()?;
            Ok(SweepMethod::Adam { schedule: schedule.unwrap_or_default() })
        }
        "gauss-newton" if fresh.schedule.is_some() => {
            Err(Error::Usage("--schedule only applies to adam".to_string()))
        }
        "gauss-newton" => Ok(SweepMethod::GaussNewton { improvement: 1e-8 }),
        other => Err(Error::Usage(format!("optimizer '{other}': expected adam or gauss-newton"))),
    }
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
    let target = outputs.best.as_deref().map(|path| open_best(path, folder, outputs.force)).transpose()?;
    let result = (|| -> anyhow::Result<()> {
        let resumed = checkpoint.is_some();
        let every = Duration::try_from_secs_f64(args.checkpoint_every).unwrap_or(Duration::MAX);
        let session = match folder {
            Some(folder) => SweepSession::in_folder(config, data, folder, checkpoint, every)?,
            None => SweepSession::new(config, data)?,
        };
        let talks = !context.quiet && !context.json;
        let announce = Cell::new(talks);
        let make_evaluator: &MakeEvaluator<'_> = &|layout| {
            let (evaluator, line) = backend.evaluator(layout)?;
            if announce.take() {
                say(&format!("backend     {line}\n"))?;
            }
            Ok(evaluator)
        };
        if talks {
            output::print_opening(config, data, folder, resumed)?;
        }
        if let Some(folder) = folder {
            watch.follow(context, folder, &data.metadata().feature_set)?;
        }
        let mut observer = Observer::new(context, matches!(config.method, SweepMethod::GaussNewton { .. }));
        let results = session.run(make_evaluator, context.cancel, &mut |event| {
            observer.observe(event);
            Ok(())
        });
        observer.finish();
        let results = results?;
        let in_folder = |name: &str| folder.map(|folder| folder.file(name));
        for path in outputs.csv.clone().into_iter().chain(in_folder("runs.csv")) {
            results.write_csv(&path)?;
        }
        for path in outputs.svg.clone().into_iter().chain(in_folder("sweep.svg")) {
            results.write_svg(&path)?;
        }
        if let Some(folder) = folder {
            report::keep(folder, Ok(results.report(folder.path(), record)));
        }
        // What was learnt is shown even where the last training is interrupted.
        let best = target.as_ref().map_or(Ok(None), |target| {
            let best = results.train_best(make_evaluator, context.cancel)?;
            best.map(|best| target.write(&best).map(|path| (path, best))).transpose()
        });
        let written = best.as_ref().ok().and_then(Option::as_ref);
        if talks
            && watch.chart
            && let Some(chart) = sweep_curve(config, &results.ranking, results.unfinished().as_deref())
        {
            say(&format!("{}\n", chart.to_terminal()))?;
        }
        output::print_results(context, args.top, &results, written.map(|(path, best)| (&**path, best)))?;
        best?;
        if let Some(progress) = results.unfinished() {
            let how = match folder {
                Some(folder) => format!("resume with 'gputexel sweep --resume {}'", folder.path().display()),
                None => "use --out to be able to resume".to_string(),
            };
            return Err(Error::Interrupted(format!("after {progress} of all runs; {how}")).into());
        }
        if results.best().is_none() {
            return Err(Error::Numeric("the losses of all runs are no longer finite".to_string()).into());
        }
        if let Some(folder) = folder
            && !outputs.is_empty()
            && !record.outputs.written
        {
            let outputs = SweepOutputs { written: true, ..record.outputs.clone() };
            folder.write_record(Kind::Sweep, &SweepRecord { outputs, ..record.clone() })?;
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
