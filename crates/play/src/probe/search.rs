//! Coefficients of positions: groups of parameters are moved together, and only positions whose evaluation changes
//! are asked about the halves of a group. Changes of a group can cancel; predictions for random values show that,
//! and such positions are asked again.

use rand::prelude::*;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::asking::{Asker, Failed, Source, Way};
use super::plan::{Group, Plan, Step};
use super::positions::Labeled;

/// Of a change at which the engine fails.
const HALVINGS: usize = 3;
/// A change is too large if more than this share of positions has no evaluation after it, and more than [`FEW`].
const MOST_MISSING: f64 = 0.1;
const FEW: usize = 5;
/// Share of positions that rounding need not explain where parameters are linear.
const MOST_BEYOND: f64 = 0.01;
/// Most rounds in which positions are asked again that were not predicted.
const REPAIRS: u64 = 8;
/// Rounds in a row without a find: two effects that were overlooked, such as those of a value's two phases, can
/// cancel in one.
const CLEAN: u64 = 2;
/// Parameters that are blamed for a block.
const MOST_BLAMED: usize = 8;
/// Share of the sum of squares that one has to explain.
const LEAST_BLAME: f64 = 0.02;

#[derive(Clone, Debug, Default)]
pub(super) struct Measured {
    /// White's view, centipawns; NaN for positions to leave out.
    pub base: Vec<f64>,
    /// Change of the evaluation for a change of a parameter by 1.
    pub rows: Vec<Vec<(u32, f64)>>,
    pub check: Differences,
    /// With the sum of squares that each explains, cp².
    pub blamed: Vec<(u32, f64)>,
    /// Positions that were asked about each group, and those that changed.
    pub tally: Vec<[u64; 2]>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Differences {
    pub compared: u64,
    /// More than rounding explains.
    pub beyond: u64,
    pub largest_cp: f64,
    pub sum_cp: f64,
}

impl Differences {
    pub fn add(&mut self, other: &Self) {
        self.compared += other.compared;
        self.beyond += other.beyond;
        self.largest_cp = self.largest_cp.max(other.largest_cp);
        self.sum_cp += other.sum_cp;
    }

    /// Rounding explains all but strays.
    pub fn explains(&self) -> bool {
        self.beyond as f64 <= MOST_BEYOND * self.compared as f64
    }

    pub fn mean_cp(&self) -> f64 {
        self.sum_cp / self.compared.max(1) as f64
    }
}

/// The largest difference that rounding explains, centipawns: that of two evaluations, and that of each coefficient,
/// which are independent of each other but for the evaluation they have in common. `shares` are changes in steps;
/// `unit` is the smallest difference of evaluations.
pub(super) fn explained_cp(shares: impl Iterator<Item = f64>, unit: f64) -> f64 {
    let (mut common, mut apart) = (0.0, 0.0);
    for share in shares {
        common += share;
        apart += share * share;
    }
    unit * (1.0 + 0.5 * (1.0 - common).abs() + 1.5 * f64::sqrt(apart))
}

pub(super) struct Search<'s, 'a> {
    asker: &'s mut Asker<'a>,
    plan: &'s Plan,
    way: Way,
    source: &'s Source,
    start: Vec<f64>,
    positions: &'s [&'s Labeled],
    found: Measured,
    seed: u64,
    /// Searches so far.
    round: u64,
}

impl<'s, 'a> Search<'s, 'a> {
    /// Positions at which the engine fails are left out, `spared` of them at most.
    pub fn begin(
        asker: &'s mut Asker<'a>,
        (plan, way): (&'s Plan, Way),
        source: &'s Source,
        positions: &'s [&'s Labeled],
        (seed, spared): (u64, usize),
    ) -> Result<Self, Failed> {
        let found = Measured {
            rows: vec![Vec::new(); positions.len()],
            tally: vec![[0; 2]; plan.tree.asked.len()],
            ..Measured::default()
        };
        let start = source.start();
        let mut search = Self { asker, plan, way, source, start, positions, found, seed, round: 0 };
        search.found.base = search.base(spared)?;
        Ok(search)
    }

    fn base(&mut self, spared: usize) -> Result<Vec<f64>, Failed> {
        let mut base = vec![f64::NAN; self.positions.len()];
        let mut places: Vec<u32> = (0..self.positions.len() as u32).collect();
        for _ in 0..=spared {
            match self.evaluate(&self.start.clone(), &places) {
                Ok(values) => {
                    places.iter().zip(values).for_each(|(&n, value)| base[n as usize] = value);
                    return Ok(base);
                }
                Err(failed) if failed.stopped || failed.answered >= places.len() => return Err(failed),
                // The process is gone, and the answers with it.
                Err(failed) if places.len() > 1 => drop(places.remove(failed.answered)),
                Err(failed) => return Err(failed),
            }
        }
        self.evaluate(&self.start.clone(), &places).map(|_| base)
    }

