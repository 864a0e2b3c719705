//! Penalty weights chosen by held-out loss, on the sample.

use crate::common::prelude::*;
use gputexel::optimizer::AdamRuns;
use gputexel::tuning::{KindStrength, Limits, StrengthChoice, StrengthRequest, choose_strength};

const K: f64 = 1.24379;

fn sample() -> Dataset {
    dataset::read(&extracted_games()).unwrap()
}

fn cpu() -> Backend {
    Backend::custom("tests", |layout| Ok(Box::new(CpuEvaluator::new(layout))))
}

fn choose(data: &Dataset, config: &RunConfig) -> StrengthChoice {
    let split = Split::try_new(data, 0.0, 1, 1).unwrap();
    let request = StrengthRequest { folds: Some(5), given: None };
    choose_strength(config, data, &split, &cpu(), request, &AtomicBool::new(false), &mut |_| Ok(())).unwrap()
}

/// Returns the loss of every position under parameters tuned to convergence without its fold, with the weights that a
/// choice made for it.
fn by_hand(data: &Dataset, config: &RunConfig, kinds: &[KindStrength]) -> f64 {
    let folds = Folds::try_new(data, 5, config.seed).unwrap();
    let whole = Split::try_new(data, 0.0, 1, 1).unwrap();
    let (mut sum, mut count) = (0.0, 0);
    for fold in 0..5 {
        let members: Vec<u32> = folds.members(fold).map(|n| n as u32).collect();
        let layout = Layout::try_new(data, 2, |n| usize::from(folds.fold_of(n) == fold)).unwrap();
        // Weights refer to the games of all folds: with fewer games, each of them counts more.
        let share = (data.len() - members.len()) as f64 / data.len() as f64;
        let mut config = config.clone();
        for penalty in &mut config.penalties {
            let own = kinds.iter().find(|kind| kind.kind == penalty.kind && kind.weight > 0.0);
            penalty.weight *= own.map_or(1.0, |kind| kind.by_fold[fold] / kind.weight) / share;
        }
        let end = Tuning::try_new(&config, &whole)
            .unwrap()
            .run(&mut CpuEvaluator::new(&layout), &AtomicBool::new(false), &mut |_| Ok(()))
            .unwrap();
        let objective = Objective { k: K, loss: LossKind::Squared };
        sum += members.len() as f64 * exact_loss(data, objective, &end.parameters, &members);
        count += members.len();
    }
    sum / count as f64
}

#[test]
#[ignore = "full"]
fn chosen_weights_lower_the_held_out_loss_of_the_sample() {
    let data = sample();
    let mut config = RunConfig::new(&data, &Prior::default(), K).unwrap();
    config.stopping = Limits::default().for_method(&config.optimizer);
    let choice = choose(&data, &config);
    let gain = choice.strength.gain.unwrap();
    assert!((gain.before - 0.128590).abs() < 1e-6, "{gain:?}");
    assert!(gain.after < 0.1245 && gain.before - gain.after > 5.0 * gain.error, "{gain:?}");
    assert!(choice.warnings.is_empty() && !choice.strength.keeps_prior);
    assert!((40.0..200.0).contains(&choice.strength.effective), "{}", choice.strength.effective);
    // Ties between neighboring squares pay.
    let weight =
        |name: &str| choice.strength.kinds.iter().find(|kind| kind.kind.name() == name).unwrap().weight;
    assert!(weight("bend") > 0.0 && weight("mirror") > 0.0, "{:?}", choice.strength.kinds);
    assert_eq!(choice.penalties, choose(&data, &config).penalties, "repeats bit for bit");
    // The report agrees with tuning without each fold.
    let tied = RunConfig { penalties: choice.penalties, ..config.clone() };
    let converged = by_hand(&data, &tied, &choice.strength.kinds);
    assert!((converged - gain.after).abs() < 1e-4, "{converged} {gain:?}");
    // Ridge at its best is far behind.
    let ridge = RunConfig { l2: vec![3e-4], ..config.clone() };
    assert!(by_hand(&data, &ridge, &[]) > gain.after + 0.002);
}

