//! From the tapes of a program that traces itself to rows of a trace, and the schema that says what they mean.

mod declared;
mod functions;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;

use super::tape::{Entry, Leaf, Op, Table, Tape, Two, parse};

/// Indices of a trace: columns, then constants, then numbers; each further sum has a range of its own.
const FIRST: usize = 4;
const CONSTANTS: [(&str, Two); 3] = [("present", [0.0; 2]), ("one_mg", [1.0, 0.0]), ("one_eg", [0.0, 1.0])];
const OWN: usize = CONSTANTS.len();
const DEEPEST: usize = 6;

type Refusal<T> = std::result::Result<T, String>;
type Entries = Vec<(usize, f64)>;

/// A call of a verb in all positions: its verb, which call from a side's view it is, and the sum that it goes into.
type Call = (usize, usize, Option<usize>);

/// A function of a sum that counts.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Term {
    call: Call,
    /// Whose value of the sum it takes; of a sum without phases none.
    value: Option<usize>,
    /// Its factors in the middlegame and in the endgame.
    to: Two,
    /// Multiplied by the sum that follows: 1 by a value, 2 by a pair.
    times: usize,
    /// Whose value of that.
    by: Option<usize>,
}

#[derive(Clone, Debug, PartialEq)]
enum Role {
    Terms(Vec<Term>),
    /// Multiplies the terms of the sum before.
    Factor,
    /// A bound or scale factor, which comes last.
    Stage(usize),
    /// Adds the middlegame (0) or endgame values of numbers to the middlegame or endgame value.
    Apart(usize, usize),
}

struct Sum {
    role: Role,
    sides: [bool; 2],
    /// Whose values of pairs it adds up; none: both, or there are no pairs.
    phase: Option<usize>,
    members: BTreeSet<usize>,
}

impl Sum {
    fn new(role: Role) -> Self {
        Self { role, sides: [false; 2], phase: None, members: BTreeSet::new() }
    }
}

#[derive(Clone, Copy, Default)]
struct Counted {
    /// The phases in which the linear part counts it.
    linear: [bool; 2],
    /// Its values that other sums use.
    used: [bool; 2],
}

/// What follows from all positions together, but not from each of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Apart {
    /// Numbers that count differently in middlegame and endgame.
    numbers: BTreeSet<usize>,
    /// Verbs that do not take the same sum, or with itself, one whose factor changes.
    verbs: BTreeSet<(usize, usize)>,
}

pub(super) enum Finished {
    Schema(String),
    /// All positions must be read once more, with what they have shown.
    Again(Apart),
}

/// The sum that a function takes: numbers of one phase, functions, and a constant.
#[derive(Clone, Debug, Default, PartialEq)]
struct Argument {
    numbers: Vec<(usize, f64)>,
    calls: Vec<(usize, Two)>,
    constant: Two,
    phase: Option<usize>,
}

/// An evaluation as a sum: matrices say what the values of a number count in those of the score.
#[derive(Default)]
struct Score {
    constant: Two,
    numbers: BTreeMap<usize, [Two; 2]>,
    calls: Vec<(usize, Two)>,
    stages: Vec<(usize, Two)>,
}

#[derive(Default)]
struct Row {
    offset: f64,
    entries: Entries,
    /// Of the scale factor, as if White were stronger; the sum of that, what it multiplies, and true if from Black's view.
    factor: Entries,
    stage: Option<usize>,
    scaled: Option<usize>,
    reversed: bool,
}

pub(super) struct Rows<'a> {
    table: &'a Table,
    sums: Vec<Sum>,
    homes: HashMap<Call, usize>,
    /// Calls of verbs by each side in this position, by the sum that they go into.
    calls: HashMap<(usize, bool, Option<usize>), usize>,
    numbers: Vec<Counted>,
    constants_used: [bool; OWN],
    has_offset: bool,
    /// The phase of the middlegame; 0 before the first taper.
    whole: f64,
    phase: Option<f64>,
    known: Apart,
    /// `known`, and what this reading has added to it: if anything, it must be repeated.
    found: Apart,
}

pub(super) fn evaluation(line: &str) -> Option<f64> {
    line.split_once(" eval:")?.1.split(' ').next()?.parse().ok()
}

impl<'a> Rows<'a> {
    pub(super) fn new(table: &'a Table, known: Apart) -> Self {
        Self {
            table,
            sums: Vec::new(),
            homes: HashMap::new(),
            calls: HashMap::new(),
            numbers: vec![Counted::default(); table.numbers.len()],
            constants_used: [false; OWN],
            has_offset: false,
            whole: 0.0,
            phase: None,
            found: known.clone(),
            known,
        }
    }

