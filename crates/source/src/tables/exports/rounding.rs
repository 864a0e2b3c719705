//! Rounding of values.

use std::str::FromStr;

use gputexel_io::{Error, Result};

/// Maximum number of decimals. Beyond them, values in centipawns are noise of their storage.
const MAX_DECIMALS: u8 = 12;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Rounding {
    #[default]
    Whole,
    Decimals(u8),
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
    pub fn is_whole(self) -> bool {
        self == Self::Whole
    }

    pub fn round(self, value: f64) -> f64 {
        let rounded = match self {
            Self::Whole => value.round(),
            Self::Decimals(decimals) => {
                let unit = 10f64.powi(i32::from(decimals));
                let rounded = (value * unit).round() / unit;
                // If the product overflows, there are no decimals.
                if rounded.is_finite() { rounded } else { value }
            }
            Self::All => value,
        };
        if rounded == 0.0 { 0.0 } else { rounded } // no -0
    }

    /// A rounded value as text that every language parses as a number of its type.
    pub fn text(self, value: f64) -> String {
        match self {
            Self::Whole => format!("{value:.0}"),
            Self::Decimals(decimals) => format!("{value:.*}", usize::from(decimals)),
            Self::All => format!("{value:?}"),
        }
    }

    pub fn describe(self) -> String {
        match self {
            Self::Whole => "rounded to whole centipawns".to_string(),
            Self::Decimals(1) => "rounded to 1 decimal".to_string(),
            Self::Decimals(decimals) => format!("rounded to {decimals} decimals"),
            Self::All => "not rounded".to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_rounded_half_away_from_zero() {
        let text = |rounding: Rounding, value: f64| rounding.text(rounding.round(value));
        assert_eq!([82.5, -82.5, -0.4, 94.49].map(|v| text(Rounding::Whole, v)), ["83", "-83", "0", "94"]);
        assert_eq!(text(Rounding::Decimals(2), -0.004), "0.00");
        assert_eq!(text(Rounding::Decimals(1), 2.25), "2.3");
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
