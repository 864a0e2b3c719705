//! Colors of results on a terminal: labels are highlighted, and changes for better or worse are green or red. Files,
//! pipes and `NO_COLOR` get plain text.

use std::borrow::Cow;

use console::{Style, Term, measure_text_width};

/// Column at which text after labels begins.
const INDENT: usize = 12;
/// Share of the largest deviation from which a square is bold.
const BOLD: f64 = 0.5;

fn positive(text: &str) -> String {
    painted(text, Style::new().green())
}

fn negative(text: &str) -> String {
    painted(text, Style::new().red())
}

pub fn good(text: &str) -> String {
    painted(text, Style::new().green().bold())
}

pub fn bad(text: &str) -> String {
    painted(text, Style::new().red().bold())
}

/// Formats a square by its deviation as a share of the largest: green above, red below, faint at 0.
pub fn shade(share: f64, text: &str) -> String {
    let style = match share {
        0.0 => Style::new().dim(),
        share if share > 0.0 => Style::new().green(),
        _ => Style::new().red(),
    };
    painted(text, if share.abs() > BOLD { style.bold() } else { style })
}

/// Formats a change: green if it is below 0, red if it is above.
pub fn lower_is_better(change: f64, text: &str) -> String {
    higher_is_better(-change, -change, text)
}

/// Formats an interval: green if all of it is above 0, red if all of it is below.
pub fn higher_is_better(low: f64, high: f64, text: &str) -> String {
    if low > 0.0 {
        positive(text)
    } else if high < 0.0 {
        negative(text)
    } else {
        text.to_string()
    }
}

/// Formats a unified diff in the usual colors.
pub fn diff(text: &str) -> String {
    let line = |line: &str| match line.as_bytes() {
        [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] => painted(line, Style::new().bold()),
        [b'@', b'@', ..] => painted(line, Style::new().cyan()),
        [b'+', ..] => positive(line),
        [b'-', ..] => negative(line),
        _ => line.to_string(),
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

pub fn error_prefix() -> String {
    Style::new().red().bold().for_stderr().apply_to("gputexel:").to_string()
}

/// Formats a line for standard error; warnings are highlighted.
pub fn note(line: &str) -> String {
    let line = &*harmless(line, console::colors_enabled_stderr());
    match line.split_once("warning:") {
        Some((before, rest)) if before.len() <= "gputexel: ".len() => {
            let word = Style::new().yellow().bold().for_stderr().apply_to("warning:");
            format!("{before}{word}{rest}")
        }
        _ => line.to_string(),
    }
}

fn painted(text: &str, style: Style) -> String {
    style.apply_to(text).to_string()
}

/// Returns the number of columns of standard output; larger than any line if it is not a terminal.
pub fn columns() -> usize {
    let term = Term::stdout();
    let size = term.is_term().then(|| term.size_checked()).flatten();
    size.map_or(usize::MAX, |(_, columns)| usize::from(columns))
}

/// Removes control characters except line ends and, if `colored`, colors: names come from files and engines of
/// others.
fn harmless(text: &str, colored: bool) -> Cow<'_, str> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c != '\n' && c != '\t' && gputexel::io::is_active(c)) {
        let (before, behind) = rest.split_at(at);
        out.push_str(before);
        let length = if let Some(color) = color(behind).filter(|_| colored) {
            out.push_str(color);
            color.len()
        } else {
            let length = behind.chars().next().map_or(behind.len(), char::len_utf8);
            out.push_str(&gputexel::io::escaped(&behind[..length]));
            length
        };
        rest = &behind[length..];
    }
    if out.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(out + rest) }
}

/// Returns the escape sequence that starts a text, if it selects a color or font weight.
fn color(text: &str) -> Option<&str> {
    let codes = text.strip_prefix("\u{1b}[")?;
    let end = codes.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    codes[end..].starts_with('m').then(|| &text[..text.len() - codes.len() + end + 1])
}

