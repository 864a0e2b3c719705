//! Evaluators on valid problems: every CPU body against the f64 reference. Kernels look up features without checks,
//! which the sanitizer watches.

use std::ops::Range;

use gputexel_chess::PhaseSettings;
use gputexel_dataset::objective::{self, LossKind};
use gputexel_dataset::{Dataset, DatasetWriter, ImportedPosition, Layout, Metadata, PositionLabels};
use gputexel_eval::cpu::{CpuEvaluator, InstructionSet};
use gputexel_eval::reference::{Seen, each_position};
use gputexel_eval::{Evaluator as _, Population, Request};
use gputexel_model::program::{
    Accumulator, Adjustment, CompiledProgram, Factor, FactorTarget, Input, Operator, Phase, Program, Term,
};
use gputexel_model::{Feature, FeatureKind, FeatureRow, FeatureSet, Imported, ImportedParameter};

use crate::source::Source;

const LOSSES: [LossKind; 5] = [
    LossKind::Squared,
    LossKind::CrossEntropy,
    LossKind::Power(2.5),
    LossKind::Power(2.0),
    LossKind::Power(3.0),
];

/// Expected results, with sums of absolute values that scale the tolerance: cancellation in a sum is not an error of
/// the sum.
struct Wanted {
    loss: f64,
    gradient: Vec<f64>,
    size: f64,
    /// The same as if the slope of the loss were 1 everywhere: if the expected result is close to the result, their
    /// difference is only accurate to the rounding of the former in f32.
    reach: f64,
}

/// Returns the labels of a position; `must` requires a score, as blending needs at least one.
fn labels(source: &mut Source<'_>, weighted: bool, must: bool) -> PositionLabels {
    PositionLabels {
        result: source.pick(&[0.0, 0.5, 1.0]),
        score_cp: (must || !source.once_in(4)).then(|| source.real(-300.0, 300.0) as f32),
        weight: if weighted { source.real(0.5, 2.0) as f32 } else { 1.0 },
        game: Some(source.byte().into()),
    }
}

/// Returns the number of positions: usually few, sometimes enough for several stripes.
fn positions(source: &mut Source<'_>) -> usize {
    match source.below(8) {
        0 => 1,
        1..=5 => 1 + source.below(40),
        6 => 1 + source.below(400),
        _ => 1 + source.below(1200),
    }
}

fn finished(writer: DatasetWriter, path: &std::path::Path) -> Dataset {
    writer.finish(Vec::new(), []).expect("a temporary folder takes a dataset");
    gputexel_dataset::read(path).expect("what was written can be read")
}

fn unit(source: &mut Source<'_>) -> Dataset {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("unit.bin");
    let set = FeatureSet::new(FeatureKind::Pst, PhaseSettings::default());
    let features = set.features.len();
    let mut writer = DatasetWriter::create(&path, Metadata::new(set), true).expect("a new dataset");
    let (count, weighted, most) = (positions(source), source.once_in(2), source.pick(&[0, 3, 17, 30]));
    for number in 0..count {
        let ids = |source: &mut Source<'_>| -> Vec<u16> {
            (0..source.below(most + 1)).map(|_| source.below(features) as u16).collect()
        };
        let (plus, minus) = (ids(source), ids(source));
        let row = FeatureRow { plus, minus, coefficients: Vec::new(), phase: source.below(25) as u16 };
        writer.push(&row, labels(source, weighted, number == 0)).expect("a valid row");
    }
    finished(writer, &path)
}

fn set_of(features: usize, phase_max: u16, scale_one: u16, program: Option<Program>) -> FeatureSet {
    let names = (0..features).map(|i| Feature { name: format!("f{i}"), group: "g".to_string() });
    let imported = Imported::new(scale_one, vec![ImportedParameter::default(); features]);
    let phase = PhaseSettings { max: phase_max, ..PhaseSettings::default() };
    FeatureSet::try_imported_program(names.collect(), phase, imported, program).expect("a valid feature set")
}

