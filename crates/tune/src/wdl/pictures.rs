//! Pictures of a model and its data, as SVG.

use plotters::coord::Shift;
use plotters::drawing::DrawingAreaErrorKind;
use plotters::prelude::*;

use crate::wdl::counts::Counts;
use crate::wdl::fit::{Fit, local_fits};
use crate::wdl::model::WdlModel;
use gputexel_io::{Error, Result};
use gputexel_report::Span;

type Sheet<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type DrawingError<'a> = DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>;

/// Grid lines, as in all other pictures.
const GRID: RGBColor = RGBColor(0xd4, 0xd9, 0xdf);

const WIDTH: u32 = 520;
const HEIGHT: u32 = 360;
const FONT: (&str, i32) = ("sans-serif", 15);
/// Wins, draws and losses; distinct for the color-blind (Okabe and Ito, 2008).
pub(crate) const COLORS: [RGBColor; 3] =
    [RGBColor(0, 114, 178), RGBColor(120, 120, 120), RGBColor(213, 94, 0)];
/// Probabilities whose contours are drawn.
pub(crate) const CONTOURS: [f64; 7] = [0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.97];
/// Number of labels along an axis.
const LABELS: usize = 8;
/// Number of cells of data in each direction.
const SCORES: i32 = 40;
const VALUES: u16 = 24;

/// Formats a number without decimals.
fn whole(value: &f64) -> String {
    format!("{value:.0}")
}

fn drawn<F>(paint: F) -> Result<String>
where
    F: for<'a> FnOnce(&Sheet<'a>) -> std::result::Result<(), DrawingError<'a>>,
{
    let mut document = String::new();
    {
        let root = SVGBackend::with_string(&mut document, (WIDTH, HEIGHT)).into_drawing_area();
        let drawn = root.fill(&WHITE).and_then(|()| paint(&root)).and_then(|()| root.present());
        drawn.map_err(|e| Error::Numeric(format!("the picture cannot be drawn: {e}")))?;
    }
    Ok(document)
}

/// Outcomes of positions in an interval of scores.
#[derive(Clone, Copy, Default)]
struct Shares {
    counts: [f64; 3],
}

impl Shares {
    fn positions(self) -> f64 {
        self.counts.iter().sum()
    }

    fn share(self, outcome: usize) -> f64 {
        self.counts[outcome] / self.positions()
    }
}

/// Returns the interval of a score among `SCORES` from −`limit` to `limit`.
fn column(score: f64, limit: f64) -> usize {
    let place = (score + limit) / (2.0 * limit) * f64::from(SCORES);
    (place.max(0.0) as usize).min(SCORES as usize - 1)
}

fn middle(column: usize, limit: f64) -> f64 {
    -limit + (column as f64 + 0.5) * 2.0 * limit / f64::from(SCORES)
}

/// Draws shares of outcomes by score at a value of the variable and its neighbors, with the model's curves.
pub(crate) fn slice(counts: &Counts, model: &WdlModel, at: u16, limit: f64) -> Result<String> {
    let mut shares = [Shares::default(); SCORES as usize];
    for (value, cells) in counts.rows().into_iter().filter(|(value, _)| value.abs_diff(at) <= 1) {
        // Scores of neighbors are rescaled as the model predicts.
        let scale = model.curves(f64::from(at)).0 / model.curves(f64::from(value)).0;
        for (score, cell) in cells.iter().map(|cell| (scale * cell.score, cell)) {
            if score.abs() > limit {
                continue;
            }
            let into = &mut shares[column(score, limit)];
            (0..3).for_each(|i| into.counts[i] += cell.counts[i]);
        }
    }
    drawn(|root| {
        let mut chart = ChartBuilder::on(root)
            .margin(10)
            .x_label_area_size(40)
            .y_label_area_size(50)
            .build_cartesian_2d(Span::between(-limit, limit), Span::between(0.0, 1.0))?;
        chart
            .configure_mesh()
            .max_light_lines(0)
            .bold_line_style(GRID)
            .x_labels(LABELS)
            .x_label_formatter(&whole)
            .x_desc("score, engine's units")
            .y_desc("share")
            .label_style(FONT)
            .draw()?;
        for (i, color) in COLORS.iter().enumerate() {
            let steps = (0..=200).map(|n| -limit + f64::from(n) * limit / 100.0);
            let curve = steps.map(|x| (x, model.probabilities(x, f64::from(at))[i]));
            chart.draw_series(LineSeries::new(curve, color.stroke_width(2)))?;
            let known = shares.iter().enumerate().filter(|(_, shares)| shares.positions() >= 20.0);
            let points = known.map(|(column, shares)| (middle(column, limit), shares.share(i)));
            chart.draw_series(points.map(|point| Circle::new(point, 3, color.filled())))?;
        }
        Ok(())
    })
}

/// Draws a and b by value of the variable: the polynomials, and fits to single values.
pub(crate) fn parameters(counts: &Counts, fit: &Fit) -> Result<String> {
    let (model, local) = (&fit.model, local_fits(counts));
    let (low, high) =
        (f64::from(model.range.0), f64::from(model.range.1).max(f64::from(model.range.0) + 1.0));
    let steps = || (0..=200).map(|n| low + (high - low) * f64::from(n) / 200.0);
    let curves = steps().map(|m| model.curves(m).0.max(model.curves(m).1));
    let top = 1.1 * curves.chain(local.iter().map(|&(_, a, b)| a.max(b))).fold(1.0, f64::max);
    drawn(|root| {
        let mut chart = ChartBuilder::on(root)
            .margin(10)
            .x_label_area_size(40)
            .y_label_area_size(60)
            .build_cartesian_2d(Span::between(low, high), Span::between(0.0, top))?;
        let name = model.by.name();
        chart
            .configure_mesh()
            .max_light_lines(0)
            .bold_line_style(GRID)
            .x_labels(LABELS)
            .x_label_formatter(&whole)
            .y_label_formatter(&whole)
            .x_desc(name)
            .y_desc("engine's units")
            .label_style(FONT)
            .draw()?;
        for (i, color) in [COLORS[0], COLORS[2]].iter().enumerate() {
            let of = |(a, b): (f64, f64)| if i == 0 { a } else { b };
            let curve = steps().map(|m| (m, of(model.curves(m))));
            chart.draw_series(LineSeries::new(curve, color.stroke_width(2)))?;
            let points = local.iter().map(|&(m, a, b)| (f64::from(m), of((a, b))));
            chart.draw_series(points.map(|point| Circle::new(point, 3, color.filled())))?;
        }
        Ok(())
    })
}

