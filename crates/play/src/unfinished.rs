//! Work kept in a folder beside its output until that is complete, so that it can be resumed.

use std::path::{Path, PathBuf};

use gputexel_io::run_folder::Kind;
use gputexel_io::{Advice, Error, LogFile, Result, RunFolder};

/// A kind of such work.
pub(crate) struct Unfinished {
    pub kind: Kind,
    /// Appended to the name of the output.
    pub suffix: &'static str,
    pub journal: LogFile,
}

impl Unfinished {
    pub fn folder_of(&self, output: &Path) -> PathBuf {
        let mut path = output.as_os_str().to_owned();
        path.push(self.suffix);
        PathBuf::from(path)
    }

    /// Begun and not completed.
    pub fn is_begun(&self, output: &Path) -> bool {
        self.journal.path(&self.folder_of(output)).exists()
    }

    /// The folder, and whether work in it is to be resumed.
    ///
    /// # Errors
    /// [`Error::Usage`] for interrupted work that is neither resumed nor, with `force`, started again.
    pub fn open(&self, output: &Path, resume: bool, force: bool) -> Result<(RunFolder, bool)> {
        let path = self.folder_of(output);
        let begun = self.is_begun(output);
        if begun && !resume && !force {
            let (path, what) = (path.display(), self.kind.name());
            let reason = format!("{path}: a {what} to this output was interrupted");
            let advice = Advice::default().text("use ").setting("resume", "").text(" to continue it, or ");
            return Err(Error::Usage(reason).advise(advice.setting("force", "").text(" to start again")));
        }
        let folder = match begun && resume {
            true => RunFolder::enter(&path, self.kind)?,
            false => RunFolder::create(Some(&path), self.kind, true)?,
        };
        Ok((folder, begun && resume))
    }

    /// The journal has to be closed. `others` are files beside it.
    pub fn remove(&self, folder: RunFolder, others: &[&str]) {
        // Leftovers do no harm.
        for name in std::iter::once(self.journal.name).chain(others.iter().copied()) {
            let _ = folder.remove(name);
        }
        if let Ok(lock) = folder.lock() {
            lock.remove_file();
        }
        let _ = std::fs::remove_dir(folder.path());
    }

    /// Removes what is left by a process that was killed after its work was complete.
    pub fn clear(&self, output: &Path, others: &[&str]) {
        let path = self.folder_of(output);
        if path.is_dir()
            && let Ok(folder) = RunFolder::create(Some(&path), self.kind, true)
        {
            self.remove(folder, others);
        }
    }
}

/// For a folder in which other work has begun.
pub(crate) fn begin_again() -> Advice {
    let advice = Advice::default().text("give the same as then, or start again with ").setting("force", "");
    advice.text(" instead of ").setting("resume", "")
}
