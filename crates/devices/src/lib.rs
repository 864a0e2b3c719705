//! Devices on trial: whether a GPU computes what it should, and how fast it and the CPU are.
//!
//! [`Checker`] compares every kernel variant with f64; [`vet`] does so briefly when a device is first used, and
//! remembers what came of it. Evaluators and the simulator know nothing of this: whoever opens a backend hands them
//! [`vet`]. [`mod@bench`] measures.

pub mod bench;
pub mod check;
pub mod positions;
mod reference;
mod verdicts;

pub use check::{CheckReport, Checker, Depth, Finding, Group};
pub use reference::reference;
pub use verdicts::{FaultyDevice, remember, vet};
