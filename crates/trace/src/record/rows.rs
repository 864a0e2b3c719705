//! From the tape of a position to its row: sums that the schema can say.

use super::{Node, Op, TAPE, Tape, Two, Value, refuse};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Indices of the trace: constants from 13, parameters from 16; each further sum has a range of its own.
pub(super) const FIRST: usize = 13;
pub(super) const STRIDE: usize = 10_000;
pub(super) const OWN: usize = CONSTANTS.len();
pub(super) const MOST: usize = STRIDE - FIRST - OWN;
/// A sum without entries leaves its verb out: `present` sees to it.
pub(super) const CONSTANTS: [(&str, Two); 3] =
    [("present", [0., 0.]), ("one_mg", [1., 0.]), ("one_eg", [0., 1.])];

type Entries = Vec<(usize, f64)>;

/// An accumulator of the schema, and the one that it is multiplied by.
pub(super) struct Slot {
    pub kind: Op, // a bound or factor; else of a function
    pub site: u32,
    pub occurrence: usize,
    pub shape: Shape,
    pub sides: [bool; 2],
    pub sums: [Sum; 2],
}
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Shape {
    pub op: Op,
    pub k: [f64; 3],
    pub times: usize, // multiplied by 1: a value, 2: a pair
    pub to: Two,      // factors in the middlegame and in the endgame
}
#[derive(Default)]
pub(super) struct Sum {
    pub phase: Option<usize>, // the values that it adds up; none: pairs, or numbers without phases
    pub members: BTreeSet<usize>,
}

/// What all positions have in common.
#[derive(Default)]
pub(super) struct Rows {
    pub slots: Vec<Slot>,
    pub constants_used: [bool; OWN],
    pub has_offset: bool,
    pub whole: f64, // the phase of the middlegame; 0 before the first taper
    phase: Option<f64>,
}

#[derive(Default)]
struct Row {
    offset: f64,
    entries: Entries,
    factor: [Entries; 2], // if White, or Black, is stronger
    slot: Option<usize>,  // of the factor
    of: u32,              // what it multiplies
    reversed: bool,       // from Black's view
}

/// What a walk backwards finds: shares in the middlegame and in the endgame value.
#[derive(Default)]
struct Walk {
    constant: Two,
    parameters: Vec<(usize, Two)>,
    functions: Vec<(u32, Two)>,
    stages: Vec<(u32, Two)>,
}

/// Records a position. Returns false if nothing in it depends on a number.
pub(super) fn record(
    mut evaluate: impl FnMut() -> Result<Value, String>,
    fen: &str,
    out: &mut String,
) -> Result<bool, String> {
    let mut run = |turned| {
        TAPE.with_borrow_mut(|t| t.begin(turned));
        let value = evaluate()?;
        Ok::<_, String>(TAPE.with_borrow_mut(|t| t.end(value)))
    };
    let root = run(false)?;
    if root == 0 {
        return Ok(false);
    }
    let (mut row, eval, branches, other_sign) = TAPE.with_borrow_mut(|t| {
        let row = t.analyze(root);
        let strength = |node: u32, n: &Node| node == row.of || n.op == Op::Eg && n.a == row.of;
        let other = t.branches.iter().find(|b| !strength(b.0, &t.nodes[b.0 as usize])).map(|b| b.2);
        (row, t.nodes[root as usize].v[0], std::mem::take(&mut t.branches), other)
    });
    row.factor[1] = row.factor[0].clone();
    if let Some(&(_, positive, at)) = branches.first() {
        let root = run(true)?;
        let turned = TAPE.with_borrow_mut(|t| t.analyze(root));
        if (&turned.entries, turned.offset, turned.slot) != (&row.entries, row.offset, row.slot) {
            let why = "a branch on the sign of a score changes more than a scale factor, which the schema cannot say: use \
                       max, min, relu or bounded";
            refuse(at, why);
        }
        row.factor[usize::from(positive != row.reversed)].clone_from(&turned.factor[0]);
        if let Some(at) = other_sign.filter(|_| row.factor[0] != row.factor[1]) {
            refuse(at, "a scale factor depends on the sign of another score than the one that it multiplies");
        }
    }
    TAPE.with_borrow_mut(|t| t.print(row, eval, fen, out));
    Ok(true)
}

fn digits(out: &mut String, n: usize) {
    if n > 9 {
        digits(out, n / 10);
    }
    out.push(char::from(b'0' + (n % 10) as u8));
}

