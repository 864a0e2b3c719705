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

/// Returns the log-likelihood of `counts`, all positive, where (mean − ½) / deviation is `t`, minus that at their own
/// value; at most 0.
///
/// With a deviation σ, and thus the mean ½ + t σ, and uᵢ = (aᵢ − mean) / σ, the derivative of the constraint by pᵢ is
/// gᵢ = uᵢ − t (uᵢ² − 1) / 2 plus a constant; so at a maximum pᵢ = p̂ᵢ / (1 + x gᵢ), x as in [`profile`], and Σ pᵢ uᵢ²
/// = 1 (after M. Van den Bergh, "Normalized Elo"). fishtest's `LLR_normalized` finds one such σ by fixed-point
/// iteration, with the deviation of the shares it has found. There may be several, since for large t, or if scores
/// never occurred, the feasible distributions lie close to one score each; so all are found, and the greatest
/// likelihood counts.
pub(super) fn normalized_profile<const N: usize>(counts: &[f64; N], t: f64) -> f64 {
    if t == 0.0 {
        return profile(counts, 0.5);
    }
    if t < 0.0 {
        let mut mirrored = *counts;
        mirrored.reverse();
        return normalized_profile(&mirrored, -t);
    }
    let (mut best, mut closest) = (f64::NEG_INFINITY, [f64::INFINITY, f64::NEG_INFINITY]);
    for [low, high] in deviations::<N>(t) {
        // Close to an end all distributions lack a score: a logistic scale resolves that.
        let at = |x: f64| {
            let e = (-x.abs()).exp();
            let inside = (high - low) * e / (1.0 + e);
            stationary(counts, t, if x < 0.0 { low + inside } else { high - inside })
        };
        let mut before = None;
        for step in -GRID..=GRID {
            let x = f64::from(step) * GRID_STEP;
            let here = at(x).map(|[excess, likelihood]| {
                if excess.abs() < closest[0] {
                    closest = [excess.abs(), likelihood];
                }
                (x, excess)
            });
            if let (Some((from, rising)), Some((to, falling))) = (before, here)
                && rising * falling <= 0.0
            {
                best = best.max(at_root(&at, [from, to], rising));
            }
            before = here;
        }
    }
    // With billions of results, a root may be too close to an end to be resolved.
    if best.is_finite() { best } else { closest[1] }
}

/// Number of points on either side of the middle of an interval of deviations, and their distance on its logistic
/// scale.
const GRID: i32 = 60;
const GRID_STEP: f64 = 0.5;

/// The likelihood at the root of the excess, whose sign at the first of two places is that of `first`.
fn at_root(at: &impl Fn(f64) -> Option<[f64; 2]>, [mut low, mut high]: [f64; 2], first: f64) -> f64 {
    let mut likelihood = f64::NEG_INFINITY;
    // Bisection, because excesses differ by powers of ten. At a maximum, half of the digits of the location are enough.
    while high - low > 1e-9 {
        let middle = 0.5 * (low + high);
        let Some([excess, found]) = at(middle) else { break };
        likelihood = found;
        if (excess > 0.0) == (first > 0.0) { low = middle } else { high = middle }
    }
    likelihood
}

/// Returns, for a deviation, by how much Σ pᵢ uᵢ² exceeds 1, and the log-likelihood, as in [`normalized_profile`];
/// `None` if no x satisfies Σ pᵢ gᵢ = 0.
fn stationary<const N: usize>(counts: &[f64; N], t: f64, deviation: f64) -> Option<[f64; 2]> {
    let u: [f64; N] = std::array::from_fn(|i| (i as f64 / (N - 1) as f64 - 0.5) / deviation - t);
    let slopes = u.map(|u| u - 0.5 * t * (u * u - 1.0));
    if slopes.iter().all(|g| *g >= 0.0) || slopes.iter().all(|g| *g <= 0.0) {
        return None;
    }
    let x = multiplier(counts, &slopes);
    let total: f64 = counts.iter().sum();
    let (mut excess, mut likelihood) = (-1.0, 0.0);
    for ((n, u), g) in counts.iter().zip(&u).zip(&slopes) {
        excess += n / total / (1.0 + x * g) * u * u;
        likelihood -= n * (x * g).ln_1p();
    }
    Some([excess, likelihood])
}

