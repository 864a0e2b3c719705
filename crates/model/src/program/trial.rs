//! A program for comparisons of evaluators.

use super::{Accumulator, Adjustment, Factor, FactorTarget, Input, Operator, Phase, Program, Term};

/// Creates a program with king danger through a square, a line and a product, room through a sigmoid,
/// complexity, and a factor on the endgame; danger, factor and room are sums of each side. `features` are
/// those of danger, complexity, factor and room.
pub fn trial_program(features: [&[u16]; 4]) -> Program {
    use Phase::{Eg, Mg};
    let [danger, complexity, factor, room] = features;
    let accumulator = |name: &str, sides: bool, features: &[u16]| Accumulator {
        name: name.to_string(),
        sides,
        features: features.to_vec(),
    };
    let input = |accumulator, phase| Input { accumulator, phase };
    let term = |target, from, operator, divide, scale| Term {
        into: None,
        steps: 1.0,
        target,
        input: from,
        operator,
        times: None,
        scale,
        shift: 0.0,
        over: None,
        divide,
    };
    Program {
        accumulators: vec![
            accumulator("danger", true, danger),
            accumulator("complexity", false, complexity),
            accumulator("factor", true, factor),
            accumulator("room", true, room),
        ],
        terms: vec![
            term(Mg, input(0, Mg), Operator::Relu2, 120.0, -1.0),
            term(Eg, input(0, Eg), Operator::Relu, 2.0, -1.0),
            term(Mg, input(3, Mg), Operator::Sigmoid, 40.0, 90.0),
            Term { times: Some(input(3, Eg)), ..term(Eg, input(0, Mg), Operator::Identity, 200.0, 1.0) },
        ],
        adjustments: vec![Adjustment { target: Eg, by: input(1, Eg), at_most: None }],
        factor: Some(Factor {
            target: FactorTarget::Eg,
            by: vec![input(2, Eg)],
            min: 0.0,
            max: 96.0,
            one: 64.0,
        }),
    }
}
