//! Functions of sums, and which of them share a sum.

use super::{Argument, DEEPEST, Entries, Entry, Leaf, Op, Refusal, Role, Rows, Sum, Tape, Term, Two};

/// A function of a position, before it is known with which others it shares a sum.
struct Function {
    term: Term,
    black: bool,
    of: Argument,
    by: Option<Argument>,
}

impl Rows<'_> {
    /// Functions that are added to the score, or to a sum of a side.
    pub(super) fn put_functions(
        &mut self,
        tape: &Tape,
        to: &mut Entries,
        calls: &[(usize, Two)],
        into: Option<(usize, bool)>,
    ) -> Refusal<()> {
        let mut functions: Vec<Function> = Vec::new();
        for &(own, share) in calls.iter().rev() {
            functions.push(self.function(tape, own, share, into)?); // in the order of evaluation
        }
        while !functions.is_empty() {
            let first = functions.remove(0);
            let mut terms = vec![first.term];
            functions.retain(|other| {
                let joins = self.takes_the_same(&first, other);
                terms.extend(joins.then_some(other.term));
                !joins
            });
            let Some(sum) = self.put_terms(to, &first, terms)? else { continue };
            if self.depth(sum) > DEEPEST {
                let what = "functions of functions of functions, deeper than 6 (max and min are some, and so is each \
                            pass of a loop)";
                return self.refuse(first.term.call.0, what);
            }
            self.put_functions(tape, to, &first.of.calls, Some((sum, first.black)))?;
            let by = first.by.iter().flat_map(|by| by.calls.iter().copied());
            self.put_functions(tape, to, &by.collect::<Vec<_>>(), Some((sum + 1, first.black)))?;
        }
        Ok(())
    }

    /// A call of a verb that counts so much; what goes into a sum is of its side.
    fn function(
        &mut self,
        tape: &Tape,
        own: usize,
        [m, e]: Two,
        into: Option<(usize, bool)>,
    ) -> Refusal<Function> {
        let (mut block, [mut of, mut by]) = (&tape.blocks[own], tape.blocks[own].takes);
        let product = block.verb;
        let mut times = match self.op(block.verb) {
            Op::Product => 1,
            Op::ProductPair => 2,
            _ => 0,
        };
        let inner = |form: usize| match tape.forms[form][..] {
            [Entry { leaf: Leaf::Block(own), by, .. }]
                if (Op::Relu..=Op::Table).contains(&self.op(tape.blocks[own].verb)) =>
            {
                Some((&tape.blocks[own], by[0]))
            }
            _ => None,
        };
        if times == 1 && inner(of).is_none() {
            (of, by) = if inner(by).is_some() { (by, of) } else { (of, by) };
        }
        let mut share = [m, e];
        if times > 0
            && let Some((function, count)) = inner(of)
        {
            (block, of) = (function, function.takes[0]);
            share = share.map(|to| to * count);
        }
        let black = into.map_or(share[usize::from(share[0] == 0.0)] < 0.0, |into| into.1);
        let into = into.map(|into| into.0);
        let call = *self.calls.entry((block.verb, black, into)).and_modify(|count| *count += 1).or_insert(0);
        let of = self.argument(tape, of, false, block.verb)?;
        let mut by = if times == 0 { None } else { Some(self.argument(tape, by, times == 2, product)?) };
        let mut to = if black && into.is_none() { share.map(|to| -to) } else { share };
        if self.known.verbs.contains(&(block.verb, block.verb)) {
            // Its factor is another sum, of a constant or what it is multiplied by.
            let (size, one) = (to[usize::from(to[0] == 0.0)], to.map(|to| f64::from(u8::from(to != 0.0))));
            match &mut by {
                None => {
                    by = Some(Argument { constant: to, ..Argument::default() });
                    (to, times) = ([1.0; 2], 2);
                }
                Some(by) if to == one.map(|one| one * size) => {
                    by.numbers.iter_mut().for_each(|number| number.1 *= size);
                    by.constant = by.constant.map(|x| x * size);
                    to = one;
                }
                Some(_) => {}
            }
        }
        let term = Term {
            call: (block.verb, call, into),
            value: of.phase,
            to,
            times,
            by: by.as_ref().and_then(|by| by.phase),
        };
        Ok(Function { term, black, of, by })
    }

    /// Tells whether another function takes the same sum, or the other value of the same pairs.
    fn takes_the_same(&self, a: &Function, b: &Function) -> bool {
        let is = |a: &Argument, b: &Argument| {
            let same = (&a.numbers, &a.calls, a.constant) == (&b.numbers, &b.calls, b.constant);
            same && a.phase.is_none() == b.phase.is_none()
        };
        let both = [a.term.call.0, b.term.call.0];
        let pair = (both[0].min(both[1]), both[0].max(both[1]));
        both[0] != both[1]
            && !self.known.verbs.contains(&pair)
            && (a.black, a.term.times) == (b.black, b.term.times)
            && is(&a.of, &b.of)
            && a.by.iter().zip(&b.by).all(|(a, b)| is(a, b))
    }

    /// Returns the sum that they take, unless it is not what it was in positions before.
    fn put_terms(&mut self, to: &mut Entries, first: &Function, terms: Vec<Term>) -> Refusal<Option<usize>> {
        let homes: Vec<Option<usize>> =
            terms.iter().map(|term| self.homes.get(&term.call).copied()).collect();
        let sum = match homes[0] {
            _ if homes.iter().all(Option::is_none) => {
                let own = self.sums.len();
                self.homes.extend(terms.iter().map(|term| (term.call, own)));
                self.sums.push(Sum::new(Role::Terms(terms.clone())));
                self.sums.extend((first.term.times > 0).then(|| Sum::new(Role::Factor)));
                own
            }
            Some(own) if self.agrees(own, &terms) => own,
            _ => {
                // They are apart from now on, in a second reading.
                let first = terms[0].call.0;
                let mut groups = vec![terms];
                for own in homes.into_iter().flatten() {
                    if let Role::Terms(terms) = &self.sums[own].role {
                        groups.push(terms.clone());
                    }
                }
                let pairs = groups
                    .iter()
                    .flat_map(|group| group[1..].iter().map(|other| (group[0].call.0, other.call.0)));
                let mut apart: Vec<(usize, usize)> = pairs.map(|(a, b)| (a.min(b), a.max(b))).collect();
                if apart.is_empty() {
                    apart.push((first, first));
                }
                if apart.iter().all(|own| self.known.verbs.contains(own)) {
                    return self
                        .refuse(first, "this counts otherwise than in positions before (sign or phase)");
                }
                self.found.verbs.extend(apart);
                return Ok(None);
            }
        };
        let Role::Terms(terms) = &self.sums[sum].role else { return Ok(None) };
        // Of 0 not 0.
        let present = terms.iter().any(|term| matches!(self.op(term.call.0), Op::Sigmoid | Op::Table));
        let one = |value: fn(&Term) -> Option<usize>| {
            value(&terms[0]).filter(|_| terms.iter().all(|term| value(term) == value(&terms[0])))
        };
        let (of, by) = (one(|term| term.value), one(|term| term.by));
        let black = usize::from(first.black);
        self.sums[sum].phase = of;
        self.put(to, &Argument { phase: of, ..first.of.clone() }, present, sum, black);
        if let Some(own) = &first.by {
            self.sums[sum + 1].phase = by;
            self.put(to, &Argument { phase: by, ..own.clone() }, false, sum + 1, black);
        }
        Ok(Some(sum))
    }

    /// Tells whether a sum has these terms; a term without phases takes them from positions that have.
    fn agrees(&mut self, own: usize, terms: &[Term]) -> bool {
        let Role::Terms(known) = &mut self.sums[own].role else { return false };
        let same = known.len() == terms.len()
            && known.iter().zip(terms).all(|(a, b)| {
                let fits = |a: Option<usize>, b: Option<usize>| a.is_none() || b.is_none() || a == b;
                (a.call, a.to, a.times) == (b.call, b.to, b.times)
                    && fits(a.value, b.value)
                    && fits(a.by, b.by)
            });
        if same {
            for (a, b) in known.iter_mut().zip(terms) {
                (a.value, a.by) = (a.value.or(b.value), a.by.or(b.by));
            }
        }
        same
    }
}
