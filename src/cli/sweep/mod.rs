//! `gputexel sweep`: computes the loss for many values of K, or many runs with different settings.

mod grid;
mod output;
mod progress;
mod scale;

use std::path::PathBuf;

use gputexel::Error;

use super::backend::BackendArgs;
use super::basis::BasisArgs;
use super::context::Context;
use super::scale::ScaleArgs;
use super::subcommand::{Subcommand, short_help};

#[derive(Debug, clap::Args)]
#[command(
    mut_args(short_help(&[
        "scale", "grid", "prior", "folds", "epochs", "optimizer", "out", "resume", "best", "csv",
        "threads",
    ])),
    allow_negative_numbers = true,
    after_help = "\
Values are FROM:TO:N, FROM:TO:N:log, or a list such as 0,1e-5,1e-4. Keys of --grid: learning-rate \
(adam), l2, strength (factor on the weights of --prior-strength), k, loss \
(squared, cross-entropy, power:Q), blend (share of the search score in the targets), source:NAME \
(training weight factor of a source, given by its path, part of its path, or its number from 1), \
seed (repeats the runs with other folds). A key with \
a single value is fixed rather than varied.\n\n\
Examples:\n  \
gputexel sweep d.bin --scale 0.2:3:1024 --csv k.csv\n  \
gputexel sweep d.bin --grid l2=0,1e-5,1e-4 --grid learning-rate=5,20 \\\n      --epochs 60 --best runs/best"
)]
pub struct SweepArgs {
    /// Datasets
    #[arg(required_unless_present = "resume", conflicts_with = "resume", value_name = "DATASET")]
    datasets: Vec<PathBuf>,
    #[command(flatten)]
    fresh: NewSweepArgs,
    // Next to `fresh`, not in it: clap leaves a group empty if its struct has a flattened one.
    #[command(flatten)]
    k: ScaleArgs,
    #[command(flatten)]
    basis: BasisArgs,
    /// Keep state and results in this folder
    #[arg(short, long, value_name = "DIR", conflicts_with_all = ["resume", "scale"], help_heading = "Output", value_parser = super::target::file())]
    out: Option<PathBuf>,
    /// Overwrite existing files and write into folders that are not empty
    #[arg(long, help_heading = "Output")]
    force: bool,
    /// Resume an interrupted sweep with bit-identical results, or show a finished one again
    #[arg(long, value_name = "DIR", conflicts_with_all = ["Sweep", "Scale", "Tuned"], help_heading = "Output")]
    resume: Option<PathBuf>,
    /// Train with the best settings on all positions and write parameters (FILE.json), or parameters
    /// and tables (DIR)
    #[arg(long, value_name = "FILE|DIR", conflicts_with = "scale", help_heading = "Output", value_parser = super::target::file())]
    best: Option<PathBuf>,
    /// Write a table of all points or runs as CSV
    #[arg(long, value_name = "FILE", help_heading = "Output", value_parser = super::target::file())]
    csv: Option<PathBuf>,
    /// Number of table rows to show
    #[arg(long, value_name = "N", default_value_t = 20, help_heading = "Output")]
    top: usize,
    /// Seconds between checkpoints
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0, help_heading = "Output")]
    checkpoint_every: f64,
    #[command(flatten)]
    backend: BackendArgs,
}

/// Flags that determine what a sweep computes; a resumed one has them in its folder.
#[derive(Debug, clap::Args)]
#[group(id = "Sweep", multiple = true)]
pub struct NewSweepArgs {
    /// Evaluate the prior for these values of K and find the minimum
    #[arg(long, value_name = "VALUES", allow_hyphen_values = true, conflicts_with = "grid")]
    scale: Option<String>,
    /// Train and evaluate all combinations of these settings
    #[arg(long, value_name = "KEY=VALUES")]
    grid: Vec<String>,
    /// Divide sums over positions into this many sections, which devices and machines can share; the last digits of
    /// results depend on it [default: one per 2^20 positions, up to 64]
    #[arg(long, value_name = "N", help_heading = "Inputs")]
    sections: Option<usize>,
    /// Form of K in --scale and --grid: 10 for 1 / (1 + 10^(-K s / 400)), e for base e
    #[arg(long, value_name = "BASE", default_value = "10", help_heading = "Objective")]
    k_base: String,
    /// Starting point and reference: material:P,N,B,R,Q, pesto (PeSTO's tables), zero, or a params.json or
    /// the folder of a run
    /// [default: material:100,300,320,500,900]
    #[arg(long, value_name = "PRIOR", help_heading = "Objective")]
    prior: Option<String>,
    /// Penalties of every run, scaled by --grid strength=...: weights such as bend=1e-4,mirror=1e-2, the folder of a
    /// run, for its weights, or none [default: none]
    #[arg(long, value_name = "HOW", help_heading = "Objective")]
    prior_strength: Option<String>,
    /// Loss function: squared, cross-entropy, or power:Q [default: squared]
    #[arg(long, value_name = "LOSS", help_heading = "Objective")]
    loss: Option<String>,
    /// Loss for evaluating held-out positions [default: that of the runs, or squared if
    /// they differ]
    #[arg(long, value_name = "LOSS", help_heading = "Objective")]
    judge: Option<String>,
    /// K of search scores in blended targets (base 10) [default: fitted]
    #[arg(long, value_name = "K", help_heading = "Objective")]
    blend_k: Option<f64>,
    /// Number of cross-validation folds, by game [default: 5]
    #[arg(long, value_name = "N", help_heading = "Objective")]
    folds: Option<usize>,
    /// Seed of the folds [default: 1]
    #[arg(long, value_name = "N", help_heading = "Objective")]
    seed: Option<u64>,
    /// Optimizer: adam or gauss-newton [default: adam]
    #[arg(long, value_name = "NAME", help_heading = "Optimizer")]
    optimizer: Option<String>,
    /// Adam: constant, cosine, linear, or step:FACTOR:EPOCHS [default: cosine]
    #[arg(long, value_name = "NAME", help_heading = "Optimizer")]
    schedule: Option<String>,
    /// Epochs per run [default: 100 for adam, at most 50 for gauss-newton]
    #[arg(long, value_name = "N", help_heading = "Optimizer")]
    epochs: Option<u64>,
    /// Allow more than 100,000 runs or points
    #[arg(long)]
    yes: bool,
}

/// Number of runs, or values of K, above which `--yes` is required.
const MANY: usize = 100_000;

impl SweepArgs {
    /// A line for the file that was written.
    fn written(&self) -> String {
        self.csv.iter().map(|path| format!("written     {}\n", path.display())).collect()
    }
}

impl Subcommand for SweepArgs {
    fn run(&self, context: &Context) -> anyhow::Result<()> {
        let fresh = &self.fresh;
        match (&self.resume, &fresh.scale) {
            (Some(folder), _) => grid::resume(self, folder, context),
            (None, Some(values)) => scale::run(self, values, context),
            (None, None) if fresh.grid.is_empty() => {
                let text = "sweep needs --scale, --grid or --resume; see 'gputexel sweep --help'";
                Err(Error::Usage(text.to_string()).into())
            }
            (None, None) => grid::start(self, context),
        }
    }

    #[cfg(feature = "mpi")]
    fn backend(&self) -> Option<&BackendArgs> {
        Some(&self.backend)
    }
}
