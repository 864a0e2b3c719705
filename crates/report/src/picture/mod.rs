//! Pictures of colored shapes and lines of text, written as PNG.

mod letters;

use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};
use kurbo::{Affine, BezPath, Cap, Join, PathEl, Point, Shape, Stroke, StrokeOpts};
use std::io::Write;

/// Lines of samples in a row of pixels. Along a row, coverage is exact.
const SAMPLES: usize = 5;
/// How far flattened curves may be from the true ones, in pixels.
const TOLERANCE: f64 = 0.1;

/// Where a line of text is anchored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Anchor {
    Left,
    Middle,
    Right,
}

/// A line of text: baseline, height of capitals in pixels, and color.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Font {
    pub size: f64,
    pub color: [u8; 3],
    pub bold: bool,
    pub anchor: Anchor,
}

/// A picture in the making, drawn from back to front.
pub(crate) struct Canvas {
    width: usize,
    /// Red, green and blue, row by row from the top.
    pixels: Vec<u8>,
    /// The lines of text, in the order in which they were drawn.
    words: Vec<String>,
}

impl Canvas {
    /// Returns an empty picture.
    pub fn new([width, height]: [usize; 2], color: [u8; 3]) -> Self {
        Self { width, pixels: color.repeat(width * height), words: Vec::new() }
    }

    /// Fills a rectangle: left, top, width and height.
    pub fn rectangle(&mut self, [x, y, width, height]: [f64; 4], color: [u8; 3]) {
        self.fill(&kurbo::Rect::new(x, y, x + width, y + height).to_path(TOLERANCE), color);
    }

    /// Fills an SVG path of a piece or the like, scaled and then moved.
    ///
    /// # Panics
    /// If it is not an SVG path.
    pub fn shape(&mut self, path: &str, scale: f64, [x, y]: [f64; 2], color: [u8; 3]) {
        let path = BezPath::from_svg(path).expect("a path of this program");
        self.fill(&(Affine::translate((x, y)) * Affine::scale(scale) * path), color);
    }

    /// Draws a line of text, cut to a width in pixels.
    pub fn text(&mut self, text: &str, [x, y]: [f64; 2], most: f64, font: Font) {
        let scale = font.size / letters::HEIGHT;
        let text = letters::cut(text, most / scale);
        let left = match font.anchor {
            Anchor::Left => x,
            Anchor::Middle => x - letters::width(&text) * scale / 2.0,
            Anchor::Right => x - letters::width(&text) * scale,
        };
        let pen = Stroke::new(if font.bold { 2.5 } else { 1.7 }).with_caps(Cap::Round).with_join(Join::Round);
        for (path, at) in letters::paths(&text) {
            let place = Affine::translate((left, y - font.size)) * Affine::scale(scale);
            let outline = kurbo::stroke(path, &pen, &StrokeOpts::default(), TOLERANCE / scale);
            self.fill(&(place * Affine::translate((at, 0.0)) * outline), font.color);
        }
        self.words.push(text);
    }

    /// Fills what a path winds around.
    fn fill(&mut self, path: &BezPath, color: [u8; 3]) {
        let edges = edges(path);
        let bounds = path.bounding_box();
        let within = |from: f64, to: f64, most: usize| {
            from.floor().clamp(0.0, most as f64) as usize..to.ceil().clamp(0.0, most as f64) as usize
        };
        let columns = within(bounds.x0, bounds.x1, self.width);
        let mut coverage = vec![0.0; columns.len()];
        for row in within(bounds.y0, bounds.y1, self.pixels.len() / 3 / self.width) {
            coverage.fill(0.0);
            for sample in 0..SAMPLES {
                let y = row as f64 + (sample as f64 + 0.5) / SAMPLES as f64;
                let mut crossings: Vec<(f64, i32)> = Vec::new();
                for (a, b) in edges.iter().filter(|(a, b)| (a.y <= y) != (b.y <= y)) {
                    let x = a.x + (y - a.y) / (b.y - a.y) * (b.x - a.x);
                    crossings.push((x - columns.start as f64, if a.y < b.y { 1 } else { -1 }));
                }
                crossings.sort_by(|a, b| a.0.total_cmp(&b.0));
                let mut winding = 0;
                for pair in crossings.windows(2) {
                    winding += pair[0].1;
                    if winding != 0 {
                        cover(&mut coverage, pair[0].0, pair[1].0);
                    }
                }
            }
            let pixels = self.pixels[3 * (row * self.width + columns.start)..].as_chunks_mut::<3>().0;
            for (pixel, covered) in pixels.iter_mut().zip(&coverage) {
                let share = covered / SAMPLES as f64;
                for (value, ink) in pixel.iter_mut().zip(color) {
                    *value = (f64::from(*value) * (1.0 - share) + f64::from(ink) * share).round() as u8;
                }
            }
        }
    }

