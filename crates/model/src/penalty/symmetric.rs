//! Sparse symmetric matrices.

use super::Term;

/// A symmetric matrix with few entries, all of them stored, row by row.
#[derive(Clone, Debug, PartialEq)]
pub struct SparseSymmetric {
    starts: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
}

impl SparseSymmetric {
    /// Creates the matrix of a sum of weighted squares, times a factor.
    pub fn of_terms(size: usize, terms: &[Term], factor: f64) -> Self {
        let mut entries = Vec::new();
        for term in terms {
            for &(i, a) in &term.factors {
                entries.extend(term.factors.iter().map(|&(j, b)| (i, j, factor * term.weight * a * b)));
            }
        }
        Self::of_entries(size, entries)
    }

    /// Returns Σ factor · matrix.
    pub fn sum<'a>(size: usize, parts: impl IntoIterator<Item = (f64, &'a Self)>) -> Self {
        let mut entries = Vec::new();
        for (factor, part) in parts {
            entries.extend(part.entries().map(|(i, j, value)| (i, j, factor * value)));
        }
        Self::of_entries(size, entries)
    }

    fn of_entries(size: usize, mut entries: Vec<(u32, u32, f64)>) -> Self {
        // Stable, so that values are added in a fixed order.
        entries.sort_by_key(|&(i, j, _)| (i, j));
        let mut starts = vec![0; size + 1];
        let (mut columns, mut values) = (Vec::new(), Vec::new());
        for same in entries.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            let (i, j, _) = same[0];
            starts[i as usize + 1] += 1;
            columns.push(j);
            values.push(same.iter().map(|entry| entry.2).sum());
        }
        for i in 0..size {
            starts[i + 1] += starts[i];
        }
        Self { starts, columns, values }
    }

    /// Returns the number of rows.
    pub fn size(&self) -> usize {
        self.starts.len() - 1
    }

    /// Returns all entries: row, column and value.
    pub fn entries(&self) -> impl Iterator<Item = (u32, u32, f64)> + '_ {
        (0..self.size()).flat_map(move |i| self.row(i).map(move |(j, value)| (i as u32, j, value)))
    }

    /// Returns the entries of a row: column and value.
    pub fn row(&self, i: usize) -> impl Iterator<Item = (u32, f64)> + '_ {
        let range = self.starts[i]..self.starts[i + 1];
        self.columns[range.clone()].iter().copied().zip(self.values[range].iter().copied())
    }

    /// Returns the product with a vector.
    pub fn times(&self, x: &[f64]) -> Vec<f64> {
        (0..self.size()).map(|i| self.row(i).map(|(j, value)| value * x[j as usize]).sum()).collect()
    }

    /// Returns xᵀ M y.
    pub fn form(&self, x: &[f64], y: &[f64]) -> f64 {
        self.entries().map(|(i, j, value)| x[i as usize] * value * y[j as usize]).sum()
    }

    /// Returns an entry.
    pub fn entry(&self, i: usize, j: usize) -> f64 {
        self.row(i).find(|&(column, _)| column as usize == j).map_or(0.0, |(_, value)| value)
    }
}
