//! Colors, for light and dark. Cells of boards have one of a few levels as their class, so that one document serves
//! both themes.

use std::fmt;

#[derive(Clone, Copy, Debug)]
pub(super) struct Rgb(u8, u8, u8);

impl fmt::Display for Rgb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{:02X}{:02X}{:02X}", self.0, self.1, self.2)
    }
}

const LEVELS: i32 = 7;

pub(super) const INK: Rgb = Rgb(0x1c, 0x20, 0x26);
pub(super) const SOFT: Rgb = Rgb(0x57, 0x60, 0x6a);
pub(super) const GRID: Rgb = Rgb(0xd4, 0xd9, 0xdf);
pub(super) const SERIES: [Rgb; 4] =
    [Rgb(0x0b, 0x62, 0xc4), Rgb(0xb3, 0x47, 0x00), Rgb(0x6b, 0x3f, 0xa0), Rgb(0x0f, 0x76, 0x62)];

const DARK_INK: Rgb = Rgb(0xe6, 0xe9, 0xed);
const DARK_SOFT: Rgb = Rgb(0x9a, 0xa4, 0xb0);
const DARK_GRID: Rgb = Rgb(0x36, 0x3d, 0x46);
const DARK_SERIES: [Rgb; 4] =
    [Rgb(0x6c, 0xb0, 0xff), Rgb(0xff, 0x9d, 0x57), Rgb(0xc3, 0x9b, 0xff), Rgb(0x57, 0xd0, 0xb0)];

const CARD: Rgb = Rgb(0xff, 0xff, 0xff);
const DARK_CARD: Rgb = Rgb(0x1b, 0x1f, 0x25);
/// Ends of the scale, above and below: blue and orange, which nearly everyone can distinguish.
const ENDS: [Rgb; 2] = [Rgb(0x6f, 0xac, 0xf5), Rgb(0xf2, 0x9a, 0x52)];
const DARK_ENDS: [Rgb; 2] = [Rgb(0x1c, 0x5c, 0xac), Rgb(0x9c, 0x4a, 0x0a)];

fn mix(from: Rgb, to: Rgb, share: f64) -> Rgb {
    let part = |a: u8, b: u8| (f64::from(a) + share * (f64::from(b) - f64::from(a))).round() as u8;
    Rgb(part(from.0, to.0), part(from.1, to.1), part(from.2, to.2))
}

fn level_color(level: i32, dark: bool) -> Rgb {
    let (card, ends) = if dark { (DARK_CARD, DARK_ENDS) } else { (CARD, ENDS) };
    let end = ends[usize::from(level < 0)];
    mix(card, end, f64::from(level.abs()) / f64::from(LEVELS))
}

pub(super) fn level_class(value: f64, full: f64) -> &'static str {
    const UP: [&str; 8] = ["z", "p1", "p2", "p3", "p4", "p5", "p6", "p7"];
    const DOWN: [&str; 8] = ["z", "n1", "n2", "n3", "n4", "n5", "n6", "n7"];
    if !(value.is_finite() && full > 0.0) {
        return "z";
    }
    let level = (value.abs() / full * f64::from(LEVELS)).round().min(f64::from(LEVELS)) as usize;
    if value < 0.0 { DOWN[level] } else { UP[level] }
}

pub(super) fn rules() -> String {
    let mut text = String::new();
    let theme = |text: &mut String, dark: bool| {
        for level in 1..=LEVELS {
            let (up, down) = (level_color(level, dark), level_color(-level, dark));
            *text += &format!(".p{level}{{background:{up}}}.n{level}{{background:{down}}}\n");
        }
    };
    theme(&mut text, false);
    text += "@media (prefers-color-scheme:dark){\n";
    theme(&mut text, true);
    let pairs = [(INK, DARK_INK), (SOFT, DARK_SOFT), (GRID, DARK_GRID)];
    for (light, dark) in pairs.into_iter().chain(SERIES.into_iter().zip(DARK_SERIES)) {
        text +=
            &format!(".plot [fill=\"{light}\"]{{fill:{dark}}}.plot [stroke=\"{light}\"]{{stroke:{dark}}}\n");
    }
    text += "}\n";
    let [_, second, third, _] = SERIES;
    // Color is not the only distinction.
    text += &format!(".plot polyline[stroke=\"{second}\"][stroke-width=\"2\"]{{stroke-dasharray:7 4}}\n");
    text += &format!(".plot polyline[stroke=\"{third}\"][stroke-width=\"2\"]{{stroke-dasharray:2 3}}\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Contrast ratio of WCAG 2.
    fn contrast(a: Rgb, b: Rgb) -> f64 {
        let linear = |c: u8| {
            let c = f64::from(c) / 255.0;
            if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
        };
        let luminance = |c: Rgb| 0.2126 * linear(c.0) + 0.7152 * linear(c.1) + 0.0722 * linear(c.2);
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn text_is_legible_on_every_level_in_both_themes() {
        for level in -LEVELS..=LEVELS {
            let light = contrast(INK, level_color(level, false));
            let dark = contrast(DARK_INK, level_color(level, true));
            assert!(light > 4.5 && dark > 4.5, "{level}: {light:.2} {dark:.2}");
        }
        for (light, dark) in SERIES.into_iter().zip(DARK_SERIES).chain([(SOFT, DARK_SOFT)]) {
            let (light, dark) = (contrast(light, CARD), contrast(dark, DARK_CARD));
            assert!(light > 4.5 && dark > 4.5, "{light:.2} {dark:.2}");
        }
    }

    #[test]
    fn levels_follow_sign_and_size() {
        let classes = [0.0, 3.0, 30.0, -15.0, -1e9, f64::NAN].map(|value| level_class(value, 30.0));
        assert_eq!(classes, ["z", "p1", "p7", "n4", "n7", "z"]);
        assert_eq!(level_class(5.0, 0.0), "z");
    }
}
