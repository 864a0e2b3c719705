//! Which options of an engine are parameters, and how far they move.

use crate::client::{EngineOption, OptionKind};
use gputexel_io::{Error, Result, matches_pattern};

/// In names of options that concern the search, the machine or the interface.
const OTHER_WORDS: [&str; 55] = [
    "hash",
    "thread",
    "threads",
    "cpu",
    "cores",
    "ponder",
    "multipv",
    "overhead",
    "skill",
    "level",
    "elo",
    "uci",
    "slow",
    "mover",
    "time",
    "nodes",
    "nodestime",
    "syzygy",
    "tablebase",
    "tablebases",
    "egtb",
    "egbb",
    "bitbase",
    "bitbases",
    "cache",
    "book",
    "depth",
    "ply",
    "plies",
    "extension",
    "extensions",
    "reduction",
    "reductions",
    "pruning",
    "futility",
    "razor",
    "razoring",
    "nullmove",
    "null",
    "lmr",
    "lmp",
    "aspiration",
    "history",
    "verification",
    "selective",
    "searched",
    "search",
    "split",
    "moves",
    "contempt",
    "randomness",
    "random",
    "lazy",
    "delta",
    "log",
];

/// Largest range that steps are a tenth of; options without bounds have that of their type.
const WIDE: f64 = 1e4;

const MAX_BOUND: f64 = 1e6;

#[derive(Clone, Debug, PartialEq)]
pub struct ProbeParameter {
    pub name: String,
    pub start: f64,
    pub min: f64,
    pub max: f64,
    pub integer: bool,
}

impl ProbeParameter {
    /// Bounds that a dataset can have.
    pub(super) fn checked(mut self) -> Result<Self> {
        (self.min, self.max) = (self.min.max(-MAX_BOUND), self.max.min(MAX_BOUND));
        let numbers = [self.start, self.min, self.max];
        let fits =
            numbers.iter().all(|number| number.is_finite()) && (self.min..=self.max).contains(&self.start);
        if !fits {
            let Self { name, start, min, max, .. } = &self;
            return Err(Error::Usage(format!(
                "{name}: the value {start} is not within its bounds, {min} to {max}"
            )));
        }
        if self.integer && self.start.fract() != 0.0 {
            return Err(Error::Usage(format!(
                "{}: the value {} is not a whole number",
                self.name, self.start
            )));
        }
        Ok(self)
    }

    /// For changes upward and downward.
    pub(super) fn room(&self) -> [f64; 2] {
        let whole = |room: f64| if self.integer { room.floor() } else { room };
        [whole(self.max - self.start), whole(self.start - self.min)]
    }

    /// Change by which an effect is measured that may not be linear: a tenth of the range, at least 1 for whole
    /// numbers; 0 without room.
    pub(super) fn step(&self) -> f64 {
        let room = self.room();
        let most = room[0].max(room[1]);
        let range = (self.max - self.min).min((20.0 * self.start.abs()).max(WIDE.min(room[0] + room[1])));
        if self.integer { (range / 10.0).round().max(1.0).min(most) } else { (range / 10.0).min(most) }
    }

    pub(super) fn text(&self, value: f64) -> String {
        // A zero without a sign.
        (value + 0.0).to_string()
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    pub parameters: Vec<ProbeParameter>,
    pub left_out: Vec<String>,
}

/// The numeric options that match one of `patterns`, or without any those whose names are not about search, machine
/// or interface.
pub fn parameters_of(options: &[EngineOption], patterns: &[String]) -> Options {
    let mut chosen = Options::default();
    for option in options {
        let OptionKind::Spin { default, min, max } = option.kind else { continue };
        let is_chosen = match patterns {
            [] => !is_other(&option.name),
            patterns => patterns.iter().any(|pattern| matches_pattern(pattern, &option.name)),
        };
        let parameter = ProbeParameter {
            name: option.name.clone(),
            start: default as f64,
            min: min as f64,
            max: max as f64,
            integer: true,
        };
        match parameter.checked().ok().filter(|_| is_chosen) {
            Some(parameter) => chosen.parameters.push(parameter),
            None => chosen.left_out.push(option.name.clone()),
        }
    }
    chosen
}

fn is_other(name: &str) -> bool {
    let lower = name.to_lowercase();
    let whole = lower.split(|c: char| !c.is_alphabetic());
    whole.chain(words(name).iter().map(String::as_str)).any(|word| OTHER_WORDS.contains(&word))
}

/// In lower case: `SlowMover`, `Slow Mover` and `slow_mover` have the same.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        let begins = !c.is_alphabetic() || (c.is_uppercase() && was_lower);
        if begins && words.last().is_some_and(|word| !word.is_empty()) {
            words.push(String::new());
        }
        if c.is_alphabetic()
            && let Some(word) = words.last_mut()
        {
            word.extend(c.to_lowercase());
        }
        was_lower = c.is_lowercase();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_the_search_are_left_out() {
        let lines = [
            "option name Hash type spin default 16 min 1 max 64",
            "option name Move Overhead type spin default 10 min 0 max 5000",
            "option name Check Extension (PV nodes) type spin default 2 min 0 max 2",
            "option name UCI_Elo type spin default 1500 min 1000 max 2000",
            "option name MultiPV type spin default 1 min 1 max 5",
            "option name SlowMover type spin default 100 min 10 max 1000",
            "option name Toga Lazy Eval Margin type spin default 200 min 0 max 900",
            "option name Mobility (Middle Game) type spin default 100 min 0 max 200",
            "option name Aggressiveness type spin default 100 min 0 max 200",
            "option name BishopPair type spin default 30 min 0 max 100",
            "option name Ponder type check default false",
            "option name Odd type spin default 30 min 40 max 100",
        ];
        let options: Vec<EngineOption> =
            lines.iter().map(|line| EngineOption::parse(line).unwrap()).collect();
        let names = |found: Options| found.parameters.into_iter().map(|one| one.name).collect::<Vec<_>>();
        let found = parameters_of(&options, &[]);
        assert_eq!(found.left_out.len(), 8);
        assert_eq!(names(found), ["Mobility (Middle Game)", "Aggressiveness", "BishopPair"]);
        let found = parameters_of(&options, &["*mob*".to_string(), "H?sh".to_string()]);
        assert_eq!(names(found), ["Hash", "Mobility (Middle Game)"]);
    }

    #[test]
    fn steps_are_a_tenth_of_the_range() {
        let parameter = |start: f64, min: f64, max: f64| ProbeParameter {
            name: "x".to_string(),
            start,
            min,
            max,
            integer: true,
        };
        assert_eq!(parameter(100.0, 0.0, 200.0).step(), 20.0);
        assert_eq!(parameter(1.0, 0.0, 4.0).step(), 1.0);
        assert_eq!(parameter(4.0, 4.0, 4.0).step(), 0.0);
        assert_eq!(parameter(100.0, -1e6, 1e6).step(), 1000.0);
        assert!(parameter(5.0, 6.0, 7.0).checked().is_err());
        assert!(parameter(0.5, 0.0, 7.0).checked().is_err());
    }
}
