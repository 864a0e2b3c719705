//! Tables of squares as boards: values, changes, errors and support, one at a time.

use maud::{Markup, html};

use super::data::Parameter;
use super::groups::{Group, Shape, untapered};
use super::number::{centipawns, count, grouped, signed, whole};
use super::palette::level_class;
use super::pieces;

const SHOWN: usize = 6;
/// Standard errors by which a value must differ from its reference not to be called noise.
const NOISE: f64 = 2.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum View {
    Value,
    Change,
    Reference,
    Shape,
    Error,
    Support,
}

impl View {
    const ALL: [Self; 6] =
        [Self::Value, Self::Change, Self::Reference, Self::Shape, Self::Error, Self::Support];

    fn key(self) -> &'static str {
        match self {
            Self::Value => "value",
            Self::Change => "change",
            Self::Reference => "reference",
            Self::Shape => "shape",
            Self::Error => "error",
            Self::Support => "support",
        }
    }
}

pub(super) fn views(parameters: &[Parameter], value: &str, reference: &str) -> Vec<(View, String)> {
    let any = |has: fn(&Parameter) -> bool| parameters.iter().any(has);
    let mut views = vec![(View::Value, value.to_string())];
    if any(|p| p.reference.is_some()) {
        views.push((View::Change, format!("change against {reference}")));
        views.push((View::Reference, reference.to_string()));
    }
    views.push((View::Shape, "distance from the mean".to_string()));
    if any(|p| p.errors.iter().any(Option::is_some)) {
        views.push((View::Error, "standard errors".to_string()));
    }
    if any(|p| p.support.is_some()) {
        views.push((View::Support, "positions".to_string()));
    }
    views
}

pub(super) fn rules() -> String {
    let mut text = String::new();
    for view in View::ALL.map(View::key) {
        text += &format!(
            "#view-{view}:checked~.v-{view}.any,#view-{view}:checked~#phase-mg:checked~.v-{view}.mg,\
             #view-{view}:checked~#phase-eg:checked~.v-{view}.eg{{display:grid}}\n"
        );
    }
    let ids = View::ALL.map(|view| format!("view-{}", view.key())).into_iter();
    let ids = ids.chain(["mg", "eg"].map(|phase| format!("phase-{phase}")));
    let labels: Vec<String> = ids.map(|id| format!("#{id}:checked~.switch [for={id}]")).collect();
    text + &labels.join(",") + "{background:var(--link);border-color:var(--link);color:var(--card)}\n"
}

fn switches(views: &[(View, String)], tapered: bool) -> Markup {
    html! {
        @for (i, (view, _)) in views.iter().enumerate() {
            input.mode type="radio" name="view" id={ "view-" (view.key()) } checked[i == 0];
        }
        @if tapered {
            input.mode type="radio" name="phase" id="phase-mg" checked;
            input.mode type="radio" name="phase" id="phase-eg";
        }
        div.switch role="group" aria-label="What boards show" {
            @if tapered { label for="phase-mg" { "middlegame" } label for="phase-eg" { "endgame" } span.gap {} }
            @for (view, name) in views { label for={ "view-" (view.key()) } { (name) } }
        }
    }
}

fn quantile(mut values: Vec<f64>, share: f64) -> f64 {
    values.retain(|value| value.is_finite());
    values.sort_unstable_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        n => values[((n - 1) as f64 * share).round() as usize],
    }
}

struct Shown<'a> {
    parameters: &'a [Parameter],
    places: &'a [Option<usize>; 64],
    view: View,
    middle: [f64; 2],
    full: f64,
}