    /// Returns the picture as PNG (RFC 2083), described by its lines of text.
    pub fn png(&self) -> Vec<u8> {
        let side = |length: usize| (length as u32).to_be_bytes();
        let rows = self.pixels.chunks(3 * self.width);
        let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
        // Eight bits for each of three colors, not interlaced.
        chunk(&mut file, b"IHDR", &[&side(self.width)[..], &side(rows.len()), &[8, 2, 0, 0, 0]].concat());
        chunk(&mut file, b"iTXt", format!("Description\0\0\0\0\0{}", self.words.join("\n")).as_bytes());
        let mut data = ZlibEncoder::new(Vec::new(), Compression::default());
        for row in rows {
            // Each row begins with its filter: none.
            data.write_all(&[&[0], row].concat()).expect("memory takes anything");
        }
        chunk(&mut file, b"IDAT", &data.finish().expect("memory takes anything"));
        chunk(&mut file, b"IEND", &[]);
        file
    }
}

fn chunk(file: &mut Vec<u8>, kind: &[u8; 4], data: &[u8]) {
    let mut sum = Crc::new();
    sum.update(kind);
    sum.update(data);
    file.extend((data.len() as u32).to_be_bytes());
    file.extend(kind);
    file.extend(data);
    file.extend(sum.sum().to_be_bytes());
}

/// Adds what a span covers of each pixel in a row.
fn cover(row: &mut [f64], from: f64, to: f64) {
    let (from, to) = (from.clamp(0.0, row.len() as f64), to.clamp(0.0, row.len() as f64));
    for (x, covered) in row.iter_mut().enumerate().take(to.ceil() as usize).skip(from as usize) {
        *covered += to.min(x as f64 + 1.0) - from.max(x as f64);
    }
}

/// Returns the straight edges of a path, each part closed.
fn edges(path: &BezPath) -> Vec<(Point, Point)> {
    let (mut edges, mut start, mut at) = (Vec::new(), Point::ZERO, Point::ZERO);
    kurbo::flatten(path, TOLERANCE, |element| {
        let to = match element {
            PathEl::LineTo(to) => to,
            _ => start,
        };
        edges.push((at, to));
        at = to;
        if let PathEl::MoveTo(to) = element {
            (start, at) = (to, to);
        }
    });
    edges.push((at, start));
    edges
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pixel(picture: &Canvas, x: usize, y: usize) -> [u8; 3] {
        picture.pixels[3 * (y * picture.width + x)..][..3].try_into().unwrap()
    }

    #[test]
    fn shapes_cover_pixels_in_part() {
        let mut picture = Canvas::new([8, 6], [255; 3]);
        picture.rectangle([1.5, 1.0, 3.0, 2.0], [5, 105, 205]);
        assert_eq!(pixel(&picture, 0, 1), [255; 3]);
        assert_eq!(pixel(&picture, 1, 1), [130, 180, 230]);
        assert_eq!(pixel(&picture, 2, 2), [5, 105, 205]);
        assert_eq!(pixel(&picture, 4, 2), [130, 180, 230]);
        assert_eq!(pixel(&picture, 5, 2), [255; 3]);
        assert_eq!(pixel(&picture, 2, 3), [255; 3]);
        // Parts that wind the same way do not cancel where they overlap, and what lies outside is cut.
        picture.shape("M0 0h9v9h-9zM2 2h2v2h-2z", 1.0, [0.0, 3.0], [0; 3]);
        assert_eq!(pixel(&picture, 3, 5), [0; 3]);
        assert_eq!(pixel(&picture, 7, 5), [0; 3]);
        // Parts that wind the other way leave holes.
        picture.shape("M0 0h9v6h-9zM2 2v2h2v-2z", 1.0, [0.0, 0.0], [9; 3]);
        assert_eq!(pixel(&picture, 3, 3), [0; 3]);
        assert_eq!(pixel(&picture, 5, 3), [9; 3]);
    }

    #[test]
    fn pictures_are_png_with_their_words() {
        let mut picture = Canvas::new([40, 30], [255; 3]);
        let font = Font { size: 14.0, color: [0; 3], bold: false, anchor: Anchor::Middle };
        picture.text("II", [20.0, 22.0], 99.0, font);
        // Two stems of 14 pixels, as far apart from the middle.
        let dark = |x| (0..30).filter(|&y| pixel(&picture, x, y)[0] < 128).count();
        let columns: Vec<usize> = (0..40).filter(|&x| dark(x) > 10).collect();
        assert!(columns.len() >= 2, "{columns:?}");
        assert_eq!(2 * columns.iter().sum::<usize>() + columns.len(), 40 * columns.len(), "{columns:?}");
        assert!(columns.iter().all(|&x| (14..=16).contains(&dark(x))), "{columns:?}");
        let file = picture.png();
        assert!(file.starts_with(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x28\0\0\0\x1e"));
        // The checksum of the last chunk, which is always the same.
        assert!(file.ends_with(b"\0\0\0\0IEND\xae\x42\x60\x82"));
        let start = file.windows(4).position(|kind| kind == b"IDAT").unwrap();
        let mut rows = Vec::new();
        std::io::Read::read_to_end(&mut flate2::read::ZlibDecoder::new(&file[start + 4..]), &mut rows)
            .unwrap();
        assert_eq!(rows.len(), 30 * (1 + 3 * 40));
        assert!(
            rows.chunks(121)
                .zip(picture.pixels.chunks(120))
                .all(|(row, pixels)| row[0] == 0 && row[1..] == *pixels)
        );
        assert!(String::from_utf8_lossy(&file).contains("Description\0\0\0\0\0II"));
    }
}
