//! `docs/tutorial.md`, run as it is written.

use std::path::Path;
use std::process::Command;

use crate::common::requirement;

/// The lines behind `$ ` in console blocks.
fn commands(page: &str) -> Vec<&str> {
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

#[test]
#[cfg(unix)]
fn all_commands_of_the_tutorial_work() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("docs/tutorial.md")).unwrap();
    let commands = commands(&page);
    assert!(commands.len() > 10, "{commands:?}");
    let compiler = requirement::program("g++");
    let folder = tempfile::tempdir().unwrap();
    for name in ["data", "docs"] {
        std::os::unix::fs::symlink(root.join(name), folder.path().join(name)).unwrap();
    }
    let program = Path::new(env!("CARGO_BIN_EXE_gputexel"));
    let mut path = program.parent().unwrap().as_os_str().to_os_string();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    let (mut scores, mut extracted) = (Vec::new(), String::new());
    for command in commands {
        if !compiler && (command.starts_with("g++") || command.starts_with("engine/")) {
            continue;
        }
        let run =
            Command::new("sh").args(["-c", command]).current_dir(folder.path()).env("PATH", &path).output();
        let output = run.unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command}: {error}");
        if command.starts_with("gputexel extract") {
            extracted = String::from_utf8_lossy(&output.stdout).into_owned();
        }
        if command.starts_with("engine/psqt ") {
            scores.push(String::from_utf8_lossy(&output.stdout).trim().parse::<i32>().unwrap());
        }
    }
    // A pawn on e4 against one on h4.
    if let [center, edge] = scores[..] {
        assert!(center > edge + 5, "{center} {edge}");
    }
    let source = std::fs::read_to_string(folder.path().join("engine/psqt.cpp")).unwrap();
    assert!(source.contains("gputexel: pst") && source.matches("S( 300,  300)").count() < 32, "{source}");
    // What the page quotes of the extraction is what it prints.
    let section = page.split("## 1.").nth(1).unwrap().split("## 2.").next().unwrap();
    let quoted: Vec<&str> = section.lines().filter_map(|line| line.strip_prefix("    ")).collect();
    assert!(quoted.len() > 5);
    for line in quoted {
        assert!(extracted.contains(line), "{line}\n{extracted}");
    }
}
