//! The quiescence search against a plain minimax without windows, cutoffs or incremental sums.

use crate::common::position;
use crate::common::prelude::*;
use gputexel::chess::evaluation::{Evaluation as _, MATE_CP};
use gputexel::chess::quiescence::{LineEnd, NodeLimit, Quiescence, Resolved};
use rand::prelude::*;
use shakmaty::Move;

struct Model {
    set: FeatureSet,
    theta: Vec<f64>,
}

impl Model {
    fn material() -> Self {
        let set = FeatureSet::new(FeatureKind::Material, PhaseSettings::default());
        let theta = Prior::Material([100.0, 300.0, 320.0, 500.0, 900.0]).theta(&set).unwrap();
        Self { set, theta }
    }

    /// Returns material with up to 150 centipawns either way on each square, different in the endgame.
    fn random_tables(seed: u64) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let set = FeatureSet::new(FeatureKind::Pst, PhaseSettings::default());
        let mut theta = Prior::Material([100.0, 300.0, 320.0, 500.0, 900.0]).theta(&set).unwrap();
        for value in &mut theta {
            *value += random.random_range(-150.0..150.0);
        }
        Self { set, theta }
    }

    fn evaluation(&self) -> TableEvaluation {
        TableEvaluation::try_new(&self.set, &self.theta).unwrap()
    }

    /// Returns the score from the view of the side to move, unrounded.
    fn score(&self, position: &Chess) -> f64 {
        let mut row = FeatureRow::default();
        self.set.compute(position.board(), position.turn(), &mut row);
        let phi = f64::from(row.phase) / f64::from(self.set.phase.max);
        let value = |id: &u16| {
            let feature = usize::from(*id);
            phi * self.theta[feature] + (1.0 - phi) * self.theta[self.set.features.len() + feature]
        };
        let coefficient = |i: usize| row.coefficients.get(i).map_or(1.0, |c| c.to_f64());
        let plus: f64 = row.plus.iter().enumerate().map(|(i, id)| coefficient(i) * value(id)).sum();
        let score = plus - row.minus.iter().map(value).sum::<f64>();
        if position.turn().is_white() { score } else { -score }
    }
}

/// The definition, implemented literally.
struct Plain<'a> {
    static_score: &'a dyn Fn(&Chess) -> i32,
    nodes: u64,
    limit: u64,
}

impl Plain<'_> {
    /// Returns score and line; `None` if there are too many nodes.
    fn score(&mut self, position: &Chess, plies: i32) -> Option<(i32, Vec<Move>)> {
        self.nodes += 1;
        if self.nodes > self.limit {
            return None;
        }
        let mut moves = position.legal_moves().to_vec();
        let mut best = None;
        if position.is_check() {
            if moves.is_empty() {
                return Some((plies - MATE_CP, vec![]));
            }
        } else {
            moves.retain(|m| m.is_capture() || m.is_promotion());
            best = Some(((self.static_score)(position), vec![]));
        }
        moves.sort_by_key(|&m| documented_order(m));
        for m in moves {
            let (score, line) = self.score(&position.clone().play(m).unwrap(), plies + 1)?;
            if best.as_ref().is_none_or(|(best, _)| -score > *best) {
                best = Some((-score, [vec![m], line].concat()));
            }
        }
        best
    }

    /// Returns the best score over all legal moves.
    fn depth1(&mut self, position: &Chess) -> Option<i32> {
        let mut best = if position.is_check() { -MATE_CP } else { 0 };
        for (i, m) in position.legal_moves().into_iter().enumerate() {
            let score = -self.score(&position.clone().play(m).unwrap(), 1)?.0;
            best = if i == 0 { score } else { best.max(score) };
        }
        Some(best)
    }
}

fn documented_order(m: Move) -> impl Ord {
    let pawns = |role: Role| match role {
        Role::Pawn => 1,
        Role::Knight | Role::Bishop => 3,
        Role::Rook => 5,
        Role::Queen => 9,
        Role::King => unreachable!(),
    };
    let gain = m.capture().map_or(0, pawns) + m.promotion().map_or(0, |new| pawns(new) - 1);
    let new = m.promotion().map(std::cmp::Reverse);
    (-gain, m.role(), m.from(), m.to(), new)
}

/// Checks that the line leads to the leaf.
fn check_line(evaluation: &TableEvaluation, model: &Model, root: &Chess, resolved: &Resolved) {
    let mut end = root.clone();
    for &m in &resolved.moves {
        assert!(end.is_legal(m), "{m:?}");
        end.play_unchecked(m);
    }
    assert_eq!(end, resolved.position);
    let sign = if end.turn() == root.turn() { 1 } else { -1 };
    match resolved.end {
        LineEnd::Quiet => {
            assert!(!end.is_check());
            assert_eq!(sign * evaluation.score_stm(&evaluation.state(&end), &end), resolved.score_stm);
            // Half from rounding, the rest from fixed point.
            let real = f64::from(sign) * model.score(&end);
            assert!((f64::from(resolved.score_stm) - real).abs() < 0.57, "{real} {resolved:?}");
        }
        LineEnd::Mate => {
            assert!(end.is_checkmate());
            assert_eq!(resolved.score_stm, sign * (resolved.moves.len() as i32 - MATE_CP));
        }
        LineEnd::Stalemate => {
            assert!(end.is_stalemate() && resolved.moves.is_empty() && resolved.score_stm == 0);
        }
    }
}

