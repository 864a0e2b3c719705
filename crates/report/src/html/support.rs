//! Parameters that few positions have, or none. Such values are unreliable.

use maud::{Markup, html};

use super::data::{Parameter, RunReport};
use super::number::centipawns;
use gputexel_model::ValueChange;

const NAMES: usize = 300;

/// Text of a feature that never occurs, with its new values if they changed anyway.
fn moved(parameter: &Parameter) -> String {
    let Parameter { name, values, reference, .. } = parameter;
    let change = ValueChange { name: name.clone(), from: reference.unwrap_or(*values), to: *values };
    if change.is_change() { change.to_string() } else { change.name }
}

pub(super) fn of_run(report: &RunReport) -> Option<Markup> {
    let known = report.parameters.iter().filter_map(|parameter| parameter.support.map(|n| (parameter, n)));
    let known: Vec<(&Parameter, u64)> = known.collect();
    let mut few: Vec<_> = known.iter().filter(|(_, n)| (1..report.rare).contains(n)).collect();
    few.sort_by_key(|(_, n)| *n);
    let never: Vec<String> = known.iter().filter(|(_, n)| *n == 0).map(|(p, _)| moved(p)).collect();
    (!known.is_empty()).then(|| html! {
        p.note {
            "Of " (known.len()) " features, " (few.len()) " occur in fewer than " (report.rare) " positions, which constrain \
             their values little, and " (never.len()) " in none."
        }
        @if !few.is_empty() {
            details.list {
                summary { "Rare: fewer than " (report.rare) " positions " span.soft { (few.len()) } }
                div.scroll { table {
                    thead { tr { @for name in ["name", "positions", "middlegame", "endgame"] { th scope="col" { (name) } } } }
                    tbody { @for (p, n) in few.iter().take(NAMES) { tr {
                        th scope="row" { (p.name) } td { (n) }
                        @for phase in 0..2 { td { (centipawns(p.values[phase])) @if let Some(error) = p.errors[phase] { span.soft { " ±" (format!("{error:.1}")) } } } }
                    } } }
                } }
                @if few.len() > NAMES { p.note { "and " (few.len() - NAMES) " more" } }
            }
        }
        @if !never.is_empty() {
            details.list { summary { "Never occur " span.soft { (never.len()) } } (super::names(&never)) }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rare_are_named() {
        let parameter = |name: &str, support: u64| Parameter {
            name: name.to_string(),
            support: Some(support),
            values: [5.0, -7.5],
            reference: Some([0.0, 0.0]),
            ..Parameter::default()
        };
        let parameters = vec![parameter("often", 5000), parameter("a<b", 7), parameter("never", 0)];
        let report = RunReport { parameters, rare: 100, ..RunReport::default() };
        let text = of_run(&report).unwrap().into_string();
        let (rare, never) = text[text.find("Rare:").unwrap()..].split_once("Never occur").unwrap();
        assert!(rare.contains("a&lt;b") && !rare.contains("often") && never.contains("never"), "{text}");
        assert!(of_run(&RunReport::default()).is_none());
    }
}