/// Returns rows with coefficients, offsets and endgame scale factors, with or without a program.
fn imported(source: &mut Source<'_>, program: Option<(Program, usize)>) -> Dataset {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("imported.bin");
    let features = match &program {
        Some((_, features)) => *features,
        // Large sets cost ten times as much, mostly for their names.
        None if source.once_in(12) => source.pick(&[4094, 4200]),
        None => source.pick(&[1, 2, 5, 31, 64, 300]),
    };
    let (phase_max, scale_one) = (source.pick(&[24, 1, 255, 62]), source.pick(&[4, 1, 64]));
    let compiled = program
        .as_ref()
        .map(|(program, _)| CompiledProgram::try_new(program.clone(), features).expect("a valid program"));
    let columns = compiled.as_ref().map_or(features, CompiledProgram::columns);
    let set = set_of(features, phase_max, scale_one, program.map(|(program, _)| program));
    let mut writer = DatasetWriter::create(&path, Metadata::new(set), true).expect("a new dataset");
    let (count, most) = (positions(source), source.pick(&[0, 1, 6, 12]));
    let weighted = source.once_in(2);
    for number in 0..count {
        let mut ids: Vec<u16> = (0..source.below(most + 1)).map(|_| source.below(columns) as u16).collect();
        // Mistakes are likely at the edges.
        if source.once_in(4) {
            ids.extend([0, columns as u16 - 1]);
        }
        ids.sort_unstable();
        ids.dedup();
        let coefficients: Vec<f32> = ids.iter().map(|_| source.real(-3.0, 3.0) as f32).collect();
        let position = ImportedPosition {
            ids: &ids,
            coefficients: &coefficients,
            phase: if source.once_in(2) { 0 } else { source.below(usize::from(phase_max) + 1) as u16 },
            scale: if source.once_in(2) {
                scale_one
            } else {
                source.below(usize::from(scale_one) + 1) as u16
            },
            offset_cp: if source.once_in(2) { 0.0 } else { source.real(-30.0, 30.0) as f32 },
            evaluation_cp: None,
            labels: labels(source, weighted, number == 0),
        };
        writer.push_imported(&position).expect("a valid row");
    }
    finished(writer, &path)
}

/// Returns parameters, with any of the options of populations.
fn population(source: &mut Source<'_>, layout: &Layout) -> Population {
    let features = layout.features();
    let members = if features > 1000 { 1 + source.below(4) } else { source.pick(&[1, 2, 3, 8, 17, 33, 70]) };
    let shared = source.once_in(5);
    let vectors = if shared { 1 } else { members };
    let whole = source.once_in(2);
    let value = |source: &mut Source<'_>| {
        let value = source.real(-60.0, 60.0);
        if whole { value.round() } else { value }
    };
    let theta = (0..2 * features * vectors).map(|_| value(source)).collect();
    let k = (0..members).map(|_| source.real(0.2, 2.0)).collect();
    let mut population = Population::new(features, theta, k);
    if source.once_in(3) {
        let weight = |source: &mut Source<'_>| source.pick(&[0.0, 1.0, 2.5]);
        population.part_weights = (0..members * layout.parts().len()).map(|_| weight(source)).collect();
    }
    if source.once_in(3) {
        population.blends = (0..members).map(|_| source.real(0.0, 1.0) as f32).collect();
    }
    if source.once_in(3) {
        population.resamples = (0..members).map(|_| source.byte().into()).collect();
    }
    population
}

fn layout_of(source: &mut Source<'_>, data: &Dataset) -> Layout {
    let parts = (1 + source.below(3)).min(data.len());
    let layout = Layout::try_new(data, parts, |n| n % parts).expect("a valid layout");
    layout.with_search_scores(data, source.real(0.5, 2.0)).expect("scores for a layout")
}

fn range_of(source: &mut Source<'_>, layout: &Layout) -> Range<usize> {
    let parts = layout.parts().len();
    let start = source.below(parts);
    start..start + 1 + source.below(parts - start)
}

