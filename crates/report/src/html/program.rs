//! Nonlinear parts of an evaluation: the worth of each, response curves over the distributions of their sums, and
//! the factor by the features of positions.

use maud::{Markup, html};

use super::bars::bar;
use super::data::RunReport;
use super::number::grouped;
use super::plot::{Axis, Plot, Series, Style};
use super::stacked;
use crate::diagnostics::{
    AdjustmentDiagnostics, FactorDiagnostics, FactorGroup, Histogram, ProgramDiagnostics, SumDiagnostics,
    TermDiagnostics, Worth,
};
use gputexel_io::Result;

/// Number of groups of a factor's parameters that are not folded.
const OPEN: usize = 24;

pub(super) fn of_run(report: &RunReport) -> Result<Option<Markup>> {
    report.program.as_ref().map(|program| section(program, &report.reference)).transpose()
}

fn section(program: &ProgramDiagnostics, reference: &str) -> Result<Markup> {
    let responses = responses(program, reference)?;
    let adjustments = program.adjustments.iter().enumerate();
    let adjustments: Vec<Markup> = adjustments
        .map(|(index, adjustment)| adjustment_figure(adjustment, index, reference))
        .collect::<Result<_>>()?;
    let factor = program.factor.as_ref().map(|factor| factor_part(factor, reference)).transpose()?;
    Ok(html! {
        p.note {
            "Of sums that act through a function, an adjustment or a factor. Shares and distributions are of "
            (grouped(program.positions)) " positions, which count alike."
        }
        (worth(&program.worth))
        @if !program.terms.is_empty() {
            h3 { "Terms" }
            (terms(&program.terms))
            details.list { summary { "Responses, and how often sums occur" }
            p.note { "Above, what a term adds in centipawns by the sum that it is computed from; below, how often these sums occur" @if program.sums.iter().any(|sum| sum.sides) { ", those of both sides together" } ". Sums are in units of their own. The first and last interval include what is beyond." }
            div.figures { @for figure in responses { (figure) } }
            }
        }
        @if !adjustments.is_empty() {
            details.list { summary { "Adjustments" } @for adjustment in adjustments { (adjustment) } }
        }
        @if let Some(factor) = factor { details.list { summary { "Factor" } (factor) } }
    })
}

fn worth(worth: &Worth) -> Markup {
    let full = worth.parts.iter().map(|part| part.cost.abs()).fold(0.0, f64::max);
    let below = worth.parts.iter().any(|part| part.cost < 0.0);
    let which =
        if worth.held_out { "held-out positions" } else { "training positions, as none are held out" };
    html! {
        @if !worth.parts.is_empty() {
            div.scroll { table.bars {
                caption {
                    "What each part is worth"
                    span.soft { "By how much the loss rises without it on " (grouped(worth.positions)) " " (which) ". The rest stays as tuned; tuned again, it would win back some of it." }
                }
                thead { tr { th scope="col" { "without" } th scope="col" { "loss" } th scope="col" { "±" } } }
                tbody { @for part in &worth.parts { tr {
                    th scope="row" { (part.name) }
                    td { (format!("{:+.8}", part.cost)) (bar(part.cost, full, below)) }
                    td { (format!("{:.8}", part.error)) }
                } } }
            } }
        }
    }
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
    html! {
        div.scroll { table {
            thead { tr {
                th scope="col" { "term" } th scope="col" { "on in" } th scope="col" { "mean size, centipawns" }
            } }
            tbody { @for term in terms { tr {
                th.words scope="row" {
                    code { (term.formula) }
                    @if term.activity[1].is_dead() { span.soft { "hardly ever on: its parameters cannot be tuned" } }
                }
                td { (change([0, 1].map(|which| term.activity[which].share()), percent)) }
                td { (change(term.mean_size, size)) }
            } } }
        } }
    }
}

fn distribution(histogram: &Histogram, reference: &str, axis: &str, of: &str) -> Plot {
    let middles = || histogram.edges.windows(2).map(|pair| f64::midpoint(pair[0], pair[1]));
    let series = |name: &str, shares: &[f64]| Series {
        name: name.to_string(),
        points: middles().zip(shares.iter().map(|share| 100.0 * share)).collect(),
        errors: Vec::new(),
        style: Style::Line,
    };
    let [before, after] = &histogram.shares;
    Plot {
        title: "Distribution".to_string(),
        description: String::new(),
        x: Axis::linear(axis),
        y: Axis::linear(&format!("% of {of}")),
        series: vec![series(&format!("with {reference}"), before), series("with the result", after)],
        mark: None,
        guide: Vec::new(),
    }
}

