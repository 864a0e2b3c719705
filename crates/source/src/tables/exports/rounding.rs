//! Rounding of values.

use std::str::FromStr;

use gputexel_io::{Error, Result};

/// Maximum number of decimals. Beyond them, values in centipawns are noise of their storage.
const MAX_DECIMALS: u8 = 12;

/// Rounding of a value.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Rounding {
    /// Whole centipawns, half away from zero.
    #[default]
    Whole,
    /// Number of decimals, 1 to 12.
    Decimals(u8),
    /// Whole multiples of this fraction of a centipawn: 256 writes 1 as 256.
    Fixed(u32),
    /// All digits, so that the same number is read back.
    All,
}

impl FromStr for Rounding {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text.parse::<u8>() {
            _ if text == "all" => Ok(Self::All),
            Ok(0) => Ok(Self::Whole),
            Ok(decimals) if decimals <= MAX_DECIMALS => Ok(Self::Decimals(decimals)),
            _ => Err(Error::Usage(format!("decimals '{text}': expected 0 to {MAX_DECIMALS}, or all"))),
        }
    }
}

impl Rounding {
    /// Returns the factor between centipawns and output units.
    pub fn scale(self) -> f64 {
        match self {
            Self::Fixed(parts) => f64::from(parts),
            _ => 1.0,
        }
    }

    /// Returns true if integers are written.
    pub fn is_whole(self) -> bool {
        matches!(self, Self::Whole | Self::Fixed(_))
    }

    /// Returns the closest value that can be written, in output units.
    pub fn round(self, units: f64) -> f64 {
        let rounded = match self {
            Self::Whole | Self::Fixed(_) => units.round(),
            Self::Decimals(decimals) => {
                let unit = 10f64.powi(i32::from(decimals));
                let rounded = (units * unit).round() / unit;
                // If the product overflows, there are no decimals.
                if rounded.is_finite() { rounded } else { units }
            }
            Self::All => units,
        };
        if rounded == 0.0 { 0.0 } else { rounded } // no -0
    }

    /// Returns a rounded value as text that every language parses as a number of its type.
    pub fn text(self, units: f64) -> String {
        match self {
            Self::Whole | Self::Fixed(_) => format!("{units:.0}"),
            Self::Decimals(decimals) => format!("{units:.*}", usize::from(decimals)),
            Self::All => format!("{units:?}"),
        }
    }

    /// Describes the rounding.
    pub fn describe(self) -> String {
        match self {
            Self::Whole => "rounded to whole centipawns".to_string(),
            Self::Decimals(1) => "rounded to 1 decimal".to_string(),
            Self::Decimals(decimals) => format!("rounded to {decimals} decimals"),
            Self::Fixed(parts) => format!("rounded to 1/{parts} centipawn"),
            Self::All => "not rounded".to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_rounded_half_away_from_zero() {
        let text = |rounding: Rounding, value: f64| rounding.text(rounding.round(value * rounding.scale()));
        assert_eq!([82.5, -82.5, -0.4, 94.49].map(|v| text(Rounding::Whole, v)), ["83", "-83", "0", "94"]);
        assert_eq!(text(Rounding::Decimals(2), -0.004), "0.00");
        assert_eq!(text(Rounding::Decimals(1), 2.25), "2.3");
        assert_eq!(text(Rounding::Fixed(256), -1.5), "-384");
        assert_eq!(text(Rounding::All, 1.0 / 3.0).parse(), Ok(1.0 / 3.0));
        assert_eq!(text(Rounding::All, 5.0), "5.0");
        assert_eq!(Rounding::Decimals(12).round(1e300), 1e300);
        for (text, expected) in
            [("0", Some(Rounding::Whole)), ("all", Some(Rounding::All)), ("13", None), ("-1", None)]
        {
            assert_eq!(text.parse::<Rounding>().ok(), expected, "{text}");
        }
    }
}
