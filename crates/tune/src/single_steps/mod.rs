//! The effect of single steps of integer coordinates on the exact loss.

mod index;
mod sums;
mod survey;

use std::ops::Range;

use rayon::prelude::*;

use self::index::{Entry, Index};
use self::sums::ProgramSums;
use self::survey::MAX_SCORES;
pub(crate) use self::survey::interrupted;
pub use self::survey::{Step, Survey, Watch};
use super::Regularization;
use gputexel_dataset::Layout;
use gputexel_dataset::objective::{Objective, x_per_cp};
use gputexel_io::{Error, Result};
use gputexel_model::Parameterization;
use gputexel_optim::Space;

/// Fraction of the loss below which a change counts as a tie: a few ulps of the mean, which would differ with any other
/// order of summation.
pub const TIE: f64 = 1e-15;
/// Number of positions per chunk; fixed, so that sums do not depend on the number of threads.
const CHUNK: usize = 1 << 14;
/// Positions processed at a time for a coordinate with several features; their changes stay in the L1 cache.
const BLOCK: usize = 1 << 11;

/// The function that is minimized exactly: the mean loss of parts of a layout plus its regularization, as a function of
/// z.
#[derive(Clone, Debug)]
pub struct ExactProblem<'a> {
    pub layout: &'a Layout,
    pub parts: Range<usize>,
    pub objective: Objective,
    /// Maps z to θ.
    pub parameterization: &'a Parameterization,
    /// Bounds of z; only integer coordinates are stepped.
    pub space: &'a Space,
    pub regularization: Regularization,
}

/// Effect of a coordinate on the score of a position with one of its features: coefficient · (mg · middlegame
/// units + eg · endgame units) phase units.
#[derive(Clone, Copy, Debug)]
struct Pull {
    feature: usize,
    mg: f64,
    eg: f64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Units {
    mg: f64,
    eg: f64,
}

impl Units {
    fn blend(self, mg: f64, eg: f64) -> f64 {
        self.mg * mg + self.eg * eg
    }
}

/// A point z with the exact scores and losses of its positions; see the module.
pub struct SingleSteps<'a> {
    problem: ExactProblem<'a>,
    effects: Effects<'a>,
    pulls: Vec<Vec<Pull>>,
    /// True if stepping the coordinate changes anything.
    alive: Vec<bool>,
    units: Vec<Units>,
    targets: Vec<f64>,
    weights: Vec<f64>,
    weight: f64,
    z: Vec<f64>,
    theta: Vec<f64>,
    scores: Vec<f64>,
    /// w · ℓ of each position.
    losses: Vec<f64>,
    taken: u64,
    /// Maximum number of scores to compute for steps that slopes do not recommend, if scores are not linear.
    pub max_scores: u64,
}

enum Effects<'a> {
    /// Scores, by the same amount in every position with the same entry.
    Scores(Index),
    Sums(Box<ProgramSums<'a>>),
}

/// The result for each of some blocks, in order; threads may share the work.
fn by_block<T: Send>(blocks: usize, shared: bool, of_block: impl Fn(usize) -> T + Sync + Send) -> Vec<T> {
    match shared {
        true => (0..blocks).into_par_iter().map(of_block).collect(),
        false => (0..blocks).map(of_block).collect(),
    }
}

fn pulls_of(parameterization: &Parameterization, features: usize) -> Vec<Vec<Pull>> {
    let of_theta = |index: usize, factor: f64| match index < features {
        true => Pull { feature: index, mg: factor, eg: 0.0 },
        false => Pull { feature: index - features, mg: 0.0, eg: factor },
    };
    if parameterization.is_identity() {
        return (0..parameterization.dimension()).map(|i| vec![of_theta(i, 1.0)]).collect();
    }
    let merged = |column: &Vec<(u32, f64)>| {
        let mut pulls: Vec<Pull> = column.iter().map(|&(i, factor)| of_theta(i as usize, factor)).collect();
        pulls.sort_by_key(|pull| pull.feature);
        pulls.dedup_by(|from, into| {
            let same = from.feature == into.feature;
            if same {
                into.mg += from.mg;
                into.eg += from.eg;
            }
            same
        });
        pulls
    };
    parameterization.columns.iter().map(merged).collect()
}

