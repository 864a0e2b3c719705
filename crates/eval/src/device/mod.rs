//! The GPU as a device, independent of what runs on it: adapters ([`GpuContext`]), buffers, metered transfers, slices
//! of work sized by time, and timing of kernels.

mod adapter;
pub mod buffers;
mod context;
mod hardware;
pub mod meter;
pub mod pace;
mod pipelines;
mod stats;
mod timer;

pub use adapter::{ALIGNMENT, AdapterSummary, BackendChoice, HAS_DRIVERS, NO_ADAPTER, list_adapters};
pub use context::{ANSWER_TIMEOUT, GpuContext};
pub use hardware::may_have_gpu;
pub use pipelines::KernelSource;
pub use stats::Stats;
