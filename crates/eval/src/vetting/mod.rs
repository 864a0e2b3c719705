//! Devices on trial: correctness of a GPU, and the speed of it and of the CPU.
//!
//! [`Checker`] compares every kernel variant with f64; [`vet`] does so briefly when a device is first used, and
//! remembers the result. Evaluators know nothing of this: whoever opens a backend hands them
//! [`vet`], or opens it by [`open`]. [`mod@bench`] measures throughput.

pub mod bench;
pub mod check;
mod opening;
pub mod positions;
mod verdicts;

pub use check::{CheckReport, Checker, Depth, Finding, Group};
pub use opening::{open, open_several};
pub use verdicts::{DamagedList, damaged_list, remember, verdict, vet};
