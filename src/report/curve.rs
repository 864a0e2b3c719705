//! Curves: a line with a marked point, for the terminal (braille) and as SVG.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, ValueFormatter};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use textplots::{AxisBuilder, Chart, LabelBuilder, LabelFormat, LineStyle, Plot, Shape};

use super::svg::{Size, draw};
use crate::error::Result;

/// A curve to be shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// What it shows.
    pub title: String,
    /// Name of the horizontal axis.
    pub x_name: String,
    /// Name of the vertical axis.
    pub y_name: String,
    /// Points, x ascending.
    pub points: Vec<(f64, f64)>,
    /// Half the height of each point's error bar; empty where there is none.
    pub errors: Vec<f64>,
    /// The point that matters.
    pub mark: (f64, f64),
    /// Whether x is drawn by its logarithm.
    pub logarithmic: bool,
}

/// Characters across of the terminal's picture.
const COLUMNS: u32 = 72;
/// Lines of the terminal's picture.
const LINES: u32 = 14;

impl Curve {
    /// Position of a number on the horizontal axis.
    fn x(&self, value: f64) -> f64 {
        if self.logarithmic { value.ln() } else { value }
    }

    /// Points whose value is a number, on the axis.
    fn drawn(&self) -> Vec<(f64, f64)> {
        let finite = self.points.iter().filter(|(_, y)| y.is_finite());
        finite.map(|&(x, y)| (self.x(x), y)).collect()
    }

    /// Smallest and largest x and y, apart from each other.
    fn ranges(&self) -> ((f64, f64), (f64, f64)) {
        let drawn = self.drawn();
        let mark = (self.x(self.mark.0), self.mark.1);
        let all = drawn.iter().chain([&mark]);
        let with_errors = self.points.iter().zip(&self.errors).flat_map(|(&(_, y), e)| [y - e, y + e]);
        let range = |values: &mut dyn Iterator<Item = f64>| {
            let (low, high) = values
                .filter(|value| value.is_finite())
                .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
            let least = 1e-9 * low.abs().max(high.abs()).max(1e-9);
            if high - low > least { (low, high) } else { (low - least, high + least) }
        };
        (range(&mut all.clone().map(|p| p.0)), range(&mut all.map(|p| p.1).chain(with_errors)))
    }

    /// The curve in braille characters, with a dotted line through the marked point.
    pub fn to_terminal(&self) -> String {
        let ((x_low, x_high), (y_low, y_high)) = self.ranges();
        let single = |points: Vec<(f64, f64)>| -> Vec<(f32, f32)> {
            points.into_iter().map(|(x, y)| (x as f32, y as f32)).collect()
        };
        let line = single(self.drawn());
        let dots = 2 * LINES;
        let height = |i: u32| y_low + (y_high - y_low) * f64::from(i) / f64::from(dots);
        let marked = single((0..=dots).map(|i| (self.x(self.mark.0), height(i))).collect());
        let (line, marked) = (Shape::Lines(&line), Shape::Points(&marked));
        let mut chart = Chart::new_with_y_range(
            2 * COLUMNS,
            4 * LINES,
            x_low as f32,
            x_high as f32,
            y_low as f32,
            y_high as f32,
        );
        let logarithmic = self.logarithmic;
        let x_label = move |x: f32| short(if logarithmic { f64::from(x).exp() } else { f64::from(x) });
        let chart = chart
            .x_axis_style(LineStyle::None)
            .y_axis_style(LineStyle::None)
            .x_label_format(LabelFormat::Custom(Box::new(x_label)))
            .y_label_format(LabelFormat::Custom(Box::new(|y| format!("{y:.6}"))))
            .lineplot(&line)
            .lineplot(&marked);
        chart.figures();
        chart.to_string()
    }

    /// The curve as an SVG document.
    ///
    /// # Errors
    /// [`Error::Numeric`](crate::Error::Numeric) when there is nothing to draw.
    pub fn to_svg(&self) -> Result<String> {
        let ((x_low, x_high), (y_low, y_high)) = self.ranges();
        let margin = |low: f64, high: f64| (low - 0.03 * (high - low))..(high + 0.05 * (high - low));
        let logarithmic = self.logarithmic;
        let line = self.drawn();
        draw(Size { width: 960, height: 600 }, |root| {
            let mut chart = ChartBuilder::on(root)
                .caption(&self.title, ("sans-serif", 22))
                .margin(16)
                .x_label_area_size(48)
                .y_label_area_size(92)
                .build_cartesian_2d(
                    Horizontal { range: margin(x_low, x_high), logarithmic },
                    margin(y_low, y_high),
                )?;
            chart
                .configure_mesh()
                .light_line_style(TRANSPARENT)
                .x_desc(&self.x_name)
                .y_desc(&self.y_name)
                .y_label_formatter(&|y| format!("{y:.6}"))
                .label_style(("sans-serif", 15))
                .draw()?;
            chart.draw_series(LineSeries::new(line.iter().copied(), BLUE.stroke_width(2)))?;
            let bars =
                self.points.iter().zip(&self.errors).filter(|((_, y), e)| y.is_finite() && e.is_finite());
            chart.draw_series(bars.map(|(&(x, y), e)| {
                PathElement::new(vec![(self.x(x), y - e), (self.x(x), y + e)], BLUE.stroke_width(1))
            }))?;
            if !self.errors.is_empty() {
                chart.draw_series(line.iter().map(|&point| Circle::new(point, 3, BLUE.filled())))?;
            }
            let mark = (self.x(self.mark.0), self.mark.1);
            chart.draw_series([Circle::new(mark, 6, RED.filled())])?;
            let label = format!("{} at {}", precise(self.mark.1), precise(self.mark.0));
            // Centered above the point: below a minimum's branches there is room.
            let shift = (-4 * label.len() as i32, -64);
            let text = Text::new(label, shift, ("sans-serif", 16));
            chart.draw_series([EmptyElement::at(mark) + text])?;
            Ok(())
        })
    }
}

