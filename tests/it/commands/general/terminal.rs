//! Output on a terminal, with colors if it supports them.
#![cfg(unix)]

use crate::common::prelude::*;

/// Runs a command with its standard output on a terminal with a number of columns.
const ON_A_TERMINAL: &str = r"
import fcntl, os, pty, struct, subprocess, sys, termios
columns, command = int(sys.argv[1]), sys.argv[2:]
master, slave = pty.openpty()
fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack('HHHH', 40, columns, 0, 0))
program = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=slave, stderr=subprocess.PIPE)
os.close(slave)
shown = b''
while True:
    try:
        part = os.read(master, 65536)
    except OSError:
        break
    if not part:
        break
    shown += part
errors = program.stderr.read()
if program.wait() != 0:
    sys.exit(errors.decode())
sys.stdout.write(shown.decode().replace('\r\n', '\n'))
";

fn shown(bench: &Bench, columns: usize, environment: &[(&str, &str)], args: impl Words) -> String {
    let mut python = std::process::Command::new("python3");
    python
        .args(["-c", ON_A_TERMINAL, &columns.to_string(), env!("CARGO_BIN_EXE_gputexel")])
        .args(args.words());
    python.env_remove("NO_COLOR").env("TERM", "xterm-256color").envs(environment.iter().copied());
    let output = python.current_dir(bench.folder.path()).output().unwrap();
    assert!(output.status.success(), "{:?}: {}", args.words(), String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn plain(text: &str) -> String {
    regex::Regex::new("\u{1b}\\[[0-9;]*m").unwrap().replace_all(text, "").into_owned()
}

#[test]
fn results_have_colors() {
    if !requirement::program("python3") {
        return;
    }
    let bench = Bench::with_positions(4000, 7);
    let told = shown(&bench, 60, &[], "tune d.bin -v --out r --l2 1e-6 --errors --threads 1");
    assert_has(&told, ["\u{1b}[1mfinished\u{1b}[0m    ", "\u{1b}[1mloss\u{1b}[0m        \u{1b}[32m"]);
    let played = shown(&bench, 60, &[], "match r zero --nodes 50 --games 40 --out m");
    assert!(played.contains("\u{1b}[1mElo\u{1b}[0m         \u{1b}[32m+"), "{played}");
}

#[test]
fn respects_no_color() {
    if !requirement::program("python3") {
        return;
    }
    let bench = Bench::with_positions(3000, 7);
    bench.tune("d.bin --out r --l2 1e-4");
    let eval = "eval d.bin r";
    let colored = shown(&bench, 200, &[], eval);
    assert!(colored.contains('\u{1b}'), "{colored}");
    for (name, value) in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        let told = shown(&bench, 200, &[(name, value)], eval);
        assert_eq!(told, plain(&colored), "{name}");
    }
    // Nor do files, pipes and JSON.
    let (_, piped, _) = bench.run(eval);
    assert_eq!(piped, plain(&colored));
    let json = shown(&bench, 20, &[], "--json eval d.bin r");
    assert!(json.starts_with('{') && json.lines().count() == 1, "{json}");
}

#[test]
fn escapes_file_names_on_terminals() {
    let bench = Bench::new();
    let name = "trap\u{1b}]0;title\u{7}\u{9b}2J.epd";
    bench.write(
        name,
        "Q7/8/8/8/8/7k/8/K7 w - - c9 \"1-0\";\nq7/8/8/8/8/7K/8/k7 w - - c9 \"0-1\";\nnonsense\n",
    );
    let commands: [&[&str]; 4] = [
        &["extract", name, "-o", "trap.bin", "--max-bad-share", "1"],
        &["info", "trap.bin"],
        &["check", "trap.bin"],
        &["tune", "trap.bin", "--k", "1", "--out", "r"],
    ];
    for command in commands {
        let (code, out, err) = bench.run(command);
        assert!(code == 0 || command[0] == "check", "{command:?}: {err}");
        for text in [out, err] {
            assert!(!text.contains(|c: char| c != '\n' && c.is_control()), "{command:?}: {text:?}");
        }
    }
    assert!(bench.run("info trap.bin").1.contains("trap\\u{1b}]0;title\\u{7}\\u{9b}2J.epd"));
}
