//! The program `gputexel` as users run it: started as a process, and judged by its output and files.

mod import;
mod patch;
mod snapshots;
mod trace;

mod general {
    mod bad_input;
    mod bench;
    mod book;
    mod command_line;
    mod determinism;
    mod devices;
    mod json;
    mod limits;
    mod outputs;
    mod pages;
    #[cfg(unix)]
    mod release;
    mod shards;
    mod stories;
    mod terminal;
}

mod export {
    mod compiled;
    mod evaluation;
    mod round_trip;
}

mod extract {
    mod check;
    mod classical;
    mod comments;
    mod conversion;
    mod games;
    mod info;
    mod positions;
    mod refusals;
    mod scores;
    mod selection;
    mod training_text;
}

mod report {
    mod compare;
    mod matches;
    mod pictures;
    mod program;
    mod run;
    mod serve;
    mod strength;
}

mod spsa {
    mod lists;
    mod run;
    mod simulate;
}

mod tune {
    mod basis;
    mod blend;
    mod constraints;
    mod endings;
    mod kills;
    mod pso;
    mod resume;
    mod rounding;
    mod runs;
    mod so_far;
    mod strength;
    mod summary;
    mod sweep;
    mod uncertainty;
}
