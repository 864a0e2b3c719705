//! A program as text: formulas for people who read tuned values.

use super::{Adjustment, Factor, FactorTarget, Input, Operator, Phase, Program, Term};

impl Program {
    /// Describes the computation, a line for each step; `mg`, `eg` and `score` are what the steps change.
    pub fn formulas(&self) -> Vec<String> {
        let terms = self.terms.iter().map(|term| self.term_formula(term));
        let adjustments = self.adjustments.iter().map(|Adjustment { target, by, at_most }| {
            let (value, sum) = (target.name(), self.input_name(*by));
            let sum = match at_most {
                None => sum,
                Some(k) => format!("min({sum}{}, 0)", shifted(*k)),
            };
            format!("{value} += sgn({value}) * max({sum}, -|{value}|)")
        });
        let factor = self.factor.iter().map(|Factor { target, by, min, max, one }| {
            let value = match target {
                FactorTarget::Eg => Phase::Eg.name(),
                FactorTarget::Score => "score",
            };
            let names: Vec<String> = by.iter().map(|by| self.input_name(*by)).collect();
            let sum = if let [one] = &names[..] { one.clone() } else { format!("min({})", names.join(", ")) };
            let sides = self.accumulators[by[0].accumulator].sides;
            let whose = if sides { ", of the stronger side" } else { "" };
            format!("{value} *= clamp({sum}, {min}, {max}) / {one}{whose}")
        });
        terms.chain(adjustments).chain(factor).collect()
    }

    fn input_name(&self, input: Input) -> String {
        format!("{}.{}", self.accumulators[input.accumulator].name, input.phase.name())
    }

    fn term_formula(&self, term: &Term) -> String {
        let sum = self.input_name(term.input);
        let mut x = sum.clone() + &shifted(term.shift);
        if term.operator.divides_argument() && term.divide != 1.0 {
            x = format!("({x}) / {}", term.divide);
        }
        let mut value = match &term.operator {
            Operator::Identity if term.shift == 0.0 => x,
            Operator::Identity => format!("({x})"),
            Operator::Relu => format!("max(0, {x})"),
            Operator::Relu2 => format!("max(0, {x})^2"),
            Operator::Square => format!("({x}) * |{x}|"),
            Operator::Sigmoid => format!("1 / (1 + exp(-({x})))"),
            Operator::Table(knots) => {
                let knots: Vec<String> = knots.iter().map(|[x, y]| format!("{x}: {y}")).collect();
                format!("line({x}; {})", knots.join(", "))
            }
        };
        if let Some(times) = term.times {
            value = format!("{value} * {}", self.input_name(times));
        }
        if !term.operator.divides_argument() && term.divide != 1.0 {
            value = format!("{value} / {}", term.divide);
        }
        let sign = match term.scale {
            1.0 => "+= ".to_string(),
            -1.0 => "-= ".to_string(),
            scale => format!("+= {scale} * "),
        };
        let over = term.over.map_or(String::new(), |over| format!(" where {sum} > {over}"));
        let sides = self.accumulators[term.input.accumulator].sides;
        let whose = if sides && term.into.is_none() { ", White's less Black's" } else { "" };
        let input = |accumulator| self.input_name(Input { accumulator, phase: term.target });
        let target = term.into.map_or_else(|| term.target.name().to_string(), input);
        format!("{target} {sign}{value}{over}{whose}")
    }
}

fn shifted(shift: f64) -> String {
    match shift {
        0.0 => String::new(),
        shift if shift < 0.0 => format!(" - {}", -shift),
        shift => format!(" + {shift}"),
    }
}
