//! Tables of squares as boards: values, changes, errors and support, one at a time.

use maud::{Markup, html};

use super::data::Parameter;
use super::groups::{Group, Shape, untapered};
use super::number::{count, signed};
use super::palette::level_class;

/// Centipawns that deserve a color of their own when boards are compared.
const LEAST_SCALE: f64 = 1.0;
/// The largest value that is printed when boards are compared. More digits do not fit into a square.
const WRITTEN: f64 = 9999.0;

/// Views of a board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum View {
    Value,
    Change,
    Reference,
    Error,
    Support,
}

impl View {
    /// Returns its name in ids and classes.
    fn key(self) -> &'static str {
        match self {
            Self::Value => "value",
            Self::Change => "change",
            Self::Reference => "reference",
            Self::Error => "error",
            Self::Support => "support",
        }
    }
}

/// Returns the views that have something to show, with their names on the page.
pub(super) fn views(parameters: &[Parameter], value: &str, reference: &str) -> Vec<(View, String)> {
    let any = |has: fn(&Parameter) -> bool| parameters.iter().any(has);
    let mut views = vec![(View::Value, value.to_string())];
    if any(|p| p.reference.is_some()) {
        views.push((View::Change, format!("change against {reference}")));
        views.push((View::Reference, reference.to_string()));
    }
    if any(|p| p.errors.iter().any(Option::is_some)) {
        views.push((View::Error, "standard errors".to_string()));
    }
    if any(|p| p.support.is_some()) {
        views.push((View::Support, "positions".to_string()));
    }
    views
}

/// Returns the switch between views. It applies to boards that follow it as siblings.
pub(super) fn switch(views: &[(View, String)]) -> Markup {
    html! {
        @for (i, (view, _)) in views.iter().enumerate() {
            input.mode type="radio" name="view" id={ "view-" (view.key()) } checked[i == 0];
        }
        div.switch role="group" aria-label="What boards show" {
            @for (view, name) in views { label for={ "view-" (view.key()) } { (name) } }
        }
    }
}

/// Returns a quantile of the numbers.
fn quantile(mut values: Vec<f64>, share: f64) -> f64 {
    values.retain(|value| value.is_finite());
    values.sort_unstable_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        n => values[((n - 1) as f64 * share).round() as usize],
    }
}

/// Numbers of one board and their coloring.
struct Shown<'a> {
    parameters: &'a [Parameter],
    places: &'a [Option<usize>; 64],
    view: View,
    /// Value without color.
    middle: [f64; 2],
    /// Distance with the strongest color.
    full: f64,
    /// Limit printed for values beyond it.
    limit: f64,
}

impl<'a> Shown<'a> {
    fn new(parameters: &'a [Parameter], places: &'a [Option<usize>; 64], view: View) -> Self {
        let mut shown = Self { parameters, places, view, middle: [0.0; 2], full: 1.0, limit: f64::INFINITY };
        let supported = |id: &usize| parameters[*id].support != Some(0);
        let ids: Vec<usize> = places.iter().flatten().copied().filter(supported).collect();
        if matches!(view, View::Value | View::Reference) {
            shown.middle = [0, 1].map(|phase| {
                let numbers = ids.iter().filter_map(|&id| {
                    let weight = parameters[id].support.unwrap_or(1) as f64;
                    shown.number(id, phase).map(|number| (weight * number, weight))
                });
                let (sum, weight) = numbers.fold((0.0, 0.0), |(a, b), (c, d)| (a + c, b + d));
                if weight > 0.0 { sum / weight } else { 0.0 }
            });
        }
        let both = ids.iter().flat_map(|&id| [(id, 0), (id, 1)]);
        let sizes =
            both.filter_map(|(id, phase)| shown.number(id, phase).map(|n| shown.size(n, phase).abs()));
        shown.full = quantile(sizes.collect(), if view == View::Support { 1.0 } else { 0.93 }).max(1e-9);
        shown
    }

    /// Returns values and references in the same colors.
    fn alike(parameters: &'a [Parameter], places: &'a [Option<usize>; 64]) -> [Self; 2] {
        let [mut values, mut references] =
            [View::Value, View::Reference].map(|view| Self::new(parameters, places, view));
        // Values that are all equal have no scale.
        if values.full < LEAST_SCALE {
            values.full = references.full.max(LEAST_SCALE);
        }
        (references.full, references.middle) = (values.full, values.middle);
        [&mut values, &mut references].into_iter().for_each(|shown| shown.limit = WRITTEN);
        [values, references]
    }

    fn number(&self, id: usize, phase: usize) -> Option<f64> {
        let Parameter { values, reference, errors, support, .. } = &self.parameters[id];
        match self.view {
            View::Value => Some(values[phase]),
            View::Reference => reference.map(|reference| reference[phase]),
            View::Change => reference.map(|reference| values[phase] - reference[phase]),
            View::Error => errors[phase],
            View::Support => support.map(|n| n as f64),
        }
    }

    /// Returns the value that the color is based on.
    fn size(&self, number: f64, phase: usize) -> f64 {
        match self.view {
            View::Support => (number + 1.0).log10(),
            _ => number - self.middle[phase],
        }
    }

    fn text(&self, number: f64) -> String {
        match self.view {
            _ if !number.is_finite() => "–".to_string(),
            View::Value | View::Reference if number > self.limit => format!(">{:.0}", self.limit),
            View::Value | View::Reference if number < -self.limit => format!("<-{:.0}", self.limit),
            View::Value | View::Reference => format!("{:.0}", number.round() + 0.0),
            View::Change => signed(number.round()),
            View::Error if number < 9.95 => format!("±{number:.1}"),
            View::Error => format!("±{number:.0}"),
            View::Support => count(number as u64),
        }
    }

