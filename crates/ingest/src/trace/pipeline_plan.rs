//! Program that a schema describes: names become indices, and values are chosen.

use super::accumulators::{
    AccumulatorRecord, AdjustmentOperator, AdjustmentRecord, FactorRecord, OperatorRecord, SideIndices,
    TermRecord,
};
use super::schema::Schema;
use gputexel_io::{Error, Result, shown_number};
use gputexel_model::program::{Adjustment, Factor, FactorTarget, Input, Operator, Phase, Term};
use gputexel_model::{Division, Phases};

const NO_MAXIMUM: f64 = 1e9;

pub(super) struct Plan {
    pub(super) terms: Vec<Term>,
    pub(super) adjustments: Vec<Adjustment>,
    pub(super) factor: Option<Factor>,
    pub(super) phases: Vec<Phases>,
    pub(super) unlimited: bool,
}

impl Plan {
    /// Plans a schema's accumulators. `untapered` evaluations have no phase, and `turned` coefficients are
    /// reversed when Black is to move.
    pub(super) fn try_new(schema: &Schema, untapered: bool, turned: bool) -> Result<Self> {
        let mut names = Names { accumulators: &schema.accumulators, used: Vec::new() };
        names.used = vec![[false; 2]; schema.accumulators.len()];
        let mut terms = Vec::new();
        for (accumulator, record) in schema.accumulators.iter().enumerate() {
            let name = &record.name;
            if schema.accumulators[..accumulator].iter().any(|other| other.name == *name) {
                return Err(Error::Usage(format!("accumulator '{name}' is listed twice")));
            }
            let whole = format!("accumulator '{name}'");
            if record.sign.abs() != 1.0 {
                let sign = shown_number(record.sign);
                return Err(usage(&whole, &format!("its sign is {sign}: must be 1 or -1")));
            }
            if record.sign < 0.0 && record.mg.0.is_empty() && record.eg.0.is_empty() {
                return Err(usage(&whole, "has a sign, but adds nothing to the score"));
            }
            for (target, own) in [(Phase::Mg, &record.mg.0), (Phase::Eg, &record.eg.0)] {
                let list = format!("{whole}, \"{}\"", target.name());
                if untapered && target == Phase::Eg && !own.is_empty() {
                    return Err(no_endgame(&list));
                }
                if turned && record.sides.is_none() && !own.is_empty() {
                    return Err(usage(
                        &whole,
                        "has one sum, which is added to the score: with coefficients of the side to move it needs one for each side",
                    ));
                }
                for (index, term) in own.iter().enumerate() {
                    let place = numbered(&list, index, own.len());
                    terms.push(names.term(&place, accumulator, target, term)?);
                    if term.into.is_some() && schema.division == Division::Truncate {
                        return Err(usage(
                            &place,
                            "goes into a sum, which \"division\": \"truncate\" does not know",
                        ));
                    }
                }
            }
        }
        let mut adjustments = Vec::new();
        for (index, record) in schema.adjust.iter().enumerate() {
            let AdjustmentRecord { target, op: AdjustmentOperator::Bounded, by, at_most } = record;
            let place = numbered("\"adjust\"", index, schema.adjust.len());
            if untapered && *target == Phase::Eg {
                return Err(no_endgame(&place));
            }
            let by = names.input(&place, by, *target)?;
            adjustments.push(Adjustment { target: *target, by, at_most: *at_most });
        }
        let mut unlimited = false;
        let factor = match &schema.factor {
            None => None,
            Some(FactorRecord { target, by, min, max, one }) => {
                let place = "\"factor\"";
                if untapered && *target == FactorTarget::Eg {
                    return Err(no_endgame(place));
                }
                let value = match target {
                    FactorTarget::Eg => Phase::Eg,
                    FactorTarget::Score => Phase::Mg,
                };
                let by =
                    by.0.iter().map(|name| names.input(place, name, value)).collect::<Result<Vec<_>>>()?;
                unlimited = max.is_none();
                let max = max.unwrap_or(NO_MAXIMUM);
                Some(Factor { target: *target, by, min: *min, max, one: *one })
            }
        };
        let phases = (0..schema.accumulators.len()).map(|index| names.phases(index, untapered));
        let phases = phases.collect::<Result<_>>()?;
        Ok(Self { terms, adjustments, factor, phases, unlimited })
    }
}

struct Names<'a> {
    accumulators: &'a [AccumulatorRecord],
    used: Vec<[bool; 2]>,
}

