//! The likelihood of counts of results as a function of the mean score alone.

/// 97.5 % quantile of the standard normal distribution.
pub(super) const UPPER_QUANTILE: f64 = 1.959_963_984_540_054;

/// Count assigned to scores that never occurred, as in fishtest: without it, a mean that needs such a score would have
/// likelihood 0.
const UNSEEN: f64 = 1e-3;

pub(super) fn regularized<const N: usize>(counts: &[f64; N]) -> [f64; N] {
    counts.map(|n| if n == 0.0 { UNSEEN } else { n })
}

/// Returns the log-likelihood of `counts` where the mean score is `score`, minus that at their own mean; at most 0.
///
/// `counts[i]`, all positive, counts the score aᵢ = i / (N − 1); `score` lies in (0, 1). Among the
/// distributions with that mean, the likelihood is greatest at pᵢ = p̂ᵢ / (1 + t (aᵢ − score)), p̂
/// being the observed shares and t the root of Σ p̂ᵢ (aᵢ − score) / (1 + t (aᵢ − score)) (M. Van den
/// Bergh, "A practical introduction to the GSPRT: support for multinomial distributions",
/// proposition 1.1, as used by fishtest), so the value is −Σ countsᵢ ln(1 + t (aᵢ − score)).
pub(super) fn profile<const N: usize>(counts: &[f64; N], score: f64) -> f64 {
    let mut distances = [0.0; N];
    for (i, distance) in distances.iter_mut().enumerate() {
        *distance = i as f64 / (N - 1) as f64 - score;
    }
    let t = multiplier(counts, &distances);
    -counts.iter().zip(&distances).map(|(n, d)| n * (t * d).ln_1p()).sum::<f64>()
}

/// Finds the root t of Σ nᵢ dᵢ / (1 + t dᵢ): Newton's method kept inside a shrinking bracket.
///
/// The sum falls from +∞ to −∞ between the poles of the greatest and the least distance, so there is one root. It may
/// lie close to a pole (scores never seen), where Newton's method leaves the bracket; then the bracket is halved.
fn multiplier<const N: usize>(counts: &[f64; N], distances: &[f64; N]) -> f64 {
    let (least, greatest) = distances.iter().fold((0f64, 0f64), |(l, g), d| (l.min(*d), g.max(*d)));
    let (mut low, mut high) = (-1.0 / greatest, -1.0 / least);
    let precision = 1e-15 * (high - low);
    let mut t = 0.0;
    // Halving alone reaches the precision of f64 in some 60 rounds.
    for _ in 0..200 {
        let (mut sum, mut slope) = (0.0, 0.0);
        for (n, d) in counts.iter().zip(distances) {
            let term = d / (1.0 + t * d);
            sum += n * term;
            slope -= n * term * term;
        }
        if sum > 0.0 {
            low = t;
        } else {
            high = t;
        }
        let newton = t - sum / slope;
        let next = if newton > low && newton < high { newton } else { 0.5 * (low + high) };
        if (next - t).abs() <= precision {
            return next;
        }
        t = next;
    }
    t
}

/// Returns the scores at which twice the log-likelihood falls short of its maximum by the 95 % quantile of χ² with one
/// degree of freedom: a confidence interval that stays inside (0, 1).
pub(super) fn interval<const N: usize>(counts: &[f64; N]) -> [f64; 2] {
    const LEAST: f64 = 1e-6;
    let total: f64 = counts.iter().sum();
    let mean = counts.iter().enumerate().map(|(i, n)| n * i as f64).sum::<f64>() / (total * (N - 1) as f64);
    let threshold = -0.5 * UPPER_QUANTILE * UPPER_QUANTILE;
    let end = |limit: f64| {
        let (mut inside, mut outside) = (mean, limit);
        if profile(counts, limit) > threshold {
            return limit;
        }
        for _ in 0..60 {
            let middle = 0.5 * (inside + outside);
            if profile(counts, middle) > threshold {
                inside = middle;
            } else {
                outside = middle;
            }
        }
        inside
    };
    [end(LEAST.min(mean)), end((1.0 - LEAST).max(mean))]
}
