//! Importance of each setting of a sweep.

use maud::{Markup, html};

use super::data::{SweepReport, SweepSetting};
use super::table;
use crate::html::Table;

/// Shares of the variance of the loss that means over one axis explain: first-order indices of Sobol (1993).
fn main_effects(sweep: &SweepReport, varied: &[usize], settings: &[&SweepSetting]) -> Option<Vec<f64>> {
    let losses: Vec<f64> = settings.iter().map(|setting| setting.held_out.0).collect();
    let count = losses.len() as f64;
    let mean = losses.iter().sum::<f64>() / count;
    let variance = losses.iter().map(|loss| (loss - mean).powi(2)).sum::<f64>() / count;
    if settings.len() < 3 || variance <= 0.0 || !variance.is_finite() {
        return None;
    }
    let effect = |&axis: &usize| {
        let mut sums = vec![(0.0, 0.0); sweep.axes[axis].labels.len()];
        for setting in settings {
            let sum = &mut sums[setting.indices[axis]];
            *sum = (sum.0 + setting.held_out.0, sum.1 + 1.0);
        }
        let met = sums.iter().filter(|sum| sum.1 > 0.0);
        met.map(|(sum, n)| n * (sum / n - mean).powi(2)).sum::<f64>() / count / variance
    };
    Some(varied.iter().map(effect).collect())
}

/// Importance of each setting; empty if only one is varied or too few settings are known.
pub(super) fn importance(sweep: &SweepReport, varied: &[usize]) -> Markup {
    let all: Vec<&SweepSetting> = sweep.settings.iter().filter(|s| s.held_out.0.is_finite()).collect();
    let Some(of_all) = main_effects(sweep, varied, &all).filter(|_| varied.len() > 1) else {
        return html! {};
    };
    // Settings are sorted, the best first.
    let of_best = main_effects(sweep, varied, &all[..all.len().div_ceil(2)]);
    let percent = |value: f64| format!("{:.0} %", 100.0 * value);
    let mut order: Vec<usize> = (0..varied.len()).collect();
    order.sort_by(|&a, &b| of_all[b].total_cmp(&of_all[a]).then(a.cmp(&b)));
    let rows = order.into_iter().map(|n| {
        let best = of_best.as_ref().map_or("–".to_string(), |shares| percent(shares[n]));
        vec![sweep.axes[varied[n]].name.clone(), percent(of_all[n]), best]
    });
    let found = Table {
        caption:
            "Importance: share of the variance of the held-out loss that each setting explains by itself"
                .to_string(),
        header: ["setting", "over all", "over the better half"].map(str::to_string).to_vec(),
        rows: rows.collect(),
    };
    html! {
        (table(&found))
        p.note { "What is missing to 100 % is due to settings that depend on each other. Where some values ruin the loss, they explain nearly everything; the better half tells what is left to choose." }
    }
}

#[cfg(test)]
mod tests {
    use super::super::data::SweepAxis;
    use super::*;

    fn sweep(loss: impl Fn(usize, usize) -> f64) -> SweepReport {
        let axis = |name: &str| SweepAxis {
            name: name.to_string(),
            labels: ["0", "1", "2"].map(str::to_string).to_vec(),
            numbers: None,
        };
        let mut settings: Vec<SweepSetting> = (0..9)
            .map(|i| SweepSetting {
                indices: vec![i / 3, i % 3],
                held_out: (loss(i / 3, i % 3), 0.0),
                ..SweepSetting::default()
            })
            .collect();
        settings.sort_by(|a, b| a.held_out.0.total_cmp(&b.held_out.0));
        SweepReport { judge: "squared".into(), axes: vec![axis("a"), axis("<b>")], settings }
    }

    #[test]
    fn what_decides_is_found() {
        let only_b = sweep(|_, b| 0.1 + b as f64);
        let all: Vec<&SweepSetting> = only_b.settings.iter().collect();
        let shares = main_effects(&only_b, &[0, 1], &all).unwrap();
        assert!(shares[0] < 1e-12 && (shares[1] - 1.0).abs() < 1e-12, "{shares:?}");
        // Sums of both: variances 2/3 and 4 times that.
        let both = sweep(|a, b| a as f64 + 2.0 * b as f64);
        let all: Vec<&SweepSetting> = both.settings.iter().collect();
        let shares = main_effects(&both, &[0, 1], &all).unwrap();
        assert!((shares[0] - 0.2).abs() < 1e-12 && (shares[1] - 0.8).abs() < 1e-12, "{shares:?}");
        let text = importance(&both, &[0, 1]).into_string();
        assert!(
            text.find("&lt;b&gt;").unwrap() < text.find(">a<").unwrap() && text.contains("80 %"),
            "{text}"
        );
    }
}
