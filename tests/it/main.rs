//! Integration tests, in one executable: `cargo test --test it`, with a filter such as `engines::` for a part.
//!
//! Tests that take long or need rare programs belong to the full tier: `#[ignore = "full"]`, run by `scripts/test
//! full` or `cargo test -- --include-ignored`.

mod common;

mod commands;
mod engines;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod faults;
mod gpu;
mod library;
#[cfg(all(feature = "mpi", unix))]
mod mpi;
mod shaders;
#[cfg(target_os = "linux")]
mod soak;
