//! Number literals: their values, and other values written in the same style.

use crate::languages::Language;

/// Style of a literal.
#[derive(Clone, Debug, PartialEq)]
struct Style {
    radix: u32,
    /// `0x` and the like; empty for decimal numbers.
    prefix: String,
    /// Minimum number of digits, for prefixed numbers.
    digits: usize,
    upper: bool,
    /// Number of decimals, for floats.
    decimals: Option<usize>,
    /// True for a point without decimals.
    bare_point: bool,
    /// True for a point without a digit before it.
    no_zero: bool,
    /// The letter of the exponent.
    exponent: Option<char>,
    suffix: String,
    language: Language,
}

/// A literal with its sign.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Number {
    pub value: f64,
    /// True if written with a `+`.
    pub plus: bool,
    style: Style,
}

impl Number {
    /// Parses a literal without its sign.
    pub fn parse(sign: Option<u8>, text: &str, language: Language) -> Result<Self, String> {
        let wrong = |why: &str| format!("'{text}' {why}");
        let lower = text.to_ascii_lowercase();
        let mut style = Style {
            radix: 10,
            prefix: String::new(),
            digits: 0,
            upper: false,
            decimals: None,
            bare_point: false,
            no_zero: false,
            exponent: None,
            suffix: String::new(),
            language,
        };
        let radix = match lower.get(..2) {
            Some("0x") => 16,
            Some("0b") => 2,
            Some("0o") if language == Language::RUST => 8,
            _ => 10,
        };
        let value = if radix != 10 {
            let body = &text[2..];
            let end = body.find(|c: char| !c.is_digit(radix) && !separates(c)).unwrap_or(body.len());
            let end = body[..end].trim_end_matches(separates).len();
            let digits: String = body[..end].chars().filter(|&c| !separates(c)).collect();
            if digits.is_empty() || body[end..].starts_with(['.', 'p', 'P']) {
                return Err(wrong("is a number that gputexel cannot write"));
            }
            style.radix = radix;
            style.prefix = text[..2].to_string();
            style.digits = digits.len();
            style.upper = digits.contains(|c: char| c.is_ascii_uppercase());
            style.suffix = body[end..].to_string();
            u64::from_str_radix(&digits, radix).map_err(|_| wrong("is too large"))? as f64
        } else {
            style.decimal(text).ok_or_else(|| wrong("is not a number"))?
        };
        let known = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if !style.suffix.chars().all(known) || style.suffix.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(wrong("is not a number"));
        }
        let value = if sign == Some(b'-') { -value } else { value };
        Ok(Self { value, plus: sign == Some(b'+'), style })
    }

    /// Returns the number of decimals, for floats without an exponent.
    pub fn decimals(&self) -> Option<usize> {
        self.style.decimals.filter(|_| self.style.exponent.is_none())
    }

    /// Returns the unit of its last digit.
    pub fn unit(&self) -> f64 {
        match (self.style.exponent, self.style.decimals) {
            (_, None) => 1.0,
            (None, Some(decimals)) => 0.1f64.powi(decimals.min(17) as i32),
            (Some(_), Some(_)) if self.value == 0.0 => 1.0,
            (Some(_), Some(_)) => {
                let power = self.value.abs().log10().floor() as i32;
                10f64.powi(power - self.style.digits_behind(self.value).min(17) as i32)
            }
        }
    }

    /// Returns the letters after its digits.
    pub fn suffix(&self) -> &str {
        self.style.suffix.trim_start_matches('_')
    }

    /// Returns true if it is an integer.
    pub fn is_integer(&self) -> bool {
        self.style.decimals.is_none()
    }

    /// Returns the closest value that can be written, half away from zero.
    pub fn round(&self, value: f64) -> f64 {
        let style = &self.style;
        let rounded = match (style.exponent, style.decimals) {
            (Some(_), Some(_)) => {
                let decimals = style.digits_behind(value);
                format!("{value:.decimals$e}").parse().unwrap_or(value)
            }
            (None, Some(decimals)) => {
                let unit = 10f64.powi(decimals.min(17) as i32);
                (value * unit).round() / unit
            }
            (_, None) => value.round(),
        };
        if rounded == 0.0 { 0.0 } else { rounded } // no -0
    }

    /// Formats a value in the style of this literal, with its sign; positive ones with `+` if requested.
    pub fn write(&self, value: f64, plus: bool) -> Result<String, String> {
        let style = &self.style;
        let value = self.round(value);
        let size = value.abs();
        let integer = style.decimals.is_none();
        if !value.is_finite() || (integer && size > f64::from(i32::MAX)) {
            return Err(format!("{value} does not fit 32 bits"));
        }
        if let Some((low, high)) = style.limits()
            && !(low..=high).contains(&value)
        {
            return Err(format!(
                "{value} does not fit the type of '{}'",
                style.suffix.trim_start_matches('_')
            ));
        }
        let digits = match (style.exponent, style.decimals) {
            (Some(letter), Some(_)) => {
                let decimals = style.digits_behind(value);
                format!("{size:.decimals$e}").replace('e', &letter.to_string())
            }
            (None, Some(decimals)) => {
                let text = format!("{size:.decimals$}");
                let text = if style.bare_point { text + "." } else { text };
                match text.strip_prefix('0') {
                    Some(rest) if style.no_zero && rest.len() > 1 => rest.to_string(),
                    _ => text,
                }
            }
            (_, None) => {
                let width = style.digits;
                let whole = size as u64;
                let text = match (style.radix, style.upper) {
                    (16, true) => format!("{whole:0width$X}"),
                    (16, false) => format!("{whole:0width$x}"),
                    (8, _) => format!("{whole:0width$o}"),
                    (2, _) => format!("{whole:0width$b}"),
                    _ => whole.to_string(),
                };
                format!("{}{text}", style.prefix)
            }
        };
        let sign = match () {
            () if value < 0.0 => "-",
            () if value > 0.0 && plus => "+",
            () => "",
        };
        Ok(format!("{sign}{digits}{}", style.suffix))
    }
}