    fn base(&self, sum: usize, black: usize) -> usize {
        FIRST + (1 + 2 * sum + black) * self.stride()
    }
    fn stride(&self) -> usize {
        OWN + self.table.numbers.len()
    }
    fn op(&self, verb: usize) -> Op {
        self.table.verbs[verb].op
    }
    fn refuse<T>(&self, verb: usize, what: &str) -> Refusal<T> {
        Err(format!("{}: {what}, which the schema cannot say", self.table.verbs[verb].at))
    }

    /// Returns the row of a line of the program, with another evaluation, if there is one; lines without a tape are kept.
    pub(super) fn add(&mut self, line: &str, played: Option<f64>) -> Refusal<String> {
        let parts = line.split_once(" eval:").filter(|_| !line.starts_with('#'));
        let Some((head, rest)) = parts else { return Ok(format!("{line}\n")) };
        let (body, comment) = rest.split_once(" # ").unwrap_or((rest, ""));
        let text = body.split_once(' ').map_or("", |(_, text)| text);
        let parsed = evaluation(line).zip(parse(text.as_bytes(), self.table));
        let Some((recorded, (tape, turned))) = parsed else {
            return Err(format!("prints what is not a tape: '{}'", gputexel_io::shown(line)));
        };
        let mut row = self.analyze(&tape)?;
        let mut factors = [row.factor.clone(), std::mem::take(&mut row.factor)]; // if White, or Black, is stronger
        if let (Some(turned), Some(first)) = (turned, tape.branches.first()) {
            let of_factor =
                |on: &[usize], bounded| row.scaled.is_some_and(|of| self.is_sign(&tape, on, of, bounded));
            let other = tape.branches.iter().find(|own| !of_factor(&own.on, true));
            let decisive = tape.branches.iter().rfind(|own| of_factor(&own.on, false)).unwrap_or(first);
            let mut second = self.analyze(&turned)?;
            if (&second.entries, second.offset, second.stage) != (&row.entries, row.offset, row.stage) {
                return self.refuse(
                    first.verb,
                    "a branch on the sign of a score changes more than a scale factor (relu and relu2 are 0 below 0)",
                );
            }
            factors[usize::from(decisive.positive != row.reversed)] = std::mem::take(&mut second.factor);
            if let Some(other) = other.filter(|_| factors[0] != factors[1]) {
                let what =
                    "a scale factor depends on the sign of another score than the one that it multiplies";
                return self.refuse(other.verb, what);
            }
        }
        let stride = self.stride();
        for (black, factor) in factors.into_iter().enumerate() {
            row.entries.extend(factor.into_iter().map(|(index, count)| (index + black * stride, count)));
        }
        row.entries.sort_unstable_by_key(|entry| entry.0);
        self.has_offset |= row.offset != 0.0;
        let mut out = head.to_string();
        let mut put = |index: usize, count: f64| {
            _ = match count as i32 {
                whole if f64::from(whole) == count => write!(out, " {index}:{whole}"),
                _ => write!(out, " {index}:{count}"),
            }
        };
        if let Some(phase) = self.phase.filter(|phase| *phase != 0.0) {
            put(1, phase);
        }
        put(2, played.unwrap_or(recorded));
        if row.offset != 0.0 {
            put(3, row.offset);
        }
        row.entries.iter().for_each(|&(index, count)| put(index, count));
        out.extend([" # ", comment, "\n"]);
        Ok(out)
    }

    /// Tells whether a branch is on the sign of what a factor multiplies; bounds keep it, unless they make it 0.
    fn is_sign(&self, tape: &Tape, on: &[usize], of: usize, bounded: bool) -> bool {
        let before = |&of: &usize| match tape.forms[of][..] {
            [Entry { leaf: Leaf::Block(own), .. }]
                if bounded && matches!(self.op(tape.blocks[own].verb), Op::BoundedMg | Op::BoundedEg) =>
            {
                Some(tape.blocks[own].takes[0])
            }
            _ => None,
        };
        std::iter::successors(Some(of), before).take(tape.blocks.len()).any(|of| on.contains(&of))
    }

