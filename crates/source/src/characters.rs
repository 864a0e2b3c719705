//! Definitions of blanks, digits, words and lines.

/// The zeros of Unicode 16 (category Nd), each followed by its digits 1 to 9.
#[rustfmt::skip]
const ZEROS: [u32; 76] = [
    0x30, 0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6,
    0xd66, 0xde6, 0xe50, 0xed0, 0xf20, 0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80,
    0x1a90, 0x1b50, 0x1bb0, 0x1c40, 0x1c50, 0xa620, 0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0,
    0xff10, 0x104a0, 0x10d30, 0x10d40, 0x11066, 0x110f0, 0x11136, 0x111d0, 0x112f0, 0x11450, 0x114d0, 0x11650,
    0x116c0, 0x116d0, 0x116da, 0x11730, 0x118e0, 0x11950, 0x11bf0, 0x11c50, 0x11d50, 0x11da0, 0x11f50, 0x16130,
    0x16a60, 0x16ac0, 0x16b50, 0x16d70, 0x1ccf0, 0x1d7ce, 0x1d7d8, 0x1d7e2, 0x1d7ec, 0x1d7f6, 0x1e140, 0x1e2f0,
    0x1e4f0, 0x1e5f1, 0x1e950, 0x1fbf0,
];

pub(super) fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\x1c'..='\x1f').contains(&c)
}

pub(super) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

pub(super) fn is_digit(c: char) -> bool {
    digit_value(c).is_some()
}

fn digit_value(c: char) -> Option<u32> {
    if c.is_ascii() {
        return c.to_digit(10);
    }
    let code = c as u32;
    let after = ZEROS.partition_point(|&zero| zero <= code);
    Some(code - ZEROS[after.checked_sub(1)?]).filter(|&value| value < 10)
}

pub(super) fn ascii_number(text: &str) -> String {
    let ascii = |c: char| digit_value(c).and_then(|value| char::from_digit(value, 10)).unwrap_or(c);
    text.chars().map(ascii).collect()
}

/// Digits beyond the precision of f64 are rounded; numbers of 309 or more digits may be infinite.
pub(super) fn number_value(text: &str) -> f64 {
    ascii_number(text).parse().unwrap_or(f64::NAN)
}

/// True if the text after it would be the fraction of a number or a member: not in `0..64`.
pub(super) fn ends_with_point(text: &str) -> bool {
    text.ends_with('.') && (!text.ends_with("..") || text.ends_with("..."))
}

/// 1-based line of a position.
pub(super) fn line_of(text: &str, offset: usize) -> u64 {
    1 + memchr::memchr_iter(b'\n', &text.as_bytes()[..offset]).count() as u64
}

pub(super) fn line_start(text: &str, offset: usize) -> usize {
    text[..offset].rfind('\n').map_or(0, |at| at + 1)
}

pub(super) fn line_end(text: &str, offset: usize) -> usize {
    let end = memchr::memchr(b'\n', &text.as_bytes()[offset..]).map_or(text.len(), |at| offset + at);
    if end > offset && text.as_bytes()[end - 1] == b'\r' && end < text.len() { end - 1 } else { end }
}

pub(super) fn next_line(text: &str, offset: usize) -> usize {
    memchr::memchr(b'\n', &text.as_bytes()[offset..]).map_or(text.len(), |at| offset + at + 1)
}

pub(super) fn indentation(text: &str, offset: usize) -> &str {
    let line = &text[line_start(text, offset)..offset];
    // A byte order mark stands before the first column, not in it.
    let line = line.trim_start_matches('\u{feff}');
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

pub(super) fn with_newlines(text: &str) -> String {
    if text.contains('\r') { text.replace("\r\n", "\n").replace('\r', "\n") } else { text.to_string() }
}

pub(super) fn newline_of(text: &str) -> &'static str {
    let all = memchr::memchr_iter(b'\n', text.as_bytes()).count();
    let windows = memchr::memmem::find_iter(text.as_bytes(), b"\r\n").count();
    if windows * 2 > all { "\r\n" } else { "\n" }
}

pub(super) fn without_blank_edges(body: &str) -> &str {
    let body = body.trim_end_matches(is_space);
    let first = body.len() - body.trim_start_matches(is_space).len();
    &body[line_start(body, first)..]
}

/// A whole number, without the sign of zero.
pub(super) fn whole_text(value: f64) -> String {
    if value == 0.0 { "0".to_string() } else { format!("{value:.0}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_and_digits_are_pythons() {
        for c in ['\u{3000}', '\u{a0}', '\x1c', '\t', '\u{2028}'] {
            assert!(is_space(c), "{c:?}");
        }
        assert!(!is_space('\u{200b}') && !is_space('\u{feff}'));
        // ARABIC-INDIC, DEVANAGARI, fullwidth, MATHEMATICAL BOLD and MONOSPACE.
        for (text, value) in [("١٢٠", 120.0), ("-२९", -29.0), ("１２.５", 12.5), ("𝟎𝟗", 9.0), ("𝟼𝟿", 69.0)]
        {
            assert!(text.chars().all(|c| is_digit(c) || "-.".contains(c)), "{text}");
            assert_eq!(number_value(text), value, "{text}");
        }
        assert!(!is_digit('²') && !is_digit('Ⅷ') && !is_digit('x'));
    }

    #[test]
    fn lines_are_found() {
        let text = "\u{feff}  a\r\n\tb\nc";
        assert_eq!((line_of(text, 0), line_of(text, text.len())), (1, 3));
        let b = text.find('b').unwrap();
        assert_eq!((line_start(text, b), line_end(text, 4)), (b - 1, 6));
        assert_eq!((indentation(text, b), indentation(text, 5)), ("\t", "  "));
        assert_eq!(newline_of("a\r\nb\r\nc\n"), "\r\n");
        assert_eq!(without_blank_edges("\n \n  a\n\n b\n\n"), "  a\n\n b");
        assert_eq!(without_blank_edges(" \n"), "");
    }
}
