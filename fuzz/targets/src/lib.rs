//! Fuzz targets: one function for each reader of foreign data.
//!
//! A target takes any bytes. It panics if a guarantee is broken: positions that are neither kept nor counted, text
//! that does not survive a round trip, sums that differ from the reference. No input may make it hang or use
//! unbounded memory. Nothing here needs a fuzzer: the program in the folder above hands the functions to libFuzzer,
//! and the test `fuzz_inputs` runs them on seeds and on all inputs found by fuzzing.
//!
//! Names of programs are parsed, but never started.

mod bundle;
mod containers;
mod datagen;
mod evaluators;
mod extractions;
mod files;
mod games;
mod journals;
mod lines;
mod models;
mod runs;
pub mod seeds;
mod source;
mod sources;
mod spsa;
mod training;

use gputexel_chess::formats::Format;

/// Reads any bytes; panics if it finds a fault.
pub type Target = Box<dyn Fn(&[u8]) + Send + Sync>;

/// The targets but those of training data, by name.
#[allow(clippy::type_complexity, reason = "a name and a function")]
const TARGETS: &[(&str, fn(&[u8]))] = &[
    ("archive", files::archive),
    ("basis", models::basis),
    ("checkpoint", runs::checkpoint),
    ("checkpoint_sealed", runs::checkpoint_sealed),
    ("comparison", runs::comparison),
    ("container", containers::container),
    ("container_sealed", containers::container_sealed),
    ("conversion", extractions::conversion),
    ("detection", games::detection),
    ("engine_list", lines::engine_list),
    ("eval_answer", lines::eval_answer),
    ("evaluator", evaluators::evaluator),
    ("evaluator_products", evaluators::products),
    ("evaluator_program", evaluators::program),
    ("exposed", sources::exposed),
    ("extraction", extractions::extraction),
    ("fen", games::fen),
    ("journal", journals::journal),
    ("king_buckets", models::king_buckets),
    ("labels", games::labels),
    ("layout", containers::layout),
    ("lexer", sources::lexer),
    ("marker_list", sources::marker_list),
    ("match_folder", journals::match_folder),
    ("metrics", runs::metrics),
    ("openings", lines::openings),
    ("parameters", models::parameters),
    ("params", sources::params),
    ("patch", sources::patch),
    ("patch_init", sources::patch_init),
    ("pgn", games::pgn),
    ("program", models::program),
    ("rescore_journal", datagen::rescore_journal),
    ("run_folder", runs::run_folder),
    ("schema", extractions::schema),
    ("selfplay_folder", datagen::selfplay_folder),
    ("spsa_config", spsa::config),
    ("spsa_folder", journals::spsa_folder),
    ("spsa_list", spsa::list),
    ("spsa_state", spsa::state),
    ("sweep_folder", runs::sweep_folder),
    ("table_import", sources::table_import),
    ("tables", sources::tables),
    ("text", games::text),
    ("trace", extractions::trace),
    ("trace_import", extractions::trace_import),
    ("uci_engine", lines::uci_engine),
    ("uci_gui", lines::uci_gui),
    ("words", lines::words),
];

/// Returns all targets, in the order of their names. Each format of training data has one.
pub fn targets() -> Vec<(&'static str, Target)> {
    let mut targets: Vec<(_, Target)> =
        TARGETS.iter().map(|(name, target)| (*name, Box::new(target) as Target)).collect();
    targets.extend(Format::training_data().map(|format| {
        (format.name(), Box::new(move |data: &[u8]| training::training(data, format)) as Target)
    }));
    targets.sort_by_key(|(name, _)| *name);
    targets
}

/// Returns the target with a name.
pub fn target(name: &str) -> Option<Target> {
    targets().into_iter().find(|(known, _)| *known == name).map(|(_, target)| target)
}
