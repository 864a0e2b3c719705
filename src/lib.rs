//! gputexel tunes the evaluation parameters of chess engines with Texel's method.
//!
//! Most programs need three items: [`extract`] turns games into a [`Dataset`], [`Tuner`] tunes on it, and [`Tuned`]
//! is the result.
//!
//! ```
//! use gputexel::{Tuner, TunerSettings, extract};
//!
//! # let folder = tempfile::tempdir()?;
//! # let games = folder.path().join("positions.epd");
//! # let wins = ["Q7/8/8/8/8/7k/8/K7 w - - c9 \"1-0\";", "q7/8/8/8/8/7K/8/k7 w - - c9 \"0-1\";"];
//! # let rest = ["R7/8/8/8/8/7k/8/K7 w - - c9 \"1/2-1/2\";", "r7/8/8/8/8/7K/8/k7 w - - c9 \"1-0\";"];
//! # std::fs::write(&games, [wins, rest].concat().join("\n") + "\n")?;
//! # let run = folder.path().join("run");
//! let data = extract(&[games])?;
//! let settings = TunerSettings { seed: 1, ..TunerSettings::default() };
//! # let settings = TunerSettings { k: Some(0.8), l2: vec![1e-4], ..settings };
//! let tuned = Tuner::new(&data, settings).run()?;
//! assert!(tuned.loss < tuned.loss_before);
//! tuned.write_to(run)?; // params.json, and tables as source code
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Each part is a crate of its own and a module here. Positions flow from left to right only:
//!
//! ```text
//!   PGN, EPD ──► chess ──► ingest ──► dataset ──► evaluator ──► optimizer
//!                  │     (extraction,    ▲        (CPU, or gpu      ▲
//!                  │        trace)       │        with shaders)     │
//!                  └─────► model ────────┘                          │
//!                  features, bases, parameters                   tuning ──► report
//!                                                                   ▲         ▲
//!                                         tables ◄──────────────── run ───────┘
//!                                    (source code)           (Tuner, Tuned)
//!
//!                     sweep: many runs beside each other; live: the report of a run under way
//!
//!   engine ──► matches ──► spsa        patch: numbers of an engine's sources to options, and back
//!   (plays)    (games)   (by games)    checking: what is wrong with data; files: below all of them
//! ```
//!
//! [`chess`] reads a position and decides whether it is kept, [`model`] turns it into features, [`dataset`] stores it
//! and sorts it into its phase bucket, [`evaluator`] scores it under every member of a population, [`optimizer`] sees
//! only sums, [`tuning`] decides when to stop, [`mod@run`] writes the results to a folder, and [`report`] shows them;
//! [`live`] serves the report of a run in progress.
//!
//! Features that another engine computed come in through [`trace`] instead of [`chess`]; [`tracing`] requests them
//! from the engine.
//!
//! Games show what tuning is worth: [`engine`] plays with tuned parameters, [`mod@matches`] lets engines play each
//! other. [`patch`] takes numbers from any engine's sources to a tuner and writes tuned values back.

pub use gputexel_chess as chess;
pub use gputexel_chess::formats;
pub use gputexel_dataset as dataset;
pub use gputexel_dataset::Dataset;
pub use gputexel_dataset::objective;
pub use gputexel_diagnose as checking;
pub use gputexel_eval as evaluator;
pub use gputexel_eval::Backend;
pub use gputexel_eval::vetting as devices;
pub use gputexel_ingest::trace::import;
pub use gputexel_ingest::{conversion, extraction, trace, tracing};
pub use gputexel_io as io;
pub use gputexel_io::{Error, Result, StopFlag};
pub use gputexel_model as model;
pub use gputexel_optim as optimizer;
pub use gputexel_play as matches;
pub use gputexel_play::Match;
pub use gputexel_play::datagen;
pub use gputexel_play::engine;
pub use gputexel_report as report;
pub use gputexel_report::live;
pub use gputexel_runs as run;
pub use gputexel_runs::sweeps as sweep;
pub use gputexel_runs::{RunEvent, Tuned, Tuner, TunerSettings, extract};
pub use gputexel_source as patch;
pub use gputexel_source::tables;
pub use gputexel_spsa as spsa;
pub use gputexel_spsa::run::SpsaRun as Spsa;
pub use gputexel_tune as tuning;
