//! Inputs that several integration tests share.

pub mod browser;
pub mod classical;
pub mod conclusion;
pub mod engine_trace;
pub mod exports;
pub mod games;
pub mod gpu;
pub mod matrices;
pub mod players;
pub mod prelude;
pub mod program;
pub mod programs;
pub mod requirement;
pub mod spsa;
pub mod traces;

use crate::common::prelude::*;
use gputexel::chess::fen::{legal_position, parse_fen};
use rand::Rng;

/// Splits a case of a table, a text, at its tildes.
#[track_caller]
pub fn cells<const N: usize>(case: &str) -> [&str; N] {
    case.split(" ~ ").collect::<Vec<_>>().try_into().unwrap_or_else(|_| panic!("{case}: not {N} cells"))
}

pub fn scratch() -> tempfile::TempPath {
    tempfile::NamedTempFile::new().unwrap().into_temp_path()
}

/// Writes a dataset of random boards to `path` and reads it back: 2 to 32 pieces, every phase, results biased toward
/// the side with more material, 10 positions per game.
pub fn random_dataset(path: &Path, kind: FeatureKind, positions: usize, seed: u64) -> Dataset {
    write_dataset(path, kind, positions, seed, |_, _, _| {})
}

/// As [`random_dataset`], piece-square rows with weights between ½ and 2.
pub fn weighted_dataset(path: &Path, positions: usize, seed: u64) -> Dataset {
    write_dataset(path, FeatureKind::Pst, positions, seed, |n, _, labels| {
        labels.weight = 0.5 + (n % 7) as f32 / 4.0;
    })
}

/// As [`random_dataset`]; nine of ten positions have a search score close to the score from which the result was
/// drawn, and `relabel` may change the labels.
pub fn scored_dataset(
    path: &Path,
    kind: FeatureKind,
    positions: usize,
    seed: u64,
    relabel: impl Fn(&mut PositionLabels),
) -> Dataset {
    write_dataset(path, kind, positions, seed, |n, lean, labels| {
        let noise = ((n * 7919) % 201) as f64 - 100.0;
        labels.score_cp = (n % 10 != 3).then(|| (0.9 * lean + noise).clamp(-30_000.0, 30_000.0) as f32);
        relabel(labels);
    })
}

fn write_dataset(
    path: &Path,
    kind: FeatureKind,
    positions: usize,
    seed: u64,
    adjust: impl Fn(usize, f64, &mut PositionLabels),
) -> Dataset {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let set = FeatureSet::new(kind, PhaseSettings::default());
    let mut writer = DatasetWriter::create(path, Metadata::new(set.clone()), true).unwrap();
    let mut row = FeatureRow::default();
    for n in 0..positions {
        let board = random_board(&mut rng);
        set.compute(&board, shakmaty::Color::White, &mut row);
        let lean: f64 = [100.0, 300.0, 320.0, 500.0, 900.0]
            .iter()
            .zip(shakmaty::Role::ALL)
            .map(|(value, role)| {
                let count = |color| (board.by_role(role) & board.by_color(color)).count() as f64;
                value * (count(shakmaty::Color::White) - count(shakmaty::Color::Black))
            })
            .sum();
        let p = gputexel::objective::expected_score(0.8, lean);
        let draw = rng.random_range(0.0..1.0);
        let result = if draw < p * 0.7 {
            1.0
        } else if draw < 0.7 {
            0.0
        } else {
            0.5
        };
        let mut labels = PositionLabels { result, score_cp: None, weight: 1.0, game: Some(n as u32 / 10) };
        adjust(n, lean, &mut labels);
        writer.push(&row, labels).unwrap();
    }
    writer.finish(Vec::new(), []).unwrap();
    dataset::read(path).unwrap()
}

pub fn random_board(rng: &mut impl Rng) -> shakmaty::Board {
    use shakmaty::{Color, Role, Square};
    let mut squares: Vec<Square> = Square::ALL.to_vec();
    let mut take = |rng: &mut _| {
        let i = RngExt::random_range(rng, 0..squares.len());
        squares.swap_remove(i)
    };
    let mut board = shakmaty::Board::empty();
    board.set_piece_at(take(rng), Role::King.of(Color::White));
    board.set_piece_at(take(rng), Role::King.of(Color::Black));
    for _ in 0..rng.random_range(0..=30) {
        let role = [Role::Pawn, Role::Pawn, Role::Pawn, Role::Knight, Role::Bishop, Role::Rook, Role::Queen]
            [rng.random_range(0..7)];
        let color = if rng.random_range(0..2) == 0 { Color::White } else { Color::Black };
        let square = take(rng);
        if role != Role::Pawn || (8..56).contains(&u32::from(square)) {
            board.set_piece_at(square, role.of(color));
        }
    }
    board
}

