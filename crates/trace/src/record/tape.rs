//! The tape that is printed: evaluations as sums of numbers and verbs, with the sums that each verb takes.

use super::{Node, Op, TAPE, Tape, Two, Value, refuse};
use std::fmt::Write as _;

/// What the two values of a node count in each of the two of a sum.
pub(super) type Shares = [Two; 2];
const VALUE: Shares = [[1., 0.], [0.; 2]];
const PAIR: Shares = [[1., 0.], [0., 1.]];

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
    let (has_branches, first) = TAPE.with_borrow_mut(|t| {
        let eval = t.nodes[root as usize].v[0];
        if !eval.is_finite() {
            refuse(t.sites[0], &format!("the evaluation is {eval}: {fen}"));
        }
        *out += " eval:";
        append(out, eval);
        (!t.branches.is_empty(), t.print(root, None, out))
    });
    if has_branches {
        let root = run(true)?;
        *out += " ||";
        TAPE.with_borrow_mut(|t| t.print(root, Some(&first), out));
    }
    Ok(true)
}

fn append(out: &mut String, x: f64) {
    let whole = x as i32;
    if f64::from(whole) != x {
        _ = write!(out, "{x}");
        return;
    }
    let (mut rest, mut digits) = (whole.unsigned_abs(), [0; 10]);
    for count in 1.. {
        digits[10 - count] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            *out += if whole < 0 { "-" } else { "" };
            digits[10 - count..].iter().for_each(|&digit| out.push(char::from(digit)));
            return;
        }
    }
}

