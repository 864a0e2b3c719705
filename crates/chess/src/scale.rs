//! Scales of results, and signs that a file uses another scale than it is read with.

use std::fmt;
use std::str::FromStr;

use gputexel_io::{Advice, Error, Result};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Words {
    None,
    Winner,
    /// The outcome for the point of view: `w`, `d` and `l`.
    Ending,
}

/// Numbers that stand for a loss and for a win, a draw being halfway; or the meaning of words, if there are
/// no numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ResultScale {
    loss: f32,
    win: f32,
    words: Words,
}

impl Default for ResultScale {
    fn default() -> Self {
        Self { loss: 0.0, win: 1.0, words: Words::None }
    }
}

impl ResultScale {
    pub const PERCENT: Self = Self { loss: 0.0, win: 100.0, words: Words::None };
    /// `w`, `d` and `b`: the winner.
    pub const WINNER: Self = Self { loss: 0.0, win: 1.0, words: Words::Winner };
    /// `w`, `d` and `l`: the outcome for the point of view.
    pub const ENDING: Self = Self { loss: 0.0, win: 1.0, words: Words::Ending };

    pub fn is_words(self) -> bool {
        self.words != Words::None
    }

    /// Returns the result that a word means; `None` if that is not certain.
    pub(super) fn word(self, word: Word) -> Option<Outcome> {
        match (self.words, word) {
            (Words::Winner, Word::W | Word::White) => Some(Outcome::Game(1.0)),
            (Words::Winner, Word::Draw) => Some(Outcome::Game(0.5)),
            (Words::Winner, Word::Black) => Some(Outcome::Game(0.0)),
            (Words::Ending, Word::W | Word::Win) => Some(Outcome::Number(1.0)),
            (Words::Ending, Word::Draw) => Some(Outcome::Number(0.5)),
            (Words::Ending, Word::Loss) => Some(Outcome::Number(0.0)),
            _ => None,
        }
    }

    /// Returns the expected score, 0 to 1, that a number means; `None` if it is beyond loss and win, or
    /// results are words.
    pub fn value(self, number: f32) -> Option<f32> {
        if self.is_words() {
            return None;
        }
        let value = if self == Self::default() {
            number
        } else {
            let [number, loss, win] = [number, self.loss, self.win].map(f64::from);
            ((number - loss) / (win - loss)) as f32
        };
        // Adding zero turns -0.0 into 0.0.
        (0.0..=1.0).contains(&value).then_some(value + 0.0)
    }

    /// Returns true if a loss is the higher number, so that all results are the opponent's.
    pub fn is_reversed(self) -> bool {
        self.win < self.loss
    }
}

impl fmt::Display for ResultScale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.words {
            Words::None => write!(f, "{}..{}", self.loss, self.win),
            Words::Winner => f.write_str("wdb"),
            Words::Ending => f.write_str("wdl"),
        }
    }
}

impl FromStr for ResultScale {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if let Some(words) = [Self::WINNER, Self::ENDING].into_iter().find(|scale| scale.to_string() == text)
        {
            return Ok(words);
        }
        text.split_once("..")
            .and_then(|(loss, win)| {
                let (loss, win) = (parse_number(loss.as_bytes())?, parse_number(win.as_bytes())?);
                Some(Self { loss, win, words: Words::None })
            })
            .filter(|scale| scale.loss != scale.win)
            .ok_or_else(|| {
                Error::Usage(format!(
                    "results '{text}': expected the number of a loss and that of a win, such as 0..1, -1..1 or 0..2, or \
                     wdb (w, d and b: who won) or wdl (w, d and l: won, drawn or lost for the point of view)"
                ))
            })
    }
}

/// Value that is not a result from 0 to 1 but may be one on another scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    MinusOne,
    Two,
    Percent,
    /// Between −1 and 0.
    Negative,
    /// Exactly −0.5.
    MinusHalf,
    /// `W`, `draw` and the like.
    Word,
}

/// Number of values between −1 and 0 below which they are taken for typos rather than another scale.
const MIN_NEGATIVE: u64 = 10;

const MIN_WITHOUT_DRAW: u64 = 1000;
const MIN_CLASS: u64 = 100;

