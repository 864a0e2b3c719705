//! Curves: a line with a marked point, as SVG.

use super::html::{Axis, Plot, Series, Style};
use super::number_text::{precise, short};

/// Ratio of the largest to the smallest number from which an axis is logarithmic.
const WIDE: f64 = 20.0;

impl Axis {
    /// Axis that keeps numbers apart, given in ascending order, with the places of these on it: logarithmic if they
    /// are positive over several magnitudes, linear if they are spread evenly enough, else with equal distances.
    pub(super) fn fitting(name: &str, numbers: &[f64]) -> (Self, Vec<f64>) {
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
}

#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    pub title: String,
    pub x_name: String,
    pub y_name: String,
    /// Ascending.
    pub points: Vec<(f64, f64)>,
    /// Half the height of each point's error bar; empty if there is none.
    pub errors: Vec<f64>,
    /// The marked point, one of the points or between them.
    pub mark: (f64, f64),
}

impl Curve {
    pub fn to_svg(&self) -> String {
        let numbers: Vec<f64> = self.points.iter().map(|point| point.0).collect();
        let (x, places) = Axis::fitting(&self.x_name, &numbers);
        let (at, value) = self.mark;
        let mark = match x.texts.is_empty() {
            true => at,
            false => numbers.partition_point(|number| *number < at) as f64,
        };
        let told = format!("{} at {} = {}", precise(value), self.x_name, short(at));
        let points = places.into_iter().zip(&self.points).map(|(place, point)| (place, point.1));
        let style = if self.errors.is_empty() { Style::Line } else { Style::Both };
        let errors = self.errors.clone();
        let curve = Series { points: points.collect(), errors, style, ..Series::default() };
        let lowest = Series { points: vec![(mark, value)], style: Style::Points, ..Series::default() };
        Plot {
            title: format!("{}: {told}", self.title),
            x,
            y: Axis::linear(&self.y_name),
            series: vec![curve, lowest],
            ..Plot::default()
        }
        .document()
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
        }
    }

    #[test]
    fn curves_mark_the_minimum() {
        let svg = parabola().to_svg();
        assert!(svg.contains("Loss &lt;by&gt; K: 0.07 at K = 0.5"), "{svg}");
        assert_eq!((svg.matches("<circle").count(), svg.matches("<polyline").count()), (1, 1));
        let points = vec![(0.0, 0.3), (1e-6, 0.2), (1e-4, f64::NAN), (1e-2, 0.4)];
        let svg = Curve { mark: points[1], points, errors: vec![0.1; 4], ..parabola() }.to_svg();
        for text in [">0<", ">1e-6<", ">1e-4<", ">0.01<"] {
            assert_eq!(svg.matches(text).count(), 1, "{text}: {svg}");
        }
        Curve { points: vec![(1.0, 0.1)], mark: (1.0, 0.1), ..parabola() }.to_svg();
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
