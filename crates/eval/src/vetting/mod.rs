//! Checks whether a GPU computes correctly, and measures the speed of it and of the CPU.
//!
//! [`Checker`] compares every kernel variant with f64. [`vet`] does so briefly when a device is first used, and
//! remembers the result. Evaluators do not depend on this: callers that open a backend pass [`vet`], or open it by
//! [`open`]. [`mod@bench`] measures throughput, [`page`] has what a browser
//! needs for both.

pub mod bench;
pub mod check;
pub mod page;
pub mod positions;
mod verdicts;

pub use check::{CheckReport, Checker, Depth, Finding, Group};
pub use verdicts::{DamagedList, damaged_list, remember, verdict, vet};

use crate::Backend;
use crate::divided::{DeviceList, ListedDevice};
use crate::gpu::{BackendChoice, GpuContext};
use gputexel_io::Result;

/// Opens a backend: a GPU that computes wrongly is not used ([`vet`]).
///
/// # Errors
/// See [`Backend::open`] and [`vet`].
pub fn open(choice: BackendChoice) -> Result<Backend> {
    Backend::open_vetted(choice, vet)
}

/// Opens several devices, which divide the work; with [`BackendChoice::Auto`] the CPU takes over from those that fail later.
///
/// # Errors
/// See [`GpuContext::try_at`], [`vet`] and [`Backend::several`].
pub fn open_several(choice: BackendChoice, list: &DeviceList) -> Result<Backend> {
    let open = |&(index, share): &(Option<usize>, Option<f64>)| {
        let context = index.map(GpuContext::try_at).transpose()?;
        context.as_ref().map_or(Ok(()), vet)?;
        Ok(ListedDevice { context, share })
    };
    Backend::several(choice, list.devices.iter().map(open).collect::<Result<_>>()?)
}
