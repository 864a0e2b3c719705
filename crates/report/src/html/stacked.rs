//! Two charts over one horizontal axis: a curve, and below it the distribution of its arguments.

use maud::{Markup, html};

use super::super::svg::{Size, draw_clear};
use super::plot::{Drawn, Frame, HEIGHT, LABELS, Plot, Style, WIDTH, named, swatch};
use gputexel_io::Result;

const LOWER: u32 = 150;
const LOWER_LABELS: usize = 3;
/// Color of a distribution's first series, so that the curves above have different ones.
pub(super) const LOWER_COLOR: usize = 2;

pub(super) fn figure(upper: &Plot, lower: &Plot, id: &str) -> Result<Markup> {
    let points = |plot: &Plot| plot.series.iter().flat_map(|s| s.points.clone()).map(|p| p.0).collect();
    let (above, under): (Vec<f64>, Vec<f64>) = (points(upper), points(lower));
    let x = Drawn::over(&lower.x, above.into_iter().chain(under), true);
    let (upper_y, lower_y) = (upper.up(), lower.up());
    let texts = upper_y.text_width(LABELS).max(lower_y.text_width(LOWER_LABELS));
    let upper_frame = Frame { texts, labels: LABELS, first: 0, below: false };
    let lower_frame = Frame { texts, labels: LOWER_LABELS, first: LOWER_COLOR, below: true };
    let height = HEIGHT - 40;
    let mut hints = Vec::new();
    let document = draw_clear(Size { width: WIDTH, height: height + LOWER }, |root| {
        let (top, bottom) = root.split_vertically(height);
        upper.draw(&top, x.clone(), upper_y, upper_frame, &mut hints)?;
        lower.draw(&bottom, x, lower_y, lower_frame, &mut hints)
    })?;
    let legend = |plot: &Plot, first: usize| {
        html! { @for (i, series) in plot.series.iter().enumerate() { li { (swatch(first + i, Style::Line)) " " (series.name) } } }
    };
    Ok(html! {
        figure {
            figcaption { strong { (upper.title) } }
            (named(&document, id, &upper.title, &upper.description, &hints))
            ul.legend { (legend(upper, 0)) (legend(lower, LOWER_COLOR)) }
            (upper.numbers("Numbers"))
            (lower.numbers("Numbers of the distribution"))
        }
    })
}
