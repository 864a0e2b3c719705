//! A sweep as a whole: every setting as a line across what was varied, and how much each of it matters.

use maud::{Markup, html};

use super::super::number_text::fixed;
use super::super::span::Span;
use super::data::{SweepReport, SweepSetting};
use super::table;
use crate::Table;

/// Most settings that are drawn, the best ones.
const LINES: usize = 300;
/// Pixels from axis to axis, and the height of the axes.
const STEP: f64 = 150.0;
const HEIGHT: f64 = 230.0;
/// Least room for texts to the left, and pixels of a character.
const LEFT: f64 = 60.0;
const CHARACTER: f64 = 7.0;
const TOP: f64 = 34.0;
/// Most texts beside an axis.
const TEXTS: usize = 9;

/// A place between 0, the bottom, and 1.
fn share(index: usize, count: usize) -> f64 {
    if count > 1 { index as f64 / (count - 1) as f64 } else { 0.5 }
}

/// Every setting as a line from the values of what was `varied` to its held-out loss; empty where one thing was varied.
pub(super) fn figure(sweep: &SweepReport, varied: &[usize]) -> Markup {
    let mut settings: Vec<&SweepSetting> =
        sweep.settings.iter().filter(|setting| setting.held_out.0.is_finite()).take(LINES).collect();
    let (Some(best), true) = (settings.first().copied(), varied.len() > 1) else { return html! {} };
    let losses: Vec<f64> = settings.iter().map(|setting| setting.held_out.0).collect();
    let low = best.held_out.0;
    // Twice the median: outliers do not take the room from the rest.
    let mut sorted = losses.clone();
    sorted.sort_by(f64::total_cmp);
    let worst = sorted[sorted.len() - 1];
    let high = (low + 2.0 * (sorted[sorted.len() / 2] - low)).min(worst).max(low + 1e-12);
    let longest = sweep.axes[varied[0]].labels.iter().map(|label| label.chars().count()).max();
    let left = LEFT.max(12.0 + CHARACTER * longest.unwrap_or(0) as f64);
    let x = |n: usize| left + STEP * n as f64;
    let y = |share: f64| TOP + HEIGHT * (1.0 - share);
    let span = Span::between(low, high);
    let up = |loss: f64| span.share(loss).clamp(0.0, 1.0);
    // The best one is seen above the others.
    settings.reverse();
    let count = settings.len();
    let line = |setting: &SweepSetting| {
        let mut points: Vec<String> = Vec::new();
        for (n, &axis) in varied.iter().enumerate() {
            let place = share(setting.indices[axis], sweep.axes[axis].labels.len());
            points.push(format!("{:.1},{:.1}", x(n), y(place)));
        }
        points.push(format!("{:.1},{:.1}", x(varied.len()), y(up(setting.held_out.0))));
        points.join(" ")
    };
    let words = |setting: &SweepSetting| {
        let mut parts: Vec<String> = Vec::new();
        for &axis in varied {
            let label = sweep.axes[axis].labels.get(setting.indices[axis]).map_or("", String::as_str);
            parts.push(format!("{} {label}", sweep.axes[axis].name));
        }
        format!("{}: {:.8}", parts.join(", "), setting.held_out.0)
    };
    let class = |setting: &SweepSetting, n: usize| match (n + 1 == count, setting.tied) {
        (true, _) => Some("best"),
        (false, true) => Some("tied"),
        (false, false) => None,
    };
    let width = left + STEP * varied.len() as f64 + 140.0;
    let height = TOP + HEIGHT + 14.0;
    let clipped = if worst > high { " or more" } else { "" };
    html! {
        h3 { "Parallel coordinates" }
        p.note { "Each line is a setting, from its values to its held-out loss at the right, which is lowest at the bottom. Thick: the best; dashed: statistically tied with it." }
        div.scroll { svg.parallel role="img" viewBox={ "0 0 " (format!("{width:.0} {height:.0}")) } width=(format!("{width:.0}")) aria-labelledby="parallel-t" {
            title id="parallel-t" { "Settings as lines from their values to their held-out loss; the ranking has the numbers" }
            @for (n, setting) in settings.iter().enumerate() {
                polyline class=[class(setting, n)] points=(line(setting)) { title { (words(setting)) } }
            }
            @for (n, &axis) in varied.iter().enumerate() {
                @let labels = &sweep.axes[axis].labels;
                @let stride = labels.len().div_ceil(TEXTS).max(1);
                line x1=(x(n)) x2=(x(n)) y1=(y(0.0)) y2=(y(1.0)) {}
                text x=(x(n)) y="16" text-anchor="middle" font-weight="600" { (sweep.axes[axis].name) }
                @for (i, label) in labels.iter().enumerate().filter(|(i, _)| i % stride == 0 || i + 1 == labels.len()) {
                    text x=(x(n) - 6.0) y=(format!("{:.1}", y(share(i, labels.len())) + 4.0)) text-anchor="end" { (label) }
                }
            }
            @let right = x(varied.len());
            line x1=(right) x2=(right) y1=(y(0.0)) y2=(y(1.0)) {}
            text x=(right) y="16" text-anchor="middle" font-weight="600" { "held-out loss" }
            text x=(right + 6.0) y=(y(0.0)) { (fixed(low, 6)) }
            text x=(right + 6.0) y=(y(1.0) + 4.0) { (fixed(high, 6)) (clipped) }
        } }
    }
}

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

/// How much each setting matters; empty where one thing was varied, or too few settings are known.
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

    #[test]
    fn lines_end_at_their_losses() {
        let text = figure(&sweep(|a, b| (3 * a + b) as f64), &[0, 1]).into_string();
        assert_eq!(text.matches("<polyline").count(), 9);
        // The best one comes last, from the bottom to the bottom.
        let best = text.split("class=\"best\" points=\"").nth(1).unwrap();
        assert!(best.starts_with("60.0,264.0 210.0,264.0 360.0,264.0"), "{best}");
        assert!(text.contains("a 0, &lt;b&gt; 0: 0.00000000") && !text.contains("<b>"), "{text}");
        assert!(figure(&sweep(|_, _| f64::NAN), &[0, 1]).into_string().is_empty());
        assert!(figure(&sweep(|_, _| 0.1), &[0]).into_string().is_empty());
    }
}
