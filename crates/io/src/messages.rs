//! Quotes foreign text in messages: from files, engines, command lines.

use std::borrow::Cow;

/// Maximum number of characters shown of a text, or of a word without blanks.
const MAX_SHOWN: usize = 60;
/// Maximum length of words that [`printable`] leaves unchanged: few words are that long, but names of parameters and
/// files may be.
const MAX_WORD: usize = 120;

const MAX_PATH: usize = 4096;
const MAX_MESSAGE: usize = 8000;

/// Returns true if a character controls a terminal instead of being shown.
pub fn is_active(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

fn push_escaped(out: &mut String, c: char) {
    match is_active(c) {
        true if c.is_control() => out.extend(c.escape_default()),
        true => out.extend(c.escape_unicode()),
        false => out.push(c),
    }
}

/// Returns the whole text, such as a path, with terminal control characters escaped.
pub fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(is_active) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    text.chars().for_each(|c| push_escaped(&mut out, c));
    Cow::Owned(out)
}

/// Returns a quotation of a text: at most 60 characters and an ellipsis, on one line.
pub fn shown(text: &str) -> String {
    shortened(text, MAX_SHOWN)
}

/// Minimum similarity of names (Jaro and Winkler's measure, 0 to 1) for a suggestion.
const ALIKE: f64 = 0.85;

/// Returns the most similar known name as a suggestion for an unknown one; of equally similar ones, the first in the
/// alphabet.
pub fn most_alike(name: &str, others: impl IntoIterator<Item = String>) -> Option<String> {
    let alike = others.into_iter().map(|other| (strsim::jaro_winkler(name, &other), other));
    let alike = alike.filter(|(alike, _)| *alike >= ALIKE);
    alike.max_by(|a, b| a.0.total_cmp(&b.0).then_with(|| b.1.cmp(&a.1))).map(|(_, best)| best)
}

/// Returns the same as the end of a message: `; did you mean 'knight.mg'?`, or nothing.
pub fn did_you_mean(name: &str, others: impl IntoIterator<Item = String>) -> String {
    most_alike(name, others).map_or_else(String::new, |best| format!("; did you mean '{}'?", shown(&best)))
}

/// Formats a number of things: `1 block`, `2 blocks`, `1,234 games`.
pub fn counted(count: u64, thing: &str) -> String {
    format!("{} {thing}{}", grouped(count), if count == 1 { "" } else { "s" })
}

/// Formats a weight in its most readable form, small ones as powers of ten: `0.5`, `1e-5`.
pub fn weight_text(weight: f64) -> String {
    if weight < 1e-2 { format!("{weight:e}") } else { weight.to_string() }
}

/// Formats a count with commas: `1234567` as `1,234,567`.
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Joins at most `most` names, and says how many more there are.
pub fn some_of<S: AsRef<str>>(names: &[S], most: usize) -> String {
    let some: Vec<&str> = names.iter().take(most).map(AsRef::as_ref).collect();
    let more = match names.len() - some.len() {
        0 => String::new(),
        more => format!(" and {} more", grouped(more as u64)),
    };
    some.join(", ") + &more
}

/// Formats a number for a message, in few digits even if it is huge or tiny.
pub fn shown_number(value: f64) -> String {
    match value.abs() {
        size if size.is_finite() && (size >= 1e9 || (size > 0.0 && size < 1e-9)) => format!("{value:e}"),
        _ => value.to_string(),
    }
}

pub(crate) fn shortened(text: &str, most: usize) -> String {
    let mut out = String::new();
    let mut chars = text.chars();
    chars.by_ref().take(most).for_each(|c| push_escaped(&mut out, c));
    if chars.next().is_some() {
        out.push('…');
    }
    out
}

/// Returns a whole message, safe for one line of a terminal whatever text it quotes: terminal control
/// characters are escaped, numbers of many digits get an exponent, and quotes and words longer than any name
/// are cut, as is the message itself at its maximum length.
pub fn printable(message: &str) -> Cow<'_, str> {
    if message.len() <= MAX_WORD && !message.contains(is_active) {
        return Cow::Borrowed(message);
    }
    let separates =
        |c: char| c.is_whitespace() || "'\"`()[]{},;:=".contains(c) || matches!(c, '…' | '„' | '“' | '”');
    let mut out = String::with_capacity(message.len());
    let message = cut_quotes(message);
    for piece in message.split_inclusive(separates) {
        if out.chars().count() >= MAX_MESSAGE {
            out.push('…');
            break;
        }
        let word = piece.strip_suffix(separates).unwrap_or(piece);
        let most = if is_path(word) { MAX_PATH } else { MAX_WORD };
        if word.chars().nth(most).is_none() {
            out.push_str(&escaped(word));
        } else if let Some(number) = word.parse::<f64>().ok().filter(|number| number.is_finite()) {
            out.push_str(&format!("{number:e}"));
        } else {
            out.push_str(&shortened(word, MAX_SHOWN));
        }
        out.push_str(&escaped(&piece[word.len()..]));
    }
    Cow::Owned(out)
}

