//! From the tape of a position to its row: sums that the schema can say.

use super::{Node, Op, Site, TAPE, Tape, Two, Value, refuse};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Indices of the trace: constants from 13, parameters from 16; each further sum has a range of its own.
pub(super) const FIRST: usize = 13;
const STRIDE: usize = 10_000;
pub(super) const OWN: usize = CONSTANTS.len();
pub(super) const MOST: usize = STRIDE - FIRST - OWN;
/// A sum without entries leaves its verb out: `present` sees to it.
pub(super) const CONSTANTS: [(&str, Two); 3] =
    [("present", [0., 0.]), ("one_mg", [1., 0.]), ("one_eg", [0., 1.])];

type Entries = Vec<(usize, f64)>;

/// An accumulator of the schema: what a verb takes, or a function is multiplied by.
#[derive(Default)]
pub(super) struct Sum {
    pub site: u32,
    occurrence: usize,
    pub shape: Shape,
    pub multiplies: bool,     // the function before
    pub sides: [bool; 2],     // White and Black
    pub phase: Option<usize>, // the values that it adds up; none: pairs, or numbers without phases
    pub members: BTreeSet<usize>,
}
#[derive(Clone, Copy, Default, PartialEq)]
pub(super) struct Shape {
    pub op: Op, // a function, bound or factor
    pub k: [f64; 3],
    pub times: usize, // multiplied by 1: a value, 2: a pair, which the next sum is
    pub to: Two,      // factors in the middlegame and in the endgame
}
impl Shape {
    pub(super) fn is_stage(&self) -> bool {
        self.op >= Op::BoundedMg
    }
}
/// The range of indices of a sum.
fn range(sum: usize, black: usize) -> usize {
    1 + 2 * sum + black
}
pub(super) fn base(sum: usize, black: usize) -> usize {
    FIRST + STRIDE * range(sum, black)
}

/// What all positions have in common.
#[derive(Default)]
pub(super) struct Rows {
    pub sums: Vec<Sum>,
    pub constants_used: [bool; OWN],
    pub has_offset: bool,
    pub whole: f64, // the phase of the middlegame; 0 before the first taper
    phase: Option<f64>,
}

