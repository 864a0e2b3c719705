//! The GPU as a device, independent of what runs on it: adapters ([`GpuContext`]), buffers, metered transfers, slices
//! of work sized by time, and timing of kernels.

mod adapter;
pub mod buffers;
mod context;
pub mod meter;
pub mod pace;
mod pipelines;
mod stats;
mod timer;

pub(crate) use adapter::{ALIGNMENT, may_have_gpu};
pub use adapter::{AdapterSummary, BackendChoice, NO_ADAPTER, list_adapters};
pub use context::GpuContext;
pub use pipelines::KernelSource;
pub use stats::Stats;