fn responses(program: &ProgramDiagnostics, reference: &str) -> Result<Vec<Markup>> {
    let mut figures = Vec::new();
    for (index, sum) in program.sums.iter().enumerate() {
        let terms: Vec<&TermDiagnostics> = program.terms.iter().filter(|term| term.sum == index).collect();
        // As many curves as there are colors; further lines could not be distinguished.
        for (part, terms) in terms.chunks(2).enumerate() {
            let upper = response(sum, terms, reference);
            let lower = distribution(&sum.histogram, reference, &sum.name, "sums");
            figures.push(stacked::figure(&upper, &lower, &format!("response-{index}-{part}"))?);
        }
    }
    Ok(figures)
}

fn response(sum: &SumDiagnostics, terms: &[&TermDiagnostics], reference: &str) -> Plot {
    let line = |name: String, values: &[f64]| Series {
        name,
        points: sum.histogram.edges.iter().copied().zip(values.iter().copied()).collect(),
        errors: Vec::new(),
        style: Style::Line,
    };
    let mut series = Vec::new();
    for term in terms {
        let activity = &term.activity[1];
        let name = format!("{} in {}", activity.operator, activity.target.name());
        let [before, after] = &term.response;
        if before == after {
            series.push(line(name, after));
        } else {
            series.push(line(format!("{name}, the other sum at its mean"), after));
            series.push(line(format!("{name}, with {reference}"), before));
        }
    }
    let whose = if sum.sides { " for its side" } else { "" };
    let on: Vec<String> = terms
        .iter()
        .map(|term| format!("{} is on in {} of positions", term.formula, percent(term.activity[1].share())))
        .collect();
    Plot {
        title: format!("Response to {}", sum.name),
        description: format!(
            "Centipawns by the sum {}, and the distribution of the sum below. {} of positions have it. {}.",
            sum.name,
            percent(sum.present),
            on.join("; ")
        ),
        x: Axis::linear(&sum.name),
        y: Axis::linear(&format!("centipawns{whose}")),
        series,
        mark: None,
        guide: Vec::new(),
    }
}

fn adjustment_figure(adjustment: &AdjustmentDiagnostics, index: usize, reference: &str) -> Result<Markup> {
    let histogram = &adjustment.histogram;
    let plot = Plot {
        title: "Amount of the adjustment".to_string(),
        description: format!(
            "{}. {} of positions have it; with the result it makes the value 0 in {} of these.",
            adjustment.formula,
            percent(adjustment.present),
            percent(adjustment.cut[1])
        ),
        ..distribution(histogram, reference, "change of the size of the value, centipawns", "positions")
    };
    let figure = plot.figure_from(&format!("adjustment-{index}"), stacked::LOWER_COLOR)?;
    Ok(html! {
        p { code { (adjustment.formula) } }
        div.figures {
            div { dl.record {
                dt { "positions that have it" } dd { (percent(adjustment.present)) }
                dt { "value made 0" } dd { (change(adjustment.cut, percent)) }
                dt { "mean, centipawns" } dd { (change(histogram.means, size)) }
            } }
            (figure)
        }
    })
}

