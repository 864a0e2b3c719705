//! gputexel tunes the evaluation parameters of chess engines with Texel's method.
//!
//! The way of a position: [`chess`] reads it and decides whether it is kept, [`model`] turns it
//! into features, [`dataset`] stores it and sorts it into its phase bucket, [`evaluator`] scores
//! it under every member of a population, [`optimizer`] sees only sums, [`tuning`] decides to go
//! on, and [`report`] shows what came of it. Nothing flows back.
//!
//! Features that another engine computed come in through [`trace`] instead of [`chess`].
//!
//! What tuning is worth shows in games: [`engine`] plays with tuned parameters, [`mod@matches`] lets
//! engines play each other. [`patch`] brings the numbers of any engine's sources to a tuner, and back.

pub use gputexel_checking as checking;
pub use gputexel_chess as chess;
pub use gputexel_dataset as dataset;
pub use gputexel_dataset::objective;
pub use gputexel_engine as engine;
pub use gputexel_evaluator as evaluator;
pub use gputexel_files::{
    Advice, AppendFile, AtomicFile, Error, RECORD_BYTES, Remedy, Result, SETTINGS_BYTES, counted,
    folder_lock, printable, read_limited, read_whole, read_whole_text, remove_until_rewritten, shown,
    write_atomically,
};
pub use gputexel_gpu as gpu;
pub use gputexel_ingest::{extraction, trace};
pub use gputexel_matches as matches;
pub use gputexel_model as model;
pub use gputexel_optimizer as optimizer;
pub use gputexel_patch as patch;
pub use gputexel_report as report;
pub use gputexel_spsa as spsa;
pub use gputexel_tables as tables;
pub use gputexel_tuning as tuning;
