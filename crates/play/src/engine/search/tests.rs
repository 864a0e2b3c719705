//! Compares the parts of the search with plain ones: legality, keys, exchanges, minimax.

use std::sync::atomic::AtomicBool;

use rand::prelude::*;
use rand_xoshiro::Xoshiro256PlusPlus;
use shakmaty::{CastlingMode, Chess, EnPassantMode, Move, Position, Role, Square};

use super::generation::Legality;
use super::table::Packed;
use super::*;
use gputexel_chess::fen::{legal_position, parse_fen};
use gputexel_model::named_parameters;

const STARTS: [&str; 7] = [
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
    "r3k2r/pPppppPp/8/PpPpPpPp/pPpPpPpP/8/PpPPPPpP/R3K2R w KQkq - 0 1",
    "1rk3r1/8/8/2pPpP2/2PpPp2/8/8/1RK3R1 w GBgb - 0 1",
    "4k3/4p3/8/1b1q1r2/8/2NBR3/PPPKPPPP/3Q4 w - - 0 1",
    "bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf - 2 9",
];

fn position(fen: &str) -> Chess {
    let (setup, _) = parse_fen(fen.as_bytes()).unwrap();
    legal_position(setup, CastlingMode::Chess960).unwrap()
}

fn random_games(games: usize, mut visit: impl FnMut(&Chess, Move, &Chess)) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(11);
    for i in 0..games {
        let mut position = position(STARTS[i % STARTS.len()]);
        for _ in 0..120 {
            let Some(&m) = position.legal_moves().choose(&mut random) else { break };
            let mut next = position.clone();
            next.play_unchecked(m);
            visit(&position, m, &next);
            position = next;
        }
    }
}

fn material() -> TableEvaluation {
    let (set, theta) = named_parameters("material").unwrap();
    TableEvaluation::try_new(&set, &theta).unwrap()
}

/// Returns an evaluation in which hardly any two positions are equal.
fn uneven() -> TableEvaluation {
    let set = gputexel_model::FeatureSet::new(gputexel_model::FeatureKind::Pst, Default::default());
    let mut theta = gputexel_model::Prior::default().theta(&set).unwrap();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
    theta.iter_mut().for_each(|value| *value += random.random_range(-40.0..40.0));
    TableEvaluation::try_new(&set, &theta).unwrap()
}

#[test]
fn stages_make_up_the_legal_moves() {
    let (mut checks, mut pins, mut count) = (0, 0, 0);
    random_games(140, |position, _, _| {
        let legality = Legality::new(position);
        assert_eq!(legality.in_check(), position.is_check());
        let (mut captures, mut quiets) = (Vec::new(), Vec::new());
        legality.captures(position, &mut |m| captures.push(m));
        legality.quiets(position, &mut |m| quiets.push(m));
        assert!(captures.iter().all(|m| m.is_capture() || m.is_promotion()));
        assert!(!quiets.iter().any(|m| m.is_capture() || m.is_promotion()));
        let text = |moves: &[Move]| {
            let mut all: Vec<String> = moves.iter().map(|m| format!("{m:?}")).collect();
            all.sort();
            all
        };
        let legal = position.legal_moves();
        assert_eq!(text(&[captures, quiets].concat()), text(&legal), "{position:?}");
        checks += usize::from(legality.in_check());
        pins += usize::from(legality.in_check() && legal.len() < 4);
        count += 1;
    });
    assert!(count > 5000 && checks > 200 && pins > 50, "{count} {checks} {pins}");
}

/// Whatever a table contains, only legal moves are returned.
#[test]
fn moves_from_elsewhere_are_checked() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(2);
    let (mut legal_ones, mut castles, mut passant) = (0, 0, 0);
    random_games(70, |position, played, _| {
        let legality = Legality::new(position);
        let legal = position.legal_moves();
        for &m in &legal {
            assert_eq!(Packed::new(Some(m)).unpack(position), Some(m));
            assert!(legality.is_legal(position, m), "{m:?} {position:?}");
        }
        castles += usize::from(played.is_castle());
        passant += legal.iter().filter(|m| m.is_en_passant()).count();
        for _ in 0..40 {
            let role = *Role::ALL.choose(&mut random).unwrap();
            let from = *Square::ALL.choose(&mut random).unwrap();
            let to = *Square::ALL.choose(&mut random).unwrap();
            let promotion = if random.random_range(0..8) == 0 { Role::ALL.choose(&mut random) } else { None };
            let m = match random.random_range(0..6) {
                0 => Move::EnPassant { from, to },
                1 => Move::Castle { king: from, rook: to },
                _ => Move::Normal {
                    role: position.board().role_at(from).unwrap_or(role),
                    from,
                    capture: position.board().role_at(to),
                    to,
                    promotion: promotion.copied(),
                },
            };
            assert_eq!(legality.is_legal(position, m), legal.contains(&m), "{m:?} {position:?}");
            if let Some(m) = Packed::new(Some(m)).unpack(position) {
                assert_eq!(legality.is_legal(position, m), legal.contains(&m), "{m:?} {position:?}");
                legal_ones += usize::from(legal.contains(&m));
            }
        }
    });
    assert!(legal_ones > 1000 && castles > 5 && passant > 5, "{legal_ones} {castles} {passant}");
}

