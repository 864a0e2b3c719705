//! Traces of evaluations that are not linear: against formulas written out by hand, and there and back.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use gputexel_dataset::{self as dataset, Dataset, objective};
use gputexel_files::Result;
use gputexel_ingest::extraction::Hooks;
use gputexel_ingest::trace::{
    CompiledSchema, Division, ImportReport, ImportSettings, Reference, Schema, export, import,
};
use gputexel_model::Phases;
use gputexel_model::program::{Input, Operator, Phase};

/// The JSON blocks of the page, in order: Ethereal, Stockfish 11, Berserk, Weiss.
fn examples() -> Vec<String> {
    let page = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/nonlinear.md"));
    let blocks = page.split("```json\n").skip(1);
    blocks.map(|block| block.split("```").next().unwrap().to_string()).collect()
}

fn compile(schema: &str) -> Result<CompiledSchema> {
    CompiledSchema::try_new(&Schema::parse(schema, Path::new("s.json"))?)
}

/// Imports a trace; with a tolerance, evaluations are compared under the priors.
fn read(schema: &str, text: &str, division: Division, tolerance: f64) -> (ImportReport, Dataset) {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("t.svm");
    std::fs::write(&trace, text).unwrap();
    let mut settings = ImportSettings::new(compile(schema).unwrap());
    settings.max_bad_share = 0.0;
    let set = settings.schema.feature_set();
    let reference = Reference::try_new(set, set.imported_prior().unwrap(), tolerance).unwrap();
    settings.reference = Some(reference.with_division(division));
    let output = folder.path().join("out.bin");
    let cancel = AtomicBool::new(false);
    let mut hooks = Hooks { cancel: &cancel, progress: &mut |_| {} };
    let report = import(&[trace], &settings, &output, &mut hooks).unwrap();
    (report, dataset::read(&output).unwrap())
}

/// Numbers without a pattern.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: i64) -> i64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as i64 % end
    }

    fn from(&mut self, start: i64, end: i64) -> i64 {
        start + self.below(end - start + 1)
    }
}

/// A sum of an engine, or nothing where it does not compute it.
type Counts = Option<Vec<i64>>;

fn total(counts: &Counts, values: &[i64]) -> Option<i64> {
    counts.as_ref().map(|counts| counts.iter().zip(values).map(|(c, v)| c * v).sum())
}

/// What an engine knows of a position, White first.
struct Position {
    phase: i64,
    pieces: Vec<i64>,
    safety: [Counts; 2],
    complexity: Counts,
    scaling: [Counts; 2],
}

/// A position; the sums of a side are there in two of three.
fn position(random: &mut Numbers) -> Position {
    let safety =
        |random: &mut Numbers| (random.below(3) > 0).then(|| vec![random.below(13), random.below(9), 1]);
    let scaling = |random: &mut Numbers| (random.below(3) > 0).then(|| vec![1, random.below(9)]);
    Position {
        phase: random.below(25),
        // Without pieces, the signs of the middlegame and the endgame often differ.
        pieces: {
            let only_pawns = random.below(2) == 0;
            (0..5).map(|piece| if only_pawns && piece > 0 { 0 } else { random.from(-2, 2) }).collect()
        },
        safety: [safety(random), safety(random)],
        complexity: (random.below(5) > 0).then(|| vec![random.below(17), 1]),
        scaling: [scaling(random), scaling(random)],
    }
}

/// The evaluation of Ethereal's example in integers.
fn ethereal(position: &Position) -> i64 {
    with_complexity(position, -157)
}

/// The same with another base of complexity.
fn with_complexity(position: &Position, base: i64) -> i64 {
    let value = |values: [i64; 5]| position.pieces.iter().zip(values).map(|(c, v)| c * v).sum::<i64>();
    let mut mg = value([82, 426, 441, 627, 1292]);
    let mut eg = value([144, 475, 510, 803, 1623]);
    for (side, sign) in [(0, -1), (1, 1)] {
        if let Some(danger) = total(&position.safety[side], &[48, 45, -74]) {
            mg += sign * (danger.max(0) * danger.max(0) / 720);
            eg += sign * (total(&position.safety[side], &[41, 34, -26]).unwrap().max(0) / 20);
        }
    }
    if let Some(complexity) = total(&position.complexity, &[8, base]) {
        eg += eg.signum() * complexity.max(-eg.abs());
    }
    let strong = usize::from(eg < 0);
    let factor = total(&position.scaling[strong], &[96, 8]).map_or(128, |factor| factor.clamp(0, 128));
    (mg * position.phase + eg * (24 - position.phase) * factor / 128) / 24
}

