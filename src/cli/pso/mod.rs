//! `gputexel pso`: MadChess's particle swarms on a dataset.

mod flags;
mod output;
mod polish;

use std::path::{Path, PathBuf};

use gputexel::dataset::{self, Dataset, Layout, Split};
use gputexel::model::Prior;
use gputexel::objective::{LossKind, Objective};
use gputexel::optimizer::ParticleSwarmSettings;
use gputexel::tuning::{Checkpoint, OptimizerConfig, RunConfig, RunRecord, StopReason, exact_loss};
use gputexel::{Error, Result};

use super::backend::{Backend, BackendArgs};
use super::basis::BasisArgs;
use super::live::{TensorboardArgs, Watch, WatchArgs};
use super::run_folder::{Kind, RunFolder};
use super::tune::{self, Reopened, ScaleArgs, Work};
use super::{Context, inputs, memory};
use flags::Fresh;

/// Flags of `pso`.
#[derive(Debug, clap::Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "\
Swarms search the space of a basis, which must have bounds: madchess unless --basis is given \
(--basis identity --radius 100 tunes every parameter separately). All particles of an iteration are \
evaluated as one population."
)]
pub struct PsoArgs {
    /// One or more datasets
    #[arg(value_name = "DATASET", required_unless_present = "resume", conflicts_with = "resume")]
    inputs: Vec<PathBuf>,
    /// The folder to write to
    #[arg(short, long, value_name = "DIR", conflicts_with = "resume")]
    out: Option<PathBuf>,
    /// Write into a folder that is not empty
    #[arg(long, conflicts_with = "resume")]
    force: bool,
    /// Resume an interrupted run with bit-identical results
    #[arg(long, value_name = "DIR", conflicts_with_all = ["Swarms", "Scale", "Tuned"])]
    resume: Option<PathBuf>,
    #[command(flatten)]
    scale: ScaleArgs,
    #[command(flatten)]
    basis: BasisArgs,
    #[command(flatten)]
    fresh: Fresh,
    /// The table to show if the basis has too many coordinates to list: pawn to king
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

/// Runs `pso`.
///
/// # Errors
/// Anything that keeps the run from its end; an interrupted run can be resumed.
pub fn run(args: &PsoArgs, context: &Context) -> anyhow::Result<()> {
    tune::check_common(args.checkpoint_every, &args.board)?;
    let watch = args.watch.open(Some(&args.tensorboard))?;
    let result = match &args.resume {
        Some(folder) => resume(args, folder, context, &watch),
        None => start(args, context, &watch),
    };
    watch.end();
    result
}

fn start(args: &PsoArgs, context: &Context, watch: &Watch) -> anyhow::Result<()> {
    let fresh = &args.fresh;
    // Everything that can be refused is refused before anything is written.
    let backend = args.backend.open()?;
    let loss: LossKind = fresh.loss.as_deref().map(str::parse).transpose()?.unwrap_or_default();
    let prior: Option<Prior> = fresh.prior.as_deref().map(str::parse).transpose()?;
    let given_k = args.scale.k()?;
    Split::check_share(fresh.holdout.unwrap_or(0.0))?;
    let (settings, stopping) = (fresh.settings()?, fresh.stopping()?);
    if !inputs::are_datasets(&args.inputs)? {
        let reason = "pso needs a dataset; create one with 'gputexel extract'".to_string();
        return Err(Error::input(&args.inputs[0], reason).into());
    }
    let data = dataset::read_many(&args.inputs)?;
    if data.is_empty() {
        return Err(Error::input(&args.inputs[0], "contains no positions").into());
    }
    let set = &data.metadata().feature_set;
    let prior = prior.unwrap_or_else(|| Prior::default_for(set));
    let theta = prior.theta(set)?;
    let basis = fresh.space(args.basis.explicit("madchess", set, &theta)?)?;
    check_memory(&settings, basis.dimension())?;
    let split = Split::try_new(&data, fresh.holdout.unwrap_or(0.0), 1, settings.seed)?;
    let (k, fitted_loss) = tune::scale(&data, &split, &theta, loss, given_k)?;
    let absolute = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone());
    let config = RunConfig {
        datasets: args.inputs.iter().map(|path| absolute(path).display().to_string()).collect(),
        checksum: data.checksum().to_string(),
        prior: prior.to_string(),
        start: theta,
        basis: Some(basis),
        k,
        loss,
        holdout: fresh.holdout.unwrap_or(0.0),
        seed: settings.seed,
        optimizer: OptimizerConfig::ParticleSwarm { settings, polish: fresh.polish },
        round: Default::default(),
        stopping,
    };
    config.validate()?;
    let record = RunRecord::new(&context.command_line, config);
    let folder = RunFolder::create(args.out.as_deref(), Kind::Run, args.force)?;
    let result = folder.write_record(&record).map_err(anyhow::Error::from).and_then(|()| {
        execute(args, context, watch, &backend, &folder, &record.config, &data, &split, None, fitted_loss)
    });
    if result.is_err() {
        folder.discard();
    }
    result
}