/// The horizontal axis, whose texts stand at round numbers also where logarithms are drawn.
#[derive(Clone)]
struct Horizontal {
    range: Range<f64>,
    logarithmic: bool,
}

impl Ranged for Horizontal {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        RangedCoordf64::from(self.range.clone()).map(value, limit)
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if !self.logarithmic {
            return RangedCoordf64::from(self.range.clone()).key_points(hint);
        }
        let decade = |value: f64| (value / std::f64::consts::LN_10).floor() as i32;
        let decades = decade(self.range.start)..=decade(self.range.end);
        let digits: &[f64] = if decades.clone().count() > 4 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let points =
            decades.flat_map(|decade| digits.iter().map(move |digit| (digit * 10f64.powi(decade)).ln()));
        points.filter(|point| self.range.contains(point)).collect()
    }

    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

impl ValueFormatter<f64> for Horizontal {
    fn format_ext(&self, value: &f64) -> String {
        short(if self.logarithmic { value.exp() } else { *value })
    }
}

/// A number in few digits, for labels of axes.
pub(super) fn short(value: f64) -> String {
    let magnitude = value.abs();
    if value == 0.0 {
        "0".to_string()
    } else if (1e-3..1e5).contains(&magnitude) {
        let digits = (3 - magnitude.log10().floor() as i32).clamp(0, 6) as usize;
        let text = format!("{value:.digits$}");
        match text.contains('.') {
            true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
            false => text,
        }
    } else {
        let text = format!("{value:.2e}");
        text.replace(".00e", "e").replace("0e", "e")
    }
}

/// A number in seven digits.
fn precise(value: f64) -> String {
    let digits = (6 - value.abs().max(1e-12).log10().floor() as i32).clamp(0, 12) as usize;
    format!("{value:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parabola() -> Curve {
        Curve {
            title: "Loss <by> K".to_string(),
            x_name: "K".to_string(),
            y_name: "loss".to_string(),
            points: (0..101).map(|i| f64::from(i) / 50.0).map(|x| (x, 0.07 + (x - 0.5).powi(2))).collect(),
            errors: Vec::new(),
            mark: (0.5, 0.07),
            logarithmic: false,
        }
    }

    #[test]
    fn curves_are_drawn_where_they_are() {
        let text = parabola().to_terminal();
        let lines: Vec<Vec<char>> = text.lines().map(|line| line.chars().collect()).collect();
        // Blank braille is U+2800; the curve starts a ninth up and ends at the top right.
        assert!(lines[0][COLUMNS as usize - 1] != '\u{2800}', "{text}");
        assert!(lines[0][0] == '\u{2800}' && lines[LINES as usize / 2][0] == '\u{2800}', "{text}");
        assert!(lines[LINES as usize - 1][COLUMNS as usize / 4] != '\u{2800}', "{text}");
        assert!(text.contains("2.320000") && text.contains("0.070000"), "{text}");
    }

    #[test]
    fn svg_is_whole_and_marks_the_minimum() {
        let svg = parabola().to_svg().unwrap();
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"), "{svg}");
        assert!(svg.contains("0.07000000 at 0.5000000") && svg.contains("Loss &lt;by&gt; K"), "{svg}");
        assert_eq!(svg.matches("<circle").count(), 1);
        assert!(svg.matches("<polyline").count() >= 1);
    }

    #[test]
    fn flat_curves_and_single_points_are_no_problem() {
        let flat = Curve { points: vec![(1.0, 0.1), (2.0, 0.1)], mark: (1.0, 0.1), ..parabola() };
        let one = Curve { points: vec![(1.0, 0.1)], mark: (1.0, 0.1), logarithmic: true, ..parabola() };
        for curve in [flat, one] {
            assert!(curve.to_terminal().lines().count() > LINES as usize);
            curve.to_svg().unwrap();
        }
    }

    #[test]
    fn logarithmic_axes_have_round_numbers() {
        let texts = |low: f64, high: f64| -> Vec<String> {
            let axis = Horizontal { range: low.ln()..high.ln(), logarithmic: true };
            axis.key_points(10).iter().map(|point| axis.format_ext(point)).collect()
        };
        assert_eq!(texts(0.15, 3.0), ["0.2", "0.5", "1", "2"]);
        assert_eq!(texts(0.9e-6, 2e-1), ["1e-6", "1e-5", "1e-4", "0.001", "0.01", "0.1"]);
    }

    #[test]
    fn labels_are_short() {
        let short = [0.0, 0.001, 0.25, 1.0, 2.5, 100.0, 12345.0, 1e-7, 1.5e-6].map(short);
        assert_eq!(short, ["0", "0.001", "0.25", "1", "2.5", "100", "12345", "1e-7", "1.5e-6"]);
    }
}