    fn colors(&self, phase: usize) -> String {
        let (middle, full) = (self.middle[phase].round() + 0.0, self.full);
        match self.view {
            View::Value | View::Reference => {
                format!("mean {middle:.0}; blue: more, orange: less, strongest from {full:.0} on")
            }
            View::Change => format!("blue: up, orange: down, strongest from {full:.0} on"),
            View::Error => format!("strongest from ±{full:.1} on"),
            View::Support => "positions that have the feature, colored by magnitude".to_string(),
        }
    }

    fn table(&self, name: &str, phase: usize, phase_name: &str) -> Markup {
        let cell = |square: usize| -> Markup {
            let Some(id) = self.places[square] else { return html! { td.x {} } };
            let Some(number) = self.number(id, phase) else { return html! { td.x { "–" } } };
            let class = level_class(self.size(number, phase), self.full);
            match self.parameters[id].support {
                Some(0) => html! { td.u { (self.text(number)) } },
                _ => html! { td class=(class) { (self.text(number)) } },
            }
        };
        html! {
            table.board {
                caption { (name) @if !phase_name.is_empty() { ", " (phase_name) } span.soft { (self.colors(phase)) } }
                thead { tr { td {} @for file in 'a'..='h' { th scope="col" { (file) } } } }
                tbody { @for rank in (0..8).rev() { tr {
                    th scope="row" { (rank + 1) }
                    @for file in 0..8 { (cell(8 * rank + file)) }
                } } }
            }
        }
    }
}

/// Returns boards of values next to boards of their references, headed by two names. Both use the colors of the values,
/// because references may be anything. Each table can be folded; only the first is open.
pub(super) fn side_by_side(parameters: &[Parameter], groups: &[Group<'_>], names: [&str; 2]) -> Markup {
    let boards = groups.iter().filter_map(|group| match &group.shape {
        Shape::Board(places) => Some((group.name, places)),
        Shape::List(_) => None,
    });
    html! {
        @for (i, (name, places)) in boards.enumerate() {
            @let single = untapered(parameters, places.iter().flatten().copied());
            @let [values, references] = Shown::alike(parameters, places);
            @let phases: &[(usize, &str)] = if single { &[(0, "")] } else { &[(0, "middlegame"), (1, "endgame")] };
            details.list open[i == 0] {
                summary { (name) }
                @for (phase, phase_name) in phases {
                    div.pair {
                        (values.table(&format!("{name}, {}", names[0]), *phase, phase_name))
                        (references.table(&format!("{name}, {}", names[1]), *phase, phase_name))
                    }
                }
            }
        }
    }
}

/// Returns all boards of a page; empty if no group is one.
pub(super) fn boards(parameters: &[Parameter], groups: &[Group<'_>], views: &[(View, String)]) -> Markup {
    let boards = groups.iter().filter_map(|group| match &group.shape {
        Shape::Board(places) => Some((group.name, places)),
        Shape::List(_) => None,
    });
    html! {
        @for (name, places) in boards {
            @let single = untapered(parameters, places.iter().flatten().copied());
            @for (view, _) in views {
                div class={ "pair v v-" (view.key()) } {
                    @let shown = Shown::new(parameters, places, *view);
                    // Support belongs to the feature, whatever the phase.
                    @if single || *view == View::Support { (shown.table(name, 0, "")) }
                    @else {
                        (shown.table(name, 0, "middlegame"))
                        (shown.table(name, 1, "endgame"))
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::groups::groups;
    use super::*;

    fn pawns() -> Vec<Parameter> {
        let parameter = |i: usize| Parameter {
            name: format!("<b>_{}{}", (b'a' + (i % 8) as u8) as char, i / 8 + 1),
            group: "<b>".to_string(),
            values: [i as f64, 100.0 + i as f64],
            reference: Some([10.0, 100.0]),
            errors: [Some(2.5), None],
            support: Some(if i < 8 { 0 } else { 1000 * i as u64 }),
            summed: None,
        };
        (0..64).map(parameter).collect()
    }

    #[test]
    fn every_view_has_its_numbers() {
        let parameters = pawns();
        let views = views(&parameters, "value", "the prior");
        assert_eq!(views.len(), 5);
        let html = boards(&parameters, &groups(&parameters), &views).into_string();
        assert!(!html.contains("<b>") && html.contains("&lt;b&gt;, middlegame"), "{html}");
        // Two boards of 64 cells for each view, one for support.
        assert_eq!(html.matches("<table").count(), 9);
        assert!(html.contains("<td class=\"u\">7</td>"), "no position has it");
        assert!(
            html.contains(">-2<")
                && html.contains(">+63<")
                && html.contains(">±2.5<")
                && html.contains(">63k<")
        );
        // The eighth rank comes first.
        let board = &html[html.find("<tbody>").unwrap()..];
        assert!(board.find(">56<").unwrap() < board.find(">48<").unwrap());
        let switch = switch(&views).into_string();
        assert_eq!((switch.matches("checked").count(), switch.matches("<label").count()), (1, 5));
    }

    #[test]
    fn untapered_boards_are_shown_once() {
        let mut parameters = pawns();
        for parameter in &mut parameters {
            (parameter.values, parameter.reference) = ([3.0, 3.0], None);
        }
        let views = vec![(View::Value, "value".to_string())];
        let html = boards(&parameters, &groups(&parameters), &views).into_string();
        assert_eq!(html.matches("<table").count(), 1);
    }
}
