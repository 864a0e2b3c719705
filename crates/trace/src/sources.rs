//! The files that an engine needs to trace itself, for the program that prints them.

/// The header for C++.
pub const HEADER: &str = include_str!("../gputexel.hpp");
/// A main function in C++ that traces positions.
pub const NEW_CPP: &str = include_str!("../new.cpp");
/// A main function in Rust that traces positions.
pub const NEW_RUST: &str = include_str!("../new.rs");

/// Returns this crate as one module.
pub fn module() -> String {
    one_file(include_str!("lib.rs"), "")
}

/// Lines of the crate that concern this file.
const OWN: [&str; 2] = ["#[cfg(feature = \"sources\")]", "pub mod sources;"];
/// The files of the crate and the modules that they are.
const MODULES: [(&str, &str); 5] = [
    ("lines", include_str!("lines.rs")),
    ("play", include_str!("play.rs")),
    ("record", include_str!("record.rs")),
    ("record/tape", include_str!("record/tape.rs")),
    ("record/trace", include_str!("record/trace.rs")),
];

/// Returns a file with the modules that it declares in it, so that it needs no others.
fn one_file(text: &str, folder: &str) -> String {
    let mut out = String::new();
    for line in text.lines().filter(|line| !OWN.contains(line)) {
        let declared = line.strip_prefix("mod ").and_then(|rest| rest.strip_suffix(';'));
        let path = declared.map(|name| format!("{folder}{name}"));
        match MODULES.iter().find(|(name, _)| Some(*name) == path.as_deref()) {
            Some((name, text)) => {
                let inside = one_file(text, &format!("{name}/"));
                out += &format!("mod {} {{\n{inside}}}\n", declared.unwrap_or_default());
            }
            None => out += &format!("{line}\n"),
        }
    }
    out
}
