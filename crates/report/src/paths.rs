//! Paths of parameters over an SPSA run, scaled to be comparable.

use plotters::prelude::*;

use super::number_text::short;
use super::span::Span;
use super::svg::{Size, draw};
use gputexel_io::Result;

/// Number of parameters that get a color and a line of the legend: those that moved farthest.
const NAMED: usize = 24;

/// Colors that everyone can see on white; once all are used, lines are dashed, then dotted.
const COLORS: [RGBColor; 8] = [
    RGBColor(0x0b, 0x62, 0xc4),
    RGBColor(0xb3, 0x47, 0x00),
    RGBColor(0x6b, 0x3f, 0xa0),
    RGBColor(0x0f, 0x76, 0x62),
    RGBColor(0xb0, 0x1e, 0x68),
    RGBColor(0x6b, 0x62, 0x00),
    RGBColor(0x1c, 0x20, 0x26),
    RGBColor(0x7f, 0x6a, 0x5c),
];

/// Lengths of dashes and of the gaps between them, pixels, by the number of times the colors are used up.
const DASHES: [[i32; 2]; 3] = [[1, 0], [9, 5], [2, 4]];

#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    pub name: String,
    /// Unit of the vertical axis: the perturbation c at the end.
    pub unit: f64,
    /// Pairs played, ascending from 0, and the values then.
    pub points: Vec<(f64, f64)>,
}

impl Path {
    fn scaled(&self) -> impl Iterator<Item = (f64, f64)> + Clone {
        let start = self.points.first().map_or(0.0, |point| point.1);
        self.points.iter().map(move |(x, value)| (*x, (value - start) / self.unit))
    }

    fn moved(&self) -> f64 {
        self.scaled().last().map_or(0.0, |point| point.1.abs())
    }
}

/// Paths of parameters, each as its change from the start in units of its perturbation. All fit into one
/// picture, and changes are large relative to the perturbations.
#[derive(Clone, Debug, PartialEq)]
pub struct Paths {
    pub title: String,
    pub x_name: String,
    /// End of the axis, though the paths may not have reached it yet.
    pub x_end: f64,
    pub paths: Vec<Path>,
}

