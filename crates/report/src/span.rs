//! Ranges of axes. Numbers may come from arbitrary files.

/// Minimum width of a range as a share of its larger end.
const RESOLUTION: f64 = 1e-9;
/// Minimum width of a range around 0.
const LEAST: f64 = 1e-18;
/// Maximum distance by which a line may leave the picture, in widths of it.
const BEYOND: f64 = 100.0;

/// Its width may overflow an `f64`; half of it never does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    low: f64,
    high: f64,
}

impl Span {
    /// If they are closer to each other than `least`, it extends by `least` to both sides; over no numbers it is
    /// 0 to 1.
    pub fn over(values: impl IntoIterator<Item = f64>, least: f64) -> Self {
        let finite = values.into_iter().filter(|value| value.is_finite());
        let (low, high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        let (low, high) = if low <= high { (low, high) } else { (0.0, 1.0) };
        let least = least.max(RESOLUTION * low.abs().max(high.abs())).max(LEAST);
        if high - low >= least { Self { low, high } } else { Self::bounded(low - least, high + least) }
    }

    #[must_use]
    pub fn with_room(self, below: f64, above: f64) -> Self {
        let half = self.half();
        Self::bounded(self.low - 2.0 * below * half, self.high + 2.0 * above * half)
    }

    fn bounded(low: f64, high: f64) -> Self {
        Self { low: low.max(f64::MIN), high: high.min(f64::MAX) }
    }

    fn half(&self) -> f64 {
        0.5 * self.high - 0.5 * self.low
    }

    /// Position of a number from 0 at the lower end to 1 at the upper one; 0 for NaN.
    pub fn share(&self, value: f64) -> f64 {
        let share = (0.5 * value - 0.5 * self.low) / self.half();
        if share.is_nan() { 0.0 } else { share.clamp(-BEYOND, BEYOND) }
    }

    /// Digits after the decimal point that distinguish four ticks.
    pub fn digits(&self) -> usize {
        (1.0 - (0.5 * self.half()).log10()).floor().clamp(0.0, 9.0) as usize
    }

    /// Round numbers, at most `most`, in steps of 1, 2 or 5 times a power of ten of at least `least`.
    pub fn ticks(&self, most: usize, least: f64) -> Vec<f64> {
        let finest = (self.half() / most.max(1) as f64).max(0.5 * least).log10() + 2f64.log10();
        let finest = finest.floor() as i32;
        for exponent in finest..=finest + 2 {
            for digit in [1.0, 2.0, 5.0] {
                let at = |n: f64| match exponent {
                    // Powers of ten below 1 are not exact.
                    ..0 => n * digit / 10f64.powf(f64::from(-exponent)),
                    _ => n * digit * 10f64.powf(f64::from(exponent)),
                };
                let step = at(1.0);
                let (first, last) = ((self.low / step).ceil(), (self.high / step).floor());
                if step >= least && step.is_finite() && last - first < most as f64 {
                    return (0..(last - first + 1.0) as usize).map(|i| at(first + i as f64)).collect();
                }
            }
        }
        Vec::new()
    }

    /// Positions of round numbers if the range is one of decadic logarithms.
    pub fn logarithmic_ticks(&self, most: usize) -> Vec<f64> {
        let inside = self.low.ceil() as i32..=self.high.floor() as i32;
        let count = inside.clone().count();
        if count > 2 {
            return inside.step_by(count.div_ceil(most.max(1))).map(f64::from).collect();
        }
        let decades = self.low.floor() as i32..=self.high.ceil() as i32;
        let ticks = decades.flat_map(|decade| [1.0f64, 2.0, 5.0].map(|m| m.log10() + f64::from(decade)));
        ticks.filter(|tick| (self.low..=self.high).contains(tick)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::number_text::short;
    use super::*;

    #[test]
    fn any_numbers_have_a_range_with_so_many_places() {
        let numbers =
            [0.0, -0.0, 0.07, 0.070_000_000_01, -1e3, 5e-324, f64::MAX, f64::MIN, f64::INFINITY, f64::NAN];
        for (a, b) in numbers.into_iter().flat_map(|a| numbers.map(|b| (a, b))) {
            let span = Span::over([a, b], 1e-12).with_room(0.06, 0.06);
            assert!(span.low < span.high && span.half().is_finite() && span.digits() <= 9, "{span:?}");
            for (most, least) in [(2, 0.0), (6, 0.0), (6, 1.0), (70, 0.0)] {
                let ticks = span.ticks(most, least);
                assert!(ticks.len() <= most && ticks.is_sorted(), "{span:?}: {ticks:?}");
                let inside = |tick: &f64| (-1e-9..=1.0 + 1e-9).contains(&span.share(*tick));
                assert!(ticks.iter().all(inside), "{span:?}: {ticks:?}");
            }
            assert!(span.ticks(6, 0.0).len() >= 2, "{span:?}");
            let logarithms = Span::over([a.log10(), b.log10()], 1e-12);
            assert!(logarithms.logarithmic_ticks(6).len() <= 15, "{logarithms:?}");
        }
    }

    #[test]
    fn places_are_round() {
        let ticks = |low: f64, high: f64, most: usize| Span::over([low, high], LEAST).ticks(most, 0.0);
        assert_eq!(ticks(0.0, 1.0, 6), [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]);
        assert_eq!(ticks(-0.1, 0.25, 4), [-0.1, 0.0, 0.1, 0.2]);
        assert_eq!(ticks(990.0, 1310.0, 4), [1000.0, 1100.0, 1200.0, 1300.0]);
        let texts: Vec<String> = ticks(-1.1e308, 1.1e308, 6).into_iter().map(short).collect();
        assert_eq!(texts, ["-1e308", "-5e307", "0", "5e307", "1e308"]);
        let epochs = Span::over([u64::MAX as f64], 1.0);
        assert!((2..=6).contains(&epochs.ticks(6, 1.0).len()), "{epochs:?}");
    }
}