/// Returns true for separators between digits.
fn separates(c: char) -> bool {
    c == '_' || c == '\''
}

impl Style {
    /// Returns a decimal number's value; stores its style in `self`.
    fn decimal(&mut self, text: &str) -> Option<f64> {
        let run = |text: &str| {
            let end = text.find(|c: char| !c.is_ascii_digit() && !separates(c)).unwrap_or(text.len());
            text[..end].trim_end_matches(separates).len()
        };
        let whole = run(text);
        let mut end = whole;
        let mut float = false;
        if text[end..].starts_with('.') {
            float = true;
            let decimals = run(&text[end + 1..]);
            self.bare_point = decimals == 0;
            self.decimals =
                Some(text[end + 1..end + 1 + decimals].chars().filter(|&c| !separates(c)).count());
            self.no_zero = whole == 0;
            end += 1 + decimals;
        }
        let mut rest = text[end..].chars();
        if let Some(letter @ ('e' | 'E')) = rest.next() {
            let power = rest.as_str();
            let sign = usize::from(power.starts_with(['+', '-']));
            let digits = run(&power[sign..]);
            if digits > 0 {
                float = true;
                self.exponent = Some(letter);
                self.decimals.get_or_insert(0);
                end += 1 + sign + digits;
            }
        }
        self.suffix = text[end..].to_string();
        let suffix = self.suffix.trim_start_matches('_').to_ascii_lowercase();
        if matches!(suffix.as_str(), "f" | "d" | "m" | "f32" | "f64" | "f16") {
            float = true;
            self.decimals.get_or_insert(0);
        }
        let digits: String = text[..end].chars().filter(|&c| !separates(c)).collect();
        if !float && self.language.is_c && digits.len() > 1 && digits.starts_with('0') {
            return u64::from_str_radix(&digits, 8).ok().map(|value| value as f64);
        }
        digits.parse().ok()
    }

    /// Returns the decimals of a value with an exponent: as many as the literal had, and enough for whole centipawns.
    fn digits_behind(&self, value: f64) -> usize {
        let power = if value == 0.0 { 0.0 } else { value.abs().log10().floor() };
        self.decimals.unwrap_or(0).max(power.clamp(0.0, 17.0) as usize)
    }

