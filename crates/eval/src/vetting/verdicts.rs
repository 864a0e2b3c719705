//! Results of checks, kept between runs of gputexel.

use std::path::PathBuf;

use crate::device::{AdapterSummary, GpuContext};
use gputexel_io::{Advice, Error, Result, SETTINGS_BYTES, read_whole, write_atomically};
use serde::{Deserialize, Serialize};

use crate::vetting::check::{CheckReport, Checker, Depth};

/// A device and its driver, as far as they determine its results.
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

const MAX_RECORDS: usize = 64;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Verdict {
    device: Device,
    depth: Depth,
    /// `None` for a sound device.
    fault: Option<String>,
}

/// The file with verdicts; `None` if nothing is remembered.
struct Store(Option<PathBuf>);

impl Store {
    fn of_user() -> Self {
        let state = dirs::state_dir().or_else(dirs::data_local_dir);
        Self(state.map(|state| state.join("gputexel").join("devices.json")))
    }

    /// Returns the verdicts; a list that cannot be read counts as empty until it is written again.
    fn load(&self) -> Vec<Verdict> {
        let bytes = self.0.as_ref().and_then(|path| read_whole(path, SETTINGS_BYTES).ok());
        bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }

    fn find(&self, device: &Device) -> Option<Verdict> {
        self.load().into_iter().rfind(|verdict| verdict.device == *device)
    }

    fn replace(&self, verdict: Verdict) -> Result<()> {
        let mut all = self.load();
        all.retain(|old| old.device != verdict.device);
        all.push(verdict);
        let Some(path) = &self.0 else {
            let reason = std::io::Error::other("the system names none");
            return Err(Error::io("a folder for the state of programs", reason));
        };
        let newest = &all[all.len().saturating_sub(MAX_RECORDS)..];
        let bytes = serde_json::to_vec_pretty(newest)
            .map_err(|error| Error::io(path, std::io::Error::other(error)))?;
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(|error| Error::io(folder, error))?;
        }
        write_atomically(path, &bytes)
    }

    fn remember(&self, summary: &AdapterSummary, report: &CheckReport) -> Result<()> {
        if report.broken.is_some() {
            return Ok(());
        }
        let verdict = Verdict { device: Device::of(summary), depth: report.depth, fault: report.fault() };
        if self.load().iter().any(|old| {
            old.device == verdict.device && old.fault == verdict.fault && old.depth >= verdict.depth
        }) {
            return Ok(());
        }
        self.replace(verdict)
    }

    fn vet(&self, summary: &AdapterSummary, check: impl FnOnce() -> Result<CheckReport>) -> Result<()> {
        let fault = match self.find(&Device::of(summary)) {
            Some(verdict) => verdict.fault,
            None if summary.software => None,
            None => {
                let report = check()?;
                if let Some(reason) = report.broken {
                    return Err(Error::Gpu(format!("{}: {reason}", summary.name)));
                }
                // A lost result is found again the next time.
                let _ = self.remember(summary, &report);
                report.fault()
            }
        };
        match fault {
            Some(fault) => {
                let reason = format!("{} computes wrongly and is not used ({fault})", summary.name);
                let again = Advice::default().text("'gputexel devices ").setting("check", "");
                let again = again.text("' checks it again, ").setting("backend", "cpu");
                Err(Error::Gpu(reason).advise(again.text(" works without it")))
            }
            None => Ok(()),
        }
    }
}

/// Remembers a report on a device, unless the check could not be finished, since the device may just have been busy.
pub fn remember(summary: &AdapterSummary, report: &CheckReport) -> Result<()> {
    Store::of_user().remember(summary, report)
}

/// Returns the verdict on a device: the depth of the check, and its fault, if any. `None` if it was not checked under
/// this driver by this version of gputexel.
pub fn verdict(summary: &AdapterSummary) -> Option<(Depth, Option<String>)> {
    let verdict = Store::of_user().find(&Device::of(summary))?;
    Some((verdict.depth, verdict.fault))
}

