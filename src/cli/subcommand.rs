//! The interface of subcommands.

#[cfg(feature = "mpi")]
use super::backend::BackendArgs;
use super::context::Context;

/// A subcommand. The implementing type holds its flags, with examples at the end of its help (`after_help`).
pub trait Subcommand {
    fn run(&self, context: &Context) -> anyhow::Result<()>;

    /// Returns the flags that choose the backend, for subcommands whose work several processes can share.
    #[cfg(feature = "mpi")]
    fn backend(&self) -> Option<&BackendArgs> {
        None
    }
}

/// Returns a change of arguments that leaves all flags but some to the long help.
pub fn short_help(shown: &'static [&'static str]) -> impl FnMut(clap::Arg) -> clap::Arg {
    move |arg| {
        let hidden = arg.get_long().is_some_and(|flag| !shown.contains(&flag));
        arg.hide_short_help(hidden)
    }
}
