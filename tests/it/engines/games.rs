//! Single games: every kind of ending, forced by scripted players.

use crate::common::players::{Scripted, Step, game, opening, rules, scored, script, start, try_game};
use crate::common::prelude::*;
use gputexel::matches::{DrawRule, play_game, play_games};
use shakmaty::Move;

const STANDARD: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";

type Facts = (&'static str, End, usize);

fn facts(record: &GameRecord) -> Facts {
    (record.outcome.as_str(), record.end, record.plies())
}

fn ends(fen: &str, moves: &str, adjudication: Adjudication) -> Facts {
    facts(&game(&opening(fen), script(moves), &Rules { adjudication, ..rules("nodes=100") }))
}

const NONE: Adjudication = Adjudication { draw: None, win: None, max_plies: None };

#[test]
fn the_board_ends_games() {
    assert_eq!(ends(STANDARD, "f3 e5 g4 Qh4", NONE), ("0-1", End::Checkmate, 4));
    assert_eq!(ends("7k/8/8/6Q1/8/8/8/K7 w - - 0 1", "Qg6", NONE), ("1/2-1/2", End::Stalemate, 1));
    let dead = "7k/8/8/8/8/8/1r6/K7 w - - 0 1";
    assert_eq!(ends(dead, "Kxb2", NONE), ("1/2-1/2", End::InsufficientMaterial, 1));
    // A knight and a bishop can mate with the opponent's help: not a dead position.
    let long = Adjudication { max_plies: Some(2), ..NONE };
    let minors = "k7/8/8/8/4n3/8/1p6/K1B5 w - - 0 1";
    assert_eq!(ends(minors, "Bxb2 Kb7", long), ("1/2-1/2", End::TooLong, 2));
    // A position that is over ends at once.
    assert_eq!(ends("R5k1/5ppp/8/8/8/8/8/4K3 b - - 1 1", "", NONE), ("1-0", End::Checkmate, 0));
}

#[test]
fn the_third_time_is_a_draw() {
    let there_and_back = "Nf3 Nf6 Ng1 Ng8 Nf3 Nf6 Ng1 Ng8";
    assert_eq!(ends(STANDARD, there_and_back, NONE), ("1/2-1/2", End::Repetition, 8));
    // Castling rights distinguish positions: those after 2...Ke7 are the first to occur three times.
    let kings = "e4 e5 Ke2 Ke7 Ke1 Ke8 Ke2 Ke7 Ke1 Ke8 Ke2 Ke7";
    assert_eq!(ends(STANDARD, kings, NONE), ("1/2-1/2", End::Repetition, 12));
    // Moves of the opening count, too.
    let mut begun = start();
    let mut position = Chess::default();
    for san in ["Nf3", "Nf6", "Ng1", "Ng8"] {
        let m = san.parse::<shakmaty::san::San>().unwrap().to_move(&position).unwrap();
        position.play_unchecked(m);
        begun.moves.push(m);
    }
    let record = game(&begun, script(there_and_back), &rules("nodes=100"));
    assert_eq!((facts(&record), record.moves.len()), (("1/2-1/2", End::Repetition, 8), 4));
}

#[test]
fn fifty_moves_are_a_draw_unless_the_last_one_mates() {
    let fen = "6k1/5ppp/8/8/8/8/8/R3K3 w - - 98 80";
    assert_eq!(ends(fen, "Kf2 Kf8", NONE), ("1/2-1/2", End::FiftyMoves, 2));
    assert_eq!(ends(&fen.replace("98", "99"), "Ra8", NONE), ("1-0", End::Checkmate, 1));
    assert_eq!(ends(&fen.replace("98", "99"), "Ra7", NONE), ("1/2-1/2", End::FiftyMoves, 1));
    // A capture or pawn move restarts the count.
    let long = Adjudication { max_plies: Some(3), ..NONE };
    assert_eq!(ends(&fen.replace("98", "99"), "Kf2", long).1, End::FiftyMoves);
    assert_eq!(ends(fen, "Kf2 h6 Kf1", long), ("1/2-1/2", End::TooLong, 3));
}

#[test]
fn flags_fall() {
    let slow = |ms| vec![Step::Wait("Kb1".into(), Duration::from_millis(ms))];
    // Even though the opponent has a bare king, it is a loss.
    let bare = opening("7k/8/8/8/8/8/8/KQ6 w - - 0 1");
    let with_queen = vec![Step::Wait("Qb2".into(), Duration::from_millis(120))];
    let record = game(&bare, with_queen, &rules("time=0.06"));
    assert_eq!(facts(&record), ("0-1", End::TimeForfeit, 0));
    assert!(record.failure.unwrap().ends_with("of 0.060 s"));
    // A mate after the flag has fallen does not count.
    let mate = opening("6k1/5ppp/8/8/8/8/8/R3K3 w - - 0 1");
    let late = vec![Step::Wait("Ra8".into(), Duration::from_millis(120))];
    assert_eq!(facts(&game(&mate, late.clone(), &rules("time=0.06"))), ("0-1", End::TimeForfeit, 0));
    assert_eq!(facts(&game(&mate, late.clone(), &rules("move-time=60"))), ("0-1", End::TimeForfeit, 0));
    // A margin tolerates delays; limits without time have no flag.
    let margin = Rules { time_margin: Duration::from_secs(5), ..rules("time=0.06") };
    assert_eq!(facts(&game(&mate, late.clone(), &margin)), ("1-0", End::Checkmate, 1));
    assert_eq!(facts(&game(&mate, late, &rules("depth=1"))), ("1-0", End::Checkmate, 1));
    // Every move has its increment, including the first.
    let king = opening("7k/7p/8/8/8/8/8/K7 w - - 0 1");
    let mut steps = slow(50);
    steps.extend(script("Kg8"));
    steps.push(Step::Wait("Ka1".into(), Duration::from_millis(100)));
    let long = Adjudication { max_plies: Some(3), ..NONE };
    let with = |time_control| {
        facts(&game(&king, steps.clone(), &Rules { adjudication: long, ..rules(time_control) }))
    };
    assert_eq!(with("time=0.1"), ("0-1", End::TimeForfeit, 2));
    assert_eq!(with("time=0.1+10"), ("1/2-1/2", End::TooLong, 3));
}

#[test]
fn engines_receive_their_time() {
    let mut rules = Rules { time_margin: Duration::from_secs(1), ..rules("time=2/10+1") };
    rules.time_controls[1] = "nodes=7".parse().unwrap();
    let steps = script("f3 e5 g4 Qh4");
    let (mut white, mut black) = (Scripted::new(steps.clone()), Scripted::new(steps));
    play_game(&mut white, &mut black, &start(), &rules, rules.time_controls, &StopFlag::new()).unwrap();
    let clock = |i: usize| white.asked[i].0.clock.unwrap();
    assert_eq!((clock(0).remaining, clock(0).increment), (Duration::from_secs(11), Duration::from_secs(1)));
    assert_eq!([clock(0).moves_to_go, clock(1).moves_to_go], [Some(2), Some(1)]);
    assert!(
        clock(1).remaining > Duration::from_millis(11_500) && clock(1).remaining < Duration::from_secs(12)
    );
    assert!(white.asked[0].1 > Duration::from_secs(12) && white.asked[0].1 < Duration::from_secs(20));
    assert_eq!((black.asked[0].0.nodes, black.asked[0].0.clock), (Some(7), None));
    assert_eq!(black.asked[0].1, Duration::from_secs(60));
}

#[test]
fn engines_that_fail_lose() {
    let foreign =
        Move::Normal { role: Role::Pawn, from: Square::E4, to: Square::E5, capture: None, promotion: None };
    for (step, end, says) in [
        (Step::Foreign(foreign), End::IllegalMove, "illegal move 'e4e5'"),
        (Step::Fail(Failure::IllegalMove("e2e5".into())), End::IllegalMove, "illegal move 'e2e5'"),
        (Step::Fail(Failure::NoMove("(none)".into())), End::NoMove, "no move: '(none)'"),
        (Step::Fail(Failure::Died("signal 11".into())), End::Died, "died (signal 11)"),
        (Step::Fail(Failure::Hung("answer", Duration::from_secs(60))), End::Hung, "no answer within 60.0 s"),
    ] {
        for plies in [0, 1] {
            let mut steps = script("e4 e5");
            steps[plies] = step.clone();
            let record = game(&start(), steps, &rules("nodes=1"));
            let winner = if plies == 0 { "0-1" } else { "1-0" };
            assert_eq!((facts(&record), record.failure.as_deref()), ((winner, end, plies), Some(says)));
        }
    }
    let mut broken = Scripted::new(Vec::new());
    broken.not_ready = Some(Failure::NotStarted("no such file".into()));
    broken.name = "broken".into();
    let unplayed = play_game(
        &mut Scripted::new(Vec::new()),
        &mut broken,
        &start(),
        &rules("nodes=1"),
        rules("nodes=1").time_controls,
        &StopFlag::new(),
    );
    assert_eq!(unplayed.unwrap_err().to_string(), "broken: cannot be started: no such file");
}

#[test]
fn scores_end_games() {
    let moves = "Nf3 Nf6 Nc3 Nc6 Ne4 Ne5 Ng3 Ng6 Nh4 Nh5";
    let adjudicated = |adjudication, scores: &[i32]| {
        facts(&game(&start(), scored(moves, scores), &Rules { adjudication, ..rules("nodes=1") }))
    };
    let draw = |after_move| Adjudication {
        draw: Some(DrawRule { after_move, plies: 4, score_cp: 20 }),
        max_plies: Some(10),
        ..NONE
    };
    assert_eq!(adjudicated(draw(0), &[20, -20]), ("1/2-1/2", End::AdjudicatedDraw, 4));
    assert_eq!(adjudicated(draw(3), &[20, -20]), ("1/2-1/2", End::AdjudicatedDraw, 6));
    assert_eq!(adjudicated(draw(0), &[0, 0, 0, 21]), ("1/2-1/2", End::TooLong, 10));
    let win = Adjudication { win: Some(WinRule { score_cp: 500, plies: 4 }), max_plies: Some(10), ..NONE };
    assert_eq!(adjudicated(win, &[500, -500]), ("1-0", End::AdjudicatedWin, 4));
    assert_eq!(adjudicated(win, &[-500, 500]), ("0-1", End::AdjudicatedWin, 4));
    // Both claim to win, or one of them disagrees.
    assert_eq!(adjudicated(win, &[900, 900]), ("1/2-1/2", End::TooLong, 10));
    assert_eq!(adjudicated(win, &[900, -499]), ("1/2-1/2", End::TooLong, 10));
    // Mate on the board comes before any adjudication.
    let steps: Vec<Step> = "f3 e5 g4 Qh4"
        .split(' ')
        .zip([-500, 500, -500, 500])
        .map(|(san, cp)| Step::Play(san.into(), Some(Score::Centipawns(cp))))
        .collect();
    let record = game(&start(), steps, &Rules { adjudication: win, ..rules("nodes=1") });
    assert_eq!(facts(&record), ("0-1", End::Checkmate, 4));
}

#[test]
fn pairs_swap_colors_and_limits() {
    let mut rules = rules("nodes=11");
    rules.time_controls[1] = TimeControl::Depth(3);
    let steps = script("f3 e5 g4 Qh4");
    let (mut a, mut b) = (Scripted::new(steps.clone()), Scripted::new(steps));
    let pair: [_; 2] = play_games(&mut a, &mut b, &start(), &rules, &StopFlag::new()).unwrap();
    assert_eq!(pair.iter().map(|game| game.half_points(Color::White)).collect::<Vec<_>>(), [0, 0]);
    assert!(a.asked.len() == 4 && a.asked.iter().all(|(limits, _)| limits.nodes == Some(11)));
    assert!(b.asked.len() == 4 && b.asked.iter().all(|(limits, _)| limits.depth == Some(3)));
    // A wins both games: it mates as White, and as Black because B dies.
    let mut a = Scripted::new(script("e4 e5 Bc4 Nc6 Qh5 Nf6 Qxf7"));
    let mut b = Scripted::new(script("e4 e5 Bc4 Nc6 Qh5 Nf6 Qxf7"));
    b.steps[0] = Step::Fail(Failure::Died("x".into()));
    let pair: [_; 2] = play_games(&mut a, &mut b, &start(), &rules, &StopFlag::new()).unwrap();
    let half_points = [pair[0].half_points(Color::White), pair[1].half_points(Color::Black)];
    assert_eq!((half_points, pair[0].end, pair[1].end), ([2, 2], End::Checkmate, End::Died));
}

#[test]
fn games_can_be_cancelled() {
    let steps = script("e4");
    let (mut a, mut b) = (Scripted::new(steps.clone()), Scripted::new(steps));
    let rules = rules("nodes=1");
    let stop = StopFlag::new();
    stop.set();
    let unplayed = play_games::<2>(&mut a, &mut b, &start(), &rules, &stop);
    assert_eq!(unplayed, Err(Unplayed::Cancelled));
    assert!(try_game(&start(), script("f3 e5 g4 Qh4"), &rules).is_ok());
    // Nor does an engine that was stopped lose.
    let mut steps = script("e4 e5");
    steps[1] = Step::Fail(Failure::Stopped);
    assert_eq!(try_game(&start(), steps.clone(), &rules), Err(Unplayed::Cancelled));
    let (mut a, mut b) = (Scripted::new(steps.clone()), Scripted::new(steps));
    b.not_ready = Some(Failure::Stopped);
    let unplayed = play_games::<2>(&mut a, &mut b, &start(), &rules, &StopFlag::new());
    assert_eq!(unplayed, Err(Unplayed::Cancelled));
}
