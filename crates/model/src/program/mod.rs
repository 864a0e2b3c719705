//! The program of an evaluation: the computation of a score from sums of parameters, a fixed pipeline given as data:
//!
//! 1. accumulators, sums of parameters × coefficients like the linear part, for each side or for both together;
//! 2. terms: functions of accumulators that are added to the middlegame or the endgame value, of the score or of an
//!    accumulator that follows;
//! 3. adjustments, which move a value toward or away from 0 and never across it;
//! 4. a factor on the endgame value or on the whole score, chosen by the stronger side;
//! 5. the taper, and the constant part of the position.

mod activity;
mod compiled;
mod parts;
mod scalar;
mod text;
mod trial;
mod value;

use serde::{Deserialize, Serialize};

use gputexel_io::{Error, Result, shown_number};

pub use activity::{MIN_ACTIVE_SHARE, TermActivity, dead_terms};
pub use compiled::{CompiledProgram, LINEAR, MAX_SLOTS};
pub use parts::{AdjustmentEffect, FactorEffect, Part, TermEffect};
pub use scalar::{Dual, Interval, Scalar};
#[doc(hidden)]
pub use trial::trial_program;
pub use value::Taper;

pub const MAX_TERMS: usize = 64;
const MAX_KNOTS: usize = 1024;
pub const MAX_ADJUSTMENTS: usize = 4;
pub const MAX_ALTERNATIVES: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    Mg,
    Eg,
}

impl Phase {
    pub fn name(self) -> &'static str {
        ["mg", "eg"][self as usize]
    }
}

/// A sum of parameters × coefficients.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Accumulator {
    pub name: String,
    /// True if each side has a sum of its own. Terms take White's minus Black's; a factor takes that of the
    /// stronger side.
    pub sides: bool,
    pub features: Vec<u16>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Input {
    pub accumulator: usize,
    pub phase: Phase,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operator {
    /// x.
    Identity,
    /// max(0, x).
    Relu,
    /// max(0, x)².
    Relu2,
    /// x |x|.
    Square,
    /// 1 / (1 + e^−x).
    Sigmoid,
    /// Straight lines between knots (x, y) with ascending x; constant before the first and after the last.
    Table(Vec<[f64; 2]>),
}

impl Operator {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Identity => "identity",
            Self::Relu => "relu",
            Self::Relu2 => "relu2",
            Self::Square => "square",
            Self::Sigmoid => "sigmoid",
            Self::Table(_) => "table",
        }
    }

    pub fn divides_argument(&self) -> bool {
        matches!(self, Self::Sigmoid | Self::Table(_))
    }
}

/// A function of an accumulator that is added to a value: `scale` · f(x + `shift`) · y / `divide`, or `scale`
/// · f((x + `shift`) / `divide`) · y if the operator [divides its argument](Operator::divides_argument).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Term {
    pub target: Phase,
    /// The accumulator to whose value, of the same side, it is added in place of the score's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub into: Option<usize>,
    /// x.
    pub input: Input,
    /// f.
    pub operator: Operator,
    /// y, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<Input>,
    /// Constant factor; −1 if the side's own sum counts against it.
    pub scale: f64,
    pub shift: f64,
    /// The term is 0 unless x is above this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<f64>,
    pub divide: f64,
    /// Steps of the engine's integers in `scale` of a sigmoid, to bound its rounding.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub steps: f64,
}

/// A default of schemas and programs.
pub fn one() -> f64 {
    1.0
}

pub fn is_one(x: &f64) -> bool {
    *x == 1.0
}

/// A change of a value e to e + sgn(e) · max(C, −|e|), with an accumulator C.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Adjustment {
    pub target: Phase,
    /// C, the same for both sides.
    pub by: Input,
    /// With a constant k, min(C + k, 0) takes the place of C.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FactorTarget {
    /// The endgame value; its sign determines the stronger side.
    Eg,
    /// The tapered score; its sign determines the stronger side.
    Score,
}

/// A factor clamp(min(S₁, S₂, …), `min`, `max`) / `one`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Factor {
    pub target: FactorTarget,
    /// S₁ and its alternatives, of which the smallest counts; those without entries are skipped. Sums of sides
    /// are those of the stronger one.
    pub by: Vec<Input>,
    pub min: f64,
    pub max: f64,
    pub one: f64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    pub accumulators: Vec<Accumulator>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub terms: Vec<Term>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub adjustments: Vec<Adjustment>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub factor: Option<Factor>,
}

