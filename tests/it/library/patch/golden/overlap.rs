//! Overlapping contexts, and sources that are not UTF-8: `apply` restores what `tune` replaces.

use super::{Tree, plant, refused, run, tree};
use crate::common::prelude::*;
use gputexel::patch::{BlockState, check};
use proptest::prelude::*;

/// A block: its first line, its number of lines, which of them have their number marked, and whether an `#add`
/// replaces them.
type Part = (usize, usize, u8, bool);

fn parts() -> impl Strategy<Value = Vec<Part>> {
    proptest::collection::vec((0..8usize, 1..4usize, any::<u8>(), proptest::bool::weighted(0.2)), 1..5)
}

/// Formats a block for the `.tune` file; plain patches, which have no name, duplicate their last line.
fn block(name: usize, (first, count, marked, added): Part, plain: bool) -> String {
    let lines = first..(first + count).min(9);
    let mut text = if plain { "#context\n".to_string() } else { format!("#context c{name}\n") };
    let mut marks = 0;
    for line in lines.clone() {
        let mark = !plain && (marked >> (line - first)) & 1 == 1 && line < 8;
        marks += usize::from(mark);
        text += &match line {
            8 => "// %%O%%\n".to_string(),
            _ => format!("  v{line} = {line}{};\n", if mark { "@" } else { "" }),
        };
    }
    if plain {
        text += "#add\n";
        lines.clone().for_each(|line| {
            text += &if line == 8 { "// %%O%%\n".into() } else { format!("  v{line} = {line};\n") }
        });
        text += &format!("  w{name} = 7;\n");
    } else if added && marks > 0 {
        text += &format!("#add\n  f{name}({});\n", vec!["@"; marks].join(", "));
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn overlapping_blocks_are_refused_or_restored(
        parts in parts(),
        plain in proptest::collection::vec(proptest::bool::weighted(0.2), 5),
        head in prop_oneof![Just(&b""[..]), Just(&b"// \x83\x7d\x81\x5b\x87\x90\n"[..]), Just(&b"// Gr\xf6\xdfe \xe9@\n"[..])],
    ) {
        let mut source = head.to_vec();
        source.extend_from_slice(b"// %%D%%\n");
        (0..8).for_each(|line| source.extend_from_slice(format!("  v{line} = {line};\n").as_bytes()));
        source.extend_from_slice(b"// %%O%%\nend\n");
        let mut tune = "#set file s.cpp\n#set declaration %%D%%\n#set options %%O%%\n".to_string();
        for (i, part) in parts.iter().enumerate() {
            tune += &block(i, *part, plain[i]);
        }
        let files = Tree::from([
            ("case.tune".into(), tune.clone().into_bytes()),
            ("source/s.cpp".into(), source.clone()),
        ]);
        let folder = plant(&files);
        let checked = || check(&folder.path().join("case.tune"), &folder.path().join("source")).unwrap();
        let fine = checked().failures() == 0;
        let result = run(folder.path(), "tune");
        prop_assert_eq!(fine, result.is_ok(), "check and tune disagree: {:?}\n{}\n{:#?}", result, tune, checked());
        if result.is_err() {
            refused(result);
            prop_assert_eq!(tree(folder.path()), files);
            return Ok(());
        }
        prop_assert_eq!(checked().failures(), 0, "{}\n{:#?}", tune, checked());
        run(folder.path(), "apply").map_err(|e| TestCaseError::fail(format!("{e}\n{tune}")))?;
        let report = checked();
        prop_assert_eq!(report.failures(), 0, "{}\n{:#?}", tune, report);
        let named = report.blocks.iter().filter(|block| !block.name.is_empty());
        prop_assert!(named.clone().all(|block| block.state == BlockState::Ready), "{:#?}", report);
        let after = tree(folder.path())[Path::new("source/s.cpp")].clone();
        prop_assert!(after.starts_with(head), "{}", tune);
        if !plain[..parts.len()].contains(&true) && parts.iter().all(|part| !part.3) {
            prop_assert_eq!(String::from_utf8_lossy(&after), String::from_utf8_lossy(&source), "{}", tune);
            prop_assert_eq!(after, source);
        }
        // If there are only patches, nothing is left to redo.
        if named.count() == 0 {
            return Ok(());
        }
        run(folder.path(), "tune").map_err(|e| TestCaseError::fail(format!("again: {e}\n{tune}")))?;
    }
}
