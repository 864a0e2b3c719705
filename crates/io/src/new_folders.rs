//! Folders that are made for results that may not come.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// Folders made by this process, the lowest first. They can be removed if there was no result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewFolders(Vec<PathBuf>);

impl NewFolders {
    /// Makes a folder and those above it, as far as they do not exist.
    ///
    /// # Errors
    /// [`Error::Io`]; none of them then exists.
    pub fn make(path: &Path) -> Result<Self> {
        let new = Self::missing(path);
        std::fs::create_dir_all(path).map_err(|e| {
            new.remove_empty();
            Error::io(path, e)
        })?;
        Ok(new)
    }

    pub(crate) fn missing(path: &Path) -> Self {
        let named = |path: &&Path| !path.as_os_str().is_empty() && !path.exists();
        Self(path.ancestors().take_while(named).map(Path::to_path_buf).collect())
    }

    pub(crate) fn with(mut self, path: &Path) -> Self {
        self.0.insert(0, path.to_path_buf());
        self
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Removes them again if they are empty.
    pub fn remove_empty(&self) {
        for path in &self.0 {
            // A folder that is not empty stays, as intended.
            let _ = std::fs::remove_dir(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_made_goes_again() {
        let bench = tempfile::tempdir().unwrap();
        let there = bench.path().join("there");
        std::fs::create_dir(&there).unwrap();
        let new = NewFolders::make(&there.join("a/b/c")).unwrap();
        std::fs::write(there.join("a/file"), "").unwrap();
        new.remove_empty();
        assert!(there.join("a").is_dir() && !there.join("a/b").exists());
        // A file blocks the last one.
        std::fs::write(there.join("way"), "").unwrap();
        assert!(NewFolders::make(&there.join("way/d")).is_err());
        assert!(NewFolders::make(&there).unwrap().is_empty());
        NewFolders::make(&there).unwrap().remove_empty();
        assert!(there.is_dir());
    }
}
