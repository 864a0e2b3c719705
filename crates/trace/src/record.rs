//! Numbers that write on a tape what is done with them.

mod tape;
mod trace;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::Location;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
pub use trace::{play, trace, trace_from};

type Site = &'static Location<'static>;
type Two = [f64; 2];
type Values = BTreeMap<String, f64>; // of a file

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
    negative: bool, // what the handle stands for is negated
    handle: Handle,
}
impl Score {
    const fn new(v: Two, pair: bool, handle: Handle) -> Self {
        Self { v, pair, negative: false, handle }
    }
}

/// A middlegame and an endgame value. Constants may be copied and negated, nothing else.
///
/// ```compile_fail
/// use gputexel_trace::{Pair, S};
/// const SUM: Pair = S(1, 2) + S(3, 4);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Pair(Score);

/// A number for both phases. It is compared with 0 alone, and has no bits.
///
/// ```compile_fail
/// let _ = gputexel_trace::V(1) < gputexel_trace::V(2);
/// ```
/// ```compile_fail
/// let _ = gputexel_trace::V(1) >> 1;
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Value(Score);

/// A pair of numbers to tune.
#[allow(non_snake_case)]
#[track_caller]
pub const fn S(mg: i32, eg: i32) -> Pair {
    Pair(Score::new([mg as f64, eg as f64], true, Handle::Literal(Location::caller())))
}

/// A number to tune.
#[allow(non_snake_case)]
#[track_caller]
pub const fn V(x: i32) -> Value {
    Value(Score::new([x as f64; 2], false, Handle::Literal(Location::caller())))
}

impl Pair {
    /// The source's numbers, for what is not evaluated: they do not count as this pair.
    pub const fn source(self) -> (i32, i32) {
        assert!(matches!(self.0.handle, Handle::Literal(_)), "source() is of S(mg, eg) itself");
        (self.0.v[0] as i32, self.0.v[1] as i32)
    }
    /// The pair with the opposite sign, in constants, too.
    pub const fn negated(self) -> Self {
        match self.0.handle {
            Handle::Constant => Self(Score { v: [-self.0.v[0], -self.0.v[1]], ..self.0 }),
            _ => Self(Score { negative: !self.0.negative, ..self.0 }),
        }
    }
}

macro_rules! conversions {
    ($($from:ty => $to:ty: $by:expr;)*) => {$(
        impl From<$from> for $to {
            fn from(from: $from) -> $to {
                ($by)(from)
            }
        }
    )*};
}
conversions! {
    Score => Pair: |s| Pair(Score { pair: true, ..s });
    Score => Value: |s| Value(Score { pair: false, ..s });
    Pair => Score: |p: Pair| p.0;
    Value => Score: |v: Value| v.0;
    i32 => Score: |x| Score::new([f64::from(x); 2], false, Handle::Constant);
    i32 => Value: |x: i32| Value(x.into());
}
operators! {
    Add::add: Pair, Pair => Pair = |a, b| linear(a, 1., b, 1.);
    Add::add: Value, Value => Value = |a, b| linear(a, 1., b, 1.);
    Add::add: Value, i32 => Value = |a, b| linear(a, 1., b, 1.);
    Add::add: i32, Value => Value = |a, b| linear(a, 1., b, 1.);
    Sub::sub: Pair, Pair => Pair = |a, b| linear(a, 1., b, -1.);
    Sub::sub: Value, Value => Value = |a, b| linear(a, 1., b, -1.);
    Sub::sub: Value, i32 => Value = |a, b| linear(a, 1., b, -1.);
    Sub::sub: i32, Value => Value = |a, b| linear(a, 1., b, -1.);
    Mul::mul: Pair, i32 => Pair = |a, b| linear(a, b.into(), 0, 0.);
    Mul::mul: i32, Pair => Pair = |a, b| linear(b, a.into(), 0, 0.);
    Mul::mul: Value, i32 => Value = |a, b| linear(a, b.into(), 0, 0.);
    Mul::mul: i32, Value => Value = |a, b| linear(b, a.into(), 0, 0.);
    Mul::mul: Pair, Value => Pair = |a, b| times(a.0, b.0);
    Mul::mul: Value, Pair => Pair = |a, b| times(b.0, a.0);
    Mul::mul: Value, Value => Value = |a, b| times(a.0, b.0);
    Div::div: Pair, i32 => Pair = |a, b| linear(a, 1. / f64::from(b), 0, 0.);
    Div::div: Value, i32 => Value = |a, b| linear(a, 1. / f64::from(b), 0, 0.);
}
operators! { Pair }
operators! { Value }

