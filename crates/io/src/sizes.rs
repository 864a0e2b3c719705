//! Parses human-readable byte sizes.

use crate::error::{Error, Result};

/// Parses a number of bytes above 0, with K, M or G for powers of 1,024: `512M`.
///
/// # Errors
/// [`Error::Usage`] for anything else.
pub fn parse_bytes(text: &str) -> Result<u64> {
    let (digits, shift) = match text.as_bytes().last() {
        Some(b'k' | b'K') => (&text[..text.len() - 1], 10),
        Some(b'm' | b'M') => (&text[..text.len() - 1], 20),
        Some(b'g' | b'G') => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    let number = digits.parse::<u64>().ok().filter(|&number| number > 0 && number <= u64::MAX >> shift);
    let wrong = || Error::Usage("expected a size such as 64M or 2G".to_string());
    number.map(|number| number << shift).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::parse_bytes;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        for (text, bytes) in [("64M", 64 << 20), ("2g", 2 << 30), ("1000", 1000)] {
            assert_eq!(parse_bytes(text).unwrap(), bytes);
        }
        for bad in ["", "M", "0", "-1", "1.5G", "64MB", "99999999999999G", "\u{e9}"] {
            assert!(parse_bytes(bad).is_err(), "{bad}");
        }
    }
}