impl Tape {
    fn refuse_by_schema(&self, site: u32, what: &str) -> ! {
        refuse(self.sites[site as usize], &format!("{what}, which the schema cannot say"))
    }
    fn print(&mut self, mut row: Row, eval: f64, fen: &str, out: &mut String) {
        let [white, black] = std::mem::take(&mut row.factor);
        row.entries.extend(white.into_iter().chain(black.into_iter().map(|(i, x)| (i + STRIDE, x))));
        row.entries.sort_unstable_by_key(|e| e.0);
        let again = self.evaluate_row(&row);
        if (again - eval).abs() > 1e-6 * eval.abs().max(1.) || !again.is_finite() {
            let why = format!("the record gives {again}, the evaluation gave {eval}: {fen}");
            refuse(self.sites.last().copied().unwrap_or(self.parameters[0].place), &why);
        }
        self.rows.has_offset |= row.offset != 0.;
        let columns = [(1, self.rows.phase.unwrap_or(0.)), (2, eval), (3, row.offset)];
        for (i, x) in columns.into_iter().filter(|c| c.0 == 2 || c.1 != 0.).chain(row.entries) {
            out.push(' ');
            digits(out, i);
            out.push(':');
            let whole = x.abs() as usize;
            if whole as f64 == x.abs() {
                out.push_str(if x < 0. { "-" } else { "" });
                digits(out, whole);
            } else {
                _ = write!(out, "{x}");
            }
        }
    }

    fn add(&mut self, node: u32, [m, e]: Two, waiting: &mut usize) {
        let n = &mut self.nodes[node as usize];
        if node != 0 && [m, e] != [0.; 2] {
            if !std::mem::replace(&mut n.pending, true) {
                *waiting += 1;
                n.share = [0.; 2];
            }
            n.share = [n.share[0] + m, n.share[1] + e];
        }
    }
    /// Walks from a node to the parameters. The sum of a verb may use the values of one phase in both.
    fn walk(&mut self, from: u32, share: Two, sum: bool) -> Walk {
        let (mut w, mut waiting) = (Walk::default(), 0);
        self.add(from, share, &mut waiting);
        for i in (1..=from).rev() {
            if waiting == 0 {
                break;
            }
            if !std::mem::take(&mut self.nodes[i as usize].pending) {
                continue;
            }
            waiting -= 1;
            let n = self.nodes[i as usize];
            let [m, e] = n.share;
            match n.op {
                Op::Constant => w.constant = [w.constant[0] + m * n.v[0], w.constant[1] + e * n.v[1]],
                Op::Parameter if n.share == [0.; 2] => {}
                Op::Parameter => w.parameters.push((n.a as usize, n.share)),
                Op::Linear => {
                    self.add(n.a, [m * n.k[0], e * n.k[0]], &mut waiting);
                    self.add(n.b, [m * n.k[1], e * n.k[1]], &mut waiting);
                }
                Op::Make => {
                    self.add(n.a, [m, 0.], &mut waiting);
                    self.add(n.b, [0., e], &mut waiting);
                }
                Op::Mg | Op::Eg => {
                    let (own, other) = if n.op == Op::Mg { ([m, 0.], e) } else { ([0., e], m) };
                    if !sum && other != 0. {
                        self.refuse_by_schema(
                            n.site,
                            "the value of one phase is used in the other, outside of taper()",
                        );
                    }
                    self.add(n.a, own, &mut waiting);
                }
                Op::Taper if !sum => {
                    let ([phase, whole, _], rows) = (n.k, &self.rows);
                    let other =
                        rows.whole != 0. && rows.whole != whole || rows.phase.is_some_and(|p| p != phase);
                    if m != e || other {
                        self.refuse_by_schema(n.site, "a second taper with another phase");
                    }
                    if !(0. ..=whole).contains(&phase) {
                        refuse(self.sites[n.site as usize], &format!("the phase is {phase}, of {whole}"));
                    }
                    (self.rows.phase, self.rows.whole) = (Some(phase), whole);
                    self.add(n.a, n.share, &mut waiting);
                }
                Op::BoundedMg | Op::BoundedEg | Op::ScaleEg | Op::Scale => w.stages.push((i, n.share)),
                _ => w.functions.push((i, n.share)),
            }
        }
        w.parameters.sort_unstable_by_key(|p| p.0);
        w
    }
    /// Numbers that are not tuned.
    fn put_constants(&mut self, to: &mut Entries, base: usize, [m, e]: Two, present: bool) {
        for (i, x) in [f64::from(u8::from(present)), m, e].into_iter().enumerate().filter(|c| c.1 != 0.) {
            self.rows.constants_used[i] = true;
            to.push((base + i, x));
        }
    }
    /// The sum that a verb takes.
    fn put_sum(
        &mut self,
        to: &mut Entries,
        r: u32,
        [pair, present]: [bool; 2],
        (slot, part): (usize, usize),
        black: bool,
    ) {
        let (base, begin) = (FIRST + STRIDE * (1 + 4 * slot + 2 * part + usize::from(black)), to.len());
        let w = self.walk(r, [1.; 2], !pair);
        let site = self.rows.slots[slot].site;
        if !w.functions.is_empty() || !w.stages.is_empty() {
            self.refuse_by_schema(site, "a function of a function");
        }
        let one = |(_, share): &(usize, Two)| share.iter().position(|&x| x == 0.).map(|other| 1 - other);
        let found = w.parameters.iter().find_map(one).filter(|_| !pair);
        let phase = &mut self.rows.slots[slot].sums[part].phase;
        *phase = phase.or(found);
        let phase = *phase;
        for (i, share) in w.parameters {
            let (x, other) = (share[phase.unwrap_or(0)], share[1 - phase.unwrap_or(0)]);
            let p = &mut self.parameters[i];
            let single = !pair && p.pair;
            if x == 0. || if single { other != 0. } else { phase.is_none() && x != other } {
                self.refuse_by_schema(site, "middlegame and endgame values are mixed in its sum");
            }
            p.used = [0, 1].map(|k| p.used[k] || !single || phase == Some(k));
            to.push((base + OWN + i, x));
        }
        let constant = if pair { w.constant } else { [w.constant[phase.unwrap_or(0)]; 2] };
        self.put_constants(to, base, constant, present);
        self.rows.slots[slot].sums[part].members.extend(to[begin..].iter().map(|e| e.0 - base));
    }
    fn slot(&mut self, kind: Op, site: u32, occurrence: usize, shape: Shape) -> usize {
        let is_stage = kind >= Op::BoundedMg;
        for (i, s) in self.rows.slots.iter().enumerate() {
            if s.kind == kind && s.site == site && s.occurrence == occurrence {
                if s.shape != shape {
                    self.refuse_by_schema(
                        site,
                        "this counts otherwise than in positions before (factor, sign, phase, limit)",
                    );
                }
                return i;
            }
            if is_stage && (s.kind == kind || kind >= Op::ScaleEg && s.kind >= Op::ScaleEg) {
                self.refuse_by_schema(
                    site,
                    "another one of its kind: of one factor, and one bound for each phase",
                );
            }
        }
        if self.rows.slots.len() == 23 {
            self.refuse_by_schema(site, "there are more than 24 sums");
        }
        self.rows.slots.push(Slot {
            kind,
            site,
            occurrence,
            shape,
            sides: [false; 2],
            sums: Default::default(),
        });
        self.rows.slots.len() - 1
    }
    fn in_score(&self, [m, e]: Two) -> f64 {
        self.rows.phase.map_or(m, |p| (m * p + e * (self.rows.whole - p)) / self.rows.whole)
    }

