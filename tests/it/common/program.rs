//! The real binary in a folder of its own, and inputs for it.

use crate::common::prelude::*;
use assert_cmd::Command;

pub struct Bench {
    pub folder: tempfile::TempDir,
}

impl Bench {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub fn with_positions(positions: usize, seed: u64) -> Self {
        let bench = Self::new();
        bench.dataset("d.bin", FeatureKind::Pst, positions, seed);
        bench
    }

    pub fn road_engine(&self) {
        for name in ["core.h", "untapered.c"] {
            let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/road").join(name);
            std::fs::copy(from, self.path(name)).unwrap();
        }
    }

    /// Compiles in the folder, by a command line, without warnings.
    #[track_caller]
    pub fn compile(&self, command: &str) {
        let words: Vec<&str> = command.split(' ').collect();
        let mut compiler = std::process::Command::new(words[0]);
        let output = compiler.args(&words[1..]).current_dir(self.folder.path()).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && told.is_empty(), "{command}: {told}");
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
    pub fn run(&self, args: impl Words) -> (i32, String, String) {
        self.feed(args, "")
    }

    pub fn feed(&self, args: impl Words, stdin: impl Into<Vec<u8>>) -> (i32, String, String) {
        let output = Command::cargo_bin("gputexel")
            .unwrap()
            .current_dir(self.folder.path())
            .args(args.words())
            .write_stdin(stdin.into())
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), messages(&text(output.stderr)))
    }

    /// Runs a command that must succeed; returns standard output and standard error.
    #[track_caller]
    pub fn done(&self, args: impl Words) -> (String, String) {
        let (code, out, err) = self.run(&args);
        assert_eq!(code, 0, "{:?}: {out}{err}", args.words());
        (out, err)
    }

    /// Runs a command that must succeed without output on standard error; returns standard output.
    #[track_caller]
    pub fn ok(&self, args: impl Words) -> String {
        let (out, err) = self.done(&args);
        assert_eq!(err, "", "{:?}: {out}", args.words());
        out
    }

    /// Extracts to `out.bin`, which must succeed; returns the report and the dataset.
    #[track_caller]
    pub fn extract(&self, args: impl Words) -> (Value, Dataset) {
        self.extract_from(args, "")
    }

    #[track_caller]
    pub fn extract_from(&self, args: impl Words, stdin: impl Into<Vec<u8>>) -> (Value, Dataset) {
        let (code, out, err) = self.feed(("--json extract -o out.bin --force", &args), stdin);
        assert_eq!((code, err.as_str()), (0, ""), "{:?}", args.words());
        (serde_json::from_str(&out).unwrap(), dataset::read(&self.path("out.bin")).unwrap())
    }

    pub fn dataset(&self, name: &str, kind: FeatureKind, positions: usize, seed: u64) -> Dataset {
        random_dataset(&self.path(name), kind, positions, seed)
    }

    /// Runs with `--json`, which must succeed without output on standard error; returns the object.
    #[track_caller]
    pub fn told(&self, args: impl Words) -> Value {
        serde_json::from_str(&self.ok(("--json", args))).unwrap()
    }

    #[track_caller]
    pub fn report(&self, args: impl Words) -> Value {
        let out = self.ok(("--json", args));
        assert_eq!(out.lines().count(), 1, "{out}");
        serde_json::from_str(&out).unwrap()
    }

    #[track_caller]
    pub fn tune(&self, args: impl Words) -> Value {
        self.report(Self::tuning("cpu", &args.words()))
    }

    /// Returns the arguments of a run of `tune` on a backend, without regularization unless `args` request it.
    pub fn tuning<'a>(backend: &'a str, args: &[&'a str]) -> Vec<&'a str> {
        let says =
            |arg: &&str| ["--l2", "--prior-strength", "--resume"].iter().any(|flag| arg.starts_with(flag));
        let none: &[&str] = if args.iter().any(says) { &[] } else { &["--prior-strength", "none"] };
        [&["tune", "--backend", backend], none, args].concat()
    }

    /// Runs a command that must fail with an exit code and an error; returns the error.
    #[track_caller]
    pub fn fails(&self, args: impl Words, code: i32) -> String {
        let (got, out, err) = self.run(&args);
        assert_eq!((got, out.as_str()), (code, ""), "{:?}: {err}", args.words());
        assert_one_line(&err);
        err
    }

    #[track_caller]
    pub fn fails_with(&self, args: impl Words, code: i32, parts: impl Parts) -> String {
        let err = self.fails(args, code);
        assert_has(&err, parts);
        err
    }

    pub fn bytes(&self, name: &str) -> Vec<u8> {
        let path = self.path(name);
        std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    }

    pub fn text(&self, name: &str) -> String {
        String::from_utf8(self.bytes(name)).unwrap()
    }

    pub fn read(&self, name: &str) -> Dataset {
        dataset::read(&self.path(name)).unwrap()
    }

    pub fn json(&self, name: &str) -> Value {
        serde_json::from_slice(&self.bytes(name)).unwrap()
    }

    pub fn metrics(&self, run: &str) -> Vec<Value> {
        let text = String::from_utf8(self.bytes(&format!("{run}/metrics.jsonl"))).unwrap();
        assert!(text.ends_with('\n'), "the last line is torn");
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Returns the number of complete lines in the metrics of a run in progress.
    pub fn metrics_so_far(&self, run: &str) -> usize {
        String::from_utf8_lossy(&self.bytes(&format!("{run}/metrics.jsonl"))).matches('\n').count()
    }

    pub fn names(&self, folder: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.path(folder)).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    pub fn spawn(&self, args: impl Words) -> Child {
        std::process::Command::new(assert_cmd::cargo::cargo_bin!("gputexel"))
            .current_dir(self.folder.path())
            .args(args.words())
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
    #[track_caller]
    pub fn refuse(&self, args: impl Words, code: i32) -> String {
        self.refuse_from(args, "", code)
    }

    #[track_caller]
    pub fn refuse_with(&self, args: impl Words, code: i32, parts: impl Parts) -> String {
        let err = self.refuse(args, code);
        assert_has(&err, parts);
        err
    }

    #[track_caller]
    pub fn refuse_from(&self, args: impl Words, stdin: impl Into<Vec<u8>>, code: i32) -> String {
        let (got, out, err) = self.feed(("extract -o none.bin", &args), stdin);
        assert_eq!((got, out.as_str()), (code, ""), "{:?}: {err}", args.words());
        assert_one_line(&err);
        let left =
            self.names(".").into_iter().find(|name| name == "none.bin" || name.starts_with(".gputexel"));
        assert_eq!(left, None, "a file is left");
        err
    }
}

/// A command line: words in one text or in several, or one command line after another.
pub trait Words {
    fn words(&self) -> Vec<&str>;
}

impl Words for str {
    fn words(&self) -> Vec<&str> {
        self.split_whitespace().collect()
    }
}

impl Words for String {
    fn words(&self) -> Vec<&str> {
        self.as_str().words()
    }
}

impl<T: Words + ?Sized> Words for &T {
    fn words(&self) -> Vec<&str> {
        (**self).words()
    }
}

impl<A: Words, B: Words> Words for (A, B) {
    fn words(&self) -> Vec<&str> {
        [self.0.words(), self.1.words()].concat()
    }
}

macro_rules! words_of_lists {
    ($([$($n:tt)*] $list:ty),*) => {
        $(impl$($n)* Words for $list {
            fn words(&self) -> Vec<&str> {
                self.to_vec()
            }
        })*
    };
}

words_of_lists!([] [&str], [<const N: usize>] [&str; N], [] Vec<&str>);

pub trait Parts {
    fn parts(&self) -> Vec<&str>;
}

impl<T: AsRef<str> + ?Sized> Parts for &T {
    fn parts(&self) -> Vec<&str> {
        vec![self.as_ref()]
    }
}

impl Parts for String {
    fn parts(&self) -> Vec<&str> {
        vec![self]
    }
}

impl<const N: usize> Parts for [&str; N] {
    fn parts(&self) -> Vec<&str> {
        self.to_vec()
    }
}

#[track_caller]
pub fn assert_has(text: &str, parts: impl Parts) {
    for part in parts.parts() {
        assert!(text.contains(part), "{part:?} is not in: {text}");
    }
}

pub trait Json {
    fn f64(&self) -> f64;
    fn u64(&self) -> u64;
    fn str(&self) -> &str;
    fn list(&self) -> &Vec<Value>;

    fn texts(&self) -> Vec<&str> {
        self.list().iter().map(Json::str).collect()
    }
}

impl Json for Value {
    #[track_caller]
    fn f64(&self) -> f64 {
        self.as_f64().unwrap_or_else(|| panic!("{self} is not a number"))
    }

    #[track_caller]
    fn u64(&self) -> u64 {
        self.as_u64().unwrap_or_else(|| panic!("{self} is not a whole number"))
    }

    #[track_caller]
    fn str(&self) -> &str {
        self.as_str().unwrap_or_else(|| panic!("{self} is not a text"))
    }

    #[track_caller]
    fn list(&self) -> &Vec<Value> {
        self.as_array().unwrap_or_else(|| panic!("{self} is not a list"))
    }
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
    let usage = err.starts_with("error: ") && err.contains("For more information, try '--help'.\n");
    assert!(ours || usage, "{err:?}");
    assert!(!err.contains("panicked"), "{err}");
}

/// Returns lines `GAME RESULT FEN` of [`positions`], twenty in a game.
pub fn game_lines(count: usize) -> String {
    let all = positions(count).into_iter().enumerate();
    all.map(|(n, (board, turn, result))| format!("{} {result} {board} {turn} - - 0 1\n", n / 20)).collect()
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

/// Writes 150 games with the same moves, won, lost and drawn; the last moves are only in those that were not lost.
pub fn write_games(bench: &Bench, name: &str) {
    let short = &GAME[..GAME.find(" 6.").unwrap()];
    let games = [pgn("", short, "0-1"), pgn("", GAME, "1-0"), pgn("", GAME, "1/2-1/2")];
    bench.write(name, games.concat().repeat(50));
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
