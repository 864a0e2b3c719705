//! The search from outside: mates, draws, small tables.

use crate::common::prelude::*;
use gputexel::engine::{Chosen, Iteration, Limits};
use rand::prelude::*;
use shakmaty::{Move, Setup};

fn evaluation() -> TableEvaluation {
    let set = FeatureSet::new(FeatureKind::Pst, PhaseSettings::default());
    let mut theta = Prior::default().theta(&set).unwrap();
    for square in Square::ALL {
        let (file, rank) = (i32::from(square.file()), i32::from(square.rank()));
        let center = f64::from(7 - (2 * file - 7).abs().max((2 * rank - 7).abs()));
        for role in 0..6 {
            let (mg, eg) = match role {
                0 => (f64::from(3 * rank) + center, f64::from(12 * rank)),
                5 => (-6.0 * center, 6.0 * center),
                _ => (4.0 * center, 3.0 * center),
            };
            theta[64 * role + usize::from(square)] += mg;
            theta[384 + 64 * role + usize::from(square)] += eg;
        }
    }
    TableEvaluation::try_new(&set, &theta).unwrap()
}

fn position(fen: &str) -> Chess {
    fen.parse::<Fen>().unwrap().into_position(CastlingMode::Standard).unwrap()
}

fn never() -> AtomicBool {
    AtomicBool::new(false)
}

fn key(position: &Chess) -> Zobrist64 {
    position.zobrist_hash(EnPassantMode::Legal)
}

fn after(position: &Chess, m: Move) -> Chess {
    let mut next = position.clone();
    next.play_unchecked(m);
    next
}

/// Returns true if the side to move can force mate in at most `moves` moves.
fn mates_within(position: &Chess, moves: u32) -> bool {
    moves > 0
        && position.legal_moves().into_iter().any(|m| {
            let next = after(position, m);
            let answers = next.legal_moves();
            if answers.is_empty() {
                return next.is_check();
            }
            // The last move must mate.
            moves > 1 && answers.into_iter().all(|answer| mates_within(&after(&next, answer), moves - 1))
        })
}

/// Returns random positions, White to move, with these pieces in addition to the kings.
fn random_position(random: &mut impl Rng, pieces: &[(Color, Role)]) -> Option<Chess> {
    let mut board = Board::empty();
    let mut squares: Vec<Square> = Square::ALL.to_vec();
    squares.shuffle(random);
    let kings = [(Color::White, Role::King), (Color::Black, Role::King)];
    for &(color, role) in kings.iter().chain(pieces) {
        board.set_piece_at(squares.pop()?, role.of(color));
    }
    let setup = Setup { board, castling_rights: shakmaty::Bitboard::EMPTY, ..Setup::initial() };
    setup.position(CastlingMode::Standard).ok()
}

/// Deepens until a mate in this many moves is found, for a few seconds at most.
fn until_mate(engine: &mut Engine, position: &Chess, moves: i32) -> Chosen {
    let stop = never();
    let limits = Limits { nodes: Some(2_000_000), ..Limits::default() };
    let mut report = |iteration: &Iteration<'_>| {
        stop.store(iteration.score == Score::Mate(moves), Ordering::Relaxed);
    };
    engine.search(position, &[], &limits, &stop, &mut report).unwrap()
}

/// Mates proved by a solver without pruning are found in exactly as many moves.
#[test]
fn mates_are_found() {
    use Color::{Black, White};
    use Role::{Bishop, Knight, Pawn, Queen, Rook};
    let mut random = Xoshiro256PlusPlus::seed_from_u64(2026);
    let mut engine = Engine::try_new(evaluation(), 4).unwrap();
    let light: &[(Color, Role)] = &[(White, Rook), (White, Rook), (Black, Knight)];
    let queen: &[(Color, Role)] = &[(White, Queen), (White, Knight), (Black, Bishop), (Black, Pawn)];
    let full: &[(Color, Role)] = &[
        (White, Queen),
        (White, Rook),
        (White, Bishop),
        (White, Knight),
        (White, Pawn),
        (White, Pawn),
        (Black, Rook),
        (Black, Bishop),
        (Black, Knight),
        (Black, Pawn),
        (Black, Pawn),
        (Black, Pawn),
    ];
    for (pieces, moves, wanted) in [(light, 2, 8), (queen, 2, 8), (full, 2, 8), (light, 3, 6), (queen, 3, 6)]
    {
        let mut found = 0;
        for _ in 0..20_000 {
            if found == wanted {
                break;
            }
            let Some(position) = random_position(&mut random, pieces) else { continue };
            if mates_within(&position, moves - 1) || !mates_within(&position, moves) {
                continue;
            }
            found += 1;
            engine.new_game();
            let chosen = until_mate(&mut engine, &position, moves as i32);
            let fen = Fen::from_position(&position, EnPassantMode::Legal);
            assert_eq!(chosen.score, Score::Mate(moves as i32), "{fen}");
            // The move keeps the mate.
            let next = after(&position, chosen.best);
            let kept = next.legal_moves().into_iter().all(|m| mates_within(&after(&next, m), moves - 1));
            assert!(kept, "{} in {fen}", chosen.best);
            // The other side sees it coming.
            let chosen = until_mate(&mut engine, &next, 1 - moves as i32);
            assert_eq!(chosen.score, Score::Mate(1 - moves as i32), "{fen}");
        }
        assert_eq!(found, wanted, "{pieces:?}");
    }
}

