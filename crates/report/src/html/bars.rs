//! Lists with bars: parameters without a square, material, and coordinates of a basis.

use std::collections::HashSet;

use maud::{Markup, html};

use super::boards::Boards;
use super::data::{CoordinateValue, Parameter, RunReport};
use super::groups::{Group, Shape, groups, untapered};
use super::number::{centipawns, grouped, signed, whole};
use super::table;
use gputexel_model::SINGLE_VALUES;

const ROWS: usize = 3000;
/// Lists are open, from the first one on, that fit into so many rows.
const OPEN: usize = 40;

/// Bar from zero, on a scale from `-full` to `full`, or from 0 if no value is below.
pub(super) fn bar(value: f64, full: f64, below: bool) -> Markup {
    let share = if full > 0.0 { (value / full).clamp(-1.0, 1.0) } else { 0.0 };
    let (zero, scale) = if below { (50.0, 50.0) } else { (0.0, 100.0) };
    let (left, width) =
        if share < 0.0 { (zero + share * scale, -share * scale) } else { (zero, share * scale) };
    let kind = if share < 0.0 { "down" } else { "up" };
    html! { span.bar aria-hidden="true" { span class=(kind) style={ "left:" (format!("{left:.1}")) "%;width:" (format!("{width:.1}")) "%" } {} } }
}

fn scale(values: impl Iterator<Item = f64>) -> (f64, bool) {
    values
        .filter(|value| value.is_finite())
        .fold((0.0, false), |(full, below), value| (f64::max(full, value.abs()), below || value < 0.0))
}

fn plus_minus(error: Option<f64>) -> Markup {
    html! { @if let Some(error) = error { span.soft { " ±" (format!("{error:.1}")) } } }
}

/// The lists of parameters, those that changed most first, with their changes as bars, or their values if they are not
/// compared with others.
pub(super) fn lists(parameters: &[Parameter], groups: &[Group<'_>], reference: &str) -> Markup {
    let mut listed: Vec<(&str, Vec<usize>)> = groups
        .iter()
        .filter_map(|group| match &group.shape {
            Shape::List(ids) => Some((group.name, ids.clone())),
            Shape::Board(_) => None,
        })
        .collect();
    let distance = |id: &usize| {
        let changes = changes(&parameters[*id]);
        changes.into_iter().fold(0.0, |most, change| f64::max(most, change.abs()))
    };
    let largest = |ids: &[usize]| ids.iter().map(distance).fold(0.0, f64::max);
    let all: Vec<usize> = listed.iter().flat_map(|(_, ids)| ids).copied().collect();
    if all.len() > ROWS {
        let mut distances: Vec<f64> = all.iter().map(distance).collect();
        distances.sort_unstable_by(|a, b| b.total_cmp(a));
        listed.iter_mut().for_each(|(_, ids)| ids.retain(|id| distance(id) > distances[ROWS]));
    }
    listed.retain(|(_, ids)| !ids.is_empty());
    listed.sort_by(|a, b| largest(&b.1).total_cmp(&largest(&a.1)));
    let compared = parameters.iter().any(|own| own.reference.is_some());
    // Sums have units of their own.
    let is_summed = |id: usize| parameters[id].summed.is_some();
    let common = largest(&all.iter().copied().filter(|&id| !is_summed(id)).collect::<Vec<_>>());
    let mut rows = 0;
    html! {
        @if all.len() > ROWS { p.note { "Of " (grouped(all.len() as u64)) " parameters, the " (grouped(ROWS as u64)) @if compared { " that changed most" } @else { " largest" } " are listed; params.json has all of them." } }
        @if compared && !listed.is_empty() { p.note { "From " (reference) " to the result, in centipawns unless said otherwise; bars are changes." } }
        @for (group, ids) in &listed {
            @let single = untapered(parameters, ids.iter().copied());
            @let phases: Vec<usize> = (0..if single { 1 } else { 2 }).filter(|&phase| single || !ids.iter().all(|&id| parameters[id].is_unread(phase))).collect();
            @let values = scale(ids.iter().flat_map(|&id| parameters[id].values));
            @let (full, below) = if !compared { values } else { (if is_summed(ids[0]) { largest(ids) } else { common }, true) };
            @let is_open = { let fits = rows + ids.len() <= OPEN; rows += if fits { ids.len() } else { 0 }; fits };
            details.list open[is_open] {
                summary { (breakable(if *group == SINGLE_VALUES { "Single values" } else { group })) span.soft {
                    " " (ids.len()) @if ids.len() == 1 { " parameter" } @else { " parameters" }
                    @if let Some((name, change)) = farthest(parameters, ids).filter(|_| compared) { ", most changed: " (name) " " (signed(change)) }
                } }
                div.scroll { table.bars {
                    @if is_summed(ids[0]) { caption { (parameters[ids[0]].unit()) } }
                    thead { tr {
                        th scope="col" { "name" }
                        @if single { th scope="col" { "value" } } @else { @for &phase in &phases { th scope="col" { (["middlegame", "endgame"][phase]) } } }
                        @if parameters[ids[0]].support.is_some() { th scope="col" { "positions" } }
                    } }
                    tbody { @for &id in ids {
                        @let own @ Parameter { name, values, reference, errors, support, .. } = &parameters[id];
                        tr class=[(*support == Some(0)).then_some("u")] {
                            th scope="row" { (breakable(within(name, group))) }
                            @for &phase in &phases { td {
                                @if let Some(before) = reference { span.soft { (whole(before[phase])) " → " } }
                                (centipawns(values[phase])) (plus_minus(errors[phase]))
                                (bar(changes(own)[phase], full, below))
                            } }
                            @if let Some(support) = support { td { (grouped(*support)) } }
                        }
                    } }
                } }
            }
        }
    }
}

/// The changes of both values, from 0 without a reference.
fn changes(own: &Parameter) -> [f64; 2] {
    let before = own.reference.unwrap_or_default();
    [0, 1].map(|phase| own.values[phase] - before[phase])
}

/// A name without that of its group in front.
fn within<'a>(name: &'a str, group: &str) -> &'a str {
    let rest = name.strip_prefix(group).map(|rest| rest.trim_start_matches('_'));
    rest.filter(|rest| !rest.is_empty()).unwrap_or(name)
}