impl Paths {
    pub fn to_svg(&self) -> Result<String> {
        let all = || self.paths.iter().flat_map(Path::scaled).map(|point| point.1);
        let up = Span::over(all().chain([0.0]), 0.005).with_room(0.05, 0.05);
        let x_end = self.x_end.max(1.0);
        let mut order: Vec<&Path> = self.paths.iter().collect();
        // Those that moved least are drawn first, below the others.
        order.sort_by(|a, b| a.moved().total_cmp(&b.moved()));
        let gray = order.len().saturating_sub(NAMED);
        let legend = (order.len() - gray) as u32;
        let height = 600.max(110 + 22 * legend);
        draw(Size { width: 1280, height }, |root| {
            let sheet = root.margin(12, 12, 12, 12).titled(&self.title, ("sans-serif", 22))?;
            let (left, right) = sheet.split_horizontally(900);
            let mut chart = ChartBuilder::on(&left)
                .margin(6)
                .x_label_area_size(44)
                .y_label_area_size(64)
                .build_cartesian_2d(Span::between(0.0, x_end), up)?;
            chart
                .configure_mesh()
                .light_line_style(TRANSPARENT)
                .x_desc(&self.x_name)
                .y_desc("change from the start, in units of c")
                .x_label_formatter(&|x| short(*x))
                // Rounding errors of sums of steps are not shown.
                .y_label_formatter(&|y| {
                    if y.abs() < 1e-9 * (up.high() / 2.0 - up.low() / 2.0) { "0".into() } else { short(*y) }
                })
                .label_style(("sans-serif", 15))
                .draw()?;
            let zero = [(0.0, 0.0), (x_end, 0.0)];
            chart.draw_series(LineSeries::new(zero, BLACK.mix(0.6).stroke_width(1)))?;
            for path in &order[..gray] {
                chart.draw_series(LineSeries::new(path.scaled(), BLACK.mix(0.15).stroke_width(1)))?;
            }
            // The legend follows the order of the paths at the right end, from the top down.
            let mut named: Vec<&&Path> = order[gray..].iter().collect();
            let end = |path: &Path| path.scaled().last().map_or(0.0, |point| point.1);
            named.sort_by(|a, b| end(b).total_cmp(&end(a)));
            for (i, path) in named.iter().enumerate() {
                let color = COLORS[i % COLORS.len()];
                let [dash, gap] = DASHES[i / COLORS.len() % DASHES.len()];
                let style = color.stroke_width(2);
                match gap {
                    0 => chart.draw_series(LineSeries::new(path.scaled(), style))?,
                    _ => chart.draw_series(DashedLineSeries::new(path.scaled(), dash, gap, style))?,
                };
                if let Some(last) = path.scaled().last() {
                    chart.draw_series([Circle::new(last, 3, color.filled())])?;
                }
                let (from, to) = (path.points.first(), path.points.last());
                let (from, to) = (from.map_or(0.0, |p| p.1), to.map_or(0.0, |p| p.1));
                let y = 16 + 22 * i as i32;
                let dashed = (8..30).step_by((dash + gap) as usize);
                match gap {
                    0 => right.draw(&PathElement::new(vec![(8, y), (30, y)], style))?,
                    _ => dashed.into_iter().try_for_each(|x| {
                        right.draw(&PathElement::new(vec![(x, y), ((x + dash).min(30), y)], style))
                    })?,
                }
                let text = format!("{}  {} \u{2192} {}", path.name, short(from), short(to));
                right.draw(&Text::new(text, (38, y - 8), ("sans-serif", 15)))?;
            }
            if gray > 0 {
                let y = 16 + 22 * named.len() as i32;
                right.draw(&Text::new(
                    format!("and {gray} more in gray"),
                    (38, y - 8),
                    ("sans-serif", 15),
                ))?;
            }
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(name: &str, unit: f64, values: &[f64]) -> Path {
        let points = values.iter().enumerate().map(|(x, value)| (10.0 * x as f64, *value)).collect();
        Path { name: name.to_string(), unit, points }
    }

    fn picture(paths: Vec<Path>) -> String {
        let (title, x_name) = ("Run <1>".to_string(), "pairs".to_string());
        Paths { title, x_name, x_end: 100.0, paths }.to_svg().unwrap()
    }

    #[test]
    fn paths_are_scaled_and_named() {
        let svg =
            picture(vec![path("small & fine", 0.5, &[1.0, 1.5, 2.0]), path("large", 100.0, &[0.0, 50.0])]);
        assert!(svg.contains("small &amp; fine") && svg.contains("Run &lt;1&gt;"), "{svg}");
        assert!(svg.contains("1 \u{2192} 2") && svg.contains("0 \u{2192} 50"), "{svg}");
        assert_eq!(svg.matches("<circle").count(), 2);
        let scaled: Vec<_> = path("x", 0.5, &[1.0, 1.5, 0.0]).scaled().map(|point| point.1).collect();
        assert_eq!(scaled, [0.0, 1.0, -2.0]);
    }

    /// Contrast of WCAG 2: at least 3 for everything but text.
    #[test]
    fn lines_stand_out_from_white() {
        let linear = |part: u8| {
            let share = f64::from(part) / 255.0;
            if share <= 0.04045 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
        };
        for color in COLORS {
            let light = 0.2126 * linear(color.0) + 0.7152 * linear(color.1) + 0.0722 * linear(color.2);
            assert!(1.05 / (light + 0.05) >= 4.5, "{color:?}");
        }
        assert_eq!(COLORS.len() * DASHES.len(), NAMED);
    }

    #[test]
    fn many_paths_and_none_can_be_drawn() {
        let many = (0..40).map(|i| path(&format!("p{i}"), 1.0, &[0.0, f64::from(i)])).collect();
        let svg = picture(many);
        assert!(svg.contains("and 16 more in gray") && svg.contains("p39") && !svg.contains(">p3 "), "{svg}");
        picture(Vec::new());
        picture(vec![path("flat", 1.0, &[3.0])]);
    }
}
