//! Output of `tune` about nonlinear evaluations.

use gputexel::tuning::ProgramDiagnostics;

use super::super::table::grouped;

/// Lines about the worth of each part, and how often terms are on.
pub fn lines(program: &ProgramDiagnostics) -> String {
    let ProgramDiagnostics { worth, terms, factor, .. } = program;
    let mut out = String::new();
    if !worth.parts.is_empty() {
        let which = if worth.held_out { "held-out" } else { "training" };
        let positions = grouped(worth.positions);
        out += &format!(
            "worth       rise of the loss on {positions} {which} positions, all else as tuned; without\n"
        );
        let width = worth.parts.iter().map(|part| part.name.chars().count()).max().unwrap_or(0);
        for part in &worth.parts {
            out += &format!("  {:<width$}  {:+.8} ± {:.8}\n", part.name, part.cost, part.error);
        }
    }
    for term in terms.iter().filter(|term| term.activity[1].can_be_off) {
        let [before, after] = [0, 1].map(|which| 100.0 * term.activity[which].share());
        out += &format!("switched on {before:>4.1} % -> {after:>4.1} % of positions: {}\n", term.formula);
    }
    if let Some(factor) = factor {
        let [before, after] = factor.histogram.means;
        let [full_before, full_after] = factor.at_max.map(|share| 100.0 * share);
        out += &format!(
            "factor      mean {before:.3} -> {after:.3}, at its largest value in {full_before:.1} % -> {full_after:.1} % of positions\n"
        );
    }
    out
}
