//! `gputexel tune`: from a dataset, or games or positions, to parameters and tables.

mod chart;
mod flags;
mod output;
mod requiesce;
mod uncertainty;
mod whole;
mod work;

use std::path::{Path, PathBuf};

use gputexel::dataset::{self, Dataset, Layout, Split};
use gputexel::model::{FeatureSet, ParameterFile, Parameterization, Prior, ROLE_NAMES};
use gputexel::objective::LossKind;
use gputexel::optimizer::Space;
use gputexel::tables::{Language, tables};
use gputexel::tuning::{
    Checkpoint, OptimizerConfig, RunConfig, RunRecord, StopReason, UncertaintyRequest, exact_scores,
    fit_scale,
};
use gputexel::{Error, Result};
use serde_json::json;

use super::backend::BackendArgs;
use super::basis::BasisArgs;
use super::live::{TensorboardArgs, Watch, WatchArgs};
use super::report;
use super::run_folder::{DATASET, Kind, RunFolder};
use super::{Context, inputs, say};
use flags::Fresh;
pub use flags::GAUSS_NEWTON_LIMIT;
pub use flags::ScaleArgs;
pub use output::{Summary, scale_forms, write_results};
use requiesce::{RequiesceArgs, Rounds};
pub use uncertainty::Answer;
use uncertainty::UncertaintyArgs;
pub use whole::{Whole, curvature};
pub use work::Work;

/// Flags of `tune`.
#[derive(Debug, clap::Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "\
Without --out the run is written to a new folder under runs/. Adam's settings may be lists \
(--learning-rate 0.5,1,2): all combinations run side by side as one population, and the parameters of \
the best one are kept."
)]
pub struct TuneArgs {
    /// One or more datasets, or games or labeled positions, which are extracted first
    #[arg(value_name = "INPUT", required_unless_present = "resume", conflicts_with = "resume")]
    inputs: Vec<PathBuf>,
    /// The folder to write to
    #[arg(short, long, value_name = "DIR", conflicts_with = "resume")]
    out: Option<PathBuf>,
    /// Write into a folder that is not empty
    #[arg(long, conflicts_with = "resume")]
    force: bool,
    /// Resume an interrupted run with bit-identical results
    #[arg(long, value_name = "DIR", conflicts_with_all = ["Fresh", "Scale", "Tuned"])]
    resume: Option<PathBuf>,
    // Beside `fresh` and not in it: clap leaves a group empty whose struct has a flattened one.
    #[command(flatten)]
    scale: ScaleArgs,
    #[command(flatten)]
    basis: BasisArgs,
    #[command(flatten)]
    fresh: Fresh,
    #[command(flatten)]
    requiesce: RequiesceArgs,
    #[command(flatten)]
    uncertainty: UncertaintyArgs,
    /// The table to show as a board at the end: pawn, knight, bishop, rook, queen or king
    #[arg(long, value_name = "PIECE", default_value = "knight")]
    board: String,
    /// Seconds between checkpoints
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0)]
    checkpoint_every: f64,
    #[command(flatten)]
    watch: WatchArgs,
    #[command(flatten)]
    tensorboard: TensorboardArgs,
    #[command(flatten)]
    backend: BackendArgs,
}

/// Runs `tune`.
///
/// # Errors
/// Anything that keeps the run from its end; an interrupted run can be resumed.
pub fn run(args: &TuneArgs, context: &Context) -> anyhow::Result<()> {
    check_common(args.checkpoint_every, &args.board)?;
    let watch = args.watch.open(Some(&args.tensorboard))?;
    let result = match &args.resume {
        Some(folder) => resume(args, folder, context, &watch),
        None => start(args, context, &watch),
    };
    watch.end();
    result
}

/// Checks flags that runs of all kinds have.
///
/// # Errors
/// [`Error::Usage`].
pub fn check_common(checkpoint_every: f64, board: &str) -> Result<()> {
    if !(checkpoint_every.is_finite() && checkpoint_every >= 0.0) {
        return Err(Error::Usage("--checkpoint-every must be 0 or a positive number".to_string()));
    }
    if !ROLE_NAMES.contains(&board) {
        return Err(Error::Usage(format!("--board {}: expected one of {}", board, ROLE_NAMES.join(", "))));
    }
    Ok(())
}