#[test]
fn keys_follow_moves() {
    random_games(140, |before, m, after| {
        let wanted: Zobrist64 = after.zobrist_hash(EnPassantMode::Legal);
        assert_eq!(key::key_after(key::key(before), before, m, after), wanted, "{m:?} {before:?}");
        if let Ok(passed) = before.clone().swap_turn() {
            assert_eq!(key::key_after_null(key::key(before), before, &passed), key::key(&passed));
        }
    });
}

/// Plays exchanges out on the board: each side takes with its least valuable piece, or stops.
fn exchange(position: &Chess, m: Move) -> i32 {
    let gained = m.capture().map_or(0, exchange::value)
        + m.promotion().map_or(0, |role| exchange::value(role) - exchange::value(Role::Pawn));
    let mut next = position.clone();
    next.play_unchecked(m);
    let answer = next
        .legal_moves()
        .into_iter()
        .filter(|answer| answer.is_capture() && answer.to() == m.to() && !answer.is_promotion())
        .min_by_key(|answer| exchange::value(answer.role()));
    gained - answer.map_or(0, |answer| exchange(&next, answer).max(0))
}

#[test]
fn exchanges_are_those_on_the_board() {
    let mut compared = 0;
    random_games(70, |position, _, _| {
        // The estimate ignores pins and promotions in the middle of an exchange.
        let board = position.board();
        let free_of_pins = |position: &Chess| {
            shakmaty::Color::ALL.iter().all(|&color| {
                let king = board.king_of(color).unwrap();
                let lines = shakmaty::attacks::queen_attacks(king, shakmaty::Bitboard::EMPTY);
                (lines & board.by_color(!color) & board.sliders()).is_empty()
            }) && !position.is_check()
        };
        if !free_of_pins(position) {
            return;
        }
        for m in position.legal_moves() {
            if m.is_castle() || m.is_promotion() || shakmaty::Bitboard::BACKRANKS.contains(m.to()) {
                continue;
            }
            // A capture that gives check allows fewer replies than the estimate assumes.
            let mut next = position.clone();
            next.play_unchecked(m);
            if next.is_check() {
                continue;
            }
            let wanted = exchange(position, m);
            for threshold in [-400, -1, 0, 1, 100, 101, 330, 500] {
                let got = exchange::wins_at_least(position, m, threshold);
                assert_eq!(got, wanted >= threshold, "{m:?} {threshold} {wanted} {position:?}");
            }
            compared += 1;
        }
    });
    assert!(compared > 3000, "{compared}");
}

/// Minimax without any pruning, with the draws and the leaves of the search.
struct Minimax<'a> {
    evaluation: &'a TableEvaluation,
    keys: Vec<Zobrist64>,
}

impl Minimax<'_> {
    fn is_draw(&self, position: &Chess) -> bool {
        let key = key::key(position);
        position.halfmoves() >= 100 || position.is_insufficient_material() || self.keys.contains(&key)
    }

    fn best(&mut self, position: &Chess, moves: &[Move], depth: u32, ply: i32, mut best: i32) -> i32 {
        self.keys.push(key::key(position));
        for &m in moves {
            let mut next = position.clone();
            next.play_unchecked(m);
            best = best.max(-self.score(&next, depth, ply + 1));
        }
        self.keys.pop();
        best
    }

    fn score(&mut self, position: &Chess, depth: u32, ply: i32) -> i32 {
        let moves = position.legal_moves();
        let mated = ply - MATE_CP;
        if position.is_check() && moves.is_empty() && position.halfmoves() >= 100 {
            return mated;
        }
        if ply > 0 && self.is_draw(position) {
            return 0;
        }
        if depth > 0 {
            if moves.is_empty() {
                return if position.is_check() { mated } else { 0 };
            }
            return self.best(position, &moves, depth - 1, ply, -MATE_CP);
        }
        if position.is_check() {
            return self.best(position, &moves, 0, ply, mated);
        }
        let loud: Vec<Move> = moves
            .into_iter()
            .filter(|m| m.is_capture() || m.is_promotion())
            .filter(|m| m.promotion().is_none_or(|role| role == Role::Queen))
            .collect();
        let stand = self.evaluation.score_stm(&self.evaluation.state(position), position);
        self.best(position, &loud, 0, ply, stand)
    }
}