impl Program {
    pub fn validate(&self, features: usize) -> Result<()> {
        self.check(features).map_err(Error::Usage)
    }

    fn check(&self, features: usize) -> Result<(), String> {
        let mut names = std::collections::HashSet::new();
        let filled: Vec<Option<usize>> = self.terms.iter().map(|term| term.into).collect();
        for (index, Accumulator { name, features: own, .. }) in self.accumulators.iter().enumerate() {
            crate::check_name(name).map_err(|reason| format!("accumulators: {reason}"))?;
            if !names.insert(name) {
                return Err(format!("accumulator '{name}' is listed twice"));
            }
            if own.is_empty() && !filled.contains(&Some(index)) {
                return Err(format!("accumulator '{name}' has no parameters"));
            }
            if own.iter().any(|&feature| usize::from(feature) >= features) {
                return Err(format!("accumulator '{name}' has a parameter that does not exist"));
            }
        }
        if self.slots() > MAX_SLOTS {
            return Err(format!("{} sums, of which there may be {MAX_SLOTS}", self.slots()));
        }
        let columns = features + self.accumulators.iter().map(Accumulator::columns).sum::<usize>();
        if columns > crate::MAX_FEATURES {
            let most = crate::MAX_FEATURES;
            return Err(format!(
                "{columns} entries of parameters and accumulators, of which there may be {most}"
            ));
        }
        let lists = [
            ("terms", self.terms.len(), MAX_TERMS),
            ("adjustments", self.adjustments.len(), MAX_ADJUSTMENTS),
            ("alternatives of a factor", self.factor.as_ref().map_or(0, |f| f.by.len()), MAX_ALTERNATIVES),
        ];
        for (what, count, most) in lists {
            if count > most {
                return Err(format!("{count} {what}, of which there may be {most}"));
            }
        }
        (0..self.terms.len()).try_for_each(|index| self.check_term(index))?;
        for Adjustment { target, by, at_most } in &self.adjustments {
            let Accumulator { name, sides, .. } = self.input(*by, || "adjustments".to_string())?;
            let target = target.name();
            if *sides {
                return Err(format!("'{name}' adjusts {target}, but has a sum for each side"));
            }
            let whose = format!("the adjustment of {target} by '{name}'");
            at_most.map_or(Ok(()), |value| finite(&whose, "at_most", value))?;
        }
        if let Some(factor) = &self.factor {
            self.check_factor(factor)?;
        }
        let inputs: std::collections::HashSet<usize> = self.inputs().map(|input| input.accumulator).collect();
        match self.accumulators.iter().enumerate().find(|(index, _)| !inputs.contains(index)) {
            Some((_, unused)) => Err(format!("accumulator '{}' is not used", unused.name)),
            None => Ok(()),
        }
    }

    fn check_term(&self, index: usize) -> Result<(), String> {
        let term = &self.terms[index];
        let accumulator = self.input(term.input, || format!("term {}", index + 1))?;
        let whose = self.term_name(index);
        for (what, value) in [("scale", term.scale), ("shift", term.shift), ("divide", term.divide)] {
            finite(&whose, what, value)?;
        }
        term.over.map_or(Ok(()), |value| finite(&whose, "over", value))?;
        if term.divide <= 0.0 {
            let divisor = shown_number(term.divide);
            return Err(format!("{whose} is divided by {divisor}: a divisor must be above 0"));
        }
        if let Some(times) = term.times {
            let other = self.input(times, || whose.clone())?;
            if other.sides && !accumulator.sides {
                return Err(format!(
                    "{whose} has one sum, but is multiplied by '{}', which has one a side",
                    other.name
                ));
            }
        }
        if let Some(into) = term.into {
            let other = self.input(Input { accumulator: into, ..term.input }, || whose.clone())?;
            if other.sides != accumulator.sides {
                return Err(format!(
                    "{whose} goes into '{}', but only one of the two has a sum for each side",
                    other.name
                ));
            }
            if into <= term.last_input() {
                return Err(format!("{whose} goes into '{}', which must be listed after it", other.name));
            }
        }
        if let Operator::Table(knots) = &term.operator {
            if knots.len() < 2 || knots.len() > MAX_KNOTS {
                return Err(format!("{whose} has {} knots: must be 2 to {MAX_KNOTS}", knots.len()));
            }
            if knots.as_flattened().iter().any(|value| !value.is_finite()) {
                return Err(format!("{whose} holds numbers that are not finite"));
            }
            if knots.windows(2).any(|pair| pair[0][0] >= pair[1][0]) {
                return Err(format!("the knots of {whose} do not ascend"));
            }
        }
        Ok(())
    }

