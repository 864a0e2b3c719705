//! Parses decimal numbers and entries from bytes, correctly rounded and without conversion to `str`.

const EXACT: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
];

pub(crate) fn parse_number(text: &[u8]) -> Option<f64> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    let mut mantissa = 0u64;
    let mut point = None;
    let mut count = 0;
    for (i, &byte) in digits.iter().enumerate() {
        match byte {
            b'0'..=b'9' if count < 15 => {
                mantissa = 10 * mantissa + u64::from(byte - b'0');
                count += 1;
            }
            b'.' if point.is_none() => point = Some(i),
            _ => return slow(text),
        }
    }
    if count == 0 {
        return None;
    }
    let decimals = point.map_or(0, |at| digits.len() - at - 1);
    let value = mantissa as f64 / EXACT[decimals];
    Some(if negative { -value } else { value })
}

/// Splits `index:value`, with an integer index below 10⁹.
pub(super) fn split_entry(word: &[u8]) -> Option<(u32, &[u8])> {
    let mut index = 0u32;
    for (i, &byte) in word.iter().enumerate() {
        match byte {
            b'0'..=b'9' if i < 9 => index = 10 * index + u32::from(byte - b'0'),
            b':' if i > 0 => return Some((index, &word[i + 1..])),
            _ => return None,
        }
    }
    None
}

#[cold]
fn slow(text: &[u8]) -> Option<f64> {
    // The standard library also accepts words such as inf and nan.
    if text.iter().any(|byte| byte.is_ascii_alphabetic() && !matches!(byte, b'e' | b'E')) {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok().filter(|value: &f64| value.is_finite())
}

/// Converts a value to a whole number from 0 to `max`, within the precision of decimal fractions.
pub(super) fn whole(value: f64, max: u16) -> Option<u16> {
    let nearest = value.round();
    let near = (value - nearest).abs() <= 1e-4 && (0.0..=f64::from(max)).contains(&nearest);
    near.then_some(nearest as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn any_decimal_is_that_of_the_standard_library(
            text in "[-+]?[0-9]{0,18}(\\.[0-9]{0,18})?([eE][-+]?[0-9]{1,3})?"
        ) {
            let wanted = text.parse::<f64>().ok().filter(|value| value.is_finite());
            assert_eq!(parse_number(text.as_bytes()).map(f64::to_bits), wanted.map(f64::to_bits), "{text}");
        }
    }

    #[test]
    fn what_is_no_finite_number_is_refused() {
        for text in [
            "", "-", "+", ".", "nan", "NaN", "inf", "-inf", "infinity", "1e999", "1.2.3", "1-", "0x1", "1,5",
            "--1",
        ] {
            assert_eq!(parse_number(text.as_bytes()), None, "{text}");
        }
    }
}
