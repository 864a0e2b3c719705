//! The interface of subcommands.

#[cfg(feature = "mpi")]
use super::backend::BackendArgs;
use super::context::Context;
use super::memory::MemoryArgs;

/// A subcommand. The implementing type has its flags, and examples at the end of its help (`after_help`).
pub trait Subcommand {
    /// Runs it.
    ///
    /// # Errors
    /// The reason why it did not come to its end, or its result is bad news.
    fn run(&self, context: &Context) -> anyhow::Result<()>;

    /// Flags that limit memory, of subcommands that read positions.
    fn memory(&self) -> Option<&MemoryArgs> {
        None
    }

    /// Flags that choose what computes, of subcommands whose work several processes can share.
    #[cfg(feature = "mpi")]
    fn backend(&self) -> Option<&BackendArgs> {
        None
    }
}
