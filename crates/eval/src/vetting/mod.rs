//! Checks whether a GPU computes correctly, and measures the speed of it and of the CPU.

pub mod bench;
pub mod check;
pub mod positions;
mod verdicts;

pub use check::{CheckReport, Checker, Depth, Finding, Group};
pub use verdicts::{remember, verdict, vet};

use crate::backend::Backend;
use crate::divided::{DeviceList, ListedDevice};
use crate::gpu::{BackendChoice, GpuContext};
use gputexel_io::Result;

pub fn open(choice: BackendChoice) -> Result<Backend> {
    Backend::open_vetted(choice, vet)
}

/// Opens several devices, which divide the work; with [`BackendChoice::Auto`] the CPU takes over from those that fail
/// later.
pub fn open_several(choice: BackendChoice, list: &DeviceList) -> Result<Backend> {
    let open = |&(index, share): &(Option<usize>, Option<f64>)| {
        let context = index.map(GpuContext::try_at).transpose()?;
        context.as_ref().map_or(Ok(()), vet)?;
        Ok(ListedDevice { context, share })
    };
    Backend::several(choice, list.devices.iter().map(open).collect::<Result<_>>()?)
}
