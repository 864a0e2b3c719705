//! `gputexel eval`: the loss of a parameter file on a dataset, in f64.

use std::path::PathBuf;

use gputexel::Error;
use gputexel::dataset;
use gputexel::model::ParameterFile;
use gputexel::objective::{LossKind, Objective};
use gputexel::tuning::{exact_loss, exact_scores, fit_scale};
use serde_json::json;

use super::table::grouped;
use super::tune::{ScaleArgs, scale_forms};
use super::{Context, say};

/// Flags of `eval`.
#[derive(Debug, clap::Args)]
pub struct EvalArgs {
    /// Datasets, then the parameter file (params.json) or the folder of a run
    #[arg(required = true, num_args = 2.., value_names = ["DATASET", "PARAMS"])]
    files: Vec<PathBuf>,
    /// squared, cross-entropy, or power:Q
    #[arg(long, value_name = "LOSS", default_value = "squared")]
    loss: String,
    #[command(flatten)]
    scale: ScaleArgs,
}

/// Runs `eval`.
///
/// # Errors
/// Files that cannot be read or do not belong together.
pub fn run(args: &EvalArgs, context: &Context) -> anyhow::Result<()> {
    let loss: LossKind = args.loss.parse()?;
    let given = args.scale.k()?;
    let Some((parameters, datasets)) = args.files.split_last() else {
        return Err(Error::Usage("expected a dataset and a parameter file".to_string()).into());
    };
    let file = ParameterFile::read(parameters)?;
    let data = dataset::read_many(datasets)?;
    let theta = file.theta(&data.metadata().feature_set, parameters)?;
    let all: Vec<u32> = (0..data.len() as u32).collect();
    if all.is_empty() {
        return Err(Error::input(&datasets[0], "contains no positions").into());
    }
    let (k, origin) = match (given, file.k) {
        (Some(k), _) => (k, "given"),
        (None, Some(k)) => (k, "from the parameter file"),
        (None, None) => {
            let scores = exact_scores(&data, &theta, &all);
            (fit_scale(&data, &scores, &all, loss)?.k, "fitted")
        }
    };
    let value = exact_loss(&data, Objective { k, loss }, &theta, &all);
    if !value.is_finite() {
        return Err(Error::Numeric(format!("the loss is {value}")).into());
    }
    let text = if context.json {
        let object = json!({ "loss": value, "positions": data.len(), "loss_kind": loss.to_string(), "k": k });
        format!("{object}\n")
    } else if context.quiet {
        String::new()
    } else {
        format!(
            "loss        {value:.10} ({loss})\npositions   {}\nK           {} ({origin})\n",
            grouped(data.len() as u64),
            scale_forms(k),
        )
    };
    Ok(say(&text)?)
}