/// Returns the mean loss of a member over the parts of a request, and its gradient; `None` if no position counts.
fn wanted(
    data: &Dataset,
    layout: &Layout,
    population: &Population,
    member: usize,
    request: &Request,
) -> Option<Wanted> {
    let (theta, per_cp) = (population.member(member), objective::x_per_cp(population.k[member]));
    let (mut loss, mut weights, mut size, mut reach) = (0.0, 0.0, 0.0f64, 0.0f64);
    let mut gradient = vec![0.0; theta.len()];
    each_position(data, layout, population, member, request.parts.clone(), |seen| {
        let Seen { x, y, slopes, .. } = *seen;
        let weight = seen.factor * seen.weight;
        loss += weight * request.loss.value(x, y);
        weights += weight;
        let outer = weight * request.loss.slope(x, y) * per_cp;
        for &(parameter, slope) in slopes {
            gradient[parameter] += outer * slope;
            size += (outer * slope).abs();
            reach += (weight * per_cp * slope).abs();
        }
    });
    gradient.iter_mut().for_each(|slope| *slope /= weights);
    (weights > 0.0).then(|| Wanted {
        loss: loss / weights,
        gradient,
        size: size / weights,
        reach: reach / weights,
    })
}

/// Returns the tolerance for gradients of a member near kinks of a program: how far they change with parameters that
/// differ by less than rounding.
fn kinks(
    data: &Dataset,
    layout: &Layout,
    population: &Population,
    request: &Request,
    member: usize,
) -> Vec<f64> {
    let theta = population.member(member);
    let moved = |sign: f64| {
        let theta: Vec<f64> = theta
            .iter()
            .enumerate()
            .map(|(i, value)| value + sign * 1e-4 * (1.0 + (i * 7 % 5) as f64))
            .collect();
        let moved = Population { parameters: theta, ..population.clone() };
        wanted(data, layout, &moved, member, request).map(|wanted| wanted.gradient).unwrap_or_default()
    };
    moved(1.0).into_iter().zip(moved(-1.0)).map(|(a, b)| (a - b).abs()).collect()
}

fn check(source: &mut Source<'_>, data: &Dataset, tolerance: f64) {
    let layout = layout_of(source, data);
    let (features, population) = (layout.features(), population(source, &layout));
    let members = population.members();
    let gradients = source.once_in(2);
    let curvature = source.once_in(4) && features <= 64 && members <= 3;
    let loss = source.pick(&LOSSES);
    let request = Request { parts: range_of(source, &layout), loss, gradients, curvature };
    population.validate(&layout).expect("a valid population");
    request.validate(&layout).expect("a valid request");
    let chosen = [0, members / 2, members - 1];
    let wanted = chosen.map(|member| wanted(data, &layout, &population, member, &request));
    let has_kinks = gradients && layout.program().is_some();
    let kinks =
        chosen.map(
            |member| {
                if has_kinks { kinks(data, &layout, &population, &request, member) } else { Vec::new() }
            },
        );
    for set in InstructionSet::available() {
        let mut evaluator = CpuEvaluator::with_instruction_set(&layout, set);
        let got = evaluator.evaluate(&population, &request).expect("a valid request is answered");
        assert_eq!(got.losses.len(), members);
        assert_eq!(got.part_losses.len(), members * request.parts.len());
        assert_eq!(got.gradients.len(), if gradients { 2 * features * members } else { 0 });
        assert!(got.gradients.iter().all(|g| !g.is_infinite()));
        for ((&member, wanted), kinks) in chosen.iter().zip(&wanted).zip(&kinks) {
            let (what, mine) = (format!("{} {loss}, member {member}", set.name()), got.losses[member]);
            let Some(wanted) = wanted else {
                assert!(mine.is_nan(), "{what}: {mine}");
                continue;
            };
            let error = (mine - wanted.loss).abs();
            assert!(error <= tolerance * (1.0 + wanted.loss), "{what}: {mine} {}", wanted.loss);
            let own = got.gradients.get(2 * features * member..).unwrap_or_default();
            for (i, (a, b)) in own.iter().zip(&wanted.gradient).enumerate() {
                let rounding = 10.0 * tolerance * wanted.size + 2.0 * f64::from(f32::EPSILON) * wanted.reach;
                let most = rounding + 2.0 * kinks.get(i).unwrap_or(&0.0) + 1e-12;
                assert!((a - b).abs() <= most, "{what}: {a} {b}");
            }
        }
    }
}

