//! Repeats one evaluation until its time is known.

use std::time::Instant;

use crate::device::GpuContext;
use crate::{Evaluator, Population, Request};
use gputexel_dataset::Layout;
use gputexel_dataset::objective::LossKind;
use gputexel_io::Result;
use serde::{Deserialize, Serialize};

pub(super) const STEPS: usize = 11;

pub(super) fn part_of(n: usize) -> usize {
    STEPS - 1 - (n.trailing_zeros() as usize).min(STEPS - 1)
}

const MIN_TIMES: usize = 3;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    pub members: usize,
    /// True if gradients were computed besides losses.
    pub gradients: bool,
    /// Number of positions per evaluation.
    pub positions: usize,
    pub evaluations: usize,
    /// Seconds of the fastest evaluation, from call to return.
    pub seconds: f64,
    /// 90th percentile of the time of an evaluation over the median; of few evaluations, the longest over the median.
    pub scatter: Option<f64>,
    /// Seconds of kernel time in them, by the timestamps of the device; `None` for a CPU, and for adapters without
    /// timestamps.
    pub device_seconds: Option<f64>,
    /// Positions times members, per second.
    pub pairs_per_second: f64,
}

pub(super) struct Meter<'a, 'e> {
    pub layout: &'a Layout,
    pub theta: &'a [f64],
    pub seconds: f64,
    pub evaluator: &'e mut dyn Evaluator,
    pub context: Option<&'a GpuContext>,
}

impl Meter<'_, '_> {
    fn population(&self, members: usize) -> Population {
        let moved = |m: usize| {
            self.theta.iter().enumerate().map(move |(i, value)| value + ((m * 31 + i * 7) % 13) as f64 - 6.0)
        };
        let theta = (0..members).flat_map(moved).collect();
        Population::new(self.theta.len() / 2, theta, vec![0.8; members])
    }

    /// Evaluates the first parts; returns the seconds, and those of kernels.
    fn time(&mut self, population: &Population, parts: usize, gradients: bool) -> Result<(f64, Option<f64>)> {
        if let Some(context) = self.context {
            context.take_kernel_seconds()?;
        }
        let request = Request { parts: 0..parts, loss: LossKind::Squared, gradients, curvature: false };
        let started = Instant::now();
        self.evaluator.evaluate(population, &request)?;
        let seconds = started.elapsed().as_secs_f64();
        let kernels = self.context.map_or(Ok(None), GpuContext::take_kernel_seconds)?;
        Ok((seconds, kernels))
    }

    fn positions(&self, parts: usize) -> usize {
        self.layout.parts()[parts - 1].positions.end
    }

    fn parts(&mut self, population: &Population, gradients: bool, times: f64) -> Result<usize> {
        let mut parts = 1;
        loop {
            // The first run includes one-time work: compiling, sorting, uploading.
            self.time(population, parts, gradients)?;
            let (took, _) = self.time(population, parts, gradients)?;
            // Each part but the first doubles the positions.
            let room = (self.seconds / times / took.max(1e-9)).log2().floor();
            if parts == STEPS || room < 1.0 {
                return Ok(parts);
            }
            parts = (parts + room as usize).min(STEPS);
        }
    }

    pub fn cell(&mut self, members: usize, gradients: bool) -> Result<Cell> {
        let population = self.population(members);
        let parts = self.parts(&population, gradients, 2.0)?;
        let mut times = Vec::new();
        let started = Instant::now();
        while times.len() < MIN_TIMES || started.elapsed().as_secs_f64() < self.seconds / 2.0 {
            times.push(self.time(&population, parts, gradients)?);
        }
        times.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (seconds, device_seconds) = times[0];
        let scatter = Some(times[times.len() * 9 / 10].0 / times[times.len() / 2].0);
        let positions = self.positions(parts);
        Ok(Cell {
            members,
            gradients,
            positions,
            evaluations: times.len(),
            seconds,
            scatter,
            device_seconds,
            pairs_per_second: (positions * members) as f64 / seconds,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_double_the_positions() {
        let mut counts = [0usize; STEPS];
        (0..4096).for_each(|n| counts[part_of(n)] += 1);
        let mut sum = 0;
        for (part, count) in counts.into_iter().enumerate() {
            sum += count;
            assert_eq!(sum, 4 << part);
        }
    }
}