pub fn vet(context: &GpuContext) -> Result<()> {
    Store::of_user().vet(context.summary(), || Checker::new(context, Depth::Brief).run())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vetting::check::{Finding, Group};

    fn adapter(driver: &str) -> AdapterSummary {
        AdapterSummary {
            name: "a card".into(),
            backend: "vulkan".into(),
            kind: "discrete GPU".into(),
            software: false,
            vendor: 0,
            unusable: None,
            driver: driver.into(),
            max_buffer_bytes: 0,
            max_binding_bytes: 0,
            workgroup_memory_bytes: 32 << 10,
            workgroup_threads: 0,
            subgroup_sizes: (32, 32),
        }
    }

    fn report(depth: Depth, fault: Option<&str>) -> CheckReport {
        let fault = fault.map(str::to_string);
        let finding = Finding { group: Group::Gradients, cases: 1, error: 1e-3, bound: 1e-5, fault };
        CheckReport { adapter: "a card".into(), depth, findings: vec![finding], broken: None, seconds: 0.1 }
    }

    fn used(store: &Store, adapter: &AdapterSummary, report: CheckReport) -> (Option<Error>, bool) {
        let mut checked = false;
        let outcome = store.vet(adapter, || {
            checked = true;
            Ok(report)
        });
        (outcome.err(), checked)
    }

    #[test]
    fn a_device_is_checked_once_for_each_driver() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/devices.json");
        let store = Store(Some(path.clone()));
        let sound = || report(Depth::Brief, None);
        assert!(matches!(used(&store, &adapter("1"), sound()), (None, true)));
        assert!(matches!(used(&store, &adapter("1"), sound()), (None, false)));
        assert!(matches!(used(&store, &adapter("2"), sound()), (None, true)));
        // Software adapters are not checked, but earlier verdicts count.
        let software = AdapterSummary { software: true, ..adapter("3") };
        assert!(matches!(used(&store, &software, sound()), (None, false)));
        store.remember(&software, &report(Depth::Thorough, Some("wrong"))).unwrap();
        assert!(matches!(used(&store, &software, sound()), (Some(Error::Advised { .. }), false)));
        // An invalid list is written again.
        std::fs::write(&path, "no list").unwrap();
        assert!(matches!(used(&store, &adapter("1"), sound()), (None, true)));
        assert!(matches!(used(&store, &adapter("1"), sound()), (None, false)));
        // Without a folder, each time.
        for _ in 0..2 {
            assert!(matches!(used(&Store(None), &adapter("1"), sound()), (None, true)));
        }
    }

    #[test]
    fn a_faulty_device_is_refused_until_a_check_finds_it_sound() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store(Some(folder.path().join("devices.json")));
        let wrong = || report(Depth::Brief, Some("squared, tiles of 8: relative error 1.0e-3, at most 1e-5"));
        for checked in [true, false] {
            let (error, was_checked) = used(&store, &adapter("1"), wrong());
            let error = error.unwrap();
            assert_eq!((error.advice().is_some(), was_checked), (true, checked));
            let text = error.to_string();
            assert!(
                text.starts_with("GPU: a card computes wrongly") && text.contains("gradients: squared"),
                "{text}"
            );
        }
        store.remember(&adapter("1"), &report(Depth::Thorough, None)).unwrap();
        assert!(matches!(used(&store, &adapter("1"), wrong()), (None, false)));
        // A brief report does not replace a thorough one.
        store.remember(&adapter("1"), &report(Depth::Brief, None)).unwrap();
        assert_eq!(
            store.find(&Device::of(&adapter("1"))).map(|verdict| verdict.depth),
            Some(Depth::Thorough)
        );
    }

    #[test]
    fn a_device_that_failed_is_not_remembered() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store(Some(folder.path().join("devices.json")));
        let broken = || CheckReport { broken: Some("it failed: lost".into()), ..report(Depth::Brief, None) };
        for _ in 0..2 {
            let (error, checked) = used(&store, &adapter("1"), broken());
            assert!(checked && error.unwrap().to_string() == "GPU: a card: it failed: lost");
        }
        assert_eq!(store.load(), []);
    }
}