/// A name that is broken, if at all, between its words.
pub(super) fn breakable(name: &str) -> Markup {
    html! { @for (i, word) in name.split_inclusive('_').enumerate() { @if i > 0 { wbr; } (word) } }
}

fn farthest(parameters: &[Parameter], ids: &[usize]) -> Option<(String, f64)> {
    let of = |&id: &usize| {
        let changes = changes(&parameters[id]).into_iter();
        changes.zip([" (middlegame)", " (endgame)"]).map(move |(change, phase)| (id, phase, change))
    };
    let all = ids.iter().flat_map(of).filter(|found| found.2.is_finite() && found.2 != 0.0);
    let (id, phase, change) = all.max_by(|a, b| a.2.abs().total_cmp(&b.2.abs()))?;
    let phase = if untapered(parameters, std::iter::once(id)) { "" } else { phase };
    Some((format!("{}{phase}", parameters[id].name), change))
}

/// The coordinates of a basis, unless they are the parameters themselves.
pub(super) fn coordinates_of_run(report: &RunReport) -> Option<Markup> {
    let names: HashSet<&str> = report.parameters.iter().map(|own| &*own.name).collect();
    let plain = |own: &CoordinateValue| {
        let name = own.name.strip_suffix(".mg").or(own.name.strip_suffix(".eg")).unwrap_or(&own.name);
        own.min.is_none() && own.max.is_none() && names.contains(name)
    };
    (!report.coordinates.iter().all(plain)).then(|| coordinates(&report.coordinates))
}

/// Lists of a run beyond the boards of pieces, and further boards.
pub(super) fn changes_of_run(report: &RunReport) -> Option<Markup> {
    let RunReport { parameters, reference, .. } = report;
    let groups = groups(parameters);
    let (folded, lists) = (Boards::new(parameters, &groups).folded(), lists(parameters, &groups, reference));
    let is_empty = folded.0.is_empty() && lists.0.is_empty() && report.correlations.is_none();
    (!is_empty).then(|| {
        html! {
            (lists) (folded)
            @if let Some(pairs) = &report.correlations {
                details.list {
                    summary { "Pairs that the data hardly tell apart " span.soft { (pairs.rows.len()) } }
                    (table(pairs))
                }
            }
        }
    })
}

