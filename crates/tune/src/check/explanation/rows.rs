//! The rows that explanations are tried on, the changes of them, and the fits that these share.

use std::sync::Arc;

use gputexel_dataset::{Dataset, objective};
use gputexel_ingest::trace::{PositionFacts, Reference, ReferenceRow};
use gputexel_io::Result;
use gputexel_model::FeatureSet;
use rayon::prelude::*;

use super::super::compared::Compared;

/// Numbers of rows: those that differ, and others.
const DIFFERING: usize = 6000;
const OTHERS: usize = 2000;
/// Number of times that a fit is tried on as few rows as determine it.
const TRIALS: usize = 64;

/// A row with both of its evaluations, centipawns.
#[derive(Clone)]
pub(super) struct Row {
    /// Index in the dataset.
    pub n: usize,
    pub row: ReferenceRow,
    /// Factor of the computed score: of other units, or of another point of view.
    pub factor: f64,
    /// Largest difference that may be due to entries of both colors that cancel out.
    pub hidden_cp: f64,
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
        let (mg, eg) = self.row.shares.pair();
        [self.factor * mg, self.factor * eg]
    }

    /// Returns the coefficient of a column, 0 if the row does not have it.
    pub fn coefficient(&self, column: u16) -> f64 {
        let entries = self.row.entries.iter().filter(|entry| entry.0 == column);
        entries.map(|entry| entry.1).sum()
    }
}

/// A change after which scores may agree.
#[derive(Clone)]
pub(super) enum Fix {
    /// Other values.
    Values(Vec<f64>),
    /// Another program on sums.
    Program(Arc<FeatureSet>),
    /// Something else in each row.
    Row(Arc<dyn Fn(&Rows<'_>, &mut Row) + Sync + Send>),
}

impl Fix {
    pub fn row(of: impl Fn(&Rows<'_>, &mut Row) + Sync + Send + 'static) -> Self {
        Self::Row(Arc::new(of))
    }
}

/// Entries that a row may have in addition, one list for each possibility.
pub(super) type More = Arc<dyn Fn(&Row) -> Vec<Vec<(u16, f64)>> + Sync + Send>;

/// Rows of a dataset under θ.
#[derive(Clone)]
pub(super) struct Rows<'a> {
    pub data: &'a Dataset,
    pub set: Arc<FeatureSet>,
    pub theta: Vec<f64>,
    pub tolerance_cp: f64,
    pub reference: Reference,
    pub rows: Vec<Row>,
    /// Entries that another mistake may have left out of each row.
    pub more: Option<More>,
}

impl<'a> Rows<'a> {
    /// Selects rows that differ and rows that do not.
    pub fn try_new(compared: &Compared<'a>, theta: &[f64], facts: &[PositionFacts]) -> Result<Self> {
        let Compared { data, printed, set, tolerance_cp } = *compared;
        let reference = compared.reference(theta)?;
        let mut sample = compared.sample(theta, DIFFERING, OTHERS)?;
        sample.sort_unstable();
        let row = |n: usize| {
            let row = Reference::row_of(data, n);
            let score = reference.score_of_row(&row, &[]).0;
            let facts = facts.get(n).copied().unwrap_or_default();
            let printed = f64::from(printed[n]);
            Row { n, row, factor: 1.0, hidden_cp: 0.0, printed, score, facts }
        };
        let rows = sample.iter().map(|&n| row(n as usize)).collect();
        let (set, theta) = (Arc::new(set.clone()), theta.to_vec());
        Ok(Self { data, set, theta, tolerance_cp, reference, rows, more: None })
    }

    /// Returns the same rows after a change.
    pub fn after(&self, fix: &Fix) -> Result<Self> {
        let mut out = self.clone();
        match fix {
            Fix::Values(theta) => out.theta.clone_from(theta),
            Fix::Program(set) => out.set = Arc::clone(set),
            Fix::Row(change) => out.rows.par_iter_mut().for_each(|row| change(self, row)),
        }
        out.reference = Reference::try_new(&out.set, out.theta.clone(), self.tolerance_cp)?;
        let scores = out.scores(|row| out.score_of(row, &[]));
        out.rows.iter_mut().zip(scores).for_each(|(row, (score, _))| row.score = score);
        Ok(out)
    }

    /// Returns the score of each row after a change, and true where it may be another one: near a kink, or where entries
    /// cancel out.
    pub fn scores_after<'r>(
        &self,
        fix: &Fix,
        rows: impl IntoParallelIterator<Item = &'r Row>,
    ) -> Result<Vec<(f64, bool)>> {
        let rows = rows.into_par_iter();
        let reference = match fix {
            Fix::Values(theta) => Reference::try_new(&self.set, theta.clone(), self.tolerance_cp)?,
            Fix::Program(set) => Reference::try_new(set, self.theta.clone(), self.tolerance_cp)?,
            Fix::Row(change) => {
                let score = |row: &Row| {
                    let mut row = row.clone();
                    change(self, &mut row);
                    let (score, near_kink) = self.score_of(&row, &[]);
                    (score, near_kink || (row.printed - score).abs() <= row.hidden_cp)
                };
                return Ok(rows.map(score).collect());
            }
        };
        let score = |row: &Row| {
            let (score, near_kink) = reference.score_of_row(&row.row, &[]);
            (row.factor * score, near_kink)
        };
        Ok(rows.map(score).collect())
    }

    /// Returns the score of a row that also has the entries `more`, and true if it is near a kink.
    pub fn score_of(&self, row: &Row, more: &[(u16, f64)]) -> (f64, bool) {
        let (score, near_kink) = self.reference.score_of_row(&row.row, more);
        (row.factor * score, near_kink)
    }

    /// Returns true if a score agrees with an evaluation.
    pub fn agrees(&self, score: f64, evaluation: f64) -> bool {
        (score - evaluation).abs() <= self.tolerance_cp
    }

    /// Returns the rows that differ.
    pub fn differing(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| !self.agrees(row.score, row.printed))
    }

