//! The schema of all numbers that occurred.

use crate::record::{Op, Site, Tape, named, refuse};
use crate::rows::{CONSTANTS, FIRST, OWN, STRIDE, Term};

const PHASES: [&str; 2] = ["mg", "eg"];

fn quoted(s: &str) -> String {
    format!("\"{}\"", s.replace('\\', "\\\\").replace('"', "\\\""))
}

fn op_name(op: Op) -> String {
    if op == Op::Linear { "identity".into() } else { format!("{op:?}").to_lowercase() }
}

impl Tape {
    fn name(&self, i: usize) -> String {
        quoted(if i < OWN { CONSTANTS[i].0 } else { &self.parameters[i - OWN].name })
    }
    fn parameter_json(&self, i: usize, addresses: bool) -> String {
        let mut out = format!("    {{\"name\": {}, \"index\": {}", self.name(i), FIRST as usize + i);
        let (mut prior, mut phases) = (CONSTANTS[i % OWN].1, "both");
        if i < OWN {
            out += ", \"frozen\": true";
        } else {
            let p = &self.parameters[i - OWN];
            let counts = p.linear != [false; 2];
            let mut has = [false; 2];
            for k in 0..2 {
                let not_here = counts && !p.linear[k];
                if not_here && p.used[k] {
                    let why = "this number counts in one phase here and elsewhere in the other, which the schema cannot say";
                    refuse(p.place, why);
                }
                prior[k] = if not_here { 0. } else { p.value[k] };
                has[k] = p.used[k] || p.linear[k];
            }
            phases = match has {
                [true, false] => "mg",
                [false, true] => "eg",
                _ if p.pair => "both",
                _ => "untapered",
            };
            if addresses {
                let at: Site = p.place;
                out +=
                    &format!(", \"at\": {}", quoted(&format!("{}:{}:{}", at.file(), at.line(), at.column())));
            }
        }
        let tapered = self.rows.whole != 0.;
        if tapered {
            out += &format!(", \"phases\": \"{phases}\"");
        }
        let [m, e] = prior;
        if tapered && phases != "untapered" {
            format!("{out}, \"prior\": [{m}, {e}]}}")
        } else {
            format!("{out}, \"prior\": {m}}}")
        }
    }
    fn term_json(&self, slot: usize, t: &Term, target: usize, factor: &str) -> String {
        let [over, divide, one] = [t.k[0], t.k[2], t.k[3]];
        let scale = t.to[target] * if t.op == Op::Sigmoid { one } else { 1. };
        let mut out = format!("{{\"op\": \"{}\", \"scale\": {scale}", op_name(t.op));
        if t.op == Op::Sigmoid {
            out += &format!(", \"divide\": {divide}");
        } else if t.op == Op::Table {
            out += &format!(", \"knots\": {:?}", self.knots[t.site as usize]);
        } else if over != 0. {
            out += &format!(", \"over\": {over}");
        }
        if t.times != 0 {
            let value = PHASES[self.multiplied_by(slot, t, target)];
            out += &format!(", \"times\": {}", quoted(&format!("{factor}.{value}")));
        }
        format!("{out}, \"value\": \"{}\"}}", PHASES[self.taken_by(slot, t)])
    }
    /// The accumulator of a slot, or (`factor` empty) what its terms are multiplied by.
    fn accumulator_json(&self, slot: usize, sum: usize, own: &str, factor: &str) -> String {
        let (s, sum) = (&self.rows.slots[slot], 2 * slot + sum);
        let index = |side: usize| FIRST + STRIDE * (1 + 2 * sum + side) as u32;
        let mut out = format!("    {{\"name\": {}", quoted(own));
        if s.sides == [true; 2] {
            out += &format!(", \"sides\": {{\"white\": {}, \"black\": {}}}", index(0), index(1));
        } else {
            let sign = if s.sides[1] && !factor.is_empty() { ", \"sign\": -1" } else { "" };
            out += &format!(", \"index\": {}{sign}", index(usize::from(s.sides[1])));
        }
        for (to, phase) in PHASES.iter().enumerate().take(if self.rows.whole != 0. { 2 } else { 1 }) {
            let here = s.terms.iter().filter(|t| t.to[to] != 0. && !factor.is_empty());
            let terms: Vec<_> = here.map(|t| self.term_json(slot, t, to, factor)).collect();
            if !terms.is_empty() {
                out += &format!(", \"{phase}\": [{}]", terms.join(", "));
            }
        }
        let members = self.rows.sums[sum].members.iter().enumerate().filter(|m| *m.1);
        let members: Vec<_> =
            members.map(|(i, _)| format!("{{\"use\": {}, \"at\": {i}}}", self.name(i))).collect();
        format!("{out}, \"parameters\": [{}]}}", members.join(", "))
    }
    pub(crate) fn schema(&self, addresses: bool) -> String {
        let rows = &self.rows;
        let (mut accumulators, mut adjust, mut factor, mut count) =
            (Vec::new(), Vec::new(), String::new(), 1);
        for (i, s) in rows.slots.iter().enumerate() {
            let product = s.terms.first().is_some_and(|t| t.times != 0);
            let op = s.terms.first().map_or(s.kind, |t| t.op);
            let own = format!("{}_{}_{}", op_name(op), named(self.sites[s.site as usize]), s.occurrence + 1);
            let by = format!("\"by\": {}", quoted(&format!("{own}.{}", PHASES[self.value_of(2 * i)])));
            let times = format!("{own}_factor");
            accumulators.push(self.accumulator_json(i, 0, &own, &times));
            if product {
                accumulators.push(self.accumulator_json(i, 1, &times, ""));
            }
            count += usize::from(s.sides[0]) + usize::from(s.sides[1]);
            count += if product { usize::from(s.sides[0]) + usize::from(s.sides[1]) } else { 0 };
            if count > 24 {
                refuse(self.sites[s.site as usize], "the verbs need more than the 24 sums that a schema has");
            }
            let [low, high, one, _] = s.limits;
            let limit = |key: &str, x: f64| {
                if x < f64::from(i32::MAX) { format!(", \"{key}\": {x}") } else { String::new() }
            };
            if s.kind >= Op::ScaleEg {
                let target = if s.kind == Op::Scale { "score" } else { "eg" };
                let max = limit("max", high);
                factor = format!(
                    ",\n  \"factor\": {{\"target\": \"{target}\", {by}, \"min\": {low}{max}, \"one\": {one}}}"
                );
            } else if s.kind >= Op::BoundedMg {
                let target = PHASES[usize::from(s.kind == Op::BoundedEg)];
                let at_most = limit("at_most", low);
                adjust.push(format!("{{\"target\": \"{target}\", \"op\": \"bounded\", {by}{at_most}}}"));
            }
        }
        let numbers = (0..OWN + self.parameters.len()).filter(|&i| i >= OWN || rows.constants_used[i]);
        let numbers: Vec<_> = numbers.map(|i| self.parameter_json(i, addresses)).collect();
        let mut out = String::from(
            "{\n  \"format\": \"gputexel-schema\", \"version\": 1, \"index_base\": 1, \"comment\": \"fen\",\n",
        );
        let mut columns = String::new();
        if rows.whole != 0. {
            out += &format!("  \"phase\": {{\"middlegame\": {}, \"endgame\": 0}},\n", rows.whole);
            columns += "\"phase\": 1, ";
        }
        columns += if rows.has_offset { "\"offset\": 3, " } else { "" };
        out += &format!("  \"columns\": {{{columns}\"eval\": 2, \"game\": \"qid\"}},\n");
        out += &format!("  \"parameters\": [\n{}\n  ]", numbers.join(",\n"));
        if !accumulators.is_empty() {
            out += &format!(",\n  \"accumulators\": [\n{}\n  ]", accumulators.join(",\n"));
        }
        if !adjust.is_empty() {
            out += &format!(",\n  \"adjust\": [{}]", adjust.join(", "));
        }
        format!("{out}{factor}\n}}\n")
    }
}
