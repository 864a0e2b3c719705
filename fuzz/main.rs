//! libFuzzer with one of the targets, selected by `GPUTEXEL_FUZZ_TARGET`. One program for all, since linking takes
//! longer than fuzzing for a few seconds.
#![no_main]

use std::sync::LazyLock;

use gputexel_fuzz_targets::{Target, target, targets};
use libfuzzer_sys::fuzz_target;

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let name = std::env::var("GPUTEXEL_FUZZ_TARGET").unwrap_or_default();
    if name == "list" {
        targets().iter().for_each(|(name, _)| println!("{name}"));
        std::process::exit(0)
    }
    target(&name).unwrap_or_else(|| {
        eprintln!("GPUTEXEL_FUZZ_TARGET names no target: '{name}'");
        std::process::exit(2)
    })
});

fuzz_target!(init: { LazyLock::force(&TARGET); }, |data: &[u8]| TARGET(data));
