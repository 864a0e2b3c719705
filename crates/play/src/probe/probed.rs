//! A finished probe, which can go on asking: at other values, and for their exact evaluations.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::asking::Source;
use super::memory::{Block, Header, Memory, Request};
use super::plan::Plan;
use super::positions::{Labeled, Positions};
use super::search::Differences;
use super::{ProbeEvent, ProbeProgress, Survey, measure, output, parameters_in, pool, summarize};
use gputexel_ingest::trace::ImportReport;
use gputexel_io::Result;
use serde::Serialize;

/// Share of small effects from which on they are reported.
const MANY: f64 = 0.05;
/// In smallest differences of evaluations: where several parameters move together, rounding hides some of such changes.
const SMALL: f64 = 3.0;

/// Changes of evaluations that are so small that others like them are not seen.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SmallEffects {
    pub most_cp: f64,
    /// Coefficients that were measured by such changes, of all.
    pub small: u64,
    pub all: u64,
    /// Parameters without larger ones.
    pub parameters: Vec<String>,
}

impl SmallEffects {
    pub fn matter(&self) -> bool {
        !self.parameters.is_empty() || self.small as f64 > MANY * self.all as f64
    }
}

pub struct Probed {
    pub(super) source: Source,
    pub(super) request: Request,
    /// Number and hash of the positions.
    pub(super) key: (u64, String),
    pub(super) plan: Plan,
    pub(super) positions: Positions,
    pub(super) blocks: BTreeMap<u64, Block>,
    pub(super) inputs: Vec<PathBuf>,
    pub(super) processes: usize,
    /// Go on where an earlier process was interrupted.
    pub(super) resume: bool,
    /// As long as it may have to be resumed.
    pub(super) memories: Vec<Memory>,
}

impl Probed {
    /// Under which coefficients were measured.
    pub fn values(&self) -> Vec<f64> {
        self.source.start()
    }

    /// For all parameters, also as the final check has it.
    pub fn is_linear(&self) -> bool {
        self.plan.is_linear() && self.check().explains()
    }

    pub fn check(&self) -> Differences {
        let mut check = Differences::default();
        self.blocks.values().for_each(|block| check.add(&block.check));
        check
    }

    /// Parameters that were taken to be linear, but whose effects differ from predictions, most important first.
    pub fn blamed(&self) -> Vec<String> {
        let mut sums: BTreeMap<u32, f64> = BTreeMap::new();
        for (i, gain) in self.blocks.values().flat_map(|block| &block.blamed) {
            *sums.entry(*i).or_default() += gain;
        }
        let mut order: Vec<(u32, f64)> =
            sums.into_iter().filter(|(i, _)| self.plan.steps[*i as usize].linear).collect();
        order.sort_by(|a, b| b.1.total_cmp(&a.1));
        order.into_iter().map(|(i, _)| self.source.parameters[i as usize].name.clone()).collect()
    }

    /// Parameters that could move, but have no effect in any position.
    pub fn without_effect(&self) -> Vec<String> {
        let effective = self.effective();
        let is_without = |i: &usize| !effective.contains(&(*i as u32)) && self.plan.steps[*i].change != 0.0;
        let without = (0..self.source.parameters.len()).filter(is_without);
        without.map(|i| self.source.parameters[i].name.clone()).collect()
    }

    pub fn small_effects(&self) -> SmallEffects {
        let most_cp = SMALL * (self.plan.resolution_cp + self.plan.noise_cp);
        let mut found = SmallEffects { most_cp, ..SmallEffects::default() };
        let mut largest = vec![0.0f64; self.source.parameters.len()];
        for (i, coefficient) in output::entries(&self.blocks) {
            let step = &self.plan.steps[i as usize];
            let sides = if step.linear { 1.0 } else { 2.0 };
            let change = (sides * step.change * coefficient).abs();
            found.all += 1;
            // Coefficients are written in single precision.
            found.small += u64::from(change <= most_cp * (1.0 + 1e-6));
            largest[i as usize] = largest[i as usize].max(change);
        }
        let is_small = |(_, change): &(_, &f64)| **change > 0.0 && **change <= most_cp * (1.0 + 1e-6);
        let names = self.source.parameters.iter().zip(&largest).filter(is_small);
        found.parameters = names.map(|(parameter, _)| parameter.name.clone()).collect();
        found
    }