#[derive(Default)]
struct Row {
    offset: f64,
    entries: Entries,
    factor: Entries,      // as if White were stronger
    stage: Option<usize>, // the sum of the factor
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
    let (mut row, eval, branch, other_sign) = TAPE.with_borrow_mut(|t| {
        let row = t.analyze(root);
        let strength = |node: u32, of: u32| {
            let n = &t.nodes[node as usize];
            node == of || n.op == Op::Eg && n.a == of
        };
        // Bounds keep the sign, unless they make it 0.
        let is_bound = |of: &u32| matches!(t.nodes[*of as usize].op, Op::BoundedMg | Op::BoundedEg);
        let before = std::iter::successors(Some(row.of), |of| is_bound(of).then(|| t.nodes[*of as usize].a));
        let other = t.branches.iter().find(|b| !before.clone().any(|of| strength(b.0, of))).map(|b| b.2);
        let after = t.branches.iter().rfind(|b| strength(b.0, row.of));
        let branch = after.or(t.branches.first()).map(|&(_, positive, at)| (positive, at));
        t.branches.clear();
        (row, t.nodes[root as usize].v[0], branch, other)
    });
    let mut factors = [row.factor.clone(), std::mem::take(&mut row.factor)]; // if White, or Black, is stronger
    if let Some((positive, at)) = branch {
        let root = run(true)?;
        let turned = TAPE.with_borrow_mut(|t| t.analyze(root));
        if (&turned.entries, turned.offset, turned.stage) != (&row.entries, row.offset, row.stage) {
            let why = "a branch on the sign of a score changes more than a scale factor, which the schema cannot say: use \
                       max, min, relu or bounded";
            refuse(at, why);
        }
        factors[usize::from(positive != row.reversed)] = turned.factor;
        if let Some(at) = other_sign.filter(|_| factors[0] != factors[1]) {
            refuse(at, "a scale factor depends on the sign of another score than the one that it multiplies");
        }
    }
    for (black, factor) in factors.into_iter().enumerate() {
        row.entries.extend(factor.into_iter().map(|(i, x)| (i + black * STRIDE, x)));
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
    fn at(&self, site: u32) -> Site {
        self.sites[site as usize]
    }
    fn refuse_by_schema(&self, site: u32, what: &str) -> ! {
        refuse(self.at(site), &format!("{what}, which the schema cannot say"))
    }
    fn print(&mut self, mut row: Row, eval: f64, fen: &str, out: &mut String) {
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
            *waiting += usize::from(!n.waiting);
            n.waiting = true;
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
            let n = self.nodes[i as usize];
            if !n.waiting {
                continue;
            }
            self.nodes[i as usize] = Node { waiting: false, share: [0.; 2], ..n };
            waiting -= 1;
            let (share @ [m, e], [k, l, _]) = (n.share, n.k);
            let mut add = |node, share| self.add(node, share, &mut waiting);
            match n.op {
                Op::Constant => w.constant = [w.constant[0] + m * n.v[0], w.constant[1] + e * n.v[1]],
                Op::Parameter if share == [0.; 2] => {}
                Op::Parameter => w.parameters.push((n.a as usize, share)),
                Op::Linear => (add(n.a, [m * k, e * k]), add(n.b, [m * l, e * l])).0,
                Op::Make => (add(n.a, [m, 0.]), add(n.b, [0., e])).0,
                Op::Mg if sum || e == 0. => add(n.a, [m, 0.]),
                Op::Eg if sum || m == 0. => add(n.a, [0., e]),
                Op::Mg | Op::Eg => {
                    let what = "the value of one phase is used in the other, outside of taper()";
                    self.refuse_by_schema(n.site, what);
                }
                Op::Taper if !sum => {
                    let rows = &mut self.rows;
                    if m != e || rows.whole != 0. && rows.whole != l || rows.phase.is_some_and(|p| p != k) {
                        self.refuse_by_schema(n.site, "a second taper with another phase");
                    }
                    (rows.phase, rows.whole) = (Some(k), l);
                    if !(0. ..=l).contains(&k) {
                        refuse(self.at(n.site), &format!("the phase is {k}, of {l}"));
                    }
                    self.add(n.a, share, &mut waiting);
                }
                Op::BoundedMg | Op::BoundedEg | Op::ScaleEg | Op::Scale => w.stages.push((i, share)),
                _ => w.functions.push((i, share)),
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
    /// What a verb takes, or a function is multiplied by.
    fn put_sum(&mut self, to: &mut Entries, from: u32, [pair, present]: [bool; 2], sum: usize, black: usize) {
        let (base, begin, site) = (base(sum, black), to.len(), self.rows.sums[sum].site);
        let w = self.walk(from, [1.; 2], !pair);
        if !w.functions.is_empty() || !w.stages.is_empty() {
            self.refuse_by_schema(site, "a function of a function");
        }
        let one = |(_, share): &(usize, Two)| share.iter().position(|&x| x == 0.).map(|other| 1 - other);
        let found = w.parameters.iter().find_map(one).filter(|_| !pair);
        let phase = self.rows.sums[sum].phase.or(found);
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
        let s = &mut self.rows.sums[sum];
        (s.phase, s.sides[black]) = (phase, true);
        s.members.extend(to[begin..].iter().map(|e| e.0 - base));
    }
    /// The number of a sum, which is a new one when it is met first.
    fn sum(&mut self, site: u32, occurrence: usize, shape: Shape) -> usize {
        let kind = |s: Shape| if s.is_stage() { s.op.min(Op::ScaleEg) } else { Op::Linear };
        for (i, s) in self.rows.sums.iter().enumerate().filter(|s| kind(s.1.shape) == kind(shape)) {
            let is_same = (s.site, s.occurrence, s.multiplies) == (site, occurrence, false);
            if is_same && s.shape == shape {
                return i;
            }
            if is_same {
                let why = "this counts otherwise than in positions before (factor, sign, phase, limit)";
                self.refuse_by_schema(site, why);
            }
            if shape.is_stage() {
                let why = "another one of its kind: of one factor, and one bound for each phase";
                self.refuse_by_schema(site, why);
            }
        }
        let i = self.rows.sums.len();
        if i > 22 {
            self.refuse_by_schema(site, "there are more than 24 sums");
        }
        self.rows.sums.push(Sum { site, occurrence, shape, ..Sum::default() });
        if shape.times > 0 {
            self.rows.sums.push(Sum { site, occurrence, multiplies: true, ..Sum::default() });
        }
        i
    }
    fn in_score(&self, [m, e]: Two) -> f64 {
        self.rows.phase.map_or(m, |p| (m * p + e * (self.rows.whole - p)) / self.rows.whole)
    }

    /// Splits the tape into stages (a factor, bounds), verbs that add, and the linear part.
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
                refuse(self.at(n.site), why);
            }
            row.offset += self.in_score(w.constant);
            (from, view, staged) = (n.a, share[0], true);
            let sum = self.sum(n.site, 0, Shape { op: n.op, k: n.k, ..Shape::default() });
            if n.op >= Op::ScaleEg {
                (row.stage, row.of, row.reversed) = (Some(sum), n.a, view < 0.);
                self.put_sum(&mut row.factor, n.b, [false, true], sum, 0);
                self.rows.sums[sum].sides = [true; 2];
            } else {
                self.put_sum(&mut row.entries, n.b, [false, true], sum, 0);
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
        let mut before = BTreeMap::new();
        for (node, share) in w.functions.into_iter().rev() {
            self.put_function(&mut row.entries, node, share, &mut before); // in the order of evaluation
        }
        row
    }
    fn put_function(
        &mut self,
        to: &mut Entries,
        node: u32,
        [m, e]: Two,
        before: &mut BTreeMap<(u32, bool), usize>,
    ) {
        let is_function = |n: &Node| (Op::Relu..Op::Product).contains(&n.op);
        let n = self.nodes[node as usize];
        let (mut f, mut times, mut by) = (n, 0, n.b);
        if n.op == Op::Product {
            // of a function or a sum, by a sum
            times = n.k[0] as usize;
            let [mut a, b] = [n.a, n.b].map(|node| self.nodes[node as usize]);
            let mut of = n.a;
            if times == 1 && is_function(&b) {
                (a, of, by) = (b, n.b, n.a);
            }
            f = if is_function(&a) { a } else { Node { op: Op::Linear, a: of, k: [1., 0., 0.], ..n } };
        }
        let black = m < 0. || m == 0. && e < 0.;
        let side = if black { -1. } else { 1. };
        let seen = before.entry((f.site, black)).or_default();
        let sum = self.sum(f.site, *seen, Shape { op: f.op, k: f.k, times, to: [side * m, side * e] });
        *seen += 1;
        let present = matches!(f.op, Op::Sigmoid | Op::Table); // of 0 not 0
        self.put_sum(to, f.a, [false, present], sum, usize::from(black));
        if times > 0 {
            self.put_sum(to, by, [times == 2, false], sum + 1, usize::from(black));
        }
    }

    /// The schema's own arithmetic, from the record alone.
    fn evaluate_row(&self, row: &Row) -> f64 {
        let sums = &self.rows.sums;
        let mut values: Vec<Option<Two>> = vec![None; range(sums.len(), 0)];
        for &(index, x) in &row.entries {
            let (range, i) = (index / STRIDE, index % STRIDE - FIRST);
            let p = i.checked_sub(OWN).map(|i| &self.parameters[i]);
            let v = p.map_or_else(|| CONSTANTS[i].1, |p| p.value);
            let counts = p.filter(|_| range == 0).map_or([true; 2], |p| p.linear);
            let sum = values[range].get_or_insert_default();
            *sum = [0, 1].map(|k| sum[k] + if counts[k] { x * v[k] } else { 0. });
        }
        let taken = |sum: usize, black: usize| {
            values[range(sum, black)].map(|v| sums[sum].phase.map_or(v, |phase| [v[phase]; 2]))
        };
        let mut score: Two = values[0].unwrap_or_default();
        for (i, black) in (0..sums.len()).flat_map(|i| [(i, 0), (i, 1)]) {
            let s = &sums[i];
            let by = if s.shape.times == 0 { Some([1.; 2]) } else { taken(i + 1, black) };
            let Some((x, by)) = taken(i, black).zip(by).filter(|_| !s.multiplies && !s.shape.is_stage())
            else {
                continue;
            };
            let f = self.compute(s.shape.op, &s.shape.k, s.site, x, [0.; 2])[0] * [1., -1.][black];
            score = [0, 1].map(|k| score[k] + f * s.shape.to[k] * by[k]);
        }
        for (i, s) in sums.iter().enumerate().filter(|s| s.1.shape.is_stage() && s.1.shape.op < Op::ScaleEg) {
            score = taken(i, 0).map_or(score, |c| self.compute(s.shape.op, &s.shape.k, s.site, score, c));
        }
        if let Some(i) = row.stage {
            let s = &sums[i];
            let total = if s.shape.op == Op::Scale { [self.in_score(score); 2] } else { score };
            let factor = taken(i, usize::from(total[1] < 0.)).unwrap_or_default();
            score = self.compute(s.shape.op, &s.shape.k, s.site, total, factor);
        }
        row.offset + self.in_score(score)
    }
}
