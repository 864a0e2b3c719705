//! Checks whether a GPU computes correctly, and measures the speed of it and of the CPU.
//!
//! [`Checker`] compares every kernel variant with f64. [`vet`] does so briefly when a device is first used, and
//! remembers the result. Evaluators do not depend on this: callers that open a backend pass [`vet`], or open it by
//! [`open`]. [`mod@bench`] measures throughput.

pub mod bench;
pub mod check;
mod opening;
pub mod positions;
mod verdicts;

pub use check::{CheckReport, Checker, Depth, Finding, Group};
pub use opening::{open, open_several};
pub use verdicts::{DamagedList, damaged_list, remember, verdict, vet};
