//! Regularization toward the prior: penalties, the choice of their weights, and their effect.

use maud::{Markup, html};

use super::boards;
use super::data::{Parameter, RunReport, StrengthReport};
use super::groups::groups;
use super::plot::{Axis, Plot, Series, Style};
use gputexel_io::Result;

/// Maximum distance of the prior's loss from the curve to be drawn, as a share of the curve's height.
const IN_RANGE: f64 = 1.0;

pub(super) fn of_run(report: &RunReport) -> Result<Option<Markup>> {
    report.strength.as_ref().map(|strength| section(strength, &report.parameters)).transpose()
}

fn section(strength: &StrengthReport, parameters: &[Parameter]) -> Result<Markup> {
    let curve = curve(strength).map(|plot| plot.figure("strength-curve")).transpose()?;
    Ok(html! {
        div.figures {
            div {
                @for note in &strength.notes { p.note { (note) } }
                @if !strength.facts.is_empty() {
                    dl.record { @for (name, value) in &strength.facts { dt { (name) } dd { (value) } } }
                }
            }
            @if let Some(curve) = curve { (curve) }
        }
        @if !strength.penalties.is_empty() {
            details.list { summary { "Penalties " span.soft { (strength.penalties.len()) } } (penalties(strength)) }
        }
        (unpenalized(strength, parameters))
    })
}