#[test]
#[ignore = "full"]
fn in_a_basis_weights_are_chosen_for_its_coordinates() {
    let data = sample();
    let config = RunConfig::new(&data, &Prior::default(), K).unwrap();
    let theta = &config.prior_theta;
    let basis: gputexel::model::Basis = "mirrored".parse().unwrap();
    let basis: Parameterization = basis.resolve(&data.metadata().feature_set, theta, &[]).unwrap();
    let mirrored = choose(&data, &RunConfig { basis: Some(basis), ..config.clone() });
    let (free, tied) = (choose(&data, &config).strength.gain.unwrap(), mirrored.strength.gain.unwrap());
    // The mirror penalty of the sample is nearly this basis.
    assert!((free.after - tied.after).abs() < 2e-4, "{free:?} {tied:?}");
    assert_eq!(mirrored.z.len(), 384);
}

#[test]
fn random_results_keep_the_prior() {
    let folder = tempfile::tempdir().unwrap();
    // Results that do not depend on the position.
    let line = |i: usize| {
        let rank = |piece: char, file: usize| -> String {
            let mut squares = ['1'; 8];
            squares[file] = piece;
            squares.iter().collect()
        };
        let result = ["1-0", "0-1", "1/2-1/2"][(i.wrapping_mul(2_654_435_761) >> 7) % 3];
        let (white, black, knight) = (rank('P', i % 8), rank('p', (i / 8) % 8), rank('N', (i / 64) % 8));
        format!("7k/{black}/8/8/8/{knight}/{white}/K7 w - - c9 \"{result}\";\n")
    };
    let text: String = (0..512).map(line).collect();
    let file = folder.path().join("noise.epd");
    std::fs::write(&file, text).unwrap();
    let data = gputexel::extract(&[&file]).unwrap();
    let config = RunConfig::new(&data, &Prior::Zero, 1.0).unwrap();
    let split = Split::try_new(&data, 0.0, 1, 1).unwrap();
    let request = StrengthRequest::default();
    let choice =
        choose_strength(&config, &data, &split, &cpu(), request, &AtomicBool::new(false), &mut |_| Ok(()))
            .unwrap();
    let gain = choice.strength.gain.unwrap();
    match choice.strength.keeps_prior {
        true => assert!(choice.penalties.iter().all(|penalty| penalty.weight >= 1.0)),
        false => assert!(gain.before - gain.after < 2.0 * gain.error, "{gain:?}"),
    }
    assert!(choice.warnings.iter().any(|text| text.contains("games of the positions are not known")));
    let settings = gputexel::TunerSettings { prior: Some(Prior::Zero), k: Some(1.0), ..Default::default() };
    let tuned = gputexel::Tuner::new(&data, settings).backend(&cpu()).run().unwrap();
    let largest = tuned.parameters().iter().fold(0.0f64, |largest, value| largest.max(value.abs()));
    assert!(largest < 60.0, "noise was taken for {largest} centipawns");
}

#[test]
#[ignore = "full"]
fn progress_is_reported_before_long_steps() {
    let data = sample();
    let split = Split::try_new(&data, 0.0, 1, 1).unwrap();
    let config = RunConfig::new(&data, &Prior::default(), K).unwrap();
    let (request, stop) = (StrengthRequest::default(), AtomicBool::new(false));
    let mut told = Vec::new();
    choose_strength(&config, &data, &split, &cpu(), request, &stop, &mut |at| {
        told.push((at.round, at.evaluation));
        Ok(())
    })
    .unwrap();
    // Each round models the losses first, which is reported as its evaluation 0.
    assert_eq!(told[..2], [(1, 0), (1, 1)]);
    let next = |&(round, evaluation): &(usize, usize)| [(round, evaluation + 1), (round + 1, 0)];
    assert!(told.windows(2).all(|pair| next(&pair[0]).contains(&pair[1])), "{told:?}");
    // If asked to stop, a search does not start to model.
    let mut told = 0;
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    let answer = choose_strength(&config, &data, &split, &cpu(), request, &stop, &mut |_| {
        told += 1;
        Ok(())
    });
    assert!(matches!(answer, Err(gputexel::Error::Interrupted(_))) && told == 0);
}

#[test]
fn rejects_invalid_settings() {
    let data = sample();
    let split = Split::try_new(&data, 0.0, 1, 1).unwrap();
    let rough = RunConfig {
        loss: LossKind::Power(1.5),
        optimizer: OptimizerConfig::Adam(AdamRuns::default()),
        ..RunConfig::new(&data, &Prior::default(), K).unwrap()
    };
    let request = StrengthRequest::default();
    let stop = AtomicBool::new(false);
    let error = choose_strength(&rough, &data, &split, &cpu(), request, &stop, &mut |_| Ok(())).unwrap_err();
    assert!(error.to_string().contains("has no curvature"), "{error}");
}