pub fn fit_of<'a>(
    layout: &'a Layout,
    parameterization: &'a Parameterization,
    z: &'a [f64],
    (prior, l2): (&[f64], f64),
    objective: Objective,
) -> Fit<'a> {
    let regularization = Regularization::new(prior, l2, &[]);
    Fit { layout, parts: 0..1, parameterization, z, regularization, objective }
}

/// Returns limits for a run of `epochs`, stopped early after `patience` epochs without a gain on held-out positions.
pub fn stopping(epochs: u64, window: u64, patience: u64) -> Stopping {
    Stopping { epochs, seconds: None, improvement: 0.0, window, patience }
}

pub fn position(fen: &str) -> shakmaty::Chess {
    let (setup, _) = parse_fen(fen.as_bytes()).unwrap();
    legal_position(setup, shakmaty::CastlingMode::Chess960).unwrap()
}

/// Returns random parameters around plain material, integers if `whole`.
pub fn random_theta(set: &FeatureSet, whole: bool, seed: u64) -> Vec<f64> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut theta = gputexel::model::Prior::default().theta(set).unwrap();
    for value in &mut theta {
        *value += rng.random_range(-60.0..60.0);
        if whole {
            *value = value.round();
        }
    }
    theta
}

/// Returns the largest difference relative to the largest expected magnitude; NaN must match NaN.
pub fn relative_difference(got: &[f64], wanted: &[f64]) -> f64 {
    assert_eq!(got.len(), wanted.len());
    let largest = wanted.iter().filter(|value| !value.is_nan()).fold(1e-300f64, |a, b| a.max(b.abs()));
    let difference = |(a, b): (&f64, &f64)| match b.is_nan() {
        true => {
            assert!(a.is_nan(), "{a}, not NaN");
            0.0
        }
        false => (a - b).abs(),
    };
    // An unexpected NaN must not be lost in a maximum.
    let differences = got.iter().zip(wanted).map(difference);
    differences.fold(0.0, |a: f64, b| if b.is_nan() { f64::INFINITY } else { a.max(b) }) / largest
}

/// Returns the largest errors of an answer against the reference: of losses, and relative ones of each member's gradient
/// and matrix.
pub fn worst_errors(
    data: &Dataset,
    layout: &Layout,
    population: &Population,
    request: &Request,
    got: &Evaluations,
) -> [f64; 3] {
    worst_errors_of(data, layout, population, request, got, |_| true)
}

/// As [`worst_errors`], with gradients and curvatures of some of the members.
pub fn worst_errors_of(
    data: &Dataset,
    layout: &Layout,
    population: &Population,
    request: &Request,
    got: &Evaluations,
    is_compared: impl Fn(usize) -> bool,
) -> [f64; 3] {
    let wanted = gputexel::evaluator::reference::reference(data, layout, population, request);
    assert_eq!(got.positions, wanted.positions);
    let losses = [(&got.losses, &wanted.losses), (&got.part_losses, &wanted.part_losses)];
    let loss = losses.map(|(got, wanted)| {
        let largest = wanted.iter().filter(|loss| !loss.is_nan()).fold(0f64, |a, b| a.max(*b));
        largest * relative_difference(got, wanted)
    });
    let size = 2 * population.features;
    let by_member = |got: &[f64], wanted: &[f64], size: usize| {
        assert_eq!(got.len(), wanted.len());
        let members = got.chunks(size).zip(wanted.chunks(size)).enumerate();
        let members = members.filter(|(member, _)| is_compared(*member));
        members.map(|(_, (got, wanted))| relative_difference(got, wanted)).fold(0.0, f64::max)
    };
    [
        loss[0].max(loss[1]),
        by_member(&got.gradients, &wanted.gradients, size),
        by_member(&got.curvatures, &wanted.curvatures, size * size),
    ]
}

/// Replaces errors by larger ones.
pub fn worsen(worst: &mut [f64; 3], found: [f64; 3]) {
    worst.iter_mut().zip(found).for_each(|(worst, found)| *worst = worst.max(found));
}
