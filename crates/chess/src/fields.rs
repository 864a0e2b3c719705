//! Fields after a position, of which one is the result and perhaps another one the score.

use super::labels::{Label, LabelError, Parsed, Remainder, parse_cp, parse_outcome};
use super::scale::{Outcome, ResultScale};

/// Positions of result and score among the fields after a position, from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Places {
    pub result: Option<usize>,
    pub score: Option<usize>,
}

/// Splits the text after a position at separators. Two bars, semicolons, commas or colons enclose a field
/// even if it is empty; blanks, brackets and quotes do not.
fn fields(mut rest: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut empty = 0;
    std::iter::from_fn(move || {
        if empty == 0 {
            let (mut marks, mut tabs) = (0usize, 0);
            while let Some(byte) = rest.first().filter(|byte| is_separator(**byte)) {
                marks += usize::from(matches!(byte, b'|' | b';' | b',' | b':'));
                tabs += usize::from(*byte == b'\t');
                rest = &rest[1..];
            }
            if rest.is_empty() {
                return None;
            }
            empty = marks.max(tabs).saturating_sub(1);
        }
        if empty > 0 {
            empty -= 1;
            return Some(&rest[..0]);
        }
        let end = rest.iter().position(|byte| is_separator(*byte)).unwrap_or(rest.len());
        let field;
        (field, rest) = rest.split_at(end);
        Some(field)
    })
}

fn is_separator(byte: u8) -> bool {
    byte.is_ascii_whitespace()
        || matches!(byte, b'|' | b';' | b',' | b':' | b'[' | b']' | b'(' | b')' | b'{' | b'}' | b'"' | b'\'')
}

pub(super) fn parse_fields(places: Places, rest: &[u8], scale: ResultScale) -> Parsed<Label> {
    let mut outcome = if places.result.is_none() { Ok(Outcome::Missing) } else { Err(LabelError::Missing) };
    let (mut score_cp, mut unread) = (f32::NAN, Remainder::Nothing);
    for (i, field) in fields(rest).enumerate() {
        if places.result == Some(i) {
            outcome = parse_outcome(field, scale);
        } else if places.score == Some(i) {
            score_cp = parse_cp(field).unwrap_or(f32::NAN);
            if score_cp.is_nan() {
                unread = unread.max(Remainder::of(field));
            }
        } else if places.score.is_none() {
            unread = unread.max(Remainder::of(field));
        } else if !field.is_empty() {
            unread = unread.max(Remainder::Text);
        }
    }
    outcome.map(|outcome| Label { score_cp, unread, ..Label::of(outcome) })
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Column {
    values: u32,
    results: u32,
    on_scale: u32,
    on_some_scale: u32,
    /// Values written as hardly any score is: `1-0`, `1/2`, `0.5`, words.
    telling: u32,
    scores: u32,
    signed: u32,
    /// Scores outside 0 to 1, or without decimals.
    beyond: u32,
}

impl Column {
    /// Adds a value; `scale` is the requested one of results, if any.
    pub fn add(&mut self, text: &[u8], scale: Option<ResultScale>) {
        if text.is_empty() {
            return;
        }
        self.values += 1;
        let (exact, fits, usual) = match parse_outcome(text, scale.unwrap_or_default()) {
            Ok(Outcome::Number(value)) => ([0.0, 0.5, 1.0].contains(&value), true, true),
            Ok(_) | Err(LabelError::Unknown | LabelError::Word(_)) => (true, true, true),
            Err(LabelError::OutOfRange(number)) => {
                let usual = number.abs() <= 1.0 || [2.0, 50.0, 100.0].contains(&number);
                (false, false, usual && scale.is_none())
            }
            Err(_) => (false, false, false),
        };
        self.results += u32::from(exact);
        self.on_scale += u32::from(fits);
        self.on_some_scale += u32::from(usual);
        let score = parse_cp(text);
        self.telling += u32::from(exact && (score.is_none() || text.contains(&b'.')));
        if let Some(score) = score {
            self.scores += 1;
            self.signed += u32::from(!text[0].is_ascii_digit());
            self.beyond += u32::from(!(0.0..=1.0).contains(&score) || !text.contains(&b'.'));
        }
    }

    /// Rates how much its values look like results: 3 if all are exact results, 0 if they cannot be results.
    fn rank(&self) -> u32 {
        let kinds = [self.results, self.on_scale, self.on_some_scale];
        (1..=3).rev().zip(kinds).find(|(_, count)| self.are_most(*count)).map_or(0, |(rank, _)| rank)
    }

    pub fn has_no_results(&self) -> bool {
        self.values > 0 && self.rank() == 0
    }

    /// Returns true if its values may be scores. Numbers from 0 to 1 are probabilities rather than pawns.
    fn is_score(&self) -> bool {
        self.are_most(self.scores) && self.beyond > 0
    }

    /// Returns true if `count` is all values but one in a hundred.
    fn are_most(&self, count: u32) -> bool {
        self.values > 0 && 100 * (self.values - count) <= self.values
    }
}

/// Survey of the fields after the first positions of a file.
#[derive(Default)]
pub(super) struct Survey {
    pub lines: u32,
    pub columns: Vec<Column>,
    /// Values of the operation `ce`.
    pub ce: Column,
}

const MAX_FIELDS: usize = 16;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    Places(Places),
    Ambiguous(String),
}

