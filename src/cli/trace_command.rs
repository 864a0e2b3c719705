//! Flags of commands that trace positions.

use gputexel::Result;
use gputexel::tracing::{DEFAULT_DEADLINE, TraceCommand};

/// The trace command and its deadline.
#[derive(Debug, clap::Args)]
pub struct TraceCommandArgs {
    /// Command that traces positions: it reads lines 'GAME RESULT FEN [SCORE]' and prints a trace line for each; no
    /// shell is involved
    #[arg(long, value_name = "COMMAND", help_heading = "Tracing")]
    trace_command: Option<String>,
    /// Abort a trace command that has neither read nor written for this long [default: 60]
    #[arg(long, value_name = "SECONDS", requires = "trace_command", help_heading = "Tracing")]
    trace_deadline: Option<f64>,
}

impl TraceCommandArgs {
    pub fn command(&self) -> Result<Option<TraceCommand>> {
        self.trace_command.as_deref().map(|text| self.try_new(text)).transpose()
    }

    /// Returns another command that has as much time.
    pub fn try_new(&self, text: &str) -> Result<TraceCommand> {
        TraceCommand::try_new(text, self.trace_deadline.unwrap_or(DEFAULT_DEADLINE.as_secs_f64()))
    }
}
