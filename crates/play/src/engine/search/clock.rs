//! Allotment of thinking time.

use std::time::{Duration, Instant};

use crate::engine::{Clock, Limits};

/// On a busy machine a thread may have to wait as long for its turn.
const RESERVE: Duration = Duration::from_millis(120);
/// That a game is expected to continue.
const EXPECTED_MOVES: u32 = 25;

#[derive(Clone, Copy, Debug)]
pub(super) struct Deadlines {
    start: Instant,
    /// No iteration begins after this.
    soft: Option<Duration>,
    /// The search is aborted after this.
    hard: Option<Duration>,
}

impl Deadlines {
    /// `overhead` is the delay between the clock's owner and the search.
    pub(super) fn new(limits: &Limits, overhead: Duration) -> Self {
        let mut deadlines = Self { start: Instant::now(), soft: None, hard: None };
        if let Some(clock) = &limits.clock {
            let (soft, hard) = allot(clock, overhead);
            deadlines.soft = Some(soft);
            deadlines.hard = Some(hard);
        }
        if let Some(time) = limits.move_time {
            let time = time - overhead.min(time / 10);
            deadlines.hard = Some(deadlines.hard.map_or(time, |hard| hard.min(time)));
        }
        deadlines
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    pub(super) fn saves_time(&self) -> bool {
        self.soft.is_some()
    }

    pub(super) fn is_over(&self) -> bool {
        self.hard.is_some_and(|hard| self.elapsed() >= hard)
    }

    /// Another iteration is not worthwhile; `share` scales the time allotted.
    pub(super) fn is_enough(&self, share: f64) -> bool {
        self.soft.is_some_and(|soft| self.elapsed().as_secs_f64() >= soft.as_secs_f64() * share)
    }
}

fn allot(clock: &Clock, overhead: Duration) -> (Duration, Duration) {
    let left = clock.remaining.saturating_sub(overhead);
    let spendable = left - RESERVE.min(left / 4 * 3);
    let hard = match clock.moves_to_go {
        Some(1) => spendable.mul_f64(0.8),
        _ => spendable.mul_f64(0.2),
    };
    let moves = clock.moves_to_go.map_or(EXPECTED_MOVES, |moves| moves.clamp(1, EXPECTED_MOVES));
    // An iteration takes about twice as long as those before it together.
    let soft = (spendable / moves + clock.increment.mul_f64(0.75)).mul_f64(0.7);
    (soft.min(hard), hard)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OVERHEAD: Duration = Duration::from_millis(20);

    fn clock(remaining_ms: u64, increment_ms: u64, moves_to_go: Option<u32>) -> Clock {
        Clock {
            remaining: Duration::from_millis(remaining_ms),
            increment: Duration::from_millis(increment_ms),
            moves_to_go,
        }
    }

    /// A game in which every move uses slightly more than its limit never runs out of time.
    #[test]
    fn clocks_do_not_run_out() {
        for (start, increment, moves_to_go) in
            [(500, 10, None), (100, 5, None), (1000, 0, None), (60_000, 0, Some(40)), (1, 0, Some(1))]
        {
            let mut remaining = Duration::from_millis(start);
            for moves in 0..300 {
                let togo = moves_to_go.map(|n: u32| n - moves % n);
                let now = Clock { remaining, ..clock(0, increment, togo) };
                let (soft, hard) = allot(&now, OVERHEAD);
                assert!(soft <= hard && hard < remaining, "{now:?}: {hard:?}");
                // The rest of a check interval comes on top.
                let used = hard + Duration::from_micros(300).min(remaining / 10);
                assert!(used < remaining, "{now:?}");
                remaining = remaining - used + Duration::from_millis(increment);
                if togo == Some(1) {
                    remaining += Duration::from_millis(start);
                }
            }
            if increment > 0 {
                assert!(remaining > Duration::from_millis(3 * increment), "{remaining:?}");
            }
        }
    }

    #[test]
    fn a_fair_share_is_spent() {
        let (soft, hard) = allot(&clock(60_000, 0, None), OVERHEAD);
        assert!((1.2..2.5).contains(&soft.as_secs_f64()), "{soft:?}");
        assert!((8.0..16.0).contains(&hard.as_secs_f64()), "{hard:?}");
        let (soft, _) = allot(&clock(10_000, 1000, None), OVERHEAD);
        assert!((0.6..1.2).contains(&soft.as_secs_f64()), "{soft:?}");
        let limits = Limits { move_time: Some(Duration::from_millis(100)), ..Limits::default() };
        let deadlines = Deadlines::new(&limits, OVERHEAD);
        assert_eq!(deadlines.hard, Some(Duration::from_millis(90)));
        assert!(!deadlines.saves_time());
        assert_eq!(Deadlines::new(&Limits::default(), OVERHEAD).hard, None);
    }
}
