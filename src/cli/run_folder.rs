//! Folders of runs as the command line opens them: with warnings, and hints on the flags that help.

use std::path::Path;

use gputexel::run_folder::{Contents, contents};
pub use gputexel::run_folder::{Kind, RunFolder, check_inputs};
use gputexel::{Error, Result};

/// [`RunFolder::create`] with the warning of a folder that has no lock.
///
/// # Errors
/// Those of [`RunFolder::create`] and [`check_contents`].
pub fn create(path: Option<&Path>, kind: Kind, force: bool) -> Result<RunFolder> {
    if let Some(path) = path.filter(|path| path.exists()) {
        check_contents(path, kind, force)?;
    }
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

/// Refuses a folder that holds something, or with `force` something else than is to be written.
///
/// # Errors
/// [`Error::Usage`]; [`Error::Io`] when it cannot be read.
pub fn check_contents(path: &Path, kind: Kind, force: bool) -> Result<()> {
    match contents(path, kind)? {
        Contents::Nothing => Ok(()),
        Contents::Something | Contents::Run(_) if !force => Err(Error::Usage(format!(
            "{}: exists and is not empty; use --force to write into it{}",
            path.display(),
            if kind == Kind::Parameters { "" } else { ", or --resume to continue" }
        ))),
        Contents::Something => Ok(()),
        Contents::Run(other) => Err(Error::Usage(format!(
            "{}: holds a {} ({}), which --force does not overwrite; choose another folder",
            path.display(),
            other.name(),
            other.record().unwrap_or_default()
        ))),
    }
}
