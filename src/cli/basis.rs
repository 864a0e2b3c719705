//! `gputexel basis`, which prints bases, and the flags that select a basis for other commands.

use std::path::PathBuf;

use gputexel::chess::PhaseSettings;
use gputexel::dataset;
use gputexel::io::write_atomically;
use gputexel::model::{Basis, Constraint, ConstraintKind, FeatureKind, FeatureSet, Prior};
use gputexel::run::BasisSettings;
use serde_json::json;

use super::context::Context;
use super::output::{print_result, write_stdout};
use super::settings::parsed;
use super::subcommand::Subcommand;
use super::table::counted;
use super::target::OutputArgs;

/// Flags that select which parameters are tuned.
#[derive(Debug, clap::Args)]
#[group(id = "Tuned", multiple = true)]
pub struct BasisArgs {
    /// Parameters to tune: identity, mirrored, tied, mirrored+tied, madchess, madchess-2018, schema (from an imported
    /// dataset; its default), or a file, see `gputexel basis`
    #[arg(long, value_name = "NAME|FILE", help_heading = "Objective")]
    basis: Option<String>,
    /// Parameters to keep fixed: tables (king), features (knight_f3, 'tempo*'), a single phase of either (pawn.eg),
    /// coordinates of the basis
    #[arg(long, value_name = "NAME", value_delimiter = ',', help_heading = "Objective")]
    freeze: Vec<String>,
    /// Tables or features whose values must be at least 0 (bishop_pair, passed_free.eg)
    #[arg(long, value_name = "NAME", value_delimiter = ',', help_heading = "Objective")]
    positive: Vec<String>,
    /// Tables or features whose values must be at most 0 (doubled)
    #[arg(long, value_name = "NAME", value_delimiter = ',', help_heading = "Objective")]
    negative: Vec<String>,
}

impl BasisArgs {
    pub fn is_given(&self) -> bool {
        self.basis.is_some() || !self.freeze.is_empty() || !self.constraints().is_empty()
    }

    pub fn settings(&self) -> BasisSettings {
        let basis = self.basis.as_deref().map(|text| {
            let Ok(basis) = text.parse::<Basis>();
            basis
        });
        let (freeze, constraints) = (self.freeze.clone(), self.constraints());
        BasisSettings { basis, freeze, constraints, ..BasisSettings::default() }
    }

    pub fn constraints(&self) -> Vec<Constraint> {
        let lists = ConstraintKind::ALL.map(|kind| {
            let names = match kind {
                ConstraintKind::Positive => &self.positive,
                ConstraintKind::Negative => &self.negative,
            };
            names.iter().map(move |name| Constraint { kind, name: name.clone() })
        });
        lists.into_iter().flatten().collect()
    }

    /// Returns the basis that was named, if any, and the parameters to keep fixed.
    pub fn names(&self) -> (Option<&str>, &[String]) {
        (self.basis.as_deref(), &self.freeze)
    }
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
A basis lists coordinates, their bounds, and the parameters that each of them moves. Print one, \
edit it, and pass the file to --basis of `tune` or `pso`. Parameters are given by the names of features \
(knight_f3), of tables (knight) or * for all, followed by .mg or .eg for a single phase.\n\n\
Examples:\n  \
gputexel basis madchess -o mine.json\n  \
gputexel basis mirrored+tied --model pst")]
pub struct BasisCommand {
    /// Basis to print: identity, mirrored, tied, mirrored+tied, madchess, madchess-2018, schema, or a file to check
    #[arg(value_name = "NAME|FILE")]
    basis: String,
    #[arg(
        long,
        value_name = "NAME",
        conflicts_with = "dataset",
        help = format!("Feature set: {} [default: pst]", FeatureKind::names())
    )]
    model: Option<String>,
    /// Use the feature set of this dataset
    #[arg(long, value_name = "FILE")]
    dataset: Option<PathBuf>,
    /// Prior against which starting values are checked: material:P,N,B,R,Q, zero, schema, or a params.json [default:
    /// material; schema for imported datasets]
    #[arg(long, value_name = "PRIOR")]
    prior: Option<String>,
    /// Parameters to keep fixed; recorded in the basis
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    freeze: Vec<String>,
    #[command(flatten)]
    output: OutputArgs,
}

impl Subcommand for BasisCommand {
    fn run(&self, context: &Context) -> anyhow::Result<()> {
        let file = self.output.file(&self.dataset)?;
        let set = match (&self.dataset, self.model.as_deref()) {
            (Some(path), _) => dataset::tensors(path)?.0.feature_set,
            (None, model) => {
                FeatureSet::new(FeatureKind::parse(model.unwrap_or("pst"))?, PhaseSettings::default())
            }
        };
        let Ok(basis) = self.basis.parse::<Basis>();
        let prior = parsed(&self.prior)?;
        let theta = prior.unwrap_or_else(|| Prior::default_for(&set)).theta(&set)?;
        let resolved = basis.resolve(&set, &theta, &self.freeze)?;
        let mut named = basis.file(&set)?;
        named.freeze.extend(self.freeze.iter().cloned());
        let Some(path) = file else { return Ok(write_stdout(&named.to_json())?) };
        write_atomically(path, named.to_json().as_bytes())?;
        let (coordinates, parameters) = (resolved.dimension(), resolved.parameters());
        let object = json!({ "file": path, "coordinates": coordinates, "parameters": parameters });
        print_result(context, &object, || {
            format!(
                "basis       {} for {}, written to {}\n",
                counted(coordinates as u64, "coordinate"),
                counted(parameters as u64, "parameter"),
                path.display()
            )
        })
    }
}