/// The line of a position, with the sides as in the arguments.
fn line(position: &Position, sign: i64, eval: i64, end: &str) -> String {
    let mut text = format!("0.5 qid:1 1:{} 2:{eval}", position.phase);
    let mut put = |first: usize, counts: &[i64], sign: i64| {
        for (at, count) in counts.iter().enumerate().filter(|(_, count)| **count != 0) {
            write!(text, " {}:{}", first + at, sign * count).unwrap();
        }
    };
    put(3, &position.pieces, sign);
    let sides: [usize; 2] = if sign > 0 { [0, 1] } else { [1, 0] };
    let pairs = [(1000, &position.safety), (1200, &position.safety)];
    for ((first, counts), side) in pairs.into_iter().zip(sides) {
        put(first, counts[side].as_deref().unwrap_or(&[]), 1);
    }
    put(1400, position.complexity.as_deref().unwrap_or(&[]), 1);
    for (first, side) in [1500, 1510].into_iter().zip(sides) {
        put(first, position.scaling[side].as_deref().unwrap_or(&[]), 1);
    }
    text + end + "\n"
}

#[test]
fn evaluations_are_those_of_an_engine_with_integers() {
    let mut random = Numbers(7);
    let positions: Vec<Position> = (0..4000).map(|_| position(&mut random)).collect();
    let text: String = positions.iter().map(|one| line(one, 1, ethereal(one), "")).collect();
    let schema = &examples()[0];
    assert_eq!(
        compile(schema).unwrap().feature_set().imported.as_ref().unwrap().division,
        Division::Truncate
    );
    let (report, data) = read(schema, &text, Division::Truncate, 0.0);
    let found = &report.comparison;
    assert_eq!((found.compared, found.differing, found.near_kinks), (4000, 0, 0), "{:?}", found.worst);
    assert_eq!(report.sources[0].warnings, [""; 0]);
    // Real numbers are not exact, and a few positions cross a jump by rounding.
    let (report, _) = read(schema, &text, Division::Exact, 3.0);
    let found = &report.comparison;
    assert_eq!((found.compared, found.differing), (4000, 0), "{:?}", found.worst);
    assert!(found.sum_absolute > 100.0 && found.sum_absolute < 8000.0, "{}", found.sum_absolute);
    // The reference of datasets computes the same.
    let theta = data.metadata().feature_set.imported_prior().unwrap();
    let differences = positions
        .iter()
        .enumerate()
        .filter(|(n, one)| (objective::score(&data, &theta, *n) - ethereal(one) as f64).abs() > 3.0);
    assert!(differences.count() <= 20);

    // What is wrong with a sign is found.
    let wrong = schema.replace("\"sign\": -1", "\"sign\": 1");
    let (report, _) = read(&wrong, &text, Division::Truncate, 1.0);
    assert!(report.comparison.differing > 1000, "{}", report.comparison.differing);
}

/// Complexity above 0 pushes a value away from 0, to the side on which rounding left it.
#[test]
fn rounding_near_a_jump_is_told_apart() {
    let mut random = Numbers(3);
    let positions: Vec<Position> = (0..4000).map(|_| position(&mut random)).collect();
    let text: String = positions.iter().map(|one| line(one, 1, with_complexity(one, 60), "")).collect();
    let schema = examples()[0].replace("\"prior\": -157", "\"prior\": 60");
    let (report, _) = read(&schema, &text, Division::Truncate, 0.0);
    assert_eq!(report.comparison.differing, 0);
    let (report, _) = read(&schema, &text, Division::Exact, 3.0);
    let found = &report.comparison;
    assert_eq!(found.differing, 0, "{:?}", found.worst);
    assert!((1..80).contains(&found.near_kinks), "{}", found.near_kinks);
    assert!(found.largest_near_kink > 20.0, "{}", found.largest_near_kink);
}

