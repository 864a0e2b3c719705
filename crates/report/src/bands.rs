//! Percentile bands over time, one panel per run, for distributions that change.

use plotters::prelude::*;

use super::number_text::short;
use super::span::Span;
use super::svg::{Size, draw};
use gputexel_io::Result;

/// Percentiles of a distribution over time.
#[derive(Clone, Debug, PartialEq)]
pub struct BandPanel {
    pub title: String,
    /// Horizontal positions, ascending, with the values at 5, 25, 50, 75 and 95 %.
    pub points: Vec<(f64, [f64; 5])>,
}

/// Panels side by side, on the same scales.
#[derive(Clone, Debug, PartialEq)]
pub struct Bands {
    pub title: String,
    pub x_name: String,
    pub y_name: String,
    pub panels: Vec<BandPanel>,
}

impl Bands {
    /// Bands as an SVG document: 5 to 95 % light, the quartiles dark, the median a line.
    pub fn to_svg(&self) -> Result<String> {
        let columns = (1..).find(|c| c * c >= self.panels.len()).unwrap_or(1).max(1);
        let rows = self.panels.len().div_ceil(columns).max(1);
        let all = || self.panels.iter().flat_map(|panel| &panel.points);
        let x = Span::over(all().map(|point| point.0), 1e-9).with_room(0.0, 0.04);
        let y = Span::over(all().flat_map(|point| point.1), 1e-9).with_room(0.04, 0.04);
        let single = columns == 1;
        let size = if single {
            Size { width: 960, height: 600 }
        } else {
            Size { width: 420 * columns as u32, height: 300 * rows as u32 + 60 }
        };
        draw(size, |root| {
            let sheet = root.margin(12, 12, 12, 12).titled(&self.title, ("sans-serif", 22))?;
            for (panel, area) in self.panels.iter().zip(sheet.split_evenly((rows, columns))) {
                let mut chart = ChartBuilder::on(&area)
                    .caption(&panel.title, ("sans-serif", 15))
                    .margin(6)
                    .x_label_area_size(40)
                    .y_label_area_size(58)
                    .build_cartesian_2d(x, y)?;
                chart
                    .configure_mesh()
                    .light_line_style(TRANSPARENT)
                    .x_labels(if single { 10 } else { 5 })
                    .x_desc(&self.x_name)
                    .y_desc(&self.y_name)
                    .x_label_formatter(&|x| short(*x))
                    .y_label_formatter(&|y| short(*y))
                    .label_style(("sans-serif", if single { 15 } else { 12 }))
                    .draw()?;
                for (low, high, ink) in [(0, 4, 0.18), (1, 3, 0.35)] {
                    let there = panel.points.iter().map(|(x, p)| (*x, p[high]));
                    let back = panel.points.iter().rev().map(|(x, p)| (*x, p[low]));
                    chart
                        .draw_series([Polygon::new(there.chain(back).collect::<Vec<_>>(), BLUE.mix(ink))])?;
                }
                let median = panel.points.iter().map(|(x, p)| (*x, p[2]));
                chart.draw_series(LineSeries::new(median, BLUE.stroke_width(2)))?;
            }
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_panel_has_two_bands_and_a_median() {
        let spread = |x: f64| (x, [x - 2.0, x - 1.0, x, x + 1.0, x + 2.0]);
        let panel = |title: &str| BandPanel {
            title: title.to_string(),
            points: (0..50).map(|x| spread(f64::from(x))).collect(),
        };
        let text = |name: &str| name.to_string();
        let panels = vec![panel("a <b>"), panel("c"), panel("d")];
        let bands = Bands { title: text("Gain"), x_name: text("pairs"), y_name: text("Elo"), panels };
        let svg = bands.to_svg().unwrap();
        assert!(svg.starts_with("<svg") && svg.contains("a &lt;b&gt;"), "{svg}");
        assert_eq!(svg.matches("<polygon").count(), 6);
        Bands { panels: vec![BandPanel { title: text("flat"), points: vec![(0.0, [1.0; 5])] }], ..bands }
            .to_svg()
            .unwrap();
    }
}
