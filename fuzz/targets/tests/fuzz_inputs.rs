//! Runs every fuzz target on its seeds, on the inputs found by fuzzing, and on a few mutations of each, without a
//! fuzzer or a sanitizer. This prevents regressions, and keeps the targets working.
//!
//! `GPUTEXEL_BLESS=1` rewrites the seeds that the program generates.

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use gputexel_fuzz_targets::{Target, seeds::seeds, target, targets};

/// Maximum number of mutations of a seed, and their total time for one target.
const MUTATIONS: u64 = 100;
const PATIENCE: Duration = Duration::from_millis(150);

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

/// Returns the inputs of a target in a folder, by name.
fn inputs(folder: &str, name: &str) -> Vec<(String, Vec<u8>)> {
    let folder = root().join(folder).join(name);
    let Ok(entries) = std::fs::read_dir(&folder) else { return Vec::new() };
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.into_iter().map(|path| (path.display().to_string(), std::fs::read(&path).unwrap())).collect()
}

/// Damages a seed in a way that depends only on the number.
fn mutated(seed: &[u8], number: u64) -> Vec<u8> {
    let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ seed.len() as u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as usize % below.max(1)
    };
    let mut bytes = seed.to_vec();
    for _ in 0..1 + random(3) {
        let at = random(bytes.len());
        let length = random(16).min(bytes.len() - at);
        match random(7) {
            0 if !bytes.is_empty() => bytes[at] ^= 1 << random(8),
            1 if !bytes.is_empty() => bytes[at] = [0, 255, b'0', b'9', b'-', b'\n', b'"', b' '][random(8)],
            2 => drop(bytes.drain(at..at + length)),
            3 => {
                let copy = bytes[at..at + length].to_vec();
                let to = random(bytes.len() + 1);
                bytes.splice(to..to, copy);
            }
            4 => bytes.truncate(at),
            5 => {
                let odd: &[&[u8]] =
                    &[b"-1", b"18446744073709551615", b"1e999", b"null", b"[]", b"\xff\xfe", b"\r\n"];
                bytes.splice(at..at + length, odd[random(7)].iter().copied());
            }
            _ => bytes.extend_from_within(at..at + length),
        }
    }
    bytes
}

/// Runs a target; if it fails, reports the input and writes a copy of it to a file.
fn run(target: &Target, name: &str, what: &str, data: &[u8]) {
    let caught = std::panic::catch_unwind(AssertUnwindSafe(|| target(data)));
    if caught.is_err() {
        let place = std::env::temp_dir().join(format!("fuzz-input-{name}-{}", std::process::id()));
        std::fs::write(&place, data).unwrap();
        panic!("target {name} fails on {what}, a copy of which is {}", place.display());
    }
}

#[test]
fn every_target_has_seeds_and_every_folder_a_target() {
    let names: BTreeSet<String> = targets().iter().map(|(name, _)| (*name).to_string()).collect();
    assert_eq!(names.len(), targets().len(), "two targets have one name");
    for folder in ["seeds", "found"] {
        let Ok(entries) = std::fs::read_dir(root().join(folder)) else { continue };
        for entry in entries {
            let name = entry.unwrap().file_name().to_string_lossy().into_owned();
            assert!(name.starts_with('.') || names.contains(&name), "{folder}/{name} is of no target");
        }
    }
    let without: Vec<&String> = names.iter().filter(|name| inputs("seeds", name).is_empty()).collect();
    assert!(without.is_empty(), "targets without seeds: {without:?}");
    let large: Vec<String> = names
        .iter()
        .flat_map(|name| inputs("seeds", name))
        .filter(|(_, bytes)| bytes.len() > 65_536)
        .map(|(path, _)| path)
        .collect();
    assert!(large.is_empty(), "seeds are small: {large:?}");
}

#[test]
fn seeds_and_found_inputs_pass() {
    // Pages are created on threads of their own, whose panics would be missed.
    std::thread::scope(|scope| {
        for half in 0..2 {
            scope.spawn(move || {
                targets().iter().skip(half).step_by(2).for_each(|(name, target)| passes(name, target));
            });
        }
    });
}

fn passes(name: &str, target: &Target) {
    run(target, name, "no bytes at all", b"");
    for (path, bytes) in inputs("found", name) {
        run(target, name, &path, &bytes);
    }
    let seeds = inputs("seeds", name);
    let began = Instant::now();
    for (path, bytes) in &seeds {
        run(target, name, path, bytes);
    }
    for number in 0..MUTATIONS {
        for (path, bytes) in &seeds {
            // The machine may be slow; mutations left out now are tried in a later run.
            if began.elapsed() > PATIENCE {
                return;
            }
            run(target, name, &format!("mutation {number} of {path}"), &mutated(bytes, number));
        }
    }
}

/// Seeds generated by the current program pass as well.
#[test]
fn generated_seeds_pass() {
    let bless = std::env::var_os("GPUTEXEL_BLESS").is_some();
    for (name, file, bytes) in seeds() {
        let target = target(name).unwrap_or_else(|| panic!("no target is named {name}"));
        if bless {
            let folder = root().join("seeds").join(name);
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join(&file), &bytes).unwrap();
        }
        run(&target, name, &file, &bytes);
    }
}