    /// Measures the coefficients of all positions, and compares predictions.
    pub fn run(mut self) -> Result<Measured, Failed> {
        let all: Vec<u32> =
            (0..self.positions.len() as u32).filter(|n| !self.found.base[*n as usize].is_nan()).collect();
        self.measure(all.clone())?;
        let is_linear = self.plan.is_linear();
        if !is_linear && self.plan.tree.asked.contains(&true) {
            // Predictions do not show what was overlooked, such as what matters in one direction only.
            self.measure(all.clone())?;
        }
        let has_linear = self.plan.tree.order.iter().any(|i| self.is_linear(*i));
        if has_linear {
            let mut clean = 0;
            for _ in 0..REPAIRS {
                let (values, differences) = self.differences(&all, false)?;
                let beyond =
                    |(n, difference): (&u32, &f64)| self.is_beyond(*n, *difference, &values).then_some(*n);
                let again: Vec<u32> = all.iter().zip(&differences).filter_map(beyond).collect();
                clean = if again.is_empty() { clean + 1 } else { 0 };
                if clean == CLEAN {
                    break;
                }
                self.measure(again)?;
            }
        }
        let (values, differences) = self.differences(&all, true)?;
        let mut check = Differences::default();
        for (&n, &difference) in all.iter().zip(&differences).filter(|(_, difference)| !difference.is_nan()) {
            check.compared += 1;
            check.beyond += u64::from(self.is_beyond(n, difference, &values));
            check.largest_cp = check.largest_cp.max(difference.abs());
            check.sum_cp += difference.abs();
        }
        self.found.check = check;
        if check.beyond > 0 && has_linear {
            // What is known not to be linear would be blamed on parameters beside it.
            let (values, differences) =
                if is_linear { (values, differences) } else { self.differences(&all, false)? };
            if all.iter().zip(&differences).any(|(&n, &difference)| self.is_beyond(n, difference, &values)) {
                self.found.blamed = self.blame(&all, &differences, &values);
            }
        }
        self.found.rows.iter_mut().for_each(|row| row.sort_by_key(|(i, _)| *i));
        Ok(self.found)
    }

    /// Without a check, for the statistics of groups.
    pub fn tallies(mut self) -> Result<Measured, Failed> {
        self.measure(
            (0..self.positions.len() as u32).filter(|n| !self.found.base[*n as usize].is_nan()).collect(),
        )?;
        Ok(self.found)
    }

    fn measure(&mut self, places: Vec<u32>) -> Result<(), Failed> {
        self.round += 1;
        match self.plan.tree.root() {
            Some(root) => self.visit(root, places, false),
            None => Ok(()),
        }
    }

    /// `is_chosen` if positions were left out that a larger group does not change.
    fn visit(&mut self, group: Group, mut places: Vec<u32>, mut is_chosen: bool) -> Result<(), Failed> {
        // For linear parameters, predictions show better what was overlooked.
        let is_done = self.round == 2 && self.plan.tree.parameters(group).iter().all(|i| self.is_linear(*i));
        if places.is_empty() || is_done {
            return Ok(());
        }
        if group.is_single() {
            if self.round > 1 && !is_chosen {
                // All have been asked about it.
                return Ok(());
            }
            let parameter = self.plan.tree.order[group.first];
            return self.single(parameter, places);
        }
        if self.plan.tree.asked[group.number] {
            is_chosen = true;
            let parameters = self.plan.tree.parameters(group);
            // Those with a known effect need not be asked about the group.
            let is_known = |n: u32| {
                self.round > 1 && self.found.rows[n as usize].iter().any(|(i, _)| parameters.contains(i))
            };
            let (known, open): (Vec<u32>, Vec<u32>) = places.iter().partition(|n| is_known(**n));
            let values = self.moved(group);
            let changed = match self.evaluate(&values, &open) {
                Ok(found) => {
                    let noise = self.plan.noise_cp;
                    let is_changed = |(n, value): (&u32, &f64)| {
                        let change = value - self.found.base[*n as usize];
                        (change.is_nan() || change.abs() > noise + 1e-9).then_some(*n)
                    };
                    open.iter().zip(&found).filter_map(is_changed).collect()
                }
                Err(failed) if failed.stopped => return Err(failed),
                // Its parts may be harmless.
                Err(_) => open.clone(),
            };
            let tally = &mut self.found.tally[group.number];
            *tally = [tally[0] + open.len() as u64, tally[1] + changed.len() as u64];
            places = [known, changed].concat();
            places.sort_unstable();
        }
        for half in group.halves() {
            self.visit(half, places.clone(), is_chosen)?;
        }
        Ok(())
    }

