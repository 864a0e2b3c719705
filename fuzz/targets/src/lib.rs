//! Fuzz targets: one function of any bytes for each reader of foreign data, without a fuzzer.
//!
//! A target panics if a guarantee is broken: positions that are neither kept nor counted, text that does not survive a
//! round trip. The program in the folder above hands the functions to libFuzzer;
//! the test `fuzz_inputs` runs them on seeds and on all inputs found by fuzzing. No target starts a program.

mod bundle;
mod data;
mod engines;
mod positions;
mod runs;
pub mod seeds;
mod sources;

use gputexel_chess::formats::Format;

/// Reads any bytes; panics if it finds a fault.
pub type Target = Box<dyn Fn(&[u8]) + Send + Sync>;

#[allow(clippy::type_complexity, reason = "a name and a function")]
const TARGETS: &[(&str, fn(&[u8]))] = &[
    ("compressed", positions::compressed),
    ("checkpoint", runs::checkpoint),
    ("container", data::container),
    ("fen", positions::fen),
    ("match_folder", engines::match_folder),
    ("parameters", data::parameters),
    ("params", sources::params),
    ("patch", sources::patch),
    ("pgn", positions::pgn),
    ("program", data::program),
    ("run_folder", runs::run_folder),
    ("spsa_list", engines::spsa_list),
    ("tables", sources::tables),
    ("text", positions::text),
    ("trace", data::trace),
    ("uci_gui", engines::uci_gui),
];

/// All targets by name: those above, and one for each format of training data.
pub fn targets() -> Vec<(&'static str, Target)> {
    let mut targets: Vec<(_, Target)> =
        TARGETS.iter().map(|(name, target)| (*name, Box::new(target) as Target)).collect();
    targets.extend(Format::training_data().map(|format| {
        (format.name(), Box::new(move |data: &[u8]| positions::training(data, format)) as Target)
    }));
    targets.sort_by_key(|(name, _)| *name);
    targets
}

pub fn target(name: &str) -> Option<Target> {
    targets().into_iter().find(|(known, _)| *known == name).map(|(_, target)| target)
}
