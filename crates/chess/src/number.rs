//! Decimal numbers in text.

/// Parses a finite decimal number.
pub fn parse_number(text: &[u8]) -> Option<f32> {
    let text = text.trim_ascii();
    // Words such as `inf` and `nan` are numbers to the standard library.
    if !text.iter().all(|b| b.is_ascii_digit() || matches!(b, b'+' | b'-' | b'.' | b'e' | b'E')) {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse::<f32>().ok().filter(|value| value.is_finite())
}