#[test]
fn the_side_to_moves_coefficients_are_turned() {
    let mut random = Numbers(11);
    let (mut white, mut mover) = (String::new(), String::new());
    for n in 0..300 {
        let one = position(&mut random);
        let eval = ethereal(&one);
        let (black, sign) = if n % 2 == 0 { (" 2000:0", 1) } else { (" 2000:-1", -1) };
        let white_turn = if n % 2 == 0 { " 2000:1" } else { " 2000:-1" };
        white += &line(&one, 1, eval, white_turn);
        let black = black.replace(":0", ":1");
        mover += &line(&one, sign, sign * eval, &black);
    }
    let schema = examples()[0].replace("\"eval\": 2,", "\"eval\": 2, \"turn\": 2000,");
    let stm = schema.replace("\"index_base\"", "\"point_of_view\": \"stm\", \"index_base\"");
    let (_, wanted) = read(&schema, &white, Division::Truncate, 0.0);
    let (report, got) = read(&stm, &mover, Division::Truncate, 0.0);
    assert_eq!(report.comparison.differing, 0);
    for n in 0..wanted.len() {
        let row = |data: &Dataset| data.row(n).entries().collect::<Vec<_>>();
        assert_eq!(row(&got), row(&wanted), "{n}");
    }
    // A sum for both that is added to the score has no side to be turned to.
    let single = stm.replace("\"name\": \"complexity\",", "\"name\": \"complexity\", \"eg\": {},");
    let told = compile(&single).unwrap_err().to_string();
    assert!(told.contains("accumulator 'complexity': has one sum, which is added to the score"), "{told}");
}

/// Values of the other examples for one position, by hand.
#[test]
fn examples_compute_what_their_engines_do() {
    let cases = [
        // Danger 100 of White's king is not over 100; 780 + 2 · 185 − 7 · 4 − 39 = 1083 of Black's is.
        // mg 2538 + 0.5 · 1083² / 4096 with initiative 11 · 3 − 103 + 50 = −20, eg 2682 + 67 − 70, sf 36 + 7 · 2.
        (1, "1 1:64 2:0 3:1 100:0 102:1 200:1 201:2 202:4 240:1 300:3 301:1 400:1 401:2", {
            let mg = 2538 + 1083 * 1083 / 4096 - 20;
            let eg = 2682 + 1083 / 16 - 70;
            (mg * 64 + eg * 64 * 50 / 64) / 128
        }),
        // Danger 2 · 28 + 63 = 119 of White's king; the score is negative, so Black's factor 64 + 8 counts.
        (2, "1 1:32 2:0 3:-1 100:2 101:1 200:1 210:1 211:1", {
            let (mg, eg) = (-445 - 119 * 119 / 1024, -416 - 119 / 32);
            (mg * 32 + eg * 96) / 128 * 72 / 128
        }),
        // Power 36 + 78 with a modifier of 96 against power 22 with 113; without a modifier nothing.
        (3, "1 1:24 2:0 100:1 103:1 121:1 203:1 214:1", (36 + 78) * 96 / 100 - 22 * 113 / 100),
        (3, "1 1:24 2:0 3:1 100:1 103:1 121:1 203:1", 390 + (36 + 78) * 96 / 100),
    ];
    for (example, text, score) in cases {
        let text = text.replace("2:0", &format!("2:{score}"));
        let (report, data) = read(&examples()[example], &text, Division::Truncate, 0.0);
        assert_eq!(report.comparison.compared, 1);
        assert_eq!(report.comparison.differing, 0, "{score}: {:?}", report.comparison.worst);
        let theta = data.metadata().feature_set.imported_prior().unwrap();
        assert!((objective::score(&data, &theta, 0) - f64::from(score)).abs() < 4.0);
    }
}

