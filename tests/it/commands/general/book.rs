//! README and the pages of `docs`: working links and existing commands.

#[cfg(target_os = "linux")]
use super::stories::Stage;
use crate::common::prelude::*;
use regex::Regex;
use std::process::Command;

/// Maximum size of README in words: it is meant to be read, not searched.
const README_WORDS: usize = 900;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn readme() -> String {
    std::fs::read_to_string(root().join("README.md")).unwrap()
}

pub(super) fn pages() -> BTreeMap<PathBuf, String> {
    let docs = std::fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let docs = docs.filter(|path| path.extension().is_some_and(|ending| ending == "md"));
    let others =
        ["README.md", "CONTRIBUTING.md", "SECURITY.md", "data/README.md"].map(|name| root().join(name));
    docs.chain(others).map(|path| (path.clone(), std::fs::read_to_string(path).unwrap())).collect()
}

/// Splits a page into lines of code, in fences or indented, and the others.
pub(super) fn code_and_text(page: &str) -> (Vec<&str>, Vec<&str>) {
    let (mut code, mut text) = (Vec::new(), Vec::new());
    let (mut fenced, mut blank_before) = (false, true);
    let mut indented = false;
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            continue;
        }
        indented = !fenced && line.starts_with("    ") && (blank_before || indented);
        blank_before = line.trim().is_empty();
        if fenced || indented { code.push(line) } else { text.push(line) }
    }
    (code, text)
}

fn anchor(heading: &str) -> String {
    let plain = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = plain.chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[test]
fn links_are_valid() {
    let link = Regex::new(r"\]\(([^)\s]+)\)").unwrap();
    let pages = pages();
    let mut seen = 0;
    for (path, page) in &pages {
        for line in code_and_text(page).1 {
            for target in link.captures_iter(line).map(|found| found.get(1).unwrap().as_str()) {
                if target.contains("://") {
                    continue;
                }
                seen += 1;
                let (file, place) = target.split_once('#').unwrap_or((target, ""));
                let file = if file.is_empty() { path.clone() } else { path.parent().unwrap().join(file) };
                let file = file.canonicalize().unwrap_or_else(|_| panic!("{}: {target}", path.display()));
                if !place.is_empty() {
                    let text = std::fs::read_to_string(&file).unwrap();
                    let headings = code_and_text(&text).1.into_iter().filter(|line| line.starts_with('#'));
                    assert!(headings.map(anchor).any(|own| own == place), "{}: {target}", path.display());
                }
            }
        }
    }
    assert!(seen > 50, "only {seen} links were found");
}

#[test]
fn contents_list_every_page_once() {
    let contents = std::fs::read_to_string(root().join("docs/SUMMARY.md")).unwrap();
    for path in pages().keys().filter(|path| path.parent().unwrap().ends_with("docs")) {
        let name = path.file_name().unwrap().to_str().unwrap();
        let count = contents.matches(&format!("({name})")).count();
        assert_eq!(count, usize::from(name != "SUMMARY.md"), "{name}");
    }
}

#[test]
fn readme_is_short_and_has_a_picture() {
    let text = readme();
    let words = text.split_whitespace().count();
    assert!(words <= README_WORDS, "{words} words");
    assert!(text.contains("!["));
}

fn section<'a>(page: &'a str, heading: &str) -> &'a str {
    let (_, section) = page.split_once(&format!("## {heading}\n")).expect(heading);
    section.split("\n## ").next().unwrap()
}

fn block<'a>(text: &'a str, language: &str) -> &'a str {
    let (_, block) = text.split_once(&format!("```{language}\n")).expect(language);
    block.split("```").next().unwrap()
}

#[test]
#[ignore = "full"]
#[cfg(target_os = "linux")]
fn the_engine_of_readme_is_tuned_patched_and_verified() {
    if !requirement::program("g++") {
        return;
    }
    let page = Stage::new();
    let readme = readme();
    let text = section(&readme, "Your engine");
    std::fs::write(page.path_of("eval.cpp"), block(text, "cpp")).unwrap();
    let printed: Vec<String> = block(text, "sh").lines().map(|command| page.run(command)).collect();
    assert_has(printed.last().unwrap(), "the engine now evaluates with the tuned values");
    let source = std::fs::read_to_string(page.path_of("eval.cpp")).unwrap();
    let first = |table: &str, index: usize| {
        let (_, numbers) = source.split_once(&format!("{table}] = {{")).unwrap();
        numbers.split("S(").nth(index + 1).unwrap().split(',').next().unwrap().to_string()
    };
    let (pawn, seventh) = (first("PIECE[5", 0), first("RANK[8", 6));
    assert_has(
        text,
        format!(
            "A pawn is worth {pawn} centipawns in the middlegame now, one on the seventh rank {seventh} more"
        )
        .as_str(),
    );
}