fn coordinates(coordinates: &[CoordinateValue]) -> Markup {
    let shown = &coordinates[..coordinates.len().min(ROWS)];
    let (full, below) = scale(shown.iter().map(|c| c.value));
    let bound = |bound: Option<f64>| bound.map_or("–".to_string(), centipawns);
    html! {
        details.list open[shown.len() <= 24] {
            summary { "Coordinates " span.soft { (grouped(coordinates.len() as u64)) @if shown.len() < coordinates.len() { ", the first " (grouped(shown.len() as u64)) " are shown" } } }
            div.scroll { table.bars {
                caption { "The tuned coordinates; they determine the parameters" }
                thead { tr { th scope="col" { "name" } th scope="col" { "value" } th scope="col" { "min" } th scope="col" { "max" } } }
                tbody { @for CoordinateValue { name, value, min, max, error } in shown {
                    @let held = *min == Some(*value) || *max == Some(*value);
                    tr {
                        th scope="row" { (name) }
                        td { (centipawns(*value)) (plus_minus(*error)) @if held { " " span.tag { "at bound" } } (bar(*value, full, below)) }
                        td { (bound(*min)) } td { (bound(*max)) }
                    }
                } }
            } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameter(name: &str, group: &str, mg: f64, support: u64) -> Parameter {
        Parameter {
            name: name.to_string(),
            group: group.to_string(),
            values: [mg, mg / 2.0],
            reference: Some([10.0, 10.0]),
            errors: [Some(1.25), None],
            support: Some(support),
            summed: None,
            square: None,
        }
    }

    #[test]
    fn parameters_of_accumulators_have_units_of_their_own_and_the_values_that_are_used() {
        let summed = |used: [bool; 2], values: [f64; 2]| Parameter {
            name: "base".into(),
            group: "scaling".into(),
            values,
            reference: Some([0.0; 2]),
            summed: Some(used),
            ..Parameter::default()
        };
        let of = |all: &[Parameter]| lists(all, &groups(all), "the prior").into_string();
        let text = of(&[summed([false, true], [0.0, 96.0])]);
        assert!(text.contains("scaling") && text.contains("<caption>in units of their sum"), "{text}");
        assert!(text.contains(">endgame<") && !text.contains(">middlegame<"), "{text}");
        let text = of(&[summed([true; 2], [0.0, 96.0])]);
        assert!(text.contains(">endgame<") && text.contains(">middlegame<"), "{text}");
    }

    #[test]
    fn lists_name_value_change_error_and_support() {
        let all = vec![
            parameter("open \"file\" <x>", "rook & co", 20.0, 1234),
            parameter("closed", "rook & co", -40.0, 0),
        ];
        let text = lists(&all, &groups(&all), "the prior").into_string();
        for part in [
            "open &quot;file&quot; &lt;x&gt;",
            "rook &amp; co",
            "±1.2",
            ">1,234<",
            "10 → </span>20",
            "closed (middlegame) -50",
            "tr class=\"u\"",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        // The largest change is half the width, left of the middle.
        assert!(text.contains("left:0.0%;width:50.0%") && text.contains("left:50.0%;width:10.0%"), "{text}");
    }

    #[test]
    fn long_lists_keep_what_changed_most() {
        let all: Vec<Parameter> =
            (0..5000).map(|i| parameter(&format!("f{i}"), "g", f64::from(i), 5)).collect();
        let text = lists(&all, &groups(&all), "the prior").into_string();
        assert_eq!(text.matches("<th scope=\"row\">").count(), ROWS);
        assert!(text.contains(">f4999<") && !text.contains(">f100<") && text.contains("Of 5,000 parameters"));
        let alone = all.into_iter().map(|own| Parameter { reference: None, ..own }).collect::<Vec<_>>();
        let text = lists(&alone, &groups(&alone), "").into_string();
        assert_eq!(text.matches("<th scope=\"row\">").count(), ROWS);
        assert!(text.contains(">f4999<") && text.contains("largest") && !text.contains("changed"), "{text}");
    }

    #[test]
    fn coordinates_are_listed_with_their_bounds() {
        let text = coordinates(&[CoordinateValue {
            name: "a<".into(),
            value: 3.0,
            max: Some(3.0),
            ..Default::default()
        }]);
        assert!(text.into_string().contains("at bound"));
    }
}
