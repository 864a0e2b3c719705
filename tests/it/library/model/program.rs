//! Tests programs of evaluations: their scores against formulas of engines written by hand, and their slopes
//! against finite differences and dual numbers.

use crate::common::prelude::*;
use gputexel::model::program::{Dual, Interval};

const OPERATORS: usize = 6;

fn operator(index: usize, random: &mut Xoshiro256PlusPlus) -> Operator {
    match index % OPERATORS {
        0 => Operator::Identity,
        1 => Operator::Relu,
        2 => Operator::Relu2,
        3 => Operator::Square,
        4 => Operator::Sigmoid,
        _ => {
            Operator::Table((0..5).map(|i| [f64::from(i) - 2.0, random.random_range(-50.0..50.0)]).collect())
        }
    }
}

fn random_program(seed: u64) -> Program {
    let random = &mut Xoshiro256PlusPlus::seed_from_u64(seed);
    let accumulator = |name: &str, sides: bool, features: &[u16]| Accumulator {
        name: name.to_string(),
        sides,
        features: features.to_vec(),
    };
    let accumulators = vec![
        accumulator("danger", true, &[1, 2, 3]),
        accumulator("weight", true, &[4]),
        accumulator("amplitude", false, &[5]),
        accumulator("complexity", false, &[6, 0]),
        accumulator("factor", true, &[7, 1]),
        accumulator("cap", true, &[2]),
        accumulator("pressure", true, &[]),
    ];
    let phase = |random: &mut Xoshiro256PlusPlus| match random.random() {
        true => Phase::Mg,
        false => Phase::Eg,
    };
    let mut terms = Vec::new();
    for index in 0..OPERATORS + 2 {
        let operator = operator(index, random);
        let times = match random.random_range(0..3) {
            0 => Some(1),
            1 => Some(2),
            _ => None,
        };
        terms.push(Term {
            into: None,
            steps: 1.0,
            target: phase(random),
            input: Input { accumulator: [0, 3][usize::from(index == 7)], phase: phase(random) },
            divide: if operator.divides_argument() { 40.0 } else { random.random_range(1.0..50.0) },
            operator,
            times: times
                .filter(|&times| index != 7 || times == 2)
                .map(|accumulator| Input { accumulator, phase: phase(random) }),
            scale: random.random_range(-1.5..1.5),
            shift: random.random_range(-10.0..10.0),
            over: random.random::<bool>().then(|| random.random_range(-60.0..20.0)),
        });
    }
    // Functions of functions, and products of three: into a sum that others take, and into that of the factor.
    for (index, into, times) in [(0, 6, Some(1)), (1, 6, None), (2, 5, None)] {
        let into = Some(into);
        let times = times.map(|accumulator| Input { accumulator, phase: phase(random) });
        terms.push(Term { into, times, ..terms[index].clone() });
    }
    let pressure = Input { accumulator: 6, phase: phase(random) };
    terms.push(Term { input: pressure, times: None, ..terms[3].clone() });
    terms.push(Term {
        input: pressure,
        times: Some(Input { accumulator: 1, phase: Phase::Eg }),
        ..terms[0].clone()
    });
    // Every accumulator must be used.
    terms.push(Term { times: Some(Input { accumulator: 1, phase: Phase::Mg }), ..terms[0].clone() });
    terms.push(Term { times: Some(Input { accumulator: 2, phase: Phase::Eg }), ..terms[0].clone() });
    let by = Input { accumulator: 3, phase: phase(random) };
    let adjustments = vec![
        Adjustment { target: Phase::Eg, by, at_most: None },
        Adjustment { target: Phase::Mg, by, at_most: Some(random.random_range(-30.0..30.0)) },
    ];
    let input = |accumulator| Input { accumulator, phase: Phase::Eg };
    let target = [FactorTarget::Eg, FactorTarget::Score][usize::from(random.random::<bool>())];
    let factor = Factor { target, by: vec![input(4), input(5)], min: -20.0, max: 60.0, one: 64.0 };
    Program {
        accumulators,
        terms,
        adjustments,
        factor: (!seed.is_multiple_of(4)).then_some(factor).or_else(|| {
            let by = vec![input(4), input(5)];
            Some(Factor { target: FactorTarget::Eg, by, min: -1e6, max: 1e6, one: 64.0 })
        }),
    }
}