fn check_memory(settings: &ParticleSwarmSettings, dimension: usize) -> Result<()> {
    let members = settings.members().unwrap_or(usize::MAX);
    memory::check_population(members, ParticleSwarmSettings::bytes_per_particle(dimension))
}

fn resume(args: &PsoArgs, path: &Path, context: &Context, watch: &Watch) -> anyhow::Result<()> {
    let backend = args.backend.open()?;
    let Some(Reopened { folder, record, checkpoint, data, split }) = tune::reopen(path, context)? else {
        return Ok(());
    };
    let config = record.config;
    let OptimizerConfig::ParticleSwarm { settings, .. } = &config.optimizer else {
        return Err(Error::Usage(format!("{}: is not a run of 'gputexel pso'", path.display())).into());
    };
    check_memory(settings, config.parameterization().dimension())?;
    execute(args, context, watch, &backend, &folder, &config, &data, &split, checkpoint, None)
}

#[allow(clippy::too_many_arguments, reason = "the two ways into a run share its parts, not a type")]
fn execute(
    args: &PsoArgs,
    context: &Context,
    watch: &Watch,
    backend: &Backend,
    folder: &RunFolder,
    config: &RunConfig,
    data: &Dataset,
    split: &Split,
    checkpoint: Option<Checkpoint>,
    fitted_loss: Option<f64>,
) -> anyhow::Result<()> {
    let layout = Layout::try_new(data, split.parts(), |n| split.part_of(n))?;
    let work = Work { context, watch, backend, folder, config, data, split, layout: &layout };
    let mut outcome = work.drive(checkpoint, args.resume.is_some(), fitted_loss, args.checkpoint_every)?;
    if outcome.reason == StopReason::Interrupted {
        work.leave_report();
        return Err(Error::Interrupted(format!(
            "after {} iterations; resume with 'gputexel pso --resume {}'",
            outcome.epochs,
            folder.path().display()
        ))
        .into());
    }

    let objective = Objective { k: config.k, loss: config.loss };
    let training: Vec<u32> = split.training().map(|n| n as u32).collect();
    let basis = config.parameterization();
    let exact = |z: &[f64]| exact_loss(data, objective, &basis.theta(z), &training);
    let (original, swarm) = (exact(&basis.start()), exact(&outcome.z));
    let mut polished = match config.optimizer {
        OptimizerConfig::ParticleSwarm { polish: true, .. } => {
            let polished =
                polish::polish(context, folder, config, data, &layout, split, backend, &mut outcome);
            if matches!(polished, Err(Error::Interrupted(_))) {
                work.leave_report();
            }
            Some(polished?)
        }
        _ => None,
    };
    let whole = polished.as_mut().and_then(|polish| polish.whole.take());
    let summary = work.summary(outcome, tune::Answer::None, whole);
    tune::write_results(folder, config, data, &summary)?;
    work.leave_report();
    let losses = (original, swarm);
    Ok(output::print_results(
        context,
        folder,
        config,
        data,
        &summary,
        polished.as_ref(),
        losses,
        &args.board,
    )?)
}
