//! SVG documents: a white sheet that `plotters` draws on.

use plotters::coord::Shift;
use plotters::drawing::DrawingAreaErrorKind;
use plotters::prelude::*;

use gputexel_io::{Error, Result};

/// Size of a document, pixels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    pub width: u32,
    pub height: u32,
}

/// What is drawn on.
pub(super) type Sheet<'a> = DrawingArea<SVGBackend<'a>, Shift>;
/// Why drawing failed.
pub(super) type DrawingError<'a> = DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>;

/// A document with what `paint` draws on white.
pub(super) fn draw<F>(size: Size, paint: F) -> Result<String>
where
    F: for<'a> FnOnce(&Sheet<'a>) -> std::result::Result<(), DrawingError<'a>>,
{
    draw_clear(size, |root| {
        root.fill(&WHITE)?;
        paint(root)
    })
}

/// A document with what `paint` draws on nothing, for pages that have a color of their own.
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