    /// Parameters of a group, moved by different amounts; the second time in the opposite directions.
    fn moved(&self, group: Group) -> Vec<f64> {
        let (mut random, number) = (self.random(self.round, group.number as u64), group.number as u64);
        let mut signs = self.random(if self.round == 2 { 1 } else { self.round }, !number);
        let mut values = self.start.clone();
        for &i in self.plan.tree.parameters(group) {
            let step = &self.plan.steps[i as usize];
            let most = if step.linear { step.change.abs() } else { step.group };
            let size = self.whole(i, most * random.random_range(0.5..1.0)).max(self.least(i, step));
            let sign = if signs.random_bool(0.5) == (self.round == 2) { 1.0 } else { -1.0 };
            values[i as usize] = step.towards(self.start[i as usize], sign * size);
        }
        values
    }

    fn random(&self, round: u64, salt: u64) -> Xoshiro256PlusPlus {
        Xoshiro256PlusPlus::seed_from_u64(
            self.seed ^ salt.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (round << 56),
        )
    }

    fn is_linear(&self, i: u32) -> bool {
        self.plan.steps[i as usize].linear
    }

    fn whole(&self, i: u32, change: f64) -> f64 {
        if self.source.parameters[i as usize].integer { change.round() } else { change }
    }

    /// The smallest change that means something.
    fn least(&self, i: u32, step: &Step) -> f64 {
        if self.source.parameters[i as usize].integer { 1.0 } else { 0.5 * step.group }
    }

    fn single(&mut self, i: u32, mut places: Vec<u32>) -> Result<(), Failed> {
        places.retain(|n| !self.found.rows[*n as usize].iter().any(|(known, _)| *known == i));
        if places.is_empty() {
            return Ok(());
        }
        let step = self.plan.steps[i as usize];
        let mut change = step.change;
        for _ in 0..HALVINGS {
            match self.try_single(i, &step, change, &places) {
                Err(failed) if !failed.stopped && self.whole(i, change / 2.0) != 0.0 => {
                    change = self.whole(i, change / 2.0);
                }
                other => return other,
            }
        }
        self.try_single(i, &step, change, &places).map_err(|failed| {
            let parameter = &self.source.parameters[i as usize];
            let value = parameter.text(parameter.start + change);
            Failed { failure: format!("{}, with {} = {value}", failed.failure, parameter.name), ..failed }
        })
    }

    fn try_single(&mut self, i: u32, step: &Step, change: f64, places: &[u32]) -> Result<(), Failed> {
        let mut values = self.start.clone();
        let start = values[i as usize];
        values[i as usize] = start + change;
        let there = self.evaluate(&values, places)?;
        // Differences to both sides have no error of first order.
        let opposite = start - change;
        let back = if !step.linear && step.allows(opposite) {
            values[i as usize] = opposite;
            Some(self.evaluate(&values, places)?)
        } else {
            None
        };
        let missing = there.iter().filter(|value| value.is_nan()).count();
        if missing > FEW && missing as f64 > MOST_MISSING * places.len() as f64 {
            let failure = format!("gives no evaluation in {missing} of {} positions", places.len());
            return Err(Failed { answered: 0, failure, stopped: false });
        }
        let noise = self.plan.noise_cp;
        for (at, &n) in places.iter().enumerate() {
            let base = self.found.base[n as usize];
            let (difference, distance) = match &back {
                Some(back) => (there[at] - back[at], 2.0 * change),
                None => (there[at] - base, change),
            };
            if difference.is_nan() {
                // Such as a mate: under other values the position has no evaluation.
                self.found.base[n as usize] = f64::NAN;
            } else if difference.abs() > noise + 1e-9 {
                self.found.rows[n as usize].push((i, difference / distance));
            }
        }
        Ok(())
    }

    /// Random values, and the differences to what coefficients predict. Only linear parameters move, unless `all`.
    fn differences(&mut self, places: &[u32], all: bool) -> Result<(Vec<f64>, Vec<f64>), Failed> {
        self.round += 1;
        let mut random = self.random(self.round, u64::MAX / 3);
        let mut values = self.start.clone();
        for &i in self.plan.tree.order.iter().filter(|i| all || self.is_linear(**i)) {
            let step = &self.plan.steps[i as usize];
            let change = self.whole(i, step.group * random.random_range(-1.0..1.0));
            values[i as usize] = step.towards(self.start[i as usize], change);
        }
        let found = self.evaluate(&values, places)?;
        let difference = |(n, value): (&u32, f64)| {
            let row = &self.found.rows[*n as usize];
            let change = |(i, c): &(u32, f64)| c * (values[*i as usize] - self.start[*i as usize]);
            value - self.found.base[*n as usize] - row.iter().map(change).sum::<f64>()
        };
        let differences = places.iter().zip(found).map(difference).collect();
        Ok((values, differences))
    }