pub(crate) fn evaluator(data: &[u8]) {
    let source = &mut Source::new(data);
    let data = if source.once_in(2) { unit(source) } else { imported(source, None) };
    check(source, &data, 1e-5);
}

fn phase(source: &mut Source<'_>) -> Phase {
    source.pick(&[Phase::Mg, Phase::Eg])
}

fn input(source: &mut Source<'_>, accumulators: usize) -> Input {
    Input { accumulator: source.below(accumulators), phase: phase(source) }
}

/// Returns a valid program, with divisors that keep its parts at the size of scores.
fn any_program(source: &mut Source<'_>) -> (Program, usize) {
    let features = 24;
    let mut accumulators: Vec<Accumulator> = Vec::new();
    for i in 0..1 + source.below(4) {
        let start = source.below(features) as u16;
        let end = start + 1 + source.below(features - usize::from(start)).min(7) as u16;
        // The factor and adjustments use sums of both sides as well as of each.
        let sides = source.once_in(2);
        accumulators.push(Accumulator { name: format!("a{i}"), sides, features: (start..end).collect() });
    }
    let count = accumulators.len();
    let sided: Vec<usize> = (0..count).filter(|&i| accumulators[i].sides).collect();
    let whole: Vec<usize> = (0..count).filter(|&i| !accumulators[i].sides).collect();
    let mut terms = Vec::new();
    if !sided.is_empty() {
        for _ in 0..source.below(5) {
            let from = Input { accumulator: source.pick(&sided), phase: phase(source) };
            let (operator, divide) = match source.below(6) {
                0 => (Operator::Relu, 8.0),
                1 => (Operator::Relu2, 400.0),
                2 => (Operator::Sigmoid, 32.0),
                3 => (Operator::Square, 600.0),
                4 => (Operator::Table(vec![[-1.0, 5.0], [0.0, -7.0], [2.0, 30.0]]), 60.0),
                _ => (Operator::Identity, 90.0),
            };
            let times =
                source.once_in(4).then(|| Input { accumulator: source.pick(&sided), phase: phase(source) });
            terms.push(Term {
                target: phase(source),
                input: from,
                operator,
                times,
                scale: source.pick(&[-1.0, 1.0, 30.0]),
                shift: source.pick(&[0.0, 4.0]),
                over: source.once_in(4).then_some(3.0),
                divide: if times.is_some() { divide * 90.0 } else { divide },
            });
        }
    }
    let mut adjustments = Vec::new();
    if !whole.is_empty() && source.once_in(2) {
        let by = Input { accumulator: source.pick(&whole), phase: phase(source) };
        adjustments.push(Adjustment { target: phase(source), by, at_most: source.once_in(2).then_some(5.0) });
    }
    let factor = source.once_in(2).then(|| Factor {
        target: source.pick(&[FactorTarget::Eg, FactorTarget::Score]),
        by: (0..1 + source.below(2)).map(|_| input(source, count)).collect(),
        min: 0.0,
        max: 64.0,
        one: 64.0,
    });
    (Program { accumulators, terms, adjustments, factor }, features)
}

pub(crate) fn program(data: &[u8]) {
    let source = &mut Source::new(data);
    let (program, features) = any_program(source);
    // Some combinations of parts are invalid.
    if program.validate(features).is_err() {
        return;
    }
    let data = imported(source, Some((program, features)));
    check(source, &data, 2e-5);
}
