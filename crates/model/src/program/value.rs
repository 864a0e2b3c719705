//! Scores of a program, and their slopes by the sums that they are computed from.
//!
//! At kinks, slopes take one side: a `relu` has no slope at 0, and a factor has its full slope at its limits, so that it
//! can leave them. Jumps (a gate, an adjustment where the value changes sign) have none.

use super::{
    Adjustment, CompiledProgram, Factor, FactorTarget, Input, LINEAR, MAX_ADJUSTMENTS, MAX_SLOTS, Operator,
    Scalar, Term,
};

/// Shares of the middlegame and the endgame value in a score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Taper {
    pub mg: f64,
    /// Share of the endgame value, with the position's own endgame scale factor.
    pub eg: f64,
}

pub(super) struct Forward<T> {
    pub(super) before: [T; MAX_ADJUSTMENTS],
    pub(super) factor: T,
    /// Number whose sign determines the stronger side for the factor.
    pub(super) strength: T,
    score: T,
}

impl CompiledProgram {
    /// The score without the position's constant part: centipawns, White's view. `sums` has the middlegame and
    /// the endgame value of each slot, `present` a bit for each slot of which the row has entries.
    #[inline(always)]
    pub fn score<T: Scalar>(&self, sums: &[[T; 2]], present: u32, taper: Taper) -> T {
        let mut room = None;
        let (sums, present) = self.with_inner(sums, present, &mut room);
        self.forward(sums, present, taper).score
    }

