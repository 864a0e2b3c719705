//! Imported datasets with endgame scale factors, offsets and weights: the reference against the formula, and all fast
//! evaluators against the reference.

use crate::common::gpu::context;
use crate::common::prelude::*;
use crate::common::traces::{Made, PARAMETERS, imported, make, schema, text, theta};
use crate::common::{worsen, worst_errors};
use gputexel::tuning::sandwich;
use std::fmt::Write as _;

const LOSSES: [LossKind; 3] = [LossKind::Squared, LossKind::CrossEntropy, LossKind::Power(2.5)];

fn data(positions: usize, seed: u64, fine: bool) -> (Vec<Made>, Dataset) {
    let folder = tempfile::tempdir().unwrap();
    let mut made = make(positions, seed, fine);
    // A column without values is refused, and zeros are left out.
    (made[0].phase, made[0].scale) = (11, 40);
    let (_, data) = imported(folder.path(), &text(&made), &schema());
    (made, data)
}

/// Returns the mean loss by the formula, from the synthetic numbers.
fn loss_by_hand(made: &[Made], theta: &[f64], k: f64) -> f64 {
    let (mut sum, mut weights) = (0.0, 0.0);
    for one in made {
        let p = 1.0 / (1.0 + 10f64.powf(-k * one.score(theta) / 400.0));
        sum += one.weight * (p - one.result).powi(2);
        weights += one.weight;
    }
    sum / weights
}

#[test]
fn the_reference_scales_the_endgame() {
    for fine in [false, true] {
        let (made, data) = data(700, 3, fine);
        assert_eq!(data.has_single_precision(), fine);
        let theta = theta(9, false);
        let mut unscaled = 0;
        for (n, one) in made.iter().enumerate() {
            let (got, wanted) = (objective::score(&data, &theta, n), one.score(&theta));
            // 0.1 is rounded to f32.
            assert!((got - wanted).abs() < 1e-4, "{n}: {got} {wanted}");
            let whole = Made { scale: 64, ..one.clone() };
            unscaled += usize::from((whole.score(&theta) - wanted).abs() > 0.5);
        }
        assert!(unscaled > 300, "scale factors hardly matter: {unscaled}");
        let objective = Objective { k: 0.9, loss: LossKind::Squared };
        let found = objective::loss_and_gradient(&data, objective, &theta, 0..made.len());
        assert!((found.loss - loss_by_hand(&made, &theta, 0.9)).abs() < 1e-7);
        for at in 0..theta.len() {
            let at_step = |step: f64| {
                let mut moved = theta.clone();
                moved[at] += step;
                loss_by_hand(&made, &moved, 0.9)
            };
            let slope = (at_step(1e-3) - at_step(-1e-3)) / 2e-3;
            assert!((found.gradient[at] - slope).abs() < 1e-8, "{at}: {} {slope}", found.gradient[at]);
        }
    }
}

fn population(members: usize) -> Population {
    let parameters = (0..members).flat_map(|m| theta(50 + m as u64, false)).collect();
    Population::new(PARAMETERS, parameters, (0..members).map(|m| 0.6 + 0.01 * m as f64).collect())
}

#[test]
fn cpu_and_gpu_agree_with_the_reference() {
    let context = context();
    let mut worst = [0.0f64; 3];
    for (positions, members, fine) in [(1, 1, false), (300, 1, true), (1025, 2, false), (2000, 33, true)] {
        let (_, data) = data(positions, positions as u64, fine);
        let layout = Layout::whole(&data).unwrap();
        let population = population(members);
        for loss in LOSSES {
            let request = Request { parts: 0..1, loss, gradients: true, curvature: members <= 2 };
            let mut all: Vec<Box<dyn Evaluator + '_>> = Vec::new();
            for set in InstructionSet::available() {
                all.push(Box::new(CpuEvaluator::with_instruction_set(&layout, set)));
            }
            if let Some(context) = context {
                all.push(Box::new(GpuEvaluator::try_new(context, &layout).unwrap()));
            }
            for evaluator in &mut all {
                let got = evaluator.evaluate(&population, &request).unwrap();
                worsen(&mut worst, worst_errors(&data, &layout, &population, &request, &got));
            }
        }
    }
    // About a factor of three above the measured errors.
    assert!(worst[0] < 1e-6 && worst[1] < 3e-6 && worst[2] < 3e-6, "{worst:?}");
}

