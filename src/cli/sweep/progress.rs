use gputexel::evaluator::Fallback;
use gputexel::tuning::sweep::SweepEvent;
use indicatif::ProgressBar;

use super::super::context::Context;
use super::super::lines::LineTimer;
use super::super::output::print_text;
use super::super::table::grouped;

pub struct Observer {
    bar: ProgressBar,
    lines: Option<LineTimer>,
    ends_early: bool,
    /// Epochs and seconds at the first step that this process saw.
    first: Option<(u64, f64)>,
}

impl Observer {
    pub fn new(context: &Context, ends_early: bool) -> Self {
        let bar = context.bar(1, "{bar:16} {percent:>3} % {wide_msg}");
        Self { bar, lines: context.prints_lines().then(LineTimer::start), ends_early, first: None }
    }

    pub fn observe(&mut self, event: &SweepEvent<'_>) {
        match *event {
            SweepEvent::Step { done, planned, seconds } => {
                let (first, since) = *self.first.get_or_insert((done, seconds));
                let rate = (done - first) as f64 / (seconds - since);
                let about = if self.ends_early { "at most" } else { "about" };
                let left = match rate.is_finite() && rate > 0.0 {
                    true => format!(", {about} {:.0} s left", (planned - done) as f64 / rate),
                    false => String::new(),
                };
                let text = format!(
                    "{} of {} epochs of all runs, {seconds:.1} s{left}",
                    grouped(done),
                    grouped(planned)
                );
                match &mut self.lines {
                    None => {
                        self.bar.set_length(planned);
                        self.bar.set_position(done);
                        self.bar.set_message(text);
                    }
                    Some(lines) => {
                        if lines.is_due() {
                            // Failure to show progress is no reason to abort the sweep.
                            let _ = print_text(&format!("{text}\n"));
                        }
                    }
                }
            }
            SweepEvent::State { .. } => {}
            SweepEvent::Replaced(Fallback { ref error, ref evaluator }) => {
                self.bar.suspend(|| note!("gputexel: warning: {error}; continuing on the {evaluator}"));
            }
        }
    }

    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
