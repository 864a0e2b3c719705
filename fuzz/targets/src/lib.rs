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
mod http;
mod journals;
mod lines;
mod models;
mod runs;
pub mod seeds;
mod source;
mod sources;
mod spsa;
mod training;

/// Reads any bytes; panics if it finds a fault.
pub type Target = fn(&[u8]);

/// All targets by name.
pub const TARGETS: &[(&str, Target)] = &[
    ("archive", files::archive),
    ("basis", models::basis),
    ("binpack", training::binpack),
    ("bulletformat", training::bulletformat),
    ("checkpoint", runs::checkpoint),
    ("checkpoint_sealed", runs::checkpoint_sealed),
    ("cluster_answer", lines::cluster_answer),
    ("cluster_config", lines::cluster_config),
    ("cluster_work", lines::cluster_work),
    ("comparison", runs::comparison),
    ("container", containers::container),
    ("container_sealed", containers::container_sealed),
    ("conversion", extractions::conversion),
    ("detection", games::detection),
    ("engine_list", lines::engine_list),
    ("evaluator", evaluators::evaluator),
    ("evaluator_products", evaluators::products),
    ("evaluator_program", evaluators::program),
    ("extraction", extractions::extraction),
    ("extraction_journal", journals::extraction_journal),
    ("fen", games::fen),
    ("http", http::http),
    ("journal", journals::journal),
    ("king_buckets", models::king_buckets),
    ("labels", games::labels),
    ("layout", containers::layout),
    ("lexer", sources::lexer),
    ("lichess", training::lichess),
    ("marlinformat", training::marlinformat),
    ("match_folder", journals::match_folder),
    ("metrics", runs::metrics),
    ("openings", lines::openings),
    ("parameters", models::parameters),
    ("params", sources::params),
    ("patch", sources::patch),
    ("patch_init", sources::patch_init),
    ("pgn", games::pgn),
    ("pgn_letters", games::pgn_letters),
    ("plain", training::plain),
    ("program", models::program),
    ("rescore_journal", datagen::rescore_journal),
    ("run_folder", runs::run_folder),
    ("schema", extractions::schema),
    ("selfplay_folder", datagen::selfplay_folder),
    ("spsa_config", spsa::config),
    ("spsa_digest", spsa::digest),
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
    ("viriformat", training::viriformat),
    ("wdl_constants", models::wdl_constants),
    ("words", lines::words),
    ("xboard_engine", lines::xboard_engine),
];

/// Returns the target with a name.
pub fn target(name: &str) -> Option<Target> {
    TARGETS.iter().find(|(known, _)| *known == name).map(|(_, target)| *target)
}