impl<'a> SingleSteps<'a> {
    pub fn try_new(problem: &ExactProblem<'a>, z: &[f64]) -> Result<Self> {
        let problem = problem.clone();
        let (layout, basis) = (problem.layout, problem.parameterization);
        let lengths = [basis.parameters(), problem.regularization.prior().len()]
            == [2 * layout.features(); 2]
            && [problem.space.dimension(), z.len()] == [basis.dimension(); 2]
            && problem.parts.start < problem.parts.end
            && problem.parts.end <= layout.parts().len();
        if !lengths {
            return Err(Error::Usage("parameters, bounds and positions do not match".to_string()));
        }
        let range = layout.parts()[problem.parts.start].positions.start
            ..layout.parts()[problem.parts.end - 1].positions.end;
        let mut units = vec![Units::default(); range.len()];
        for (bucket, positions) in layout.buckets_in(range.clone()) {
            let own = positions.start - range.start..positions.end - range.start;
            units[own].fill(Units { mg: f64::from(bucket.mg_units), eg: f64::from(bucket.eg_units) });
        }
        let wide = |column: &[f32]| -> Vec<f64> {
            column.get(range.clone()).unwrap_or(&[]).iter().map(|&value| f64::from(value)).collect()
        };
        let weights = wide(layout.weights());
        let weight = if weights.is_empty() { range.len() as f64 } else { weights.iter().sum() };
        let effects = match layout.program() {
            None => Effects::Scores(Index::new(layout, &range)),
            Some(program) => Effects::Sums(Box::new(ProgramSums::new(layout, program, &range))),
        };
        let pulls = pulls_of(basis, layout.features());
        let touches = |pull: &Pull| match &effects {
            Effects::Sums(sums) => sums.count(pull.feature) > 0,
            Effects::Scores(index) => {
                let mut entries = index.feature(pull.feature);
                entries.any(|entry| units[entry.position].blend(pull.mg, pull.eg) != 0.0)
            }
        };
        let regularization = &problem.regularization;
        let pulled = |pull: &Pull| {
            let values = [(pull.feature, pull.mg), (layout.features() + pull.feature, pull.eg)];
            values.iter().any(|&(i, factor)| factor != 0.0 && regularization.involves(i))
        };
        let alive = pulls.par_iter().map(|pulls| pulls.iter().any(|p| pulled(p) || touches(p))).collect();
        let mut steps = Self {
            alive,
            pulls,
            effects,
            units,
            targets: wide(layout.targets()),
            weights,
            weight,
            z: Vec::new(),
            theta: Vec::new(),
            scores: Vec::new(),
            losses: Vec::new(),
            taken: 0,
            max_scores: MAX_SCORES,
            problem,
        };
        steps.move_to(z)?;
        Ok(steps)
    }

    pub fn move_to(&mut self, z: &[f64]) -> Result<()> {
        if z.len() != self.problem.space.dimension() || z.iter().any(|value| !value.is_finite()) {
            return Err(Error::Usage("the starting point is not finite".to_string()));
        }
        self.z = z.to_vec();
        self.theta = self.problem.parameterization.theta(z);
        self.scores = self.scores_of_theta();
        self.losses = (0..self.scores.len())
            .into_par_iter()
            .with_min_len(CHUNK)
            .map(|n| self.value(n, self.scores[n]))
            .collect();
        match self.loss().is_finite() {
            true => Ok(()),
            false => Err(Error::Numeric("the loss at the starting point is not finite".to_string())),
        }
    }

