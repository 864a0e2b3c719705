use super::*;
use gputexel_chess::PhaseSettings;
use gputexel_dataset::objective::{LossKind, score};
use gputexel_dataset::{DatasetWriter, Metadata, PositionLabels};
use gputexel_model::{FeatureKind, FeatureRow, FeatureSet, Prior};
use shakmaty::fen::Fen;

fn dataset(kind: FeatureKind, positions: &[(&str, u32, f32)]) -> Dataset {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.bin");
    let set = FeatureSet::new(kind, PhaseSettings::default());
    let mut writer = DatasetWriter::create(&path, Metadata::new(set.clone()), false).unwrap();
    let mut row = FeatureRow::default();
    for &(text, game, result) in positions {
        let setup = text.parse::<Fen>().unwrap().into_setup();
        set.compute(&setup.board, setup.turn, &mut row);
        writer.push(&row, PositionLabels { result, score_cp: None, weight: 1.0, game: Some(game) }).unwrap();
    }
    writer.finish(Vec::new(), []).unwrap();
    gputexel_dataset::read(&path).unwrap()
}

const OBJECTIVE: Objective = Objective { k: 1.0, loss: LossKind::Squared };

fn find(data: &Dataset) -> WorstPositions {
    let theta = Prior::default().theta(&data.metadata().feature_set).unwrap();
    let scores: Vec<f64> = (0..data.len()).map(|n| score(data, &theta, n)).collect();
    let split = Split::try_new(data, 0.0, 1, 1).unwrap();
    worst_positions(data, &split, OBJECTIVE, &theta, &scores).unwrap()
}

const QUEEN_UP: &str = "3qk3/8/8/8/8/8/8/2QQK3 b - - 0 1";
const LEVEL: &str = "4k3/4p3/8/8/8/8/4P3/4K3 w - - 0 1";

#[test]
fn the_largest_error_of_each_game_is_shown_with_what_contributed() {
    let second = "3qk3/8/8/8/8/8/4P3/2QQK3 b - - 0 1";
    let data = dataset(
        FeatureKind::Classical,
        &[(LEVEL, 0, 0.5), (QUEEN_UP, 1, 0.0), (second, 1, 0.0), (LEVEL, 2, 1.0), (QUEEN_UP, 3, 1.0)],
    );
    let found = find(&data);
    assert!(!found.is_held_out && found.positions == 5 && found.note.is_empty(), "{found:?}");
    // A pawn more is worse, but the other position of that game is not shown; of one board, only the worst.
    let shown: Vec<(u64, Option<u64>)> = found.shown.iter().map(|one| (one.number, one.game)).collect();
    assert_eq!(shown, [(3, Some(2)), (4, Some(3)), (5, Some(4))]);
    let worst = &found.shown[0];
    assert_eq!(worst.fen.as_deref(), Some(second));
    assert_eq!((worst.score, worst.target), (1000.0, 0.0));
    assert!(worst.predicted > 0.99);
    assert_eq!(worst.terms, [("queen".to_string(), 900.0), ("pawn".to_string(), 100.0)]);
}

#[test]
fn terms_of_programs_add_up_to_scores() {
    let busy = "r1bq1rk1/ppp2ppp/2n2n2/3pp1N1/2B1P2Q/3P4/PPP2PPP/RNB2RK1 w - - 0 1";
    let data = dataset(FeatureKind::Full, &[(busy, 0, 0.0)]);
    let found = find(&data);
    let sum: f64 = found.shown[0].terms.iter().map(|term| term.1).sum();
    assert!(found.shown[0].terms.iter().any(|term| term.0.contains("complexity")), "{found:?}");
    assert!((sum - found.shown[0].score).abs() < 1e-9, "{sum}: {found:?}");
}

#[test]
fn what_is_frequent_among_the_worst_is_found() {
    // Every tenth game is lost with a queen more.
    let positions: Vec<(&str, u32, f32)> =
        (0..6000).map(|n| if n % 10 == 0 { (QUEEN_UP, n, 0.0) } else { (LEVEL, n, 0.5) }).collect();
    let data = dataset(FeatureKind::Pst, &positions);
    let found = find(&data);
    assert_eq!((found.worst, found.shown.len()), (120, 1));
    let share = |name: &str| {
        let known = found.shared.iter().find(|shared| shared.name.starts_with(name));
        known.map(|shared| (shared.worst, shared.all))
    };
    assert_eq!(share("a rook or more apart"), Some((1.0, 0.1)));
    assert_eq!(share("level"), Some((0.0, 0.9)));
    assert_eq!(share("queen_c1"), Some((1.0, 0.1)));
    assert_eq!(share("pawn_e2"), None, "it is on both sides");
    assert!(found.note.contains("side to move"));
}

#[test]
fn two_sets_of_parameters_disagree_where_one_is_right() {
    let data = dataset(FeatureKind::Pst, &[(QUEEN_UP, 0, 1.0), (LEVEL, 1, 0.5), (QUEEN_UP, 2, 0.0)]);
    let theta = Prior::default().theta(&data.metadata().feature_set).unwrap();
    let zero = vec![0.0; theta.len()];
    let [first, second] = disagreements(&data, [(OBJECTIVE, &theta), (OBJECTIVE, &zero)]);
    let numbers = |found: &[WorstPosition]| found.iter().map(|one| one.number).collect::<Vec<u64>>();
    assert_eq!((numbers(&first), numbers(&second)), (vec![1], vec![3]));
    assert_eq!((first[0].score, first[0].predicted), (0.0, 0.5));
    assert_eq!(first[0].first.map(|first| first.0), Some(900.0));
    assert_eq!(first[0].terms, [("queen".to_string(), -900.0)]);
}

#[test]
fn datasets_without_boards_say_so() {
    let data = dataset(FeatureKind::Material, &[(QUEEN_UP, 0, 0.0), (LEVEL, 1, 1.0)]);
    let found = find(&data);
    assert_eq!(found.shown.len(), 2);
    assert!(found.shown.iter().all(|one| one.fen.is_none()));
    assert!(found.note.contains("no boards") && found.note.contains("# and the FEN"), "{}", found.note);
    assert!(found.shared.iter().all(|shared| shared.kind != "material"));
}