fn start(args: &TuneArgs, context: &Context, watch: &Watch) -> anyhow::Result<()> {
    let fresh = &args.fresh;
    // Everything that can be refused is refused before anything is written.
    let backend = args.backend.open()?;
    let loss: LossKind = fresh.loss.as_deref().map(str::parse).transpose()?.unwrap_or_default();
    let mut prior: Option<Prior> = fresh.prior.as_deref().map(str::parse).transpose()?;
    let given_k = args.scale.k()?;
    args.requiesce.check(&args.inputs)?;
    let uncertainty = args.uncertainty.request(UncertaintyRequest::default(), loss)?;
    Split::check_share(fresh.holdout.unwrap_or(0.0))?;
    let (optimizer, round) = (fresh.optimizer(loss, 0)?, fresh.rounding()?);
    fresh.stopping(&optimizer).validate()?;
    if fresh.patience.is_some() && fresh.holdout.unwrap_or(0.0) == 0.0 {
        return Err(Error::Usage("--patience needs --holdout".to_string()).into());
    }
    optimizer.build(&Space::unbounded(&[0.0, 0.0]), 1)?;
    if optimizer.batches() == 0 {
        return Err(Error::Usage("--batches must be at least 1".to_string()).into());
    }

    let tuned = |set: &FeatureSet, theta: &[f64]| -> Result<_> {
        let basis = args.basis.resolve("identity", set, theta)?;
        Ok(if fresh.no_bounds { basis.map(Parameterization::without_bounds) } else { basis })
    };
    let ready = if inputs::are_datasets(&args.inputs)? {
        let data = dataset::read_many(&args.inputs)?;
        let set = &data.metadata().feature_set;
        let theta = prior.get_or_insert_with(|| Prior::default_for(set)).theta(set)?;
        let basis = tuned(&data.metadata().feature_set, &theta)?;
        Ok((basis, prepare(fresh, data, &args.inputs[0], loss, given_k, theta)?))
    } else {
        let theta = prior.get_or_insert_default().theta(&inputs::default_features())?;
        Err((tuned(&inputs::default_features(), &theta)?, theta))
    };
    let prior = prior.unwrap_or_default();
    let folder = RunFolder::create(args.out.as_deref(), Kind::Run, args.force)?;
    let result = (|| -> anyhow::Result<()> {
        let (paths, basis, prepared) = match ready {
            Ok((basis, prepared)) => (args.inputs.clone(), basis, prepared),
            Err((basis, theta)) => {
                let path = folder.file(DATASET);
                if args.force {
                    folder.remove(DATASET)?;
                }
                folder.making(&[DATASET])?;
                inputs::extract_first(&args.inputs, &path, context)?;
                let prepared = prepare(fresh, dataset::read(&path)?, &path, loss, given_k, theta)?;
                (vec![path], basis, prepared)
            }
        };
        let Prepared { data, split, optimizer, theta, k, fitted_loss } = prepared;
        let absolute = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone());
        let config = RunConfig {
            datasets: paths.iter().map(|path| absolute(path).display().to_string()).collect(),
            checksum: data.checksum().to_string(),
            prior: prior.to_string(),
            start: theta,
            basis,
            k,
            loss,
            holdout: fresh.holdout.unwrap_or(0.0),
            seed: fresh.seed(),
            round,
            stopping: fresh.stopping(&optimizer),
            optimizer,
        };
        config.validate()?;
        let mut record = RunRecord { uncertainty, ..RunRecord::new(&context.command_line, config) };
        uncertainty::check(uncertainty, &record.config, &data, &split)?;
        let rounds = args.requiesce.prepare(&paths[0], &data, &folder, context)?;
        record.requiesce = rounds.as_ref().map(Rounds::record);
        folder.write_record(&record)?;
        match rounds {
            None => {
                execute(args, context, watch, &backend, &folder, &record, &data, &split, None, fitted_loss)
            }
            Some(rounds) => {
                let first = Ready { record, data, split, fitted_loss };
                rounds.run(args, context, watch, &backend, &folder, first)
            }
        }
    })();
    if result.is_err() {
        folder.discard();
    }
    result
}

/// What the data decide about a run.
struct Prepared {
    data: Dataset,
    split: Split,
    optimizer: OptimizerConfig,
    theta: Vec<f64>,
    k: f64,
    /// Loss at K, where K was fitted.
    fitted_loss: Option<f64>,
}

fn prepare(
    fresh: &Fresh,
    data: Dataset,
    path: &Path,
    loss: LossKind,
    given_k: Option<f64>,
    theta: Vec<f64>,
) -> Result<Prepared> {
    if data.is_empty() {
        return Err(Error::input(path, "contains no positions"));
    }
    let optimizer = fresh.optimizer(loss, theta.len())?;
    let split = Split::try_new(&data, fresh.holdout.unwrap_or(0.0), optimizer.batches(), fresh.seed())?;
    let (k, fitted_loss) = scale(&data, &split, &theta, loss, given_k)?;
    Ok(Prepared { data, split, optimizer, theta, k, fitted_loss })
}

