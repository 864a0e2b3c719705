//! Parameters in proportion to which evaluations change. Groups are tested as a whole, and halved where they fail.

use rand::prelude::*;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::asking::{Asker, Failed, Source, Way};
use super::plan::Step;
use super::positions::Labeled;

/// That rounding of four evaluations explains, in units of the last digit.
const ROUNDING: f64 = 2.5;
/// Root mean square of the same where an engine rounds terms within its evaluation, for a single parameter.
const ROUNDING_RMS: f64 = 1.2;
/// For each parameter of a group, of which the errors are independent.
const ROUNDING_EACH: f64 = 0.35;
/// Of a change, that may be missing: of a group, and of a single parameter.
const SHARES: [f64; 2] = [0.002, 0.03];

pub(super) struct Tester<'t, 'a> {
    asker: &'t mut Asker<'a>,
    source: &'t Source,
    way: Way,
    sample: &'t [&'t Labeled],
    base: Vec<f64>,
    resolution: f64,
    noise: f64,
    pub steps: Vec<Step>,
    /// Parameters and values at which the engine failed.
    failures: Vec<(u32, f64)>,
    random: Xoshiro256PlusPlus,
}

#[derive(Clone, Copy, Debug, Default)]
struct Residuals {
    /// Over what rounding explains, centipawns.
    excess: f64,
    /// Root mean square residual and change of positions that change.
    rms: f64,
    change: f64,
}

impl<'t, 'a> Tester<'t, 'a> {
    pub fn new(
        asker: &'t mut Asker<'a>,
        source: &'t Source,
        way: Way,
        sample: &'t [&'t Labeled],
        base: Vec<f64>,
        [resolution, noise]: [f64; 2],
        steps: Vec<Step>,
    ) -> Self {
        let random = Xoshiro256PlusPlus::seed_from_u64(1);
        Self { asker, source, way, sample, base, resolution, noise, steps, failures: Vec::new(), random }
    }

    pub fn classify_all(&mut self) -> Result<Vec<(u32, f64)>, Failed> {
        let all: Vec<u32> =
            (0..self.steps.len() as u32).filter(|i| self.steps[*i as usize].change != 0.0).collect();
        self.classify(&all)?;
        Ok(std::mem::take(&mut self.failures))
    }

    /// True if all of the group is linear.
    fn classify(&mut self, group: &[u32]) -> Result<bool, Failed> {
        let found = match (group, self.residuals(group)) {
            ([], _) => return Ok(true),
            (_, Err(failed)) if failed.stopped => return Err(failed),
            ([single], Err(_)) => return self.reduce(*single),
            (_, found) => found.ok(),
        };
        if found.is_some_and(|found| found.excess <= 0.0) {
            return Ok(true);
        }
        let unit = self.resolution + self.noise;
        if let ([single], Some(found)) = (group, found) {
            return Ok(self.judge(*single, found));
        }
        let (first, second) = group.split_at(group.len() / 2);
        let linear = self.classify(first)? & self.classify(second)?;
        if !linear {
            return Ok(false);
        }
        // Only together they are not linear: one multiplies the other.
        let explained = ROUNDING_RMS + ROUNDING_EACH * (group.len() as f64).sqrt();
        let Some(found) = found.filter(|found| found.rms > explained * unit + SHARES[1] / 3.0 * found.change)
        else {
            return Ok(true);
        };
        debug_assert!(found.excess > 0.0);
        group.iter().for_each(|i| self.make_short(*i));
        Ok(false)
    }

    fn judge(&mut self, i: u32, found: Residuals) -> bool {
        let unit = self.resolution + self.noise;
        let is_linear = found.rms <= ROUNDING_RMS * unit + SHARES[1] * found.change;
        if !is_linear {
            self.make_short(i);
        }
        is_linear
    }

    fn make_short(&mut self, i: u32) {
        let step = &mut self.steps[i as usize];
        *step = step.short(&self.source.parameters[i as usize]);
    }

    /// Halves the step until the engine does not fail.
    fn reduce(&mut self, i: u32) -> Result<bool, Failed> {
        let parameter = &self.source.parameters[i as usize];
        loop {
            let step = self.steps[i as usize];
            let halved = step.halved(parameter);
            if !self.failures.iter().any(|(other, _)| *other == i) {
                self.failures.push((i, parameter.start + step.change));
            }
            self.steps[i as usize] = halved;
            if halved.change == 0.0 || halved.change.abs() < 1e-9 {
                self.steps[i as usize] =
                    Step { change: 0.0, group: 0.0, bounds: [parameter.start; 2], ..halved };
                return Ok(true);
            }
            match self.residuals(&[i]) {
                Ok(found) => return Ok(self.judge(i, found)),
                Err(failed) if failed.stopped => return Err(failed),
                Err(_) => {}
            }
        }
    }

    /// With a group moved once, twice, and back.
    fn residuals(&mut self, group: &[u32]) -> Result<Residuals, Failed> {
        let (mut once, mut twice) = (self.source.start(), self.source.start());
        let (mut there, mut back) = (once.clone(), once.clone());
        let mut can_return = 0;
        for &i in group {
            let (at, step) = (i as usize, self.steps[i as usize]);
            let integer = self.source.parameters[at].integer;
            let half = step.change / 2.0 * self.random.random_range(0.6..1.0);
            let half =
                if integer { half.abs().ceil().min((step.change / 2.0).abs().floor()) } else { half.abs() };
            let half = half * step.change.signum();
            if half == 0.0 {
                // Two values of a parameter are always on a line.
                continue;
            }
            once[at] += half;
            twice[at] += 2.0 * half;
            // As far as the bounds allow: it may matter in one direction only.
            let room = (step.bounds[usize::from(half < 0.0)] - back[at]).abs();
            let half = half.signum() * half.abs().min(if integer { room.floor() } else { room });
            there[at] += half;
            back[at] -= half;
            can_return += usize::from(half != 0.0);
        }
        let once_there = self.evaluate(&once)?;
        let twice_there = self.evaluate(&twice)?;
        let mut found = Residuals::default();
        let mut sums = [0.0, 0.0, 0.0];
        let mut note = |residual: f64, change: f64, resolution: f64, noise: f64| {
            if residual.is_nan() || change.is_nan() {
                return;
            }
            let explained = ROUNDING * resolution + 4.0 * noise + SHARES[0] * change.abs();
            found.excess = found.excess.max(residual.abs() - explained);
            if change != 0.0 || residual != 0.0 {
                sums = [sums[0] + residual * residual, sums[1] + change * change, sums[2] + 1.0];
            }
        };
        for ((base, once), twice) in self.base.iter().zip(&once_there).zip(&twice_there) {
            note(twice - 2.0 * once + base, twice - base, self.resolution, self.noise);
        }
        if can_return > 0 {
            let there = if there == once { once_there } else { self.evaluate(&there)? };
            let back = self.evaluate(&back)?;
            for ((base, there), back) in self.base.iter().zip(&there).zip(&back) {
                note(there + back - 2.0 * base, there - back, self.resolution, self.noise);
            }
        }
        (found.rms, found.change) =
            ((sums[0] / f64::max(sums[2], 1.0)).sqrt(), (sums[1] / f64::max(sums[2], 1.0)).sqrt());
        Ok(found)
    }

    fn evaluate(&mut self, values: &[f64]) -> Result<Vec<f64>, Failed> {
        let asked = self.sample.iter().map(|position| (position.fen.as_str(), position.black));
        self.asker.evaluate(&self.way, values, asked)
    }
}
