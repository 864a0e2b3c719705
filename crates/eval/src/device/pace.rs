//! How much a dispatch may do so that it ends in time: measured, not assumed.
//!
//! Desktop drivers kill what runs for seconds, and a long dispatch keeps the screen from being
//! drawn. No sum depends on where slices are cut, so the cut may follow the clock.

use std::time::{Duration, Instant};

/// What a slice should take.
const WANTED: Duration = Duration::from_millis(200);
/// Shorter measurements are mostly the host's; they only ever raise the rate.
const CREDIBLE: Duration = Duration::from_millis(20);

/// (Position, member) pairs per second of one kind of dispatch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    pairs_per_second: f64,
}

impl Pace {
    /// A guess to begin with: `pairs` take the time wanted.
    pub fn new(pairs: u64) -> Self {
        Self { pairs_per_second: pairs.max(1) as f64 / WANTED.as_secs_f64() }
    }

    /// Pairs that a slice should have.
    pub fn pairs(&self) -> u64 {
        (self.pairs_per_second * WANTED.as_secs_f64()) as u64
    }

    /// Learns from a slice of `pairs` that took `time`.
    pub fn observe(&mut self, pairs: u64, time: Duration) {
        let rate = pairs as f64 / time.as_secs_f64().max(1e-6);
        if time >= CREDIBLE || rate > self.pairs_per_second {
            // A host that comes late sees several slices end at once: no more than doubling.
            self.pairs_per_second =
                rate.clamp(0.25 * self.pairs_per_second, 2.0 * self.pairs_per_second).max(1.0);
        }
    }
}

/// Slices under way, oldest first.
#[derive(Debug)]
pub struct Clock {
    last: Instant,
}

impl Clock {
    /// A clock that starts now.
    pub fn start() -> Self {
        Self { last: Instant::now() }
    }

    /// Time since a slice ended, or since the start, now that the next one has.
    pub fn lap(&mut self) -> Duration {
        let now = Instant::now();
        now - std::mem::replace(&mut self.last, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pace_finds_the_rate_of_the_device_from_both_sides() {
        for (first, rate) in [(1u64 << 30, 2e6), (1 << 16, 5e10)] {
            let mut pace = Pace::new(first);
            for _ in 0..40 {
                let pairs = pace.pairs();
                pace.observe(pairs, Duration::from_secs_f64(pairs as f64 / rate));
            }
            let seconds = pace.pairs() as f64 / rate;
            assert!((0.15..0.25).contains(&seconds), "{seconds}");
        }
        // A small problem whose time is the host's does not make large ones slow.
        let mut pace = Pace::new(1 << 20);
        pace.observe(100, Duration::from_millis(2));
        assert_eq!(pace, Pace::new(1 << 20));
    }
}
