//! Results that are bit-identical on every system: this test runs on all of them, and compares with recorded bits.

use crate::common::prelude::*;
use gputexel::evaluator::exact::exact_loss;

/// Exact losses of the games: f64 sums with a fixed order and the project's own functions.
#[test]
fn exact_losses_are_bit_identical_on_every_processor() {
    let sample = dataset::read(&extracted_games()).unwrap();
    let features = sample.feature_count();
    // Whole centipawns that differ from square to square.
    let theta: Vec<f64> = (0..2 * features).map(|i| (i * 7919 % 401) as f64 - 200.0).collect();
    let which: Vec<u32> = (0..sample.len() as u32).collect();
    let bits = [LossKind::Squared, LossKind::CrossEntropy]
        .map(|loss| exact_loss(&sample, Objective { k: 0.8125, loss }, &theta, &which).to_bits());
    assert_eq!(bits, [0x3fd1_3539_69f3_4941, 0x3feb_eba0_0482_32a1], "{bits:#x?}");
}

#[test]
fn promises_name_tests_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut sources = String::new();
    let mut folders = vec![root.join("tests"), root.join("crates")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                sources += &std::fs::read_to_string(path).unwrap();
            }
        }
    }
    // Whatever page has a table of promises and the tests that hold them.
    let docs = std::fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let pages = docs.filter_map(|path| std::fs::read_to_string(path).ok());
    let page =
        pages.into_iter().find(|page| page.contains("| tests that hold it |")).expect("a page of promises");
    let table = page.lines().skip_while(|line| !line.ends_with("| tests that hold it |"));
    let rows = table.take_while(|line| line.starts_with("| ")).skip(2);
    let mut names = 0;
    for row in rows {
        let held = row.trim_end_matches(" |").rsplit(" | ").next().unwrap();
        let tests: Vec<&str> = held.split('`').skip(1).step_by(2).collect();
        assert!(!tests.is_empty(), "no test holds: {row}");
        for test in tests {
            let is_there = [format!("\nfn {test}()"), format!("\n    {test} \"")]
                .iter()
                .any(|name| sources.contains(name));
            assert!(is_there, "no test is named {test}");
            names += 1;
        }
    }
    assert!(names > 20, "{names}");
}