fn penalties(strength: &StrengthReport) -> Markup {
    let weight = |weight: f64| if weight > 0.0 { format!("{weight:.1e}") } else { "0".to_string() };
    let judged = strength.penalties.iter().any(|row| row.worth.is_some());
    html! {
        div.scroll { table {
            caption { "Penalties" span.soft { "weight: what a difference of 100 centipawns adds to the loss" } }
            thead { tr {
                th scope="col" { "penalty" } th scope="col" { "weight" }
                @if judged { th scope="col" { "without it, the held-out loss rises by" } }
            } }
            tbody { @for row in &strength.penalties { tr {
                th.words scope="row" {
                    (row.name) @if !row.of.is_empty() { ": " (row.of) }
                    span.soft { (row.meaning) }
                }
                td { (weight(row.weight)) }
                @if judged { td { (row.worth.map_or("–".to_string(), |worth| format!("{worth:+.8}"))) } }
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
    let line = |name: &str, points: Vec<(f64, f64)>, style: Style| Series {
        name: name.to_string(),
        points,
        errors: Vec::new(),
        style,
    };
    let mut series = vec![line("held-out loss", points.clone(), Style::Both)];
    if let Some(loss) = prior {
        series.push(line("the prior", points.iter().map(|point| (point.0, loss)).collect(), Style::Line));
    }
    Some(Plot {
        title: "Held-out loss by strength of the prior".to_string(),
        description,
        x: Axis::logarithmic("factor on all weights"),
        y: Axis::linear("held-out loss"),
        series,
        mark: chosen.map(|_| (1.0, "found at factor".to_string())),
        guide: Vec::new(),
    })
}

fn unpenalized(strength: &StrengthReport, parameters: &[Parameter]) -> Markup {
    let both = parameters.iter().zip(&strength.unpenalized);
    let compared: Vec<Parameter> =
        both.map(|(parameter, values)| Parameter { reference: Some(*values), ..parameter.clone() }).collect();
    let boards = match strength.unpenalized.len() == parameters.len() {
        true => boards::side_by_side(&compared, &groups(&compared), ["tuned", "without penalties"]),
        false => html! {},
    };
    html! {
        @if !boards.0.is_empty() {
            details.list {
                summary { "With and without penalties" }
                p.note { "What the positions alone would make of the boards, by a quadratic model of the loss. Both have the colors of the tuned values; what is beyond has the strongest." }
                (boards)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::data::PenaltyRow;
    use super::*;

    const EVIL: &str = "<script>\"'&";

    fn report() -> StrengthReport {
        let row = |name: &str, weight: f64, worth: Option<f64>| PenaltyRow {
            name: name.to_string(),
            meaning: EVIL.to_string(),
            of: EVIL.to_string(),
            weight,
            worth,
        };
        StrengthReport {
            notes: vec![EVIL.to_string()],
            facts: vec![(EVIL.to_string(), EVIL.to_string())],
            penalties: vec![row("smooth", 3.21e-4, Some(1.5e-5)), row("bend", 0.0, None)],
            curve: vec![(0.01, 0.08), (0.1, 0.072), (1.0, 0.07), (10.0, 0.071), (100.0, 0.073)],
            prior_loss: Some(0.074),
            unpenalized: Vec::new(),
        }
    }

    /// 64 knights and two parameters that are not on a board.
    fn knights() -> Vec<Parameter> {
        let knight = |i: usize| Parameter {
            name: format!("{EVIL}_{}{}", (b'a' + (i % 8) as u8) as char, i / 8 + 1),
            group: EVIL.to_string(),
            values: [300.0 + i as f64, 300.0],
            support: Some(10),
            summed: None,
            ..Parameter::default()
        };
        let other = |i: usize| Parameter { name: format!("x{i}"), group: "x".into(), ..Parameter::default() };
        (0..64).map(knight).chain((0..2).map(other)).collect()
    }

    fn page(report: &StrengthReport, parameters: &[Parameter]) -> String {
        section(report, parameters).unwrap().into_string()
    }

    #[test]
    fn weights_and_what_they_are_worth_are_listed_and_escaped() {
        let text = page(&report(), &[]);
        for part in
            ["<td>3.2e-4</td><td>+0.00001500</td>", "<td>0</td><td>–</td>", "What each group is worth"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("<script") && text.matches("&lt;script").count() == 10, "{text}");
        let given = StrengthReport {
            penalties: vec![PenaltyRow { weight: 1e-3, ..PenaltyRow::default() }],
            ..StrengthReport::default()
        };
        let text = page(&given, &[]);
        assert!(text.contains("<td>1.0e-3</td></tr>") && !text.contains("rises by"), "{text}");
        assert!(!text.contains("<svg") && !text.contains("<h3"), "{text}");
    }

    #[test]
    fn the_curve_has_the_prior_where_it_is_in_range() {
        let text = page(&report(), &[]);
        assert!(text.contains("found at factor: 1<") && text.contains("<th scope=\"col\">the prior</th>"));
        assert!(text.contains("the loss is 0.07000000. The prior's is 0.07400000."));
        let far = page(&StrengthReport { prior_loss: Some(0.5), ..report() }, &[]);
        assert!(!far.contains("<th scope=\"col\">the prior</th>") && far.contains("is 0.50000000."));
        let odd = vec![(0.0, 0.07), (1.0, 0.07), (10.0, f64::INFINITY)];
        assert!(!page(&StrengthReport { curve: odd, ..report() }, &[]).contains("role=\"img\""));
    }

    #[test]
    fn boards_without_penalties_have_the_colors_of_the_tuned_ones() {
        let parameters = knights();
        let mut unpenalized: Vec<[f64; 2]> = parameters.iter().map(|p| p.values).collect();
        (unpenalized[0], unpenalized[63], unpenalized[1]) =
            ([-123_456.0, 300.0], [54_321.0, 300.0], [f64::NAN, 300.0]);
        let with = StrengthReport { unpenalized, ..report() };
        let text = page(&with, &parameters);
        assert_eq!(text.matches("<table class=\"board\"").count(), 4, "two phases with and without");
        assert!(
            text.contains("<td class=\"n7\">&lt;-9999</td>")
                && text.contains("<td class=\"p7\">&gt;9999</td>")
        );
        assert!(text.contains("<td class=\"z\">–</td>") && !text.contains("NaN"), "{text}");
        // The mean of the tuned values; of 128 distances from the means of both phases, the 119th.
        let colors = "mean 332; blue: more, orange: less, strongest from 28 on";
        assert_eq!(text.matches(colors).count(), 2, "{text}");
        // A square with equal values has one color.
        let cell = "<td class=\"p2\">340</td>";
        assert_eq!(text.matches(cell).count(), 2, "{text}");
        // Parameters other than those of the report are not shown.
        assert!(!page(&with, &parameters[1..]).contains("class=\"board\""));
    }
}