#[test]
fn parameters_have_the_values_that_are_used() {
    let set = |example: usize| compile(&examples()[example]).unwrap().feature_set().clone();
    let phases = |example: usize, name: &str| {
        let set = set(example);
        let id = set.features.iter().position(|feature| feature.name == name).unwrap();
        (set.imported.unwrap().parameters[id].phases, set.features[id].group.clone())
    };
    assert_eq!(phases(0, "SafetyKnightWeight"), (Phases::Both, "safety".to_string()));
    assert_eq!(phases(0, "ComplexityTotalPawns"), (Phases::Eg, "complexity".to_string()));
    assert_eq!(phases(1, "WeakRing"), (Phases::Mg, "danger".to_string()));
    assert_eq!(phases(1, "InitiativeBase"), (Phases::Untapered, "initiative".to_string()));
    assert_eq!(phases(2, "pawn"), (Phases::Mg, "winnable".to_string()));
    assert_eq!(phases(3, "CountModifier_0"), (Phases::Mg, "modifier".to_string()));
    // Both terms of Stockfish's danger take the middlegame value, of shared parameters, too.
    let program = set(1).program.unwrap();
    let input = Input { accumulator: 0, phase: Phase::Mg };
    assert!(program.terms.iter().all(|term| term.input == input && term.scale == -1.0));
    assert_eq!(program.accumulators[0].features, [4, 5, 6, 1, 2, 3]);
    // A name with a phase says which value.
    let schema = examples()[2].replace("\"by\": \"winnable\"", "\"by\": [\"winnable.eg\"]");
    assert_eq!(
        compile(&schema).unwrap().feature_set().program.as_ref().unwrap().factor.as_ref().unwrap().by[0]
            .phase,
        Phase::Eg
    );
    let schema = examples()[3]
        .replace("\"divide\": 100", "\"op\": \"table\", \"knots\": [[0, 0], [1, 2.5]], \"divide\": 100");
    let program = compile(&schema).unwrap().feature_set().program.clone().unwrap();
    assert_eq!(program.terms[0].operator, Operator::Table(vec![[0.0, 0.0], [1.0, 2.5]]));
}

#[test]
fn exported_traces_come_back() {
    let mut random = Numbers(5);
    let made: Vec<Position> = (0..200).map(|_| position(&mut random)).collect();
    let text: String = made.iter().map(|one| line(one, 1, ethereal(one), "")).collect();
    let others = [
        text,
        "1 1:64 3:1 102:1 200:1 201:2.3 202:4 240:1 300:3 301:1 400:1 401:2\n0 1:3 10:1\n".to_string(),
        "1 1:32 3:-1 100:2 101:1 200:1 210:1 211:1\n".to_string(),
        "1 1:24 100:1 103:1 121:1 203:1 214:1\n".to_string(),
    ];
    for (schema, text) in examples().iter().zip(others) {
        let (_, first) = read(schema, &text, Division::Exact, 1.0);
        let mut lines = Vec::new();
        let schema = export(&first, &mut lines, Path::new("t.svm")).unwrap().to_json();
        let (_, second) = read(&schema, &String::from_utf8(lines).unwrap(), Division::Exact, 1.0);
        assert_eq!(second.metadata().feature_set, first.metadata().feature_set);
        assert_eq!(second.len(), first.len());
        for n in 0..first.len() {
            let row = |data: &Dataset| data.row(n).entries().collect::<Vec<_>>();
            assert_eq!((row(&second), second.shares(n)), (row(&first), first.shares(n)), "{n}");
        }
    }
}

#[test]
fn terms_that_are_never_on_are_warned_of() {
    let schema = &examples()[2];
    let shut = "0 1:10 100:1 101:-1\n".repeat(199);
    let (report, _) = read(schema, &format!("{shut}1 1:10 120:2\n"), Division::Exact, 1e3);
    let warnings = &report.sources[0].warnings;
    let expected = "the relu2 in mg and the relu in eg of 'danger' are switched on in 1 of 200 positions under the priors: in the others, tuning cannot see their parameters";
    assert_eq!(*warnings, [expected]);
    let (report, _) =
        read(schema, &format!("{shut}1 1:10 120:2\n1 1:9 100:1\n1 1:9 100:2\n"), Division::Exact, 1e3);
    assert_eq!(report.sources[0].warnings, [""; 0]);
    // No danger at all is no danger above 0.
    let (report, _) = read(schema, "1 1:10 3:1\n", Division::Exact, 1e3);
    let expected = "the relu2 in mg and the relu in eg of 'danger' are never switched on in 1 position under the priors: tuning cannot see their parameters";
    assert_eq!(report.sources[0].warnings, [expected]);
}

