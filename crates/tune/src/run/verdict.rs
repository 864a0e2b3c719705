//! What a run was good for, by positions that it did not learn from.

use crate::{HeldOutGain, Strength};

/// Standard errors beyond which a difference counts.
const CLEAR: f64 = 2.0;
/// Share of the loss below which a difference does not count, however certain it is.
const SLIGHT: f64 = 1e-4;
/// Number of games, or positions without games, below which nothing can be said.
const MIN_GAMES: u64 = 100;

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

/// Returns the number of games of a run, or that of its positions if games are not known.
pub(crate) fn independent(strength: Option<&Strength>, positions: u64) -> u64 {
    let games = strength.filter(|strength| strength.folds > 0).map(|strength| strength.clusters);
    games.unwrap_or(positions).min(positions)
}

/// Compares a result, of so many [independent] games or positions, with its prior by the held-out loss, if anything was
/// held out; `is_start` is true if the result is the prior.
pub(crate) fn judge(independent: u64, gain: Option<HeldOutGain>, is_start: bool) -> Verdict {
    match gain {
        _ if independent < MIN_GAMES => Verdict::TooLittle,
        _ if is_start => Verdict::NoBetter,
        Some(gain) => of(gain),
        None => Verdict::Unknown,
    }
}

/// Judges a difference by its error; one without an error says nothing.
fn of(HeldOutGain { before, after, error }: HeldOutGain) -> Verdict {
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