/// K as it was given, or fitted on the training positions, then with the loss there.
///
/// # Errors
/// Those of [`fit_scale`].
pub fn scale(
    data: &Dataset,
    split: &Split,
    theta: &[f64],
    loss: LossKind,
    given: Option<f64>,
) -> Result<(f64, Option<f64>)> {
    if let Some(k) = given {
        return Ok((k, None));
    }
    let training: Vec<u32> = split.training().map(|n| n as u32).collect();
    let fit = fit_scale(data, &exact_scores(data, theta, &training), &training, loss)?;
    Ok((fit.k, Some(fit.loss)))
}

/// A run that is to go on, with its data.
pub struct Reopened {
    /// Its folder.
    pub folder: RunFolder,
    /// What it computes.
    pub record: RunRecord,
    /// Where it stands, where that was stored.
    pub checkpoint: Option<Checkpoint>,
    /// Its positions.
    pub data: Dataset,
    /// Which of them are held out.
    pub split: Split,
}

/// Opens the folder of a run that has not ended, and its data. Of a run that was killed when its result was
/// there, but not all that follows from it, makes what is missing and returns `None`.
///
/// # Errors
/// When the folder is none, the run is finished, or the data are others.
pub fn reopen(path: &Path, context: &Context) -> Result<Option<Reopened>> {
    let (folder, record) = RunFolder::open(path)?;
    let config = &record.config;
    config.validate().map_err(|e| Error::input(folder.file("run.json"), e.to_string()))?;
    let checkpoint = folder.read_checkpoint()?;
    // A run that ended before its result was stored, or while it was asked how sure that is, still has
    // its state.
    if let Some(checkpoint) = &checkpoint
        && let Some(reason) = checkpoint.progress.finished
        && checkpoint.optimizer.vectors.is_empty()
    {
        return finish_up(&folder, &record, reason, context).map(|()| None);
    }
    if let Some(rounds) = &record.requiesce {
        eprintln!(
            "gputexel: warning: the {} rounds of --requiesce are not resumed; start a new run to repeat them",
            rounds.rounds
        );
    }
    let data = dataset::read_many(&config.datasets)?;
    if data.checksum() != config.checksum {
        return Err(Error::input(&config.datasets[0], "is not the dataset that the run started with"));
    }
    if config.start.len() != 2 * data.feature_count() {
        return Err(Error::input(folder.file("run.json"), "does not belong to the dataset"));
    }
    let split = Split::try_new(&data, config.holdout, config.optimizer.batches(), config.seed)?;
    Ok(Some(Reopened { folder, record, checkpoint, data, split }))
}

/// Makes what a finished run lacks and its parameters are enough for.
///
/// # Errors
/// [`Error::Usage`] when nothing is missing, or the parameters are; those of reading and writing files.
fn finish_up(folder: &RunFolder, record: &RunRecord, reason: StopReason, context: &Context) -> Result<()> {
    let finished = format!("{}: the run is finished ({reason})", folder.path().display());
    let parameters = folder.file("params.json");
    if !parameters.exists() {
        return Err(Error::Usage(format!("{finished}, but its params.json is missing; start a new run")));
    }
    let mut missing: Vec<&str> = Vec::new();
    for language in Language::RUN.iter().filter(|language| !folder.file(language.file_name()).exists()) {
        let file = ParameterFile::read(&parameters)?;
        folder.write(language.file_name(), &tables(&file, *language))?;
        missing.push(language.file_name());
    }
    if !folder.file(report::REPORT).exists() {
        report::leave_again(folder, record)?;
        missing.push(report::REPORT);
    }
    match (&missing[..], &record.requiesce) {
        ([], Some(rounds)) if rounds.done.len() < rounds.rounds as usize => {
            let (done, all) = (rounds.done.len(), rounds.rounds);
            let text =
                format!("{finished}, with {done} of {all} rounds, which are not resumed; start a new run");
            Err(Error::Usage(text))
        }
        ([], _) => Err(Error::Usage(finished)),
        _ if context.json => say(&format!("{}\n", json!({ "folder": folder.path(), "written": missing }))),
        _ if context.quiet => Ok(()),
        _ => say(&format!("{finished}\nwritten     {}\n", missing.join(", "))),
    }
}

