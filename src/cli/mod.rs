//! The command line: one module a subcommand.

pub mod devices;

/// What every subcommand is told.
pub struct Context {
    /// Whether results are printed as JSON.
    pub json: bool,
    /// Whether progress is silent.
    #[allow(dead_code, reason = "read by subcommands with progress")]
    pub quiet: bool,
    /// The command line, for records.
    #[allow(dead_code, reason = "read by subcommands that write records")]
    pub command_line: String,
    /// Set when the user asks to stop.
    #[allow(dead_code, reason = "read by long subcommands")]
    pub cancel: &'static std::sync::atomic::AtomicBool,
}