impl Survey {
    pub fn add(&mut self, rest: &[u8], scale: Option<ResultScale>) {
        if rest.trim_ascii().first().is_none_or(u8::is_ascii_alphabetic) {
            return;
        }
        self.lines += 1;
        for (i, field) in fields(rest).take(MAX_FIELDS).enumerate() {
            if self.columns.len() == i {
                self.columns.push(Column::default());
            }
            self.columns[i].add(field, scale);
        }
    }

    pub fn is_signed(&self, field: usize) -> bool {
        self.columns.get(field).is_some_and(|column| column.signed > 0)
    }

    /// Returns the field of the result and that of the score; of several, the `documented` ones. If
    /// `wants_scores`, no result is needed.
    pub fn places(&self, wants_scores: bool, documented: Places) -> Found {
        let columns = || self.columns.iter().enumerate();
        let frequent = |column: &Column, part: u32| part * column.values >= self.lines;
        let ranked = || columns().filter(|(_, column)| frequent(column, 2));
        let best = ranked().map(|(_, column)| column.rank()).max().unwrap_or(0);
        let mut results: Vec<usize> = match best {
            0 => Vec::new(),
            _ => ranked().filter(|(_, column)| column.rank() == best).map(|(i, _)| i).collect(),
        };
        if results.len() > 1 {
            let telling = results.iter().copied().filter(|i| self.columns[*i].telling > 0);
            let mut telling: Vec<usize> = telling.collect();
            if telling.len() != 1 {
                telling = documented.result.into_iter().filter(|usual| results.contains(usual)).collect();
            }
            if telling.len() != 1 {
                let columns = listed(&results);
                return Found::Ambiguous(format!(
                    "columns {columns} behind the position all look like results, and which of them is the result \
                     cannot be known"
                ));
            }
            results = telling;
        }
        let result = results.first().copied();
        let scores = columns().filter(|(i, c)| Some(*i) != result && frequent(c, 10) && c.is_score());
        let mut scores: Vec<usize> = scores.map(|(i, _)| i).collect();
        if scores.len() > 1 {
            let signed: Vec<usize> = scores.iter().copied().filter(|i| self.is_signed(*i)).collect();
            if let Some(usual) = documented.score.filter(|usual| scores.contains(usual)) {
                scores = vec![usual];
            } else if let [_] = signed[..] {
                scores = signed;
            }
        }
        match (scores[..].len(), result) {
            (0 | 1, _) => Found::Places(Places { result, score: scores.first().copied() }),
            (_, Some(_)) if !wants_scores => Found::Places(Places { result, score: None }),
            _ => Found::Ambiguous(format!(
                "columns {} behind the position are numbers, and which of them is the {} cannot be known",
                listed(&scores),
                if result.is_some() { "score" } else { "result or score" }
            )),
        }
    }
}