fn is_path(text: &str) -> bool {
    text.contains(['/', '\\'])
}

fn cut_quotes(message: &str) -> String {
    let mut out = String::with_capacity(message.len());
    let mut rest = message;
    while let Some(at) = rest.find(['\'', '"', '`']) {
        // The quote of "engine's" does not open a quotation.
        let opens = !rest[..at].ends_with(char::is_alphanumeric);
        let (before, behind) = rest.split_at(at + 1);
        out.push_str(before);
        rest = behind;
        let quote = &before[at..];
        let closes = |(i, _): &(usize, &str)| !behind[i + 1..].starts_with(char::is_alphanumeric);
        let Some((end, _)) = behind.match_indices(quote).find(closes).filter(|_| opens) else { continue };
        let quoted = &behind[..end];
        if quoted.chars().nth(MAX_WORD).is_some() && !is_path(quoted) {
            out.push_str(&shortened(quoted, MAX_SHOWN));
        } else {
            out.push_str(quoted);
        }
        out.push_str(quote);
        rest = &behind[end + 1..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quotes_are_short_and_harmless() {
        assert_eq!(shown("e2e4"), "e2e4");
        assert_eq!(shown(&"9".repeat(60)), "9".repeat(60));
        assert_eq!(shown(&"é".repeat(61)), format!("{}…", "é".repeat(60)));
        assert_eq!(shown("a\u{1b}[2Jb\r\n"), "a\\u{1b}[2Jb\\r\\n");
        assert_eq!(shown("a\u{202e}b"), "a\\u{202e}b");
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!([7, 999, 1000, 1_234_567].map(grouped), ["7", "999", "1,000", "1,234,567"]);
        for (number, expected) in [
            (0.0, "0"),
            (-2.5, "-2.5"),
            (999_999_999.0, "999999999"),
            (1e9, "1e9"),
            (-1.5e20, "-1.5e20"),
            (1e-300, "1e-300"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-inf"),
        ] {
            assert_eq!(shown_number(number), expected);
        }
    }

    #[test]
    fn messages_stay_readable() {
        for plain in ["x: c_end 1: too small", "King Safety: 'é…' is listed twice", ""] {
            assert_eq!(printable(plain), plain);
        }
        let huge = format!("x: start {}: is outside the bounds 0 to {}", 1e300, 1e-200);
        assert_eq!(printable(&huge), "x: start 1e300: is outside the bounds 0 to 1e-200");
        let digits = format!("'{}': is not a number", "9".repeat(400));
        assert_eq!(printable(&digits), format!("'{}…': is not a number", "9".repeat(60)));
        let path = format!("/{}/x: exists; use --force", "deep/".repeat(80));
        assert_eq!(printable(&path), path);
        assert_eq!(printable("a\nb \u{1b}]0;title\u{7}"), "a\\nb \\u{1b}]0;title\\u{7}");
        assert!(printable(&"no end ".repeat(10_000)).chars().count() < 8100);
        let line = format!("'{}' is not an option of the engine", "a b ".repeat(100));
        assert_eq!(printable(&line), format!("'{}…' is not an option of the engine", "a b ".repeat(15)));
        let prose = format!("the engine's {} it's", "words and ".repeat(30));
        assert_eq!(printable(&prose), prose);
        assert_eq!(escaped("a b\u{1b}c"), "a b\\u{1b}c");
    }

    proptest! {
        #[test]
        fn nothing_active_is_left(text in any::<String>(), repeats in 1..200usize) {
            let long = text.repeat(repeats);
            for out in [shown(&long), printable(&long).into_owned(), escaped(&long).into_owned()] {
                prop_assert!(!out.contains(is_active));
            }
            let once = printable(&text);
            prop_assert_eq!(printable(&once), once.clone());
        }
    }
}
