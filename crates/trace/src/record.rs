//! Numbers that write on a tape what is done with them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};
use std::panic::Location;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

pub(crate) type Site = &'static Location<'static>;
pub(crate) type Two = [f64; 2];
pub(crate) type Values = BTreeMap<String, Two>;

#[derive(Clone, Copy, Debug, Default)]
enum Handle {
    #[default]
    Constant,
    Literal(Site),
    Node(u32, u32), // and the generation: the position that it belongs to
}

/// What pairs and values are: a value has both numbers equal.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Score {
    v: Two,
    pair: bool,
    handle: Handle,
}

/// A middlegame and an endgame value.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pair(pub(crate) Score);

/// One number for both phases.
#[derive(Clone, Copy, Debug, Default)]
pub struct Value(pub(crate) Score);

/// A pair of numbers to tune.
#[allow(non_snake_case)]
#[track_caller]
pub const fn S(mg: i32, eg: i32) -> Pair {
    Pair(Score { v: [mg as f64, eg as f64], pair: true, handle: Handle::Literal(Location::caller()) })
}

/// A number to tune.
#[allow(non_snake_case)]
#[track_caller]
pub const fn V(x: i32) -> Value {
    Value(Score { v: [x as f64; 2], pair: false, handle: Handle::Literal(Location::caller()) })
}

macro_rules! conversions {
    ($($from:ty => $to:ty: |$x:ident| $e:expr;)*) => {$(
        impl From<$from> for $to {
            fn from($x: $from) -> $to {
                $e
            }
        }
    )*};
}
conversions! {
    Score => Pair: |s| Pair(Score { pair: true, ..s });
    Score => Value: |s| Value(Score { pair: false, ..s });
    Pair => Score: |p| p.0;
    Value => Score: |v| v.0;
    i32 => Score: |x| Score { v: [f64::from(x); 2], ..Score::default() };
    i32 => Value: |x| Value(x.into());
}

macro_rules! operators {
    ($($op:ident::$f:ident = $by:ident: $($t:ty, $u:ty => $r:ty),*;)*) => {$($(
        impl $op<$u> for $t {
            type Output = $r;
            #[track_caller]
            #[inline]
            fn $f(self, other: $u) -> $r {
                $by(self.into(), other.into()).into()
            }
        }
    )*)*};
}
operators! {
    Add::add = plus: Pair, Pair => Pair, Value, Value => Value, Value, i32 => Value, i32, Value => Value;
    Sub::sub = minus: Pair, Pair => Pair, Value, Value => Value, Value, i32 => Value, i32, Value => Value;
    Mul::mul = times: Pair, i32 => Pair, Pair, Value => Pair, i32, Pair => Pair, Value, Pair => Pair,
        Value, Value => Value, Value, i32 => Value, i32, Value => Value;
    Div::div = over: Pair, i32 => Pair, Value, i32 => Value;
}
macro_rules! assignments {
    ($($op:ident::$f:ident = $by:ident: $($t:ty, $u:ty),*;)*) => {$($(
        impl $op<$u> for $t {
            #[track_caller]
            #[inline]
            fn $f(&mut self, other: $u) {
                *self = $by(self.0, other.into()).into();
            }
        }
    )*)*};
}
assignments! {
    AddAssign::add_assign = plus: Pair, Pair, Value, Value, Value, i32;
    SubAssign::sub_assign = minus: Pair, Pair, Value, Value, Value, i32;
    MulAssign::mul_assign = times: Pair, i32, Pair, Value, Value, Value, Value, i32;
    DivAssign::div_assign = over: Pair, i32, Value, i32;
}
macro_rules! signs_and_sums {
    ($($t:ty)*) => {$(
        impl Neg for $t {
            type Output = $t;
            #[track_caller]
            fn neg(self) -> $t {
                linear(self.0, -1., none(), 0.).into()
            }
        }
        impl Sum for $t {
            #[track_caller]
            fn sum<I: Iterator<Item = $t>>(all: I) -> $t {
                all.fold(<$t>::default(), |a, b| plus(a.0, b.0).into())
            }
        }
    )*};
}
signs_and_sums! { Pair Value }

/// A branch on the sign: a position with one is evaluated twice, the second time with every branch turned.
impl PartialOrd<i32> for Value {
    #[track_caller]
    fn partial_cmp(&self, _: &i32) -> Option<std::cmp::Ordering> {
        refuse(Location::caller(), "a score is compared by `cmp`: use <, >, max, min or clamp")
    }
    #[track_caller]
    fn lt(&self, other: &i32) -> bool {
        !above(*self, *other, true)
    }
    #[track_caller]
    fn le(&self, other: &i32) -> bool {
        !above(*self, *other, false)
    }
    #[track_caller]
    fn gt(&self, other: &i32) -> bool {
        above(*self, *other, false)
    }
    #[track_caller]
    fn ge(&self, other: &i32) -> bool {
        above(*self, *other, true)
    }
}
impl PartialEq<i32> for Value {
    #[track_caller]
    fn eq(&self, _: &i32) -> bool {
        refuse(
            Location::caller(),
            "scores are not compared by == or !=; a branch on > 0 or < 0 can be recorded",
        )
    }
}

