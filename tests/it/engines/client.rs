//! Engines in other processes, and all kinds of misbehavior.
//!
//! They are shell scripts, so these tests need a POSIX shell.
#![cfg(unix)]

use super::script::{Bench, EngineScript};
use crate::common::prelude::*;
use gputexel::engine::{Clock, Limits};
use gputexel::matches::client::{OptionKind, Setting};

const SECONDS: fn(u64) -> Duration = Duration::from_secs;

/// A script that behaves correctly, except for the parts that a test replaces.
struct Script {
    before: &'static str,
    options: &'static str,
    ready: &'static str,
    go: &'static str,
    quit: &'static str,
}

const GOOD: Script = Script {
    before: ":",
    options: "echo 'option name Hash type spin default 16 min 1 max 64'",
    ready: "echo readyok",
    go: "echo 'info depth 3 score cp 12 nodes 77'; echo 'bestmove e2e4'",
    quit: "exit 0",
};

impl EngineScript for Script {
    fn text(&self) -> String {
        let Self { before, options, ready, go, quit } = self;
        format!(
            "starts=$(grep -c . pids)\n{before}\n\
             while IFS= read -r line; do echo \"$line\" >> told\ncase \"$line\" in\n\
             uci) echo 'id name Script  One'; {options}; echo uciok;;\n\
             isready) {ready};;\ngo*) {go};;\nquit) {quit};;\nesac\ndone\n"
        )
    }
}

fn game(fen: &str, moves: &str) -> GameSoFar {
    let chess960 = fen.contains("HA");
    let mode = if chess960 { CastlingMode::Chess960 } else { CastlingMode::Standard };
    let start = match fen {
        "" => Chess::default(),
        _ => fen.parse::<Fen>().unwrap().into_position::<Chess>(mode).unwrap(),
    };
    let mut game = GameSoFar::at(start, chess960);
    for word in moves.split_whitespace() {
        let m = word.parse::<UciMove>().unwrap().to_move(&game.position).unwrap();
        game.push(m);
    }
    game
}

fn start_engine(bench: &Bench) -> UciPlayer {
    UciPlayer::start(bench.command()).unwrap_or_else(|error| panic!("{error}"))
}

fn start() -> GameSoFar {
    game("", "")
}

/// A Chess960 position in which both sides can castle queenside at once.
const FRC: &str = "rk2nbqr/pp1ppppp/8/8/8/8/PP1PPPPP/RK2NBQR w HAha - 0 1";

const DEPTH: Limits = Limits { depth: Some(3), nodes: None, move_time: None, clock: None };

fn choose(player: &mut UciPlayer, seconds: f64) -> Result<Choice, Failure> {
    player.choose(&start(), &DEPTH, Duration::from_secs_f64(seconds))
}

fn e2e4() -> shakmaty::Move {
    "e2e4".parse::<UciMove>().unwrap().to_move(&Chess::default()).unwrap()
}

