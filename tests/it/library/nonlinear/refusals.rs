//! Errors and warnings for schemas and traces.

use super::{compile, examples, read};
use crate::common::prelude::*;
use gputexel::trace::import;

#[test]
fn warns_about_terms_that_are_never_on() {
    let schema = &examples()[2];
    let shut = "0 1:10 100:1 101:-1\n".repeat(199);
    let (report, _) = read(schema, &format!("{shut}1 1:10 120:2\n"), Division::Exact, 1e3);
    let warnings = &report.sources[0].warnings;
    let expected = "the relu2 in mg and the relu in eg of 'danger' are switched on in 1 of 200 positions under the priors: in the others, tuning cannot see their parameters";
    assert_eq!(*warnings, [expected]);
    let (report, _) =
        read(schema, &format!("{shut}1 1:10 120:2\n1 1:9 100:1\n1 1:9 100:2\n"), Division::Exact, 1e3);
    assert_eq!(report.sources[0].warnings, [""; 0]);
    // A danger of 0 is not above 0.
    let (report, _) = read(schema, "1 1:10 3:1\n", Division::Exact, 1e3);
    let expected = "the relu2 in mg and the relu in eg of 'danger' are never switched on in 1 position under the priors: tuning cannot see their parameters";
    assert_eq!(report.sources[0].warnings, [expected]);
}

