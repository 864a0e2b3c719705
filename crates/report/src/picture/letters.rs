//! The letters of pictures: lines of a pen, drawn for this program.

use kurbo::BezPath;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Height of capitals, which stand on the line `y = 14`. Small letters are 10 high and reach down to 18.5.
pub(super) const HEIGHT: f64 = 14.0;
/// Room between letters, and that of a space.
const GAP: f64 = 3.2;
const SPACE: f64 = 4.2;

/// A character, its width, and the lines of the pen as an SVG path.
type Letter = (char, f64, &'static str);

#[rustfmt::skip]
const LETTERS: &[Letter] = &[
    ('a', 8.0, "M8 4V14M8 9A4 5 0 1 0 0 9A4 5 0 1 0 8 9"),
    ('b', 8.0, "M0 0V14M0 9A4 5 0 1 1 8 9A4 5 0 1 1 0 9"),
    ('c', 7.2, "M7.2 5.8A4.2 5 0 1 0 7.2 12.2"),
    ('d', 8.0, "M8 0V14M8 9A4 5 0 1 0 0 9A4 5 0 1 0 8 9"),
    ('e', 8.2, "M.2 9H8.2C8.2 6 6.6 4 4.2 4C1.8 4 0 6 0 9C0 12 1.8 14 4.4 14C5.9 14 7 13.4 7.8 12.3"),
    ('f', 5.6, "M5.6 .2C3.2-.3 2 .8 2 3V14M0 4.4H5.2"),
    ('g', 8.0, "M8 4V14.4C8 17.2 6.6 18.5 4 18.5C2.6 18.5 1.4 18.1 .5 17.3M8 9A4 5 0 1 0 0 9A4 5 0 1 0 8 9"),
    ('h', 7.4, "M0 0V14M0 8.5C0 5.6 1.8 4 4 4C6.2 4 7.4 5.3 7.4 8V14"),
    ('i', 0.0, "M0 4.2V14M0 .4V.5"),
    ('j', 2.0, "M2 4.2V15.6C2 17.6 1.1 18.5-.8 18.4M2 .4V.5"),
    ('k', 7.2, "M0 0V14M6.8 4.2L0 10.4M2.8 8L7.2 14"),
    ('l', 2.0, "M0 0V11.8C0 13.4.6 14 2 14"),
    ('m', 12.8, "M0 4.2V14M0 8C0 5.3 1.5 4 3.4 4C5.4 4 6.4 5.3 6.4 7.8V14M6.4 8C6.4 5.3 7.9 4 9.8 4C11.8 4 12.8 5.3 12.8 7.8V14"),
    ('n', 7.4, "M0 4.2V14M0 8.5C0 5.6 1.8 4 4 4C6.2 4 7.4 5.3 7.4 8V14"),
    ('o', 8.4, "M0 9A4.2 5 0 1 1 8.4 9A4.2 5 0 1 1 0 9"),
    ('p', 8.0, "M0 4.2V18.5M0 9A4 5 0 1 1 8 9A4 5 0 1 1 0 9"),
    ('q', 8.0, "M8 4.2V18.5M8 9A4 5 0 1 0 0 9A4 5 0 1 0 8 9"),
    ('r', 4.6, "M0 4.2V14M0 8.6C0 5.6 1.7 4 4.6 4.2"),
    ('s', 7.0, "M6.6 5.6C5.8 4.5 4.8 4 3.5 4C1.6 4 .3 5 .3 6.5C.3 9.8 7 8.2 7 11.4C7 13.1 5.5 14 3.6 14C2.1 14 .8 13.4 0 12.3"),
    ('t', 5.6, "M2.2 1V11.2C2.2 13.2 3 14 4.6 14C5 14 5.3 14 5.6 13.9M0 4.4H5.4"),
    ('u', 7.4, "M7.4 4.2V14M7.4 9.5C7.4 12.4 5.6 14 3.4 14C1.2 14 0 12.7 0 10V4.2"),
    ('v', 7.8, "M0 4.2L3.9 14L7.8 4.2"),
    ('w', 11.8, "M0 4.2L2.9 14L5.9 5L8.9 14L11.8 4.2"),
    ('x', 7.4, "M0 4.2L7.4 14M7.2 4.2L0 14"),
    ('y', 7.8, "M0 4.2L3.9 13.8M7.8 4.2L3.4 15.8C2.7 17.7 1.8 18.5 0 18.4"),
    ('z', 7.0, "M.3 4.4H6.8L0 13.8H7"),
    ('A', 10.8, "M0 14L5.4 0L10.8 14M1.9 9.4H8.9"),
    ('B', 9.0, "M0 0V14M0 0H4.6C7 0 8.4 1.3 8.4 3.4C8.4 5.4 7 6.7 4.6 6.7H0M4.6 6.7C7.4 6.7 9 8 9 10.3C9 12.6 7.4 14 4.6 14H0"),
    ('C', 10.0, "M10 2.6C8.9.9 7.4 0 5.6 0C2.3 0 0 2.8 0 7C0 11.2 2.3 14 5.6 14C7.4 14 8.9 13.1 10 11.4"),
    ('D', 10.0, "M0 0V14H3.8C7.8 14 10 11.3 10 7C10 2.7 7.8 0 3.8 0H0"),
    ('E', 7.8, "M7.8 0H0V14H7.8M0 6.8H7"),
    ('F', 7.6, "M7.6 0H0V14M0 6.9H6.8"),
    ('G', 10.2, "M10 2.6C8.9.9 7.4 0 5.6 0C2.3 0 0 2.8 0 7C0 11.2 2.3 14 5.6 14C8.4 14 10.2 12.2 10.2 9.2V7.6H6"),
    ('H', 9.6, "M0 0V14M9.6 0V14M0 6.8H9.6"),
    ('I', 0.0, "M0 0V14"),
    ('J', 5.5, "M5.5 0V10C5.5 12.8 4.4 14 2.6 14C1.5 14 .6 13.6 0 12.9"),
    ('K', 9.2, "M0 0V14M8.8 0L0 8.6M3.4 5.4L9.2 14"),
    ('L', 7.4, "M0 0V14H7.4"),
    ('M', 12.0, "M0 14V0L6 9.4L12 0V14"),
    ('N', 9.8, "M0 14V0L9.8 14V0"),
    ('O', 11.6, "M0 7C0 2.8 2.4 0 5.8 0C9.2 0 11.6 2.8 11.6 7C11.6 11.2 9.2 14 5.8 14C2.4 14 0 11.2 0 7Z"),
    ('P', 8.8, "M0 14V0H4.8C7.4 0 8.8 1.5 8.8 3.9C8.8 6.3 7.4 7.8 4.8 7.8H0"),
    ('Q', 11.6, "M0 7C0 2.8 2.4 0 5.8 0C9.2 0 11.6 2.8 11.6 7C11.6 11.2 9.2 14 5.8 14C2.4 14 0 11.2 0 7ZM7.2 10.4L11 14.8"),
    ('R', 9.2, "M0 14V0H4.8C7.4 0 8.8 1.5 8.8 3.9C8.8 6.3 7.4 7.8 4.8 7.8H0M5 7.8L9.2 14"),
    ('S', 9.0, "M8.4 2.2C7.4.7 6.1 0 4.5 0C2 0 .4 1.4.4 3.5C.4 8.3 9 5.6 9 10.3C9 12.6 7.2 14 4.6 14C2.6 14 1 13.1 0 11.5"),
    ('T', 9.6, "M0 0H9.6M4.8 0V14"),
    ('U', 9.4, "M0 0V8.8C0 12.2 1.7 14 4.7 14C7.7 14 9.4 12.2 9.4 8.8V0"),
    ('V', 10.4, "M0 0L5.2 14L10.4 0"),
    ('W', 15.2, "M0 0L3.8 14L7.6 1L11.4 14L15.2 0"),
    ('X', 9.2, "M0 0L9.2 14M9 0L.2 14"),
    ('Y', 9.8, "M0 0L4.9 7.4L9.8 0M4.9 7.4V14"),
    ('Z', 9.2, "M.4 0H9L0 14H9.2"),
    ('0', 8.0, "M0 7C0 2.4 1.5 0 4 0C6.5 0 8 2.4 8 7C8 11.6 6.5 14 4 14C1.5 14 0 11.6 0 7Z"),
    ('1', 8.0, "M1.4 2.8L5 0V14"),
    ('2', 8.0, "M.3 3.4C.6 1.2 2 0 4 0C6.2 0 7.6 1.4 7.6 3.6C7.6 6.6 4 9.2.2 14H8"),
    ('3', 8.0, "M.5 2.4C1.1.9 2.3 0 4 0C6.1 0 7.4 1.3 7.4 3.3C7.4 5.4 5.9 6.6 3.4 6.6C6.2 6.6 7.9 7.9 7.9 10.2C7.9 12.6 6.3 14 3.9 14C2 14 .6 13.1 0 11.4"),
    ('4', 8.0, "M6 14V0L0 10H8"),
    ('5', 8.0, "M7.2 0H1.2L.6 6.4C1.5 5.5 2.6 5.1 3.9 5.1C6.3 5.1 8 6.8 8 9.5C8 12.2 6.3 14 3.8 14C2 14 .6 13.1 0 11.6"),
    ('6', 8.0, "M7.2 2.2C6.4.7 5.4 0 4.2 0C1.6 0 0 2.8 0 7.6C0 11.8 1.5 14 4.1 14C6.5 14 8 12.2 8 9.6C8 7.1 6.5 5.4 4.2 5.4C2 5.4.3 7 .1 9"),
    ('7', 8.0, "M0 0H8L2.8 14"),
    ('8', 8.0, "M4 6.6C1.8 6.6.6 5.3.6 3.4C.6 1.4 1.9 0 4 0C6.1 0 7.4 1.4 7.4 3.4C7.4 5.3 6.2 6.6 4 6.6C1.5 6.6 0 8 0 10.2C0 12.5 1.6 14 4 14C6.4 14 8 12.5 8 10.2C8 8 6.5 6.6 4 6.6Z"),
    ('9', 8.0, "M.8 11.8C1.6 13.3 2.6 14 3.8 14C6.4 14 8 11.2 8 6.4C8 2.2 6.5 0 3.9 0C1.5 0 0 1.8 0 4.4C0 6.9 1.5 8.6 3.8 8.6C6 8.6 7.7 7 7.9 5"),
    ('.', 0.4, "M.2 13.7V13.8"),
    (',', 0.8, "M.7 13.6L0 16.4"),
    (':', 0.4, "M.2 5.2V5.3M.2 13.3V13.4"),
    (';', 0.8, "M.7 5.2V5.3M.7 13.2L0 16"),
    ('…', 9.0, "M.2 13.7V13.8M4.5 13.7V13.8M8.8 13.7V13.8"),
    ('-', 4.2, "M0 9H4.2"),
    ('–', 7.0, "M0 9H7"),
    ('−', 8.0, "M0 8H8"),
    ('+', 8.0, "M0 8H8M4 4V12"),
    ('±', 8.0, "M0 7H8M4 3V11M0 14H8"),
    ('×', 6.4, "M0 5L6.4 11.4M6.4 5L0 11.4"),
    ('·', 0.4, "M.2 8V8.1"),
    ('=', 8.0, "M0 6H8M0 10H8"),
    ('≈', 8.0, "M0 6.6C2 4 6 8.2 8 5.4M0 11C2 8.4 6 12.6 8 9.8"),
    ('<', 7.4, "M7.4 3.6L0 8.2L7.4 12.8"),
    ('>', 7.4, "M0 3.6L7.4 8.2L0 12.8"),
    ('→', 11.0, "M0 8.5H11M7.2 4.7L11 8.5L7.2 12.3"),
    ('%', 12.6, "M0 3.2A2.8 3.2 0 1 1 5.6 3.2A2.8 3.2 0 1 1 0 3.2M7 10.8A2.8 3.2 0 1 1 12.6 10.8A2.8 3.2 0 1 1 7 10.8M10.6 0L2 14"),
    ('/', 6.0, "M6-.6L0 15.4"),
    ('\\', 6.0, "M0-.6L6 15.4"),
    ('|', 0.0, "M0-1V17"),
    ('_', 8.4, "M0 16.2H8.4"),
    ('(', 3.0, "M3-1C-1 4.4-1 11.6 3 17"),
    (')', 3.0, "M0-1C4 4.4 4 11.6 0 17"),
    ('[', 2.8, "M2.8-1H0V17H2.8"),
    (']', 2.8, "M0-1H2.8V17H0"),
    ('{', 4.0, "M4-1C1.8-1 2 1 2 3C2 6 1.8 7.6 0 8C1.8 8.4 2 10 2 13C2 15 1.8 17 4 17"),
    ('}', 4.0, "M0-1C2.2-1 2 1 2 3C2 6 2.2 7.6 4 8C2.2 8.4 2 10 2 13C2 15 2.2 17 0 17"),
    ('\'', 0.0, "M0 0V3.6"),
    ('"', 3.0, "M0 0V3.6M3 0V3.6"),
    ('!', 0.4, "M.2 0V9.6M.2 13.7V13.8"),
    ('?', 6.8, "M0 2.4C.7.8 1.8 0 3.4 0C5.4 0 6.8 1.2 6.8 3.2C6.8 6 3.4 6.4 3.4 9.8M3.4 13.7V13.8"),
    ('#', 9.4, "M3.4 0L1.4 14M8 0L6 14M.6 4.6H9.4M0 9.4H8.8"),
    ('~', 8.0, "M0 9.4C2 6.4 6 10.6 8 7.6"),
    ('@', 12.6, "M9.2 5.4V9.4C9.2 11 10 11.6 11 11.4C12.2 11 12.6 9.4 12.6 7.6C12.6 3.4 10.2.6 6.6.6C2.8.6 0 3.6 0 7.8C0 12.2 2.8 15 6.8 15C8.4 15 9.6 14.7 10.8 14M9.2 8A2.9 3.2 0 1 0 3.4 8A2.9 3.2 0 1 0 9.2 8"),
    ('*', 6.0, "M3 0V6.4M.2 1.6L5.8 4.8M5.8 1.6L.2 4.8"),
    ('&', 10.6, "M10.6 14L2.6 5C.6 2.6 2 0 4.4 0C7 0 8 2.6 6.2 4.6C4.4 6.4 0 7.2 0 10.4C0 12.6 1.6 14 4 14C7.4 14 9.8 11.4 10 7.6"),
];

/// Drawn in place of characters without a letter.
const UNKNOWN: Letter = ('\u{fffd}', 7.0, "M0 0H7V14H0Z");

static PATHS: LazyLock<BTreeMap<char, (f64, BezPath)>> = LazyLock::new(|| {
    let path = |(c, width, path): Letter| (c, (width, BezPath::from_svg(path).expect("a path")));
    LETTERS.iter().copied().chain([UNKNOWN]).map(path).collect()
});

fn letter(c: char) -> &'static (f64, BezPath) {
    PATHS.get(&c).unwrap_or_else(|| &PATHS[&UNKNOWN.0])
}