#[test]
#[ignore = "full"]
#[cfg(target_os = "linux")]
fn the_three_commands_of_readme_work() {
    let mut page = Stage::new();
    page.replace("xdg-open", "#!/bin/sh\necho \"$1\" > opened.tmp && mv opened.tmp opened\n");
    let commands: Vec<String> =
        block(section(&readme(), "Tables for a new engine"), "sh").lines().map(str::to_string).collect();
    assert_eq!(commands.len(), 3, "{commands:?}");
    let printed = page.run(&commands[0]);
    assert!(printed.contains("report.html"), "{printed}");
    page.run(&commands[1]);
    let start = std::time::Instant::now();
    while !page.path_of("opened").exists() {
        assert!(start.elapsed().as_secs() < 30, "no browser was asked for");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let opened = std::fs::read_to_string(page.path_of("opened")).unwrap();
    assert!(opened.trim().ends_with("/first/report.html"), "{opened}");
    // The picture at the top is a section of such a page.
    let report = std::fs::read_to_string(page.path_of("first/report.html")).unwrap();
    let script = std::fs::read_to_string(root().join("scripts/pictures")).unwrap();
    let shown = Regex::new(r"take tune \S+ (\S+)").unwrap();
    let shown = &shown.captures(&script).unwrap()[1];
    assert!(report.contains(&format!("id=\"{shown}\"")), "{shown}");
    let printed = page.run(&commands[2].replace("--games 2000", "--games 400"));
    let elo = Regex::new(r"(?m)^Elo +([-+]\d+)").unwrap();
    let elo: i32 = elo.captures(&printed).unwrap()[1].parse().unwrap();
    assert!(elo > -20, "{printed}");
}

#[test]
fn the_program_of_readme_is_that_of_the_example() {
    let example = std::fs::read_to_string(root().join("examples/tune_pgn.rs")).unwrap();
    for (path, page) in pages() {
        // Programs that tune on a file of games, as the example does with its arguments.
        let lines: Vec<&str> = page.lines().map(str::trim).filter(|line| line.starts_with("let ")).collect();
        let tunes = lines.iter().any(|line| line.contains("Tuner::")) && lines.len() == 3;
        assert!(
            !tunes || lines[1..].iter().all(|line| example.contains(line)),
            "{}: {lines:?}",
            path.display()
        );
        assert!(tunes || path != root().join("README.md"), "{lines:?}");
    }
}

/// Returns the words of a command of this program; `None` for other lines and for those with omissions.
pub(super) fn words(line: &str) -> Option<Vec<String>> {
    let line = line.trim_start();
    let line = line.strip_prefix("$ ").unwrap_or(line);
    let line = line.strip_prefix("gputexel ")?;
    // Comments, explanations in a second column, and shell operators after the command.
    let end = ["   ", "  #", " | ", " > ", " >> ", " < ", " && ", " # "]
        .iter()
        .filter_map(|mark| line.find(mark))
        .min();
    let line = line[..end.unwrap_or(line.len())].trim_end();
    let is_example = ["...", "…", " COMMAND", "\\", "["].iter().any(|mark| line.contains(mark));
    if is_example { None } else { Some(shlex::split(line).unwrap_or_else(|| panic!("{line}: quotes"))) }
}

#[test]
fn commands_on_all_pages_exist() {
    let mut seen = 0;
    for (path, page) in pages() {
        for line in code_and_text(&page).0 {
            let Some(words) = words(line) else { continue };
            seen += 1;
            // Flags are parsed until help is requested; nothing is run.
            let mut program = Command::new(env!("CARGO_BIN_EXE_gputexel"));
            let out = program.args(&words).arg("--help").output().unwrap();
            let error = String::from_utf8_lossy(&out.stderr);
            assert!(out.status.success(), "{}: {line}: {error}", path.display());
        }
    }
    assert!(seen > 100, "only {seen} commands were found");
}
