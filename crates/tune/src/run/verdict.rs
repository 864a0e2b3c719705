//! What a run was good for, by positions that it did not learn from.

use crate::HeldOutGain;

/// Standard errors beyond which a difference counts.
const CLEAR: f64 = 2.0;
/// Share of the loss below which a difference does not count, however certain it is.
const SLIGHT: f64 = 1e-4;
/// Number of games, or positions without games, below which nothing can be said.
pub(crate) const MIN_GAMES: u64 = 100;

/// Comparison of the tuned values with the prior.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// There are too few games or positions to tell.
    TooLittle,
    /// The held-out loss is lower by more than two of its errors.
    Better,
    /// The difference is slight or within two of its errors, or the prior was kept.
    NoBetter,
    /// The held-out loss is higher by more than two of its errors.
    Worse,
    /// No positions were held out.
    Unknown,
}

/// Judges a difference by its error; one without an error says nothing.
pub(crate) fn of(HeldOutGain { before, after, error }: HeldOutGain) -> Verdict {
    let change = after - before;
    match () {
        // All from one game, it has an error of 0.
        () if change.abs() < SLIGHT * before || error <= 0.0 => Verdict::NoBetter,
        () if change < -CLEAR * error => Verdict::Better,
        () if change > CLEAR * error => Verdict::Worse,
        () => Verdict::NoBetter,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_counts_beyond_two_errors() {
        let gain = |after: f64, error: f64| of(HeldOutGain { before: 0.1, after, error });
        assert_eq!(gain(0.09, 0.004), Verdict::Better);
        assert_eq!(gain(0.09, 0.006), Verdict::NoBetter);
        assert_eq!(gain(0.1, 0.0), Verdict::NoBetter);
        assert_eq!(gain(0.099_999, 1e-9), Verdict::NoBetter);
        assert_eq!(gain(0.11, 0.004), Verdict::Worse);
        assert_eq!(gain(0.09, f64::NAN), Verdict::NoBetter);
    }
}
