//! The GPU as a device, whatever runs on it: adapters ([`GpuContext`]), buffers, transfers and
//! their metering, and slices of work by the clock.

pub mod buffers;
mod context;
pub mod meter;
pub mod pace;
mod stats;

pub use context::{ANSWER_TIMEOUT, AdapterSummary, BackendChoice, GpuContext, list_adapters};
pub use stats::Stats;