    /// Computes the score of each row.
    pub fn scores(&self, of: impl Fn(&Row) -> (f64, bool) + Sync + Send) -> Vec<(f64, bool)> {
        self.rows.par_iter().map(of).collect()
    }

    /// Returns the derivatives of a row's score by θ: indices and slopes. Of a program, those of the row as it was.
    pub fn slopes(&self, row: &Row) -> Vec<(usize, f64)> {
        let mut slopes = Vec::new();
        if self.set.program.is_some() {
            objective::score_and_slopes(self.data, &self.theta, row.n, &mut slopes);
            slopes.iter_mut().for_each(|slope| slope.1 *= row.factor);
            return slopes;
        }
        let [mg, eg] = row.shares();
        for &(id, c) in &row.row.entries {
            slopes.extend([(usize::from(id), c * mg), (usize::from(id) + self.set.features.len(), c * eg)]);
        }
        slopes
    }

    /// Returns the numbers x with which Σ x · column explains most differences: of those that minimize the sum of squares
    /// over all rows and over those that a few rows determine, the ones after which most rows agree. So a second
    /// mistake in other rows does not matter. `None` if they are not determined.
    pub fn fit<const N: usize>(&self, columns: impl Fn(&Row) -> [f64; N] + Sync + Send) -> Option<[f64; N]> {
        let found: Vec<([f64; N], f64)> =
            self.rows.par_iter().map(|row| (columns(row), row.difference())).collect();
        let left = |x: &[f64; N], (column, d): &([f64; N], f64)| {
            (d - column.iter().zip(x).map(|(a, b)| a * b).sum::<f64>()).abs()
        };
        // Evaluations that are rounded differ a little from what a row says.
        let near = 2.0 * self.tolerance_cp.max(0.5);
        let count = |x: &[f64; N]| found.iter().filter(|one| left(x, one) <= near).count();
        let least = least_squares(found.iter())?;
        let all = count(&least);
        let mut best = (all, least);
        let used: Vec<&([f64; N], f64)> =
            found.iter().filter(|(column, _)| column.iter().any(|x| *x != 0.0)).collect();
        for trial in 0..TRIALS {
            // A Weyl sequence: evenly distributed, and always the same.
            let at =
                |i: usize| ((trial * N + i) as f64 * 0.618_033_988_749_894_9).fract() * used.len() as f64;
            let Some(mut x) = least_squares((0..N).map(|i| used[at(i) as usize])) else { continue };
            for _ in 0..2 {
                x = least_squares(found.iter().filter(|one| left(&x, one) <= near)).unwrap_or(x);
            }
            let fitting = count(&x);
            // A few more fit by chance.
            if fitting > best.0.max(all + found.len() / 50) {
                best = (fitting, x);
            }
        }
        Some(best.1)
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
            self.agrees(nearest(row, target), target)
        })
    }

    /// Returns the share of differences that `nearest` explains if it is another parameter than `feature` that is counted
    /// once or twice too often.
    pub fn chance_of_others(&self, feature: u16, nearest: impl Fn(&Row, f64) -> f64 + Sync) -> f64 {
        self.share_of(|at, row| {
            let others: Vec<u16> =
                row.row.entries.iter().map(|entry| entry.0).filter(|&id| id != feature).collect();
            let Some(&other) = others.get(at % others.len().max(1)) else { return false };
            let target = self.score_of(row, &[(other, 1.0 + (at % 2) as f64)]).0;
            !self.agrees(target, row.score) && self.agrees(nearest(row, target), target)
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

/// Returns the numbers x with the least Σ (d − Σ x · column)² over pairs of columns and d; `None` if they are not determined.
fn least_squares<'r, const N: usize>(rows: impl Iterator<Item = &'r ([f64; N], f64)>) -> Option<[f64; N]> {
    let mut matrix = [[0.0; N]; N];
    let mut right = [0.0; N];
    for (column, difference) in rows {
        for i in 0..N {
            right[i] += column[i] * difference;
            (0..N).for_each(|j| matrix[i][j] += column[i] * column[j]);
        }
    }
    solve(matrix, right)
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
