//! Flags of commands that trace positions.

use gputexel::Result;
use gputexel::tracing::{DEFAULT_DEADLINE, TraceCommand};

/// The command, and when it counts as hung.
#[derive(Debug, clap::Args)]
pub struct TraceCommandArgs {
    /// A command that traces positions: it reads lines 'GAME RESULT FEN [SCORE]' and prints a line of a trace for
    /// each; no shell runs it. {params} stands for a file with the values to search with, lines 'MG EG NAME'
    #[arg(long, value_name = "COMMAND", help_heading = "Tracing")]
    trace_command: Option<String>,
    /// Stop a trace command that has neither read nor written for this long [default: 60]
    #[arg(long, value_name = "SECONDS", requires = "trace_command", help_heading = "Tracing")]
    trace_deadline: Option<f64>,
}

impl TraceCommandArgs {
    /// The command, if one was given.
    ///
    /// # Errors
    /// Errors of [`TraceCommand::try_new`].
    pub fn command(&self) -> Result<Option<TraceCommand>> {
        let deadline = self.trace_deadline.unwrap_or(DEFAULT_DEADLINE.as_secs_f64());
        self.trace_command.as_deref().map(|text| TraceCommand::try_new(text, deadline)).transpose()
    }
}