fn resume(args: &TuneArgs, path: &Path, context: &Context, watch: &Watch) -> anyhow::Result<()> {
    let backend = args.backend.open()?;
    let Some(Reopened { folder, record, checkpoint, data, split }) = reopen(path, context)? else {
        return Ok(());
    };
    let uncertainty = args.uncertainty.request(record.uncertainty, record.config.loss)?;
    let record = RunRecord { uncertainty, ..record };
    if matches!(record.config.optimizer, OptimizerConfig::ParticleSwarm { .. }) {
        let path = path.display();
        return Err(Error::Usage(format!(
            "{path}: is a pso run; resume with 'gputexel pso --resume {path}'"
        ))
        .into());
    }
    uncertainty::check(record.uncertainty, &record.config, &data, &split)?;
    execute(args, context, watch, &backend, &folder, &record, &data, &split, checkpoint, None)
}

#[allow(clippy::too_many_arguments, reason = "the two ways into a run share its parts, not a type")]
fn execute(
    args: &TuneArgs,
    context: &Context,
    watch: &Watch,
    backend: &super::backend::Backend,
    folder: &RunFolder,
    record: &RunRecord,
    data: &Dataset,
    split: &Split,
    checkpoint: Option<Checkpoint>,
    fitted_loss: Option<f64>,
) -> anyhow::Result<()> {
    let run = Run { args, context, watch, backend, folder, record, data, split };
    let (summary, failure) = run.carry_out(checkpoint, fitted_loss)?;
    output::print_results(context, folder, &record.config, data, &summary, &args.board, &[])?;
    failure.map_or(Ok(()), |error| Err(error.into()))
}

/// A run that can begin.
struct Ready {
    record: RunRecord,
    data: Dataset,
    split: Split,
    fitted_loss: Option<f64>,
}

/// A run from its start, or its checkpoint, to files.
struct Run<'a> {
    args: &'a TuneArgs,
    context: &'a Context,
    watch: &'a Watch,
    backend: &'a super::backend::Backend,
    folder: &'a RunFolder,
    record: &'a RunRecord,
    data: &'a Dataset,
    split: &'a Split,
}

impl Run<'_> {
    /// Runs and writes the results; returns them, and why there are no errors of the parameters if
    /// that went wrong.
    fn carry_out(
        &self,
        checkpoint: Option<Checkpoint>,
        fitted_loss: Option<f64>,
    ) -> Result<(Summary, Option<Error>)> {
        let Self { folder, data, split, .. } = *self;
        let result = self.compute(checkpoint, fitted_loss);
        if matches!(result, Ok(_) | Err(Error::Interrupted(_))) {
            report::leave(folder, data, split);
        }
        result
    }

    fn compute(
        &self,
        checkpoint: Option<Checkpoint>,
        fitted_loss: Option<f64>,
    ) -> Result<(Summary, Option<Error>)> {
        let Self { args, context, watch, backend, folder, record, data, split } = *self;
        let config = &record.config;
        let layout = Layout::try_new(data, split.parts(), |n| split.part_of(n))?;
        let work = Work { context, watch, backend, folder, config, data, split, layout: &layout };
        let mut outcome =
            work.drive(checkpoint, args.resume.is_some(), fitted_loss, args.checkpoint_every)?;
        let interrupted = |at: String| {
            let folder = folder.path().display();
            Err(Error::Interrupted(format!("{at}; resume with 'gputexel tune --resume {folder}'")))
        };
        if outcome.reason == StopReason::Interrupted {
            return interrupted(format!("after {} epochs", outcome.epochs));
        }
        let fitted = (outcome.z.clone(), outcome.best_member); // rounding changes z
        let whole = whole::finish(context, folder, config, &layout, split, &mut outcome)?;
        let mut summary = work.summary(outcome, Answer::None, whole);
        if record.uncertainty.errors {
            // Whatever becomes of the errors, or of this process while it looks for them.
            output::write_files(folder, config, data, &summary)?;
        }
        let (asked, fitted) = (record.uncertainty, (&fitted.0[..], fitted.1));
        let failure = match uncertainty::find(context, asked, backend, &layout, data, split, config, fitted) {
            Ok(answer) => {
                summary.uncertainty = answer;
                None
            }
            Err(Error::Interrupted(_)) => return interrupted("in the bootstrap".to_string()),
            Err(error) => Some(error),
        };
        output::write_results(folder, config, data, &summary)?;
        Ok((summary, failure))
    }
}
