use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use gputexel_chess::selection::Resolve;
use gputexel_dataset::{self as dataset, Dataset};
use gputexel_ingest::extraction::{ExtractSettings, Hooks, Leaf, extract_with_leaves};
use gputexel_ingest::tracing::{PARAMETERS_WORD, TraceCommand, TracingSettings, import_traced_with_leaves};
use gputexel_io::{Advice, Error, Result};
use gputexel_model::TableEvaluation;
use gputexel_report::grouped;

pub const MAX_ROUNDS: u32 = 1000;

/// Rounds after a run: positions are resolved again with the tuned parameters, and tuned again.
#[derive(Clone, Debug, PartialEq)]
pub struct RoundSettings {
    pub count: u32,
    /// The search that resolves positions. `None`: that of the dataset, else quiescence.
    pub from: Option<Resolve>,
    /// For a dataset that was [traced by a command](gputexel_ingest::tracing::import_traced): the command that gets the
    /// tuned values and traces the positions again.
    pub command: Option<TraceCommand>,
}

impl RoundSettings {
    pub(crate) fn validate(&self) -> Result<()> {
        if self.count == 0 || self.count > MAX_ROUNDS {
            return Err(Error::Usage(format!("{} rounds: must be from 1 to {MAX_ROUNDS}", self.count)));
        }
        match (self.from, &self.command) {
            (None, Some(command)) if !command.takes_parameters() => Err(Error::Usage(format!(
                "trace command '{command}': without {PARAMETERS_WORD} it is not told the tuned values, and every round \
                 would trace the same positions"
            ))),
            (Some(_), Some(_)) => Err(Error::Usage(
                "a search cannot be chosen: the trace command resolves positions".to_string(),
            )),
            (None | Some(Resolve::Quiescence | Resolve::Depth1), _) => Ok(()),
            (Some(other), _) => Err(Error::Usage(format!(
                "rounds resolve positions by quiescence or depth1, not by {}",
                other.name()
            ))),
        }
    }
}

const BY_COMMAND: &str = "the trace command";

enum Way {
    Extraction(Box<ExtractSettings>),
    Tracing(Box<TracingSettings>),
}

pub(crate) struct Remaking {
    inputs: Vec<PathBuf>,
    way: Way,
}

impl Remaking {
    /// Makes the dataset at `path` again unchanged, in the temporary file `again`, to check that its sources are
    /// unchanged.
    pub fn try_new(
        settings: RoundSettings,
        (path, data): (&Path, &Dataset),
        again: &Path,
        cancel: &AtomicBool,
    ) -> Result<(Self, Vec<Leaf>)> {
        let metadata = data.metadata();
        let mut remaking = match (settings.command, &metadata.feature_set.imported) {
            (Some(command), Some(_)) => {
                let (inputs, settings) = TracingSettings::of_dataset(path, metadata, command)?;
                Self { inputs, way: Way::Tracing(Box::new(settings)) }
            }
            (None, Some(_)) => {
                let Some(record) = &metadata.tracing else {
                    let reason = "holds imported features, which only the engine that printed them computes: rounds \
                                  need a dataset of positions that were imported by a command";
                    let advice = Advice::default().text("see import ").setting("trace-command", "");
                    return Err(Error::input(path, reason).advise(advice));
                };
                let reason = format!("was traced by '{}', which has to trace again", record.command);
                let advice = Advice::default()
                    .setting("trace-command", "COMMAND")
                    .text(" names the command of each round");
                return Err(Error::input(path, reason).advise(advice));
            }
            (Some(_), None) => {
                return Err(Error::input(path, "was extracted; only imported positions are traced again"));
            }
            (None, None) => {
                let (inputs, settings) = ExtractSettings::of_dataset(path, metadata)?;
                Self { inputs, way: Way::Extraction(Box::new(ExtractSettings { force: true, ..settings })) }
            }
        };
        let leaves = remaking.make(again, cancel);
        let checksum =
            leaves.as_ref().ok().map(|_| dataset::read(again).map(|data| data.checksum().to_string()));
        // Missing if nothing was written.
        let _ = std::fs::remove_file(again);
        let leaves = leaves?;
        if checksum.transpose()?.is_none_or(|checksum| checksum != data.checksum()) {
            return Err(Error::input(path, remaking.difference(data, leaves.len())));
        }
        if let Way::Extraction(again) = &mut remaking.way {
            again.selection.resolve = match (settings.from, again.selection.resolve) {
                (Some(from), _) => from,
                (None, Resolve::None) => Resolve::Quiescence,
                (None, recorded) => recorded,
            };
        }
        Ok((remaking, leaves))
    }

    fn difference(&self, data: &Dataset, positions: usize) -> String {
        let names: Vec<&str> = data.metadata().sources.iter().map(|source| source.path.as_str()).collect();
        let (names, now, then) = (names.join(", "), grouped(positions as u64), grouped(data.len() as u64));
        match &self.way {
            Way::Extraction(_) => format!(
                "its sources ({names}) no longer give the same positions ({now} instead of {then}, or different ones): \
                 they or the parameters for resolving them have changed; extract the dataset again"
            ),
            Way::Tracing(settings) => format!(
                "'{}' does not trace its positions ({names}) as they are in it ({now} instead of {then}, or different \
                 coefficients): they, the engine or its options have changed, or its own values are not the priors of \
                 the schema; import the dataset again with this command",
                settings.command
            ),
        }
    }

    pub fn make(&self, output: &Path, cancel: &AtomicBool) -> Result<Vec<Leaf>> {
        let mut hooks = Hooks { cancel, progress: &mut |_| {} };
        let leaves = match &self.way {
            Way::Extraction(settings) => extract_with_leaves(&self.inputs, settings, output, &mut hooks)?.1,
            Way::Tracing(settings) => {
                import_traced_with_leaves(&self.inputs, settings, output, &mut hooks)?.1
            }
        };
        Ok(leaves)
    }

    /// Resolves positions with other values from now on: mg of every feature, then eg.
    pub fn resolve_with(&mut self, values: &[f64]) -> Result<()> {
        match &mut self.way {
            Way::Extraction(settings) => {
                settings.evaluation = Some(TableEvaluation::try_new(&settings.feature_set, values)?);
            }
            Way::Tracing(settings) => settings.parameters = Some(values.to_vec()),
        }
        Ok(())
    }

    pub fn resolver(&self) -> &'static str {
        match &self.way {
            Way::Extraction(settings) => settings.selection.resolve.name(),
            Way::Tracing(_) => BY_COMMAND,
        }
    }
}
