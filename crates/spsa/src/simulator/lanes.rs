//! Many repeats of a run side by side: lanes are repeats.
//!
//! State is laid out `[parameter][lane]`. All loops over lanes are branch-free and of constant
//! length, which compilers turn into the vectors of whatever instruction set they run under; no
//! operation is fused or reordered, so that results are the same bit for bit under all of them.
//! Handles parameters that are not rounded and pairs told one after the other; the rest is
//! [`single`](super::single)'s.

#![allow(clippy::needless_range_loop, reason = "loops over lanes by number are what is vectorized")]

use pulp::{Simd, WithSimd};

use super::Scenario;
use super::driver::{Chunk, Runner};
use super::games::pair;
use super::random::LaneRandom;
use crate::MethodKind;
use crate::bounds::{BoundRule, Placement, Range, step_length, turn};
use gputexel_files::Result;

/// Values of one parameter in all lanes of a block.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Lanes<const L: usize>([f64; L]);

impl<const L: usize> Lanes<L> {
    const ZERO: Self = Self([0.0; L]);
}

/// What the kernels need of a parameter.
#[derive(Clone, Copy, Debug)]
struct Parameter {
    min: f64,
    max: f64,
    optimum: f64,
    /// Elo lost at a distance of 1.
    elo: f64,
    c_end: f64,
    r_end: f64,
    /// 2/σ².
    pull: f64,
}

/// `L` repeats.
#[derive(Clone, Debug)]
pub(super) struct Block<const L: usize> {
    method: MethodKind,
    as_published: bool,
    near_bounds: BoundRule,
    /// Iterations before the next one.
    done: u64,
    /// Repeats that count; the last block may have idle lanes.
    count: usize,
    tau2: f64,
    draw_rate: f64,
    start_elo: f64,
    parameters: Vec<Parameter>,
    random: LaneRandom<L>,
    x: Vec<Lanes<L>>,
    /// Half the way from minus to plus, or the slope of the expected score.
    along: Vec<Lanes<L>>,
    /// BSPSAS: variances. BSPSA: the covariance's lower triangle, row by row, before the last pair.
    spread: Vec<Lanes<L>>,
    /// BSPSA: C a of the last pair, which the covariance does not have yet, and of this one.
    last: Vec<Lanes<L>>,
    next: Vec<Lanes<L>>,
    /// BSPSA: 1 / (τ² + aᵀ C a) of the last pair.
    weight: Lanes<L>,
}

impl<const L: usize> Block<L> {
    /// Repeats `first` and following of a scenario, of which `count` are meant.
    pub fn new(scenario: &Scenario, first: u64, count: usize) -> Self {
        let settings = &scenario.settings;
        let n = scenario.variables.len();
        let parameters = scenario.variables.iter().zip(&scenario.optimum).map(|(v, &optimum)| Parameter {
            min: v.min,
            max: v.max,
            optimum,
            elo: v.simul_elo * 1e-4,
            c_end: v.c_end,
            r_end: v.r_end.unwrap_or(0.0),
            pull: v.sigma.map_or(0.0, |sigma| 2.0 / (sigma * sigma)),
        });
        let variance = |i: usize| scenario.variables[i].s.map_or(0.0, |s| s * s);
        let spread = match settings.method {
            MethodKind::Spsa | MethodKind::Constant => Vec::new(),
            MethodKind::Bspsas => (0..n).map(|i| Lanes([variance(i); L])).collect(),
            MethodKind::Bspsa => {
                let entry = |i: usize, j: usize| if i == j { variance(i) } else { 0.0 };
                (0..n).flat_map(|i| (0..=i).map(move |j| Lanes([entry(i, j); L]))).collect()
            }
        };
        let rows = if settings.method == MethodKind::Bspsa { n } else { 0 };
        Self {
            method: settings.method,
            as_published: settings.as_published,
            near_bounds: settings.near_bounds,
            done: 0,
            count,
            tau2: settings.noise.variance(&[0; 5]),
            draw_rate: scenario.draw_rate,
            start_elo: scenario.start_elo(),
            parameters: parameters.collect(),
            random: LaneRandom::new(scenario.seed, first),
            x: scenario.variables.iter().map(|v| Lanes([v.start; L])).collect(),
            along: vec![Lanes::ZERO; n],
            spread,
            last: vec![Lanes::ZERO; rows],
            next: vec![Lanes::ZERO; rows],
            weight: Lanes::ZERO,
        }
    }