/// Returns the open intervals of deviations that are possible for a distribution of scores whose mean is ½ + `t`
/// deviations, t ≥ 0.
///
/// The variance is at most μ (1 − μ), and between two neighboring scores at least (μ − a)(b − μ): two quadratic
/// inequalities of σ.
fn deviations<const N: usize>(t: f64) -> Vec<[f64; 2]> {
    let square = 1.0 + t * t;
    let between = 1.0 / (N - 1) as f64;
    let (mut low, mut intervals) = (0.0, Vec::new());
    for k in 0..(N as u32 - 1) / 2 {
        let k = f64::from(k);
        let root = t * t - 4.0 * k * (k + 1.0);
        if root > 0.0 {
            let end = |sign: f64| between * ((2.0 * k + 1.0) * t + sign * root.sqrt()) / (2.0 * square);
            if k > 0.0 {
                intervals.push([low, end(-1.0)]);
            }
            low = end(1.0);
        }
    }
    intervals.push([low, 0.5 / square.sqrt()]);
    intervals
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns (mean − ½) / deviation.
    fn normalized<const N: usize>(shares: &[f64; N]) -> f64 {
        let score = |i: usize| i as f64 / (N - 1) as f64;
        let mean: f64 = shares.iter().enumerate().map(|(i, p)| p * score(i)).sum();
        let variance: f64 = shares.iter().enumerate().map(|(i, p)| p * (score(i) - mean).powi(2)).sum();
        (mean - 0.5) / variance.sqrt()
    }

    /// Finds the maximum by trial and error: adds to the share of one good score until `t` fits, then makes random
    /// changes that increase the likelihood, from many starting points.
    fn by_trial<const N: usize>(counts: &[f64; N], t: f64) -> f64 {
        let total: f64 = counts.iter().sum();
        let mut state = 7u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5
        };
        let likelihood = |logarithms: &[f64; N], good: usize| {
            let weights = logarithms.map(f64::exp);
            let sum: f64 = weights.iter().sum();
            let with_more = |share: f64| {
                let mut shares = weights.map(|w| w / sum * (1.0 - share));
                shares[good] += share;
                shares
            };
            if normalized(&with_more(0.0)) > t {
                return f64::NEG_INFINITY;
            }
            let (mut low, mut high) = (0.0, 1.0 - 1e-12);
            for _ in 0..60 {
                let middle = 0.5 * (low + high);
                if normalized(&with_more(middle)) > t { high = middle } else { low = middle }
            }
            let shares = with_more(low);
            counts.iter().zip(&shares).map(|(n, p)| n * (p * total / n).ln()).sum::<f64>()
        };
        let mut best = f64::NEG_INFINITY;
        for beginning in 0..16 {
            let good = N - 1 - beginning % (N / 2);
            let mut place: [f64; N] = std::array::from_fn(|i| match beginning % 3 {
                0 => (counts[i] / total).ln(),
                _ if i == beginning % N => 3.0,
                _ => 12.0 * random() - 6.0,
            });
            let (mut value, mut width) = (likelihood(&place, good), 4.0);
            for _ in 0..1200 {
                let next = place.map(|x| x + width * random() * random());
                let reached = likelihood(&next, good);
                if reached >= value {
                    (place, value) = (next, reached);
                    width = f64::min(1.5 * width, 20.0);
                } else {
                    width = f64::max(0.95 * width, 1e-6);
                }
            }
            best = best.max(value);
        }
        best
    }

    #[test]
    fn no_distribution_of_a_normalized_mean_is_more_likely() {
        let pairs: [[f64; 5]; 7] = [
            [5.0, 60.0, 200.0, 75.0, 10.0],
            [0.0, 0.0, 500.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 100.0],
            [9.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 3.0, 90.0, 4.0],
            [30.0, 0.0, 1.0, 0.0, 30.0],
            [8.0, 0.0, 137.0, 0.0, 0.0],
        ];
        // 9.8 is √2 times 2,400 Elo; beyond √8, those close to 3/4 and those close to 1 are separate.
        for t in [0.0, 0.02, -0.3, 0.3, 1.0, 2.9, -4.0, 9.7] {
            for counts in pairs.map(|counts| regularized(&counts)) {
                let (ours, found) = (normalized_profile(&counts, t), by_trial(&counts, t));
                assert!((ours - found).abs() <= 5e-3 * (1.0 + found.abs()), "{t} {counts:?}: {ours} {found}");
                assert!(ours >= found - 1e-6 * (1.0 + found.abs()), "{t} {counts:?}: {ours} {found}");
            }
            for counts in [[30.0, 50.0, 40.0], [0.0, 9.0, 0.0], [7.0, 0.0, 0.0]] {
                let counts = regularized(&counts);
                let (ours, found) = (normalized_profile(&counts, t), by_trial(&counts, t));
                assert!((ours - found).abs() <= 5e-3 * (1.0 + found.abs()), "{t} {counts:?}: {ours} {found}");
            }
        }
    }
}