#[test]
fn a_good_engine_plays() {
    let bench = Bench::new(&Script {
        options: "echo 'option name Hash type spin default 16 min 1 max 64'; \
                  echo 'option name Style type combo default Solid var Solid var Risky'; \
                  echo 'option name Clear Hash type button'; \
                  echo 'option name UCI_Chess960 type check default false'",
        go: "if tail -n 2 told | grep -q fen; then echo 'bestmove b1a1'; \
             else echo 'info depth 3 score cp 12 nodes 77'; echo 'bestmove e2e4'; fi",
        ..GOOD
    });
    let mut command = bench.command();
    command.settings = ["hash=32", "Clear Hash="].map(|text| text.parse().unwrap()).to_vec();
    let mut player = UciPlayer::start(command).unwrap();
    assert_eq!(player.name(), "Script One");
    let names: Vec<&str> = player.options().iter().map(|option| option.name.as_str()).collect();
    assert_eq!(names, ["Hash", "Style", "Clear Hash", "UCI_Chess960"]);
    assert_eq!(player.options()[0].kind, OptionKind::Spin { default: 16, min: 1, max: 64 });
    player.set("Style=risky".parse().unwrap()).unwrap();
    player.new_game(false).unwrap();
    let choice = choose(&mut player, 5.0).unwrap();
    assert_eq!(
        choice,
        Choice {
            m: e2e4(),
            score: Some(Score::Centipawns(12)),
            depth: Some(3),
            nodes: Some(77),
            leaves: Vec::new()
        }
    );
    // Two Chess960 games and an ordinary one: the option is set when it changes.
    let frc = game(FRC, "");
    player.new_game(true).unwrap();
    player.new_game(true).unwrap();
    assert!(player.choose(&frc, &DEPTH, SECONDS(5)).unwrap().m.is_castle());
    let castled = game(FRC, "b1a1 b8a8");
    assert_eq!(player.choose(&castled, &DEPTH, SECONDS(5)), Err(Failure::IllegalMove("b1a1".to_string())));
    player.new_game(false).unwrap();
    let clock = Clock { remaining: SECONDS(2), increment: SECONDS(0), moves_to_go: None };
    let limits = Limits { clock: Some(clock), ..Limits::default() };
    let mut later = game("", "e2e4 e7e5");
    later.clocks = Some([(SECONDS(2), SECONDS(0)), (SECONDS(3), SECONDS(1))]);
    assert_eq!(player.choose(&later, &limits, SECONDS(5)), Err(Failure::IllegalMove("e2e4".to_string())));
    drop(player);
    assert!(bench.is_gone());
    assert_eq!(
        bench.lines("told"),
        [
            "uci",
            "setoption name Hash value 32",
            "setoption name Clear Hash",
            "isready",
            "setoption name Style value Risky",
            "ucinewgame",
            "isready",
            "isready",
            "position startpos",
            "go depth 3",
            "setoption name UCI_Chess960 value true",
            "ucinewgame",
            "isready",
            "ucinewgame",
            "isready",
            "isready",
            "position fen rk2nbqr/pp1ppppp/8/8/8/8/PP1PPPPP/RK2NBQR w KQkq - 0 1",
            "go depth 3",
            "isready",
            "position fen rk2nbqr/pp1ppppp/8/8/8/8/PP1PPPPP/RK2NBQR w KQkq - 0 1 moves b1a1 b8a8",
            "go depth 3",
            "setoption name UCI_Chess960 value false",
            "ucinewgame",
            "isready",
            "isready",
            "position startpos moves e2e4 e7e5",
            "go wtime 2000 btime 3000 winc 0 binc 1000",
            "quit",
        ]
    );
}

#[test]
#[ignore = "full"]
fn validates_engine_output() {
    for (go, expected) in [
        ("echo 'bestmove e2e5'", Err(Failure::IllegalMove("e2e5".to_string()))),
        ("echo 'bestmove (none)'", Err(Failure::NoMove("bestmove (none)".to_string()))),
        ("echo 'bestmove 0000 ponder e2e4'", Err(Failure::NoMove("bestmove 0000 ponder e2e4".to_string()))),
        ("echo bestmove", Err(Failure::NoMove("bestmove".to_string()))),
        // Nonsense, invalid UTF-8, empty lines, look-alikes, tokens out of order.
        (
            "printf '\\n\\377\\376 bestmove\\nBESTMOVE e2e5\\nbestmoves e2e5\\n\\001\\000\\n'; \
             printf 'info score\\ninfo depth x\\ninfo pv e2e4 nodes 5 score mate 2 depth 9\\n'; echo 'bestmove e2e4'",
            Ok((Some(Score::Mate(2)), Some(9), Some(5))),
        ),
        (
            "printf 'info depth 4 score cp -7\\r\\n'; printf 'bestmove e2e4 ponder e7e5\\r\\n'",
            Ok((Some(Score::Centipawns(-7)), Some(4), None)),
        ),
        // A line of 100 KiB is truncated, and the next one is read.
        (
            "printf 'info depth 5 pv '; head -c 100000 /dev/zero | tr '\\0' x; echo; echo bestmove e2e4",
            Ok((None, Some(5), None)),
        ),
        // An extra answer does not count as the answer to the next question.
        ("echo 'bestmove e2e4'; echo 'bestmove (none)'", Ok((None, None, None))),
        ("head -c 1000000 /dev/zero >&2; echo 'bestmove e2e4'", Ok((None, None, None))),
    ] {
        let bench = Bench::new(&Script { go, ..GOOD });
        let mut player = start_engine(&bench);
        for _ in 0..3 {
            player.new_game(false).unwrap();
            let choice = choose(&mut player, 10.0);
            let said = choice.map(|choice| {
                assert_eq!(choice.m, e2e4());
                (choice.score, choice.depth, choice.nodes)
            });
            assert_eq!(said, expected, "{go}");
            std::thread::sleep(Duration::from_millis(20));
        }
        drop(player);
        assert!(bench.is_gone());
        assert_eq!(bench.lines("pids").len(), 1, "{go}: started anew without need");
    }
}