/// Results of a text as they are written, counted over all of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResultTally {
    /// Number of lines by [`Sign`], and the first of each.
    signs: [(u64, u64); 6],
    /// Numbers that are on no usual scale: below -1, or above 100.
    beyond: u64,
    extreme: u64,
    between: u64,
    above: u64,
    below: u64,
    /// `1/2-1/2` and the like.
    game_draws: u64,
    /// Results written as `1-0` and the like.
    games: u64,
    /// Wins of Black and of White in imbalanced positions: their number, and how many of them went to the
    /// side with more material.
    classes: [(u64, u64); 2],
}

/// Reason why a file seems to use another scale of results than it is read on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScaleMismatch {
    /// The first line that shows it, if a single line does.
    pub line: Option<u64>,
    pub reason: String,
    pub advice: Advice,
}

impl ResultTally {
    /// Counts a number that was read as an expected score.
    pub fn number(&mut self, value: f32) {
        let extreme = value == 0.0 || value == 1.0;
        self.extreme += u64::from(extreme);
        self.between += u64::from(!extreme);
        self.above += u64::from(value > 0.5);
        self.below += u64::from(value < 0.5);
    }

    pub(super) fn game(&mut self, value: f32) {
        self.games += 1;
        self.game_draws += u64::from(value == 0.5);
    }

    pub fn out_of_range(&mut self, number: f32, line: u64) {
        let sign = match number {
            -1.0 => Sign::MinusOne,
            2.0 => Sign::Two,
            50.0 | 100.0 => Sign::Percent,
            -0.5 => Sign::MinusHalf,
            n if n > -1.0 && n < 0.0 => Sign::Negative,
            n => {
                self.beyond += u64::from(!(-1.0..=100.0).contains(&n));
                return;
            }
        };
        self.sign(sign, line);
    }

    pub(super) fn word(&mut self, line: u64) {
        self.sign(Sign::Word, line);
    }

    fn sign(&mut self, sign: Sign, line: u64) {
        let (count, first) = &mut self.signs[sign as usize];
        if *count == 0 {
            *first = line;
        }
        *count += 1;
    }

    pub(super) fn decisive(&mut self, result: f32, agrees: bool) {
        let (count, agree) = &mut self.classes[usize::from(result > 0.5)];
        *count += 1;
        *agree += u64::from(agrees);
    }

    pub fn merge(&mut self, later: &Self) {
        for (mine, theirs) in self.signs.iter_mut().zip(later.signs) {
            if mine.0 == 0 {
                mine.1 = theirs.1;
            }
            mine.0 += theirs.0;
        }
        for (mine, theirs) in self.classes.iter_mut().zip(later.classes) {
            mine.0 += theirs.0;
            mine.1 += theirs.1;
        }
        self.beyond += later.beyond;
        self.extreme += later.extreme;
        self.between += later.between;
        self.above += later.above;
        self.below += later.below;
        self.game_draws += later.game_draws;
        self.games += later.games;
    }

    /// Returns the first −1 or 2 of a file without a number between 0 and 1, with its line.
    pub fn mark(&self) -> Option<(f32, u64)> {
        let of =
            |sign: Sign, number: f32| Some((number, self.signs[sign as usize])).filter(|(_, (n, _))| *n > 0);
        let mark = of(Sign::MinusOne, -1.0).or_else(|| of(Sign::Two, 2.0)).filter(|_| self.between == 0)?;
        Some((mark.0, mark.1.1))
    }

    /// Returns true if all results are written as `1-0` and the like.
    pub fn all_games(&self) -> bool {
        self.numbers() == 0
    }

    fn numbers(&self) -> u64 {
        self.extreme + self.between
    }

    /// Explains how words of a file contradict `scale`, whose results are words: letters of two scales are
    /// mixed, and some would be misread.
    pub fn mixed_words(&self, scale: ResultScale) -> Option<ScaleMismatch> {
        let (count, line) = self.signs[Sign::Word as usize];
        let (letters, other) = match scale.words {
            Words::None => return None,
            Words::Winner => ("w, d and b", ResultScale::ENDING),
            Words::Ending => ("w, d and l", ResultScale::WINNER),
        };
        (count > 0).then(|| ScaleMismatch {
            line: Some(line),
            reason: format!(
                "{} other words for results than {letters}, so that what w means is not certain",
                if count == 1 { "1 line has".to_string() } else { format!("{count} lines have") }
            ),
            advice: Advice::default()
                .text("is it a file for ")
                .setting("results", other.to_string())
                .text(", or are lines of two kinds mixed?"),
        })
    }

