//! The largest change of each table of a run.

use std::collections::HashSet;

use maud::{Markup, html};

use super::data::{Parameter, RunReport, Table};
use super::number::centipawns;
use super::table;

const ROWS: usize = 12;

pub(super) fn of_run(report: &RunReport) -> Option<Markup> {
    let mut largest = largest(&report.parameters, &report.reference)?;
    let further = largest.rows.split_off(largest.rows.len().min(ROWS));
    let rest = Table { caption: "Smaller changes".to_string(), rows: further, ..largest.clone() };
    Some(html! {
        (table(&largest))
        @if !rest.rows.is_empty() {
            details.list { summary { "Further tables " span.soft { (rest.rows.len()) } } (table(&rest)) }
        }
        @if let Some(pairs) = &report.correlations {
            details.list {
                summary { "Values that the data tell apart badly " span.soft { (pairs.rows.len()) " pairs" } }
                (table(pairs))
            }
        }
    })
}

/// `None` if nothing has a reference or nothing changed.
fn largest(parameters: &[Parameter], reference: &str) -> Option<Table> {
    let mut changes: Vec<(f64, &Parameter, usize)> = Vec::new();
    for parameter in parameters {
        let Some(before) = parameter.reference else { continue };
        for (phase, (value, before)) in parameter.values.iter().zip(before).enumerate() {
            let change = value - before;
            if change.is_finite() && change != 0.0 {
                changes.push((change, parameter, phase));
            }
        }
    }
    changes.sort_by(|a, b| b.0.abs().total_cmp(&a.0.abs()).then_with(|| a.1.name.cmp(&b.1.name)));
    let mut seen = HashSet::new();
    changes.retain(|(_, parameter, _)| seen.insert(&parameter.group));
    if changes.is_empty() {
        return None;
    }
    let has_errors = changes.iter().any(|(_, parameter, phase)| parameter.errors[*phase].is_some());
    let mut header = vec!["table", "parameter", reference, "value"];
    header.extend(has_errors.then_some("±"));
    header.push("change");
    header.extend(has_errors.then_some("change / SE"));
    header.push("positions");
    let row = |(change, parameter, phase): &(f64, &Parameter, usize)| {
        let error = parameter.errors[*phase];
        let mut cells = vec![
            parameter.group.clone(),
            format!("{}.{}", parameter.name, ["mg", "eg"][*phase]),
            centipawns(parameter.reference.map_or(f64::NAN, |values| values[*phase])),
            centipawns(parameter.values[*phase]),
        ];
        if has_errors {
            cells.push(error.map_or("–".to_string(), |error| format!("{error:.1}")));
        }
        cells.push(format!("{change:+.1}"));
        if has_errors {
            let ratio = error.filter(|error| *error > 0.0).map(|error| change / error);
            cells.push(ratio.map_or("–".to_string(), |ratio| format!("{ratio:+.1}")));
        }
        cells.push(parameter.support.map_or("–".to_string(), super::grouped));
        cells
    };
    let units = match changes.iter().any(|(_, parameter, _)| parameter.summed.is_some()) {
        true => "centipawns, those of accumulators in units of their sums",
        false => "centipawns",
    };
    Some(Table {
        caption: format!("The largest change of each table against {reference}, {units}"),
        header: header.into_iter().map(str::to_string).collect(),
        rows: changes.iter().map(row).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_table_has_its_largest_change_with_its_error() {
        let parameter = |name: &str, group: &str, mg: f64, error: Option<f64>| Parameter {
            name: name.to_string(),
            group: group.to_string(),
            values: [mg, 10.0],
            reference: Some([10.0, 10.0]),
            errors: [error, None],
            support: Some(1234),
            ..Parameter::default()
        };
        let all = [
            parameter("a", "x", 12.0, None),
            parameter("b", "y", -20.0, Some(3.0)),
            parameter("c", "y", 30.0, None),
            parameter("d", "z", 10.0, None),
        ];
        let table = largest(&all, "the prior").unwrap();
        assert_eq!(table.rows.len(), 2, "what did not change is not listed");
        assert_eq!(table.rows[0], ["y", "b.mg", "10", "-20", "3.0", "-30.0", "-10.0", "1,234"]);
        assert_eq!(table.rows[1], ["x", "a.mg", "10", "12", "–", "+2.0", "–", "1,234"]);
        let plain = largest(&all[..1], "the prior").unwrap();
        assert_eq!((plain.header.len(), plain.rows[0].len()), (6, 6));
        assert!(largest(&all[3..], "the prior").is_none());
    }
}