    /// The sums, and which are present, after terms were added that go into sums: in `room`, if there are any.
    #[inline(always)]
    pub fn with_inner<'a, T: Scalar>(
        &self,
        sums: &'a [[T; 2]],
        mut present: u32,
        room: &'a mut Option<[[T; 2]; MAX_SLOTS]>,
    ) -> (&'a [[T; 2]], u32) {
        if self.inner_terms().is_empty() {
            return (sums, present);
        }
        let all = room.insert([[T::zero(); 2]; MAX_SLOTS]);
        all[..self.slots()].copy_from_slice(&sums[..self.slots()]);
        for &index in self.inner_terms() {
            let term = &self.program().terms[index];
            for (x, y, sign) in self.sides(term, present) {
                let value = term.value(all[x.0][x.1], y.map(|y| all[y.0][y.1]));
                if let Some((slot, phase)) = self.inside(term, sign) {
                    all[slot][phase] = all[slot][phase] + value;
                    present |= 1 << slot;
                }
            }
        }
        (all, present)
    }

    /// The sum that a term of a side goes into; `None` if it is added to the score.
    #[inline(always)]
    fn inside(&self, term: &Term, sign: f64) -> Option<Slot> {
        let input = |accumulator| Input { accumulator, phase: term.target };
        term.into.map(|accumulator| self.slot(input(accumulator), usize::from(sign < 0.0)))
    }

    #[inline(always)]
    pub fn score_and_slopes<T: Scalar>(
        &self,
        sums: &[[T; 2]],
        present: u32,
        taper: Taper,
        slopes: &mut [[T; 2]],
    ) -> T {
        let mut room = None;
        let (sums, present) = self.with_inner(sums, present, &mut room);
        let forward = self.forward(sums, present, taper);
        let slopes = &mut slopes[..self.slots()];
        slopes.fill([T::zero(); 2]);
        let (mg_share, eg_share) = (T::constant(taper.mg), T::constant(taper.eg));
        let mut values = [mg_share, eg_share];
        if let Some(factor) = &self.program().factor {
            let by_factor = match factor.target {
                FactorTarget::Eg => {
                    values[1] = eg_share * forward.factor;
                    eg_share * forward.strength
                }
                FactorTarget::Score => {
                    values = [mg_share * forward.factor, eg_share * forward.factor];
                    forward.strength
                }
            };
            self.factor_slopes(sums, present, forward.strength, by_factor, slopes);
        }
        for (index, adjustment) in self.program().adjustments.iter().enumerate().rev() {
            let Adjustment { target, by, at_most } = *adjustment;
            let (slot, phase) = self.slot(by, 0);
            if present >> slot & 1 == 0 {
                continue;
            }
            let before = forward.before[index];
            let (limited, by_limited) = limited(sums[slot][phase], at_most);
            // Inside: e + sgn(e) C. Otherwise the result is 0 for any e and C.
            let inside = limited.above(-before.magnitude());
            let outer = values[target as usize];
            values[target as usize] = T::select(inside, outer, T::zero());
            let own = T::select(inside, outer * before.sign() * by_limited, T::zero());
            slopes[slot][phase] = slopes[slot][phase] + own;
        }
        for term in self.program().terms.iter().filter(|term| term.into.is_none()) {
            self.term_slopes(term, sums, present, values[term.target as usize], slopes);
        }
        for &index in self.inner_terms().iter().rev() {
            self.term_slopes(&self.program().terms[index], sums, present, T::zero(), slopes);
        }
        for (slope, value) in slopes[LINEAR].iter_mut().zip(values) {
            *slope = *slope + value;
        }
        forward.score
    }

    #[inline(always)]
    pub(super) fn forward<T: Scalar>(&self, sums: &[[T; 2]], present: u32, taper: Taper) -> Forward<T> {
        let mut values = sums[LINEAR];
        for term in self.program().terms.iter().filter(|term| term.into.is_none()) {
            let target = &mut values[term.target as usize];
            *target = *target + self.term(term, sums, present);
        }
        let mut before = [T::zero(); MAX_ADJUSTMENTS];
        for (index, Adjustment { target, by, at_most }) in self.program().adjustments.iter().enumerate() {
            let (slot, phase) = self.slot(*by, 0);
            if present >> slot & 1 == 0 {
                continue;
            }
            let value = &mut values[*target as usize];
            before[index] = *value;
            let (limited, _) = limited(sums[slot][phase], *at_most);
            *value = *value + value.sign() * limited.larger(-value.magnitude());
        }
        let (mg_share, eg_share) = (T::constant(taper.mg), T::constant(taper.eg));
        let tapered = |eg: T| mg_share * values[0] + eg_share * eg;
        let Some(factor) = &self.program().factor else {
            let score = tapered(values[1]);
            return Forward { before, factor: T::one(), strength: score, score };
        };
        match factor.target {
            FactorTarget::Eg => {
                let factor = self.factor(sums, present, values[1]);
                let score = tapered((values[1] * factor).truncated(1.0));
                Forward { before, factor, strength: values[1], score }
            }
            FactorTarget::Score => {
                let tapered = tapered(values[1]);
                let factor = self.factor(sums, present, tapered);
                let score = tapered.truncated(1.0) * factor;
                Forward { before, factor, strength: tapered, score }
            }
        }
    }

    #[inline(always)]
    pub(super) fn sides(&self, term: &Term, present: u32) -> impl Iterator<Item = (Slot, Option<Slot>, f64)> {
        let sides = self.slots_of(term.input.accumulator).len();
        let sides = [(0, 1.0), (1, -1.0)].into_iter().take(sides);
        let (input, times) = (term.input, term.times);
        sides.filter_map(move |(side, sign)| {
            let x = self.slot(input, side);
            let y = times.map(|times| self.slot(times, side));
            let has = |slot: Slot| present >> slot.0 & 1 == 1;
            (has(x) && y.is_none_or(has)).then_some((x, y, sign))
        })
    }

    #[inline(always)]
    fn term<T: Scalar>(&self, term: &Term, sums: &[[T; 2]], present: u32) -> T {
        let mut total = T::zero();
        for (x, y, sign) in self.sides(term, present) {
            let value = term.value(sums[x.0][x.1], y.map(|y| sums[y.0][y.1]));
            total = total + value * T::constant(sign);
        }
        total
    }

    #[inline(always)]
    fn term_slopes<T: Scalar>(
        &self,
        term: &Term,
        sums: &[[T; 2]],
        present: u32,
        outer: T,
        slopes: &mut [[T; 2]],
    ) {
        for (x, y, sign) in self.sides(term, present) {
            let outer = match self.inside(term, sign) {
                Some((slot, phase)) => slopes[slot][phase],
                None => outer * T::constant(sign),
            };
            let (value, slope) = term.function(sums[x.0][x.1]);
            let by_x = match y {
                None => slope,
                Some(y) => {
                    slopes[y.0][y.1] = slopes[y.0][y.1] + outer * value;
                    slope * sums[y.0][y.1]
                }
            };
            slopes[x.0][x.1] = slopes[x.0][x.1] + outer * by_x;
        }
    }

    #[inline(always)]
    fn factor<T: Scalar>(&self, sums: &[[T; 2]], present: u32, strength: T) -> T {
        let factor = self.program().factor.as_ref().expect("asked for");
        let of = |side: usize| match self.smallest(&factor.by, side, sums, present) {
            Some(sum) => {
                let clamped = sum.larger(T::constant(factor.min)).smaller(T::constant(factor.max));
                clamped * T::constant(1.0 / factor.one)
            }
            None => T::one(),
        };
        T::select(T::zero().above(strength), of(1), of(0))
    }

    #[inline(always)]
    pub(super) fn smallest<T: Scalar>(
        &self,
        by: &[Input],
        side: usize,
        sums: &[[T; 2]],
        present: u32,
    ) -> Option<T> {
        let mut least: Option<T> = None;
        for &input in by {
            let (slot, phase) = self.slot(input, side);
            if present >> slot & 1 == 1 {
                let sum = sums[slot][phase];
                least = Some(least.map_or(sum, |other| other.smaller(sum)));
            }
        }
        least
    }

    #[inline(always)]
    fn factor_slopes<T: Scalar>(
        &self,
        sums: &[[T; 2]],
        present: u32,
        strength: T,
        outer: T,
        slopes: &mut [[T; 2]],
    ) {
        let factor = self.program().factor.as_ref().expect("asked for");
        let (low, high) = (T::constant(factor.min), T::constant(factor.max));
        let outer = outer * T::constant(1.0 / factor.one);
        let black = T::zero().above(strength);
        let (zero, sides) = (T::zero(), self.slots_of(factor.by[0].accumulator).len());
        for side in 0..sides {
            let Some(least) = self.smallest(&factor.by, side, sums, present) else { continue };
            let mut outer = match (sides, side) {
                (1, _) => outer,
                (_, 0) => T::select(black, zero, outer),
                _ => T::select(black, outer, zero),
            };
            // Limits included: a sum that starts at its maximum must be able to leave it.
            outer = T::select(low.above(least), zero, T::select(least.above(high), zero, outer));
            for &input in &factor.by {
                let (slot, phase) = self.slot(input, side);
                if present >> slot & 1 == 1 {
                    // Of equal alternatives the first has the slope.
                    let own = T::select(sums[slot][phase].above(least), zero, outer);
                    slopes[slot][phase] = slopes[slot][phase] + own;
                    outer = outer - own;
                }
            }
        }
    }

    /// The side whose sum is the factor: 0 for White, 1 for Black; 0 if there is one sum for both.
    pub(super) fn stronger_side(&self, factor: &Factor, strength: f64) -> usize {
        usize::from(self.slots_of(factor.by[0].accumulator).len() == 2 && strength < 0.0)
    }
}