/// Returns a row's sums, of which some are absent.
fn random_sums(program: &CompiledProgram, random: &mut Xoshiro256PlusPlus) -> (Vec<[f64; 2]>, u32) {
    let mut present = 1;
    let mut sums = vec![[0.0; 2]; program.slots()];
    for (slot, sum) in sums.iter_mut().enumerate() {
        if slot == 0 || random.random_range(0..5) > 0 {
            present |= 1 << slot;
            *sum = [(); 2].map(|()| random.random_range(-100.0..100.0));
        }
    }
    (sums, present)
}

/// Slopes agree with finite differences away from kinks, and with dual numbers, whose slopes are the curvature.
#[test]
fn slopes_match_differences_and_dual_numbers() {
    let (mut zero, mut total) = (0, 0);
    let step = 1e-4;
    for seed in 0..400 {
        let program = CompiledProgram::try_new(random_program(seed), 8).unwrap();
        let random = &mut Xoshiro256PlusPlus::seed_from_u64(seed + 1000);
        let taper = Taper { mg: random.random_range(0.0..1.0), eg: random.random_range(0.0..1.0) };
        for _ in 0..20 {
            let (sums, present) = random_sums(&program, random);
            let mut slopes = vec![[7.0; 2]; program.slots()];
            let score = program.score_and_slopes(&sums, present, taper, &mut slopes);
            assert_eq!(score, program.score(&sums, present, taper));
            let around = |pair: &[f64; 2]| pair.map(|sum| Interval::around(sum, 0.01, false));
            let around: Vec<[Interval; 2]> = sums.iter().map(around).collect();
            let is_smooth = !program.score(&around, present, taper).split;
            for (slot, phase) in (0..program.slots()).flat_map(|slot| [(slot, 0), (slot, 1)]) {
                let slope = slopes[slot][phase];
                let scale = 1.0 + slope.abs();
                total += 1;
                zero += usize::from(slope == 0.0);
                let lift = |s: usize, p: usize| Dual {
                    value: sums[s][p],
                    slope: f64::from((s, p) == (slot, phase)),
                };
                let lifted: Vec<[Dual; 2]> = (0..sums.len()).map(|s| [lift(s, 0), lift(s, 1)]).collect();
                let mut curved = vec![[Dual::default(); 2]; program.slots()];
                let value = program.score_and_slopes(&lifted, present, taper, &mut curved);
                assert!((value.value - score).abs() <= 1e-9 * (1.0 + score.abs()));
                assert!((value.slope - slope).abs() <= 1e-10 * scale, "{value:?} {slope}");
                if !is_smooth {
                    continue;
                }
                let mut moved = sums.clone();
                moved[slot][phase] -= step;
                let down = program.score(&moved, present, taper);
                moved[slot][phase] += 2.0 * step;
                let mut after = slopes.clone();
                let up = program.score_and_slopes(&moved, present, taper, &mut after);
                let difference = (up - down) / (2.0 * step);
                assert!((difference - slope).abs() < 1e-4 * scale, "{difference} {slope}");
                for (a, (b, c)) in
                    after.as_flattened().iter().zip(slopes.as_flattened().iter().zip(curved.as_flattened()))
                {
                    let difference = (a - b) / step;
                    assert!(
                        (difference - c.slope).abs() < 1e-2 * (1.0 + c.slope.abs()),
                        "{difference} {c:?}"
                    );
                }
            }
        }
    }
    assert!(4 * zero < 3 * total, "{zero} of {total} slopes are 0");
}

