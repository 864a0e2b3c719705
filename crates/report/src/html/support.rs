//! Parameters by the number of positions that have them. Rare ones are unreliable.

use maud::{Markup, html};

use super::data::{Parameter, RunReport};
use super::number::{centipawns, grouped};
use super::plot::{Axis, Plot, Series, Style};
use gputexel_io::{Result, median};
use gputexel_model::ValueChange;

const POINTS: usize = 800;
const NAMES: usize = 300;

/// Lowest and highest support of the rows: 0, then by decades.
fn decades(most: u64) -> Vec<(u64, u64)> {
    let mut rows = vec![(0, 0)];
    let mut low = 1;
    while low <= most {
        let Some(next) = low.checked_mul(10) else {
            rows.push((low, u64::MAX));
            break;
        };
        rows.push((low, next - 1));
        low = next;
    }
    rows
}

/// Text of a feature that never occurs, with its new values if they changed anyway.
fn moved(parameter: &Parameter) -> String {
    let Parameter { name, values, reference, .. } = parameter;
    let change = ValueChange { name: name.clone(), from: reference.unwrap_or(*values), to: *values };
    if change.is_change() { change.to_string() } else { change.name }
}

pub(super) fn of_run(report: &RunReport) -> Result<Option<Markup>> {
    let RunReport { parameters, rare, reference, .. } = report;
    let is_known = parameters.iter().any(|parameter| parameter.support.is_some());
    is_known.then(|| section(parameters, *rare, reference)).transpose()
}

