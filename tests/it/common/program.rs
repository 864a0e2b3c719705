//! The real binary in a folder of its own, and inputs for it.

use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use assert_cmd::Command;
use gputexel::dataset::{self, Dataset};
use gputexel::model::FeatureKind;
use serde_json::Value;

use super::{random_dataset, requirement};

/// A folder with files, and the program.
pub struct Bench {
    pub folder: tempfile::TempDir,
}

impl Bench {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    /// Creates a bench with a dataset `d.bin` of random boards and piece-square rows.
    pub fn with_positions(positions: usize, seed: u64) -> Self {
        let bench = Self::new();
        bench.dataset("d.bin", FeatureKind::Pst, positions, seed);
        bench
    }

    /// Compiles a source without warnings and runs it; `None` without such a compiler.
    pub fn compiled(&self, compiler: &str, flags: &[&str], name: &str, source: &str) -> Option<String> {
        self.write(name, source);
        let (warnings, printed) = self.built(compiler, flags, name)?;
        assert!(warnings.is_empty(), "{compiler} {flags:?} {name}: {warnings}\n{source}");
        Some(printed)
    }

    /// Compiles a source of the folder and runs it; returns the output of the compiler and the program, `None`
    /// without such a compiler.
    pub fn built(&self, compiler: &str, flags: &[&str], name: &str) -> Option<(String, String)> {
        if !requirement::program(compiler) {
            return None;
        }
        let built = std::process::Command::new(compiler)
            .args(flags)
            .args([name, "-o", "program"])
            .current_dir(self.folder.path())
            .output()
            .unwrap();
        let messages = String::from_utf8_lossy(&built.stderr).into_owned();
        let source = || String::from_utf8_lossy(&self.bytes(name)).into_owned();
        assert!(built.status.success(), "{compiler} {flags:?} {name}: {messages}\n{}", source());
        let run = std::process::Command::new(self.path("program")).output().unwrap();
        assert!(run.status.success());
        Some((messages, String::from_utf8(run.stdout).unwrap()))
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
        std::fs::write(self.path(name), contents).unwrap();
        self.path(name)
    }