#[test]
fn contradictions_are_named() {
    let [ethereal, stockfish, _, weiss] = &examples()[..] else { panic!("four examples") };
    let cases = [
        "ethereal ~ \"op\": \"relu2\" ~ \"op\": \"relu3\" ~ unknown variant `relu3`",
        "ethereal ~ \"op\": \"relu2\" ~ \"op\": \"relu2\", \"into\": \"king\" ~ there is no accumulator 'king'",
        "ethereal ~ \"op\": \"relu2\" ~ \"op\": \"relu2\", \"into\": \"complexity\" ~ goes into a sum, which",
        "ethereal ~ \"op\": \"bounded\" ~ \"op\": \"open\" ~ unknown variant `open`",
        "ethereal ~ \"by\": \"complexity\" ~ \"by\": \"simplicity\" ~ \"adjust\": there is no accumulator 'simplicity'",
        "ethereal ~ \"by\": \"scaling\" ~ \"by\": \"sf.mg\" ~ \"factor\": there is no accumulator 'sf'",
        "weiss ~ \"times\": \"modifier\" ~ \"times\": \"x\" ~ accumulator 'power', \"mg\": there is no accumulator 'x'",
        "weiss ~ , \"times\": \"modifier\" ~  ~ accumulator 'modifier' is not used",
        "ethereal ~ \"divide\": 720 ~ \"divide\": 0 ~ the relu2 of 'safety' in mg is divided by 0: a divisor must be above 0",
        "ethereal ~ \"divide\": 720 ~ \"divide\": -2 ~ the relu2 of 'safety' in mg is divided by -2",
        "ethereal ~ \"divide\": 720 ~ \"divide\": 1e300 ~ divide of the relu2 of 'safety' in mg is 1e300: must be",
        "ethereal ~ \"divide\": 720 ~ \"divide\": \"SafetyDivisor\" ~ invalid type: string \"SafetyDivisor\"",
        "ethereal ~ \"divide\": 720 ~ \"divisor\": 720 ~ unknown field `divisor`",
        "ethereal ~ \"divide\": 720 ~ \"over\": 1e99 ~ over of the relu2 of 'safety' in mg is 1e99: must be",
        "ethereal ~ \"black\": 1200 ~ \"black\": 1001 ~ accumulator 'safety' (black), 'SafetyKnightWeight': index 1001 is taken already by accumulator 'safety' (white), 'SafetyAttackValue'",
        "ethereal ~ \"index\": 1400 ~ \"index\": 4 ~ accumulator 'complexity', 'ComplexityTotalPawns': index 4 is taken already by parameter 'knight'",
        "ethereal ~ \"index\": 1400 ~ \"index\": 2 ~ index 2 is taken already by column eval",
        "ethereal ~ \"index\": 1400 ~ \"index\": 0 ~ index 0 in a schema whose indices count from 1",
        "ethereal ~ \"ComplexityTotalPawns\", \"at\": 0 ~ \"ComplexityTotalPawns\", \"at\": 1 ~ 'ComplexityAdjustment': index 1401 is taken already by accumulator 'complexity', 'ComplexityTotalPawns'",
        "ethereal ~ \"ComplexityTotalPawns\", \"at\": 0 ~ \"ComplexityTotalPawns\", \"at\": 999000 ~ index 1000400 is over 1000000",
        "ethereal ~ \"ComplexityTotalPawns\", \"at\": 0 ~ \"ComplexityTotalPawns\", \"at\": 4294967295 ~ is over 1000000",
        "ethereal ~ \"ComplexityTotalPawns\", \"at\": 0 ~ \"ComplexityTotalPawns\", \"index\": 0 ~ parameter 'ComplexityTotalPawns': is one of an accumulator, which needs its place",
        "ethereal ~ \"ComplexityTotalPawns\", \"at\": 0 ~ \"ComplexityTotalPawns\", \"at\": -1 ~ expected an offset or a place in a source",
        "ethereal ~ \"ComplexityTotalPawns\", \"at\": 0 ~ \"ComplexityAdjustment\", \"at\": 0 ~ parameter 'ComplexityAdjustment' is listed twice",
        "ethereal ~ \"ComplexityTotalPawns\", \"at\": 0 ~ \"a\", \"at\": 0, \"phases\": \"mg\" ~ parameter 'a': phases contradict those of accumulator 'complexity'",
        "ethereal ~ \"ComplexityTotalPawns\", \"at\": 0 ~ \"a\", \"at\": 0, \"max\": 7 ~ parameter 'a': the bounds -inf to 7 exclude the prior 8",
        "ethereal ~ \"ComplexityTotalPawns\", \"at\": 0 ~ \"a\", \"at\": 0, \"size\": 7 ~ unknown field `size`",
        "ethereal ~ {\"name\": \"piece\", ~ {\"name\": \"piece\", \"at\": 1, ~ parameter 'piece': has a place",
        "stockfish ~ \"use\": \"queen_mobility\" ~ \"use\": \"king_mobility\" ~ accumulator 'danger' uses 'king_mobility', which is not a parameter",
        "stockfish ~ \"use\": \"queen_mobility\" ~ \"use\": \"danger\" ~ accumulator 'danger' uses 'danger', which is not a parameter",
        "stockfish ~ \"use\": \"queen_mobility\" ~ \"prior\": 4, \"use\": \"queen_mobility\" ~ unknown field `prior`",
        "stockfish ~ \"phases\": \"untapered\" ~ \"phases\": \"mg\" ~ ",
        "stockfish ~ \"by\": \"initiative\", \"at_most\" ~ \"by\": \"danger\", \"at_most\" ~ 'danger' adjusts mg, but has a sum for each side",
        "stockfish ~ \"by\": \"sf\" ~ \"by\": [\"sf\", \"initiative\"] ~ of the factors 'sf' and 'initiative', one has a sum for each side",
        "stockfish ~ \"by\": \"sf\" ~ \"by\": [] ~ a factor of no accumulator",
        "stockfish ~ \"by\": \"sf\" ~ \"by\": \"danger.eg\" ~ \"factor\": uses the eg value of 'danger', which has none",
        "stockfish ~ \"max\": 64,  ~  ~ factor 'sf': its scale is not determined; it needs a \"max\"",
        "stockfish ~ \"max\": 64,  ~ \"min\": 64, \"max\": 64,  ~ the factor 'sf' is from 64 to 64, which is empty",
        "stockfish ~ \"one\": 64 ~ \"one\": 0 ~ the factor 'sf' is divided by 0",
        "stockfish ~ \"sign\": -1 ~ \"sign\": -2 ~ accumulator 'danger': its sign is -2: must be 1 or -1",
        "stockfish ~ \"name\": \"sf\", ~ \"name\": \"sf\", \"sign\": -1, ~ accumulator 'sf': has a sign, but adds nothing to the score",
        "stockfish ~ \"name\": \"sf\", ~ \"name\": \"sf\", \"index\": 500, ~ accumulator 'sf': has both index and sides: needs only one of them",
        "ethereal ~ \"name\": \"complexity\", \"index\": 1400, ~ \"name\": \"complexity\", ~ accumulator 'complexity': needs either index or sides",
        "stockfish ~ {\"target\": \"eg\", \"op\": \"bounded\", \"by\": \"initiative\"} ~ {\"target\": \"eg\", \"op\": \"bounded\", \"by\": \"initiativ\"} ~ \"adjust\", number 2: there is no accumulator 'initiativ'",
        "stockfish ~ \"by\": \"sf\", \"max\": 64 ~ \"by\": \"sf\", \"min\": 1e50, \"max\": 64 ~ min of the factor 'sf' is 1e50: must be a number up to 1e9",
        "weiss ~ \"mg\": {\"divide\": 100, \"times\": \"modifier\"} ~ \"mg\": [{\"divide\": 100}, {\"divide\": 100, \"times\": \"modifie\"}] ~ accumulator 'power', \"mg\", number 2: there is no accumulator 'modifie'",
        "weiss ~ \"mg\": {\"divide\": 100, \"times\": \"modifier\"} ~ \"mg\": [{\"divide\": 100}, {\"divide\": 0, \"times\": \"modifier\"}] ~ the term of 'power' in mg (number 2 of 2) is divided by 0",
        "stockfish ~ \"name\": \"sf\", ~ \"name\": \"danger\", ~ accumulator 'danger' is listed twice",
        "stockfish ~ \"name\": \"sf\", ~ \"name\": \"sf\", \"phases\": \"both\", ~ accumulator 'sf': its mg value is not used",
        "weiss ~ \"divide\": 100 ~ \"op\": \"table\", \"knots\": [[0, 0], [0, 1]] ~ the knots of the table of 'power' in mg do not ascend",
        "weiss ~ \"divide\": 100 ~ \"op\": \"table\" ~ the table of 'power' in mg has 0 knots",
        "weiss ~ \"divide\": 100 ~ \"knots\": [[0, 0], [1, 1]] ~ accumulator 'power', \"mg\": has knots, but its operator is not a table",
        "weiss ~ \"division\": \"truncate\" ~ \"division\": \"floor\" ~ unknown variant `floor`",
    ];
    for case in cases {
        let [name, from, to, expected] = cells(case);
        let schema = match name {
            "ethereal" => ethereal,
            "stockfish" => stockfish,
            _ => weiss,
        };
        assert!(schema.contains(from), "{from}");
        let told = compile(&schema.replacen(from, to, 1)).err().map(|error| error.to_string());
        match told {
            None => assert_eq!(expected, "", "{to}"),
            Some(told) => {
                assert!(!expected.is_empty() && told.contains(expected), "{to}: {told}");
                assert!(!told.contains('\n') && !told.contains(" at line "), "{told}");
                // Format errors have a line.
                assert!(!told.contains("not a schema") || told.starts_with("s.json:"), "{told}");
            }
        }
    }
    // An evaluation without a phase has no endgame.
    let untapered =
        weiss.replace("\"phase\": {\"middlegame\": 24, \"endgame\": 0},", "").replace("\"phase\": 1, ", "");
    let untapered = untapered.replace("[390, 400]", "390");
    assert!(compile(&untapered).is_ok());
    let told =
        compile(&untapered.replace("\"mg\": {\"divide\"", "\"eg\": {\"divide\"")).unwrap_err().to_string();
    let why = "accumulator 'power', \"eg\": concerns the endgame, but the schema does not say how the phase";
    assert_has(&told, why);
    // Without a maximum, a frozen parameter fixes the scale.
    let frozen =
        stockfish.replace("\"max\": 64, ", "").replace("\"prior\": 36}", "\"prior\": 36, \"frozen\": true}");
    assert!(compile(&frozen).is_ok());
    // The largest number of sums, and one more.
    let many = |count: usize| {
        let more: String = (0..count)
            .map(|n| {
                let index = 3000 + 10 * n;
                format!(
                    ", {{\"name\": \"a{n}\", \"index\": {index}, \"mg\": {{}}, \"parameters\": [{{\"use\": \"knight\", \"at\": 0}}]}}"
                )
            })
            .collect();
        let end = weiss.rfind(']').unwrap();
        compile(&format!("{}{more}{}", &weiss[..end], &weiss[end..]))
    };
    assert!(many(27).is_ok());
    assert_has(&many(28).unwrap_err().to_string(), "33 sums, of which there may be 32");
}

#[test]
fn sums_that_are_too_large_are_refused() {
    let schema = &examples()[0];
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("t.svm");
    for (line, expected) in [
        ("1 qid:1 1:3 1000:3e37", "the sum of 'safety.white' is 1.44"),
        ("1 qid:1 1:3 1201:1e5", "the score is "),
    ] {
        std::fs::write(&trace, format!("{line}\n")).unwrap();
        let settings = ImportSettings::new(compile(schema).unwrap());
        let cancel = AtomicBool::new(false);
        let mut hooks = Hooks { cancel: &cancel, progress: &mut |_| {} };
        let output = folder.path().join("out.bin");
        let told =
            import(std::slice::from_ref(&trace), &settings, &output, &mut hooks).unwrap_err().to_string();
        assert!(told.contains(expected), "{told}");
        assert!(!output.exists());
    }
}