#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
#[rustfmt::skip]
pub(crate) enum Op {
    Linear, Parameter, Make, Mg, Eg, Relu, Relu2, Square, Sigmoid, Table, Product, BoundedMg, BoundedEg, ScaleEg, Scale,
    Taper,
}

#[derive(Clone, Copy)]
pub(crate) struct Node {
    pub op: Op,
    pub a: u32, // nodes; of a parameter: its number
    pub b: u32,
    pub site: u32,
    pub k: [f64; 4], // of a sum: a · k0 + b · k1 + (k2, k3); else constants of the verb
    pub v: Two,
    pub share: Two, // of a walk backwards
    pub pending: bool,
}
impl Node {
    pub const ZERO: Self =
        Node { op: Op::Linear, a: 0, b: 0, site: 0, k: [0.; 4], v: [0.; 2], share: [0.; 2], pending: false };
}

pub(crate) struct Parameter {
    pub place: Site,
    pub pair: bool,
    source: Two,
    pub value: Two,
    pub name: String,
    node: (u32, u32),      // its latest, and the generation
    pub linear: [bool; 2], // the phases in which the linear part counts it
    pub used: [bool; 2],   // the values that other sums use
}

pub(crate) struct Tape {
    pub nodes: Vec<Node>, // the first is the constant 0
    pub sites: Vec<Site>,
    pub knots: Vec<Vec<[i32; 2]>>, // by site
    pub parameters: Vec<Parameter>,
    pub branches: Vec<(u32, bool, Site)>,
    pub rows: crate::rows::Rows,
    cache: Vec<(usize, u32)>, // of literals
    by_name: BTreeMap<String, usize>,
    values: Values,
    setup: (u32, usize), // the generation before all positions, and its nodes
    current: u32,
    recording: bool,
    turned: bool,
}

static GENERATIONS: AtomicU32 = AtomicU32::new(1);
/// Set where nothing is recorded, but played.
pub(crate) static PLAYING: OnceLock<Values> = OnceLock::new();
thread_local! {
    pub(crate) static TAPE: RefCell<Tape> = RefCell::new(Tape::new());
}

pub(crate) struct Refusal(pub String);

/// Ends a recording: caught by `trace`, if panics can be.
pub(crate) fn refuse(at: Site, why: &str) -> ! {
    let said = format!("{}:{}: gputexel: {why}", at.file(), at.line());
    eprintln!("{said}");
    if PLAYING.get().is_some() {
        std::process::exit(1);
    }
    std::panic::resume_unwind(Box::new(Refusal(said)))
}

pub(crate) fn none() -> Score {
    Score::default()
}
#[track_caller]
fn plus(a: Score, b: Score) -> Score {
    linear(a, 1., b, 1.)
}
#[track_caller]
fn minus(a: Score, b: Score) -> Score {
    linear(a, 1., b, -1.)
}
#[track_caller]
fn over(a: Score, b: Score) -> Score {
    linear(a, 1. / b.v[0], none(), 0.)
}
#[track_caller]
fn times(a: Score, b: Score) -> Score {
    match (a.handle, b.handle) {
        (_, Handle::Constant) if !b.pair => linear(a, b.v[0], none(), 0.),
        (Handle::Constant, _) if !a.pair => linear(b, a.v[0], none(), 0.),
        _ if a.pair => verb(Op::Product, b, a, [2; 4]),
        _ if b.pair => verb(Op::Product, a, b, [2; 4]),
        _ => verb(Op::Product, a, b, [1; 4]),
    }
}

#[track_caller]
fn linear(a: Score, ka: f64, b: Score, kb: f64) -> Score {
    let at = Location::caller();
    TAPE.with_borrow_mut(|t| {
        let ((a_node, x), (b_node, y)) = (t.load(a, at), t.load(b, at));
        let v = [ka * x[0] + kb * y[0], ka * x[1] + kb * y[1]];
        let constant =
            |k: usize| if a_node == 0 { ka * x[k] } else { 0. } + if b_node == 0 { kb * y[k] } else { 0. };
        let k = [ka, kb, constant(0), constant(1)];
        t.made(Node { a: a_node, b: b_node, k, v, ..Node::ZERO }, at)
    })
}

