//! Starting values of about the size that engines have.

use super::FACTOR_ONE;
use super::catalog::{
    ALWAYS, ATTACKER, BOTH_FLANKS, COUNT, DANGER, DEFENDER, ESCAPES, FACTOR_BISHOPS, FACTOR_ENDING,
    FACTOR_MATERIAL, FACTOR_PAWNS, FACTOR_ROOKS, INFILTRATION, KINGS, LINES, NO_QUEEN, OUTFLANKING, PASSED,
    PAWN_ATTACKS, PAWNS, PIECES, RING_ATTACKS, RING_TWICE, SAFE_CHECKS, SHIELD, STORM, TO_MOVE, UNSAFE_CHECK,
    WEAK,
};
use crate::classical::COUNT as CLASSICAL;
use crate::classical::catalog::Span;

/// Share of the endgame value of danger in its middlegame value; it is squared.
const ENDGAME_DANGER: f64 = 0.4;

/// The starting values of all features after those of `classical`, middlegame and endgame.
pub fn start() -> Vec<[f64; 2]> {
    let mut values = vec![0.0; COUNT];
    let mut set = |span: Span, from: usize, own: &[f64]| {
        own.iter().enumerate().for_each(|(index, &value)| values[span.id(from + index)] = value);
    };
    let line = |start: f64, step: f64, count: usize| -> Vec<f64> {
        (0..count).map(|i| start + step * i as f64).collect()
    };
    set(ALWAYS, 0, &[-80.0]);
    set(TO_MOVE, 0, &[20.0]);
    set(NO_QUEEN, 0, &[-150.0]);
    set(ATTACKER, 0, &[35.0, 25.0, 30.0, 25.0]);
    set(RING_ATTACKS, 0, &line(0.0, 10.0, 16));
    set(RING_TWICE, 0, &line(0.0, 10.0, 7));
    set(WEAK, 0, &line(0.0, 20.0, 8));
    set(PAWN_ATTACKS, 0, &[10.0]);
    set(DEFENDER, 0, &[-25.0, -15.0, -5.0, -20.0]);
    set(ESCAPES, 0, &line(20.0, -5.0, 9));
    set(SAFE_CHECKS, 0, &[90.0, 50.0, 80.0, 80.0, 130.0, 80.0, 120.0, 120.0]);
    set(UNSAFE_CHECK, 0, &[15.0, 10.0, 15.0, 10.0]);
    set(LINES, 0, &[20.0, 15.0]);
    for file in 0..4 {
        set(SHIELD, 7 * file, &[10.0, -10.0, -5.0]);
        set(STORM, 7 * file + 2, &[10.0, 5.0]);
    }

    set(PAWNS, 0, &line(-60.0, 6.0, 17));
    set(BOTH_FLANKS, 0, &[20.0]);
    set(PASSED, 0, &line(-5.0, 5.0, 5));
    set(OUTFLANKING, 0, &line(-16.0, 4.0, 9));
    set(INFILTRATION, 0, &[10.0]);
    set(KINGS, 0, &[30.0]);
    set(PIECES, 0, &line(0.0, 0.0, 9));

    set(FACTOR_PAWNS, 0, &[44.0, 50.0, 56.0, 60.0]);
    set(FACTOR_PAWNS, 4, &[FACTOR_ONE; 5]);
    // Without pawns, an advantage of at most a minor piece is hardly ever enough.
    set(FACTOR_MATERIAL, 0, &[-30.0, -30.0, -30.0, -30.0, -25.0, 0.0, 10.0]);
    set(FACTOR_MATERIAL, 7, &[0.0, 0.0, 0.0, 0.0, 0.0, 4.0, 8.0]);
    set(FACTOR_ENDING, 0, &[8.0, 4.0, 0.0, -24.0, 0.0, 0.0, -6.0, 0.0, -8.0, -4.0]);
    set(FACTOR_BISHOPS, 0, &[-8.0, -4.0, 0.0, 8.0]);
    set(FACTOR_ROOKS, 0, &[-4.0, 0.0, 4.0, 6.0]);
    let both = |id: usize| match DANGER.contains(&id) {
        true => [values[id], ENDGAME_DANGER * values[id]],
        false => [0.0, values[id]],
    };
    (CLASSICAL..COUNT).map(both).collect()
}

/// Fills in the starting values of θ (mg of every feature, then eg) after the features of `classical`.
pub fn fill(theta: &mut [f64]) {
    for (index, value) in start().into_iter().enumerate() {
        theta[CLASSICAL + index] = value[0];
        theta[COUNT + CLASSICAL + index] = value[1];
    }
}

#[cfg(test)]
mod tests {
    use super::super::catalog::COMPLEXITY;
    use super::*;

    #[test]
    fn only_danger_starts_with_middlegame_values() {
        let start = start();
        assert!(start[COMPLEXITY.start - CLASSICAL..].iter().all(|value| value[0] == 0.0));
        assert!(start.iter().flatten().all(|value| value.is_finite() && value.abs() < 200.0));
    }
}
