//! Integration tests, in one executable: `cargo test --test it`, with a filter such as `engines::` for a part.
//!
//! Tests that take long or need rare programs belong to the full tier: `#[ignore = "full"]`, run by `scripts/test
//! full` or `cargo test -- --include-ignored`.

mod common;

mod commands;
mod engines;
mod gpu;
mod library;
#[cfg(all(feature = "mpi", unix))]
mod mpi;
mod shaders;