/// Applies a verb to one or two scores.
#[track_caller]
pub(crate) fn verb(op: Op, a: impl Into<Score>, b: impl Into<Score>, k: [i32; 4]) -> Score {
    let at = Location::caller();
    TAPE.with_borrow_mut(|t| {
        let (mut x, mut y) = (t.load(a.into(), at), t.load(b.into(), at));
        let mut n = Node { op, site: t.site(at), k: k.map(f64::from), ..Node::ZERO };
        n.v = t.compute(&n, x.1, y.1);
        if (x.0, y.0) != (0, 0) {
            [x, y] =
                [x, y].map(|(node, v)| if node == 0 && v != [0.; 2] { t.constant(v) } else { (node, v) });
        }
        (n.a, n.b) = (x.0, y.0);
        t.made(n, at)
    })
}

#[track_caller]
pub(crate) fn table(x: Value, knots: &[[i32; 2]]) -> Score {
    let at = Location::caller();
    TAPE.with_borrow_mut(|t| {
        let site = t.site(at) as usize;
        if t.knots[site].is_empty() {
            t.knots[site] = knots.to_vec();
        } else if t.knots[site] != knots {
            refuse(at, "the limits or knots of this verb change: they must be constants");
        }
    });
    verb(Op::Table, x, none(), [0, 0, 1, 1])
}

#[track_caller]
pub(crate) fn result(x: Value) -> i32 {
    let at = Location::caller();
    TAPE.with_borrow_mut(|t| {
        if t.recording {
            refuse(at, "result() ends a recording: the evaluation that is traced returns a Value");
        }
        t.load(x.0, at).1[0] as i32
    })
}

#[track_caller]
fn above(x: Value, number: i32, or_equal: bool) -> bool {
    let at = Location::caller();
    TAPE.with_borrow_mut(|t| {
        let (node, v) = t.load(x.0, at);
        let difference = v[0] - f64::from(number);
        let yes = difference > 0. || (or_equal && difference == 0.);
        if node != 0 && number != 0 {
            refuse(
                at,
                "a score is compared with a number other than 0: use max, min, clamp, relu or table, and leave lazy exits \
                 out of this build",
            );
        }
        if node == 0 || !t.recording {
            return yes;
        }
        t.branches.push((node, yes != t.turned, at));
        yes != t.turned
    })
}

