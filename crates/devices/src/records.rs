//! What is known of devices, kept from one run of a program to the next: lists in the user's folder for the state of
//! programs, with one record for each device.
//!
//! A list that cannot be read counts as empty, and is written anew: what it said is found out again.
//! [`damaged_lists`](crate::damaged_lists) has those, for whoever can warn of them.

use std::io::ErrorKind;
use std::marker::PhantomData;
use std::path::PathBuf;

use gputexel_files::{Error, Result, SETTINGS_BYTES, read_whole, write_atomically};
use gputexel_gpu::AdapterSummary;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// A device and what drives it, as far as that decides how it computes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Device {
    adapter: String,
    interface: String,
    driver: String,
    gputexel: String,
}

impl Device {
    /// The device of an adapter under this version of gputexel.
    pub fn of(summary: &AdapterSummary) -> Self {
        Self {
            adapter: summary.name.clone(),
            interface: summary.backend.clone(),
            driver: summary.driver.clone(),
            gputexel: env!("CARGO_PKG_VERSION").to_string(),
        }
    }
}

/// A list that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedList {
    /// Its file.
    pub path: PathBuf,
    /// Why not.
    pub reason: String,
    /// What it is to hold.
    pub contents: ListContents,
}

/// What a list holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListContents {
    /// What checks found.
    Verdicts,
    /// Tiles that were measured.
    Tiles,
}

/// What is kept of a device.
pub(crate) trait Record: Serialize + DeserializeOwned {
    /// The device.
    fn device(&self) -> &Device;
}

/// Devices remembered; the oldest are forgotten first.
const MAX_RECORDS: usize = 64;

/// A list of records, if there is a place for one.
pub(crate) struct Records<T> {
    path: Option<PathBuf>,
    kind: PhantomData<T>,
}

impl<T: Record> Records<T> {
    /// The list in a file; without one, nothing is remembered.
    pub fn at(path: Option<PathBuf>) -> Self {
        Self { path, kind: PhantomData }
    }

    /// The user's own list.
    pub fn of_user(file: &str) -> Self {
        let state = dirs::state_dir().or_else(dirs::data_local_dir);
        Self::at(state.map(|state| state.join("gputexel").join(file)))
    }

    /// All records; none where they cannot be read.
    pub fn load(&self) -> Vec<T> {
        self.read().unwrap_or_default()
    }

    /// The file, and why it cannot be read, if there is one that cannot.
    pub fn damage(&self, contents: ListContents) -> Option<DamagedList> {
        let path = self.path.clone()?;
        self.read().err().map(|reason| DamagedList { path, reason, contents })
    }

    fn read(&self) -> std::result::Result<Vec<T>, String> {
        let Some(path) = &self.path else { return Ok(Vec::new()) };
        match read_whole(path, SETTINGS_BYTES) {
            Ok(bytes) => {
                serde_json::from_slice(&bytes).map_err(|error| format!("not a list of devices: {error}"))
            }
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                Ok(Vec::new())
            }
            Err(error) => Err(error.to_string()),
        }
    }

    /// The record of a device.
    pub fn find(&self, device: &Device) -> Option<T> {
        self.load().into_iter().rfind(|record| record.device() == device)
    }

    /// Puts a record in the place of its device's last one.
    ///
    /// # Errors
    /// [`Error::Io`] where there is no place for the list, or it cannot be written.
    pub fn replace(&self, record: T) -> Result<()> {
        let mut all = self.load();
        all.retain(|old| old.device() != record.device());
        all.push(record);
        self.write(&all)
    }

    /// Removes the record of a device; whether there was one.
    ///
    /// # Errors
    /// As for [`replace`](Self::replace), where there is something to remove.
    pub fn remove(&self, device: &Device) -> Result<bool> {
        let mut all = self.load();
        let before = all.len();
        all.retain(|old| old.device() != device);
        match all.len() < before {
            true => self.write(&all).map(|()| true),
            false => Ok(false),
        }
    }

    fn write(&self, all: &[T]) -> Result<()> {
        let Some(path) = &self.path else {
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
}

/// An adapter for tests, with a driver and 32 KiB of workgroup memory.
#[cfg(test)]
pub(crate) fn adapter(driver: &str) -> AdapterSummary {
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
