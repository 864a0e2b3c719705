//! Evaluations in the answers of engines: the text around a number, given or found.

use std::fmt;
use std::str::FromStr;

use gputexel_io::Error;

const SCORE: &str = "{score}";

/// Words before evaluations, in lower case: of several numbers in an answer the heaviest counts, of equals the last.
const WORDS: [(&str, u32); 8] = [
    ("final evaluation", 8),
    ("total evaluation", 7),
    ("final eval", 6),
    ("full eval", 6),
    ("total", 5),
    ("eval", 4),
    ("static", 3),
    ("score", 3),
];

/// Of a line that has nothing but a number.
const BARE: u32 = 2;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number {
    pub value: f64,
    /// After the point; `None` without a point.
    pub decimals: Option<u32>,
}

/// Of a line that has the text of the pattern.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Said {
    Evaluation(Number),
    /// None, such as `Final evaluation: none (in check)`.
    Nothing,
}

/// Written `Final evaluation {score} (white`. Blanks match any number of blanks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvalPattern {
    before: String,
    after: String,
}

impl FromStr for EvalPattern {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let parts: Vec<&str> = text.split(SCORE).collect();
        if let [before, after] = parts[..] {
            Ok(Self { before: single_blanks(before), after: single_blanks(after) })
        } else {
            let reason = format!("must have {SCORE} once, in place of the evaluation");
            Err(Error::Setting { setting: "eval-pattern", value: Some(format!("'{text}'")), reason })
        }
    }
}

impl fmt::Display for EvalPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = [self.before.as_str(), SCORE, self.after.as_str()];
        let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
        f.write_str(&words.join(" "))
    }
}

impl EvalPattern {
    pub fn bare() -> Self {
        Self { before: String::new(), after: String::new() }
    }

    /// `None` for a line without the text of the pattern.
    pub fn read(&self, line: &str) -> Option<Said> {
        if let Some(word) = self.before.split(' ').next().filter(|word| !word.is_empty())
            && !line.contains(word)
        {
            return None;
        }
        let line = single_blanks(line);
        let rest = match self.before.is_empty() {
            true => line.as_str(),
            false => &line[line.find(&self.before)? + self.before.len()..],
        };
        let rest = rest.trim_start();
        match number_at(rest) {
            Some((number, length)) => {
                let follows = rest[length..].trim_start();
                // A bare number is all of its line.
                let fits = match self.before.is_empty() && self.after.is_empty() {
                    true => follows.is_empty(),
                    false => follows.starts_with(&self.after),
                };
                fits.then_some(Said::Evaluation(number))
            }
            None => (!self.before.is_empty()).then_some(Said::Nothing),
        }
    }

    /// From answers about different positions; `None` if there is no text that most of them have before a number
    /// that varies.
    pub fn find(answers: &[Vec<String>]) -> Option<Self> {
        // Text, its weight and line in the first answer that has it, and the number in each answer.
        let mut candidates: Vec<(String, u32, usize, Vec<f64>)> = Vec::new();
        for answer in answers {
            for (at, line) in answer.iter().enumerate() {
                let line = single_blanks(line);
                let Some((before, number, alone)) = first_number(&line) else { continue };
                let weight = weight_of(before, alone);
                if weight == 0 {
                    continue;
                }
                match candidates.iter_mut().find(|(text, ..)| text == before) {
                    Some((.., numbers)) => numbers.push(number.value),
                    None => candidates.push((before.to_string(), weight, at, vec![number.value])),
                }
            }
        }
        let varies = |numbers: &[f64]| answers.len() < 3 || numbers.iter().any(|n| *n != numbers[0]);
        candidates.retain(|(.., numbers)| 2 * numbers.len() >= answers.len() && varies(numbers));
        let best = candidates.into_iter().max_by_key(|(_, weight, at, _)| (*weight, *at))?;
        Some(Self { before: best.0, after: String::new() })
    }
}

fn weight_of(before: &str, alone: bool) -> u32 {
    if before.is_empty() {
        return if alone { BARE } else { 0 };
    }
    if before.contains(SCORE) {
        return 0;
    }
    let lower = before.to_lowercase();
    // Reports of a search have many numbers, and say nothing about the position itself.
    if lower.starts_with("info depth") || lower.starts_with("info score") {
        return 0;
    }
    WORDS.iter().filter(|(word, _)| lower.contains(word)).map(|(_, weight)| *weight).max().unwrap_or(0)
}

