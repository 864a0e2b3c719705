//! How far the search for weights is, for whoever waits for it.

use gputexel_io::Result;

/// How far a search for weights is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StrengthProgress {
    /// Number of the round, from 1: the losses are modeled anew in each.
    pub round: usize,
    /// Rounds, at most.
    pub rounds: usize,
    /// Number of the evaluation in its round, from 1; 0 while the losses are modeled.
    pub evaluation: usize,
    /// Evaluations in a round, at most.
    pub evaluations: usize,
}

impl StrengthProgress {
    /// The beginning of a round, which are numbered from 0 here, of at most so many rounds and evaluations.
    pub(super) fn of_round(round: usize, rounds: usize, evaluations: usize) -> Self {
        Self { round: round + 1, rounds, evaluation: 0, evaluations }
    }
}

/// What is told how far a search for weights is; an error ends it.
pub type StrengthObserver<'a> = dyn FnMut(StrengthProgress) -> Result<()> + 'a;