fn input(accumulator: usize, phase: Phase) -> Input {
    Input { accumulator, phase }
}

fn term(target: Phase, accumulator: usize, phase: Phase, operator: Operator, divide: f64) -> Term {
    Term {
        into: None,
        steps: 1.0,
        target,
        input: input(accumulator, phase),
        operator,
        times: None,
        scale: -1.0,
        shift: 0.0,
        over: None,
        divide,
    }
}

fn both(name: &str, sides: bool) -> Accumulator {
    Accumulator { name: name.to_string(), sides, features: vec![0] }
}

/// Ethereal: safety, complexity in the endgame, factor of the stronger side in the endgame.
#[test]
fn ethereal() {
    let program = Program {
        accumulators: vec![both("danger", true), both("complexity", false), both("factor", true)],
        terms: vec![
            term(Phase::Mg, 0, Phase::Mg, Operator::Relu2, 720.0),
            term(Phase::Eg, 0, Phase::Eg, Operator::Relu, 20.0),
        ],
        adjustments: vec![Adjustment { target: Phase::Eg, by: input(1, Phase::Eg), at_most: None }],
        factor: Some(Factor {
            target: FactorTarget::Eg,
            by: vec![input(2, Phase::Eg)],
            min: 0.0,
            max: 128.0,
            one: 128.0,
        }),
    };
    let program = CompiledProgram::try_new(program, 1).unwrap();
    assert_eq!((program.slots(), program.columns()), (6, 6));
    let random = &mut Xoshiro256PlusPlus::seed_from_u64(3);
    for _ in 0..2000 {
        let (sums, _) = random_sums(&program, random);
        let (danger, complexity) = ([sums[1], sums[2]], sums[3][1]);
        let phase = random.random_range(0.0..1.0);
        let danger = |side: usize| {
            let [mg, eg] = danger[side];
            [-mg.max(0.0) * mg.max(0.0) / 720.0, -eg.max(0.0) / 20.0]
        };
        let (white, black) = (danger(0), danger(1));
        let mg = sums[0][0] + white[0] - black[0];
        let mut eg = sums[0][1] + white[1] - black[1];
        let sign = f64::from(i8::from(eg > 0.0) - i8::from(eg < 0.0));
        eg += sign * complexity.max(-eg.abs());
        let factor = sums[if eg < 0.0 { 5 } else { 4 }][1].clamp(0.0, 128.0) / 128.0;
        let expected = mg * phase + eg * factor * (1.0 - phase);
        let got = program.score(&sums, 0b11_1111, Taper { mg: phase, eg: 1.0 - phase });
        assert!((got - expected).abs() < 1e-9, "{got} {expected}");
    }
}