/// Returns the score of one move, with nothing else searched.
fn score_of(engine: &mut Engine, position: &Chess, earlier: &[Zobrist64], text: &str) -> Score {
    engine.new_game();
    let m = text.parse::<UciMove>().unwrap().to_move(position).unwrap();
    let limits = Limits { depth: Some(6), ..Limits::default() };
    engine.search_among(position, earlier, &[m], &limits, &never(), &mut |_| {}).unwrap().score
}

#[test]
fn draws_are_seen() {
    let mut engine = Engine::try_new(evaluation(), 1).unwrap();
    let draw = Score::Centipawns(0);
    let wins = |score: Score| matches!(score, Score::Centipawns(300..) | Score::Mate(1..));
    // The 50th move without progress, unless it mates.
    let rook = position("8/8/8/4k3/8/8/8/R3K3 w - - 99 80");
    assert_eq!(score_of(&mut engine, &rook, &[], "a1a4"), draw);
    assert!(wins(score_of(&mut engine, &position("8/8/8/4k3/8/8/8/R3K3 w - - 60 80"), &[], "a1a4")));
    let mate = position("7k/8/6K1/8/8/8/8/R7 w - - 99 80");
    assert_eq!(score_of(&mut engine, &mate, &[], "a1a8"), Score::Mate(1));
    // Taking the pawn leaves insufficient mating material.
    let bishop = position("8/8/8/3k4/8/8/4p3/4K1B1 w - - 0 1");
    assert_eq!(score_of(&mut engine, &bishop, &[], "e1e2"), draw);
    // The third occurrence; the second does not count yet.
    let rook = position("8/8/8/4k3/8/8/8/R3K3 w - - 30 80");
    let child = key(&after(&rook, "a1a4".parse::<UciMove>().unwrap().to_move(&rook).unwrap()));
    let game = |seen: &[usize]| -> Vec<Zobrist64> {
        (0..11).map(|i| if seen.contains(&i) { child } else { Zobrist64(i as u64) }).collect()
    };
    assert!(wins(score_of(&mut engine, &rook, &game(&[]), "a1a4")));
    assert!(wins(score_of(&mut engine, &rook, &game(&[4]), "a1a4")));
    assert_eq!(score_of(&mut engine, &rook, &game(&[4, 8]), "a1a4"), draw);
    // A capture in between makes it another position.
    let fresh = position("8/8/8/4k3/8/8/8/R3K3 w - - 3 80");
    assert!(wins(score_of(&mut engine, &fresh, &game(&[4, 8]), "a1a4")));
    // Perpetual check saves the losing side.
    let perpetual = position("6k1/5p1p/7Q/8/8/n1n5/rr3PPP/7K w - - 0 1");
    engine.new_game();
    let limits = Limits { depth: Some(8), ..Limits::default() };
    let chosen = engine.search(&perpetual, &[], &limits, &never(), &mut |_| {}).unwrap();
    assert_eq!(chosen.score, draw, "{:?}", chosen.line);
}

#[test]
fn small_tables_do_no_harm() {
    let mut engine = Engine::try_new(evaluation(), 1).unwrap();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(4);
    let limits = Limits { nodes: Some(30_000), ..Limits::default() };
    let mut position = Chess::default();
    for _ in 0..60 {
        if position.is_game_over() {
            break;
        }
        let chosen = engine.search(&position, &[], &limits, &never(), &mut |_| {}).unwrap();
        let mut line = position.clone();
        for &m in &chosen.line {
            assert!(line.is_legal(m), "{m:?} in {:?}", chosen.line);
            line.play_unchecked(m);
        }
        assert_eq!(chosen.line[0], chosen.best);
        position.play_unchecked(chosen.best);
        if let Some(&m) = position.legal_moves().choose(&mut random) {
            position.play_unchecked(m);
        }
    }
}
