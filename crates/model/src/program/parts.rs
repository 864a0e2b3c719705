//! Parts of a program: the effect of each in a position, and the program without some of them.

use super::value::limited;
use super::{CompiledProgram, Input, Operator, Taper, Term};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Part {
    Term(usize),
    Adjustment(usize),
    Factor,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TermEffect {
    pub sum: f64,
    pub times: Option<f64>,
    /// Its contribution for this side, before Black's is subtracted from White's: centipawns.
    pub value: f64,
    /// True if it has a slope or a value there: x is where a `relu` and `over` let it pass.
    pub active: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdjustmentEffect {
    pub amount: f64,
    pub before: f64,
    /// True if the value would change its sign, so that the result is 0.
    pub cut: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FactorEffect {
    /// The side whose sum counts: 0 for White, 1 for Black; 0 if there is one for both.
    pub side: usize,
    /// The smallest of the sums, before it is limited; `None` if the position has none, and the factor is 1.
    pub sum: Option<f64>,
    pub factor: f64,
}

impl Term {
    /// True if the term has an effect at a sum, times another if it is a product, or would have one if they changed a
    /// little: a `relu` below 0, or a product of two sums that are 0, has none.
    pub fn active(&self, sum: f64, times: Option<f64>) -> bool {
        let (value, slope) = self.function(sum);
        value != 0.0 || slope * times.unwrap_or(1.0) != 0.0
    }

    /// True if there are sums for which the term is not [active](Self::active), whatever its knots.
    pub fn can_be_off(&self) -> bool {
        self.over.is_some() || self.times.is_some() || self.rectifies() || self.operator == Operator::Square
    }

    /// The sum above which the term has an effect; −∞ if it has one on both sides of a sum.
    pub fn threshold(&self) -> f64 {
        let over = self.over.unwrap_or(f64::NEG_INFINITY);
        if self.rectifies() { over.max(-self.shift) } else { over }
    }

    fn rectifies(&self) -> bool {
        matches!(self.operator, Operator::Relu | Operator::Relu2)
    }
}

impl CompiledProgram {
    /// All parts, in the order in which they are computed and [described](super::Program::formulas).
    pub fn parts(&self) -> Vec<Part> {
        let program = self.program();
        let terms = (0..program.terms.len()).map(Part::Term);
        let adjustments = (0..program.adjustments.len()).map(Part::Adjustment);
        terms.chain(adjustments).chain(program.factor.iter().map(|_| Part::Factor)).collect()
    }

    pub fn inputs_of(&self, part: Part) -> Vec<Input> {
        let program = self.program();
        match part {
            Part::Term(index) => {
                let term = &program.terms[index];
                std::iter::once(term.input).chain(term.times).collect()
            }
            Part::Adjustment(index) => vec![program.adjustments[index].by],
            Part::Factor => program.factor.iter().flat_map(|factor| factor.by.clone()).collect(),
        }
    }

    /// The program without some of its parts, for the same columns; unused sums are kept.
    #[must_use]
    pub fn without(&self, parts: &[Part]) -> Self {
        let mut rest = self.clone();
        let program = &mut rest.program;
        let kept = |part: Part| !parts.contains(&part);
        let terms = std::mem::take(&mut program.terms).into_iter().enumerate();
        program.terms = terms.filter(|(i, _)| kept(Part::Term(*i))).map(|(_, term)| term).collect();
        let adjustments = std::mem::take(&mut program.adjustments).into_iter().enumerate();
        program.adjustments = adjustments
            .filter(|(i, _)| kept(Part::Adjustment(*i)))
            .map(|(_, adjustment)| adjustment)
            .collect();
        if parts.contains(&Part::Factor) {
            program.factor = None;
        }
        rest.order_inner_terms();
        rest
    }

    /// The effects of a term: for White and for Black, or once if its sum is that of both. `None` for a side
    /// that has no entries of its inputs.
    pub fn term_effects(&self, term: &Term, sums: &[[f64; 2]], present: u32) -> [Option<TermEffect>; 2] {
        let mut room = None;
        let (sums, present) = self.with_inner(sums, present, &mut room);
        let mut effects = [None; 2];
        for (x, y, sign) in self.sides(term, present) {
            let (sum, times) = (sums[x.0][x.1], y.map(|y| sums[y.0][y.1]));
            let value = term.function(sum).0 * times.unwrap_or(1.0);
            effects[usize::from(sign < 0.0)] =
                Some(TermEffect { sum, times, value, active: term.active(sum, times) });
        }
        effects
    }

    /// The effect of each adjustment; `None` for those whose sum has no entries.
    pub fn adjustment_effects(
        &self,
        sums: &[[f64; 2]],
        present: u32,
        taper: Taper,
    ) -> Vec<Option<AdjustmentEffect>> {
        let mut room = None;
        let (sums, present) = self.with_inner(sums, present, &mut room);
        let forward = self.forward(sums, present, taper);
        let adjustments = self.program().adjustments.iter().enumerate();
        let effect = |(index, adjustment): (usize, &super::Adjustment)| {
            let (slot, phase) = self.slot(adjustment.by, 0);
            (present >> slot & 1 == 1).then(|| {
                let before: f64 = forward.before[index];
                let amount = limited(sums[slot][phase], adjustment.at_most).0;
                AdjustmentEffect { amount, before, cut: before != 0.0 && amount <= -before.abs() }
            })
        };
        adjustments.map(effect).collect()
    }

    pub fn factor_effect(&self, sums: &[[f64; 2]], present: u32, taper: Taper) -> Option<FactorEffect> {
        let factor = self.program().factor.as_ref()?;
        let mut room = None;
        let (sums, present) = self.with_inner(sums, present, &mut room);
        let forward = self.forward(sums, present, taper);
        let side = self.stronger_side(factor, forward.strength);
        let sum = self.smallest(&factor.by, side, sums, present);
        Some(FactorEffect { side, sum, factor: forward.factor })
    }
}
