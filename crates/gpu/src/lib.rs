//! The GPU as a device, whatever runs on it: adapters ([`GpuContext`]), buffers, transfers and
//! their metering, and slices of work by the clock.

mod adapter;
pub mod buffers;
mod context;
pub mod meter;
pub mod pace;
mod pipelines;
mod stats;

pub use adapter::{ALIGNMENT, AdapterSummary, BackendChoice, list_adapters};
pub use context::{ANSWER_TIMEOUT, GpuContext};
pub use pipelines::KernelSource;
pub use stats::Stats;
