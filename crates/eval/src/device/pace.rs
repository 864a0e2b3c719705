//! Limits the work per dispatch so that it ends in time: measured, not assumed.

use std::time::{Duration, Instant};

const WANTED: Duration = Duration::from_millis(200);
/// Shorter measurements are mostly overhead of the host; they only ever raise the rate.
const CREDIBLE: Duration = Duration::from_millis(20);

/// (Position, member) pairs per second of one kind of dispatch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    pairs_per_second: f64,
}

impl Pace {
    pub fn new(pairs: u64) -> Self {
        Self { pairs_per_second: pairs.max(1) as f64 / WANTED.as_secs_f64() }
    }

    pub fn pairs(&self) -> u64 {
        (self.pairs_per_second * WANTED.as_secs_f64()) as u64
    }

    pub fn observe(&mut self, pairs: u64, time: Duration) {
        let rate = pairs as f64 / time.as_secs_f64().max(1e-6);
        if time >= CREDIBLE || rate > self.pairs_per_second {
            // If the host is late, several slices seem to end at once: the rate at most doubles.
            self.pairs_per_second =
                rate.clamp(0.25 * self.pairs_per_second, 2.0 * self.pairs_per_second).max(1.0);
        }
    }
}

#[derive(Debug)]
pub struct Clock {
    last: Instant,
}

impl Clock {
    pub fn start() -> Self {
        Self { last: Instant::now() }
    }

    /// Returns the time since the previous slice ended, or since the start; call it when a slice ends.
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
        // A small problem dominated by the host's overhead does not slow large ones.
        let mut pace = Pace::new(1 << 20);
        pace.observe(100, Duration::from_millis(2));
        assert_eq!(pace, Pace::new(1 << 20));
    }
}
