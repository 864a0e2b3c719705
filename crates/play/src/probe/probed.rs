//! A finished probe, which can go on asking: at other values, and for their exact evaluations.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::asking::{Source, evaluations};
use super::output::{self, Block};
use super::plan::Plan;
use super::positions::{Labeled, Positions};
use super::search::Differences;
use super::{ProbeEvent, ProbeProgress, Survey, measure, summarize};
use gputexel_ingest::trace::ImportReport;
use gputexel_io::Result;

pub struct Probed {
    pub(super) source: Source,
    pub(super) plan: Plan,
    pub(super) positions: Positions,
    pub(super) blocks: Vec<Block>,
    pub(super) inputs: Vec<PathBuf>,
    pub(super) processes: usize,
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
        self.blocks.iter().for_each(|block| check.add(&block.check));
        check
    }

    /// Parameters that could move, but have no effect in any position.
    pub fn without_effect(&self) -> Vec<String> {
        let effective = self.effective();
        let is_without = |i: &usize| !effective.contains(&(*i as u32)) && self.plan.steps[*i].change != 0.0;
        let without = (0..self.source.parameters.len()).filter(is_without);
        without.map(|i| self.source.parameters[i].name.clone()).collect()
    }

    /// Under other values, in the dataset's order: centipawns, White's view, NaN where there is none.
    pub fn evaluate(&self, values: &[f64], observe: &mut dyn FnMut(ProbeEvent<'_>)) -> Result<Vec<f64>> {
        let asked: Vec<(&str, bool)> =
            self.kept().iter().map(|position| (position.fen.as_str(), position.black)).collect();
        let total = asked.len() as u64;
        let mut report = |positions| {
            observe(ProbeEvent::Progress(ProbeProgress { positions, total, evaluations: positions }));
        };
        let pool = (self.processes, self.plan.block);
        evaluations(&self.source, &self.plan.way, pool, values, &asked, &mut report)
    }

    pub fn measure_at(&mut self, values: &[f64], observe: &mut dyn FnMut(ProbeEvent<'_>)) -> Result<()> {
        for ((parameter, step), value) in
            self.source.parameters.iter_mut().zip(&mut self.plan.steps).zip(values)
        {
            parameter.start = *value;
            *step = step.from(parameter);
        }
        self.blocks = measure(&self.source, &self.plan, &self.positions, self.processes, observe)?;
        Ok(())
    }

    /// With bounds at most `reach` steps away from the values.
    pub fn write(&self, reach: Option<f64>, output: &Path, force: bool) -> Result<ImportReport> {
        let mut survey: Survey = summarize(&self.source, &self.plan, &self.positions, Vec::new());
        if let Some(reach) = reach {
            for (one, parameter) in survey.record.parameters.iter_mut().zip(&self.source.parameters) {
                let step = if one.linear { one.step.abs() / 5.0 } else { one.step.abs() };
                let far = if one.integer { (reach * step).ceil() } else { reach * step };
                (one.min, one.max) = (one.min.max(parameter.start - far), one.max.min(parameter.start + far));
            }
        }
        let rows = (&self.positions, &self.effective(), &self.kept()[..]);
        output::write(&self.source, &survey, rows, &self.blocks, &self.inputs, (output, force))
    }

    fn effective(&self) -> BTreeSet<u32> {
        self.blocks.iter().flat_map(|block| block.effective.iter().copied()).collect()
    }

    fn kept(&self) -> Vec<&Labeled> {
        let mut kept = Vec::new();
        for (block, chunk) in self.blocks.iter().zip(self.positions.all.chunks(self.plan.block.max(1))) {
            let is_kept = |(n, _): &(u32, &Labeled)| !block.lost.contains(n);
            kept.extend((0..).zip(chunk).filter(is_kept).map(|(_, position)| position));
        }
        kept
    }
}