/// Terms that go into sums: a function of a function, and a product of three.
#[test]
fn functions_of_functions() {
    let program = Program {
        accumulators: vec![both("a", true), both("b", true), both("c", true), both("d", false)],
        terms: vec![
            Term { into: Some(2), ..term(Phase::Mg, 0, Phase::Mg, Operator::Relu, 4.0) },
            Term {
                into: Some(2),
                times: Some(input(1, Phase::Mg)),
                ..term(Phase::Eg, 0, Phase::Eg, Operator::Identity, 10.0)
            },
            term(Phase::Mg, 2, Phase::Mg, Operator::Square, 50.0),
            Term {
                times: Some(input(1, Phase::Eg)),
                ..term(Phase::Eg, 2, Phase::Eg, Operator::Identity, 100.0)
            },
            term(Phase::Eg, 3, Phase::Eg, Operator::Relu, 1.0),
        ],
        ..Program::default()
    };
    let compiled = CompiledProgram::try_new(program.clone(), 1).unwrap();
    let random = &mut Xoshiro256PlusPlus::seed_from_u64(5);
    for _ in 0..2000 {
        let (sums, _) = random_sums(&compiled, random);
        let side = |a: [f64; 2], b: [f64; 2], c: [f64; 2]| {
            let c = [c[0] - a[0].max(0.0) / 4.0, c[1] - a[1] * b[0] / 10.0];
            [-c[0] * c[0].abs() / 50.0, -c[1] * b[1] / 100.0]
        };
        let (white, black) = (side(sums[1], sums[3], sums[5]), side(sums[2], sums[4], sums[6]));
        let phase = random.random_range(0.0..1.0);
        let mg = sums[0][0] + white[0] - black[0];
        let eg = sums[0][1] + white[1] - black[1] - sums[7][1].max(0.0);
        let expected = mg * phase + eg * (1.0 - phase);
        let got = compiled.score(&sums, 0xff, Taper { mg: phase, eg: 1.0 - phase });
        assert!((got - expected).abs() < 1e-9 * (1.0 + expected.abs()), "{got} {expected}");
        // A sum without entries is there if something goes into it.
        let alone = compiled.score(&sums, 0b1111_1111 & !0b110_0000, Taper { mg: 1.0, eg: 0.0 });
        let through = compiled.score(&sums, 0xff, Taper { mg: 1.0, eg: 0.0 });
        assert!((alone - through).abs() < 1e-9 * (1.0 + through.abs()), "{alone} {through}");
    }
    assert_eq!(program.formulas()[1], "c.eg -= a.eg * b.mg / 10");
    for (into, reason) in
        [(0, "must be listed after it"), (3, "only one of the two"), (9, "no accumulator 9")]
    {
        let mut wrong = program.clone();
        wrong.terms[0].into = Some(into);
        assert_has(&wrong.validate(1).unwrap_err().to_string(), reason);
    }
}

/// Stockfish 11: one danger for both phases above a threshold, initiative in both, the smaller of two factors.
#[test]
fn stockfish_11() {
    let danger =
        |target, operator, divide| Term { over: Some(100.0), ..term(target, 0, Phase::Mg, operator, divide) };
    let program = Program {
        accumulators: vec![
            both("danger", true),
            both("initiative", false),
            both("few", true),
            both("many", true),
        ],
        terms: vec![danger(Phase::Mg, Operator::Relu2, 4096.0), danger(Phase::Eg, Operator::Identity, 16.0)],
        adjustments: vec![
            Adjustment { target: Phase::Mg, by: input(1, Phase::Eg), at_most: Some(50.0) },
            Adjustment { target: Phase::Eg, by: input(1, Phase::Eg), at_most: None },
        ],
        factor: Some(Factor {
            target: FactorTarget::Eg,
            by: vec![input(2, Phase::Eg), input(3, Phase::Eg)],
            min: 0.0,
            max: 64.0,
            one: 64.0,
        }),
    };
    let program = CompiledProgram::try_new(program, 1).unwrap();
    let random = &mut Xoshiro256PlusPlus::seed_from_u64(4);
    for _ in 0..2000 {
        let (mut sums, _) = random_sums(&program, random);
        sums[1][0] *= 3.0;
        sums[2][0] *= 3.0;
        let phase = random.random_range(0.0..1.0);
        let x = [sums[1][0], sums[2][0]];
        let over = |x: f64| if x > 100.0 { [x * x / 4096.0, x / 16.0] } else { [0.0; 2] };
        let mut mg = sums[0][0] - over(x[0])[0] + over(x[1])[0];
        let mut eg = sums[0][1] - over(x[0])[1] + over(x[1])[1];
        let complexity = sums[3][1];
        mg += mg.signum() * (complexity + 50.0).min(0.0).max(-mg.abs());
        eg += eg.signum() * complexity.max(-eg.abs());
        let side = usize::from(eg < 0.0);
        let factor = sums[4 + side][1].min(sums[6 + side][1]).clamp(0.0, 64.0) / 64.0;
        let expected = mg * phase + eg * factor * (1.0 - phase);
        let got = program.score(&sums, 0xff, Taper { mg: phase, eg: 1.0 - phase });
        assert!((got - expected).abs() < 1e-9, "{got} {expected}");
    }
}

