//! SVG documents: a white sheet for `plotters` to draw on.

use plotters::coord::Shift;
use plotters::drawing::DrawingAreaErrorKind;
use plotters::prelude::*;

use gputexel_io::{Error, Result};

#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    pub width: u32,
    pub height: u32,
}

pub(super) type Sheet<'a> = DrawingArea<SVGBackend<'a>, Shift>;
pub(super) type DrawingError<'a> = DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>;

pub(super) fn draw<F>(size: Size, paint: F) -> Result<String>
where
    F: for<'a> FnOnce(&Sheet<'a>) -> std::result::Result<(), DrawingError<'a>>,
{
    draw_clear(size, |root| {
        root.fill(&WHITE)?;
        paint(root)
    })
}

pub(super) fn draw_clear<F>(size: Size, paint: F) -> Result<String>
where
    F: for<'a> FnOnce(&Sheet<'a>) -> std::result::Result<(), DrawingError<'a>>,
{
    let mut document = String::new();
    {
        let root = SVGBackend::with_string(&mut document, (size.width, size.height)).into_drawing_area();
        let drawn = paint(&root).and_then(|()| root.present());
        drawn.map_err(|e| Error::Numeric(format!("the picture cannot be drawn: {e}")))?;
    }
    Ok(document)
}