    /// Explains why the file seems to use another scale than 0 to 1, and how to read it.
    pub fn scale_mismatch(&self) -> Option<ScaleMismatch> {
        let of = |sign: Sign| self.signs[sign as usize];
        let say = |(count, line): (u64, u64), what: &str, advice: Advice| {
            let lines = if count == 1 { "1 line has".to_string() } else { format!("{count} lines have") };
            let keep = Advice::default().text("; with ").setting("results", "0..1");
            Some(ScaleMismatch {
                line: Some(line),
                reason: format!("{lines} {what}"),
                advice: advice.join(keep.text(" such lines are left out")),
            })
        };
        let text = |text: &str| Advice::default().text(text);
        let looks_like = |what: &str, scale: &str| {
            text(&format!("this looks like {what} for a loss, a draw and a win, which extract "))
                .setting("results", scale)
                .text(" reads")
        };
        let (minus, two, percent) = (of(Sign::MinusOne), of(Sign::Two), of(Sign::Percent));
        if of(Sign::Word).0 > 0 {
            return say(
                of(Sign::Word),
                "a word or letter for a result, whose meaning is not certain",
                text("write 1-0, 1/2-1/2 and 0-1, or extract ")
                    .setting("results", "wdb")
                    .text(" reads w, d and b as the winner, ")
                    .setting("results", "wdl")
                    .text(" w, d and l as won, drawn and lost for the point of view"),
            );
        }
        let (half, negative) = (of(Sign::MinusHalf), of(Sign::Negative));
        let strange = minus.0 + two.0 + percent.0;
        if self.beyond > strange + half.0 + negative.0 {
            // Scores, of which some happen to be numbers of a scale.
            return None;
        }
        if half.0 >= MIN_NEGATIVE && negative.0 == 0 && self.above + minus.0 == 0 {
            return say(
                half,
                "the result -0.5, none a number above 0.5",
                looks_like("-0.5, 0 and 0.5", "-0.5..0.5"),
            );
        }
        if half.0 + negative.0 >= MIN_NEGATIVE {
            let first = [half, negative].into_iter().filter(|(count, _)| *count > 0).map(|(_, line)| line);
            return say(
                (half.0 + negative.0, first.min().unwrap_or_default()),
                "a result between -1 and 0",
                text("extract ")
                    .setting("results", "-1..1")
                    .text(" reads numbers from -1 (a loss) to 1 (a win)"),
            );
        }
        if strange >= MIN_NEGATIVE && self.between > 0 && strange > self.between {
            return say(
                (
                    strange,
                    [minus, two, percent].iter().filter(|s| s.0 > 0).map(|s| s.1).min().unwrap_or_default(),
                ),
                "a result of -1, 2, 50 or 100, and fewer a number between 0 and 1",
                text("lines of two scales seem to be mixed; split the file, and extract ")
                    .setting("results", "LOSS..WIN")
                    .text(" reads each part"),
            );
        }
        if self.between > 0 || strange == 0 {
            return self.one_sided();
        }
        match (minus.0 > 0, two.0 > 0, percent.0 > 0) {
            (true, false, false) => {
                say(minus, "the result -1, none a number between 0 and 1", looks_like("-1, 0 and 1", "-1..1"))
            }
            (false, true, false) => {
                say(two, "the result 2, none a number between 0 and 1", looks_like("0, 1 and 2", "0..2"))
            }
            (false, false, true) => say(
                percent,
                "the result 50 or 100, none a number between 0 and 1",
                looks_like("0, 50 and 100", "0..100"),
            ),
            _ => {
                let signs = [minus, two, percent].into_iter().filter(|(count, _)| *count > 0);
                let (count, line) = signs.fold((0, u64::MAX), |all, one| (all.0 + one.0, all.1.min(one.1)));
                say(
                    (count, line),
                    "results of several scales (-1, 2, 50 or 100)",
                    text("extract ")
                        .setting("results", "LOSS..WIN")
                        .text(" says what the numbers of a loss and a win are"),
                )
            }
        }
    }

