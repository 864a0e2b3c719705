//! Numbers on a line of code, by position: the 4 and the 3 of `4 * (mobility - 3)`.

use super::array::{Array, Entry, Wrong};
use crate::languages::Language;
use crate::lexer::{Kind, Token};
use crate::number::Number;

pub(super) fn numbers(
    source: &str,
    code: &[Token],
    marker: (usize, usize),
    language: Language,
    wanted: &[usize],
) -> Result<Array, Wrong> {
    let line_start = |at: usize| source[..at].rfind('\n').map_or(0, |at| at + 1);
    let line_end = |at: usize| source[at..].find('\n').map_or(source.len(), |end| at + end);
    let own = (line_start(marker.0), line_end(marker.1));
    let inside = |(start, end): (usize, usize)| {
        code.partition_point(|token| token.start < start)..code.partition_point(|token| token.start < end)
    };
    let mut range = inside(own);
    if range.is_empty() {
        let next = code
            .get(range.end)
            .ok_or_else(|| (marker.0, "no line of code follows the marker".to_string()))?;
        range = inside((line_start(next.start), line_end(next.start)));
    }
    let first = range.start;
    let places: Vec<usize> = range.filter(|&at| code[at].kind == Kind::Number).collect();
    let mut entries = Vec::with_capacity(wanted.len());
    for &nth in wanted {
        let Some(&at) = places.get(nth - 1) else {
            let there = match places.len() {
                0 => "no number".to_string(),
                1 => "1 number".to_string(),
                count => format!("{count} numbers"),
            };
            return Err((marker.0, format!("the line has {there}; the marker asks for number {nth}")));
        };
        let sign = sign(source, code, first, at);
        let start = code[at - usize::from(sign.is_some())].start;
        let end = code[at].end;
        let number =
            Number::parse(sign, &source[code[at].start..end], language).map_err(|why| (start, why))?;
        entries.push(Entry { start, end, number: Ok(number) });
    }
    let start = entries.iter().map(|entry| entry.start).min().unwrap_or(marker.0);
    let end = entries.iter().map(|entry| entry.end).max().unwrap_or(marker.1);
    let shape = if entries.len() == 1 { Vec::new() } else { vec![entries.len()] };
    Ok(Array { start, end, entries, shape: Some(shape), pairs_inside: false, beside_pairs: None, node: None })
}

/// `x - 3` is a difference, `x * -3` has a negative number.
fn sign(source: &str, code: &[Token], first: usize, at: usize) -> Option<u8> {
    let before = at.checked_sub(1).filter(|&before| before >= first)?;
    let sign = match code[before].kind {
        Kind::Mark(mark @ (b'-' | b'+')) => mark,
        _ => return None,
    };
    let operand = match before.checked_sub(1).map(|i| &code[i]) {
        None => false,
        Some(token) => match token.kind {
            Kind::Number | Kind::Text => true,
            Kind::Word => !matches!(&source[token.start..token.end], "return" | "case" | "yield" | "in"),
            Kind::Mark(mark) => matches!(mark, b')' | b']' | b'}'),
            Kind::Comment => true,
        },
    };
    (!operand).then_some(sign)
}

#[cfg(test)]
mod tests {
    use super::super::marker;
    use super::*;
    use crate::lexer::lex;

    fn found(source: &str, wanted: &[usize]) -> Result<Vec<f64>, String> {
        let tokens = lex(source, Language::C);
        let marker = &marker::find(source, &tokens)[0];
        let code: Vec<Token> = tokens.into_iter().filter(|token| token.kind != Kind::Comment).collect();
        let array = numbers(source, &code, (marker.start, marker.end), Language::C, wanted);
        let array = array.map_err(|(_, why)| why)?;
        Ok(array.entries.into_iter().map(|entry| entry.number.unwrap().value).collect())
    }

    #[test]
    fn numbers_are_counted_with_the_signs_that_are_theirs() {
        for (source, wanted, expected) in [
            ("score += 4 * (mob - 3); // gputexel: a", &[1, 2][..], &[4.0, 3.0][..]),
            ("// gputexel: a\n\n  score += -4 * (mob+-3);\n5;", &[2, 1], &[-3.0, -4.0]),
            ("return -7 * n - 8; /* gputexel: a */ // 9", &[1, 2], &[-7.0, 8.0]),
            ("x = f(-1, y[2] - 3, +4); // gputexel: a", &[1, 2, 3, 4], &[-1.0, 2.0, 3.0, 4.0]),
        ] {
            assert_eq!(found(source, wanted).as_deref(), Ok(expected), "{source}");
        }
        for (source, wanted, expected) in [
            ("x = 1; // gputexel: a", 2, "the line has 1 number; the marker asks for number 2"),
            ("x = y; // gputexel: a", 1, "the line has no number"),
            ("x = 1;\n// gputexel: a", 1, "no line of code follows"),
            ("x = 09; // gputexel: a", 1, "'09' is not a number"),
        ] {
            let why = found(source, &[wanted]).unwrap_err();
            assert!(why.contains(expected), "{source}: {why}");
        }
    }
}