macro_rules! comparisons {
    ($($trait:ident, $t:ty, $u:ty: $(fn $f:ident -> $r:ty { $by:expr })*;)*) => {$(
        impl $trait<$u> for $t {$(
            #[track_caller]
            fn $f(&self, other: &$u) -> $r {
                ($by)(Location::caller(), *self, *other)
            }
        )*}
    )*};
}
const EQUATED: &str = "scores are not compared by ==, != or cmp; a branch on > 0 or < 0 can be recorded";
const COMPARED: &str = "a score is compared with a number other than 0: use max, min, clamp, relu or table, and leave \
                        lazy exits out of this build";
comparisons! {
    PartialEq, Pair, Pair: fn eq -> bool { |at, _, _| refuse(at, EQUATED) };
    PartialEq, Value, i32: fn eq -> bool { |at, _, _| refuse(at, EQUATED) };
    PartialOrd, Value, i32: fn partial_cmp -> Option<std::cmp::Ordering> { |at, _, _| refuse(at, EQUATED) }
        fn lt -> bool { |at, a, b| !above(at, a, b, true) }
        fn le -> bool { |at, a, b| !above(at, a, b, false) }
        fn gt -> bool { |at, a, b| above(at, a, b, false) }
        fn ge -> bool { |at, a, b| above(at, a, b, true) };
}
impl Eq for Pair {} // for structures that derive it

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[rustfmt::skip]
pub(crate) enum Op {
    #[default]
    Constant, Parameter, Linear, Make, Mg, Eg, Taper, Sign, Relu, Relu2, Square, Sigmoid, Table, Product, ProductPair,
    BoundedMg, BoundedEg, ScaleEg, Scale,
}

#[derive(Clone, Copy, Default)]
struct Node {
    op: Op,
    a: u32, // nodes; of a parameter: its number
    b: u32,
    site: u32,
    k: [f64; 3], // constants of the verb; of a sum the factors of a and b
    v: Two,
    shares: tape::Shares, // of a walk backwards
    waiting: bool,
}

struct Parameter {
    place: Site,
    pair: bool,
    source: Two,
    value: Two,
    node: (u32, u32), // its latest, and the generation
}

impl Parameter {
    /// Those of a file, or else the source's.
    fn numbers(&self, of: &Values) -> Two {
        let own = |key: String| of.get(&key).copied();
        [0, 1].map(|k| {
            let one = |k: usize| own(format!("{}{}", self.place, [".mg", ".eg"][k]));
            // A value has one number, whichever phase it counts in.
            let other = || one(1 - k).filter(|_| !self.pair);
            one(k).or_else(other).or_else(|| own(self.place.to_string())).unwrap_or(self.source[k])
        })
    }
}

#[derive(Default)]
struct Tape {
    nodes: Vec<Node>, // the first is the constant 0
    sites: Vec<Site>,
    knots: BTreeMap<u32, Vec<[i32; 2]>>, // by site
    parameters: Vec<Parameter>,
    cache: Vec<(usize, u32)>, // of literals
    by_place: BTreeMap<Site, u32>,
    values: Values,
    branches: Vec<(u32, bool, Site)>,
    setup: u32, // the generation before all positions, and the number of its nodes
    permanent: usize,
    current: u32,
    recording: bool,
    turned: bool,
    verbs: Vec<(Op, u32, [f64; 3])>,
    blocks: Vec<u32>, // nodes of verbs, in the order in which they are printed
}

static GENERATIONS: AtomicU32 = AtomicU32::new(1);
/// Set where nothing is recorded, but played.
static PLAYING: OnceLock<Values> = OnceLock::new();
thread_local! {
    static TAPE: RefCell<Tape> = RefCell::new(Tape::new());
}

/// Ends a recording: caught by `trace`, where panics can be.
fn refuse(at: Site, why: &str) -> ! {
    let said = format!("{}:{}: gputexel: {why}", at.file(), at.line());
    eprintln!("{said}");
    if PLAYING.get().is_some() || cfg!(panic = "abort") {
        std::process::exit(1);
    }
    std::panic::resume_unwind(Box::new(said))
}

