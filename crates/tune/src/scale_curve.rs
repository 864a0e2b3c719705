//! The loss as a function of the scale constant K.

use super::scale::{ScaleFit, brent, counted_pairs, loss_at_scale};
use gputexel_dataset::objective::{LossKind, Objective};
use gputexel_dataset::{Dataset, Layout};
use gputexel_eval::exact::exact_scores;
use gputexel_eval::{Evaluator, Population, Request};
use gputexel_io::{Error, Result};

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MinimumAt {
    Inside,
    /// At the smallest K: the loss may be lower still below it.
    LowerEnd,
    /// At the largest K: the loss may be lower still above it.
    UpperEnd,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ScaleCurve {
    /// K (base-10 form, ascending) and mean loss as the evaluator computes it.
    pub points: Vec<(f64, f64)>,
    pub minimum: ScaleFit,
    pub at: MinimumAt,
}

/// Computes mean losses of θ over all positions of `layout`, which was created from `dataset`, for every K of `ks` in
/// one call; the lowest is refined by Brent's method on exact losses.
pub fn scale_curve(
    evaluator: &mut dyn Evaluator,
    layout: &Layout,
    dataset: &Dataset,
    theta: &[f64],
    ks: &[f64],
    loss: LossKind,
) -> Result<ScaleCurve> {
    if let Some(k) = ks.iter().find(|k| !(k.is_finite() && **k > 0.0)) {
        return Err(Error::Usage(format!("K {k}: must be a positive number")));
    }
    let mut ks = ks.to_vec();
    ks.sort_by(f64::total_cmp);
    ks.dedup();
    let population = Population::new(layout.features(), theta.to_vec(), ks.clone());
    let request = Request { parts: 0..layout.parts().len(), loss, gradients: false, curvature: false };
    let losses = evaluator.evaluate(&population, &request)?.losses;
    let lowest = (0..ks.len()).min_by(|&a, &b| losses[a].total_cmp(&losses[b]));
    let Some(lowest) = lowest else { return Err(Error::Usage("there is no K to evaluate".to_string())) };
    if !losses[lowest].is_finite() {
        return Err(Error::Numeric("the loss is not a finite number for any K".to_string()));
    }
    let which: Vec<u32> = (0..dataset.len() as u32).collect();
    let scores = exact_scores(dataset, theta, &which);
    let pairs = counted_pairs(dataset, &scores, &which);
    let mut evaluations = 0;
    let value = |ln_k: f64| {
        evaluations += 1;
        loss_at_scale(dataset, (&scores, &which), pairs.as_deref(), Objective { k: ln_k.exp(), loss })
    };
    let (ln_k, minimum, at) = refine(&ks, lowest, value);
    let minimum = ScaleFit { k: ln_k.exp(), loss: minimum, evaluations };
    Ok(ScaleCurve { points: ks.into_iter().zip(losses).collect(), minimum, at })
}

fn refine(ks: &[f64], mut lowest: usize, mut value: impl FnMut(f64) -> f64) -> (f64, f64, MinimumAt) {
    let last = ks.len() - 1;
    // Neighbors on the curve may differ by less than its rounding error: walk downhill on exact losses, with
    // ever longer strides, until both neighbors are higher.
    let mut best = value(ks[lowest].ln());
    let mut stride = 1;
    let (left, right) = loop {
        let (left, right) = (lowest.saturating_sub(stride), (lowest + stride).min(last));
        let lower = [left, right].into_iter().filter(|&i| i != lowest).map(|i| (value(ks[i].ln()), i));
        match lower.min_by(|a, b| a.0.total_cmp(&b.0)) {
            Some((loss, i)) if loss < best => (best, lowest) = (loss, i),
            _ => break (left, right),
        }
        stride *= 2;
    };
    if left == right {
        return (ks[lowest].ln(), best, MinimumAt::LowerEnd);
    }
    let (a, b) = (ks[left].ln(), ks[right].ln());
    let middle = match lowest {
        i if i == left => a + 0.381_966 * (b - a),
        i if i == right => b - 0.381_966 * (b - a),
        i => ks[i].ln(),
    };
    let ln_k = brent(&mut value, a, middle, b);
    let refined = value(ln_k);
    match lowest {
        0 if best <= refined => (a, best, MinimumAt::LowerEnd),
        i if i == last && best <= refined => (b, best, MinimumAt::UpperEnd),
        _ => (ln_k, refined, MinimumAt::Inside),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minima_are_found_from_any_start() {
        let ks: Vec<f64> = (0..100).map(|i| 0.5 + 0.02 * f64::from(i)).collect();
        for start in [0, 3, 37, 98, 99] {
            let (ln_k, loss, at) = refine(&ks, start, |x| (x - 1.3f64.ln()).powi(2) + 0.5);
            assert!((ln_k.exp() - 1.3).abs() < 1e-7 && loss < 0.5 + 1e-12, "{start}: {}", ln_k.exp());
            assert_eq!(at, MinimumAt::Inside);
        }
    }

    #[test]
    fn ends_are_noticed() {
        let ks = [0.5, 1.0, 2.0, 4.0];
        let (ln_k, _, at) = refine(&ks, 1, |x| x);
        assert!((ln_k - 0.5f64.ln()).abs() < 1e-12 && at == MinimumAt::LowerEnd);
        let (ln_k, _, at) = refine(&ks, 1, |x| -x);
        assert!((ln_k - 4.0f64.ln()).abs() < 1e-12 && at == MinimumAt::UpperEnd);
        // Between the first two points counts as inside.
        let (ln_k, _, at) = refine(&ks, 0, |x| (x - 0.6f64.ln()).abs());
        assert!((ln_k.exp() - 0.6).abs() < 1e-6 && at == MinimumAt::Inside);
        assert_eq!(refine(&[2.0], 0, |x| x).0, 2.0f64.ln());
    }
}
