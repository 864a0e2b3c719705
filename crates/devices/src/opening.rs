//! Backends with all that is known of their devices.

use gputexel_evaluator::Backend;
use gputexel_evaluator::divided::{DeviceList, ListedDevice};
use gputexel_evaluator::gpu::{BackendChoice, GpuContext};
use gputexel_files::Result;

use crate::tiles::stored_tiles;
use crate::verdicts::vet;

/// Opens a backend: a GPU that computes wrongly is not used ([`vet`]), and one whose tiles were measured uses the
/// fastest ([`stored_tiles`]).
///
/// # Errors
/// Those of [`Backend::open_vetted`] and [`vet`].
pub fn open(choice: BackendChoice) -> Result<Backend> {
    let backend = Backend::open_vetted(choice, vet)?;
    let tiles = backend.adapter().and_then(stored_tiles);
    Ok(backend.with_tiles(tiles))
}

/// Opens several devices, which divide the work; with [`BackendChoice::Auto`] the CPU takes over from those that fail later.
///
/// # Errors
/// Those of [`GpuContext::try_at`], [`vet`] and [`Backend::several`].
pub fn open_several(choice: BackendChoice, list: &DeviceList) -> Result<Backend> {
    let open = |&(index, share): &(Option<usize>, Option<f64>)| {
        let context = index.map(GpuContext::try_at).transpose()?;
        context.as_ref().map_or(Ok(()), vet)?;
        let tiles = context.as_ref().and_then(|context| stored_tiles(context.summary()));
        Ok(ListedDevice { context, share, tiles })
    };
    Backend::several(choice, list.devices.iter().map(open).collect::<Result<_>>()?)
}
