//! Formats numbers for the page.

use super::super::number_text::{fixed, trimmed};
pub use gputexel_io::grouped;

/// Formats with a sign and without decimals; 0 has no sign.
pub(super) fn signed(value: f64) -> String {
    if value.round() == 0.0 { "0".to_string() } else { format!("{value:+.0}") }
}

pub(super) fn count(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        1_000..10_000 => format!("{}.{}k", number / 1_000, number % 1_000 / 100),
        10_000..1_000_000 => format!("{}k", number / 1_000),
        1_000_000..10_000_000 => format!("{}.{}M", number / 1_000_000, number % 1_000_000 / 100_000),
        10_000_000..1_000_000_000 => format!("{}M", number / 1_000_000),
        _ => format!("{}G", number / 1_000_000_000),
    }
}

pub(super) fn precise(value: f64) -> String {
    if value.is_finite() { trimmed(&fixed(value, 8)) } else { "–".to_string() }
}

/// Standard errors within which a difference may be noise.
pub const CLEAR: f64 = 2.0;

/// Formats a number rounded to a whole one, 0 without a sign.
pub(super) fn whole(value: f64) -> String {
    format!("{:.0}", value.round() + 0.0)
}

/// Formats centipawns, with a decimal if the number is not whole.
pub(super) fn centipawns(value: f64) -> String {
    if (value - value.round()).abs() < 0.05 { whole(value) } else { format!("{value:.1}") }
}

pub fn bytes(count: u64) -> String {
    match count {
        0..10_000 => format!("{} bytes", grouped(count)),
        10_000..999_950 => format!("{:.1} kB", count as f64 / 1e3),
        999_950..999_950_000 => format!("{:.1} MB", count as f64 / 1e6),
        _ => format!("{:.1} GB", count as f64 / 1e9),
    }
}

/// `12 s`, `3 min 5 s`, `2 h 10 min`.
pub(super) fn duration(seconds: f64) -> String {
    let whole = seconds.max(0.0).ceil() as u64;
    match whole {
        0..60 => format!("{whole} s"),
        60..3600 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3600, whole / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!(
            [0, 999, 1_000, 1_949, 9_999, 12_345, 999_999].map(count),
            ["0", "999", "1.0k", "1.9k", "9.9k", "12k", "999k"]
        );
        assert_eq!([1_500_000, 72_000_000, 3_000_000_000].map(count), ["1.5M", "72M", "3G"]);
        assert_eq!(
            [9_999, 12_345, 999_999, 3_554_268].map(bytes),
            ["9,999 bytes", "12.3 kB", "1.0 MB", "3.6 MB"]
        );
        assert_eq!([0.4, -0.4, 3.0, -3.0].map(signed), ["0", "0", "+3", "-3"]);
        assert_eq!([1.0, -0.01, 2.25].map(centipawns), ["1", "0", "2.2"]);
        assert_eq!(
            [0.0, -0.0, -1e-9, 1e-9, -2.5, 100.0, 0.123456789, f64::NAN, 1e308, -1.2e20].map(precise),
            ["0", "0", "0", "0", "-2.5", "100", "0.12345679", "–", "1e308", "-1.2e20"]
        );
    }
}