    /// Returns the limits given by an integer's suffix.
    fn limits(&self) -> Option<(f64, f64)> {
        if self.decimals.is_some() {
            return None;
        }
        let suffix = self.suffix.trim_start_matches('_');
        let bits = |text: &str| text.parse::<i32>().ok().filter(|bits| (8..=128).contains(bits));
        match suffix.as_bytes().first()? {
            b'u' if self.language == Language::RUST => {
                Some((0.0, bits(&suffix[1..]).map_or(f64::MAX, |bits| 2f64.powi(bits) - 1.0)))
            }
            b'i' if self.language == Language::RUST => {
                let half = bits(&suffix[1..]).map(|bits| 2f64.powi(bits - 1));
                half.map(|half| (-half, half - 1.0))
            }
            // A suffix defined by the engine begins with an underscore and gives no type.
            _ if self.suffix.starts_with('_') => None,
            _ => suffix.contains(['u', 'U']).then_some((0.0, f64::MAX)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const C: Language = Language::C;
    const CSHARP: Language = Language::CSHARP;
    const RUST: Language = Language::RUST;

    fn again(text: &str, value: f64, language: Language) -> String {
        let number = Number::parse(None, text, language).unwrap();
        number.write(value, false).unwrap_or_else(|why| why)
    }

    #[test]
    fn literals_are_worth_what_the_compilers_say() {
        let value = |text: &str, language| Number::parse(None, text, language).unwrap().value;
        for (text, language, expected) in [
            ("82", C, 82.0),
            ("010", C, 8.0),
            ("010", RUST, 10.0),
            ("010", CSHARP, 10.0),
            ("0x1F", C, 31.0),
            ("0XffUL", C, 255.0),
            ("0b101", C, 5.0),
            ("0o17_i32", RUST, 15.0),
            ("1'000", C, 1000.0),
            ("1_000i32", RUST, 1000.0),
            (".5f", C, 0.5),
            ("1.", C, 1.0),
            ("1.50", C, 1.5),
            ("1.f", C, 1.0),
            ("25e-1", RUST, 2.5),
            ("5f", CSHARP, 5.0),
            ("08.5", C, 8.5),
            ("0xFFi64", RUST, 255.0),
            ("0", C, 0.0),
        ] {
            assert_eq!(value(text, language), expected, "{text}");
        }
        for text in ["0x", "0x1.8p3", "09", "1.2.3", "0xFFFFFFFFFFFFFFFFFF", "0b2"] {
            assert!(Number::parse(None, text, C).is_err(), "{text}");
        }
    }

    #[test]
    fn values_are_written_as_before() {
        for (text, value, language, expected) in [
            ("82", -2.5, C, "-3"),
            ("82", 2.5, C, "3"),
            ("82", -0.4, C, "0"),
            ("0x1F", 200.0, C, "0xC8"),
            ("0x001f", -200.0, C, "-0x00c8"),
            ("0b0101", 2.0, C, "0b0010"),
            ("010", 9.0, C, "9"),
            ("5L", 7.0, C, "7L"),
            ("5_i32", -7.0, RUST, "-7_i32"),
            ("5_cp", -7.0, C, "-7_cp"),
            ("5u", 7.0, C, "7u"),
            ("1.50", 2.125, C, "2.13"),
            ("1.50", -0.001, C, "0.00"),
            (".5f", -0.25, C, "-.3f"),
            (".5f", 12.0, C, "12.0f"),
            ("1.", 12.6, C, "13."),
            ("5f", 7.4, CSHARP, "7f"),
            ("1.5e2", 12345.4, C, "1.2345e4"),
            ("1e2", 319.08, C, "3.19e2"),
            ("3.3E+2", -319.08, C, "-3.19E2"),
            ("1.25e-1", 0.3337, C, "3.34e-1"),
            ("1e0", 0.0, C, "0e0"),
            ("5u", -1.0, C, "-1 does not fit the type of 'u'"),
            ("5i8", 128.0, RUST, "128 does not fit the type of 'i8'"),
            ("5i8", -128.0, RUST, "-128i8"),
            ("5u16", -1.0, RUST, "-1 does not fit the type of 'u16'"),
            ("5", 3e9, C, "3000000000 does not fit 32 bits"),
        ] {
            assert_eq!(again(text, value, language), expected, "{text} {value}");
        }
        let number = Number::parse(Some(b'+'), "5", C).unwrap();
        assert_eq!([7.0, 0.0, -7.0].map(|v| number.write(v, true).unwrap()), ["+7", "0", "-7"]);
    }
}
