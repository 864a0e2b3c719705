//! How results look on a terminal: labels stand out, good and bad news have colors, and lines that are too long are
//! folded under their labels. Files, pipes and `NO_COLOR` get plain text in whole lines.

use std::borrow::Cow;

use console::{Style, Term};

/// Where the texts behind labels begin.
const INDENT: usize = 12;

/// Fewer columns than a label and two words need are not folded to.
const NARROWEST: usize = 40;

/// News that are good: a loss that fell, an engine that is stronger.
pub fn good(text: &str) -> String {
    painted(text, Style::new().green())
}

/// News that are bad.
pub fn bad(text: &str) -> String {
    painted(text, Style::new().red())
}

/// Good news if a change is below 0, bad if it is above.
pub fn falling(change: f64, text: &str) -> String {
    rising(-change, text)
}

/// Good news if a change is above 0, bad if it is below.
pub fn rising(change: f64, text: &str) -> String {
    match change {
        change if change > 0.0 => good(text),
        change if change < 0.0 => bad(text),
        _ => text.to_string(),
    }
}

/// Good news if all of an interval is above 0, bad if all of it is below.
pub fn between(low: f64, high: f64, text: &str) -> String {
    match (low, high) {
        (low, _) if low > 0.0 => good(text),
        (_, high) if high < 0.0 => bad(text),
        _ => text.to_string(),
    }
}

/// A unified diff with its lines in the colors that are usual for them.
pub fn diff(text: &str) -> String {
    let line = |line: &str| match line.as_bytes() {
        [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] => painted(line, Style::new().bold()),
        [b'@', b'@', ..] => painted(line, Style::new().cyan()),
        [b'+', ..] => good(line),
        [b'-', ..] => bad(line),
        _ => line.to_string(),
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// The first word of errors on standard error.
pub fn error_prefix() -> String {
    Style::new().red().bold().for_stderr().apply_to("gputexel:").to_string()
}

/// A line of standard error; warnings stand out.
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

/// The columns that standard output has room for: more than any line needs where it is no terminal.
pub fn columns() -> usize {
    let term = Term::stdout();
    let size = term.is_term().then(|| term.size_checked()).flatten();
    size.map_or(usize::MAX, |(_, columns)| usize::from(columns))
}

/// A text whose characters do nothing to a terminal but end lines and, where that is wanted, color: names come from
/// files and engines of others.
fn harmless(text: &str, colored: bool) -> Cow<'_, str> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c != '\n' && c != '\t' && gputexel::is_active(c)) {
        let (before, behind) = rest.split_at(at);
        out.push_str(before);
        let length = match color(behind).filter(|_| colored) {
            Some(color) => {
                out.push_str(color);
                color.len()
            }
            None => {
                let length = behind.chars().next().map_or(behind.len(), char::len_utf8);
                out.push_str(&gputexel::escaped(&behind[..length]));
                length
            }
        };
        rest = &behind[length..];
    }
    if out.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(out + rest) }
}

/// What begins a text and selects a color or weight of letters.
fn color(text: &str) -> Option<&str> {
    let codes = text.strip_prefix("\u{1b}[")?;
    let end = codes.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    codes[end..].starts_with('m').then(|| &text[..text.len() - codes.len() + end + 1])
}

/// Results as the standard output shows them best.
pub fn dressed(text: &str) -> String {
    let folded = folded(&harmless(text, console::colors_enabled()), columns());
    if console::colors_enabled() { labeled(&folded) } else { folded }
}

/// The label of a line, with the blanks behind it, if it has one.
fn label(line: &str) -> Option<(&str, &str)> {
    let (at, _) = line.char_indices().nth(INDENT)?;
    let (label, rest) = line.split_at(at);
    let name = label.trim_end();
    let is_label = label.ends_with(' ') && !rest.starts_with(' ') && !name.is_empty();
    (is_label && !name.contains("  ") && !name.starts_with(' ')).then_some((label, rest))
}

/// A text whose labels stand out.
fn labeled(text: &str) -> String {
    let line = |line: &str| match label(line) {
        Some((label, rest)) => {
            let name = label.trim_end();
            let style = match name {
                "warning" | "not optimal" => Style::new().yellow().bold(),
                "hint" | "note" => Style::new().cyan().bold(),
                _ => Style::new().bold(),
            };
            format!("{}{}{rest}", painted(name, style), &label[name.len()..])
        }
        None => line.to_string(),
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// A text whose lines fit in some columns, but for those of tables, whose columns would be lost.
fn folded(text: &str, columns: usize) -> String {
    let columns = columns.max(NARROWEST);
    let line = |line: &str| {
        if textwrap::core::display_width(line) <= columns {
            return line.to_string();
        }
        let blank = line.len() - line.trim_start().len();
        let (first, rest, below) = match label(line) {
            Some((label, rest)) => (label, rest, INDENT),
            None => (&line[..blank], &line[blank..], if blank == INDENT { INDENT } else { blank + 2 }),
        };
        if rest.contains("  ") {
            return line.to_string();
        }
        let below = " ".repeat(below);
        let options = textwrap::Options::new(columns)
            .initial_indent(first)
            .subsequent_indent(&below)
            .word_splitter(textwrap::WordSplitter::NoHyphenation)
            .break_words(false);
        textwrap::fill(rest, options)
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_folded_under_their_labels() {
        let text = "loss        0.1 -> 0.2 and more words than fit in forty columns\nshort\n";
        assert_eq!(
            folded(text, 40),
            "loss        0.1 -> 0.2 and more words\n            than fit in forty columns\nshort\n"
        );
        let sentence = "never occur: knight_a1, knight_h8 and others; they keep their prior";
        assert_eq!(
            folded(sentence, 40),
            "never occur: knight_a1, knight_h8 and\n  others; they keep their prior"
        );
        let continued = "            share chosen by results over 5 folds of games";
        assert_eq!(
            folded(continued, 40),
            "            share chosen by results over\n            5 folds of games"
        );
        // Words are not torn apart, nor are flags and paths at their hyphens.
        let path = "written     a-path-of-more-than-forty-columns/report.html, --and-a-flag";
        assert_eq!(
            folded(path, 40),
            "written     a-path-of-more-than-forty-columns/report.html,\n            --and-a-flag"
        );
    }

    #[test]
    fn names_of_others_do_nothing_to_a_terminal() {
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
    fn tables_and_what_fits_stay() {
        let table = "rank  l2      held-out    ±           over best\n1     1e-4    0.07020055  0.00000012\n";
        assert_eq!(folded(table, 40), table);
        assert_eq!(folded("a\n\nb", 80), "a\n\nb");
        // Columns of less than a few words are no aim.
        let line = "Elo         +12.3 ± 4.5 (95 %: +7.8 to +16.8)";
        assert_eq!(folded(line, 10).lines().count(), 2);
    }

    #[test]
    fn labels_are_told_from_text() {
        assert_eq!(label("K           0.81 (base 10)"), Some(("K           ", "0.81 (base 10)")));
        assert_eq!(label("regularized 0.07"), Some(("regularized ", "0.07")));
        for line in ["", "short", "never occur: a, b", "            continued", "a  b        c"] {
            assert_eq!(label(line), None, "{line}");
        }
    }
}
