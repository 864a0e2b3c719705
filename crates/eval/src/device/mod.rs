//! The GPU as a device, independent of what runs on it.

mod adapter;
pub mod buffers;
mod context;
pub mod meter;
pub mod pace;
mod timer;

pub(crate) use adapter::{ALIGNMENT, may_have_gpu};
pub use adapter::{AdapterSummary, BackendChoice, NO_ADAPTER, list_adapters};
pub use context::{GpuContext, KernelSource};
pub use meter::Stats;
