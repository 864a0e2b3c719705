//! Checks that an engine traces the same coefficients as before.

use gputexel_dataset::Dataset;
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChangedRows {
    pub positions: [u64; 2],
    /// Positions whose coefficients, phase, endgame scale factor or offset differ; `None` if the numbers of
    /// positions differ, so that they cannot be matched.
    pub changed: Option<u64>,
    pub only_phase: u64,
    pub first: Option<u64>,
}

impl ChangedRows {
    pub(super) fn new(before: &Dataset, now: &Dataset) -> Self {
        let positions = [before.len() as u64, now.len() as u64];
        if before.len() != now.len() || before.feature_count() != now.feature_count() {
            return Self { positions, changed: None, only_phase: 0, first: None };
        }
        let (mut changed, mut only_phase, mut first) = (0, 0, None);
        for n in 0..now.len() {
            let (old, new) = (row(before, n), row(now, n));
            if old != new {
                changed += 1;
                only_phase += u64::from((&old.0, old.2) == (&new.0, new.2));
                first.get_or_insert(n as u64);
            }
        }
        Self { positions, changed: Some(changed), only_phase, first }
    }

    /// True if most of the changed rows differ only in the phase.
    pub fn in_phase(&self) -> bool {
        self.changed.is_some_and(|changed| 2 * self.only_phase > changed)
    }
}

/// Everything that the score of a position is computed from: the entries by column, the shares of both phases,
/// the offset.
fn row(data: &Dataset, n: usize) -> (Vec<(u16, f32)>, (f64, f64), f32) {
    let row = data.row(n);
    let mut entries: Vec<(u16, f32)> = row.entries().collect();
    entries.sort_by_key(|entry| entry.0);
    (entries, data.shares(n), row.offset)
}
