use gputexel_io::Result;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StrengthProgress {
    /// Number of the round, from 1: the losses are modeled again in each.
    pub round: usize,
    pub rounds: usize,
    /// Number of the evaluation in its round, from 1; 0 while the losses are modeled.
    pub evaluation: usize,
    pub evaluations: usize,
}

impl StrengthProgress {
    pub fn share(&self) -> f64 {
        let part = self.evaluation as f64 / (self.evaluation as f64 + 4.0);
        ((self.round - 1) as f64 + part) / self.rounds as f64
    }

    pub(super) fn of_round(round: usize, rounds: usize, evaluations: usize) -> Self {
        Self { round: round + 1, rounds, evaluation: 0, evaluations }
    }
}

/// Receives the progress of a search for weights; an error ends it.
pub type StrengthObserver<'a> = dyn FnMut(StrengthProgress) -> Result<()> + 'a;