impl<'a> Shown<'a> {
    fn new(parameters: &'a [Parameter], places: &'a [Option<usize>; 64], view: View) -> Self {
        let mut shown = Self { parameters, places, view, middle: [0.0; 2], full: 1.0 };
        let supported = |id: &usize| parameters[*id].support != Some(0);
        let ids: Vec<usize> = places.iter().flatten().copied().filter(supported).collect();
        if matches!(view, View::Value | View::Reference | View::Shape) {
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

    fn number(&self, id: usize, phase: usize) -> Option<f64> {
        let Parameter { values, reference, errors, support, .. } = &self.parameters[id];
        match self.view {
            View::Value | View::Shape => Some(values[phase]),
            View::Reference => reference.map(|reference| reference[phase]),
            View::Change => reference.map(|reference| values[phase] - reference[phase]),
            View::Error => errors[phase],
            View::Support => support.map(|n| n as f64),
        }
    }

    fn size(&self, number: f64, phase: usize) -> f64 {
        match self.view {
            View::Support => (number + 1.0).log10(),
            _ => number - self.middle[phase],
        }
    }

    fn text(&self, number: f64, phase: usize) -> String {
        match self.view {
            _ if !number.is_finite() => "–".to_string(),
            View::Value | View::Reference => whole(number),
            View::Change => signed(number.round()),
            View::Shape => signed((number - self.middle[phase]).round()),
            View::Error if number < 9.95 => format!("±{number:.1}"),
            View::Error => format!("±{number:.0}"),
            View::Support => count(number as u64),
        }
    }

    fn colors(&self, phase: usize) -> String {
        let (middle, full) = (self.middle[phase].round() + 0.0, self.full);
        match self.view {
            View::Value | View::Reference | View::Shape => {
                format!("mean {middle:.0}; blue: more, orange: less, strongest from {full:.0} on")
            }
            View::Change => format!("blue: up, orange: down, strongest from {full:.0} on"),
            View::Error => format!("strongest from ±{full:.1} on"),
            View::Support => "positions that have the feature, colored by magnitude".to_string(),
        }
    }

    fn is_noise(&self, id: usize, phase: usize) -> bool {
        let Parameter { values, reference, errors, .. } = &self.parameters[id];
        let known = reference.map(|reference| values[phase] - reference[phase]).zip(errors[phase]);
        known.is_some_and(|(change, error)| change.abs() < NOISE * error)
    }

    fn hint(&self, id: usize, phase: usize) -> String {
        let Parameter { name, values, reference, errors, support, .. } = &self.parameters[id];
        let mut text = format!("{name}: {}", centipawns(values[phase]));
        if let Some(error) = errors[phase] {
            text += &format!(" ± {error:.1}");
        }
        if let Some(reference) = reference {
            text += &format!(", before {}", centipawns(reference[phase]));
        }
        if let Some(support) = support {
            text += &format!(", {} positions", grouped(*support));
        }
        text
    }

    fn table(&self, caption: &Markup, phase: usize, has_hints: bool) -> Markup {
        let cell = |square: usize| -> Markup {
            let Some(id) = self.places[square] else { return html! { td.x {} } };
            let Some(number) = self.number(id, phase) else { return html! { td.x { "–" } } };
            let text = self.text(number, phase);
            let is_hinted = has_hints && matches!(self.view, View::Value | View::Change);
            let hint = is_hinted.then(|| self.hint(id, phase));
            if self.parameters[id].support == Some(0) {
                return html! { td.u title=[hint] { (text) } };
            }
            let level = level_class(self.size(number, phase), self.full);
            match self.view {
                View::Change if self.is_noise(id, phase) => html! { td.x title=[hint] { (text) } },
                View::Value | View::Shape if self.is_noise(id, phase) => {
                    html! { td class={ (level) " h" } title=[hint] { (text) } }
                }
                _ => html! { td class=(level) title=[hint] { (text) } },
            }
        };
        html! {
            table.board {
                caption { (caption) }
                thead { tr { td {} @for file in 'a'..='h' { th scope="col" { (file) } } } }
                tbody { @for rank in (0..8).rev() { tr {
                    th scope="row" { (rank + 1) }
                    @for file in 0..8 { (cell(8 * rank + file)) }
                } } }
            }
        }
    }

    fn explained(&self, name: &str, phase: usize, phase_name: &str) -> Markup {
        let caption = html! {
            (name) @if !phase_name.is_empty() { ", " (phase_name) } span.soft { (self.colors(phase)) }
        };
        self.table(&caption, phase, false)
    }
}

pub(super) struct Boards<'a> {
    parameters: &'a [Parameter],
    shown: Vec<Board<'a>>,
    folded: Vec<Board<'a>>,
}

type Board<'a> = (&'a str, &'a [Option<usize>; 64]);

impl<'a> Boards<'a> {
    /// Sorts the boards among groups: the first of each piece is shown, or if none is of a piece, the first ones.
    pub(super) fn new(parameters: &'a [Parameter], groups: &'a [Group<'a>]) -> Self {
        let boards = groups.iter().filter_map(|group| match &group.shape {
            Shape::Board(places) => Some((group.name, &**places)),
            Shape::List(_) => None,
        });
        let all: Vec<Board<'a>> = boards.collect();
        let first = |role: usize| all.iter().position(|board| pieces::role_of(board.0) == Some(role));
        let mut chosen: Vec<usize> = (0..SHOWN).filter_map(first).collect();
        if chosen.is_empty() {
            chosen.extend(0..all.len().min(SHOWN));
        }
        let shown = chosen.iter().map(|&at| all[at]).collect();
        let others = all.iter().enumerate().filter(|(at, _)| !chosen.contains(at));
        let folded = others.map(|(_, board)| *board).collect();
        Self { parameters, shown, folded }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.shown.is_empty()
    }

    fn is_single(&self, (_, places): Board<'a>) -> bool {
        untapered(self.parameters, places.iter().flatten().copied())
    }

    pub(super) fn switched(&self, views: &[(View, String)]) -> Markup {
        let tapered = !self.shown.iter().all(|board| self.is_single(*board));
        let caption = |name: &str, phase_name: &str| {
            html! {
                @if let Some(role) = pieces::role_of(name) { (pieces::icon(role)) }
                (name) @if !phase_name.is_empty() { ", " (phase_name) }
            }
        };
        let both: &[(&str, usize, &str)] = &[("mg", 0, "middlegame"), ("eg", 1, "endgame")];
        html! {
            (switches(views, tapered))
            @for (view, _) in views {
                // Support belongs to the feature, whatever the phase.
                @let phases = if tapered && *view != View::Support { both } else { &[("any", 0, "")] };
                @for (class, phase, phase_name) in phases {
                    div class={ "boards v v-" (view.key()) " " (class) } { @for board in &self.shown {
                        @let phase_name = if self.is_single(*board) { "" } else { *phase_name };
                        (Shown::new(self.parameters, board.1, *view).table(&caption(board.0, phase_name), *phase, true))
                    } }
                }
            }
            p.note {
                "From White's side, a1 at the lower left; Black's squares are mirrored. Blue is above the mean of the board, or up; orange is below, or down."
                @if views.iter().any(|(view, _)| *view == View::Error) { " Hatched or gray: changed by less than two standard errors." }
                " Dotted: no position has it. Point at a square for its numbers."
            }
        }
    }

    pub(super) fn folded(&self) -> Markup {
        html! { @for board in &self.folded {
            @let views: Vec<View> = match board.1.iter().flatten().any(|&id| self.parameters[id].reference.is_some()) {
                true => vec![View::Value, View::Change],
                false => vec![View::Value],
            };
            @let phases: &[(usize, &str)] = if self.is_single(*board) { &[(0, "")] } else { &[(0, "middlegame"), (1, "endgame")] };
            details.list {
                summary { (board.0) }
                @for view in views { div.pair { @for (phase, phase_name) in phases {
                    @let name = if view == View::Change { format!("{}: changes", board.0) } else { board.0.to_string() };
                    (Shown::new(self.parameters, board.1, view).explained(&name, *phase, phase_name))
                } } }
            }
        } }
    }
}

#[cfg(test)]
mod tests {
    use super::super::groups::groups;
    use super::*;

