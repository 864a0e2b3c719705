//! Weights that give all phases of the game equal importance.

/// Equal intervals of the phase, and the total weight in each.
#[derive(Debug)]
pub struct PhaseWeights {
    max_phase: u16,
    sums: Vec<f64>,
    rows: u64,
}

impl PhaseWeights {
    /// Divides 0 to `max_phase` units into `intervals` parts.
    pub fn new(intervals: u32, max_phase: u16) -> Self {
        Self { max_phase, sums: vec![0.0; intervals as usize], rows: 0 }
    }

    fn interval(&self, phase: u16) -> usize {
        let count = self.sums.len();
        usize::from(phase.min(self.max_phase)) * count / (usize::from(self.max_phase) + 1)
    }

    pub fn count(&mut self, phase: u16, weight: f32) {
        let interval = self.interval(phase);
        self.sums[interval] += f64::from(weight);
        self.rows += 1;
    }

    /// Returns the factor on a row's weight: all intervals that have rows get the same sum, and the mean
    /// weight is 1.
    pub fn factor(&self, phase: u16) -> f32 {
        let filled = self.sums.iter().filter(|sum| **sum > 0.0).count() as f64;
        (self.rows as f64 / (filled * self.sums[self.interval(phase)])) as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_weigh_alike_and_one_in_the_mean() {
        let rows: Vec<(u16, f32)> =
            (0..1000).map(|i| ((i * i % 25) as u16, 1.0 + (i % 3) as f32)).filter(|row| row.0 < 19).collect();
        for intervals in [2, 4, 8, 25] {
            let mut weights = PhaseWeights::new(intervals, 24);
            rows.iter().for_each(|row| weights.count(row.0, row.1));
            let mut sums = vec![0.0; intervals as usize];
            for row in &rows {
                sums[usize::from(row.0) * intervals as usize / 25] +=
                    f64::from(row.1 * weights.factor(row.0));
            }
            let filled: Vec<f64> = sums.into_iter().filter(|sum| *sum > 0.0).collect();
            for sum in &filled {
                assert!(
                    (sum - rows.len() as f64 / filled.len() as f64).abs() < 1e-3,
                    "{intervals}: {filled:?}"
                );
            }
        }
    }
}
