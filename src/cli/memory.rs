//! The flags that limit memory.

use std::path::PathBuf;

use gputexel::io::parse_bytes;
use gputexel::{Error, Result};
use gputexel_io::paging::{LimitError, available, limit, scratch_folders, usage};

use super::context::Context;
use super::table::bytes;

/// Memory that commands need for themselves, whatever they read.
const LEAST: u64 = 64 << 20;

/// Flags that limit memory.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Memory")]
pub struct MemoryArgs {
    /// Limit on memory, for example 512M or 4G [default: free memory]; positions beyond it are kept in files; does
    /// not change results
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    memory: Option<u64>,
    /// Folder for positions beyond the limit [default: the folder for temporary files]
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
}

impl MemoryArgs {
    /// Limits memory from now on.
    ///
    /// # Errors
    /// [`Error::Usage`] if a requested limit cannot be set.
    pub fn begin(&self) -> Result<()> {
        let asked = self.memory.is_some() || self.scratch.is_some();
        if let Some(little) = self.memory.filter(|&size| size < LEAST) {
            return Err(Error::setting("memory", little, "must be at least 64M"));
        }
        let folders = self.scratch.as_ref().map_or_else(scratch_folders, |folder| vec![folder.clone()]);
        let Some(size) = self.memory.or_else(available) else { return Ok(()) };
        match limit(size, &folders) {
            Err(error) if asked => Err(refusal(&error)),
            // Continue without a limit.
            _ => Ok(()),
        }
    }
}

fn refusal(error: &LimitError) -> Error {
    match error {
        LimitError::Folder(..) => {
            Error::Usage(format!("--scratch {error}: it cannot hold positions; give a folder on a disk"))
        }
        _ => Error::Usage(format!("--memory: {error}")),
    }
}

/// Prints how much was kept in files, if anything.
pub fn print_use(context: &Context) {
    let usage = usage();
    if usage.refused > 0 {
        let size = bytes(usage.refused);
        note!("gputexel: warning: the scratch folder had no room for {size}, which were kept in memory");
    }
    if usage.most_in_files > 0 && !context.quiet && !context.json {
        note!("memory      {} did not fit and were kept in files", bytes(usage.most_in_files));
    }
}
