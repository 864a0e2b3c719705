//! How often terms do anything: a `relu` whose sum is hardly ever above 0 has no slope there, and cannot be tuned.

use rayon::prelude::*;
use serde::Serialize;

use gputexel_dataset::Dataset;
use gputexel_dataset::objective;
use gputexel_model::program::{CompiledProgram, Phase, Term, TermEffect};

/// Share of positions below which a term that can be off is called dead.
pub const MIN_ACTIVE_SHARE: f64 = 0.01;

/// How often a term does anything.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TermActivity {
    /// The accumulator of its sum.
    pub accumulator: String,
    /// Its operator.
    pub operator: &'static str,
    /// The value that it is added to.
    pub target: Phase,
    /// Whether it can be off although its sum is there: a `relu`, or `over`.
    pub can_be_off: bool,
    /// Number of positions in which it is on for either side.
    pub active: u64,
    /// Number of positions that were looked at.
    pub positions: u64,
}

impl TermActivity {
    pub(super) fn new(program: &CompiledProgram, term: &Term) -> Self {
        Self {
            accumulator: program.program().accumulators[term.input.accumulator].name.clone(),
            operator: term.operator.name(),
            target: term.target,
            can_be_off: term.over.is_some() || term.rectifies(),
            active: 0,
            positions: 0,
        }
    }

    pub(super) fn add(&mut self, effects: [Option<TermEffect>; 2]) {
        self.positions += 1;
        self.active += u64::from(effects.iter().flatten().any(|effect| effect.active));
    }

    /// Share of positions in which it is on; 0 of none.
    pub fn share(&self) -> f64 {
        self.active as f64 / self.positions.max(1) as f64
    }

    /// Whether it is off in nearly all positions, see [`MIN_ACTIVE_SHARE`].
    pub fn is_dead(&self) -> bool {
        self.can_be_off && self.positions > 0 && self.share() < MIN_ACTIVE_SHARE
    }

    /// What is to be known of a dead term, as a clause.
    pub fn describe(&self) -> String {
        let Self { accumulator, operator, target, active, positions, .. } = self;
        let target = target.name();
        format!(
            "the {operator} of '{accumulator}' in {target} is switched on in {active} of {positions} positions"
        )
    }
}

/// How often each term does anything under θ; empty if the evaluation has no program.
///
/// # Panics
/// If the length of θ is not twice the number of features.
pub fn term_activity(data: &Dataset, theta: &[f64]) -> Vec<TermActivity> {
    let Some(program) = data.program() else { return Vec::new() };
    let which = super::thinned((0..data.len() as u32).collect());
    let terms = &program.program().terms;
    let start = || terms.iter().map(|term| TermActivity::new(program, term)).collect::<Vec<_>>();
    which
        .par_iter()
        .with_min_len(1 << 10)
        .fold(start, |mut all, &n| {
            let (sums, present) = objective::sums(data, program, theta, n as usize);
            let each = all.iter_mut().zip(terms);
            each.for_each(|(own, term)| own.add(program.term_effects(term, &sums, present)));
            all
        })
        .reduce(start, |mut all, other| {
            for (own, other) in all.iter_mut().zip(other) {
                own.active += other.active;
                own.positions += other.positions;
            }
            all
        })
}
