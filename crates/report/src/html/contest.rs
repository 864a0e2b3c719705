//! Many results side by side: a table sorted by a column of the reader's choice, and their curves in one picture.

use std::fmt::Write as _; // to strings, which cannot fail

use maud::{Markup, PreEscaped, html};

use super::data::Step;
use super::document;
use super::plot::{Axis, Plot, Series};

const CURVES: usize = 4;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Entrant {
    pub name: String,
    pub steps: Vec<Step>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ContestColumn {
    pub name: String,
    pub values: Vec<Option<f64>>,
    pub texts: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Contest {
    pub title: String,
    pub about: String,
    pub note: String,
    pub entrants: Vec<Entrant>,
    pub columns: Vec<ContestColumn>,
}

impl Contest {
    pub fn to_html(&self) -> String {
        let curves = self.curves();
        let body = html! {
            header { h1 { (self.title) } p.status { (self.about) } }
            section id="results" {
                h2 { "Results" }
                @if !self.note.is_empty() { p.note { (self.note) } }
                (self.table())
            }
            @if let Some(curves) = curves { section id="curves" { h2 { "Loss" } (curves) } }
        };
        document(&self.title, &body, None)
    }

    fn ranks(&self, column: &ContestColumn) -> Vec<usize> {
        let of = |i: usize| column.values.get(i).copied().flatten().unwrap_or(f64::INFINITY);
        let mut order: Vec<usize> = (0..self.entrants.len()).collect();
        order.sort_by(|&a, &b| of(a).total_cmp(&of(b)).then(a.cmp(&b)));
        let mut ranks = vec![0; order.len()];
        order.iter().enumerate().for_each(|(rank, &i)| ranks[i] = rank);
        ranks
    }

    fn first(&self) -> Option<usize> {
        let names = ["loss on the dataset", "held-out loss", "training loss"];
        names.into_iter().find_map(|name| self.columns.iter().position(|column| column.name == name))
    }

    fn table(&self) -> Markup {
        let ranks: Vec<Vec<usize>> = self.columns.iter().map(|column| self.ranks(column)).collect();
        let first = self.first().map_or(0, |column| column + 1);
        let mut rules = String::new();
        for n in 0..=self.columns.len() {
            let _ = write!(
                rules,
                "#sort-{n}:checked~.scroll .row{{order:var(--o{n})}}#sort-{n}:checked~.switch [for=sort-{n}]\
                 {{background:var(--link);border-color:var(--link);color:var(--card)}}"
            );
        }
        let places = |i: usize| {
            let by_column = ranks.iter().enumerate().map(|(n, ranks)| format!(";--o{}:{}", n + 1, ranks[i]));
            format!("--o0:{i}{}", by_column.collect::<String>())
        };
        let names = std::iter::once("as given").chain(self.columns.iter().map(|column| column.name.as_str()));
        html! {
            style { (PreEscaped(rules)) }
            div.sorted {
                @for n in 0..=self.columns.len() {
                    input.mode type="radio" name="sort" id={ "sort-" (n) } checked[n == first];
                }
                div.switch { span.soft { "sorted by" } @for (n, name) in names.enumerate() { label for={ "sort-" (n) } { (name) } } }
                div.scroll { div.rows role="table" style={ "--n:" (self.columns.len()) } {
                    div.row.head role="row" {
                        span role="columnheader" { "parameters" }
                        @for column in &self.columns { span role="columnheader" { (column.name) } }
                    }
                    @for (i, entrant) in self.entrants.iter().enumerate() {
                        div.row role="row" style=(places(i)) {
                            span role="rowheader" { (entrant.name) }
                            @for column in &self.columns { span role="cell" { (column.texts.get(i).map_or("–", String::as_str)) } }
                        }
                    }
                } }
            }
        }
    }

    /// `None` without at least two.
    fn curves(&self) -> Option<Markup> {
        let ranks = self.first().map(|column| self.ranks(&self.columns[column]));
        let mut order: Vec<usize> =
            (0..self.entrants.len()).filter(|&i| !self.entrants[i].steps.is_empty()).collect();
        if order.len() < 2 {
            return None;
        }
        if let Some(ranks) = ranks {
            order.sort_by_key(|&i| ranks[i]);
        }
        let left = order.len().saturating_sub(CURVES);
        order.truncate(CURVES);
        let held_out =
            order.iter().all(|&i| self.entrants[i].steps.iter().any(|step| step.held_out.is_some()));
        let what = if held_out { "Held-out loss" } else { "Training loss" };
        let plot = |name: &str, x: Axis, at: fn(&Step) -> f64| {
            let series = order.iter().map(|&i| {
                let entrant = &self.entrants[i];
                let loss = |step: &Step| if held_out { step.held_out } else { Some(step.loss) };
                let points = entrant.steps.iter().filter_map(|step| Some((at(step), loss(step)?)));
                Series::line(&entrant.name, points.collect())
            });
            Plot {
                title: format!("{what} over {name}"),
                description: format!("{what} of the best results over each other, by {name}."),
                x,
                y: Axis::linear("loss"),
                series: series.collect(),
                ..Plot::default()
            }
        };
        let steps = plot("steps", Axis::whole("step"), |step| step.number as f64).figure("contest-steps");
        let time = plot("time", Axis::linear("seconds"), |step| step.seconds).figure("contest-time");
        Some(html! {
            @if left > 0 { p.note { "The best " (CURVES) " are drawn; " (left) " more are in the table." } }
            div.figures { (steps) (time) }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_their_places_by_every_column() {
        let step = |number: u64| Step { number, loss: 1.0 / number as f64, ..Step::default() };
        let entrant = |name: &str| Entrant { name: name.to_string(), steps: (1..5).map(step).collect() };
        let column = |name: &str, values: [f64; 3]| ContestColumn {
            name: name.to_string(),
            values: values.map(|value| Some(value).filter(|v| v.is_finite())).to_vec(),
            texts: values.map(|value| value.to_string()).to_vec(),
        };
        let contest = Contest {
            entrants: ["<a>", "b", "c"].map(entrant).to_vec(),
            columns: vec![column("seconds", [3.0, 1.0, 2.0]), column("held-out loss", [f64::NAN, 0.2, 0.1])],
            ..Contest::default()
        };
        let page = contest.to_html();
        for style in ["--o0:0;--o1:2;--o2:2", "--o0:1;--o1:0;--o2:1", "--o0:2;--o1:1;--o2:0"] {
            assert!(page.contains(style), "{style}");
        }
        assert!(page.contains("id=\"sort-2\" checked") && !page.contains("<a>") && !page.contains("<script"));
        assert_eq!(page.matches("<figure").count(), 2);
        let alone = Contest { entrants: vec![entrant("x")], columns: Vec::new(), ..contest };
        assert!(!alone.to_html().contains("<figure"));
    }
}
