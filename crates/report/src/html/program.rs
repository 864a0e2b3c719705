//! Nonlinear parts of an evaluation: the worth of each, how often terms and adjustments act, and the factor by the
//! features of positions.

use maud::{Markup, html};

use super::bars::bar;
use super::data::RunReport;
use super::number::grouped;
use super::rows;
use crate::diagnostics::{
    AdjustmentDiagnostics, FactorDiagnostics, FactorGroup, PartWorth, ProgramDiagnostics, TermDiagnostics,
    Worth,
};

/// Number of groups of a factor's parameters that are not folded.
const OPEN: usize = 24;

pub(super) fn of_run(report: &RunReport) -> Option<Markup> {
    report.program.as_ref().map(|program| section(program, &report.reference))
}

fn section(program: &ProgramDiagnostics, reference: &str) -> Markup {
    html! {
        p.note {
            "Of sums that act through a function, an adjustment or a factor. Shares and means are of "
            (grouped(program.positions)) " positions, which count alike; “→” leads from " (reference) " to the result."
        }
        (worth(&program.worth))
        @if !program.terms.is_empty() { (terms(&program.terms)) }
        @if !program.adjustments.is_empty() { (adjustments(&program.adjustments)) }
        @if let Some(factor) = &program.factor { details.list { summary { "Factor" } (factor_part(factor)) } }
    }
}

fn worth(worth: &Worth) -> Markup {
    if worth.parts.is_empty() {
        return html! {};
    }
    let full = worth.parts.iter().map(|part| part.cost.abs()).fold(0.0, f64::max);
    let below = worth.parts.iter().any(|part| part.cost < 0.0);
    let which =
        if worth.held_out { "held-out positions" } else { "training positions, as none are held out" };
    let caption = html! {
        "What each part is worth"
        span.soft { "By how much the loss rises without it on " (grouped(worth.positions)) " " (which) ". The rest stays as tuned; tuned again, it would win back some of it." }
    };
    let row = |part: &PartWorth| {
        let cost = html! { (format!("{:+.8}", part.cost)) (bar(part.cost, full, below)) };
        vec![html! { (part.name) }, cost, html! { (format!("{:.8}", part.error)) }]
    };
    rows("bars", &caption, &["without", "loss", "±"], worth.parts.iter().map(row))
}

fn percent(share: f64) -> String {
    match share {
        share if !share.is_finite() => "–".to_string(),
        share if share > 0.0 && share < 0.001 => "under 0.1 %".to_string(),
        share => format!("{:.1} %", 100.0 * share),
    }
}

fn change(pair: [f64; 2], text: impl Fn(f64) -> String) -> Markup {
    let [before, after] = pair.map(text);
    html! { (before) @if before != after { " → " (after) } }
}

fn size(value: f64) -> String {
    if value.is_finite() { format!("{value:.1}") } else { "–".to_string() }
}

fn terms(terms: &[TermDiagnostics]) -> Markup {
    let row = |term: &TermDiagnostics| {
        let name = html! { span.words {
            code { (term.formula) }
            @if term.activity[1].is_dead() { span.soft { "hardly ever on: its parameters cannot be tuned" } }
        } };
        let on = change([0, 1].map(|which| term.activity[which].share()), percent);
        vec![name, on, change(term.mean_size, size)]
    };
    rows("", &html! { "Terms" }, &["term", "on in", "mean size, centipawns"], terms.iter().map(row))
}

fn adjustments(adjustments: &[AdjustmentDiagnostics]) -> Markup {
    let row = |adjustment: &AdjustmentDiagnostics| {
        let means = change(adjustment.histogram.means, size);
        let present = html! { (percent(adjustment.present)) };
        vec![html! { code { (adjustment.formula) } }, present, change(adjustment.cut, percent), means]
    };
    let header = ["adjustment", "positions", "made 0", "mean, centipawns"];
    rows("", &html! { "Adjustments" }, &header, adjustments.iter().map(row))
}

fn factor_part(factor: &FactorDiagnostics) -> Markup {
    let histogram = &factor.histogram;
    let share = |value: f64| if value.is_finite() { format!("{value:.3}") } else { "–".to_string() };
    let prefix = common_prefix(&factor.parameters);
    let list = |groups: &[FactorGroup], first: &str| {
        let full = groups.iter().flat_map(|group| group.means).fold(1.0, f64::max);
        let row = |group: &FactorGroup| {
            let names: Vec<&str> = group.names.iter().map(|name| &name[prefix..]).collect();
            let names = if names.is_empty() { "none".to_string() } else { names.join(", ") };
            let mean = html! { (change(group.means, share)) (bar(group.means[1], full, false)) };
            vec![html! { (names) }, html! { (grouped(group.positions)) }, mean]
        };
        rows("bars", &html! {}, &[first, "positions", "mean factor"], groups.iter().map(row))
    };
    let (listed, all) = (factor.combinations.len(), factor.combination_count);
    let prefix_name = factor.parameters.first().map_or("", |group| &group.names[0][..prefix]);
    html! {
        p { code { (factor.formula) } }
        dl.record {
                dt { "positions that have it" } dd { (percent(factor.present)) }
                dt { "mean" } dd { (change(histogram.means, share)) }
                dt { "at its smallest value" } dd { (change(factor.at_min, percent)) }
                dt { "at its largest value" } dd { (change(factor.at_max, percent)) }
        }
        @if let Some((limit, _)) = factor.often_at_limit() { p.note { "Where the factor is at its " (limit) " value, positions say nothing of its parameters." } }
        @if prefix > 0 { p.note { "Below, names are without “" (prefix_name) "”; bars are those of the result." } }
        details.list open {
            summary { "By what positions have together" span.soft { " " @if listed < all { "the " (listed) " most frequent of " (grouped(all as u64)) } @else { (listed) } " combinations" } }
            (list(&factor.combinations, "parameters"))
        }
        details.list open[factor.parameters.len() <= OPEN] {
            summary { "By parameter" span.soft { " " (factor.parameters.len()) " parameters" } }
            (list(&factor.parameters, "parameter"))
        }
    }
}

/// Length in bytes of the common prefix of all names, up to and including a separator such as an underscore.
fn common_prefix(groups: &[FactorGroup]) -> usize {
    let names: Vec<&str> = groups.iter().flat_map(|group| &group.names).map(String::as_str).collect();
    let (Some(first), true) = (names.first(), names.len() > 1) else { return 0 };
    let ends = first.char_indices().filter(|(_, c)| ['_', '.', '-'].contains(c)).map(|(at, _)| at + 1);
    let mut shared =
        ends.filter(|&end| names.iter().all(|name| name.len() > end && name.starts_with(&first[..end])));
    shared.next_back().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(names: &[&str]) -> FactorGroup {
        let names = names.iter().map(|name| (*name).to_string()).collect();
        FactorGroup { names, positions: 1234, means: [1.0, 0.5] }
    }

    #[test]
    fn names_are_shortened_by_whole_words_only() {
        let groups = |names: &[&str]| names.iter().map(|name| group(&[name])).collect::<Vec<_>>();
        assert_eq!(common_prefix(&groups(&["factor_pawns_1", "factor_pawns_2", "factor_ahead"])), 7);
        assert_eq!(common_prefix(&groups(&["factor_1", "fact_1"])), 0);
        assert_eq!(common_prefix(&groups(&["factor_1"])), 0);
        assert_eq!(common_prefix(&groups(&["a_", "a_b"])), 0);
    }
}