#[test]
fn stale_answers_are_dropped_within_a_game() {
    let bench = Bench::new(&Script { go: "echo 'bestmove e2e4'; echo 'bestmove a1a1'", ..GOOD });
    let mut player = start_engine(&bench);
    player.new_game(false).unwrap();
    for _ in 0..5 {
        assert_eq!(choose(&mut player, 5.0).unwrap().m, e2e4());
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn late_answers_do_not_count_for_the_next_search() {
    // A second answer whose lines only arrive after the next command.
    let late = "echo 'info depth 99 score cp 9999'; echo 'bestmove a1a1'; echo readyok";
    let bench = Bench::new(&Script { options: "echo uciok", ready: late, ..GOOD });
    let mut player = start_engine(&bench);
    player.new_game(false).unwrap();
    for _ in 0..3 {
        let choice = choose(&mut player, 5.0).unwrap();
        assert_eq!((choice.m, choice.score, choice.depth), (e2e4(), Some(Score::Centipawns(12)), Some(3)));
    }
    assert_eq!(bench.lines("pids").len(), 1);
}

#[test]
fn dead_engines_are_reported_and_restarted() {
    for (go, words) in [
        ("echo 'out of luck' >&2; exit 3", "died (exit status: 3: out of luck)"),
        ("kill -SEGV $$", "signal: 11 (SIGSEGV)"),
        ("exec >&-; echo 'deaf' >&2; sleep 100", "died (closed its output: deaf)"),
        // A child of the engine holds the pipes when the engine dies.
        ("sleep 100 & exit 4", "died (exit status: 4"),
    ] {
        let go = format!("if [ $starts = 1 ]; then {go}; fi; echo 'bestmove e2e4'");
        let bench = Bench::new(&Script { go: go.leak(), ..GOOD });
        let mut command = bench.command();
        command.settings.push(Setting { name: "Hash".to_string(), value: "2".to_string() });
        let mut player = UciPlayer::start(command).unwrap();
        player.new_game(false).unwrap();
        let before = Instant::now();
        let failure = choose(&mut player, 90.0).unwrap_err();
        assert!(failure.to_string().contains(words), "{words}: {failure}");
        assert!(matches!(failure, Failure::Died(_)));
        // Not at the deadline, nor when its child ends.
        assert!(before.elapsed() < SECONDS(60) && bench.is_gone(), "{words}");
        assert!(matches!(choose(&mut player, 5.0), Err(Failure::NotStarted(_))));
        player.new_game(false).unwrap();
        assert_eq!(choose(&mut player, 5.0).unwrap().m, e2e4());
        drop(player);
        assert_eq!(bench.lines("pids").len(), 2);
        let settings = bench.lines("told").iter().filter(|line| line.starts_with("setoption")).count();
        assert_eq!(settings, 2, "settings are made at each start");
        assert!(bench.is_gone());
    }
}

#[test]
fn engine_that_dies_between_games_is_restarted() {
    let bench = Bench::new(&Script { go: "echo 'bestmove e2e4'; exit 0", ..GOOD });
    let mut player = start_engine(&bench);
    for _ in 0..3 {
        player.new_game(false).unwrap();
        assert_eq!(choose(&mut player, 5.0).unwrap().m, e2e4());
        std::thread::sleep(Duration::from_millis(200));
    }
    assert_eq!(bench.lines("pids").len(), 3);
}

#[test]
#[ignore = "full"]
fn hanging_engines_are_killed() {
    for go in [
        "while :; do sleep 100; done",
        "trap '' TERM INT HUP PIPE; while :; do sleep 100; done",
        // Endless output, with and without line ends.
        "while :; do echo 'info depth 1 score cp 1'; done",
        "cat /dev/zero",
        "yes | tr -d '\\n'",
        "yes nonsense >&2",
        "echo 'info depth 1'",
    ] {
        let bench = Bench::new(&Script { go, ..GOOD });
        let mut player = start_engine(&bench);
        player.new_game(false).unwrap();
        let before = Instant::now();
        let failure = choose(&mut player, 0.5);
        assert_eq!(failure, Err(Failure::Hung("answer", Duration::from_millis(500))), "{go}");
        assert!(before.elapsed() < SECONDS(60), "{go}: {:?}", before.elapsed());
        assert!(bench.is_gone(), "{go}");
        player.new_game(false).unwrap();
    }
}

#[test]
fn children_of_engines_are_killed_too() {
    let bench = Bench::new(&Script { go: "sleep 1000 & echo $! > child; wait", ..GOOD });
    let mut player = start_engine(&bench);
    player.new_game(false).unwrap();
    assert!(matches!(choose(&mut player, 0.5), Err(Failure::Hung(..))));
    let child = bench.lines("child").remove(0);
    // A killed process takes time to end, and its adoptive parent may never wait for it.
    let deadline = Instant::now() + SECONDS(10);
    loop {
        match std::fs::read_to_string(format!("/proc/{child}/stat")) {
            Ok(state) if !state.contains(") Z") => assert!(Instant::now() < deadline, "{state}"),
            _ => break,
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn engines_outlive_the_thread_that_started_them() {
    let bench = Bench::new(&GOOD);
    let mut player = std::thread::scope(|scope| scope.spawn(|| start_engine(&bench)).join().unwrap());
    std::thread::sleep(Duration::from_millis(200));
    player.new_game(false).unwrap();
    assert_eq!(choose(&mut player, 5.0).unwrap().m, e2e4());
    assert_eq!(bench.lines("pids").len(), 1, "it was started anew");
}

#[test]
#[ignore = "full"]
fn players_that_are_stopped_have_not_failed() {
    static STOP: AtomicBool = AtomicBool::new(false);
    // One that complies, and one that does not.
    for (go, follows) in
        [("read line; echo \"$line\" >> told; echo bestmove e2e4", true), ("sleep 1000", false)]
    {
        STOP.store(false, Ordering::Relaxed);
        let bench = Bench::new(&Script { go, ..GOOD });
        let mut player = UciPlayer::start_stoppable(bench.command(), &STOP).unwrap();
        player.new_game(false).unwrap();
        let before = Instant::now();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(200));
                STOP.store(true, Ordering::Relaxed);
            });
            assert_eq!(player.choose(&start(), &DEPTH, SECONDS(60)), Err(Failure::Stopped), "{go}");
        });
        assert_eq!(player.new_game(false), Err(Failure::Stopped), "{go}");
        drop(player);
        assert!(before.elapsed() < SECONDS(20), "{go}: {:?}", before.elapsed());
        assert!(bench.is_gone(), "{go}");
        assert_eq!(bench.lines("told").contains(&"stop".to_string()), follows, "{go}");
        assert_eq!(bench.lines("told").contains(&"quit".to_string()), follows, "{go}");
        let error = UciPlayer::start_stoppable(bench.command(), &STOP).err().unwrap();
        assert!(matches!(error, Error::Interrupted(_)), "{error}");
    }
}

