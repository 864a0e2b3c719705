//! Checks whether a GPU computes correctly.

pub mod check;
pub mod positions;
mod verdicts;

pub use check::{CheckReport, Checker, Depth, Finding, Group};
pub use verdicts::{remember, verdict, vet};

use crate::backend::Backend;
use crate::gpu::{BackendChoice, GpuContext};
use gputexel_io::Result;

pub fn open(choice: BackendChoice) -> Result<Backend> {
    Backend::open_vetted(choice, vet)
}

/// Opens one adapter; with [`BackendChoice::Auto`] the CPU takes over should it fail later.
pub fn open_at(choice: BackendChoice, index: usize) -> Result<Backend> {
    let context = GpuContext::try_at(index)?;
    vet(&context)?;
    Ok(Backend::on(choice, context))
}
