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

/// Flags of `sweep`.
#[derive(Debug, clap::Args)]
#[command(
    mut_args(short_help(&[
        "scale", "grid", "prior", "folds", "epochs", "optimizer", "best", "csv", "threads",
    ])),
    allow_negative_numbers = true,
    after_help = "\
Values are FROM:TO:N, FROM:TO:N:log, or a list such as 0,1e-5,1e-4. Keys of --grid: learning-rate (adam), \
l2, strength (factor on the weights of --prior-strength), k, loss (squared, cross-entropy, power:Q), blend \
(share of the search score in the targets), source:NAME (training weight factor of a source, given by its \
path, part of its path, or its number from 1), seed (repeats the runs with other folds). A key with \
a single value is fixed rather than varied.\n\n\
Examples:\n  \
gputexel sweep d.bin --scale 0.2:3:1024 --csv k.csv\n  \
gputexel sweep d.bin --grid l2=0,1e-5,1e-4,1e-3 --grid learning-rate=5,20 --epochs 60 --best best.json"
)]
pub struct SweepArgs {
    /// Datasets
    #[arg(required = true, value_name = "DATASET")]
    datasets: Vec<PathBuf>,
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
    #[command(flatten)]
    k: ScaleArgs,
    #[command(flatten)]
    basis: BasisArgs,
    /// Overwrite existing files
    #[arg(long, help_heading = "Output")]
    force: bool,
    /// Train with the best settings on all positions and write the parameters
    #[arg(long, value_name = "FILE", conflicts_with = "scale", help_heading = "Output", value_parser = super::target::file())]
    best: Option<PathBuf>,
    /// Write a table of all points or runs as CSV
    #[arg(long, value_name = "FILE", help_heading = "Output", value_parser = super::target::file())]
    csv: Option<PathBuf>,
    #[command(flatten)]
    backend: BackendArgs,
}

impl Subcommand for SweepArgs {
    fn run(&self, context: &Context) -> anyhow::Result<()> {
        match &self.scale {
            Some(values) => scale::run(self, values, context),
            None if self.grid.is_empty() => {
                let text = "sweep needs --scale or --grid; see 'gputexel sweep --help'";
                Err(Error::Usage(text.to_string()).into())
            }
            None => grid::run(self, context),
        }
    }

    #[cfg(feature = "mpi")]
    fn backend(&self) -> Option<&BackendArgs> {
        Some(&self.backend)
    }
}