/// Returns the scores, descending, at which an outcome (0 a win, 1 a draw) has a given probability; empty if there are
/// none.
///
/// For a win, x = a + b ln (p / (1 − p)). For a draw with E = e^(−a/b), D = (1 − E²) / (1 + E² + 2 E cosh (x / b)).
pub(crate) fn contour(model: &WdlModel, outcome: usize, p: f64, m: f64) -> Vec<f64> {
    let (a, b) = model.curves(m);
    if outcome == 0 {
        return vec![a + b * (p / (1.0 - p)).ln()];
    }
    let e = (-a / b).exp();
    let cosh = ((1.0 - e * e) / p - 1.0 - e * e) / (2.0 * e);
    match cosh >= 1.0 && cosh.is_finite() {
        true => vec![b * cosh.acosh(), -b * cosh.acosh()],
        false => Vec::new(),
    }
}

/// Draws shares of an outcome (0 a win, 1 a draw) by score and variable, with contours of the model.
pub(crate) fn contours(counts: &Counts, model: &WdlModel, outcome: usize, limit: f64) -> Result<String> {
    let (low, high) = model.range;
    let height = (high - low + 1).div_ceil(VALUES).max(1);
    let rows = (high - low + 1).div_ceil(height);
    let mut shares = vec![[Shares::default(); SCORES as usize]; usize::from(rows)];
    for (value, cells) in counts.rows() {
        let Some(row) = shares.get_mut(usize::from((value - low) / height)) else { continue };
        for cell in cells.iter().filter(|cell| cell.score.abs() <= limit) {
            let into = &mut row[column(cell.score, limit)];
            (0..3).for_each(|i| into.counts[i] += cell.counts[i]);
        }
    }
    let color = COLORS[outcome];
    let tint = |share: f64| {
        let mix = |c: u8| (255.0 + share * (f64::from(c) - 255.0)) as u8;
        RGBColor(mix(color.0), mix(color.1), mix(color.2))
    };
    drawn(|root| {
        let (bottom, top) = (f64::from(low), f64::from(low + rows * height));
        let mut chart = ChartBuilder::on(root)
            .margin(10)
            .x_label_area_size(40)
            .y_label_area_size(50)
            .build_cartesian_2d(Span::between(-limit, limit), Span::between(bottom, top))?;
        let name = model.by.name();
        chart
            .configure_mesh()
            .disable_mesh()
            .x_labels(LABELS)
            .x_label_formatter(&whole)
            .y_label_formatter(&whole)
            .x_desc("score, engine's units")
            .y_desc(name)
            .label_style(FONT)
            .draw()?;
        let width = 2.0 * limit / f64::from(SCORES);
        for (row, columns) in shares.iter().enumerate() {
            let y = bottom + (row * usize::from(height)) as f64;
            let known = columns.iter().enumerate().filter(|(_, shares)| shares.positions() >= 5.0);
            chart.draw_series(known.map(|(column, shares)| {
                let x = -limit + column as f64 * width;
                let tint = tint(shares.share(outcome)).filled();
                Rectangle::new([(x, y), (x + width, y + f64::from(height))], tint)
            }))?;
        }
        for p in CONTOURS {
            let steps = (0..=100).map(|n| bottom + (f64::from(high) - bottom) * f64::from(n) / 100.0);
            let mut branches: [Vec<(f64, f64)>; 2] = Default::default();
            for m in steps {
                for (branch, x) in branches.iter_mut().zip(contour(model, outcome, p, m)) {
                    if x.abs() <= limit {
                        branch.push((x, m));
                    }
                }
            }
            for branch in branches.into_iter().filter(|branch| branch.len() > 1) {
                let label = branch[branch.len() / 2];
                chart.draw_series(LineSeries::new(branch, BLACK.stroke_width(1)))?;
                let text = format!("{:.0} %", 100.0 * p);
                chart.draw_series(std::iter::once(Text::new(text, label, FONT)))?;
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wdl::variable::Variable;

    #[test]
    fn contours_have_their_probability() {
        let model = WdlModel {
            by: Variable::Material,
            range: (17, 78),
            target: 58,
            a: vec![250.0, -30.0],
            b: vec![70.0, 10.0],
        };
        let mut found = 0;
        for p in CONTOURS {
            for outcome in [0, 1] {
                for x in contour(&model, outcome, p, 40.0) {
                    found += 1;
                    assert!((model.probabilities(x, 40.0)[outcome] - p).abs() < 1e-9, "{outcome} {p} {x}");
                }
            }
        }
        assert_eq!(found, 7 + 2 * 6, "an even position is drawn with {}", model.probabilities(0.0, 40.0)[1]);
    }

    #[test]
    fn scores_fall_into_columns() {
        assert_eq!((column(-400.0, 400.0), column(400.0, 400.0), column(5.0, 400.0)), (0, 39, 20));
        assert!((middle(20, 400.0) - 10.0).abs() < 1e-12);
    }
}
