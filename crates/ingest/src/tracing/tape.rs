//! The output of a program that traces itself: for each position its evaluation as a sum of numbers and verbs, with the
//! sums that each verb takes, and once a table of all numbers and verbs.

use serde::Deserialize;

use crate::trace::{Values, parse_number};

pub(super) type Two = [f64; 2];

#[derive(Deserialize)]
pub(super) struct Table {
    pub format: String,
    pub version: u32,
    pub numbers: Vec<Number>,
    pub verbs: Vec<Verb>,
}

#[derive(Deserialize)]
pub(super) struct Number {
    /// Its place in the source.
    pub at: String,
    pub prior: Values,
}

impl Number {
    pub(super) fn is_pair(&self) -> bool {
        matches!(self.prior, Values::Each(_))
    }
}

#[derive(Deserialize)]
pub(super) struct Verb {
    pub op: Op,
    pub at: String,
    /// `over`; `at_most`; `divide` and `one`; or the limits and `one` of a scale factor.
    pub constants: [f64; 3],
    /// x and y in turn.
    pub knots: Vec<f64>,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
pub(super) enum Op {
    Taper,
    Sign,
    Relu,
    Relu2,
    Square,
    Sigmoid,
    Table,
    Product,
    ProductPair,
    BoundedMg,
    BoundedEg,
    ScaleEg,
    Scale,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Leaf {
    Constant,
    Number(usize),
    Block(usize),
}

/// A number or verb in a sum, with its coefficients.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Entry {
    pub leaf: Leaf,
    /// Which value of a pair counts, 0 or 1, if not both in their own phases.
    pub part: Option<usize>,
    /// In the two values of the sum.
    pub by: Two,
}

pub(super) type Form = Vec<Entry>;

#[derive(Debug)]
pub(super) struct Block {
    pub verb: usize,
    /// The phase and the whole of a taper.
    pub taper: Two,
    /// Sums that it takes.
    pub takes: [usize; 2],
}

#[derive(Debug)]
pub(super) struct Branch {
    pub verb: usize,
    pub positive: bool,
    /// The sums of whose sign, or of that of whose endgame value.
    pub on: Vec<usize>,
}

#[derive(Debug, Default)]
pub(super) struct Tape {
    /// The first is the evaluation.
    pub forms: Vec<Form>,
    pub blocks: Vec<Block>,
    pub branches: Vec<Branch>,
}

impl Tape {
    fn new() -> Self {
        Self { forms: vec![Form::new()], ..Self::default() }
    }
    fn push(&mut self) -> usize {
        self.forms.push(Form::new());
        self.forms.len() - 1
    }

    fn is_sound(&self, table: &Table) -> bool {
        let leaves = self.forms.iter().flatten().all(|entry| match entry.leaf {
            Leaf::Constant => true,
            Leaf::Number(own) => own < table.numbers.len(),
            Leaf::Block(own) => own < self.blocks.len(),
        });
        let verbs = self.blocks.iter().map(|own| own.verb).chain(self.branches.iter().map(|own| own.verb));
        leaves && { verbs }.all(|verb| verb < table.verbs.len())
    }
}

/// Parses the tapes of a position: that of its evaluation, and if it has branches on the sign of a score, that with each
/// branch turned.
pub(super) fn parse(text: &[u8], table: &Table) -> Option<(Tape, Option<Tape>)> {
    let mut tapes: Vec<Tape> = vec![Tape::new()];
    for word in text.split(|&byte| byte == b' ').filter(|word| !word.is_empty()) {
        let (first, last) = match &mut tapes[..] {
            [last] => (None, last),
            [first, last] => (Some(&*first), last),
            _ => return None,
        };
        let mut rest = &word[1..];
        match word[0] {
            b'|' if rest == b"|" => tapes.push(Tape::new()),
            b'|' => {
                let (verb, mut taper) = (index(&mut rest)?, [0.0; 2]);
                for (own, mark) in taper.iter_mut().zip([b':', b',']) {
                    if let Some(after) = rest.strip_prefix(&[mark]) {
                        rest = after;
                        *own = number(&mut rest)?;
                    }
                }
                let own = last.push();
                last.blocks.push(Block { verb, taper, takes: [own; 2] });
            }
            b'/' => {
                let own = last.push();
                last.blocks.last_mut()?.takes[1] = own;
            }
            b'?' => {
                let verb = index(&mut rest)?;
                let positive = rest.first() == Some(&b'+');
                let numbers = rest.split(|&byte| byte == b',').skip(1);
                let on = numbers.map(|mut number| index(&mut number)).collect::<Option<_>>()?;
                last.branches.push(Branch { verb, positive, on });
            }
            b'=' => {
                let same = first?.forms.get(last.forms.len() - 1)?;
                last.forms.last_mut()?.clone_from(same);
            }
            _ => last.forms.last_mut()?.push(entry(word)?),
        }
    }
    let mut tapes = tapes.into_iter();
    let both = (tapes.next()?, tapes.next());
    (both.0.is_sound(table) && both.1.as_ref().is_none_or(|tape| tape.is_sound(table))).then_some(both)
}

/// `12:3`, `12m:3`, `v4:1,-1`, `c:5`.
fn entry(word: &[u8]) -> Option<Entry> {
    let mut rest = word;
    let leaf = if let Some(after) = rest.strip_prefix(b"c") {
        rest = after;
        Leaf::Constant
    } else if let Some(after) = rest.strip_prefix(b"v") {
        rest = after;
        Leaf::Block(index(&mut rest)?)
    } else {
        Leaf::Number(index(&mut rest)?)
    };
    let part = [b"m", b"e"].iter().position(|part| rest.starts_with(*part));
    rest = rest[usize::from(part.is_some())..].strip_prefix(b":")?;
    let x = number(&mut rest)?;
    let mut y = x;
    if let Some(after) = rest.strip_prefix(b",") {
        rest = after;
        y = number(&mut rest)?;
    }
    rest.is_empty().then_some(Entry { leaf, part, by: [x, y] })
}

fn index(rest: &mut &[u8]) -> Option<usize> {
    let end = rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len());
    let (digits, after) = rest.split_at(end);
    *rest = after;
    let value = digits.iter().fold(0, |value, byte| 10 * value + usize::from(byte - b'0'));
    (1..10).contains(&end).then_some(value)
}

fn number(rest: &mut &[u8]) -> Option<f64> {
    let end = rest.iter().position(|&byte| byte == b',').unwrap_or(rest.len());
    let (text, after) = rest.split_at(end);
    *rest = after;
    parse_number(text)
}