/// Every contradiction is told in one line that names the place.
#[test]
fn contradictions_are_named() {
    let [ethereal, stockfish, _, weiss] = &examples()[..] else { panic!("four examples") };
    let place = "\"ComplexityTotalPawns\", \"at\": 0";
    let cases: &[(&str, &str, &str, &str)] = &[
        (ethereal, "\"op\": \"relu2\"", "\"op\": \"relu3\"", "unknown variant `relu3`"),
        (ethereal, "\"op\": \"bounded\"", "\"op\": \"open\"", "unknown variant `open`"),
        (
            ethereal,
            "\"by\": \"complexity\"",
            "\"by\": \"simplicity\"",
            "\"adjust\": there is no accumulator 'simplicity'",
        ),
        (ethereal, "\"by\": \"scaling\"", "\"by\": \"sf.mg\"", "\"factor\": there is no accumulator 'sf'"),
        (
            weiss,
            "\"times\": \"modifier\"",
            "\"times\": \"x\"",
            "accumulator 'power', \"mg\": there is no accumulator 'x'",
        ),
        (weiss, ", \"times\": \"modifier\"", "", "accumulator 'modifier' is not used"),
        (
            ethereal,
            "\"divide\": 720",
            "\"divide\": 0",
            "the relu2 of 'safety' in mg is divided by 0: a divisor must be above 0",
        ),
        (ethereal, "\"divide\": 720", "\"divide\": -2", "the relu2 of 'safety' in mg is divided by -2"),
        (
            ethereal,
            "\"divide\": 720",
            "\"divide\": 1e300",
            "divide of the relu2 of 'safety' in mg is 1e300: must be",
        ),
        (
            ethereal,
            "\"divide\": 720",
            "\"divide\": \"SafetyDivisor\"",
            "invalid type: string \"SafetyDivisor\"",
        ),
        (ethereal, "\"divide\": 720", "\"divisor\": 720", "unknown field `divisor`"),
        (
            ethereal,
            "\"divide\": 720",
            "\"over\": 1e99",
            "over of the relu2 of 'safety' in mg is 1e99: must be",
        ),
        (
            ethereal,
            "\"black\": 1200",
            "\"black\": 1001",
            "accumulator 'safety' (black), 'SafetyKnightWeight': index 1001 is taken already by accumulator 'safety' (white), 'SafetyAttackValue'",
        ),
        (
            ethereal,
            "\"index\": 1400",
            "\"index\": 4",
            "accumulator 'complexity', 'ComplexityTotalPawns': index 4 is taken already by parameter 'knight'",
        ),
        (ethereal, "\"index\": 1400", "\"index\": 2", "index 2 is taken already by column eval"),
        (ethereal, "\"index\": 1400", "\"index\": 0", "index 0 in a schema whose indices count from 1"),
        (
            ethereal,
            place,
            "\"ComplexityTotalPawns\", \"at\": 1",
            "'ComplexityAdjustment': index 1401 is taken already by accumulator 'complexity', 'ComplexityTotalPawns'",
        ),
        (ethereal, place, "\"ComplexityTotalPawns\", \"at\": 999000", "index 1000400 is over 1000000"),
        (ethereal, place, "\"ComplexityTotalPawns\", \"at\": 4294967295", "is over 1000000"),
        (
            ethereal,
            place,
            "\"ComplexityTotalPawns\", \"index\": 0",
            "parameter 'ComplexityTotalPawns': is one of an accumulator, which needs its place",
        ),
        (ethereal, place, "\"ComplexityTotalPawns\", \"at\": -1", "invalid value: integer `-1`"),
        (
            ethereal,
            place,
            "\"ComplexityAdjustment\", \"at\": 0",
            "parameter 'ComplexityAdjustment' is listed twice",
        ),
        (
            ethereal,
            place,
            "\"a\", \"at\": 0, \"phases\": \"mg\"",
            "parameter 'a': phases contradict those of accumulator 'complexity'",
        ),
        (
            ethereal,
            place,
            "\"a\", \"at\": 0, \"max\": 7",
            "parameter 'a': the bounds -inf to 7 exclude the prior 8",
        ),
        (ethereal, place, "\"a\", \"at\": 0, \"size\": 7", "unknown field `size`"),
        (
            ethereal,
            "{\"name\": \"piece\",",
            "{\"name\": \"piece\", \"at\": 1,",
            "parameter 'piece': has a place",
        ),
        (
            stockfish,
            "\"use\": \"queen_mobility\"",
            "\"use\": \"king_mobility\"",
            "accumulator 'danger' uses 'king_mobility', which is no parameter",
        ),
        (
            stockfish,
            "\"use\": \"queen_mobility\"",
            "\"use\": \"danger\"",
            "accumulator 'danger' uses 'danger', which is no parameter",
        ),
        (
            stockfish,
            "\"use\": \"queen_mobility\"",
            "\"prior\": 4, \"use\": \"queen_mobility\"",
            "unknown field `prior`",
        ),
        (stockfish, "\"phases\": \"untapered\"", "\"phases\": \"mg\"", ""),
        (
            stockfish,
            "\"by\": \"initiative\", \"at_most\"",
            "\"by\": \"danger\", \"at_most\"",
            "'danger' adjusts mg, but has a sum for each side",
        ),
        (
            stockfish,
            "\"by\": \"sf\"",
            "\"by\": [\"sf\", \"initiative\"]",
            "of the factors 'sf' and 'initiative', one has a sum for each side",
        ),
        (stockfish, "\"by\": \"sf\"", "\"by\": []", "a factor of no accumulator"),
        (
            stockfish,
            "\"by\": \"sf\"",
            "\"by\": \"danger.eg\"",
            "\"factor\": uses the eg value of 'danger', which has none",
        ),
        (stockfish, "\"max\": 64, ", "", "factor 'sf': its scale is not determined; it needs a \"max\""),
        (
            stockfish,
            "\"max\": 64, ",
            "\"min\": 64, \"max\": 64, ",
            "the factor 'sf' is from 64 to 64, which is empty",
        ),
        (stockfish, "\"one\": 64", "\"one\": 0", "the factor 'sf' is divided by 0"),
        (stockfish, "\"sign\": -1", "\"sign\": -2", "accumulator 'danger': its sign is -2: must be 1 or -1"),
        (
            stockfish,
            "\"name\": \"sf\",",
            "\"name\": \"sf\", \"sign\": -1,",
            "accumulator 'sf': has a sign, but adds nothing to the score",
        ),
        (
            stockfish,
            "\"name\": \"sf\",",
            "\"name\": \"sf\", \"index\": 500,",
            "accumulator 'sf': has both index and sides: needs only one of them",
        ),
        (
            ethereal,
            "\"name\": \"complexity\", \"index\": 1400,",
            "\"name\": \"complexity\",",
            "accumulator 'complexity': needs either index or sides",
        ),
        (
            stockfish,
            "{\"target\": \"eg\", \"op\": \"bounded\", \"by\": \"initiative\"}",
            "{\"target\": \"eg\", \"op\": \"bounded\", \"by\": \"initiativ\"}",
            "\"adjust\", number 2: there is no accumulator 'initiativ'",
        ),
        (
            stockfish,
            "\"by\": \"sf\", \"max\": 64",
            "\"by\": \"sf\", \"min\": 1e50, \"max\": 64",
            "min of the factor 'sf' is 1e50: must be a number up to 1e9",
        ),
        (
            weiss,
            "\"mg\": {\"divide\": 100, \"times\": \"modifier\"}",
            "\"mg\": [{\"divide\": 100}, {\"divide\": 100, \"times\": \"modifie\"}]",
            "accumulator 'power', \"mg\", number 2: there is no accumulator 'modifie'",
        ),
        (
            weiss,
            "\"mg\": {\"divide\": 100, \"times\": \"modifier\"}",
            "\"mg\": [{\"divide\": 100}, {\"divide\": 0, \"times\": \"modifier\"}]",
            "the term of 'power' in mg (number 2 of 2) is divided by 0",
        ),
        (stockfish, "\"name\": \"sf\",", "\"name\": \"danger\",", "accumulator 'danger' is listed twice"),
        (
            stockfish,
            "\"name\": \"sf\",",
            "\"name\": \"sf\", \"phases\": \"both\",",
            "accumulator 'sf': its mg value is not used",
        ),
        (
            weiss,
            "\"divide\": 100",
            "\"op\": \"table\", \"knots\": [[0, 0], [0, 1]]",
            "the knots of the table of 'power' in mg do not ascend",
        ),
        (weiss, "\"divide\": 100", "\"op\": \"table\"", "the table of 'power' in mg has 0 knots"),
        (
            weiss,
            "\"divide\": 100",
            "\"knots\": [[0, 0], [1, 1]]",
            "accumulator 'power', \"mg\": has knots, but its operator is no table",
        ),
        (weiss, "\"division\": \"truncate\"", "\"division\": \"floor\"", "unknown variant `floor`"),
    ];
    for (schema, from, to, expected) in cases {
        assert!(schema.contains(from), "{from}");
        let told = compile(&schema.replacen(from, to, 1)).err().map(|error| error.to_string());
        match told {
            None => assert_eq!(*expected, "", "{to}"),
            Some(told) => {
                assert!(!expected.is_empty() && told.contains(expected), "{to}: {told}");
                assert!(!told.contains('\n') && !told.contains(" at line "), "{told}");
                // Mistakes of the format have a line.
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
    assert!(
        told.contains(
            "accumulator 'power', \"eg\": concerns the endgame, but the schema does not say how the phase"
        ),
        "{told}"
    );
    // Without a maximum a frozen parameter fixes the scale.
    let frozen =
        stockfish.replace("\"max\": 64, ", "").replace("\"prior\": 36}", "\"prior\": 36, \"frozen\": true}");
    assert!(compile(&frozen).is_ok());
    // As many sums as there may be, and one more.
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
    assert!(many(19).is_ok());
    let told = many(20).unwrap_err().to_string();
    assert!(told.contains("25 sums, of which there may be 24"), "{told}");
}

/// Of two factors that are both free, one may grow while the other shrinks.
#[test]
fn products_without_a_scale_are_warned_of() {
    let weiss = &examples()[3];
    let line = "1 1:3 2:10 3:1 100:2 202:1\n";
    let warnings = |schema: &str| {
        let (report, _) = read(schema, line, Division::Exact, 1e9);
        report.sources[0].warnings.clone()
    };
    assert_eq!(warnings(weiss), [""; 0]);
    let free = weiss.replace(", \"frozen\": true", "");
    let told = warnings(&free);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].starts_with("the scale of 'power' times 'modifier' in mg is not determined"), "{told:?}");
    // A frozen 0 has no scale, one that is frozen in the other accumulator does, and so has what counts by itself too.
    let powers = "\"priors\": [36, 22, 23, 78]";
    assert_eq!(warnings(&weiss.replace("\"prior\": 113, \"frozen\"", "\"prior\": 0, \"frozen\"")).len(), 1);
    assert_eq!(warnings(&free.replace(powers, &format!("{powers}, \"frozen\": true"))), [""; 0]);
    assert_eq!(
        warnings(
            &free.replace(
                "\"mg\": {\"divide\": 100,",
                "\"eg\": {\"value\": \"mg\"}, \"mg\": {\"divide\": 100,"
            )
        ),
        [""; 0]
    );
    assert_eq!(warnings(&free.replace("{\"divide\": 100,", "{\"shift\": 5, \"divide\": 100,")), [""; 0]);
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