pub(super) type Slot = (usize, usize);

#[inline(always)]
pub(super) fn limited<T: Scalar>(sum: T, at_most: Option<f64>) -> (T, T) {
    match at_most {
        None => (sum, T::one()),
        Some(k) => {
            let shifted = sum + T::constant(k);
            let over = shifted.above(T::zero());
            (T::select(over, T::zero(), shifted), T::select(over, T::zero(), T::one()))
        }
    }
}

impl Term {
    /// f(x), times y if it is a product.
    #[inline(always)]
    fn value<T: Scalar>(&self, x: T, y: Option<T>) -> T {
        let value = self.function(x).0;
        let whole = (self.scale / self.divide).fract() == 0.0;
        let (inner, outer) = match self.operator {
            Operator::Identity | Operator::Relu | Operator::Table(_) => (0.0, f64::from(u8::from(!whole))),
            Operator::Relu2 | Operator::Square => (self.scale.abs(), 1.0),
            Operator::Sigmoid => ((self.scale / self.steps).abs(), 1.0),
        };
        match y {
            None => value.truncated(inner + outer),
            Some(y) => (value.truncated(inner) * y).truncated(outer),
        }
    }

    #[inline(always)]
    pub fn function<T: Scalar>(&self, sum: T) -> (T, T) {
        let mut x = sum + T::constant(self.shift);
        let mut scale = self.scale;
        if self.operator.divides_argument() {
            x = x * T::constant(1.0 / self.divide);
        } else {
            scale /= self.divide;
        }
        let (zero, one) = (T::zero(), T::one());
        let (value, slope) = match &self.operator {
            Operator::Identity => (x, one),
            Operator::Relu => {
                let on = x.above(zero);
                (T::select(on, x, zero), T::select(on, one, zero))
            }
            Operator::Relu2 => {
                let on = T::select(x.above(zero), x, zero);
                (on * on, on + on)
            }
            Operator::Square => {
                let magnitude = x.magnitude();
                (x * magnitude, magnitude + magnitude)
            }
            Operator::Sigmoid => {
                let value = x.sigmoid();
                (value, value * (one - value) * T::constant(1.0 / self.divide))
            }
            Operator::Table(knots) => table(knots, x, 1.0 / self.divide),
        };
        let scale = T::constant(scale);
        let (value, slope) = (value * scale, slope * scale);
        match self.over {
            None => (value, slope),
            Some(over) => {
                let on = sum.above(T::constant(over));
                (T::select(on, value, zero), T::select(on, slope, zero))
            }
        }
    }
}

/// The piecewise linear function of the knots, and its slope times `inner`.
#[inline(always)]
fn table<T: Scalar>(knots: &[[f64; 2]], x: T, inner: f64) -> (T, T) {
    let [first, .., last] = knots else { unreachable!("a table has two knots or more") };
    let mut value = T::constant(first[1]);
    let mut slope = T::zero();
    for pair in knots.windows(2) {
        let [[x0, y0], [x1, y1]] = [pair[0], pair[1]];
        let rise = (y1 - y0) / (x1 - x0);
        let on = x.above(T::constant(x0));
        value = T::select(
            on,
            T::constant(y0) + ((x - T::constant(x0)) * T::constant(rise)).truncated(1.0),
            value,
        );
        slope = T::select(on, T::constant(rise * inner), slope);
    }
    let beyond = x.above(T::constant(last[0]));
    (T::select(beyond, T::constant(last[1]), value), T::select(beyond, T::zero(), slope))
}