#[derive(Default, Debug)]
struct Tally {
    compared: usize,
    too_large: usize,
    moved: usize,
    mates: usize,
    in_check: usize,
    quiet: usize,
}

/// Returns the maximum number of nodes of the plain search for a position: few trees are large, but those would take
/// most of the time.
fn limit(number: usize, most: u64) -> u64 {
    if number.is_multiple_of(10) { most } else { most / 10 }
}

/// Compares until there are `wanted` positions small enough for the plain search.
fn compare(positions: &[Chess], model: &Model, exact: bool, wanted: usize) -> Tally {
    let evaluation = model.evaluation();
    let from_features = |p: &Chess| model.score(p).round() as i32;
    let from_scratch = |p: &Chess| evaluation.score_stm(&evaluation.state(p), p);
    let static_score: &dyn Fn(&Chess) -> i32 = if exact { &from_features } else { &from_scratch };
    let mut search = Quiescence::new(&evaluation);
    let mut tally = Tally::default();
    for (n, position) in positions.iter().enumerate() {
        if tally.compared == wanted {
            break;
        }
        let mut plain = Plain { static_score, nodes: 0, limit: limit(n, 10_000) };
        let Some((score, line)) = plain.score(position, 0) else {
            tally.too_large += 1;
            continue;
        };
        assert_eq!(search.score_stm(position), Ok(score), "{position:?}");
        let resolved = search.resolve(position).unwrap();
        assert_eq!((resolved.score_stm, &resolved.moves), (score, &line), "{position:?}");
        assert!(search.nodes() <= plain.nodes);
        check_line(&evaluation, model, position, &resolved);
        let away = (score - static_score(position)).abs();
        for margin in [0, 1, 50, away - 1, away] {
            let wanted = away <= margin.max(0);
            assert_eq!(search.is_quiet(position, margin), Ok(wanted), "{margin} {away} {position:?}");
        }
        tally.compared += 1;
        tally.moved += usize::from(!line.is_empty());
        tally.mates += usize::from(resolved.end == LineEnd::Mate);
        tally.in_check += usize::from(position.is_check());
        tally.quiet += usize::from(away == 0);
    }
    println!("{tally:?}");
    tally
}

fn compare_depth1(positions: &[Chess], model: &Model, wanted: usize) -> Tally {
    let evaluation = model.evaluation();
    let static_score = |p: &Chess| evaluation.score_stm(&evaluation.state(p), p);
    let mut search = Quiescence::new(&evaluation);
    let mut tally = Tally::default();
    for (n, position) in positions.iter().enumerate() {
        if tally.compared == wanted {
            break;
        }
        let mut plain = Plain { static_score: &static_score, nodes: 0, limit: limit(n, 25_000) };
        let Some(score) = plain.depth1(position) else {
            tally.too_large += 1;
            continue;
        };
        let resolved = search.resolve_depth1(position).unwrap();
        assert_eq!(resolved.score_stm, score, "{position:?}");
        assert_eq!(resolved.moves.is_empty(), position.legal_moves().is_empty());
        check_line(&evaluation, model, position, &resolved);
        tally.compared += 1;
        tally.moved += usize::from(resolved.moves.len() > 1);
        tally.mates += usize::from(resolved.end == LineEnd::Mate);
        tally.in_check += usize::from(position.is_check());
    }
    println!("depth 1: {tally:?}");
    tally
}

/// Returns positions of random games; every third move is a capture or promotion if there is one.
fn random_positions(games: u64) -> Vec<Chess> {
    let starts = [
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
        "r3k2r/pPppppPp/8/PpPpPpPp/pPpPpPpP/8/PpPPPPpP/R3K2R w KQkq - 0 1",
        "1rk3r1/8/8/2pPpP2/2PpPp2/8/8/1RK3R1 w GBgb - 0 1",
        "8/PPPPPPPP/8/4k3/8/4K3/pppppppp/8 w - - 0 1",
        "q2rk2b/8/3n4/8/8/4N3/8/B3KR1Q w - - 0 1",
    ];
    let mut random = Xoshiro256PlusPlus::seed_from_u64(11);
    let mut positions = Vec::new();
    for game in 0..games {
        let mut position = position(starts[game as usize % starts.len()]);
        for _ in 0..60 {
            let mut moves = position.legal_moves();
            if random.random_ratio(1, 3) && moves.iter().any(|m| m.is_capture() || m.is_promotion()) {
                moves.retain(|m| m.is_capture() || m.is_promotion());
            }
            positions.push(position.clone());
            let Some(&m) = moves.choose(&mut random) else { break };
            position.play_unchecked(m);
        }
    }
    positions.shuffle(&mut random);
    positions
}

