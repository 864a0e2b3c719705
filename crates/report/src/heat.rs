//! Heat maps: a value for each pair of two settings, as SVG.

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, ValueFormatter};
use plotters::prelude::*;

use super::number_text::fixed;
use super::svg::{Size, draw};
use gputexel_io::Result;

/// A table of values shown as colors, low ones dark.
#[derive(Clone, Debug, PartialEq)]
pub struct HeatMap {
    pub title: String,
    pub x_name: String,
    pub y_name: String,
    pub columns: Vec<String>,
    pub rows: Vec<String>,
    pub values: Vec<f64>,
}

const LABELED: usize = 240;
const TEXTS: usize = 24;

impl HeatMap {
    /// 0 for the lowest value, ½ for the median, and toward 1 for the highest, so that outliers do not use up the
    /// colors.
    fn shares(&self) -> Vec<f64> {
        let mut finite: Vec<f64> = self.values.iter().copied().filter(|v| v.is_finite()).collect();
        finite.sort_by(f64::total_cmp);
        let low = finite.first().copied().unwrap_or(0.0);
        // A quarter of the difference, since it may overflow.
        let above = |value: f64| value / 4.0 - low / 4.0;
        let middle = finite.get(finite.len() / 2).map_or(1.0, |median| above(*median).max(1e-300));
        self.values.iter().map(|value| above(*value) / (above(*value) + middle)).collect()
    }

    /// Map as an SVG document; the lowest value is framed.
    pub fn to_svg(&self) -> Result<String> {
        let columns = self.columns.len();
        let shares = self.shares();
        let order = |&a: &usize, &b: &usize| self.values[a].total_cmp(&self.values[b]);
        let best = (0..self.values.len()).filter(|&i| self.values[i].is_finite()).min_by(order);
        draw(Size { width: 960, height: 640 }, |root| {
            let mut chart = ChartBuilder::on(root)
                .caption(&self.title, ("sans-serif", 20))
                .margin(16)
                .x_label_area_size(56)
                .y_label_area_size(110)
                .build_cartesian_2d(Texts(self.columns.clone()), Texts(self.rows.clone()))?;
            chart
                .configure_mesh()
                .disable_mesh()
                .x_desc(&self.x_name)
                .y_desc(&self.y_name)
                .label_style(("sans-serif", 14))
                .draw()?;
            let corners = |i: usize| {
                let (x, y) = ((i % columns) as f64, (i / columns) as f64);
                [(x - 0.5, y - 0.5), (x + 0.5, y + 0.5)]
            };
            let cells = (0..self.values.len()).filter(|&i| self.values[i].is_finite());
            chart
                .draw_series(cells.clone().map(|i| Rectangle::new(corners(i), color(shares[i]).filled())))?;
            if self.values.len() <= LABELED {
                let size = (820 / columns.max(1) / 5).clamp(7, 15) as i32;
                chart.draw_series(cells.map(|i| {
                    let ink = if shares[i] < 0.45 { WHITE } else { BLACK };
                    let text = fixed(self.values[i], 6);
                    let shift = (-(text.len() as i32) * size * 27 / 100, -size / 2);
                    let style = ("sans-serif", size).into_font().color(&ink);
                    EmptyElement::at(((i % columns) as f64, (i / columns) as f64))
                        + Text::new(text, shift, style)
                }))?;
            }
            if let Some(best) = best {
                chart.draw_series([Rectangle::new(corners(best), RED.stroke_width(3))])?;
            }
            Ok(())
        })
    }
}

/// An axis of cells: the i-th is centered at i and has the i-th label.
#[derive(Clone)]
struct Texts(Vec<String>);

impl Ranged for Texts {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let share = (value + 0.5) / self.0.len() as f64;
        limit.0 + (share * f64::from(limit.1 - limit.0)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        let stride = self.0.len().div_ceil(TEXTS).max(1);
        (0..self.0.len()).step_by(stride).map(|i| i as f64).collect()
    }

    fn range(&self) -> std::ops::Range<f64> {
        -0.5..self.0.len() as f64 - 0.5
    }
}

impl ValueFormatter<f64> for Texts {
    fn format_ext(&self, value: &f64) -> String {
        self.0.get(*value as usize).cloned().unwrap_or_default()
    }
}

fn color(share: f64) -> RGBColor {
    const STOPS: [[f64; 3]; 4] =
        [[28.0, 36.0, 104.0], [32.0, 122.0, 140.0], [122.0, 198.0, 110.0], [250.0, 240.0, 170.0]];
    let place = share.clamp(0.0, 1.0) * 3.0;
    let stop = (place as usize).min(2);
    let part = |c: usize| {
        (STOPS[stop][c] + (place - stop as f64) * (STOPS[stop + 1][c] - STOPS[stop][c])).round() as u8
    };
    RGBColor(part(0), part(1), part(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_has_its_cell_and_the_best_a_frame() {
        let map = HeatMap {
            title: "t".to_string(),
            x_name: "l2".to_string(),
            y_name: "k".to_string(),
            columns: ["0", "1e-4", "1e-3"].map(str::to_string).into(),
            rows: ["0.8", "0.9"].map(str::to_string).into(),
            values: vec![0.3, 0.1, 0.2, f64::NAN, 0.4, 1e9],
        };
        let svg = map.to_svg().unwrap();
        // Sheet, five cells, frame.
        assert_eq!(svg.matches("<rect").count(), 1 + 5 + 1, "{svg}");
        for text in ["0.100000", "0.400000", "1e-3", "0.9", "l2", "#1C2468"] {
            assert!(svg.contains(text), "{text}: {svg}");
        }
        assert!(!svg.contains("NaN"));
        let shares = map.shares();
        assert!(shares[1] == 0.0 && (shares[0] - 0.5).abs() < 1e-12 && shares[5] > 0.99);
        let many = Texts((0..100).map(|i| i.to_string()).collect());
        let shown = many.key_points(100);
        assert_eq!((shown.len(), many.format_ext(&shown[1])), (20, "5".to_string()));
        assert_eq!(many.map(&99.5, (0, 600)), 600);
    }
}