    /// The scores of all positions under the current θ, in phase units.
    fn scores_of_theta(&mut self) -> Vec<f64> {
        let layout = self.problem.layout;
        if let Effects::Sums(sums) = &mut self.effects {
            let max = f64::from(layout.phase_max());
            return sums.set(&self.theta).into_iter().map(|score| score * max).collect();
        }
        let first = layout.parts()[self.problem.parts.start].positions.start;
        let last = layout.parts()[self.problem.parts.end - 1].positions.end;
        let (mg, eg) = self.theta.split_at(layout.features());
        let max = f64::from(layout.phase_max());
        let score_of = |position: usize, units: Units, entries: Range<usize>, plus: usize| {
            let mut score = f64::from(layout.offsets().get(position).copied().unwrap_or(0.0)) * max;
            for (i, entry) in entries.enumerate() {
                let id = usize::from(layout.ids()[entry]);
                let blended = units.blend(mg[id], eg[id]);
                score += match layout.coefficients().get(entry) {
                    Some(&coefficient) => f64::from(coefficient) * blended,
                    None if i < plus => blended,
                    None => -blended,
                };
            }
            score
        };
        let mut scores = vec![0.0; last - first];
        scores.par_chunks_mut(CHUNK).zip((first..last).into_par_iter().step_by(CHUNK)).for_each(
            |(scores, start)| {
                for shape in layout.shapes_in(start..start + scores.len()) {
                    let (mut entry, length) = (shape.first_entry, shape.row_length());
                    for position in shape.positions.clone() {
                        let units = self.units[position - first];
                        scores[position - start] =
                            score_of(position, units, entry..entry + length, shape.plus);
                        entry += length;
                    }
                }
            },
        );
        scores
    }

    pub fn z(&self) -> &[f64] {
        &self.z
    }

    pub fn loss(&self) -> f64 {
        let chunks: Vec<f64> = self.losses.par_chunks(CHUNK).map(|chunk| chunk.iter().sum()).collect();
        chunks.iter().sum::<f64>() / self.weight + self.problem.regularization.value(&self.theta)
    }

    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// Computes w · ℓ of a position with a score in phase units.
    fn value(&self, position: usize, score: f64) -> f64 {
        let objective = self.problem.objective;
        let x = x_per_cp(objective.k) * (score / f64::from(self.problem.layout.phase_max()));
        let value = objective.loss.value(x, self.targets[position]);
        self.weights.get(position).map_or(value, |weight| weight * value)
    }

    fn blocks(&self) -> usize {
        match &self.effects {
            Effects::Scores(index) => index.blocks.len(),
            Effects::Sums(sums) => sums.blocks(),
        }
    }

    /// True if threads should share one step of a coordinate: for fewer scores they wait longer than they
    /// work.
    fn is_shared(&self, coordinate: usize) -> bool {
        const WORTH_SHARING: u64 = 1 << 17;
        self.scores_of(coordinate) >= WORTH_SHARING
    }

    /// Calls `call` for every position of a block whose score may change with the step, with its new score in phase
    /// units, in ascending order.
    fn each_score(&self, block: usize, coordinate: usize, by: f64, mut call: impl FnMut(usize, f64)) {
        match &self.effects {
            Effects::Scores(index) => {
                let block = &index.blocks[block];
                self.each_change(block, coordinate, by, |n, change| call(n, self.scores[n] + change));
            }
            Effects::Sums(sums) => {
                let max = f64::from(self.problem.layout.phase_max());
                sums.each_change(block, &self.pulls[coordinate], by, |n, score, _| call(n, score * max));
            }
        }
    }