#[test]
fn tapers_share_buckets_in_the_smallest_units() {
    let (made, data) = data(3000, 5, false);
    let layout = Layout::whole(&data).unwrap();
    // Factors 0, 16, 40, 64 and 80 of 64 are 0, 2, 5, 8 and 10 of 8.
    assert_eq!(layout.phase_max(), 24 * 8);
    let mut tapers = std::collections::BTreeSet::new();
    for bucket in layout.buckets() {
        let units = (bucket.mg_units, bucket.eg_units);
        // Where the endgame does not count, neither does its scale, but buckets are told apart by it.
        assert!(tapers.insert(units) || units.1 == 0, "two buckets of {units:?}");
        for &row in &layout.rows()[bucket.positions.clone()] {
            let one = &made[row as usize];
            let wanted = (8 * one.phase, (24 - one.phase) * one.scale / 8);
            assert_eq!((u32::from(units.0), u32::from(units.1)), wanted);
        }
    }
    assert!(tapers.len() > 100, "{}", tapers.len());
}

#[test]
fn exact_changes_match_the_reference() {
    let (_, data) = data(500, 8, true);
    let layout = Layout::whole(&data).unwrap();
    let prior = theta(1, false);
    let basis = Parameterization::identity(&theta(2, true));
    let objective = Objective { k: 0.8, loss: LossKind::Squared };
    let mut space = Space::unbounded(&basis.start());
    space.integer.fill(true);
    let problem = ExactProblem {
        layout: &layout,
        parts: 0..1,
        objective,
        parameterization: &basis,
        space: &space,
        regularization: Regularization::new(&prior, 0.0, &[]),
    };
    let steps = SingleSteps::try_new(&problem, &basis.start()).unwrap();
    let exact = |z: &[f64]| objective::loss(&data, objective, z, 0..data.len());
    let here = exact(&basis.start());
    assert!((steps.loss() - here).abs() < 1e-12);
    let mut largest = 0.0f64;
    for i in 0..2 * PARAMETERS {
        for by in [-1.0, 2.0] {
            let mut z = basis.start();
            z[i] += by;
            let (got, wanted) = (steps.change(i, by), exact(&z) - here);
            assert!((got - wanted).abs() < 1e-12, "{i} {by}: {got} {wanted}");
            largest = largest.max(wanted.abs());
        }
    }
    assert!(largest > 1e-6);
}

/// A tapered model gives the same results as an untapered one whose coefficients include phase and scale.
#[test]
fn standard_errors_match_the_untapered_model() {
    let folder = tempfile::tempdir().unwrap();
    let made = make(600, 21, false);
    let (_, tapered) = imported(folder.path(), &text(&made), &schema());
    let mut lines = String::new();
    for one in &made {
        let _ = write!(lines, "{} qid:{} 0:{} 1:{}", one.result, one.game, one.weight, one.offset);
        for (phase, share) in [one.shares().0, one.shares().1].into_iter().enumerate() {
            for &(parameter, c) in one.row.iter().filter(|_| share != 0.0) {
                let _ = write!(lines, " {}:{}", 2 + phase * PARAMETERS + parameter, c * share);
            }
        }
        lines.push('\n');
    }
    let twin_schema = format!(
        r#"{{"format": "gputexel-schema", "version": 1, "index_base": 0, "columns": {{"weight": 0, "offset": 1}},
            "parameters": [{{"name": "all", "index": 2, "count": {}}}]}}"#,
        2 * PARAMETERS
    );
    let (_, twin) = imported(folder.path(), &lines, &twin_schema);
    let point = theta(4, false);
    let objective = Objective { k: 0.7, loss: LossKind::CrossEntropy };
    let errors = |data: &Dataset, basis: &Parameterization| {
        let layout = Layout::whole(data).unwrap();
        let prior = basis.theta(&point);
        let fit = fit_of(&layout, basis, &point, (&prior, 0.0), objective);
        sandwich(&fit).unwrap().z
    };
    let own = errors(&tapered, &Parameterization::identity(&point));
    let prior = vec![0.0; 4 * PARAMETERS];
    let basis = "schema".parse::<gputexel::model::Basis>().unwrap();
    let basis = basis.resolve(&twin.metadata().feature_set, &prior, &[]).unwrap();
    let others = errors(&twin, &basis);
    assert_eq!(own.len(), 2 * PARAMETERS);
    for (i, (own, other)) in own.iter().zip(&others).enumerate() {
        let (own, other) = (own.unwrap(), other.unwrap());
        assert!((own / other - 1.0).abs() < 1e-5, "{i}: {own} {other}");
    }
}
