//! A run by games: the way of every parameter in its own unit, between its start and its bounds.

use maud::{Markup, html};

use super::data::Table;
use super::plot::{Axis, Plot, Series, Style};
use super::{document, facts, table};
use gputexel_files::Result;

/// A parameter on its way.
#[derive(Clone, Debug, PartialEq)]
pub struct ValuePath {
    /// Its name.
    pub name: String,
    /// Smallest and largest value that may be played.
    pub bounds: [f64; 2],
    /// What the method says of the value's error now (one standard deviation), if anything.
    pub error: Option<f64>,
    /// Pairs played, ascending from 0, and the values then.
    pub points: Vec<(f64, f64)>,
}

/// What the page about a run by games shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SpsaReport {
    /// Title of the page.
    pub title: String,
    /// Whether all pairs are played.
    pub final_: bool,
    /// How far it has come, in words.
    pub status: String,
    /// Headline figures: name and value.
    pub facts: Vec<(String, String)>,
    /// What is to be looked at.
    pub warnings: Vec<String>,
    /// Pairs of games in all.
    pub pairs: f64,
    /// The parameters that are drawn.
    pub paths: Vec<ValuePath>,
    /// All parameters.
    pub parameters: Option<Table>,
    /// What was played: name and value.
    pub configuration: Vec<(String, String)>,
}

impl ValuePath {
    /// # Errors
    /// When it cannot be drawn.
    fn figure(&self, id: &str, pairs: f64) -> Result<Markup> {
        let start = self.points.first().map_or(0.0, |point| point.1);
        let last = self.points.len().saturating_sub(1);
        let errors = (0..=last).map(|i| self.error.filter(|_| i == last).unwrap_or(f64::NAN)).collect();
        let value =
            Series { name: "value".to_string(), points: self.points.clone(), errors, style: Style::Line };
        let (low, high) = self.points.iter().fold((start, start), |(l, h), p| (l.min(p.1), h.max(p.1)));
        let reach = (high - low).max(self.error.unwrap_or(0.0));
        let mut series = vec![value];
        // Bounds far away would leave no room for the way.
        for (name, bound, distance) in [
            ("upper bound", self.bounds[1], self.bounds[1] - high),
            ("lower bound", self.bounds[0], low - self.bounds[0]),
        ] {
            if distance <= reach {
                let points = vec![(0.0, bound), (pairs, bound)];
                series.push(Series {
                    name: name.to_string(),
                    points,
                    errors: Vec::new(),
                    style: Style::Line,
                });
            }
        }
        let [min, max] = self.bounds;
        let plot = Plot {
            title: self.name.clone(),
            description: format!(
                "The value over the pairs of games; the thin line is the start, {start}; bounds are {min} and {max}. The bar at the end is one standard deviation."
            ),
            x: Axis::whole("pairs of games"),
            y: Axis::linear("value"),
            series,
            mark: None,
            guide: vec![(0.0, start), (pairs.max(1.0), start)],
        };
        plot.figure(id)
    }
}

impl SpsaReport {
    /// The page, one self-contained HTML document.
    ///
    /// # Errors
    /// [`Error::Numeric`](gputexel_files::Error::Numeric) when a picture cannot be drawn.
    pub fn to_html(&self) -> Result<String> {
        let figures = self.paths.iter().enumerate();
        let figures = figures.map(|(i, path)| path.figure(&format!("path-{i}"), self.pairs));
        let figures = figures.collect::<Result<Vec<_>>>()?;
        let body = html! {
            header {
                h1 { (self.title) }
                p.status { span class=(if self.final_ { "tag done" } else { "tag open" }) { (if self.final_ { "finished" } else { "not final" }) } " " (self.status) }
                (facts(&self.facts))
                @if !self.warnings.is_empty() { ul.warnings { @for warning in &self.warnings { li { (warning) } } } }
            }
            nav aria-label="Sections" { a href="#values" { "Values" } a href="#parameters" { "Parameters" } a href="#configuration" { "Configuration" } }
            section id="values" {
                h2 { "Values" }
                @if figures.is_empty() { p.note { "No pair of games is finished yet." } }
                div.figures { @for figure in &figures { (figure) } }
            }
            section id="parameters" { h2 { "Parameters" } @if let Some(parameters) = &self.parameters { (table(parameters)) } }
            section id="configuration" { h2 { "Configuration" }
                dl.record { @for (name, value) in &self.configuration { dt { (name) } dd { (value) } } }
            }
        };
        Ok(document(&self.title, &body, None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_drawn_where_there_is_room() {
        let path = |bounds: [f64; 2]| ValuePath {
            name: "<Margin>".to_string(),
            bounds,
            error: Some(2.0),
            points: vec![(0.0, 100.0), (50.0, 104.0), (100.0, 110.0)],
        };
        let page = |bounds: [f64; 2]| {
            let report = SpsaReport { pairs: 200.0, paths: vec![path(bounds)], ..SpsaReport::default() };
            report.to_html().unwrap()
        };
        let near = page([95.0, 1000.0]);
        assert!(near.contains("lower bound") && !near.contains("upper bound"), "{near}");
        assert!(near.contains("&lt;Margin&gt;") && !near.contains("<Margin>") && !near.contains("NaN"));
        let far = page([0.0, 1000.0]);
        assert!(!far.contains("lower bound</li>") && far.contains("bounds are 0 and 1000"), "{far}");
        assert!(SpsaReport::default().to_html().unwrap().contains("No pair of games"));
    }
}
