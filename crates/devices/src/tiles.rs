//! Tiles that were found to be fastest, kept from one run of a program to the next, beside the verdicts.
//!
//! Only measuring puts a choice here ([`bench::measure_tiles`](crate::bench::measure_tiles)), so that results do not
//! depend on how busy a device was when a run began.

use gputexel_evaluator::gpu::TileChoice;
use gputexel_files::Result;
use gputexel_gpu::AdapterSummary;
use serde::{Deserialize, Serialize};

use crate::records::{DamagedList, Device, ListContents, Record, Records};

/// A choice as it is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(expecting = "the tiles of a device")]
struct StoredChoice {
    device: Device,
    /// Bytes that the open device had when it was measured: they decide which tables are staged.
    workgroup_memory: u32,
    loss: usize,
    gradient: usize,
    staged: bool,
}

impl Record for StoredChoice {
    fn device(&self) -> &Device {
        &self.device
    }
}

/// Where choices are kept, if anywhere.
pub(crate) struct TileStore(Records<StoredChoice>);

impl TileStore {
    pub fn of_user() -> Self {
        Self(Records::of_user("tiles.json"))
    }

    /// A list in a file of the caller's; nowhere if it is `None`.
    #[cfg(test)]
    pub fn at(path: Option<std::path::PathBuf>) -> Self {
        Self(Records::at(path))
    }

    /// The choice for an adapter, unless there are no kernels for it, or the adapter has less workgroup memory now.
    /// One that is listed may have more than it has when it is open, where kernels take no more than they need.
    pub fn find(&self, summary: &AdapterSummary) -> Option<TileChoice> {
        let stored = self.0.find(&Device::of(summary))?;
        let StoredChoice { loss, gradient, staged, .. } = stored;
        let choice = TileChoice { loss, gradient, staged };
        let fits = choice.has_kernels() && stored.workgroup_memory <= summary.workgroup_memory_bytes;
        fits.then_some(choice)
    }

    /// Keeps a choice.
    ///
    /// # Errors
    /// [`Error::Io`](gputexel_files::Error::Io) where it cannot be written.
    pub fn keep(&self, summary: &AdapterSummary, choice: TileChoice) -> Result<()> {
        let TileChoice { loss, gradient, staged } = choice;
        let workgroup_memory = summary.workgroup_memory_bytes;
        self.0.replace(StoredChoice { device: Device::of(summary), workgroup_memory, loss, gradient, staged })
    }

    /// Forgets the choice for an adapter; whether there was one.
    ///
    /// # Errors
    /// [`Error::Io`](gputexel_files::Error::Io) where the list cannot be written.
    pub fn forget(&self, summary: &AdapterSummary) -> Result<bool> {
        self.0.remove(&Device::of(summary))
    }
}

/// The tiles that were found to be fastest on this adapter, under this driver and by this version of gputexel; `None`
/// where that was not measured, or what is kept does not fit the adapter.
pub fn stored_tiles(summary: &AdapterSummary) -> Option<TileChoice> {
    TileStore::of_user().find(summary)
}

/// The list of choices, if it is there and cannot be read.
pub(crate) fn damage() -> Option<DamagedList> {
    TileStore::of_user().0.damage(ListContents::Tiles)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::adapter;

    const CHOICE: TileChoice = TileChoice { loss: 16, gradient: 8, staged: true };

    #[test]
    fn a_choice_is_kept_for_a_device_and_a_driver() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/tiles.json");
        let store = TileStore::at(Some(path.clone()));
        assert_eq!(store.find(&adapter("1")), None);
        assert!(!store.forget(&adapter("1")).unwrap() && !path.exists());
        store.keep(&adapter("1"), CHOICE).unwrap();
        let other = TileChoice { staged: false, ..CHOICE };
        store.keep(&adapter("2"), other).unwrap();
        assert_eq!(
            [1, 2, 3].map(|n| store.find(&adapter(&n.to_string()))),
            [Some(CHOICE), Some(other), None]
        );
        store.keep(&adapter("1"), other).unwrap();
        assert_eq!(store.find(&adapter("1")), Some(other));
        assert!(store.forget(&adapter("1")).unwrap());
        assert_eq!(["1", "2"].map(|driver| store.find(&adapter(driver))), [None, Some(other)]);
        // Nowhere to keep it.
        let nowhere = TileStore::at(None);
        let error = nowhere.keep(&adapter("1"), CHOICE).unwrap_err().to_string();
        assert_eq!(error, "a folder for the state of programs: the system names none");
        assert_eq!((nowhere.find(&adapter("1")), nowhere.forget(&adapter("1")).unwrap()), (None, false));
    }

    #[test]
    fn a_choice_that_does_not_fit_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tiles.json");
        let store = TileStore::at(Some(path.clone()));
        store.keep(&adapter("1"), CHOICE).unwrap();
        let less = AdapterSummary { workgroup_memory_bytes: 16 << 10, ..adapter("1") };
        assert_eq!((store.find(&adapter("1")), store.find(&less)), (Some(CHOICE), None));
        let good = std::fs::read_to_string(&path).unwrap();
        let bad = [
            good.replace("\"loss\": 16", "\"loss\": 5"),
            good.replace("\"gradient\": 8", "\"gradient\": 0"),
            good.replace("\"gradient\": 8", "\"gradient\": -8"),
            good.replace("\"staged\": true", "\"staged\": 1"),
            good[..good.len() / 2].to_string(),
            "[]".to_string(),
            String::new(),
        ];
        for text in bad {
            assert_ne!(text, good);
            std::fs::write(&path, &text).unwrap();
            assert_eq!(store.find(&adapter("1")), None, "{text}");
        }
        // A list that is none is written anew.
        store.keep(&adapter("1"), CHOICE).unwrap();
        assert_eq!(store.find(&adapter("1")), Some(CHOICE));
    }
}
