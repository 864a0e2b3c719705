//! The schema of all numbers that occurred.

use super::rows::{CONSTANTS, FIRST, OWN, base};
use super::{Op, Tape, refuse};

const PHASES: [&str; 2] = ["mg", "eg"];

fn quoted(s: &str) -> String {
    format!("\"{}\"", s.replace('\\', "\\\\").replace('"', "\\\""))
}
fn list(key: &str, items: &[String]) -> String {
    format!(",\n  \"{key}\": [\n    {}\n  ]", items.join(",\n    "))
}
fn unless(x: f64, default: f64, key: &str) -> String {
    if x == default { String::new() } else { format!(", \"{key}\": {x}") }
}

impl Tape {
    fn name(&self, i: usize) -> String {
        quoted(
            &i.checked_sub(OWN).map_or(CONSTANTS[i % OWN].0.into(), |i| self.parameters[i].place.to_string()),
        )
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
            (key, more) = ("at", "");
            prior = [0, 1].map(|k| if not_here[k] { 0. } else { p.value[k] });
            phases = match [0, 1].map(|k| p.used[k] || p.linear[k]) {
                [true, false] => "mg",
                [false, true] => "eg",
                _ if p.pair => "both",
                _ => "untapered",
            };
        }
        let [m, e] = prior;
        let value = match (self.rows.whole, phases) {
            (0., _) => format!("\"prior\": {m}"),
            (_, "untapered") => format!("\"phases\": \"untapered\", \"prior\": {m}"),
            _ => format!("\"phases\": \"{phases}\", \"prior\": [{m}, {e}]"),
        };
        format!("{{\"{key}\": {}, \"index\": {}{more}, {value}}}", self.name(i), FIRST + i)
    }
    /// FILE_LINE_COLUMN_NUMBER, of a verb.
    fn sum_name(&self, i: usize) -> String {
        let s = &self.rows.sums[i];
        let at = self.sites[s.site as usize];
        let file = at.file().rsplit(['/', '\\']).next().unwrap_or_default();
        let (i, end) = if s.multiplies { (i, "_factor") } else { (i + 1, "") };
        format!("sum_{}_{}_{}_{i}{end}", file.replace([',', '"', ' '], "_"), at.line(), at.column())
    }
    /// What a sum adds up: the value of a phase.
    fn value(&self, i: usize, pair: usize) -> String {
        format!("{}.{}", self.sum_name(i), PHASES[self.rows.sums[i].phase.unwrap_or(pair)])
    }
    fn term(&self, i: usize, to: usize) -> String {
        let s = &self.rows.sums[i];
        let (name, scale, more) = match s.shape.op {
            Op::Linear => ("identity".into(), 1., String::new()),
            Op::Sigmoid => ("sigmoid".into(), s.shape.k[1], format!(", \"divide\": {}", s.shape.k[0])),
            Op::Table => ("table".into(), 1., format!(", \"knots\": {:?}", self.knots[&s.site])),
            op => (format!("{op:?}").to_lowercase(), 1., unless(s.shape.k[0], 0., "over")),
        };
        let times = match s.shape.times {
            0 => String::new(),
            1 => format!(", \"times\": {}", quoted(&self.value(i + 1, 0))),
            _ => format!(", \"times\": {}", quoted(&self.value(i + 1, to))),
        };
        let (scale, value) = (scale * s.shape.to[to], PHASES[s.phase.unwrap_or(0)]);
        format!("{{\"op\": \"{name}\", \"scale\": {scale}{more}{times}, \"value\": \"{value}\"}}")
    }
    fn accumulator(&self, i: usize) -> String {
        let s = &self.rows.sums[i];
        let mut out = match s.sides {
            [true, true] => format!("\"sides\": {{\"white\": {}, \"black\": {}}}", base(i, 0), base(i, 1)),
            [true, _] => format!("\"index\": {}", base(i, 0)),
            _ if s.multiplies => format!("\"index\": {}", base(i, 1)),
            _ => format!("\"index\": {}, \"sign\": -1", base(i, 1)),
        };
        for to in (0..if self.rows.whole == 0. { 1 } else { 2 }).filter(|&to| s.shape.to[to] != 0.) {
            out += &format!(", \"{}\": {}", PHASES[to], self.term(i, to));
        }
        let members = s.members.iter().map(|&i| format!("{{\"use\": {}, \"at\": {i}}}", self.name(i)));
        let members = members.collect::<Vec<_>>().join(", ");
        format!("{{\"name\": {}, {out}, \"parameters\": [{members}]}}", quoted(&self.sum_name(i)))
    }
    pub(super) fn schema(&self) -> String {
        let (rows, none) = (&self.rows, f64::from(i32::MAX));
        let (mut adjust, mut factor, mut count) = (Vec::new(), String::new(), 1);
        for (i, s) in rows.sums.iter().enumerate() {
            count += s.sides.iter().filter(|&&here| here).count();
            if count > 24 {
                refuse(self.sites[s.site as usize], "the verbs need more than the 24 sums that a schema has");
            }
            let (by, k) = (quoted(&self.value(i, 0)), s.shape.k);
            if s.shape.op >= Op::ScaleEg {
                let target = if s.shape.op == Op::Scale { "score" } else { "eg" };
                let limits = format!("\"min\": {}{}, \"one\": {}", k[0], unless(k[1], none, "max"), k[2]);
                factor = format!(",\n  \"factor\": {{\"target\": \"{target}\", \"by\": {by}, {limits}}}");
            } else if s.shape.is_stage() {
                let (target, more) =
                    (PHASES[usize::from(s.shape.op == Op::BoundedEg)], unless(k[0], none, "at_most"));
                adjust.push(format!("{{\"target\": \"{target}\", \"op\": \"bounded\", \"by\": {by}{more}}}"));
            }
        }
        let numbers = (0..OWN + self.parameters.len()).filter(|&i| i >= OWN || rows.constants_used[i]);
        let mut lists = list("parameters", &numbers.map(|i| self.number(i)).collect::<Vec<_>>());
        let accumulators = (0..rows.sums.len()).map(|i| self.accumulator(i)).collect();
        for (key, items) in [("accumulators", accumulators), ("adjust", adjust)] {
            lists += &if items.is_empty() { String::new() } else { list(key, &items) };
        }
        let offset = if rows.has_offset { "\"offset\": 3, " } else { "" };
        let (phase, column) = match rows.whole {
            0. => (String::new(), ""),
            whole => {
                (format!("\n  \"phase\": {{\"middlegame\": {whole}, \"endgame\": 0}},"), "\"phase\": 1, ")
            }
        };
        format!(
            "{{\n  \"format\": \"gputexel-schema\", \"version\": 1, \"index_base\": 1, \"comment\": \"fen\",{phase}\n  \
             \"columns\": {{{column}{offset}\"eval\": 2, \"game\": \"qid\"}}{lists}{factor}\n}}\n"
        )
    }
}
