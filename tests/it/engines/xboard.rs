//! Engines that use xboard's protocol, as scripts: the dialog, and all kinds of failures.
#![cfg(unix)]

use super::script::{Bench, EngineScript};
use crate::common::prelude::*;
use gputexel::matches::client::XboardPlayer;
use gputexel::matches::{Match, MatchOptions, Side, play_game, play_games};

/// A script that moves knights back and forth, except for the parts that a test replaces.
struct Script {
    features: &'static str,
    ping: &'static str,
    go: &'static str,
    usermove: &'static str,
}

const ALL: &str = "feature done=0; feature ping=1 setboard=1 usermove=1 san=0 colors=0 shiny=1; \
                   feature myname=\"Shuffler 1\" memory=1 option=\"Style -spin 3 0 9\" done=1";
const GOOD: Script =
    Script { features: ALL, ping: "echo \"pong ${line#ping }\"", go: "shuffle", usermove: ":" };

impl EngineScript for Script {
    fn text(&self) -> String {
        let Self { features, ping, go, usermove } = self;
        let features: String = features.split("; ").map(|line| format!("echo '{line}'; ")).collect();
        format!(
            "n=0\n\
             shuffle() {{ echo '3 12 1 77 g1f3'; case $((n % 4)) in\n\
             0) m=g1f3;; 1) m=g8f6;; 2) m=f3g1;; 3) m=f6g8;; esac; echo \"move $m\"; n=$((n + 1)); }}\n\
             while IFS= read -r line; do echo \"$line\" >> told\ncase \"$line\" in\n\
             protover*) {features} ;;\nping*) {ping} ;;\nnew) n=0;;\ngo) {go} ;;\n\
             usermove*) n=$((n + 1)); {usermove} ;;\nN*) n=$((n + 1));;\nquit) exit 0;;\nesac\ndone\n"
        )
    }
}

fn start_engine(bench: &Bench) -> XboardPlayer {
    XboardPlayer::start_stoppable(bench.command(), StopFlag::new()).unwrap_or_else(|error| panic!("{error}"))
}

fn rules(limit: &str) -> Rules {
    Rules {
        time_controls: [limit.parse().unwrap(); 2],
        time_margin: Duration::ZERO,
        deadline: Duration::from_secs(1),
        adjudication: Adjudication::default(),
    }
}

fn start() -> Opening {
    Opening::at(Chess::default(), false)
}

/// Plays the script as White against a correct script as Black.
fn play(script: &Script, limit: &str) -> GameRecord {
    let (bench, good) = (Bench::new(script), Bench::new(&GOOD));
    let (mut white, mut black, rules) = (start_engine(&bench), start_engine(&good), rules(limit));
    let never = StopFlag::new();
    play_game(&mut white, &mut black, &start(), &rules, rules.time_controls, &never).unwrap()
}

#[test]
#[ignore = "full"]
fn two_engines_play_a_game_by_the_clock() {
    let benches = [Bench::new(&GOOD), Bench::new(&GOOD)];
    let mut command = benches[0].command();
    command.settings = ["style=7", "Hash=32"].map(|text| text.parse().unwrap()).to_vec();
    let mut white = XboardPlayer::start_stoppable(command, StopFlag::new()).unwrap();
    let mut black = start_engine(&benches[1]);
    assert_eq!(white.name(), "Shuffler 1");
    let never = StopFlag::new();
    let pair = play_games(&mut white, &mut black, &start(), &rules("time=10+0.1"), 2, &never).unwrap();
    let [first, second] = &pair[..] else { panic!("{pair:?}") };
    assert_eq!((first.end, first.plies()), (End::Repetition, 8));
    assert_eq!(
        (second.end, first.moves[0].depth, first.moves[0].nodes),
        (End::Repetition, Some(3), Some(77))
    );
    drop((white, black));
    let told = benches[0].lines("told");
    let is_answer = |line: &&str| line.starts_with("accepted") || line.starts_with("rejected");
    let answers: Vec<&str> = told.iter().map(String::as_str).filter(is_answer).collect();
    assert!(answers.contains(&"accepted ping") && answers.contains(&"rejected shiny"), "{answers:?}");
    let game: Vec<&str> = told.iter().map(String::as_str).filter(|line| !is_answer(line)).collect();
    let begin = [
        "xboard",
        "protover 2",
        "option Style=7",
        "memory 32",
        "ping 1",
        "new",
        "force",
        "easy",
        "post",
        "ping 2",
        "level 0 0:10 0.1",
        "ping 3",
        "time 1010",
        "otim 1010",
        "go",
        "force",
        "usermove g8f6",
        "ping 4",
    ];
    assert_eq!(game[..begin.len()], begin);
    // As Black in the second game: White's first move is sent in force mode.
    let second = game.iter().rposition(|line| *line == "new").unwrap();
    let again = ["new", "force", "easy", "post", "ping 7", "level 0 0:10 0.1", "usermove g1f3", "ping 8"];
    assert_eq!(game[second..second + again.len()], again);
    assert_eq!(benches[0].lines("pids").len(), 1, "one process for both games");
}

