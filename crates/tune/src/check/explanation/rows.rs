//! The rows that explanations are tried on, and the fits that they share.

use gputexel_dataset::{Dataset, objective};
use gputexel_ingest::trace::{PositionFacts, Reference, ReferenceRow};
use gputexel_io::Result;
use gputexel_model::FeatureSet;
use rayon::prelude::*;

use super::super::compared::Compared;

/// Numbers of rows: those that differ, and others.
const DIFFERING: usize = 6000;
const OTHERS: usize = 2000;

/// A row with both of its evaluations, centipawns.
#[derive(Clone)]
pub(super) struct Row {
    /// Index in the dataset.
    pub n: usize,
    pub row: ReferenceRow,
    /// Printed by the engine.
    pub printed: f64,
    /// Computed.
    pub score: f64,
    pub facts: PositionFacts,
}

impl Row {
    /// Returns printed − computed.
    pub fn difference(&self) -> f64 {
        self.printed - self.score
    }

    /// Returns the shares of the middlegame and the endgame value.
    pub fn shares(&self) -> [f64; 2] {
        self.row.shares.pair().into()
    }

    /// Returns the coefficient of a column, 0 if the row does not have it.
    pub fn coefficient(&self, column: u16) -> f64 {
        let entries = self.row.entries.iter().filter(|entry| entry.0 == column);
        entries.map(|entry| entry.1).sum()
    }
}

/// Rows of a dataset under θ.
pub(super) struct Rows<'a> {
    pub data: &'a Dataset,
    pub set: &'a FeatureSet,
    pub theta: &'a [f64],
    pub tolerance_cp: f64,
    pub reference: Reference,
    pub rows: Vec<Row>,
}

impl<'a> Rows<'a> {
    /// Selects rows that differ and rows that do not.
    pub fn try_new(compared: &Compared<'a>, theta: &'a [f64], facts: &[PositionFacts]) -> Result<Self> {
        let Compared { data, printed, set, tolerance_cp } = *compared;
        let reference = compared.reference(theta)?;
        let mut sample = compared.sample(theta, DIFFERING, OTHERS)?;
        sample.sort_unstable();
        let row = |n: usize| {
            let row = Reference::row_of(data, n);
            let score = reference.score_of_row(&row, &[]).0;
            let facts = facts.get(n).copied().unwrap_or_default();
            Row { n, row, printed: f64::from(printed[n]), score, facts }
        };
        let rows = sample.iter().map(|&n| row(n as usize)).collect();
        Ok(Self { data, set, theta, tolerance_cp, reference, rows })
    }

    /// Returns the same rows under other values.
    pub fn at<'b>(&'b self, theta: &'b [f64]) -> Result<Rows<'b>> {
        let reference = Reference::try_new(self.set, theta.to_vec(), self.tolerance_cp)?;
        let row = |row: &Row| Row { score: reference.score_of_row(&row.row, &[]).0, ..row.clone() };
        let rows = self.rows.par_iter().map(row).collect();
        Ok(Rows { theta, reference, rows, ..*self })
    }

