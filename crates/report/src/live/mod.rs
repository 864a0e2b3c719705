//! Reports of the runs under a folder, also of those in progress, served to browsers on this machine.

mod directory;
mod http;

pub use directory::{CompareRuns, ReadReport, RunDirectory};