/// Errors against support, or changes if there are no errors, and the rare features by name.
fn section(parameters: &[Parameter], rare: u64, reference: &str) -> Result<Markup> {
    let known: Vec<(&Parameter, u64)> =
        parameters.iter().filter_map(|parameter| parameter.support.map(|n| (parameter, n))).collect();
    let most = known.iter().map(|(_, n)| *n).max().unwrap_or(0);
    let changes = |p: &Parameter| -> Vec<f64> {
        p.reference.map_or(Vec::new(), |r| (0..2).map(|phase| (p.values[phase] - r[phase]).abs()).collect())
    };
    let errors = |p: &Parameter| -> Vec<f64> { p.errors.iter().flatten().copied().collect() };
    let has_errors = known.iter().any(|(p, _)| !errors(p).is_empty());
    let rows: Vec<(String, usize, Option<f64>, Option<f64>)> = decades(most)
        .into_iter()
        .map(|(low, high)| {
            let inside: Vec<&Parameter> =
                known.iter().filter(|(_, n)| (low..=high).contains(n)).map(|(p, _)| *p).collect();
            let name =
                if high == 0 { "none".to_string() } else { format!("{} to {}", grouped(low), grouped(high)) };
            let of = |f: &dyn Fn(&Parameter) -> Vec<f64>| {
                median(&mut inside.iter().flat_map(|p| f(p)).collect::<Vec<f64>>())
            };
            (name, inside.len(), of(&changes), of(&errors))
        })
        .collect();
    let fullest = rows.iter().map(|row| row.1).max().unwrap_or(1).max(1);
    let stride = (2 * known.len()).div_ceil(POINTS).max(1);
    let of = |p: &Parameter| if has_errors { errors(p) } else { changes(p) };
    let mut points: Vec<(f64, f64)> = known
        .iter()
        .filter(|(_, n)| *n > 0)
        .flat_map(|(p, n)| of(p).into_iter().map(|y| (*n as f64, y)))
        .filter(|point| point.1 > 0.0)
        .step_by(stride)
        .collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let what = if has_errors { "Standard error".to_string() } else { format!("Change against {reference}") };
    let plot = Plot {
        title: format!("{what} by support"),
        description: format!(
            "{what} of each parameter against the number of positions that have its feature."
        ),
        x: Axis::logarithmic("positions"),
        y: Axis::logarithmic(if known.iter().any(|(p, _)| p.summed.is_some()) {
            "centipawns, or units of sums"
        } else {
            "centipawns"
        }),
        series: vec![Series {
            name: "parameters".to_string(),
            points,
            errors: Vec::new(),
            style: Style::Points,
        }],
        mark: Some((rare as f64, "rare below".to_string())),
        guide: Vec::new(),
    };
    let named = |wanted: &dyn Fn(u64) -> bool| -> Vec<(&Parameter, u64)> {
        let mut list: Vec<(&Parameter, u64)> = known.iter().copied().filter(|(_, n)| wanted(*n)).collect();
        list.sort_by_key(|(_, n)| *n);
        list
    };
    let (unsupported, few) = (named(&|n| n == 0), named(&|n| n > 0 && n < rare));
    Ok(html! {
        div.figures {
        @if !plot.series[0].points.is_empty() { (plot.figure("support")?) }
        div.scroll { table.bars {
            caption { "Features by the number of positions that have them" }
            thead { tr { th scope="col" { "positions" } th scope="col" { "features" }
                th scope="col" { "median change" }
                @if has_errors { th scope="col" { "median error" } } } }
            tbody { @for (name, count, change, error) in &rows { tr {
                th scope="row" { (name) }
                td { (count) span.bar aria-hidden="true" { span.up style={ "left:0;width:" (format!("{:.1}", 100.0 * *count as f64 / fullest as f64)) "%" } {} } }
                td { (change.map_or("–".to_string(), centipawns)) }
                @if has_errors { td { (error.map_or("–".to_string(), |e| format!("{e:.1}"))) } }
            } } }
        } }
        }
        @if !few.is_empty() {
            details.list {
                summary { "Rare: fewer than " (rare) " positions " span.soft { (few.len()) } }
                div.scroll { table {
                    caption { "Rare features; few positions constrain their values" }
                    thead { tr { th scope="col" { "name" } th scope="col" { "positions" } th scope="col" { "middlegame" } th scope="col" { "endgame" } } }
                    tbody { @for (p, n) in few.iter().take(NAMES) { tr {
                        th scope="row" { (p.name) } td { (n) }
                        @for phase in 0..2 { td { (centipawns(p.values[phase])) @if let Some(error) = p.errors[phase] { span.soft { " ±" (format!("{error:.1}")) } } } }
                    } } }
                } }
                @if few.len() > NAMES { p.note { "and " (few.len() - NAMES) " more" } }
            }
        }
        @if !unsupported.is_empty() {
            details.list {
                summary { "Never occur " span.soft { (unsupported.len()) } }
                p.names { @for (i, (p, _)) in unsupported.iter().take(NAMES).enumerate() { @if i > 0 { ", " } (moved(p)) }
                    @if unsupported.len() > NAMES { " and " (unsupported.len() - NAMES) " more" } }
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decades_meet_without_gaps() {
        assert_eq!(decades(0), [(0, 0)]);
        assert_eq!(decades(100), [(0, 0), (1, 9), (10, 99), (100, 999)]);
        let all = decades(u64::MAX);
        assert_eq!(all.last(), Some(&(10_000_000_000_000_000_000, u64::MAX)));
        assert!(all.windows(2).all(|pair| pair[0].1 + 1 == pair[1].0));
    }

    #[test]
    fn the_rare_are_named() {
        let parameter = |name: &str, support: u64| Parameter {
            name: name.to_string(),
            support: Some(support),
            values: [5.0, -7.5],
            reference: Some([0.0, 0.0]),
            ..Parameter::default()
        };
        let all = [parameter("often", 5000), parameter("a<b", 7), parameter("never", 0)];
        let text = section(&all, 100, "the prior").unwrap().into_string();
        assert!(
            text.contains("a&lt;b") && !text.contains("<th scope=\"row\">never<") && text.contains("never"),
            "{text}"
        );
        let rare = &text[text.find("Rare:").unwrap()..];
        assert!(rare.contains("a&lt;b") && !rare.contains("often"));
    }
}
