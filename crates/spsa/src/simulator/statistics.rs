//! Mean, spread and percentiles of what repeats gained.

use serde::Serialize;

/// What many runs gained, Elo.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Summary {
    pub repeats: usize,
    pub mean: f64,
    /// Their standard deviation (n − 1); 0 for a single run.
    pub sd: f64,
    pub standard_error: f64,
    /// The value that 5 % of the runs stay below.
    pub p5: f64,
    pub p25: f64,
    pub median: f64,
    pub p75: f64,
    /// The value that 95 % of the runs stay below.
    pub p95: f64,
}

impl Summary {
    pub fn new(values: &[f64]) -> Self {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let count = sorted.len() as f64;
        let mean = sorted.iter().sum::<f64>() / count;
        let squares: f64 = sorted.iter().map(|value| (value - mean).powi(2)).sum();
        let sd = (squares / (count - 1.0).max(1.0)).sqrt();
        let at = |share| percentile(&sorted, share);
        Self {
            repeats: values.len(),
            mean,
            sd,
            standard_error: sd / count.sqrt(),
            p5: at(0.05),
            p25: at(0.25),
            median: at(0.5),
            p75: at(0.75),
            p95: at(0.95),
        }
    }
}

/// The value that `share` of some ascending numbers stay below, between two of them by linear interpolation;
pub fn percentile(sorted: &[f64], share: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let place = share.clamp(0.0, 1.0) * last as f64;
    let below = place.floor() as usize;
    let above = (below + 1).min(last);
    sorted[below] + (sorted[above] - sorted[below]) * (place - below as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_summed_up() {
        let summary = Summary::new(&[4.0, 1.0, 3.0, 2.0, 5.0]);
        assert_eq!((summary.mean, summary.median, summary.p25, summary.p75), (3.0, 3.0, 2.0, 4.0));
        assert!((summary.sd - 2.5f64.sqrt()).abs() < 1e-12 && (summary.p5 - 1.2).abs() < 1e-12);
        assert!((summary.standard_error - 0.5f64.sqrt()).abs() < 1e-12);
        assert_eq!(Summary::new(&[7.0]).sd, 0.0);
        assert!(percentile(&[], 0.5).is_nan());
    }
}
