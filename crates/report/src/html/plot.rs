//! Pictures of pages as SVG: lines and points on two axes, with a title and a description for screen readers. They are
//! small, so that their texts are legible on a phone.

use maud::{Markup, html};

use super::super::number_text::{fixed, short};
use super::super::span::Span;
use super::number::precise;
use super::palette::{GRID, INK, Rgb, SERIES, SOFT};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Style {
    #[default]
    Line,
    Points,
    Both,
    /// The area within the errors, in the color of the series before it.
    Band,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Series {
    pub name: String,
    pub points: Vec<(f64, f64)>,
    /// Half the heights of error bars or of a band; may be empty.
    pub errors: Vec<f64>,
    pub style: Style,
}

impl Series {
    pub fn line(name: &str, points: Vec<(f64, f64)>) -> Self {
        Self { name: name.to_string(), points, ..Self::default() }
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Axis {
    pub name: String,
    pub logarithmic: bool,
    pub whole: bool,
    /// Labels of the positions 0, 1, …, for values that are not numbers or not spread evenly.
    pub texts: Vec<String>,
}

impl Axis {
    pub fn linear(name: &str) -> Self {
        Self { name: name.to_string(), ..Self::default() }
    }

    pub fn whole(name: &str) -> Self {
        Self { whole: true, ..Self::linear(name) }
    }

    /// Axis that keeps numbers apart, given in ascending order, with the places of these on it: logarithmic if they
    /// are positive over several magnitudes, linear if they are spread evenly enough, else with equal distances.
    pub fn fitting(name: &str, numbers: &[f64]) -> (Self, Vec<f64>) {
        let places = numbers.to_vec();
        let (Some(&low), Some(&high)) = (numbers.first(), numbers.last()) else {
            return (Self::linear(name), places);
        };
        let logarithmic = low > 0.0 && high / low >= WIDE;
        let place = |number: f64| if logarithmic { number.log10() } else { number };
        let gaps = numbers.windows(2).map(|pair| place(pair[1]) - place(pair[0]));
        let even = (place(high) - place(low)) / (numbers.len() as f64 - 1.0).max(1.0);
        if gaps.fold(f64::INFINITY, f64::min) < even / 4.0 {
            let texts = numbers.iter().map(|number| short(*number)).collect();
            return (Self { texts, ..Self::whole(name) }, (0..numbers.len()).map(|i| i as f64).collect());
        }
        (Self { logarithmic, ..Self::linear(name) }, places)
    }

    fn value_text(&self, value: f64) -> String {
        match self.texts.is_empty() {
            true => short(value),
            // The first position is 0, and nothing else is labeled.
            false => self.texts.get(value as usize).filter(|_| value >= 0.0).cloned().unwrap_or_default(),
        }
    }

    fn place(&self, value: f64) -> f64 {
        if self.logarithmic { value.log10() } else { value }
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Plot {
    pub title: String,
    pub description: String,
    pub x: Axis,
    pub y: Axis,
    pub series: Vec<Series>,
    pub mark: Option<(f64, String)>,
    pub guide: Vec<(f64, f64)>,
}

/// Of more, the lowest and highest of each stretch are kept.
const POINTS: usize = 600;
const ROWS: usize = 40;
const BAND: f64 = 0.25;
const WIDTH: f64 = 420.0;
const HEIGHT: f64 = 270.0;
const LABELS: usize = 6;
const TOP: f64 = 8.0;
const BOTTOM: f64 = HEIGHT - 40.0;
const RIGHT: f64 = WIDTH - 14.0;
/// Ratio of the largest to the smallest number from which an axis is logarithmic.
const WIDE: f64 = 20.0;

fn thinned(points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    if points.len() <= POINTS {
        return points;
    }
    let stretch = points.len().div_ceil(POINTS / 2);
    let ends = |part: &[(f64, f64)]| {
        let low = (0..part.len()).min_by(|&a, &b| part[a].1.total_cmp(&part[b].1)).unwrap_or(0);
        let high = (0..part.len()).max_by(|&a, &b| part[a].1.total_cmp(&part[b].1)).unwrap_or(0);
        let (first, second) = (low.min(high), low.max(high));
        if first == second { vec![part[first]] } else { vec![part[first], part[second]] }
    };
    let last = points.last().copied();
    let mut kept: Vec<(f64, f64)> = points.chunks(stretch).flat_map(ends).collect();
    kept.extend(last.filter(|last| kept.last() != Some(last)));
    kept
}

/// An axis with the range of its values and the pixels that they are drawn on.
struct Scale<'a> {
    axis: &'a Axis,
    span: Span,
    pixels: [f64; 2],
}

impl<'a> Scale<'a> {
    fn over(axis: &'a Axis, values: impl Iterator<Item = f64>, room: f64) -> Self {
        let span = Span::over(values.map(|v| axis.place(v)), if axis.whole { 1.0 } else { 1e-12 });
        Self { axis, span: span.with_room(room, room), pixels: [0.0, 1.0] }
    }

    fn on(self, from: f64, to: f64) -> Self {
        Self { pixels: [from, to], ..self }
    }

    fn at(&self, value: f64) -> f64 {
        self.pixel(self.axis.place(value))
    }

    fn pixel(&self, place: f64) -> f64 {
        let [from, to] = self.pixels;
        (10.0 * (from + self.span.share(place) * (to - from))).round() / 10.0
    }

    fn places(&self) -> Vec<f64> {
        let plain = |least: f64| self.span.ticks(LABELS, least);
        if !self.axis.logarithmic {
            return plain(if self.axis.whole { 1.0 } else { 0.0 });
        }
        let ticks = self.span.logarithmic_ticks(LABELS);
        if ticks.len() >= 2 { ticks } else { plain(0.0) }
    }

    fn ticks(&self) -> Vec<(f64, String)> {
        self.places().into_iter().map(|place| (self.pixel(place), self.text(place))).collect()
    }

    fn text(&self, place: f64) -> String {
        let value = if self.axis.logarithmic { 10f64.powf(place) } else { place };
        if self.axis.logarithmic || self.axis.whole {
            self.axis.value_text(value)
        } else {
            let text = fixed(value, self.span.digits());
            if text.trim_matches(['-', '0', '.']).is_empty() { "0".to_string() } else { text }
        }
    }
}

impl Plot {
    pub fn figure(&self, id: &str) -> Markup {
        html! {
            figure {
                figcaption { strong { (self.title) } @if let Some((at, what)) = &self.mark {
                    " " span.soft { (what) ": " (self.x.value_text(*at)) }
                } }
                svg.plot role="img" viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } font-size="12" aria-labelledby={ (id) "-t " (id) "-d" } {
                    title id={ (id) "-t" } { (self.title) }
                    desc id={ (id) "-d" } { (self.description) }
                    (self.drawing())
                }
                @if self.series.len() > 1 || self.series.iter().any(|s| s.style != Style::Line) {
                    ul.legend {
                        @for (i, series) in self.series.iter().enumerate() { li { (swatch(i, series.style)) " " (series.name) } }
                    }
                }
                (self.numbers())
            }
        }
    }

    /// SVG document with the title above it, on white.
    fn numbers(&self) -> Markup {
        let longest = self.series.iter().map(|series| series.points.len()).max().unwrap_or(0);
        let stride = longest.div_ceil(ROWS).max(1);
        let chosen = |n: usize| (0..n).filter(move |i| i % stride == 0 || i + 1 == n);
        html! {
            details.numbers {
                summary { "Numbers" }
                div.scroll { table {
                    caption { (self.title) @if stride > 1 { ", one of " (stride) " points" } }
                    thead { tr { @for name in ["series", &self.x.name, &self.y.name, "±"] { th scope="col" { (name) } } } }
                    tbody { @for series in &self.series { @for i in chosen(series.points.len()) { tr {
                        th scope="row" { (series.name) }
                        td { (self.x.value_text(series.points[i].0)) }
                        td { (precise(series.points[i].1)) }
                        td { (series.errors.get(i).map_or(String::new(), |e| precise(*e))) }
                    } } } }
                } }
            }
        }
    }

    fn drawing(&self) -> Markup {
        let points = || self.series.iter().flat_map(|series| &series.points).chain(&self.guide);
        let errors = self.series.iter().flat_map(|series| {
            series.points.iter().zip(&series.errors).flat_map(|(p, e)| [p.1 - e, p.1 + e])
        });
        let y = Scale::over(&self.y, points().map(|p| p.1).chain(errors), 0.06).on(BOTTOM, TOP);
        let (rows, middle) = (y.ticks(), f64::midpoint(TOP, BOTTOM));
        let left = 28.0 + 7.0 * rows.iter().map(|(_, text)| text.chars().count()).max().unwrap_or(1) as f64;
        let marks = self.mark.iter().map(|mark| mark.0);
        let x = Scale::over(&self.x, points().map(|p| p.0).chain(marks), 0.015).on(left, RIGHT);
        html! {
            @for (at, text) in x.ticks() {
                line x1=(at) y1=(TOP) x2=(at) y2=(BOTTOM) stroke=(GRID) {}
                text x=(at) y=(BOTTOM + 16.0) text-anchor="middle" fill=(INK) { (text) }
            }
            @for (at, text) in rows {
                line x1=(left) y1=(at) x2=(RIGHT) y2=(at) stroke=(GRID) {}
                text x=(left - 6.0) y=(at + 4.0) text-anchor="end" fill=(INK) { (text) }
            }
            path d={ "M" (left) " " (TOP) "V" (BOTTOM) "H" (RIGHT) } fill="none" stroke=(SOFT) {}
            text x=(f64::midpoint(left, RIGHT)) y=(HEIGHT - 6.0) text-anchor="middle" fill=(SOFT) { (self.x.name) }
            text transform={ "translate(12 " (middle) ") rotate(-90)" } text-anchor="middle" fill=(SOFT) { (self.y.name) }
            @if !self.guide.is_empty() { (polyline(&x, &y, self.guide.clone(), SOFT, 1)) }
            @if let Some((at, _)) = &self.mark { line x1=(x.at(*at)) y1=(TOP) x2=(x.at(*at)) y2=(BOTTOM) stroke=(SOFT) {} }
            @for (i, series) in self.series.iter().enumerate() { (drawn(series, i, &x, &y)) }
        }
    }
}

fn pixels(x: &Scale<'_>, y: &Scale<'_>, points: impl IntoIterator<Item = (f64, f64)>) -> String {
    points.into_iter().map(|point| format!("{},{} ", x.at(point.0), y.at(point.1))).collect()
}

fn polyline(x: &Scale<'_>, y: &Scale<'_>, points: Vec<(f64, f64)>, color: Rgb, width: u32) -> Markup {
    let points = pixels(x, y, thinned(points));
    html! { polyline points=(points) fill="none" stroke=(color) stroke-width=(width) {} }
}

fn drawn(series: &Series, i: usize, x: &Scale<'_>, y: &Scale<'_>) -> Markup {
    let color = color(i, series.style);
    let is_finite = |p: &(f64, f64)| x.axis.place(p.0).is_finite() && y.axis.place(p.1).is_finite();
    let points: Vec<(f64, f64)> = series.points.iter().copied().filter(is_finite).collect();
    let known = series.points.iter().zip(&series.errors).filter(|(p, e)| is_finite(p) && e.is_finite());
    let ends = known.map(|(p, e)| [p.1 - e, p.1 + e].map(|y| (p.0, y)));
    let ends: Vec<[(f64, f64); 2]> = ends.filter(|ends| ends.iter().all(is_finite)).collect();
    if series.style == Style::Band {
        let [lower, upper] = [0, 1].map(|end| thinned(ends.iter().map(|ends| ends[end]).collect()));
        let edge = pixels(x, y, lower.into_iter().chain(upper.into_iter().rev()));
        return html! { polygon points=(edge) fill=(color) fill-opacity=(BAND) {} };
    }
    html! {
        @for [(at, low), (_, high)] in ends { line x1=(x.at(at)) y1=(y.at(low)) x2=(x.at(at)) y2=(y.at(high)) stroke=(color) {} }
        @if series.style != Style::Line { @for (at, value) in &points { (circle(i, x.at(*at), y.at(*value), color)) } }
        @if series.style != Style::Points && !points.is_empty() { (polyline(x, y, points, color, 2)) }
    }
}

/// Points of the first series are full, those of others are rings.
fn circle(i: usize, x: f64, y: f64, color: Rgb) -> Markup {
    html! {
        @if i == 0 { circle cx=(x) cy=(y) r="3" fill=(color) {} }
        @else { circle cx=(x) cy=(y) r="4" fill="none" stroke=(color) stroke-width="2" {} }
    }
}

fn color(i: usize, style: Style) -> Rgb {
    SERIES[i.saturating_sub(usize::from(style == Style::Band)) % SERIES.len()]
}

fn swatch(i: usize, style: Style) -> Markup {
    let color = color(i, style);
    html! {
        svg.plot.swatch viewBox="0 0 28 12" aria-hidden="true" {
            @if style == Style::Band { rect width="28" height="12" fill=(color) fill-opacity=(BAND) {} }
            @if matches!(style, Style::Line | Style::Both) { polyline points="0,6 28,6" fill="none" stroke=(color) stroke-width="2" {} }
            @if matches!(style, Style::Points | Style::Both) { (circle(i, 14.0, 6.0, color)) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot() -> Plot {
        let points: Vec<(f64, f64)> = (1..=5000).map(|i| (f64::from(i), 1.0 / f64::from(i))).collect();
        Plot {
            title: "Loss <of> \"x\"".to_string(),
            description: "falls & falls".to_string(),
            x: Axis::whole("epoch"),
            y: Axis::linear("loss"),
            series: vec![Series::line("a", points)],
            mark: Some((7.0, "best".to_string())),
            ..Plot::default()
        }
    }

    #[test]
    fn pictures_are_named_escaped_and_thin() {
        let text = plot().figure("p").into_string();
        assert!(text.contains("<title id=\"p-t\">Loss &lt;of&gt; &quot;x&quot;</title>"), "{text}");
        assert!(text.contains("falls &amp; falls") && !text.contains("<of>") && !text.contains("xmlns"));
        assert!(text.len() < 44_000 && text.contains(", one of 125 points"), "{}", text.len());
        assert_eq!(text.matches("<svg").count(), text.matches("</svg>").count());
    }

    #[test]
    fn series_have_lines_points_bars_and_bands() {
        let series = |style: Style| Series {
            points: vec![(1.0, 2.0), (2.0, f64::NAN), (3.0, 4.0)],
            errors: vec![0.5, 0.5, f64::NAN],
            style,
            ..Series::default()
        };
        for (style, counts) in [
            (Style::Line, [1, 0, 0]),
            (Style::Points, [0, 2, 0]),
            (Style::Both, [1, 2, 0]),
            (Style::Band, [0, 0, 1]),
        ] {
            let plot = Plot { series: vec![series(style)], ..Plot::default() };
            let text = plot.drawing().into_string();
            assert_eq!(["<polyline", "<circle", "<polygon"].map(|kind| text.matches(kind).count()), counts);
            assert!(!text.contains("NaN"), "{text}");
        }
        Plot::default().figure("empty");
    }

    #[test]
    fn thinning_keeps_the_extremes_and_the_end() {
        let mut points: Vec<(f64, f64)> = (0..10_000).map(|i| (f64::from(i), f64::from(i % 7))).collect();
        points[4321].1 = 99.0;
        points[8765].1 = -5.0;
        let kept = thinned(points.clone());
        assert!(kept.len() <= POINTS + 1, "{}", kept.len());
        assert!(kept.contains(&(4321.0, 99.0)) && kept.contains(&(8765.0, -5.0)));
        assert!(kept.is_sorted_by(|a, b| a.0 < b.0) && kept.last() == points.last());
    }

    #[test]
    fn axes_have_texts_whatever_the_numbers() {
        let texts = |axis: Axis, values: &[f64]| -> Vec<String> {
            let scale = Scale::over(&axis, values.iter().copied(), 0.015).on(0.0, 100.0);
            scale.ticks().into_iter().map(|tick| tick.1).collect()
        };
        let logarithmic = || Axis { logarithmic: true, ..Axis::linear("n") };
        assert_eq!(texts(Axis::whole("epoch"), &[1.0, 6.0]), ["1", "2", "3", "4", "5", "6"]);
        assert_eq!(texts(logarithmic(), &[0.15, 3.0]), ["0.2", "0.5", "1", "2"]);
        assert_eq!(texts(logarithmic(), &[1.0, 1e4]), ["1", "10", "100", "1000", "10000"]);
        for values in [vec![], vec![0.07], vec![0.0, 0.0], vec![f64::NAN], vec![-3.0, 1e-9]] {
            for axis in [Axis::linear("a"), Axis::whole("a"), logarithmic()] {
                assert!(texts(axis, &values).len() < 40, "{values:?}");
            }
        }
        let close = texts(Axis::linear("loss"), &[0.070_200_55, 0.070_200_59]);
        let mut distinct = close.clone();
        distinct.dedup();
        assert!(close.len() >= 3 && distinct == close, "{close:?}");
    }

    #[test]
    fn numbers_are_laid_out_apart() {
        let cases: [(&[f64], bool, bool); 7] = [
            (&[0.0, 0.5, 1.0], false, false),
            (&[1.0, 2.0, 5.0, 10.0], false, false),
            (&[3.0], false, false),
            (&[1e-6, 1e-4, 1e-2], true, false),
            (&[0.5, 10.0], true, false),
            (&[0.0, 1e-6, 1e-4, 1e-2], false, true),
            (&[1.0, 1.01, 2.0], false, true),
        ];
        for (numbers, logarithmic, equal) in cases {
            let (axis, _) = Axis::fitting("x", numbers);
            assert_eq!((axis.logarithmic, !axis.texts.is_empty()), (logarithmic, equal), "{numbers:?}");
        }
    }
}
