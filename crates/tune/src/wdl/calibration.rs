//! Observed shares of wins, draws and losses beside those of the model.

use serde::Serialize;

use crate::wdl::counts::Counts;
use crate::wdl::model::WdlModel;

/// Bounds between intervals of normalized scores, pawns.
const BOUNDS: [f64; 14] = [-4.0, -3.0, -2.0, -1.5, -1.0, -0.5, -0.2, 0.2, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0];

/// Positions with normalized scores in an interval, for the side to move.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CalibrationRow {
    /// Lowest score, in pawns of the model (1 wins half of the games); `None` if there is no bound.
    pub from: Option<f64>,
    /// Exclusive upper bound of the score; `None` if there is no bound.
    pub to: Option<f64>,
    /// Positions.
    pub positions: u64,
    /// Shares of wins, draws and losses.
    pub observed: [f64; 3],
    /// Shares according to the model.
    pub model: [f64; 3],
}

/// Compares a model with counts.
pub fn calibration(counts: &Counts, model: &WdlModel) -> Vec<CalibrationRow> {
    let mut sums = vec![(0.0, [0.0; 3], [0.0; 3]); BOUNDS.len() + 1];
    for (value, cells) in counts.rows() {
        let m = f64::from(value);
        let (a, _) = model.curves(m);
        for cell in cells {
            let at = BOUNDS.partition_point(|&bound| bound <= cell.score / a);
            let n: f64 = cell.counts.iter().sum();
            let expected = model.probabilities(cell.score, m);
            let (positions, observed, of_model) = &mut sums[at];
            *positions += n;
            for i in 0..3 {
                observed[i] += cell.counts[i];
                of_model[i] += n * expected[i];
            }
        }
    }
    let rows = sums.into_iter().enumerate().filter(|(_, (positions, _, _))| *positions > 0.0);
    rows.map(|(at, (positions, observed, of_model))| CalibrationRow {
        from: at.checked_sub(1).and_then(|at| BOUNDS.get(at)).copied(),
        to: BOUNDS.get(at).copied(),
        positions: positions as u64,
        observed: observed.map(|sum| sum / positions),
        model: of_model.map(|sum| sum / positions),
    })
    .collect()
}

impl CalibrationRow {
    /// Describes the interval in words.
    pub fn interval(&self) -> String {
        match (self.from, self.to) {
            (Some(from), Some(to)) => format!("{from:+} to {to:+}"),
            (None, Some(to)) => format!("below {to:+}"),
            (Some(from), None) => format!("{from:+} or more"),
            (None, None) => "any".to_string(),
        }
    }
}
