//! Definitions of blanks, digits, words and lines.

pub(super) fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\x1c'..='\x1f').contains(&c)
}

pub(super) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

pub(super) fn is_digit(c: char) -> bool {
    c.is_ascii_digit()
}

/// Digits beyond the precision of f64 are rounded; numbers of 309 or more digits may be infinite.
pub(super) fn number_value(text: &str) -> f64 {
    text.parse().unwrap_or(f64::NAN)
}

/// True if the text after it would be the fraction of a number or a member: not in `0..64`.
pub(super) fn ends_with_point(text: &str) -> bool {
    text.ends_with('.') && (!text.ends_with("..") || text.ends_with("..."))
}

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
