//! Curves: a line with a marked point, as SVG.

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, ValueFormatter};
use plotters::prelude::*;

use super::number_text::{fixed, precise, short};
use super::span::Span;
use super::svg::{Size, draw};
use gputexel_io::Result;

/// Layout of numbers on the horizontal axis of a [`Curve`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spacing {
    Linear,
    Logarithmic,
    Equal,
}

/// Ratio of the largest to the smallest number from which the axis is logarithmic.
const WIDE: f64 = 20.0;

impl Spacing {
    /// Spacing that keeps numbers apart, given in ascending order: logarithmic if they are positive over several
    /// magnitudes, linear if they are spread evenly enough, else equal.
    pub fn fitting(numbers: &[f64]) -> Self {
        let (Some(&low), Some(&high)) = (numbers.first(), numbers.last()) else { return Self::Linear };
        let logarithmic = low > 0.0 && high / low >= WIDE;
        let place = |number: f64| if logarithmic { number.log10() } else { number };
        let gaps = numbers.windows(2).map(|pair| place(pair[1]) - place(pair[0]));
        let even = (place(high) - place(low)) / (numbers.len() as f64 - 1.0).max(1.0);
        match (gaps.fold(f64::INFINITY, f64::min) < even / 4.0, logarithmic) {
            (true, _) => Self::Equal,
            (false, true) => Self::Logarithmic,
            (false, false) => Self::Linear,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    pub title: String,
    pub x_name: String,
    pub y_name: String,
    pub points: Vec<(f64, f64)>,
    /// Half the height of each point's error bar; empty if there is none.
    pub errors: Vec<f64>,
    /// The marked point, printed under the title; with [`Spacing::Equal`] one of the points.
    pub mark: (f64, f64),
    pub spacing: Spacing,
}

impl Curve {
    fn x(&self, value: f64) -> f64 {
        match self.spacing {
            Spacing::Linear => value,
            Spacing::Logarithmic => value.log10(),
            Spacing::Equal => self.points.partition_point(|point| point.0 < value) as f64,
        }
    }

    fn horizontal(&self, span: Span) -> Horizontal {
        let numbers = self.points.iter().map(|point| point.0).collect();
        Horizontal { span, spacing: self.spacing, numbers }
    }

    fn drawn(&self) -> Vec<(f64, f64)> {
        let finite = self.points.iter().filter(|(_, y)| y.is_finite());
        finite.map(|&(x, y)| (self.x(x), y)).collect()
    }

    fn spans(&self) -> (Span, Span) {
        let drawn = self.drawn();
        let mark = (self.x(self.mark.0), self.mark.1);
        let all = drawn.iter().chain([&mark]);
        let with_errors = self.points.iter().zip(&self.errors).flat_map(|(&(_, y), e)| [y - e, y + e]);
        (Span::over(all.clone().map(|p| p.0), 0.0), Span::over(all.map(|p| p.1).chain(with_errors), 0.0))
    }

    pub fn to_svg(&self) -> Result<String> {
        let (across, up) = self.spans();
        let across = match self.spacing {
            Spacing::Equal => Span::between(-0.5, self.points.len() as f64 - 0.5),
            _ => across.with_room(0.03, 0.05),
        };
        let line = self.drawn();
        // Under the title, where no line can cross it.
        let told = format!("{} at {} = {}", precise(self.mark.1), self.x_name, short(self.mark.0));
        draw(Size { width: 960, height: 600 }, |root| {
            let sheet = root.margin(16, 16, 16, 16).titled(&self.title, ("sans-serif", 22))?;
            let sheet = sheet.titled(&told, ("sans-serif", 16).into_font().color(&RED))?;
            let mut chart = ChartBuilder::on(&sheet)
                .margin_top(8)
                .x_label_area_size(48)
                .y_label_area_size(92)
                .build_cartesian_2d(self.horizontal(across), up.with_room(0.03, 0.05))?;
            chart
                .configure_mesh()
                .light_line_style(TRANSPARENT)
                .x_desc(&self.x_name)
                .y_desc(&self.y_name)
                .y_label_formatter(&|y| fixed(*y, 6))
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
            Ok(())
        })
    }
}

/// The horizontal axis, labeled at round numbers, also if it is logarithmic, and at the points if these are
/// equally far apart.
#[derive(Clone)]
struct Horizontal {
    span: Span,
    spacing: Spacing,
    numbers: Vec<f64>,
}

const TEXTS: usize = 16;

impl Ranged for Horizontal {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        self.span.map(value, limit)
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        match self.spacing {
            Spacing::Linear => self.span.key_points(hint),
            Spacing::Equal => {
                let stride = self.numbers.len().div_ceil(TEXTS).max(1);
                (0..self.numbers.len()).step_by(stride).map(|i| i as f64).collect()
            }
            Spacing::Logarithmic => self.span.logarithmic_ticks(TEXTS),
        }
    }

    fn range(&self) -> std::ops::Range<f64> {
        self.span.range()
    }
}

impl ValueFormatter<f64> for Horizontal {
    fn format_ext(&self, value: &f64) -> String {
        match self.spacing {
            Spacing::Linear => short(*value),
            Spacing::Logarithmic => short(10f64.powf(*value)),
            Spacing::Equal => self.numbers.get(value.round() as usize).map(|n| short(*n)).unwrap_or_default(),
        }
    }
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
            spacing: Spacing::Linear,
        }
    }

    #[test]
    fn svg_is_whole_and_marks_the_minimum() {
        let svg = parabola().to_svg().unwrap();
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"), "{svg}");
        assert!(svg.contains("0.07 at K = 0.5") && svg.contains("Loss &lt;by&gt; K"), "{svg}");
        assert_eq!(svg.matches("<circle").count(), 1);
        assert!(svg.matches("<polyline").count() >= 1);
    }

    #[test]
    fn flat_curves_and_single_points_are_no_problem() {
        let flat = Curve { points: vec![(1.0, 0.1), (2.0, 0.1)], mark: (1.0, 0.1), ..parabola() };
        let one =
            Curve { points: vec![(1.0, 0.1)], mark: (1.0, 0.1), spacing: Spacing::Logarithmic, ..parabola() };
        for curve in [flat, one] {
            curve.to_svg().unwrap();
        }
    }

    #[test]
    fn logarithmic_axes_have_round_numbers() {
        let texts = |low: f64, high: f64| -> Vec<String> {
            let span = Span::between(low.log10(), high.log10());
            let axis = Horizontal { span, spacing: Spacing::Logarithmic, numbers: Vec::new() };
            axis.key_points(10).iter().map(|point| axis.format_ext(point)).collect()
        };
        assert_eq!(texts(0.15, 3.0), ["0.2", "0.5", "1", "2"]);
        assert_eq!(texts(0.9e-6, 2e-1), ["1e-6", "1e-5", "1e-4", "0.001", "0.01", "0.1"]);
    }

    #[test]
    fn numbers_are_laid_out_apart() {
        let cases: [(&[f64], Spacing); 8] = [
            (&[0.0, 0.5, 1.0], Spacing::Linear),
            (&[1.0, 2.0, 5.0, 10.0], Spacing::Linear),
            (&[3.0], Spacing::Linear),
            (&[1e-6, 1e-4, 1e-2], Spacing::Logarithmic),
            (&[0.5, 10.0], Spacing::Logarithmic),
            (&[0.0, 1e-6, 1e-4, 1e-2], Spacing::Equal),
            (&[1.0, 1.01, 2.0], Spacing::Equal),
            (&[1e-6, 1.1e-6, 1e-2], Spacing::Equal),
        ];
        for (numbers, spacing) in cases {
            assert_eq!(Spacing::fitting(numbers), spacing, "{numbers:?}");
        }
        let points = [(0.0, 0.3), (1e-6, 0.2), (1e-4, f64::NAN), (1e-2, 0.4)];
        let curve = Curve {
            points: points.into(),
            errors: vec![0.1; 4],
            mark: points[1],
            spacing: Spacing::Equal,
            ..parabola()
        };
        assert_eq!(curve.drawn(), [(0.0, 0.3), (1.0, 0.2), (3.0, 0.4)]);
        let svg = curve.to_svg().unwrap();
        assert!(svg.contains("0.2 at K = 1e-6"), "{svg}");
        for text in ["0", "1e-6", "1e-4", "0.01"] {
            assert_eq!(svg.matches(&format!("\n{text}\n</text>")).count(), 1, "{text}: {svg}");
        }
    }
}