    /// Under other values, in the dataset's order: centipawns, White's view, NaN where there is none.
    pub fn evaluate(&self, values: &[f64], observe: &mut dyn FnMut(ProbeEvent<'_>)) -> Result<Vec<f64>> {
        let way = self.plan.way()?;
        let asked: Vec<(&str, bool)> =
            self.kept().iter().map(|position| (position.fen.as_str(), position.black)).collect();
        let total = asked.len() as u64;
        let mut report = |positions| {
            let known = 0;
            let evaluations = positions;
            observe(ProbeEvent::Progress(ProbeProgress { positions, known, total, evaluations }));
        };
        let pool = (self.processes, self.plan.block);
        pool::evaluations(&self.source, &way, pool, values, &asked, &mut report)
    }

    /// Measures the coefficients under other values. What was measured is kept beside `output` until it is
    /// [finished](Self::finish).
    pub fn measure_at(
        &mut self,
        values: &[f64],
        output: &Path,
        observe: &mut dyn FnMut(ProbeEvent<'_>),
    ) -> Result<()> {
        for ((parameter, step), value) in
            self.source.parameters.iter_mut().zip(&mut self.plan.steps).zip(values)
        {
            parameter.start = *value;
            *step = step.from(parameter);
        }
        self.request.parameters = parameters_in(&self.source);
        let mut memory = Memory::open(output, self.resume, true)?;
        let known = if let Ok(known) = memory.recall(&self.request, &self.key) {
            known
        } else {
            // Rounds may have gone another way before.
            drop(memory);
            memory = Memory::open(output, false, true)?;
            None
        };
        self.blocks = if let Some((_, blocks)) = known {
            blocks
        } else {
            memory.begin(&Header::new(self.request.clone(), self.key.clone(), self.plan.clone()))?;
            BTreeMap::new()
        };
        let known = (&mut memory, &mut self.blocks);
        let measured = measure(&self.source, &self.plan, &self.positions, self.processes, known, observe);
        self.memories.push(memory);
        measured
    }

    /// Removes what was kept to be resumed: that of the output last, without which nothing is resumed.
    pub fn finish(self) {
        self.memories.into_iter().rev().for_each(Memory::remove);
    }

    /// With bounds at most `reach` steps away from the values; `trace` is a temporary file.
    pub fn write(
        &self,
        reach: Option<f64>,
        trace: &Path,
        output: &Path,
        force: bool,
    ) -> Result<ImportReport> {
        let mut survey = self.survey();
        if let Some(reach) = reach {
            for (one, parameter) in survey.record.parameters.iter_mut().zip(&self.source.parameters) {
                let step = if one.linear { one.step.abs() / 5.0 } else { one.step.abs() };
                let far = if one.integer { (reach * step).ceil() } else { reach * step };
                (one.min, one.max) = (one.min.max(parameter.start - far), one.max.min(parameter.start + far));
            }
        }
        let rows = (&self.positions, &self.effective(), &self.kept()[..]);
        output::write(&self.source, &survey, rows, &self.blocks, (&self.inputs, trace), (output, force))
    }

    fn survey(&self) -> Survey {
        summarize(&self.source, &self.plan, &self.positions, Vec::new())
    }

    fn effective(&self) -> BTreeSet<u32> {
        self.blocks.values().flat_map(|block| block.effective.iter().copied()).collect()
    }

    fn kept(&self) -> Vec<&Labeled> {
        let mut kept = Vec::new();
        for (number, chunk) in (0..).zip(self.positions.all.chunks(self.plan.block.max(1))) {
            let lost = self.blocks.get(&number).map_or(&[][..], |block| &block.lost);
            kept.extend((0..).zip(chunk).filter(|(n, _)| !lost.contains(n)).map(|(_, position)| position));
        }
        kept
    }
}
