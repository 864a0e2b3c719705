//! Synthetic games whose positions depend on each other, and a simple minimizer.

use super::random_board;
use crate::common::prelude::*;

pub const K: f64 = 0.8;

/// Writes games of `length` similar positions: each has one piece less than the one before. Every position is written
/// `copies` times.
pub fn games(
    path: &Path,
    kind: FeatureKind,
    count: usize,
    length: usize,
    copies: usize,
    seed: u64,
) -> Dataset {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let set = FeatureSet::new(kind, PhaseSettings::default());
    let mut writer = DatasetWriter::create(path, Metadata::new(set.clone()), true).unwrap();
    let mut row = FeatureRow::default();
    for game in 0..count {
        let mut board = random_board(&mut rng);
        let result = match (rng.random_range(0.0..1.0), rng.random_range(0.0..1.0)) {
            (draw, _) if draw < 0.3 => 0.5,
            (_, draw) if draw < objective::expected_score(K / 3.0, lean(&board)) => 1.0,
            _ => 0.0,
        };
        for n in 0..length {
            set.compute(&board, shakmaty::Color::White, &mut row);
            let weight = 0.5 + ((game + n) % 5) as f32 / 4.0;
            for _ in 0..copies {
                let labels = PositionLabels { result, score_cp: None, weight, game: Some(game as u32) };
                writer.push(&row, labels).unwrap();
            }
            let removable: Vec<_> = (board.occupied() & !board.kings()).into_iter().collect();
            if !removable.is_empty() {
                board.discard_piece_at(removable[rng.random_range(0..removable.len())]);
            }
        }
    }
    writer.finish(Vec::new(), []).unwrap();
    dataset::read(path).unwrap()
}

fn lean(board: &shakmaty::Board) -> f64 {
    let count = |color, role| (board.by_role(role) & board.by_color(color)).count() as f64;
    let difference = |role| count(shakmaty::Color::White, role) - count(shakmaty::Color::Black, role);
    [100.0, 300.0, 320.0, 500.0, 900.0]
        .iter()
        .zip(shakmaty::Role::ALL)
        .map(|(v, role)| v * difference(role))
        .sum()
}

pub fn minimize(
    layout: &Layout,
    basis: &Parameterization,
    prior: &[f64],
    l2: f64,
    objective: Objective,
) -> Vec<f64> {
    let mut evaluator = CpuEvaluator::new(layout);
    let settings = GaussNewtonSettings::default();
    let mut method = GaussNewton::try_new(&gputexel::tuning::space_of(basis), settings).unwrap();
    let mut last = f64::INFINITY;
    for _ in 0..100 {
        if method.converged() {
            break;
        }
        let ask = method.ask();
        let theta = basis.theta(&ask.parameters);
        let request =
            Request { parts: 0..1, loss: objective.loss, gradients: ask.gradients, curvature: ask.curvature };
        let mut answer = evaluator.evaluate(&Population::single(&theta, objective.k), &request).unwrap();
        Regularization::new(prior, l2, &[]).add(&mut answer, &theta);
        answer.gradients = basis.pull_gradients(&answer.gradients);
        answer.curvatures = basis.pull_matrices(answer.curvatures);
        method.tell(&answer).unwrap();
        if method.epoch_done() {
            let loss = method.best().loss;
            if last - loss <= 1e-9 * loss {
                break;
            }
            last = loss;
        }
    }
    method.best().parameters
}

/// Returns the path of the dataset that `extract` makes of the games in the repository, `data/sample.pgn.zst`.
pub fn extracted_games() -> PathBuf {
    static MADE: OnceLock<PathBuf> = OnceLock::new();
    let make = || {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("games.bin");
        let mut program = std::process::Command::new(env!("CARGO_BIN_EXE_gputexel"));
        program.args(["-q", "extract", "data/sample.pgn.zst", "--force", "-o"]).arg(&path);
        assert!(program.current_dir(env!("CARGO_MANIFEST_DIR")).status().unwrap().success());
        path
    };
    MADE.get_or_init(make).clone()
}
