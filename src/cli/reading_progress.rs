//! The progress of commands that read games, positions or traces.

use gputexel::Result;
use gputexel::extraction::{Hooks, Progress};
use indicatif::{ProgressBar, ProgressStyle};

use super::lines::LineTimer;
use super::table::{bytes, counted};
use super::{Context, prints_lines, shows_progress};

/// Calls with hooks that show how far it is.
pub fn with_progress<T>(context: &Context, call: impl FnOnce(&mut Hooks<'_>) -> Result<T>) -> Result<T> {
    let bar = if shows_progress(context) { ProgressBar::new(0) } else { ProgressBar::hidden() };
    if let Ok(style) =
        ProgressStyle::with_template("{bar:30} {bytes}/{total_bytes} {bytes_per_sec}, {eta} left, {msg}")
    {
        bar.set_style(style);
    }
    let mut lines = prints_lines(context).then(LineTimer::start);
    let mut progress = |at: Progress| {
        if lines.as_mut().is_some_and(LineTimer::is_due) {
            let of = at.bytes_total.map_or(String::new(), |total| format!(" of {}", bytes(total)));
            let read = bytes(at.bytes_read);
            note!("reading: {read}{of}, {}", counted(at.positions, "position"));
        }
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