    /// Adds a sum to a score, whose values count as `share` says.
    fn expand(&mut self, tape: &Tape, form: usize, share: Two, into: &mut Score) -> Refusal<()> {
        for &Entry { leaf, part, by } in &tape.forms[form] {
            let to = [share[0] * by[0], share[1] * by[1]];
            match leaf {
                Leaf::Constant => into.constant = [0, 1].map(|k| into.constant[k] + to[k]),
                Leaf::Number(own) => {
                    let counts = into.numbers.entry(own).or_default();
                    for k in 0..2 {
                        counts[part.unwrap_or(k)][k] += to[k];
                    }
                }
                Leaf::Block(own) => {
                    let block = &tape.blocks[own];
                    let op = self.op(block.verb);
                    if part.is_some_and(|part| to[1 - part] != 0.0) {
                        return self.refuse(block.verb, "its value of one phase is used in the other");
                    }
                    if op == Op::Taper {
                        let [phase, whole] = block.taper;
                        let is_taper = |inner: &Entry| matches!(inner.leaf, Leaf::Block(own) if self.op(tape.blocks[own].verb) == Op::Taper);
                        let other = self.phase.is_some_and(|known| known != phase)
                            || self.whole != 0.0 && self.whole != whole;
                        if other || to[0] != to[1] || tape.forms[block.takes[0]].iter().any(is_taper) {
                            return self.refuse(block.verb, "a second taper with another phase");
                        }
                        if !(0.0..=whole).contains(&phase) {
                            return Err(format!(
                                "{}: the phase is {phase}, of {whole}: limit it, or leave the position out by an exception",
                                self.table.verbs[block.verb].at
                            ));
                        }
                        (self.phase, self.whole) = (Some(phase), whole);
                        self.expand(tape, block.takes[0], to, into)?;
                        continue;
                    }
                    let list = if op >= Op::BoundedMg { &mut into.stages } else { &mut into.calls };
                    match list.iter_mut().find(|known| known.0 == own) {
                        Some(known) => known.1 = [0, 1].map(|k| known.1[k] + to[k]),
                        None => list.push((own, to)),
                    }
                }
            }
        }
        Ok(())
    }

    fn in_score(&self, [m, e]: Two) -> f64 {
        self.phase.map_or(m, |phase| (m * phase + e * (self.whole - phase)) / self.whole)
    }

    /// Splits an evaluation into what comes last (a factor, bounds), functions, and the linear part.
    fn analyze(&mut self, tape: &Tape) -> Refusal<Row> {
        let mut row = Row::default();
        self.phase = None;
        let (mut form, mut view, mut score) = (0, 1.0, Score::default());
        for staged in 0.. {
            score = Score::default();
            self.expand(tape, form, [view; 2], &mut score)?;
            let Some(&(own, share)) = score.stages.first() else {
                if staged == 0 {
                    row.offset = self.in_score(score.constant);
                } else {
                    self.put_constants(&mut row.entries, FIRST, score.constant, false);
                }
                break;
            };
            let block = &tape.blocks[own];
            let alone = score.stages.len() == 1 && score.calls.is_empty() && score.numbers.is_empty();
            let (op, whole) = (self.op(block.verb), if share[0] == 0.0 { share[1] } else { share[0] });
            // A bounded pair of which one value is tapered alone would not be all of the score.
            if !alone || share[0] != share[1] || whole.abs() != 1.0 || staged > tape.blocks.len() {
                let added = score.numbers.keys().next().map(|&number| &self.table.numbers[number].at);
                let added = added.map_or("tuned numbers are".to_string(), |at| format!("{at} is"));
                let what =
                    format!("{added} added after this, or it is multiplied (a plain int may be added)");
                return self.refuse(block.verb, &what);
            }
            row.offset += self.in_score(score.constant);
            (form, view) = (block.takes[0], whole);
            let sum = self.stage(block.verb)?;
            let by = self.argument(tape, block.takes[1], false, block.verb)?;
            if !by.calls.is_empty() {
                return self.refuse(block.verb, "a function in a bound or scale factor");
            }
            self.sums[sum].phase = self.sums[sum].phase.or(by.phase);
            if op >= Op::ScaleEg {
                (row.stage, row.scaled, row.reversed) = (Some(sum), Some(form), view < 0.0);
                self.put(&mut row.factor, &by, true, sum, 0);
                self.sums[sum].sides[1] = true;
            } else {
                self.put(&mut row.entries, &by, true, sum, 0);
            }
        }
        for (own, counts) in score.numbers {
            self.put_number(&mut row.entries, own, counts)?;
        }
        self.calls.clear();
        self.put_functions(tape, &mut row.entries, &score.calls, None)?;
        Ok(row)
    }

    /// The sum that the terms of a sum go into; `None` if they are added to the score.
    fn into(&self, sum: usize) -> Option<usize> {
        match &self.sums[sum].role {
            Role::Terms(terms) => terms[0].call.2,
            Role::Factor => self.into(sum - 1),
            Role::Stage(_) | Role::Apart(..) => None,
        }
    }

    fn depth(&self, sum: usize) -> usize {
        std::iter::successors(self.into(sum), |&into| self.into(into)).count()
    }

