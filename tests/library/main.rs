//! The library, called as another program would call it: no process of ours, and no device.

#[path = "../common/mod.rs"]
mod common;

mod dataset;
mod dependencies;
mod determinism;
mod examples;
mod files;
mod formats;
mod packages;
mod reach;
mod requirement;
mod soundness;
mod spsa;
mod statistics;
mod structure;

mod chess {
    mod engine;
    mod quiescence;
    mod selection;
}

mod evaluator {
    mod cpu;
    mod imported;
    mod shaders;
}

mod model {
    mod basis;
    mod classical;
}

mod patch {
    mod golden;
    mod interrupted;
}

mod tuning {
    mod conjugate_gradients;
    mod constraints;
    mod coverage;
    mod diagnostics;
    mod penalties;
    mod program_diagnostics;
    mod programs;
    mod real_data;
    mod resume;
    mod rounding;
    mod runs;
    mod strength;
    mod sweep;
    mod uncertainty;
}
