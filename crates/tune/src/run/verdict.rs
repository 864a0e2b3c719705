//! What a run was good for, by positions that it did not learn from.

use crate::HeldOutGain;
use crate::run::Tuned;

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

impl Tuned {
    /// Returns the held-out loss before and after: that of the positions held out of the whole run, or if there are none,
    /// that of the folds by which the regularization was chosen.
    pub fn gain(&self) -> Option<HeldOutGain> {
        self.held_out_gain.or_else(|| self.record.strength.as_ref()?.gain)
    }

    /// Compares the result with the prior.
    pub fn verdict(&self) -> Verdict {
        let games = self.record.strength.as_ref().filter(|strength| strength.folds > 0);
        if self.positions < MIN_GAMES || games.is_some_and(|strength| strength.clusters < MIN_GAMES) {
            return Verdict::TooLittle;
        }
        match self.gain() {
            Some(_) if self.is_start() => Verdict::NoBetter,
            Some(gain) => of(gain),
            None if self.has_few_positions() => Verdict::TooLittle,
            None if self.is_start() => Verdict::NoBetter,
            None if self.loss_before.zip(self.loss).is_some_and(|(before, after)| after > before) => {
                Verdict::Worse
            }
            None => Verdict::Unknown,
        }
    }
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
