//! Devices on trial: correctness of a GPU, and the speed of it and of the CPU.
//!
//! [`Checker`] compares every kernel variant with f64; [`vet`] does so briefly when a device is first used, and
//! remembers the verdict. Evaluators know nothing of this: whoever opens a backend hands them
//! [`vet`], or opens it by [`open`]. [`mod@bench`] measures, and keeps which tiles were found to be fastest.

pub mod bench;
pub mod check;
mod opening;
pub mod positions;
mod records;
mod tiles;
mod verdicts;

pub use check::{CheckReport, Checker, Depth, Finding, Group};
pub use opening::{open, open_several};
pub use records::{DamagedList, ListContents};
pub use tiles::stored_tiles;
pub use verdicts::{FaultyDevice, remember, verdict, vet};

/// What is kept of devices and cannot be read; it counts as empty until it is written anew.
pub fn damaged_lists() -> Vec<DamagedList> {
    verdicts::damage().into_iter().chain(tiles::damage()).collect()
}
