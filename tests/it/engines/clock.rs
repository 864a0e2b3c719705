//! Clocks of external engines.

use crate::common::prelude::*;
use gputexel::matches::play_game;

/// An engine that is slow to receive positions, and fast to choose moves.
const SLOW: &str = "while IFS= read -r line; do echo \"$line\" >> \"$1/told\"; case \"$line\" in\n\
    uci) echo uciok;;\nisready) echo readyok;;\nposition*moves*) sleep 0.4; m=g8f6;;\nposition*) sleep 0.4; m=g1f3;;\n\
    go*) echo \"bestmove $m\";;\nquit) exit;;\nesac; done\n";

fn play(limit: &str) -> (GameRecord, Vec<String>) {
    let folder = TempDir::new().unwrap();
    let script = folder.path().join("engine.sh");
    std::fs::write(&script, SLOW).unwrap();
    let command = format!("/bin/sh '{}' '{}'", script.display(), folder.path().display());
    let command: EngineCommand = command.parse().unwrap();
    let [mut white, mut black] = [(); 2].map(|()| UciPlayer::start(command.clone()).unwrap());
    let rules = Rules {
        time_controls: [limit.parse().unwrap(); 2],
        time_margin: Duration::ZERO,
        deadline: Duration::from_secs(20),
        adjudication: Adjudication { max_plies: Some(2), ..Adjudication::default() },
    };
    let (start, never) = (Opening::at(Chess::default(), false), StopFlag::new());
    let record = play_game(&mut white, &mut black, &start, &rules, rules.time_controls, &never).unwrap();
    drop((white, black));
    let told = std::fs::read_to_string(folder.path().join("told")).unwrap();
    (record, told.lines().map(str::to_string).collect())
}

#[test]
fn clocks_start_when_engines_are_ready() {
    for limit in ["time=0.25+0.05", "move-time=250"] {
        let (record, told) = play(limit);
        assert_eq!((record.end, record.plies()), (End::TooLong, 2), "{record:?}");
        let at = told.iter().position(|line| line == "position startpos").unwrap();
        assert_eq!(told[at + 1], "isready", "{told:?}");
        assert!(told[at + 2].starts_with("go "), "{told:?}");
    }
    let (_, told) = play("time=0.25+0.05");
    assert!(told.contains(&"go wtime 300 btime 300 winc 50 binc 50".to_string()), "{told:?}");
    // A limit of nodes uses no clock, and nothing further is sent.
    let (_, told) = play("nodes=10");
    let at = told.iter().position(|line| line == "position startpos").unwrap();
    assert_eq!(told[at + 1], "go nodes 10", "{told:?}");
}