fn single_blanks(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The text before the first number that is not part of a word, the number, and true if nothing else is in the line.
fn first_number(line: &str) -> Option<(&str, Number, bool)> {
    let mut previous = ' ';
    for (at, c) in line.char_indices() {
        if !(previous.is_alphanumeric()
            || ['.', '_', '-', '+'].contains(&previous)
            || previous == ',' && line[..at - 1].ends_with(|c: char| c.is_ascii_digit()))
            && let Some((number, length)) = number_at(&line[at..])
        {
            return Some((line[..at].trim_end(), number, at == 0 && length == line.len()));
        }
        previous = c;
    }
    None
}

/// True if a line has a number such as `7,40`, which is not read.
pub(super) fn has_decimal_comma(line: &str) -> bool {
    line.as_bytes()
        .windows(3)
        .any(|text| matches!(text, [a, b',', b] if a.is_ascii_digit() && b.is_ascii_digit()))
}

/// At the beginning of a text, with its length. A unit such as `cp` may follow directly.
fn number_at(text: &str) -> Option<(Number, usize)> {
    let bytes = text.as_bytes();
    let mut at = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
    // Tables have signs apart from their numbers.
    while at > 0 && at < 3 && bytes.get(at) == Some(&b' ') {
        at += 1;
    }
    let first = at;
    let digits = |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let whole = digits(at);
    at += whole;
    let decimals = match bytes.get(at) {
        Some(b'.') => Some(digits(at + 1)).filter(|count| *count > 0),
        _ => None,
    };
    at += decimals.map_or(0, |count| count + 1);
    if whole + decimals.unwrap_or(0) == 0 || at - first > 20 {
        return None;
    }
    let rest = &text[at..];
    let follows = rest.chars().next();
    let is_unit = rest.starts_with("cp") && !rest[2..].starts_with(|c: char| c.is_alphanumeric());
    // A decimal comma, or another number: none of both is taken for the whole.
    let is_cut = rest.strip_prefix(',').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    if follows.is_some_and(|c| c.is_alphanumeric() || c == '_') && !is_unit || is_cut {
        return None;
    }
    let value: f64 = text[first..at].parse().ok()?;
    let value = if bytes[0] == b'-' { -value } else { value };
    Some((Number { value, decimals: decimals.map(|count| count as u32) }, at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(value: f64, decimals: Option<u32>) -> Option<Said> {
        Some(Said::Evaluation(Number { value, decimals }))
    }

    #[test]
    fn patterns_are_found_in_answers() {
        let answer = |lines: [&str; 4], score: &str| lines.map(|line| line.replace('@', score)).to_vec();
        for (lines, pattern) in [
            (
                [
                    "Classical evaluation   @ (white side)",
                    "NNUE evaluation  @",
                    "Final evaluation       @ (white side) [x]",
                    "",
                ],
                "Final evaluation {score}",
            ),
            (["Incremental mg: @", "Full eval: @", "", "readyok"], "Full eval: {score}"),
            (["info string static score @ cp, side to move", "", "", ""], "info string static score {score}"),
            (["@", "", "", ""], "{score}"),
            (["8 | a b |", "Total evaluation: @ (from white)", "", ""], "Total evaluation: {score}"),
            (["Score: @cp", "", "", ""], "Score: {score}"),
        ] {
            let answers = ["+0.15", "-1.30", "2"].map(|score| answer(lines, score));
            let found = EvalPattern::find(&answers).unwrap_or_else(|| panic!("{lines:?}"));
            assert_eq!(found.to_string(), pattern);
            let read = answers[1].iter().filter_map(|line| found.read(line)).next_back();
            assert_eq!(read, said(-1.3, Some(2)), "{pattern}");
            assert_eq!(pattern.parse::<EvalPattern>().unwrap(), found);
        }
        let silent = vec![vec!["Unknown command: 'eval'".to_string()]; 3];
        assert_eq!(EvalPattern::find(&silent), None);
        let commas = ["7,40", "-0,5"].map(|n| vec![format!("Evaluation: {n} (White), phase 0,5")]).to_vec();
        assert_eq!(EvalPattern::find(&commas), None);
        assert!(has_decimal_comma(&commas[0][0]) && !has_decimal_comma("Eval: 7, 40"));
        let constant = vec![vec!["score type 1".to_string()]; 3];
        assert_eq!(EvalPattern::find(&constant), None);
    }

    #[test]
    fn numbers_have_signs_points_and_units() {
        let pattern: EvalPattern = "Eval: {score}".parse().unwrap();
        for (line, expected) in [
            ("Eval:   +12", said(12.0, None)),
            ("x Eval: -0.50 (white)", said(-0.5, Some(2))),
            ("Eval:31cp", said(31.0, None)),
            ("Eval: + 0.31", said(0.31, Some(2))),
            ("Eval: none (in check)", Some(Said::Nothing)),
            ("Eval: 3rd", Some(Said::Nothing)),
            ("Eval: +7,40 (White)", Some(Said::Nothing)),
            ("Eval: 7, phase 3", said(7.0, None)),
            ("Eval: nan", Some(Said::Nothing)),
            ("eval: 3", None),
        ] {
            assert_eq!(pattern.read(line), expected, "{line}");
        }
        let around: EvalPattern = "sum = {score} points".parse().unwrap();
        assert_eq!(around.read("sum =  7   points"), said(7.0, None));
        assert_eq!(around.read("sum = 7 pawns"), None);
        for wrong in ["", "eval", "{score}{score}"] {
            assert!(wrong.parse::<EvalPattern>().is_err(), "{wrong}");
        }
    }
}