#[track_caller]
fn linear<R: From<Score>>(a: impl Into<Score>, ka: f64, b: impl Into<Score>, kb: f64) -> R {
    record(Op::Linear, a.into(), b.into(), [ka, kb, 0.], Location::caller()).into()
}
/// A pair or a value by a value.
#[track_caller]
fn times<R: From<Score>>(a: Score, b: Score) -> R {
    match (a.handle, b.handle) {
        (_, Handle::Constant) => linear(a, b.v[0], 0, 0.),
        (Handle::Constant, _) if !a.pair => linear(b, a.v[0], 0, 0.),
        _ if a.pair => record(Op::ProductPair, b, a, [0.; 3], Location::caller()).into(),
        _ => record(Op::Product, a, b, [0.; 3], Location::caller()).into(),
    }
}
#[track_caller]
pub(crate) fn verb<R: From<Score>, const N: usize>(
    op: Op,
    a: impl Into<Score>,
    b: impl Into<Score>,
    constants: [i32; N],
) -> R {
    let mut k = [0.; 3];
    k.iter_mut().zip(constants).for_each(|(k, c)| *k = f64::from(c));
    record(op, a.into(), b.into(), k, Location::caller()).into()
}
#[inline]
fn record(op: Op, a: Score, b: Score, k: [f64; 3], at: Site) -> Score {
    TAPE.with_borrow_mut(|t| {
        let (mut a, mut b) = (t.load(a, at), t.load(b, at));
        let site = if op == Op::Linear { 0 } else { t.site(at) };
        let v = t.compute(op, &k, site, a.1, b.1);
        if (a.0, b.0) == (0, 0) {
            return Score::new(v, false, Handle::Constant);
        }
        for (node, v) in [&mut a, &mut b].into_iter().filter(|of| of.0 == 0 && of.1 != [0.; 2]) {
            *node = t.push(Node { v: *v, ..Node::default() });
        }
        if t.nodes.len() > 1_000_000 {
            refuse(at, "a million sums outside of recorded positions: main has to begin with play()");
        }
        let node = t.push(Node { op, a: a.0, b: b.0, site, k, v, ..Node::default() });
        Score::new(v, false, Handle::Node(node, t.current))
    })
}
#[track_caller]
pub(crate) fn table(x: Value, knots: &[[i32; 2]]) -> Value {
    let at = Location::caller();
    let site = TAPE.with_borrow_mut(|t| t.site(at));
    let is_known = |t: &mut Tape| t.knots.entry(site).or_insert_with(|| knots.to_vec()) == knots;
    if !TAPE.with_borrow_mut(is_known) {
        refuse(at, "the limits or knots of this verb change: they must be constants");
    }
    verb(Op::Table, x, 0, [])
}
#[track_caller]
pub(crate) fn result(x: Value) -> i32 {
    let at = Location::caller();
    if TAPE.with_borrow(|t| t.recording) {
        refuse(at, "result() ends a recording: the evaluation that is traced returns a Value");
    }
    TAPE.with_borrow_mut(|t| t.load(x.0, at).1[0]) as i32
}
/// A branch on a sign: a position with one is evaluated twice, the second time with every branch turned.
fn above(at: Site, x: Value, number: i32, or_equal: bool) -> bool {
    TAPE.with_borrow_mut(|t| {
        let (node, v) = t.load(x.0, at);
        let difference = v[0] - f64::from(number);
        let yes = difference > 0. || or_equal && difference == 0.;
        if node == 0 || !t.recording {
            return yes;
        }
        if number != 0 {
            refuse(at, COMPARED);
        }
        t.branches.push((node, yes != t.turned, at));
        yes != t.turned
    })
}
impl Tape {
    fn new() -> Self {
        let setup = GENERATIONS.fetch_add(1, Relaxed);
        let (nodes, cache) = (vec![Node::default()], vec![(0, 0); 1 << 16]);
        let values = PLAYING.get().cloned().unwrap_or_default();
        Self { nodes, cache, values, setup, current: setup, ..Self::default() }
    }
    /// Begins a position, or its second evaluation.
    fn begin(&mut self, turned: bool) {
        if self.current == self.setup {
            self.permanent = self.nodes.len();
        }
        self.nodes.truncate(self.permanent);
        self.branches.clear();
        (self.current, self.recording, self.turned) = (GENERATIONS.fetch_add(1, Relaxed), true, turned);
    }
    /// Ends it; the node of the result.
    fn end(&mut self, result: Value) -> u32 {
        self.recording = false;
        self.load(result.0, Location::caller()).0
    }
    /// Takes numbers from a file in place of the source's.
    fn set_values(&mut self, values: Values) {
        self.values = values;
        for p in &mut self.parameters {
            p.value = p.numbers(&self.values);
        }
        for i in 1..self.nodes.len() {
            let n = self.nodes[i]; // a sum that was made before
            self.nodes[i].v = match n.op {
                Op::Constant => n.v,
                Op::Parameter => self.parameters[n.a as usize].value,
                op => self.compute(op, &n.k, n.site, self.nodes[n.a as usize].v, self.nodes[n.b as usize].v),
            };
        }
    }
    fn push(&mut self, n: Node) -> u32 {
        self.nodes.push(n);
        self.nodes.len() as u32 - 1
    }
    /// The node of a score (0: a constant) and its value.
    #[inline]
    fn load(&mut self, s: Score, at: Site) -> (u32, Two) {
        let playing = PLAYING.get().is_some();
        let (node, v) = match s.handle {
            Handle::Constant => return (0, s.v),
            Handle::Node(_, generation) if generation != self.current && generation != self.setup => refuse(
                at,
                "a score of an earlier position is used here (a cache?): leave caches out of this build",
            ),
            Handle::Node(node, _) => (node, self.nodes[node as usize].v),
            Handle::Literal(place) => {
                let i = self.parameter(place, &s);
                let Parameter { value, node: (node, generation), .. } = self.parameters[i as usize];
                if playing || generation == self.current || generation == self.setup {
                    (node, value)
                } else {
                    let node = self.push(Node { op: Op::Parameter, a: i, v: value, ..Node::default() });
                    self.parameters[i as usize].node = (node, self.current);
                    (node, value)
                }
            }
        };
        let signed = if s.negative { v.map(|x| -x) } else { v };
        if playing || !s.negative {
            return (if playing { 0 } else { node }, signed);
        }
        (self.push(Node { op: Op::Linear, a: node, k: [-1., 0., 0.], v: signed, ..Node::default() }), signed)
    }
    fn parameter(&mut self, place: Site, s: &Score) -> u32 {
        let address = std::ptr::from_ref(place).addr();
        let slot = (address >> 3) % self.cache.len();
        if self.cache[slot].0 != address {
            let new = self.parameters.len() as u32;
            let &mut i = self.by_place.entry(place).or_insert(new);
            if i == new {
                let mut p = Parameter { place, pair: s.pair, source: s.v, value: s.v, node: (0, 0) };
                p.value = p.numbers(&self.values);
                self.parameters.push(p);
            }
            self.cache[slot] = (address, i);
        }
        let (i, why) =
            (self.cache[slot].1, "this S or V stands for several numbers (in a macro, generic or loop)");
        if self.parameters[i as usize].source != s.v || self.parameters[i as usize].pair != s.pair {
            refuse(place, &format!("{why}: write S where the number stands"));
        }
        i
    }
    fn site(&mut self, at: Site) -> u32 {
        self.sites.iter().position(|s| std::ptr::eq(*s, at) || *s == at).unwrap_or_else(|| {
            self.sites.push(at);
            self.sites.len() - 1
        }) as u32
    }
    #[inline]
    fn compute(&self, op: Op, k: &[f64; 3], site: u32, [x, y]: Two, b: Two) -> Two {
        let bounded = |e: f64| {
            let c = if k[0] < f64::from(i32::MAX) { (b[0] + k[0]).min(0.) } else { b[0] };
            e + if e == 0. { 0. } else { e.signum() * c.max(-e.abs()) }
        };
        let factor = || b[0].max(k[0]).min(k[1]) / k[2];
        let positive = if x > k[0] { x.max(0.) } else { 0. };
        match op {
            Op::Linear => [k[0] * x + k[1] * b[0], k[0] * y + k[1] * b[1]],
            Op::Make => [x, b[0]],
            Op::Eg => [y; 2],
            Op::Relu => [positive; 2],
            Op::Relu2 => [positive * positive; 2],
            Op::Square => [x * x.abs(); 2],
            Op::Sigmoid => [k[1] / (1. + (-x / k[0]).exp()); 2],
            Op::Table => [line(&self.knots[&site], x); 2],
            Op::Product | Op::ProductPair => [x * b[0], x * b[1]],
            Op::BoundedMg => [bounded(x), y],
            Op::BoundedEg => [x, bounded(y)],
            Op::ScaleEg => [x, y * factor()],
            Op::Scale => [x * factor(); 2],
            Op::Taper => [(x * k[0] + y * (k[1] - k[0])) / k[1]; 2],
            Op::Constant | Op::Parameter | Op::Mg | Op::Sign => [x; 2],
        }
    }
}

/// Straight lines between knots.
fn line(knots: &[[i32; 2]], x: f64) -> f64 {
    let knot = |i: usize| knots[i].map(f64::from);
    match knots.iter().position(|k| x < f64::from(k[0])) {
        None => knot(knots.len() - 1)[1],
        Some(0) => knot(0)[1],
        Some(i) => {
            let ([a, b], [c, d]) = (knot(i - 1), knot(i));
            b + (d - b) * (x - a) / (c - a)
        }
    }
}
