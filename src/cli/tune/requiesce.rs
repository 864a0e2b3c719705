//! Flags for rounds that resolve positions with the tuned parameters and tune again.

use std::path::PathBuf;

use gputexel::chess::selection::Resolve;
use gputexel::run::{MAX_ROUNDS, RoundSettings, are_datasets};
use gputexel::{Error, Result};

use super::super::trace_command::TraceCommandArgs;

/// Flags that request rounds.
#[derive(Debug, clap::Args)]
pub struct RequiesceArgs {
    /// After tuning, resolve the positions again with the tuned parameters, from the dataset's source
    /// files, and tune again, this many times. Imported positions are resolved by their engine, see --trace-command.
    /// A run with rounds cannot be resumed
    #[arg(long, value_name = "N", conflicts_with = "resume", help_heading = "Rounds")]
    requiesce: Option<u32>,
    /// Search for resolving positions: quiescence, or depth1 for one ply with quiescence
    /// [default: that of the dataset, otherwise quiescence]
    #[arg(
        long,
        value_name = "SEARCH",
        requires = "requiesce",
        conflicts_with = "trace_command",
        help_heading = "Rounds"
    )]
    requiesce_from: Option<String>,
    #[command(flatten)]
    tracing: TraceCommandArgs,
}

impl RequiesceArgs {
    fn from(&self) -> Result<Option<Resolve>> {
        let from = self.requiesce_from.as_deref().map(str::parse).transpose();
        match from {
            Ok(None | Some(Resolve::Quiescence | Resolve::Depth1)) => from,
            _ => Err(Error::Usage(format!(
                "--requiesce-from {}: expected quiescence or depth1",
                self.requiesce_from.as_deref().unwrap_or_default()
            ))),
        }
    }

    /// Performs all checks that are possible before anything is read.
    pub(super) fn check(&self, inputs: &[PathBuf]) -> Result<()> {
        self.from()?;
        let command = self.tracing.command()?;
        let Some(rounds) = self.requiesce else {
            return match command {
                None => Ok(()),
                Some(_) => Err(Error::Usage("--trace-command needs --requiesce".to_string())),
            };
        };
        if rounds == 0 || rounds > MAX_ROUNDS {
            return Err(Error::Usage(format!("--requiesce {rounds}: must be from 1 to {MAX_ROUNDS}")));
        }
        if are_datasets(inputs)? && inputs.len() > 1 {
            return Err(Error::Usage(
                "--requiesce needs a single dataset: extract all games into one".to_string(),
            ));
        }
        if inputs.iter().any(|path| path.as_os_str() == "-") {
            return Err(Error::Usage("--requiesce: standard input cannot be read again".to_string()));
        }
        Ok(())
    }

    /// Returns the rounds, if there are any.
    pub(super) fn settings(&self) -> Result<Option<RoundSettings>> {
        let (from, command) = (self.from()?, self.tracing.command()?);
        Ok(self.requiesce.map(|count| RoundSettings { count, from, command }))
    }
}
