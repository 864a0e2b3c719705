//! Page of two sets of parameters side by side.

use maud::{Markup, html};

use super::boards::{Boards, View, views};
use super::data::Comparison;
use super::groups::groups;
use super::{bars, document, facts, first, names, pieces, table, worst};

impl Comparison {
    pub fn to_html(&self) -> String {
        let title = format!("{} and {}", self.names[0], self.names[1]);
        document(&title, &self.body(&title), None)
    }

    fn body(&self, title: &str) -> Markup {
        let [name, second] = &self.names;
        let groups = groups(&self.parameters);
        let mut views = views(&self.parameters, second, name);
        // Differences are the purpose of the page.
        views.sort_by_key(|(view, _)| *view != View::Change);
        for (view, name) in &mut views {
            if *view == View::Error {
                *name = "standard errors of the change".to_string();
            }
        }
        let boards = Boards::new(&self.parameters, &groups);
        html! {
            (pieces::symbols())
            header { h1 { (title) } p.status { "two sets of parameters: changes are from " (name) " to " (second) } (facts(&self.facts)) }
            @if let Some(losses) = &self.losses { section id="losses" { h2 { "Loss" } (table(losses)) } }
            @if !self.parameters.is_empty() {
                section id="parameters" {
                    h2 { "Common parameters" }
                    @if !self.errors_note.is_empty() { p.note { (self.errors_note) } }
                    div.first { (first::worth(&self.worth)) }
                    @if !boards.is_empty() {
                        h3 { "Boards" }
                        (boards.switched(&views))
                        (boards.folded())
                    }
                    (bars::lists(&self.parameters, &groups, name))
                }
            }
            @for ((side, name), positions) in [("a", name), ("b", second)].into_iter().zip(&self.disagreements) {
                @if !positions.is_empty() {
                    section id={ "better-" (side) } {
                        h2 { "Where " (name) " is right and the other wrong" }
                        p.note { "The largest differences of the errors, one position per game. A is " (self.names[0]) ", B is " (second) "; terms are changes from A to B in centipawns." }
                        (worst::cases(positions, &format!("better-{side}")))
                    }
                }
            }
            @for (only, name) in self.only.iter().zip(&self.names) { @if !only.is_empty() {
                section { h2 { "Only in " (name) } (names(only)) }
            } }
        }
    }
}