    fn pawns() -> Vec<Parameter> {
        let parameter = |i: usize| Parameter {
            name: format!("<b>_{}{}", (b'a' + (i % 8) as u8) as char, i / 8 + 1),
            group: "<b> pawn".to_string(),
            values: [i as f64, 100.0 + i as f64],
            reference: Some([10.0, 100.0]),
            errors: [Some(2.5), None],
            support: Some(if i < 8 { 0 } else { 1000 * i as u64 }),
            summed: None,
            square: None,
        };
        (0..64).map(parameter).collect()
    }

    #[test]
    fn every_view_has_its_numbers() {
        let parameters = pawns();
        let views = views(&parameters, "value", "the prior");
        assert_eq!(views.len(), 6);
        let groups = groups(&parameters);
        let html = Boards::new(&parameters, &groups).switched(&views).into_string();
        assert!(!html.contains("<b>") && html.contains("&lt;b&gt; pawn, middlegame"), "{html}");
        // Two boards of 64 cells for each view, one for support.
        assert_eq!(html.matches("<table").count(), 11);
        let never = "<td class=\"u\" title=\"&lt;b&gt;_h1: 7 ± 2.5, before 10, 0 positions\">7</td>";
        assert!(html.contains(never), "no position has it: {html}");
        assert!(
            html.contains(">-2<")
                && html.contains(">+63<")
                && html.contains(">±2.5<")
                && html.contains(">63k<")
        );
        let board = &html[html.find("<tbody>").unwrap()..];
        assert!(board.find(">56<").unwrap() < board.find(">48<").unwrap());
        assert_eq!((html.matches(" checked").count(), html.matches("<label").count()), (2, 2 + 6));
        for view in View::ALL {
            assert!(rules().contains(&format!("#view-{}:checked~.v-{0}.any", view.key())));
        }
    }

