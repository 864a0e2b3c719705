//! Plain progress lines, for output that is not a terminal.

use std::time::{Duration, Instant};

/// Seconds after the start at which the first lines are due.
const FIRST: [u64; 3] = [2, 5, 10];
/// Seconds between all later ones.
const EVERY: u64 = 30;

/// Decides when a line is due: soon at first, to show that something happens, then rarely, to keep logs short.
pub struct LineTimer {
    begun: Instant,
    /// Number of lines that were due so far, which count as printed.
    printed: u64,
}

impl LineTimer {
    pub fn start() -> Self {
        Self { begun: Instant::now(), printed: 0 }
    }

    /// Returns true if a line is due, and counts it as printed.
    pub fn is_due(&mut self) -> bool {
        self.due_at(self.begun.elapsed())
    }

    fn due_at(&mut self, elapsed: Duration) -> bool {
        let before = std::mem::replace(&mut self.printed, lines_after(elapsed));
        before < self.printed
    }

    pub fn seconds(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }
}

/// Returns the number of lines that are due within some time.
fn lines_after(elapsed: Duration) -> u64 {
    let seconds = elapsed.as_secs();
    let first = FIRST.iter().filter(|&&at| seconds >= at).count() as u64;
    first + seconds.saturating_sub(FIRST[FIRST.len() - 1]) / EVERY
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_rarer() {
        let due: Vec<u64> = (0..=100).map(Duration::from_secs).map(lines_after).collect();
        let at: Vec<usize> = (1..due.len()).filter(|&second| due[second] > due[second - 1]).collect();
        assert_eq!(at, [2, 5, 10, 40, 70, 100]);
        let mut timer = LineTimer::start();
        // At 7 s two are due, and one line covers both.
        let due = [1, 7, 8, 10, 39, 75, 99].map(|second| timer.due_at(Duration::from_secs(second)));
        assert_eq!(due, [false, true, false, true, false, true, false]);
    }
}
