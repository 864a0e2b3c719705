//! `docs/road.md`, `docs/from-source.md` and the beginning of `docs/patch.md`, run as written.

use super::tutorial::{Page, commands};
use crate::common::prelude::*;

const ENGINES: usize = 2;
const GAIN: f64 = 50.0;

#[test]
#[ignore = "full"]
#[cfg(unix)]
fn tuning_walkthrough_gains_strength() {
    if !["g++", "gcc"].iter().all(|compiler| requirement::program(compiler)) {
        return;
    }
    let page = Page::open("docs/road.md");
    let (mut verified, mut matches) = (0, 0);
    for command in commands(&page.text) {
        let command = match command.strip_prefix("gputexel match") {
            Some(rest) => format!("gputexel --json match{rest}"),
            None => command.to_string(),
        };
        let printed = page.run(&command);
        if command.starts_with("gputexel verify") {
            assert_has(&printed, "verified    the engine now evaluates with the tuned values");
            verified += 1;
        }
        if command.starts_with("gputexel --json match") {
            let found: Value = serde_json::from_str(&printed).unwrap();
            assert!(found["elo"].f64() >= GAIN, "{command}: {printed}");
            assert!(found["engines"].list().iter().all(|engine| engine["failures"] == 0), "{printed}");
            matches += 1;
        }
    }
    assert_eq!((verified, matches), (ENGINES, ENGINES));
}

#[test]
#[ignore = "full"]
#[cfg(unix)]
fn marked_numbers_become_variables_and_constants_again() {
    if !requirement::program("gcc") {
        return;
    }
    let page = Page::open("docs/from-source.md");
    let mut printed = String::new();
    for command in commands(&page.text) {
        printed += &page.run(command);
    }
    assert_has(&printed, ["asked/untapered.c: 406 numbers, ", "401 parameters", " of 200 ("]);
}

#[test]
#[ignore = "full"]
#[cfg(unix)]
fn tables_are_patched_and_restored_at_the_start_of_the_page() {
    let page = Page::open("docs/patch.md");
    let (start, _) = page.text.split_once("\n## ").unwrap();
    let printed: Vec<String> = commands(start).into_iter().map(|command| page.run(command)).collect();
    assert_eq!(printed.len(), 5);
    assert_has(&printed[2], "+++ b/");
    let before = std::fs::read(page.path_of("docs/tutorial/psqt.cpp")).unwrap();
    assert_eq!(std::fs::read(page.path_of("src/psqt.cpp")).unwrap(), before);
}