    /// Returns the rows that differ.
    pub fn differing(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| row.difference().abs() > self.tolerance_cp)
    }

    /// Computes the score of each row.
    pub fn scores(&self, of: impl Fn(&Row) -> (f64, bool) + Sync + Send) -> Vec<(f64, bool)> {
        self.rows.par_iter().map(of).collect()
    }

    /// Computes the score of each row under other values.
    pub fn scores_with(&self, theta: Vec<f64>) -> Result<Vec<(f64, bool)>> {
        let reference = Reference::try_new(self.set, theta, self.tolerance_cp)?;
        Ok(self.scores(|row| reference.score_of_row(&row.row, &[])))
    }

    /// Returns the derivatives of a row's score by θ: indices and slopes.
    pub fn slopes(&self, row: &Row) -> Vec<(usize, f64)> {
        let mut slopes = Vec::new();
        objective::score_and_slopes(self.data, self.theta, row.n, &mut slopes);
        slopes
    }

    /// Returns the numbers x that make Σ x · column come nearest to the differences, by least squares; `None` if they
    /// are not determined.
    pub fn fit<const N: usize>(&self, columns: impl Fn(&Row) -> [f64; N] + Sync + Send) -> Option<[f64; N]> {
        let mut matrix = [[0.0; N]; N];
        let mut right = [0.0; N];
        let found: Vec<[f64; N]> = self.rows.par_iter().map(columns).collect();
        for (row, x) in self.rows.iter().zip(found) {
            for i in 0..N {
                right[i] += x[i] * row.difference();
                (0..N).for_each(|j| matrix[i][j] += x[i] * x[j]);
            }
        }
        solve(matrix, right)
    }

    /// Returns the share of random differences, of about the size of those that were found, that `nearest` explains:
    /// the scores which it returns for a row and an evaluation to be reached.
    pub fn chance(&self, nearest: impl Fn(&Row, f64) -> f64 + Sync) -> f64 {
        let mut sizes: Vec<f64> = self.differing().map(|row| row.difference().abs()).collect();
        sizes.sort_by(f64::total_cmp);
        let reach = sizes.get(sizes.len() * 9 / 10).copied().unwrap_or(0.0).max(10.0 * self.tolerance_cp);
        let whole = self.rows.iter().all(|row| row.printed.fract() == 0.0);
        self.share_of(|at, row| {
            // A Weyl sequence: evenly distributed, and always the same.
            let even = (at as f64 * 0.618_033_988_749_894_9).fract();
            let target = row.score + (2.0 * even - 1.0) * reach;
            let target = if whole { target.round() } else { target };
            (nearest(row, target) - target).abs() <= self.tolerance_cp
        })
    }

    /// Returns the share of differences that `nearest` explains if it is another parameter than `feature` that is counted
    /// once or twice too often.
    pub fn chance_of_others(&self, feature: u16, nearest: impl Fn(&Row, f64) -> f64 + Sync) -> f64 {
        self.share_of(|at, row| {
            let others: Vec<u16> =
                row.row.entries.iter().map(|entry| entry.0).filter(|&id| id != feature).collect();
            let Some(&other) = others.get(at % others.len().max(1)) else { return false };
            let target = self.reference.score_of_row(&row.row, &[(other, 1.0 + (at % 2) as f64)]).0;
            (target - row.score).abs() > self.tolerance_cp
                && (nearest(row, target) - target).abs() <= self.tolerance_cp
        })
    }

    /// Returns the share of differing rows that `explained` is true for.
    fn share_of(&self, explained: impl Fn(usize, &Row) -> bool + Sync) -> f64 {
        const TRIED: usize = 2000;
        let differing: Vec<(usize, &Row)> = self.differing().take(TRIED).enumerate().collect();
        let count = differing.par_iter().filter(|&&(at, row)| explained(at, row)).count();
        // Never 0, which no sample can show.
        (count as f64 + 1.0) / (differing.len() as f64 + 1.0)
    }

    /// Returns what a coefficient of 1 of a feature adds to a row's score in the linear part, centipawns, before rounding.
    pub fn worth(&self, row: &Row, feature: u16) -> f64 {
        let [mg, eg] = row.shares();
        let at = usize::from(feature);
        mg * self.theta[at] + eg * self.theta[at + self.set.features.len()]
    }

    /// Returns true if all values are whole numbers.
    pub fn is_whole(&self) -> bool {
        self.theta.iter().all(|value| value.fract() == 0.0)
    }
}

/// Solves a small symmetric system; `None` if it is singular.
fn solve<const N: usize>(mut matrix: [[f64; N]; N], mut right: [f64; N]) -> Option<[f64; N]> {
    for i in 0..N {
        let pivot = matrix[i][i];
        if pivot.is_nan() || pivot <= 1e-9 {
            return None;
        }
        for j in i + 1..N {
            let factor = matrix[j][i] / pivot;
            let row = matrix[i];
            matrix[j].iter_mut().zip(row).for_each(|(a, b)| *a -= factor * b);
            right[j] -= factor * right[i];
        }
    }
    for i in (0..N).rev() {
        let later: f64 = (i + 1..N).map(|j| matrix[i][j] * right[j]).sum();
        right[i] = (right[i] - later) / matrix[i][i];
    }
    Some(right)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solves_small_systems() {
        let found = solve([[4.0, 2.0], [2.0, 3.0]], [10.0, 9.0]).unwrap();
        assert!((found[0] - 1.5).abs() < 1e-12 && (found[1] - 2.0).abs() < 1e-12, "{found:?}");
        assert_eq!(solve([[1.0, 1.0], [1.0, 1.0]], [1.0, 1.0]), None);
    }
}
