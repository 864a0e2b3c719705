//! `gputexel eval`: computes the loss of a parameter file on a dataset, in f64.

use std::path::PathBuf;

use gputexel::Error;
use gputexel::tuning::{FileLoss, ScaleOrigin};

use super::context::Context;
use super::output::print_result;
use super::scale::{ScaleArgs, scale_forms};
use super::subcommand::Subcommand;
use super::table::grouped;

#[derive(Debug, clap::Args)]
#[command(
    override_usage = "gputexel eval [OPTIONS] <DATASET>... <PARAMS>",
    after_help = "Examples:\n  gputexel eval dataset.bin runs/first/params.json"
)]
pub struct EvalArgs {
    /// Datasets, then the parameter file (params.json), the folder of a run, material[:P,N,B,R,Q], pesto, schema or zero
    #[arg(required = true, num_args = 2.., value_names = ["DATASET", "PARAMS"])]
    files: Vec<PathBuf>,
    /// Loss function: squared, cross-entropy, or power:Q [default: that of the parameter file, otherwise squared]
    #[arg(long, value_name = "LOSS")]
    loss: Option<String>,
    #[command(flatten)]
    scale: ScaleArgs,
}

impl Subcommand for EvalArgs {
    fn run(&self, context: &Context) -> anyhow::Result<()> {
        let loss = self.loss.as_deref().map(str::parse).transpose()?;
        let given = self.scale.k()?;
        let Some((parameters, datasets)) = self.files.split_last() else {
            return Err(Error::Usage("expected a dataset and a parameter file".to_string()).into());
        };
        let found = FileLoss::on(datasets, parameters, loss, given)?;
        print_result(context, &found, || {
            let FileLoss { loss, positions, loss_kind, k, origin } = &found;
            let origin = match origin {
                ScaleOrigin::Given => "given",
                ScaleOrigin::File => "from the parameter file",
                ScaleOrigin::Fitted => "fitted",
            };
            format!(
                "loss        {loss:.10} ({loss_kind})\npositions   {}\nK           {} ({origin})\n",
                grouped(*positions),
                scale_forms(*k),
            )
        })
    }
}
