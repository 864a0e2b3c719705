//! How an engine is asked, how far each parameter is moved, and which are moved together.

use serde::{Deserialize, Serialize};

use super::asking::{Ask, Source, Way};
use super::parameters::ProbeParameter;
use gputexel_io::Result;

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Step {
    /// Signed; 0 for a parameter that cannot move.
    pub change: f64,
    /// Largest change in a group, and in checks of predictions.
    pub group: f64,
    /// Evaluations change in proportion to it.
    pub linear: bool,
    /// That may be set.
    pub bounds: [f64; 2],
}

impl Step {
    /// Taken to be linear until a test shows that it is not: half of the range or more, so that rounding hardly
    /// matters.
    pub fn long(parameter: &ProbeParameter) -> Self {
        let [up, down] = parameter.room();
        let (room, sign) = if up >= down { (up, 1.0) } else { (down, -1.0) };
        let full = room.min(5.0 * parameter.step());
        let half = if parameter.integer { (full / 2.0).floor() } else { full / 2.0 };
        let full = if half > 0.0 { 2.0 * half } else { full };
        let group = if half > 0.0 { half } else { full };
        Self { change: sign * full, group, linear: true, bounds: [parameter.min, parameter.max] }
    }

    /// Not linear: a tenth of the range.
    pub fn short(self, parameter: &ProbeParameter) -> Self {
        let small = parameter.step().min(self.change.abs());
        Self { change: self.change.signum() * small, group: small, linear: false, ..self }
    }

    /// From other values, within the same bounds.
    pub fn from(self, parameter: &ProbeParameter) -> Self {
        let bounds = self.bounds;
        let within = ProbeParameter { min: bounds[0], max: bounds[1], ..parameter.clone() };
        let long = Step { bounds, ..Step::long(&within) };
        if self.linear { long } else { long.short(&within) }
    }

    /// For an engine that fails at larger changes.
    pub fn halved(self, parameter: &ProbeParameter) -> Self {
        let half = |change: f64| if parameter.integer { (change / 2.0).trunc() } else { change / 2.0 };
        let change = half(self.change);
        let reach = change.abs().max(if parameter.integer { 0.0 } else { f64::MIN_POSITIVE });
        let bounds =
            [self.bounds[0].max(parameter.start - reach), self.bounds[1].min(parameter.start + reach)];
        Self { change, group: half(self.group).max(change.abs().min(1.0)), bounds, ..self }
    }

    /// At this distance from the start, on the other side if the bounds forbid it.
    pub fn towards(&self, start: f64, change: f64) -> f64 {
        let value = [start + change, start - change].into_iter().find(|value| self.allows(*value));
        value.unwrap_or(start + self.change)
    }

    pub fn allows(&self, value: f64) -> bool {
        (self.bounds[0]..=self.bounds[1]).contains(&value)
    }
}

/// Everything that determines the answers, apart from the positions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Plan {
    pub ask: String,
    pub pattern: Option<String>,
    pub fresh: bool,
    pub by_mover: bool,
    pub unit_cp: f64,
    pub resolution_cp: f64,
    pub noise_cp: f64,
    pub steps: Vec<Step>,
    /// Values at which the engine failed, by parameter.
    pub failures: Vec<(u32, f64)>,
    /// Questions, and why they are of no use.
    pub passed_over: Vec<String>,
    /// Parameters that let evaluations differ once colors are exchanged.
    #[serde(default)]
    pub unmirrored: Vec<String>,
    pub tree: Tree,
    pub block: usize,
    pub per_position: f64,
}

impl Plan {
    pub fn way(&self) -> Result<Way> {
        Ok(Way {
            ask: self.ask.parse::<Ask>()?,
            pattern: self.pattern.as_deref().map(str::parse).transpose()?,
            fresh: self.fresh,
            by_mover: self.by_mover,
            unit_cp: self.unit_cp,
        })
    }

    pub fn is_linear(&self) -> bool {
        self.steps.iter().all(|step| step.linear)
    }
}

/// Groups of parameters, halved down to single ones: ranges of `order`; numbered from 0, a group is followed by
/// those of its first half, then by those of its second half.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Tree {
    /// That can move, similar names beside each other.
    pub order: Vec<u32>,
    /// Whether a group is moved as a whole before its halves.
    pub asked: Vec<bool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Group {
    pub number: usize,
    pub first: usize,
    pub end: usize,
}

impl Group {
    pub fn is_single(self) -> bool {
        self.end - self.first == 1
    }

    pub fn halves(self) -> [Self; 2] {
        let middle = self.first.midpoint(self.end);
        [
            Self { number: self.number + 1, first: self.first, end: middle },
            Self { number: self.number + 2 * (middle - self.first), first: middle, end: self.end },
        ]
    }
}

impl Tree {
    /// Every group is asked.
    pub fn new(source: &Source, steps: &[Step]) -> Self {
        let mut order: Vec<u32> =
            (0..steps.len() as u32).filter(|i| steps[*i as usize].change != 0.0).collect();
        order.sort_by(|a, b| {
            let name = |i: &u32| &source.parameters[*i as usize].name;
            name(a).cmp(name(b))
        });
        let groups = (2 * order.len()).saturating_sub(1);
        Self { order, asked: vec![true; groups] }
    }

    pub fn root(&self) -> Option<Group> {
        (!self.order.is_empty()).then_some(Group { number: 0, first: 0, end: self.order.len() })
    }

    pub fn sizes(&self) -> Vec<usize> {
        let mut sizes = vec![0; self.asked.len()];
        let mut groups: Vec<Group> = self.root().into_iter().collect();
        while let Some(group) = groups.pop() {
            sizes[group.number] = group.end - group.first;
            if !group.is_single() {
                groups.extend(group.halves());
            }
        }
        sizes
    }

    pub fn parameters(&self, group: Group) -> &[u32] {
        &self.order[group.first..group.end]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_numbered_without_gaps() {
        let tree = Tree { order: (0..13).collect(), asked: vec![true; 25] };
        let sizes = tree.sizes();
        assert!(!sizes.contains(&0) && sizes[0] == 13);
        assert_eq!(sizes.iter().filter(|size| **size == 1).count(), 13);
    }

    #[test]
    fn steps_fit_the_bounds() {
        let parameter = |start: f64, min: f64, max: f64| ProbeParameter {
            name: String::new(),
            start,
            min,
            max,
            integer: true,
        };
        let step = |parameter: ProbeParameter| {
            let step = Step::long(&parameter);
            (step.change, step.group)
        };
        assert_eq!(step(parameter(100.0, 0.0, 200.0)), (100.0, 50.0));
        assert_eq!(step(parameter(4.0, 0.0, 4.0)), (-4.0, 2.0));
        assert_eq!(step(parameter(0.0, 0.0, 1.0)), (1.0, 1.0));
        assert_eq!(step(parameter(1.0, 1.0, 1.0)), (0.0, 0.0));
        let wide = parameter(100.0, 0.0, 200.0);
        let halved = Step::long(&wide).halved(&wide);
        assert_eq!((halved.change, halved.bounds), (50.0, [50.0, 150.0]));
    }
}