fn listed(columns: &[usize]) -> String {
    let numbers: Vec<String> = columns.iter().map(|i| (i + 1).to_string()).collect();
    match &numbers[..] {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        _ => numbers.join(""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cut_at_whatever_separates_fields() {
        let cut = |text: &str| -> Vec<String> {
            fields(text.as_bytes()).map(|field| String::from_utf8_lossy(field).into_owned()).collect()
        };
        for text in [
            " | 0.5 | -12",
            ";0.5;-12",
            ",0.5,-12",
            "\t0.5\t-12",
            " [0.5] -12",
            " 0.5 -12 ",
            "; [0.5]; -12;",
            " (0.5), -12",
            ": 0.5 : -12",
            " [0.5] | -12",
            "\"0.5\",\"-12\"",
        ] {
            assert_eq!(cut(text), ["0.5", "-12"], "{text}");
        }
        assert_eq!(cut(";;0.5"), ["", "0.5"]);
        assert_eq!(cut("\t\t0.5"), ["", "0.5"]);
        assert_eq!(cut("|12||0.5|"), ["12", "", "0.5"]);
        assert_eq!(cut(" ;| "), [""; 0]);
    }

    fn found(lines: &[&str], wants_scores: bool) -> Found {
        let mut survey = Survey::default();
        lines.iter().for_each(|line| survey.add(line.as_bytes(), None));
        survey.places(wants_scores, Places::default())
    }

    #[test]
    fn results_are_told_from_scores_by_all_lines() {
        let places = |result, score| Found::Places(Places { result, score });
        for (lines, wanted) in [
            (&[";0.5;-12", ";1.0;310", ";0.0;-290"][..], places(Some(0), Some(1))),
            (&[";-12;0.5", ";310;1.0", ";-290;0.0"], places(Some(1), Some(0))),
            (&["|1|1-0", "|0|0-1"], places(Some(1), Some(0))),
            (&["|0|1.0", "|1|0.5"], places(Some(1), Some(0))),
            (&[";0.37;-12", ";0.9;250"], places(Some(0), Some(1))),
            (&[";-0.37;1", ";0.9;0"], places(Some(1), Some(0))),
            (&[";e2e4;35;0.5;8", ";d2d4;-5;1;9"], places(Some(2), Some(1))),
            (&[";12;-1", ";-250;0", ";99;1"], places(Some(1), Some(0))),
            (&[";1;0.25", ";0;0.75"], places(Some(0), None)),
            (&[";0.5;#3", ";1;M5"], places(Some(0), Some(1))),
            (&[";35"], places(None, Some(0))),
            (&[";-0.5", ";1"], places(Some(0), None)),
            (&[";50", ";0"], places(Some(0), None)),
            (&[";;1.0", ";-12;0.0"], places(Some(1), Some(0))),
            (&[";1.0;30;12", ";0.0;50;14"], places(Some(0), None)),
            (&[" c9 \"1-0\";", " bm e4;"], places(None, None)),
        ] {
            assert_eq!(found(lines, false), wanted, "{lines:?}");
        }
    }

    #[test]
    fn columns_that_cannot_be_told_apart_are_named() {
        let ambiguous = |lines: &[&str], wants| match found(lines, wants) {
            Found::Ambiguous(reason) => reason,
            Found::Places(places) => format!("{places:?}"),
        };
        assert!(ambiguous(&[";1;0"], false).starts_with("columns 1 and 2 behind the position all look like"));
        assert!(ambiguous(&[";35;8", ";20;9"], false).contains("1 and 2 behind the position are numbers"));
        assert!(ambiguous(&[";1.0;30;12", ";0.0;50;14"], true).contains("which of them is the score"));
    }

    #[test]
    fn documented_places_decide_between_several() {
        let mut survey = Survey::default();
        for line in ["| 30 | 1.0 | -5", "| 20 | 0.5 | 7"] {
            survey.add(line.as_bytes(), None);
        }
        let places = |score| Places { result: None, score };
        let score = |documented| match survey.places(true, documented) {
            Found::Places(places) => places.score,
            Found::Ambiguous(_) => None,
        };
        assert_eq!([score(places(None)), score(places(Some(0)))], [Some(2), Some(0)]);
        let mut survey = Survey::default();
        survey.add(b": 1 : 0", None);
        let documented = Places { result: Some(0), score: Some(1) };
        assert_eq!(survey.places(true, documented), Found::Places(documented));
    }
}
