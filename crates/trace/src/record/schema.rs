//! The schema of all numbers that occurred.

use super::rows::{CONSTANTS, FIRST, OWN, STRIDE, Slot};
use super::{Op, Tape, named, refuse};

const PHASES: [&str; 2] = ["mg", "eg"];

fn quoted(s: &str) -> String {
    format!("\"{}\"", s.replace('\\', "\\\\").replace('"', "\\\""))
}
fn list(key: &str, items: &[String]) -> String {
    format!(",\n  \"{key}\": [\n    {}\n  ]", items.join(",\n    "))
}
fn list_if_any(key: &str, items: &[String]) -> String {
    if items.is_empty() { String::new() } else { list(key, items) }
}
fn unless(x: f64, default: f64, key: &str) -> String {
    if x == default { String::new() } else { format!(", \"{key}\": {x}") }
}

impl Tape {
    fn name(&self, i: usize) -> String {
        quoted(&if i < OWN { CONSTANTS[i].0.to_string() } else { self.parameters[i - OWN].place.to_string() })
    }
    fn number(&self, i: usize) -> String {
        let (mut key, mut prior, mut phases, mut more) =
            ("name", CONSTANTS[i % OWN].1, "both", ", \"frozen\": true");
        if let Some(p) = i.checked_sub(OWN).map(|i| &self.parameters[i]) {
            let not_here = p.linear.map(|here| !here && p.linear != [false; 2]);
            if not_here[0] && p.used[0] || not_here[1] && p.used[1] {
                let why = "this number counts in one phase here and elsewhere in the other, which the schema cannot say";
                refuse(p.place, why);
            }
            prior = [0, 1].map(|k| if not_here[k] { 0. } else { p.value[k] });
            phases = match [0, 1].map(|k| p.used[k] || p.linear[k]) {
                [true, false] => "mg",
                [false, true] => "eg",
                _ if p.pair => "both",
                _ => "untapered",
            };
            (key, more) = ("at", "");
        }
        let [m, e] = prior;
        let value = match (self.rows.whole, phases) {
            (0., _) => format!("\"prior\": {m}"),
            (_, "untapered") => format!("\"phases\": \"untapered\", \"prior\": {m}"),
            _ => format!("\"phases\": \"{phases}\", \"prior\": [{m}, {e}]"),
        };
        format!("{{\"{key}\": {}, \"index\": {}{more}, {value}}}", self.name(i), FIRST + i)
    }
    fn term(&self, s: &Slot, own: &str, to: usize) -> String {
        let (op, k) = (s.shape.op, s.shape.k);
        let [value, by] = [0, 1].map(|part| PHASES[s.sums[part].phase.unwrap_or(0)]);
        let (name, scale, more) = match op {
            Op::Linear => ("identity".to_string(), 1., String::new()),
            Op::Sigmoid => ("sigmoid".to_string(), k[1], format!(", \"divide\": {}", k[0])),
            Op::Table => ("table".to_string(), 1., format!(", \"knots\": {:?}", self.knots[&s.site])),
            _ => (format!("{op:?}").to_lowercase(), 1., unless(k[0], 0., "over")),
        };
        let times = match s.shape.times {
            0 => String::new(),
            1 => format!(", \"times\": {}", quoted(&format!("{own}_factor.{by}"))),
            _ => format!(", \"times\": {}", quoted(&format!("{own}_factor.{}", PHASES[to]))),
        };
        let scale = scale * s.shape.to[to];
        format!("{{\"op\": \"{name}\", \"scale\": {scale}{more}{times}, \"value\": \"{value}\"}}")
    }
    /// The accumulator of a slot, or the one that it is multiplied by.
    fn accumulator(&self, i: usize, part: usize, own: &str) -> String {
        let s = &self.rows.slots[i];
        let index = [0, 1].map(|black| FIRST + STRIDE * (1 + 4 * i + 2 * part + black));
        let mut out = match s.sides {
            [true, true] => format!("\"sides\": {{\"white\": {}, \"black\": {}}}", index[0], index[1]),
            [true, _] => format!("\"index\": {}", index[0]),
            _ if part == 0 => format!("\"index\": {}, \"sign\": -1", index[1]),
            _ => format!("\"index\": {}", index[1]),
        };
        let targets = if self.rows.whole == 0. { 1 } else { 2 };
        for to in (0..targets).filter(|&to| part == 0 && s.shape.to[to] != 0.) {
            out += &format!(", \"{}\": {}", PHASES[to], self.term(s, own, to));
        }
        let members =
            s.sums[part].members.iter().map(|&i| format!("{{\"use\": {}, \"at\": {i}}}", self.name(i)));
        let (name, members) =
            (quoted(&format!("{own}{}", ["", "_factor"][part])), members.collect::<Vec<_>>());
        format!("{{\"name\": {name}, {out}, \"parameters\": [{}]}}", members.join(", "))
    }
    pub(super) fn schema(&self) -> String {
        let rows = &self.rows;
        let (mut accumulators, mut adjust, mut factor, mut count) =
            (Vec::new(), Vec::new(), String::new(), 1);
        for (i, s) in rows.slots.iter().enumerate() {
            let (own, k) = (format!("sum_{}_{}", named(self.sites[s.site as usize]), i + 1), s.shape.k);
            let by = quoted(&format!("{own}.{}", PHASES[s.sums[0].phase.unwrap_or(0)]));
            for part in 0..1 + s.shape.times.min(1) {
                accumulators.push(self.accumulator(i, part, &own));
                count += s.sides.iter().filter(|&&here| here).count();
            }
            if count > 24 {
                refuse(self.sites[s.site as usize], "the verbs need more than the 24 sums that a schema has");
            }
            let none = f64::from(i32::MAX);
            if s.kind >= Op::ScaleEg {
                let target = if s.kind == Op::Scale { "score" } else { "eg" };
                let limits = format!("\"min\": {}{}, \"one\": {}", k[0], unless(k[1], none, "max"), k[2]);
                factor = format!(",\n  \"factor\": {{\"target\": \"{target}\", \"by\": {by}, {limits}}}");
            } else if s.kind >= Op::BoundedMg {
                let target = PHASES[usize::from(s.kind == Op::BoundedEg)];
                let at_most = unless(k[0], none, "at_most");
                adjust.push(format!(
                    "{{\"target\": \"{target}\", \"op\": \"bounded\", \"by\": {by}{at_most}}}"
                ));
            }
        }
        let numbers = (0..OWN + self.parameters.len()).filter(|&i| i >= OWN || rows.constants_used[i]);
        let numbers: Vec<_> = numbers.map(|i| self.number(i)).collect();
        let offset = if rows.has_offset { "\"offset\": 3, " } else { "" };
        let (phase, column) = match rows.whole {
            0. => (String::new(), ""),
            whole => {
                (format!("\n  \"phase\": {{\"middlegame\": {whole}, \"endgame\": 0}},"), "\"phase\": 1, ")
            }
        };
        format!(
            "{{\n  \"format\": \"gputexel-schema\", \"version\": 1, \"index_base\": 1, \"comment\": \"fen\",{phase}\n  \
             \"columns\": {{{column}{offset}\"eval\": 2, \"game\": \"qid\"}}{}{}{}{factor}\n}}\n",
            list("parameters", &numbers),
            list_if_any("accumulators", &accumulators),
            list_if_any("adjust", &adjust)
        )
    }
}