    /// Calls `call` for every position of a block whose score changes with the step, with the change in phase units, in
    /// ascending order.
    fn each_change(&self, of: &index::Block, coordinate: usize, by: f64, mut call: impl FnMut(usize, f64)) {
        let change = |pull: &Pull, entry: Entry| {
            by * f64::from(entry.coefficient) * self.units[entry.position].blend(pull.mg, pull.eg)
        };
        let pulls = &self.pulls[coordinate];
        if let [pull] = &pulls[..] {
            for entry in of.feature(pull.feature) {
                let change = change(pull, entry);
                if change != 0.0 {
                    call(entry.position, change);
                }
            }
            return;
        }
        let mut lists: Vec<_> = pulls.iter().map(|pull| of.feature(pull.feature).peekable()).collect();
        let mut block = [0.0; BLOCK];
        for first in of.positions().step_by(BLOCK) {
            for (pull, list) in pulls.iter().zip(&mut lists) {
                while let Some(entry) = list.next_if(|entry| entry.position < first + BLOCK) {
                    block[entry.position - first] += change(pull, entry);
                }
            }
            for (i, change) in block.iter_mut().enumerate() {
                if *change != 0.0 {
                    call(first + i, std::mem::take(change));
                }
            }
        }
    }

    pub fn change(&self, coordinate: usize, by: f64) -> f64 {
        let of_block = |block: usize| self.change_in(block, coordinate, by);
        let sums = by_block(self.blocks(), self.is_shared(coordinate), of_block);
        sums.iter().sum::<f64>() / self.weight + self.regularization_change(coordinate, by)
    }

    fn change_in(&self, block: usize, coordinate: usize, by: f64) -> f64 {
        let mut sum = 0.0;
        self.each_score(block, coordinate, by, |n, score| sum += self.value(n, score) - self.losses[n]);
        sum
    }

    fn regularization_change(&self, coordinate: usize, by: f64) -> f64 {
        if self.problem.regularization.is_zero() {
            return 0.0;
        }
        let features = self.problem.layout.features();
        let both = |pull: &Pull| [(pull.feature, pull.mg * by), (features + pull.feature, pull.eg * by)];
        let step: Vec<(usize, f64)> = self.pulls[coordinate].iter().flat_map(both).collect();
        self.problem.regularization.change(&self.theta, &step)
    }

    fn is_allowed(&self, coordinate: usize, by: f64) -> bool {
        let space = self.problem.space;
        (space.lower[coordinate]..=space.upper[coordinate]).contains(&(self.z[coordinate] + by))
    }

    pub fn take(&mut self, coordinate: usize, by: f64) {
        let (blocks, shared) = (self.blocks(), self.is_shared(coordinate));
        let changed: Vec<(usize, f64)> = match &mut self.effects {
            Effects::Scores(_) => {
                let of_block = |block: usize| {
                    let mut changed = Vec::new();
                    self.each_score(block, coordinate, by, |n, score| changed.push((n, score)));
                    changed
                };
                by_block(blocks, shared, of_block).concat()
            }
            Effects::Sums(sums) => {
                let (max, pulls) = (f64::from(self.problem.layout.phase_max()), &self.pulls[coordinate]);
                let of_block = |block: usize| {
                    let (mut changed, mut kept) = (Vec::new(), Vec::new());
                    sums.each_change(block, pulls, by, |n, score, new| {
                        changed.push((n, score * max));
                        kept.extend_from_slice(new);
                    });
                    (changed, kept)
                };
                let blocks = by_block(blocks, shared, of_block);
                for (changed, kept) in &blocks {
                    let slots = kept.len() / changed.len().max(1);
                    let positions = changed.iter().map(|(n, _)| *n);
                    positions.zip(kept.chunks_exact(slots.max(1))).for_each(|(n, new)| sums.keep(n, new));
                }
                blocks.into_iter().flat_map(|(changed, _)| changed).collect()
            }
        };
        for (n, score) in changed {
            self.losses[n] = self.value(n, score);
            self.scores[n] = score;
        }
        let features = self.problem.layout.features();
        for pull in &self.pulls[coordinate] {
            self.theta[pull.feature] += pull.mg * by;
            self.theta[features + pull.feature] += pull.eg * by;
        }
        self.z[coordinate] += by;
        self.taken += 1;
    }
}