    /// Runs in the folder; returns exit code, standard output, and the [messages] on standard error.
    pub fn run(&self, args: &[&str], stdin: impl Into<Vec<u8>>) -> (i32, String, String) {
        let output = Command::cargo_bin("gputexel")
            .unwrap()
            .current_dir(self.folder.path())
            .args(args)
            .write_stdin(stdin.into())
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), messages(&text(output.stderr)))
    }

    /// Extracts to `out.bin`, which must succeed; returns the report and the dataset.
    pub fn extract(&self, args: &[&str], stdin: impl Into<Vec<u8>>) -> (Value, Dataset) {
        let all = [&["--json", "extract", "-o", "out.bin", "--force"], args].concat();
        let (code, out, err) = self.run(&all, stdin);
        assert_eq!((code, err.as_str()), (0, ""), "{args:?}");
        (serde_json::from_str(&out).unwrap(), dataset::read(&self.path("out.bin")).unwrap())
    }

    /// Writes a dataset of random boards, see [`random_dataset`].
    pub fn dataset(&self, name: &str, kind: FeatureKind, positions: usize, seed: u64) -> Dataset {
        random_dataset(&self.path(name), kind, positions, seed)
    }

    /// Runs with `--json`, which must succeed without output on standard error; returns the object.
    #[track_caller]
    pub fn told(&self, args: &[&str]) -> Value {
        let (code, out, err) = self.run(&[&["--json"], args].concat(), "");
        assert_eq!((code, err.as_str()), (0, ""), "{args:?}");
        serde_json::from_str(&out).unwrap()
    }

    /// As [`Self::told`], for a single line.
    #[track_caller]
    pub fn report(&self, args: &[&str]) -> Value {
        let (code, out, err) = self.run(&[&["--json"], args].concat(), "");
        assert_eq!((code, err.as_str()), (0, ""), "{args:?}");
        assert_eq!(out.lines().count(), 1, "{out}");
        serde_json::from_str(&out).unwrap()
    }

    /// Tunes on the CPU; returns the report, see [`Self::tuning`].
    #[track_caller]
    pub fn tune(&self, args: &[&str]) -> Value {
        self.report(&Self::tuning("cpu", args))
    }

    /// Returns the arguments of a run of `tune` on a backend, without regularization unless `args` request it.
    pub fn tuning<'a>(backend: &'a str, args: &[&'a str]) -> Vec<&'a str> {
        let says =
            |arg: &&str| ["--l2", "--prior-strength", "--resume"].iter().any(|flag| arg.starts_with(flag));
        let none: &[&str] = if args.iter().any(says) { &[] } else { &["--prior-strength", "none"] };
        [&["tune", "--backend", backend], none, args].concat()
    }

    /// Runs a command that must fail with an exit code and an error; returns the error.
    pub fn fails(&self, args: &[&str], code: i32) -> String {
        let (got, out, err) = self.run(args, "");
        assert_eq!((got, out.as_str()), (code, ""), "{args:?}: {err}");
        assert_one_line(&err);
        err
    }

    pub fn bytes(&self, name: &str) -> Vec<u8> {
        let path = self.path(name);
        std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    }

    pub fn json(&self, name: &str) -> Value {
        serde_json::from_slice(&self.bytes(name)).unwrap()
    }

    /// Returns the lines of a run's metrics.
    pub fn metrics(&self, run: &str) -> Vec<Value> {
        let text = String::from_utf8(self.bytes(&format!("{run}/metrics.jsonl"))).unwrap();
        assert!(text.ends_with('\n'), "the last line is torn");
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Returns the number of complete lines in the metrics of a run in progress.
    pub fn metrics_so_far(&self, run: &str) -> usize {
        String::from_utf8_lossy(&self.bytes(&format!("{run}/metrics.jsonl"))).matches('\n').count()
    }

    /// Returns the names in a folder, sorted.
    pub fn names(&self, folder: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.path(folder)).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// Starts the program as a process of its own, with captured output.
    pub fn spawn(&self, args: &[&str]) -> Child {
        std::process::Command::new(assert_cmd::cargo::cargo_bin!("gputexel"))
            .current_dir(self.folder.path())
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// As [`Self::run`], a shell command, in which the program is `$GPUTEXEL`.
    pub fn shell(&self, command: &str) -> (i32, String, String) {
        let output = std::process::Command::new("sh")
            .args(["-c", command])
            .env("GPUTEXEL", assert_cmd::cargo::cargo_bin!("gputexel"))
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let code = output.status.code().unwrap_or_else(|| panic!("{command}: {}", output.status));
        (code, text(output.stdout), messages(&text(output.stderr)))
    }

    /// Extracts, which must fail with an exit code and leave no file; returns the error.
    pub fn refuse(&self, args: &[&str], stdin: impl Into<Vec<u8>>, code: i32) -> String {
        let all = [&["extract", "-o", "none.bin"], args].concat();
        let (got, out, err) = self.run(&all, stdin);
        assert_eq!((got, out.as_str()), (code, ""), "{err}");
        assert_one_line(&err);
        assert!(!self.path("none.bin").exists());
        let stray = std::fs::read_dir(self.folder.path())
            .unwrap()
            .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with(".gputexel"))
            .count();
        assert_eq!(stray, 0, "temporary files are left");
        err
    }
}

/// Splits a command line without quotes into words.
pub fn words(line: &str) -> Vec<&str> {
    line.split(' ').collect()
}

/// Waits until a condition holds, and fails after a minute.
#[track_caller]
pub fn wait_until(what: &str, mut happened: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !happened() {
        assert!(begun.elapsed() < Duration::from_secs(60), "still waiting until {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Removes progress lines from standard error; only a busy machine is slow enough to print them.
fn messages(err: &str) -> String {
    err.split_inclusive('\n').filter(|line| !line.starts_with("reading: ")).collect()
}

/// Asserts that standard error is one line, or clap's explanation of a usage error.
pub fn assert_one_line(err: &str) {
    let ours = err.starts_with("gputexel: ") && err.ends_with('\n') && err.lines().count() == 1;
    let usage = err.starts_with("error: ") && err.ends_with("For more information, try '--help'.\n");
    assert!(ours || usage, "{err:?}");
    assert!(!err.contains("panicked"), "{err}");
}

/// Returns distinct positions with results that favor the side with more material.
pub fn positions(count: usize) -> Vec<(String, &'static str, f32)> {
    let mut list = Vec::new();
    for i in 0..count {
        let (king, pawn) = (i % 8, (i / 8) % 8);
        let turn = if (i / 64) % 2 == 0 { "w" } else { "b" };
        let white_up = (i / 128) % 2 == 0;
        let extra = (i / 256) % 8;
        let rank = |piece: &str, file: usize| {
            let before = if file > 0 { file.to_string() } else { String::new() };
            let after = if file < 7 { (7 - file).to_string() } else { String::new() };
            format!("{before}{piece}{after}")
        };
        // The knights attack neither king.
        let knights = if white_up { "NN6" } else { "nn6" };
        let board =
            format!("7k/{knights}/{}/8/{}/8/{}/8", rank("p", pawn), rank("P", extra), rank("K", king));
        let result = match (i % 5, white_up) {
            (0, _) => 0.5,
            (_, true) => 1.0,
            (_, false) => 0.0,
        };
        list.push((board, turn, result));
    }
    list
}

pub fn game_result(result: f32) -> &'static str {
    match result {
        1.0 => "1-0",
        0.0 => "0-1",
        _ => "1/2-1/2",
    }
}

pub fn results(data: &Dataset) -> Vec<f32> {
    data.results().to_vec()
}

/// Returns the bytes of every tensor, without the metadata (which name the inputs).
pub fn tensors(path: &Path) -> Vec<u8> {
    let bytes = std::fs::read(path).unwrap();
    let header = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    bytes[8 + header..].to_vec()
}

pub const GAME: &str =
    "1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Ba4 Nf6 5. O-O Be7 6. Re1 b5 7. Bb3 d6 8. c3 O-O 9. h3 Nb8";

pub fn pgn(tags: &str, moves: &str, result: &str) -> String {
    format!("[Event \"x\"]\n{tags}[Result \"{result}\"]\n\n{moves} {result}\n\n")
}

/// Writes 150 games with the same moves, won, lost and drawn.
pub fn write_games(bench: &Bench, name: &str) {
    let game = |result| pgn("", GAME, result);
    bench.write(name, ["1-0", "0-1", "1/2-1/2"].map(game).concat().repeat(50));
}

/// Returns the path of public data next to the checkout, or in the folder named by `GPUTEXEL_SHARED_DATA`, if it
/// exists.
pub fn shared(name: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("GPUTEXEL_SHARED_DATA")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data"), PathBuf::from);
    let path = folder.join(name);
    if path.exists() {
        return Some(path);
    }
    requirement::lack("data", &format!("{} is not there", path.display()));
    None
}
