//! The feature set `full`: all of `classical`, and three sums that act on its values in other ways.

mod catalog;
mod complexity;
mod danger;
mod factor;
mod playing;
mod start;

use shakmaty::{Board, Color};

use crate::classical::{self, Collector, Side};
use crate::program::{Accumulator, Adjustment, Factor, FactorTarget, Input, Operator, Phase, Program, Term};
use catalog::{COMPLEXITY, DANGER, FACTOR};
pub use catalog::{COUNT, GROUPS};
pub(super) use playing::FurtherValues;
pub(crate) use start::fill as fill_start;

/// Divisor of the square of danger, centipawns.
const DANGER_DIVISOR: f64 = 720.0;
const FACTOR_ONE: f64 = 64.0;
const FACTOR_MAX: f64 = 192.0;

pub(crate) fn program() -> Program {
    let accumulator = |name: &str, sides: bool, features: std::ops::Range<usize>| Accumulator {
        name: name.to_string(),
        sides,
        features: features.map(|feature| feature as u16).collect(),
    };
    let danger = |phase: Phase| Term {
        into: None,
        steps: 1.0,
        target: phase,
        input: Input { accumulator: 0, phase },
        operator: Operator::Relu2,
        times: None,
        // The danger of White's king counts for Black.
        scale: -1.0,
        shift: 0.0,
        over: None,
        divide: DANGER_DIVISOR,
    };
    let complexity =
        |phase: Phase| Adjustment { target: phase, by: Input { accumulator: 1, phase }, at_most: None };
    Program {
        accumulators: vec![
            accumulator("danger", true, DANGER),
            accumulator("complexity", false, COMPLEXITY),
            accumulator("factor", true, FACTOR),
        ],
        terms: vec![danger(Phase::Mg), danger(Phase::Eg)],
        adjustments: vec![complexity(Phase::Mg), complexity(Phase::Eg)],
        factor: Some(Factor {
            target: FactorTarget::Eg,
            by: vec![Input { accumulator: 2, phase: Phase::Eg }],
            min: 0.0,
            max: FACTOR_MAX,
            one: FACTOR_ONE,
        }),
    }
}

/// Number of sums of the program, apart from the linear part.
const SUMS: usize = 5;

trait SumCollector: Collector {
    /// Begins a sum, to which the following features belong: 0 and 1 are the dangers of White's and of Black's
    /// king, 2 is complexity, 3 and 4 are the factors of White and of Black.
    fn begin(&mut self, sum: usize);
}

#[inline]
fn sums([white, black]: &[Side<'_>; 2], turn: Color, out: &mut impl SumCollector) {
    out.begin(0);
    danger::danger(black, white.view, turn.is_black(), out);
    out.begin(1);
    danger::danger(white, black.view, turn.is_white(), out);
    out.begin(2);
    complexity::complexity(white, black, out);
    out.begin(3);
    factor::factor(white, out);
    out.begin(4);
    factor::factor(black, out);
}

/// The features of each sum, and the column of the first of them.
const COLUMNS: [(std::ops::Range<usize>, usize); SUMS] = {
    let black_danger = COUNT + DANGER.end - DANGER.start;
    let complexity = black_danger + DANGER.end - DANGER.start;
    let white_factor = complexity + COMPLEXITY.end - COMPLEXITY.start;
    let black_factor = white_factor + FACTOR.end - FACTOR.start;
    [
        (DANGER, COUNT),
        (DANGER, black_danger),
        (COMPLEXITY, complexity),
        (FACTOR, white_factor),
        (FACTOR, black_factor),
    ]
};

struct Columns<'a> {
    columns: &'a mut Vec<u16>,
    /// First column of the sum minus its first feature.
    offset: usize,
}

impl Collector for Columns<'_> {
    #[inline]
    fn add(&mut self, id: usize) {
        self.columns.push((id + self.offset) as u16);
    }
}

impl SumCollector for Columns<'_> {
    fn begin(&mut self, sum: usize) {
        let (features, first) = &COLUMNS[sum];
        self.offset = first - features.start;
    }
}

/// Appends the features of a position except pieces on squares: those of the linear part to `plus` for White
/// and to `minus` for Black, the columns of all sums to `plus`.
pub(crate) fn compute(board: &Board, turn: Color, plus: &mut Vec<u16>, minus: &mut Vec<u16>) {
    let passed = classical::pawn_structure(board, plus, minus);
    classical::terms(board, turn, passed, plus, minus, |sides, plus| {
        sums(sides, turn, &mut Columns { columns: plus, offset: 0 });
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::CompiledProgram;

    #[test]
    fn columns_are_those_of_the_program() {
        let compiled = CompiledProgram::try_new(program(), COUNT).unwrap();
        assert_eq!(compiled.slots(), 1 + SUMS);
        for (sum, (features, first)) in COLUMNS.iter().enumerate() {
            let columns = compiled.slot_columns(1 + sum);
            assert_eq!(columns, *first..first + features.len());
            assert!(
                compiled.features_of_columns()[columns].iter().map(|&f| usize::from(f)).eq(features.clone())
            );
        }
    }

    #[test]
    fn groups_follow_each_other_and_names_are_unique() {
        let features = [classical::GROUPS, GROUPS]
            .into_iter()
            .flat_map(classical::catalog::features_of)
            .collect::<Vec<_>>();
        assert_eq!(features.len(), COUNT);
        let mut names: Vec<&str> = features.iter().map(|feature| feature.name.as_str()).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
        let mut next = classical::COUNT;
        for group in GROUPS {
            assert_eq!(group.first(), next, "{}", group.name);
            next += group.features();
            let range =
                [&DANGER, &COMPLEXITY, &FACTOR].into_iter().find(|range| range.contains(&group.first()));
            let name =
                ["danger", "complexity", "factor"].into_iter().find(|name| group.name.starts_with(name));
            let accumulators = program().accumulators;
            let own = accumulators.iter().find(|accumulator| Some(accumulator.name.as_str()) == name);
            assert_eq!(own.map(|own| usize::from(own.features[0])), range.map(|range| range.start));
        }
        assert_eq!(next, COUNT);
    }
}
