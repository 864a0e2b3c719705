//! Progress of commands that read games, positions or traces.

use gputexel::Result;
use gputexel::extraction::{Hooks, Progress};
use indicatif::{ProgressBar, ProgressFinish};

use super::context::Context;
use super::lines::LineTimer;
use super::table::{bytes, counted};

/// Progress of reading, as a bar or plain lines. The bar clears itself when dropped.
pub struct Reading {
    bar: ProgressBar,
    lines: Option<LineTimer>,
}

impl Reading {
    pub fn begin(context: &Context) -> Self {
        let bar = context.bar(0, "{bar:16} {bytes}/{total_bytes} {bytes_per_sec}, {eta} left, {wide_msg}");
        let bar = bar.with_finish(ProgressFinish::AndClear);
        Self { bar, lines: context.prints_lines().then(LineTimer::start) }
    }

    pub fn show(&mut self, at: Progress) {
        if self.lines.as_mut().is_some_and(LineTimer::is_due) {
            let of = at.bytes_total.map_or(String::new(), |total| format!(" of {}", bytes(total)));
            let read = bytes(at.bytes_read);
            note!("reading: {read}{of}, {}", counted(at.positions, "position"));
        }
        match at.bytes_total {
            Some(total) => {
                self.bar.set_length(total);
                self.bar.set_position(at.bytes_read.min(total));
            }
            None => self.bar.set_position(at.bytes_read),
        }
        self.bar.set_message(counted(at.positions, "position"));
    }
}

pub fn with_progress<T>(context: &Context, call: impl FnOnce(&mut Hooks<'_>) -> Result<T>) -> Result<T> {
    let mut reading = Reading::begin(context);
    call(&mut Hooks { cancel: context.cancel, progress: &mut |at| reading.show(at) })
}