impl Tape {
    fn new() -> Self {
        let current = GENERATIONS.fetch_add(1, Relaxed);
        Self {
            nodes: vec![Node::ZERO],
            sites: Vec::new(),
            knots: Vec::new(),
            parameters: Vec::new(),
            branches: Vec::new(),
            rows: Default::default(),
            cache: vec![(0, 0); 1 << 16],
            by_name: BTreeMap::new(),
            values: PLAYING.get().cloned().unwrap_or_default(),
            setup: (current, 0),
            current,
            recording: false,
            turned: false,
        }
    }
    /// Begins a position, or its second evaluation.
    pub fn begin(&mut self, turned: bool) {
        if self.current == self.setup.0 {
            self.setup.1 = self.nodes.len();
        }
        self.nodes.truncate(self.setup.1);
        self.branches.clear();
        (self.current, self.recording, self.turned) = (GENERATIONS.fetch_add(1, Relaxed), true, turned);
    }
    /// Ends it; the node of the result.
    pub fn end(&mut self, result: Value) -> u32 {
        (self.recording, self.turned) = (false, false);
        self.load(result.0, Location::caller()).0
    }
    /// Takes numbers from a file in place of the source's.
    pub fn set_values(&mut self, values: Values) {
        self.values = values;
        for p in &mut self.parameters {
            p.value = self.values.get(&p.name).copied().unwrap_or(p.source);
        }
        for i in 1..self.nodes.len() {
            let n = self.nodes[i]; // a sum that was made before
            let [a, b] =
                [n.a, n.b].map(|r| if n.op == Op::Parameter { [0.; 2] } else { self.nodes[r as usize].v });
            self.nodes[i].v = self.compute(&n, a, b);
        }
    }
    fn made(&mut self, n: Node, at: Site) -> Score {
        if (n.a, n.b) == (0, 0) {
            return Score { v: n.v, ..Score::default() };
        }
        if self.nodes.len() > 1_000_000 {
            refuse(
                at,
                "a million sums outside of recorded positions: begin main with gputexel_trace::play()",
            );
        }
        self.nodes.push(n);
        Score { handle: Handle::Node(self.nodes.len() as u32 - 1, self.current), ..Score::default() }
    }
    fn constant(&mut self, v: Two) -> (u32, Two) {
        self.nodes.push(Node { k: [0., 0., v[0], v[1]], v, ..Node::ZERO });
        (self.nodes.len() as u32 - 1, v)
    }
    /// The node of a score (0: a constant) and its value.
    fn load(&mut self, s: Score, at: Site) -> (u32, Two) {
        let (node, v) = match s.handle {
            Handle::Constant => return (0, s.v),
            Handle::Node(node, generation) => {
                if generation != self.current && generation != self.setup.0 {
                    refuse(
                        at,
                        "a score of an earlier position is used here (a cache?): leave caches out of this build",
                    );
                }
                (node, self.nodes[node as usize].v)
            }
            Handle::Literal(place) => {
                let p = self.parameter(place, &s);
                let Parameter { value, node: (node, generation), .. } = self.parameters[p as usize];
                if generation == self.current || generation == self.setup.0 {
                    (node, value)
                } else {
                    self.nodes.push(Node { op: Op::Parameter, a: p, v: value, ..Node::ZERO });
                    self.parameters[p as usize].node = (self.nodes.len() as u32 - 1, self.current);
                    (self.nodes.len() as u32 - 1, value)
                }
            }
        };
        (if PLAYING.get().is_some() { 0 } else { node }, v)
    }
    fn parameter(&mut self, place: Site, s: &Score) -> u32 {
        let address = std::ptr::from_ref(place).addr();
        let slot = address >> 3 & 0xffff;
        if self.cache[slot].0 != address {
            self.cache[slot] = (address, self.enter(place, s) as u32);
        }
        let known = self.cache[slot].1;
        let p = &self.parameters[known as usize];
        if p.source != s.v || p.pair != s.pair {
            refuse(
                place,
                "this S or V stands for several numbers (in a macro, generic or loop): write S where the number stands",
            );
        }
        known
    }
    fn enter(&mut self, place: Site, s: &Score) -> usize {
        let mut name = named(place);
        while let Some(&known) = self.by_name.get(&name) {
            if self.parameters[known].place == place {
                return known;
            }
            name.push('b'); // a file of this name in another folder
        }
        if self.parameters.len() >= crate::rows::MOST {
            refuse(place, "there are more numbers than a schema has room for");
        }
        let value = self.values.get(&name).copied().unwrap_or(s.v);
        self.by_name.insert(name.clone(), self.parameters.len());
        let (node, linear, used) = ((0, 0), [false; 2], [false; 2]);
        self.parameters.push(Parameter { place, pair: s.pair, source: s.v, value, name, node, linear, used });
        self.parameters.len() - 1
    }
    fn site(&mut self, at: Site) -> u32 {
        let known = self.sites.iter().position(|s| std::ptr::eq(*s, at) || *s == at);
        known.unwrap_or_else(|| {
            self.sites.push(at);
            self.knots.push(Vec::new());
            self.sites.len() - 1
        }) as u32
    }
    fn compute(&self, n: &Node, [x, y]: Two, b: Two) -> Two {
        let [low, high, one, _] = n.k;
        match n.op {
            Op::Linear => [low * x + high * b[0] + n.k[2], low * y + high * b[1] + n.k[3]],
            Op::Parameter => self.parameters[n.a as usize].value,
            Op::Make => [x, b[0]],
            Op::Eg => [y; 2],
            Op::Product => [x * b[0], x * b[1]],
            Op::BoundedMg => [toward_zero(x, b[0], low), y],
            Op::BoundedEg => [x, toward_zero(y, b[0], low)],
            Op::ScaleEg => [x, y * b[0].max(low).min(high) / one],
            Op::Scale => [x * b[0].max(low).min(high) / one; 2],
            Op::Taper => [(x * low + y * (high - low)) / high; 2],
            _ => [apply(n.op, &n.k, &self.knots[n.site as usize], x); 2],
        }
    }
}

/// FILE_LINE_COLUMN.
pub(crate) fn named(at: Site) -> String {
    let file = at.file().rsplit(['/', '\\']).next().unwrap_or_default();
    format!("{}_{}_{}", file.replace([',', '"', ' '], "_"), at.line(), at.column())
}

pub(crate) fn apply(op: Op, &[over, _, divide, one]: &[f64; 4], knots: &[[i32; 2]], x: f64) -> f64 {
    match op {
        Op::Relu if x > over => x.max(0.),
        Op::Relu2 if x > over => x.max(0.).powi(2),
        Op::Relu | Op::Relu2 => 0.,
        Op::Square => x * x.abs(),
        Op::Sigmoid => one / (1. + (-x / divide).exp()),
        Op::Table => {
            let i = knots.iter().position(|k| x < f64::from(k[0])).unwrap_or(knots.len());
            let ([a, b], [c, d]) =
                (knots[i.max(1) - 1].map(f64::from), knots[i.min(knots.len() - 1)].map(f64::from));
            if i == 0 || i == knots.len() { d } else { b + (d - b) * (x - a) / (c - a) }
        }
        _ => x,
    }
}

pub(crate) fn toward_zero(e: f64, c: f64, at_most: f64) -> f64 {
    let c = if at_most < f64::from(i32::MAX) { (c + at_most).min(0.) } else { c };
    if e > 0. {
        e + c.max(-e)
    } else if e < 0. {
        e - c.max(e)
    } else {
        0.
    }
}