    fn analyze(&mut self, root: u32) -> Row {
        let (mut row, mut from, mut view, mut staged) = (Row::default(), root, 1., false);
        self.rows.phase = None;
        let w = loop {
            let w = self.walk(from, [view; 2], false); // what comes last is found first
            let Some(&(stage, share)) = w.stages.first() else { break w };
            let n = self.nodes[stage as usize];
            let alone = w.stages.len() == 1 && w.functions.is_empty() && w.parameters.is_empty();
            if !alone || share[0] != share[1] || share[0].abs() != 1. {
                let why = "tuned numbers are added after this, or it is multiplied; the schema applies it last, and only \
                           plain numbers may be added then";
                refuse(self.sites[n.site as usize], why);
            }
            row.offset += self.in_score(w.constant);
            (from, view, staged) = (n.a, share[0], true);
            let is_factor = n.op >= Op::ScaleEg;
            let slot = self.slot(n.op, n.site, 0, Shape { op: n.op, k: n.k, times: 0, to: [0.; 2] });
            self.rows.slots[slot].sides = [true, is_factor];
            let to = if is_factor { &mut row.factor[0] } else { &mut row.entries };
            self.put_sum(to, n.b, [false, true], (slot, 0), false);
            if is_factor {
                (row.slot, row.of, row.reversed) = (Some(slot), n.a, view < 0.);
            }
        };
        if staged {
            self.put_constants(&mut row.entries, FIRST, w.constant, false);
        } else {
            row.offset = self.in_score(w.constant);
        }
        for (i, [m, e]) in w.parameters {
            let (p, phases) = (&mut self.parameters[i], [m != 0., e != 0.]);
            let differs = phases == [true; 2] && (m - e).abs() > 1e-12 * m.abs();
            if differs || p.linear != [false; 2] && p.linear != phases {
                let why = "this number counts differently in middlegame and endgame, or in both phases here and in one \
                           phase there, which the schema cannot say";
                refuse(p.place, why);
            }
            p.linear = phases;
            row.entries.push((FIRST + OWN + i, if m != 0. { m } else { e }));
        }
        let mut before = Vec::new();
        for (node, share) in w.functions.into_iter().rev() {
            self.put_function(&mut row.entries, node, share, &mut before); // in the order of evaluation
        }
        row
    }
    fn put_function(&mut self, to: &mut Entries, node: u32, [m, e]: Two, before: &mut Vec<(u32, bool)>) {
        let n = self.nodes[node as usize];
        let (black, mut f, mut by) = (m < 0. || m == 0. && e < 0., n, None);
        if n.op == Op::Product {
            // of a function or a sum, by a sum
            let is_function = |r: u32| (Op::Relu..Op::Product).contains(&self.nodes[r as usize].op);
            let (a, times) = if n.k[0] == 1. && is_function(n.b) { (n.b, n.a) } else { (n.a, n.b) };
            let identity = Node { op: Op::Linear, a, site: n.site, k: [1., 0., 0.], ..Node::default() };
            (f, by) = (if is_function(a) { self.nodes[a as usize] } else { identity }, Some(times));
        }
        let side = if black { -1. } else { 1. };
        let times = if by.is_some() { n.k[0] as usize } else { 0 };
        let shape = Shape { op: f.op, k: f.k, times, to: [side * m, side * e] };
        let occurrence = before.iter().filter(|other| **other == (f.site, black)).count();
        before.push((f.site, black));
        let slot = self.slot(Op::Linear, f.site, occurrence, shape);
        self.rows.slots[slot].sides[usize::from(black)] = true;
        let present = matches!(f.op, Op::Sigmoid | Op::Table); // of 0 not 0
        self.put_sum(to, f.a, [false, present], (slot, 0), black);
        if let Some(by) = by {
            self.put_sum(to, by, [times == 2, false], (slot, 1), black);
        }
    }