    fn term_name(&self, index: usize) -> String {
        let called = |term: &Term| {
            let name = &self.accumulators.get(term.input.accumulator)?.name;
            let into =
                term.into.and_then(|into| Some(format!(" of '{}'", self.accumulators.get(into)?.name)));
            Some(activity::called(name, term.operator.name(), term.target) + &into.unwrap_or_default())
        };
        let own = called(&self.terms[index]);
        let alike = |terms: &[Term]| terms.iter().filter(|term| called(term) == own).count();
        let number = match alike(&self.terms) {
            0 | 1 => String::new(),
            count => format!(" (number {} of {count})", 1 + alike(&self.terms[..index])),
        };
        own.unwrap_or_default() + &number
    }

    fn check_factor(&self, factor: &Factor) -> Result<(), String> {
        let Some(first) = factor.by.first() else {
            return Err("a factor of no accumulator".to_string());
        };
        let place = || "factor".to_string();
        let name = &self.input(*first, place)?.name;
        for (what, value) in [("min", factor.min), ("max", factor.max), ("one", factor.one)] {
            finite(&format!("the factor '{name}'"), what, value)?;
        }
        let sides = self.accumulators[first.accumulator].sides;
        for by in &factor.by {
            let other = self.input(*by, place)?;
            if other.sides != sides {
                return Err(format!(
                    "of the factors '{name}' and '{}', one has a sum for each side",
                    other.name
                ));
            }
        }
        if factor.min >= factor.max {
            return Err(format!(
                "the factor '{name}' is from {} to {}, which is empty",
                shown_number(factor.min),
                shown_number(factor.max)
            ));
        }
        if factor.one <= 0.0 {
            let one = shown_number(factor.one);
            return Err(format!("the factor '{name}' is divided by {one}: must be above 0"));
        }
        Ok(())
    }

    fn input(&self, input: Input, place: impl Fn() -> String) -> Result<&Accumulator, String> {
        let known = self.accumulators.get(input.accumulator);
        known.ok_or_else(|| format!("{}: there is no accumulator {}", place(), input.accumulator))
    }

    pub fn inputs(&self) -> impl Iterator<Item = Input> + '_ {
        let terms = self.terms.iter().flat_map(|term| [Some(term.input), term.times].into_iter().flatten());
        let adjustments = self.adjustments.iter().map(|adjustment| adjustment.by);
        terms.chain(adjustments).chain(self.factor.iter().flat_map(|factor| factor.by.iter().copied()))
    }

    /// True for each value of a feature that accumulators use; `None` for a feature that is in none of them.
    pub fn reads(&self, feature: u16) -> Option<[bool; 2]> {
        let has: Vec<bool> =
            self.accumulators.iter().map(|accumulator| accumulator.features.contains(&feature)).collect();
        has.contains(&true).then(|| {
            let mut reads = [false; 2];
            self.inputs()
                .filter(|input| has[input.accumulator])
                .for_each(|input| reads[input.phase as usize] = true);
            reads
        })
    }

    /// The number of sums: the linear part, and one or two for each accumulator.
    pub fn slots(&self) -> usize {
        1 + self.accumulators.iter().map(Accumulator::slots).sum::<usize>()
    }
}

impl Term {
    /// The last accumulator that it takes or is multiplied by.
    fn last_input(&self) -> usize {
        self.input.accumulator.max(self.times.map_or(0, |times| times.accumulator))
    }
}

impl Accumulator {
    /// The number of sums: one, or one for each side.
    pub fn slots(&self) -> usize {
        1 + usize::from(self.sides)
    }

    pub fn columns(&self) -> usize {
        self.slots() * self.features.len()
    }
}

fn finite(whose: &str, what: &str, value: f64) -> Result<(), String> {
    match value.is_finite() && value.abs() <= 1e9 {
        true => Ok(()),
        false => Err(format!("{what} of {whose} is {}: must be a number up to 1e9", shown_number(value))),
    }
}
