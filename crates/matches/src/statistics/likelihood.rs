//! The likelihood of counts of results as a function of the mean score alone.
//!
//! Owns the maximum likelihood under a given mean; Elo intervals and SPRT are built on it.

/// 97.5 % of a standard normal distribution lie below.
pub(super) const UPPER_QUANTILE: f64 = 1.959_963_984_540_054;

/// What a score that never occurred counts, as in fishtest: without it, a mean that needs such a
/// score would have likelihood 0.
const UNSEEN: f64 = 1e-3;

/// The counts, those of 0 replaced by a small one.
pub(super) fn regularized<const N: usize>(counts: &[f64; N]) -> [f64; N] {
    counts.map(|n| if n == 0.0 { UNSEEN } else { n })
}

/// Log-likelihood of `counts` where the mean score is `score`, less that at their own mean; at most 0.
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

/// The root t of Σ nᵢ dᵢ / (1 + t dᵢ): Newton's method kept inside a shrinking bracket.
///
/// The sum falls from +∞ to −∞ between the poles of the greatest and the least distance, so there
/// is one root. It may lie close to a pole (scores never seen), where Newton leaves the bracket:
/// then the bracket is halved.
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

/// The shares, of all with (mean − ½) / deviation = `t`, of which `counts`, all positive, are most likely.
///
/// With μ and σ of the shares, the constraint is Σ pᵢ gᵢ = 0 for gᵢ = aᵢ − ½ − t σ (1 + ((μ − aᵢ) / σ)²) / 2, and its slope in pᵢ is gᵢ plus
/// a constant; so at the maximum pᵢ = p̂ᵢ / (1 + x gᵢ), x as in [`profile`]. Shares and gᵢ are found in turn, from equal shares on (after M.
/// Van den Bergh, "Normalized Elo"; fishtest does the same).
pub(super) fn with_normalized_mean<const N: usize>(counts: &[f64; N], t: f64) -> [f64; N] {
    let total: f64 = counts.iter().sum();
    let mut shares = [1.0 / N as f64; N];
    for _ in 0..200 {
        let score = |i: usize| i as f64 / (N - 1) as f64;
        let mean: f64 = shares.iter().enumerate().map(|(i, p)| p * score(i)).sum();
        let variance: f64 = shares.iter().enumerate().map(|(i, p)| p * (score(i) - mean).powi(2)).sum();
        let deviation = variance.sqrt();
        let mut distances = [0.0; N];
        for (i, distance) in distances.iter_mut().enumerate() {
            let far = (mean - score(i)) / deviation;
            *distance = score(i) - 0.5 - 0.5 * t * deviation * (1.0 + far * far);
        }
        // Where hardly anything but one score occurs, there may be no root: the shares before are as good as any.
        if distances.iter().all(|d| *d >= 0.0) || distances.iter().all(|d| *d <= 0.0) {
            return shares;
        }
        let x = multiplier(counts, &distances);
        let before = shares;
        for ((share, n), d) in shares.iter_mut().zip(counts).zip(&distances) {
            *share = n / total / (1.0 + x * d);
        }
        let moved = before.iter().zip(&shares).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        if moved < 1e-14 {
            break;
        }
    }
    shares
}

/// The scores at which twice the log-likelihood falls short of its maximum by the 95 % quantile of
/// χ² with one degree of freedom: a confidence interval that stays inside (0, 1).
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
