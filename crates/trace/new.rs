//! Traces the evaluation of an engine. Save it as src/bin/trace.rs, with the output of `gputexel trace --header rust` as
//! src/gputexel.rs of the engine's library, add `[features] record = []` to its Cargo.toml, and adapt the two marked
//! places:
//!
//!     cargo build --release --features record --bin trace
//!     gputexel tune target/release/trace quiet.fens --out tuned
//!
//! Without the feature, it prints what is played, for `gputexel verify --played`.

use engine::gputexel; // 1. the engine's library, with `pub mod gputexel;`
use engine::{Position, evaluate};

fn main() -> std::process::ExitCode {
    // 2. the evaluation of a position, from White's view; an error leaves it out
    gputexel::trace(|fen| Position::from_fen(fen).map(|position| evaluate(&position)))
}