    /// The schema's own arithmetic, from the record alone.
    fn evaluate_row(&self, row: &Row) -> f64 {
        let slots = &self.rows.slots;
        let mut sums = vec![None; 1 + 4 * slots.len()];
        for &(index, x) in &row.entries {
            let (range, i) = (index / STRIDE, index % STRIDE - FIRST);
            let p = i.checked_sub(OWN).map(|i| &self.parameters[i]);
            let v = p.map_or_else(|| CONSTANTS[i].1, |p| p.value);
            let counts = p.filter(|_| range == 0).map_or([true; 2], |p| p.linear);
            let sum: &mut Two = sums[range].get_or_insert_default();
            for k in [0, 1] {
                sum[k] += if counts[k] { x * v[k] } else { 0. };
            }
        }
        let taken = |slot: usize, part: usize, black: usize| {
            let sum: Option<Two> = sums[1 + 4 * slot + 2 * part + black];
            let phase = slots[slot].sums[part].phase.unwrap_or(0);
            sum.map(|sum| if slots[slot].shape.times == 2 && part == 1 { sum } else { [sum[phase]; 2] })
        };
        let mut score: Two = sums[0].unwrap_or_default();
        for (i, s) in slots.iter().enumerate().filter(|s| s.1.kind == Op::Linear) {
            for black in [0, 1] {
                let by = if s.shape.times == 0 { Some([1.; 2]) } else { taken(i, 1, black) };
                let Some((x, by)) = taken(i, 0, black).zip(by) else { continue };
                let f = self.compute(s.shape.op, &s.shape.k, s.site, x, [0.; 2])[0]
                    * if black == 1 { -1. } else { 1. };
                for k in [0, 1] {
                    score[k] += f * s.shape.to[k] * by[k];
                }
            }
        }
        for (i, s) in slots.iter().enumerate().filter(|s| [Op::BoundedMg, Op::BoundedEg].contains(&s.1.kind))
        {
            if let Some(c) = taken(i, 0, 0) {
                score = self.compute(s.kind, &s.shape.k, s.site, score, c);
            }
        }
        if let Some(i) = row.slot {
            let total = if slots[i].kind == Op::Scale { [self.in_score(score); 2] } else { score };
            let factor = taken(i, 0, usize::from(total[1] < 0.)).unwrap_or_default();
            score = self.compute(slots[i].kind, &slots[i].shape.k, slots[i].site, total, factor);
        }
        row.offset + self.in_score(score)
    }
}
