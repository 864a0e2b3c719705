//! Runs every fuzz target on its seeds, on the inputs found by fuzzing, and on a few mutations of each, without a
//! fuzzer or a sanitizer.
//!
//! `GPUTEXEL_BLESS=1` rewrites the seeds that the program generates.

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

fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// Returns the inputs of a target in a folder, by name.
fn inputs(folder: &str, name: &str) -> Vec<(String, Vec<u8>)> {
    let paths = files(&root().join(folder).join(name)).into_iter();
    paths.map(|path| (path.display().to_string(), std::fs::read(&path).unwrap())).collect()
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
        match random(6) {
            0 if !bytes.is_empty() => bytes[at] ^= 1 << random(8),
            1 => drop(bytes.drain(at..at + length)),
            2 => {
                let copy = bytes[at..at + length].to_vec();
                let to = random(bytes.len() + 1);
                bytes.splice(to..to, copy);
            }
            3 => bytes.truncate(at),
            4 => {
                let odd: &[&[u8]] =
                    &[b"-1", b"18446744073709551615", b"1e999", b"null", b"[]", b"\xff\xfe", b"\r\n"];
                bytes.splice(at..at + length, odd[random(7)].iter().copied());
            }
            _ => bytes.extend_from_within(at..at + length),
        }
    }
    bytes
}

/// Runs a target; if it fails, writes the input to a file.
fn run(target: &Target, name: &str, what: &str, data: &[u8]) {
    if std::panic::catch_unwind(AssertUnwindSafe(|| target(data))).is_err() {
        let place = std::env::temp_dir().join(format!("fuzz-input-{name}-{}", std::process::id()));
        std::fs::write(&place, data).unwrap();
        panic!("target {name} fails on {what}, a copy of which is {}", place.display());
    }
}

#[test]
fn every_target_has_small_seeds_and_every_folder_a_target() {
    for (name, _) in targets() {
        let seeds = inputs("seeds", name);
        assert!(!seeds.is_empty() && seeds.iter().all(|(_, bytes)| bytes.len() <= 65_536), "{name}");
    }
    for folder in files(&root().join("seeds")).into_iter().chain(files(&root().join("found"))) {
        let name = folder.file_name().unwrap().to_str().unwrap();
        assert!(name.starts_with('.') || target(name).is_some(), "{} is of no target", folder.display());
    }
}

#[test]
fn seeds_and_found_inputs_pass() {
    for (name, target) in targets() {
        run(&target, name, "no bytes at all", b"");
        let seeds = inputs("seeds", name);
        for (path, bytes) in inputs("found", name).iter().chain(&seeds) {
            run(&target, name, path, bytes);
        }
        // The machine may be slow; mutations left out now are tried in a later run.
        let began = Instant::now();
        let all = (0..MUTATIONS).flat_map(|number| seeds.iter().map(move |seed| (number, seed)));
        for (number, (path, bytes)) in all.take_while(|_| began.elapsed() < PATIENCE) {
            run(&target, name, &format!("mutation {number} of {path}"), &mutated(bytes, number));
        }
    }
}

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
