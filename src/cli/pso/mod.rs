//! `gputexel pso`: MadChess's particle swarms on a dataset.

mod flags;
mod output;

use std::path::{Path, PathBuf};
use std::time::Duration;

use gputexel::objective::LossKind;
use gputexel::run::{PriorStrength, Reopened, Tuned, Tuner, are_datasets};
use gputexel::tuning::OptimizerConfig;
use gputexel::{Error, Result};

use super::backend::BackendArgs;
use super::basis::BasisArgs;
use super::determinism::{DeterminismArgs, Outputs, Repeatable, obstacle_of_run};
use super::live::{LiveArgs, LivePage};
use super::memory::MemoryArgs;
use super::runs;
use super::scale::ScaleArgs;
use super::{Context, parsed, with};
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
    #[arg(short, long, value_name = "DIR", conflicts_with = "resume", value_parser = super::target::file())]
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
    watch: LiveArgs,
    #[command(flatten)]
    pub(super) backend: BackendArgs,
    #[command(flatten)]
    determinism: DeterminismArgs,
    #[command(flatten)]
    pub(super) memory: MemoryArgs,
}

impl Repeatable for PsoArgs {
    fn determinism(&self) -> &DeterminismArgs {
        &self.determinism
    }

    fn obstacle(&self) -> Option<&'static str> {
        obstacle_of_run(self.out.as_ref(), self.resume.as_ref())
    }

    fn redirect(&mut self, folder: &Path, threads: usize) -> Outputs {
        let mut outputs = Outputs::new();
        self.watch = LiveArgs::default();
        self.force = false;
        self.backend.set_threads(threads);
        self.out.iter_mut().for_each(|out| outputs.move_into(folder, out));
        outputs
    }
}

/// Runs `pso`.
///
/// # Errors
/// Anything that keeps the run from its end; an interrupted run can be resumed.
pub fn run(args: &PsoArgs, context: &Context) -> anyhow::Result<()> {
    let every = runs::check_common(args.checkpoint_every, &args.board)?;
    let watch = args.watch.open()?;
    let result = work(args, every, context, &watch);
    watch.end();
    let Some(tuned) = result? else { return Ok(()) };
    Ok(output::print_results(context, &tuned, &args.board)?)
}

/// The result; `None` where it was there before.
fn work(args: &PsoArgs, every: Duration, context: &Context, watch: &LivePage) -> Result<Option<Tuned>> {
    let backend = args.backend.open()?;
    let tuner = match &args.resume {
        None => start(args)?,
        Some(path) => match Tuner::reopen(path)? {
            Reopened::Finished(run) => return runs::finish_up(&run, context).map(|()| None),
            Reopened::Unfinished { record, tuner } => match record.config.optimizer {
                OptimizerConfig::ParticleSwarm { .. } => *tuner,
                _ => {
                    let what = "is not a run of 'gputexel pso'";
                    return Err(Error::Usage(format!("{}: {what}", path.display())));
                }
            },
        },
    };
    runs::carry_out(tuner, "pso", context, watch, &backend, every).map(Some)
}

fn start(args: &PsoArgs) -> Result<Tuner<'_>> {
    let fresh = &args.fresh;
    let loss: LossKind = parsed(&fresh.loss)?.unwrap_or_default();
    let settings = fresh.settings()?;
    if !are_datasets(&args.inputs)? {
        let reason = "pso needs a dataset; create one with 'gputexel extract'".to_string();
        return Err(Error::input(&args.inputs[0], reason));
    }
    let mut tuner = Tuner::from_files(&args.inputs)
        .loss(loss)
        .basis(fresh.space(args.basis.settings())?)
        .holdout(fresh.holdout.unwrap_or(0.0))
        .seed(settings.seed)
        .limits(fresh.limits()?)
        .optimizer(OptimizerConfig::ParticleSwarm { settings, polish: fresh.polish });
    tuner = with(tuner, parsed(&fresh.prior)?, Tuner::prior);
    let strength = fresh.prior_strength.as_deref().map(PriorStrength::read).transpose()?;
    if let Some(strength) = &strength {
        strength.weights()?;
    }
    tuner = with(tuner, strength, Tuner::prior_strength);
    tuner = with(tuner, args.scale.k()?, Tuner::k);
    tuner = with(tuner, fresh.sections, Tuner::sections);
    runs::in_folder(tuner, args.out.as_deref(), args.force)
}
