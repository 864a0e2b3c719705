//! How often terms do anything: a `relu` whose sum is hardly ever above 0 has no slope there, and cannot be tuned.

use serde::Serialize;

use super::{Operator, Phase, Program, Term};

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
    /// That of a term of which no position was looked at.
    pub fn new(program: &Program, term: &Term) -> Self {
        Self {
            accumulator: program.accumulators[term.input.accumulator].name.clone(),
            operator: term.operator.name(),
            target: term.target,
            can_be_off: term.can_be_off(),
            active: 0,
            positions: 0,
        }
    }

    /// Adds a position in which it is on or not.
    pub fn add(&mut self, on: bool) {
        self.positions += 1;
        self.active += u64::from(on);
    }

    /// Adds the positions of another part of the same data.
    pub fn merge(&mut self, other: &Self) {
        self.positions += other.positions;
        self.active += other.active;
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
        let term = called(accumulator, operator, *target);
        format!("{term} is switched on in {active} of {positions} positions")
    }
}

/// What messages call a term: `the relu2 of 'danger' in mg`.
pub(super) fn called(accumulator: &str, operator: &str, target: Phase) -> String {
    // Schemas need not name the identity.
    let operator = if operator == Operator::Identity.name() { "term" } else { operator };
    format!("the {operator} of '{accumulator}' in {}", target.name())
}
