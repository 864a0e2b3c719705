//! `gputexel tune`: tunes parameters and tables from a dataset, games or positions. `gputexel pso` uses it, too.

mod flags;
mod output;
mod program;
mod summary;
mod swarms;
mod uncertainty;

use std::path::PathBuf;

use gputexel::dataset::Split;
use gputexel::objective::LossKind;
use gputexel::run::{BasisSettings, OptimizerChoice, Reopened, Tuner, TunerSettings};
use gputexel::tuning::UncertaintyRequest;
use gputexel::{Error, Result};

use super::backend::BackendArgs;
use super::basis::BasisArgs;
use super::context::Context;
use super::runs;
use super::scale::ScaleArgs;
use super::subcommand::{Subcommand, short_help};
use flags::NewRunArgs;
pub use flags::ObjectiveArgs;
use uncertainty::UncertaintyArgs;

/// Flags of commands that tune: inputs, folders, parameters to tune, and display.
#[derive(Debug, clap::Args)]
pub struct RunArgs {
    /// One or more datasets, or games or labeled positions, which are extracted first
    #[arg(value_name = "INPUT", required_unless_present = "resume", conflicts_with = "resume")]
    pub inputs: Vec<PathBuf>,
    /// Output folder
    #[arg(short, long, value_name = "DIR", conflicts_with = "resume", value_parser = super::target::file())]
    out: Option<PathBuf>,
    /// Write into a folder that is not empty
    #[arg(long, conflicts_with = "resume")]
    force: bool,
    /// Resume an interrupted run with bit-identical results
    #[arg(long, value_name = "DIR", conflicts_with_all = ["NewRun", "ObjectiveArgs", "Scale", "Tuned"])]
    resume: Option<PathBuf>,
    #[command(flatten)]
    pub scale: ScaleArgs,
    #[command(flatten)]
    pub basis: BasisArgs,
    /// Seconds between checkpoints
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0)]
    checkpoint_every: f64,
    #[command(flatten)]
    pub backend: BackendArgs,
}

impl RunArgs {
    /// Carries out a run: a new one with the settings of `start`, or a resumed one. `uncertainty` adds to the estimates
    /// that were requested so far; `verbose` runs print settings, choices and all figures.
    pub fn carry_out<'a>(
        &'a self,
        context: &Context,
        verbose: bool,
        start: impl FnOnce() -> Result<TunerSettings<'a>>,
        uncertainty: impl FnOnce(UncertaintyRequest, LossKind) -> Result<UncertaintyRequest>,
    ) -> anyhow::Result<()> {
        let every = runs::checkpoint_every(self.checkpoint_every)?;
        let result = (|| {
            let backend = self.backend.open()?;
            let tuner = match &self.resume {
                None => {
                    let settings = start()?;
                    let request = uncertainty(UncertaintyRequest::default(), settings.loss)?;
                    let settings = TunerSettings {
                        output: runs::output(self.out.as_deref(), self.force)?,
                        overwrite: self.force && self.out.is_some(),
                        command_line: context.command_line.clone(),
                        ..settings
                    };
                    Tuner::from_files(&self.inputs, settings).uncertainty(request)
                }
                Some(path) => match Tuner::reopen(path)? {
                    Reopened::Finished(run) => return runs::finish_up(&run, context).map(|()| None),
                    Reopened::Unfinished { record, tuner } => {
                        tuner.uncertainty(uncertainty(record.uncertainty, record.config.loss)?)
                    }
                },
            };
            runs::carry_out(tuner, context, &backend, every, verbose).map(Some)
        })();
        let Some(tuned) = result? else { return Ok(()) };
        match tuned.swarm_losses {
            Some(losses) => swarms::print_results(context, &tuned, losses)?,
            None => output::print_results(context, &tuned, verbose)?,
        }
        tuned.failure.map_or(Ok(()), |error| Err(error.into()))
    }
}

#[derive(Debug, clap::Args)]
#[command(
    mut_args(short_help(&["out", "resume", "verbose", "prior", "holdout", "freeze", "round"])),
    allow_negative_numbers = true,
    after_help = "\
Without --out the run is written to a new folder under runs/.\n\n\
Examples:\n  \
gputexel tune data/sample.bin\n  \
gputexel tune d.bin --holdout 0.1 --errors --out runs/first\n  \
gputexel tune d.bin --basis mirrored --round local --freeze king\n  \
gputexel tune --resume runs/first"
)]
pub struct TuneArgs {
    /// Print all settings, choices, losses and warnings, not only the summary
    #[arg(short, long)]
    verbose: bool,
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    objective: ObjectiveArgs,
    #[command(flatten)]
    fresh: NewRunArgs,
    #[command(flatten)]
    uncertainty: UncertaintyArgs,
}

impl Subcommand for TuneArgs {
    fn run(&self, context: &Context) -> anyhow::Result<()> {
        let uncertainty = |before, loss| self.uncertainty.request(before, loss);
        self.run.carry_out(context, self.verbose || self.fresh.is_swarm(), || start(self), uncertainty)
    }

    #[cfg(feature = "mpi")]
    fn backend(&self) -> Option<&BackendArgs> {
        Some(&self.run.backend)
    }
}

fn start(args: &TuneArgs) -> Result<TunerSettings<'_>> {
    let (run, objective, fresh) = (&args.run, &args.objective, &args.fresh);
    let loss = objective.loss()?;
    let holdout = objective.holdout.unwrap_or(0.0);
    Split::check_share(holdout)?;
    if fresh.patience.is_some() && holdout == 0.0 {
        return Err(Error::Usage("--patience needs --holdout".to_string()));
    }
    if !(0.0..=1.0).contains(&fresh.least_to_move) {
        return Err(Error::setting("least-to-move", fresh.least_to_move, "must be from 0 to 1"));
    }
    if fresh.batches == Some(0) {
        return Err(Error::Usage("--batches must be at least 1".to_string()));
    }
    let k = if fresh.is_swarm() { run.scale.k()? } else { run.scale.given()? };
    Ok(TunerSettings {
        extraction: fresh.extraction()?,
        basis: BasisSettings {
            unbounded: fresh.no_bounds,
            least_to_move: fresh.least_to_move,
            ..run.basis.settings()
        },
        k,
        scale: run.scale.mode().unwrap_or_default(),
        prior_strength: fresh.prior_strength(objective)?,
        blend: fresh.blend()?,
        optimizer: OptimizerChoice::BySize(Box::new(move |model| fresh.optimizer(objective, loss, model))),
        round: fresh.rounding()?,
        limits: fresh.limits(objective),
        starts: fresh.starts,
        ..objective.settings()?
    })
}
