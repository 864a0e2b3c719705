//! Number literals: their values, and other values written in the same style.

use crate::languages::Language;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Number {
    pub value: f64,
    pub plus: bool,
    decimals: Option<usize>,
    bare_point: bool,
    /// True for a point without a digit before it.
    no_zero: bool,
    suffix: String,
    language: Language,
}

impl Number {
    pub fn parse(sign: Option<u8>, text: &str, language: Language) -> Result<Self, String> {
        let wrong = || format!("'{text}' is not a number that gputexel can write");
        let run = |text: &str| {
            let end = text.find(|c: char| !c.is_ascii_digit() && !separates(c)).unwrap_or(text.len());
            text[..end].trim_end_matches(separates).len()
        };
        let whole = run(text);
        let point = text[whole..].starts_with('.');
        let behind = if point { run(&text[whole + 1..]) } else { 0 };
        let end = if point { whole + 1 + behind } else { whole };
        let digits: String = text[..end].chars().filter(|&c| !separates(c)).collect();
        let suffix = &text[end..];
        let is_float = point
            || matches!(
                suffix.trim_start_matches('_').to_ascii_lowercase().as_str(),
                "f" | "d" | "m" | "f32" | "f64" | "f16"
            );
        let known = |c: char| c.is_ascii_alphanumeric() || c == '_';
        // `0x1F`, `0b11`, `0o7`, `1e5`
        let other = suffix.starts_with(['x', 'X', 'b', 'B', 'o', 'e', 'E', '.']);
        // Octal numbers of C.
        let octal = !is_float && language.is_c && digits.len() > 1 && digits.starts_with('0');
        if other || octal || !suffix.chars().all(known) {
            return Err(wrong());
        }
        let value: f64 = digits.parse().map_err(|_| wrong())?;
        let decimals = text[whole..end].chars().filter(char::is_ascii_digit).count();
        Ok(Self {
            value: if sign == Some(b'-') { -value } else { value },
            plus: sign == Some(b'+'),
            decimals: is_float.then_some(decimals),
            bare_point: point && behind == 0,
            no_zero: point && whole == 0,
            suffix: suffix.to_string(),
            language,
        })
    }

    pub fn unit(&self) -> f64 {
        self.decimals.map_or(1.0, |decimals| 0.1f64.powi(decimals.min(17) as i32))
    }

    pub fn suffix(&self) -> &str {
        self.suffix.trim_start_matches('_')
    }

    pub fn is_integer(&self) -> bool {
        self.decimals.is_none()
    }

    pub fn round(&self, value: f64) -> f64 {
        let unit = 10f64.powi(self.decimals.unwrap_or(0).min(17) as i32);
        let rounded = (value * unit).round() / unit;
        if rounded == 0.0 { 0.0 } else { rounded } // no -0
    }

    pub fn write(&self, value: f64, plus: bool) -> Result<String, String> {
        let value = self.round(value);
        let size = value.abs();
        if !value.is_finite() || (self.is_integer() && size > f64::from(i32::MAX)) {
            return Err(format!("{value} does not fit 32 bits"));
        }
        if self.limits().is_some_and(|(low, high)| !(low..=high).contains(&value)) {
            return Err(format!("{value} does not fit the type of '{}'", self.suffix()));
        }
        let mut digits = format!("{size:.*}", self.decimals.unwrap_or(0));
        if self.bare_point {
            digits.push('.');
        }
        if self.no_zero && digits.len() > 1 && digits.starts_with('0') {
            digits.remove(0);
        }
        let sign = match () {
            () if value < 0.0 => "-",
            () if value > 0.0 && plus => "+",
            () => "",
        };
        Ok(format!("{sign}{digits}{}", self.suffix))
    }

    fn limits(&self) -> Option<(f64, f64)> {
        if self.decimals.is_some() {
            return None;
        }
        let suffix = self.suffix();
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

fn separates(c: char) -> bool {
    c == '_' || c == '\''
}

#[cfg(test)]
mod tests {
    use super::*;

    const C: Language = Language::C;
    const CSHARP: Language = Language::CSHARP;
    const RUST: Language = Language::RUST;

    #[test]
    fn values_are_written_as_before() {
        for (text, old, value, language, expected) in [
            ("82", 82.0, -2.5, C, "-3"),
            ("82", 82.0, -0.4, C, "0"),
            ("010", 10.0, 9.0, RUST, "9"),
            ("1'000", 1000.0, 7.0, C, "7"),
            ("5L", 5.0, 7.0, C, "7L"),
            ("5_i32", 5.0, -7.0, RUST, "-7_i32"),
            ("5_cp", 5.0, -7.0, C, "-7_cp"),
            ("1.50", 1.5, 2.125, C, "2.13"),
            ("1.50", 1.5, -0.001, C, "0.00"),
            (".5f", 0.5, -0.25, C, "-.3f"),
            (".5f", 0.5, 12.0, C, "12.0f"),
            ("1.", 1.0, 12.6, C, "13."),
            ("5f", 5.0, 7.4, CSHARP, "7f"),
            ("08.5", 8.5, 7.0, C, "7.0"),
            ("5u", 5.0, -1.0, C, "-1 does not fit the type of 'u'"),
            ("5i8", 5.0, 128.0, RUST, "128 does not fit the type of 'i8'"),
            ("5i8", 5.0, -128.0, RUST, "-128i8"),
            ("5u16", 5.0, -1.0, RUST, "-1 does not fit the type of 'u16'"),
            ("5", 5.0, 3e9, C, "3000000000 does not fit 32 bits"),
        ] {
            let number = Number::parse(None, text, language).unwrap();
            let written = number.write(value, false).unwrap_or_else(|why| why);
            assert_eq!((number.value, written.as_str()), (old, expected), "{text} {value}");
        }
        let number = Number::parse(Some(b'+'), "5", C).unwrap();
        assert_eq!([7.0, 0.0, -7.0].map(|v| number.write(v, true).unwrap()), ["+7", "0", "-7"]);
        for text in ["0x1F", "0x1.8p3", "09", "010", "1.2.3", "0b101", "1e2", "1.5e2"] {
            assert!(Number::parse(None, text, C).is_err(), "{text}");
        }
    }
}
