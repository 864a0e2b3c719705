//! Distributions of the same numbers before and after tuning.

use gputexel_report::Histogram;

const BINS: usize = 40;
/// Share of the numbers that may be beyond either end: a few extreme ones would squeeze all others into one
/// interval.
const BEYOND: f64 = 0.001;

pub(super) fn of_pairs(values: &[[f64; 2]]) -> Histogram {
    let mut low = f64::INFINITY;
    let mut high = f64::NEG_INFINITY;
    for which in 0..2 {
        let mut own: Vec<f64> = values.iter().map(|pair| pair[which]).filter(|v| v.is_finite()).collect();
        if own.is_empty() {
            continue;
        }
        own.sort_unstable_by(f64::total_cmp);
        let beyond = (own.len() as f64 * BEYOND) as usize;
        low = low.min(own[beyond]);
        high = high.max(own[own.len() - 1 - beyond]);
    }
    if low > high {
        (low, high) = (0.0, 0.0);
    }
    // A single value is in the middle of an interval of this width.
    let least = 1e-9 * low.abs().max(high.abs()).max(1.0);
    if high - low < least {
        (low, high) = (low - 0.5, high + 0.5);
    }
    let width = (high - low) / BINS as f64;
    let edges = (0..=BINS).map(|i| low + width * i as f64).collect();
    let shares = [0, 1].map(|which| {
        let mut counts = vec![0u64; BINS];
        for value in values.iter().map(|pair| pair[which]).filter(|value| value.is_finite()) {
            counts[(((value - low) / width).max(0.0) as usize).min(BINS - 1)] += 1;
        }
        counts.into_iter().map(|count| count as f64 / values.len() as f64).collect()
    });
    let mean = |which: usize| values.iter().map(|pair| pair[which]).sum::<f64>() / values.len() as f64;
    Histogram { edges, shares, count: values.len() as u64, means: [mean(0), mean(1)] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_counts_once_and_extremes_do_not_stretch_the_axis() {
        let mut values: Vec<[f64; 2]> = (0..4000).map(|i| [f64::from(i % 100), 0.0]).collect();
        values[17][0] = 1e9;
        let histogram = of_pairs(&values);
        assert_eq!((histogram.edges.len(), histogram.count), (BINS + 1, 4000));
        assert_eq!((histogram.edges[0], histogram.edges[BINS]), (0.0, 99.0));
        for shares in &histogram.shares {
            assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        }
        assert_eq!(histogram.shares[1][0], 1.0);
        // 0, 1 and 2 are in the first interval, which ends at 2.475.
        assert_eq!(histogram.shares[0][0], 120.0 / 4000.0);
    }

    #[test]
    fn no_numbers_and_equal_ones_have_intervals_too() {
        for values in [vec![], vec![[3.0, 3.0]; 5], vec![[f64::NAN, f64::INFINITY]]] {
            let histogram = of_pairs(&values);
            assert!(histogram.edges.windows(2).all(|pair| pair[0] < pair[1]), "{values:?}");
        }
    }
}