    /// Detects a file with only the numbers 0 and 1, of which one goes with material and the other does not,
    /// as draws do.
    fn one_sided(&self) -> Option<ScaleMismatch> {
        if self.between > 0 || self.extreme == 0 || self.games > 0 {
            return None;
        }
        let [losses, wins] = self.classes;
        let rate = |(count, agree): (u64, u64)| agree as f64 / count.max(1) as f64;
        // Three standard deviations from a fair coin.
        let tells = |class: (u64, u64)| rate(class) - 0.5 > 1.5 / (class.0.max(1) as f64).sqrt();
        let (draw, class, reading) = if wins.0.min(losses.0) < MIN_CLASS {
            return None;
        } else if rate(wins) >= 0.65 && !tells(losses) {
            ("0", losses, "-1..1")
        } else if rate(losses) >= 0.65 && !tells(wins) {
            ("1", wins, "0..2")
        } else {
            return None;
        };
        Some(ScaleMismatch {
            line: None,
            reason: format!(
                "all results are 0 or 1, but those of {draw} go to the side with more material no more often \
                 than a draw would ({:.0} % of {})",
                100.0 * rate(class),
                class.0
            ),
            advice: Advice::default()
                .text("extract ")
                .setting("results", reading)
                .text(format!(" reads {draw} as a draw, "))
                .setting("results", "0..1")
                .text(" as decisive"),
        })
    }

    pub fn warnings(&self, scale: ResultScale, asked: bool) -> Vec<String> {
        let mut warnings = Vec::new();
        let ResultScale { loss, win, .. } = scale;
        let (low, high) = (loss.min(win), loss.max(win));
        if !asked && self.numbers() >= MIN_WITHOUT_DRAW && self.between + self.game_draws == 0 {
            warnings.push(
                "no result is a draw: 0 was read as a loss and 1 as a win, unless the scale of results is another"
                    .to_string(),
            );
        }
        if asked && scale != ResultScale::default() && self.numbers() >= MIN_WITHOUT_DRAW {
            let middle = (low + high) / 2.0;
            let (least, most) =
                if scale.is_reversed() { (self.above, self.below) } else { (self.below, self.above) };
            if least == 0 || most == 0 {
                let side = if least == 0 { "below" } else { "above" };
                warnings.push(format!(
                    "no result is {side} {middle}, the draw of the scale {scale}: is that the scale of this file?"
                ));
            } else if self.extreme == 0 {
                warnings.push(format!(
                    "no result is {low} or {high}, the ends of the scale {scale}: is that the scale of this file?"
                ));
            }
        }
        let dropped: u64 = [Sign::MinusOne, Sign::Two].iter().map(|sign| self.signs[*sign as usize].0).sum();
        if dropped > 0 && !asked {
            warnings.push(format!(
                "{dropped} results of -1 or 2 among others between 0 and 1 were left out; are lines of two scales mixed?"
            ));
        }
        warnings
    }
}

pub fn parse_number(text: &[u8]) -> Option<f32> {
    let text = text.trim_ascii();
    // Words such as `inf` and `nan` are numbers to the standard library.
    if !text.iter().all(|b| b.is_ascii_digit() || matches!(b, b'+' | b'-' | b'.' | b'e' | b'E')) {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse::<f32>().ok().filter(|value| value.is_finite())
}

/// A result as written: game results are always White's view, numbers have the file's point of view.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Outcome {
    /// `1-0` and the like; the value is White's.
    Game(f32),
    /// A number, as the expected score from 0 to 1.
    Number(f32),
    Missing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    W,
    White,
    Black,
    /// `win` or `won`.
    Win,
    /// `d`, `=`, `draw` or `drawn`.
    Draw,
    /// `l`, `loss` or `lost`.
    Loss,
}

