//! `gputexel tune`: from a dataset, or games or positions, to parameters and tables.

mod flags;
mod output;
mod program;
mod requiesce;
mod uncertainty;

use std::path::{Path, PathBuf};
use std::time::Duration;

use gputexel::dataset::Split;
use gputexel::objective::LossKind;
use gputexel::run::{BasisSettings, Reopened, Tuned, Tuner};
use gputexel::tuning::{OptimizerConfig, UncertaintyRequest};
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
use requiesce::RequiesceArgs;
use uncertainty::UncertaintyArgs;

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
    #[arg(short, long, value_name = "DIR", conflicts_with = "resume", value_parser = super::target::file())]
    out: Option<PathBuf>,
    /// Write into a folder that is not empty
    #[arg(long, conflicts_with = "resume")]
    force: bool,
    /// Resume an interrupted run with bit-identical results; one with --requiesce is refused
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
    /// The table to show as a board at the end: pawn, knight, bishop, rook, queen or king; with --king-buckets that of
    /// bucket 0
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

impl Repeatable for TuneArgs {
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

/// Runs `tune`.
///
/// # Errors
/// Anything that keeps the run from its end; an interrupted run can be resumed.
pub fn run(args: &TuneArgs, context: &Context) -> anyhow::Result<()> {
    let every = runs::check_common(args.checkpoint_every, &args.board)?;
    let watch = args.watch.open()?;
    let result = work(args, every, context, &watch);
    watch.end();
    let Some(tuned) = result? else { return Ok(()) };
    output::print_results(context, &tuned, &args.board)?;
    tuned.failure.map_or(Ok(()), |error| Err(error.into()))
}

/// The result; `None` where it was there before.
fn work(args: &TuneArgs, every: Duration, context: &Context, watch: &LivePage) -> Result<Option<Tuned>> {
    let backend = args.backend.open()?;
    let tuner = match &args.resume {
        None => start(args)?,
        Some(path) => match Tuner::reopen(path)? {
            Reopened::Finished(run) => return runs::finish_up(&run, context).map(|()| None),
            Reopened::Unfinished { record, tuner } => {
                if matches!(record.config.optimizer, OptimizerConfig::ParticleSwarm { .. }) {
                    let path = path.display();
                    return Err(Error::Usage(format!(
                        "{path}: is a pso run; resume with 'gputexel pso --resume {path}'"
                    )));
                }
                tuner.uncertainty(args.uncertainty.request(record.uncertainty, record.config.loss)?)
            }
        },
    };
    runs::carry_out(tuner, "tune", context, watch, &backend, every).map(Some)
}

fn start(args: &TuneArgs) -> Result<Tuner<'_>> {
    let fresh = &args.fresh;
    let loss: LossKind = parsed(&fresh.loss)?.unwrap_or_default();
    args.requiesce.check(&args.inputs)?;
    Split::check_share(fresh.holdout.unwrap_or(0.0))?;
    if fresh.patience.is_some() && fresh.holdout.unwrap_or(0.0) == 0.0 {
        return Err(Error::Usage("--patience needs --holdout".to_string()));
    }
    if fresh.batches == Some(0) {
        return Err(Error::Usage("--batches must be at least 1".to_string()));
    }
    let basis = BasisSettings { unbounded: fresh.no_bounds, ..args.basis.settings() };
    let mut tuner = Tuner::from_files(&args.inputs)
        .loss(loss)
        .basis(basis)
        .holdout(fresh.holdout.unwrap_or(0.0))
        .seed(fresh.seed())
        .optimizer_by(move |model| fresh.optimizer(loss, model))
        .ablate(fresh.ablate)
        .round(fresh.rounding()?)
        .limits(fresh.limits())
        .uncertainty(args.uncertainty.request(UncertaintyRequest::default(), loss)?);
    tuner = with(tuner, fresh.extraction()?, Tuner::extraction);
    tuner = with(tuner, parsed(&fresh.prior)?, Tuner::prior);
    tuner = with(tuner, fresh.blend()?, Tuner::blend);
    tuner = with(tuner, fresh.blend_k()?, Tuner::blend_k);
    tuner = with(tuner, fresh.prior_strength()?, Tuner::prior_strength);
    tuner = with(tuner, fresh.starts, Tuner::starts);
    tuner = with(tuner, fresh.sections, Tuner::sections);
    tuner = with(tuner, args.scale.given()?, Tuner::k);
    tuner = with(tuner, args.scale.mode(), Tuner::scale);
    runs::in_folder(args.requiesce.apply(tuner)?, args.out.as_deref(), args.force)
}
