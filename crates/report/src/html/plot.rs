//! Pictures of the page: lines and points on two axes, drawn by `plotters`, with a title and a description for
//! screen readers. They are small, so that their texts are legible on a phone.

use maud::{Markup, PreEscaped, html};
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, ValueFormatter};
use plotters::prelude::*;

use super::super::number_text::{fixed, short};
use super::super::span::Span;
use super::super::svg::{DrawingError, Sheet, Size, draw_clear};
use super::number::{ordinal, precise};
use super::palette::{GRID, INK, SERIES, SOFT};
use gputexel_io::Result;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    Line,
    Points,
    /// A line through points with error bars.
    Both,
    /// The area within the errors, in the color of the series before it.
    Band,
}

#[derive(Clone, Debug)]
pub(super) struct Series {
    pub name: String,
    pub points: Vec<(f64, f64)>,
    /// Half the heights of error bars or of a band; may be empty.
    pub errors: Vec<f64>,
    pub style: Style,
}

#[derive(Clone, Debug)]
pub(super) struct Axis {
    pub name: String,
    pub logarithmic: bool,
    pub whole: bool,
    /// Labels of the positions 0, 1, …, for values that are not numbers or not spread evenly.
    pub texts: Vec<String>,
}

impl Axis {
    pub(super) fn linear(name: &str) -> Self {
        Self { name: name.to_string(), logarithmic: false, whole: false, texts: Vec::new() }
    }

    pub(super) fn logarithmic(name: &str) -> Self {
        Self { logarithmic: true, ..Self::linear(name) }
    }

    pub(super) fn whole(name: &str) -> Self {
        Self { whole: true, ..Self::linear(name) }
    }

