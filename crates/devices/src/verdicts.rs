//! What checks found, kept from one run of a program to the next: a device is checked when it is first used, and again
//! after its driver or gputexel has changed.
//!
//! The list lies in the user's folder for the state of programs. Where there is none, or it cannot be written, nothing
//! is remembered, and devices are checked each time.

use std::path::PathBuf;

use gputexel_files::{Error, Remedy, Result, SETTINGS_BYTES, read_whole, write_atomically};
use gputexel_gpu::{AdapterSummary, GpuContext};
use serde::{Deserialize, Serialize};

use crate::check::{CheckReport, Checker, Depth};

/// A device that computes wrongly: another one, or the CPU, would do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultyDevice;

impl Remedy for FaultyDevice {}

/// A device and what drives it, as far as that decides how it computes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Device {
    adapter: String,
    interface: String,
    driver: String,
    gputexel: String,
}

impl Device {
    fn of(summary: &AdapterSummary) -> Self {
        Self {
            adapter: summary.name.clone(),
            interface: summary.backend.clone(),
            driver: summary.driver.clone(),
            gputexel: env!("CARGO_PKG_VERSION").to_string(),
        }
    }
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Verdict {
    device: Device,
    depth: Depth,
    /// `None` for a sound device.
    fault: Option<String>,
}

/// Devices remembered; the oldest are forgotten first.
const MAX_VERDICTS: usize = 64;

fn file() -> Option<PathBuf> {
    let state = dirs::state_dir().or_else(dirs::data_local_dir)?;
    Some(state.join("gputexel").join("devices.json"))
}

/// All verdicts; none where they cannot be read.
fn load() -> Vec<Verdict> {
    let bytes = file().and_then(|path| read_whole(&path, SETTINGS_BYTES).ok());
    bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
}

fn find(device: &Device) -> Option<Verdict> {
    load().into_iter().rfind(|verdict| verdict.device == *device)
}

/// Remembers a report on a device, unless the check could not be finished: what broke it off may have been a device
/// that was busy. A brief report does not replace a thorough one with the same result.
pub fn remember(summary: &AdapterSummary, report: &CheckReport) {
    if report.broken.is_some() {
        return;
    }
    let Some(path) = file() else { return };
    let verdict = Verdict { device: Device::of(summary), depth: report.depth, fault: report.fault() };
    let mut all = load();
    all.retain(|old| old.device != verdict.device);
    all.push(verdict);
    let surplus = all.len().saturating_sub(MAX_VERDICTS);
    all.drain(..surplus);
    // What cannot be kept is found out again the next time.
    let kept = || -> Option<()> {
        std::fs::create_dir_all(path.parent()?).ok()?;
        write_atomically(&path, &serde_json::to_vec_pretty(&all).ok()?).ok()
    };
    let _ = kept();
}

/// Refuses a device that computes wrongly. One that was not checked before, under this driver and by this version of
/// gputexel, is checked briefly, which takes less than a second on a GPU. Software adapters are slow, have been tested
/// with this program, and are only used by those who ask for them: they are not checked of themselves, but refused like
/// others once a check has found them wanting.
///
/// # Errors
/// [`Error::Gpu`], mended by [`FaultyDevice`], for a device that computes wrongly; [`Error::Gpu`] for one that fails, and
/// [`Error::Io`] without room for temporary files.
pub fn vet(context: &GpuContext) -> Result<()> {
    let summary = context.summary();
    let known = find(&Device::of(summary));
    let fault = match known {
        Some(verdict) => verdict.fault,
        None if summary.software => None,
        None => {
            let report = Checker::new(context, Depth::Brief).run()?;
            if let Some(reason) = report.broken {
                return Err(Error::Gpu(format!("{}: {reason}", summary.name)));
            }
            remember(summary, &report);
            report.fault()
        }
    };
    match fault {
        Some(fault) => Err(refusal(&summary.name, &fault)),
        None => Ok(()),
    }
}

fn refusal(adapter: &str, fault: &str) -> Error {
    Error::Gpu(format!("{adapter} computes wrongly and is not used ({fault})")).mended_by(FaultyDevice)
}
