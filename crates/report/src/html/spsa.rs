//! An SPSA run: where all parameters stand in their ranges, and the paths of those that went farthest.

use maud::{Markup, html};

use super::super::number_text::short;
use super::data::Table;
use super::heading::{Heading, Section, record};
use super::matches::elo_course;
use super::number::CLEAR;
use super::plot::{Axis, Plot, Series};
use super::{Live, Standing, document, table};

const DRAWN: usize = 24;

#[derive(Clone, Debug, PartialEq)]
pub struct ValuePath {
    pub name: String,
    pub bounds: [f64; 2],
    /// Estimated error of the value now (one standard deviation), if the method has one.
    pub error: Option<f64>,
    /// Pairs played, ascending from 0, and the values then.
    pub points: Vec<(f64, f64)>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct SpsaReport {
    pub head: Heading,
    pub pairs: f64,
    pub paths: Vec<ValuePath>,
    /// Score of the side with the added perturbation against the other, ascending by games.
    pub sides: Vec<Standing>,
    /// Score of the current values against the start, ascending by games, if it was played.
    pub gain: Vec<Standing>,
    pub parameters: Option<Table>,
    pub configuration: Vec<(String, String)>,
}

impl ValuePath {
    fn figure(&self, id: &str, pairs: f64) -> Markup {
        let start = self.points.first().map_or(0.0, |point| point.1);
        let last = self.points.len().saturating_sub(1);
        let errors = (0..=last).map(|i| self.error.filter(|_| i == last).unwrap_or(f64::NAN)).collect();
        let value = Series { errors, ..Series::line("value", self.points.clone()) };
        let (low, high) = self.points.iter().fold((start, start), |(l, h), p| (l.min(p.1), h.max(p.1)));
        let reach = (high - low).max(self.error.unwrap_or(0.0));
        let mut series = vec![value];
        // Distant bounds would leave no room for the path.
        for (name, bound, distance) in [
            ("upper bound", self.bounds[1], self.bounds[1] - high),
            ("lower bound", self.bounds[0], low - self.bounds[0]),
        ] {
            if distance <= reach {
                series.push(Series::line(name, vec![(0.0, bound), (pairs, bound)]));
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
            guide: vec![(0.0, start), (pairs.max(1.0), start)],
            ..Plot::default()
        };
        plot.figure(id)
    }
}

impl SpsaReport {
    /// Page, one self-contained HTML document; with `live`, one that refreshes itself.
    pub fn to_html(&self, live: Option<&Live>) -> String {
        let figures = self.paths.iter().take(DRAWN).enumerate();
        let figures = figures.map(|(i, path)| path.figure(&format!("path-{i}"), self.pairs));
        let figures: Vec<Markup> = figures.collect();
        let values = html! {
            @if figures.is_empty() { p.note { "No pair of games is finished yet." } }
            @else { (self.ranges()) h3 { "Paths" } }
            @if figures.len() < self.paths.len() { p.note { "Of those " (figures.len()) " that went farthest." } }
            div.figures { @for figure in &figures { (figure) } }
        };
        let mut sections: Vec<Section> = vec![("values", "Values", values)];
        sections.extend(self.progress().map(|progress| ("elo", "Elo", progress)));
        sections.extend(self.parameters.as_ref().map(|list| ("parameters", "Parameters", table(list))));
        sections.push(("configuration", "Configuration", record(&self.configuration)));
        document(&self.head.title, &self.head.above(&self.head.verdict(), &sections), live)
    }

    fn ranges(&self) -> Markup {
        let row = |path: &ValuePath| {
            let [min, max] = path.bounds;
            let percent = |value: f64| (100.0 * (value - min) / (max - min)).clamp(0.0, 100.0);
            let start = path.points.first().map_or(0.0, |point| point.1);
            let now = path.points.last().map_or(start, |point| point.1);
            let error = path.error.filter(|error| *error > 0.0);
            let [low, high] = [-1.0, 1.0].map(|side| percent(now + side * error.unwrap_or(0.0)));
            let moved = error.map(|error| (now - start) / error);
            let place = |name: &str, at: f64| format!("{name}:{at:.1}%");
            html! { tr {
                th scope="row" { (path.name) }
                td { span.soft { (short(start)) " → " } (short(now)) @if let Some(error) = error { span.soft { " ± " (short(error)) } } }
                td { span.range {
                    span.error style={ (place("left", low)) ";" (place("width", high - low)) } {}
                    span.from style=(place("left", percent(start))) {}
                    span.at style=(place("left", percent(now))) {}
                } }
                td { @match moved {
                    Some(moved) if moved.abs() >= CLEAR => (format!("{moved:+.1}")),
                    Some(moved) => span.soft { (format!("{moved:+.1}")) },
                    None => "–",
                } }
            } }
        };
        html! {
            div.scroll { table.bars {
                caption { "Values in their ranges" span.soft { "line: start; dot: now, with one standard deviation; gray: within two errors of the start" } }
                thead { tr { th scope="col" { "parameter" } th scope="col" { "start → now" } th scope="col" { "smallest to largest" } th scope="col" { "moved, in errors" } } }
                tbody { @for path in &self.paths { (row(path)) } }
            } }
        }
    }

    /// `None` before there are enough of them.
    fn progress(&self) -> Option<Markup> {
        let mut figures = Vec::new();
        if self.gain.len() > 1 {
            let about = "The values of the run against its start, in games of their own, with the 95 % interval; \
                         the thin line is equality.";
            figures.push(elo_course("Gain: result against start", about, &self.gain).figure("gain"));
        }
        if self.sides.len() > 1 {
            let about = "The side whose parameters were perturbed upward against the other, over all games so \
                         far, with the 95 % interval: near zero, neither direction has been better on the whole.";
            figures.push(elo_course("Plus against minus", about, &self.sides).figure("sides"));
        }
        (!figures.is_empty()).then(|| html! { div.figures { @for figure in &figures { (figure) } } })
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
            report.to_html(None)
        };
        let near = page([95.0, 1000.0]);
        assert!(near.contains("lower bound") && !near.contains("upper bound"), "{near}");
        // From 100 to 110 of 95 to 1000, five errors away.
        for text in
            ["class=\"from\" style=\"left:0.6%\"", "class=\"at\" style=\"left:1.7%\"", "<td>+5.0</td>"]
        {
            assert!(near.contains(text), "{text}: {near}");
        }
        assert!(near.contains("&lt;Margin&gt;") && !near.contains("<Margin>") && !near.contains("NaN"));
        let far = page([0.0, 1000.0]);
        assert!(!far.contains("lower bound</li>") && far.contains("bounds are 0 and 1000"), "{far}");
        assert!(SpsaReport::default().to_html(None).contains("No pair of games"));
    }
}