    /// Plays a pair in each lane: leaves half the ways in `along`, returns the scores and, less
    /// what the Bayesian model expected, the innovations.
    #[inline(always)]
    fn play<const BAYES: bool, const PUBLISHED: bool>(&mut self, c_factor: f64) -> ([f64; L], [f64; L]) {
        const SIGN: u64 = 1 << 63;
        self.done += 1;
        let k = self.done;
        let (mut lead, mut expected) = ([0.0; L], [0.0; L]);
        let mut words = [0; L];
        for (i, p) in self.parameters.iter().enumerate() {
            if i % 64 == 0 {
                words = self.random.next();
            }
            let (x, along) = (&self.x[i].0, &mut self.along[i].0);
            let c = p.c_end * c_factor;
            if !PUBLISHED && x.iter().any(|&x| room(x, p) < c) {
                let turn = turn(k, i);
                for l in 0..L {
                    let negative = words[l] & 1 == 1;
                    words[l] >>= 1;
                    let near = NearPair::new(self.near_bounds, x[l], c, turn, negative, p);
                    lead[l] -= p.elo * near.way * (near.sum - 2.0 * p.optimum);
                    along[l] = if BAYES { near.half * p.pull } else { near.step };
                    if BAYES {
                        expected[l] += along[l] * (x[l] - near.middle);
                    }
                }
                continue;
            }
            for l in 0..L {
                let shift = f64::from_bits(c.to_bits() ^ ((words[l] << 63) & SIGN));
                words[l] >>= 1;
                let (plus, minus) = (clamp(x[l] + shift, p), clamp(x[l] - shift, p));
                // e (minus − o)² − e (plus − o)²
                let (way, sum) = (plus - minus, plus + minus);
                lead[l] -= p.elo * way * (sum - 2.0 * p.optimum);
                let half = if PUBLISHED { shift } else { 0.5 * way };
                if BAYES {
                    let a = half * p.pull;
                    along[l] = a;
                    if !PUBLISHED {
                        expected[l] += a * (x[l] - 0.5 * sum);
                    }
                } else {
                    along[l] = half;
                }
            }
        }
        let bits = self.random.next();
        let mut y = [0.0; L];
        for l in 0..L {
            y[l] = pair(bits[l], lead[l], self.draw_rate);
        }
        let mut innovation = y;
        for l in 0..L {
            innovation[l] -= expected[l];
        }
        (y, innovation)
    }

    /// SPSA, with falling or constant gains.
    #[inline(always)]
    fn walk<const PUBLISHED: bool>(&mut self, chunk: &Chunk) {
        for step in &chunk.steps {
            let (y, _) = self.play::<false, PUBLISHED>(step.c);
            for ((p, x), along) in self.parameters.iter().zip(&mut self.x).zip(&self.along) {
                let r = p.r_end * step.r;
                for l in 0..L {
                    x.0[l] = clamp(x.0[l] + r * along.0[l] * y[l], p);
                }
            }
        }
    }

    #[inline(always)]
    fn bspsas<const PUBLISHED: bool>(&mut self, chunk: &Chunk) {
        let tau2 = self.tau2;
        for step in &chunk.steps {
            let (_, innovation) = self.play::<true, PUBLISHED>(step.c);
            for (i, p) in self.parameters.iter().enumerate() {
                let (x, variance, a) = (&mut self.x[i].0, &mut self.spread[i].0, &self.along[i].0);
                for l in 0..L {
                    let pulled = variance[l] * a[l];
                    let inverse = 1.0 / (a[l] * pulled + tau2);
                    x[l] = clamp(x[l] + pulled * innovation[l] * inverse, p);
                    variance[l] *= tau2 * inverse;
                }
            }
        }
    }

    /// The covariance takes in the last pair while it is read for this one: one pass a pair.
    #[inline(always)]
    fn bspsa<const PUBLISHED: bool>(&mut self, chunk: &Chunk) {
        let n = self.parameters.len();
        for step in &chunk.steps {
            let (_, innovation) = self.play::<true, PUBLISHED>(step.c);
            let a = &self.along[..n];
            let (last, next) = (&self.last[..n], &mut self.next[..n]);
            let mut rest = &mut self.spread[..];
            for i in 0..n {
                let (row, others) = rest.split_at_mut(i + 1);
                rest = others;
                let mut scaled = [0.0; L];
                for l in 0..L {
                    scaled[l] = last[i].0[l] * self.weight.0[l];
                }
                let ai = a[i].0;
                let mut sum = [0.0; L];
                // Whole vectors are read before any is written: compilers cannot know that the
                // lists do not overlap.
                for j in 0..i {
                    let (mut entry, mut forward) = (row[j].0, next[j].0);
                    let (last, aj) = (last[j].0, a[j].0);
                    for l in 0..L {
                        entry[l] -= scaled[l] * last[l];
                    }
                    for l in 0..L {
                        sum[l] += entry[l] * aj[l];
                    }
                    for l in 0..L {
                        forward[l] += entry[l] * ai[l];
                    }
                    row[j].0 = entry;
                    next[j].0 = forward;
                }
                let (mut entry, last) = (row[i].0, last[i].0);
                for l in 0..L {
                    entry[l] -= scaled[l] * last[l];
                    sum[l] += entry[l] * ai[l];
                }
                row[i].0 = entry;
                next[i].0 = sum;
            }
            let mut total = [self.tau2; L];
            for (a, g) in a.iter().zip(&*next) {
                for l in 0..L {
                    total[l] += a.0[l] * g.0[l];
                }
            }
            for l in 0..L {
                self.weight.0[l] = 1.0 / total[l];
            }
            for ((p, x), g) in self.parameters.iter().zip(&mut self.x).zip(&*next) {
                for l in 0..L {
                    x.0[l] = clamp(x.0[l] + g.0[l] * innovation[l] * self.weight.0[l], p);
                }
            }
            std::mem::swap(&mut self.last, &mut self.next);
        }
    }

