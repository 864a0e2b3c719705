//! From the tape of a position to its row: sums that the schema can say.

use crate::record::{Node, Op, Site, TAPE, Tape, Two, Value, apply, refuse, toward_zero};
use std::fmt::Write as _;

/// Indices of the trace: constants from 12, parameters from 16; each further sum has a range of its own.
pub(crate) const FIRST: u32 = 12;
pub(crate) const OWN: usize = 4;
pub(crate) const STRIDE: u32 = 10_000;
pub(crate) const MOST: usize = STRIDE as usize - FIRST as usize - OWN;
pub(crate) const CONSTANTS: [(&str, Two); OWN] =
    [("one", [1., 1.]), ("minus_one", [-1., -1.]), ("one_mg", [1., 0.]), ("one_eg", [0., 1.])];

type Entries = Vec<(u32, f64)>;

#[derive(Clone, PartialEq)]
pub(crate) struct Term {
    pub op: Op,
    pub takes: Option<usize>, // which value of its sum, if that has two
    pub times: usize,         // multiplied by 1: a value, 2: a pair
    pub site: u32,
    pub k: [f64; 4],
    pub to: Two, // factors in the middlegame and in the endgame
}

#[derive(Default)]
pub(crate) struct Sum {
    pub phase: Option<usize>, // which values it adds up; none: pairs, or numbers without phases
    pub members: Vec<bool>,
}

/// An accumulator of the schema, and the one that its terms are multiplied by.
pub(crate) struct Slot {
    pub kind: Op, // `Linear`: of terms
    pub site: u32,
    pub occurrence: usize,
    pub terms: Vec<Term>,
    pub limits: [f64; 4],
    pub sides: [bool; 2],
}

/// What all positions have in common.
#[derive(Default)]
pub(crate) struct Rows {
    pub slots: Vec<Slot>,
    pub sums: Vec<Sum>, // two for each slot
    pub constants_used: [bool; OWN],
    pub has_offset: bool,
    pub whole: f64, // the phase of the middlegame; 0 before the first taper
    phase: Option<f64>,
}

#[derive(Default)]
struct Row {
    phase: f64,
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

/// The terms of one sum and side.
struct Instance {
    base: u32,
    times: u32,
    black: bool,
    pair: bool,
    terms: Vec<Term>,
}

/// Records a position. Returns false if nothing in it depends on a number.
pub(crate) fn record(
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
        let is_strength = |r: u32| {
            let n = &t.nodes[r as usize];
            r == row.of || n.op == Op::Eg && n.a == row.of
        };
        let other = t.branches.iter().find(|b| !is_strength(b.0)).map(|b| b.2);
        (row, t.nodes[root as usize].v[0], std::mem::take(&mut t.branches), other)
    });
    if let Some(&(_, positive, at)) = branches.first() {
        let root = run(true)?;
        let [black, _] = TAPE.with_borrow_mut(|t| turned(t, root, &row, at)).factor;
        if let Some(at) = other_sign.filter(|_| black != row.factor[0]) {
            refuse(at, "a scale factor depends on the sign of another score than the one that it multiplies");
        }
        row.factor[1] = black;
        if positive == row.reversed {
            row.factor.swap(0, 1);
        }
    } else {
        row.factor[1] = row.factor[0].clone();
    }
    TAPE.with_borrow_mut(|t| t.print(row, eval, fen, out));
    Ok(true)
}

fn turned(t: &mut Tape, root: u32, row: &Row, at: Site) -> Row {
    let turned = t.analyze(root);
    let same = turned.entries == row.entries && turned.phase == row.phase && turned.offset == row.offset;
    if !same || turned.slot != row.slot {
        refuse(
            at,
            "a branch on the sign of a score changes more than a scale factor, which the schema cannot say: use max, \
             min, relu or bounded",
        );
    }
    turned
}

impl Tape {
    pub(crate) fn refuse_by_schema(&self, site: u32, what: &str) -> ! {
        refuse(self.sites[site as usize], &format!("{what}, which the schema cannot say"))
    }
    fn print(&mut self, mut row: Row, eval: f64, fen: &str, out: &mut String) {
        for (side, entries) in (0..).zip(&row.factor) {
            row.entries.extend(entries.iter().map(|e| (e.0 + side * STRIDE, e.1)));
        }
        row.entries.sort_unstable_by_key(|e| e.0);
        let again = self.evaluate_row(&row);
        if (again - eval).abs() > 1e-6 * eval.abs().max(1.) || !again.is_finite() {
            let at = self.sites.last().copied().unwrap_or(self.parameters[0].place);
            refuse(at, &format!("the record gives {again}, the evaluation gave {eval}: {fen}"));
        }
        self.rows.has_offset |= row.offset != 0.;
        let columns = [(1, row.phase), (2, eval), (3, row.offset)];
        for (i, x) in columns.into_iter().filter(|c| c.0 == 2 || c.1 != 0.).chain(row.entries) {
            let whole = x as i64;
            _ = if x == whole as f64 { write!(out, " {i}:{whole}") } else { write!(out, " {i}:{x}") };
        }
    }