#[test]
fn without_pruning_the_search_is_minimax() {
    let evaluation = uneven();
    let mut engine = Engine::try_new(evaluation.clone(), 1).unwrap();
    engine.settings = Settings { selective: false, table_scores: false, extensions: false };
    let stop = AtomicBool::new(false);
    let positions = [
        ("r3k3/ppp2ppp/3b4/8/8/2N5/PPP2PPP/4K2R w Kq - 2 3", 2),
        ("8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1", 3),
        ("8/8/1p1k4/p1p1p3/P1P1P1p1/1P1K2P1/8/8 b - - 98 60", 4),
        ("6k1/5ppp/8/8/8/8/5PPP/R3R1K1 w - - 0 1", 3),
        ("8/P7/8/2k5/8/4K3/6p1/8 w - - 3 50", 3),
        ("3rk3/8/8/8/8/8/3P4/3RK3 b - - 97 80", 3),
    ];
    for (fen, deepest) in positions {
        let position = position(fen);
        for depth in 1..=deepest {
            let wanted = Minimax { evaluation: &evaluation, keys: Vec::new() }.score(&position, depth, 0);
            engine.new_game();
            let limits = Limits { depth: Some(depth), ..Limits::default() };
            let chosen = engine.search(&position, &[], &limits, &stop, &mut |_| {}).unwrap();
            assert_eq!(chosen.score, named(wanted), "{fen} at depth {depth}");
        }
    }
}

#[test]
fn mates_are_told_in_moves() {
    assert_eq!(named(MATE_CP - 1), Score::Mate(1));
    assert_eq!(named(MATE_CP - 3), Score::Mate(2));
    assert_eq!(named(2 - MATE_CP), Score::Mate(-1));
    assert_eq!(named(4 - MATE_CP), Score::Mate(-2));
    assert_eq!(named(-MATE_CP), Score::Mate(0));
    assert_eq!(named(-30_000), Score::Centipawns(-30_000));
}

#[test]
fn nodes_are_obeyed_exactly_and_searches_repeat() {
    let stop = AtomicBool::new(false);
    let mut engine = Engine::try_new(uneven(), 1).unwrap();
    let mut first = Vec::new();
    for round in 0..2 {
        engine.new_game();
        for (i, fen) in STARTS.iter().enumerate() {
            for nodes in [1, 2, 77, 1000, 5000] {
                let limits = Limits { nodes: Some(nodes), ..Limits::default() };
                let chosen = engine.search(&position(fen), &[], &limits, &stop, &mut |_| {}).unwrap();
                // In an almost locked position, the deepest iteration may come first.
                let deepest = chosen.depth == MAX_PLY as u32 - 1 && chosen.nodes < nodes;
                assert!(chosen.nodes == nodes || deepest, "{fen}: {chosen:?}");
                match round {
                    0 => first.push(chosen),
                    _ => assert_eq!(
                        chosen,
                        first[5 * i + [1, 2, 77, 1000, 5000].iter().position(|n| *n == nodes).unwrap()]
                    ),
                }
            }
        }
    }
}

#[test]
fn a_stop_before_the_start_still_gives_a_move() {
    let stop = AtomicBool::new(true);
    let mut engine = Engine::try_new(material(), 1).unwrap();
    for fen in STARTS {
        let position = position(fen);
        let chosen = engine.search(&position, &[], &Limits::default(), &stop, &mut |_| {}).unwrap();
        assert!(position.is_legal(chosen.best) && chosen.nodes < 3 * GRACE_NODES);
        assert!(chosen.depth >= 1, "{fen}");
    }
    for fen in ["7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", "7k/6Q1/6K1/8/8/8/8/8 b - - 0 1"] {
        assert_eq!(engine.search(&position(fen), &[], &Limits::default(), &stop, &mut |_| {}), None);
    }
}
