//! Bases: their derivatives against the exact loss.

use crate::common::prelude::*;

#[test]
fn gradients_match_central_differences() {
    let data = random_dataset(&scratch(), FeatureKind::Pst, 600, 3);
    let set = &data.metadata().feature_set;
    let prior = Prior::default().theta(set).unwrap();
    let objective = Objective { k: 0.8, loss: LossKind::Squared };
    let all: Vec<u32> = (0..data.len() as u32).collect();
    let layout = Layout::try_new(&data, 1, |_| 0).unwrap();
    let mut evaluator = CpuEvaluator::new(&layout);
    for (name, freeze) in
        [("madchess", ""), ("madchess-2018", "queen"), ("mirrored+tied", "king"), ("tied", "pawn.mg")]
    {
        let Ok(basis) = name.parse::<Basis>();
        let freeze: Vec<String> = freeze.split_terminator(',').map(str::to_string).collect();
        let basis = basis.resolve(set, &prior, &freeze).unwrap();
        // Away from the start, where some terms cancel.
        let mut z = basis.start();
        z.iter_mut().enumerate().for_each(|(i, value)| *value += (i % 5) as f64 - 1.5);
        let population = Population::single(&basis.theta(&z), objective.k);
        let request = Request { parts: 0..1, loss: objective.loss, gradients: true, curvature: false };
        let gradient = basis.pull_gradients(&evaluator.evaluate(&population, &request).unwrap().gradients);
        let loss = |z: &[f64]| gputexel::tuning::exact_loss(&data, objective, &basis.theta(z), &all);
        let largest = gradient.iter().fold(0.0f64, |most, g| most.max(g.abs()));
        for i in 0..z.len() {
            let (value, step) = (z[i], 1e-2);
            z[i] = value + step;
            let up = loss(&z);
            z[i] = value - step;
            let down = loss(&z);
            z[i] = value;
            let difference = (up - down) / (2.0 * step);
            // f32 sums of the evaluator, 1e-6 of the largest; seen: 2e-7.
            assert!(
                (gradient[i] - difference).abs() < 1e-6 * largest,
                "{name} {i}: {} {difference}",
                gradient[i]
            );
        }
        // The reference agrees.
        let reference = objective::loss_and_gradient(&data, objective, &basis.theta(&z), 0..data.len());
        let pulled = basis.pull_gradients(&reference.gradient);
        assert!(pulled.iter().zip(&gradient).all(|(a, b)| (a - b).abs() < 1e-6 * largest), "{name}");
    }
}