    fn add(&mut self, node: u32, [m, e]: Two, waiting: &mut usize) {
        if node != 0 && (m != 0. || e != 0.) {
            let n = &mut self.nodes[node as usize];
            if !std::mem::replace(&mut n.pending, true) {
                *waiting += 1;
                n.share = [0.; 2];
            }
            n.share[0] += m;
            n.share[1] += e;
        }
    }
    /// Walks from a node to the parameters. In the sum of a verb, shares count the two values of a pair toward one number.
    fn walk(&mut self, from: u32, share: Two, sum_of: Option<u32>) -> Walk {
        let (mut w, mut waiting, sum) = (Walk::default(), 0, sum_of.is_some());
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
                Op::Linear => {
                    w.constant[0] += m * n.k[2] + if sum { e * n.k[3] } else { 0. };
                    w.constant[1] += if sum { 0. } else { e * n.k[3] };
                    self.add(n.a, [m * n.k[0], e * n.k[0]], &mut waiting);
                    self.add(n.b, [m * n.k[1], e * n.k[1]], &mut waiting);
                }
                Op::Parameter if n.share == [0.; 2] => {}
                Op::Parameter => w.parameters.push((n.a as usize, n.share)),
                Op::Make => {
                    self.add(n.a, [m, 0.], &mut waiting);
                    self.add(n.b, if sum { [e, 0.] } else { [0., e] }, &mut waiting);
                }
                Op::Mg | Op::Eg => {
                    let mg = n.op == Op::Mg;
                    if !sum && (if mg { e } else { m }) != 0. {
                        self.refuse_by_schema(n.site, "the value of one phase is used in the other");
                    }
                    let share = if mg { [m, 0.] } else { [0., if sum { m } else { e }] };
                    self.add(n.a, share, &mut waiting);
                }
                Op::Taper => {
                    let ([phase, whole, ..], rows) = (n.k, &self.rows);
                    let other =
                        rows.whole != 0. && rows.whole != whole || rows.phase.is_some_and(|p| p != phase);
                    if sum || m != e || other {
                        self.refuse_by_schema(
                            n.site,
                            "a second taper with another phase, or one within a verb",
                        );
                    }
                    if !(0. ..=whole).contains(&phase) {
                        refuse(self.sites[n.site as usize], &format!("the phase is {phase}, of {whole}"));
                    }
                    (self.rows.phase, self.rows.whole) = (Some(phase), whole);
                    self.add(n.a, n.share, &mut waiting);
                }
                _ if sum => self.refuse_by_schema(sum_of.unwrap_or(0), "a function of a function"),
                Op::BoundedMg | Op::BoundedEg | Op::ScaleEg | Op::Scale => w.stages.push((i, n.share)),
                _ => w.functions.push((i, n.share)),
            }
        }
        w.parameters.sort_unstable_by_key(|p| p.0);
        w
    }
    /// Numbers that are not tuned. A sum without entries would leave its verb out: `present` sees to it.
    fn put_constants(
        &mut self,
        to: &mut Entries,
        base: u32,
        sum: Option<usize>,
        [mut m, mut e]: Two,
        present: bool,
    ) {
        let mut put = |which: usize, x: f64| {
            if x != 0. {
                self.rows.constants_used[which] = true;
                if let Some(sum) = sum {
                    member(&mut self.rows.sums[sum], which);
                }
                to.push((base + which as u32, x));
            }
        };
        if present {
            (m, e) = (m + 1., e + 1.);
            put(1, 1.);
        }
        if m == e {
            put(0, m);
        } else {
            put(2, m);
            put(3, e);
        }
    }
    /// The sum that a verb takes.
    fn put_sum(
        &mut self,
        to: &mut Entries,
        r: u32,
        [pair, present]: [bool; 2],
        sum: usize,
        black: bool,
        site: u32,
    ) {
        let base = FIRST + STRIDE * (1 + 2 * sum as u32 + u32::from(black));
        let w = self.walk(r, [1., if pair { 1. } else { 0. }], (!pair).then_some(site));
        if !w.functions.is_empty() || !w.stages.is_empty() {
            self.refuse_by_schema(site, "a function of a function");
        }
        for (i, [m, e]) in w.parameters {
            let (p, phases) = (&mut self.parameters[i], &mut self.rows.sums[sum].phase);
            let own = !pair && p.pair;
            let phase = if own { Some(usize::from(m == 0.)) } else { *phases };
            if (pair && m != e) || (own && m != 0. && e != 0.) || (phases.is_some() && *phases != phase) {
                self.refuse_by_schema(site, "middlegame and endgame values are mixed in its sum");
            }
            *phases = phase;
            p.used[0] |= !own || phase == Some(0);
            p.used[1] |= !own || phase == Some(1);
            member(&mut self.rows.sums[sum], OWN + i);
            to.push((base + (OWN + i) as u32, if m != 0. { m } else { e }));
        }
        let constant = if pair { w.constant } else { [w.constant[0]; 2] };
        self.put_constants(to, base, Some(sum), constant, present);
    }
    fn slot(&mut self, kind: Op, site: u32, occurrence: usize, terms: &[Term], limits: [f64; 4]) -> usize {
        for (i, s) in self.rows.slots.iter().enumerate() {
            if s.kind == kind && s.site == site && s.occurrence == occurrence {
                if s.terms != terms || s.limits != limits {
                    let what =
                        "this counts otherwise than in positions before (factor, sign, phase or limit)";
                    self.refuse_by_schema(site, what);
                }
                return i;
            }
            if kind != Op::Linear && (s.kind == kind || kind >= Op::ScaleEg && s.kind >= Op::ScaleEg) {
                let why = "another one of its kind: the schema has one factor, and one bound for each phase";
                refuse(self.sites[site as usize], why);
            }
        }
        if self.rows.slots.len() == 23 {
            refuse(self.sites[site as usize], "there are more verbs than a schema has room for");
        }
        self.rows.sums.extend([Sum::default(), Sum::default()]);
        let terms = terms.to_vec();
        self.rows.slots.push(Slot { kind, site, occurrence, terms, limits, sides: [false; 2] });
        self.rows.slots.len() - 1
    }
    fn in_score(&self, [m, e]: Two) -> f64 {
        self.rows.phase.map_or(m, |p| (m * p + e * (self.rows.whole - p)) / self.rows.whole)
    }

    fn analyze(&mut self, root: u32) -> Row {
        let (mut row, mut from, mut view, mut staged) = (Row::default(), root, 1., false);
        self.rows.phase = None;
        let w = loop {
            let w = self.walk(from, [view; 2], None); // what comes last is found first
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
            let (slot, is_factor) = (self.slot(n.op, n.site, 0, &[], n.k), n.op >= Op::ScaleEg);
            self.rows.slots[slot].sides = [true, is_factor];
            if is_factor {
                (row.slot, row.of, row.reversed) = (Some(slot), n.a, view < 0.);
            }
            let to = if is_factor { &mut row.factor[0] } else { &mut row.entries };
            self.put_sum(to, n.b, [false, true], 2 * slot, false, n.site);
        };
        row.phase = self.rows.phase.unwrap_or(0.);
        if staged {
            self.put_constants(&mut row.entries, FIRST, None, w.constant, false);
        } else {
            row.offset = self.in_score(w.constant);
        }
        for (i, [m, e]) in w.parameters {
            let p = &mut self.parameters[i];
            let both = (m - e).abs() <= 1e-12 * m.abs();
            let phases = [m != 0., e != 0.];
            if (phases == [true; 2] && !both) || (p.linear != [false; 2] && p.linear != phases) {
                let why = "this number counts differently in middlegame and endgame, or in both phases here and in one \
                           phase there, which the schema cannot say";
                refuse(p.place, why);
            }
            p.linear = phases;
            row.entries.push((FIRST + (OWN + i) as u32, if m != 0. { m } else { e }));
        }
        self.put_terms(&mut row.entries, &w.functions);
        row
    }
    fn is_function(&self, node: u32) -> bool {
        (Op::Relu..Op::Product).contains(&self.nodes[node as usize].op)
    }
    fn put_terms(&mut self, to: &mut Entries, functions: &[(u32, Two)]) {
        let mut all: Vec<Instance> = Vec::new();
        for &(node, [m, e]) in functions.iter().rev() {
            let n = self.nodes[node as usize]; // in the order of evaluation
            let side = if m < 0. || m == 0. && e < 0. { -1. } else { 1. };
            let (mut f, mut base, mut times, mut kind) = (Some(n), n.a, 0, 0);
            if n.op == Op::Product {
                // of a function or a sum, by a sum
                let swap = n.k[0] == 1. && self.is_function(n.b);
                (base, times) = if swap { (n.b, n.a) } else { (n.a, n.b) };
                (f, kind) = (self.is_function(base).then(|| self.nodes[base as usize]), n.k[0] as usize);
                base = f.map_or(base, |f| f.a);
            }
            let f = f.unwrap_or(Node { site: n.site, k: [0., 0., 1., 1.], ..Node::ZERO });
            let takes = [Op::Mg, Op::Eg].iter().position(|&op| op == self.nodes[base as usize].op);
            let term = Term { op: f.op, takes, times: kind, site: f.site, k: f.k, to: [side * m, side * e] };
            // Functions of one sum, or of the two values of one pair, share an accumulator.
            let pair_of = |base: u32| self.nodes[base as usize].a;
            let with = all.iter_mut().rfind(|i| {
                let two = takes.is_some() && i.terms[0].takes.is_some() && pair_of(i.base) == pair_of(base);
                i.times == 0 && times == 0 && i.black == (side < 0.) && (i.base == base || two)
            });
            match with {
                Some(i) => {
                    i.pair |= i.base != base;
                    i.terms.push(term);
                }
                None => all.push(Instance { base, times, black: side < 0., pair: false, terms: vec![term] }),
            }
        }
        for (i, own) in all.iter().enumerate() {
            let (first, black) = (&own.terms[0], own.black);
            let before = |other: &&Instance| other.terms[0].site == first.site && other.black == black;
            let occurrence = all[..i].iter().filter(before).count();
            let present = own.terms.iter().any(|t| matches!(t.op, Op::Sigmoid | Op::Table)); // of 0 not 0
            let slot = self.slot(Op::Linear, first.site, occurrence, &own.terms, [0.; 4]);
            self.rows.slots[slot].sides[usize::from(black)] = true;
            let base = if own.pair { self.nodes[own.base as usize].a } else { own.base };
            self.put_sum(to, base, [own.pair, present], 2 * slot, black, first.site);
            if own.times != 0 {
                self.put_sum(to, own.times, [first.times == 2, false], 2 * slot + 1, black, first.site);
            }
        }
    }

    /// The schema's own arithmetic, from the record alone.
    fn evaluate_row(&self, row: &Row) -> f64 {
        let rows = &self.rows;
        let mut sums = vec![([0.; 2], false); 1 + 4 * rows.slots.len()];
        for &(index, x) in &row.entries {
            let (range, i) = ((index / STRIDE) as usize, (index % STRIDE - FIRST) as usize);
            let p = i.checked_sub(OWN).map(|i| &self.parameters[i]);
            let v = p.map_or_else(|| CONSTANTS[i].1, |p| p.value);
            let counts = p.filter(|_| range == 0).map_or([true; 2], |p| p.linear);
            for (sum, (v, counts)) in sums[range].0.iter_mut().zip(v.into_iter().zip(counts)) {
                *sum += if counts { x * v } else { 0. };
            }
            sums[range].1 = true;
        }
        let mut score = sums[0].0;
        for (i, s) in rows.slots.iter().enumerate() {
            for (t, side) in s.terms.iter().flat_map(|t| [(t, 0), (t, 1)]) {
                let (of, by) = (sums[1 + 4 * i + side], sums[3 + 4 * i + side]);
                if !of.1 || (t.times != 0 && !by.1) {
                    continue;
                }
                let x = of.0[self.taken_by(i, t)];
                let f = apply(t.op, &t.k, &self.knots[t.site as usize], x) * if side == 0 { 1. } else { -1. };
                for k in 0..2 {
                    score[k] +=
                        f * t.to[k] * if t.times == 0 { 1. } else { by.0[self.multiplied_by(i, t, k)] };
                }
            }
        }
        for (i, s) in rows.slots.iter().enumerate() {
            let k = usize::from(s.kind == Op::BoundedEg);
            if matches!(s.kind, Op::BoundedMg | Op::BoundedEg) && sums[1 + 4 * i].1 {
                score[k] = toward_zero(score[k], sums[1 + 4 * i].0[self.value_of(2 * i)], s.limits[0]);
            }
        }
        let factor = |slot: usize, strength: f64| {
            let [low, high, one, _] = rows.slots[slot].limits;
            let by = sums[1 + 4 * slot + usize::from(strength < 0.)].0[self.value_of(2 * slot)];
            by.max(low).min(high) / one
        };
        let of = |kind| row.slot.filter(|&s| rows.slots[s].kind == kind);
        score[1] *= of(Op::ScaleEg).map_or(1., |s| factor(s, score[1]));
        let total = self.in_score(score);
        row.offset + total * of(Op::Scale).map_or(1., |s| factor(s, total))
    }
    /// Which of the two values of a sum is used; of a sum that has but one, either.
    pub(crate) fn value_of(&self, sum: usize) -> usize {
        self.rows.sums[sum].phase.unwrap_or(0)
    }
    pub(crate) fn taken_by(&self, slot: usize, t: &Term) -> usize {
        t.takes.unwrap_or_else(|| self.value_of(2 * slot))
    }
    pub(crate) fn multiplied_by(&self, slot: usize, t: &Term, target: usize) -> usize {
        if t.times == 2 { target } else { self.value_of(2 * slot + 1) }
    }
}

fn member(sum: &mut Sum, i: usize) {
    if sum.members.len() <= i {
        sum.members.resize(i + 1, false);
    }
    sum.members[i] = true;
}