    pub(super) fn of_texts(name: &str, texts: Vec<String>) -> Self {
        Self { texts, ..Self::whole(name) }
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

#[derive(Clone, Debug)]
pub(super) struct Plot {
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
const HINTS: usize = 40;
const ROWS: usize = 40;
const BAND: f64 = 0.25;
pub(super) const WIDTH: u32 = 420;
pub(super) const HEIGHT: u32 = 270;
pub(super) const LABELS: usize = 6;
const FONT: i32 = 15; // plotters draws texts a quarter smaller than it says

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

#[derive(Clone)]
pub(super) struct Drawn {
    axis: Axis,
    span: Span,
}

impl Drawn {
    pub(super) fn over(axis: &Axis, values: impl Iterator<Item = f64>, tight: bool) -> Self {
        let span = Span::over(values.map(|v| axis.place(v)), if axis.whole { 1.0 } else { 1e-12 });
        let room = if tight { 0.015 } else { 0.06 };
        Self { axis: axis.clone(), span: span.with_room(room, room) }
    }

    fn ticks(&self, most: usize) -> Vec<f64> {
        let plain = |least: f64| self.span.ticks(most, least);
        if !self.axis.logarithmic {
            return plain(if self.axis.whole { 1.0 } else { 0.0 });
        }
        let ticks = self.span.logarithmic_ticks(most);
        if ticks.len() >= 2 { ticks } else { plain(0.0) }
    }

    pub(super) fn text_width(&self, most: usize) -> usize {
        self.ticks(most).iter().map(|tick| self.text(*tick).len()).max().unwrap_or(1)
    }

    fn text(&self, place: f64) -> String {
        let value = if self.axis.logarithmic { 10f64.powf(place) } else { place };
        match self.axis.logarithmic || self.axis.whole {
            true => self.axis.value_text(value),
            false => {
                let text = fixed(value, self.span.digits());
                if text.trim_matches(['-', '0', '.']).is_empty() { "0".to_string() } else { text }
            }
        }
    }
}

impl Ranged for Drawn {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        self.span.map(value, limit)
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        self.ticks(hint.max_num_points())
    }

    fn range(&self) -> std::ops::Range<f64> {
        self.span.range()
    }
}

impl ValueFormatter<f64> for Drawn {
    fn format_ext(&self, place: &f64) -> String {
        self.text(*place)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Hint {
    at: (i32, i32),
    text: String,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub texts: usize,
    pub labels: usize,
    pub first: usize,
    pub below: bool,
}

impl Plot {
    pub(super) fn figure(&self, id: &str) -> Result<Markup> {
        self.figure_from(id, 0)
    }

    pub(super) fn figure_from(&self, id: &str, first: usize) -> Result<Markup> {
        let picture = self.svg(id, first)?;
        Ok(html! {
            figure {
                figcaption { strong { (self.title) } @if let Some((at, what)) = &self.mark {
                    " " span.soft { (what) ": " (self.x.value_text(*at)) }
                } }
                (picture)
                @if self.series.len() > 1 || self.series.iter().any(|s| s.style != Style::Line) {
                    ul.legend {
                        @for (i, series) in self.series.iter().enumerate() { li { (swatch(first + i, series.style)) " " (series.name) } }
                    }
                }
                (self.numbers("Numbers"))
            }
        })
    }

    pub(super) fn numbers(&self, name: &str) -> Markup {
        let longest = self.series.iter().map(|series| series.points.len()).max().unwrap_or(0);
        let stride = longest.div_ceil(ROWS).max(1);
        let shared = self.series.windows(2).all(|pair| {
            pair[0].points.len() == pair[1].points.len()
                && pair[0].points.iter().zip(&pair[1].points).all(|(a, b)| a.0 == b.0)
        });
        let chosen = |n: usize| (0..n).filter(move |i| i % stride == 0 || i + 1 == n);
        html! {
            details.numbers {
                summary { (name) }
                div.scroll { table {
                    caption { (self.title) @if stride > 1 { ", every " (ordinal(stride)) " point" } }
                    @if shared {
                        thead { tr { th scope="col" { (self.x.name) } @for series in &self.series {
                            th scope="col" { (series.name) }
                            @if !series.errors.is_empty() { th scope="col" { "±" } }
                        } } }
                        tbody { @for i in chosen(longest) { tr {
                            th scope="row" { (self.x.value_text(self.series[0].points[i].0)) }
                            @for series in &self.series {
                                td { (precise(series.points[i].1)) }
                                @if !series.errors.is_empty() { td { (precise(series.errors[i])) } }
                            }
                        } } }
                    } @else {
                        thead { tr { th scope="col" { "series" } th scope="col" { (self.x.name) } th scope="col" { (self.y.name) } th scope="col" { "±" } } }
                        tbody { @for series in &self.series { @for i in chosen(series.points.len()) { tr {
                            th scope="row" { (series.name) }
                            td { (self.x.value_text(series.points[i].0)) }
                            td { (precise(series.points[i].1)) }
                            td { (series.errors.get(i).map_or(String::new(), |e| precise(*e))) }
                        } } } }
                    }
                } }
            }
        }
    }

    pub(super) fn across(&self) -> Drawn {
        let points = self.series.iter().flat_map(|series| &series.points);
        let mark = self.mark.iter().map(|mark| mark.0);
        Drawn::over(&self.x, points.map(|p| p.0).chain(self.guide.iter().map(|p| p.0)).chain(mark), true)
    }

    pub(super) fn up(&self) -> Drawn {
        let points = self.series.iter().flat_map(|series| &series.points).map(|p| p.1);
        let errors = self.series.iter().flat_map(|series| {
            series.points.iter().zip(&series.errors).flat_map(|(p, e)| [p.1 - e, p.1 + e])
        });
        Drawn::over(&self.y, points.chain(errors).chain(self.guide.iter().map(|p| p.1)), false)
    }

    fn svg(&self, id: &str, first: usize) -> Result<Markup> {
        let (x, y) = (self.across(), self.up());
        let frame = Frame { texts: y.text_width(LABELS), labels: LABELS, first, below: true };
        let mut hints = Vec::new();
        let size = Size { width: WIDTH, height: HEIGHT };
        let document = draw_clear(size, |root| self.draw(root, x, y, frame, &mut hints))?;
        Ok(named(&document, id, &self.title, &self.description, &hints))
    }

    pub(super) fn draw<'a>(
        &self,
        root: &Sheet<'a>,
        x: Drawn,
        y: Drawn,
        frame: Frame,
        hints: &mut Vec<Hint>,
    ) -> std::result::Result<(), DrawingError<'a>> {
        let place = |p: &(f64, f64)| (self.x.place(p.0), self.y.place(p.1));
        let finite = |p: &(f64, f64)| p.0.is_finite() && p.1.is_finite();
        let (low, high, texts) = (y.span.low(), y.span.high(), x.clone());
        let mut chart = ChartBuilder::on(root)
            .margin_top(8)
            .margin_right(14)
            .margin_left(2)
            .x_label_area_size(if frame.below { 40 } else { 4 })
            .y_label_area_size(26 + 7 * frame.texts as u32)
            .build_cartesian_2d(x, y)?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(GRID)
            .axis_style(SOFT)
            .x_labels(LABELS)
            .y_labels(frame.labels)
            .x_label_formatter(&|place| if frame.below { texts.text(*place) } else { String::new() })
            .x_desc(if frame.below { self.x.name.as_str() } else { "" })
            .y_desc(&self.y.name)
            .axis_desc_style(("sans-serif", FONT).into_font().color(&SOFT))
            .label_style(("sans-serif", FONT).into_font().color(&INK))
            .draw()?;
        if !self.guide.is_empty() {
            chart.draw_series(LineSeries::new(self.guide.iter().map(place), SOFT.stroke_width(1)))?;
        }
        if let Some((at, _)) = &self.mark {
            let at = self.x.place(*at);
            chart.draw_series(LineSeries::new([(at, low), (at, high)], SOFT.stroke_width(1)))?;
        }
        for (i, series) in self.series.iter().enumerate() {
            let color = color(frame.first + i, series.style);
            let known = series.points.iter().zip(&series.errors).filter(|(p, e)| finite(p) && e.is_finite());
            let ends = known.map(|(p, e)| [p.1 - e, p.1 + e].map(|y| place(&(p.0, y))));
            if series.style == Style::Band {
                let ends: Vec<[(f64, f64); 2]> = ends.collect();
                let [lower, upper] = [0, 1].map(|end| thinned(ends.iter().map(|ends| ends[end]).collect()));
                let edge: Vec<(f64, f64)> = lower.into_iter().chain(upper.into_iter().rev()).collect();
                chart.draw_series([Polygon::new(edge, color.mix(BAND))])?;
            } else {
                chart.draw_series(ends.map(|ends| PathElement::new(ends.to_vec(), color.stroke_width(1))))?;
            }
            let drawn: Vec<(f64, f64)> = series.points.iter().map(place).filter(finite).collect();
            if matches!(series.style, Style::Points | Style::Both) {
                match frame.first + i {
                    0 => chart.draw_series(drawn.iter().map(|p| Circle::new(*p, 3, color.filled())))?,
                    _ => {
                        chart.draw_series(drawn.iter().map(|p| Circle::new(*p, 4, color.stroke_width(2))))?
                    }
                };
            }
            if matches!(series.style, Style::Line | Style::Both) {
                chart.draw_series(LineSeries::new(thinned(drawn), color.stroke_width(2)))?;
            }
            let stride = series.points.len().div_ceil(HINTS).max(1);
            for (n, point) in series.points.iter().enumerate() {
                let known = finite(point) && finite(&place(point));
                if known && (n % stride == 0 || n + 1 == series.points.len()) {
                    let at = chart.backend_coord(&place(point));
                    let (name, x) = (&series.name, self.x.value_text(point.0));
                    let error = series.errors.get(n).filter(|error| error.is_finite());
                    let error = error.map(|error| format!(" ± {}", precise(*error))).unwrap_or_default();
                    let text = format!("{name}: {}{error} ({} {x})", precise(point.1), self.x.name);
                    hints.push(Hint { at, text });
                }
            }
        }
        Ok(())
    }
}

pub(super) fn named(document: &str, id: &str, title: &str, description: &str, hints: &[Hint]) -> Markup {
    let (head, body) = document.split_once('>').unwrap_or((document, ""));
    let view = head.split("viewBox=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or("0 0 1 1");
    let body = body.trim_end().trim_end_matches("</svg>");
    html! {
        svg.plot role="img" viewBox=(view) aria-labelledby={ (id) "-t " (id) "-d" } {
            title id={ (id) "-t" } { (title) }
            desc id={ (id) "-d" } { (description) }
            (PreEscaped(body))
            @if !hints.is_empty() { g.hints aria-hidden="true" { @for Hint { at, text } in hints {
                circle cx=(at.0) cy=(at.1) r="6" { title { (text) } }
            } } }
        }
    }
}

fn color(i: usize, style: Style) -> RGBColor {
    SERIES[i.saturating_sub(usize::from(style == Style::Band)) % SERIES.len()]
}

pub(super) fn swatch(i: usize, style: Style) -> Markup {
    let color = color(i, style);
    let color = format!("#{:02X}{:02X}{:02X}", color.0, color.1, color.2);
    html! {
        svg.plot.swatch viewBox="0 0 28 12" aria-hidden="true" {
            @if style == Style::Band { rect width="28" height="12" fill=(color) fill-opacity=(BAND) {} }
            @if matches!(style, Style::Line | Style::Both) { polyline points="0,6 28,6" fill="none" stroke=(color) stroke-width="2" {} }
            @if matches!(style, Style::Points | Style::Both) {
                @if i == 0 { circle cx="14" cy="6" r="4" fill=(color) {} }
                @else { circle cx="14" cy="6" r="4" fill="none" stroke=(color) stroke-width="2" {} }
            }
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
            series: vec![Series { name: "a".to_string(), points, errors: Vec::new(), style: Style::Line }],
            mark: Some((7.0, "best".to_string())),
            guide: Vec::new(),
        }
    }

    #[test]
    fn pictures_are_named_escaped_and_thin() {
        let text = plot().figure("p").unwrap().into_string();
        assert!(
            text.contains("role=\"img\"")
                && text.contains("<title id=\"p-t\">Loss &lt;of&gt; &quot;x&quot;</title>")
        );
        assert!(text.contains("falls &amp; falls") && !text.contains("xmlns") && !text.contains("<of>"));
        assert!(text.len() < 44_000, "{}", text.len());
        // A point has a tooltip, without a script.
        assert!(text.contains("<title>a: 1 (epoch 1)</title>"), "{text}");
        assert!((HINTS..=HINTS + 1).contains(&text.matches("<circle").count()));
        assert_eq!(text.matches("<svg").count(), text.matches("</svg>").count());
    }

    #[test]
    fn tables_of_numbers_say_which_they_have() {
        for (count, expected) in [
            (40, ""),
            (41, ", every second point"),
            (100, ", every third point"),
            (830, ", every 21st point"),
        ] {
            let mut plot = plot();
            plot.series[0].points.truncate(count);
            plot.series[0].points[0].1 = -1e-10;
            let text = plot.numbers("Numbers").into_string();
            assert!(text.contains("<td>0</td>") && !text.contains("<td>-0"), "{text}");
            assert!(text.contains(&format!("x&quot;{expected}</caption>")), "{text}");
        }
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
        let whole = Drawn::over(&Axis::whole("epoch"), [1.0, 7.0].into_iter(), true);
        assert_eq!(
            whole.ticks(10).iter().map(|t| whole.text(*t)).collect::<Vec<_>>(),
            ["1", "2", "3", "4", "5", "6", "7"]
        );
        let wide = Drawn::over(&Axis::logarithmic("positions"), [1.0, 1e6].into_iter(), true);
        assert_eq!(
            wide.ticks(10).iter().map(|t| wide.text(*t)).collect::<Vec<_>>(),
            ["1", "10", "100", "1000", "10000", "1e5", "1e6"]
        );
        for values in [vec![], vec![0.07], vec![0.0, 0.0], vec![f64::NAN], vec![-3.0, 1e-9]] {
            for axis in [Axis::linear("a"), Axis::whole("a"), Axis::logarithmic("a")] {
                let drawn = Drawn::over(&axis, values.iter().copied(), false);
                assert!(
                    drawn.span.low() < drawn.span.high() && drawn.ticks(6).len() < 40,
                    "{values:?} {axis:?}"
                );
            }
        }
        let mut empty = plot();
        empty.series[0].points.clear();
        empty.figure("e").unwrap();
        let close = Drawn::over(&Axis::linear("loss"), [0.070_200_55, 0.070_200_59].into_iter(), false);
        let texts: Vec<String> = close.ticks(6).iter().map(|t| close.text(*t)).collect();
        let mut distinct = texts.clone();
        distinct.dedup();
        assert!(texts.len() >= 3 && distinct == texts, "{texts:?}");
    }
}