impl Word {
    const ALL: [(&'static str, Self); 13] = [
        ("w", Self::W),
        ("d", Self::Draw),
        ("l", Self::Loss),
        ("b", Self::Black),
        ("=", Self::Draw),
        ("win", Self::Win),
        ("draw", Self::Draw),
        ("loss", Self::Loss),
        ("white", Self::White),
        ("black", Self::Black),
        ("drawn", Self::Draw),
        ("won", Self::Win),
        ("lost", Self::Loss),
    ];

    pub(super) fn of(text: &[u8]) -> Option<Self> {
        let found = Self::ALL.iter().find(|(word, _)| text.eq_ignore_ascii_case(word.as_bytes()));
        found.map(|(_, word)| *word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_are_read_and_written() {
        for (text, number, value) in [
            ("0..1", 0.25, Some(0.25)),
            ("-1..1", -1.0, Some(0.0)),
            ("-1..1", 0.0, Some(0.5)),
            ("0..2", 2.0, Some(1.0)),
            ("0..100", 50.0, Some(0.5)),
            ("1..0", 1.0, Some(0.0)),
            ("1..-1", -1.0, Some(1.0)),
            ("-1..1", 2.0, None),
            ("0..1", -0.5, None),
            ("wdb", 1.0, None),
            ("wdl", 0.0, None),
        ] {
            let scale: ResultScale = text.parse().unwrap();
            assert_eq!(scale.value(number), value, "{text} {number}");
            assert_eq!(scale.to_string(), text);
        }
        for text in ["", "1", "1..1", "a..b", "0..inf", "0..1..2", "nan..1", "wdx"] {
            assert!(text.parse::<ResultScale>().is_err(), "{text}");
        }
        assert_eq!("0..1".parse::<ResultScale>().unwrap().value(-0.0).map(f32::to_bits), Some(0));
    }

    #[test]
    fn other_scales_are_recognized_wherever_they_show() {
        let tally = |numbers: &[f32]| {
            let mut all = ResultTally::default();
            for (line, &number) in (1..).zip(numbers) {
                let mut one = ResultTally::default();
                match ResultScale::default().value(number) {
                    Some(value) => one.number(value),
                    None => one.out_of_range(number, line),
                }
                all.merge(&one);
            }
            all
        };
        let doubt = |numbers: &[f32]| {
            tally(numbers).scale_mismatch().map_or(String::new(), |found| {
                let advice = found.advice.render(|name, value| format!("--{name} {value}"));
                format!("{:?} {}: {advice}", found.line, found.reason)
            })
        };
        assert!(doubt(&[1.0, 0.0, 0.0, -1.0, -1.0]).starts_with("Some(4) 2 lines have the result -1"));
        assert!(doubt(&[1.0, 0.0, 0.0, 2.0]).contains("--results 0..2"));
        assert!(doubt(&[0.0, 50.0, 100.0]).contains("--results 0..100"));
        assert!(doubt(&[0.0, -1.0, 2.0]).contains("LOSS..WIN"));
        assert!(doubt(&[-0.25; 10]).contains("--results -1..1"));
        assert!(doubt(&[[-0.5; 10], [0.0; 10], [0.5; 10]].concat()).contains("--results -0.5..0.5"));
        assert!(doubt(&[[-0.5; 10], [-1.0; 10], [0.5; 10]].concat()).contains("--results -1..1"));
        assert!(doubt(&[[-1.0; 10], [0.0; 10], [1.0; 10]].concat()).contains("--results -1..1"));
        let mixed = [&[1.0, 0.5, 0.0][..], &[-1.0; 10], &[0.0; 10]].concat();
        assert!(doubt(&mixed).starts_with("Some(4) 10 lines have a result of -1, 2, 50 or 100, and fewer"));
        let halves = tally(&[0.25, 0.75].repeat(1000));
        assert!(halves.warnings("-1..1".parse().unwrap(), true)[0].starts_with("no result is -1 or 1"));
        // A sentinel among draws, and typos.
        assert_eq!(doubt(&[1.0, 0.5, 0.0, -1.0]), "");
        assert_eq!(tally(&[1.0, 0.5, 0.0, -1.0]).warnings(ResultScale::default(), false).len(), 1);
        assert_eq!(doubt(&[1.0, 0.5, -0.3, 11.0]), "");
        assert_eq!(doubt(&[1.0, 0.0]), "");
    }

    #[test]
    fn a_class_that_goes_with_nothing_is_a_draw() {
        let mut tally = ResultTally::default();
        for n in 0..400 {
            tally.number(f32::from(n % 2 == 0));
            // Wins go with material in three of four, the others in one of two.
            tally.decisive(f32::from(n % 2 == 0), if n % 2 == 0 { n % 8 != 0 } else { n % 4 == 1 });
        }
        let advice = tally.scale_mismatch().unwrap().advice.to_string();
        assert!(advice.contains("`results=-1..1` reads 0 as a draw"), "{advice}");
        tally.number(0.5);
        assert_eq!(tally.scale_mismatch(), None);
    }
}
