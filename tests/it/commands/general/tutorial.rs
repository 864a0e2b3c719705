//! `docs/tutorial.md`, run as written.

use crate::common::prelude::*;
use std::process::Command;

/// Returns the lines after `$ ` in console blocks.
pub(super) fn commands(page: &str) -> Vec<&str> {
    let mut inside = false;
    let mut commands = Vec::new();
    for line in page.lines() {
        match line {
            "```console" => inside = true,
            "```" => inside = false,
            line if inside => commands.extend(line.strip_prefix("$ ")),
            _ => {}
        }
    }
    commands
}

/// A page whose commands are run in a folder with `data` and `docs`.
pub(super) struct Page {
    pub text: String,
    folder: tempfile::TempDir,
    path: std::ffi::OsString,
}

#[cfg(unix)]
impl Page {
    pub fn open(name: &str) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(root.join(name)).unwrap();
        let folder = tempfile::tempdir().unwrap();
        for name in ["data", "docs"] {
            std::os::unix::fs::symlink(root.join(name), folder.path().join(name)).unwrap();
        }
        let program = Path::new(env!("CARGO_BIN_EXE_gputexel"));
        let mut path = program.parent().unwrap().as_os_str().to_os_string();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        Self { text, folder, path }
    }

    /// Returns another folder with the same files.
    pub fn copied(&self) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut copy = Command::new("cp");
        copy.arg("-a").arg(self.folder.path().join(".")).arg(folder.path());
        assert!(copy.status().unwrap().success());
        Self { text: self.text.clone(), folder, path: self.path.clone() }
    }

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

    pub fn path_of(&self, name: &str) -> std::path::PathBuf {
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

#[test]
#[ignore = "full"]
#[cfg(unix)]
fn commands_of_the_tutorial_work() {
    let page = Page::open("docs/tutorial.md");
    let commands = commands(&page.text);
    assert!(commands.len() > 10, "{commands:?}");
    let compiler = requirement::program("g++");
    let (mut scores, mut extracted, mut verified) = (Vec::new(), String::new(), String::new());
    for command in commands {
        if !compiler && ["g++", "engine/", "gputexel verify"].iter().any(|what| command.starts_with(what)) {
            continue;
        }
        let printed = page.run(command);
        if command.starts_with("gputexel verify") {
            verified = printed;
        } else if command.starts_with("gputexel extract") && extracted.is_empty() {
            extracted = printed;
        } else if command.starts_with("engine/psqt \"") {
            scores.push(printed.trim().parse::<i32>().unwrap());
        }
    }
    assert!(!compiler || verified.contains("the engine now evaluates with the tuned values"), "{verified}");
    // A pawn on e4 against one on h4.
    if let [center, edge] = scores[..] {
        assert!(center > edge + 5, "{center} {edge}");
    }
    let source = std::fs::read_to_string(page.folder.path().join("engine/psqt.cpp")).unwrap();
    assert!(source.contains("gputexel: pst") && source.matches("S( 300,  300)").count() < 32, "{source}");
    // The extraction prints what the page quotes.
    let section = page.text.split("## 1.").nth(1).unwrap().split("## 2.").next().unwrap();
    let quoted: Vec<&str> = section.lines().filter_map(|line| line.strip_prefix("    ")).collect();
    assert!(quoted.len() > 5);
    for line in quoted {
        assert!(extracted.contains(line), "{line}\n{extracted}");
    }
}
