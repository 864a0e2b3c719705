//! The engine as seen by a GUI: the real program behind real pipes.

use crate::common;
use crate::common::prelude::*;
use std::io::Write;
use std::process::{ChildStdin, Command};
use std::sync::mpsc::{Receiver, channel};

/// Longer than any answer takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

struct Program {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Program {
    fn start(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let input = child.stdin.take();
        Self { child, input, lines }
    }

    fn gputexel(args: &[&str]) -> Self {
        Self::start(Command::new(assert_cmd::cargo::cargo_bin!("gputexel")).arg("uci").args(args))
    }

    fn tell(&mut self, text: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(text.as_bytes()).and_then(|()| input.write_all(b"\n")).unwrap();
    }

    /// Returns the lines up to the first that starts with `start`, including it.
    fn until(&mut self, start: &str) -> Vec<String> {
        let mut lines = Vec::new();
        loop {
            let line =
                self.lines.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("no '{start}' after {lines:?}"));
            let found = line.starts_with(start);
            lines.push(line);
            if found {
                return lines;
            }
        }
    }

    /// Sends a command, and returns the line that starts with `start`.
    fn ask(&mut self, text: &str, start: &str) -> String {
        self.tell(text);
        self.until(start).pop().unwrap()
    }

    /// Asserts that there is no further output and the process exits successfully.
    fn ends(mut self) {
        self.input = None;
        let rest: Vec<String> = self.lines.iter().collect();
        assert_eq!(rest, Vec::<String>::new());
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn options_are_offered_and_taken() {
    let mut engine = Program::gputexel(&["--params", "material:100,300.5,320,500,900", "--hash", "2"]);
    engine.tell("uci");
    let lines = engine.until("uciok");
    assert!(lines[0].starts_with("id name gputexel"), "{lines:?}");
    for option in [
        "option name Hash type spin default 2 min 1 max 4096",
        "option name Threads type spin default 1 min 1 max 1",
        "option name UCI_Chess960 type check default false",
        "option name Clear Hash type button",
        "option name pawn.eg type spin default 100 min -900 max 1100",
    ] {
        assert!(lines.iter().any(|line| line == option), "{option} in {lines:?}");
    }
    // The exact value of the file is used until the option is set, then the exact value that was set.
    let fen = "position fen 4k3/8/8/8/8/8/8/1N2K1N1 w - - 0 1";
    engine.tell(fen);
    assert!(engine.ask("eval", "info string static").contains(" 601 cp"));
    engine.tell("setoption name Knight.EG value 299.75\nsetoption name knight.mg value 299.75");
    assert!(engine.ask("eval", "info string static").contains(" 600 cp"));
    engine.tell("setoption name knight.eg value 250\nsetoption name knight.mg value 250");
    assert!(engine.ask("eval", "info string static").contains(" 500 cp"));
    assert!(engine.ask("setoption name knight.eg value 1e9", "info string").contains("not a number from"));
    assert!(engine.ask("setoption name nonsense value 1", "info string").contains("no option"));
    assert!(engine.ask("setoption name Hash value 0", "info string").contains("not an integer from 1"));
    engine.tell("setoption name Clear Hash\nsetoption name Hash value 3");
    engine.ask("isready", "readyok");
    engine.tell("quit");
    engine.ends();
}

#[test]
fn limits_are_kept() {
    let mut engine = Program::gputexel(&[]);
    engine.tell("position startpos moves e2e4 e7e5\ngo nodes 3000");
    let lines = engine.until("bestmove");
    let info = &lines[lines.len() - 2];
    assert!(
        info.starts_with("info depth ") && info.contains(" multipv 1 score cp ") && info.contains(" pv ")
    );
    engine.tell("go depth 4");
    let depths = engine.until("bestmove");
    assert_eq!(depths.iter().filter(|line| line.starts_with("info depth")).count(), 4, "{depths:?}");
    let start = Instant::now();
    engine.ask("go movetime 300", "bestmove");
    let took = start.elapsed();
    assert!(took >= Duration::from_millis(200), "{took:?}");
    engine.ask("go wtime 200 btime 200 winc 5 binc 5", "bestmove");
    engine.ask("go wtime -100 btime -100", "bestmove");
    let only = engine.ask("go depth 3 searchmoves a2a3", "bestmove");
    assert!(only.starts_with("bestmove a2a3"), "{only}");
    engine.tell("quit");
    engine.ends();
}

#[test]
fn endless_searches_end_on_stop() {
    let mut engine = Program::gputexel(&[]);
    engine.tell("position startpos\ngo infinite");
    engine.until("info depth 5");
    // A search does not prevent the engine from answering.
    engine.ask("isready", "readyok");
    engine.ask("stop", "bestmove");
    // Nothing is left to search, but the answer waits for the stop command.
    engine.tell("position fen 7k/8/5K2/8/8/8/8/6Q1 w - - 0 1\ngo infinite");
    engine.until("info depth 127");
    std::thread::sleep(Duration::from_millis(100));
    let rest: Vec<String> = engine.lines.try_iter().collect();
    assert!(!rest.iter().any(|line| line.starts_with("bestmove")), "{rest:?}");
    engine.ask("stop", "bestmove");
    engine.tell("go infinite\nquit");
    engine.until("bestmove");
    engine.ends();
}

#[test]
#[ignore = "full"]
fn searches_with_limits_finish_before_the_next_and_at_the_end_of_the_input() {
    let input =
        "position startpos\ngo depth x nodes 30000\nposition startpos moves e2e4\ngo depth 9\ngo infinite\n";
    let output = assert_cmd::Command::cargo_bin("gputexel")
        .unwrap()
        .arg("uci")
        .write_stdin(input)
        .timeout(Duration::from_secs(60))
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let answers: Vec<&str> = text.split_inclusive("bestmove").collect();
    assert_eq!(answers.len(), 4, "{text}");
    assert!(answers[0].contains("info string go depth: expected an integer, found x"), "{text}");
    let nodes = |part: &str| {
        let last = part.rsplit(" nodes ").next().unwrap();
        last.split(' ').next().unwrap().parse::<u64>().unwrap()
    };
    // The last complete iteration within 30,000 nodes.
    assert!(nodes(answers[0]) > 5_000 && answers[1].contains("info depth 9 "), "{text}");
    assert!(!answers[2].contains("info depth 40 "), "{text}");
}

#[test]
fn castling_notation_follows_the_option() {
    let mut engine = Program::gputexel(&[]);
    engine.tell("position fen 6k1/8/8/8/8/8/8/4K2R w K - 0 1");
    assert!(engine.ask("go depth 1 searchmoves e1g1", "bestmove").starts_with("bestmove e1g1"));
    engine.tell("setoption name UCI_Chess960 value true");
    assert!(engine.ask("go depth 1 searchmoves e1h1", "bestmove").starts_with("bestmove e1h1"));
    engine.tell("position fen 6k1/8/8/8/8/8/8/RK6 w A - 0 1");
    assert!(engine.ask("go depth 1 searchmoves b1a1", "bestmove").starts_with("bestmove b1a1"));
    // The end of the input ends the program.
    engine.ends();
}

#[test]
fn invalid_commands_are_answered_and_ignored() {
    let mut engine = Program::gputexel(&[]);
    for (text, wanted) in [
        ("hello", "unknown command 'hello'"),
        ("position fen 8/8/8/8/8/8/8/8 w - - 0 1", "not one king a side"),
        ("position fen what", "cannot be read"),
        ("position", "expected startpos or fen"),
        ("position startpos moves e2e4 e2e4 d7d5", "move 'e2e4' is not legal"),
        ("setoption", "without a name"),
        ("go depth 2 searchmoves a1a8", "'a1a8' is not legal"),
    ] {
        let line = engine.ask(text, "info string");
        assert!(line.contains(wanted), "{text}: {line}");
    }
    engine.until("bestmove");
    // The position is the one before the illegal move.
    assert_eq!(engine.ask("go depth 1 searchmoves e7e5", "bestmove"), "bestmove e7e5");
    let mut bytes: Vec<u8> = (0..=255).filter(|b| *b != b'\n').cycle().take(100_000).collect();
    bytes.push(b'\n');
    bytes.extend(vec![b'z'; 5_000_000]);
    bytes.push(b'\n');
    engine.input.as_mut().unwrap().write_all(&bytes).unwrap();
    engine.ask("isready", "readyok");
    // No legal move.
    engine.tell("position fen 7k/5Q2/6K1/8/8/8/8/8 b - - 0 1");
    assert_eq!(engine.ask("go depth 3", "bestmove"), "bestmove (none)");
    engine.tell("quit");
    engine.ends();
}

#[test]
fn bad_parameters_are_refused() {
    let bench = common::program::Bench::new();
    bench.fails_with("uci --params material:1,2", 2, "five finite centipawn values");
    bench.fails_with("uci --hash 0", 2, "must be from 1");
    bench.fails("uci --params missing.json", 1);
}

#[test]
fn parameters_too_large_to_play_with_are_refused() {
    let bench = common::program::Bench::new();
    let set = FeatureSet::new(FeatureKind::Material, PhaseSettings::default());
    for value in [3e4 + 1.0, 3e9, -3e9, 1e300] {
        let mut theta = Prior::default().theta(&set).unwrap();
        theta[1] = value;
        bench.write("p.json", ParameterFile::new(&set, &theta, None, None).to_json());
        bench.fails_with("uci --params p.json", 2, ["parameter 'knight' is", "at most 30000"]);
    }
}

#[test]
fn a_broken_pipe_ends_quietly() {
    let bench = common::program::Bench::new();
    let (code, _, err) =
        bench.shell("{ echo uci; sleep 0.3; echo go infinite; sleep 0.3; echo isready; sleep 0.3; echo eval; } | \"$GPUTEXEL\" uci | true");
    assert_eq!((code, err.as_str()), (0, ""));
}
