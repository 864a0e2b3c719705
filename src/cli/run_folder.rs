//! Folders of runs as the command line opens them: with warnings.

use std::path::Path;

use gputexel::Result;
pub use gputexel::run_folder::{Kind, REPORT, RunFolder, check_contents, check_inputs};

/// [`RunFolder::create`] with the warning of a folder that has no lock.
///
/// # Errors
/// Those of [`RunFolder::create`].
pub fn create(path: Option<&Path>, kind: Kind, force: bool) -> Result<RunFolder> {
    RunFolder::create(path, kind, force).map(warned)
}

/// [`RunFolder::enter`] with the warning of a folder that has no lock.
///
/// # Errors
/// Those of [`RunFolder::enter`].
pub fn enter(path: &Path, kind: Kind) -> Result<RunFolder> {
    RunFolder::enter(path, kind).map(warned)
}

fn warned(folder: RunFolder) -> RunFolder {
    if let Some(warning) = folder.warning() {
        eprintln!("gputexel: warning: {warning}");
    }
    folder
}
