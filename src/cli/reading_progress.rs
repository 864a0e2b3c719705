//! The progress of commands that read games, positions or traces.

use gputexel::Result;
use gputexel::extraction::{Hooks, Progress};
use indicatif::{ProgressBar, ProgressStyle};

use super::table::counted;
use super::{Context, shows_progress};

/// Calls with hooks that show how far it is.
pub fn with_progress<T>(context: &Context, call: impl FnOnce(&mut Hooks<'_>) -> Result<T>) -> Result<T> {
    let bar = if shows_progress(context) { ProgressBar::new(0) } else { ProgressBar::hidden() };
    if let Ok(style) =
        ProgressStyle::with_template("{bar:30} {bytes}/{total_bytes} {bytes_per_sec}, {eta} left, {msg}")
    {
        bar.set_style(style);
    }
    let mut progress = |at: Progress| {
        match at.bytes_total {
            Some(total) => {
                bar.set_length(total);
                bar.set_position(at.bytes_read.min(total));
            }
            None => bar.set_position(at.bytes_read),
        }
        bar.set_message(counted(at.positions, "position"));
    };
    let result = call(&mut Hooks { cancel: context.cancel, progress: &mut progress });
    bar.finish_and_clear();
    result
}
