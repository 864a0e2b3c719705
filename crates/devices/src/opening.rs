//! Backends with all that is known of their devices.

use gputexel_evaluator::Backend;
use gputexel_evaluator::gpu::BackendChoice;
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