#[test]
fn absent_sums_have_no_effect() {
    let program = CompiledProgram::try_new(random_program(1), 8).unwrap();
    let sums = vec![[30.0, -20.0]; program.slots()];
    let mut slopes = vec![[0.0; 2]; program.slots()];
    let score = program.score_and_slopes(&sums, 1, Taper { mg: 0.25, eg: 0.75 }, &mut slopes);
    assert_eq!(score, 0.25 * 30.0 - 0.75 * 20.0);
    assert_eq!(slopes[0], [0.25, 0.75]);
    assert!(slopes[1..].iter().flatten().all(|&slope| slope == 0.0));
}

#[test]
fn reports_invalid_programs() {
    let good = random_program(2);
    CompiledProgram::try_new(good.clone(), 8).unwrap();
    type Break = fn(&mut Program);
    let ways: [(Break, &str); 16] = [
        (|p| p.accumulators[0].features[0] = 8, "'danger' has a parameter that does not exist"),
        (|p| p.accumulators[0].features.clear(), "'danger' has no parameters"),
        (|p| p.accumulators[1].name = "danger".to_string(), "'danger' is listed twice"),
        (|p| p.accumulators[1].name = "a,b".to_string(), "has a comma"),
        (|p| p.terms[0].divide = 0.0, "the term of 'danger' in mg (number 1 of 3) is divided by 0"),
        (|p| p.terms[0].divide = -3.0, "must be above 0"),
        (|p| p.terms[0].scale = f64::NAN, "scale of the term of 'danger' in mg (number 1 of 3) is NaN"),
        (|p| p.terms[0].input.accumulator = 99, "term 1: there is no accumulator 99"),
        (|p| p.terms[7].times = Some(Input { accumulator: 1, phase: Phase::Mg }), "has one sum"),
        (|p| p.terms[5].operator = Operator::Table(vec![[0.0, 1.0]]), "1 knots"),
        (|p| p.terms[5].operator = Operator::Table(vec![[1.0, 1.0], [1.0, 2.0]]), "do not ascend"),
        (|p| p.adjustments[0].by.accumulator = 0, "has a sum for each side"),
        (|p| p.factor.as_mut().unwrap().by.clear(), "a factor of no accumulator"),
        (|p| p.factor.as_mut().unwrap().max = -20.0, "which is empty"),
        (|p| p.factor.as_mut().unwrap().one = 0.0, "divided by 0"),
        (
            |p| p.accumulators.push(Accumulator { name: "idle".to_string(), sides: true, features: vec![0] }),
            "'idle' is not used",
        ),
    ];
    for (way, what) in ways {
        let mut program = good.clone();
        way(&mut program);
        let message = CompiledProgram::try_new(program, 8).unwrap_err().to_string();
        assert!(message.contains(what), "{message} ({what})");
    }
}

/// A value that is already 0 is not clamped.
#[test]
fn adjustment_clamps_only_nonzero_values() {
    let program = Program {
        accumulators: vec![both("complexity", false)],
        adjustments: vec![Adjustment { target: Phase::Eg, by: input(0, Phase::Eg), at_most: None }],
        ..Program::default()
    };
    let program = CompiledProgram::try_new(program, 1).unwrap();
    let cut = |eg: f64, complexity: f64| {
        let sums = [[0.0, eg], [0.0, complexity]];
        program.adjustment_effects(&sums, 0b11, Taper { mg: 0.0, eg: 1.0 })[0].unwrap().cut
    };
    assert!(cut(30.0, -30.0) && cut(-30.0, -40.0));
    assert!(!cut(30.0, -29.0) && !cut(0.0, 0.0) && !cut(0.0, -5.0));
}