    fn blame(&self, places: &[u32], differences: &[f64], values: &[f64]) -> Vec<(u32, f64)> {
        let known: Vec<(u32, f64)> = places
            .iter()
            .copied()
            .zip(differences.iter().copied())
            .filter(|(_, one)| !one.is_nan())
            .collect();
        let part = |(i, c): &(u32, f64)| (*i, c * (values[*i as usize] - self.start[*i as usize]));
        let parts: Vec<Vec<(u32, f64)>> =
            known.iter().map(|(n, _)| self.found.rows[*n as usize].iter().map(part).collect()).collect();
        attribute(known.into_iter().map(|(_, difference)| difference).collect(), &parts, values.len())
    }

    /// Rounding does not explain the difference.
    fn is_beyond(&self, n: u32, difference: f64, values: &[f64]) -> bool {
        let share = |(i, _): &(u32, f64)| {
            let i = *i as usize;
            (values[i] - self.start[i]) / self.plan.steps[i].change
        };
        let unit = self.plan.resolution_cp + self.plan.noise_cp;
        difference.abs() > explained_cp(self.found.rows[n as usize].iter().map(share), unit)
    }

    fn evaluate(&mut self, values: &[f64], places: &[u32]) -> Result<Vec<f64>, Failed> {
        if places.is_empty() {
            return Ok(Vec::new());
        }
        let positions = self.positions;
        let asked = places.iter().map(|n| {
            let position = positions[*n as usize];
            (position.fen.as_str(), position.black)
        });
        self.asker.evaluate(&self.way, values, asked)
    }
}

/// Attributes differences between evaluations and predictions to parameters. All positions were asked under the same
/// values, so where a parameter is not linear, the difference is a multiple of its part in the prediction.
///
/// One after the other, each parameter with the part of the sum of squares that it explains. `parts` are those of
/// the predictions, by position.
fn attribute(mut differences: Vec<f64>, parts: &[Vec<(u32, f64)>], count: usize) -> Vec<(u32, f64)> {
    let total: f64 = differences.iter().map(|difference| difference * difference).sum();
    // The best of many explains that much by chance.
    let chance = 4.0 * (count.max(2) as f64).ln() / differences.len().max(1) as f64;
    let least = LEAST_BLAME.max(chance) * total;
    let mut found: Vec<(u32, f64)> = Vec::new();
    while found.len() < MOST_BLAMED {
        let mut sums = vec![[0.0, 0.0]; count];
        for (difference, parts) in differences.iter().zip(parts) {
            for (i, part) in parts {
                let [product, square] = &mut sums[*i as usize];
                *product += difference * part;
                *square += part * part;
            }
        }
        let gain =
            |[product, square]: &[f64; 2]| if *square > 0.0 { product * product / square } else { 0.0 };
        let best =
            (0..count as u32).max_by(|a, b| gain(&sums[*a as usize]).total_cmp(&gain(&sums[*b as usize])));
        let Some(best) = best.filter(|best| gain(&sums[*best as usize]) > least) else { break };
        let [product, square] = sums[best as usize];
        for (difference, parts) in differences.iter_mut().zip(parts) {
            let own = parts.iter().filter(|(i, _)| *i == best);
            *difference -= own.map(|(_, part)| product / square * part).sum::<f64>();
        }
        match found.iter_mut().find(|(i, _)| *i == best) {
            Some((_, known)) => *known += gain(&[product, square]),
            None => found.push((best, gain(&[product, square]))),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_that_are_not_linear_are_found() {
        let parts: Vec<Vec<(u32, f64)>> =
            (0..400u32).map(|n| vec![(n % 5, f64::from(n % 7) - 3.0), (5 + n % 3, 10.0)]).collect();
        let missed = |i: u32| if i == 2 { 0.5 } else { f64::from(u8::from(i == 6)) * 0.2 };
        let differences: Vec<f64> = parts
            .iter()
            .enumerate()
            .map(|(n, parts)| {
                let rounding = if n % 2 == 0 { 0.3 } else { -0.3 };
                rounding + parts.iter().map(|(i, part)| missed(*i) * part).sum::<f64>()
            })
            .collect();
        let names: Vec<u32> = attribute(differences, &parts, 8).into_iter().map(|(i, _)| i).collect();
        assert_eq!(names, [6, 2]);
        let noise = (0..400).map(|n| if n % 2 == 0 { 1.0 } else { -1.0 }).collect();
        assert_eq!(attribute(noise, &parts, 8), []);
    }
}
