//! Exports of nonlinear evaluations.

use super::*;

/// Comments explain what is computed with the values of a nonlinear evaluation.
#[test]
fn programs_are_explained() {
    use gputexel_model::program::{
        Accumulator, Adjustment, Factor, FactorTarget, Input, Operator, Phase, Program, Term,
    };
    let set = FeatureSet::new(FeatureKind::Material, PhaseSettings::default());
    let theta: Vec<f64> = (0..12).map(f64::from).collect();
    let mut file = ParameterFile::new(&set, &theta, None, None);
    let accumulator = |name: &str, sides: bool| Accumulator { name: name.into(), sides, features: vec![1] };
    let input = |accumulator: usize, phase: Phase| Input { accumulator, phase };
    let danger = Term {
        into: None,
        steps: 1.0,
        target: Phase::Mg,
        input: input(0, Phase::Mg),
        operator: Operator::Relu2,
        times: None,
        scale: -1.0,
        shift: 5.0,
        over: Some(100.0),
        divide: 720.0,
    };
    let product = Term { operator: Operator::Identity, shift: 0.0, over: None, scale: 1.0, ..danger.clone() };
    file.program = Some(Program {
        accumulators: vec![accumulator("danger", true), accumulator("complexity", false)],
        terms: vec![danger, Term { times: Some(input(0, Phase::Eg)), ..product }],
        adjustments: vec![Adjustment { target: Phase::Eg, by: input(1, Phase::Eg), at_most: Some(-50.0) }],
        factor: Some(Factor {
            target: FactorTarget::Score,
            by: vec![input(0, Phase::Mg), input(0, Phase::Eg)],
            min: 0.0,
            max: 128.0,
            one: 64.0,
        }),
    });
    let text = code(&file, CodeOptions::new(Language::CPP), Rounding::Whole).unwrap().text;
    for line in [
        "// Not linear: danger, complexity are summed up apart.\n",
        "//   mg -= max(0, danger.mg + 5)^2 / 720 where danger.mg > 100, White's less Black's\n",
        "//   mg += danger.mg * danger.eg / 720, White's less Black's\n",
        "//   eg += sgn(eg) * max(min(complexity.eg - 50, 0), -|eg|)\n",
        "//   score *= clamp(min(danger.mg, danger.eg), 0, 128) / 64, of the stronger side\n",
    ] {
        assert!(text.contains(line), "{line}{text}");
    }
    // Files keep the program, and one that does not match is rejected.
    let back = ParameterFile::parse(&file.to_json(), Path::new("params.json")).unwrap();
    assert_eq!(back.program, file.program);
    let wrong = file.to_json().replace("\"divide\": 720.0", "\"divide\": 0.0");
    let told = ParameterFile::parse(&wrong, Path::new("params.json")).unwrap_err().to_string();
    assert!(told.contains("params.json: the relu2 of 'danger' in mg is divided by 0"), "{told}");
}

#[test]
fn values_that_do_not_exist_are_not_written() {
    use gputexel_model::program::{Accumulator, Adjustment, Input, Phase, Program};
    let set = FeatureSet::new(FeatureKind::Material, PhaseSettings::default());
    let mut file = ParameterFile::new(&set, &[7.0; 12], None, None);
    file.feature_set = "imported".into();
    file.parameters = vec![
        record("pawn", "", 0.0, 90.0),
        record("flanks", "complexity", 0.0, 10.0),
        record("base", "complexity", 0.0, -100.0),
    ];
    file.program = Some(Program {
        accumulators: vec![Accumulator { name: "complexity".into(), sides: false, features: vec![1, 2] }],
        adjustments: vec![Adjustment {
            target: Phase::Eg,
            by: Input { accumulator: 0, phase: Phase::Eg },
            at_most: None,
        }],
        ..Program::default()
    });
    let text = |file: &ParameterFile, language| {
        code(file, CodeOptions::new(language), Rounding::Whole).unwrap().text
    };
    for language in Language::ALL.into_iter().filter(|language| !language.pairs) {
        let own = text(&file, language);
        assert!(own.contains("gputexel: complexity.eg") && !own.contains("gputexel: complexity.mg"), "{own}");
        assert!(own.contains("gputexel: pawn.mg"), "{own}");
        assert!(own.contains("those of accumulators in units of their sums"), "{own}");
        // Nonzero ones are needed.
        let mut other = file.clone();
        other.parameters[2].mg = 1.0;
        assert!(text(&other, language).contains("gputexel: complexity.mg"));
    }
}