impl Names<'_> {
    fn term(&mut self, place: &str, accumulator: usize, target: Phase, record: &TermRecord) -> Result<Term> {
        let AccumulatorRecord { sign, .. } = &self.accumulators[accumulator];
        let operator = match (record.op, record.knots.is_empty()) {
            (OperatorRecord::Table, _) => Operator::Table(record.knots.clone()),
            (_, false) => return Err(usage(place, "has knots, but its operator is not a table")),
            (OperatorRecord::Identity, _) => Operator::Identity,
            (OperatorRecord::Relu, _) => Operator::Relu,
            (OperatorRecord::Relu2, _) => Operator::Relu2,
            (OperatorRecord::Square, _) => Operator::Square,
            (OperatorRecord::Sigmoid, _) => Operator::Sigmoid,
        };
        let scale = sign * record.scale;
        let input = self.choose(place, accumulator, record.value, target)?;
        let times = record.times.as_ref().map(|name| self.input(place, name, target)).transpose()?;
        let into = record.into.as_ref().map(|name| {
            let known = self.accumulators.iter().position(|accumulator| accumulator.name == *name);
            known.ok_or_else(|| usage(place, &format!("there is no accumulator '{name}'")))
        });
        let into = into.transpose()?;
        let TermRecord { shift, over, divide, steps, .. } = *record;
        Ok(Term { target, into, input, operator, times, scale, shift, over, divide, steps })
    }

    /// Resolves `NAME`, `NAME.mg` or `NAME.eg`, with `otherwise` as the default phase. `place` names its use
    /// in messages.
    fn input(&mut self, place: &str, text: &str, otherwise: Phase) -> Result<Input> {
        let (name, said) = match (text.strip_suffix(".mg"), text.strip_suffix(".eg")) {
            (Some(name), _) => (name, Some(Phase::Mg)),
            (_, Some(name)) => (name, Some(Phase::Eg)),
            _ => (text, None),
        };
        match self.accumulators.iter().position(|accumulator| accumulator.name == name) {
            Some(accumulator) => self.choose(place, accumulator, said, otherwise),
            None => Err(usage(place, &format!("there is no accumulator '{name}'"))),
        }
    }

    fn choose(
        &mut self,
        place: &str,
        accumulator: usize,
        said: Option<Phase>,
        otherwise: Phase,
    ) -> Result<Input> {
        let record = &self.accumulators[accumulator];
        let only = match record.phases {
            Some(Phases::Mg) => Some(Phase::Mg),
            Some(Phases::Eg) => Some(Phase::Eg),
            Some(Phases::Both | Phases::Untapered) | None => None,
        };
        let phase = said.or(only).unwrap_or(otherwise);
        if only.is_some_and(|only| only != phase) {
            let text = format!("uses the {} value of '{}', which has none", phase.name(), record.name);
            return Err(usage(place, &text));
        }
        self.used[accumulator][phase as usize] = true;
        Ok(Input { accumulator, phase })
    }

    fn phases(&self, accumulator: usize, untapered: bool) -> Result<Phases> {
        let record = &self.accumulators[accumulator];
        let used = self.used[accumulator];
        match (record.phases, used) {
            _ if untapered => Ok(record.phases.unwrap_or(Phases::Untapered)),
            (Some(Phases::Both), [true, false] | [false, true]) => {
                let unused = Phase::name([Phase::Eg, Phase::Mg][usize::from(used[1])]);
                let text = format!("its {unused} value is not used, so that \"phases\" cannot be \"both\"");
                Err(usage(&format!("accumulator '{}'", record.name), &text))
            }
            (Some(said), _) => Ok(said),
            (None, [true, false]) => Ok(Phases::Mg),
            (None, [false, true]) => Ok(Phases::Eg),
            (None, _) => Ok(Phases::Both),
        }
    }
}

pub(super) fn starts(record: &AccumulatorRecord) -> Result<Vec<u32>> {
    let text = match (record.index, record.sides) {
        (Some(index), None) => return Ok(vec![index]),
        (None, Some(SideIndices { white, black })) => return Ok(vec![white, black]),
        (Some(_), Some(_)) => "has both index and sides: needs only one of them",
        (None, None) => "needs either index or sides",
    };
    Err(usage(&format!("accumulator '{}'", record.name), text))
}

fn numbered(list: &str, index: usize, count: usize) -> String {
    match count {
        0 | 1 => list.to_string(),
        _ => format!("{list}, number {}", index + 1),
    }
}

fn usage(place: &str, text: &str) -> Error {
    Error::Usage(format!("{place}: {text}"))
}

fn no_endgame(place: &str) -> Error {
    usage(place, "concerns the endgame, but the schema does not say how the phase is known")
}