impl Tape {
    fn add(&mut self, node: u32, shares: Shares, waiting: &mut usize) {
        if node == 0 || shares == [[0.; 2]; 2] {
            return;
        }
        let n = &mut self.nodes[node as usize];
        *waiting += usize::from(!n.waiting);
        n.waiting = true;
        n.shares = [0, 1].map(|j| [0, 1].map(|k| n.shares[j][k] + shares[j][k]));
    }
    /// The number of a verb in the table.
    fn verb(&mut self, op: Op, site: u32, k: [f64; 3]) -> f64 {
        let found = self.verbs.iter().position(|v| (v.0, v.1) == (op, site)).unwrap_or_else(|| {
            self.verbs.push((op, site, k));
            self.verbs.len() - 1
        });
        if self.verbs[found].2 != k {
            refuse(
                self.sites[site as usize],
                "the limits or divisors of this verb change: they must be constants",
            );
        }
        found as f64
    }
    /// NUMBER:COUNT, vVERB:COUNT and c:CONSTANT; NUMBERm and NUMBERe are one value of a pair. In a sum that is a pair there
    /// are two counts where they differ.
    fn sum(&mut self, from: u32, shares: Shares) -> String {
        let (mut out, mut constant, mut waiting) = (String::new(), [0.; 2], 0);
        let pair = shares[1] != [0.; 2];
        let mut put = |kind: &str, number: Option<usize>, part: &str, x: f64, y: f64| {
            if x == 0. && (y == 0. || !pair) {
                return;
            }
            out.push(' ');
            out += kind;
            number.iter().for_each(|&number| append(&mut out, number as f64));
            out += part;
            out.push(':');
            append(&mut out, x);
            if pair && x != y {
                out.push(',');
                append(&mut out, y);
            }
        };
        self.add(from, shares, &mut waiting);
        for i in (1..=from).rev() {
            if waiting == 0 {
                break;
            }
            let n = self.nodes[i as usize];
            if !n.waiting {
                continue;
            }
            self.nodes[i as usize] = Node { waiting: false, shares: Shares::default(), ..n };
            waiting -= 1;
            let ([x, y], [a, b, _]) = (n.shares, n.k);
            let mut add = |node, shares| self.add(node, shares, &mut waiting);
            let times = |k: f64| n.shares.map(|s| s.map(|s| s * k));
            match n.op {
                Op::Constant => {
                    let own = [x, y].map(|s| s[0] * n.v[0] + s[1] * n.v[1]);
                    constant = [constant[0] + own[0], constant[1] + own[1]];
                }
                Op::Linear => (add(n.a, times(a)), add(n.b, times(b))).0,
                Op::Make => (add(n.a, [[x[0], 0.], [y[0], 0.]]), add(n.b, [[x[1], 0.], [y[1], 0.]])).0,
                Op::Mg => add(n.a, n.shares),
                Op::Eg => add(n.a, [[0., x[0]], [0., y[0]]]),
                op => {
                    let (kind, number, is_pair) = match op {
                        Op::Parameter => ("", n.a as usize, self.parameters[n.a as usize].pair),
                        _ => ("v", self.block(i), (Op::ProductPair..Op::Scale).contains(&op)),
                    };
                    let number = Some(number);
                    match (is_pair, pair) {
                        (false, _) => put(kind, number, "", x[0], y[0]),
                        (true, true) => {
                            put(kind, number, "", x[0], y[1]);
                            put(kind, number, "m", 0., y[0]);
                            put(kind, number, "e", x[1], 0.);
                        }
                        (true, false) => {
                            put(kind, number, "m", x[0], 0.);
                            put(kind, number, "e", x[1], 0.);
                        }
                    }
                }
            }
        }
        put("c", None, "", constant[0], constant[1]);
        out
    }
    fn block(&mut self, node: u32) -> usize {
        self.blocks.iter().position(|&own| own == node).unwrap_or_else(|| {
            self.blocks.push(node);
            self.blocks.len() - 1
        })
    }
    /// The sum of the root, then |VERB with what it takes, and behind / what it takes besides; ?VERB+,4 or ?VERB-,4 is a
    /// branch on the sign of sum 4, or of its endgame value. A second tape of a position says = where a sum is that of the
    /// first in the same place. Returns the sums.
    fn print(&mut self, root: u32, first: Option<&[String]>, out: &mut String) -> Vec<String> {
        let (mut sums, mut of, mut done) = (Vec::new(), Vec::new(), 0);
        self.blocks.clear();
        let mut put = |t: &mut Self, node: u32, shares: Shares, out: &mut String| {
            let text = t.sum(node, shares);
            let known = first.and_then(|first| first.get(sums.len()));
            *out += if known == Some(&text) { " =" } else { &text };
            sums.push(text);
            of.push(node);
        };
        put(self, root, VALUE, out);
        while let Some(&node) = self.blocks.get(done) {
            let Node { op, a, b, k, site, .. } = self.nodes[node as usize];
            let taper = op == Op::Taper;
            *out += " |";
            append(out, self.verb(op, site, if taper { [0.; 3] } else { k }));
            if taper {
                _ = write!(out, ":{},{}", k[0], k[1]);
            }
            let pair = taper || (Op::BoundedMg..Op::Scale).contains(&op);
            put(self, a, if pair { PAIR } else { VALUE }, out);
            if op >= Op::Product {
                *out += " /";
                put(self, b, if op == Op::ProductPair { PAIR } else { VALUE }, out);
            }
            done += 1;
        }
        // Those of a second evaluation are known.
        for (node, positive, at) in std::mem::take(&mut self.branches).into_iter().filter(|_| first.is_none())
        {
            let (site, n) = (self.site(at), &self.nodes[node as usize]);
            let on = if n.op == Op::Eg { n.a } else { node };
            *out += " ?";
            append(out, self.verb(Op::Sign, site, [0.; 3]));
            out.push(if positive { '+' } else { '-' });
            for (own, _) in of.iter().enumerate().filter(|&(_, &own)| own == on || own == node) {
                out.push(',');
                append(out, own as f64);
            }
        }
        sums
    }
    /// What tapes count: numbers with their places, and verbs with theirs and what does not change there.
    pub(super) fn table(&self) -> String {
        let quoted = |s: String| format!("\"{}\"", s.replace('\\', "\\\\").replace('"', "\\\""));
        let list = |items: Vec<String>| items.join(",\n  ");
        let numbers = self.parameters.iter().map(|p| {
            let prior = if p.pair { format!("{:?}", p.value) } else { p.value[0].to_string() };
            format!("{{\"at\": {}, \"prior\": {prior}}}", quoted(p.place.to_string()))
        });
        let verbs = self.verbs.iter().map(|(op, site, k)| {
            let (at, knots) = (self.sites[*site as usize].to_string(), self.knots.get(site));
            let knots = knots.map(|knots| knots.concat()).unwrap_or_default();
            format!(
                "{{\"op\": \"{}\", \"at\": {}, \"constants\": {k:?}, \"knots\": {knots:?}}}",
                NAMES[*op as usize],
                quoted(at)
            )
        });
        format!(
            "{{\n\"format\": \"gputexel-tape\", \"version\": 1,\n\"numbers\": [{}],\n\"verbs\": [{}]\n}}\n",
            list(numbers.collect()),
            list(verbs.collect())
        )
    }
}

#[rustfmt::skip]
const NAMES: [&str; 19] = ["", "", "", "", "", "", "taper", "sign", "relu", "relu2", "square", "sigmoid", "table", "product",
    "product_pair", "bounded_mg", "bounded_eg", "scale_eg", "scale"];