#[test]
fn features_change_the_dialog() {
    // Standard notation, moves without a prefix, no clocks, one process per game.
    let odd = "feature ping=1 san=1 time=0 reuse=0 myname=\"Odd\" done=1";
    let (bench, good) = (Bench::new(&Script { features: odd, ..GOOD }), Bench::new(&GOOD));
    let (mut white, mut black) = (start_engine(&good), start_engine(&bench));
    let never = StopFlag::new();
    let pair = play_games(&mut white, &mut black, &start(), &rules("depth=3"), 2, &never).unwrap();
    assert!(pair.iter().all(|game| (game.end, game.plies()) == (End::Repetition, 8)), "{pair:?}");
    let told = bench.lines("told");
    assert!(told.contains(&"Nf3".to_string()) && told.contains(&"sd 3".to_string()), "{told:?}");
    assert!(!told.iter().any(|line| line.starts_with("time ") || line.starts_with("usermove")));
    drop((white, black));
    assert_eq!(bench.lines("pids").len(), 2);
    // Without setboard, only the initial position is possible.
    let fen: Fen = "4k3/8/8/8/8/8/8/4K2R w K - 0 1".parse().unwrap();
    let endgame = Opening::at(fen.into_position(CastlingMode::Standard).unwrap(), false);
    let mut white = start_engine(&bench);
    let rules = rules("depth=3");
    let record =
        play_game(&mut white, &mut start_engine(&good), &endgame, &rules, rules.time_controls, &never)
            .unwrap();
    assert_eq!((record.end, record.half_points(shakmaty::Color::White)), (End::Died, 0));
    assert!(record.failure.unwrap().contains("no feature setboard"));
    let chess960 = Opening::at(Chess::default(), true);
    let refused =
        play_game(&mut white, &mut start_engine(&good), &chess960, &rules, rules.time_controls, &never);
    assert!(matches!(refused, Err(Unplayed::NotReady { .. })), "{refused:?}");
}

#[test]
#[ignore = "full"]
fn failures_lose_the_game() {
    let go = |go| Script { go, ..GOOD };
    for (script, end, says) in [
        (go("echo 'move g1g3'"), End::IllegalMove, "illegal move 'g1g3'"),
        (go("echo resign"), End::Resignation, "resigned: 'resign'"),
        (go("echo '0-1 {White resigns}'"), End::Resignation, "0-1 {White resigns}"),
        (go("echo '1/2-1/2 {Draw by repetition}'"), End::NoMove, "1/2-1/2"),
        (go("echo '1-0 {I won}'"), End::NoMove, "1-0"),
        (go("echo fell >&2; exit 3"), End::Died, "exit status: 3: fell"),
        (go(":"), End::Hung, "no answer within 1.0 s"),
        (Script { usermove: "echo 'Illegal move: g8f6'", ..GOOD }, End::NoMove, "Illegal move: g8f6"),
    ] {
        let record = play(&script, "depth=3");
        assert_eq!((record.end, record.half_points(shakmaty::Color::White)), (end, 0), "{says}");
        assert!(record.failure.as_ref().unwrap().contains(says), "{record:?}");
        assert_eq!(end.is_failure(), end != End::Resignation);
    }
    let late = play(&go("sleep 0.4; shuffle"), "time=0.3");
    assert_eq!((late.end, late.half_points(shakmaty::Color::White)), (End::TimeForfeit, 0));
    // A process that died is replaced in the next game.
    let (bench, good) = (Bench::new(&go("exit 3")), Bench::new(&GOOD));
    let never = StopFlag::new();
    play_games(&mut start_engine(&bench), &mut start_engine(&good), &start(), &rules("depth=3"), 2, &never)
        .unwrap();
    assert_eq!(bench.lines("pids").len(), 2);
}

#[test]
fn rejects_engines_without_xboard() {
    let why = |bench: &Bench| {
        let mut command = bench.command();
        command.start_deadline = Duration::from_millis(500);
        match XboardPlayer::start_stoppable(command, StopFlag::new()) {
            Err(Error::Engine { reason, .. }) => reason,
            _ => panic!("it is no engine"),
        }
    };
    assert_has(&why(&Bench::new(&Script { features: "", ..GOOD })), "no 'feature' line within 0.5 s");
    assert_has(&why(&Bench::new(&Script { ping: ":", ..GOOD })), "no answer within 0.5 s");
    let good = Bench::new(&GOOD);
    let mut odd = good.command();
    odd.settings = vec!["Colour=3".parse().unwrap()];
    let refused = XboardPlayer::start_stoppable(odd, StopFlag::new()).err().unwrap();
    assert!(refused.to_string().contains("Shuffler 1: Colour: no such option"), "{refused}");
    let stop = StopFlag::new();
    stop.set();
    let stopped = XboardPlayer::start_stoppable(good.command(), stop);
    assert!(matches!(stopped, Err(Error::Interrupted(_))));
}

#[test]
fn matches_are_played_by_time_and_depth_only() {
    let bench = Bench::new(&GOOD);
    let side = format!("xboard:{}", bench.command().to_command_line().unwrap());
    let mut options = MatchOptions::new(side.as_str(), "material");
    options.play.games = Some(2);
    let refused = Match::new(&options, StopFlag::new()).err().unwrap();
    assert!(refused.to_string().contains("xboard, which has no limit of nodes"), "{refused}");
    let book = bench.path("book.epd");
    std::fs::write(&book, "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -\n").unwrap();
    options.sides[1] = Side::new(side.as_str());
    (options.play.limit, options.play.book) = (TimeControl::Depth(1), Some(book));
    let finished = Match::new(&options, StopFlag::new()).unwrap().run(|_| ()).unwrap();
    assert_eq!(finished.result.tally.ends[&End::Repetition], 2);
    assert_eq!(finished.settings.names, ["Shuffler 1 A", "Shuffler 1 B"]);
}