/// Formats results for standard output: safe for a terminal, with highlighted labels.
pub fn render(text: &str) -> String {
    let colored = console::colors_enabled();
    let text = harmless(text, colored);
    let text = wrapped(&text, columns());
    if colored { labeled(&text) } else { text }
}

/// Breaks lines with labels that are longer than a terminal is wide between words; what follows is indented.
fn wrapped(text: &str, columns: usize) -> String {
    let line = |line: &str| {
        // Diffs and tables have no labels.
        let Some((head, rest)) = label(line).filter(|(head, _)| head.starts_with(char::is_alphabetic)) else {
            return line.to_string();
        };
        if measure_text_width(line) <= columns || columns < 2 * INDENT {
            return line.to_string();
        }
        let (mut out, mut used) = (head.to_string(), INDENT);
        for word in rest.split(' ') {
            let width = measure_text_width(word);
            if used + width > columns && used > INDENT {
                out.truncate(out.trim_end().len());
                out += &format!("\n{:INDENT$}", "");
                used = INDENT;
            }
            out += word;
            out.push(' ');
            used += width + 1;
        }
        out.truncate(out.trim_end().len());
        out
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// Splits off the label of a line, with the blanks after it, if it has one.
fn label(line: &str) -> Option<(&str, &str)> {
    let (at, _) = line.char_indices().nth(INDENT)?;
    let (label, rest) = line.split_at(at);
    let name = label.trim_end();
    let is_label = label.ends_with(' ') && !rest.starts_with(' ') && !name.is_empty();
    let is_plain = !name.contains("  ") && !name.contains('\u{1b}') && !name.starts_with(' ');
    (is_label && is_plain).then_some((label, rest))
}

fn labeled(text: &str) -> String {
    let line = |line: &str| match label(line) {
        Some((label, rest)) => {
            let name = label.trim_end();
            let style = match name {
                "warning" => Style::new().yellow().bold(),
                "hint" | "note" => Style::new().cyan().bold(),
                _ => Style::new().bold(),
            };
            format!("{}{}{rest}", painted(name, style), &label[name.len()..])
        }
        None => line.to_string(),
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_foreign_names_on_terminals() {
        let painted = "\u{1b}[1mloss\u{1b}[0m \u{1b}[38;5;2m0.1\u{1b}[0m\n\tx";
        assert_eq!(harmless(painted, true), painted);
        assert_eq!(harmless("a\u{1b}[1mb", false), "a\\u{1b}[1mb");
        for (text, shown) in [
            ("a\u{1b}[2Jb", "a\\u{1b}[2Jb"),
            ("\u{1b}]0;title\u{7}", "\\u{1b}]0;title\\u{7}"),
            ("\u{1b}[1", "\\u{1b}[1"),
            ("\u{1b}", "\\u{1b}"),
            ("over\rwritten \u{9b}2J \u{202e}", "over\\rwritten \\u{9b}2J \\u{202e}"),
            ("plain é\n", "plain é\n"),
        ] {
            assert_eq!(harmless(text, true), shown);
        }
    }

    #[test]
    fn long_lines_with_labels_are_broken_between_words() {
        let text = "loss        one two three four\nno label but long enough to break\nK           short";
        assert_eq!(
            wrapped(text, 24),
            "loss        one two\n            three four\nno label but long enough to break\nK           short"
        );
        assert_eq!(wrapped(text, usize::MAX), text);
        // A word that has no room stays whole.
        assert_eq!(
            wrapped("file        a/very/long/path/of/a/file", 24),
            "file        a/very/long/path/of/a/file"
        );
    }

    #[test]
    fn distinguishes_labels_from_text() {
        assert_eq!(label("K           0.81 (base 10)"), Some(("K           ", "0.81 (base 10)")));
        assert_eq!(label("regularized 0.07"), Some(("regularized ", "0.07")));
        for line in [
            "",
            "short",
            "never occur: a, b",
            "            continued",
            "a  b        c",
            "1 \u{1b}[31m\u{1b}[1m -53",
        ] {
            assert_eq!(label(line), None, "{line}");
        }
    }
}
