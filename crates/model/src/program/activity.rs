//! Activity of terms: a `relu` whose sum is hardly ever above 0 has no slope there, and cannot be tuned.

use gputexel_io::{counted, grouped};
use serde::Serialize;

use super::{Operator, Phase, Program, Term};

/// Share of positions below which a term that can be off is called dead.
pub const MIN_ACTIVE_SHARE: f64 = 0.01;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TermActivity {
    pub accumulator: String,
    pub operator: &'static str,
    pub target: Phase,
    /// True if it can be off although its sum is there: a `relu`, or `over`.
    pub can_be_off: bool,
    /// Number of positions in which it is on for either side.
    pub active: u64,
    pub positions: u64,
}

impl TermActivity {
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

    /// Adds a position in which it is on or off.
    pub fn add(&mut self, on: bool) {
        self.positions += 1;
        self.active += u64::from(on);
    }

    /// Adds the positions of another part of the same data.
    pub fn merge(&mut self, other: &Self) {
        self.positions += other.positions;
        self.active += other.active;
    }

    pub fn share(&self) -> f64 {
        self.active as f64 / self.positions.max(1) as f64
    }

    /// True if it is off in nearly all positions, see [`MIN_ACTIVE_SHARE`].
    pub fn is_dead(&self) -> bool {
        self.can_be_off && self.positions > 0 && self.share() < MIN_ACTIVE_SHARE
    }
}

/// Describes the dead ones of `terms`, a clause for each accumulator. `when` names the values, such as "under
/// the prior"; it may be empty.
pub fn dead_terms<'a>(terms: impl IntoIterator<Item = &'a TermActivity>, when: &str) -> Vec<String> {
    let mut groups: Vec<Vec<&TermActivity>> = Vec::new();
    for term in terms.into_iter().filter(|term| term.is_dead()) {
        match groups.iter_mut().find(|group| group[0].accumulator == term.accumulator) {
            Some(group) => group.push(term),
            None => groups.push(vec![term]),
        }
    }
    groups.iter().map(|group| dead_group(group, when)).collect()
}

fn dead_group(group: &[&TermActivity], when: &str) -> String {
    let TermActivity { accumulator, operator, target, positions, .. } = group[0];
    let (names, is, its) = if let [_] = group {
        (called(accumulator, operator, *target), "is", "its")
    } else {
        let terms =
            group.iter().map(|term| format!("the {} in {}", shown(term.operator), term.target.name()));
        (format!("{} of '{accumulator}'", listed(terms)), "are", "their")
    };
    let positions = counted(*positions, "position");
    let when = if when.is_empty() { String::new() } else { format!(" {when}") };
    if group.iter().all(|term| term.active == 0) {
        return format!(
            "{names} {is} never switched on in {positions}{when}: tuning cannot see {its} parameters"
        );
    }
    let mut counts: Vec<String> = group.iter().map(|term| grouped(term.active)).collect();
    if counts.iter().all(|count| *count == counts[0]) {
        counts.truncate(1);
    }
    let counts = listed(counts.into_iter());
    format!(
        "{names} {is} switched on in {counts} of {positions}{when}: in the others, tuning cannot see {its} parameters"
    )
}

fn listed(parts: impl Iterator<Item = String>) -> String {
    let parts: Vec<String> = parts.collect();
    match parts.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => parts.concat(),
    }
}

/// The name of a term in messages: `the relu2 of 'danger' in mg`.
pub(super) fn called(accumulator: &str, operator: &str, target: Phase) -> String {
    format!("the {} of '{accumulator}' in {}", shown(operator), target.name())
}

fn shown(operator: &str) -> &str {
    if operator == Operator::Identity.name() { "term" } else { operator }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_term_without_value_and_slope_is_off() {
        let product = &crate::program::trial_program([&[0], &[1], &[2], &[3]]).terms[3];
        assert!(product.can_be_off() && !product.active(0.0, Some(0.0)));
        assert!(product.active(0.0, Some(1.0)) && product.active(1.0, Some(0.0)));
        let square = Term { operator: Operator::Square, times: None, ..product.clone() };
        assert!(square.can_be_off() && !square.active(0.0, None) && square.active(-1.0, None));
    }

    #[test]
    fn dead_terms_are_told_of_by_accumulator() {
        let term = |accumulator: &str, operator, target, active| TermActivity {
            accumulator: accumulator.to_string(),
            operator,
            target,
            can_be_off: true,
            active,
            positions: 6000,
        };
        let told = |terms: &[TermActivity]| dead_terms(terms, "under the prior");
        let never = term("danger", "relu2", Phase::Mg, 0);
        assert_eq!(
            told(std::slice::from_ref(&never)),
            [
                "the relu2 of 'danger' in mg is never switched on in 6,000 positions under the prior: tuning cannot see its parameters"
            ]
        );
        let all = [
            never.clone(),
            term("other", "identity", Phase::Eg, 3),
            term("danger", "relu", Phase::Eg, 0),
            term("danger", "relu", Phase::Eg, 3000),
        ];
        assert_eq!(
            told(&all),
            [
                "the relu2 in mg and the relu in eg of 'danger' are never switched on in 6,000 positions under the prior: tuning cannot see their parameters",
                "the term of 'other' in eg is switched on in 3 of 6,000 positions under the prior: in the others, tuning cannot see its parameters",
            ]
        );
        let clauses = dead_terms(&[never.clone(), term("danger", "relu", Phase::Eg, 5)], "");
        assert!(
            clauses[0].contains("'danger' are switched on in 0 and 5 of 6,000 positions: in"),
            "{clauses:?}"
        );
        let same =
            dead_terms(&[term("danger", "relu", Phase::Mg, 5), term("danger", "relu", Phase::Eg, 5)], "");
        assert!(same[0].contains("are switched on in 5 of 6,000 positions: in"), "{same:?}");
    }
}
