//! The minimum of a convex quadratic in a box: the damped Gauss–Newton step for bounded parameters.

use super::linalg::Cholesky;

/// Minimizes ½ δᵀ A δ + gᵀ δ over low ≤ δ ≤ high, starting from δ = 0, which lies in the box. `None` if A is not
/// positive definite on the free coordinates.
pub(super) fn minimize(
    matrix: &(dyn Fn(usize, usize) -> f64 + Sync),
    gradient: &[f64],
    low: &[f64],
    high: &[f64],
) -> Option<Vec<f64>> {
    let n = gradient.len();
    let mut step = vec![0.0; n];
    let mut fixed: Vec<bool> = (0..n)
        .map(|i| (gradient[i] > 0.0 && low[i] >= 0.0) || (gradient[i] < 0.0 && high[i] <= 0.0))
        .collect();
    let slope = |step: &[f64], i: usize| gradient[i] + (0..n).map(|j| matrix(i, j) * step[j]).sum::<f64>();
    // Each round either fixes a coordinate or lowers the value with a different active set. Rounding errors
    // may make active sets cycle; the point reached by then is still a descent.
    for _ in 0..4 * n + 16 {
        let free: Vec<usize> = (0..n).filter(|&i| !fixed[i]).collect();
        let mut target = step.clone();
        if !free.is_empty() {
            let factor = Cholesky::new(free.len(), |i, j| matrix(free[i], free[j]))?;
            let mut change: Vec<f64> = free.iter().map(|&i| -slope(&step, i)).collect();
            factor.solve(&mut change);
            for (i, &at) in free.iter().enumerate() {
                target[at] += change[i];
            }
        }
        if target.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let share = |i: usize| {
            let bound = if target[i] > step[i] { high[i] } else { low[i] };
            match (low[i]..=high[i]).contains(&target[i]) {
                true => 1.0,
                false => ((bound - step[i]) / (target[i] - step[i])).clamp(0.0, 1.0),
            }
        };
        let shares: Vec<f64> = (0..n).map(share).collect();
        let most = free.iter().map(|&i| shares[i]).fold(1.0, f64::min);
        for &i in &free {
            let blocks = shares[i] <= most && most < 1.0;
            let bound = if target[i] > step[i] { high[i] } else { low[i] };
            step[i] = match blocks {
                true => bound,
                false => (step[i] + most * (target[i] - step[i])).clamp(low[i], high[i]),
            };
            fixed[i] = blocks;
        }
        if most < 1.0 {
            continue;
        }
        // At the minimum over the free coordinates: release fixed ones that would move inward.
        let mut released = false;
        for i in 0..n {
            let inward = fixed[i]
                && match slope(&step, i) {
                    slope if step[i] <= low[i] && step[i] >= high[i] => slope.is_nan(),
                    slope if step[i] <= low[i] => slope < 0.0,
                    slope => slope > 0.0,
                };
            if inward {
                fixed[i] = false;
                released = true;
            }
        }
        if !released {
            break;
        }
    }
    Some(step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_minimum_obeys_the_conditions_of_karush_kuhn_and_tucker() {
        // A = M Mᵀ + I of a small hashed M.
        let n = 9;
        let number =
            |i: usize| f64::from((i as u32).wrapping_mul(2_654_435_761) >> 8) / f64::from(1 << 24) - 0.5;
        for case in 0..50 {
            let m = |i: usize, j: usize| number(case * 1000 + i * n + j);
            let a = |i: usize, j: usize| {
                (0..n).map(|k| m(i, k) * m(j, k)).sum::<f64>() + f64::from(u8::from(i == j)) * 0.1
            };
            let g: Vec<f64> = (0..n).map(|i| number(case * 1000 + 500 + i)).collect();
            let low: Vec<f64> = (0..n).map(|i| -0.4 * (number(case * 1000 + 700 + i) + 0.5)).collect();
            let high: Vec<f64> = (0..n).map(|i| 0.4 * (number(case * 1000 + 800 + i) + 0.5)).collect();
            let x = minimize(&a, &g, &low, &high).unwrap();
            let mut at_bounds = 0;
            for i in 0..n {
                let slope = g[i] + (0..n).map(|j| a(i, j) * x[j]).sum::<f64>();
                assert!((low[i]..=high[i]).contains(&x[i]));
                if x[i] == low[i] {
                    at_bounds += 1;
                    assert!(slope > -1e-9, "{case} {i}: {slope}");
                } else if x[i] == high[i] {
                    at_bounds += 1;
                    assert!(slope < 1e-9, "{case} {i}: {slope}");
                } else {
                    assert!(slope.abs() < 1e-9, "{case} {i}: {slope}");
                }
            }
            assert!(at_bounds > 0, "the cases are meant to have active bounds");
        }
        let free =
            minimize(&|i, j| [2.0, 0.5, 0.5, 1.0][2 * i + j], &[1.0, -1.0], &[-9.0; 2], &[9.0; 2]).unwrap();
        assert!((2.0 * free[0] + 0.5 * free[1] + 1.0).abs() < 1e-12);
        assert!(minimize(&|i, j| f64::from(u8::from(i != j)), &[1.0, -1.0], &[-9.0; 2], &[9.0; 2]).is_none());
    }
}
