//! Play near a bound, where there is no room for a perturbation on both sides.

use serde::{Deserialize, Serialize};

/// Meaning of a pair near a bound for a parameter, where it is not that of its two values.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct NearBound {
    pub i: usize,
    pub middle: f64,
    /// Half the way from the minus to the plus side as it counts for the methods that have a model: ±A.
    pub half: f64,
    /// The same for those that take steps: ±c √(c / A).
    pub step: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Placement {
    Around { c: f64, reach: Option<f64> },
    Points(Points),
}

/// Two of three points, and the weight of the pair when the plus side has the upper one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Points {
    pub upper: f64,
    pub lower: f64,
    pub half: f64,
    /// ±c √(c / A).
    pub step: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Range {
    pub min: f64,
    pub max: f64,
    pub whole: Option<(f64, f64)>,
}

/// How long a step of SPSA is, less R y, of a pair whose half way counts as `half`, more than 0.
#[inline(always)]
pub(crate) fn step_length(reach: f64, half: f64) -> f64 {
    if half >= reach { half } else { reach * (reach / half).sqrt() }
}

/// Number from 0 to 1 that chooses which of two pairs an iteration, from 1, plays of a parameter. (Fractions
/// of multiples of the golden section, shifted from parameter to parameter by those of the plastic number.)
#[inline(always)]
pub(crate) fn turn(k: u64, i: usize) -> f64 {
    let whole = (k as u32).wrapping_mul(0x9E37_79B9).wrapping_add((i as u32).wrapping_mul(0xC13F_A9A9));
    f64::from(whole) / 4_294_967_296.0
}

impl Range {
    #[inline(always)]
    pub fn room(&self, theta: f64) -> f64 {
        (theta - self.min).min(self.max - theta)
    }

    /// Values played around `theta` with the perturbation `c`; `turn` is from 0 to 1.
    pub fn placement(&self, theta: f64, c: f64, turn: f64) -> Placement {
        let room = self.room(theta);
        if room >= c {
            return Placement::Around { c, reach: None };
        }
        let reach = c.min((self.max - self.min) / 2.0);
        let around = Placement::Around { c: room.max(0.25 * reach), reach: Some(reach) };
        if room >= reach / 2.0 {
            return around;
        }
        self.points(theta, reach, turn).map_or(around, Placement::Points)
    }

    /// `None` where whole numbers leave only two.
    fn points(&self, theta: f64, reach: f64, turn: f64) -> Option<Points> {
        let (min, max) = self.whole.unwrap_or((self.min, self.max));
        let below = theta - self.min <= self.max - theta;
        let (edge, inward) = if below { (min, 1.0) } else { (max, -1.0) };
        // Distances from the edge.
        let (near, far) = match self.whole {
            None => (reach, (2.0 * reach).min(max - min)),
            Some(_) if max - min < 2.0 => return None,
            Some(_) => {
                let near = reach.round().clamp(1.0, max - min - 1.0);
                (near, (2.0 * reach).round().clamp(near + 1.0, max - min))
            }
        };
        let at = (theta - edge) * inward;
        let (d1, o1) = (near / 2.0, (near / 2.0 - at).max(0.0));
        let (d2, o2) = ((far - near) / 2.0, (near + far) / 2.0 - at);
        let share = d1 * o1 / (d1 * o1 + d2 * o2);
        let half = (1.0 - share) * d1 - share * d2;
        let step = step_length(reach, half);
        let (a, b, sign) = if turn < share { (near, far, -1.0) } else { (0.0, near, 1.0) };
        let (a, b) = ((edge + inward * a).clamp(min, max), (edge + inward * b).clamp(min, max));
        Some(Points { upper: a.max(b), lower: a.min(b), half: sign * half, step: sign * step })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANGE: Range = Range { min: 0.0, max: 400.0, whole: None };

    /// Means over turns of w y / (4 κ) and of d w, for a parabola with its best value at `best`.
    fn mean(range: &Range, theta: f64, c: f64, best: f64) -> (f64, f64) {
        let turns = 100_000;
        let one = |k: u64| match range.placement(theta, c, turn(k, 3)) {
            Placement::Around { c, .. } => (c * (best - theta), c),
            Placement::Points(p) => {
                assert!(
                    (range.min..=range.max).contains(&p.lower) && p.upper <= range.max && p.lower < p.upper
                );
                let y = (p.upper - p.lower) / 2.0 * (best - (p.upper + p.lower) / 2.0);
                (p.half.signum() * y, p.half.abs())
            }
        };
        let sum = (1..=turns).map(one).fold((0.0, 0.0), |(y, a), (dy, da)| (y + dy, a + da));
        (sum.0 / turns as f64, sum.1 / turns as f64)
    }

    #[test]
    fn pairs_near_a_bound_are_about_the_value_itself() {
        let whole = Range { min: -3.5, max: 60.2, whole: Some((-3.0, 60.0)) };
        for best in [-50.0, 0.0, 20.0, 80.0, 500.0] {
            for (range, c, thetas) in [
                (RANGE, 100.0, [0.0, 10.0, 49.0, 390.0, 400.0]),
                (RANGE, 300.0, [0.0, 30.0, 99.0, 200.0, 350.0]),
                (whole, 7.3, [-3.0, -2.2, -0.4, 58.1, 60.0]),
                (whole, 0.4, [-3.0, -2.9, -2.95, 59.9, 60.0]),
            ] {
                for theta in thetas {
                    let (y, half) = mean(&range, theta, c, best);
                    let off = y / half - (best - theta);
                    // The sequence of turns leaves some thousandths of the share.
                    assert!(off.abs() < 0.02 * c, "{theta} in {range:?} with {c}: off by {off}");
                }
            }
        }
    }

    #[test]
    fn halves_are_those_of_the_formulas() {
        let half = |theta: f64| match RANGE.placement(theta, 100.0, 0.99) {
            Placement::Around { c, .. } => c,
            Placement::Points(p) => p.half,
        };
        for (theta, expected) in [
            (0.0, 25.0),
            (25.0, 1e4 / 300.0),
            (375.0, 1e4 / 300.0),
            (50.0, 50.0),
            (70.0, 70.0),
            (100.0, 100.0),
            (200.0, 100.0),
        ] {
            assert!((half(theta) - expected).abs() < 1e-9, "{theta}: {}", half(theta));
        }
        // Speed and variance relative to elsewhere: √(A / c) and c / A.
        let Placement::Points(p) = RANGE.placement(0.0, 100.0, 0.1) else { panic!() };
        assert_eq!((p.lower, p.upper, p.half, p.step), (100.0, 200.0, -25.0, -200.0));
        assert_eq!(step_length(100.0, 100.0), 100.0);
    }

    #[test]
    fn nothing_changes_away_from_bounds() {
        for theta in [100.0, 250.0, 300.0] {
            let expected = Placement::Around { c: 100.0, reach: None };
            assert_eq!(RANGE.placement(theta, 100.0, 0.1), expected);
        }
        let only_two = Range { min: 0.0, max: 1.0, whole: Some((0.0, 1.0)) };
        let played = only_two.placement(0.0, 3.0, 0.1);
        assert_eq!(played, Placement::Around { c: 0.125, reach: Some(0.5) });
    }
}