#[test]
#[ignore = "full"]
fn random_positions_match_a_plain_search() {
    let positions = random_positions(80);
    for (model, exact) in [(Model::material(), true), (Model::random_tables(3), false)] {
        let tally = compare(&positions, &model, exact, 2000);
        assert!(tally.compared >= 1000, "{tally:?}");
        // Otherwise the test shows little.
        assert!(tally.moved > 400 && tally.mates > 10 && tally.in_check > 100, "{tally:?}");
        assert!(tally.quiet > 100, "{tally:?}");
        let tally = compare_depth1(&positions, &model, 300);
        assert!(tally.compared == 300 && tally.moved > 40 && tally.in_check > 20, "{tally:?}");
        assert!(tally.mates > 3, "{tally:?}");
    }
}

#[test]
fn known_lines_are_found() {
    let model = Model::material();
    let evaluation = model.evaluation();
    let mut search = Quiescence::new(&evaluation);
    for (fen, score, line) in [
        // A protected pawn is not taken, a hanging one is.
        ("4k3/2p5/3p4/8/8/8/8/3QK3 w - - 0 1", 700, ""),
        ("4k3/8/3p4/8/8/8/8/3QK3 w - - 0 1", 900, "d1d6"),
        // A new queen would be taken, a new knight forks.
        ("8/1kP5/8/8/8/8/8/7K w - - 0 1", 100, ""),
        ("8/k1P5/3q4/8/8/8/8/7K w - - 0 1", 300, "c7c8n a7a6 c8d6"),
        // En passant.
        ("4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 1", 100, "e5d6"),
        // The rook is pinned: it may take the rook in front of it, but not the pawn next to it.
        ("4k3/4r3/8/8/4R2p/8/8/4K3 w - - 0 1", -100, ""),
        ("6k1/4r3/8/8/4R2p/8/8/4K3 w - - 0 1", 400, "e4e7"),
    ] {
        let position = position(fen);
        let resolved = search.resolve(&position).unwrap();
        let moves: Vec<String> =
            resolved.moves.iter().map(|m| m.to_uci(CastlingMode::Standard).to_string()).collect();
        assert_eq!((resolved.score_stm, moves.join(" ").as_str()), (score, line), "{fen}");
        assert_eq!(search.is_quiet(&position, 0), Ok(line.is_empty()), "{fen}");
    }
    let mated = position("4R1k1/5ppp/8/8/8/8/8/4K3 b - - 0 1");
    for resolved in [search.resolve(&mated).unwrap(), search.resolve_depth1(&mated).unwrap()] {
        assert_eq!((resolved.score_stm, resolved.end, resolved.moves.len()), (-MATE_CP, LineEnd::Mate, 0));
    }
    assert_eq!(search.is_quiet(&mated, 1000), Ok(false));
    let mate = position("6k1/5ppp/8/8/8/8/8/4RK2 w - - 0 1");
    assert_eq!(search.resolve(&mate).unwrap().score_stm, 200);
    let resolved = search.resolve_depth1(&mate).unwrap();
    assert_eq!((resolved.score_stm, resolved.end, resolved.moves.len()), (MATE_CP - 1, LineEnd::Mate, 1));
    let stalemate = position("7k/8/6Q1/8/8/8/8/K7 b - - 0 1");
    let resolved = search.resolve_depth1(&stalemate).unwrap();
    assert_eq!((resolved.score_stm, resolved.end), (0, LineEnd::Stalemate));
    assert_eq!(search.score_stm(&stalemate), Ok(-900));
}

#[test]
fn gives_up_search_explosions() {
    let model = Model::random_tables(5);
    let evaluation = model.evaluation();
    let mut search = Quiescence::new(&evaluation).with_node_limit(50_000);
    let queens = position("kqq1q1q1/qq1q1q2/8/8/8/8/2Q1Q1QQ/1Q1Q1QQK w - - 0 1");
    assert_eq!(search.score_stm(&queens), Err(NodeLimit));
    assert_eq!(search.resolve(&queens).unwrap_err(), NodeLimit);
    assert_eq!(search.resolve_depth1(&queens).unwrap_err(), NodeLimit);
    assert_eq!(search.nodes(), 50_001);
    // Later searches are not affected.
    let position = position("4k3/8/3p4/8/8/8/8/3QK3 w - - 0 1");
    let fresh = Quiescence::new(&evaluation).score_stm(&position);
    assert_eq!(search.score_stm(&position), fresh);
    // A limit that is just reached is sufficient.
    let nodes = search.nodes();
    assert!(nodes > 1 && Quiescence::new(&evaluation).with_node_limit(nodes).score_stm(&position).is_ok());
    let error = Quiescence::new(&evaluation).with_node_limit(nodes - 1).score_stm(&position);
    assert_eq!(error, Err(NodeLimit));
}
