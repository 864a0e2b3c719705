//! Parameters and tables in the source code of engines: found, patched and exported.

#![allow(missing_docs, reason = "internal crate; the library's front door is documented")]

mod apply;
mod blocks;
mod characters;
mod check;
mod files;
mod languages;
mod layout;
pub mod literals;
mod names;
mod nearest;
mod number;
mod order;
mod pattern;
mod plan;
mod sources;
mod state;
pub mod tables;
mod transaction;
mod tune;
pub mod variables;

use std::path::Path;

pub use apply::plan_apply;
pub use check::{BlockCheck, BlockState, CheckReport, check};
use languages::lexer;
pub use nearest::Near;
pub use plan::{ParamsSummary, PatchPlan, PlannedBlock, PlannedValue, params_path};
pub use sources::Change;
pub use transaction::{Undone, Written, refuse_interrupted, undo, write, write_observed};
pub use tune::plan_tune;

pub use gputexel_io::params::{ParamEntry, ParamKind, ParamsFile};
use gputexel_io::{Error, Result};

fn read_text(path: &Path) -> Result<String> {
    let bytes = files::read_file(path)?;
    Ok(utf8(&bytes, path)?.to_string())
}

pub fn utf8<'a>(bytes: &'a [u8], path: &Path) -> Result<&'a str> {
    std::str::from_utf8(bytes).map_err(|e| {
        let before = &bytes[..e.valid_up_to()];
        let line = 1 + memchr::memchr_iter(b'\n', before).count() as u64;
        let start = memchr::memrchr(b'\n', before).map_or(0, |at| at + 1);
        let column = 1 + String::from_utf8_lossy(&before[start..]).chars().count();
        let byte = bytes[e.valid_up_to()];
        Error::line(path, line, format!("column {column}: byte 0x{byte:02X} is not UTF-8"))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::blocks::TuneFile;
    use super::names::Template;
    use super::pattern::Pattern;
    use super::*;

    fn odd_text() -> impl Strategy<Value = String> {
        let part = prop_oneof![
            Just("#"),
            Just("@"),
            Just("-"),
            Just("1"),
            Just(".5"),
            Just("１"),
            Just("a_1"),
            Just(" "),
            Just("\n"),
            Just("\r"),
            Just("\u{3000}"),
            Just("//"),
            Just("é"),
            Just("("),
            Just(")"),
            Just("\n#set file "),
            Just("\n#context "),
            Just("\n#add "),
            Just("\n#param "),
            Just("int"),
            Just(","),
            Just("[[NOT USED]]"),
            Just("{"),
            Just("}"),
            Just("="),
            Just("S(1, 2)"),
            Just("\u{feff}"),
            Just("0.25"),
            Just("'"),
            Just("\""),
        ];
        proptest::collection::vec(part, 0..60).prop_map(|parts| parts.concat())
    }

    proptest! {
        #[test]
        fn nothing_panics(tune in odd_text(), source in odd_text()) {
            let path = Path::new("x");
            let _ = ParamsFile::parse(&source, path).map(|file| file.text());
            let _ = TuneFile::parse(&tune, path);
            for file in ["x.cpp", "x.rs"] {
                let _ = super::literals::literals(&source, super::languages::Language::of(Path::new(file)));
            }
            let Ok(template) = Template::parse(&tune, "p") else { return Ok(()) };
            let _ = nearest::nearest(&source, &template);
            for template in [template.named(), template] {
                let pattern = Pattern::new(&template);
                let mut end = 0;
                for found in pattern.find_all(&source) {
                    prop_assert!(found.range.start >= end && source.get(found.range.clone()).is_some());
                    end = found.range.end;
                }
            }
        }
    }
}
