//! What is tuned: a named number within bounds, and the values that the two sides play with.

use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};

use super::bounds::Range;
use gputexel_io::{Error, Result};

/// A parameter to be tuned, with its own settings of the methods.
///
/// Settings that a method needs and that are missing are refused when the method starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variable {
    pub name: String,
    pub start: f64,
    pub min: f64,
    pub max: f64,
    /// True if engines are given whole numbers, as they are where nothing is said. The tuned value itself stays a
    /// fraction.
    #[serde(default = "yes")]
    pub integer: bool,
    /// Half the distance of the two sides at the last iteration, in units of the parameter.
    pub c_end: f64,
    /// SPSA's gain a/c² at the last iteration; zamar's `r_end`.
    pub r_end: Option<f64>,
    /// Standard deviation of what is believed of the optimum before the first game, around the start;
    pub s: Option<f64>,
    /// Width of the curve of strength around its optimum;
    pub sigma: Option<f64>,
    /// Elo lost at a distance of 100 from the optimum, for simulations; 0 where unknown.
    #[serde(default)]
    pub simul_elo: f64,
}

pub(crate) const fn yes() -> bool {
    true
}

/// Rounding of whole-number parameters before they are played.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rounding {
    /// To the nearest, halves away from zero, as `spsa.pl` does.
    #[default]
    Away,
    /// Up with the probability of the fraction, as fishtest and OpenBench do: ⌊x + U⌋.
    Stochastic,
}

gputexel_io::names!(Rounding "rounding": Away "away", Stochastic "stochastic");

impl Variable {
    /// Refuses what cannot be tuned: empty or unordered bounds, a start outside them, numbers that are not
    /// finite, a `c_end` that is not positive or too small to tell two sides apart.
    pub fn validate(&self) -> Result<()> {
        let refuse = |why: String| Err(Error::Usage(format!("{}: {why}", self.name)));
        let Self { start, min, max, .. } = *self;
        for (name, value) in [("start", start), ("min", min), ("max", max), ("simul_elo", self.simul_elo)] {
            if !value.is_finite() {
                return refuse(format!("{name} {value}: must be a finite number"));
            }
        }
        if min >= max {
            return refuse(format!("bounds {min} and {max} leave nothing to tune"));
        }
        if !(min..=max).contains(&start) {
            return refuse(format!("start {start} is outside the bounds {min} to {max}"));
        }
        if self.integer && self.whole_bounds().0 >= self.whole_bounds().1 {
            return refuse(format!("there are no two integers between {min} and {max}"));
        }
        if self.simul_elo < 0.0 {
            return refuse(format!("simul_elo {}: must not be negative", self.simul_elo));
        }
        let settings =
            [("c_end", Some(self.c_end)), ("r_end", self.r_end), ("s", self.s), ("sigma", self.sigma)];
        for (name, value) in settings {
            if let Some(value) = value {
                positive(&format!("{}: {name}", self.name), value)?;
            }
        }
        let largest = min.abs().max(max.abs());
        if largest + self.c_end == largest {
            return refuse(format!("c_end {}: too small relative to values up to {largest}", self.c_end));
        }
        Ok(())
    }

    pub fn clamp(&self, value: f64) -> f64 {
        value.clamp(self.min, self.max)
    }

    /// The value that an engine is given at the end: within bounds, whole where it must be.
    pub fn rounded(&self, value: f64) -> f64 {
        if !self.integer {
            return self.clamp(value);
        }
        let (low, high) = self.whole_bounds();
        value.round().clamp(low, high)
    }

    fn whole_bounds(&self) -> (f64, f64) {
        (self.min.ceil(), self.max.floor())
    }

    pub(super) fn range(&self) -> Range {
        Range { min: self.min, max: self.max, whole: self.integer.then(|| self.whole_bounds()) }
    }

    /// The values played by the two sides around `theta`, `shift` (not 0) up and down, after clamping and
    /// rounding. They are never equal, unless `as_published`: where rounding would make them so, they are the
    /// whole numbers around `theta`.
    pub(super) fn sides(
        &self,
        theta: f64,
        shift: f64,
        rounding: Rounding,
        as_published: bool,
        rng: &mut (impl Rng + ?Sized),
    ) -> (f64, f64) {
        let (plus, minus) = (self.clamp(theta + shift), self.clamp(theta - shift));
        if !self.integer {
            return (plus, minus);
        }
        let (low, high) = self.whole_bounds();
        let mut round = |value: f64| {
            let whole = match rounding {
                Rounding::Away => value.round(),
                Rounding::Stochastic => (value + rng.random::<f64>()).floor(),
            };
            whole.clamp(low, high)
        };
        let (plus, minus) = (round(plus), round(minus));
        if plus != minus || as_published {
            return (plus, minus);
        }
        let (lower, upper) = if theta.fract() == 0.0 {
            // As likely above as below, since the sign of the shift is.
            if shift > 0.0 { (theta, theta + 1.0) } else { (theta - 1.0, theta) }
        } else {
            (theta.floor(), theta.floor() + 1.0)
        };
        let lower = lower.clamp(low, high - 1.0);
        let upper = upper.clamp(lower + 1.0, high);
        if shift > 0.0 { (upper, lower) } else { (lower, upper) }
    }
}

