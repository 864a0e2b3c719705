//! The schema of rows.

use gputexel_model::program::MAX_SLOTS;
use serde_json::{Value, json};

use super::{CONSTANTS, Counted, FIRST, OWN, Op, Refusal, Role, Rows, Term};

const PHASES: [&str; 2] = ["mg", "eg"];
/// As large as limits can be in the engine.
const UNLIMITED: f64 = (1 << 30) as f64;

impl Rows<'_> {
    fn name(&self, own: usize) -> &str {
        own.checked_sub(OWN).map_or_else(|| CONSTANTS[own].0, |own| &self.table.numbers[own].at)
    }

    fn sum_name(&self, own: usize) -> String {
        let (verb, call) = match &self.sums[own].role {
            Role::Terms(terms) => (terms[0].call.0, terms[0].call.1 + 1),
            Role::Stage(verb) => (*verb, 1),
            Role::Factor => return self.sum_name(own - 1) + "_factor",
            Role::Apart(value, target) if value == target => return format!("{}_values", PHASES[*value]),
            Role::Apart(value, target) => return format!("{}_values_in_{}", PHASES[*value], PHASES[*target]),
        };
        let (verb, op) = (&self.table.verbs[verb], format!("{:?}", self.op(verb)).to_lowercase());
        let file = verb.at.rsplit(['/', '\\']).next().unwrap_or_default();
        let into = self.into(own).map_or(String::new(), |into| format!("_in_{into}"));
        format!("{op}_{}_{call}{into}", file.replace([':', ',', '"', ' ', '#'], "_"))
    }

    fn terms(&self, own: usize, target: usize) -> Vec<Value> {
        let Role::Terms(terms) = &self.sums[own].role else {
            return match self.sums[own].role {
                Role::Apart(value, to) if to == target => vec![json!({ "value": PHASES[value] })],
                _ => Vec::new(),
            };
        };
        let term = |term: &Term| {
            let verb = &self.table.verbs[term.call.0];
            let [first, one, _] = verb.constants;
            let value = PHASES[term.value.unwrap_or(0)];
            let mut out = match verb.op {
                Op::Product | Op::ProductPair => json!({ "op": "identity" }),
                Op::Sigmoid => json!({ "op": "sigmoid", "divide": first }),
                Op::Table => json!({ "op": "table", "knots": verb.knots.chunks(2).collect::<Vec<_>>() }),
                op => json!({ "op": format!("{op:?}").to_lowercase() }),
            };
            out["scale"] = json!(term.to[target] * if verb.op == Op::Sigmoid { one } else { 1.0 });
            if verb.op == Op::Sigmoid {
                out["steps"] = json!(one);
            }
            out["value"] = json!(value);
            if verb.op <= Op::Square && first != 0.0 {
                out["over"] = json!(first);
            }
            if let Some(into) = self.into(own) {
                out["into"] = json!(self.sum_name(into));
            }
            if term.times > 0 {
                let phase = term.by.unwrap_or(if term.times == 2 { target } else { 0 });
                out["times"] = json!(format!("{}.{}", self.sum_name(own + 1), PHASES[phase]));
            }
            out
        };
        terms.iter().filter(|own| own.to[target] != 0.0).map(term).collect()
    }

    fn accumulator(&self, own: usize) -> Value {
        let sum = &self.sums[own];
        let [white, black] = [0, 1].map(|black| self.base(own, black));
        // Sums that go into each other are of the same sides.
        let last = std::iter::successors(Some(own), |&own| self.into(own)).last().unwrap_or(own);
        let mut out = match self.sums[last].sides {
            [true, true] => json!({ "sides": { "white": white, "black": black } }),
            [true, _] => json!({ "index": white }),
            _ if sum.role == Role::Factor || self.into(own).is_some() => json!({ "index": black }),
            _ => json!({ "index": black, "sign": -1 }),
        };
        for target in 0..if self.whole == 0.0 { 1 } else { 2 } {
            let terms = self.terms(own, target);
            if !terms.is_empty() {
                out[PHASES[target]] = json!(terms);
            }
        }
        out["name"] = json!(self.sum_name(own));
        let members = sum.members.iter().map(|&own| json!({ "use": self.name(own), "at": own }));
        out["parameters"] = members.collect();
        out
    }

    fn number(&mut self, own: usize) -> Value {
        let counted = own.checked_sub(OWN).map(|own| (&self.table.numbers[own], &mut self.numbers[own]));
        let (mut out, mut prior, phases) = match counted {
            None => (json!({ "name": CONSTANTS[own].0, "frozen": true }), CONSTANTS[own].1, "both"),
            Some((number, counted)) => {
                let Counted { linear, used } = *counted;
                let not_here = linear.map(|here| !here && linear != [false; 2]);
                if not_here[0] && used[0] || not_here[1] && used[1] {
                    self.found.numbers.insert(own - OWN);
                }
                let phases = match [0, 1].map(|k| used[k] || linear[k]) {
                    [true, false] => "mg",
                    [false, true] => "eg",
                    _ if number.is_pair() => "both",
                    _ => "untapered",
                };
                let prior = number.prior.pair();
                (json!({ "at": number.at }), [0, 1].map(|k| if not_here[k] { 0.0 } else { prior[k] }), phases)
            }
        };
        out["index"] = json!(FIRST + own);
        if self.whole != 0.0 {
            out["phases"] = json!(phases);
        }
        let single = self.whole == 0.0 || phases == "untapered";
        prior[1] = if single { prior[0] } else { prior[1] };
        out["prior"] = if single { json!(prior[0]) } else { json!(prior) };
        out
    }

    pub(super) fn schema(&mut self) -> Refusal<String> {
        let count = 1 + self.sums.iter().flat_map(|own| own.sides).filter(|&side| side).count();
        if count > MAX_SLOTS {
            let calls = self.sums.iter().rev().find_map(|own| match &own.role {
                Role::Terms(terms) => Some(terms[0].call.0),
                Role::Stage(verb) => Some(*verb),
                _ => None,
            });
            return self
                .refuse(calls.unwrap_or(0), &format!("the verbs need {count} sums, more than {MAX_SLOTS}"));
        }
        let used: Vec<usize> =
            (0..OWN).filter(|&own| self.constants_used[own]).chain(OWN..self.stride()).collect();
        let numbers: Vec<Value> = used.into_iter().map(|own| self.number(own)).collect();
        // What goes into a sum is listed before it.
        let mut order: Vec<usize> = (0..self.sums.len()).collect();
        order.sort_by_key(|&own| std::cmp::Reverse(self.depth(own)));
        let mut out = json!({
            "format": "gputexel-schema",
            "version": 1,
            "index_base": 1,
            "comment": "fen",
            "columns": { "eval": 2, "game": "qid" },
            "parameters": numbers,
            "accumulators": order.into_iter().map(|own| self.accumulator(own)).collect::<Vec<_>>(),
        });
        let mut adjust = Vec::new();
        for (own, sum) in self.sums.iter().enumerate() {
            let Role::Stage(verb) = sum.role else { continue };
            let (op, [low, high, one]) = (self.op(verb), self.table.verbs[verb].constants);
            let by = format!("{}.{}", self.sum_name(own), PHASES[sum.phase.unwrap_or(0)]);
            if op >= Op::ScaleEg {
                let target = if op == Op::Scale { "score" } else { "eg" };
                out["factor"] = json!({ "target": target, "by": by, "min": low, "one": one });
                if high < UNLIMITED {
                    out["factor"]["max"] = json!(high);
                }
            } else {
                let mut own =
                    json!({ "target": PHASES[usize::from(op == Op::BoundedEg)], "op": "bounded", "by": by });
                if low < UNLIMITED {
                    own["at_most"] = json!(low);
                }
                adjust.push(own);
            }
        }
        out["adjust"] = json!(adjust);
        if self.has_offset {
            out["columns"]["offset"] = json!(3);
        }
        if self.whole != 0.0 {
            out["columns"]["phase"] = json!(1);
            out["phase"] = json!({ "middlegame": self.whole, "endgame": 0 });
        }
        Ok(out.to_string())
    }
}