/// Returns the width that a character takes, with the room after it.
fn advance(c: char) -> f64 {
    if c.is_whitespace() { SPACE + GAP } else { letter(c).0 + GAP }
}

/// Returns the width of a line of text.
pub(super) fn width(text: &str) -> f64 {
    (text.chars().map(advance).sum::<f64>() - GAP).max(0.0)
}

/// Returns a line of text cut to a width, ending in an ellipsis if something was left out.
pub(super) fn cut(text: &str, most: f64) -> String {
    if width(text) <= most {
        return text.to_string();
    }
    let mut room = most - width("…");
    let fits = |c: &char| {
        room -= advance(*c);
        room >= 0.0
    };
    let kept: String = text.chars().take_while(fits).collect();
    format!("{}…", kept.trim_end())
}

/// Returns the lines of the pen, and how far right each letter stands.
pub(super) fn paths(text: &str) -> impl Iterator<Item = (&'static BezPath, f64)> + '_ {
    let mut at = 0.0;
    text.chars().filter_map(move |c| {
        let place = at;
        at += advance(c);
        (!c.is_whitespace()).then(|| (&letter(c).1, place))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use kurbo::Shape;

    #[test]
    fn letters_lie_in_their_boxes() {
        for &(c, width, _) in LETTERS.iter().chain([&UNKNOWN]) {
            let bounds = letter(c).1.bounding_box();
            assert!(bounds.x0 >= -0.9 && bounds.x1 <= width + 0.05, "{c}: {bounds:?}");
            assert!(bounds.y0 >= -1.1 && bounds.y1 <= 18.6, "{c}: {bounds:?}");
        }
        assert_eq!(PATHS.len(), LETTERS.len() + 1, "one of each");
    }

    #[test]
    fn long_lines_are_cut() {
        assert_eq!(cut("pawn 100", 99.0), "pawn 100");
        let short = cut("pawn 100 and 200", 60.0);
        assert!(short.starts_with("paw") && short.ends_with('…') && width(&short) <= 60.0, "{short}");
        assert_eq!(cut("pawn", 0.0), "…");
        assert!((width("ii i") - (3.0 * GAP + SPACE)).abs() < 1e-9);
        let places: Vec<f64> = paths("a b☃").map(|(_, at)| at).collect();
        for (at, expected) in places.iter().zip([0.0, 8.0 + 2.0 * GAP + SPACE, 16.0 + 3.0 * GAP + SPACE]) {
            assert!((at - expected).abs() < 1e-9, "{places:?}");
        }
        assert_eq!(places.len(), 3);
    }
}