pub fn positive(name: &str, value: f64) -> Result<()> {
    if value.is_finite() && value > 0.0 {
        Ok(())
    } else {
        Err(Error::Usage(format!("{name} {value}: must be a positive number")))
    }
}

/// Refuses an empty list, a name twice, and variables that cannot be tuned.
pub fn validate(variables: &[Variable]) -> Result<()> {
    if variables.is_empty() {
        return Err(Error::Usage("there is no parameter to tune".to_string()));
    }
    let mut names = std::collections::HashSet::new();
    for variable in variables {
        variable.validate()?;
        if !names.insert(&variable.name) {
            return Err(Error::Usage(format!("{}: is listed twice", variable.name)));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    fn whole(min: f64, max: f64) -> Variable {
        let name = "x".to_string();
        let (r_end, s, sigma) = (Some(0.002), None, None);
        Variable { name, start: min, min, max, integer: true, c_end: 0.1, r_end, s, sigma, simul_elo: 0.0 }
    }

    #[test]
    fn sides_are_whole_within_bounds_and_never_equal() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let variable = whole(-2.5, 3.2);
        for rounding in [Rounding::Away, Rounding::Stochastic] {
            for step in 0..=570 {
                let theta = -2.5 + f64::from(step) / 100.0;
                for shift in [0.1, -0.1, 0.5, -0.5, 0.7, -30.0] {
                    let (plus, minus) = variable.sides(theta, shift, rounding, false, &mut rng);
                    assert!(plus != minus, "{theta} {shift}");
                    assert!([plus, minus].iter().all(|v| v.fract() == 0.0 && (-2.0..=3.0).contains(v)));
                    if rounding == Rounding::Away {
                        assert_eq!((plus - minus).signum(), shift.signum(), "{theta} {shift}");
                    }
                }
            }
        }
    }

    #[test]
    fn halves_go_away_from_zero_and_sides_may_be_equal_as_published() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let sides = |theta, shift, published| {
            whole(-9.0, 9.0).sides(theta, shift, Rounding::Away, published, &mut rng.clone())
        };
        assert_eq!(sides(0.0, 2.5, false), (3.0, -3.0));
        assert_eq!(sides(4.2, 0.1, true), (4.0, 4.0));
        assert_eq!(sides(4.2, 0.1, false), (5.0, 4.0));
        assert_eq!(sides(4.0, -0.1, false), (3.0, 4.0));
        assert_eq!(sides(9.0, 0.1, false), (9.0, 8.0));
        let up = (0..10_000)
            .filter(|_| whole(-9.0, 9.0).sides(0.0, 2.3, Rounding::Stochastic, false, &mut rng).0 == 3.0)
            .count();
        assert!((2_800..3_200).contains(&up), "{up} of 10,000");
    }

    #[test]
    fn what_cannot_be_tuned_is_refused_in_one_line() {
        let good = whole(-2.0, 3.0);
        good.validate().unwrap();
        type Change = fn(&mut Variable);
        let cases: [(Change, &str); 10] = [
            (|v| v.start = 4.0, "start 4 is outside"),
            (|v| v.start = f64::NAN, "start NaN: must be a finite"),
            (|v| v.max = -2.0, "leave nothing to tune"),
            (|v| (v.min, v.start, v.max) = (0.2, 0.5, 0.8), "no two integers"),
            (|v| v.c_end = 0.0, "c_end 0: must be a positive"),
            (|v| v.c_end = 1e-20, "too small"),
            (|v| v.r_end = Some(-1.0), "r_end -1: must be"),
            (|v| v.s = Some(f64::INFINITY), "s inf: must be"),
            (|v| v.sigma = Some(0.0), "sigma 0: must be"),
            (|v| v.simul_elo = -1.0, "simul_elo -1: must not"),
        ];
        for (change, expected) in cases {
            let mut bad = good.clone();
            change(&mut bad);
            let text = bad.validate().unwrap_err().to_string();
            assert!(text.starts_with("x: ") && text.contains(expected) && !text.contains('\n'), "{text}");
        }
        assert!(validate(&[good.clone(), good]).unwrap_err().to_string().contains("listed twice"));
        assert!(validate(&[]).is_err());
    }
}