#[test]
#[ignore = "full"]
fn engines_that_ignore_quit_are_killed() {
    for quit in [":", "while :; do :; done", "while :; do echo info; done"] {
        let bench = Bench::new(&Script {
            // The end of its input does not stop it either.
            before: "trap 'while :; do sleep 1; done' EXIT",
            quit,
            ..GOOD
        });
        let player = start_engine(&bench);
        let before = Instant::now();
        drop(player);
        let took = before.elapsed();
        assert!(took > Duration::from_millis(900) && took < SECONDS(60), "{quit}: {took:?}");
        assert!(bench.is_gone(), "{quit}");
    }
    // One that obeys is not waited for longer than it takes, unless the machine stands still.
    let ends_at_once = || {
        let bench = Bench::new(&GOOD);
        let player = start_engine(&bench);
        let before = Instant::now();
        drop(player);
        before.elapsed() < Duration::from_millis(800)
    };
    assert!((0..20).any(|_| ends_at_once()));
}

#[test]
fn engines_that_do_not_read_do_not_block() {
    // It answers from a loop of its own and never reads again.
    let bench = Bench::new(&Script {
        ready: "echo readyok; while :; do echo readyok; echo 'bestmove e2e4'; sleep 0.01; done",
        ..GOOD
    });
    let mut player = start_engine(&bench);
    let shuffle = "g1f3 g8f6 f3g1 f6g8 ".repeat(200);
    let long = game("", &shuffle);
    player.new_game(false).unwrap();
    for _ in 0..40 {
        // 40 lines of 4 KiB: more than a pipe holds.
        assert_eq!(player.choose(&long, &DEPTH, SECONDS(5)).unwrap().m, e2e4());
    }
    drop(player);
    assert!(bench.is_gone());
}