    /// A number of the linear part, unless it counts differently in the two phases in some position.
    fn put_number(&mut self, to: &mut Entries, own: usize, counts: [Two; 2]) -> Refusal<()> {
        if counts == [[0.0; 2]; 2] {
            return Ok(());
        }
        let [[m, across], [back, e]] = counts;
        let phases = [m != 0.0, e != 0.0];
        let equal = phases != [true; 2] || (m - e).abs() <= 1e-12 * m.abs();
        let known = self.numbers[own].linear;
        let plain = equal && across == 0.0 && back == 0.0 && (known == [false; 2] || known == phases);
        if self.known.numbers.contains(&own) || !plain {
            if self.whole == 0.0 {
                let at = &self.table.numbers[own].at;
                return Err(format!("{at}: a value of one phase counts, but there is no taper()"));
            }
            self.found.numbers.insert(own);
            for (value, target) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                let count = counts[value][target];
                if count != 0.0 {
                    let sum = self.sum(Role::Apart(value, target));
                    let number =
                        Argument { numbers: vec![(own, count)], phase: Some(value), ..Argument::default() };
                    self.put(to, &number, false, sum, 0);
                }
            }
            return Ok(());
        }
        self.numbers[own].linear = phases;
        to.push((FIRST + OWN + own, if m == 0.0 { e } else { m }));
        Ok(())
    }

    fn put_constants(&mut self, to: &mut Entries, base: usize, [m, e]: Two, present: bool) {
        for (own, count) in [f64::from(u8::from(present)), m, e].into_iter().enumerate() {
            if count != 0.0 {
                self.constants_used[own] = true;
                to.push((base + own, count));
            }
        }
    }

    /// Appends a sum that a verb takes; if `present`, with an entry even where it is 0, so that the verb counts.
    fn put(&mut self, to: &mut Entries, of: &Argument, present: bool, sum: usize, black: usize) {
        let (base, begin) = (self.base(sum, black), to.len());
        for &(own, count) in &of.numbers {
            let single = self.table.numbers[own].is_pair().then_some(of.phase).flatten();
            let used = &mut self.numbers[own].used;
            *used = [0, 1].map(|k| used[k] || single.is_none_or(|phase| phase == k));
            to.push((base + OWN + own, count));
        }
        self.put_constants(to, base, of.constant, present);
        let own = &mut self.sums[sum];
        own.sides[black] = true;
        own.members.extend(to[begin..].iter().map(|entry| entry.0 - base));
    }

    /// The sum that a verb takes: a single value, or a pair.
    fn argument(&self, tape: &Tape, form: usize, pair: bool, verb: usize) -> Refusal<Argument> {
        let mut out = Argument::default();
        for entry in &tape.forms[form] {
            let other = entry.part.is_some_and(|part| pair || out.phase.is_some_and(|phase| phase != part));
            match entry.leaf {
                Leaf::Constant => out.constant = entry.by,
                Leaf::Number(own) => {
                    if other || entry.by[0] != entry.by[1] {
                        return self.refuse(verb, "middlegame and endgame values are mixed in its sum");
                    }
                    out.numbers.push((own, entry.by[0]));
                }
                Leaf::Block(own) => {
                    let [m, e] = entry.by;
                    if other || !(Op::Relu..=Op::ProductPair).contains(&self.op(tape.blocks[own].verb)) {
                        return self.refuse(
                            verb,
                            "a function of a taper, bound, scale factor or one phase of a product",
                        );
                    }
                    let share = entry.part.map_or([m, e], |part| if part == 0 { [m, 0.0] } else { [0.0, m] });
                    out.calls.push((own, share));
                }
            }
            out.phase = out.phase.or(entry.part);
        }
        out.numbers.sort_unstable_by_key(|number| number.0);
        Ok(out)
    }

    fn sum(&mut self, role: Role) -> usize {
        self.sums.iter().position(|own| own.role == role).unwrap_or_else(|| {
            self.sums.push(Sum::new(role));
            self.sums.len() - 1
        })
    }

    fn stage(&mut self, verb: usize) -> Refusal<usize> {
        let kind = |verb: usize| self.op(verb).min(Op::ScaleEg);
        let is_other =
            |own: &Sum| matches!(own.role, Role::Stage(other) if other != verb && kind(other) == kind(verb));
        if self.sums.iter().any(is_other) {
            return self.refuse(verb, "another one of its kind (one factor, one bound for each phase)");
        }
        Ok(self.sum(Role::Stage(verb)))
    }

    pub(super) fn finish(mut self) -> Refusal<Finished> {
        if self.found == self.known {
            let schema = self.schema()?;
            if self.found == self.known {
                return Ok(Finished::Schema(schema));
            }
        }
        Ok(Finished::Again(self.found))
    }
}
