//! `gputexel sweep`: the loss for many values of K, or many runs with settings of their own.

mod output;
mod scale;

use std::path::PathBuf;

use super::Context;
use super::backend::BackendArgs;

/// Flags of `sweep`.
#[derive(Debug, clap::Args)]
pub struct SweepArgs {
    /// Datasets
    #[arg(required = true, value_name = "DATASET")]
    datasets: Vec<PathBuf>,
    /// Evaluate the prior for these K and find the best: FROM:TO:N, FROM:TO:N:log, or a list
    #[arg(long, value_name = "VALUES", allow_hyphen_values = true, required = true)]
    scale: String,
    /// Form of the K given: 10 for 1 / (1 + 10^(-K s / 400)), e for 1 / (1 + e^(-K s / 400))
    #[arg(long, value_name = "BASE", default_value = "10")]
    k_base: String,
    /// The parameters: material:P,N,B,R,Q, zero, or a params.json
    /// [default: material:100,300,320,500,900]
    #[arg(long, value_name = "PRIOR")]
    prior: Option<String>,
    /// squared, cross-entropy, or power:Q [default: squared]
    #[arg(long, value_name = "LOSS")]
    loss: Option<String>,
    /// Write a table of the points
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    csv: Option<PathBuf>,
    /// Write a picture
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    svg: Option<PathBuf>,
    /// Allow more than 100,000 points
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    backend: BackendArgs,
}

/// Runs `sweep`.
///
/// # Errors
/// Bad usage, files that cannot be read or written, devices that fail.
pub fn run(args: &SweepArgs, context: &Context) -> anyhow::Result<()> {
    scale::run(args, &args.scale, context)
}
