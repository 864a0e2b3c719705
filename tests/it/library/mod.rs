//! The library, called as by another program: no child processes, and no device.

mod dataset;
mod determinism;
mod device_positions;
mod examples;
mod files;
mod formats;
mod nonlinear;
mod packages;
mod reach;
mod soundness;
mod spsa;
mod spsa_runs;
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
    mod programs;
    mod shaders;
}

mod model {
    mod basis;
    mod classical;
    mod full;
    mod penalties;
    mod program;
}

mod patch {
    mod golden;
    mod interrupted;
}

mod tuning {
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
