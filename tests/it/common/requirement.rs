//! Requirements of tests that a machine may lack: a GPU adapter, compilers, engines, public data.
//!
//! A test without its requirement prints one line to standard error, bypassing the capture of the test harness, and
//! passes. It fails instead if the environment demands the requirement:
//!
//! - `GPUTEXEL_REQUIRE_ALL=1` demands everything,
//! - `GPUTEXEL_REQUIRE=gpu,g++,python` for the listed names, see [`NAMES`],
//! - `GPUTEXEL_REQUIRE_GPU=1` for a GPU adapter.

use crate::common::prelude::*;
use std::io::Write as _;

/// Names of requirements. `swiftshader` is the driver for Vulkan that comes with
/// Chromium. `data` are the public games and positions next to the checkout, `root` the right to give files away.
pub const NAMES: [&str; 26] = [
    "gpu",
    "spirv-val",
    "cc",
    "c++",
    "gcc",
    "g++",
    "clang",
    "clang++",
    "rustc",
    "python",
    "scikit-learn",
    "go",
    "dotnet",
    "chromium",
    "swiftshader",
    "stockfish",
    "toga2",
    "mkfifo",
    "mpirun",
    "curl",
    "wget",
    "maturin",
    "pwsh",
    "/dev/full",
    "root",
    "data",
];

#[derive(Clone, Debug, Default)]
pub struct Switches {
    pub all: Option<String>,
    pub gpu: Option<String>,
    pub list: Option<String>,
}

impl Switches {
    fn of_environment() -> Self {
        let value = |name| std::env::var(name).ok();
        Self {
            all: value("GPUTEXEL_REQUIRE_ALL"),
            gpu: value("GPUTEXEL_REQUIRE_GPU"),
            list: value("GPUTEXEL_REQUIRE"),
        }
    }

    /// Returns true if a test without the requirement must fail. An unknown name in the list is an error.
    pub fn require(&self, name: &str) -> Result<bool, String> {
        assert!(NAMES.contains(&name), "'{name}' is no name of a requirement");
        let list = self.list.as_deref().unwrap_or("");
        let listed: Vec<&str> = list.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
        if let Some(unknown) = listed.iter().find(|name| !NAMES.contains(name)) {
            return Err(format!("GPUTEXEL_REQUIRE: '{unknown}' is none of {}", NAMES.join(", ")));
        }
        let is_on = |switch: &Option<String>| switch.as_deref() == Some("1");
        Ok(is_on(&self.all) || (name == "gpu" && is_on(&self.gpu)) || listed.contains(&name))
    }
}

/// Reports that the running test, or a part of it, is skipped for lack of something, or fails if that is required.
#[track_caller]
pub fn lack(name: &str, why: &str) {
    let required = Switches::of_environment().require(name).unwrap_or_else(|error| panic!("{error}"));
    assert!(!required, "{name} is required: {why}");
    let thread = std::thread::current();
    let line = format!("SKIPPED: {}: no {name}: {why}\n", thread.name().unwrap_or("a test"));
    // Not by `eprintln!`, whose output the harness shows for failed tests only.
    let _ = std::io::stderr().write_all(line.as_bytes());
}

/// Returns true if there is a program, by its name on the path or by its own path.
#[track_caller]
pub fn program(program: &str) -> bool {
    let found = find(program).is_some();
    if !found {
        let file = Path::new(program).file_name().unwrap().to_str().unwrap();
        let name = if file == "python3" { "python" } else { file };
        lack(name, &format!("there is no program {program}"));
    }
    found
}

/// Returns true if a file exists that some systems have, by its path.
#[track_caller]
pub fn file(path: &str) -> bool {
    let found = Path::new(path).exists();
    if !found {
        lack(path, "there is no such file");
    }
    found
}

/// Returns the path of a program, without a message if it is missing.
pub fn find(program: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let file = format!("{program}{}", std::env::consts::EXE_SUFFIX);
    // A path of its own replaces the folder.
    std::env::split_paths(&folders).map(|folder| folder.join(&file)).find(|path| path.is_file())
}