    /// Posterior variance of a parameter in a lane.
    fn variance(&self, i: usize, lane: usize) -> f64 {
        match self.method {
            MethodKind::Bspsas => self.spread[i].0[lane],
            MethodKind::Bspsa => {
                let g = self.last[i].0[lane];
                (self.spread[i * (i + 3) / 2].0[lane] - g * g * self.weight.0[lane]).max(0.0)
            }
            MethodKind::Spsa | MethodKind::Constant => f64::NAN,
        }
    }
}

#[inline(always)]
fn clamp(x: f64, p: &Parameter) -> f64 {
    let x = if x < p.min { p.min } else { x };
    if x > p.max { p.max } else { x }
}

/// `Range::room`, without branches.
#[inline(always)]
fn room(x: f64, p: &Parameter) -> f64 {
    let (below, above) = (x - p.min, p.max - x);
    if below < above { below } else { above }
}

/// What a lane plays of a parameter that some lane has near a bound, as the tuner does.
struct NearPair {
    /// From the minus to the plus side.
    way: f64,
    sum: f64,
    half: f64,
    step: f64,
    middle: f64,
}

impl NearPair {
    #[inline(never)]
    fn new(rule: BoundRule, x: f64, c: f64, turn: f64, negative: bool, p: &Parameter) -> Self {
        let sign = if negative { -1.0 } else { 1.0 };
        let range = Range { min: p.min, max: p.max, whole: None };
        match range.placement(rule, x, c, turn) {
            Placement::Around { c, reach } => {
                let shift = sign * c;
                let (plus, minus) = (clamp(x + shift, p), clamp(x - shift, p));
                let (way, sum) = (plus - minus, plus + minus);
                let half = 0.5 * way;
                let step = reach.map_or(half, |reach| step_length(reach, half.abs()).copysign(half));
                Self { way, sum, half, step, middle: 0.5 * sum }
            }
            Placement::Points(points) => Self {
                way: sign * (points.upper - points.lower),
                sum: points.upper + points.lower,
                half: sign * points.half,
                step: sign * points.step,
                middle: x,
            },
        }
    }
}

/// A block's share of a chunk, compiled for each instruction set.
struct Advance<'a, const L: usize> {
    block: &'a mut Block<L>,
    chunk: &'a Chunk,
}

impl<const L: usize> WithSimd for Advance<'_, L> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        let Self { block, chunk } = self;
        match (block.method, block.as_published) {
            (MethodKind::Spsa | MethodKind::Constant, false) => block.walk::<false>(chunk),
            (MethodKind::Spsa | MethodKind::Constant, true) => block.walk::<true>(chunk),
            (MethodKind::Bspsas, false) => block.bspsas::<false>(chunk),
            (MethodKind::Bspsas, true) => block.bspsas::<true>(chunk),
            (MethodKind::Bspsa, false) => block.bspsa::<false>(chunk),
            (MethodKind::Bspsa, true) => block.bspsa::<true>(chunk),
        }
    }
}

impl<const L: usize> Runner for Block<L> {
    fn advance(&mut self, chunk: &Chunk) -> Result<()> {
        pulp::Arch::new().dispatch(Advance { block: self, chunk });
        Ok(())
    }

    fn gains(&mut self) -> Result<Vec<f64>> {
        let elo = |lane: usize| {
            let lost =
                self.parameters.iter().zip(&self.x).map(|(p, x)| p.elo * (x.0[lane] - p.optimum).powi(2));
            -lost.sum::<f64>()
        };
        Ok((0..self.count).map(|lane| elo(lane) - self.start_elo).collect())
    }

    fn values(&mut self) -> Result<Vec<Vec<f64>>> {
        Ok((0..self.count).map(|lane| self.x.iter().map(|x| x.0[lane]).collect()).collect())
    }

    fn variances(&mut self) -> Result<Vec<Vec<f64>>> {
        let n = self.parameters.len();
        Ok((0..self.count).map(|lane| (0..n).map(|i| self.variance(i, lane)).collect()).collect())
    }
}
