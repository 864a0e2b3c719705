//! Regularization toward the prior: penalties, the choice of their weights, and their effect.

use maud::{Markup, html};

use super::data::{RunReport, StrengthReport};
use super::heading::record;

pub(super) fn of_run(report: &RunReport) -> Option<Markup> {
    report.strength.as_ref().map(section)
}

fn section(strength: &StrengthReport) -> Markup {
    html! {
        @for note in &strength.notes { p.note { (note) } }
        @if !strength.facts.is_empty() { (record(&strength.facts)) }
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