fn refusal(bench: &Bench, setting: Option<&str>, deadline: f64) -> Error {
    let mut command = bench.command();
    command.start_deadline = Duration::from_secs_f64(deadline);
    command.settings.extend(setting.map(|text| text.parse::<Setting>().unwrap()));
    let error = UciPlayer::start(command).err().expect("it must not start");
    assert!(bench.is_gone(), "{error}");
    error
}

#[test]
#[ignore = "full"]
fn bad_starts_are_explained() {
    for (before, words) in [
        ("echo 'no network file' >&2; exit 2", "died (exit status: 2: no network file)"),
        ("exec >&-; sleep 100", "died (closed its output"),
        ("sleep 100", "no 'uciok' within 1.0 s"),
        ("while :; do echo 'option name x type button'; done", "no 'uciok' within 1.0 s"),
        ("cat /dev/zero", "no 'uciok' within 1.0 s"),
    ] {
        let bench = Bench::new(&Script { before, ..GOOD });
        let error = refusal(&bench, None, 1.0);
        assert!(matches!(error, Error::Engine { .. }) && error.exit_code() == 1);
        assert!(error.to_string().contains(words) && error.to_string().starts_with("/bin/sh "), "{error}");
    }
    let bench = Bench::new(&Script { ready: ":", ..GOOD });
    assert!(refusal(&bench, None, 1.0).to_string().contains("no 'readyok' within 1.0 s"));
    let missing = UciPlayer::start("/no/such/engine --fast".parse().unwrap()).err().unwrap();
    let words = "/no/such/engine --fast: cannot be started: No such file or directory (os error 2)";
    assert_eq!(missing.to_string(), words);
    for (text, words) in [("", "no program"), ("'a b", "quote"), ("'' x", "no program")] {
        let error = text.parse::<EngineCommand>().unwrap_err();
        assert!(error.to_string().contains(words) && error.exit_code() == 2, "{error}");
    }
}

#[test]
fn settings_are_checked_against_offered_options() {
    let bench = Bench::new(&GOOD);
    for (setting, words) in [
        ("Threads=2", "Script One: Threads: no such option"),
        ("Hash=65", "Script One: Hash: '65': must be an integer from 1 to 64"),
        ("Hash=big", "'big': must be an integer from 1 to 64"),
    ] {
        let error = refusal(&bench, Some(setting), 5.0);
        assert!(error.to_string().contains(words) && error.exit_code() == 2, "{error}");
    }
    let mut player = start_engine(&bench);
    assert!(player.set("Hash=0".parse().unwrap()).is_err());
    player.set("Hash=64".parse().unwrap()).unwrap();
    assert_has(&player.new_game(true).unwrap_err().to_string(), "UCI_Chess960");
    player.new_game(false).unwrap();
    for text in ["Hash", "=5", ""] {
        assert!(text.parse::<Setting>().is_err(), "{text}");
    }
}

#[test]
fn waits_for_slow_and_verbose_starts() {
    let bench = Bench::new(&Script {
        before: "echo 'Engine by Somebody'; echo uciok?; echo 'id name'; printf '\\377\\n'; sleep 1",
        ready: "sleep 1; echo thinking; printf 'readyok\\r\\n'",
        ..GOOD
    });
    let mut player = start_engine(&bench);
    assert_eq!(player.name(), "Script One");
    player.new_game(false).unwrap();
    assert_eq!(choose(&mut player, 5.0).unwrap().m, e2e4());
}
