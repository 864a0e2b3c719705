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
        // The terms that have a row, with its factors, in their order, in which values are added.
        let mut ends = vec![0; size + 1];
        let all =
            || terms.iter().flat_map(|term| term.factors.iter().map(move |&(i, a)| (term, i as usize, a)));
        all().for_each(|(_, i, _)| ends[i + 1] += 1);
        (0..size).for_each(|i| ends[i + 1] += ends[i]);
        let mut of_rows: Vec<(&[(u32, f64)], f64)> = vec![(&[], 0.0); ends[size]];
        for (term, i, a) in all() {
            of_rows[ends[i]] = (&term.factors, factor * term.weight * a);
            ends[i] += 1;
        }
        let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        // The sum of each column of a row, and the last row that has it.
        let mut sums = vec![(0.0, usize::MAX); size];
        let mut start = 0;
        for (i, &end) in ends[..size].iter().enumerate() {
            for &(factors, a) in &of_rows[start..end] {
                for &(j, b) in factors {
                    let (sum, row) = &mut sums[j as usize];
                    if *row == i {
                        *sum += a * b;
                    } else {
                        (*sum, *row) = (a * b, i);
                        columns.push(j);
                    }
                }
            }
            start = end;
            let row = &mut columns[values.len()..];
            row.sort_unstable();
            values.extend(row.iter().map(|&j| sums[j as usize].0));
            starts.push(values.len());
        }
        Self { starts, columns, values }
    }

    pub fn size(&self) -> usize {
        self.starts.len() - 1
    }

    pub fn entries(&self) -> impl Iterator<Item = (u32, u32, f64)> + '_ {
        (0..self.size()).flat_map(|i| self.row(i).map(move |(&j, &value)| (i as u32, j, value)))
    }

    pub fn row(&self, i: usize) -> impl Iterator<Item = (&u32, &f64)> {
        let range = self.starts[i]..self.starts[i + 1];
        self.columns[range.clone()].iter().zip(&self.values[range])
    }

    pub fn times(&self, x: &[f64]) -> Vec<f64> {
        (0..self.size()).map(|i| self.row(i).map(|(&j, value)| value * x[j as usize]).sum()).collect()
    }

    pub fn form(&self, x: &[f64], y: &[f64]) -> f64 {
        self.entries().map(|(i, j, value)| x[i as usize] * value * y[j as usize]).sum()
    }

    pub fn entry(&self, i: usize, j: usize) -> f64 {
        self.row(i).find(|(column, _)| **column as usize == j).map_or(0.0, |(_, value)| *value)
    }
}