fn factor_part(factor: &FactorDiagnostics, reference: &str) -> Result<Markup> {
    let histogram = &factor.histogram;
    let share = |value: f64| if value.is_finite() { format!("{value:.3}") } else { "–".to_string() };
    let plot = Plot {
        title: "Distribution of the factor".to_string(),
        description: format!(
            "{}. {} of positions have it, with the result a mean of {}.",
            factor.formula,
            percent(factor.present),
            share(histogram.means[1])
        ),
        ..distribution(histogram, reference, "factor; 1 leaves the value as it is", "positions")
    };
    let figure = plot.figure_from("factor", stacked::LOWER_COLOR)?;
    let prefix = common_prefix(&factor.parameters);
    let rows = |groups: &[FactorGroup], first: &str| {
        let full = groups.iter().flat_map(|group| group.means).fold(1.0, f64::max);
        html! {
            div.scroll { table.bars {
                thead { tr { th scope="col" { (first) } th scope="col" { "positions" } th scope="col" { "mean factor" } } }
                tbody { @for group in groups { tr {
                    th scope="row" { (group.names.iter().map(|name| &name[prefix..]).collect::<Vec<_>>().join(", ")) @if group.names.is_empty() { "none" } }
                    td { (grouped(group.positions)) }
                    td { (change(group.means, share)) (bar(group.means[1], full, false)) }
                } } }
            } }
        }
    };
    let (listed, all) = (factor.combinations.len(), factor.combination_count);
    let prefix_name = factor.parameters.first().map_or("", |group| &group.names[0][..prefix]);
    Ok(html! {
        p { code { (factor.formula) } }
        div.figures {
            div { dl.record {
                dt { "positions that have it" } dd { (percent(factor.present)) }
                dt { "mean" } dd { (change(histogram.means, share)) }
                dt { "at its smallest value" } dd { (change(factor.at_min, percent)) }
                dt { "at its largest value" } dd { (change(factor.at_max, percent)) }
            } }
            (figure)
        }
        @if factor.is_often_at_max() { p.note { "Where the factor is at its largest value, positions say nothing of its parameters." } }
        @if prefix > 0 { p.note { "Below, names are without “" (prefix_name) "”; factors are those of " (reference) " → the result, and bars those of the result." } }
        details.list open {
            summary { "By what positions have together" span.soft { " " @if listed < all { "the " (listed) " most frequent of " (grouped(all as u64)) } @else { (listed) } " combinations" } }
            (rows(&factor.combinations, "parameters"))
        }
        details.list open[factor.parameters.len() <= OPEN] {
            summary { "By parameter" span.soft { " " (factor.parameters.len()) " parameters" } }
            (rows(&factor.parameters, "parameter"))
        }
    })
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
    use crate::diagnostics::PartWorth;
    use gputexel_model::program::{Phase, TermActivity};

    const EVIL: &str = "<script>\"'&";

    fn histogram() -> Histogram {
        let edges = (0..5).map(f64::from).collect();
        Histogram { edges, shares: [vec![0.25; 4], vec![0.5, 0.5, 0.0, 0.0]], count: 8, means: [2.0, 1.0] }
    }

    fn group(names: &[&str]) -> FactorGroup {
        let names = names.iter().map(|name| (*name).to_string()).collect();
        FactorGroup { names, positions: 1234, means: [1.0, 0.5] }
    }

    fn program() -> ProgramDiagnostics {
        let activity = |active: u64| TermActivity {
            accumulator: EVIL.to_string(),
            operator: "relu",
            target: Phase::Mg,
            can_be_off: true,
            active,
            positions: 1000,
        };
        let response = vec![0.0, 1.0, 2.0, 3.0, 4.0];
        ProgramDiagnostics {
            positions: 1000,
            sums: vec![SumDiagnostics {
                name: EVIL.to_string(),
                sides: true,
                present: 1.0,
                histogram: histogram(),
            }],
            terms: vec![TermDiagnostics {
                formula: EVIL.to_string(),
                sum: 0,
                activity: [activity(500), activity(5)],
                response: [response.clone(), response],
                mean_size: [1.0, f64::NAN],
            }],
            adjustments: vec![AdjustmentDiagnostics {
                formula: EVIL.to_string(),
                present: 1.0,
                cut: [0.0, 0.0004],
                histogram: histogram(),
            }],
            factor: Some(FactorDiagnostics {
                formula: EVIL.to_string(),
                present: 1.0,
                at_min: [0.0; 2],
                at_max: [0.0, 0.75],
                histogram: histogram(),
                combinations: vec![group(&["sf_<b>", "sf_c"]), group(&[])],
                combination_count: 30,
                parameters: vec![group(&["sf_<b>"]), group(&["sf_c"])],
            }),
            worth: Worth {
                held_out: false,
                positions: 1000,
                loss: 0.07,
                parts: vec![PartWorth { name: EVIL.to_string(), parts: 1, cost: 1e-4, error: 2e-5 }],
            },
        }
    }

    #[test]
    fn everything_is_told_and_escaped() {
        let text = section(&program(), "the prior").unwrap().into_string();
        assert!(!text.contains("<script") && !text.contains("<b>"), "{text}");
        for part in [
            "+0.00010000",
            "training positions, as none are held out",
            "50.0 % → 0.5 %",
            "hardly ever on",
            "0.0 % → under 0.1 %",
            "2 most frequent of 30",
            "&lt;b&gt;, c",
            "names are without “sf_”",
            "1.000 → 0.500",
            "is at its largest value, positions say nothing",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("NaN"), "{text}");
        assert_eq!(text.matches("role=\"img\"").count(), 3);
    }

    #[test]
    fn a_program_without_a_kind_of_part_has_no_heading_for_it() {
        let empty = ProgramDiagnostics {
            sums: Vec::new(),
            terms: Vec::new(),
            adjustments: Vec::new(),
            factor: None,
            ..program()
        };
        let text = section(&empty, "the prior").unwrap().into_string();
        assert!(!text.contains("<h3") && !text.contains("<svg"), "{text}");
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