    #[test]
    fn changes_within_their_errors_are_marked() {
        let parameters = pawns();
        let groups = groups(&parameters);
        let html = Boards::new(&parameters, &groups).switched(&views(&parameters, "value", "the prior"));
        let html = html.into_string();
        // 14 is 4 above the prior, with an error of 2.5; 16 is 6 above. The endgame has no errors.
        assert!(
            html.contains("td class=\"x\" title=\"&lt;b&gt;_g2: 14 ± 2.5, before 10, 14,000 positions\">+4<")
        );
        assert!(html.contains(" h\" title=\"&lt;b&gt;_g2: 14 ± 2.5"), "{html}");
        assert!(!html.contains(" h\" title=\"&lt;b&gt;_a3: 16 ± 2.5") && !html.contains("_g2: 114 ±"));
    }

    #[test]
    fn the_first_board_of_each_piece_is_shown_and_others_are_folded() {
        let of = |group: &str| -> Vec<Parameter> {
            let own = |parameter| Parameter { group: group.to_string(), ..parameter };
            pawns().into_iter().map(own).collect()
        };
        let all = ["rook", "passed", "my_pawns", "pawn_extra"].map(of).concat();
        let groups = groups(&all);
        let boards = Boards::new(&all, &groups);
        let names: Vec<&str> = boards.shown.iter().map(|board| board.0).collect();
        assert_eq!(names, ["my_pawns", "rook"]);
        let folded = boards.folded().into_string();
        assert_eq!(folded.matches("<details").count(), 2);
        assert!(
            folded.contains("passed: changes, endgame") && folded.contains("<summary>pawn_extra"),
            "{folded}"
        );
    }

    #[test]
    fn untapered_boards_are_shown_once() {
        let mut parameters = pawns();
        for parameter in &mut parameters {
            (parameter.values, parameter.reference) = ([3.0, 3.0], None);
        }
        let views = vec![(View::Value, "value".to_string())];
        let groups = groups(&parameters);
        let html = Boards::new(&parameters, &groups).switched(&views).into_string();
        assert_eq!(html.matches("<table").count(), 1);
        assert!(!html.contains("phase-mg"));
    }
}
