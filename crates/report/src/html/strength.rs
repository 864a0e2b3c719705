//! Regularization toward the prior: penalties, the choice of their weights, and their effect.

use maud::{Markup, html};

use super::data::{RunReport, StrengthReport};
use super::heading::record;
use super::plot::{Axis, Plot, Series, Style};

/// Maximum distance of the prior's loss from the curve to be drawn, as a share of the curve's height.
const IN_RANGE: f64 = 1.0;

pub(super) fn of_run(report: &RunReport) -> Option<Markup> {
    report.strength.as_ref().map(section)
}

fn section(strength: &StrengthReport) -> Markup {
    let curve = curve(strength).map(|plot| plot.figure("strength-curve"));
    html! {
        div.figures {
            div {
                @for note in &strength.notes { p.note { (note) } }
                @if !strength.facts.is_empty() { (record(&strength.facts)) }
            }
            @if let Some(curve) = curve { (curve) }
        }
        @if !strength.penalties.is_empty() {
            details.list { summary { "Penalties " span.soft { (strength.penalties.len()) } } (penalties(strength)) }
        }
    }
}

fn penalties(strength: &StrengthReport) -> Markup {
    let weight = |weight: f64| if weight > 0.0 { format!("{weight:.1e}") } else { "0".to_string() };
    html! {
        div.scroll { table {
            caption { "Penalties" span.soft { "weight: what a difference of 100 centipawns adds to the loss" } }
            thead { tr { th scope="col" { "penalty" } th scope="col" { "weight" } } }
            tbody { @for row in &strength.penalties { tr {
                th.words scope="row" {
                    (row.name) @if !row.of.is_empty() { ": " (row.of) }
                    span.soft { (row.meaning) }
                }
                td { (weight(row.weight)) }
            } } }
        } }
    }
}

/// `None` without at least two points.
fn curve(strength: &StrengthReport) -> Option<Plot> {
    let points: Vec<(f64, f64)> =
        strength.curve.iter().copied().filter(|(x, y)| *x > 0.0 && x.is_finite() && y.is_finite()).collect();
    if points.len() < 2 {
        return None;
    }
    let (low, high) =
        points.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), p| (l.min(p.1), h.max(p.1)));
    let margin = IN_RANGE * (high - low);
    let prior = strength.prior_loss.filter(|loss| (low - margin..=high + margin).contains(loss));
    let chosen = points.iter().find(|point| point.0 == 1.0).map(|point| point.1);
    let mut description =
        "Weights are multiplied by the factor; to the left, the prior counts less.".to_string();
    if let Some(loss) = chosen {
        description += &format!(" With the weights that were found, the loss is {loss:.8}.");
    }
    if let Some(loss) = strength.prior_loss {
        description += &format!(" The prior's is {loss:.8}.");
    }
    let mut series = vec![Series { style: Style::Both, ..Series::line("held-out loss", points.clone()) }];
    if let Some(loss) = prior {
        series.push(Series::line("the prior", points.iter().map(|point| (point.0, loss)).collect()));
    }
    Some(Plot {
        title: "Held-out loss by strength of the prior".to_string(),
        description,
        x: Axis::logarithmic("factor on all weights"),
        y: Axis::linear("held-out loss"),
        series,
        mark: chosen.map(|_| (1.0, "found at factor".to_string())),
        ..Plot::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(curve: &[(f64, f64)], prior: f64) -> String {
        let report = StrengthReport { curve: curve.to_vec(), prior_loss: Some(prior), ..Default::default() };
        section(&report).into_string()
    }

    #[test]
    fn the_curve_has_the_prior_where_it_is_in_range() {
        let curve = [(0.01, 0.08), (0.1, 0.072), (1.0, 0.07), (10.0, 0.071), (100.0, 0.073)];
        let text = page(&curve, 0.074);
        assert!(text.contains("found at factor: 1<") && text.contains("<th scope=\"row\">the prior</th>"));
        assert!(text.contains("the loss is 0.07000000. The prior's is 0.07400000."));
        let far = page(&curve, 0.5);
        assert!(!far.contains("<th scope=\"row\">the prior</th>") && far.contains("is 0.50000000."));
        let odd = page(&[(0.0, 0.07), (1.0, 0.07), (10.0, f64::INFINITY)], 0.074);
        assert!(!odd.contains("role=\"img\""));
    }
}
