//! Pages of the book that tell a story in `console` blocks, run as written: each page in a folder of its own with `data`
//! and `docs`.
#![cfg(unix)]

use super::book::pages;
use crate::common::prelude::*;
use std::process::Command;

/// Elo that tuned engines gain at least in matches of 100 games and more.
const GAIN: f64 = 50.0;

/// Returns the lines after `$ ` in console blocks; `true` for those that the page shows to fail.
pub(super) fn commands(page: &str) -> Vec<(&str, bool)> {
    let mut inside = false;
    let mut commands: Vec<(&str, bool)> = Vec::new();
    for line in page.lines() {
        match line {
            "```console" => inside = true,
            "```" => inside = false,
            line if inside => match (line.strip_prefix("$ "), commands.last_mut()) {
                (Some(command), _) => commands.push((command, false)),
                (None, Some(last)) if line.starts_with("gputexel: ") => {
                    last.1 |= !line.starts_with("gputexel: warning: ");
                }
                _ => {}
            },
            _ => {}
        }
    }
    commands
}

/// A folder in which the commands of a page are run.
pub(super) struct Stage {
    folder: TempDir,
    path: std::ffi::OsString,
}

impl Stage {
    pub fn new() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let folder = tempfile::tempdir().unwrap();
        for name in ["data", "docs"] {
            std::os::unix::fs::symlink(root.join(name), folder.path().join(name)).unwrap();
        }
        let program = Path::new(env!("CARGO_BIN_EXE_gputexel"));
        let mut path = program.parent().unwrap().as_os_str().to_os_string();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        Self { folder, path }
    }

    pub fn copied(&self) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut copy = Command::new("cp");
        copy.arg("-a").arg(self.folder.path().join(".")).arg(folder.path());
        assert!(copy.status().unwrap().success());
        Self { folder, path: self.path.clone() }
    }

    /// Puts a script before the programs of the path.
    pub fn replace(&mut self, program: &str, script: &str) {
        use std::os::unix::fs::PermissionsExt;
        let bin = self.folder.path().join("bin");
        std::fs::create_dir_all(&bin).unwrap();
        std::fs::write(bin.join(program), script).unwrap();
        std::fs::set_permissions(bin.join(program), std::fs::Permissions::from_mode(0o755)).unwrap();
        let mut path = bin.into_os_string();
        path.push(":");
        path.push(&self.path);
        self.path = path;
    }

    pub fn path_of(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn run(&self, command: &str) -> String {
        self.attempt(command).unwrap_or_else(|error| panic!("{command}: {error}"))
    }

    pub fn attempt(&self, command: &str) -> Result<String, String> {
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).current_dir(self.folder.path()).env("PATH", &self.path);
        let output = shell.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
    }
}

/// Runs a command; engines that were tuned must use their values, and gain by them. Returns what it prints, of a match
/// the score.
fn tell(stage: &Stage, command: &str) -> String {
    match command.strip_prefix("gputexel match ") {
        None => {
            let printed = stage.run(command);
            if command.starts_with("gputexel verify ") {
                assert_has(&printed, ["verified ", "with the tuned values"]);
            }
            printed
        }
        Some(sides) => {
            let found: Value =
                serde_json::from_str(&stage.run(&format!("gputexel --json match {sides}"))).unwrap();
            assert!(found["games"].u64() < 100 || found["elo"].f64() >= GAIN, "{command}: {found}");
            assert!(found["engines"].list().iter().all(|engine| engine["failures"] == 0), "{found}");
            let (points, games) = (found["points"].f64(), found["games"].f64());
            format!("score       {points:.1} of {games} ({:.2} %)", 100.0 * points / games)
        }
    }
}

#[test]
#[ignore = "full"]
fn commands_of_console_blocks_work() {
    if !["g++", "gcc"].iter().all(|compiler| requirement::program(compiler)) {
        return;
    }
    let stories: Vec<(PathBuf, String)> =
        pages().into_iter().filter(|(_, page)| !commands(page).is_empty()).collect();
    assert!(stories.len() >= 3, "{stories:?}");
    std::thread::scope(|scope| {
        for (path, page) in &stories {
            scope.spawn(move || {
                let stage = Stage::new();
                let mut printed = String::new();
                for (command, fails) in commands(page) {
                    eprintln!("{}: {command}", path.display());
                    match fails {
                        true => drop(stage.attempt(command).expect_err(command)),
                        false => printed += &tell(&stage, command),
                    }
                }
                // Other pages shorten what is printed.
                let shown = page.lines().filter_map(|line| line.strip_prefix("    "));
                shown.filter(|_| path.ends_with("road.md")).for_each(|line| assert_has(&printed, line));
            });
        }
    });
}
